"""Compiled loops over flows: the best closed sets of many weights at once. Imported only where there is an order.

Items have weights, and an arc (tail, head) says that a set with the tail has the head as well. The best *closed* set has
the greatest sum of weights. A flow f ≥ 0 on the arcs moves weight from tails to heads: with

    r_i = w_i − Σ of f on arcs from i + Σ of f on arcs to i,

no closed set has a greater sum of w than of r, as each arc with its tail in the set has its head there too. Hence Σ_i max(0, r_i)
is a bound for *any* flow, and it is recomputed here from the flow at the end, so that no error of the search for a good
flow can make it a false one. The search moves weight from items with r > 0 to items with r < 0 along shortest ways
(against an arc only what flows on it), until there is no way: then what can be reached from items with r > 0 is a best
closed set, and the bound is its weight. It may begin with any flow, such as that of similar weights.
"""

from __future__ import annotations

import numpy as np

from crowdopt.solve.compiled import compiled


@compiled
def _levels(r, flow, heads, first_out, tails, arcs_in, first_in, least, level, queue):
    """Distances from items with r > 0 along ways on which weight can move; returns whether one with r < 0 is reached.

    Stops at the distance of the nearest of these. What is no more than ``least`` counts as 0.
    """
    count = 0
    for i in range(len(r)):
        level[i] = -1
        if r[i] > least:
            level[i] = 0
            queue[count] = i
            count += 1
    at, wanting, last = 0, False, len(r)
    while at < count:
        i = queue[at]
        at += 1
        if level[i] >= last:
            continue
        for e in range(first_out[i], first_out[i + 1]):
            j = heads[e]
            if level[j] < 0:
                level[j] = level[i] + 1
                queue[count] = j
                count += 1
                if r[j] < -least:
                    wanting, last = True, min(last, level[j])
        for k in range(first_in[i], first_in[i + 1]):
            e = arcs_in[k]
            j = tails[e]
            if flow[e] > 0 and level[j] < 0:
                level[j] = level[i] + 1
                queue[count] = j
                count += 1
                if r[j] < -least:
                    wanting, last = True, min(last, level[j])
    return wanting


@compiled
def _push(r, flow, heads, first_out, tails, arcs_in, first_in, least, level, turn, path, nodes, start):
    """Moves weight from one item along shortest ways until there is none, or the item has none left."""
    depth = 0
    nodes[0] = start
    while r[start] > least:
        i = nodes[depth]
        if r[i] < -least:
            amount = min(r[start], -r[i])
            for d in range(depth):
                if path[d] < 0:
                    amount = min(amount, flow[~path[d]])
            back = depth
            for d in range(depth - 1, -1, -1):
                if path[d] < 0:
                    flow[~path[d]] -= amount
                    if flow[~path[d]] <= 0:
                        back = d
                else:
                    flow[path[d]] += amount
            r[start] -= amount
            r[i] += amount
            depth = back
            continue
        n_out = first_out[i + 1] - first_out[i]
        step = -1
        while turn[i] < n_out + first_in[i + 1] - first_in[i]:
            if turn[i] < n_out:
                e = first_out[i] + turn[i]
                j = heads[e]
                if level[j] == level[i] + 1:
                    step = j
                    path[depth] = e
                    break
            else:
                e = arcs_in[first_in[i] + turn[i] - n_out]
                j = tails[e]
                if flow[e] > 0 and level[j] == level[i] + 1:
                    step = j
                    path[depth] = ~e
                    break
            turn[i] += 1
        if step >= 0:
            depth += 1
            nodes[depth] = step
        elif depth == 0:
            return
        else:
            depth -= 1
            turn[nodes[depth]] += 1


@compiled
def _sweep(r, flow, heads, tails):
    """Moves weight along single arcs."""
    for e in range(len(heads)):
        i, j = tails[e], heads[e]
        if r[i] > 0 > r[j]:
            amount = min(r[i], -r[j])
        elif r[i] < 0 < r[j] and flow[e] > 0:
            amount = max(r[i], -r[j], -flow[e])
        else:
            continue
        r[i] -= amount
        r[j] += amount
        flow[e] += amount


@compiled
def _rest(weights, flow, heads, tails, r):
    """Fills r; returns the sum of the sizes of all that was added up."""
    size = 0.0
    for i in range(len(r)):
        r[i] = weights[i]
        size += abs(r[i])
    for e in range(len(heads)):
        if flow[e] > 0:
            r[tails[e]] -= flow[e]
            r[heads[e]] += flow[e]
            size += 2 * flow[e]
    return size


@compiled
def _above(r):
    """The sum of what is above 0."""
    above = 0.0
    for i in range(len(r)):
        if r[i] > 0:
            above += r[i]
    return above


@compiled
def settle(weights, flows, heads, first_out, tails, arcs_in, first_in, enough, inside, rest, bound, size):
    """Best closed sets of rows of weights, from rows of flows, which are improved.

    Args:
        weights: By (row, item).
        flows: By (row, arc), at least 0; changed.
        heads: Head of each arc; arcs are sorted by their tails.
        first_out: The first arc of each item, and the number of all.
        tails: Tail of each arc.
        arcs_in: The arcs sorted by their heads.
        first_in: The first of these of each item, and the number of all.
        enough: By row, a bound that need not be improved.
        inside: Filled: the best closed sets, by (row, item); nothing where the bound was enough before.
        rest: Filled: r by (row, item).
        bound: Filled: by row, no closed set has a greater sum.
        size: Filled: by row, the sum of the sizes of all that was added up, for what rounding may have done.
    """
    n_rows, n = weights.shape
    level, queue, turn = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    path, nodes = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for row in range(n_rows):
        r, flow = rest[row], flows[row]
        least = 1e-15 * _rest(weights[row], flow, heads, tails, r)
        inside[row] = False
        if _above(r) > enough[row]:
            _sweep(r, flow, heads, tails)
        while _above(r) > enough[row]:
            if not _levels(r, flow, heads, first_out, tails, arcs_in, first_in, least, level, queue):
                for i in range(n):
                    inside[row, i] = level[i] >= 0
                break
            turn[:] = 0
            for i in range(n):
                if level[i] == 0:
                    _push(r, flow, heads, first_out, tails, arcs_in, first_in, least, level, turn, path, nodes, i)
        size[row] = _rest(weights[row], flow, heads, tails, r)
        bound[row] = _above(r)
