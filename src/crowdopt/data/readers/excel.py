"""Excel workbooks: the first sheet, with the types of its cells."""

from __future__ import annotations

import warnings
import zipfile
from datetime import date, datetime, time
from typing import IO, TYPE_CHECKING, Any

from crowdopt.data.readers.files import Format, InputFile, new_copy
from crowdopt.data.readers.union import Part
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.tables.workspace import Workspace


LARGEST = 512 * 2**20
"""Bytes that a workbook may unpack to, since its cells are held in memory; a million responses are far fewer."""


def _part(sources: Sequence[InputFile], source: InputFile, workspace: Workspace) -> Part:
    """Reads the sheet; the chosen columns go to a Parquet file in the temporary folder."""
    del sources  # of which there is one
    header, *rows = _rows(source) or [()]
    if not header:
        raise InputError(f"{source.name} is empty: its first sheet has no cells")
    columns = ["" if cell is None else _text(cell) for cell in header]
    if over := next((row for row in rows if len(row) > len(columns)), None):
        cell = next(cell for cell in over[len(columns) :] if cell is not None)
        raise InputError(
            f"{source.name} has a cell without a column name: {_text(cell)!r}; is the first row the header?"
        )

    def select(chosen: Sequence[str]) -> tuple[str, frozenset[str]]:
        places = [columns.index(name) for name in chosen]
        cells = [[row[place] if place < len(row) else None for row in rows] for place in places]
        path = new_copy("sheet.parquet", workspace)
        _write(cells, str(path))
        named = ", ".join(f"c{place} AS {quote(name)}" for place, name in enumerate(chosen))
        query = f"SELECT {named} FROM read_parquet([{literal(str(path))}], hive_partitioning = false)"
        return query, frozenset(name for name, own in zip(chosen, cells, strict=True) if set(own) <= {None})

    return Part(source.name, columns, select)


def _rows(source: InputFile) -> list[tuple[Any, ...]]:
    """The rows that are not empty, each without the empty cells at its end."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtraError("reading .xlsx", "excel") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which do not matter here
            with source.path.open("rb") as stream:  # given a path, openpyxl insists on a suffix
                _check_size(stream, source.name)
                sheet = load_workbook(stream, read_only=True, data_only=True).worksheets[0]
                sheet.reset_dimensions()  # what a file says of its own size is often wrong
                return [row for row in map(_trim, sheet.iter_rows(values_only=True)) if row]
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook can fail in any way
        raise InputError(
            f"{source.name} is not a readable .xlsx file; it may be damaged: open it and save it again"
        ) from error


def _check_size(stream: IO[bytes], name: str) -> None:
    """Refuses a workbook that unpacks to too much: no more is ever unpacked of a file than its directory says."""
    with zipfile.ZipFile(stream) as packed:
        size = sum(one.file_size for one in packed.infolist())
    if size > LARGEST:
        raise InputError(f"{name} unpacks to more than {LARGEST >> 20} MiB, too much for memory: save it as CSV")


def _trim(row: tuple[Any, ...]) -> tuple[Any, ...]:
    cells = tuple(None if cell == "" else cell for cell in row)
    end = next((place for place in range(len(cells), 0, -1) if cells[place - 1] is not None), 0)
    return cells[:end]


def _write(columns: Sequence[list[Any]], path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(*_typed(cells)) for cells in columns]
    pq.write_table(pa.table(arrays, names=[f"c{place}" for place in range(len(arrays))]), path)


def _typed(cells: list[Any]) -> tuple[list[Any], str]:
    """The cells as one type. Excel stores all numbers as fractions: 3.0 is 3."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return cells, "null"
    if kinds == {bool}:
        return cells, "bool"
    if kinds <= {int, float}:
        if all(cell is None or (cell == cell // 1 and abs(cell) < 1 << 63) for cell in cells):
            return [None if cell is None else int(cell) for cell in cells], "int64"
        return [None if cell is None else float(cell) for cell in cells], "float64"
    return [None if cell is None else _text(cell) for cell in cells], "string"


def _text(cell: Any) -> str:
    """A cell as text: 3.0 as 3, dates as ISO 8601.

    >>> [_text(cell) for cell in (3.0, 0.5, True, datetime(2024, 5, 1), datetime(2024, 5, 1, 9, 30))]
    ['3', '0.5', 'true', '2024-05-01', '2024-05-01T09:30:00']
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


EXCEL = Format("xlsx", (".xlsx",), _part, magic=b"PK\x03\x04", title=".xlsx")
