"""What the statistics of workers promise: intervals that cover, and flags that are seldom wrong."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from crowdopt import prove
from crowdopt.results.workers.statistics import Typical, information, measure, wilson
from crowdopt.studies.simulate import crowd, uniform_errors
from support.ways import NAMES
from support.workers import own_accuracies, share_interval, with_odd_ones

# What the statistics promise.


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
def test_intervals_cover_as_often_as_they_say_on_average(n):
    """Exactly, by summing over all outcomes: over accuracies from .5 to .99, mean coverage is .95 to a hundredth."""
    low, high = wilson(np.arange(n + 1), np.full(n + 1, n))
    covers = [
        sum(weight for k, weight in enumerate(binomial(n, p)) if low[k] <= p <= high[k])
        for p in np.linspace(0.5, 0.99, 99)
    ]
    assert np.mean(covers) == pytest.approx(0.95, abs=0.01)
    assert min(covers) > 0.83


def test_intervals_are_the_roots_of_their_definition():
    for n in range(8):
        for k in range(n + 1):
            low, high = wilson(np.array([k]), np.array([n]))
            assert (low[0], high[0]) == pytest.approx(share_interval(k, n), abs=1e-12)
            if n:
                assert low[0] <= k / n <= high[0]
                assert 0 <= low[0] < high[0] <= 1


def within_sampling_error(hits, n, share):
    """Four standard errors: less than one in ten thousand such tests would fail by chance."""
    return abs(hits / n - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_intervals_cover_the_true_accuracy_in_simulated_crowds():
    hits = agreed = n = 0
    for seed in range(12):
        data, accuracy = own_accuracies(seed)
        table = prove(data).workers()
        true = accuracy[table["worker"]]
        hits += ((table["accuracy_low"] <= true) & (true <= table["accuracy_high"])).sum()
        agreed += ((table["agreement_low"] <= true) & (true <= table["agreement_high"])).sum()
        n += len(table)
    assert n == 12 * 120
    assert within_sampling_error(hits, n, 0.95)
    assert within_sampling_error(agreed, n, 0.95)


def test_agreement_is_not_flattered_where_accuracy_is():
    """Of workers who guess, three to a task, the majority agrees with each more often than not: but not the others."""
    data = pd.DataFrame(crowd(3000, 30, 3, matrix=uniform_errors(2, 0.5), seed=3).to_dict())
    table = prove(data, engine="vote").workers()
    assert table["accuracy"].mean() > 0.7
    assert table["agreement"].mean() == pytest.approx(0.5, abs=0.02)
    difference = (table["agreement"] - table["chance"]).mean()
    assert difference == pytest.approx(0, abs=0.02)


def test_information_is_the_mutual_information_of_truth_and_answer():
    matrix = np.array([[0.9, 0.1], [0.3, 0.7]])
    shares = np.array([0.6, 0.4])
    joint = shares[:, None] * matrix
    exact = sum(
        joint[j, i] * math.log2(joint[j, i] / (joint[j].sum() * joint[:, i].sum())) for j in range(2) for i in range(2)
    )
    many = np.rint(joint * 10**9).astype(np.int64)[None]
    other = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    assert information(many, other, shares)[0] == pytest.approx(exact, abs=1e-6)  # the data speak
    nothing = np.zeros((1, 2, 2), np.int64)
    assert information(nothing, matrix[None], shares)[0] == pytest.approx(exact, abs=1e-12)  # the class speaks
    assert information(nothing, other, shares)[0] == 0
    right, opposite = np.array([[[10**6, 0], [0, 10**6]]]), np.array([[[0, 10**6], [10**6, 0]]])
    for counts in (right, opposite):
        assert information(counts, other, np.array([0.5, 0.5]))[0] == pytest.approx(1, abs=1e-4)


def flags_of(data, **options):
    table = prove(data, **options).workers()
    return dict(zip(table["worker"], table["flag"].fillna(""), strict=True)), table


def test_flags_name_who_is_odd_and_spare_the_others():
    for seed in range(5):
        flags, table = flags_of(with_odd_ones(seed))
        assert [flags.pop(1000 + i) for i in range(4)] == ["same", "chance", "opposite", "unclear"]
        assert Counter(flags.values())[""] >= 39
        reasons = table.set_index("worker")["reason"]
        assert "always answers '1'" in reasons[1000]
        assert "of 2" in reasons[1003]
        assert reasons.isna().sum() == (table["flag"].isna()).sum()


def test_workers_as_good_as_the_crowd_are_rarely_called_no_better_than_chance():
    """At most once in forty, at any number of responses; who guesses is called opposite at most once in forty."""
    typical = Typical(uniform_errors(2, 0.8)[None], np.array([[0.8, 0.8]]), np.array([0.5, 0.5]))
    rng = np.random.default_rng(0)
    for n in (5, 20, 40, 80):
        for accuracy, flag in ((0.8, 3), (0.5, 2)):
            truth = rng.integers(0, 2, (4000, n))
            answer = np.where(rng.random(truth.shape) < accuracy, truth, 1 - truth)
            counts = np.stack([((truth == j) & (answer == i)).sum(axis=1) for j in (0, 1) for i in (0, 1)], axis=1)
            counts = counts.reshape(-1, 2, 2)
            flags = measure(counts, counts, np.zeros(4000, np.int64), typical).flag
            assert (flags == flag).mean() < 0.025 + 4 * math.sqrt(0.025 * 0.975 / 4000)


def test_who_is_always_right_is_not_flagged_for_answering_the_same():
    always = np.array([[[100, 0], [0, 0]], [[100, 0], [20, 0]], [[100, 0], [2, 0]]])
    typical = Typical(uniform_errors(2, 0.8)[None], np.array([[0.8, 0.8]]), np.array([0.5, 0.5]))
    flags = measure(always, always, np.zeros(3, np.int64), typical).flag
    assert [flag == 1 for flag in flags] == [False, True, False]  # .2 to the power of 2 is not rare


def test_who_agrees_with_everybody_is_not_flagged_for_it():
    _, high = wilson(np.arange(0, 200), np.arange(0, 200))
    assert (high[1:] == 1).all()
    assert (wilson(np.zeros(200), np.arange(200))[0] == 0).all()
    rows = [(f"t{task}", f"w{worker}", "a") for task in range(10) for worker in range(4)]
    assert set(prove(pd.DataFrame(rows, columns=["task", "worker", "label"])).workers()["flag"]) == {"unclear"}


def test_one_label_tells_nothing():
    table = prove(pd.DataFrame([(t, w, "yes") for t in range(9) for w in "ab"], columns=NAMES)).workers()
    assert table["accuracy"].tolist() == table["agreement"].tolist() == table["chance"].tolist() == [1, 1]
    assert table["information"].tolist() == [0, 0]
    assert table["flag"].tolist() == ["unclear", "unclear"]
