"""Rows that end before the header does, rows without anything in them, and the delimiter in the first line."""

from __future__ import annotations

import gzip

import pytest

import crowdopt
from crowdopt.data.readers.duckdb_errors import explain_errors
from crowdopt.data.readers.open_files import read_files
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import InputError

TURK = b"HITId,WorkerId,Answer.q,Approve,Reject\n"


@pytest.fixture
def read(tmp_path):
    """What is read of a file of these bytes: its columns, and its rows as they stand."""

    def read(data, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        with Workspace(threads=2) as workspace, explain_errors([path]):
            found = read_files([path], workspace, list, **options)
            return found.columns, found.fetchall()

    return read


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a,b,c\n1,2\n3,4\n", [("1", "2", None), ("3", "4", None)]),
        (b"a,b,c,d\n1,2\n\n3,4\n", [("1", "2", None, None), ("3", "4", None, None)]),
        (b'a,b,c\n1,"2\nx"\n3,""\n', [("1", "2\nx", None), ("3", None, None)]),
        (b"a\tb\tc\r\n1\t2\r\n", [("1", "2", None)]),
    ],
    ids=["one", "two", "quoted", "tab"],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_what_every_row_lacks_is_empty(read, data, rows, name):
    assert read(data, name)[1] == rows


def test_columns_that_no_row_has_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label,seconds,note\na,u,x\na,v,x\nb,u,y\nb,v,y\n")
    (note,) = crowdopt.aggregate(path).source.about_export
    assert note == f"{path}: all rows end before the last columns of the header, 'seconds', 'note'"


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"a,b,c\n1,2,3\n1,2\n", "a.csv, line 3: 2 fields, but the header has 3"),
        (b"a,b,c\n1,2\n1,2,3\n", "a.csv, line 2: 2 fields, but the header has 3"),
        (b"a,b,c,d\n1,2\n1,2,3\n", "a.csv, line 2: 2 fields, but the header has 4"),
        (b"a,b,c\n1\n2\n", "a.csv, line 2: 1 fields, but the header has 3"),
        (
            b"a,b,c\n" + b"1,2\n" * 1500 + b"1,2,3\n",
            "a.csv, line 1502: 3 fields, but the header has 3 and the rows before 2",
        ),
    ],
    ids=["among full ones", "before full ones", "uneven", "one field", "far below"],
)
def test_a_row_that_is_short_among_others_is_an_error(read, data, match):
    with pytest.raises(InputError, match=match):
        read(data)


def test_rows_of_mturk_may_end_before_what_the_requester_fills_in(read):
    rows = b'h1,w1,yes\nh1,w2,"no",x\nh2,w1,yes,,"too\nfast"\n,,,,\nh2,w2,""\n'
    assert read(TURK + rows)[1] == [
        ("h1", "w1", "yes", None, None),
        ("h1", "w2", "no", "x", None),
        ("h2", "w1", "yes", None, "too\nfast"),
        ("h2", "w2", None, None, None),
    ]


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (
            b"h1,w1,yes\nh2,w2\n",
            "a.csv: the row that begins with 'h2' ends before the column 'Answer.q'; is the file cut",
        ),
        (b"h1,w1,yes,x,y,z\n", "a.csv, line 2: 6 fields, but the header has 5"),
        (b'h1,w1,yes\nh2,w2,"n', "a.csv, line 3: a quote is not closed"),
    ],
    ids=["short", "long", "open"],
)
def test_a_file_of_mturk_that_is_cut_short_is_an_error(read, rows, match):
    with pytest.raises(InputError, match=match):
        read(TURK + rows)


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,2\n,\n,\n3,4\n,\n",
        b'a,b\n1,2\n"",""\n3,4\n',
        b"a,b\r\n,\r\n1,2\r\n3,4\r\n",
        b"a\tb\r1\t2\r\t\r3\t4",
        b'"a","b"\n"1","2"\n"",\n"3","4"',
    ],
    ids=["comma", "quoted", "crlf", "cr", "mixed"],
)
def test_rows_without_anything_in_them_are_no_rows(read, data):
    assert read(data) == (["a", "b"], [("1", "2"), ("3", "4")])


def test_a_row_with_anything_in_it_is_one(read):
    assert read(b"a,b,c\n,,x\n,,\n1,,\n")[1] == [(None, None, "x"), ("1", None, None)]


def test_blank_rows_are_seen_wherever_they_stand(read):
    """The file is looked over in chunks; here the blank row is moved over the end of one."""
    for length in range((1 << 18) - 16, (1 << 18) + 4):
        rows = read(b"a,b\n" + b"x" * length + b",1\n,\n2,3\n")[1]
        assert [len(a) for a, _ in rows] == [length, 1]


@pytest.mark.parametrize("line", [b"sep=;", b"SEP=;", b'"sep=;"', b"\xef\xbb\xbfsep=;"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_delimiter_may_be_named_by_the_first_line(read, line, end):
    text = line + end + b"a,b;c" + end + b"1,2;3" + end + b";" + end
    for options in ({}, {"delimiter": ";"}):
        assert read(text, **options) == (["a,b", "c"], [("1,2", "3")])


def test_a_file_that_only_names_its_delimiter_is_empty(read):
    with pytest.raises(InputError, match=r"a.csv is empty"):
        read(b"sep=;\n")
