"""Compiled loops over pairs of nested up-sets. Imported only when there are enough of them to pay for the compiler.

``words`` are the up-sets as bits, smallest set first; ``responses`` (set, class, label) and ``tasks`` their sums;
``table`` is n ln n by n; ``shares[j, n]`` the selectivity term of label j with n tasks.
"""

from __future__ import annotations

import os
from pathlib import Path

import numba
import numpy as np


def _cache_folder() -> Path | None:
    """A folder that compiled code can be kept in, or None where there is none."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = Path(base).expanduser() / "crowdopt"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


_FOLDER = _cache_folder()
if _FOLDER is not None:
    numba.config.CACHE_DIR = str(_FOLDER)


def _compiled(function):
    return numba.njit(cache=_FOLDER is not None, nogil=True)(function)


@_compiled
def _inside(words, b, a):
    for q in range(words.shape[1]):
        if words[b, q] & ~words[a, q]:
            return False
    return True


@_compiled
def _phi(responses, table, a, b):
    value = 0.0
    for k in range(responses.shape[1]):
        whole = 0
        for i in range(responses.shape[2]):
            part = responses[a, k, i] - responses[b, k, i]
            whole += part
            value += table[part]
        value -= table[whole]
    return value


@_compiled
def descend(words, responses, tasks, table, shares, down, start, stop):
    """Fills ``down`` for up-sets start..stop, given all smaller ones; returns the pairs evaluated."""
    n_labels = down.shape[0]
    pairs = 0
    for a in range(start, stop):
        for b in range(a):
            if _inside(words, b, a):
                pairs += 1
                phi = _phi(responses, table, a, b)
                n = tasks[a] - tasks[b]
                for j in range(n_labels - 1):
                    value = down[j + 1, b] + phi + shares[j, n]
                    if value > down[j, a]:
                        down[j, a] = value
        for j in range(n_labels - 2, -1, -1):  # an empty level
            if down[j + 1, a] > down[j, a]:
                down[j, a] = down[j + 1, a]
    return pairs


@_compiled
def ascend(words, responses, tasks, table, shares, down, up, best, start, stop):
    """Spreads ``up`` from up-sets stop..start, largest first, to all inside them; returns the pairs evaluated.

    On the way ``best[x, j]`` is raised to the best path in which level j holds bucket x. Few paths raise anything: the
    buckets are kept sorted by what they have, so that one search tells which of them a path could still serve.
    """
    n_labels, n_buckets, n_words = up.shape[0], best.shape[0], words.shape[1]
    ranked = np.empty((n_labels, n_buckets))
    worse = np.zeros((n_labels, n_buckets + 1, n_words), np.uint64)
    for j in range(n_labels - 1):
        _rank(best, j, ranked, worse)
    pairs = 0
    for a in range(stop - 1, start - 1, -1):
        for j in range(1, n_labels):
            if up[j - 1, a] > up[j, a]:
                up[j, a] = up[j - 1, a]
        for b in range(a):
            if not _inside(words, b, a):
                continue
            pairs += 1
            phi = _phi(responses, table, a, b)
            n = tasks[a] - tasks[b]
            for j in range(n_labels - 1):
                value = up[j, a] + phi + shares[j, n]
                if value > up[j + 1, b]:
                    up[j + 1, b] = value
                value += down[j + 1, b]
                if value > ranked[j, 0] and _raise(words, a, b, value, j, best, ranked, worse):
                    _rank(best, j, ranked, worse)
    return pairs


@_compiled
def _rank(best, j, ranked, worse):
    """Sorts what the buckets have; ``worse[j, i]`` are the bits of the i buckets that have least."""
    order = np.argsort(best[:, j])
    worse[j, 0] = 0
    for i in range(len(order)):
        x = order[i]
        ranked[j, i] = best[x, j]
        worse[j, i + 1] = worse[j, i]
        worse[j, i + 1, x >> 6] |= np.uint64(1) << np.uint64(x & 63)


@_compiled
def _raise(words, a, b, value, j, best, ranked, worse):
    """Raises what a path of this value can; returns whether anything was raised."""
    fewer = np.searchsorted(ranked[j], value)
    raised = False
    for q in range(words.shape[1]):
        served = words[a, q] & ~words[b, q] & worse[j, fewer, q]
        if served:
            for x in range(64 * q, min(64 * q + 64, best.shape[0])):
                if served >> np.uint64(x & 63) & np.uint64(1):
                    best[x, j] = value
                    raised = True
    return raised


@_compiled
def top_level(words, values, best):
    """Sets ``best[x, R - 1]``: the best path whose highest label holds bucket x."""
    for a in range(words.shape[0]):
        for x in range(best.shape[0]):
            bit = np.uint64(1) << np.uint64(x & 63)
            if words[a, x >> 6] & bit and values[a] > best[x, best.shape[1] - 1]:
                best[x, best.shape[1] - 1] = values[a]
