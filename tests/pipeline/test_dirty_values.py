"""Labels and ids as people write them, by every way in: the same answers as from clean ones, and notes that say so."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import aggregate, prove, verify
from crowdopt.errors import InputError
from crowdopt.verify.verdict import Verdict
from support.dirty_labels import CYRILLIC_YES, dirty
from support.ways import (
    ROWS,
    WAYS,
    canonical,
    facts,
    plain,
    to_pandas,
    to_polars,
    to_text,
)


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


def test_the_spelling_of_named_labels_wins_everywhere(tmp_path):
    for way in ("csv", "pandas", "postgresql"):
        found = prove(WAYS[way](dirty(ROWS), tmp_path), labels=["NO", "Yes"])
        assert found.scale.labels == ("NO", "Yes")
        assert set(plain(found.answers)["label"]) == {"NO", "Yes"}
    both = prove(to_pandas([*ROWS, (900, "w1", "Yes")]), labels=["no", "yes", "Yes"], engine="vote")
    assert both.totals.n_responses == len(ROWS) + 1
    assert plain(both.answers)["label"].count("Yes") == 1


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
