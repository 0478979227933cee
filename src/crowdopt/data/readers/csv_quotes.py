"""The quotes of CSV: whether rows can be told apart from the middle of a file, and whether all are closed."""

from __future__ import annotations

import codecs
import csv
import io
import re
from itertools import islice
from typing import TYPE_CHECKING

from crowdopt.data.readers.files import InputFile, open_bytes, packing_of
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_ROW = 16 << 20
"""Bytes of a row: half of ``csv.BUFFER``, and far more than a row has whose quotes are closed."""

CHUNK = 4 << 20
"""Bytes that are looked at together: few calls, and little memory."""

COUNTED = 5_000_000
"""Records up to which the line of one is counted for a message: some seconds at most."""


def long_row(place: str) -> str:
    """What to say of a row that is too long."""
    return f"{place} a row of more than {MAX_ROW >> 20} MB, or as many blank lines; is a quote not closed?"


def look_over(source: InputFile, delimiter: str) -> tuple[bool, bool]:
    """Whether every line end ends a row and no quote is doubled; and whether there are lines whose first cell is empty.

    Only if the first holds can a thread that begins in the middle of the file find the next row for certain. Only if
    the second does can there be rows without anything in them. This pass runs at the speed of memory where there are
    no quotes. It goes to the end of the file: a compressed one must be whole, and a last line longer than its buffer
    the database would leave out in silence.

    Raises:
        InputError: A line is too long.
    """
    import numpy as np

    inside, last = False, b""
    plain, length, read = True, 0, 0
    empty_first = False
    with open_bytes(source) as stream:
        while chunk := stream.read(1 << 18):
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            length = len(chunk) - end - 1 + (length if end < 0 else 0)
            read += len(chunk)
            if length > MAX_ROW:
                raise InputError(long_row(f"{source.name}, line {_line_at(source, read - length)}:"))
            if b'""' in chunk or (last == b'"' and chunk[:1] == b'"'):
                plain = False
            empty_first = empty_first or _has_empty_first(chunk, last, delimiter.encode())
            last = chunk[-1:]
            if not plain or not (inside or b'"' in chunk):
                continue
            codes = np.frombuffer(chunk, np.uint8)
            quoted = np.bitwise_xor.accumulate((codes == ord('"')).view(np.uint8)) ^ np.uint8(inside)
            plain = not (quoted.view(bool) & ((codes == ord("\n")) | (codes == ord("\r")))).any()
            inside = bool(quoted[-1])
    return plain, empty_first


def _has_empty_first(chunk: bytes, last: bytes, delimiter: bytes) -> bool:
    """Whether a line seems to begin with an empty cell; ``last`` stands before the chunk."""
    empty = b"(?:" + re.escape(delimiter) + b'|"")'
    if last in {b"\n", b"\r"} and re.match(empty, chunk):
        return True
    # one end of lines at a time, which is much faster
    return any(end in chunk and re.search(end + empty, chunk) is not None for end in (b"\n", b"\r"))


def _line_at(source: InputFile, place: int) -> int:
    """The line in which a byte stands; only used to say what is wrong."""
    line = 1
    with open_bytes(source) as stream:
        while place > 0 and (chunk := stream.read(min(CHUNK, place))):
            line += chunk.count(b"\n") or chunk.count(b"\r")
            place -= len(chunk)
    return line


def check_quotes(source: InputFile, delimiter: str) -> None:
    """Raises InputError if a quoted field is not closed before the file ends."""
    starts = b"\n", b"\r", codecs.BOM_UTF8, delimiter.encode()
    before = b"|".join(b"(?<=" + re.escape(one) + b")" for one in starts)
    # the group is a quote that closes the field; what follows tells it from the first half of a doubled one
    quoted = re.compile(b"(?:" + before + b')"[^"]*+(?:""[^"]*+)*+("(?=[^"]))?')
    line, rest = 0, b"\n"  # what stands before the file is as good as a line end
    with open_bytes(source) as stream:
        while len(rest) <= MAX_ROW and (chunk := stream.read(CHUNK)):
            text = rest + chunk
            end = 0
            for found in quoted.finditer(text):
                if not found[1]:  # goes on in the next chunk
                    line += text.count(b"\n", 0, found.start()) - 1
                    rest = b"\n" + text[found.start() :]
                    break
                end = found.end()
            else:
                end = max(end, len(text) - 4)  # as far as is looked back
                line += text.count(b"\n", 0, end)
                rest = text[end:]
    for found in quoted.finditer(rest + b"\n"):  # a quote that ends the file closes its field
        if not found[1]:
            line += rest.count(b"\n", 0, found.start())
            raise InputError(
                f"{source.name}, line {line}: a quote is not closed, or not doubled inside a field (which may have "
                f"{MAX_ROW >> 20} MB)"
            )


def line_of_damage(path: Path) -> int | None:
    """The first line that is not UTF-8; None if all are."""
    with path.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_ROW), b""), 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def line_of_record(path: Path, record: int, delimiter: str) -> int | None:
    """The line at which a record begins, or None if that is not known or would take long to find."""
    if record > COUNTED or not path.is_file():
        return None
    with _text_of(path) as text:
        reader = csv.reader(text, delimiter=delimiter)
        try:
            for _ in islice(reader, record - 1):
                pass
        except csv.Error:  # such as a field that is longer than this module takes
            return None
        return reader.line_num + 1


def line_of_other_end(path: Path, delimiter: str, last: int = COUNTED) -> int | None:
    """The first line, up to the last to look at, at which a row ends otherwise than the first one does."""
    if not path.is_file():
        return None
    first = ending = ""

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        nonlocal ending
        while line := text.readline(MAX_ROW):
            ending = line[len(line.rstrip("\r\n")) :]
            yield line

    with _text_of(path) as text:
        reader = csv.reader(lines(text), delimiter=delimiter, strict=True)
        try:
            for _ in reader:
                first = first or ending
                if reader.line_num > last:
                    return None
                if ending not in {first, ""}:  # the last row needs none
                    return reader.line_num
        except csv.Error:
            return None
    return None


def width_of_record(path: Path, record: int, delimiter: str) -> int | None:
    """How many fields a record has; None if that is not known."""
    if not path.is_file():
        return None
    with _text_of(path) as text:
        try:
            return len(next(islice(csv.reader(text, delimiter=delimiter), record - 1, None), ()))
        except csv.Error:
            return None


def _text_of(path: Path) -> io.TextIOWrapper:
    with path.open("rb") as stream:
        source = InputFile(path, "", "csv", packing_of(stream.read(4)))
    return io.TextIOWrapper(open_bytes(source), "utf-8-sig", "replace", newline="")
