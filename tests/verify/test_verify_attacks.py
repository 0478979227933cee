"""Attacks on verify: ties beyond counting, values that do not belong, and the clock."""

from __future__ import annotations

import copy
import json
import math
import time

import numpy as np
import pandas as pd
import pytest

from campaigns.truth import digest_of, gold_of, judge, problem_of, retell
from crowdopt import Solution, prove, verify
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.verify import optimum_ordered
from crowdopt.verify.check import check_against
from crowdopt.verify.verdict import Verdict
from support.effort import first_fast
from support.rated_crowds import KINDS, Setting, asked, read, reloaded, solution_of, solved

# 3. Time.


@pytest.mark.parametrize("limit", [-1.0, 0.0, 1e-9])
def test_without_time_no_bound_is_confirmed_that_was_not_checked(limit):
    for number, kind in enumerate(KINDS):
        setting = Setting(3 + number % 3, equal=number % 2 == 0, kind=kind, medium=True)
        data, options = asked(setting, 300 + number)
        source, rest = read(data, options)
        for engine in ("chain", "search", "em"):
            solution = solved(source, rest, engine)
            told = [reloaded(solution).to_dict()]
            if engine == "search":
                told.append(copy.deepcopy(told[0]))
                told[1]["certificate"] |= {"proof": "PROVED", "bound": solution.certificate.objective, "gap": 0.0}
            for stated in told:
                found = judge(stated, solution, data, time_limit=limit)
                plain = solution.certificate.bound is None or stated["certificate"]["proof"] == "BOUNDED"
                assert found.verdict is Verdict.BOUND_NOT_RECHECKED or (plain and limit >= 0)
                assert found.verdict is not Verdict.REJECTED
                assert "time limit" in found.reasons[0]
    data, options = asked(Setting(3, equal=False, kind="none", medium=True), 300)
    assert verify(prove(data, **options), data, time_limit=limit).exit_code == 3


def test_whenever_time_runs_out_no_lie_is_confirmed(monkeypatch):
    """A clock that passes the deadline at its n-th reading, for every n until the check gets to its end."""
    setting = Setting(3, equal=True, kind="estimate", medium=True)
    data, options = asked(setting, 5)
    source, rest = read(data, options)
    honest = solved(source, rest, "chain")
    lied = honest.to_dict()
    for name in ("objective", "bound"):
        lied["certificate"][name] -= 1e-3
    early = solved(source, rest, "search", stopped=True)
    early_lie = early.to_dict()
    early_lie["certificate"] |= {"proof": "PROVED", "bound": early.certificate.objective, "gap": 0.0}
    assert honest.certificate.objective > early.certificate.objective + 1e-3
    for told, about, true in ((honest.to_dict(), honest, True), (lied, honest, False), (early_lie, early, False)):
        n = 0
        while True:
            monkeypatch.setattr(time, "monotonic", Clock(n))
            found = judge(told, about, data).verdict
            monkeypatch.undo()
            if found is not Verdict.BOUND_NOT_RECHECKED:
                break
            n = n + 1 + n // 3
        assert found is (Verdict.CONFIRMED if true else Verdict.REJECTED)


class Clock:
    """Stands still for a while, then jumps."""

    def __init__(self, readings: int) -> None:
        self.left = readings

    def __call__(self) -> float:
        self.left -= 1
        return 0.0 if self.left >= -1 else 1e9  # the first reading sets the deadline


# 4. Attacks.


@pytest.fixture(scope="module")
def tied_beyond_counting() -> Solution:
    """Six buckets with equal shares of answers, which four labels of equal knowledge may split; and one of its own."""
    tasks = np.array([[k, 0, k, 0, 0] for k in range(1, 7)] + [[0, 9, 0, 0, 0]])
    known = np.array([[4, 0, 4, 0, 0], [0, 9, 0, 0, 0], *[[4, 0, 4, 0, 0]] * 3], float)
    solution = solution_of(tasks, "chain", Setting(5, equal=False, kind="none"), known=known)
    ordered = optimum_ordered.OrderedOptimum(problem_of(solution), math.inf)
    assert ordered.tied(solution.mapping, ordered.value - 1e-9) is None
    assert solution.margins.kind == "exact"
    return solution


def test_ties_beyond_counting_are_not_confirmed(tied_beyond_counting):
    solution = tied_beyond_counting
    honest = solution.to_dict()
    found = judge(honest, solution, None)
    assert (found.verdict, found.exit_code) == (Verdict.BOUND_NOT_RECHECKED, 3)
    assert "ties" in found.reasons[0]
    alone = solution.mapping.tolist().index(1)
    assert honest["buckets"]["margin"][alone] > 1
    for at, expected in ((alone, Verdict.REJECTED), (alone + 1, Verdict.BOUND_NOT_RECHECKED)):
        lied = solution.to_dict()
        lied["buckets"]["tied"][at] = not lied["buckets"]["tied"][at]
        assert judge(lied, solution, None).verdict is expected


def test_margins_and_bound_are_checked_all_the_same_where_ties_are_beyond_counting(tied_beyond_counting):
    solution = tied_beyond_counting
    lied = solution.to_dict()
    lied["buckets"]["margin"][0] += 0.1
    assert judge(lied, solution, None).verdict is Verdict.REJECTED
    lied = solution.to_dict()
    lied["buckets"]["margin_kind"] = "upper"
    retell(lied, solution, np.where(solution.mapping == 1, 2, solution.mapping))
    assert judge(lied, solution, None).verdict is Verdict.REJECTED


def test_a_search_over_all_mappings_of_two_labels_may_name_against_the_order():
    """Where most answers are yes, the names that agree with most responses can be the other way around."""
    tasks = np.repeat([[0, 6], [2, 4], [3, 3]], [3, 20, 20], axis=0)
    setting = Setting(2, equal=True, kind="none")
    solution = solution_of(tasks, "search", setting, space="all")
    assert solution.mapping.tolist() == [0, 1, 1]
    assert judge(solution.to_dict(), solution, None).verdict is Verdict.CONFIRMED
    lied = solution.to_dict()
    retell(lied, solution, 1 - solution.mapping)
    assert judge(lied, solution, None).verdict is Verdict.REJECTED


def test_data_of_another_number_of_labels_are_rejected_also_with_gold():
    data, options = asked(Setting(3, equal=True, kind="gold", medium=True), 0)
    more = pd.concat([data, pd.DataFrame({"task": [0], "worker": [99], "label": ["4"]})], ignore_index=True)
    found = verify(prove(data, **options), more)
    assert found.verdict is Verdict.REJECTED
    assert "labels" in found.reasons[0]


WEIRD = [
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400), 2**63, 2**63 - 1, 1e300, 1e16, 0.5, -1, 0),
    *(True, False, None, "x", "", [], {}, [[]], [1], [[1]], {"a": 1}, [None]),
]
"""What JSON can say (1e400 is infinite), and no solution file should."""


FREE = {"crowdopt_version", "seed", "doubts", "certificate.work", "certificate.seconds", "certificate.stop"}
"""What no data can tell."""


def places(data, at=()):
    """All keys and positions of a file; of lists only the first and the last."""
    if at:
        yield at
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*at, key))
    elif isinstance(data, list):
        for position in sorted({0, len(data) - 1} if data else ()):
            yield from places(data[position], (*at, position))


def changes(data):
    """Files that differ in one place."""
    for *path, last in list(places(data)):
        text = json.dumps(data)
        parent = data
        for key in path:
            parent = parent[key]
        old = parent[last]
        others = [*WEIRD, [old]]
        if isinstance(old, list):
            others += [[*old, *old[-1:]], old[:-1], old[::-1], [[x] for x in old]]
        elif type(old) in {int, float}:
            others += [str(old), old + 1, -old, float(old), int(old)]
        for other in others:
            parent[last] = other
            yield ".".join(map(str, [*path, last])), copy.deepcopy(data)
        del parent[last]
        yield ".".join(map(str, [*path, last])), copy.deepcopy(data)
        parent.insert(last, old) if isinstance(parent, list) else parent.update({last: old})
        if isinstance(old, dict):
            old["more"] = 1
            yield ".".join(map(str, [*path, last])), copy.deepcopy(data)
            del old["more"]
        assert sorted(text) == sorted(json.dumps(data))


def attacked() -> list[tuple[Solution, pd.DataFrame]]:
    """Solutions with everything that a file can hold; the last with a single bucket."""
    data, options = asked(Setting(3, equal=False, kind="gold"), 4)
    prior = [[1, 2, 0.5], [0, 3, 1], [1, 1, 1]]
    all_known = prove(data, **options | {"selectivity": "estimate"}, prior_matrix=prior, smoothing=0.5)
    nominal, options = asked(Setting(3, equal=True, kind="given", nominal=True), 4)
    one = pd.DataFrame({"task": [0, 0, 0], "worker": [0, 1, 2], "label": [1, 2, 3]})
    return [(all_known, data), (prove(nominal, **options), nominal), (prove(one), one)]


@pytest.mark.parametrize("number", first_fast(range(3)), ids=["all-known", "nominal", "one-bucket"])
def test_no_value_in_a_file_is_a_crash_or_a_way_around_the_checks(number):
    solution, data = attacked()[number]
    honest = json.loads(json.dumps(solution.to_dict()))
    assert judge(honest, solution, data).verdict is Verdict.CONFIRMED
    counted = (solution.scale, solution.buckets, solution.totals, gold_of(solution))
    for place, changed in changes(json.loads(json.dumps(honest))):
        if changed == honest:
            continue
        try:
            loaded = Solution.from_dict(changed)
            if changed["reading"] == honest["reading"]:
                found = check_against(loaded, *counted, digest=digest_of(solution))
                # Another witness that proves the bound is as good as any; without one, so few mappings are all tried.
                free = place in FREE or place.startswith(("certificate.witness", "doubts."))
                assert found.verdict is not Verdict.CONFIRMED or free, place
            elif number == 0:  # reading takes long
                verify(loaded, data)  # whatever comes out: other options may well read the same responses
        except (SolutionFileError, InputError):
            continue
