"""Branching: the optimum over all mappings where no prices prove it at once.

Maximises F over all mappings by branch and bound. A *node* has some buckets fixed under labels; its bound is the one that
prices prove for the market of the rest (prove.py). A node whose bound is not down to the best mapping known is split: one
more bucket is fixed, under each label in turn, but under only one of several labels that nothing tells apart so far. The
bound of the whole is the greatest of all open nodes, and the best mapping is optimal once there are none. Exact, as every
mapping is, up to the names of such labels, in one of the nodes.

Every closed node leaves its prices, so the tree can be checked by pricing alone (recheck_prices.py). Cost: a proof per
node; the number of nodes grows exponentially with what prices leave open, which for few responses per task is a little
and for many mostly nothing.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.solve.market import Market
from crowdopt.solve.prove import Prover, Verdict
from crowdopt.solve.terms import distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.solve.terms import Term
    from crowdopt.types import Bools, Floats, Ints

MOST_NUMBERS = 500_000
"""Numbers that a witness may have; a larger one is not kept."""

MOST_NODES = 100_000
"""Open nodes beyond which the search ends, as they would not fit."""

MOST_KNOWN = 300
"""Sets known from elsewhere that a proof begins with, of each term."""

MOST_KEPT = 20_000
"""Sets that are kept for other nodes, of each term."""


@dataclass(eq=False)
class Node:
    """A part of the space.

    Attributes:
        fixed: The label of each bucket that is fixed.
        mapping: A good mapping of all buckets that is in this part.
        bound: No mapping in it is better.
        prices: The prices behind the bound, 0 for fixed buckets.
        gains: By label, what it can gain at most at these prices.
        proof: Where its part of the witness goes.
    """

    fixed: dict[int, int]
    mapping: Ints
    bound: float
    prices: Floats
    gains: Floats
    proof: dict[str, Any] = field(default_factory=dict)

    def keep(self, market: Market, free: Ints, verdict: Verdict) -> None:
        """Keeps the bound of a verdict if it is better."""
        if verdict.bound < self.bound:
            self.bound, self.prices = verdict.bound, np.zeros(len(self.mapping))
            self.prices[free] = verdict.prices
            self.gains = verdict.gains[market.term_of]

    def part(self, bucket: int, label: int, mapping: Ints) -> Node:
        """The part in which a bucket has a label: its price is added to what the label can gain."""
        prices, gains = self.prices.copy(), self.gains.copy()
        gains[label] += prices[bucket]
        prices[bucket] = 0.0
        return Node({**self.fixed, bucket: label}, mapping, self.bound, prices, gains)

    def leaf(self) -> None:
        """Writes the prices into the witness."""
        self.proof |= {"prices": self.prices.tolist(), "gains": self.gains.tolist()}


class Pool:
    """Sets of buckets that turned out to matter, by term of the whole problem."""

    def __init__(self, n_terms: int, n_buckets: int) -> None:
        self.sets = [np.zeros((0, n_buckets), bool) for _ in range(n_terms)]

    def add(self, term: int, sets: Bools) -> None:
        """Keeps sets; of too many, the latest."""
        self.sets[term] = distinct(np.concatenate([self.sets[term], sets])[-MOST_KEPT:])


def market_at(whole: Market, fixed: dict[int, int]) -> tuple[Market, Ints]:
    """The market of the buckets that are not fixed, and which these are."""
    free = np.array([b for b in range(len(whole.goods)) if b not in fixed], np.int64)
    terms: list[Term] = []
    for term in whole.terms:
        unused = tuple(label for label in term.labels if label not in fixed.values())
        if unused:
            terms.append(replace(term, labels=unused))
        for label in term.labels:
            if label not in unused:
                here = [b for b, at in fixed.items() if at == label]
                tasks = float(whole.goods.tasks[here].sum())
                terms.append(term.with_bucket(label, whole.goods.responses[here].sum(axis=0), tasks))
    return Market(whole.goods.only(free), tuple(terms)), free


class Branching:
    """The tree.

    Attributes:
        bound: No mapping is better, so far.
        better: A mapping that is better than the one given, if one was found: the search then ended early.
        nodes: Nodes looked at.
    """

    def __init__(
        self,
        whole: Market,
        mapping: Ints,
        tolerance: float,
        rng: np.random.Generator,
        go_on: Callable[[float, int], bool],
        pool: Pool,
    ) -> None:
        self.whole, self.tolerance, self.rng, self.told, self.pool = whole, tolerance, rng, go_on, pool
        self.value = float(whole.values(mapping).sum())
        self.sizes = whole.goods.responses.sum(axis=1)
        self.better: Ints | None = None
        self.nodes, self.closed = 0, -np.inf
        self.root = Node({}, mapping, np.inf, np.zeros(len(mapping)), np.zeros(whole.n_labels))
        self.heap: list[tuple[float, int, Node]] = []
        self.leaves = 0

    @property
    def bound(self) -> float:
        """No mapping is better than this."""
        return max(self.closed, -self.heap[0][0] if self.heap else -np.inf)

    def witness(self) -> dict[str, Any] | None:
        """The prices of all parts; None if they are too many numbers."""
        if (self.leaves + len(self.heap)) * (len(self.sizes) + self.whole.n_labels) > MOST_NUMBERS:
            return None
        for _, _, node in self.heap:
            node.leaf()
        return self.root.proof

    def run(self, first: Verdict) -> None:
        """Works until all is proved, something better is found or the limits are reached.

        Args:
            first: What came out for the whole space.
        """
        everything, free = market_at(self.whole, {})
        self.root.keep(everything, free, first)
        self._split(self.root, everything, free, first)
        while self.heap and self.better is None and len(self.heap) < MOST_NODES:
            node = heapq.heappop(self.heap)[2]
            self.nodes += 1
            market, free = market_at(self.whole, node.fixed)
            verdict = self._settle(node, market, free)
            node.keep(market, free, verdict)
            if verdict.stopped:
                self._push(node)
                return
            if verdict.proved:
                self.closed = max(self.closed, node.bound)
                self.leaves += 1
                node.leaf()
            else:
                self._split(node, market, free, verdict)

    def _push(self, node: Node) -> None:
        heapq.heappush(self.heap, (-node.bound, -self.nodes - len(self.heap), node))

    def _settle(self, node: Node, market: Market, free: Ints) -> Verdict:
        """Tries to prove that nothing in the node is better than the best mapping known."""
        rest = max(self.bound, self.closed)
        if not len(free):
            values = np.array([term.empty for term in market.terms])
            return Verdict(True, float(values.sum()), np.zeros(0), values)

        def go_on(bound: float, work: int) -> bool:
            return self.told(max(rest, min(bound, node.bound)), work)

        prover = Prover(market, node.mapping[free], self.value, self.tolerance, self.rng, go_on)
        verdict = prover.run(self._known(node, market, free, prover.prices.prices))
        for term, sets in prover.found().items():
            self.pool.add(*self._everywhere(node, market.terms[term], free, sets))
        return verdict

    def _root_term(self, term: Term) -> int:
        return int(self.whole.term_of[term.labels[0]])

    def _members(self, node: Node, term: Term) -> list[int]:
        """The buckets that are fixed under the label of a term."""
        return [b for b, label in node.fixed.items() if label == term.labels[0]]

    def _known(self, node: Node, market: Market, free: Ints, prices: Floats) -> dict[int, Bools]:
        """Sets from elsewhere that fit the node, those that are worth most at these prices."""
        known = {}
        for at, term in enumerate(market.terms):
            sets = self.pool.sets[self._root_term(term)]
            members = self._members(node, term)
            others = [b for b in node.fixed if b not in members]
            fits = sets[:, members].all(axis=1) & ~sets[:, others].any(axis=1)
            here = distinct(sets[fits][:, free])
            worth = term.values(*market.goods.sums(here)) - here @ prices
            known[at] = here[np.argsort(-worth, kind="stable")[:MOST_KNOWN]]
        return known

    def _everywhere(self, node: Node, term: Term, free: Ints, sets: Bools) -> tuple[int, Bools]:
        """Sets of free buckets as sets of all buckets, with the term of the whole problem."""
        every = np.zeros((len(sets), len(self.sizes)), bool)
        every[:, free] = sets
        every[:, self._members(node, term)] = True
        return self._root_term(term), every

    def _split(self, node: Node, market: Market, free: Ints, verdict: Verdict) -> None:
        """Fixes one more bucket, under one label of every term; looks for a better mapping on the way."""
        self._try(node, market, free, self._rounded(market, node.mapping[free], verdict))
        bucket = int(free[self._choose(market, verdict)])
        children: dict[str, Any] = {}
        node.proof |= {"bucket": bucket, "children": children}
        for term in market.terms:
            if term.log_share == -np.inf:
                continue
            label = term.labels[0]
            child = node.part(bucket, label, self._with(node, term, bucket, label))
            children[str(label)] = child.proof
            child_market, child_free = market_at(self.whole, child.fixed)
            self._try(child, child_market, child_free, child.mapping[child_free])
            self._push(child)

    def _with(self, node: Node, term: Term, bucket: int, label: int) -> Ints:
        """The node's mapping with a bucket under a label: by exchanging two labels alike, if that is enough."""
        mapping = node.mapping.copy()
        before = int(mapping[bucket])
        if before in term.labels:
            mapping[node.mapping == before], mapping[node.mapping == label] = label, before
        mapping[bucket] = label
        return mapping

    def _try(self, node: Node, market: Market, free: Ints, mapping: Ints) -> None:
        """Climbs from a mapping of the free buckets; keeps it if it is the node's best, or the best of all."""
        climbed = node.mapping.copy()
        climbed[free] = market.climb(mapping, self.tolerance / 10)
        before, after = (float(self.whole.values(m).sum()) for m in (node.mapping, climbed))
        if after > before:
            node.mapping = climbed
        if max(before, after) > self.value + self.tolerance:
            self.better = node.mapping

    def _rounded(self, market: Market, mapping: Ints, verdict: Verdict) -> Ints:
        """A mapping by the sets with the greatest shares; what they leave over stays where it is."""
        rounded, used = np.full(len(mapping), -1), set()
        for _, at, members in verdict.mixture:
            label = next((label for label in market.terms[at].labels if label not in used), None)
            if label is not None and (members & (rounded < 0)).any():
                used.add(label)
                rounded[members & (rounded < 0)] = label
        return np.where(rounded < 0, mapping, rounded)

    def _choose(self, market: Market, verdict: Verdict) -> int:
        """The bucket, by size, of which the mixture is least decided which term has it, or which buckets go with it."""
        sizes, n = market.goods.responses.sum(axis=1), len(market.goods)
        held, together = np.zeros((len(market.terms), n)), np.zeros((n, n))
        for share, at, members in verdict.mixture:
            held[at] += share * members
            together += share * np.outer(members, members)
        held /= np.maximum(held.sum(axis=0), 1e-300)
        undecided = (1 - held.max(axis=0)) * sizes
        if undecided.max(initial=0.0) > 1e-6 * sizes.max():
            return int(undecided.argmax())
        pairs = np.clip(together, 0.0, 1.0)
        loose = (pairs * (1 - pairs)) @ sizes * sizes
        return int((loose if loose.any() else sizes).argmax())
