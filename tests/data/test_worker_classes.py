"""Given classes of workers, from the data to the file and back."""

from __future__ import annotations

import json
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdopt import Solution, prove, verify
from crowdopt.cli.app import main
from crowdopt.data.worker_classes import WorkerClass
from crowdopt.errors import InputError
from crowdopt.model.certificate import Proof, Space
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.ways import BACKENDS, plain
from support.worker_classes import CLASSES, crowd


def counted(data: pd.DataFrame) -> np.ndarray:
    """Counts by (task, class, label), tasks sorted; from the definition."""
    names = [sorted(data[column].unique()) for column in ("task", "class", "label")]
    counts = np.zeros([len(values) for values in names], int)
    for row in data[["task", "class", "label"]].itertuples(index=False):
        counts[tuple(values.index(value) for values, value in zip(names, row, strict=True))] += 1
    return counts


def facts(solution: Solution) -> tuple:
    columns = plain(solution.answers)
    rows = sorted(zip(*(columns[name] for name in ("task", "label", "margin", "n_responses")), strict=True))
    return rows, solution.certificate, solution.totals, solution.classes, solution.matrix.round(12).tolist()


# 1. Reading.


def test_counts_matrices_and_workers_are_those_of_the_data():
    data = crowd()
    solution = prove(data, class_="class")
    tasks = counted(data)
    distinct, weights = np.unique(tasks.reshape(len(tasks), -1), axis=0, return_counts=True)
    assert solution.buckets.counts.tolist() == distinct.reshape(-1, 2, 2).tolist()
    assert solution.buckets.weights.tolist() == weights.tolist()
    assert solution.classes == (WorkerClass("expert", 2), WorkerClass("regular", 4))
    answers = solution.answers.set_index("task")["label"]
    for k, name in enumerate(["expert", "regular"]):
        for j, label in enumerate(["no", "yes"]):
            theirs = data[(data["class"] == name) & (data["task"].map(answers) == label)]["label"]
            assert solution.matrix[k, j] == pytest.approx([(theirs == "no").mean(), (theirs == "yes").mean()])
    assert (tasks[:, 0].sum(axis=1) == 0).any()  # a task without an expert


@pytest.mark.parametrize("backend", [*BACKENDS, "csv", "parquet"])
@pytest.mark.parametrize("given", ["column", "file", "frame", "dict"])
def test_every_way_in_gives_the_same(backend, given, tmp_path):
    data = crowd().rename(columns={"class": "crowd"})
    table = pa.Table.from_pandas(data, preserve_index=False)
    pairs = pd.DataFrame(CLASSES.items(), columns=["worker", "class"])
    expected = facts(prove(data, class_="crowd"))
    options: dict = {"classes": pairs}
    if given == "column":
        options = {"class_": "crowd"}
    elif given == "file":
        pairs.to_csv(tmp_path / "classes.csv", index=False)
        options = {"classes": tmp_path / "classes.csv"}
    elif given == "dict":
        options = {"classes": CLASSES}
    elif backend in BACKENDS:
        options = {"classes": BACKENDS[backend](pa.Table.from_pandas(pairs, preserve_index=False))}
    if backend in BACKENDS:
        source = BACKENDS[backend](table)
    else:
        source = tmp_path / f"data.{backend}"
        getattr(data, f"to_{backend}")(source, index=False)
    solution = prove(source, **options)
    assert facts(solution) == expected
    shuffled = data.sample(frac=1, random_state=1)
    assert verify(solution, shuffled).verdict is Verdict.CONFIRMED


def test_a_wide_table_takes_classes_by_the_names_of_its_columns(tmp_path):
    data = crowd()
    wide = data.pivot(index="task", columns="worker", values="label").reset_index().rename_axis(columns=None)  # noqa: PD010
    assert facts(prove(wide, wide=True, classes=CLASSES)) == facts(prove(data, class_="class"))
    with pytest.raises(InputError, match="a wide table has no column for the class of a worker"):
        prove(wide, wide=True, class_="w1")


@pytest.mark.parametrize("values", [(1, 2), (True, False), (1.0, 2.0), ("é", "b c")])
def test_classes_of_any_type_are_known_by_their_text(values, tmp_path):
    data = crowd()
    data["class"] = data["class"].map({"expert": values[0], "regular": values[1]})
    solution = prove(data, class_="class")
    by_worker = {worker: values[name == "regular"] for worker, name in CLASSES.items()}
    other = prove(pl.from_pandas(data), classes=by_worker)
    assert [one.name for one in solution.classes] == [one.name for one in other.classes]
    assert solution.certificate == other.certificate
    solution.save(tmp_path / "solution.json")
    data.to_csv(tmp_path / "data.csv", index=False)
    if not isinstance(values[0], bool | float):  # which a text file does not tell from texts
        assert verify(tmp_path / "solution.json", tmp_path / "data.csv").verdict is Verdict.CONFIRMED


def test_numbers_of_workers_are_matched_as_text():
    data = crowd()
    data["worker"] = data["worker"].str[1:].astype(int)
    by_number = {int(worker[1:]): name for worker, name in CLASSES.items()}
    by_text = {worker[1:]: name for worker, name in CLASSES.items()}
    assert facts(prove(data, classes=by_number)) == facts(prove(data, classes=by_text))


def test_a_column_is_used_only_if_it_is_named():
    solution = prove(crowd())
    assert solution.classes == ()
    assert solution.certificate.engine == "scan"
    assert solution.certificate.given == ()


def test_the_column_may_have_any_name_in_a_file_of_classes(tmp_path):
    (tmp_path / "crew.csv").write_text("who,grade\n" + "".join(f"{w},{c}\n" for w, c in CLASSES.items()))
    data = crowd()
    expected = facts(prove(data, class_="class"))
    renamed = data.drop(columns="class").rename(columns={"worker": "who"})
    assert facts(prove(renamed, worker="who", classes=tmp_path / "crew.csv", class_="grade")) == expected


def test_workers_without_a_response_may_be_in_the_classes():
    more = CLASSES | {"zoe": "regular"}
    assert facts(prove(crowd(), classes=more)) == facts(prove(crowd(), classes=CLASSES))


def test_one_class_is_no_class_to_the_engine():
    solution = prove(crowd(), classes=dict.fromkeys(CLASSES, "all of them"))
    alone = prove(crowd())
    assert (solution.certificate.engine, solution.certificate.given) == ("scan", ())
    assert solution.certificate.objective == alone.certificate.objective
    assert solution.classes == (WorkerClass("all of them", 6),)


@pytest.mark.parametrize("duplicates", ["distinct", "same", "first", "all"])
def test_duplicates_of_a_worker_stay_in_the_class(duplicates):
    data = crowd()
    data["at"] = range(len(data))
    again = pd.concat([data, data.iloc[:5].assign(at=99)])
    options = {"order_by": "at"} if duplicates == "first" else {}
    solution = prove(again, class_="class", duplicates=duplicates, **options)
    assert solution.totals.n_responses == len(data) + 5 * (duplicates == "all")
    if duplicates != "all":
        assert solution.certificate == prove(data, class_="class").certificate
    assert verify(solution, again).verdict is Verdict.CONFIRMED


def test_rows_without_a_class_are_incomplete():
    data = crowd()
    data.loc[[3, 4], "class"] = None
    with pytest.raises(
        InputError, match=r"2 of \d+ rows are incomplete \(2 without a class\); leave out missing=\"error\""
    ):
        prove(data, class_="class", missing="error")
    dropped = prove(data, class_="class")
    assert dropped.notes[0].endswith("2 without a class")
    assert dropped.totals.n_dropped == 2
    assert dropped.certificate == prove(data.drop([3, 4]), class_="class").certificate
    assert verify(dropped, data).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("engine", ["auto", "search", "em", "soft-em", "vote"])
def test_gold_truth_and_every_engine(engine):
    data = crowd(3, labels=("1", "2", "3"))
    gold = {"t00": "1", "t01": "3"}
    truth = pd.DataFrame({"task": ["t02", "t03"], "label": ["1", "2"]})
    solution = prove(data, class_="class", gold=gold, truth=truth, engine=engine, labels=["1", "2", "3"])
    answers = solution.answers.set_index("task")
    assert answers.loc[["t00", "t01"], "label"].tolist() == ["1", "3"]
    assert answers["n_responses"].sum() == len(data)
    assert solution.objective.offsets.gold_responses.shape == (3, 2, 3)
    assert solution.accuracy.value == np.mean(answers.loc[["t02", "t03"], "label"].to_numpy() == ["1", "2"])
    assert verify(solution, data).verdict is Verdict.CONFIRMED


def test_last_months_solution_is_a_prior_class_by_class():
    before = prove(crowd(1), class_="class")
    data = crowd(2)
    solution = prove(data, class_="class", prior_matrix=before)
    assert solution.objective.offsets.prior.tolist() == before.buckets.by_label(before.mapping)[0].tolist()
    ranked = prove(data, class_="class", ranked=["regular", "expert"], prior_matrix=before)
    assert ranked.objective.offsets.prior.tolist() == solution.objective.offsets.prior[:, ::-1].tolist()
    with pytest.raises(InputError, match="the prior solution has no classes"):
        prove(data, class_="class", prior_matrix=prove(crowd(1)))
    with pytest.raises(InputError, match="has the class 'expert', which there is not here"):
        prove(data, prior_matrix=before)


# 2. What comes out.


def test_ranks_that_the_fitted_matrices_contradict_are_named():
    data = crowd(5, 200)
    assert prove(data, class_="class", ranked=["expert", "regular"]).advice == ()
    (said,) = prove(data, class_="class", ranked=["regular", "expert"]).advice
    assert said.startswith("--ranked has class 'regular' before 'expert', and by the fitted matrices it is worse")
    few = crowd(5, 8)
    assert prove(few, class_="class", ranked=["regular", "expert"]).advice == ()  # that may be chance


@pytest.mark.parametrize("ranked", [(), ("expert", "regular"), ("regular", "expert")], ids=str)
@pytest.mark.parametrize("labels", [("no", "yes"), ("1", "2", "3")], ids=len)
def test_the_optimum_is_the_one_of_brute_force(labels, ranked, effort):
    proved = 0
    for seed in range(effort(15)):
        data = crowd(seed, n_tasks=9 if len(labels) == 2 else 6, labels=labels)
        solution = prove(data, class_="class", labels=labels, ranked=ranked)
        tasks = np.repeat(solution.buckets.counts, solution.buckets.weights, axis=0)
        truth = oracle.brute_force(tasks, space="dominance", ranked=bool(ranked))
        assert (solution.certificate.proof, solution.certificate.space) == (Proof.PROVED, Space.DOMINANCE)
        assert solution.certificate.objective == pytest.approx(truth.value, abs=1e-9)
        assert solution.certificate.given == ("classes", *(["ranked classes"] if ranked else []))
        assert [one.name for one in solution.classes] == list(ranked or ("expert", "regular"))
        proved += 1
    assert proved == effort(15)


def test_softened_matrices_are_nearer_to_the_truth():
    solution = prove(crowd(3, n_tasks=200), class_="class", ranked=["expert", "regular"])
    assert solution.soft_matrix.sum(axis=2) == pytest.approx(1)
    truth = np.array([[[0.95, 0.05], [0.05, 0.95]], [[0.65, 0.35], [0.35, 0.65]]])
    assert np.abs(solution.soft_matrix - truth).mean() < np.abs(solution.matrix - truth).mean()


@pytest.mark.parametrize("options", [{"selectivity": "estimate"}, {"selectivity": {"no": 1, "yes": 0}}, {}], ids=str)
def test_softened_matrices_where_nothing_is_known_of_a_label(options):
    """A label that no task has keeps a row of not-a-number, in every class that has none."""
    rows = [(f"t{t}", f"w{w}", "yes" if t == 0 == w and options else "no", "a") for t in range(30) for w in range(2)]
    data = pd.DataFrame(rows, columns=["task", "worker", "label", "class"])
    solution = prove(data, labels=["no", "yes"], **options)
    unknown = np.isnan(solution.matrix)
    assert unknown.any()
    assert (np.isnan(solution.soft_matrix) == unknown).all()
    assert solution.soft_matrix[~unknown].sum() == pytest.approx(1)


def test_over_all_mappings_prices_prove_it():
    solution = prove(crowd(), class_="class", space="all")
    assert (solution.certificate.engine, solution.certificate.proof) == ("columns", Proof.PROVED)
    assert verify(solution, crowd()).verdict is Verdict.CONFIRMED


def test_the_summary_has_a_matrix_for_each_class(monkeypatch, capsys, tmp_path):
    crowd().to_csv(tmp_path / "data.csv", index=False)
    arguments = ["prove", str(tmp_path / "data.csv"), "--class", "class", "--ranked", "expert,regular"]
    monkeypatch.setattr(sys, "argv", ["crowdopt", *arguments])
    with pytest.raises(SystemExit):
        main()
    out = capsys.readouterr().out
    assert "given the classes and ranked classes" in out
    for part in (
        "How workers of class expert answer",
        "How workers of class regular answer",
        "expert 2 (",
        "regular 4",
    ):
        assert part in out
    monkeypatch.setattr(sys, "argv", ["crowdopt", *arguments, "--json"])
    with pytest.raises(SystemExit):
        main()
    summary = json.loads(capsys.readouterr().out)
    assert summary["classes"] == [{"name": "expert", "n_workers": 2}, {"name": "regular", "n_workers": 4}]
    assert summary["ranked"] is True
    assert np.array(summary["matrix"]).shape == (2, 2, 2)


def test_a_class_that_answered_no_task_of_a_label_says_nothing_of_it():
    """Experts only ever saw the two tasks that became yes: to a task that they answered, no is no alternative."""
    rows = [("a", "e", "yes"), ("b", "e", "yes"), ("a", "r", "yes"), ("b", "r", "yes"), ("c", "r", "no")]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    solution = prove(data, classes={"e": "expert", "r": "regular"})
    assert np.isnan(solution.matrix[0, 0]).all()
    assert solution.answers["confidence"].tolist() == [1.0, 1.0, 1.0]


def test_overruling_one_class_is_no_reason_to_warn():
    """Two experts are always right; three regulars are wrong on ten tasks, as the majority, and noisy on the others."""
    rows = []
    for i in range(40):
        right, wrong = ("yes", "no") if i % 2 else ("no", "yes")
        answers = [right, right, *([wrong] * 3 if i < 10 else [right, right, wrong])]
        rows += [(f"t{i}", worker, answer, worker in "ab") for worker, answer in zip("abcde", answers, strict=True)]
    data = pd.DataFrame(rows, columns=["task", "worker", "label", "expert"])
    solution = prove(data, class_="expert", ranked=["true", "false"])
    majority = data.groupby("task")["label"].agg(lambda labels: labels.mode()[0])
    overruled = (solution.answers.set_index("task")["label"] != majority).sum()
    assert overruled == 10
    assert not any("majority" in advice for advice in solution.advice)


# 3. The file, and what verify makes of it.


def test_the_file_needs_no_options_and_no_second_file(tmp_path):
    data = crowd().drop(columns="class")
    data.to_csv(tmp_path / "data.csv", index=False)
    solution = prove(tmp_path / "data.csv", classes=CLASSES, ranked=["expert", "regular"])
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert loaded.to_dict() == solution.to_dict()
    assert loaded.classes == solution.classes
    for source in (tmp_path / "data.csv", data, duckdb.from_arrow(pa.Table.from_pandas(data, preserve_index=False))):
        found = verify(tmp_path / "solution.json", source)
        assert (found.verdict, found.reasons) == (Verdict.CONFIRMED, ())
