"""The Lagrangian relaxation: that every bucket has one label is no longer asked for, but priced.

With a price λ_b for every bucket, what a set S is worth to label j is Ψ_j(S) − λ(S), and label j gains at most
g_j(λ), the most that any set is worth to it. So for every mapping

    F = Σ_j Ψ_j(S_j) ≤ Σ_b λ_b + Σ_j g_j(λ).

Any prices give a bound. It is tight where no set is worth more to a label than its own buckets: then no mapping is
better. A relaxation has the free buckets and the terms of all labels; buckets that are fixed under a label are part of
its term.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.columns.memory import OWN
from crowdopt.engines.columns.set_shapes import Items, Shape
from crowdopt.engines.columns.set_terms import BucketSet, Term, packed, terms_of, unpacked
from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Bytes, Floats, Ints
    from crowdopt.engines.columns.memory import Memory
    from crowdopt.model.order import Order
    from crowdopt.model.problem import Problem

MAX_MOVES = 10_000
"""Moves of a climb: a guard against rounding that would go in circles."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What is left of a problem, and the memory that a search in it may take.

    Attributes:
        buckets: The free buckets.
        terms: The terms of the labels.
        order: The order between buckets, where mappings have to respect it.
        memory: The memory.
    """

    buckets: BucketSet
    terms: tuple[Term, ...]
    order: Order | None = None
    memory: Memory = OWN

    @classmethod
    def of(cls, problem: Problem, memory: Memory = OWN) -> Relaxation:
        """The relaxation with all buckets free."""
        order = problem.order if problem.space is Space.DOMINANCE else None
        return cls(BucketSet.of(problem), tuple(terms_of(problem)), order, memory)

    @cached_property
    def n_labels(self) -> int:
        """Number of labels."""
        return sum(len(term.labels) for term in self.terms)

    @cached_property
    def term_of(self) -> Ints:
        """The index of the term of each label."""
        index = np.zeros(self.n_labels, np.int64)
        for at, term in enumerate(self.terms):
            index[list(term.labels)] = at
        return index

    @cached_property
    def items(self) -> dict[Shape, Items]:
        """The items of every shape that is not just any."""
        shapes = {term.shape for term in self.terms} - {Shape.ANY}
        return {shape: Items(shape, self.order) for shape in shapes if self.order is not None}

    def part(self, fixed: dict[int, int]) -> tuple[Relaxation, Ints]:
        """The relaxation of what is left when some are fixed under labels; and which these are."""
        free = np.array([b for b in range(len(self.buckets)) if b not in fixed], np.int64)
        terms: list[Term] = []
        for term in self.terms:
            unused = tuple(label for label in term.labels if label not in fixed.values())
            if unused:
                terms.append(replace(term, labels=unused))
            for label in term.labels:
                if label not in unused:
                    here = [b for b, at in fixed.items() if at == label]
                    tasks = float(self.buckets.tasks[here].sum())
                    terms.append(term.with_buckets(label, self.buckets.responses[here].sum(axis=0), tasks))
        return Relaxation(self.buckets.only(free), tuple(terms), memory=self.memory), free

    def sets(self, mapping: Ints) -> Bools:
        """The buckets under each label: (label, bucket)."""
        return np.asarray(mapping == np.arange(self.n_labels)[:, None])

    def values(self, mapping: Ints) -> Floats:
        """Ψ of every label."""
        responses, tasks = self.buckets.sums(self.sets(mapping))
        terms = [self.terms[at] for at in self.term_of]
        return np.array([t.values(n[None], k[None])[0] for t, n, k in zip(terms, responses, tasks, strict=True)])

    def moves(self, mapping: Ints) -> tuple[Floats, Floats]:
        """What each bucket adds to the label it has, and what it would add to each label that it has not.

        Returns:
            Ψ_j(S_j) − Ψ_j(S_j without b) for the label j of b, by bucket; and Ψ_j(S_j with b) − Ψ_j(S_j) by (bucket,
            label), minus infinity for the label that b has.
        """
        sets, before, buckets = self.sets(mapping), self.values(mapping), self.buckets
        responses, tasks = buckets.sums(sets)
        adds = np.zeros(len(buckets))
        would_add = np.full((len(buckets), self.n_labels), -np.inf)
        for label in range(self.n_labels):
            term, here = self.terms[self.term_of[label]], sets[label]
            left = term.values(responses[label] - buckets.responses[here], tasks[label] - buckets.tasks[here])
            adds[here] = before[label] - left
            joined = term.values(responses[label] + buckets.responses[~here], tasks[label] + buckets.tasks[~here])
            would_add[~here, label] = joined - before[label]
        return adds, would_add

    def neighbours(self, mapping: Ints) -> list[tuple[int, Bools]]:
        """By term, the sets of the mapping, and those after a bucket, with what it takes along, got another label."""
        own, now = self.sets(mapping), mapping.astype(np.int8)  # labels are few, and buckets squared many
        found: list[list[Bytes]] = [[packed(own[list(term.labels)])] for term in self.terms]
        above = np.eye(len(mapping), dtype=bool)  # [a, b]: a is raised along with b, and b sunk along with a
        if self.order is not None:
            above |= self.order.dominates
        for to in range(self.n_labels):
            raised = np.where(above.T & (now < to), np.int8(to), now)
            sunk = np.where(above & (now > to), np.int8(to), now)
            for label, at in enumerate(self.term_of):
                for after in (raised == label, sunk == label):
                    found[at].append(packed(after[(after != own[label]).any(axis=1)]))
        return [(at, unpacked(np.concatenate(sets), len(mapping))) for at, sets in enumerate(found)]

    def climb(self, mapping: Ints, step: float) -> Ints:
        """Moves the bucket that gains most, until none gains more than ``step``."""
        mapping = mapping.copy()
        for _ in range(MAX_MOVES if len(mapping) else 0):
            adds, would_add = self.moves(mapping)
            gains = would_add - adds[:, None]
            bucket, label = np.unravel_index(int(gains.argmax()), gains.shape)
            if not gains[bucket, label] > step:
                break
            mapping[bucket] = label
        return mapping
