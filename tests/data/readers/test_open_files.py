import gzip
import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdopt.data.readers.duckdb_errors import explain_errors
from crowdopt.data.readers.open_files import read_files
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import ColumnError, InputError

ABC = b"task,worker,label\nt1,w1,1\nt2,w1,2\n"
ROWS = [("t1", "w1", "1"), ("t2", "w1", "2")]


@pytest.fixture
def workspace():
    with Workspace(threads=2) as opened:
        yield opened


def rows(sources, workspace, columns=None, **options):
    relation = read_files(sources, workspace, lambda available: list(columns or available), **options)
    with explain_errors(sources):
        first = sorted(relation.fetchall(), key=str)
        assert sorted(relation.fetchall(), key=str) == first  # may be read again
    return first


def fails(sources, workspace, match, columns=None, error=InputError, **options):
    with pytest.raises(error, match=match) as caught:
        rows(sources, workspace, columns, **options)
    assert "\n" not in str(caught.value)
    assert "SELECT" not in str(caught.value)
    return str(caught.value)


def write(path, data):
    path.write_bytes(data)
    return path


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


def test_glob_is_sorted_and_matches_by_name(tmp_path, workspace):
    write(tmp_path / "b.csv", b"label,task,worker\n3,t3,w1\n")
    write(tmp_path / "a.csv", ABC)
    seen = []
    relation = read_files([str(tmp_path / "*.csv")], workspace, lambda names: seen.extend(names) or list(names))
    assert seen == ["task", "worker", "label"]
    assert relation.columns == seen
    assert sorted(relation.fetchall()) == [*ROWS, ("t3", "w1", "3")]


def test_glob_without_match(tmp_path, workspace):
    fails([tmp_path / "*.csv"], workspace, r"no file matches .*\*\.csv")


@pytest.mark.parametrize("name", ["a[1]*.csv", "it's; drop.csv", 'q"x.csv', "ünï?.csv", "k=v.csv"])
def test_odd_file_names(tmp_path, workspace, name):
    folder = tmp_path / "x=1 [y]"
    folder.mkdir()
    write(folder / name, ABC)
    write(folder / "a1.csv", b"other\n1\n")
    assert rows([folder / name], workspace) == ROWS


@pytest.mark.parametrize("name", ["a[1]*.parquet", "it's.pq"])
def test_odd_parquet_names(tmp_path, workspace, name):
    folder = tmp_path / "x=1"
    folder.mkdir()
    parquet(folder / "a1.parquet", a=[7])
    assert rows([parquet(folder / name, a=[1])], workspace) == [(1,)]


def test_missing_file_suggests_a_near_one(tmp_path, workspace):
    write(tmp_path / "answers.csv", ABC)
    fails([tmp_path / "anwsers.csv"], workspace, r"no such file: .*anwsers.csv; did you mean .*answers.csv\?")
    fails([tmp_path / "no" / "x.csv"], workspace, r"no such file: .*x.csv$")
    fails(["a\0b.csv"], workspace, "no such file|not a file name")
    fails([], workspace, "no file was named")


def test_folder(tmp_path, workspace):
    fails([tmp_path], workspace, r"is a folder; name its files")


def test_permission_denied_is_one_line(tmp_path, workspace, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path / "a.csv", ABC)
    monkeypatch.setattr(Path, "open", refuse)
    fails([path], workspace, "cannot read .*a.csv: Permission denied")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("a.json", "JSON Lines, one object per line, suffix .jsonl"),
        ("a.xls", "save it as .xlsx"),
        ("a.csv.bz2", "bzip2 is not read"),
        ("a.foo", r"these are read: \.csv"),
        ("noend", r"these are read: \.csv"),
        ("a.parquet.gz", "these are read"),
    ],
)
def test_unknown_suffix(tmp_path, workspace, name, match):
    fails([write(tmp_path / name, ABC)], workspace, match)


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        ("a.csv", b"\x89PNG\r\n\x1a\n123", "not a text file; it looks like a PNG"),
        ("a.csv", gzip.compress(ABC, mtime=0), "not a text file; it looks like a gzip"),
        ("a.jsonl", b"PK\x03\x04xx", "not a text file; it looks like an .xlsx"),
        ("a.csv", b"a,b\n1,\0\n" + b"2,3\n" * 20, "not a text file: it has NUL bytes"),
        ("a.parquet", ABC, "is not a Parquet file"),
        ("a.parquet", b"PAR1" + ABC, "damaged or cut short"),
        ("a.parquet", b"PAR1", "damaged or cut short"),
        ("a.xlsx", ABC, "is not a .xlsx file"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0", "password-protected"),
        ("a.csv.gz", ABC, "is not a gzip file"),
        ("a.csv.zst", ABC, "is not a Zstandard file"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.parquet", b"", "a.parquet is empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "a.csv.gz is empty"),
        ("a.csv.gz", gzip.compress(ABC, mtime=0)[:15], "damaged or cut short"),
        ("a.csv.gz", gzip.compress(ABC, mtime=0)[:12] + b"\xff" * 20, "damaged or cut short"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 20, "damaged or cut short"),
        ("a.csv", b"\n\n", "a.csv is empty"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "--encoding utf-16$"),
        ("a.csv", "a,b\n1,2\n".encode("utf-32"), "--encoding utf-32$"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), "--encoding utf-16-le"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-be"), "--encoding utf-16-be"),
    ],
    ids=[
        "png", "gzip", "zip", "nul", "no-parquet", "parquet-start", "parquet-magic", "no-xlsx", "xls", "no-gzip",
        "no-zstd", "empty", "empty-parquet", "empty-gzip", "cut-gzip", "bad-gzip", "bad-zstd", "blank", "utf-16",
        "utf-32", "utf-16-le", "utf-16-be",
    ],
)  # fmt: skip
def test_content_is_not_what_the_suffix_says(tmp_path, workspace, name, data, match):
    assert name in fails([write(tmp_path / name, data)], workspace, match)


def test_stdin(monkeypatch, workspace, tmp_path):
    jsonl = b'\n{"task": "t1", "worker": "w1", "label": "1"}\n{"task": "t2", "worker": "w1", "label": "2"}\n'
    table = parquet(tmp_path / "a.pq", task=["t1", "t2"], worker=["w1", "w1"], label=["1", "2"]).read_bytes()
    for data in (
        ABC,
        ABC.replace(b",", b"\t"),
        jsonl,
        table,
        gzip.compress(ABC, mtime=0),
        gzip.compress(jsonl, mtime=0),
        zstd(ABC),
    ):
        stdin(monkeypatch, data)
        assert rows(["-"], workspace) == ROWS
    stdin(monkeypatch, jsonl.decode().encode("utf-16"))
    assert rows(["-"], workspace, encoding="utf-16") == ROWS


def test_bad_stdin(monkeypatch, workspace):
    stdin(monkeypatch, b"")
    fails(["-"], workspace, "^standard input is empty")
    stdin(monkeypatch, b"a,b\n1,2\n3\n")
    fails(["-"], workspace, "^standard input, line 3: 1 fields, but the header has 2")
    fails(["-", "-"], workspace, "only once")


def test_named_pipe(tmp_path, workspace):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'a,b\\n1,2\\n' > {pipe}"]):
        assert rows([pipe], workspace) == [("1", "2")]


def test_kinds_may_be_mixed(tmp_path, workspace):
    table = parquet(tmp_path / "a.parquet", label=["2"], worker=["w1"], task=["t2"])
    text = write(tmp_path / "a.csv", b"task,worker,label\nt1,w1,1\n")
    assert rows([text, table], workspace) == ROWS


def test_types_must_agree(tmp_path, workspace):
    table = parquet(tmp_path / "a.parquet", a=[1])
    text = write(tmp_path / "a.csv", b"a\n1\n")
    match = r"column 'a' has texts in .*a.csv and numbers in .*a.parquet"
    fails([text, table], workspace, match, error=ColumnError)


def test_numbers_of_different_types_become_one(tmp_path, workspace):
    small = parquet(tmp_path / "small.parquet", a=pa.array([1], "int8"))
    whole = parquet(tmp_path / "whole.parquet", a=[2])
    real = parquet(tmp_path / "real.parquet", a=[1.5])
    none = parquet(tmp_path / "none.parquet", a=pa.nulls(1))
    assert rows([small, whole], workspace) == [(1,), (2,)]
    assert rows([whole, real, none], workspace) == [(1.5,), (2.0,), (None,)]
    assert rows([none], workspace) == [(None,)]
    text = parquet(tmp_path / "text.parquet", a=["x"])
    assert rows([none, text], workspace) == [("x",), (None,)]
    large = parquet(tmp_path / "large.parquet", a=[2**53 + 1])
    fails([real, large], workspace, "^column 'a' has fractions in one file")


def test_columns_must_be_in_all_files(tmp_path, workspace):
    first = write(tmp_path / "a.csv", b"a,b\n1,2\n")
    second = write(tmp_path / "b.csv", b"a,c\n3,4\n")
    assert rows([first, second], workspace, ["a"]) == [("1",), ("3",)]
    fails([first, second], workspace, r"b.csv has no column 'b', but .*a.csv has", error=ColumnError)


def test_columns_that_differ_in_case(tmp_path, workspace):
    path = write(tmp_path / "a.csv", b"Label,label\n1,2\n")
    assert rows([path], workspace, ["label"]) == [("2",)]
    said = r"a\.csv: columns 'Label' and 'label' differ only in upper and lower case"
    fails([path], workspace, said, error=ColumnError)
    other = write(tmp_path / "b.csv", b"LABEL,x\n1,2\n")
    fails([path, other], workspace, said, error=ColumnError)


def test_parquet_keeps_types_and_refuses_nesting(tmp_path, workspace):
    path = parquet(tmp_path / "a.parquet", a=[7], b=["007"], c=[[1]], d=[{"x": 1}], e=[True])
    relation = read_files([path], workspace, lambda _: ["e", "b", "a"])
    assert [str(one) for one in relation.types] == ["BOOLEAN", "VARCHAR", "BIGINT"]
    fails([path], workspace, r"column 'c' of .*a.parquet is nested \(BIGINT\[\]\)", ["c"], ColumnError)
    fails([path], workspace, r"column 'd' .*STRUCT", ["d"], ColumnError)


def test_damaged_parquet(tmp_path, workspace):
    path = parquet(tmp_path / "a.parquet", a=list(range(10000)), b=[str(i) for i in range(10000)])
    data = path.read_bytes()
    fails(
        [write(tmp_path / "b.parquet", data[:4] + b"\xff" * 300 + data[304:])],
        workspace,
        r"cannot read .*b.parquet",
    )
    fails(
        [write(tmp_path / "c.parquet", data[:-40] + b"\xff" * 32 + data[-8:])],
        workspace,
        r"cannot read .*c.parquet",
    )


def test_numeric(tmp_path, workspace):
    path = write(tmp_path / "a.csv", b"a,b,c,d\n10,1,,x\n9.5, 2e3 ,,1\n,-.5,,2\n")
    relation = read_files([path], workspace, list, numeric="a")
    assert [str(one) for one in relation.types] == ["DOUBLE", "VARCHAR", "VARCHAR", "VARCHAR"]
    assert min(relation.fetchall(), key=str) == (10.0, "1", None, "x")
    for name, kind in {"b": "DOUBLE", "c": "VARCHAR", "d": "VARCHAR"}.items():
        assert str(read_files([path], workspace, lambda _, name=name: [name], numeric=name).types[0]) == kind
    for cell in (b"1_000", b"nan", b"inf", b"1,5"):
        write(path, b'a\n1\n"' + cell + b'"\n')
        assert str(read_files([path], workspace, list, numeric="a").types[0]) == "VARCHAR"


def test_whole_numbers_are_read_exactly(tmp_path, workspace):
    path = write(tmp_path / "a.csv", b"a\n9007199254740993\n 9007199254740992\n+7\n-8\n")
    relation = read_files([path], workspace, list, numeric="a")
    assert [str(one) for one in relation.types] == ["BIGINT"]
    assert sorted(relation.fetchall()) == [(-8,), (7,), (2**53,), (2**53 + 1,)]
    write(path, b"a\n7\n8.5\n")
    assert sorted(read_files([path], workspace, list, numeric="a").fetchall()) == [(7.0,), (8.5,)]
    write(path, b"a\n7\n99999999999999999999\n")
    assert str(read_files([path], workspace, list, numeric="a").types[0]) == "DOUBLE"


def test_names_cannot_inject(tmp_path, workspace):
    name = """x"'); drop table y; --"""
    for path in (
        parquet(tmp_path / "a.parquet", **{name: ["v"]}),
        write(tmp_path / "a.csv", b'"x""\'); drop table y; --",b\nv,w\n'),
        write(tmp_path / "a.jsonl", b'{"x\\"\'); drop table y; --": "v"}\n'),
    ):
        assert rows([path], workspace, [name], numeric=name) == [("v",)]


def test_out_of_memory_and_disk(monkeypatch):
    def connected(setting):  # those of a workspace are locked once it is there
        def with_setting(path, config):
            connection = connect(path, config=config)
            connection.execute(setting)
            return connection

        monkeypatch.setattr(duckdb, "connect", with_setting)

    connect = duckdb.connect
    big = "SELECT count(DISTINCT x) FROM (SELECT md5(i::VARCHAR) AS x FROM range(3000000) t(i))"
    connected("SET temp_directory = ''")
    with (
        Workspace(memory_limit="30MB", threads=1) as workspace,
        pytest.raises(InputError, match=r"^out of memory; raise --memory-limit"),
        explain_errors(["a.csv"]),
    ):
        workspace.sql(big).fetchall()
    connected("SET max_temp_directory_size = '1MB'")
    with (
        Workspace(memory_limit="30MB", threads=1) as workspace,
        pytest.raises(InputError, match=r"^the disk that holds temporary files is full"),
        explain_errors(["a"]),
    ):
        workspace.sql(big).fetchall()


def test_explained_errors(workspace):
    with pytest.raises(InputError, match="one of the 2 files has a value"), explain_errors(["a", "b"]):
        workspace.sql("SELECT x::INTEGER FROM (VALUES ('z')) t(x)").fetchall()
    with pytest.raises(duckdb.BinderException), explain_errors(["a"]):
        workspace.sql("SELECT nothing")


def test_heavy_packages_are_not_imported(tmp_path):
    parquet(tmp_path / "a.parquet", a=[1])
    write(tmp_path / "a.csv", b"a\n1\n")
    write(tmp_path / "a.jsonl", b'{"a": 1}\n')
    code = (
        "import sys; from crowdopt.data.readers.open_files import read_files\n"
        "from crowdopt.data.tables.workspace import Workspace\n"
        f"for end in 'parquet', 'csv', 'jsonl':\n"
        f"    read_files([{str(tmp_path)!r} + '/a.' + end], Workspace(), list)\n"
        "assert not {'pandas', 'pyarrow', 'openpyxl'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
