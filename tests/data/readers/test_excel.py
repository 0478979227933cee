import io
import sys
import zipfile
from datetime import datetime
from types import SimpleNamespace

import openpyxl
import pytest

from crowdopt.data.readers.open_files import read_files
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import ColumnError, InputError, MissingExtraError


@pytest.fixture
def workspace():
    with Workspace(threads=2) as opened:
        yield opened


def book(path, rows):
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    workbook.create_sheet("other").append(["not", "read"])
    workbook.save(path)
    return path


def read(sources, workspace, columns=None, **options):
    relation = read_files(sources, workspace, lambda available: list(columns or available), **options)
    return relation.columns, [str(one) for one in relation.types], sorted(relation.fetchall(), key=str)


def test_types_of_cells(tmp_path, workspace):
    path = book(
        tmp_path / "a.xlsx",
        [
            [],
            ["int", "real", "bool", "mix", "day", 2024, "none"],
            [1, 1, True, 3.0, datetime(2024, 5, 1), "a", None],  # noqa: DTZ001 - Excel has no zones
            [],
            [2.0, 1.5, False, "007", datetime(2024, 5, 1, 9, 30), None, None],  # noqa: DTZ001
            [None, None, None, True],
        ],
    )
    columns, types, rows = read([path], workspace)
    assert columns == ["int", "real", "bool", "mix", "day", "2024", "none"]
    assert types == ["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"]
    assert rows == [
        (1, 1.0, True, "3", "2024-05-01", "a", None),
        (2, 1.5, False, "007", "2024-05-01T09:30:00", None, None),
        (None, None, None, "true", None, None, None),
    ]


def test_from_standard_input(tmp_path, workspace, monkeypatch):
    data = book(tmp_path / "a.xlsx", [["a"], ["x"]]).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert read(["-"], workspace) == (["a"], ["VARCHAR"], [("x",)])


def test_mixed_with_csv(tmp_path, workspace):
    path = book(tmp_path / "a.xlsx", [["b", "a"], ["x", 1], ["y", 2]])
    other = book(tmp_path / "b.xlsx", [["a", "b"], [1.5, "z"]])
    text = tmp_path / "c.csv"
    text.write_text("a,b\n1,w\n")
    assert read([path, other], workspace)[2] == [("x", 1.0), ("y", 2.0), ("z", 1.5)]
    assert read([path, text], workspace, ["b"])[2] == [("w",), ("x",), ("y",)]
    with pytest.raises(ColumnError, match=r"column 'a' has numbers in .*a.xlsx and texts in .*c.csv; make"):
        read([path, text], workspace)


def test_bad_workbooks(tmp_path, workspace):
    data = book(tmp_path / "a.xlsx", [["a"], ["x"]]).read_bytes()
    bad = tmp_path / "bad.xlsx"
    bad.write_bytes(data[:1000])
    with pytest.raises(InputError, match=r"bad.xlsx is not a readable .xlsx file"):
        read([bad], workspace)
    with pytest.raises(InputError, match=r"empty.xlsx is empty"):
        read([book(tmp_path / "empty.xlsx", [])], workspace)
    with pytest.raises(InputError, match=r"a cell without a column name: 'z'"):
        read([book(tmp_path / "wide.xlsx", [["a"], ["x", None, "z"]])], workspace)
    with pytest.raises(ColumnError, match="2 columns named 'a'"):
        read([book(tmp_path / "twice.xlsx", [["a", "a"], [1, 2]])], workspace, ["a"])
    assert read([book(tmp_path / "none.xlsx", [["a", "b"]])], workspace)[2] == []


def test_missing_extra(tmp_path, workspace, monkeypatch):
    path = book(tmp_path / "a.xlsx", [["a"], ["x"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"reading .xlsx needs an optional package: .*crowdopt\[excel\]"):
        read([path], workspace)


def changed(path, member, change):
    """The workbook with one of its files changed."""
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    files[member] = change(files[member])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize("member", ["xl/worksheets/sheet1.xml", "xl/workbook.xml"])
def test_entities_are_refused(tmp_path, workspace, member):
    path = book(tmp_path / "a.xlsx", [["task", "worker", "label"], ["1", "ann", "yes"]])

    def with_entity(content):
        start = content.index(b"?>") + 2 if content.startswith(b"<?xml") else 0
        return content[:start] + b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + content[start:]

    with pytest.raises(InputError, match=r"a\.xlsx is not a readable \.xlsx file"):
        read([changed(path, member, with_entity)], workspace)


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is(tmp_path, workspace, monkeypatch):
    path = book(tmp_path / "a.xlsx", [["task", "worker", "label"], ["1", "ann", "yes"]])
    monkeypatch.setattr("crowdopt.data.readers.excel.LARGEST", 1_000_000)
    assert read([path], workspace)[2] == [("1", "ann", "yes")]
    changed(path, "xl/worksheets/sheet1.xml", lambda content: content + b" " * 1_000_000)
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match=r"a\.xlsx unpacks to more than 0 MiB, too much for memory"):
        read([path], workspace)
