"""Gold, prior matrices and smoothing, end to end: against brute force, from every kind of table, and in the file."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from crowdopt import GlobalOptimum, Solution, aggregate, verify
from crowdopt.cli.app import main
from crowdopt.errors import InputError, SolutionFileError
from crowdopt.model.offsets import Offsets
from crowdopt.model.scale import canonical_text
from crowdopt.studies.simulate import crowd
from support import oracle
from support.ways import BACKENDS, ROWS, WAYS, canonical, facts, plain, to_arrow, to_pandas, to_polars, to_text

GOLD = {0: "no", 7: "yes", 14: "yes", 21: "no", 28: "no"}
"""Five of the tasks of ROWS."""


def counts_of(rows, labels) -> dict:
    """By hand: answers by label of every task."""
    counts: dict = {}
    for task, _, label in rows:
        counts.setdefault(task, np.zeros(len(labels), int))[labels.index(label)] += 1
    return counts


def by_label(counts, given, n_labels) -> tuple[np.ndarray, np.ndarray]:
    """By hand: answers (label, answer) and number of the tasks whose label is given."""
    answers, tasks = np.zeros((n_labels, n_labels)), np.zeros(n_labels, int)
    for task, label in given.items():
        answers[label] += counts[task]
        tasks[label] += 1
    return answers, tasks


def answers_by_task(solution) -> dict:
    answers = plain(solution.answers_frame(probabilities=True))
    rows = zip(*answers.values(), strict=True)
    return {row[0]: dict(zip(answers, row, strict=True)) for row in rows}


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
    solution = aggregate(data, **case.options)
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
    solution = aggregate(to_polars(case.rows), **case.options, labels=case.labels, engine=engine)
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
    assert aggregate(to_polars(rows), truth=wanted).accuracy.value < 0.2
    assert aggregate(to_polars(rows), truth=wanted, gold=gold, space="all").accuracy.value > 0.8
    # Under dominance more yes never means no, whatever gold says; that is what the space is for.
    assert aggregate(to_polars(rows), truth=wanted, gold=gold).accuracy.value < 0.6


# The same from everywhere


def as_rows(gold):
    """Gold as rows of the usual three columns, of which the worker is not needed."""
    return [(task, "-", label) for task, label in gold.items()]


EXPECTED = facts(aggregate(to_pandas(ROWS), gold=GOLD))


def test_what_is_expected_has_the_gold_labels():
    answers, _, totals, _ = EXPECTED
    assert {(task, label) for task, label, status, *_ in answers if status == "gold"} == {
        (str(task), label) for task, label in GOLD.items()
    }
    assert (totals.n_gold, totals.n_tasks) == (5, 25)


@pytest.mark.parametrize("way", WAYS)
def test_data_of_every_kind_with_gold_as_a_dict(way, tmp_path):
    solution = aggregate(WAYS[way](ROWS, tmp_path), wide=way.startswith("wide"), gold=GOLD)
    assert facts(solution) == EXPECTED


SOME = ["pandas", "pandas-pyarrow", "pandas-category", "polars-lazy", "arrow", "duckdb", "duckdb-own", "csv", "parquet"]


@pytest.mark.parametrize("gold_way", [*SOME, "polars", "pandas-object", "pandas-nullable", "tsv", "xlsx", "jsonl"])
def test_gold_of_every_kind(gold_way, tmp_path):
    (tmp_path / "gold").mkdir()
    for way in ("pandas", "polars-lazy", "duckdb-own", "csv"):
        gold = WAYS[gold_way](as_rows(GOLD), tmp_path / "gold")
        assert facts(aggregate(WAYS[way](ROWS, tmp_path), gold=gold)) == EXPECTED, way


@pytest.mark.grid
@pytest.mark.parametrize("gold_way", ["csv", "pandas", "arrow", "duckdb"])
@pytest.mark.parametrize("way", ["csv", "pandas", "pandas-float", "polars-lazy", "duckdb"])
@pytest.mark.parametrize("named", [{}, {"labels": [0, 1]}], ids=["found", "named"])
def test_whole_numbers_are_the_same_tasks_and_labels_as_texts(way, gold_way, named, tmp_path):
    """Text in a CSV file, whole or floating numbers in frames, and the types of the data come back."""
    code = {"no": 0, "yes": 1}
    rows = [(task, worker, code[label]) for task, worker, label in ROWS]
    (tmp_path / "gold").mkdir()
    gold = WAYS[gold_way]([(task, "-", code[label]) for task, label in GOLD.items()], tmp_path / "gold")
    data = (
        to_pandas(rows).astype({"task": float, "label": float})
        if way == "pandas-float"
        else WAYS[way](rows, tmp_path)
    )  # fmt: skip
    solution = aggregate(data, gold=gold, **named)
    assert canonical(solution) == canonical(
        aggregate(to_pandas(rows), gold={t: code[g] for t, g in GOLD.items()}, **named)
    )
    answers = plain(solution.answers)
    kind = {"csv": str, "pandas-float": float}.get(way, int)
    assert {type(task) for task in answers["task"]} == {type(label) for label in answers["label"]} == {kind}


@pytest.mark.parametrize(
    "gold",
    [
        {0: "no", "7": "yes", 14.0: "yes", np.int64(21): "no", np.float64(28): "no"},
        {str(task): label for task, label in GOLD.items()},
        {**GOLD, "1000000": None, 35: float("nan")},
    ],
    ids=["numbers", "texts", "missing"],
)
def test_a_dict_of_any_kind_of_keys(gold):
    assert facts(aggregate(to_pandas(ROWS), gold=gold)) == EXPECTED


NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
"""Of pandas, which would else make floats of integers beside missing values."""


@pytest.mark.grid
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("cast", [int, bool])
def test_types_of_the_answers_are_those_without_gold(backend, cast):
    rows = [(1, "v", 1), (1, "w", 1), (2, "v", 0), (2, "w", 1), (3, "v", 0), (3, "w", 0), (3, "x", 0), (4, "v", None)]
    labels = pa.array([None if label is None else cast(label) for _, _, label in rows])
    table = to_arrow(rows).set_column(2, "label", labels)
    data = table.to_pandas(types_mapper=NULLABLE.get) if backend == "pandas" else BACKENDS[backend](table)
    before = aggregate(data, missing="drop").answers
    after = aggregate(data, missing="drop", gold={3: cast(1)}).answers
    types = {
        "duckdb": lambda a: a.types,
        "polars": lambda a: a.collect_schema() if backend == "polars-lazy" else a.schema,
    }
    types |= {"pandas": lambda a: a.dtypes.tolist(), "arrow": lambda a: a.schema}
    assert types[backend.split("-")[0]](after) == types[backend.split("-")[0]](before)
    answers = plain(after)
    assert answers["status"][2:] == ["gold", "no_response"]
    assert answers["n_responses"] == [2, 2, 3, 0]  # no other task has three
    assert [type(label) for label in answers["label"]] == [cast, cast, cast, type(None)]
    assert answers["label"][2] == 1


def test_large_whole_numbers_are_not_rounded():
    large = 2**60 + 1
    rows = [(large, "v", large), (large, "w", large), (large + 1, "v", large + 1), (large + 1, "w", large)]
    for data in (to_pandas(rows), to_polars(rows), to_arrow(rows)):
        answers = plain(aggregate(data, gold={large: large}).answers)
        assert (answers["task"], answers["label"][0]) == ([large, large + 1], large)


@pytest.mark.parametrize("keep", ["gold", "c0", "crowdopt_task", "note"])
@pytest.mark.parametrize("way", ["pandas", "polars", "duckdb"])
def test_kept_columns_of_any_name(keep, way):
    data = to_pandas(ROWS).assign(**{keep: to_pandas(ROWS)["task"] + 1000})
    data = BACKENDS[way](pa.Table.from_pandas(data, preserve_index=False))
    answers = plain(aggregate(data, gold=GOLD, keep=[keep]).answers)
    assert answers[keep] == [task + 1000 for task in answers["task"]]


def test_gold_under_the_names_of_the_data_or_the_usual_ones(tmp_path):
    data = to_pandas(ROWS).rename(columns={"task": "item", "worker": "rater", "label": "answer"})
    named = {"task": "item", "worker": "rater", "label": "answer"}
    gold = to_pandas(as_rows(GOLD)).drop(columns="worker")
    for one in (gold, gold.rename(columns=named), gold.rename(columns={"task": "item"}), GOLD):
        assert canonical(aggregate(data.rename(columns={"item": "item"}), **named, gold=one)) == EXPECTED[0]


def test_order_of_rows_changes_nothing(tmp_path):
    backwards = dict(reversed(GOLD.items()))
    assert facts(aggregate(to_polars(ROWS[::-1]), gold=to_polars(as_rows(backwards)))) == EXPECTED
    assert aggregate(to_polars(ROWS), gold=backwards).reading == aggregate(to_polars(ROWS), gold=GOLD).reading
    twice = to_polars([*as_rows(GOLD), *as_rows(GOLD)])
    assert facts(aggregate(to_polars(ROWS), gold=twice)) == EXPECTED


def test_gold_may_be_scores_in_bins(tmp_path):
    rows = [(task, worker, 0.2 if label == "no" else 0.8) for task, worker, label in ROWS]
    for gold in (
        {0: 0.1, 7: 0.5, 14: 0.9, 21: 0.49, 28: 0.0},
        {t: ["below 0.5", "0.5 and above"][g == "yes"] for t, g in GOLD.items()},
    ):
        solution = aggregate(to_polars(rows), bins=[0.5], gold=gold)
        names = {"below 0.5": "no", "0.5 and above": "yes"}
        assert [(task, names[label], *rest) for task, label, *rest in canonical(solution)] == EXPECTED[0]
        assert verify(solution, to_text(rows, tmp_path)).verdict == "CONFIRMED"


@pytest.mark.parametrize("way", [*SOME, "wide-csv", "wide-polars"])
def test_the_file_needs_no_gold(way, tmp_path):
    (tmp_path / "gold").mkdir()
    gold = to_text(as_rows(GOLD), tmp_path / "gold")
    wide = way.startswith("wide")
    aggregate(WAYS[way](ROWS, tmp_path), gold=gold, wide=wide, smoothing=0.5).save(tmp_path / "solution.json")
    others = ["wide-csv", "wide-polars"] if wide else ["pandas", "polars-lazy", "arrow", "duckdb-own", "csv"]
    for other in others:
        assert verify(tmp_path / "solution.json", WAYS[other](ROWS, tmp_path)).verdict == "CONFIRMED", other


# Tasks without responses, and nothing left


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gold_task_without_a_usable_response_keeps_its_label(backend):
    rows = [("a", "v", "yes"), ("a", "w", "yes"), ("b", "v", "no"), ("c", "v", None), ("d", "v", None)]
    data = BACKENDS[backend](to_arrow(rows))
    solution = aggregate(data, missing="drop", gold={"c": "yes"}, selectivity="estimate")
    answers = answers_by_task(solution)
    assert answers["c"] == {
        "task": "c", "label": "yes", "confidence": 1, "margin": None, "margin_kind": None, "n_responses": 0,
        "status": "gold", "p_no": 0, "p_yes": 1,
    }  # fmt: skip
    assert (answers["d"]["label"], answers["d"]["status"]) == (None, "no_response")
    totals = solution.totals
    assert (totals.n_tasks, totals.n_gold, totals.n_no_response, totals.n_dropped) == (4, 1, 1, 2)
    # It counts for the shares, though it says nothing of how workers answer.
    added = oracle.Added("estimate", np.zeros((2, 2)), np.array([0, 1]))
    best = oracle.brute_force(np.array([[0, 2], [1, 0]]), space="all", shares=added).value
    assert solution.certificate.objective == pytest.approx(best)
    assert solution.certificate.given == ("gold",)
    assert verify(solution, data).verdict == "CONFIRMED"


def test_gold_of_all_tasks_leaves_nothing_to_estimate():
    rows = [("a", "v", "yes"), ("b", "v", "no"), ("c", "v", None)]
    for gold in ({"a": "yes", "b": "no"}, {"a": "yes", "b": "no", "c": "no"}):
        with pytest.raises(InputError, match=r"^every task with a response has a gold label"):
            aggregate(to_polars(rows), missing="drop", gold=gold)


def test_gold_of_a_label_that_nobody_answered():
    rows = [("a", "v", "1"), ("a", "w", "2"), ("b", "v", "2"), ("c", "v", "1"), ("c", "w", "1")]
    with pytest.raises(InputError, match=r"gold label '3' of task 'a' is not on the scale 1, 2; name .* --labels"):
        aggregate(to_polars(rows), gold={"a": 3})
    solution = aggregate(to_polars(rows), gold={"a": 3}, labels=[1, 2, 3])
    assert canonical(solution)[0][:3] == ("a", "3", "gold")
    assert solution.matrix[0, 2] == pytest.approx([0.5, 0.5, 0])
    assert verify(solution, to_polars(rows)).verdict == "CONFIRMED"
    numbers = to_polars([(task, worker, int(label)) for task, worker, label in rows])
    assert plain(aggregate(numbers, gold={"a": 3}, labels=[1, 2, 3]).answers)["label"][0] == 3


# Priors


def shift(rows, by):
    return [(task + by, worker, label) for task, worker, label in rows]


BASIC = np.array([[3.0, 1.5], [0.25, 4.0]])


def counts_behind(solution, rows, labels) -> np.ndarray:
    """By hand: what the workers of a solution answered to tasks of each label, in the order of ``labels``."""
    counts = counts_of(rows, labels)
    given = {row["task"]: labels.index(row["label"]) for row in answers_by_task(solution).values()}
    return by_label(counts, given, len(labels))[0]


def write_matrix(path, matrix, labels, delimiter=","):
    with path.open("w", newline="") as file:
        rows = [["true", *labels], *([label, *row] for label, row in zip(labels, matrix, strict=True))]
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


@pytest.mark.parametrize("labels", [["no", "yes"], ["yes", "no"]], ids=["same order", "other order"])
@pytest.mark.parametrize("smoothing", [0.0, 2.5])
def test_a_solution_is_the_prior_of_the_next(labels, smoothing, tmp_path):
    prior = {"no": {"no": 3.0, "yes": 1.5}, "yes": {"no": 0.25, "yes": 4.0}}
    before = aggregate(to_polars(ROWS), labels=labels, gold=GOLD, prior_matrix=prior, smoothing=smoothing)
    before.save(tmp_path / "before.json")
    counts = counts_behind(before, ROWS, ["no", "yes"]) + BASIC  # smoothing is no evidence
    now = to_polars(shift(ROWS[:70], 500))
    swapped = counts[::-1, ::-1]
    priors = {
        "solution": before,
        "loaded": Solution.load(tmp_path / "before.json"),
        "file": str(tmp_path / "before.json"),
        "path": tmp_path / "before.json",
        "array": counts,
        "list": counts.tolist(),
        "dict": dict(zip(["no", "yes"], [dict(zip(["no", "yes"], row, strict=True)) for row in counts], strict=True)),
        "frame": pd.DataFrame(swapped, index=["yes", "no"], columns=["yes", "no"]),
        "csv": write_matrix(tmp_path / "prior.csv", counts, ["no", "yes"]),
        "other order": write_matrix(tmp_path / "other.csv", swapped, ["yes", "no"]),
        "tsv": str(write_matrix(tmp_path / "prior.tsv", counts, ["no", "yes"], "\t")),
    }
    expected = facts(aggregate(now, prior_matrix=counts))
    assert expected != facts(aggregate(now))
    for name, given in priors.items():
        solution = aggregate(now, prior_matrix=given)
        assert solution.objective.offsets.counts[:, 0] == pytest.approx(counts), name
        assert facts(solution) == expected, name
        assert solution.certificate.given == ("prior matrix",)
        assert verify(solution, now).verdict == "CONFIRMED"
        turned = aggregate(now, prior_matrix=given, labels=["yes", "no"]) if name not in {"array", "list"} else None
        if turned:
            assert turned.certificate.objective == pytest.approx(solution.certificate.objective)
            assert turned.objective.offsets.counts[:, 0] == pytest.approx(swapped)


def test_months_add_up(tmp_path):
    """A prior that has a prior: nothing is counted twice, and nothing is forgotten."""
    months = [ROWS[:40], shift(ROWS[40:80], 500), shift(ROWS[80:], 1000)]
    prior, total = None, np.zeros((2, 2))
    for month in months:
        solution = aggregate(to_polars(month), prior_matrix=prior, smoothing=1)
        total += counts_behind(solution, month, ["no", "yes"])
        solution.save(tmp_path / "solution.json")
        prior = Solution.load(tmp_path / "solution.json")
    last = aggregate(to_polars(ROWS), prior_matrix=tmp_path / "solution.json")
    assert last.objective.offsets.counts[:, 0] == pytest.approx(total)


def test_a_prior_of_fewer_labels_says_nothing_of_the_others(tmp_path):
    rows = [(task, worker, {"no": "1", "yes": "3"}[label]) for task, worker, label in ROWS]
    before = aggregate(to_polars(rows))
    now = [*rows, (9000, "v", "2")]
    prior = aggregate(to_polars(now), prior_matrix=before).objective.offsets.prior[:, 0]
    assert prior[1].tolist() == prior[:, 1].tolist() == [0, 0, 0]
    assert prior[np.ix_([0, 2], [0, 2])] == pytest.approx(counts_behind(before, rows, ["1", "3"]))
    after = aggregate(to_polars(now))
    with pytest.raises(InputError, match=r"prior solution has the label '2', which is not on the scale 1, 3"):
        aggregate(to_polars(rows), prior_matrix=after)


def test_names_of_a_prior_may_be_numbers():
    rows = [(task, worker, label == "yes") for task, worker, label in ROWS]
    of_truth = aggregate(to_polars(rows), prior_matrix={True: {True: 4, False: 0.25}, False: {False: 3, True: 1.5}})
    numbers = [(task, worker, int(label)) for task, worker, label in rows]
    for prior in ({0: {0: 3, 1: 1.5}, 1.0: {0: 0.25, "1": 4}}, BASIC, [[3, 1.5], [0.25, 4]]):
        solution = aggregate(to_polars(numbers), prior_matrix=prior)
        assert solution.certificate.objective == of_truth.certificate.objective


def test_a_prior_of_zeros_changes_nothing_but_what_is_given():
    plain_, zeros = aggregate(to_polars(ROWS)), aggregate(to_polars(ROWS), prior_matrix=np.zeros((2, 2)))
    assert canonical(zeros) == canonical(plain_)
    assert zeros.certificate == replace(plain_.certificate, given=("prior matrix",))


def test_a_byte_order_mark_and_blank_lines_in_a_prior_are_no_matter(tmp_path):
    path = tmp_path / "prior.csv"
    path.write_bytes(b"\xef\xbb\xbf,no,yes\r\n\r\nno,3,1.5\r\nyes,2.5e-1,4\r\n\r\n")
    assert aggregate(to_polars(ROWS), prior_matrix=path).objective.offsets.prior[:, 0] == pytest.approx(BASIC)


# What verify finds


@pytest.fixture(scope="module")
def honest():
    return aggregate(to_polars(ROWS), gold=GOLD, prior_matrix=BASIC, smoothing=0.5, selectivity="estimate")


def judge(solution, tmp_path, tamper):
    """Changes the file of a solution, and verifies it."""
    data = json.loads(json.dumps(solution.to_dict()))
    tamper(data)
    path = tmp_path / "solution.json"
    path.write_text(json.dumps(data))
    return verify(path, to_polars(ROWS))


def remove_a_task(data):
    data["reading"]["gold"].pop()


def remove_all_gold(data):
    data["reading"]["gold"] = []


def change_a_label(data):
    pair = data["reading"]["gold"][0]
    pair[1] = "yes" if pair[1] == "no" else "no"


def add_a_task(data):
    data["reading"]["gold"].append(["35", "no"])


def change_gold_responses(data):
    data["offsets"]["gold_responses"][0][0][0] += 1


def change_gold_tasks(data):
    data["offsets"]["gold_tasks"][1] += 1


def change_the_number_of_gold_tasks(data):
    data["totals"]["n_gold"] += 1


def change_smoothing(data):
    data["offsets"]["smoothing"] = 0.25


def change_prior(data):
    data["offsets"]["prior"][1][0][1] += 1


def forget_prior(data):
    data["offsets"]["prior"] = None


def forget_offsets(data):
    data["offsets"] = None


def deny_what_is_given(data):
    data["certificate"]["given"] = ["gold", "smoothing"]


def a_task_twice(data):
    """As gold twice, it would be taken from the others twice."""
    data["reading"]["gold"].insert(0, list(data["reading"]["gold"][0]))


TAMPERS = [
    remove_a_task, remove_all_gold, change_a_label, add_a_task, change_gold_responses, change_gold_tasks, a_task_twice,
    change_the_number_of_gold_tasks, change_smoothing, change_prior, forget_prior, forget_offsets, deny_what_is_given,
]  # fmt: skip


def test_the_honest_file_is_confirmed(honest, tmp_path):
    assert judge(honest, tmp_path, dict.copy).verdict == "CONFIRMED"


@pytest.mark.parametrize("tamper", TAMPERS)
def test_a_changed_file_is_rejected(honest, tmp_path, tamper):
    found = judge(honest, tmp_path, tamper)
    assert found.verdict == "REJECTED"
    assert found.reasons


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"smoothing": 0.25}, "log-likelihood"),
        ({"prior": None}, "log-likelihood"),
        ({"prior": BASIC[:, None] + 1}, "log-likelihood"),
        ({"gold_tasks": np.array([2, 3])}, "gold tasks by label"),
        ({"gold_responses": np.array([[[9, 1]], [[0, 9]]])}, "responses to gold tasks by label"),
    ],
)
def test_a_file_that_is_changed_all_through_is_rejected(honest, tmp_path, change, reason):
    """The matrix and all that follows from the labels are those of the changed offsets."""
    told = replace(honest, objective=replace(honest.objective, offsets=replace(honest.objective.offsets, **change)))
    told.save(tmp_path / "solution.json")
    found = verify(tmp_path / "solution.json", to_polars(ROWS))
    assert found.verdict == "REJECTED"
    assert reason in " ".join(found.reasons)


def test_gold_that_agrees_with_itself_but_not_with_the_data_is_rejected(honest, tmp_path):
    """Solved anew with counts that nobody gave: a perfect file, of other data."""
    offsets = honest.objective.offsets
    made_up = Offsets(offsets.gold_responses[::-1].copy(), offsets.gold_tasks, offsets.prior, offsets.smoothing)
    objective = replace(honest.objective, offsets=made_up)
    value = objective.of_mapping(honest.buckets, honest.mapping)
    certificate = replace(honest.certificate, objective=value, bound=value)
    replace(honest, objective=objective, certificate=certificate).save(tmp_path / "solution.json")
    found = verify(tmp_path / "solution.json", to_polars(ROWS))
    assert found.verdict == "REJECTED"
    assert "the responses to gold tasks by label differ from the data" in found.reasons


OTHERS = {
    "another label": [*ROWS, (8, "w0", "maybe")],
    "no gold task": [row for row in ROWS if row[0] != 7],
    "another response to gold": [*ROWS, (7, "x", "no")],
    "fewer responses": ROWS[:-1],
    "other tasks": [(task + 1000, worker, label) for task, worker, label in ROWS],
    "one label": [(task, worker, "no") for task, worker, _ in ROWS],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_data_are_rejected(honest, name, tmp_path):
    honest.save(tmp_path / "solution.json")
    for data in (to_polars(OTHERS[name]), to_text(OTHERS[name], tmp_path)):
        found = verify(tmp_path / "solution.json", data)
        assert found.verdict == "REJECTED"
        assert found.reasons


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("offsets", []),
        ("offsets", "none"),
        ("offsets", 0),
        ("offsets", {}),
        ("gold_responses", None),
        ("gold_responses", []),
        ("gold_responses", [[[1, 2]]]),
        ("gold_responses", [[[1, 2]], [[1]]]),
        ("gold_responses", [[[1, 2, 3]], [[1, 2, 3]]]),
        ("gold_responses", [[[1, 2]], [[1, -2]]]),
        ("gold_responses", [[[1, 2]], [[1, 0.5]]]),
        ("gold_responses", [[[1, 2]], [[1, "2"]]]),
        ("gold_responses", [[[True, True]], [[True, True]]]),
        ("gold_responses", [[[1, 2]], [[1, 2**70]]]),
        ("gold_tasks", [1]),
        ("gold_tasks", [1, None]),
        ("gold_tasks", [1, -1]),
        ("gold_tasks", 5),
        ("prior", [[1, 2], [3, 4]]),
        ("prior", [[[1, 2]], [[3, -4]]]),
        ("prior", [[[1, 2]], [[3, float("nan")]]]),
        ("prior", [[[1, 2]], [[3, float("inf")]]]),
        ("prior", [[[1, 2]], [[3, "4"]]]),
        ("prior", [[[1, 2]], [[3, None]]]),
        ("prior", [[[1, 2]], [[3, 10**400]]]),
        ("prior", "x"),
        ("smoothing", -1),
        ("smoothing", float("nan")),
        ("smoothing", float("inf")),
        ("smoothing", "0.5"),
        ("smoothing", None),
        ("smoothing", True),
        ("smoothing", 10**400),
        ("more", 1),
    ],
)
def test_damaged_offsets_are_named_as_damage(honest, name, value, tmp_path):
    data = json.loads(json.dumps(honest.to_dict()))
    if name == "offsets":
        data["offsets"] = value
    else:
        data["offsets"][name] = value
    with pytest.raises(SolutionFileError, match="damaged"):
        Solution.from_dict(data)
    (tmp_path / "solution.json").write_text(json.dumps(data))
    with pytest.raises(SolutionFileError):
        aggregate(to_polars(ROWS), prior_matrix=tmp_path / "solution.json")


@pytest.mark.parametrize("name", ["gold_responses", "gold_tasks", "prior", "smoothing", "offsets"])
def test_missing_parts_of_the_offsets_are_named(honest, name):
    data = json.loads(json.dumps(honest.to_dict()))
    del (data if name == "offsets" else data["offsets"])[name]
    with pytest.raises(SolutionFileError, match=f"'{name}' is missing"):
        Solution.from_dict(data)


@pytest.mark.parametrize(
    "gold",
    [
        None,
        "a",
        {"0": "no"},
        ["ab"],
        [["0"]],
        [["0", "no", "yes"]],
        [[0, "no"]],
        [["0", None]],
        [None],
        [["0", "no"]] * 2,
    ],
)
def test_a_damaged_list_of_gold_is_named_as_damage(honest, gold):
    data = json.loads(json.dumps(honest.to_dict()))
    data["reading"]["gold"] = gold
    with pytest.raises(SolutionFileError, match="damaged"):
        Solution.from_dict(data)


# Accuracy, the estimator, and words


@pytest.mark.grid
@pytest.mark.parametrize("way", ["pandas", "polars-lazy", "arrow", "duckdb-own", "csv"])
@pytest.mark.parametrize("truth_way", ["pandas", "duckdb-own", "csv"])
def test_accuracy_leaves_gold_out(way, truth_way, tmp_path):
    answers = {int(task): label for task, label, *_ in EXPECTED[0]}
    other = {"no": "yes", "yes": "no"}
    free = [task for task in answers if task not in GOLD]
    known = {task: answers[task] for task in free[:8]}
    known[free[0]] = other[known[free[0]]]
    # Gold is right by decree, so neither a true nor a false claim about it counts; nor does a task that is not there.
    known |= {0: GOLD[0], 7: other[GOLD[7]], 5000: "no"}
    (tmp_path / "truth").mkdir()
    truth = WAYS[truth_way](as_rows(known), tmp_path / "truth")
    accuracy = aggregate(WAYS[way](ROWS, tmp_path), gold=GOLD, truth=truth).accuracy
    assert (accuracy.value, accuracy.n_tasks, accuracy.n_unknown) == (7 / 8, 8, 1)


def test_a_truth_of_gold_tasks_alone_is_refused():
    with pytest.raises(InputError, match=r"^all tasks of the truth are gold"):
        aggregate(to_polars(ROWS), gold=GOLD, truth=to_polars(as_rows(GOLD)))


def test_the_estimator_takes_all_of_it():
    data = to_pandas(ROWS)
    options = {"gold": GOLD, "prior_matrix": BASIC, "smoothing": 0.5}
    model = GlobalOptimum(**options)
    labels = model.fit_predict(data)
    assert labels.loc[list(GOLD)].to_dict() == GOLD
    assert model.probas_.loc[7].to_dict() == {"no": 0, "yes": 1}
    solution = aggregate(data, duplicates="all", **options)
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
    solution = aggregate(to_polars(ROWS), gold=GOLD, selectivity="estimate")
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
    assert aggregate(pl.DataFrame(made.to_dict()), **known).advice == ()


def test_the_command_line_says_what_it_was_told(crowdopt, tmp_path):
    (tmp_path / "gold").mkdir()
    data, gold = to_text(ROWS, tmp_path), to_text(as_rows(GOLD), tmp_path / "gold")
    prior = write_matrix(tmp_path / "prior.csv", BASIC, ["no", "yes"])
    saved, answers = tmp_path / "solution.json", tmp_path / "answers.csv"
    options = ("--gold", gold, "--prior-matrix", prior, "--smoothing", "0.5")
    found = json.loads(
        crowdopt("aggregate", data, *options, "--json", "--solution", saved, "-o", answers, "--probabilities")
    )
    assert (found["n_gold"], found["n_tasks"], found["given"]) == (5, 25, ["gold", "prior matrix", "smoothing"])
    expected = aggregate(to_pandas(ROWS), gold=GOLD, prior_matrix=BASIC, smoothing=0.5)
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
    said = crowdopt("aggregate", data, *options)
    assert ", given the gold and prior matrix and smoothing; " in said.splitlines()[0]
    assert "25 (5 of known label)" in said
    again = json.loads(crowdopt("aggregate", data, "--prior-matrix", saved, "--json"))
    assert again["given"] == ["prior matrix"]
    assert again["n_gold"] == 0


def test_gold_is_no_output(crowdopt, tmp_path, monkeypatch, capfd):
    (tmp_path / "gold").mkdir()
    data, gold = to_text(ROWS, tmp_path), to_text(as_rows(GOLD), tmp_path / "gold")
    before = (tmp_path / "gold" / "data.csv").read_bytes()
    monkeypatch.setattr(sys, "argv", ["crowdopt", "aggregate", data, "--gold", gold, "-o", gold])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    assert "one of the inputs" in capfd.readouterr().err
    assert (tmp_path / "gold" / "data.csv").read_bytes() == before


def test_the_next_best_answers_are_those_of_the_other_tasks():
    rows = [(task, worker, {"no": "1", "yes": "2"}[label]) for task, worker, label in ROWS]
    rows += [(9000 + i, f"w{w}", str(1 + (i + w) % 3)) for i in range(4) for w in range(2)]
    gold = {task: {"no": 1, "yes": 2}[label] for task, label in GOLD.items()}
    solution = aggregate(to_polars(rows), gold=gold)
    found = solution.summary()["next_best"]
    assert solution.certificate.engine == "chain"
    least = min(row[4] for row in canonical(solution) if row[4] is not None)
    assert found["loss"] == pytest.approx(least, abs=1e-9)
    assert 0 < found["n_tasks"] < solution.totals.n_tasks - len(gold)


def test_canonical_texts_tell_tasks_apart():
    """A text is not the number that it looks like: 007 is another task than 7."""
    rows = [("007", "v", "no"), ("7", "v", "yes"), ("8", "v", "yes"), ("8", "w", "no")]
    solution = aggregate(to_polars(rows), gold={7: "no"})
    assert [(task, status) for task, _, status, *_ in canonical(solution)] == [
        ("007", "ok"),
        ("7", "gold"),
        ("8", "ok"),
    ]
    assert canonical_text(7) == "7"
    with pytest.raises(InputError, match=r"gold task '07' \(and 1 more\) is not in the data"):
        aggregate(to_polars(rows), gold={"07": "no", "09": "no", "8": "no"})


def test_gold_frames_are_read_with_the_options_of_the_data():
    gold = pl.DataFrame({"task": ["0", "7", None, "14"], "label": ["no", "?", "yes", ""]})
    assert aggregate(to_polars(ROWS), gold=gold, na=["?"]).reading.gold == (("0", "no"),)
