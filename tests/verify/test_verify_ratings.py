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

from campaigns.lies import (
    LIES,
    RATING_LIES,
    as_tasks,
    can_be_tried,
    claim_all_mappings,
    gold_of,
    judge,
    optimum,
    problem_of,
    retell,
)
from crowdopt import Solution, aggregate, verify
from crowdopt._option import complete
from crowdopt.data.counts import Totals
from crowdopt.data.load import Source, load
from crowdopt.data.reading import Reading
from crowdopt.engines.base import Limits
from crowdopt.engines.enumeration import TooManyMappings, enumerate_mappings
from crowdopt.engines.registry import ENGINES, run
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.model.scale import Scale
from crowdopt.options import SolveOptions
from crowdopt.results.solve_counts import solve_counted
from crowdopt.verify import optimum_ordered
from crowdopt.verify import recheck as checks_module
from crowdopt.verify.check import check_against
from crowdopt.verify.optimum import always_above
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.effort import first_fast

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
    most = {3: 4, 4: 3, 5: 3}[n_labels] - (not setting.equal) if medium else 4
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
    wanted = complete(SolveOptions, options | {"engine": engine, "space": space})
    return replace(solve_counted(source.counted, wanted, limits), source=source)


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
    unfit = {"scan", *(HARD if setting.nominal else ["columns"]), *(() if can_be_enumerated(source) else ["enumerate"])}
    for engine in ENGINES.keys() - unfit:
        yield solved(source, options, engine)
        if engine != "vote":
            yield solved(source, options, engine, stopped=True)
    if not setting.nominal:
        yield solved(source, options, "search", space="all")
        yield solved(source, options, "columns", space="all")


# 1. Honest solutions.


def assert_honest_solutions_pass(setting: Setting, seed: int) -> None:
    data, options = asked(setting, seed)
    source, rest = read(data, options)
    engines = set()
    for solution in honest_solutions(setting, source, rest):
        certificate = solution.certificate
        engines.add(certificate.engine)
        found = checked(reloaded(solution), source)
        assert (found.verdict, found.reasons) == (Verdict.CONFIRMED, ()), (certificate, found.reasons)
        if can_be_tried(solution) and certificate.bound is not None:
            best = optimum(solution, certificate.space)
            assert certificate.objective - 1e-9 <= best <= certificate.bound + 1e-9
    assert engines >= {"search", *HEURISTICS, *(() if setting.nominal else ["chain"])}


@pytest.mark.grid
@pytest.mark.parametrize("nominal", [False, True], ids=["ordinal", "nominal"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_honest_solutions_of_small_problems_are_confirmed(setting, nominal):
    assert_honest_solutions_pass(replace(setting, nominal=nominal), 0)


@pytest.mark.grid
@pytest.mark.parametrize("setting", [replace(setting, medium=True) for setting in SETTINGS], ids=str)
def test_honest_solutions_of_medium_problems_are_confirmed(setting):
    assert_honest_solutions_pass(setting, 1)


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nominal", [False, True], ids=["ordinal", "nominal"])
def test_what_aggregate_saves_is_confirmed_whatever_the_order_of_rows(nominal, kind, tmp_path):
    for medium in (False, True):
        data, options = asked(Setting(3, equal=medium, kind=kind, nominal=nominal, medium=medium), 3)
        solution = aggregate(data, **options)
        solution.save(tmp_path / "solution.json")
        found = verify(tmp_path / "solution.json", data.sample(frac=1, random_state=3))
        assert (found.verdict, found.reasons, found.exit_code) == (Verdict.CONFIRMED, (), 0)
        assert verify(solution, data).verdict is Verdict.CONFIRMED


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


def solution_of(tasks: np.ndarray, engine: str, setting: Setting, *, known=None, **options) -> Solution:
    """The solution of tasks that were never in a table; ``known`` is a prior matrix."""
    buckets, _ = Buckets.from_arrays(tasks)
    known = knowledge(setting, setting.rng(8), None) | ({} if known is None else {"prior_matrix": known})
    prior = known.get("prior_matrix")
    offsets = Offsets.of(
        setting.n_labels,
        prior=None if prior is None else np.array(prior)[:, None],
        smoothing=known.get("smoothing", 0.0),
    )
    kind = {"none": "none", "estimate": "estimated", "given": "given"}.get(setting.kind, "none")
    shares = tuple(known["selectivity"].values()) if kind == "given" else ()
    problem = Problem(buckets, Space(options.get("space", "dominance")), Objective(kind, shares, offsets))
    names = tuple(names_of(setting))
    limits = Limits(NEVER, (lambda _: True) if options.get("stopped") else None)
    found = run(problem, limits, labels=names, engine=engine)
    return Solution(
        scale=Scale.of(names, names),
        buckets=buckets,
        mapping=found.mapping,
        margins=found.margins,
        objective=problem.objective,
        certificate=found.certificate,
        totals=Totals(buckets.n_tasks, 0, 0, 1, buckets.n_responses, 0),
        reading=Reading(labels=names),
    )


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
    assert verify(aggregate(data, **options), data, time_limit=limit).exit_code == 3


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
    found = verify(aggregate(data, **options), more)
    assert found.verdict is Verdict.REJECTED
    assert "labels" in found.reasons[0]


WEIRD = [
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400), 2**63, 2**63 - 1, 1e300, 1e16, 0.5, -1, 0),
    *(True, False, None, "x", "", [], {}, [[]], [1], [[1]], {"a": 1}, [None]),
]
"""What JSON can say (1e400 is infinite), and no solution file should."""

FREE = {"crowdopt_version", "seed", "certificate.work", "certificate.seconds", "certificate.stop"}
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
    all_known = aggregate(data, **options | {"selectivity": "estimate"}, prior_matrix=prior, smoothing=0.5)
    nominal, options = asked(Setting(3, equal=True, kind="given", nominal=True), 4)
    one = pd.DataFrame({"task": [0, 0, 0], "worker": [0, 1, 2], "label": [1, 2, 3]})
    return [(all_known, data), (aggregate(nominal, **options), nominal), (aggregate(one), one)]


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
                found = check_against(loaded, *counted)
                # Another witness that proves the bound is as good as any; without one, so few mappings are all tried.
                free = place in FREE or place.startswith("certificate.witness")
                assert found.verdict is not Verdict.CONFIRMED or free, place
            elif number == 0:  # reading takes long
                verify(loaded, data)  # whatever comes out: other options may well read the same responses
        except (SolutionFileError, InputError):
            continue
