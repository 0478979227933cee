"""Gold, prior matrices and smoothing, end to end: against brute force, in the estimator and on the command line."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from crowdopt import GlobalOptimum, Solution, prove, verify
from crowdopt.cli.app import main
from crowdopt.studies.simulate import crowd
from support import oracle
from support.gold import BASIC, GOLD, answers_by_task, as_rows, by_label, counts_behind, counts_of, write_matrix
from support.ways import ROWS, canonical, to_pandas, to_polars, to_text


class Case:
    """A small random crowd, what is known beforehand, and its options."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.labels = [["no", "yes"], ["1", "2", "3"], ["a", "b", "c"]][seed % 3]
        n_labels = len(self.labels)
        n_tasks = int(rng.integers(4, 9 if n_labels == 2 else 8))
        equal = bool(rng.random() < 0.4)
        self.rows = [
            (f"t{task}", f"w{worker}", self.labels[rng.integers(n_labels)])
            for task in range(n_tasks)
            for worker in range(3 if equal else rng.integers(1, 5))
        ]
        # Every label occurs, so that the scale is the whole one.
        self.rows += [("t0", f"x{j}", label) for j, label in enumerate(self.labels)]
        self.counts = counts_of(self.rows, self.labels)
        n_gold = 0 if rng.random() < 0.3 else int(rng.integers(1, n_tasks - 1))
        self.gold = {f"t{task}": int(rng.integers(n_labels)) for task in rng.permutation(n_tasks)[:n_gold]}
        self.prior = [
            None,
            rng.integers(0, 5, (n_labels, n_labels)),
            rng.uniform(0, 3, (n_labels, n_labels)).round(2),
        ][rng.integers(3)]
        self.smoothing = float(rng.choice([0, 0, 0.5, 1]))
        shares = rng.dirichlet(np.ones(n_labels) * 2).round(3)
        shares[-1] = 1 - shares[:-1].sum()
        self.shares = [None, "estimate", shares.tolist()][rng.integers(3)]
        self.space = ["dominance", "all"][rng.integers(2)] if self.labels[0] != "a" else "all"

    @property
    def options(self) -> dict:
        selectivity = dict(zip(self.labels, self.shares, strict=True)) if isinstance(self.shares, list) else self.shares
        return {
            "gold": {task: self.labels[label] for task, label in self.gold.items()} or None,
            "prior_matrix": self.prior,
            "smoothing": self.smoothing,
            "selectivity": selectivity or "none",
            "space": self.space,
        }

    @property
    def added(self) -> oracle.Added:
        known, tasks = by_label(self.counts, self.gold, len(self.labels))
        return oracle.Added(self.shares, known + self.smoothing + (0 if self.prior is None else self.prior), tasks)

    @property
    def given(self) -> tuple[str, ...]:
        named = {
            "selectivity": isinstance(self.shares, list),
            "gold": bool(self.gold),
            "prior matrix": self.prior is not None,
            "smoothing": bool(self.smoothing),
        }
        return tuple(name for name, used in named.items() if used)


def test_the_random_cases_are_varied():
    cases = [Case(seed) for seed in range(120)]
    assert {case.given for case in cases} >= {(), ("gold",), ("selectivity", "gold", "prior matrix", "smoothing")}
    assert len({case.given for case in cases}) == 16
    assert {(case.space, len(case.labels)) for case in cases} == {
        ("dominance", 2), ("dominance", 3), ("all", 2), ("all", 3)
    }  # fmt: skip
    against_the_order = [
        case
        for case in cases
        if any(
            case.gold[a] < case.gold[b] and oracle.dominates(case.counts[a], case.counts[b])
            for a in case.gold
            for b in case.gold
        )
    ]
    assert len(against_the_order) > 20


@pytest.mark.parametrize("part", range(4))
def test_the_optimum_of_the_other_tasks_given_what_is_known(part, tmp_path, effort):
    for seed in range(part, effort(120), 4):
        assert_optimum_of_the_other_tasks(Case(seed), tmp_path)


def assert_optimum_of_the_other_tasks(case, tmp_path):
    data = to_polars(case.rows)
    solution = prove(data, **case.options)
    certificate = solution.certificate
    free = [task for task in case.counts if task not in case.gold]
    tasks = np.array([case.counts[task] for task in free])

    best = oracle.brute_force(tasks, space=case.space, shares=case.added).value
    engine = "columns" if (case.space, len(case.labels)) == ("all", 3) else certificate.engine
    assert certificate.engine == engine
    assert engine in {"scan", "chain", "columns"}
    assert certificate.proof == "PROVED"
    assert certificate.objective == pytest.approx(best, abs=1e-6 if engine == "columns" else 1e-8)
    assert oracle.brute_force(tasks, space=certificate.space, shares=case.added).value == pytest.approx(best)
    assert certificate.given == case.given

    answers = answers_by_task(solution)
    assert answers.keys() == case.counts.keys()
    mapping = np.array([case.labels.index(answers[task]["label"]) for task in free])
    assert oracle.log_likelihood(tasks, mapping, case.added) == pytest.approx(certificate.objective, abs=1e-8)
    for task, row in answers.items():
        assert row["n_responses"] == case.counts[task].sum()
        assert (row["status"] == "gold") == (task in case.gold)
        assert row["confidence"] == row[f"p_{row['label']}"]
    for task, label in case.gold.items():
        expected = {f"p_{text}": float(j == label) for j, text in enumerate(case.labels)}
        expected |= {"label": case.labels[label], "confidence": 1.0, "margin": None, "margin_kind": None}
        assert answers[task].items() >= expected.items()
    totals = solution.totals
    assert (totals.n_tasks, totals.n_gold, totals.n_no_response) == (len(case.counts), len(case.gold), 0)
    assert totals.n_responses == len(case.rows)

    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert (loaded.reading, loaded.totals, loaded.certificate) == (solution.reading, solution.totals, certificate)
    for found in (loaded, tmp_path / "solution.json"):
        assert verify(found, data).verdict == "CONFIRMED", verify(found, data)


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(0, 60, 7))
@pytest.mark.parametrize("engine", ["em", "em1", "em2", "em3", "soft-em", "vote", "search", "enumerate"])
def test_every_engine_takes_what_is_known(seed, engine):
    case = Case(seed)
    if engine == "enumerate":
        case.space = "dominance"
    solution = prove(to_polars(case.rows), **case.options, labels=case.labels, engine=engine)
    free = [task for task in case.counts if task not in case.gold]
    tasks, answers = np.array([case.counts[task] for task in free]), answers_by_task(solution)
    mapping = np.array([case.labels.index(answers[task]["label"]) for task in free])
    value = oracle.log_likelihood(tasks, mapping, case.added)
    assert value == pytest.approx(solution.certificate.objective, abs=1e-8)
    best = oracle.brute_force(
        tasks, space=case.space if engine in {"search", "enumerate"} else "all", shares=case.added
    )
    assert value <= best.value + 1e-9
    assert engine != "enumerate" or value == pytest.approx(best.value, abs=1e-8)
    assert all(answers[task]["label"] == case.labels[label] for task, label in case.gold.items())
    assert verify(solution, to_polars(case.rows)).verdict == "CONFIRMED"


def test_gold_teaches_what_the_crowd_alone_gets_wrong():
    """Workers who answer upside down: only tasks of known label can tell."""
    rng = np.random.default_rng(5)
    truth = {f"t{i}": int(rng.integers(2)) for i in range(60)}
    rows = [
        (task, f"w{w}", ["no", "yes"][(1 - label) if rng.random() < 0.85 else label])
        for task, label in truth.items()
        for w in range(5)
    ]
    names = {task: ["no", "yes"][label] for task, label in truth.items()}
    wanted = pd.DataFrame({"task": list(names), "label": list(names.values())})
    gold = {task: names[task] for task in list(names)[:15]}
    assert prove(to_polars(rows), truth=wanted).accuracy.value < 0.2
    assert prove(to_polars(rows), truth=wanted, gold=gold, space="all").accuracy.value > 0.8
    # Under dominance more yes never means no, whatever gold says; that is what the space is for.
    assert prove(to_polars(rows), truth=wanted, gold=gold).accuracy.value < 0.6


def test_the_estimator_takes_all_of_it():
    data = to_pandas(ROWS)
    options = {"gold": GOLD, "prior_matrix": BASIC, "smoothing": 0.5}
    model = GlobalOptimum(**options)
    labels = model.fit_predict(data)
    assert labels.loc[list(GOLD)].to_dict() == GOLD
    assert model.probas_.loc[7].to_dict() == {"no": 0, "yes": 1}
    solution = prove(data, duplicates="all", **options)
    assert model.certificate_ == solution.certificate
    assert model.certificate_.given == ("gold", "prior matrix", "smoothing")
    assert labels.tolist() == solution.answers["label"].tolist()
    assert model.errors_.loc["w0"].to_numpy().T.tolist() == solution.matrix[0].tolist()
    assert clone(model).get_params()["smoothing"] == 0.5
    assert clone(model).fit_predict(data).equals(labels)
    assert (
        GlobalOptimum(gold=to_pandas(as_rows(GOLD)), prior_matrix=BASIC, smoothing=0.5).fit_predict(data).equals(labels)
    )
    follower = GlobalOptimum(prior_matrix=model.solution_).fit(data)
    assert follower.solution_.objective.offsets.prior[:, 0] == pytest.approx(
        counts_behind(solution, ROWS, ["no", "yes"]) + BASIC
    )


def test_shares_that_are_estimated_count_gold_tasks():
    solution = prove(to_polars(ROWS), gold=GOLD, selectivity="estimate")
    labels = [label for _, label, *_ in canonical(solution)]
    shares = [labels.count(label) / len(labels) for label in ("no", "yes")]
    assert solution.summary()["selectivity"]["shares"] == pytest.approx(shares)
    assert GlobalOptimum(gold=GOLD, selectivity="estimate").fit(to_pandas(ROWS)).priors_.tolist() == pytest.approx(
        shares
    )
    free = [label for _, label, status, *_ in canonical(solution) if status != "gold"]
    assert solution.summary()["label_shares"] == pytest.approx(
        [free.count("no") / len(free), free.count("yes") / len(free)]
    )


@pytest.mark.parametrize("known", [{"gold": True}, {"smoothing": 100}, {"prior_matrix": [[400, 100], [100, 400]]}])
def test_what_is_known_is_no_sign_of_rare_labels(known):
    """A crowd as even as can be: no advice, however much is known beforehand."""
    made = crowd(600, 30, 5, matrix=[[0.8, 0.2], [0.2, 0.8]], seed=1)
    if "gold" in known:
        known = {"gold": dict(zip(made.tasks[:300].tolist(), made.truth[:300].tolist(), strict=True))}
    assert prove(pl.DataFrame(made.to_dict()), **known).advice == ()


def test_the_command_line_says_what_it_was_told(crowdopt, tmp_path):
    (tmp_path / "gold").mkdir()
    data, gold = to_text(ROWS, tmp_path), to_text(as_rows(GOLD), tmp_path / "gold")
    prior = write_matrix(tmp_path / "prior.csv", BASIC, ["no", "yes"])
    saved, answers = tmp_path / "solution.json", tmp_path / "answers.csv"
    options = ("--gold", gold, "--prior-matrix", prior, "--smoothing", "0.5")
    found = json.loads(
        crowdopt("prove", data, *options, "--json", "--solution", saved, "-o", answers, "--probabilities")
    )
    assert (found["n_gold"], found["n_tasks"], found["given"]) == (5, 25, ["gold", "prior matrix", "smoothing"])
    expected = prove(to_pandas(ROWS), gold=GOLD, prior_matrix=BASIC, smoothing=0.5)
    assert found["log_likelihood"] == expected.certificate.objective
    assert found["matrix"] == expected.matrix.tolist()
    with answers.open(newline="") as file:
        rows = {row["task"]: row for row in csv.DictReader(file)}
    assert {task: row["label"] for task, row in rows.items() if row["status"] == "gold"} == {
        str(task): label for task, label in GOLD.items()
    }
    assert (rows["7"]["p_no"], rows["7"]["p_yes"], rows["7"]["margin"], rows["7"]["margin_kind"]) == (
        "0.0",
        "1.0",
        "",
        "",
    )
    assert crowdopt("verify", saved, data).splitlines()[0] == "CONFIRMED"
    said = crowdopt("prove", data, *options)
    assert ", given the gold and prior matrix and smoothing; " in said.splitlines()[0]
    assert "25 (5 of known label)" in said
    again = json.loads(crowdopt("prove", data, "--prior-matrix", saved, "--json"))
    assert again["given"] == ["prior matrix"]
    assert again["n_gold"] == 0


def test_gold_is_no_output(crowdopt, tmp_path, monkeypatch, capfd):
    (tmp_path / "gold").mkdir()
    data, gold = to_text(ROWS, tmp_path), to_text(as_rows(GOLD), tmp_path / "gold")
    before = (tmp_path / "gold" / "data.csv").read_bytes()
    monkeypatch.setattr(sys, "argv", ["crowdopt", "prove", data, "--gold", gold, "-o", gold])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    assert "one of the inputs" in capfd.readouterr().err
    assert (tmp_path / "gold" / "data.csv").read_bytes() == before


def test_the_next_best_answers_are_those_of_the_other_tasks():
    rows = [(task, worker, {"no": "1", "yes": "2"}[label]) for task, worker, label in ROWS]
    rows += [(9000 + i, f"w{w}", str(1 + (i + w) % 3)) for i in range(4) for w in range(2)]
    gold = {task: {"no": 1, "yes": 2}[label] for task, label in GOLD.items()}
    solution = prove(to_polars(rows), gold=gold)
    found = solution.summary()["next_best"]
    assert solution.certificate.engine == "chain"
    least = min(row[4] for row in canonical(solution) if row[4] is not None)
    assert found["loss"] == pytest.approx(least, abs=1e-9)
    assert 0 < found["n_tasks"] < solution.totals.n_tasks - len(gold)
