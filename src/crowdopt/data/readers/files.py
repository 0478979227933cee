"""One file to read: where its bytes are, how they are packed, and what to call it. And what a format of files is."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from crowdopt.data.tables.workspace import path_literal
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from crowdopt.data.readers.union import Part
    from crowdopt.data.tables.workspace import Workspace

Packing = Literal["uncompressed", "gzip", "zstd"]

PACKINGS: dict[Packing, tuple[str, str, bytes]] = {
    "gzip": (".gz", "gzip", b"\x1f\x8b"),
    "zstd": (".zst", "Zstandard", b"\x28\xb5\x2f\xfd"),
}
"""Suffix, title and first bytes of compressed files."""

HEAD = 1 << 16
"""Bytes that a file is judged by before it is read."""

STDIN = "standard input"
DISK_FULL = "the disk that holds temporary files is full; free some space or set TMPDIR to another disk"


@dataclass(frozen=True)
class InputFile:
    """One file to read.

    Attributes:
        path: Where its bytes are; absolute, so that nothing in it is special to the database.
        name: What messages call it.
        kind: The name of its format.
        packing: How it is compressed.
    """

    path: Path
    name: str
    kind: str
    packing: Packing = "uncompressed"

    @property
    def literal(self) -> str:
        """The path in SQL."""
        return path_literal(self.path)


@dataclass(frozen=True)
class Format:
    """A format of files: how to know it, and how to read it. See ``formats.py`` for all of them.

    Attributes:
        name: What ``InputFile.kind`` calls it.
        suffixes: How the names of such files end.
        part: Files, given what they have in common, as a part of the table.
        inspect: Given a file and the delimiter that the user named: the file, or a copy of it that can be read, and
            what files must have in common to be read by one query; by default each is read alone.
        magic: How such files begin; empty for text, which may be compressed, and of any encoding.
        title: What messages call it, if it has such a beginning.
        looks: Whether a text looks like this format, where no suffix says what it is.
        check: Raises if a file cannot be read; returns it, or a copy of it that can be.
        is_text: Whether people and spreadsheets write such files, so that ids may have blanks around them by accident.
        copy: How DuckDB's COPY writes such a file, with the first of the suffixes; empty if results are not written so.
    """

    name: str
    suffixes: tuple[str, ...]
    part: Callable[[Sequence[InputFile], Any, Workspace], Part]
    inspect: Callable[[InputFile, Workspace, str], tuple[InputFile, Hashable]] = lambda source, *_: (source, source)
    magic: bytes = b""
    title: str = ""
    looks: Callable[[str], bool] = lambda _: False
    check: Callable[[InputFile, Workspace], InputFile] = lambda source, _: source
    is_text: bool = True
    copy: str = ""


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


def open_bytes(source: InputFile) -> IO[bytes]:
    """Opens a file for reading, decompressed."""
    if source.packing == "gzip":
        return cast("IO[bytes]", gzip.open(source.path, "rb"))
    if source.packing == "zstd":
        import pyarrow as pa

        return cast("IO[bytes]", pa.CompressedInputStream(pa.OSFile(str(source.path)), "zstd"))
    return source.path.open("rb")


def head_of(source: InputFile) -> bytes:
    """The first bytes of a file, decompressed."""
    with open_bytes(source) as stream:
        return stream.read(HEAD)


def packing_of(head: bytes) -> Packing:
    """How a file is compressed that begins like this."""
    return next((name for name, (_, _, magic) in PACKINGS.items() if head.startswith(magic)), "uncompressed")


def check_whole(source: InputFile) -> None:
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
