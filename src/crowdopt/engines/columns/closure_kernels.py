"""Compiled loops over flows: the best closed sets of items. Imported only where there is an order, and many buckets.

Items have weights, and an arc (tail, head) says that a set with the tail has the head as well. Wanted is the
*closed* set with the greatest sum of weights, which is a minimum cut. A flow f ≥ 0 on the arcs moves weight from
tails to heads. With

    r_i = w_i − Σ f of the arcs from i + Σ f of the arcs to i,

a closed set sums up no more of w than of r, as of every arc in it the head is there too. Hence Σ_i max(0, r_i) is a
bound for *any* flow. It is computed anew from the flow at the end, so that no flaw of the search for a good flow,
nor its rounding, can make it a false one: what remains is the rounding of that one sum.

The search moves weight from items with r > 0 to items with r < 0, along shortest ways, on which it may also go
against an arc, up to what flows there. When no way is left, the items that can be reached from those with r > 0 are
closed, and their weight is the bound. It can begin with any flow, such as one that was found for similar weights.
"""

from __future__ import annotations

import numpy as np

from crowdopt._numba import compiled


@compiled
def best_closures(weights, flows, tails, heads, first_out, by_head, first_in, enough, inside, bound, size):
    """Best closed sets for rows of weights, from rows of flows, which are improved.

    Args:
        weights: By (row, item).
        flows: By (row, arc), at least 0; changed.
        tails: By arc; arcs are sorted by tail.
        heads: By arc.
        first_out: The first arc from each item, and the number of all.
        by_head: The arcs sorted by head.
        first_in: The first of these to each item, and the number of all.
        enough: By row, a bound that need not be improved.
        inside: Filled: the best closed sets by (row, item), where the bound was not enough before.
        bound: Filled: by row, no closed set has a greater sum.
        size: Filled: by row, the sum of the sizes of all that was added up.
    """
    n_rows, n = weights.shape
    rest = np.empty(n)
    level, turn, queue = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    nodes, path = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for row in range(n_rows):
        flow = flows[row]
        # Smaller flows than this are rounding, and would be pushed about without end.
        least = 1e-15 * _rest(weights[row], flow, tails, heads, rest)
        if _above(rest) > enough[row]:
            _sweep(rest, flow, tails, heads)
        while _above(rest) > enough[row]:
            if not _levels(rest, flow, tails, heads, first_out, by_head, first_in, least, level, queue):
                for i in range(n):
                    inside[row, i] = level[i] >= 0
                break
            turn[:] = 0
            for i in range(n):
                if level[i] == 0:
                    _push(rest, flow, tails, heads, first_out, by_head, first_in, least, level, turn, nodes, path, i)
        size[row] = _rest(weights[row], flow, tails, heads, rest)
        bound[row] = _above(rest)


@compiled
def _rest(weights, flow, tails, heads, rest):
    """Fills r; returns the sum of the sizes of all that was added up."""
    size = 0.0
    for i in range(len(rest)):
        rest[i] = weights[i]
        size += abs(weights[i])
    for e in range(len(flow)):
        if flow[e] > 0:
            rest[tails[e]] -= flow[e]
            rest[heads[e]] += flow[e]
            size += 2 * flow[e]
    return size


@compiled
def _above(rest):
    """The sum of what is above 0."""
    above = 0.0
    for i in range(len(rest)):
        if rest[i] > 0:
            above += rest[i]
    return above


@compiled
def _sweep(rest, flow, tails, heads):
    """Moves weight along single arcs: much of what there is to do, and without a search."""
    for e in range(len(flow)):
        i, j = tails[e], heads[e]
        if rest[i] > 0 > rest[j]:
            amount = min(rest[i], -rest[j])
        elif rest[i] < 0 < rest[j] and flow[e] > 0:
            amount = max(rest[i], -rest[j], -flow[e])
        else:
            continue
        rest[i] -= amount
        rest[j] += amount
        flow[e] += amount


@compiled
def _levels(rest, flow, tails, heads, first_out, by_head, first_in, least, level, queue):
    """Fills distances from items with r > 0; returns whether one with r < 0 was reached, where a way ends."""
    count = 0
    for i in range(len(rest)):
        level[i] = -1
        if rest[i] > least:
            level[i] = 0
            queue[count] = i
            count += 1
    at, last = 0, len(rest)
    while at < count and level[queue[at]] < last:
        i = queue[at]
        at += 1
        before = count
        for e in range(first_out[i], first_out[i + 1]):
            if level[heads[e]] < 0:
                level[heads[e]] = level[i] + 1
                queue[count] = heads[e]
                count += 1
        for k in range(first_in[i], first_in[i + 1]):
            e = by_head[k]
            if flow[e] > 0 and level[tails[e]] < 0:
                level[tails[e]] = level[i] + 1
                queue[count] = tails[e]
                count += 1
        for k in range(before, count):
            if rest[queue[k]] < -least:
                last = level[i] + 1
    return last < len(rest)


@compiled
def _push(rest, flow, tails, heads, first_out, by_head, first_in, least, level, turn, nodes, path, start):
    """Moves weight from one item along shortest ways, until it has none left or there is no way.

    ``path`` are the arcs of a way so far, ~e for going against arc e; ``turn`` which arcs of an item have been tried.
    """
    depth = 0
    nodes[0] = start
    while rest[start] > least:
        i = nodes[depth]
        if rest[i] < -least:
            depth = _move(rest, flow, nodes, path, depth)
            continue
        n_out = first_out[i + 1] - first_out[i]
        onward = -1
        while onward < 0 and turn[i] < n_out + first_in[i + 1] - first_in[i]:
            if turn[i] < n_out:
                e = first_out[i] + turn[i]
                if level[heads[e]] == level[i] + 1:
                    onward, path[depth] = heads[e], e
            else:
                e = by_head[first_in[i] + turn[i] - n_out]
                if flow[e] > 0 and level[tails[e]] == level[i] + 1:
                    onward, path[depth] = tails[e], ~e
            if onward < 0:
                turn[i] += 1
        if onward >= 0:
            depth += 1
            nodes[depth] = onward
        elif depth > 0:
            depth -= 1
            turn[nodes[depth]] += 1
        else:
            return


@compiled
def _move(rest, flow, nodes, path, depth):
    """Moves weight along a way; returns how much of the way can still be gone."""
    start, end = nodes[0], nodes[depth]
    amount = min(rest[start], -rest[end])
    for d in range(depth):
        if path[d] < 0:
            amount = min(amount, flow[~path[d]])
    rest[start] -= amount
    rest[end] += amount
    back = depth
    for d in range(depth - 1, -1, -1):
        if path[d] < 0:
            flow[~path[d]] -= amount
            if flow[~path[d]] <= 0:
                back = d
        else:
            flow[path[d]] += amount
    return back
