"""Tables of Spark, on a cluster of two worker processes: the same answers as from everywhere, and nothing collected."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import crowdopt
from crowdopt import Solution, aggregate, prove, verify
from crowdopt.data.groups import load_groups
from crowdopt.data.reading import Reading
from crowdopt.errors import ClassError, ColumnError, InputError
from support.clusters import cluster, executors, placed, wait_until
from support.digests import defined, digest_from
from support.dirty_rows import DIRTY, NOTES
from support.dirty_rows import ROWS as ROWS_OF_TEXT
from support.needs import ROOT, need
from support.ways import ROWS, canonical, facts, plain, to_arrow, to_pandas, wide

pytestmark = pytest.mark.xdist_group("spark")  # one cluster for all of them


@pytest.fixture(scope="module")
def spark():
    need(bool(find_spec("pyspark") and shutil.which("java")), "Spark (pyspark, and Java)")
    with cluster() as session:
        yield session


def classed_crowd(n_tasks: int = 300, n_workers: int = 24) -> tuple[pa.Table, list[str]]:
    """Good, middling and bad workers, five responses per task, and the truth."""
    rng = np.random.default_rng(3)
    truth, accuracy = rng.integers(0, 2, n_tasks), np.repeat([0.97, 0.7, 0.5], n_workers // 3)
    rows = [
        (task, worker, f"c{truth[task] if rng.random() < accuracy[worker] else 1 - truth[task]}")
        for task in range(n_tasks)
        for worker in rng.permutation(n_workers)[:5].tolist()
    ]
    return to_arrow(rows), [f"c{label}" for label in truth]


def collected(monkeypatch) -> list[int]:
    """The number of rows of everything that comes to the driver from now on."""
    from pyspark.sql.classic.dataframe import DataFrame

    sizes: list[int] = []

    def counting(method):
        def counted(self, *arguments):
            found = method(self, *arguments)
            sizes.append(len(found))
            return found

        return counted

    def refused(self, *arguments):
        raise AssertionError("rows are brought to the driver in a way that is not counted")

    for name in ("collect", "toArrow"):
        monkeypatch.setattr(DataFrame, name, counting(getattr(DataFrame, name)))
    for name in ("toPandas", "toLocalIterator", "take", "tail", "foreach"):
        monkeypatch.setattr(DataFrame, name, refused)
    return sizes


def test_the_same_answers_as_from_any_other_table(spark):
    data = placed(to_arrow(ROWS), spark)
    solution = prove(data)
    assert facts(solution) == facts(prove(to_pandas(ROWS)))
    assert type(solution.answers) is type(data)
    assert "BroadcastHashJoin" in solution.answers._jdf.queryExecution().executedPlan().toString()
    kinds = {field.name: field.dataType.simpleString() for field in solution.answers.schema}
    assert (kinds["task"], kinds["label"], kinds["margin"]) == ("bigint", "string", "double")
    assert solution.answers.toArrow()["task"].to_pylist() == sorted({task for task, *_ in ROWS})
    assert verify(solution, data).reasons == ()


@pytest.mark.parametrize("kind", ["string", "smallint", "double", "decimal(20,4)"])
def test_the_digest_of_the_responses_is_that_of_the_definition(spark, kind):
    rows = [(task, worker.replace("w", "ŵ 🙂"), label) for task, worker, label in ROWS]
    data = placed(to_arrow(rows), spark).selectExpr(f"CAST(task AS {kind}) AS task", "worker", "label = 'yes' AS label")
    rows = [(task, worker, label == "yes") for task, worker, label in rows]
    assert digest_from(data) == defined(rows)
    grouped = load_groups(data.selectExpr("*", "worker AS part"), Reading(group="part"), None)
    assert {name: one.digest for name, one in grouped.groups.items()} == {
        name: defined([row for row in rows if row[1] == name]) for name in {worker for _, worker, _ in rows}
    }


@pytest.mark.parametrize("kind", ["int", "boolean", "double", "decimal(3,1)"])
def test_labels_keep_their_type(spark, kind):
    data = placed(to_arrow(ROWS), spark).selectExpr("task", "worker", f"CAST(label = 'yes' AS {kind}) AS label")
    answers = prove(data, engine="vote").answers
    assert answers.schema["label"].dataType == data.schema["label"].dataType
    assert {float(label) for label in plain(answers)["label"]} == {0.0, 1.0}


def test_wide_tables_scores_gold_truth_and_columns_to_keep(spark):
    data, there = to_pandas(ROWS), placed(to_arrow(ROWS), spark)
    cells = placed(pa.Table.from_pandas(wide(ROWS), preserve_index=False), spark)
    assert facts(prove(cells, wide=True)) == facts(prove(data))
    scored = there.selectExpr("task", "worker", "IF(label = 'yes', '1e0', '0.25') AS label")
    assert canonical(prove(scored, bins=[0.5])) == canonical(prove(scored.toArrow(), bins=[0.5]))
    known = pa.table({"task": [0, 7, 14], "label": ["no", "yes", "no"]})
    asked = {"keep": ["worker"], "gold": known, "truth": known.slice(0, 0).from_pydict({"task": [21], "label": ["no"]})}
    solution, expected = prove(there, **asked), prove(data, **asked)
    assert facts(solution) == facts(expected)
    assert solution.accuracy.value == expected.accuracy.value
    assert plain(solution.answers)["worker"] == plain(expected.answers)["worker"]


def test_labels_that_are_one_and_odd_names_are_found_as_in_any_other_table(spark):
    spellings = ("{}", "{}", "{} ", "{}\u00a0", "N/A")
    rows = [(f"t{task}", worker, spellings[at % 5].format(label)) for at, (task, worker, label) in enumerate(ROWS)]
    table = to_arrow([*rows, ("t0", "W3", "YES"), ("t7", "w3 ", "y\u0435s")])
    for options in ({}, {"tidy": True}):
        found, expected = (crowdopt.aggregate(data, **options) for data in (placed(table, spark), table))
        assert plain(found.answers) == plain(expected.answers)
        about_labels_and_workers = [note for note in expected.source.notes if "task" not in note]
        assert list(found.source.notes) == about_labels_and_workers
        assert len(about_labels_and_workers) >= 4
        assert verify(found, placed(table, spark)).reasons == ()
    truth = placed(pa.table({"task": ["t0 ", "t7"], "label": ["NO", "yes\u00a0"]}), spark)
    clean = pa.table({"task": ["t0", "t7"], "label": ["no", "yes"]})
    assert prove(placed(table, spark), truth=truth, tidy=True).accuracy == prove(table, truth=clean, tidy=True).accuracy
    grouped = placed(table, spark).selectExpr("*", "IF(worker < 'w4', 'a', 'b') AS batch")
    by_group = crowdopt.aggregate(grouped, group="batch", tidy=True)
    assert (
        by_group.source.notes
        == crowdopt.aggregate(grouped.toArrow(), group="batch", tidy=True).source.notes[: len(by_group.source.notes)]
    )
    assert {name: one.scale.labels for name, one in by_group.items()} == {"a": ("no", "yes"), "b": ("no", "yes")}


def test_workers_confusion_and_predictions_are_tables_of_spark(spark):
    data, there = to_pandas(ROWS), placed(to_arrow(ROWS), spark)
    classes = {f"w{number}": "good" if number < 4 else "other" for number in range(9)}
    solution, expected = prove(there, classes=classes), prove(data, classes=classes)
    for found, table in [
        (solution.workers(), expected.workers()),
        (solution.confusion(there), expected.confusion()),
        (expected.predict(there, probabilities=True), expected.predict(data, probabilities=True)),
    ]:
        assert type(found) is type(there)
        assert plain(found) == plain(table)


def test_a_consensus_is_the_same_as_from_any_other_table(spark):
    table = to_arrow([*ROWS, (500, "w1", None)])
    data, there = table.to_pandas(), placed(table, spark)
    asked = {"missing": "drop", "gold": {7: "yes"}, "keep": ["worker"]}
    solution, expected = (crowdopt.aggregate(source, **asked) for source in (there, data))
    assert np.array_equal(solution.need_tasks().probabilities, expected.need_tasks().probabilities)
    for found, wanted in [
        (solution.answers_frame(probabilities=True), expected.answers_frame(probabilities=True)),
        (solution.probabilities, expected.probabilities),
        (solution.predict(there), expected.predict(data)),
        (solution.next_tasks(n=5), expected.next_tasks(n=5)),
    ]:
        assert type(found) is type(there)
        assert plain(found) == plain(wanted)
    batched = there.selectExpr("*", "task % 2 AS batch")
    found, wanted = (
        crowdopt.aggregate(source, group="batch", missing="drop")
        for source in (batched, data.assign(batch=data["task"] % 2))
    )
    assert list(found) == list(wanted) == ["0", "1"]
    assert type(found.answers) is type(there)
    assert plain(found.answers_frame(probabilities=True)) == plain(wanted.answers_frame(probabilities=True))


def test_workers_who_answer_a_task_twice_are_measured_alike(spark):
    rows = [*ROWS, *ROWS[:20]]
    solution = prove(placed(to_arrow(rows), spark), duplicates="all")
    assert plain(solution.workers()) == plain(prove(to_pandas(rows), duplicates="all").workers())


def test_rows_that_lack_something_and_repeated_answers_are_treated_and_said_alike(spark):
    table = placed(to_arrow(DIRTY), spark)
    there, here = prove(table), prove(to_arrow(DIRTY))
    assert there.notes == here.notes == NOTES
    assert facts(there) == facts(here)
    grouped = to_arrow([*DIRTY, *ROWS_OF_TEXT])
    kinds = ["dirty"] * len(DIRTY) + ["clean"] * len(ROWS_OF_TEXT)
    solutions = prove(placed(grouped.append_column("kind", [kinds]), spark), group="kind")
    assert (solutions["dirty"].notes, solutions["clean"].notes) == (NOTES, ())
    assert len(solutions.notes) == 3


def test_what_comes_to_the_driver_does_not_grow_with_the_data(spark, monkeypatch):
    from pyspark.sql import functions as sql

    sizes = []
    for times in (1, 20):
        copies = placed(to_arrow(ROWS), spark).crossJoin(spark.range(times).withColumnRenamed("id", "copy"))
        data = copies.select(
            (sql.col("task") + 1000 * sql.col("copy")).alias("task"),
            sql.concat("worker", sql.lit("-"), "copy").alias("worker"),
            "label",
        )
        with monkeypatch.context() as patch:
            seen = collected(patch)
            solution = prove(data)
            tables = solution.answers, solution.workers(), solution.confusion(), solution.predict(data)
            sizes.append((len(seen), max(seen)))
        assert [table.count() for table in tables[:2]] == [25 * times, 9 * times]
        assert "compared with majorities only: the responses stay on the cluster" in solution.advice[-1]
    assert sizes[0] == sizes[1]


def test_what_spark_keeps_is_forgotten_with_the_solution_and_no_view_is_left(spark):
    solution = prove(placed(to_arrow(ROWS), spark))
    kept = spark._jsparkSession.sharedState().cacheManager()
    assert not kept.isEmpty()
    del solution
    gc.collect()
    wait_until(kept.isEmpty, "to forget all tables")
    assert spark.catalog.listTables() == []


def test_the_page_on_scale_runs_as_it_stands(spark, tmp_path):
    page = ROOT / "docs" / "scale.md"
    (block,) = re.findall(
        r"^```\{ .python .spark \}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    for name in ("responses", "tomorrow"):
        placed(to_arrow(ROWS), spark).write.parquet(str(tmp_path / name))
    found = {"crowdopt": crowdopt, "spark": spark}
    exec(block.replace('("', f'("{tmp_path}/'), found)  # noqa: S102
    written = {name: spark.read.parquet(str(tmp_path / name)).count() for name in ("answers", "workers", "predictions")}
    assert written == {"answers": 25, "workers": 9, "predictions": 25}


def test_an_executor_that_is_killed_changes_nothing(spark, tmp_path):
    stop, arrived = tmp_path / "go", tmp_path / "arrived"

    def hold(rows):
        """Rows of an executor that waits in the middle of them."""
        for number, row in enumerate(rows):
            if number == 5:
                arrived.touch()
                while not stop.exists():
                    time.sleep(0.05)
            yield row

    there = placed(to_arrow(ROWS), spark, 2)
    data = spark.createDataFrame(there.rdd.mapPartitions(hold), there.schema)
    found: list[Solution] = []
    thread = threading.Thread(target=lambda: found.append(prove(data)))
    thread.start()
    wait_until(arrived.exists, "the job")
    before = executors(spark)
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{before[0]}").exists(), "the end of the executor")
    stop.touch()
    thread.join()
    assert facts(found[0]) == facts(prove(to_pandas(ROWS)))
    assert before[0] not in executors(spark)


def test_found_classes_are_those_of_any_other_table(spark, tmp_path):
    table, _ = classed_crowd(60)
    solution, expected = prove(placed(table, spark), find_classes=2), prove(table, find_classes=2)
    assert facts(solution) == facts(expected)
    assert solution.reading.classes == expected.reading.classes
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert verify(loaded, placed(table, spark)).reasons == ()
    assert plain(loaded.predict(placed(table, spark))) == plain(expected.predict(table))


def test_every_worker_is_a_class_of_its_own_as_in_any_other_table(spark):
    table, _ = classed_crowd(60, 6)
    solution = prove(placed(table, spark), each=True)
    assert facts(solution) == facts(prove(table, each=True))
    assert solution.reading.classes == tuple((str(worker), str(worker)) for worker in range(6))
    assert verify(solution, placed(table, spark)).reasons == ()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("array(label)", "the column 'label' is of type array<string>, .* cast it to string"),
        ("map(label, 1)", "the column 'label' is of type map<string,int>"),
        ("struct(label)", "the column 'label' is of type struct<label:string>"),
        ("CAST(label AS binary)", "the column 'label' is of type binary"),
        ("NULL", "the column 'label' is of type void"),
        ("to_variant_object(array(label))", "the column 'label' is of type variant"),
        ("IF(task = 0, parse_json('1'), parse_json('\"1\"'))", "the column 'label' is of type variant"),  # 1 and "1"
    ],
)
def test_a_column_of_the_wrong_type_is_named_with_what_to_do(spark, label, message):
    data = placed(to_arrow(ROWS), spark).selectExpr("task", "worker", f"{label} AS label")
    with pytest.raises(ColumnError, match=message):
        prove(data)


def test_bad_tables_of_spark_are_input_errors(spark):
    data = placed(to_arrow(ROWS), spark)
    with pytest.raises(ColumnError, match="no column named 'worker' for the worker; did you mean worker=\"annotator\""):
        prove(data.withColumnRenamed("worker", "annotator"))
    assert prove(data.withColumnRenamed("label", "a.label"), label="a.label").totals.n_responses == len(ROWS)
    with pytest.raises(ColumnError, match="the columns 'label', 'Label' differ in case only"):
        prove(data.selectExpr("*", "label AS Label"))
    with pytest.raises(InputError, match="no rows"):
        prove(data.limit(0))
    with pytest.raises(InputError, match="5 \\(task, worker\\) pairs occur more than once"):
        prove(data.union(placed(to_arrow(ROWS[:5]), spark)), duplicates="error")
    with pytest.raises(ClassError, match="10 classes cannot be found among 9 workers"):
        prove(data, find_classes=10)


def test_judges_of_any_names_and_only_the_rows_that_count(spark):
    odd = {"w0": "claude-3.5", "w1": "a `quoted` one", "w2": "task", "w3": "o.1"}
    table = wide(ROWS).rename(columns=odd | {"task": "an.id"})
    options = {"task": "an.id", "worker_columns": list(odd.values()), "where": "'claude-3.5' != no and an.id > 20"}
    here = aggregate(table, **options)
    there = aggregate(spark.createDataFrame(pa.Table.from_pandas(table, preserve_index=False)), **options)
    assert there.source.fingerprint == here.source.fingerprint
    assert there.source.about_export == here.source.about_export != ()
    assert {row["worker"] for row in there.workers().collect()} <= set(odd.values())
    with pytest.raises(InputError, match="are not read from Spark"):
        aggregate(spark.createDataFrame(to_arrow(ROWS)), time="label")


@pytest.mark.parametrize("seconds", [["3", "5", "12", "N/A", None], [3.0, 5.0, 12.0, float("nan"), None]])
def test_a_row_without_a_number_is_neither_more_nor_less(spark, seconds):
    cells = [(f"t{task}", f"w{n}", "yes" if task % 2 else "no", seconds[task]) for task in range(5) for n in range(3)]
    names = ("task", "worker", "label", "seconds")
    table = pa.table([pa.array(column) for column in zip(*cells, strict=True)], names=names)
    here, there = (prove(data, where="seconds >= 5") for data in (table, spark.createDataFrame(table)))
    assert there.source.fingerprint == here.source.fingerprint
    assert there.source.about_export == here.source.about_export
    assert there.source.about_export[0].endswith("; 6 rows have no number in 'seconds' and are left out")
