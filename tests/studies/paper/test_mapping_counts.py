"""Numbers of mappings, and claims that hold, or do not, of every crowd that is small enough to try everything."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from crowdopt.studies.paper.claims import CHECKS, check_claims
from crowdopt.studies.paper.claims import counts as claims_counts
from crowdopt.studies.paper.claims.counts import Tried, buckets_of_two_classes, conditions, counterexample, small_crowds
from crowdopt.studies.paper.mapping_counts import (
    MappingCounts,
    agrees,
    appendix_count,
    counted,
    number_of_mappings,
    table_2,
    up_to,
)
from support.oracle import log_likelihood


def test_table_2():
    rows = table_2()
    assert [row.dominance for row in rows] == [126, 462, 1716, 28744, 2741334, 28314, 106441769]
    assert [row.buckets for row in rows] == [10, 15, 21, 20, 35, 15, 35]
    wrong = [
        (row.n_labels, row.m, printed)
        for row in rows
        for value, printed in zip((row.unconstrained, row.bucketized, row.dominance), row.printed, strict=True)
        if not agrees(value, printed)
    ]
    assert wrong == [(4, 3, "2.8*10^4")]
    assert counted(2, 4).dominance == 6
    assert counted(2, 4).printed == ()


def test_table_2_stands_beside_what_is_printed():
    rows = number_of_mappings().rows
    assert rows[3] == {
        "R": 4, "m": 3, "all": 4**100, "all, as printed": "10^60", "by bucket": 4**20, "by bucket, as printed": "10^12",
        "in order": 28744, "in order, as printed": "2.8 × 10^4", "up-sets": 66, "pairs of up-sets": 1796,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "printed", "same"),
    [(106441769, "1.1*10^8", True), (106441769, "1.0*10^8", False), (106441769, "1.2*10^8", False),
     (59049, "6*10^4", True), (59049, "5*10^4", False), (59049, "10^5", False), (5 * 10**47, "10^47", True)],
)  # fmt: skip
def test_printed_numbers(value, printed, same):
    assert agrees(value, printed) is same


def test_corrected_count_of_the_appendix():
    for m in range(1, 8):
        assert up_to(m) == 2 ** (m + 1) < appendix_count(m)


# Claims


def found(words):
    """What became of the claim that has these words."""
    (check,) = [check for check in CHECKS if words in check.claim]
    return check.judge({})


def test_claims_that_need_no_experiment_are_always_checked():
    claims = check_claims([])
    assert [claim.number for claim in claims] == list(range(1, len(CHECKS) + 1))
    measured = [claim for claim in claims if claim.verdict != "not measured"]
    assert len(measured) == sum(not check.needs for check in CHECKS)
    assert {claim.verdict for claim in measured} == {"holds", "fails", "in part"}
    assert all(claim.judged.text.startswith("Needs ") for claim in claims if claim.verdict == "not measured")


@pytest.mark.parametrize(
    ("words", "verdict", "text"),
    [
        ("27 treat buckets alike", "holds", "27 mappings by bucket, 10 of them in order, the ten that the paper lists"),
        ("there are m + 1 buckets", "holds", "2, 3, 4, 5, 6, 7, 8, 9, 10, 11"),
        ("there are m + 2 mappings", "holds", "3, 4, 5, 6, 7, 8, 9, 10, 11, 12"),
        ("are reasonable", "fails", "In 180 of the 200 smallest crowds"),
        ("likeliest reasonable one", "fails", "in 26, less likely in 0; items (3,0), (2,1): −1.91 against −2.7"),
        ("is likeliest of all", "holds", "likelier in 0"),
        ("(R+m−1 choose R−1) buckets", "holds", "R = 5, m = 1–4: 5, 15, 35, 70"),
        ("Numbers of mappings that respect", "in part", "6 of 7 entries agree; (R, m) = (4, 3) is printed as 2.8"),
        ("Numbers of all mappings", "holds", "All mappings: 7 of 7 entries agree. By bucket: 7 of 7 entries agree"),
        ("far fewer than all mappings", "holds", "1 in 3.0 × 10^44"),
        ("contain a likeliest mapping", "fails", "0.001648"),
        ("is a lattice", "holds", "(3,3), (3,4), (4,3)"),
        ("union of mappings f_ij", "holds", "m = 1–5"),
        ("make a partial order", "fails", "errata, entry 14"),
        ("leaves fewer mappings", "holds", "all tried"),
        ("hence O(2^m)", "in part", "the formula gives 5, 11, 23"),
        ("while EM(1) finds the true ones", "in part", "in 0 of 20 cases"),
    ],
)  # fmt: skip
def test_what_became_of_claims_about_counts(words, verdict, text):
    judged = found(words)
    assert judged.verdict == verdict
    assert text in judged.text


ONE = Tried(((1, 0),), best=-1.0, cut=-1.0, reasonable=-1.0, unreasonable_cut=False)


@pytest.mark.parametrize(
    ("words", "name", "value", "verdict"),
    [
        ("27 treat buckets alike", "LISTED", {(3, 3, 3)}, "in part"),
        ("there are m + 1 buckets", "full_lattice", lambda *_: np.zeros((1, 2)), "fails"),
        ("there are m + 2 mappings", "counted", lambda *_: counted(2, 3), "in part"),
        ("are reasonable", "small_crowds", lambda: [ONE], "holds"),
        ("likeliest reasonable one", "small_crowds", lambda: [ONE], "holds"),
        ("likeliest reasonable one", "small_crowds", lambda: [ONE, replace(ONE, reasonable=0.0)], "fails"),
        ("is likeliest of all", "small_crowds", lambda: [ONE, replace(ONE, best=0.0)], "fails"),
        ("Numbers of mappings that respect", "agrees", lambda *_: False, "fails"),
        ("Numbers of mappings that respect", "agrees", lambda *_: True, "holds"),
        ("far fewer than all mappings", "table_2", lambda: [MappingCounts(2, 1, 2, 99, 4, 1)], "fails"),
        ("contain a likeliest mapping", "enumerate_mappings", lambda *_: np.array([[1, 0, 1, 2]]), "holds"),
        ("is a lattice", "full_lattice", lambda *_: np.array([[2, 0, 2], [0, 4, 0], [1, 3, 0], [3, 0, 1]]), "fails"),
        ("union of mappings f_ij", "points", lambda _: np.array([[0, 1], [2, 0]]), "in part"),
        ("leaves fewer mappings", "conditions", lambda b, **_: (np.zeros((len(b),) * 2, bool),) * 2, "fails"),
        ("make a partial order", "conditions", lambda b, **_: (np.zeros((len(b),) * 2, bool),) * 2, "holds"),
        ("hence O(2^m)", "appendix_count", up_to, "holds"),
        ("hence O(2^m)", "up_to", lambda m: m, "fails"),
    ],
)
def test_claims_about_counts_can_come_out_otherwise(monkeypatch, words, name, value, verdict):
    monkeypatch.setattr(claims_counts, name, value)
    assert found(words).verdict == verdict


def test_small_crowds_are_judged_as_by_hand():
    crowds = small_crowds()
    assert len(crowds) == 200
    for crowd in crowds[::7]:
        tasks = np.array(crowd.items)[:, ::-1]
        values = {f: log_likelihood(tasks, np.array(f)) for f in itertools.product((0, 1), repeat=len(tasks))}
        assert crowd.best == pytest.approx(max(values.values()))
        cuts = [f for f in values if all(f[i] >= f[j] for i, j in itertools.permutations(range(len(f)), 2)
                                         if tasks[i, 1] >= tasks[j, 1])]  # fmt: skip
        assert crowd.cut == pytest.approx(max(values[f] for f in cuts))
        rates = {f: error_rates(tasks, np.array(f)) for f in values}
        good = [f for f in values if max(rates[f], default=0) <= 0.5]
        assert crowd.reasonable == pytest.approx(max((values[f] for f in good), default=-math.inf))
        assert crowd.unreasonable_cut == any(f not in good for f in cuts)


def error_rates(tasks, mapping):
    """The error rates of the labels that some item has."""
    members = [tasks[mapping == label] for label in (0, 1)]
    return [rows[:, 1 - label].sum() / rows.sum() for label, rows in enumerate(members) if len(rows)]


def test_counterexample_to_the_guarantee_for_ratings():
    shown = counterexample()
    assert shown.best[0] == (3, 2, 2, 3, 1)
    assert shown.best[1] == pytest.approx(0.001648, abs=5e-7)
    assert shown.ordered[1] == pytest.approx(0.001372, abs=5e-7)


def test_conditions_for_worker_classes():
    buckets = buckets_of_two_classes(2, 2, up_to_these=True)
    assert len(buckets) == 36
    at = {tuple(bucket): k for k, bucket in enumerate(buckets.tolist())}
    printed, second = conditions(buckets, printed=True)
    mended, _ = conditions(buckets, printed=False)
    assert printed[at[1, 0, 1, 1], at[0, 0, 1, 0]]
    assert not mended[at[1, 0, 1, 1], at[0, 0, 1, 0]]
    assert mended[at[1, 0, 1, 0], at[0, 0, 1, 0]]
    assert second[at[1, 0, 0, 1], at[0, 1, 1, 0]]
    assert not second[at[0, 1, 1, 0], at[1, 0, 0, 1]]
    assert not (mended.diagonal() | second.diagonal()).any()
    table = found("leaves fewer mappings").table
    # One of each: (1,1) (1,0) (0,1) (0,0) as (expert, regular). Up-sets of the square: 6; of the chain: 5.
    assert table[0] == {"experts": 1, "regular workers": 1, "by bucket": 16, "first condition": 6, "both conditions": 5}
