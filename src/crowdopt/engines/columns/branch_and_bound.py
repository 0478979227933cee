"""Branching: the optimum over all mappings where no prices prove it at once.

Maximises F over all mappings by branch and bound. A *node* has some buckets fixed under labels; its bound is the
one that prices prove for the relaxation of the rest (prover.py). A node whose bound is not down to the best mapping
known is split: one more bucket is fixed, under each label in turn, but under only one of several labels that
nothing tells apart so far. The bound of the whole is the greatest of all open nodes, and the best mapping is
optimal once there are none. Exact, as every mapping is, up to the names of such labels, in one of the nodes.

Every closed node leaves its prices, so the tree can be checked by pricing alone (witness.py). Cost: a proof
per node; the number of nodes grows exponentially with what prices leave open, which for few responses per task is a
little and for many mostly nothing.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.columns.prover import Finding, Prover

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.columns.column_pool import Pool
    from crowdopt.engines.columns.relaxation import Relaxation
    from crowdopt.engines.columns.set_terms import Term

MOST_NUMBERS = 500_000
"""Numbers that a witness may have; a larger one is not kept."""

BYTES_PER_FIXED, BYTES_PER_NODE = 100, 1_500
"""What the label of a fixed bucket, and all else that is not an array, takes of Python's memory."""


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

    @property
    def n_bytes(self) -> int:
        """The memory that it takes, about."""
        arrays = self.mapping.nbytes + self.prices.nbytes + self.gains.nbytes
        return arrays + BYTES_PER_FIXED * len(self.fixed) + BYTES_PER_NODE

    def keep(self, relaxation: Relaxation, free: Ints, finding: Finding) -> None:
        """Keeps the bound of a finding if it is better."""
        if finding.bound < self.bound:
            self.bound, self.prices = finding.bound, np.zeros(len(self.mapping))
            self.prices[free] = finding.prices
            self.gains = finding.gains[relaxation.term_of]

    def part(self, bucket: int, label: int, mapping: Ints) -> Node:
        """The part in which a bucket has a label: its price is added to what the label can gain, rounded up."""
        prices, gains = self.prices.copy(), self.gains.copy()
        gains[label] += prices[bucket]
        if math.fsum([self.gains[label], prices[bucket], -gains[label]]) > 0:
            gains[label] = math.nextafter(gains[label], math.inf)
        prices[bucket] = 0.0
        bound = max(self.bound, math.fsum([*prices, *gains]))
        return Node({**self.fixed, bucket: label}, mapping, bound, prices, gains)

    def leaf(self) -> None:
        """Writes the prices into the witness."""
        self.proof |= {"prices": self.prices.tolist(), "gains": self.gains.tolist()}


class Branching:
    """The tree.

    Attributes:
        bound: No mapping is better, so far.
        better: A mapping that is better than the one given, if one was found: the search then ended early.
        nodes: Nodes looked at.
        n_bytes: What the open ones take.
    """

    def __init__(
        self,
        whole: Relaxation,
        mapping: Ints,
        tolerance: float,
        rng: np.random.Generator,
        go_on: Callable[[float, int], bool],
        pool: Pool,
    ) -> None:
        self.whole, self.tolerance, self.rng, self.told, self.pool = whole, tolerance, rng, go_on, pool
        self.value = float(whole.values(mapping).sum())
        self.sizes = whole.buckets.responses.sum(axis=1)
        self.better: Ints | None = None
        self.nodes, self.closed, self.n_bytes = 0, -np.inf, 0
        self.root = Node({}, mapping, np.inf, np.zeros(len(mapping)), np.zeros(whole.n_labels))
        self.heap: list[tuple[float, int, Node]] = []
        self.leaves = 0

    @property
    def bound(self) -> float:
        """No mapping is better than this."""
        return max(self.closed, -self.heap[0][0] if self.heap else -np.inf)

    def witness(self) -> dict[str, Any] | None:
        """The prices of all parts; None if they are too many numbers."""
        if not self._fits(len(self.heap)):
            return None
        for _, _, node in self.heap:
            node.leaf()
        return self.root.proof

    def _fits(self, more: int = 0) -> bool:
        """Whether the prices of all closed parts, and of some more, are few enough numbers for a witness."""
        return (self.leaves + more) * (len(self.sizes) + self.whole.n_labels) <= MOST_NUMBERS

    def run(self, first: Finding) -> None:
        """Works until all is proved, something better is found or the limits are reached.

        Args:
            first: What came out for the whole space.
        """
        everything, free = self.whole.part({})
        self.root.keep(everything, free, first)
        self._split(self.root, everything, free, first)
        while self.heap and self.better is None and self.n_bytes < self.whole.memory.nodes:
            node = heapq.heappop(self.heap)[2]
            self.n_bytes -= node.n_bytes
            self.nodes += 1
            relaxation, free = self.whole.part(node.fixed)
            finding = self._settle(node, relaxation, free)
            node.keep(relaxation, free, finding)
            if finding.stopped:
                self._push(node)
                return
            if finding.proved:
                self.closed = max(self.closed, node.bound)
                self.leaves += 1
                if self._fits():
                    node.leaf()
            else:
                self._split(node, relaxation, free, finding)

    def _push(self, node: Node) -> None:
        self.n_bytes += node.n_bytes
        heapq.heappush(self.heap, (-node.bound, -self.nodes - len(self.heap), node))

    def _settle(self, node: Node, relaxation: Relaxation, free: Ints) -> Finding:
        """Tries to prove that nothing in the node is better than the best mapping known."""
        rest = self.bound
        if not len(free):
            values = np.array([term.empty for term in relaxation.terms])
            return Finding(proved=True, bound=float(values.sum()), prices=np.zeros(0), gains=values)

        def go_on(bound: float, work: int) -> bool:
            return self.told(max(rest, min(bound, node.bound)), work)

        prover = Prover(relaxation, node.mapping[free], self.value, self.tolerance, self.rng, go_on)
        finding = prover.run(self.pool.known(node.fixed, relaxation, free, prover.prices.prices))
        self.pool.keep(node.fixed, relaxation, free, prover.found())
        return finding

    def _split(self, node: Node, relaxation: Relaxation, free: Ints, finding: Finding) -> None:
        """Fixes one more bucket, under one label of every term; looks for a better mapping on the way."""
        self._try(node, relaxation, free, self._rounded(relaxation, node.mapping[free], finding))
        bucket = int(free[self._choose(relaxation, finding)])
        children: dict[str, Any] = {}
        node.proof |= {"bucket": bucket, "children": children}
        for term in relaxation.terms:
            if term.log_share == -np.inf:
                continue
            label = term.labels[0]
            child = node.part(bucket, label, self._with(node, term, bucket, label))
            children[str(label)] = child.proof
            child_relaxation, child_free = self.whole.part(child.fixed)
            self._try(child, child_relaxation, child_free, child.mapping[child_free])
            self._push(child)

    def _with(self, node: Node, term: Term, bucket: int, label: int) -> Ints:
        """The node's mapping with a bucket under a label: by exchanging two labels alike, if that is enough."""
        mapping = node.mapping.copy()
        before = int(mapping[bucket])
        if before in term.labels:
            mapping[node.mapping == before], mapping[node.mapping == label] = label, before
        mapping[bucket] = label
        return mapping

    def _try(self, node: Node, relaxation: Relaxation, free: Ints, mapping: Ints) -> None:
        """Climbs from a mapping of the free buckets; keeps it if it is the node's best, or the best of all."""
        climbed = node.mapping.copy()
        climbed[free] = relaxation.climb(mapping, self.tolerance / 10)
        before, after = (float(self.whole.values(m).sum()) for m in (node.mapping, climbed))
        if after > before:
            node.mapping = climbed
        if max(before, after) > self.value + self.tolerance:
            self.better = node.mapping

    def _rounded(self, relaxation: Relaxation, mapping: Ints, finding: Finding) -> Ints:
        """A mapping by the sets with the greatest shares; what they leave over stays where it is."""
        rounded, used = np.full(len(mapping), -1), set()
        for _, at, members in finding.mixture:
            label = next((label for label in relaxation.terms[at].labels if label not in used), None)
            if label is not None and (members & (rounded < 0)).any():
                used.add(label)
                rounded[members & (rounded < 0)] = label
        return np.where(rounded < 0, mapping, rounded)

    def _choose(self, relaxation: Relaxation, finding: Finding) -> int:
        """The bucket, by size, of which the mixture is least decided which term has it, or which buckets go with it."""
        sizes, n = relaxation.buckets.responses.sum(axis=1), len(relaxation.buckets)
        held, together = np.zeros((len(relaxation.terms), n)), np.zeros((n, n))
        for share, at, members in finding.mixture:
            held[at] += share * members
            together += share * np.outer(members, members)
        held /= np.maximum(held.sum(axis=0), 1e-300)  # a bucket that no set of the mixture holds
        undecided = (1 - held.max(axis=0)) * sizes
        if undecided.max(initial=0.0) > 1e-6 * sizes.max():  # by more than shares are rounded
            return int(undecided.argmax())
        pairs = np.clip(together, 0.0, 1.0)
        loose = (pairs * (1 - pairs)) @ sizes * sizes
        return int((loose if loose.any() else sizes).argmax())
