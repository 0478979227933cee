"""Compiled loops over pairs of nested up-sets. Imported only when there are enough of them to pay for the compiler.

``words`` are the up-sets as bits (word, up-set), smallest set first; ``sums`` what is in them: responses by class and
label, then by class, then tasks. Φ is a sum of (x + offset) ln(x + offset) over the responses x by class and label,
less one over those by class: looked up in the flat table ``values`` at ``base[j] + x``, or computed if it is empty.
The share adds ``linear[j]`` per task or, estimated (``total`` > 0), the term of ``gold[j]`` and the tasks among
``total``. Tables of one row are for all labels. A row at a time, as short loops over arrays are what a compiler is
good at.
"""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled


@compiled
def _nested(words, a, beyond, found):
    """Lists the up-sets inside up-set a, itself included; returns how many there are."""
    beyond[: a + 1] = 0
    for q in range(words.shape[0]):
        lacking = ~words[q, a]
        for b in range(a + 1):
            beyond[b] |= words[q, b] & lacking
    count = 0
    for b in range(a + 1):
        found[count] = b  # overwritten by the next unless counted: a branch would be guessed wrong half of the time
        count += beyond[b] == 0
    return count


@compiled
def _without(words, need, found, count):
    """Keeps of the up-sets found those that leave out a bucket in need; returns how many that are."""
    kept = 0
    for at in range(count):
        b = found[at]
        left_out = np.uint64(0)
        for q in range(len(need)):
            left_out |= need[q] & ~words[q, b]
        found[kept] = b
        kept += left_out != 0
    return kept


@compiled
def _terms(sums, values, offsets, base, linear, gold, total, n_parts, j, a, found, count, terms):
    """Ψ of label j for up-set a without each of those found."""
    row, own = j if len(base) > 1 else 0, j if len(linear) > 1 else 0
    if len(values):
        _look_up(sums, values, base[row], n_parts, a, found, count, terms)
    else:
        _compute(sums, offsets[row], n_parts, a, found, count, terms)
    if total > 0:
        for at in range(count):
            known = sums[a, -1] - sums[found[at], -1] + gold[own]
            if known > 0:
                terms[at] += known * np.log(known / total)
    elif linear[own] != 0:
        for at in range(count):
            n = sums[a, -1] - sums[found[at], -1]
            if n > 0:  # a forbidden label has minus infinity per task
                terms[at] += n * linear[own]


@compiled
def _look_up(sums, values, base, n_parts, a, found, count, terms):
    for at in range(count):
        b = found[at]
        phi = 0.0
        for d in range(n_parts):
            phi += values[base[d] + sums[a, d] - sums[b, d]]
        for d in range(n_parts, len(base)):
            phi -= values[base[d] + sums[a, d] - sums[b, d]]
        terms[at] = phi


@compiled
def _compute(sums, offsets, n_parts, a, found, count, terms):
    for at in range(count):
        b = found[at]
        phi = 0.0
        for d in range(len(offsets)):
            x = sums[a, d] - sums[b, d] + offsets[d]
            if x > 0:
                phi += x * np.log(x) if d < n_parts else -x * np.log(x)
        terms[at] = phi


@compiled
def descend(words, sums, values, offsets, base, linear, gold, total, n_parts, down, up, start, stop):
    """Fills ``down`` of the middle labels for up-sets start..stop, given all smaller ones; returns the pairs evaluated.

    On the way ``up[2]`` is raised, for which all that is needed is known.
    """
    last, n = down.shape[0] - 1, words.shape[1]
    same = len(base) == 1 and len(linear) == 1
    beyond, found, terms = np.empty(n, np.uint64), np.empty(n + 1, np.int64), np.empty(n + 1)
    pairs = 0
    for a in range(start, stop):
        count = _nested(words, a, beyond, found)
        pairs += count
        for j in range(last - 1, 0, -1):
            if j == last - 1 or not same:
                _terms(sums, values, offsets, base, linear, gold, total, n_parts, j, a, found, count, terms)
            best = -np.inf
            for at in range(count):
                value = terms[at] + down[j + 1, found[at]]
                if value > best:
                    best = value
            down[j, a] = best
        for at in range(count):
            value = terms[at] + up[1, a]
            if value > up[2, found[at]]:
                up[2, found[at]] = value
    return pairs


@compiled
def ascend(words, sums, values, offsets, base, linear, gold, total, n_parts, up, start, stop):
    """Spreads ``up`` of labels 2 and above from up-sets stop..start, largest first; returns the pairs evaluated."""
    last, n = up.shape[0] - 1, words.shape[1]
    same = len(base) == 1 and len(linear) == 1
    beyond, found, terms = np.empty(n, np.uint64), np.empty(n + 1, np.int64), np.empty(n + 1)
    pairs = 0
    for a in range(stop - 1, start - 1, -1):
        count = _nested(words, a, beyond, found)
        pairs += count
        for j in range(2, last):
            if j == 2 or not same:
                _terms(sums, values, offsets, base, linear, gold, total, n_parts, j, a, found, count, terms)
            for at in range(count):
                value = terms[at] + up[j, a]
                if value > up[j + 1, found[at]]:
                    up[j + 1, found[at]] = value
    return pairs


@compiled
def best_through(words, sums, values, offsets, base, linear, gold, total, n_parts, down, up, j, rows, best):
    """Raises ``best[x]`` to the best path on which middle label j holds bucket x and the label's outer set is in rows.

    ``rows`` come best first: few paths raise anything, and an up-set whose best path is no better than what all its
    buckets have is passed over. Returns the pairs evaluated.
    """
    n = words.shape[1]
    need = np.empty(words.shape[0], np.uint64)
    beyond, found, terms = np.empty(n, np.uint64), np.empty(n + 1, np.int64), np.empty(n + 1)
    pairs = 0
    for a in rows:
        if not _needed(words, a, best, up[j, a] + down[j, a], need):
            continue
        count = _without(words, need, found, _nested(words, a, beyond, found))
        pairs += count
        _terms(sums, values, offsets, base, linear, gold, total, n_parts, j, a, found, count, terms)
        for at in range(count):
            terms[at] += up[j, a] + down[j + 1, found[at]]
        for x in range(len(best)):
            if need[x >> 6] >> np.uint64(x & 63) & np.uint64(1):
                best[x] = _best_without(words, x, found, count, terms, best[x])
    return pairs


@compiled
def _best_without(words, x, found, count, terms, best):
    """The best of the terms, or what there is, over the up-sets found that do not hold bucket x."""
    for at in range(count):
        if terms[at] > best and not words[x >> 6, found[at]] >> np.uint64(x & 63) & np.uint64(1):
            best = terms[at]
    return best


@compiled
def _needed(words, a, best, potential, need):
    """Marks the buckets of up-set a that a path of this value could serve; returns whether there are any."""
    need[:] = 0
    for x in range(len(best)):
        if best[x] < potential:
            need[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
    need &= words[:, a]
    return need.any()
