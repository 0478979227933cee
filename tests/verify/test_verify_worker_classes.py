"""What verify makes of solutions with classes of workers: honest ones, and lies."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from campaigns.lies import LIES
from campaigns.rating_lies import RATING_LIES
from campaigns.truth import can_be_tried, digest_of, judge, optimum, retell
from crowdopt import Solution, prove, verify
from crowdopt.errors import ColumnError
from crowdopt.model.certificate import Space
from crowdopt.verify.optimum import log_likelihood
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.effort import first_fast
from support.worker_classes import CLASSES, crowd


def solutions(seed: int):
    for labels, n_tasks in ((("no", "yes"), 9), (("1", "2", "3"), 6)):
        data = crowd(seed, n_tasks, labels)
        for ranked in ((), ("expert", "regular")):
            for engine in ("chain", "enumerate", "search", "em", "vote"):
                options = {"ranked": ranked, "engine": engine, "labels": labels}
                yield data, prove(data, class_="class", **options)
            yield data, prove(data, classes=CLASSES, ranked=ranked, labels=labels, selectivity="estimate")
        yield data, prove(data, class_="class", labels=labels, engine="search", space="all")


@pytest.mark.parametrize("seed", first_fast(range(3)))
def test_honest_solutions_are_confirmed(seed):
    for data, solution in solutions(seed):
        found = verify(Solution.from_dict(json.loads(json.dumps(solution.to_dict()))), data)
        assert (found.verdict, found.reasons) == (Verdict.CONFIRMED, ()), solution
        if solution.certificate.bound is not None and can_be_tried(solution):
            best = optimum(solution, solution.certificate.space)
            assert solution.certificate.objective - 1e-9 <= best <= solution.certificate.bound + 1e-9


CLASS_LIES = []


def a_class_lie(function):
    CLASS_LIES.append(function)
    return function


@a_class_lie
def rename_a_class(data, solution, rng):
    data["classes"][0]["name"] = "guru"
    return "name"


@a_class_lie
def exchange_the_names(data, solution, rng):
    one, other = data["classes"]
    one["name"], other["name"] = other["name"], one["name"]
    names = [one["name"], other["name"]]
    data["certificate"]["fingerprint"] = solution.buckets.fingerprint(solution.scale.labels, names, digest_of(solution))
    return "exchanged"


@a_class_lie
def miscount_the_workers(data, solution, rng):
    data["classes"][int(rng.integers(2))]["n_workers"] += 1
    return "workers"


@a_class_lie
def forget_the_classes(data, solution, rng):
    data["classes"] = []
    return "no classes"


@a_class_lie
def merge_the_classes(data, solution, rng):
    """All workers alike, and the counts as well: another problem, said to be that of the classes."""
    data["classes"] = []
    data["buckets"]["counts"] = solution.buckets.counts.sum(axis=1, keepdims=True).tolist()
    return "merged"


@a_class_lie
def take_the_conditions_out(data, solution, rng):
    data["certificate"]["given"] = [name for name in data["certificate"]["given"] if "classes" not in name]
    return "given"


@a_class_lie
def turn_the_ranks(data, solution, rng):
    if not solution.ranked:
        return None
    data["reading"]["ranked"].reverse()
    return "ranks"


@a_class_lie
def deny_the_ranks(data, solution, rng):
    """What was best among fewer mappings is said to be best among more."""
    if not solution.ranked or solution.certificate.bound is None:
        return None
    plain = replace(solution, reading=replace(solution.reading, ranked=()))
    beaten = can_be_tried(plain) and optimum(plain, Space.DOMINANCE) > solution.certificate.bound + 1e-6
    if not beaten or solution.certificate.space is Space.ALL:
        return None
    data["reading"]["ranked"] = []
    retell(data, plain, solution.mapping)
    return "no ranks"


@a_class_lie
def claim_ranks(data, solution, rng):
    """Labels that break the order of ranks are said to be the best that respect it."""
    if solution.ranked or solution.certificate.engine not in {"chain", "enumerate"}:
        return None
    ranked = replace(solution, reading=replace(solution.reading, ranked=("expert", "regular")))
    if oracle.respects_order(solution.buckets.counts, solution.mapping, ranked=True):
        return None
    data["reading"]["ranked"] = ["expert", "regular"]
    data["certificate"]["given"] = list(ranked.problem.given)
    return "ranks"


@a_class_lie
def move_a_worker(data, solution, rng):
    if not data["reading"]["classes"]:
        return None
    pair = data["reading"]["classes"][0]
    pair[1] = {"expert": "regular", "regular": "expert"}[pair[1]]
    return "moved"


@a_class_lie
def forget_a_worker(data, solution, rng):
    if not data["reading"]["classes"]:
        return None
    data["reading"]["classes"].pop()
    return "forgotten"


@a_class_lie
def read_other_classes(data, solution, rng):
    if not data["reading"]["class_column"]:
        return None
    data["reading"]["class_column"] = ""
    return "no column"


@a_class_lie
def shift_a_response_to_the_other_class(data, solution, rng):
    counts = solution.buckets.counts.copy()
    where = np.argwhere(counts[:, 0] > 0)
    bucket, label = where[int(rng.integers(len(where)))]
    counts[bucket, :, label] += [-1, 1]
    data["buckets"]["counts"] = counts.tolist()
    return "shifted"


@pytest.mark.parametrize("seed", first_fast(range(3)))
def test_lies_are_rejected(seed):
    told = dict.fromkeys([lie.__name__ for lie in CLASS_LIES], 0)
    for number, (data, solution) in enumerate(solutions(seed)):
        for lie in [*CLASS_LIES, *(LIES if number % 4 == seed else []), *(RATING_LIES if number % 4 == seed else [])]:
            if lie.__name__ == "turn_the_crowd_upside_down":
                continue  # about scans
            lied = solution.to_dict()
            if lie(lied, solution, np.random.default_rng([seed, number])) is None:
                continue
            told[lie.__name__] = told.get(lie.__name__, 0) + 1
            found = judge(lied, solution, data)
            assert found.verdict is Verdict.REJECTED, (lie.__name__, solution, found)
    missing = [lie.__name__ for lie in CLASS_LIES if not told[lie.__name__]]
    assert set(missing) <= {"deny_the_ranks", "claim_ranks"}  # not in every crowd
    assert sum(told.values()) > 200


@pytest.mark.full
def test_lies_about_ranks_are_told_and_rejected():
    """Crowds in which ranks change the optimum."""
    told = {"deny_the_ranks": 0, "claim_ranks": 0}
    for seed in range(150):
        data = crowd(seed, 8)
        for ranked, lie in (((), claim_ranks), (("regular", "expert"), deny_the_ranks)):
            solution = prove(data, class_="class", ranked=ranked)
            lied = solution.to_dict()
            if lie(lied, solution, None):
                told[lie.__name__] += 1
                assert judge(lied, solution, data).verdict is Verdict.REJECTED
    assert min(told.values()) >= 3, told


def test_data_whose_workers_changed_class_are_rejected():
    data = crowd()
    solution = prove(data, class_="class")
    moved = data.assign(**{"class": data["class"].where(data["worker"] != "w1", "regular")})
    found = verify(solution, moved)
    assert found.verdict is Verdict.REJECTED
    assert "class expert has 1 workers in the data, 2 in the solution" in found.reasons
    other = data.assign(worker="x" + data["worker"])
    assert verify(prove(data, classes=CLASSES), other).verdict is Verdict.REJECTED
    with pytest.raises(ColumnError, match="no column named 'class' for the class"):
        verify(solution, data.drop(columns="class"))


def test_the_value_of_the_recheck_is_the_sum_over_classes():
    solution = prove(crowd(), class_="class")
    tasks = np.repeat(solution.buckets.counts, solution.buckets.weights, axis=0)
    mapping = np.repeat(solution.mapping, solution.buckets.weights)
    expected = sum(oracle.log_likelihood(tasks[:, k], mapping) for k in range(2))
    assert log_likelihood(solution.problem, solution.mapping) == pytest.approx(expected, abs=1e-9)
