"""Which files are meant, what kind each is, and whether its content is what its name says."""

from __future__ import annotations

import errno
import glob
import gzip
import os
import shutil
import stat
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

from crowdopt.data.readers.addresses import check_path
from crowdopt.data.tables.workspace import path_literal
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crowdopt.data.tables.workspace import Workspace

Kind = Literal["csv", "tsv", "parquet", "jsonl", "json", "xlsx"]
Packing = Literal["uncompressed", "gzip", "zstd"]

KINDS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "xlsx",
}
PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
TEXTS: tuple[Kind, ...] = ("csv", "tsv", "jsonl", "json")
READ = ".csv, .tsv, .txt, .jsonl, .ndjson and .json (each also with .gz or .zst), .parquet, .pq, .xlsx"

MAGIC = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "an .xlsx or zip file",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"BZh": "a bzip2 file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old .xls or a password-protected Excel file",
    b"SQLite format 3": "an SQLite database",
}
BOMS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
HEAD = 1 << 16
STDIN = "standard input"
DISK_FULL = "the disk that holds temporary files is full; free some space or set TMPDIR to another disk"


@dataclass(frozen=True)
class Source:
    """One file to read.

    Attributes:
        path: Where its bytes are; absolute, so that nothing in it is special to the database.
        name: What messages call it.
        kind: Its format.
        packing: How it is compressed.
    """

    path: Path
    name: str
    kind: Kind
    packing: Packing = "uncompressed"

    @property
    def literal(self) -> str:
        """The path in SQL."""
        return path_literal(self.path)


def find_sources(named: Sequence[str | Path], workspace: Workspace, encoding: str) -> list[Source]:
    """The files that paths, glob patterns and ``-`` stand for, each checked against its suffix."""
    if not named:
        raise InputError("no file was named")
    if [str(name) for name in named].count("-") > 1:
        raise InputError("standard input (-) can be read only once")
    found = []
    for name in named:
        for path in [name] if str(name) == "-" else expand(str(name)):
            with explain_unreadable(STDIN if path == "-" else str(path)):
                source = _locate(str(path), workspace, encoding)
                _check(source, encoding)
            found.append(source)
    return found


def expand(name: str) -> list[str]:
    """The files that a path or glob pattern stands for; a literal file wins over the pattern that its name may be."""
    check_path(name)
    try:
        if os.path.lexists(name) or not glob.has_magic(name):
            return [name]
        paths = glob.glob(name, recursive=True)  # noqa: PTH207 - of any folder, which Path.glob is not
        matches = sorted(path for path in paths if not Path(path).is_dir())
    except ValueError as error:  # a null character
        raise InputError(f"not a file name: {name!r}") from error
    if not matches:
        raise InputError(f"no file matches {name}")
    return matches


@contextmanager
def explain_unreadable(name: str) -> Iterator[None]:
    """Turns what Python raises about a file that cannot be read into a one-line InputError."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise InputError(DISK_FULL) from error
        if error.errno is None or isinstance(error, gzip.BadGzipFile):
            raise InputError(f"{name} is damaged or cut short: it does not decompress") from error
        raise InputError(f"cannot read {name}: {error.strerror}") from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{name} is damaged or cut short: it does not decompress") from error


def open_bytes(source: Source) -> IO[bytes]:
    """Opens a file for reading, decompressed."""
    if source.packing == "gzip":
        return cast("IO[bytes]", gzip.open(source.path, "rb"))
    if source.packing == "zstd":
        import pyarrow as pa

        return cast("IO[bytes]", pa.CompressedInputStream(pa.OSFile(str(source.path)), "zstd"))
    return source.path.open("rb")


def check_whole(source: Source) -> None:
    """Reads a compressed file to its end: the database may take one that is cut short for a shorter one."""
    with open_bytes(source) as stream:
        while stream.read(1 << 20):
            pass


def new_copy(source_name: str, workspace: Workspace) -> Path:
    """A new path in the temporary folder for a copy of a file; keeps its name, so that messages can tell."""
    folder = workspace.folder / "copies"
    folder.mkdir(exist_ok=True)
    own = folder / str(len(list(folder.iterdir())))
    own.mkdir()
    return own / Path(source_name).name


def show_path(path: str, named: Sequence[str | Path]) -> str:
    """What a message should call the file that the database calls ``path``."""
    found = Path(path)
    copied = found.parent.parent.name == "copies"
    if copied and found.name == STDIN:
        return STDIN
    for name in named:
        if Path(name).absolute() == found or (copied and Path(name).name == found.name):
            return str(name)
    return found.name if copied else os.path.relpath(found)


def _locate(name: str, workspace: Workspace, encoding: str) -> Source:
    if name == "-":
        if sys.stdin is None:
            raise InputError("cannot read standard input: it is closed")
        return _spool(sys.stdin.buffer, STDIN, workspace, encoding)
    path = Path(name)
    if not path.exists():
        raise InputError(f"no such file: {name}{_near(path)}")
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise InputError(f"{name} is a folder; name its files, for example '{path / '*.csv'}'")
    if stat.S_ISCHR(mode) and not path.samefile("/dev/stdin"):
        raise InputError(f"{name} is a device, not a file")
    if not stat.S_ISREG(mode):  # a pipe can be read once only
        with path.open("rb") as stream:
            return _spool(stream, name, workspace, encoding)
    kind, packing = _by_suffix(path)
    workspace.watch(name)
    return Source(path.absolute(), name, kind, packing)


def _near(path: Path) -> str:
    try:
        near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.75)
    except OSError:
        near = []
    return f"; did you mean {path.parent / near[0]}?" if near else ""


def _by_suffix(path: Path) -> tuple[Kind, Packing]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last in KINDS:
        return KINDS[last], "uncompressed"
    inner = KINDS.get(suffixes[-2]) if len(suffixes) > 1 else None
    if last in PACKINGS and inner in TEXTS:
        return inner, PACKINGS[last]
    if last == ".xls":
        raise InputError(f"{path}: the old .xls format is not read; save it as .xlsx")
    if last == ".bz2":
        raise InputError(
            f"{path}: bzip2 is not read; compress it with gzip or zstd, or pipe it: bzcat … | crowdopt … -"
        )
    raise InputError(f"{path}: cannot tell its format from its suffix; these are read: {READ}")


def _spool(stream: IO[bytes], name: str, workspace: Workspace, encoding: str) -> Source:
    """Copies what can be read only once; the format is told from the content."""
    path = new_copy(name, workspace)
    with path.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    source = Source(path, name, "csv")
    head = _head(source)
    if head.startswith(b"\x1f\x8b"):
        source = replace(source, packing="gzip")
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        source = replace(source, packing="zstd")
    elif head.startswith(b"PAR1"):
        return replace(source, kind="parquet")
    elif head.startswith(b"PK\x03\x04"):
        return replace(source, kind="xlsx")
    try:
        text = _head(source).decode(encoding or "utf-8", "ignore")
    except LookupError:
        text = ""  # an unknown encoding is reported where it is used
    text = text.lstrip("\ufeff \t\r\n")
    if text.startswith("[") and text[1:].lstrip().startswith("{"):
        return replace(source, kind="json")
    return replace(source, kind="jsonl") if text.startswith("{") else source


def _head(source: Source) -> bytes:
    with open_bytes(source) as stream:
        return stream.read(HEAD)


def _check(source: Source, encoding: str) -> None:
    raw = _head(replace(source, packing="uncompressed"))
    if not raw:
        raise InputError(f"{source.name} is empty")
    wanted = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "uncompressed": b""}[source.packing]
    wanted = wanted or {"parquet": b"PAR1", "xlsx": b"PK\x03\x04"}.get(source.kind, b"")
    if not raw.startswith(wanted):
        what = {b"\x1f\x8b": "gzip", b"PAR1": "Parquet", b"PK\x03\x04": ".xlsx"}.get(wanted, "Zstandard")
        raise InputError(f"{source.name} is not a {what} file{_looks_like(raw)}")
    if source.kind == "parquet":
        _check_parquet(source)
    elif source.kind in TEXTS:
        _check_text(source, encoding)


def _check_parquet(source: Source) -> None:
    with source.path.open("rb") as stream:
        stream.seek(-4, os.SEEK_END)
        if stream.read() != b"PAR1" or stream.tell() < 12:
            raise InputError(f"{source.name} is damaged or cut short: a Parquet file must end with PAR1")


def _check_text(source: Source, encoding: str) -> None:
    head = _head(source)
    if not head:
        raise InputError(f"{source.name} is empty")
    if binary := _looks_like(head):
        raise InputError(f"{source.name} is not a text file{binary}")
    if encoding:
        return
    for bom, name in BOMS.items():
        if head.startswith(bom):
            raise InputError(f"{source.name} is {name.upper()}, not UTF-8; try --encoding {name}")
    if b"\0" in head:
        ends = {"utf-16-le": head[1::2].count(0), "utf-16-be": head[::2].count(0)}
        likely = max(ends, key=lambda name: ends[name])
        if ends[likely] > len(head) // 8:  # most characters of most files are ASCII
            raise InputError(f"{source.name} is not UTF-8: it has NUL bytes; try --encoding {likely}")
        raise InputError(f"{source.name} is not a text file: it has NUL bytes")


def _looks_like(head: bytes) -> str:
    return next((f"; it looks like {what}" for magic, what in MAGIC.items() if head.startswith(magic)), "")
