"""The command that shows workers."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest

from crowdopt import Solution, prove
from support.printed import first_cells
from support.workers import with_odd_ones

# The command.


@pytest.fixture
def files(tmp_path):
    """A data file and a solution made from it."""
    data = with_odd_ones(1)
    data.to_csv(tmp_path / "data.csv", index=False)
    prove(tmp_path / "data.csv").save(tmp_path / "solution.json")
    return tmp_path / "solution.json", tmp_path / "data.csv"


def test_table_shows_the_worst_first_and_says_how_many_more(crowdopt, files):
    said = crowdopt("workers", *files)
    assert "44 workers, worst first" in said
    assert "and 24 more, better ones" in said
    assert "flagged: 1 same, 1 opposite, 1 chance, 1 unclear" in said
    lines = first_cells(said)
    assert len(lines) == 20
    assert lines[0] == "1002"  # the opposite of everyone
    assert set(lines[1:3]) == {"1000", "1001"}
    assert crowdopt("workers", *files, "-q") == ""


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_files_hold_what_the_library_says(crowdopt, files, tmp_path, suffix):
    solution, data = files
    targets = [tmp_path / f"{name}.{suffix}" for name in ("workers", "confusion")]
    said = crowdopt("workers", solution, data, "-o", targets[0], "--confusion", targets[1])
    assert str(targets[0]) in said
    tables = Solution.load(solution).workers(data), Solution.load(solution).confusion(data)
    for target, table in zip(targets, tables, strict=True):
        if suffix == "parquet":
            assert pq.read_table(target).to_pydict() == table.to_pydict()
            continue
        rows = (
            [json.loads(line) for line in target.read_text().splitlines()]
            if suffix == "jsonl"
            else list(csv.DictReader(target.read_text().splitlines(), delimiter="\t" if suffix == "tsv" else ","))
        )
        for row, expected in zip(rows, table.to_pylist(), strict=True):
            assert list(row) == list(expected)
            for name, value in expected.items():
                number = isinstance(value, float)
                assert (float(row[name]) if number else row[name]) in (
                    value,
                    str(value),
                    "" if value is None else value,
                )


def test_json_has_the_worst_with_their_confusion(crowdopt, files):
    facts = json.loads(crowdopt("workers", *files, "--json"))
    assert facts["n_workers"] == 44
    assert facts["flags"] == {"same": 1, "opposite": 1, "chance": 1, "unclear": 1}
    assert len(facts["worst"]) == 20
    worst = facts["worst"][0]
    assert (worst["worker"], worst["flag"]) == ("1002", "opposite")
    assert sum(n for row in worst["confusion"].values() for n in row.values()) == worst["n_responses"]
    highs = [row["accuracy_high"] for row in facts["worst"]]
    assert highs == sorted(highs)


def test_standard_output_gets_the_whole_table(crowdopt, files, tmp_path):
    crowdopt("workers", *files, "-o", tmp_path / "w.csv")
    assert crowdopt("workers", *files, "-o", "-") == (tmp_path / "w.csv").read_text()


BAD = {
    "other data": (["other.csv"], "not the responses that the solution was made from"),
    "no data": (["none.csv"], "none.csv"),
    "output over the data": (["data.csv", "-o", "data.csv"], "it is one of the inputs"),
    "confusion over the data": (["data.csv", "--confusion", "data.csv"], "it is one of the inputs"),
    "one file for two tables": (["data.csv", "-o", "w.csv", "--confusion", "w.csv"], "two results"),
    "a suffix nobody knows": (["data.csv", "-o", "w.xls"], "the name must end in"),
    "no such folder": (["data.csv", "-o", "none/w.csv"], "does not exist"),
    "two things on standard output": (["data.csv", "-o", "-", "--json"], "both print"),
    "missing column": (["columns.csv"], "no column named 'worker'"),
    "a label the scale lacks": (["labels.csv"], "not the responses"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_nothing_is_written(crowdopt, files, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    text = files[1].read_text()
    (tmp_path / "other.csv").write_text("task,worker,label\n1,2,0\n1,3,1\n")
    (tmp_path / "columns.csv").write_text(text.replace("worker", "who", 1))
    (tmp_path / "labels.csv").write_text(text + "1,5000,2\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    said = crowdopt("workers", "solution.json", *arguments, code=2)
    assert message in said
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_damaged_solution_is_an_error(crowdopt, files, tmp_path):
    (tmp_path / "damaged.json").write_text("{}")
    assert "not a crowdopt solution file" in crowdopt("workers", tmp_path / "damaged.json", files[1], code=2)
    assert "cannot read" in crowdopt("workers", tmp_path / "none.json", files[1], code=2)
