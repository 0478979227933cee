"""Which files are meant, of which format each is, and whether its content is what its name says."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING

from crowdopt.data.readers.addresses import check_path
from crowdopt.data.readers.encoding import check_encoding, transcode
from crowdopt.data.readers.files import (
    PACKINGS,
    STDIN,
    InputFile,
    Packing,
    explain_unreadable,
    head_of,
    new_copy,
    packing_of,
)
from crowdopt.data.readers.formats import FILE_FORMATS
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.tables.workspace import Workspace

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
"""How files begin that are often taken for others, and what they are."""

NOT_READ = {
    ".xls": "the old .xls format is not read; save it as .xlsx",
    ".bz2": "bzip2 is not read; compress it with gzip or zstd, or pipe it: bzcat … | crowdopt … -",
    ".zip": "zip is not read; unpack it, and give the files that are in it",
    ".eval": "logs of inspect-ai are read as JSON: inspect log dump LOG.eval > LOG.json",
    ".xml": "XML, such as that of CVAT, is not read yet; make a table of it with the columns task, worker and label",
}
"""Suffixes of files that people have and that are not read, and what to do."""

BOMS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Byte order marks; those of UTF-32 first, as one of them begins with one of UTF-16."""


def find_files(named: Sequence[str | Path], workspace: Workspace, encoding: str) -> list[InputFile]:
    """The files that paths, glob patterns and ``-`` stand for, each checked, and as UTF-8 where it is text.

    Standard input can be found only once.
    """
    encoding = check_encoding(encoding)
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
                form = FILE_FORMATS[source.kind]
                other = encoding and not form.magic
                found.append(transcode(source, workspace, encoding) if other else form.check(source, workspace))
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


def _locate(name: str, workspace: Workspace, encoding: str) -> InputFile:
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
    return InputFile(path.absolute(), name, kind, packing)


def _near(path: Path) -> str:
    try:
        near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.75)
    except OSError:
        near = []
    return f"; did you mean {path.parent / near[0]}?" if near else ""


def _by_suffix(path: Path) -> tuple[str, Packing]:
    kinds = {suffix: one for one in FILE_FORMATS.values() for suffix in one.suffixes}
    packings = {suffix: packing for packing, (suffix, _, _) in PACKINGS.items()}
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last in kinds:
        return kinds[last].name, "uncompressed"
    inner = kinds.get(suffixes[-2]) if len(suffixes) > 1 else None
    if last in packings and inner and not inner.magic:
        return inner.name, packings[last]
    if last in NOT_READ:
        raise InputError(f"{path}: {NOT_READ[last]}")
    raise InputError(f"{path}: cannot tell its format from its suffix; these are read: {_what_is_read()}")


def _what_is_read() -> str:
    *texts, last = [suffix for one in FILE_FORMATS.values() if not one.magic for suffix in one.suffixes]
    others = [suffix for one in FILE_FORMATS.values() if one.magic for suffix in one.suffixes]
    packed = " or ".join(suffix for suffix, _, _ in PACKINGS.values())
    return f"{', '.join(texts)} and {last} (each also with {packed}), {', '.join(others)}"


def _spool(stream: IO[bytes], name: str, workspace: Workspace, encoding: str) -> InputFile:
    """Copies what can be read only once; the format is told from the content."""
    path = new_copy(name, workspace)
    with path.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    source = InputFile(path, name, "csv")
    head = head_of(source)
    for one in FILE_FORMATS.values():
        if one.magic and head.startswith(one.magic):
            return replace(source, kind=one.name)
    source = replace(source, packing=packing_of(head))
    try:
        text = head_of(source).decode(encoding or "utf-8", "ignore")
    except LookupError:
        text = ""  # an unknown encoding is reported where it is used
    text = text.lstrip("\ufeff \t\r\n")
    return next((replace(source, kind=one.name) for one in FILE_FORMATS.values() if one.looks(text)), source)


def _check(source: InputFile, encoding: str) -> None:
    raw = head_of(replace(source, packing="uncompressed"))
    if not raw:
        raise InputError(f"{source.name} is empty")
    form = FILE_FORMATS[source.kind]
    _, title, magic = PACKINGS.get(source.packing, ("", form.title, form.magic))
    if not raw.startswith(magic):
        raise InputError(f"{source.name} is not a {title} file{_looks_like(raw)}")
    if not form.magic:
        _check_text(source, encoding)


def _check_text(source: InputFile, encoding: str) -> None:
    head = head_of(source)
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
