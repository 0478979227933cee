"""JSON Lines: the type of a column is the type of its values in all rows, never guessed from texts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from crowdopt.data.readers.encoding import has_bom, transcode
from crowdopt.data.readers.files import Format, InputFile, check_whole, open_bytes
from crowdopt.data.readers.union import Part
from crowdopt.data.tables.workspace import EXACT, literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NoReturn

    import duckdb

    from crowdopt.data.tables.workspace import Workspace

MAX_OBJECT = 64 << 20
"""Bytes of one object; each thread reads into room for two."""

KINDS = {
    "VARCHAR": "text",
    "BOOLEAN": "true or false",
    "UBIGINT": "a number",
    "BIGINT": "a number",
    "LARGE": "a number",
    "HUGE": "a number",
    "DOUBLE": "a number",
    "OBJECT": "an object",
    "ARRAY": "a list",
}
"""What the types of JSON values are in words: those of DuckDB, and LARGE and HUGE, see :func:`kind_of`."""


def _check(source: InputFile, workspace: Workspace) -> InputFile:
    if source.packing != "uncompressed":
        check_whole(source)
    # JSON may not begin with a byte order mark
    return transcode(source, workspace, "utf-8-sig") if has_bom(source) else source


def _no_table(source: InputFile, workspace: Workspace, delimiter: str) -> NoReturn:
    """JSON that is not in lines is read by those who know what it holds."""
    del workspace, delimiter
    raise InputError(
        f"{source.name}: JSON is read as JSON Lines, one object per line, suffix .jsonl; as it is, only if it is "
        "the export of an annotation tool, named with --from"
    )


def _part(sources: Sequence[InputFile], packing: str, workspace: Workspace) -> Part:
    """Files of one packing. Reads them once, to know their keys and that they are well formed."""
    paths = ", ".join(source.literal for source in sources)
    table = (
        f"read_ndjson_objects([{paths}], compression = '{packing}', hive_partitioning = false, "
        f"maximum_object_size = {MAX_OBJECT})"
    )
    columns = _keys(sources, table, workspace)

    def select(chosen: Sequence[str]) -> tuple[str, frozenset[str]]:
        pointers = ", ".join(literal(pointer(name)) for name in chosen)
        types = _types(sources, table, pointers, chosen, workspace)
        cells = ", ".join(
            f"cells[{place + 1}]::{one} AS {quote(name)}"
            for place, (name, one) in enumerate(zip(chosen, types, strict=True))
        )
        query = f"SELECT {cells} FROM (SELECT json_extract_string(json, [{pointers}]) AS cells FROM {table})"
        return query, frozenset(name for name, one in zip(chosen, types, strict=True) if one == '"NULL"')

    return Part(sources[0].name, columns, select)


def _keys(sources: Sequence[InputFile], table: str, workspace: Workspace) -> list[str]:
    """All keys, in the order in which objects tend to have them."""
    import duckdb

    objects = f"SELECT json, json_type(json) = 'OBJECT' AS good FROM {table}"
    keys = f"SELECT json_keys(json) AS keys FROM ({objects})"
    names = f"SELECT unnest(keys) AS name, unnest(range(len(keys))) AS place FROM ({keys})"
    try:
        found = workspace.sql(f"SELECT name FROM ({names}) GROUP BY name ORDER BY min(place), name").fetchall()
        bad = workspace.sql(f"SELECT 1 FROM ({objects}) WHERE NOT good LIMIT 1").fetchall()
    except duckdb.InvalidInputException as error:
        raise _malformed(error, sources) from error
    if bad:
        name, line = _first(sources, lambda value: not isinstance(value, dict))
        raise InputError(f"{name}, line {line}: not a JSON object; JSON Lines has one object per line")
    if not found:
        raise InputError(f"{sources[0].name} is empty: it has no columns")
    return [name for (name,) in found]


def _types(
    sources: Sequence[InputFile], table: str, pointers: str, chosen: Sequence[str], workspace: Workspace
) -> list[str]:
    cells = (
        f"SELECT unnest(range({len(chosen)})) AS place, unnest(json_type(json, [{pointers}])) AS type, "
        f"unnest(json_extract_string(json, [{pointers}])) AS cell FROM {table}"
    )
    found = workspace.sql(f"SELECT DISTINCT place, {kind_of('type', 'cell')} FROM ({cells})").fetchall()
    kinds: list[set[str]] = [set() for _ in chosen]
    for place, one in found:
        if one not in (None, "NULL"):
            kinds[place].add(one)
    return [_type(name, own, sources) for name, own in zip(chosen, kinds, strict=True)]


def _type(name: str, kinds: set[str], sources: Sequence[InputFile]) -> str:
    if nested := next(iter(kinds & {"OBJECT", "ARRAY"}), None):
        raise ColumnError(f"column {name!r} is nested ({KINDS[nested]} in some rows); one value per row is needed")
    if len({KINDS[one] for one in kinds}) > 1:
        odd = "VARCHAR" if "VARCHAR" in kinds else "BOOLEAN"
        other = next(KINDS[one] for one in sorted(kinds) if one != odd)
        python = str if odd == "VARCHAR" else bool
        file, line = _first(sources, lambda value: isinstance(value.get(name), python))
        raise InputError(
            f"column {name!r} is {other} in some rows and {KINDS[odd]} in others "
            f"(first {KINDS[odd]} at line {line} of {file}); make it one type"
        )
    if own := next(iter(kinds & {"VARCHAR", "BOOLEAN"}), None):
        return own
    return number_type(kinds) if kinds else '"NULL"'


def kind_of(own: str, cell: str) -> str:
    """The SQL for the kind of a value of JSON, a key of KINDS, given its type in the words of DuckDB and its text.

    Those words tell nothing of the size of integers: UBIGINT is for all that are not negative, of which few do not fit
    BIGINT, and DOUBLE also for those that fit neither. A text of fewer than 16 characters is below 2**53 in any case.
    """
    return (
        f"CASE WHEN {own} = 'DOUBLE' AND regexp_full_match({cell}, '-?[0-9]+') THEN 'HUGE' "
        f"WHEN {own} IS NULL OR {own} NOT IN ('UBIGINT', 'BIGINT') OR len({cell}) < 16 THEN {own} "
        f"WHEN TRY_CAST({cell} AS BIGINT) IS NULL THEN 'HUGE' "
        f"WHEN abs(TRY_CAST({cell} AS HUGEINT)) > {EXACT} THEN 'LARGE' ELSE {own} END"
    )


def number_type(kinds: set[str]) -> str:
    """The type that holds numbers of some kinds exactly: text if none does, so that no two numbers become one.

    >>> number_type({"UBIGINT", "DOUBLE"}), number_type({"UBIGINT", "LARGE"}), number_type({"LARGE", "DOUBLE"})
    ('DOUBLE', 'BIGINT', 'VARCHAR')
    """
    if "HUGE" in kinds or {"LARGE", "DOUBLE"} <= kinds:
        return "VARCHAR"
    return "DOUBLE" if "DOUBLE" in kinds else "BIGINT"


def pointer(name: str) -> str:
    """A JSON pointer (RFC 6901), which unlike a path has no wildcards.

    >>> pointer("a/b~c")
    '/a~1b~0c'
    """
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _lines(source: InputFile, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
    with open_bytes(source) as stream:
        yield from ((start + place + 1, line) for place, line in enumerate(islice(stream, start, stop)) if line.strip())


def _first(sources: Sequence[InputFile], wanted: Callable[[Any], bool]) -> tuple[str, int]:
    """The file and line of the first value that is wanted; only used to say what is wrong."""
    for source in sources:
        for line, data in _lines(source):
            if wanted(json.loads(data)):
                return source.name, line
    return sources[0].name, 1


def _malformed(error: duckdb.Error, sources: Sequence[InputFile]) -> Exception:
    """Says where; the line that the database counts may be one off, so its neighbours are looked at."""
    found = re.search(
        r'Malformed JSON in file "(.*)", at byte \d+ in line (\d+): (.*?)\.? *$', str(error), re.MULTILINE
    )
    source = next((source for source in sources if found and str(source.path) == found[1]), None)
    if not found or not source:
        return error
    near = int(found[2])
    for line, data in _lines(source, max(0, near - 4), near + 2):
        try:
            json.loads(data.decode())
        except UnicodeDecodeError:
            return InputError(f"{source.name} is not UTF-8 (line {line}); try --encoding windows-1252")
        except ValueError:
            return InputError(f"{source.name}, line {line}: not JSON ({found[3]}); one object per line is needed")
    return InputError(f"{source.name}, near line {near}: not JSON ({found[3]}); one object per line is needed")


JSON_LINES = Format(
    "jsonl",
    (".jsonl", ".ndjson", ".manifest"),
    _part,
    inspect=lambda source, *_: (source, source.packing),
    looks=lambda text: text.startswith("{"),
    check=_check,
    copy="FORMAT json",
)
JSON = replace(
    JSON_LINES,
    name="json",
    suffixes=(".json",),
    inspect=_no_table,
    looks=lambda text: text.startswith("[") and text[1:].lstrip().startswith("{"),
    copy="",
)
