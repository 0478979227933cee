"""Verification: honest solutions are confirmed, and no lie about the data gets through."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pandas as pd
import pytest

from campaigns.lies import LIES, claim_all_mappings
from campaigns.truth import judge, problem_of
from crowdopt import Solution, prove, verify
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import MAPPING_SPACES, Proof, Space
from crowdopt.model.problem import Problem
from crowdopt.verify import recheck as checks_module
from crowdopt.verify.alternatives import agreement_of_best_names, alternatives
from crowdopt.verify.optimum import Undecided, always_above
from crowdopt.verify.recheck import Recheck
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.problems import KINDS as ALL_KINDS
from support.problems import random_objective, random_tasks

KINDS = ["none", "estimate", "given", "forbidden"]
SETTINGS = [
    (equal, kind, space, medium)
    for equal in (True, False)
    for kind in KINDS
    for space in ("dominance", "all")
    for medium in (False, True)
]


def ids(setting) -> str:
    equal, kind, space, medium = setting
    return f"{'equal' if equal else 'varying'}-{kind}-{space}-{'medium' if medium else 'small'}"


def crowd(rng: np.random.Generator, *, equal: bool, medium: bool) -> pd.DataFrame:
    """Responses of a crowd with two labels; always at least one of each, so that the scale is known."""
    n_tasks = int(rng.integers(60, 90)) if medium else int(rng.integers(2, 7))
    most = 7 if medium else 5
    sizes = np.full(n_tasks, rng.integers(2, most + 1)) if equal else rng.integers(1, most + 1, n_tasks)
    task = np.repeat(np.arange(n_tasks), sizes)
    truth = rng.random(n_tasks) < 0.4
    lean = rng.uniform(0.6, 0.9)
    yes = rng.random(len(task)) < np.where(truth[task], lean, 1 - lean)
    yes[:2] = [False, True]
    worker = np.concatenate([np.arange(size) for size in sizes])
    return pd.DataFrame({"task": task, "worker": worker, "label": np.where(yes, "yes", "no")})


def selectivity(rng: np.random.Generator, kind: str) -> str:
    if kind == "forbidden":
        return "no=1,yes=0" if rng.random() < 0.5 else "no=0,yes=1"
    share = round(float(rng.uniform(0.05, 0.95)), 2)
    return f"no={1 - share:.2f},yes={share:.2f}" if kind == "given" else kind


def solved(setting, seed: int, engine: str = "auto", on_progress=None) -> tuple[Solution, pd.DataFrame]:
    equal, kind, space, medium = setting
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    data = crowd(rng, equal=equal, medium=medium)
    shares = selectivity(rng, kind)
    return prove(data, selectivity=shares, space=space, engine=engine, on_progress=on_progress), data


@pytest.mark.grid
@pytest.mark.parametrize("engine", ["auto", "vote"])
@pytest.mark.parametrize("setting", SETTINGS, ids=ids)
def test_honest_solutions_are_confirmed(setting, engine, tmp_path):
    for seed in range(2):
        if engine == "vote" and setting[1] == "forbidden":
            continue  # an error, see test_solution
        solution, data = solved(setting, seed, engine)
        assert verify(solution, data).verdict is Verdict.CONFIRMED
        path = tmp_path / "solution.json"
        solution.save(path)
        again = verify(path, data.sample(frac=1, random_state=seed))
        assert (again.verdict, again.reasons, again.exit_code) == (Verdict.CONFIRMED, (), 0)


@pytest.mark.grid
@pytest.mark.parametrize("setting", SETTINGS, ids=ids)
def test_lies_are_rejected(setting):
    """At least fifteen lies about each of 64 problems: some thousand in all."""
    for seed in (100, 101):
        engine = "vote" if seed == 101 and setting[1] != "forbidden" else "auto"
        solution, data = solved(setting, seed, engine)
        told = 0
        for number, lie in enumerate(LIES):
            lied = solution.to_dict()
            what = lie(lied, solution, np.random.default_rng([number, seed]))
            if what is None:
                continue
            told += 1
            found = judge(lied, solution, data)
            assert found.verdict is Verdict.REJECTED, (lie.__name__, what, engine)
            assert found.reasons
            assert found.exit_code == 1
        assert told >= 15


def test_claiming_all_mappings_is_a_lie_where_one_of_them_is_better():
    told = 0
    for seed in range(200):
        solution, data = solved((True, "given", "dominance", False), seed)
        lied = solution.to_dict()
        if claim_all_mappings(lied, solution, None) is not None:
            told += 1
            assert judge(lied, solution, data).verdict is Verdict.REJECTED
        if told == 4:
            return
    pytest.fail(f"only {told} lies in 200 problems")


def test_claiming_a_proof_is_a_lie_where_the_engine_stopped_too_early():
    told = 0
    for seed in range(40):
        setting = (False, "estimate", "all", True)
        early, data = solved(setting, seed, on_progress=lambda _: True)  # no search either: labels are poor
        assert early.certificate.proof is Proof.BOUNDED
        best = solved(setting, seed)[0].certificate.objective
        if best <= early.certificate.objective + 2 * early.certificate.tolerance:
            continue
        told += 1
        assert judge(early.to_dict(), early, data).verdict is Verdict.CONFIRMED
        lied = early.to_dict()
        lied["certificate"] |= {"bound": lied["certificate"]["objective"], "gap": 0.0, "proof": "PROVED"}
        assert judge(lied, early, data).verdict is Verdict.REJECTED
        if told == 2:
            return
    pytest.fail(f"only {told} lies in 40 problems")


@pytest.mark.grid
@pytest.mark.parametrize("change", ["add", "remove", "flip"])
@pytest.mark.parametrize("setting", SETTINGS[::3], ids=ids)
def test_data_that_differ_by_one_response_are_rejected(setting, change):
    for seed in range(3):
        solution, data = solved(setting, 50 + seed)
        other = data.copy()
        at = len(other) - 1
        if change == "add":
            other.loc[len(other)] = [other["task"][at], 99, "yes"]
        elif change == "remove":
            other = other.drop(index=at)
        else:
            other.loc[at, "label"] = "no" if other["label"][at] == "yes" else "yes"
        assert verify(solution, other).verdict is Verdict.REJECTED


def test_weaker_claims_are_still_true():
    """A looser bound, or no bound at all, is no lie."""
    for seed in range(3):
        solution, data = solved(SETTINGS[0], seed)
        looser = solution.to_dict()
        bound = looser["certificate"]["objective"] + 1
        looser["certificate"] |= {"bound": bound, "gap": bound - looser["certificate"]["objective"], "proof": "BOUNDED"}
        assert verify(Solution.from_dict(looser), data).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("proof", ["BOUNDED", "PROVED"])
def test_a_confirmation_says_nothing_that_no_data_can_tell(proof):
    """How long it took, and why it stopped, may be anything in the file."""
    solution, data = solved(SETTINGS[0], 0)
    told = solution.to_dict()
    told["certificate"] |= {"proof": proof, "seconds": 1234.5, "work": 99}
    stopped = [{**told["certificate"], "stop": stop} for stop in ("FINISHED", "TIME")]
    found = [verify(Solution.from_dict({**told, "certificate": one}), data) for one in stopped]
    assert {one.verdict for one in found} == {Verdict.CONFIRMED}
    assert found[0].claim == found[1].claim
    assert "1234" not in found[0].claim


@pytest.mark.parametrize("part", ["work", "seconds"])
def test_less_than_no_work_and_no_time_are_damage(part):
    told = solved(SETTINGS[0], 0)[0].to_dict()
    told["certificate"][part] = -1
    with pytest.raises(SolutionFileError, match="less than no"):
        Solution.from_dict(told)


@pytest.mark.parametrize("option", [{"task": "item"}, {"label": "answer"}, {"keep": ["absent"]}])
def test_data_that_cannot_be_read_as_the_file_says_is_an_error(option):
    solution, data = solved(SETTINGS[0], 1)
    lied = solution.to_dict()
    lied["reading"] |= option
    with pytest.raises(InputError, match="no column named"):
        verify(Solution.from_dict(lied), data)


@pytest.mark.parametrize("labels", [["a"], ["1", "2", "3"]], ids=["one-label", "three-labels"])
@pytest.mark.parametrize("claim", ["exact", "BOUNDED", "PROVED"])
def test_claims_about_other_numbers_of_labels_are_judged_and_do_not_crash(labels, claim):
    rows = [(task, worker, labels[(task + worker) % len(labels)]) for task in range(6) for worker in range(3)]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    solution = prove(data, engine="vote")
    assert verify(solution, data).verdict is Verdict.CONFIRMED
    lied = solution.to_dict()
    if claim == "exact":
        lied["buckets"]["margin_kind"] = "exact"
    else:
        bound = lied["certificate"]["objective"]
        engine = "trivial" if len(labels) == 1 else "search"
        lied["certificate"] |= {"proof": claim, "bound": bound, "gap": 0.0, "engine": engine}
        lied["buckets"]["tied"] = alternatives(
            problem_of(solution), solution.mapping, bound, frozenset({"moves"})
        ).tied.tolist()
    found = verify(Solution.from_dict(lied), data)
    if claim == "exact":
        assert found.verdict is Verdict.REJECTED
    elif len(labels) == 1:
        assert found.verdict is Verdict.CONFIRMED  # there is one mapping, so any bound that it reaches is right
    else:
        # One bucket with all labels alike: any label is as likely, and moving it loses nothing.
        assert found.verdict is Verdict.CONFIRMED
        lied["certificate"]["engine"] = "scan"
        assert verify(Solution.from_dict(lied), data).verdict is Verdict.REJECTED


def test_past_the_time_limit_the_bound_is_not_rechecked():
    solution, data = solved((False, "estimate", "all", True), 0)
    assert 2**solution.buckets.n_buckets > checks_module.MAX_ENUMERATED
    found = verify(solution, data, time_limit=-1)
    assert (found.verdict, found.exit_code) == (Verdict.BOUND_NOT_RECHECKED, 3)
    assert "time limit" in found.reasons[0]


@pytest.mark.parametrize("enumerated", [4_096, 0], ids=["enumeration", "other-means"])
@pytest.mark.parametrize("space", MAPPING_SPACES)
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "varying"])
def test_recheck_finds_the_optimum(monkeypatch, equal, kind, space, enumerated, effort):
    monkeypatch.setattr(checks_module, "MAX_ENUMERATED", enumerated)
    for seed in range(effort(80, whole=True)):
        rng = np.random.default_rng([seed, equal, ALL_KINDS.index(kind)])
        n_labels = 2 + seed % 3
        tasks = random_tasks(rng, n_labels, equal=equal)
        objective, shares = random_objective(rng, kind, n_labels)
        problem = Problem(Buckets.from_arrays(tasks)[0], space, objective)
        value = oracle.brute_force(tasks, space=space, shares=shares).value
        checks = Recheck(problem, time.monotonic() + 60)
        assert always_above(problem) >= value - 1e-9
        assert checks.better_than(always_above(problem)) is None
        if always_above(problem) <= value + 1e-6:
            continue
        if n_labels > 2 and space is Space.ALL and not enumerated:
            with pytest.raises(Undecided, match="checked by prices"):
                checks.better_than(value + 1e-9)
            continue
        assert checks.better_than(value + 1e-9) is None
        assert checks.better_than(value - 1e-9) == pytest.approx(value, abs=1e-9)


def test_the_best_names_are_found(effort):
    for seed in range(effort(300, whole=True)):
        rng = np.random.default_rng([seed, 3])
        n_labels = int(rng.integers(2, 5))
        tasks = random_tasks(rng, n_labels, equal=False)
        buckets, _ = Buckets.from_arrays(tasks)
        mapping = rng.integers(0, n_labels, buckets.n_buckets)
        used = sorted(set(mapping.tolist()))
        for space in MAPPING_SPACES:
            names = itertools.permutations(range(n_labels), len(used))
            kept = [name for name in names if space is Space.ALL or list(name) == sorted(name)]
            expected = max(buckets.agreement(np.array([name[used.index(j)] for j in mapping])) for name in kept)
            assert agreement_of_best_names(Problem(buckets, space), mapping) == expected
