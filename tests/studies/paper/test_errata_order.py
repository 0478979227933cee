"""Errata of the paper on orders and lattices of buckets, one test or more for each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crowdopt.engines.enumeration import count_mappings, enumerate_mappings, full_lattice
from crowdopt.engines.solve import solve
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.order import Order
from crowdopt.studies.simulate import random_matrix
from support import oracle
from support.errata import HALF, filtering, rating
from support.lattice import join, meet

if TYPE_CHECKING:
    from collections.abc import Callable


Bucket = tuple[int, ...]


def lattice(n_labels: int, size: int) -> list[Bucket]:
    return [tuple(bucket) for bucket in full_lattice(n_labels, size).tolist()]


def raised_once(bucket: Bucket) -> list[Bucket]:
    """The buckets that dominate ``bucket`` by Definition 4.1: one response one rating higher."""
    raised = []
    for label in range(len(bucket) - 1):
        if bucket[label]:
            higher = list(bucket)
            higher[label] -= 1
            higher[label + 1] += 1
            raised.append(tuple(higher))
    return raised


def dominance(buckets: list[Bucket]) -> dict[Bucket, set[Bucket]]:
    """Definition 4.2: for each bucket all that it dominates transitively, itself included."""
    below: dict[Bucket, set[Bucket]] = {bucket: {bucket} for bucket in buckets}
    for low in buckets:
        above, queue = {low}, [low]
        while queue:
            new = set(raised_once(queue.pop())) - above
            above |= new
            queue += new
        for high in above:
            below[high].add(low)
    return below


def from_below(bucket: Bucket) -> tuple[int, ...]:
    """Lemma 4.2's cumulative distribution (A_1, ..., A_R)."""
    return tuple(itertools.accumulate(bucket))


def at_most(a: Bucket, b: Bucket) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))


def bucket_of(sums: Bucket) -> Bucket:
    """The bucket with these sums from below, be its counts negative or not."""
    return tuple(int(count) for count in np.diff(sums, prepend=0))


# 3


def algorithm_2(buckets: list[Bucket], n_labels: int, choices: Callable[[list[int]], range], start: list[dict]):
    """Algorithm 2 over the full lattice; the root, for which the paper gives no range, may have any rating."""
    below = dominance(buckets)
    mappings = start
    for bucket in sorted(buckets, key=lambda b: -sum(label * count for label, count in enumerate(b))):
        parents = [high for high in raised_once(bucket) if bucket in below[high]]
        mappings = [
            {**mapping, bucket: rating}
            for mapping in mappings
            for rating in (choices([mapping[p] for p in parents]) if parents else range(1, n_labels + 1))
        ]
    return {tuple(mapping[bucket] for bucket in buckets) for mapping in mappings}


def as_printed(parents: list[int]) -> range:
    return range(min(parents), max(parents) + 1)


def corrected(parents: list[int]) -> range:
    return range(1, min(parents) + 1)


@pytest.mark.parametrize(("n_labels", "size", "right"), [(2, 1, 3), (3, 1, 10), (3, 2, 35), (3, 3, 126)])
def test_algorithm_2_as_printed_finds_only_constant_mappings(n_labels, size, right):
    buckets = lattice(n_labels, size)
    printed = algorithm_2(buckets, n_labels, as_printed, [{}])
    assert printed == {(label,) * len(buckets) for label in range(1, n_labels + 1)}
    assert algorithm_2(buckets, n_labels, as_printed, []) == set()
    by_definition = {tuple(mapping) for mapping in (oracle.consistent_mappings(np.array(buckets)) + 1).tolist()}
    order = Order.of(np.array(buckets)[:, None])
    by_crowdopt = {tuple(mapping) for mapping in (enumerate_mappings(order, n_labels) + 1).tolist()}
    assert algorithm_2(buckets, n_labels, corrected, [{}]) == by_definition == by_crowdopt
    assert len(by_definition) == count_mappings(order, n_labels) == right


def test_breadth_first_need_not_be_a_topological_order_of_observed_buckets():
    for buckets in (lattice(3, 3), lattice(4, 3)):  # on the full lattice it is: each arrow lowers one response by one
        assert not late_parents(Order.of(np.array(buckets)[:, None]))
    order = Order.of(rating("333", "133", "223", "222", "122")[:, None])
    assert late_parents(order) == [(3, 4)]
    place = np.argsort(order.from_top)
    assert all(place[high] < place[low] for high, low in order.arrows())


def late_parents(order: Order) -> list[tuple[int, int]]:
    """The arrows whose lower end a breadth-first walk reaches before it reaches the upper end."""
    queue = [int(order.from_top[0])]
    for high in queue:
        queue += [int(low) for low in np.flatnonzero(order.covers[high]) if low not in queue]
    return [(high, low) for high, low in order.arrows() if queue.index(high) > queue.index(low)]


# 4


@pytest.mark.parametrize(("n_labels", "size"), [(2, 1), (2, 4), (3, 3), (4, 3), (5, 2)])
def test_a_dominating_bucket_has_the_smaller_sums_from_below(n_labels, size):
    buckets = lattice(n_labels, size)
    below = dominance(buckets)
    order = Order.of(np.array(buckets)[:, None])
    for (i, high), (j, low) in itertools.permutations(enumerate(buckets), 2):
        # Both directions of the corrected lemma; the printed one fails for every pair of different buckets.
        assert (low in below[high]) == at_most(from_below(high), from_below(low)) == order.dominates[i, j]
        assert not (low in below[high] and at_most(from_below(low), from_below(high)))


def test_the_definition_of_consistent_mappings_as_printed_admits_the_reverse():
    tasks = rating("333", "123", "111")
    consistent = {tuple(mapping) for mapping in (oracle.consistent_mappings(tasks) + 1).tolist()}
    in_the_introduction = {(3, 3, 3), (3, 3, 2), (3, 3, 1), (3, 2, 2), (3, 2, 1)}
    in_the_introduction |= {(3, 1, 1), (2, 2, 2), (2, 2, 1), (2, 1, 1), (1, 1, 1)}
    assert consistent == in_the_introduction
    printed = {f for f in itertools.product((1, 2, 3), repeat=3) if f[0] <= f[1] <= f[2]}
    assert printed == {f[::-1] for f in consistent}
    assert printed & consistent == {(1, 1, 1), (2, 2, 2), (3, 3, 3)}
    assert {tuple(f + 1) for f in enumerate_mappings(Order.of(tasks[:, None]), 3)} == consistent


# 5


def test_the_best_rating_of_all_need_not_respect_the_order():
    tasks = rating("33", "23", "23", "13", "12")
    mapping = np.array([3, 2, 2, 3, 1]) - 1
    best = oracle.brute_force(tasks, space="all")
    assert mapping.tolist() in best.mappings.tolist()
    assert math.exp(best.value) == pytest.approx(27 / 16384)
    assert round(math.exp(best.value), 6) == 0.001648
    assert not any(oracle.respects_order(tasks, other) for other in best.mappings)
    # It is as reasonable as filtering asks for: every rating is given by at least half of those who should.
    for label in range(3):
        answers = tasks[mapping == label].sum(axis=0)
        assert Fraction(int(answers[label]), int(answers.sum())) >= HALF
    ordered = oracle.brute_force(tasks, space="dominance")
    assert (ordered.mappings + 1).tolist() == [[3, 3, 3, 2, 1]]
    assert math.exp(ordered.value) == pytest.approx(1 / 729)
    assert round(math.exp(ordered.value), 6) == 0.001372
    certificate = solve(tasks).certificate
    assert (certificate.proof, certificate.space) == (Proof.PROVED, Space.DOMINANCE)
    assert certificate.objective == pytest.approx(ordered.value)


def test_with_two_ratings_each_no_fewer_than_five_items_do():
    fewest = {}
    for size, n_tasks in [*itertools.product((1, 2), range(1, 6)), (3, 3), (3, 4)]:
        problems = itertools.combinations_with_replacement(lattice(3, size), n_tasks)
        if any(loss_of_order(np.array(tasks)) > 1e-9 for tasks in problems):
            fewest.setdefault(size, n_tasks)
    assert fewest == {2: 5, 3: 4}


def loss_of_order(tasks: np.ndarray) -> float:
    return oracle.brute_force(tasks, space="all").value - oracle.brute_force(tasks, space="dominance").value


def test_in_most_random_crowds_the_order_costs_likelihood():
    buckets = full_lattice(3, 3)
    mappings = oracle.all_mappings(*buckets.shape)  # of buckets: some best mapping treats equal tasks alike
    member = [(mappings == label).astype(float) for label in range(3)]
    x_log_x = oracle._x_log_x(np.arange(3001.0))
    ordered = np.ones(len(mappings), bool)
    for high, low in np.argwhere(Order.of(buckets[:, None]).dominates):
        ordered &= mappings[:, high] >= mappings[:, low]
    assert ordered.sum() == 126
    losses = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        matrix = random_matrix(3, rng)
        tasks = np.array([rng.multinomial(3, matrix[truth]) for truth in rng.integers(3, size=1000)])
        weights = (tasks[None] == buckets[:, None]).all(axis=2).sum(axis=1)
        answers = np.stack([held @ (weights[:, None] * buckets) for held in member], axis=1).astype(int)
        values = x_log_x[answers].sum(axis=(1, 2)) - x_log_x[answers.sum(axis=2)].sum(axis=1)
        losses.append(values.max() - values[ordered].max())
    assert np.sum(np.array(losses) > 1e-6) >= 16
    assert np.mean(losses) > 30


# 6


def boundaries(size: int) -> list[list[tuple[int, int]]]:
    """Appendix C's construction: from a point on an axis, right or up, to the line x + y = m; and the empty one."""
    corners = [(p, 0) for p in range(size + 1)] + [(0, q) for q in range(1, size + 1)]
    found: list[list[tuple[int, int]]] = [[]]
    for x, y in corners:
        for steps in itertools.product([(1, 0), (0, 1)], repeat=size - x - y):
            points = itertools.accumulate(steps, lambda at, step: (at[0] + step[0], at[1] + step[1]), initial=(x, y))
            found.append(list(points))
    return found


@pytest.mark.parametrize("size", range(1, 8))
def test_the_appendix_counts_boundaries_twice(size):
    points = [(i, j) for i in range(size + 1) for j in range(size + 1 - i)]  # (yes, no), (0, 0) included
    drawn = boundaries(size)
    mapped_to_one = [
        frozenset((i, j) for i, j in points if any(i >= x and j <= y for x, y in boundary)) for boundary in drawn
    ]
    assert len(drawn) == 2 ** (size + 1) - 1 + 2**size
    assert len(set(mapped_to_one)) == 2 ** (size + 1)
    # The boundaries that start above the origin are the ones that repeat.
    from_the_axis = [ones for ones, path in zip(mapped_to_one, drawn, strict=True) if not path or path[0][1] == 0]
    assert len(from_the_axis) == len(set(from_the_axis)) == 2 ** (size + 1)
    order = Order.of(filtering(*points)[:, None])
    by_crowdopt = enumerate_mappings(order, 2)
    assert len(by_crowdopt) == count_mappings(order, 2) == 2 ** (size + 1)
    assert set(mapped_to_one) == {frozenset(itertools.compress(points, ones)) for ones in by_crowdopt}
    if size <= 3:
        assert len(oracle.consistent_mappings(filtering(*points))) == 2 ** (size + 1)


def test_more_zeros_do_not_keep_a_bucket_at_one():
    tasks, mapping = filtering((1, 0), (0, 0), (0, 1)), np.array([1, 1, 0])
    assert oracle.respects_order(tasks, mapping)  # f(0, 0) = 1, and yet f(0, 0 + 1) = 0
    # A step to the right keeps y and raises x: on that boundary "y1 <= y2" does not say "x1 <= x2".
    assert [(0, 0), (1, 0)] in boundaries(1)


@pytest.mark.parametrize(("n_labels", "size"), [(3, 2), (3, 3), (4, 2)])
def test_the_lattice_proof_builds_the_join(n_labels, size):
    assert bucket_of(tuple(map(min, from_below((1, 0, 1)), from_below((0, 2, 0))))) == (0, 1, 1)
    buckets = lattice(n_labels, size)
    below = dominance(buckets)
    for a, b in itertools.combinations(buckets, 2):
        d_star = bucket_of(tuple(map(min, from_below(a), from_below(b))))
        upper = [c for c in buckets if {a, b} <= below[c]]
        assert d_star in upper
        assert all(d_star in below[c] for c in upper)
        assert d_star == tuple(join(np.array(a), np.array(b)).tolist())
        lowest = bucket_of(tuple(map(max, from_below(a), from_below(b))))
        lower = below[a] & below[b]
        assert lowest in lower
        assert lower <= below[lowest]
        assert lowest == tuple(meet(np.array(a), np.array(b)).tolist())


# 12


def test_the_definition_of_a_lattice_admits_what_is_none():
    below = {"0": "0", "c": "c0", "d": "d0", "a": "acd0", "b": "bcd0", "1": "1abcd0"}
    for high, low in itertools.permutations(below, 2):
        assert low not in below[high] or set(below[low]) < set(below[high])  # a partial order
    assert set(below["1"]) == set(below)
    for pair in itertools.combinations_with_replacement(below, 2):
        assert maximal_lower_bounds(below, *pair)  # all that the paper's third condition asks for
    assert maximal_lower_bounds(below, "a", "b") == {"c", "d"}
    assert not any(set(below[low]) >= set("cd0") for low in "cd0")  # none of them is above the others
    for n_labels, size in [(3, 3), (4, 2)]:
        dominated = dominance(lattice(n_labels, size))
        for a, b in itertools.combinations(dominated, 2):
            assert maximal_lower_bounds(dominated, a, b) == {tuple(meet(np.array(a), np.array(b)).tolist())}


def maximal_lower_bounds(below: dict, a, b) -> set:
    common = set(below[a]) & set(below[b])
    return {low for low in common if not any(low in below[high] for high in common - {low})}


# 13


def test_the_lattice_proof_raises_one_sum_past_the_next():
    a, b, d = (2, 0, 0), (1, 1, 0), (0, 0, 2)  # as the paper has it, d is below both: its sums are smaller
    sums = [list(from_below(bucket)) for bucket in (a, b, d)]
    assert sums == [[2, 2, 2], [1, 2, 2], [0, 0, 2]]
    room = [min(x, y) - z for x, y, z in zip(*sums, strict=True)]
    assert room == [1, 2, 0]  # so k = 1 and k = 2 are both allowed
    raised = {k: bucket_of(tuple(z + room[k] if at == k else z for at, z in enumerate(sums[2]))) for k in (0, 1)}
    assert raised == {0: (1, -1, 2), 1: (0, 2, 0)}  # by k - 1: a negative count, and a bucket
    # The largest k always gives a bucket.
    buckets = lattice(4, 3)
    for a, b, d in itertools.product(buckets, repeat=3):
        goal = tuple(map(min, from_below(a), from_below(b)))
        open_at = [k for k in range(4) if goal[k] > from_below(d)[k]]
        if open_at and at_most(from_below(d), goal):
            higher = list(from_below(d))
            higher[open_at[-1]] = goal[open_at[-1]]
            assert min(bucket_of(tuple(higher))) >= 0


# 14


def first_condition(a: Bucket, b: Bucket, *, printed: bool) -> bool:
    """Section 5.2 for buckets (y_e, n_e, y_r, n_r), as printed or with n_r where n_e stands twice."""
    last = 1 if printed else 3
    pairs = [(a[0], b[0]), (a[2], b[2]), (b[1], a[1]), (b[last], a[last])]
    return all(x >= y for x, y in pairs) and any(x > y for x, y in pairs)


def second_condition(a: Bucket, b: Bucket) -> bool:
    same_totals = a[0] + a[2] == b[0] + b[2] and a[1] + a[3] == b[1] + b[3]
    return same_totals and a[0] >= b[0] and a[1] <= b[1] and (a[0] > b[0] or a[1] < b[1])


def by_class(bucket: Bucket) -> list[list[int]]:
    """The counts [class][label] of a bucket (y_e, n_e, y_r, n_r)."""
    return [[bucket[1], bucket[0]], [bucket[3], bucket[2]]]


def test_the_first_rule_of_worker_classes_forgets_the_regular_zeros():
    a, b = (1, 0, 1, 2), (0, 0, 1, 0)
    assert first_condition(a, b, printed=True)
    assert not first_condition(a, b, printed=False)
    assert not second_condition(a, b)
    # Experts who err one time in ten, regular workers one time in five: odds of value 1 against value 0.
    odds = {x: Fraction(9) ** (x[0] - x[1]) * Fraction(4) ** (x[2] - x[3]) for x in (a, b)}
    assert odds == {a: Fraction(9, 4), b: 4}
    buckets = list(itertools.product(range(3), repeat=4))
    order = Order.of(np.array([by_class(bucket) for bucket in buckets]))
    for (i, high), (j, low) in itertools.permutations(enumerate(buckets), 2):
        assert order.dominates[i, j] == first_condition(high, low, printed=False)


def test_the_rules_of_worker_classes_are_not_transitive():
    a, b, c = (2, 0, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0)
    assert first_condition(a, b, printed=False)
    assert second_condition(b, c)
    assert not first_condition(a, c, printed=False)
    assert not second_condition(a, c)


# 15


def test_one_entry_of_table_2_is_rounded_down():
    exact = {(4, 3): 28_744, (4, 4): 2_741_334, (5, 2): 28_314, (5, 3): 106_441_769}
    printed = {(4, 3): "2.8e+04", (4, 4): "2.7e+06", (5, 2): "2.8e+04", (5, 3): "1.1e+08"}
    for (n_labels, size), mappings in exact.items():
        assert count_mappings(Order.of(full_lattice(n_labels, size)[:, None]), n_labels) == mappings
    assert [case for case, mappings in exact.items() if f"{mappings:.1e}" != printed[case]] == [(4, 3)]
    assert f"{exact[4, 3]:.1e}" == "2.9e+04"
