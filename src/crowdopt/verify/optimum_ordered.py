"""The optimum over mappings that respect the order again, by plain means: for any number of labels.

Shares nothing with the engines but the problem itself. Up-sets are listed as whole numbers whose bits are buckets;
the longest path of docs/theory.md, Fact 4, is followed one up-set at a time, and every logarithm is taken where it is
needed. For an up-set U and a label j, ``down[j, U]`` is the best sum of terms of labels j and above when together
they label U, ``up[j, U]`` the best sum of terms of the labels below j when labels j and above label U.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.model.order import tails
from crowdopt.verify.optimum import Undecided, check_clock, log_likelihood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.model.problem import Problem

MAX_UP_SETS = 60_000
"""More are not listed: the pairs grow with their square."""

MAX_BITS = 2**30
"""Buckets times up-sets beyond which they are not listed either: bounds memory."""

MAX_NEAR = 1_000
"""Mappings that may be the best by their rounded values, and are evaluated anew."""

_TINY = 1e-200
"""Stands for zero in a divisor, where a zero in front makes the product zero."""


class OrderedOptimum:
    """The best chains of nested up-sets, by plain means.

    Attributes:
        value: The best log-likelihood of a mapping that respects the order.

    Raises:
        Undecided: When the deadline passes (later calls raise it too), or there are too many up-sets.
    """

    value: float

    def __init__(self, problem: Problem, deadline: float) -> None:
        self._problem, self._deadline = problem, deadline
        self._sets = _UpSets(problem, deadline)
        self._terms = _Terms(problem, self._sets)
        self._labels = problem.buckets.n_labels
        self._down = self._best_below()
        best = float(self._down[0, -1])
        n_terms = self._labels * (problem.buckets.n_classes * self._labels + 3)
        # No term is positive and each is good to 8 units, so this is what rounding can do to a sum of them.
        self._error = (8 + n_terms) * float(np.finfo(float).eps) * abs(best)
        near = islice(self._reaching(best - 2 * self._error), MAX_NEAR)
        self.value = max(log_likelihood(problem, mapping) for mapping in near)

    def margins(self, mapping: Ints, value: float) -> Floats:
        """Per bucket, ``value`` minus the best F of a mapping that respects the order and gives it another label.

        Infinite where there is none; below zero by as much as ``value`` is below the optimum.
        """
        through = self._up + self._down
        label, outer = np.nonzero(through[:-1] > -np.inf)
        best = np.full(len(mapping), -np.inf)
        # The likeliest first: what they find lets most of the others be passed over.
        for at in np.argsort(-through[label, outer], kind="stable").tolist():
            check_clock(self._deadline)
            if through[label[at], outer[at]] <= best.min():
                break
            self._improve(best, mapping, int(label[at]), int(outer[at]), through)
        return value - best

    def tied(self, mapping: Ints, at_least: float, limit: int = MAX_NEAR) -> Bools | None:
        """Which buckets another mapping labels otherwise, one of F >= ``at_least`` that agrees with as many responses.

        Returns:
            None if more than ``limit`` mappings come near ``at_least``.
        """
        near = self._as_good(at_least, limit)
        return None if near is None else self._otherwise(mapping, near)

    def agrees_more(self, mapping: Ints, at_least: float, limit: int = MAX_NEAR) -> bool:
        """Whether a mapping of F >= ``at_least`` agrees with more responses; False if more than ``limit`` come near."""
        agreement = self._problem.buckets.agreement
        return any(agreement(other) > agreement(mapping) for other in self._as_good(at_least, limit) or ())

    def _as_good(self, at_least: float, limit: int) -> list[Ints] | None:
        """The mappings of F >= ``at_least``; None if more than ``limit`` come near that."""
        near = list(islice(self._reaching(at_least - self._error), limit + 1))
        return (
            None if len(near) > limit else [other for other in near if log_likelihood(self._problem, other) >= at_least]
        )

    def _otherwise(self, mapping: Ints, near: list[Ints]) -> Bools:
        """Which buckets a mapping of ``near`` that agrees with as many responses labels otherwise."""
        agreement = self._problem.buckets.agreement
        ties = [other for other in near if agreement(other) >= agreement(mapping)]
        return np.asarray((np.array([mapping, *ties]) != mapping).any(axis=0))

    def _best_below(self) -> Floats:
        """``down``, with a row for a label above the highest, which labels nothing."""
        top, last = self._labels - 1, len(self._sets) - 1
        down = np.full((self._labels + 1, last + 1), -np.inf)
        down[-1, 0] = 0.0
        down[top] = self._terms.of(top, np.arange(last + 1), 0)
        middle = range(top - 1, 0, -1)
        for outer in range(last + 1) if middle else ():
            inner = self._inside(outer)
            for label, term in zip(middle, self._terms.of_each(middle, outer, inner), strict=True):
                down[label, outer] = (term + down[label + 1, inner]).max()
        if top:
            down[0, last] = (self._terms.of(0, last, np.arange(last + 1)) + down[1]).max()
        return down

    @cached_property
    def _up(self) -> Floats:
        """``up``, with a row for a label above the highest, below which everything is labelled."""
        top, last = self._labels - 1, len(self._sets) - 1
        up = np.full((self._labels + 1, last + 1), -np.inf)
        up[0, last] = 0.0
        if top:
            up[1] = self._terms.of(0, last, np.arange(last + 1))
        middle = range(1, top)
        for outer in range(last, -1, -1) if middle else ():
            inner = self._inside(outer)
            for label, term in zip(middle, self._terms.of_each(middle, outer, inner), strict=True):
                up[label + 1, inner] = np.maximum(up[label + 1, inner], up[label, outer] + term)
        up[-1, 0] = (up[top] + self._terms.of(top, np.arange(last + 1), 0)).max()
        return up

    def _improve(self, best: Floats, mapping: Ints, label: int, outer: int, through: Floats) -> None:
        """Raises ``best`` of the buckets that ``label`` gets, though not from ``mapping``, below up-set ``outer``."""
        sets = self._sets
        wanted = sets.members(outer) & (mapping != label) & (best < through[label, outer])
        if self._terms.forbidden(label) or not wanted.any():
            return
        inner = self._inside(outer) if label < self._labels - 1 else np.zeros(1, np.int64)
        inner = inner[through[label + 1, inner] > best[wanted].min()]
        inner = inner[sets.lack_some(wanted, inner)]
        reach = self._up[label, outer] + self._terms.of(label, outer, inner) + self._down[label + 1, inner]
        # The best up-set inside settles the wanted buckets that it lacks; the others need one that lacks them too.
        while len(inner):
            at = int(reach.argmax())
            settled = wanted & ~sets.members(int(inner[at]))
            best[settled] = np.maximum(best[settled], reach[at])
            wanted &= ~settled & (best < reach[at])
            rest = sets.lack_some(wanted, inner)
            inner, reach = inner[rest], reach[rest]

    def _reaching(self, at_least: float) -> Iterator[Ints]:
        """The mappings whose terms, as summed here, reach ``at_least``; the better of two branches first."""
        stack: list[tuple[tuple[int, ...], float]] = [((len(self._sets) - 1,), 0.0)]
        while stack:
            nested, below = stack.pop()
            if len(nested) == self._labels:
                yield np.array([self._sets.members(at) for at in nested], np.int64).sum(axis=0) - 1
                continue
            label, outer = len(nested) - 1, nested[-1]
            inner = self._inside(outer)
            inner = inner[below + self._down[label + 1, inner] >= at_least]  # no term is positive
            sums = below + self._terms.of(label, outer, inner)
            total = sums + self._down[label + 1, inner]
            better_last = np.argsort(total, kind="stable")
            good = better_last[total[better_last] >= at_least].tolist()
            stack += [((*nested, int(inner[at])), float(sums[at])) for at in good]

    def _inside(self, outer: int) -> Ints:
        check_clock(self._deadline)
        return self._sets.inside(outer)


class _UpSets:
    """All up-sets, smaller ones first: the first is empty, the last holds every bucket."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.n_buckets = problem.buckets.n_buckets
        listed = _list_up_sets(tails(problem.buckets.counts, ranked=problem.ranked), deadline)
        n_words = -(-self.n_buckets // 64)
        packed = b"".join(members.to_bytes(8 * n_words, "little") for members in listed)
        words = np.frombuffer(packed, "<u8").astype(np.uint64).reshape(len(listed), n_words)
        self.words: NDArray[np.uint64] = np.ascontiguousarray(words.T)  # (word, set)

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def sums(self, amounts: Ints) -> Ints:
        """Sums (column, set) of ``amounts`` (bucket, column) over the members of each up-set."""
        total = np.zeros((amounts.shape[1], len(self)), np.int64)
        for bucket, amount in enumerate(amounts):
            held = (self.words[bucket // 64] >> np.uint64(bucket % 64)) & np.uint64(1)
            total += amount[:, None] * held.astype(np.int64)
        return total

    def members(self, at: int) -> Bools:
        """Whether an up-set holds each bucket."""
        return _unpacked(self.words[:, at])[: self.n_buckets]

    def inside(self, outer: int) -> Ints:
        """The up-sets that have nothing which ``outer`` lacks, itself among them; none of them comes later."""
        inner = np.flatnonzero((self.words[0, : outer + 1] & ~self.words[0, outer]) == 0)
        for word in self.words[1:]:
            inner = inner[(word[inner] & ~word[outer]) == 0]
        return inner

    def lack_some(self, buckets: Bools, among: Ints) -> Bools:
        """Whether each of some up-sets lacks one or more of ``buckets``."""
        lacks = np.zeros(len(among), bool)
        for word, asked in zip(self.words, _packed(buckets, len(self.words)), strict=True):
            lacks |= (asked & ~word[among]) != 0
        return lacks


def _list_up_sets(keys: Ints, deadline: float) -> list[int]:
    """Every up-set as a whole number, bit by bit from the top: a set may take a bucket in if it has all above it."""
    n_buckets = len(keys)
    if not keys.shape[1]:
        return [0, 2**n_buckets - 1]  # one label: no bucket is told from another
    limit = min(MAX_UP_SETS, MAX_BITS // n_buckets)
    up_sets = [0]
    for bucket in np.argsort(-keys.sum(axis=1), kind="stable").tolist():  # what dominates has a larger sum
        check_clock(deadline)
        above = (keys >= keys[bucket]).all(axis=1)
        above[bucket] = False
        needed = int.from_bytes(np.packbits(above, bitorder="little").tobytes(), "little")
        up_sets += [members | 1 << bucket for members in up_sets if members & needed == needed]
        if len(up_sets) > limit:
            raise Undecided(f"there are more than {limit} up-sets, too many for an independent check of the bound")
    return sorted(up_sets, key=int.bit_count)


def _packed(buckets: Bools, n_words: int) -> NDArray[np.uint64]:
    padded = np.zeros(64 * n_words, bool)
    padded[: len(buckets)] = buckets
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)


def _unpacked(words: NDArray[np.uint64]) -> Bools:
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little").view(bool)


class _Terms:
    """Ψ of a label for the buckets between two nested up-sets, straight from its definition."""

    def __init__(self, problem: Problem, sets: _UpSets) -> None:
        buckets, objective = problem.buckets, problem.objective
        self._kind, self._shares = objective.kind, objective.shares
        self._shape = buckets.counts.shape[1:]
        self._responses = sets.sums(buckets.responses.reshape(buckets.n_buckets, -1))
        self._tasks = sets.sums(buckets.weights[:, None])[0]
        self._known = [_offsets(problem, label) for label in range(buckets.n_labels)]
        self._one_fit = all(np.array_equal(known, self._known[0]) for known in self._known)
        self._known_tasks = [objective.offset_tasks(label) for label in range(buckets.n_labels)]
        self._n_tasks = buckets.n_tasks + sum(self._known_tasks)

    def forbidden(self, label: int) -> bool:
        """Whether no task may have a label."""
        return self._kind == "given" and self._shares[label] == 0

    def of(self, label: int, outer: int | Ints, inner: int | Ints) -> Floats:
        """Ψ of one label for every pair."""
        return next(self.of_each(range(label, label + 1), outer, inner))

    def of_each(self, labels: range, outer: int | Ints, inner: int | Ints) -> Iterator[Floats]:
        """Ψ of several labels for the same pairs; of the responses once where no offsets tell labels apart."""
        responses = _column(self._responses, outer) - _column(self._responses, inner)
        tasks = np.atleast_1d(self._tasks[outer] - self._tasks[inner])
        fit: Floats | None = None
        for label in labels:
            if fit is None or not self._one_fit:
                fit = _fit(responses.reshape(*self._shape, -1), self._known[label])
            yield fit + self._share(label, tasks)

    def _share(self, label: int, tasks: Ints) -> Floats | float:
        if self._kind == "none":
            return 0.0
        if self._kind == "estimated":
            part = tasks + self._known_tasks[label]
            return _times_log(part.astype(float), (self._n_tasks - part).astype(float))
        if self.forbidden(label):
            return np.where(tasks > 0, -np.inf, 0.0)
        return np.asarray(tasks * math.log(self._shares[label]), dtype=float)


def _column(amounts: Ints, at: int | Ints) -> Ints:
    return amounts[:, at, None] if isinstance(at, int) else amounts.take(at, axis=1)


def _offsets(problem: Problem, label: int) -> Floats:
    """What is added to each count, and to the sum of the others of its row: (part or rest, class, answer)."""
    given = np.broadcast_to(problem.objective.offset(label), problem.buckets.counts.shape[1:]).astype(float)
    rest = [[math.fsum(np.delete(row, at)) for at in range(len(row))] for row in given]
    return np.array([given, rest])


def _fit(responses: Ints, known: Floats) -> Floats:
    """Σ M ln(M / M·) of responses (class, answer, pair) and what is known beforehand."""
    rest = responses.sum(axis=1, keepdims=True) - responses
    return np.asarray(_times_log(responses + known[0, :, :, None], rest + known[1, :, :, None]).sum(axis=(0, 1)))


def _times_log(part: Floats, rest: Floats) -> Floats:
    """``part * ln(part / (part + rest))``, zero where part is zero; a rest that is given loses no digits near one."""
    return np.asarray(-part * np.log1p(rest / np.maximum(part, _TINY)))
