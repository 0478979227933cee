import csv
import gzip

import pyarrow as pa
import pytest

from crowdopt.data.readers import csv_quotes as quotes
from crowdopt.data.readers.duckdb_errors import explain_errors
from crowdopt.data.readers.files import InputFile
from crowdopt.data.readers.open_files import read_files
from crowdopt.data.tables.workspace import Workspace
from crowdopt.errors import ColumnError, InputError


@pytest.fixture
def workspace():
    with Workspace(threads=2) as opened:
        yield opened


def read(path, workspace, columns=None, **options):
    relation = read_files([path], workspace, lambda available: list(columns or available), **options)
    with explain_errors([path]):
        return relation.columns, sorted(relation.fetchall(), key=str)


def write(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "columns", "rows"),
    [
        (b'a,b,c\n007, x ,NA\n"",,"q""x"\n', ["a", "b", "c"], [("007", " x ", "NA"), (None, None, 'q"x')]),
        (b"a,b\r\n1,2\r\n", ["a", "b"], [("1", "2")]),
        (b"a,b\r1,2\r", ["a", "b"], [("1", "2")]),
        (b"a;b,c\n1;2\n", None, None),
        (b"a;b;c,d\n1;2;3\n", ["a", "b", "c,d"], [("1", "2", "3")]),
        (b"a\tb\n1\t2\n", ["a", "b"], [("1", "2")]),
        (b"a|b\n1|2", ["a", "b"], [("1", "2")]),
        (b"\xef\xbb\xbfa,b\n1,2\n", ["a", "b"], [("1", "2")]),
        (b'\xef\xbb\xbf"a\nx,y",b\n1,2\n', ["a\nx,y", "b"], [("1", "2")]),
        (b'"a;x;y",b\n1,2\n', ["a;x;y", "b"], [("1", "2")]),
        (b'"a\r\nx","b,c"\r\n1,"2\r\n3"\r\n', ["a\r\nx", "b,c"], [("1", "2\r\n3")]),
        (b"\n\na,b\n\n1,2\n\n3,4\n", ["a", "b"], [("1", "2"), ("3", "4")]),
        (b"a,b", ["a", "b"], []),
        (b"a,b\n", ["a", "b"], []),
        (b"a\n1\n#2\n", ["a"], [("#2",), ("1",)]),
        ('ä,"日本; ""x"""\n1,ß\n'.encode(), ["ä", '日本; "x"'], [("1", "ß")]),
        (b'a,b\n5" pipe,"x\ny"\n', ["a", "b"], [('5" pipe', "x\ny")]),
    ],
    ids=[
        "comma", "crlf", "cr", "undecided", "semicolon", "tab", "bar", "bom", "bom-quote", "quoted-header",
        "quoted-newline", "blank-lines", "header", "header-line", "hash", "unicode", "inner-quote",
    ],
)  # fmt: skip
def test_dialects(tmp_path, workspace, data, columns, rows):
    path = write(tmp_path / "a.csv", data)
    if columns is None:  # as many of one delimiter as of the other: the comma is tried first
        with pytest.raises(InputError, match="line 2: 1 fields, but the header has 2"):
            read(path, workspace)
        return
    assert read(path, workspace) == (columns, rows)


def test_tsv_and_explicit_delimiter(tmp_path, workspace):
    assert read(write(tmp_path / "a.tsv", b"a,b\tc\n1,2\t3\n"), workspace) == (["a,b", "c"], [("1,2", "3")])
    path = write(tmp_path / "a.txt", b"a,b\tc,d,e\n1,2\t3,4,5\n")
    for tab in ("tab", "\\t", "\t"):
        assert read(path, workspace, delimiter=tab) == (["a,b", "c,d,e"], [("1,2", "3,4,5")])
    path = write(tmp_path / "b.csv", "a¦b\n1¦2\n".encode())
    assert read(path, workspace, delimiter="¦") == (["a", "b"], [("1", "2")])
    for bad in ("::", '"', "\n"):
        with pytest.raises(InputError, match="one character"):
            read(path, workspace, delimiter=bad)


def test_duplicate_names_matter_only_if_chosen(tmp_path, workspace):
    path = write(tmp_path / "a.csv", b"a,x,x,,\n1,2,3,4,5\n")
    assert read(path, workspace, ["a"]) == (["a"], [("1",)])
    with pytest.raises(ColumnError, match="2 columns named 'x'"):
        read(path, workspace, ["x"])


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"a,b,c\n1,2,3\n1,2\n", r"a.csv, line 3: 2 fields, but the header has 3"),
        (b"a,b,c\n1,2,3\n1,2,3,4\n", r"a.csv, line 3: 4 fields, but the header has 3"),
        (b'a,b,c\n1,"2\n\n",3\n1,2\n', r"a.csv, line 5: 2 fields"),
        (b"a,b\n1,2\n1,\xe9t\xe9\n", r"a.csv is not UTF-8 \(line 3\); try --encoding windows-1252"),
        (b"\xe9,b\n1,2\n", r"a.csv is not UTF-8 \(line 1\); try --encoding windows-1252"),
        (b'a,b\n1,"2\n3,4\n', r"a.csv, line 2: a quote is not closed"),
        (b'a,b\n"x\ny",2\n1,2\n1,"2""\n3,4', r"a.csv, line 5: a quote is not closed"),
        (b'a,b\n"x\ny",2\n1,\xe9\n', r"a.csv is not UTF-8 \(line 4\); try --encoding windows-1252"),
        (b"a;x\tb\n1\t2\n3\n", r"a.csv, line 3: 1 fields"),
        (b'a,b\n1,"2"x\n3,4\n', r"a.csv, line 2: a quote is not closed, or not doubled"),
        (b"a,b\r\n1,2\n3,4\r\n", r"a.csv mixes Windows and Unix line ends \(line 2 "),
        (b"a,b\n1,2\r\n3,4\n", r"a.csv mixes Windows and Unix line ends \(line 2 "),
        (b'"a","b"\r\n"1","2"\r\n"3","4"\n"5","6"\n', r"a.csv mixes Windows and Unix line ends \(line 3 "),
        (b'"a","b"\n"1","2"\n"3","4"\r\n"5","6"\r\n', r"a.csv mixes Windows and Unix line ends \(line 3 "),
        (b'"a","b"\r\n"x\ny","2"\r\n"3","4"\n', r"a.csv mixes Windows and Unix line ends \(line 4 "),
        (b'"a","b"\r\n"x\ny","2"\r\n"3","4\r\n"5","u\nv"\r\n', r"a.csv, line 4: a quote is not closed"),
        (b'"a,b\n' + b"1,2\n" * 50000, r"a.csv: the header cannot be read"),
        (b"a,b\n1,2\n3," + b"x" * (17 << 20) + b"\n", r"a.csv, line 3: a row of more than 16 MB"),
    ],
    ids=[
        "short", "long", "short-after-newline", "latin", "latin-header", "open", "open-late", "latin-after-newline",
        "tab", "after-quote", "lf-in-crlf", "crlf-in-lf", "quoted-lf", "quoted-crlf",
        "quoted-newline", "open-in-crlf", "open-header", "endless",
    ],
)  # fmt: skip
def test_bad_rows(tmp_path, workspace, data, match):
    path = write(tmp_path / "a.csv", data)
    with pytest.raises(InputError, match=match) as caught:
        read(path, workspace)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("header", [b"a,b", b'"a","b"'])
def test_a_delimiter_that_is_named_and_is_none(tmp_path, workspace, header):
    path = write(tmp_path / "a.csv", b"sep=;\r\n" + header + b"\r\n1,2\r\n")
    with pytest.raises(InputError, match=r"a\.csv: its first line says sep=;, and ',' separates the columns: mend or"):
        read(path, workspace)
    assert read_files([path], workspace, list, delimiter=",").fetchall() == [("1", "2")]
    assert read(write(tmp_path / "b.csv", b"sep=;\na\n1\n"), workspace)[0] == ["a"]


def test_error_names_the_file(tmp_path, workspace, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", b"a,b\n1,2\n")
    write(tmp_path / "b.csv", b"a,b\n1,2,3\n")
    for sources in (["a.csv", "b.csv"], ["*.csv"]):
        with pytest.raises(InputError, match=r"^b.csv, line 2: 3 fields"), explain_errors(sources):
            read_files(sources, workspace, list).fetchall()


def test_truncated_gzip(tmp_path, workspace):
    data = gzip.compress("".join(["a,b\n", *(f"{i},{i * i}\n" for i in range(100000))]).encode())
    path = write(tmp_path / "a.csv.gz", data[: len(data) // 2])
    with pytest.raises(InputError, match=r"a.csv.gz is damaged or cut short: it does not decompress"):
        read(path, workspace)
    data = compress(tmp_path / "a.csv.zst", gzip.decompress(data)).read_bytes()
    path = write(tmp_path / "a.csv.zst", data[: len(data) // 2])
    with pytest.raises(InputError, match=r"a.csv.zst is damaged or cut short: it does not decompress"):
        read(path, workspace)


def compress(path, data):
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(data)
    return path


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst", "a.tsv.gz", "a.txt.zst"])
def test_compressed(tmp_path, workspace, name):
    data = b'a\tb\n1\t"x\ny"\n'
    assert read(compress(tmp_path / name, data), workspace) == (["a", "b"], [("1", "x\ny")])
    coded = compress(tmp_path / f"2{name}", data.replace(b"x", b"\xe9"))
    assert read(coded, workspace, encoding="latin-1") == (["a", "b"], [("1", "é\ny")])


@pytest.mark.parametrize(
    "encoding", ["windows-1252", "utf-16", "utf-16-le", "utf-8", "UTF-8-SIG", "shift_jis", "ascii"]
)
def test_encodings(tmp_path, workspace, encoding):
    word = {"shift_jis": "日本", "ascii": "x"}.get(encoding, "é")
    text = "a,b\n" + f"1,{word}\n" * 300000
    path = write(tmp_path / "a.csv", text.encode(encoding))
    relation = read_files([path], workspace, list, encoding=encoding)
    assert relation.columns == ["a", "b"]
    assert relation.aggregate("count(*), min(b), max(b)").fetchall() == [(300000, word, word)]


def test_wrong_encodings(tmp_path, workspace):
    path = write(tmp_path / "a.csv", b"a,b\n" + b"1,2\n" * 300000 + b"\x81\n")
    with pytest.raises(InputError, match=r"a.csv is not cp1252 \(byte 1200004\)"):
        read(path, workspace, encoding="windows-1252")
    for unknown in ("klingon", "base64", "a\0"):
        with pytest.raises(InputError, match="unknown encoding"):
            read(path, workspace, encoding=unknown)
    with pytest.raises(InputError, match="is not utf-16"):
        read(write(tmp_path / "b.csv", b"a,b\n1,2\n3"), workspace, encoding="utf-16")
    path = write(tmp_path / "c.csv", b"a,b\n\xe9\n")
    with pytest.raises(InputError, match=r"/c.csv, line 2: 1 fields"):
        read(path, workspace, encoding="latin-1")


def test_long_fields(tmp_path, workspace):
    cell = "x,y\n" * 1_000_000
    path = tmp_path / "a.csv"
    with path.open("w") as out:
        out.write("a,b\n")
        out.writelines(f'{place},"{cell}"\n' for place in range(8))
    relation = read_files([path], workspace, list)
    assert relation.aggregate("count(*), count(DISTINCT a), min(length(b))").fetchall() == [(8, 8, 4_000_000)]


@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
@pytest.mark.parametrize("text", ["line one\nt1,w2,3\n", 'he said "x","y"\n', 'a "," b', "a, b", "plain"])
def test_quoted_newlines_in_many_rows(tmp_path, workspace, quoting, text):
    expected = [(f"t{i}", f"{text}{i}", str(i % 5)) for i in range(100_000)]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out, quoting=quoting)
        writer.writerow(["task", "text", "label"])
        writer.writerows(expected)
    _, got = read(path, workspace)
    assert got == sorted(expected, key=str)


def test_many_plain_rows_from_several_files(tmp_path, workspace):
    for part in range(3):
        lines = (f"{part}-{i},w,1\n" for i in range(400_000))
        (tmp_path / f"{part}.csv").write_text("t,w,l\n" + "".join(lines))
    relation = read_files([tmp_path / "*.csv"], workspace, list)
    assert relation.aggregate("count(*), count(DISTINCT t)").fetchall() == [(1_200_000, 1_200_000)]


@pytest.mark.parametrize("start", range(4190, 4320))
def test_unclosed_quotes_are_found_wherever_they_are(tmp_path, start, monkeypatch):
    monkeypatch.setattr(quotes, "CHUNK", 64)
    row = b'5" x,"a ""b"",\nc","",6"\n'
    good = (row * 300)[: -(start % 64) or None]
    good = good[: good.rindex(b"\n5") + 1] + b"y" * (start % 64) + b",2,3,4\n"
    source = InputFile(write(tmp_path / "a.csv", b"a,b,c,d\n" + good), "a.csv", "csv")
    assert not quotes.look_over(source, ",")[0]
    quotes.check_quotes(source, ",")
    source.path.write_bytes(source.path.read_bytes() + b'1,"2,3\n' + row.replace(b'"', b"") * 5)
    line = good.count(b"\n") + 2
    with pytest.raises(InputError, match=rf"a.csv, line {line}: a quote is not closed"):
        quotes.check_quotes(source, ",")


@pytest.mark.parametrize("end", [b'"', b'"\n', b'""",""', b',""'], ids=["quote", "line", "quotes", "field"])
def test_closed_quotes_at_the_end(tmp_path, end):
    source = InputFile(write(tmp_path / "a.csv", b'"a","b\nc"\n' + b'"x","y' + end), "a.csv", "csv")
    if end.startswith(b","):
        with pytest.raises(InputError, match="line 3: a quote is not closed"):
            quotes.check_quotes(source, ",")
    else:
        quotes.check_quotes(source, ",")
