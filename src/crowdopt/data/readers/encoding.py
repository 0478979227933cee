"""Text in other encodings, copied as UTF-8 without ever being held in memory."""

from __future__ import annotations

import codecs
from dataclasses import replace
from typing import TYPE_CHECKING

from crowdopt.data.readers.files import InputFile, new_copy, open_bytes
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from crowdopt.data.tables.workspace import Workspace

CHUNK = 1 << 20
"""Bytes that are decoded together."""


def check_encoding(encoding: str) -> str:
    """The name of the codec to decode with, or an empty text for UTF-8.

    >>> check_encoding("Latin1"), check_encoding("utf8")
    ('iso8859-1', '')
    """
    if not encoding:
        return ""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # refuses codecs that are not of text, such as base64
    except (LookupError, ValueError) as error:
        raise InputError(
            f"unknown encoding {encoding!r}; for example utf-8, windows-1252, latin-1 or utf-16"
        ) from error
    return "" if name in {"utf-8", "utf-8-sig", "ascii"} else name


def has_bom(source: InputFile) -> bool:
    """Whether a file begins with the byte order mark of UTF-8."""
    with open_bytes(source) as stream:
        return stream.read(3) == codecs.BOM_UTF8


def transcode(source: InputFile, workspace: Workspace, encoding: str) -> InputFile:
    """Copies a text file to the temporary folder as plain UTF-8 without a byte order mark."""
    copy = new_copy(source.name, workspace)
    decoder = codecs.getincrementaldecoder(encoding)()
    fed, start = 0, True
    with open_bytes(source) as stream, copy.open("wb") as out:
        while True:
            chunk = stream.read(CHUNK)
            fed += len(chunk)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeError as error:
                raise InputError(
                    f"{source.name} is not {encoding}{_position(error, fed)}; try another --encoding"
                ) from error
            if start and text:
                text, start = text.removeprefix("\ufeff"), False
            out.write(text.encode("utf-8", "replace"))
            if not chunk:
                return replace(source, path=copy, packing="uncompressed")


def _position(error: UnicodeError, fed: int) -> str:
    """Where decoding failed: the decoder saw the last ``len(error.object)`` of the bytes that were fed."""
    if not isinstance(error, UnicodeDecodeError):
        return ""
    return f" (byte {fed - len(error.object) + error.start})"
