"""Labels that are numbers or truth values, scores, and what stands for a missing label among them."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdopt import aggregate, prove, verify
from crowdopt.errors import InputError
from crowdopt.verify.verdict import Verdict
from support.dirty_labels import dirty
from support.servers import server
from support.ways import (
    ROWS,
    WAYS,
    canonical,
    facts,
    plain,
    to_arrow,
    to_pandas,
    to_polars,
)


def test_tidying_excuses_no_other_gap():
    rows = [*to_arrow(ROWS).to_pylist(), {"task": 900, "worker": None, "label": "N/A"}]
    with pytest.raises(InputError, match=r"1 of \d+ rows is incomplete \(1 without a worker,"):
        prove(pa.Table.from_pylist(rows), tidy=True, missing="error")


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


def test_a_whole_number_that_a_program_wrote_as_a_float_is_missing_too(tmp_path):
    rows = [(f"t{task}", f"w{worker}", float(task % 2)) for task in range(6) for worker in range(3)]
    frame = to_pandas([*rows, ("t0", "w9", 99.0)])
    frame.to_csv(tmp_path / "a.csv", index=False)  # which has 99.0
    for missing in ("99", "99.0"):
        assert aggregate(tmp_path / "a.csv", na=[missing]).scale.labels == ("0.0", "1.0")
        assert aggregate(frame, na=[missing]).scale.labels == ("0", "1")
    assert aggregate(tmp_path / "a.csv", na=["099"]).scale.n_labels == 3
    assert aggregate(tmp_path / "a.csv", na=["99"], verbatim=True).scale.n_labels == 3
