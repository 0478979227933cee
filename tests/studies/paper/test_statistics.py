"""Means over trials, what is sure of them, and the verdicts that follow."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.studies.paper.format import number_text, percent, percents, places, span
from crowdopt.studies.paper.statistics import Estimate, averaged, every, interval, some, trend
from crowdopt.studies.paper.verdicts import Judgement, Versus, ahead, both_ways, holds_if, join_parts, joint_verdict


def test_estimates():
    values = np.array([1.0, 2.0, 4.0])
    found = Estimate.of(values)
    half = 9.924843200918293 * values.std(ddof=1) / np.sqrt(3)  # Student's t, 2 degrees of freedom, 99.5 %
    assert (found.mean, found.half) == pytest.approx((7 / 3, half))
    assert Estimate.of(np.array([1.0, np.nan, 2.0, 4.0])) == found
    single = Estimate.of(np.array([3.0]))
    assert [single.above(0), single.below(9), single.within(9)] == [None] * 3
    both = averaged([Estimate(1, 0, 2), Estimate(3, 1, 5)])
    assert (both.mean, both.half) == pytest.approx((2, np.sqrt(5) / 2))
    apart = Estimate(3, 1, 5) - Estimate(1, 0, 2)
    assert (apart.mean, apart.half) == pytest.approx((2, np.sqrt(5)))
    assert [Estimate(0, -1, 1).within(limit) for limit in (2, 0.5)] == [True, None]
    assert [Estimate(3, 2, 4).within(limit) for limit in (2, 1)] == [False, False]
    assert (every([True, True]), every([True, None]), every([None, False])) == (True, None, False)
    assert (some([False, False]), some([False, None]), some([None, True])) == (False, None, True)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 20, 0, 0.2491), (20, 20, 0.7509, 1), (27, 100, 0.1727, 0.3960)]
)
def test_intervals_of_shares_stay_between_0_and_1(hits, of, low, high):
    found = Estimate.share(np.arange(of) < hits)
    assert found.mean == hits / of
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_trends():
    falling = {m: Estimate(10 - m, 9.9 - m, 10.1 - m) for m in range(1, 8)}
    assert trend(falling) == Estimate(-1, -1, -1)
    flat = {m: Estimate(0.0, -1, 1) for m in range(1, 8)}
    assert trend(flat).below(-0.5) is None
    noisy = trend({m: Estimate(10 - m, 0 - m, 20 - m) for m in range(1, 8)})
    assert noisy.mean == -1
    assert noisy.low < -0.9 < -0.2 < noisy.high
    single = {m: Estimate(10 - m, np.nan, np.nan) for m in range(1, 8)}
    assert trend(single).below(-0.5) is None
    assert trend({1: Estimate(-99, -99, -99), **{m: Estimate(10 - m, 10 - m, 10 - m) for m in range(2, 8)}}).mean == -1


# Verdicts


def lead(low, high):
    return Estimate((low + high) / 2, low, high)


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        # Leads at m = 1, 2 over each of several others, with a margin of 1.
        ([[lead(1, 3), lead(-0.5, 0.5)]], "holds"),
        ([[lead(1, 3), lead(-3, 0.5)]], "not decided"),  # it may be worse by 3
        ([[lead(1, 3), lead(-3, -1)]], "in part"),
        ([[lead(-0.5, 0.5), lead(0, 0)]], "fails"),  # level everywhere
        ([[lead(-0.5, 1), lead(-3, -1)]], "fails"),
        ([[lead(-0.5, 3), lead(-0.5, 0.5)]], "not decided"),
        ([[lead(-0.5, 3), lead(-3, -1)]], "not decided"),  # it may be better somewhere
        ([[lead(1, 3), lead(0, 1)], [lead(2, 3), lead(0, 0)]], "holds"),
        ([[lead(1, 3), lead(0, 1)], [lead(-1, 0.5), lead(0, 0)]], "fails"),  # one of them it never beats
        ([[lead(1, 3), lead(0, 1)], [lead(2, 3), lead(-2, -1)]], "in part"),
        ([[lead(1, 3), lead(-9, 1)], [lead(2, 3), lead(-2, -1)]], "in part"),  # what is open cannot change that
        ([[lead(np.nan, np.nan)]], "not decided"),
    ],
)
def test_being_ahead(pairs, verdict):
    found = ahead([Versus("OPT", f"EM({k})", "EMD", dict(enumerate(leads, 1)), 1) for k, leads in enumerate(pairs)])
    assert found.verdict == verdict
    assert len(found.table) == len(pairs)
    assert len(found.numbers) == sum(map(len, pairs))


def test_a_comparison_in_words():
    pair = Versus("OPT", "EM(1)", "EMD", {1: lead(0, 0), 2: lead(1, 3), 3: lead(2, 4), 4: lead(-3, -1)}, 1)
    assert (pair.better, pair.worse) == ((2, 3), (4,))
    assert pair.line() == {"against": "EM(1)", "mean lead": "−2 to +3", "surely better at m": "2–3 (2 of 4)",
                           "surely worse at m": "4 (1 of 4)"}  # fmt: skip
    assert pair.numbers()[1] == {"metric": "EMD", "algorithm": "OPT", "against": "EM(1)", "m": 2, "lead": 2, "low": 1,
                                 "high": 3}  # fmt: skip
    assert (pair.overall.mean, pair.overall.half) == pytest.approx((0.75, np.sqrt(3) / 4))


def test_verdicts():
    assert [holds_if(*facts) for facts in ([True], [False, False], [True, False], [True, None], [None, False])] == [
        "holds", "fails", "in part", "not decided", "not decided"]  # fmt: skip
    assert holds_if(*(True, False, None)) == "in part"  # whatever the open one turns out to be
    assert joint_verdict(["fails", "fails"]) == "fails"
    assert joint_verdict(["holds", "fails"]) == "in part"
    assert joint_verdict(["not decided", "in part"]) == "in part"
    assert joint_verdict(["not decided", "holds"]) == joint_verdict(["fails", "not decided"]) == "not decided"


def test_readings_are_put_together():
    parts = {
        "a": Judgement("same", "holds", [{"x": 1}], [{"y": 1}]),
        "b": Judgement("same", "fails", [{"x": 2}], [{"y": 2}]),
    }
    found = join_parts(parts, "part")
    assert (found.text, found.verdict) == ("same.", "in part")
    assert found.table == [{"part": "a", "x": 1, "verdict": "holds"}, {"part": "b", "x": 2, "verdict": "fails"}]
    assert found.numbers == [{"part": "a", "y": 1}, {"part": "b", "y": 2}]
    own = join_parts(
        {"a": Judgement("one", "holds", [{"verdict": "fails"}]), "b": Judgement("two", "holds", [{"verdict": "fails"}])}
    )
    assert own.text == "a (holds): one. b (holds): two."
    assert own.table == [{"verdict": "fails"}]  # once, as both have it


def test_both_rules_for_ties():
    seen = []
    found = both_ways(lambda _, naming: seen.append(naming("EM(1)")) or Judgement("", "holds"))({})
    assert seen == ["EM(1)", "EM(1), ties to 1"]
    assert found.verdict == "holds"


def test_words():
    assert number_text(0.00001, sign=True) == "0"
    assert number_text(float(np.float64(0.5))) == "0.5"
    assert number_text(-0.00012345) == "−0.0001"
    assert number_text(999_999_999) == "999,999,999"
    assert number_text(-7123.4) == "−7,123"
    assert number_text("2.8 × 10^4") == "2.8 × 10^4"
    assert number_text(np.nan) == number_text(None) == "–"
    assert span([1.0, 1.0]) == "1"
    assert (percent(0.004), percent(0.27), percents([0.1, 0.2])) == ("under 1 %", "27 %", "10 % to 20 %")
    assert places((2,), (1, 2)) == "2 (1 of 2)"


def test_intervals_of_means():
    low, high = interval(np.array([0.0, 1.0] * 500))
    assert (high - low) / 2 == pytest.approx(1.96 * 0.5 / np.sqrt(1000), rel=2e-3)
