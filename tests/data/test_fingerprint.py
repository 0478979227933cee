"""The digest of responses: one for the same rows from everywhere, another for any other rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdopt import prove, verify
from crowdopt.data.groups import load_groups
from crowdopt.data.reading import Reading
from crowdopt.data.tables import table as tables
from crowdopt.errors import InputError
from crowdopt.verify.verdict import Verdict
from support.digests import defined, digest_from
from support.servers import server
from support.ways import BACKENDS, NAMES, ROWS, WAYS, to_arrow, to_pandas, to_text

ODD = [(task, worker.replace("w", "ŵ 🙂"), label) for task, worker, label in ROWS]
"""Workers whose characters are not bytes."""

OTHER_NAMES = "tasks or workers have other names"


def exchanged(rows, column: int, one, other) -> list[tuple]:
    """The rows with two names of a column exchanged."""
    names = {one: other, other: one}
    return [tuple(names.get(value, value) if at == column else value for at, value in enumerate(row)) for row in rows]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_digest_of_the_definition(way, tmp_path):
    rows = ODD[::-1] if len(way) % 2 else ODD
    assert digest_from(WAYS[way](rows, tmp_path), wide=way.startswith("wide")) == defined(ODD)


TYPES = {
    "int": [7, -1, 2**62],
    "whole": [7.0, -1.0, 2.0**52],
    "fraction": [0.1, 1.5e-5, 1e-7, 123456789.125, 1.5e300, 2.0**53 + 2],
    "single": pa.array([0.5, 0.1, 7], pa.float32()),
    "decimal": [Decimal("7.00"), Decimal("-1.50"), Decimal("100.00")],
    "bool": [True, False],
    "date": [dt.date(2024, 5, 1), dt.date(2024, 5, 2)],
    "time": [dt.datetime(2024, 5, 1, 9, 30), dt.datetime(2024, 5, 1, 9, 30, 0, 500)],  # noqa: DTZ001
    "text": ["7", "007", "ö"],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", TYPES)
def test_a_value_counts_as_its_canonical_text(kind, backend):
    values = pa.array(TYPES[kind])
    rows = [(value, "w", label) for value, label in zip(values.to_pylist(), "xyxyxy", strict=False)]
    columns = {"task": values, "worker": ["w"] * len(rows), "label": [label for *_, label in rows]}
    assert digest_from(BACKENDS[backend](pa.table(columns))) == defined(rows)
    columns |= {"task": columns["worker"], "worker": columns["task"]}
    assert digest_from(BACKENDS[backend](pa.table(columns))) == defined(
        [(worker, task, label) for task, worker, label in rows]
    )


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_objects_of_pandas_count_as_what_they_hold(missing):
    rows = [(Decimal("1.0"), 7, True), (Decimal("2.5"), 8, False), (Decimal(3), 9, missing)]
    data = pd.DataFrame(rows, columns=NAMES, dtype=object)
    assert digest_from(data, missing="drop") == defined(rows[:2])


@pytest.mark.parametrize("backend", ["pandas", "pandas-pyarrow", "polars", "polars-lazy", "arrow"])
def test_tables_in_memory_are_read_batch_by_batch(backend, monkeypatch):
    monkeypatch.setattr(tables, "BATCH", 7)
    assert digest_from(BACKENDS[backend](to_arrow(ODD))) == defined(ODD)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["x", "ü", "1 1"])), min_size=1, max_size=20))
def test_any_texts_have_the_digest_of_the_definition(rows):
    assert digest_from(to_pandas(rows), duplicates="all") == defined(rows)


def test_other_rows_have_another_digest(tmp_path):
    rows = [("ab", "cd", "x"), ("ab", "e", "y"), ("f", "cd", "y"), ("g", "e", "x")]
    others = {
        "as they are": rows,
        "two tasks exchanged": exchanged(rows, 0, "ab", "f"),
        "two workers exchanged": exchanged(rows, 1, "cd", "e"),
        "two labels exchanged": exchanged(rows, 2, "x", "y"),
        "answers of two workers exchanged": [("ab", "e", "x"), ("ab", "cd", "y"), *rows[2:]],
        "a character moved": [("a", "bcd", "x"), *rows[1:]],
        "a character moved to the label": [("ab", "c", "dx"), *rows[1:]],
        "a row repeated": [*rows, rows[0]],
        "another row repeated": [*rows, rows[1]],
        "a row less": rows[1:],
    }
    digests = {name: digest_from(to_text(them, tmp_path), duplicates="all") for name, them in others.items()}
    assert len(set(digests.values())) == len(others)
    assert digests == {name: defined(them) for name, them in others.items()}


@pytest.mark.parametrize("way", ["pandas", "polars-lazy", "csv", "postgresql"])
def test_what_is_not_counted_is_not_in_it(way, tmp_path):
    rows = [(f"t{task}", worker, label) for task, worker, label in ODD]
    incomplete = [(None, "v", "yes"), ("u1", None, "yes"), ("u2", "v", None), ("u3", "v", "?")]
    data = WAYS[way]([*rows, *rows[:5], *incomplete], tmp_path)
    assert digest_from(data, missing="drop", duplicates="same", na=("?",)) == defined(rows)
    assert digest_from(data, missing="drop", duplicates="all", na=("?",)) == defined([*rows, *rows[:5]])


def test_a_server_sums_the_digests_of_all_types_that_it_counts(monkeypatch):
    """No row comes over."""
    database = server()
    monkeypatch.setattr("crowdopt.data.readers.database_rows.RowsLater.__arrow_c_stream__", None)
    values = (
        "(1, 'ö1', true, 'a'), (-2, 'ö1', false, 'a'), (3, 'ü2', true, 'b'), (4, 'ü2', NULL, 'a'), (5, 'v', true, NULL)"
    )
    database.run(
        "DROP TABLE IF EXISTS of_types",
        "CREATE TABLE of_types (task int2, worker char(6), label bool, class text)",
        f"INSERT INTO of_types VALUES {values}",
        "SELECT 1",
    )
    table = type(database.load(to_arrow(ROWS)))(database.address, table="of_types")
    assert digest_from(table, class_column="class", missing="drop") == defined(
        [(1, "ö1", "true"), (-2, "ö1", "false"), (3, "ü2", "true")]
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_group_has_the_digest_of_its_rows(backend):
    rows = {"a": ODD, "b": exchanged(ODD, 0, 0, 7), "c": ROWS[:9]}
    parts = [to_arrow(them).append_column("group", pa.array([name] * len(them))) for name, them in rows.items()]
    source = load_groups(BACKENDS[backend](pa.concat_tables(parts)), Reading(group="group"), None)
    assert {name: one.digest for name, one in source.groups.items()} == {name: defined(rows[name]) for name in rows}


@pytest.mark.parametrize(("column", "names"), [(0, (0, 7)), (1, ("w1", "w2"))], ids=["tasks", "workers"])
def test_exchanged_names_are_rejected(column, names, tmp_path):
    data = to_text(ROWS, tmp_path)
    prove(data).save(tmp_path / "solution.json")
    assert verify(tmp_path / "solution.json", data).verdict is Verdict.CONFIRMED
    other = to_pandas(exchanged(ROWS, column, *names))
    rejected = verify(tmp_path / "solution.json", other)
    assert rejected.verdict is Verdict.REJECTED
    assert OTHER_NAMES in rejected.reasons[0]
    with pytest.raises(InputError, match="not the responses that the solution was made from"):
        prove(data).workers(other)


def test_exchanged_names_of_gold_tasks_and_of_groups_are_rejected():
    gold = {0: "yes", 7: "no"}
    alike = [row for row in ROWS if row[0] not in gold] + [(task, f"w{n}", "yes") for task in gold for n in range(3)]
    rows = [*alike, (0, "w4", "no"), (7, "w5", "no")]
    solution = prove(to_pandas(rows), gold=gold)
    other = verify(solution, to_pandas(exchanged(rows, 1, "w4", "w5")))
    assert (other.verdict, OTHER_NAMES in other.reasons[0]) == (Verdict.REJECTED, True)
    grouped = prove(to_pandas(ROWS).assign(part=1), group="part")
    other = verify(grouped, to_pandas(exchanged(ROWS, 0, 0, 7)).assign(part=1))
    assert other.verdict is Verdict.REJECTED
    assert other.reasons[0].startswith("group 1: ")
    assert OTHER_NAMES in other.reasons[0]
