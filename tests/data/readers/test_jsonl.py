import gzip

import pytest

from crowdopt.data.readers.duckdb_errors import explain_errors
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
        return relation.columns, [str(one) for one in relation.types], sorted(relation.fetchall(), key=str)


def write(path, data):
    path.write_bytes(data)
    return path


def test_types_are_exact(tmp_path, workspace):
    data = (
        b'{"s": "2020-01-01", "i": 1, "d": 1, "b": true, "n": null, "e": ""}\n\n'
        b'{"s": "007", "i": -2, "d": 1.5, "b": false, "n": null}\r\n'
        b'{"i": null, "late": "x\\n\\u00e9"}'
    )
    columns, types, rows = read(write(tmp_path / "a.jsonl", data), workspace)
    assert columns == ["i", "s", "late", "d", "b", "n", "e"]
    texts = dict.fromkeys(("s", "n", "e", "late"), "VARCHAR")
    assert dict(zip(columns, types, strict=True)) == texts | {"i": "BIGINT", "d": "DOUBLE", "b": "BOOLEAN"}
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    none = dict.fromkeys(columns)
    for row in (
        {"s": "2020-01-01", "i": 1, "d": 1.0, "b": True, "e": ""},
        {"s": "007", "i": -2, "d": 1.5, "b": False},
        {"late": "x\né"},
    ):
        assert none | row in found


def test_odd_keys_and_large_integers(tmp_path, workspace):
    data = b'{"a.b/c~d[*]": "v", "$": 18446744073709551615, "*": 9223372036854775807}\n'
    columns, types, rows = read(write(tmp_path / "a.ndjson", data), workspace)
    assert columns == ["a.b/c~d[*]", "$", "*"]
    assert types == ["VARCHAR", "VARCHAR", "BIGINT"]
    assert rows == [("v", "18446744073709551615", 9223372036854775807)]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("18446744073709551616", "18446744073709551617", "VARCHAR"),
        ("-9223372036854775809", "-9223372036854775810", "VARCHAR"),
        ("100000000000000000000", "1", "VARCHAR"),
        ("18446744073709551615", "-9223372036854775808", "VARCHAR"),
        ("9007199254740993", "9007199254740992", "BIGINT"),
        ("9007199254740993", "1.5", "VARCHAR"),
        ("18446744073709551615", "0.5", "VARCHAR"),
        ("-9007199254740993", "-0.5", "VARCHAR"),
        ("9007199254740992", "1.5", "DOUBLE"),
        ("1e300", "7", "DOUBLE"),
    ],
)
def test_numbers_are_exact_or_text(first, second, kind, tmp_path, workspace):
    data = f'{{"id": {first}}}\n{{"id": {second}}}\n'.encode()
    _, types, rows = read(write(tmp_path / "a.jsonl", data), workspace)
    assert types == [kind]
    number = str if kind == "VARCHAR" else float if kind == "DOUBLE" else int
    assert sorted(one for (one,) in rows) == sorted(map(number, (first, second)))


@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        (
            b'{"label": 1}\n\n{"label": "x"}\n{"label": "y"}\n',
            InputError,
            r"'label' is a number in some rows and text in others \(first text at line 3 of .*a.jsonl\)",
        ),
        (
            b'{"label": 1.5}\n{"label": true}\n',
            InputError,
            r"a number in some rows and true or false .* line 2",
        ),
        (b'{"label": "x"}\n{"label": true}\n', InputError, r"true or false in some rows and text in others"),
        (b'{"label": [1]}\n', ColumnError, r"column 'label' is nested \(a list"),
        (b'{"label": {"x": 1}}\n{"label": 1}', ColumnError, r"column 'label' is nested \(an object"),
        (b'{"label": 1}\n{"label": 2\n{"label": 3}\n', InputError, r"a.jsonl, line 2: not JSON"),
        (b'{"label": 1}\n{"label": 2}\n{"lab', InputError, r"a.jsonl, line 3: not JSON"),
        (b'{"label": 1}{"label": 2}\n', InputError, r"a.jsonl, line 1: not JSON Lines, as there is more .*2}\); one"),
        (b'{"label": 1}\n{"label": 2} {"label": 3}\n', InputError, r'a.jsonl, line 2: .*first object \({"label": 3}\)'),
        (b'{"label": 1}\n[{"label": 2},\n{"label": 3}]\n', InputError, r"a.jsonl, line 2: not JSON \([a-z ]+\); one"),
        (b'{"label": 1}\n[1, 2]\n', InputError, r"a.jsonl, line 2: not a JSON object"),
        (b'{"label": 1}\n3\n', InputError, r"a.jsonl, line 2: not a JSON object"),
        (
            b'{"label": "x"}\n{"label": "\xe9"}\n',
            InputError,
            r"a.jsonl is not UTF-8 \(line 2\); try --encoding",
        ),
    ],
    ids=[
        "text",
        "bool",
        "bool-text",
        "list",
        "object",
        "open",
        "cut",
        "one-line",
        "two",
        "open-array",
        "array",
        "number",
        "latin",
    ],
)
def test_bad_lines(tmp_path, workspace, data, error, match):
    for name, content in {"a.jsonl": data, "a.jsonl.gz": gzip.compress(data)}.items():
        with pytest.raises(error, match=match.replace("a.jsonl", name)) as caught:
            read(write(tmp_path / name, content), workspace, ["label"])
        assert "\n" not in str(caught.value)


def test_cut_short(tmp_path, workspace):
    data = gzip.compress(b"".join(b'{"a": %d}\n' % (i * i) for i in range(100000)))
    with pytest.raises(InputError, match=r"a.jsonl.gz is damaged or cut short: it does not decompress"):
        read(write(tmp_path / "a.jsonl.gz", data[: len(data) // 2]), workspace)


def test_bad_line_far_down(tmp_path, workspace):
    good = b'{"label": "some text"}\n'
    path = write(tmp_path / "a.jsonl", good * 1_500_000 + b"{oops}\n" + good * 500_000)
    with pytest.raises(InputError, match=r"a.jsonl, line 1500001: not JSON"):
        read(path, workspace)


def test_several_files_and_encodings(tmp_path, workspace):
    first = write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"a": 1}\n')
    second = write(tmp_path / "b.jsonl.gz", gzip.compress(b'{"a": 2.5, "b": "x"}\n'))
    relation = read_files([first, second], workspace, lambda _: ["a"])
    assert sorted(relation.fetchall()) == [(1.0,), (2.5,)]
    coded = write(tmp_path / "c.jsonl", '{"ü": "é"}\n'.encode("utf-16"))
    assert read(coded, workspace, encoding="utf-16")[2] == [("é",)]


def test_only_blank_lines_have_no_columns(tmp_path, workspace):
    with pytest.raises(InputError, match=r"a.jsonl is empty"):
        read(write(tmp_path / "a.jsonl", b"\n\n"), workspace)
