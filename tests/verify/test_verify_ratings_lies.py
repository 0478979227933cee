"""Lies about solutions of three to five labels are rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from campaigns.lies import LIES, claim_all_mappings
from campaigns.rating_lies import RATING_LIES
from campaigns.truth import as_tasks, judge, optimum, problem_of, retell
from crowdopt.model.certificate import Space
from crowdopt.verify import recheck as checks_module
from crowdopt.verify.optimum import always_above
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.rated_crowds import HARD, KINDS, SETTINGS, Setting, asked, read, solution_of, solved

if TYPE_CHECKING:
    import pandas as pd

    from crowdopt import Solution

# 2. Lies.

TOLD = [  # engine, whether it is stopped at once, whether labels have an order, the space if not the usual one
    ("chain", False, True, None),
    ("enumerate", False, True, None),
    ("chain", True, True, None),
    ("search", False, True, None),
    ("search", True, True, None),
    ("search", False, False, None),
    ("search", True, False, None),
    ("search", False, True, "all"),
    ("columns", False, False, None),
    ("columns", True, False, None),
    ("columns", False, True, "all"),
    ("em", False, True, None),
    ("em3", False, False, None),
    ("soft-em", False, True, None),
    ("vote", False, True, None),
]


def assert_lies_are_rejected(
    solution: Solution, data: pd.DataFrame, setting: Setting, seed: int, *, reread: bool
) -> int:
    """Tells every lie that there is about one solution; returns how many."""
    n_mappings = solution.buckets.n_labels**solution.buckets.n_buckets
    told = 0
    for number, lie in enumerate([*LIES, *RATING_LIES]):
        lied = solution.to_dict()
        what = lie(lied, solution, setting.rng(number, seed))
        if what is None or (not reread and lied["reading"] != solution.to_dict()["reading"]):
            continue
        told += 1
        found = judge(lied, solution, data)
        facts = (lie.__name__, what, solution.certificate.engine, found)
        if found.verdict is Verdict.BOUND_NOT_RECHECKED:
            assert (lied["certificate"]["space"], found.exit_code) == ("all", 3), facts
            assert n_mappings > checks_module.MAX_ENUMERATED, facts
        else:
            assert (found.verdict, found.exit_code) == (Verdict.REJECTED, 1), facts
            assert found.reasons
    return told


@pytest.mark.grid
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_lies_about_small_problems_are_rejected(setting):
    """At least 20 kinds of lies about each of 72 problems: more than two thousand in all."""
    for number in (SETTINGS.index(setting), SETTINGS.index(setting) + 6):
        engine, stopped, ordered, space = TOLD[number % len(TOLD)]
        about = replace(setting, nominal=not ordered)
        data, options = asked(about, 10 + number)
        source, rest = read(data, options)
        solution = solved(source, rest, engine, stopped=stopped, space=space)
        assert assert_lies_are_rejected(solution, data, about, number, reread=number % 4 == 0) >= 20


def test_lies_about_medium_problems_are_rejected():
    for number, (engine, stopped, ordered, space) in enumerate(TOLD):
        kind = KINDS[number % len(KINDS)]
        setting = Setting(3, equal=number % 2 == 0, kind=kind, nominal=not ordered, medium=True)
        data, options = asked(setting, 200 + number)
        source, rest = read(data, options)
        solution = solved(source, rest, engine, stopped=stopped, space=space)
        assert assert_lies_are_rejected(solution, data, setting, number, reread=False) >= 20


@pytest.mark.parametrize("engine", HARD)
def test_claiming_all_mappings_is_a_lie_where_one_of_them_is_better(engine):
    told = 0
    for seed in range(300):
        setting = Setting(3 + seed % 2, equal=seed % 3 > 0, kind=["none", "given", "prior"][seed % 3])
        solution = solution_of(random_tasks(setting, seed), engine, setting)
        lied = solution.to_dict()
        if claim_all_mappings(lied, solution, None) is not None:
            told += 1
            assert judge(lied, solution, None).verdict is Verdict.REJECTED
        if told == 5:
            return
    pytest.fail(f"only {told} lies in 300 problems")


def random_tasks(setting: Setting, seed: int) -> np.ndarray:
    """Counts of a few tasks, of a crowd that may well have no idea."""
    rng = setting.rng(seed, 7)
    n_tasks = int(rng.integers(3, {3: 8, 4: 7, 5: 6}[setting.n_labels]))
    sizes = np.full(n_tasks, rng.integers(1, 5)) if setting.equal else rng.integers(1, 5, n_tasks)
    return np.array([rng.multinomial(size, rng.dirichlet(np.ones(setting.n_labels))) for size in sizes])


@pytest.mark.parametrize("engine", HARD)
def test_of_equally_likely_labels_those_that_agree_less_are_rejected(engine):
    """Also when the names are exchanged in a way that the order allows, and whatever margins are claimed."""
    n_less, n_equal = 0, 0
    for seed in range(16):
        setting = Setting(3 + seed % 2, equal=seed % 3 > 0, kind=["none", "estimate"][seed % 2])
        solution = solution_of(random_tasks(setting, seed), engine, setting)
        best = oracle.brute_force(as_tasks(solution), space="dominance", shares=setting.kind * (seed % 2) or None)
        first = np.cumsum(solution.buckets.weights) - solution.buckets.weights
        agreement = solution.buckets.agreement(solution.mapping)
        for mapping in best.mappings[:, first][:10]:
            less = solution.buckets.agreement(mapping) < agreement
            n_less, n_equal = n_less + less, n_equal + (not less)
            for kind in ("exact", "upper") if engine == "chain" else ("exact",):
                told = solution.to_dict()
                told["buckets"]["margin_kind"] = kind
                retell(told, solution, mapping)
                assert judge(told, solution, None).verdict is (Verdict.REJECTED if less else Verdict.CONFIRMED)
    assert min(n_less, n_equal) > 15


@pytest.mark.parametrize("enumerated", [1_000, 0], ids=["enumeration", "other-means"])
@pytest.mark.parametrize("space", ["dominance", "all"])
def test_the_verdict_on_a_bound_is_that_of_brute_force(monkeypatch, space, enumerated):
    """The bound that always holds is taken without a look, and only that one."""
    monkeypatch.setattr(checks_module, "MAX_ENUMERATED", enumerated)
    seen = set()
    for seed in range(24):
        setting = Setting(3 + seed % 3, equal=seed % 2 == 0, kind=[k for k in KINDS if k != "gold"][seed % 5])
        solution = solution_of(random_tasks(setting, seed), "search", setting, stopped=True, space=space)
        best, above = optimum(solution, Space(space)), always_above(problem_of(solution))
        assert above >= best - 1e-9
        can_be_checked = space == "dominance" or solution.buckets.n_labels**solution.buckets.n_buckets <= enumerated
        for bound in (above, above - 1e-6, best + 1e-6, best - 1e-6, best - 1):
            value = solution.certificate.objective
            if bound < value:
                continue
            told = solution.to_dict()
            proof = "PROVED" if bound - value <= solution.certificate.tolerance else "BOUNDED"
            told["certificate"] |= {"bound": bound, "gap": bound - value, "proof": proof}
            found = judge(told, solution, None).verdict
            if can_be_checked or bound >= above:
                assert found is (Verdict.CONFIRMED if bound > best - 1e-7 else Verdict.REJECTED)
            elif found is not Verdict.REJECTED:
                assert found is Verdict.BOUND_NOT_RECHECKED
            else:
                assert bound < best
            seen.add(found)
    assert seen >= {Verdict.CONFIRMED, Verdict.REJECTED}
