"""Labels and ids as people write them, by every way in: the same answers as from clean ones, and notes that say so."""

from __future__ import annotations

import json
from html import unescape

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import Consensus, GlobalOptimum, Solution, aggregate, compare, prove, verify
from crowdopt.errors import ClassError, DataWarning, InputError
from crowdopt.verify.verdict import Verdict
from support.servers import server
from support.ways import (
    BACKENDS,
    ROWS,
    WAYS,
    canonical,
    facts,
    plain,
    to_arrow,
    to_pandas,
    to_polars,
    to_text,
    wide,
)

SPELLINGS = ("{}", "{}", "{}", "{} ", "{}\u00a0", "\u2003{}\t")
CYRILLIC_YES = "y\u0435s"
TEXT_FILES = ["csv", "tsv", "xlsx", "jsonl"]


def dirty(rows, spellings=SPELLINGS):
    """The same rows with labels in several spellings, of which the clean one is the commonest."""
    found = []
    for at, (task, worker, label) in enumerate(rows):
        spelled = spellings[at % len(spellings)].format(label)
        found.append((task, worker, spelled.upper() if at % 7 == 6 else spelled))
    return found


def spelled(label: str, n: int) -> list[str]:
    return [SPELLINGS[at % len(SPELLINGS)].format(label) for at in range(n)]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "polars-enum"])
def test_labels_that_are_one_give_the_answers_of_clean_ones(way, tmp_path):
    found = prove(WAYS[way](dirty(ROWS), tmp_path), wide=way.startswith("wide"))
    assert facts(found) == facts(prove(to_pandas(ROWS)))
    (note,) = found.source.notes
    assert "were taken for one label, " in note
    assert "and so were spellings of 1 more label (" in note


def test_the_answers_have_the_commonest_spelling_in_the_type_of_the_column():
    rows = [(task, worker, label.upper()) for task, worker, label in ROWS]
    labels = sorted({label for *_, label in dirty(rows)})
    for data in (
        to_pandas(dirty(rows)),
        to_pandas(dirty(rows)).astype({"label": "category"}),
        to_polars(dirty(rows)).with_columns(pl.col("label").cast(pl.Categorical)),
        to_polars(dirty(rows)).with_columns(pl.col("label").cast(pl.Enum(labels))),
    ):
        answers = aggregate(data, scale="nominal").answers
        assert answers["label"].dtype == data["label"].dtype
        assert set(plain(answers)["label"]) <= {"YES", "NO"}


@pytest.mark.parametrize("kind", ["polars", "arrow", "pandas", "duckdb"])
def test_a_spelling_that_is_no_category_of_the_column_makes_the_answers_texts(kind):
    rows = [(task, worker, f"{label} ") for task, worker, label in ROWS]
    frame = to_polars(rows).with_columns(pl.col("label").cast(pl.Enum(["no ", "yes "])))
    pandas = to_pandas(rows).astype({"label": pd.CategoricalDtype(["no ", "yes "], ordered=True)})
    brought = {
        "polars": frame,
        "arrow": frame.to_arrow(),
        "pandas": pandas,
        "duckdb": duckdb.from_arrow(frame.to_arrow()),
    }
    found = prove(brought[kind])
    assert set(plain(found.answers)["label"]) == {"no", "yes"}
    assert found.scale.labels == ("no", "yes")


def test_ordered_categories_that_are_one_label_are_one_step_of_the_scale():
    kind = pd.CategoricalDtype(["low", "Low ", "mid", "HIGH", "high"], ordered=True)
    rows = [
        (task, worker, ("low", "low", "mid", "high", "high", "Low ")[at % 6])
        for at, (task, worker, _) in enumerate(ROWS)
    ]
    data = to_pandas(rows).astype({"label": kind})
    solution = aggregate(data)
    assert solution.scale.labels == ("low", "mid", "high")
    assert solution.scale.kind == "ordinal"
    assert verify(solution, data).verdict is Verdict.REPRODUCED


def test_an_ordered_category_is_an_answer_whatever_its_name():
    kind = pd.CategoricalDtype(["none", "some", "all"], ordered=True)
    rows = [(task, worker, ("none ", "some", "all")[(task + at) % 3]) for at, (task, worker, _) in enumerate(ROWS)]
    data = to_pandas([(task, worker, label.strip()) for task, worker, label in rows]).astype({"label": kind})
    solution = aggregate(data, tidy=True)
    assert solution.scale.labels == ("none", "some", "all")
    assert (solution.totals.n_dropped, solution.source.notes) == (0, ())


def test_labels_of_groups_are_rare_only_if_groups_share_them():
    rows = [
        (task, worker, f"{label}{task % 40}", task % 40) for task in range(600) for worker, label in enumerate("ab")
    ]
    odd = [(1, 9, "c1", 1), (2, 9, "c2", 2)]
    own = pd.DataFrame([*rows, *odd], columns=["task", "worker", "label", "batch"])
    assert aggregate(own, group="batch").source.notes == ()
    shared = own.assign(label=own["label"].str[0])
    (note,) = aggregate(shared, group="batch").source.notes
    assert note.startswith("'c' has 2 of 1,202 responses")


@pytest.mark.parametrize("way", ["pandas", "polars", "arrow", "duckdb", "csv", "parquet", "postgresql", "sqlite"])
def test_labels_as_they_are_if_that_is_wished(way, tmp_path):
    rows = [*ROWS, (900, "w1", "Yes"), (901, "w1", "yes "), (902, "w2", " ")]
    found = prove(WAYS[way](rows, tmp_path), verbatim=True, engine="vote")
    assert set(found.scale.labels) == {"no", "yes", "Yes", "yes ", " "}
    assert found.source.notes == ()


@pytest.mark.parametrize("way", ["pandas", "polars", "arrow", "duckdb", "csv", "postgresql", "sqlite"])
def test_blanks_alone_are_a_missing_label(way, tmp_path):
    data = WAYS[way]([*ROWS, (900, "w1", " \u00a0")], tmp_path)
    with pytest.raises(InputError, match=r"1 of \d+ rows is incomplete \(1 without a label\)"):
        prove(data, missing="error")
    solution = prove(data)
    assert (solution.totals.n_dropped, solution.totals.n_no_response) == (1, 1)


@pytest.mark.parametrize(
    "way", ["pandas", "polars", "arrow", "duckdb", "csv", "jsonl", "postgresql", "sqlite", "wide-csv"]
)
def test_look_alikes_and_missing_words_are_named_and_tidied_if_that_is_wished(way, tmp_path):
    odd = {3: CYRILLIC_YES, 8: "yes\u200b", 20: "N/A", 33: "none"}
    rows = [(task, worker, odd.get(at, label)) for at, (task, worker, label) in enumerate(ROWS)]
    clean = [(task, worker, {3: "yes", 8: "yes"}.get(at, label)) for at, (task, worker, label) in enumerate(ROWS)]
    clean = [(task, worker, None if at in {20, 33} else label) for at, (task, worker, label) in enumerate(clean)]
    wide = way.startswith("wide")
    data = WAYS[way](rows, tmp_path)
    found = aggregate(data, wide=wide)
    assert {CYRILLIC_YES, "yes\u200b", "N/A", "none"} <= set(found.scale.labels)
    assert sum("look alike" in note and r"'y\u0435s'" in note for note in found.source.notes) == 1
    assert sum("'N/A' (1 response) and 'none' (1 response) are labels here" in note for note in found.source.notes) == 1
    tidied = prove(data, wide=wide, tidy=True)
    expected = prove(to_pandas(clean), missing="drop")
    assert canonical(tidied) == canonical(expected)
    assert tidied.certificate == expected.certificate
    assert tidied.totals.n_dropped == (0 if wide else 2)  # an empty cell of a wide table is no row
    assert sum("were taken for missing labels" in note for note in tidied.source.notes) == 1


def test_tidying_excuses_no_other_gap():
    rows = [*to_arrow(ROWS).to_pylist(), {"task": 900, "worker": None, "label": "N/A"}]
    with pytest.raises(InputError, match=r"1 of \d+ rows is incomplete \(1 without a worker,"):
        prove(pa.Table.from_pylist(rows), tidy=True, missing="error")


def named_rows(rows):
    """The rows with texts as tasks, some ids with blanks around them."""
    return [
        (f"t{task}" + (" " if at % 5 == 0 else ""), ("\u00a0" if at % 4 == 0 else "") + worker, label)
        for at, (task, worker, label) in enumerate(rows)
    ]


CLEAN_NAMES = [(f"t{task}", worker, label) for task, worker, label in ROWS]


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


KNOWN = [("t0", "no"), ("t7", "yes"), ("t14", "no"), ("t21", "yes")]
DIRTY_KNOWN = [("t0 ", "NO"), ("t7", "yes\u00a0"), (" t14", "No"), ("t21", "yes"), ("t21 ", "YES ")]


def known_table(rows, path, kind):
    table = pa.table({"task": [task for task, _ in rows], "label": [label for _, label in rows]})
    if kind == "csv":
        table.to_pandas().to_csv(path / "known.csv", index=False)
        return str(path / "known.csv")
    if kind == "dict":
        return dict(rows)
    return BACKENDS[kind](table)


@pytest.mark.parametrize("kind", ["csv", "arrow", "pandas", "polars", "duckdb", "dict"])
@pytest.mark.parametrize("way", ["csv", "pandas", "duckdb-own", "postgresql"])
def test_gold_and_truth_are_read_alike(way, kind, tmp_path):
    if kind == "dict" and way == "duckdb-own":
        return
    data = WAYS[way](CLEAN_NAMES, tmp_path)
    given = known_table(DIRTY_KNOWN, tmp_path, kind)
    expected = prove(data, gold=known_table(KNOWN, tmp_path, "arrow"))
    found = prove(data, gold=given)
    assert found.reading.gold == tuple(sorted(KNOWN))
    assert facts(found) == facts(expected)
    if kind != "dict":
        assert prove(data, truth=given).accuracy == prove(data, truth=known_table(KNOWN, tmp_path, "arrow")).accuracy
        assert prove(data, truth=given).accuracy.n_tasks == 4


def test_known_tasks_with_blanks_are_those_of_a_frame_that_has_such_tasks():
    rows = [*CLEAN_NAMES, *[("t0 ", f"w{worker}", "yes") for worker in range(5)]]
    known = pd.DataFrame({"task": ["t0 ", "t7 "], "label": ["no", "no"]})
    found = prove(to_pandas(rows), gold=known)
    assert found.reading.gold == (("t0 ", "no"), ("t7", "no"))
    truth = prove(to_pandas(rows), truth=known)
    assert truth.accuracy.n_tasks == 2


def test_known_labels_as_they_are_if_that_is_wished(tmp_path):
    data = to_text(CLEAN_NAMES, tmp_path)
    for rows in ([("t0 ", "no")], [("t0", "NO")]):
        with pytest.raises(InputError, match=r"is not in the data|is not on the scale"):
            prove(data, verbatim=True, gold=pd.DataFrame(rows, columns=["task", "label"]))


def test_a_truth_that_says_one_thing_twice_is_no_contradiction(tmp_path):
    data = to_text(CLEAN_NAMES, tmp_path)
    with pytest.raises(InputError, match="two different labels"):
        prove(data, gold=pd.DataFrame([("t0", "no"), ("t0 ", "YES")], columns=["task", "label"]))


@pytest.mark.parametrize("way", ["csv", "pandas", "sqlite"])
def test_classes_are_read_alike(way, tmp_path):
    data = WAYS[way](CLEAN_NAMES, tmp_path)
    classes = {f"w{number}": "good" if number < 4 else "other" for number in range(9)}
    odd = {f" {worker}\u00a0": f"{name} " for worker, name in classes.items()}
    expected = prove(data, classes=classes)
    (tmp_path / "classes.csv").write_text("worker,class\n" + "".join(f"{w},{c}\n" for w, c in odd.items()))
    for given_classes in (odd, str(tmp_path / "classes.csv")):
        found = prove(data, classes=given_classes)
        assert facts(found) == facts(expected)
        assert [one.name for one in found.classes] == ["good", "other"]
        assert verify(found, data).verdict is Verdict.CONFIRMED
        with pytest.raises(ClassError, match="has no class"):
            prove(data, classes=given_classes, verbatim=True)
    with pytest.raises(ClassError, match="in two classes"):
        prove(data, classes={**classes, "w1 ": "other"})


@pytest.mark.parametrize("verb", [aggregate, prove])
@pytest.mark.parametrize("way", ["csv", "pandas", "postgresql"])
def test_verify_reads_the_data_in_the_same_way(verb, way, tmp_path):
    data = WAYS[way](named_rows(dirty(ROWS, (*SPELLINGS, "N/A"))) if way == "csv" else dirty(ROWS), tmp_path)
    for options in ({}, {"tidy": True}):
        solution = verb(data, **options)
        solution.save(tmp_path / "solution.json")
        solution.write(tmp_path / "answers.csv")
        assert Solution.load(tmp_path / "solution.json").reading == solution.reading
        found = verify(tmp_path / "solution.json", data, answers=tmp_path / "answers.csv")
        assert (found.verdict, found.reasons) == (Verdict.REPRODUCED if verb is aggregate else Verdict.CONFIRMED, ())
    kept = verb(data, verbatim=True, **({"engine": "vote"} if verb is prove else {}))
    kept.save(tmp_path / "solution.json")
    assert verify(tmp_path / "solution.json", data).verdict in {Verdict.REPRODUCED, Verdict.CONFIRMED}


@pytest.mark.parametrize("verb", [aggregate, prove])
def test_answers_are_the_same_in_another_spelling(verb, tmp_path):
    data = to_text(named_rows(dirty(ROWS)), tmp_path)
    solution = verb(data)
    answers = solution.answers.to_pandas()
    odd = answers.assign(task=answers["task"] + " ", label=answers["label"].str.upper() + "\u00a0")
    odd.to_csv(tmp_path / "answers.csv", index=False)
    assert verify(solution, data, answers=tmp_path / "answers.csv").reasons == ()
    assert verify(solution, data, answers=odd).reasons == ()
    other = odd.assign(label=odd["label"].where(odd.index != 3, "Maybe"))
    assert len(verify(solution, data, answers=other).reasons) == 1
    kept = verb(to_pandas(ROWS), verbatim=True)
    upper = kept.answers.assign(label=kept.answers["label"].str.upper())
    assert verify(kept, to_pandas(ROWS), answers=upper).verdict is Verdict.REJECTED


@pytest.mark.parametrize("verb", [aggregate, prove])
@pytest.mark.parametrize("way", ["csv", "pandas", "polars", "duckdb", "postgresql", "sqlite"])
def test_new_labels_are_spelled_as_the_solution_spells_them(verb, way, tmp_path):
    """Also where the new rows have another spelling more often."""
    solution = verb(to_pandas([(task, worker, label.title()) for task, worker, label in ROWS]))
    (tmp_path / "new").mkdir()
    clean = WAYS[way]([(task, worker, label.title()) for task, worker, label in ROWS], tmp_path)
    other = WAYS[way](dirty(ROWS), tmp_path / "new")
    assert plain(solution.predict(other)) == plain(solution.predict(clean))
    assert plain(solution.next_tasks(other, n=5)) == plain(solution.next_tasks(clean, n=5))
    with pytest.raises(InputError, match="not on the scale"):
        solution.predict(to_pandas([(1, "w1", "maybe ")]))


def test_workers_are_measured_against_the_same_labels(tmp_path):
    data = to_text(named_rows(dirty(ROWS)), tmp_path)
    found, expected = aggregate(data), aggregate(to_pandas(CLEAN_NAMES))
    assert plain(found.workers()) == plain(expected.workers())
    assert plain(found.workers(data)) == plain(expected.workers())


def test_estimators_take_the_choice():
    data = to_pandas(dirty(ROWS))
    assert sorted(Consensus().fit(data).priors_.index) == ["no", "yes"]
    assert len(Consensus(verbatim=True).fit(data).priors_) > 2


def test_an_estimator_knows_the_classes_of_its_workers():
    classes = {f"w{number}": "good" if number < 4 else "other" for number in range(9)}
    odd = {f"{worker} ": name for worker, name in classes.items()}
    found, expected = (GlobalOptimum(classes=given_classes).fit(to_pandas(ROWS)) for given_classes in (odd, classes))
    assert found.errors_.equals(expected.errors_)


def test_the_spelling_of_named_labels_wins_everywhere(tmp_path):
    for way in ("csv", "pandas", "postgresql"):
        found = prove(WAYS[way](dirty(ROWS), tmp_path), labels=["NO", "Yes"])
        assert found.scale.labels == ("NO", "Yes")
        assert set(plain(found.answers)["label"]) == {"NO", "Yes"}
    both = prove(to_pandas([*ROWS, (900, "w1", "Yes")]), labels=["no", "yes", "Yes"], engine="vote")
    assert both.totals.n_responses == len(ROWS) + 1
    assert plain(both.answers)["label"].count("Yes") == 1


def grouped(rows):
    """Two groups, each with a spelling of its own that is the commonest."""
    frame = to_pandas(CLEAN_NAMES)
    return pd.concat(
        [
            frame.assign(label=spelled_as(rows, str.upper), batch="a"),
            frame.assign(label=spelled_as(rows, str.title), batch="b"),
        ]
    )


def spelled_as(rows, case):
    return [case(label) + (" " if at % 3 == 1 else "") for at, (*_, label) in enumerate(rows)]


@pytest.mark.parametrize("verb", [aggregate, prove])
@pytest.mark.parametrize("kind", BACKENDS)
def test_each_group_has_its_own_spelling_as_if_it_were_alone(verb, kind):
    frame = grouped(ROWS)
    data = BACKENDS[kind](pa.Table.from_pandas(frame, preserve_index=False))
    found = verb(data, group="batch")
    for name, labels in (("a", ("NO", "YES")), ("b", ("No", "Yes"))):
        assert found[name].scale.labels == labels
        alone = verb(frame[frame["batch"] == name].drop(columns="batch"))
        assert canonical_labels(found, name) == dict(zip(*(alone.answers[c] for c in ("task", "label")), strict=True))
    assert len(found.source.notes) == 1
    assert verify(found, data).verdict in {Verdict.REPRODUCED, Verdict.CONFIRMED}


@pytest.mark.parametrize("lost", ["worker", "class", "task"])
def test_responses_that_are_left_out_do_not_choose_the_spelling_of_a_group(lost):
    """Most rows spell it Yes, most complete ones yes."""
    counted = [("yes", 3, False), ("Yes", 2, False), ("Yes", 3, True), ("no", 3, False)]
    rows = [
        {"task": f"t{at}", "worker": f"{label}{gone}", "class": "c", "label": label} | ({lost: None} if gone else {})
        for label, n, gone in counted
        for at in range(n)
    ]
    alone = prove(pd.DataFrame(rows), class_="class")
    frame = pd.DataFrame([row | {"batch": name} for name in "ab" for row in rows])
    found = prove(frame, group="batch", class_="class")
    assert {found[name].scale.labels for name in found} == {alone.scale.labels} == {("no", "yes")}


def canonical_labels(solutions, group):
    columns = plain(solutions.answers)
    rows = zip(columns["batch"], columns["task"], columns["label"], strict=True)
    return {task: label for name, task, label in rows if name == group}


def test_the_truth_of_groups_follows_each_group(tmp_path):
    frame = grouped(ROWS)
    answers = aggregate(frame, group="batch").answers
    truth = answers[["batch", "task", "label"]].assign(
        batch=answers["batch"] + " ", task=answers["task"] + "\u00a0", label=answers["label"].str.lower() + " "
    )
    assert aggregate(frame, group="batch", truth=truth).accuracy[None].value == 1.0


def test_tidying_works_by_group():
    frame = grouped(ROWS)
    odd = frame.assign(label=frame["label"].where(frame.index % 9 != 0, frame["label"] + "\u200b"))
    odd.iloc[4, odd.columns.get_loc("label")] = "n/a"
    found = aggregate(odd, group="batch", tidy=True)
    assert {name: found[name].scale.labels for name in found} == {"a": ("NO", "YES"), "b": ("No", "Yes")}
    assert found["a"].totals.n_dropped == 1
    assert any("(1 response) was taken for a missing label" in note for note in found.source.notes)


def test_scores_are_numbers_whatever_is_around_them(tmp_path):
    rows = [(task, worker, f"0.{task % 7}\u00a0" if at % 3 else "NA") for at, (task, worker, _) in enumerate(ROWS)]
    clean = [(task, worker, None if label == "NA" else label.strip()) for task, worker, label in rows]
    expected = prove(to_pandas(clean), bins=[0.3], missing="drop")
    for way in ("csv", "pandas", "polars", "duckdb", "sqlite"):
        data = WAYS[way](rows, tmp_path)
        found = prove(data, bins=[0.3], tidy=True)
        assert canonical(found) == canonical(expected)
        assert any("was taken for a missing label" in note for note in found.source.notes)
        with pytest.raises(InputError, match="'NA'; if that stands for a missing one"):
            prove(data, bins=[0.3])


@pytest.mark.parametrize("way", ["csv", "pandas", "duckdb"])
def test_tidying_makes_no_other_score_of_a_score(way, tmp_path):
    rows = [(task, worker, str(at % 50)) for at, (task, worker, _) in enumerate(ROWS)]
    wide = [(task, worker, label.translate({ord("4"): 0xFF14})) for task, worker, label in rows]
    assert canonical(prove(WAYS[way](wide, tmp_path), bins=4, tidy=True)) == canonical(prove(to_pandas(rows), bins=4))
    for odd in ("4\u00b2", "4\u2082", "1\u00bd", "4e\u00b9"):
        with pytest.raises(InputError, match=r"^bins needs scores: 1 of \d+ labels"):
            prove(WAYS[way]([*rows, (900, "w1", odd)], tmp_path), bins=4, tidy=True)


def test_postgresql_still_counts_by_itself():
    found = prove(server().load(to_arrow(dirty(ROWS))))
    assert found.source.on_server
    assert facts(found) == facts(prove(to_pandas(ROWS)))
    assert plain(found.workers()) == plain(prove(to_pandas(ROWS)).workers())


def test_numbers_and_truth_values_are_what_they_are(tmp_path):
    rows = [(task, worker, int(label == "yes")) for task, worker, label in ROWS]
    for way in ("pandas", "polars", "arrow", "duckdb", "jsonl", "parquet", "postgresql"):
        assert prove(WAYS[way](rows, tmp_path)).source.notes == ()
    many = [(task, f"w{worker}", 1 + (task + worker) % 2) for task in range(1000) for worker in range(3)]
    (note,) = aggregate(to_pandas([*many, (1, "w9", 99)])).source.notes
    assert note == "'99' has 1 of 3,001 responses; if it is a slip, --na 99 leaves it out"


OTHERS = [("t0", "no"), ("t7", "n/a"), ("t14", "N/A"), ("t21", "maybe"), ("nowhere", "a")]
NOT_GIVEN = "have a true label that no worker gave, such as 'N/A'; if it means that there is no answer, "


@pytest.mark.parametrize("kind", ["csv", "arrow", "duckdb"])
@pytest.mark.parametrize("verb", [aggregate, prove])
def test_true_labels_that_no_worker_gave_are_counted_in_words(verb, kind, tmp_path):
    truth = known_table(OTHERS, tmp_path, kind)
    with pytest.warns(DataWarning, match="of 4 tasks of known label, 3 have a true label that no worker gave"):
        solution = verb(to_text(CLEAN_NAMES, tmp_path), truth=truth)
    assert solution.accuracy.off_scale.n_tasks == solution.summary()["n_truth_off_scale"] == 3
    said = solution.words().facts["accuracy"]
    assert f'; of these, 3 {NOT_GIVEN}--na "N/A" leaves it out, and so does --tidy' in said
    assert 'na=["N/A"] leaves it out, and so does tidy=True' in unescape(solution._repr_html_())
    left = verb(to_text(CLEAN_NAMES, tmp_path), truth=truth, tidy=True)
    assert (left.accuracy.n_tasks, left.accuracy.off_scale.n_tasks) == (2, 1)
    assert "; of these, 1 has a true label that no worker gave, such as 'maybe'" in left.words().facts["accuracy"]
    assert verb(to_text(CLEAN_NAMES, tmp_path), truth=truth, na=["n/a"]).accuracy.n_tasks == 2


def test_true_labels_that_no_worker_of_a_group_gave_are_counted(tmp_path, crowdopt):
    frame = pd.concat([to_pandas(CLEAN_NAMES).assign(batch=batch) for batch in "ab"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    truth = pd.DataFrame([("a", *OTHERS[0]), ("a", *OTHERS[1]), ("b", *OTHERS[3]), ("b", *OTHERS[4])])
    truth.set_axis(["batch", "task", "label"], axis=1).to_csv(tmp_path / "truth.csv", index=False)
    found = aggregate(tmp_path / "data.csv", group="batch", truth=tmp_path / "truth.csv", jobs=1).accuracy
    assert [(name, one.off_scale.n_tasks, one.off_scale.example) for name, one in found.items()] == [
        ("a", 1, "n/a"),
        ("b", 1, "maybe"),
        (None, 2, "n/a"),
    ]
    options = ("--group", "batch", "--truth", tmp_path / "truth.csv", "--jobs", "1")
    assert "of these, 2 have a true label that no worker gave" in crowdopt("aggregate", tmp_path / "data.csv", *options)


def test_compare_tells_of_true_labels_that_no_worker_gave(tmp_path):
    found = compare(to_pandas(CLEAN_NAMES), truth=known_table(OTHERS, tmp_path, "arrow"), methods=["vote"])
    assert found.notes[-1].startswith(f"of 4 tasks of known label, 3 {NOT_GIVEN}")


NUMBERS = [(task, worker, at % 3 if at % 11 else 99) for at, (task, worker, _) in enumerate(ROWS)]


def test_numbers_for_a_missing_label_may_be_given_as_numbers():
    assert aggregate(to_pandas(NUMBERS), na=[99, 5.0]).reading.na == ("99", "5")
    assert aggregate(to_pandas(NUMBERS), na=[99]).scale.labels == ("0", "1", "2")


@pytest.mark.parametrize("na", [("99",), ("99.0", "x")])
@pytest.mark.parametrize(
    "way",
    ["csv", "pandas", "polars", "arrow", "duckdb", "jsonl", "parquet", "postgresql", "sqlite", "wide-pandas", "floats",
     "objects", "decimals", "categories"],
)  # fmt: skip
def test_numbers_that_stand_for_a_missing_label_are_missing_wherever_they_are(way, na, tmp_path):
    steps = pd.CategoricalDtype([0, 1, 2, 99], ordered=True)
    odd = {
        "floats": lambda: to_pandas(NUMBERS).astype({"label": float}),
        "objects": lambda: to_pandas(NUMBERS).astype({"label": object}),
        "categories": lambda: to_pandas(NUMBERS).astype({"label": steps}),
        "decimals": lambda: to_polars(NUMBERS).with_columns(pl.col("label").cast(pl.Decimal(9, 2))),
    }
    if na[0] == "99.0" and way in {"csv", "categories"}:
        return  # there it is another text
    data = odd[way]() if way in odd else WAYS[way](NUMBERS, tmp_path)
    without = to_pandas([(task, worker, None if label == 99 else str(label)) for task, worker, label in NUMBERS])
    found = prove(data, na=na, wide=way.startswith("wide"), engine="vote")
    assert found.scale.labels == ("0", "1", "2")
    assert canonical(found) == canonical(prove(without, engine="vote"))
    assert verify(found, data).verdict is Verdict.CONFIRMED
    assert found.source.on_server is (way == "postgresql")


@pytest.mark.parametrize("way", ["csv", "pandas", "polars", "arrow", "duckdb", "parquet", "postgresql"])
def test_truth_values_may_stand_for_a_missing_label(way, tmp_path):
    rows = [(task, worker, label == "yes") for task, worker, label in ROWS]
    rows = [(*ids, str(label)) for *ids, label in rows] if way == "csv" else rows
    assert aggregate(WAYS[way](rows, tmp_path), na=["True"], missing="drop-all").scale.n_labels == 1


@pytest.mark.parametrize("way", ["csv", "pandas", "parquet", "duckdb"])
def test_scores_that_stand_for_a_missing_label_are_missing_however_they_are_written(way, tmp_path):
    rows = [(task, worker, -1.0 if at % 9 == 0 else at % 50 / 10) for at, (task, worker, _) in enumerate(ROWS)]
    clean = [(task, worker, None if score < 0 else score) for task, worker, score in rows]
    found = prove(WAYS[way](rows, tmp_path), bins=5, na=["-1"])
    assert canonical(found) == canonical(prove(to_pandas(clean), bins=5))


@pytest.mark.parametrize("way", ["csv", "pandas", "polars", "duckdb", "postgresql", "sqlite"])
def test_all_spellings_of_a_text_for_a_missing_label_are_missing(way, tmp_path):
    odd = {5: "maybe", 9: "Maybe ", 17: "MAYBE", 21: "mayb\u0435"}
    rows = [(task, worker, odd.get(at, label)) for at, (task, worker, label) in enumerate(ROWS)]
    data = WAYS[way](rows, tmp_path)
    assert set(aggregate(data, na=["maybe"]).scale.labels) == {"no", "yes", odd[21]}
    assert set(aggregate(data, na=["maybe"], tidy=True).scale.labels) == {"no", "yes"}
    assert set(aggregate(data, na=["maybe"], verbatim=True).scale.labels) == {"no", "yes", *list(odd.values())[1:]}
    truth = pd.DataFrame({"task": [0, 7, 14], "label": ["no", "yes", "MAYBE"]})
    assert aggregate(data, na=["maybe"], truth=truth).accuracy.n_tasks == 2


def test_the_advice_for_a_rare_label_does_what_it_says():
    rows = [(task, f"w{worker}", ("yes", "no")[task % 2]) for task in range(1000) for worker in range(3)]
    rows += [(1, "w8", "maybe"), (2, "w8", "maybe"), (3, "w8", "Maybe")]
    merged, rare = aggregate(to_pandas(rows)).source.notes
    assert "were taken for one label, 'maybe'" in merged
    assert rare.endswith("--na maybe leaves it out")
    assert aggregate(to_pandas(rows), na=["maybe"]).scale.labels == ("no", "yes")


def test_labels_of_a_thousand_spellings_are_few_labels(tmp_path):
    rows = [
        (f"t{task}", f"w{worker}", ("yes", "no")[task % 2] + " " * (task + worker))
        for task in range(400)
        for worker in range(3)
    ]
    solution = aggregate(to_text(rows, tmp_path))
    assert solution.scale.labels == ("no", "yes")
    assert aggregate(to_text(rows, tmp_path), verbatim=True).scale.n_labels == 802


DIRTY = ["no", "yes", "Yes", "yes ", "NO", "n\u043e", "N/A", "yes\u200b"]
rows_of_labels = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.sampled_from(DIRTY)),
    min_size=3, max_size=30, unique_by=lambda row: row[:2],
)  # fmt: skip


@settings(max_examples=25)
@given(rows_of_labels, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_neither_answers_nor_notes(rows, tidy, random_order):
    rows = [*rows, (7, 1, "no")]  # one that is no missing label
    before = aggregate(to_polars(rows), tidy=tidy)
    random_order.shuffle(rows)
    after = aggregate(to_polars(rows), tidy=tidy)
    assert plain(after.answers) == plain(before.answers)
    assert after.source.notes == before.source.notes
    assert after.scale.labels == before.scale.labels


def test_a_whole_number_that_a_program_wrote_as_a_float_is_missing_too(tmp_path):
    rows = [(f"t{task}", f"w{worker}", float(task % 2)) for task in range(6) for worker in range(3)]
    frame = to_pandas([*rows, ("t0", "w9", 99.0)])
    frame.to_csv(tmp_path / "a.csv", index=False)  # which has 99.0
    for missing in ("99", "99.0"):
        assert aggregate(tmp_path / "a.csv", na=[missing]).scale.labels == ("0.0", "1.0")
        assert aggregate(frame, na=[missing]).scale.labels == ("0", "1")
    assert aggregate(tmp_path / "a.csv", na=["099"]).scale.n_labels == 3
    assert aggregate(tmp_path / "a.csv", na=["99"], verbatim=True).scale.n_labels == 3


@pytest.mark.parametrize("slip", ["x", "55", "n/a"])
def test_a_slip_that_makes_categories_of_ratings_says_so(slip, tmp_path):
    rows = [(f"t{task}", f"w{worker}", str(1 + task % 5)) for task in range(200) for worker in range(3)]
    found = aggregate(to_text([*rows, ("t0", "w9", slip)], tmp_path))
    (said,) = found.source.notes
    assert said.endswith("; the others alone are 5 ratings, 1 to 5")
    assert found.scale.kind == "nominal"
    assert aggregate(to_text([*rows, ("t0", "w9", slip)], tmp_path), na=[slip]).scale.kind == "ordinal"
    named = aggregate(to_text([*rows, ("t0", "w9", slip)], tmp_path), labels=[*"12345", slip])
    assert not any("ratings" in note for note in named.source.notes)


def test_labels_that_nobody_sees_are_left_out_with_a_word(tmp_path):
    rows = [(f"t{task}", f"w{worker}", "ab"[task % 2]) for task in range(6) for worker in range(3)]
    notes = aggregate(to_text([*rows, ("t0", "w9", "\u200b")], tmp_path), tidy=True).source.notes
    assert any("'\\u200b' (1 response) was taken for a missing label" in note for note in notes), notes


def demo(crowdopt, folder):
    """The crowd of the README, and the same with the dirt that real files have."""
    crowdopt(
        "simulate", "-o", "responses.csv", "--truth", "truth.csv", "--workers", "40", "--responses", "3-7",
        "--selectivity", "0.85,0.15", "--accuracy", "0.85", "--careless", "0.3", "--hard", "0.2", "--seed", "7",
        cwd=folder,
    )  # fmt: skip
    clean = pd.read_csv(folder / "responses.csv")
    chosen = np.random.default_rng(1)
    labels = clean["label"].tolist()
    for number, at in enumerate(chosen.choice(len(clean), 518, replace=False)):
        case, word = chosen.integers(2), chosen.choice(["N/A", "na", "none"])
        other_case = labels[at].upper() if case else labels[at].title()
        labels[at] = "maybe" if not number else f"{labels[at]} " if number < 6 else word if number < 18 else other_case
    clean.assign(label=labels).to_csv(folder / "dirty.csv", index=False)
    (folder / "truth_dirty.csv").write_text((folder / "truth.csv").read_text().replace("yes", "Yes "))


def test_dirt_hardly_changes_the_labels_and_the_notes_tell_of_it(program, tmp_path):
    demo(program, tmp_path)

    def accuracy(*arguments):
        found = program("aggregate", *arguments, "--truth", "truth_dirty.csv", "--json", cwd=tmp_path)
        assert found.returncode == 0
        return json.loads(found.stdout)["accuracy"]

    clean = accuracy("responses.csv")
    assert round(abs(accuracy("dirty.csv") - clean), 6) <= 0.002
    assert round(abs(accuracy("dirty.csv", "--tidy") - clean), 6) <= 0.002
    notes = aggregate(tmp_path / "dirty.csv").source.notes
    assert len(notes) == 3
    assert all(
        part in note
        for part, note in zip(
            ["were taken for one label", "are labels here", "'maybe' has 1 of 5,027"], notes, strict=True
        )
    )
