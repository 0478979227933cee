"""Known, true and new labels, those of groups, and answers to be verified: spelled as the responses spell them."""

from __future__ import annotations

from html import unescape

import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import Consensus, GlobalOptimum, Solution, aggregate, compare, prove, verify
from crowdopt.errors import ClassError, DataWarning, InputError
from crowdopt.verify.verdict import Verdict
from support.dirty_labels import CLEAN_NAMES, SPELLINGS, dirty, named_rows
from support.ways import (
    BACKENDS,
    ROWS,
    WAYS,
    facts,
    plain,
    to_pandas,
    to_text,
)

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
