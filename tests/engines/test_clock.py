"""No clock decides on labels: it only stops proofs. Proofs at once, and proofs that are out of reach, end early."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crowdopt import prove, verify
from crowdopt.engines import base, enumeration
from crowdopt.engines.base import Limits, is_tight
from crowdopt.engines.columns import engine_all, pricing
from crowdopt.engines.columns.engine_all import Columns
from crowdopt.engines.local_search import starts
from crowdopt.engines.registry import run
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.objective import Objective
from crowdopt.model.problem import Problem
from crowdopt.options.model import DEFAULT_TIME_LIMIT
from support.printed import unchecked


def crowd(n_labels: int, n_responses: int, right: float, n_tasks: int = 200, seed: int = 0) -> Buckets:
    """Workers who err evenly; some tasks have one response less."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_tasks)
    rates = np.full((n_labels, n_labels), (1 - right) / (n_labels - 1))
    np.fill_diagonal(rates, right)
    sizes = n_responses - rng.integers(2, size=n_tasks)
    counts = [rng.multinomial(size, rates[label]) for size, label in zip(sizes, truth, strict=True)]
    return Buckets.from_arrays(np.array(counts))[0]


def varying(n: int) -> Buckets:
    grid = np.array([(no, yes) for no in range(n) for yes in range(n) if no + yes])
    return Buckets.from_arrays(grid, np.random.default_rng(3).integers(1, 50, len(grid)))[0]


PROBLEMS = {
    "lines": (lambda: Problem(varying(10), objective=Objective("estimated")), "auto"),
    "lines both ways": (lambda: Problem(varying(9), Space.ALL, Objective("given", (0.3, 0.7))), "auto"),
    "chain": (lambda: Problem(crowd(3, 8, 0.5)), "chain"),
    "enumeration": (lambda: Problem(crowd(3, 3, 0.5)), "enumerate"),
    "columns, all": (lambda: Problem(crowd(4, 4, 0.6, 3000), Space.ALL), "columns"),
    "columns, ordered": (lambda: Problem(crowd(3, 8, 0.5, 60)), "columns"),
    "columns, ordered, four labels": (lambda: Problem(crowd(4, 4, 0.4, 60)), "columns"),
    "search": (lambda: Problem(crowd(3, 5, 0.4)), "search"),
    "hard EM": (lambda: Problem(crowd(4, 5, 0.4)), "em"),
}


def solved(problem: Problem, seconds: float, engine: str = "auto"):
    return run(problem, Limits(seconds), labels=[str(j) for j in range(problem.buckets.n_labels)], engine=engine)


class SlowClock:
    """A clock that goes on by so many seconds whenever somebody looks at it."""

    def __init__(self, step: float) -> None:
        self.step, self.now = step, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def stopped_at_parts(problem: Problem, engine: str, monkeypatch, parts: int = 8) -> list:
    """What comes out where the clock strikes after ever more of the times that somebody looks at it."""
    clock = SlowClock(1.0)
    monkeypatch.setattr(base, "clock", clock)
    solved(problem, np.inf, engine)
    looks, found = clock.now, []
    for part in range(1, parts):
        monkeypatch.setattr(base, "clock", SlowClock(parts / part / looks))
        found.append(solved(problem, 1.0, engine))
    return found


@pytest.mark.parametrize("name", PROBLEMS)
def test_labels_are_the_same_whenever_the_clock_stops_a_proof(name, monkeypatch):
    """By no time, little time, and a slow clock under which ever more of the proof is done before it is stopped."""
    monkeypatch.setattr(enumeration, "_BLOCK", 200)
    make, engine = PROBLEMS[name]
    problem = make()
    found = [solved(problem, 0.0, engine), solved(problem, 0.02, engine)]
    found += stopped_at_parts(problem, engine, monkeypatch)
    best = max(one.certificate.objective for one in found)
    unproved = [one for one in found if one.certificate.proof is not Proof.PROVED]
    assert unproved
    assert len({one.mapping.tobytes() for one in unproved}) == 1
    for one in unproved:
        assert one.certificate.bound is None or one.certificate.bound >= best - 1e-9
    for one, other in itertools.pairwise(one for one in found if one.certificate.proof is Proof.PROVED):
        assert one.mapping.tolist() == other.mapping.tolist()


def test_clocks_of_these_tests_stop_proofs_at_many_points(monkeypatch):
    found = stopped_at_parts(Problem(crowd(4, 4, 0.6, 3000), Space.ALL), "columns", monkeypatch)
    assert len({one.certificate.work for one in found}) > 2
    assert len({one.certificate.bound for one in found}) > 2


def test_a_search_that_interrupts_an_attempt_changes_no_labels(monkeypatch):
    """Where an attempt at a proof takes long, the search is finished on the way; what it finds is the same."""
    problem = Problem(crowd(4, 5, 0.4, 100), Space.ALL)
    searched = solved(problem, 0.0, "columns")
    optimum = solved(problem, 60.0, "columns")
    for after in (0, 1_000, 10_000):
        monkeypatch.setattr(engine_all, "SEARCH_AFTER", after)
        assert solved(problem, 0.0, "columns").mapping.tolist() == searched.mapping.tolist()
        again = solved(problem, 60.0, "columns").certificate
        assert (again.proof, again.stop) == (Proof.PROVED, Stop.FINISHED)
        assert again.objective == pytest.approx(optimum.certificate.objective, abs=again.tolerance)


def test_likelier_labels_that_a_proof_met_are_not_the_answer_unless_they_are_proved():
    problem = Problem(crowd(3, 5, 0.6), Space.ALL)
    optimum = solved(problem, 60.0)
    engine = Columns(problem, Limits(0.0))
    engine.searched, poor = True, starts(problem, 0)[-1:]
    engine.climbs.found = {}
    engine.climbs.keep(poor)
    engine.beyond.keep(optimum.mapping[None])
    bounded = engine._outcome()
    assert not is_tight(problem, bounded)
    assert bounded.objective == pytest.approx(engine.climbs.best)
    assert bounded.likelier == pytest.approx(optimum.certificate.objective)
    assert bounded.bound >= bounded.likelier > bounded.objective
    engine.bound = optimum.certificate.bound
    proved = engine._outcome()
    assert is_tight(problem, proved)
    assert proved.likelier is None
    assert proved.objective == pytest.approx(optimum.certificate.objective)


# Proofs at once


def few_tasks_of_many_labels() -> list[dict[str, str]]:
    labels = itertools.cycle("abcdefghijklmnopqrstuvwxyz")
    return [{"task": f"t{t}", "worker": f"w{w}", "label": next(labels)} for t in range(10) for w in range(3)]


@pytest.mark.parametrize("seconds", [0.0, DEFAULT_TIME_LIMIT])
def test_a_gap_that_is_closed_at_the_start_ends_the_run(seconds, tmp_path):
    """Ten tasks and 26 labels: every bucket may have a label of its own, so the first bound is the optimum."""
    import pandas as pd

    data = pd.DataFrame(few_tasks_of_many_labels())
    solution = prove(data, time_limit=seconds)
    certificate = solution.certificate
    assert (certificate.proof, certificate.stop, certificate.gap) == (Proof.PROVED, Stop.FINISHED, 0)
    assert certificate.seconds < 5
    assert solution.gap_per_task == 0
    assert verify(solution, data).verdict == "CONFIRMED"


# Proofs that are out of reach


def nine_labels() -> Problem:
    return Problem(crowd(9, 3, 0.8, 120), Space.ALL)


def test_a_proof_that_is_out_of_reach_ends_by_counted_work(monkeypatch):
    monkeypatch.setattr(pricing, "LOOK", 6_000)
    problem = nine_labels()
    found = [solved(problem, seconds) for seconds in (600.0, 1200.0)]
    for one in found:
        assert (one.certificate.proof, one.certificate.stop) == (Proof.BOUNDED, Stop.REACH)
        assert one.certificate.seconds < 60
    first, second = (one.certificate for one in found)
    assert (first.work, first.bound) == (second.work, second.bound)
    labels = {one.mapping.tobytes() for one in (*found, solved(problem, 0.0))}
    assert len(labels) == 1


def test_a_whole_that_takes_long_and_is_far_away_is_not_split(monkeypatch):
    problem = Problem(crowd(4, 4, 0.6, 3000), Space.ALL)
    split = solved(problem, 600.0).certificate
    assert (split.proof, "children" in split.witness) == (Proof.PROVED, True)
    monkeypatch.setattr(engine_all, "MANY_CELLS", 1)
    monkeypatch.setattr(engine_all, "FAR", -np.inf)
    one = solved(problem, 600.0).certificate
    assert (one.proof, one.stop) == (Proof.BOUNDED, Stop.REACH)
    assert one.bound >= split.objective


def test_what_is_said_where_a_proof_is_out_of_reach(monkeypatch):
    import pandas as pd

    monkeypatch.setattr(pricing, "LOOK", 6_000)
    rng = np.random.default_rng(1)
    rows = []
    for task, truth in enumerate(rng.integers(9, size=120)):
        given = np.where(rng.random(3) < 0.8, truth, rng.integers(9, size=3))
        rows += [{"task": task, "worker": f"w{w}", "label": f"label {label}"} for w, label in enumerate(given)]
    data = pd.DataFrame(rows)
    solution = prove(data)
    assert solution.certificate.stop is Stop.REACH
    facts = solution.summary()
    assert facts["gap_per_task"] == pytest.approx(facts["gap"] / 120)
    said = unchecked(solution.words().headline)[0]
    assert "a proof is out of reach" in said
    assert f"({facts['gap_per_task']:,.2g} per task)" in said
    assert any("what could be proved instead: labels merged into 5, or less" in one for one in solution.advice)
    verdict = solution.words().verdict
    assert "nats per task" in " ".join([verdict.sentence, *verdict.more])
