"""Ways to spoil files for the fuzzer: valid ones by a small grammar, then bytes, cells and values of JSON changed."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable


HOSTILE = (
    'x"; DROP TABLE responses; --', "'; ATTACH 'x.db' AS y; --", "a,b;c\td|e", 'say "no"', "=1+1", "+1", "-1", "@sum",
    "=cmd|' /C calc'!A0", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "line\nbreak", "line\r\nbreak",
    "\u202eright to left", "\ufeff", "\u0000", "é", "𝔘", "", " ", "NULL", "NaN", "inf", "1e308", "007", "1_000", "null",
    "\x1b[31m", "../../etc/passwd", "/etc/passwd", "~", "*.csv", "http://127.0.0.1:9/x.csv", "${HOME}", "%s%n", "{0}",
    "\\", "\\n", "a" * 300, "c0", "json", "task", "label", "constructor", "__proto__", "999999999999999999999", "-0",
)  # fmt: skip
"""Texts that mean something to somebody: to SQL, a spreadsheet, a browser, a terminal, a shell, or to us."""

ODD_VALUES = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, 10**30, -(10**19), float("nan"), float("inf"), "", "0", "\ud800",
    "\u0000", [], {}, [[]], {"": {}}, [None], {"a": [1, {"b": None}]}, "x" * 2000,
)  # fmt: skip
"""Values that stand where others are expected."""

ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "cp1252", "utf-32", "utf-7", "shift_jis")

Rng = random.Random
Rows = list[list[str]]


# What is valid.


def table(rng: Rng, header: tuple[str, ...] = ("task", "worker", "label"), *, hostile: float = 0.1) -> Rows:
    """Responses of a few workers to a few tasks, with now and then a text that means something to somebody."""
    labels = rng.choice([["no", "yes"], ["1", "2", "3"], ["cat", "dog", "=cow"]])
    rows = [
        [f"t{task}", f"w{worker}", rng.choice(labels), *(rng.choice("abc") for _ in header[3:])]
        for task in range(rng.randint(1, 6))
        for worker in range(rng.randint(1, 4))
    ]
    for row in rows:
        if rng.random() < hostile:
            row[rng.randrange(len(row))] = rng.choice(HOSTILE)
    return [list(header), *rows]


def as_csv(rows: Rows, rng: Rng, delimiter: str = ",") -> bytes:
    """Rows as text, quoted where that is needed, and sometimes where it is not."""
    end = rng.choice(["\n", "\n", "\n", "\r\n", "\r"])

    def cell(text: str) -> str:
        if any(one in text for one in (delimiter, '"', "\n", "\r")) or rng.random() < 0.05:
            return '"' + text.replace('"', '""') + '"'
        return text

    return "".join(delimiter.join(map(cell, row)) + end for row in rows).encode("utf-8", "surrogatepass")


def as_jsonl(rows: Rows, rng: Rng) -> bytes:
    header, *rest = rows
    numbers = rng.random() < 0.2
    records = [dict(zip(header, row, strict=False)) for row in rest]
    for record in records:
        if numbers and "label" in record:
            record["label"] = len(record["label"])
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_parquet(rows: Rows, rng: Rng) -> bytes:
    header, *rest = rows
    columns: dict[str, Any] = {name: [row[at] for row in rest] for at, name in enumerate(header)}
    if rng.random() < 0.5:
        name = rng.choice(list(columns))
        kinds = [pa.int64(), pa.float64(), pa.bool_(), pa.large_string(), pa.binary(), pa.list_(pa.int64())]
        kinds += [
            pa.date32(),
            pa.timestamp("ns", "UTC"),
            pa.decimal128(30, 3),
            pa.null(),
            pa.dictionary(pa.int8(), "utf8"),
        ]
        columns[name] = arrow_column(rng, rng.choice(kinds), len(rest))
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression=rng.choice(["snappy", "none", "zstd", "gzip"]))
    return stream.getvalue()


def arrow_column(rng: Rng, kind: Any, n_rows: int) -> pa.Array:
    """A column of small values of any type, some of them missing."""
    small = pa.array([rng.choice([0, 1, 1, None]) for _ in range(n_rows)], pa.int64())
    if pa.types.is_null(kind):
        return pa.nulls(n_rows)
    if pa.types.is_list(kind):
        return pa.array([[1], None] * n_rows, kind)[:n_rows]
    if pa.types.is_dictionary(kind):
        return small.cast(pa.string()).dictionary_encode()
    if pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        return small.cast(pa.string()).cast(kind)
    return small.cast(pa.int32()).cast(kind) if pa.types.is_date(kind) else small.cast(kind, safe=False)


def as_xlsx(rows: Rows, rng: Rng) -> bytes:
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(
            [rng.choice([cell, 1, 2.5, None]) if rng.random() < 0.02 else _excel_text(cell) for cell in row]
        )
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


def _excel_text(text: str) -> str:
    """What a workbook can hold; formulas are only those of us who write them on purpose."""
    return "".join(one for one in text if one >= " " and not "\ud800" <= one <= "\udfff").lstrip("=")


def as_sqlite(rows: Rows, rng: Rng) -> bytes:
    header, *rest = rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE responses ({', '.join(header)})")
            marks = ", ".join("?" * len(header))
            odd = [row if rng.random() < 0.98 else [*row[:-1], rng.choice([None, 1, 2.5, b"x"])] for row in rest]
            connection.executemany(f"INSERT INTO responses VALUES ({marks})", odd)
        return path.read_bytes()


# How bytes are spoilt.


def flip(data: bytearray, rng: Rng) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def put(data: bytearray, rng: Rng) -> None:
    at = rng.randrange(len(data) + 1)
    some = rng.choice(
        [b'"', b'""', b"\0", b"\r", b"\n", b"\r\n", b",", b";", b"\xff", b"\xc3", b"[", b"{", b"}", b"\\u0000"]
    )
    data[at:at] = some if rng.random() < 0.7 else rng.choice(HOSTILE).encode()


def drop(data: bytearray, rng: Rng) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice([1, 1, 2, 10, 100])]


def cut(data: bytearray, rng: Rng) -> None:
    del data[rng.randrange(len(data)) :]


def repeat(data: bytearray, rng: Rng) -> None:
    at, size = rng.randrange(len(data)), rng.choice([1, 4, 30, 300])
    data[at:at] = data[at : at + size] * rng.choice([1, 2, 50])


def splice(data: bytearray, rng: Rng) -> None:
    start, end = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    at = rng.randrange(len(data))
    data[at : at + rng.choice([0, end - start])] = data[start:end]


def overwrite(data: bytearray, rng: Rng) -> None:
    at = rng.randrange(len(data))
    size = rng.choice([1, 2, 4, 8])
    data[at : at + size] = rng.choice([b"\xff", b"\0", b"\x7f", b"\x80", bytes([rng.randrange(256)])]) * size


def recode(data: bytearray, rng: Rng) -> None:
    data[:] = data.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")


def mix_ends(data: bytearray, rng: Rng) -> None:
    lines = bytes(data).splitlines()
    data[:] = b"".join(line + rng.choice([b"\n", b"\r\n", b"\r", b"\n\n"]) for line in lines)


BYTES: tuple[Callable[[bytearray, Rng], None], ...] = (
    flip, flip, put, put, put, drop, cut, repeat, splice, overwrite, recode, mix_ends
)  # fmt: skip


def spoil_bytes(content: bytes, rng: Rng) -> bytes:
    """One to four changes to the bytes of a file."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        if data:
            rng.choice(BYTES)(data, rng)
    return bytes(data)


# How structure is spoilt.


def spoil_rows(rows: Rows, rng: Rng) -> Rows:
    """Cells, rows and names of columns that should not be so."""
    rows = [list(row) for row in rows]
    for _ in range(rng.choice([0, 1, 2])):
        row = rng.choice(rows)
        what = rng.randrange(6)
        if what == 0 and row:
            row[rng.randrange(len(row))] = rng.choice(HOSTILE)
        elif what == 1 and row:
            row.pop(rng.randrange(len(row)))
        elif what == 2:
            row.insert(rng.randint(0, len(row)), rng.choice(HOSTILE))
        elif what == 3:
            rows.append(list(row))
        elif what == 4 and rows[0]:
            rows[0][rng.randrange(len(rows[0]))] = rng.choice([*HOSTILE, rows[0][0]])
        elif len(rows) > 1:
            rows.remove(row)
    return rows


def spoil_value(value: Any, rng: Rng) -> Any:
    """A value of JSON in which something, anywhere, is missing, doubled, exchanged or of another kind."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        what = rng.random()
        if what < 0.08:
            return {name: one for name, one in value.items() if name != key}
        if what < 0.12:
            return value | {rng.choice(HOSTILE): value[key]}
        if what < 0.16:
            return value | {key: value[rng.choice(list(value))]}
        return value | {key: spoil_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return [*value[:at], *value[at + 1 :]]
        if rng.random() < 0.1:
            return [*value[:at], value[at], *value[at:]]
        return [*value[:at], spoil_value(value[at], rng), *value[at + 1 :]]
    if type(value) in {int, float} and rng.random() < 0.5:
        return value + rng.choice([1, -1, 0.5, 1e-3, -1e-3, 1e9])
    return rng.choice([*ODD_VALUES, *HOSTILE, [value], {"x": value}, DEEP])


DEEP = "\udcff deep \udcff"
"""Stands for a list in a list in a list, which cannot be made before it is text."""


def as_json(value: Any, rng: Rng) -> bytes:
    """A value as text, with what only text can have: depth, and keys that are there twice."""
    depth = rng.choice([3, 50, 500, 2_000, 100_000])
    text = json.dumps(value)
    text = text.replace(json.dumps(DEEP), rng.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth]))
    if rng.random() < 0.05 and text.count('": ') > 1:
        at = text.index('": ', rng.randrange(text.rindex('": ') + 1)) if '": ' in text else 0
        start = text.rfind('"', 0, at)
        text = f"{text[:start]}{text[start : at + 3]}{json.dumps(rng.choice(ODD_VALUES))}, {text[start:]}"
    return text.encode("utf-8", "surrogatepass")


def spoil_json(content: bytes, rng: Rng) -> bytes:
    """A file of JSON, or of JSON Lines, in which some values are changed."""
    try:
        value = json.loads(content)
    except ValueError:
        lines = content.splitlines()
        for at in rng.sample(range(len(lines)), min(len(lines), rng.choice([1, 1, 3]))):
            lines[at] = as_json(spoil_value(json.loads(lines[at]), rng), rng)
        return b"\n".join(lines) + b"\n"
    for _ in range(rng.choice([1, 1, 2])):
        value = spoil_value(value, rng)
    return as_json(value, rng)


def spoil_zip(content: bytes, rng: Rng) -> bytes:
    """A zip file, such as a workbook, with bytes of one of its members changed, or one missing."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        chosen = rng.choice(old.namelist())
        for name in old.namelist():
            if name != chosen:
                new.writestr(name, old.read(name))
            elif rng.random() < 0.9:
                new.writestr(name, spoil_bytes(old.read(name), rng))
    return stream.getvalue()


def packed(content: bytes, packing: str) -> bytes:
    """The bytes, compressed."""
    if packing == "gz":
        return gzip.compress(content, mtime=0)
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as out:
        out.write(content)
    return stream.getvalue().to_pybytes()
