"""Verification of ratings and categories: every engine, number of labels and kind of knowledge, honest and not."""

from __future__ import annotations

import copy
import json
import math
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import oracle
from crowdopt import Solution, aggregate, recheck, recheck_order, verify
from crowdopt.certificate import Proof, Space, Stop
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.order import Order
from crowdopt.pipeline import solve_source
from crowdopt.reading import Reading
from crowdopt.solve import ENGINES, Limits
from crowdopt.solve.enumerate import TooManyMappings, enumerate_mappings
from crowdopt.source import Source, load
from crowdopt.verify import Verdict, check_against
from lies import LIES, RATING_LIES, as_tasks, can_be_tried, gold_of, judge, optimum, problem_of, retell

KINDS = ["none", "estimate", "given", "gold", "prior", "smoothing"]
HEURISTICS = [name for name in ENGINES if name.startswith(("em", "soft", "vote"))]
HARD = ["chain", "enumerate"]
NEVER = 600.0


@dataclass(frozen=True)
class Setting:
    """A crowd to be asked, and what is known about it."""

    n_labels: int
    equal: bool
    kind: str
    nominal: bool = False
    medium: bool = False

    def __str__(self) -> str:
        words = ["equal" if self.equal else "varying", self.kind, "nominal" if self.nominal else "ordinal"]
        return "-".join([str(self.n_labels), *words, "medium" if self.medium else "small"])

    def rng(self, *seed: int) -> np.random.Generator:
        return np.random.default_rng([*seed, self.n_labels, self.equal, KINDS.index(self.kind), self.nominal])


SETTINGS = [Setting(n, equal, kind) for n in (3, 4, 5) for equal in (True, False) for kind in KINDS]


def crowd(setting: Setting, rng: np.random.Generator) -> pd.DataFrame:
    """Responses of workers who are right more or less often."""
    n_labels, medium = setting.n_labels, setting.medium
    n_tasks = int(rng.integers(60, 91)) if medium else int(rng.integers(2, {3: 8, 4: 7, 5: 7}[n_labels]))
    most = {3: 4, 4: 3, 5: 3}[n_labels] if medium else 4
    sizes = np.full(n_tasks, rng.integers(2, most + 1)) if setting.equal else rng.integers(1, most + 1, n_tasks)
    noise = rng.choice([0.1, 0.4, 0.7])
    matrix = (1 - noise) * np.eye(n_labels) + noise * rng.dirichlet(np.ones(n_labels), n_labels)
    truth = rng.integers(n_labels, size=n_tasks)
    rows = [
        (task, worker, int(rng.choice(n_labels, p=matrix[truth[task]])))
        for task in range(n_tasks)
        for worker in range(sizes[task])
    ]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    data["label"] = data["label"].map(dict(enumerate(names_of(setting))))
    return data


def names_of(setting: Setting) -> list[str]:
    return list("abcde" if setting.nominal else "12345")[: setting.n_labels]


def knowledge(setting: Setting, rng: np.random.Generator, data: pd.DataFrame) -> dict:
    """The options of ``aggregate`` that say what is known."""
    names, n_labels, kind = names_of(setting), setting.n_labels, setting.kind
    if kind == "given":
        shares = rng.integers(1, 9, n_labels).astype(float)
        return {"selectivity": dict(zip(names, (shares / shares.sum()).tolist(), strict=True))}
    if kind == "gold":
        tasks = rng.permutation(data["task"].nunique())[: 5 if setting.medium else 1]
        estimate = {"selectivity": "estimate"} if rng.random() < 0.5 else {}
        return {"gold": {int(task): str(rng.choice(names)) for task in tasks}, **estimate}
    if kind == "prior":
        counts = np.where(rng.random((n_labels, n_labels)) < 0.3, 0.0, rng.exponential(4.0, (n_labels, n_labels)))
        return {"prior_matrix": counts.round(2).tolist()}
    return {"smoothing": 0.5} if kind == "smoothing" else {"selectivity": kind}


def asked(setting: Setting, seed: int) -> tuple[pd.DataFrame, dict]:
    """The data, and the options that say how to read them and what is known."""
    rng = setting.rng(seed)
    data = crowd(setting, rng)
    named = {"labels": names_of(setting), "scale": "nominal" if setting.nominal else "ordinal"}
    inferred = setting.medium and data["label"].nunique() == setting.n_labels  # then the data say it themselves
    return data, {**({} if inferred else named), **knowledge(setting, rng, data)}


def read(data: pd.DataFrame, options: dict) -> tuple[Source, dict]:
    """What ``aggregate`` counts, once for all engines; and the options that are left."""
    options = dict(options)
    reading = Reading(labels=tuple(options.pop("labels", ())), scale=options.pop("scale", ""))
    return load(data, reading, None, gold=options.pop("gold", None)), options


def solved(source: Source, options: dict, engine: str, *, stopped: bool = False, space: str | None = None) -> Solution:
    """The solution of one engine; a stopped one is interrupted when it first reports."""
    limits = Limits(NEVER, (lambda _: True) if stopped else None)
    return solve_source(source, engine=engine, space=space, limits=limits, **options)


def checked(solution: Solution, source: Source, **options):
    return check_against(
        solution, source.responses.scale, source.counts.buckets, source.totals, source.counts.gold, **options
    )


def reloaded(solution: Solution) -> Solution:
    return Solution.from_dict(json.loads(json.dumps(solution.to_dict())))


def can_be_enumerated(source: Source) -> bool:
    """Whether the reference engine takes little time."""
    buckets = source.counts.buckets
    try:
        enumerate_mappings(Order.of(buckets.counts), buckets.n_labels, limit=50_000)
    except TooManyMappings:
        return False
    return True


def honest_solutions(setting: Setting, source: Source, options: dict):
    """Every engine that can answer, finished and interrupted."""
    unfit = {"scan", *(HARD if setting.nominal else ()), *(() if can_be_enumerated(source) else ["enumerate"])}
    for engine in ENGINES.keys() - unfit:
        yield solved(source, options, engine)
        if engine != "vote":
            yield solved(source, options, engine, stopped=True)
    if not setting.nominal:
        yield solved(source, options, "search", space="all")


# 1. Honest solutions.


def assert_honest_solutions_pass(setting: Setting, seed: int) -> None:
    data, options = asked(setting, seed)
    source, rest = read(data, options)
    engines = set()
    for solution in honest_solutions(setting, source, rest):
        certificate = solution.certificate
        engines.add(certificate.engine)
        for stated in (reloaded(solution), *(() if setting.medium else (solution,))):
            found = checked(stated, source)
            assert (found.verdict, found.reasons) == (Verdict.CONFIRMED, ()), (certificate, found.reasons)
        if can_be_tried(solution) and certificate.bound is not None:
            best = optimum(solution, certificate.space)
            assert certificate.objective - 1e-9 <= best <= certificate.bound + 1e-9
    assert engines >= {"search", *HEURISTICS, *(() if setting.nominal else ["chain"])}
    whole = aggregate(data, **options, engine="em" if setting.medium else "auto")
    assert verify(reloaded(whole), data.sample(frac=1, random_state=seed)).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("nominal", [False, True], ids=["ordinal", "nominal"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_honest_solutions_of_small_problems_are_confirmed(setting, nominal):
    assert_honest_solutions_pass(replace(setting, nominal=nominal), 0)


@pytest.mark.parametrize("setting", [replace(setting, medium=True) for setting in SETTINGS], ids=str)
def test_honest_solutions_of_medium_problems_are_confirmed(setting):
    assert_honest_solutions_pass(setting, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_honest_solutions_of_medium_problems_without_order_are_confirmed(kind):
    assert_honest_solutions_pass(Setting(4, equal=False, kind=kind, nominal=True, medium=True), 2)


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
    ("em", False, True, None),
    ("em3", False, False, None),
    ("soft-em", False, True, None),
    ("vote", False, True, None),
]


def assert_lies_are_rejected(setting: Setting, seed: int, engine: str, *, stopped: bool, space: str | None) -> int:
    """Tells every lie that there is about one solution; returns how many."""
    data, options = asked(setting, seed)
    source, rest = read(data, options)
    solution = solved(source, rest, engine, stopped=stopped, space=space)
    n_mappings = solution.buckets.n_labels**solution.buckets.n_buckets
    told = 0
    for number, lie in enumerate([*LIES, *RATING_LIES]):
        lied = solution.to_dict()
        what = lie(lied, solution, setting.rng(number, seed))
        if what is None:
            continue
        told += 1
        found = judge(lied, solution, data)
        facts = (lie.__name__, what, engine, found)
        if found.verdict is Verdict.BOUND_NOT_RECHECKED:
            assert lied["certificate"]["space"] == "all", facts
            assert n_mappings > recheck.MAX_ENUMERATED, facts
            assert found.exit_code == 3
        else:
            assert (found.verdict, found.exit_code) == (Verdict.REJECTED, 1), facts
            assert found.reasons
    return told


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_lies_about_small_problems_are_rejected(setting):
    """At least 20 kinds of lies about each of 72 problems: some two thousand in all."""
    for number in (SETTINGS.index(setting), SETTINGS.index(setting) + 6):
        engine, stopped, ordered, space = TOLD[number % len(TOLD)]
        about = replace(setting, nominal=not ordered)
        assert assert_lies_are_rejected(about, 10 + number, engine, stopped=stopped, space=space) >= 20
