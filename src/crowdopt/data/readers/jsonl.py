"""JSON Lines: the type of a column is the type of its values in all rows, never guessed from texts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from crowdopt.data.readers.encoding import has_bom, transcode
from crowdopt.data.readers.files import Format, InputFile, check_whole, open_bytes
from crowdopt.data.readers.union import Part
from crowdopt.data.rows.patterns import PathName
from crowdopt.data.tables.workspace import EXACT, literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NoReturn

    import duckdb

    from crowdopt.data.tables.workspace import Workspace

MAX_OBJECT = 64 << 20
"""Bytes of one object; each thread reads into room for two."""

FEW = 12
"""Paths that an error lists."""

SHOWN = 60
"""Characters of a line that an error shows."""

NO_LISTS = "write a row for each item of the list, or an object with a key for each worker"
"""What to do where there is a list."""

Path = tuple[str, ...]
"""The keys that lead to a value inside objects, the outermost first."""

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
    keys = [(key,) for key in _keys(sources, table, workspace)]
    rows = _Rows(sources, table, workspace)

    def inside() -> Part:
        leaves = rows.leaves(keys)
        own = {path[0] for path in leaves if path in keys}  # a key with dots in it goes before a path
        return rows.part([path for path in leaves if path in keys or ".".join(path) not in own])

    return rows.part(keys, inside)


@dataclass(frozen=True)
class _Rows:
    """The objects of some files.

    Attributes:
        sources: The files.
        table: What stands for them in SQL, as one column ``json``.
        workspace: The database to read with.
    """

    sources: Sequence[InputFile]
    table: str
    workspace: Workspace

    def part(self, paths: Sequence[Path], inside: Callable[[], Part] | None = None) -> Part:
        """A part whose columns are what stands on some paths."""
        by_name = {".".join(path): path for path in paths}

        def select(chosen: Sequence[str]) -> tuple[str, frozenset[str]]:
            own = [by_name[name] for name in chosen]
            types = self._types(own)
            cells = ", ".join(
                f"cells[{place + 1}]::{one} AS {quote(name)}"
                for place, (name, one) in enumerate(zip(chosen, types, strict=True))
            )
            found = f"SELECT json_extract_string(json, [{_pointers(own)}]) AS cells FROM {self.table}"
            nulls = frozenset(name for name, one in zip(chosen, types, strict=True) if one == '"NULL"')
            return f"SELECT {cells} FROM ({found})", nulls

        return Part(self.sources[0].name, list(map(PathName, paths)), select, inside, why_missing=self._why_missing)

    def _why_missing(self, name: str) -> str:
        """What to say of a path that goes on behind a list."""
        keys = tuple(name.split("."))
        for length in range(1, len(keys)):
            is_list = f"json_type(json, {_pointers([keys[:length]])}) = 'ARRAY'"
            if self.workspace.sql(f"SELECT 1 FROM {self.table} WHERE {is_list} LIMIT 1").fetchall():
                return (
                    f"there is no {name!r}: {'.'.join(keys[:length])!r} is a list, and lists are not read; {NO_LISTS}, "
                    f'and --worker-columns "{".".join(keys[:length])}.*"'
                )
        return ""

    def leaves(self, paths: Sequence[Path]) -> list[Path]:
        """The paths or, where objects stand there, those to what is inside these, however deep, in order."""
        values = f"unnest(range({len(paths)})) AS place, unnest(json_extract(json, [{_pointers(paths)}])) AS value"
        objects = f"SELECT * FROM (SELECT {values} FROM {self.table}) WHERE json_type(value) = 'OBJECT'"
        keys = f"SELECT place, json_keys(value) AS keys FROM ({objects})"
        each = f"SELECT place, unnest(keys) AS key, unnest(range(len(keys))) AS n FROM ({keys})"
        found = self.workspace.sql(
            f"SELECT place, key FROM ({each}) GROUP BY ALL ORDER BY place, min(n), key"
        ).fetchall()
        below = [(*paths[place], key) for place, key in found]
        inside: dict[Path, list[Path]] = {}
        for path in self.leaves(below) if below else []:
            inside.setdefault(path[: len(paths[0])], []).append(path)
        return [leaf for path in paths for leaf in inside.get(path, [path])]

    def _types(self, chosen: Sequence[Path]) -> list[str]:
        pointers = _pointers(chosen)
        cells = (
            f"SELECT unnest(range({len(chosen)})) AS place, unnest(json_type(json, [{pointers}])) AS type, "
            f"unnest(json_extract_string(json, [{pointers}])) AS cell FROM {self.table}"
        )
        found = self.workspace.sql(f"SELECT DISTINCT place, {kind_of('type', 'cell')} FROM ({cells})").fetchall()
        kinds: list[set[str]] = [set() for _ in chosen]
        for place, one in found:
            if one not in (None, "NULL"):
                kinds[place].add(one)
        return [self._type(path, own) for path, own in zip(chosen, kinds, strict=True)]

    def _type(self, path: Path, kinds: set[str]) -> str:
        name = ".".join(path)
        if nested := next((one for one in ("OBJECT", "ARRAY") if one in kinds), None):
            said = f"column {name!r} is nested ({KINDS[nested]} in some rows); one value per row is needed"
            raise ColumnError(said + (self._paths_into(path) if nested == "OBJECT" else f"; {NO_LISTS}"))
        if len({KINDS[one] for one in kinds}) > 1:
            odd = "VARCHAR" if "VARCHAR" in kinds else "BOOLEAN"
            other = next(KINDS[one] for one in sorted(kinds) if one != odd)
            python = str if odd == "VARCHAR" else bool
            file, line = _first(self.sources, lambda value: isinstance(_at(value, path), python))
            raise InputError(
                f"column {name!r} is {other} in some rows and {KINDS[odd]} in others "
                f"(first {KINDS[odd]} at line {line} of {file}); make it one type"
            )
        if own := next(iter(kinds & {"VARCHAR", "BOOLEAN"}), None):
            return own
        return number_type(kinds) if kinds else '"NULL"'

    def _paths_into(self, path: Path) -> str:
        """What to name instead of an object."""
        inside = [".".join(leaf) for leaf in self.leaves([path]) if leaf != path]
        listed = ", ".join(inside[:FEW]) + (", …" if len(inside) > FEW else "")
        return f": name a path into it ({listed})" if inside else ""


def _pointers(paths: Sequence[Path]) -> str:
    return ", ".join(literal("".join(map(pointer, path))) for path in paths)


def _at(value: Any, path: Path) -> Any:
    """What stands on a path; None if it ends before."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


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
    near, said = int(found[2]), found[3].partition(". Try ")[0]  # not its advice about options of the database
    for line, data in _lines(source, max(0, near - 4), near + 2):
        try:
            json.loads(data.decode())
        except UnicodeDecodeError:
            return InputError(f"{source.name} is not UTF-8 (line {line}); try --encoding windows-1252")
        except json.JSONDecodeError as wrong:
            if wrong.msg == "Extra data":
                rest = wrong.doc[wrong.pos :].strip()
                shown = rest[:SHOWN] + ("…" if len(rest) > SHOWN else "")
                more = f"not JSON Lines, as there is more behind the first object ({shown})"
                return InputError(f"{source.name}, line {line}: {more}; one object per line is needed")
            return InputError(f"{source.name}, line {line}: not JSON ({said}); one object per line is needed")
    return InputError(f"{source.name}, near line {near}: not JSON ({said}); one object per line is needed")


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
