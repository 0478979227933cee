"""The order of buckets: the paper's lattice theorem, the diagram, linear extensions and up-sets, as properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt.engines.enumeration import full_lattice
from crowdopt.model.order import Order, TooManyUpSets, UpSets, tails
from support import oracle
from support.lattice import join, meet

LATTICES = [(n_labels, size) for n_labels in (2, 3, 4) for size in range(1, 6)]


@st.composite
def lattice_buckets(draw, n: int):
    """A full lattice (equal numbers of responses) and n of its buckets."""
    buckets = full_lattice(*draw(st.sampled_from(LATTICES)))
    picks = draw(st.lists(st.integers(0, len(buckets) - 1), min_size=n, max_size=n))
    return buckets, *(buckets[pick] for pick in picks)


@st.composite
def observed(draw, most: int = 9):
    """A few distinct buckets, of equal or varying numbers of responses."""
    n_labels = draw(st.integers(2, 4))
    if draw(st.booleans()):
        row = st.tuples(*[st.integers(0, 3)] * n_labels)
    else:
        row = st.sampled_from([tuple(row) for row in full_lattice(n_labels, draw(st.integers(1, 5))).tolist()])
    return np.array(draw(st.lists(row, min_size=1, max_size=most, unique=True)), np.int64)


def order_of(counts: np.ndarray) -> Order:
    return Order.of(counts[:, None])


def reachable(steps: np.ndarray) -> np.ndarray:
    """The transitive closure of a relation, without the diagonal."""
    paths = steps | np.eye(len(steps), dtype=bool)
    for _ in range(len(steps).bit_length() + 1):
        paths = (paths.astype(np.float32) @ paths.astype(np.float32)) > 0
    return paths & ~np.eye(len(steps), dtype=bool)


@pytest.mark.parametrize(("n_labels", "size"), [*LATTICES, (5, 3)])
def test_the_full_lattice_is_every_count_vector_once(n_labels, size):
    expected = [row for row in itertools.product(range(size + 1), repeat=n_labels) if sum(row) == size]
    assert full_lattice(n_labels, size).tolist() == [list(row) for row in expected]


@settings(max_examples=150)
@given(lattice_buckets(2))
def test_meet_is_the_greatest_lower_bound(case):
    buckets, a, b = case
    lower = [x for x in buckets if oracle.dominates(a, x) and oracle.dominates(b, x)]
    greatest = meet(a, b)
    assert any((greatest == x).all() for x in lower)
    assert all(oracle.dominates(greatest, x) for x in lower)


@settings(max_examples=150)
@given(lattice_buckets(2))
def test_join_is_the_least_upper_bound(case):
    buckets, a, b = case
    upper = [x for x in buckets if oracle.dominates(x, a) and oracle.dominates(x, b)]
    least = join(a, b)
    assert any((least == x).all() for x in upper)
    assert all(oracle.dominates(x, least) for x in upper)


@settings(max_examples=300)
@given(lattice_buckets(3))
def test_meet_and_join_obey_the_laws_of_a_distributive_lattice(case):
    _, a, b, c = case

    def same(x, y):
        return x.tolist() == y.tolist()

    for op, dual in [(meet, join), (join, meet)]:
        assert same(op(a, a), a)
        assert same(op(a, b), op(b, a))
        assert same(op(op(a, b), c), op(a, op(b, c)))
        assert same(op(a, dual(a, b)), a)
        assert same(op(a, dual(b, c)), dual(op(a, b), op(a, c)))
    assert oracle.dominates(a, b) == same(meet(a, b), b) == same(join(a, b), a)


def test_meet_and_join_need_equal_numbers():
    for op in (meet, join):
        with pytest.raises(ValueError, match="equal numbers"):
            op(np.array([1, 1]), np.array([1, 2]))


@pytest.mark.parametrize(("n_labels", "size"), LATTICES)
def test_covers_in_the_full_lattice_raise_one_response_by_one_label(n_labels, size):
    buckets = full_lattice(n_labels, size)
    order = order_of(buckets)
    raised = set()
    for low, label in itertools.product(buckets, range(n_labels - 1)):
        if low[label]:
            high = low.copy()
            high[label] -= 1
            high[label + 1] += 1
            raised.add((tuple(high.tolist()), tuple(low.tolist())))
    arrows = {(tuple(buckets[high].tolist()), tuple(buckets[low].tolist())) for high, low in order.arrows()}
    assert arrows == raised


@pytest.mark.parametrize(("n_labels", "size"), LATTICES)
def test_raising_responses_generates_dominance(n_labels, size):
    order = order_of(full_lattice(n_labels, size))
    assert (reachable(order.covers) == order.dominates).all()


@settings(max_examples=200)
@given(observed())
def test_dominance_is_a_partial_order_that_its_covers_generate(counts):
    order = order_of(counts)
    expected = [[i != j and oracle.dominates(a, b) for j, b in enumerate(counts)] for i, a in enumerate(counts)]
    assert order.dominates.tolist() == expected
    assert not (order.dominates & order.dominates.T).any()
    assert (reachable(order.covers) == order.dominates).all()
    for high, low in order.arrows():
        assert not (order.dominates[high] & order.dominates[:, low]).any()


@settings(max_examples=200)
@given(observed())
def test_from_top_is_a_linear_extension(counts):
    order = order_of(counts)
    place = np.empty(len(counts), int)
    place[order.from_top] = np.arange(len(counts))
    assert sorted(order.from_top.tolist()) == list(range(len(counts)))
    high, low = np.nonzero(order.dominates)
    assert (place[high] < place[low]).all()


@settings(max_examples=150)
@given(observed())
def test_up_sets_are_all_the_sets_that_are_closed_upward(counts):
    order = order_of(counts)
    members = UpSets.of(order, 2 ** len(counts)).members
    high, low = np.nonzero(order.dominates)
    subsets = np.array(list(itertools.product([False, True], repeat=len(counts))))
    closed = subsets[(subsets[:, high] | ~subsets[:, low]).all(axis=1)]
    assert len(np.unique(members, axis=0)) == len(members)
    assert sorted(members.tolist()) == sorted(closed.tolist())
    sizes = members.sum(axis=1)
    assert (np.diff(sizes) >= 0).all()
    assert (sizes[0], sizes[-1]) == (0, len(counts))
    with pytest.raises(TooManyUpSets):
        UpSets.of(order, len(members) - 1)


@settings(max_examples=100)
@given(observed(6))
def test_inside_is_inclusion(counts):
    sets = UpSets.of(order_of(counts), 100)
    inside = sets.inside(slice(0, len(sets)), len(sets))
    expected = [[bool((b <= a).all()) for b in sets.members] for a in sets.members]
    assert inside.tolist() == expected


@pytest.mark.parametrize(("n_labels", "most"), [(2, 6), (3, 4), (4, 3)])
def test_with_varying_numbers_dominance_is_raise_add_a_top_or_remove_a_bottom(n_labels, most):
    """Rule 1 is the closure of the three steps, within all buckets of up to ``most`` responses."""
    buckets = np.concatenate([full_lattice(n_labels, size) for size in range(most + 1)])
    place = {tuple(row): at for at, row in enumerate(buckets.tolist())}
    unit = np.eye(n_labels, dtype=int)
    up = [unit[t + 1] - unit[t] for t in range(n_labels - 1)] + [unit[-1], -unit[0]]
    steps = np.zeros((len(buckets), len(buckets)), bool)
    for low, step in itertools.product(buckets, up):
        if (high := tuple((low + step).tolist())) in place:
            steps[place[high], place[tuple(low.tolist())]] = True
    order = order_of(buckets)
    assert (reachable(steps) == order.dominates).all()
    assert len(np.unique(tails(buckets[:, None]), axis=0)) == len(buckets)
