"""Names of tasks, workers, classes and groups as people write them, by every way in: what is done, and what is said."""

from __future__ import annotations

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import aggregate, prove, verify
from crowdopt.errors import DataWarning, InputError
from crowdopt.verify.verdict import Verdict
from support.dirty_labels import CLEAN_NAMES, TEXT_FILES, dirty, named_rows
from support.servers import server
from support.ways import (
    ROWS,
    WAYS,
    facts,
    plain,
    to_pandas,
    to_text,
    wide,
)


@pytest.mark.parametrize("way", TEXT_FILES)
def test_ids_of_text_files_lose_blanks(way, tmp_path):
    found = prove(WAYS[way](named_rows(ROWS), tmp_path))
    assert facts(found) == facts(prove(to_pandas(CLEAN_NAMES)))
    n_tasks, n_workers = (
        sum(row[at] != clean[at] for row, clean in zip(named_rows(ROWS), CLEAN_NAMES, strict=True)) for at in (0, 1)
    )
    (note,) = found.source.notes
    assert note == (
        f"blanks around the task in {n_tasks} rows and the worker in {n_workers} rows were taken away; "
        "--verbatim keeps them"
    )
    kept = prove(WAYS[way](named_rows(ROWS), tmp_path), verbatim=True)
    assert facts(kept) == facts(prove(to_pandas(named_rows(ROWS))))


@pytest.mark.parametrize(
    "way", ["pandas", "polars", "polars-lazy", "arrow", "duckdb", "duckdb-own", "parquet", "postgresql", "sqlite"]
)
def test_ids_elsewhere_stay_and_are_named(way, tmp_path):
    rows = [*CLEAN_NAMES, ("t0 ", "w3", "no"), ("T7", "W3", "no"), ("t7", "w3 ", "yes")]
    found = prove(WAYS[way](rows, tmp_path))
    assert {"t0", "t0 ", "T7", "t7"} <= set(plain(found.answers)["task"])
    by_worker, workers, by_task, tasks = found.source.notes
    assert by_worker.startswith("1 worker has blanks around the name, such as 'w3 '; only text files are trimmed")
    assert workers == (
        "3 workers differ from another one in case, blanks or Unicode form only, such as 'W3' and 'w3 ' (1 and 1 "
        "responses); they count as different workers: write them alike if they are one"
    )
    assert by_task.startswith("1 task has blanks around the name, such as 't0 '")
    assert tasks.startswith(
        "4 tasks differ from another one in case, blanks or Unicode form only, such as 'T7' and 't7';"
    )


@pytest.mark.parametrize("way", ["pandas", "csv", "duckdb", "postgresql"])
def test_classes_and_groups_that_may_be_one_are_named(way, tmp_path):
    frame = to_pandas(CLEAN_NAMES)
    frame["class"] = frame["worker"].map(lambda worker: "Good" if worker < "w2" else "good" if worker < "w5" else "bad")
    (tmp_path / "data.csv").write_text(frame.to_csv(index=False))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    data = {"pandas": frame, "csv": tmp_path / "data.csv", "duckdb": duckdb.from_arrow(table)}.get(way)
    data = server().load(table) if data is None else data
    counts = frame["class"].value_counts()
    said = (
        f" differ from another one in case, blanks or Unicode form only, such as 'Good' and 'good' ({counts['Good']} "
        f"and {counts['good']} responses); they count as different "
    )
    (by_class,) = prove(data, class_="class").source.notes
    assert by_class.startswith(f"2 classes{said}classes")
    (by_group,) = aggregate(data, group="class", jobs=1).source.notes
    assert by_group.startswith(f"2 groups{said}groups")
    given_classes = dict(zip(frame["worker"], frame["class"], strict=True))
    found = prove(data, classes=given_classes)
    assert found.source.notes == (by_class,)
    assert verify(found, data).verdict is Verdict.CONFIRMED
    assert prove(data, each=True).source.notes == ()


def test_verbs_that_read_again_give_no_advice_that_they_cannot_follow(tmp_path, crowdopt):
    rows = [*dirty(CLEAN_NAMES), *[(*row[:2], "no") for row in CLEAN_NAMES[:9]]]
    data = to_text(rows, tmp_path)
    solution = aggregate(data)
    assert any("--verbatim" in note for note in solution.source.notes)
    assert any("--duplicates" in note for note in solution.source.notes)
    solution.save(tmp_path / "s.json")
    for verb in ("workers", "predict", "next", "verify"):
        said = crowdopt(verb, tmp_path / "s.json", data)
        assert "were taken for one label" in said
        assert "--verbatim" not in said
        assert "--duplicates" not in said
    for call in (solution.predict, solution.next_tasks):
        with pytest.warns(DataWarning) as caught:
            call(data)
        assert not any("verbatim" in str(one.message) for one in caught)


@pytest.mark.parametrize("way", ["pandas", "csv", "postgresql"])
def test_workers_in_another_unicode_form_are_named(way, tmp_path):
    rows = [*CLEAN_NAMES, ("t1", "Ren\u00e9", "no"), ("t2", "Rene\u0301", "no")]
    (note,) = aggregate(WAYS[way](rows, tmp_path)).source.notes
    assert r"such as 'Rene\u0301' and 'Ren\xe9' (1 and 1 responses)" in note


def test_names_are_compared_letter_by_letter_wherever_they_are(tmp_path):
    """Some letters become others behind or before some, and some two: which, each library decides by itself."""
    tasks = ["\u0130x", "ix", "\u0131x", "IX", "\u03c3\u03b1\u03c2", "\u03a3\u0391\u03a3", "caf\u00e9", "CAFE\u0301"]
    rows = [(task, worker, "no") for task in tasks for worker in ("ann", "bob")] + [("a", "ann", "yes")]
    said = {aggregate(WAYS[way](rows, tmp_path)).source.notes for way in ("pandas", "polars", "arrow", "duckdb", "csv")}
    ((note,),) = said
    assert note.startswith("5 tasks differ from another one in case, blanks or Unicode form only, such as ")


def test_a_wide_table_has_cells(tmp_path):
    data = to_text([(f"t{at} ", "w1", "yes") for at in range(9)] + [("t0 ", "w2", "no")], tmp_path, shape=wide)
    (note,) = prove(data, wide=True, labels=["no", "yes"]).source.notes
    assert note.startswith("blanks around the task in 18 cells were taken away")


def test_what_tasks_lack_stands_in_one_bracket():
    rows = [*CLEAN_NAMES, ("t900", "w1", None)]
    gold = pd.DataFrame([("t0", "no")], columns=["task", "label"])
    assert "(1 of known label, 1 without a response)" in prove(to_pandas(rows), gold=gold).words().facts["tasks"]


def test_blanks_alone_are_no_task_in_a_text_file(tmp_path):
    data = to_text([*CLEAN_NAMES, ("  ", "w1", "no")], tmp_path)
    with pytest.raises(InputError, match="1 without a task"):
        prove(data, missing="error")
    assert (
        prove(to_pandas([*CLEAN_NAMES, ("  ", "w1", "no")])).totals.n_tasks == len({row[0] for row in CLEAN_NAMES}) + 1
    )


def test_groups_classes_and_columns_to_keep_follow_the_ids_of_a_text_file(tmp_path):
    frame = to_pandas(CLEAN_NAMES).assign(text=lambda d: d["task"].str.upper(), batch="b")
    frame["level"] = frame["worker"].map(lambda worker: "good" if worker < "w4" else "other")
    expected = [prove(frame, keep=["text"]), prove(frame, class_="level"), aggregate(frame, group="batch")]
    every_fifth = frame.index % 5 == 0
    for name in ("task", "level", "batch"):
        frame[name] = frame[name].where(~every_fifth, frame[name] + " ")
    frame.to_csv(tmp_path / "data.csv", index=False)
    data = str(tmp_path / "data.csv")
    found = [prove(data, keep=["text"]), prove(data, class_="level"), aggregate(data, group="batch")]
    for one, other in zip(found, expected, strict=True):
        assert plain(one.answers) == plain(other.answers)
    assert "the class in" in found[1].source.notes[0]
    assert "the group in" in found[2].source.notes[0]
