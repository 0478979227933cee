"""Search: good mappings where the best cannot be proved in time, by many climbs from seeded starts.

Maximises the log-likelihood over dominance-consistent mappings, or over all mappings, for any number of labels and
classes. A climb refits: every bucket goes to the label that explains it best, is pulled back into the order where
there is one, and the matrix is estimated anew. Then it moves the one bucket that gains most, along with what the
order asks to move with it (over all mappings also every bucket that gains at once, if that gains more), until no
move gains. Starts are isotone cuts of random directions (over all mappings also random matrices). The seed is known,
and what limits a search is counted work (SEARCH_WORK), not the clock: so the answer repeats on every machine, however
busy, unless someone asks to stop.

It proves nothing but the bound that always holds (every bucket a cluster of its own). Cost: a step of a climb takes
O(B² · labels² · classes) under dominance, O(B · labels² · classes) over all mappings, B being the number of buckets.
Beyond MAX_BUCKETS under dominance the starts are only compared, as the order among so many would not fit.
"""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.engines.tie_breaking import choose, renamed
from crowdopt.model.certificate import Space, Stop
from crowdopt.model.margins import Moves, closure_moves
from crowdopt.model.objective import CountTable
from crowdopt.model.order import tails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Floats, Ints
    from crowdopt.model.problem import Problem

MIN_STARTS, MAX_STARTS, START_WORK = 12, 128, 100_000_000  # the last bounds the starts times the cost of a step
SEARCH_WORK = 3_000_000_000  # numbers that the steps of all climbs may look at: some ten seconds
MAX_TABLE = 5_000_000  # entries of a table in which logarithms are looked up
BYTES_PER_ENTRY = 32  # what one takes while the table is made
MAX_FOUND = 1 << 29  # bytes of the mappings that are remembered; of more, the better half
KEPT = 16  # best climbs that are renamed and climbed once more
_BLOCK = 1 << 19  # counts worked on at once: bounds memory
_TINY = 1e-300  # of a probability, whose logarithm must be finite


def search(problem: Problem, limits: Limits) -> Outcome:
    """A mapping that no climb improved, or the best so far when work or someone ends the search; BOUNDED at most."""
    climbs = Climbs(problem, limits)
    climbs.run()
    mapping = climbs.chosen()
    value = problem.objective.of_mapping(problem.buckets, mapping)
    margins = closure_moves(problem, mapping) if problem.space is Space.DOMINANCE else None
    return Outcome(mapping, value, max(climbs.bound, value), problem.space, climbs.work, climbs.stop, margins)


class Climbs:
    """Climbs from all starts.

    Attributes:
        found: The log-likelihoods of where they ended, by the bytes of the mapping.
        spent: Of SEARCH_WORK.
        stop: Why someone ended the search; FINISHED if nobody did.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits, self.bound = problem, limits.without_clock, problem.plain_bound
        self.work, self.spent, self.stop = 0, 0, Stop.FINISHED
        self.found: dict[bytes, float] = {}
        self.moves = Steps(problem, limits.fit(MAX_TABLE, BYTES_PER_ENTRY, part=4))
        per_mapping = 2 * problem.buckets.weights.nbytes + 200  # some are arrays at the same time
        self.most_found = limits.fit(MAX_FOUND // per_mapping, per_mapping, part=8)
        self.keep(starts(problem, 0))  # there is an answer whenever the limits strike

    def keep(self, mappings: Ints) -> None:
        """Adds mappings to those found."""
        values = self.moves.values(mappings).tolist()
        self.found.update({m.tobytes(): v for m, v in zip(mappings, values, strict=True) if v > -np.inf})
        self.work += len(mappings)
        if len(self.found) > max(self.most_found, 2 * KEPT):
            best = sorted(self.found, key=lambda key: (-self.found[key], key))
            self.found = {key: self.found[key] for key in best[: len(best) // 2]}

    @property
    def best(self) -> float:
        """The log-likelihood of the best mapping found."""
        return max(self.found.values())

    def go_on(self) -> bool:
        """Whether there is work left to spend, and nobody asks to stop; remembers if someone does."""
        stop = self.limits.reached(self.best, max(self.bound, self.best), self.work)
        self.stop = stop or self.stop
        return stop is None and self.spent < SEARCH_WORK

    def apart(self) -> Climbs:
        """The same with nothing found: for mappings that the answer must not depend on."""
        other = copy.copy(self)
        other.found = {}
        return other

    def run(self, most: int = MAX_STARTS) -> None:
        """Climbs from every start, or from the ``most`` first, in blocks; then once more from the best, renamed."""
        if not self.go_on():
            return
        block, n_starts = self.moves.block, min(most, self.moves.n_starts)
        mappings = np.unique(starts(self.problem, n_starts, self.limits.seed), axis=0)
        if not all(self.climb(mappings[at : at + block]) for at in range(0, len(mappings), block)):
            return
        best = sorted(self.found, key=lambda key: (-self.found[key], key))[: min(KEPT, block)]
        self.climb(np.stack([renamed(self.problem, np.frombuffer(key, np.int64)) for key in best]))

    def chosen(self) -> Ints:
        """The best mapping found, under its best names; of several as likely, by the rule for ties."""
        problem, best = self.problem, self.best
        slack = problem.tolerance(best) + self.moves.error
        near = [np.frombuffer(key, np.int64) for key, value in self.found.items() if value >= best - slack]
        if problem.objective.interchangeable:
            near = [renamed(problem, mapping) for mapping in near]
        exact = max(problem.objective.of_mapping(problem.buckets, mapping) for mapping in near)
        return choose(problem, near, exact - problem.tolerance(exact)).copy()

    def climb(self, mappings: Ints) -> bool:
        """Refits and moves until nothing gains; keeps where that ends; returns False if it has to end before."""
        for stage, cost in ((self.moves.refit, self.moves.charge // 5), (self.moves.best_move, self.moves.charge)):
            active = np.arange(len(mappings) if self.moves.usable else 0)
            while len(active):
                better, gained = stage(mappings[active])
                self.work += len(active) * mappings.shape[1] * self.moves.n_labels
                self.spent += len(active) * cost
                mappings[active[gained]] = better[gained]
                active = active[gained]
                if not self.go_on():
                    self.keep(mappings)
                    return False
        self.keep(mappings)
        return self.go_on()


class Steps(Moves):
    """What a climb can do, for many mappings (mapping, bucket) at once. ``error`` bounds how far its values are off."""

    def __init__(self, problem: Problem, most_entries: int = MAX_TABLE) -> None:
        table = CountTable(problem.objective, problem.buckets, most_entries)
        super().__init__(problem, table if table.complete else None)
        self.error = 4 * self.n_labels * table.error if table.complete else 0.0
        # A move must gain more than rounding may pretend, or climbs could go in circles.
        self.step = self.error + problem.tolerance(problem.plain_bound)
        size = self.mass.size * self.n_labels
        n_along = problem.buckets.n_buckets if self.ordered and self.usable else 10
        self.block = max(1, _BLOCK // size)
        self.n_starts = max(min(START_WORK // (size * n_along), MAX_STARTS), MIN_STARTS)
        self.charge = size * max(10, n_along // 12)  # of SEARCH_WORK for a move: products of matrices are fast

    def best_move(self, mappings: Ints) -> tuple[Ints, Ints]:
        """Every mapping after the move that gains most, and the indices of those that do gain."""
        gains = self.gains(mappings).reshape(len(mappings), -1)
        rows, at = np.arange(len(mappings)), gains.argmax(axis=1)
        bucket, label = np.divmod(at, self.n_labels)
        upward = (label > mappings[rows, bucket])[:, None]
        along = bucket[:, None] == np.arange(mappings.shape[1])
        if self.ordered:
            along = np.where(upward, self.above[bucket], self.above[:, bucket].T) > 0
        along &= upward == (label[:, None] > mappings)  # a label already beyond the new one stays
        moved = np.where(along, label[:, None], mappings)
        if not self.ordered:
            moved = self._likelier(moved, self._all_that_gain(mappings, gains.reshape(*mappings.shape, -1)))
        return moved, np.flatnonzero(gains[rows, at] > self.step)

    def _all_that_gain(self, mappings: Ints, gains: Floats) -> Ints:
        """Every mapping with each bucket that would gain, were it alone, under the label where it gains most."""
        return np.where(gains.max(axis=2) > self.step, gains.argmax(axis=2), mappings)

    def _likelier(self, one: Ints, other: Ints) -> Ints:
        """Mapping by mapping the likelier of two."""
        return np.where((self.values(other) > self.values(one))[:, None], other, one)

    def refit(self, mappings: Ints) -> tuple[Ints, Ints]:
        """The same for giving every bucket the label that explains it best, the order mended up, down or halfway."""
        assigned = self._assigned(self.sums(mappings))
        options = [mappings, *np.split(self.in_order(assigned), 3 if self.ordered else 1)]
        values = np.stack([self.values(option) for option in options])
        best, rows = values.argmax(axis=0), np.arange(len(mappings))
        return np.stack(options)[best, rows], np.flatnonzero(values[best, rows] > values[0] + self.step)

    def in_order(self, mappings: Ints) -> Ints:
        """The same mappings or, where there is an order, these mended up, then down, then halfway."""
        if not self.ordered:
            return mappings.copy()
        top, kind = self.n_labels - 1, self.mass.dtype
        raised, sunk = np.zeros_like(mappings), np.zeros_like(mappings)
        for t in range(1, self.n_labels):
            raised += (mappings >= t).astype(kind) @ self.above > 0
            sunk += (mappings < t).astype(kind) @ self.above.T > 0
        return np.concatenate([raised, top - sunk, (raised + top - sunk) // 2])

    def _assigned(self, sums: Floats) -> Ints:
        """For every bucket the used label of the highest posterior; rounded, so that ties do not hang on noise."""
        buckets, objective = self.problem.buckets, self.problem.objective
        counts, tasks = sums[..., :-1].reshape(*sums.shape[:2], buckets.n_classes, -1), sums[..., -1]
        if objective.offsets is not None:
            counts = counts + objective.offsets.counts
        whole = counts.sum(axis=-1, keepdims=True)
        log = np.log(np.maximum(counts / np.where(whole > 0, whole, 1), _TINY))
        flat = buckets.counts.reshape(buckets.n_buckets, -1).astype(float)
        score = flat @ np.swapaxes(log.reshape(*sums.shape[:2], -1), 1, 2)
        share = np.stack([objective.log_shares(row) for row in tasks.astype(np.int64)])
        score += np.where(whole.sum(axis=(2, 3)) > 0, share, -np.inf)[:, None]
        return np.asarray(score.round(9).argmax(axis=-1))


def starts(problem: Problem, n_starts: int, seed: int = 0) -> Ints:
    """Where climbs begin: each label alone, rounded means, and random ones; none uses a label of given share zero."""
    buckets = problem.buckets
    allowed = np.flatnonzero(problem.objective.shares or np.ones(buckets.n_labels))
    rng = np.random.Generator(np.random.PCG64(seed))
    votes = buckets.counts.sum(axis=1)
    mean = np.rint((votes @ np.arange(buckets.n_labels)) / buckets.sizes)
    at = [np.full(buckets.n_buckets, i) for i in range(len(allowed))]
    at.append(np.minimum(np.searchsorted(allowed, mean), len(allowed) - 1))
    if problem.space is Space.ALL:
        at.append(votes[:, allowed].argmax(axis=1))
        at += _from_seeds(problem, len(allowed), n_starts // 2, rng)
        n_starts -= n_starts // 2
    at += _isotone(problem, len(allowed), n_starts, rng)
    return np.asarray(allowed[np.stack(at)])


def _isotone(problem: Problem, n_labels: int, n_starts: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Random cuts of random positive sums of what dominance compares, or of its shares: monotone, also when rounded."""
    counts, sizes = problem.buckets.counts, problem.buckets.sizes
    options = tails(counts, ranked=problem.ranked).T, tails(counts.sum(axis=1, keepdims=True)).T / sizes
    for keys in itertools.islice(itertools.cycle(options), n_starts):
        score = np.zeros(len(counts))
        for weight, key in zip(rng.random(len(keys)) ** 3, keys, strict=True):
            score += weight * key
        cuts = rng.choice(score, n_labels - 1)
        yield (score >= cuts[:, None]).sum(axis=0)


def _from_seeds(problem: Problem, n_labels: int, n_starts: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Every bucket goes to the likeliest of a few randomly chosen ones."""
    counts = problem.buckets.counts
    for _ in range(n_starts):
        seeds = counts[rng.integers(0, len(counts), n_labels)] + rng.uniform(0.05, 1)
        log = np.log(seeds / seeds.sum(axis=-1, keepdims=True))
        yield np.einsum("bki,jki->bj", counts, log).round(9).argmax(axis=1)


SEARCH = Engine("search", search)
