"""Draft of hints under an order."""
from __future__ import annotations
import numpy as np
from crowdopt.solve.shapes import Shape
from crowdopt.solve.hints import ROUNDS, _sorted, _TINY

def held(inside, layers):
    n = inside.shape[1] // layers
    return inside[:, :n] & ~inside[:, n:] if layers == 2 else inside

def good_sets(goods, term, prices, probabilities, arcs):
    n = len(goods)
    layers = arcs.n_items // n
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(probabilities, 1e-12))
        per_task = np.full(len(logs), term.log_share)
        if term.total:
            per_task = 1 + np.log(np.linspace(0.02, 0.98, len(logs)))
        sets = np.zeros((len(logs), n), bool)
        flows = np.zeros((len(logs), len(arcs)))
        rows = np.arange(len(logs))
        done = []
        for turn in range(ROUNDS):
            w = logs @ goods.responses.T - prices
            if term.total or term.log_share:
                w = w + per_task[:, None] * goods.tasks
            f = arcs.settle(np.concatenate([w, -w][:layers], axis=1), flows, np.full(len(w), -1.0))
            new = held(f.inside, layers)
            if turn == 0:
                changed = np.ones(len(new), bool)
            else:
                changed = (new != sets).any(axis=1)
            done.append(new[~changed])
            packed = np.packbits(new, axis=1)
            _, first = np.unique(packed, axis=0, return_index=True)
            keep = np.zeros(len(new), bool); keep[first] = True
            keep &= changed
            if not keep.any():
                break
            sets, flows = new[keep], flows[keep]
            responses, tasks = goods.sums(sets)
            counts = responses + term.offset
            logs = np.log(np.maximum(counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY), 1e-12))
            per_task = per_task[keep]
            if term.total:
                per_task = 1 + np.log(np.maximum(tasks + term.known, _TINY) / term.total)
        else:
            done.append(sets)
    return _sorted(goods, term, prices, np.concatenate(done))

def flipped(goods, term, prices, sets, order):
    n = len(goods)
    eye = np.eye(n, dtype=bool)
    up = order.dominates.T | eye    # up[b]: all above b
    down = order.dominates | eye
    found = []
    for s in sets:
        add_up, add_down = s | up, s | down
        cut_up, cut_down = s & ~up, s & ~down
        if term.shape is Shape.UPPER: c = np.where(s[:, None], cut_down, add_up)
        elif term.shape is Shape.LOWER: c = np.where(s[:, None], cut_up, add_down)
        else:
            ab = (order.dominates @ s)   # dominates something in s
            be = (order.dominates.T @ s)
            # hull of s and b
            hull = s | eye | (up & (be | s)) & ~s * 0 if False else None
            sb = s | eye
            a = (sb.astype(np.float32) @ order.dominates.T.astype(np.float32)) > 0   # above something
            d = (sb.astype(np.float32) @ order.dominates.astype(np.float32)) > 0
            hull = sb | (a & d)
            c = np.concatenate([np.where(s[:, None], cut_up, hull), np.where(s[:, None], cut_down, hull)])
        v = term.values(*goods.sums(c)) - c @ prices
        found.append(c[np.argsort(-v)[:3]])
    return _sorted(goods, term, prices, np.concatenate(found))
