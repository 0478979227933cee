"""Hard EM under dominance: in every round the best labels, for given answer probabilities, that respect the order.

That is a minimum cut: an item says that a bucket has at least a label; it asks for the same of all buckets that
dominate it, and for the label below. Each round raises the log-likelihood or is the last. Good starts for climbs: it
moves many buckets at once, where a climb moves one and what it takes along. Alone it often ends short of the best. It
proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.closures import Arcs

if TYPE_CHECKING:
    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.local_search import Climbs

ROUNDS = 50
"""Rounds at most."""

WORK_PER_ARC = 300
"""What a minimum cut takes of the work of a search, by the size of its network."""

_LEAST = 1e-12  # of a probability
_NEVER = -1e12  # a score that no other makes up for


class IsotoneEM:
    """Hard EM for the problem of climbs, from many starts at once."""

    def __init__(self, climbs: Climbs) -> None:
        self.climbs, self.problem = climbs, climbs.problem
        buckets = self.problem.buckets
        self.n_labels, self.n_classes, self.counts = buckets.n_labels, buckets.n_classes, buckets.counts.astype(float)
        higher, lower = np.nonzero(self.problem.order.covers)
        n = buckets.n_buckets
        layers = range(self.n_labels - 1)
        tails = [lower + t * n for t in layers] + [np.arange(n) + t * n for t in layers[1:]]
        heads = [higher + t * n for t in layers] + [np.arange(n) + (t - 1) * n for t in layers[1:]]
        self.arcs = Arcs(np.concatenate(tails), np.concatenate(heads), len(layers) * n)

    def starts(self, n_starts: int, rng: np.random.Generator) -> Ints:
        """The mappings that it ends with from random probabilities: the shares of random buckets, smoothed."""
        shares = self._shares(self.counts)
        near = shares[rng.integers(len(shares), size=(n_starts, self.n_labels))]
        drawn = rng.dirichlet(np.ones(self.n_labels), size=(n_starts, self.n_labels, self.n_classes))
        part = rng.uniform(0.1, 1.0, size=(n_starts, 1, 1, 1))
        return self.run_from((1 - part) * near + part * drawn)

    def run_from(self, probabilities: Floats) -> Ints:
        """The same as :meth:`run`, after the labels of each matrix were sorted, those of lower answers first."""
        by_mean = np.argsort((probabilities @ np.arange(self.n_labels)).sum(axis=2), axis=1, kind="stable")
        return self.run(np.take_along_axis(probabilities, by_mean[:, :, None, None], axis=1))

    def run(self, probabilities: Floats) -> Ints:
        """The mappings (row, bucket) that it ends with from probabilities (row, label, class, answer)."""
        flows = self.arcs.no_flows(len(probabilities))
        shares = np.full((len(probabilities), self.n_labels), 1 / self.n_labels)
        best = np.zeros((len(probabilities), len(self.counts)), np.int64)
        value = np.full(len(best), -np.inf)
        rows = np.arange(len(best))
        for _ in range(ROUNDS):
            mappings = self._assigned(probabilities, shares, flows)
            self.climbs.spent += WORK_PER_ARC * len(self.arcs) * len(rows)
            after = self.climbs.moves.values(mappings)
            better = after > value[rows] + self.climbs.moves.step
            best[rows[better]], value[rows[better]] = mappings[better], after[better]
            rows, flows, mappings = rows[better], flows[better], mappings[better]
            if not len(rows) or not self.climbs.go_on():
                break
            probabilities, shares = self._refitted(mappings)
        return best

    def _assigned(self, probabilities: Floats, shares: Floats, flows: Floats) -> Ints:
        """The best mappings that respect the order."""
        weights = self.problem.buckets.weights
        logs = np.log(np.maximum(probabilities, _LEAST)).reshape(*shares.shape, -1)
        scores = logs @ self.counts.reshape(len(weights), -1).T + self._log_shares(shares)[:, :, None]
        steps = np.diff(weights * scores, axis=1)  # row, label from the second on, bucket
        inside = self.arcs.settle(steps.reshape(len(scores), -1), flows).inside
        return np.asarray(inside.reshape(steps.shape).sum(axis=1))

    def _log_shares(self, shares: Floats) -> Floats:
        """What a task adds under each label by its share."""
        objective = self.problem.objective
        if objective.kind == "none":
            return np.zeros_like(shares)
        given = np.broadcast_to(objective.shares, shares.shape) if objective.kind == "given" else shares
        return np.where(given > 0, np.log(np.maximum(given, _LEAST)), _NEVER)

    def _refitted(self, mappings: Ints) -> tuple[Floats, Floats]:
        """The probabilities and shares that explain mappings best; those of unused labels are all equal."""
        sums = self.climbs.moves.sums(mappings)
        counts = sums[..., :-1].reshape(*sums.shape[:2], self.n_classes, self.n_labels).astype(float)
        tasks = sums[..., -1].astype(float)
        offsets = self.problem.objective.offsets
        if offsets is not None:
            counts, tasks = counts + offsets.counts, tasks + offsets.gold_tasks
        return self._shares(counts), tasks / tasks.sum(axis=1, keepdims=True)

    def _shares(self, counts: Floats) -> Floats:
        """The shares of answers; all equal where there are none."""
        whole = counts.sum(axis=-1, keepdims=True)
        return np.where(whole > 0, counts / np.where(whole > 0, whole, 1.0), 1 / self.n_labels)
