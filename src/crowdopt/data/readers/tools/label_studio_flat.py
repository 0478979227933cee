"""Label Studio's JSON-MIN, CSV and TSV: one annotation in each record, its answers beside the data of the task.

Nothing says which keys are answers. JSON-MIN writes the data, ``id``, the answers and then what is known of the
annotation; a key that the data have, too, stays where the data have it. CSV and TSV of today sort their columns. What
differs between two annotations of one task is an answer in any case, since data do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, cases, excerpt, field_of, text_of, words
from crowdopt.data.readers.tools.label_studio_values import READ, is_placed, label_in, several_in
from crowdopt.data.tables.workspace import literal
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.readers.tools.base import Files
    from crowdopt.data.reading import Reading

TITLE = "Label Studio"
WHOSE = ("annotator", "annotation_id")
"""The keys that say whose annotation a record is."""

ABOUT = (*WHOSE, "created_at", "updated_at", "lead_time", "agreement", "history")
"""What is written of an annotation behind the answers, in this order."""


def is_flat(columns: Sequence[str]) -> bool:
    """Whether these are the keys of such records; of an export without any, which has no ``id`` either, too."""
    named = set(columns)
    return set(WHOSE) <= named and "annotations" not in named and ("id" in named or set(ABOUT[:5]) == named)


def read_flat(files: Files, reading: Reading) -> Export:
    """The annotations of an export that has one in each record."""
    if set(files.columns) == set(ABOUT[:5]):
        raise InputError(f"{files.name} is empty: it has no annotations; was it exported before anybody answered?")
    files.need(["id", *WHOSE], TITLE)
    question, said = _question(files, reading)
    task, annotator = field_of("json", "id"), field_of("json", "annotator")
    place = ["path", literal(": annotation "), text_of("json", "annotation_id"), literal(": ")]
    valued = f"SELECT json, path, {_value(field_of('json', question))} AS value FROM ({files.placed_objects})"
    # A result that is no choice stands in a list, which has several if there were several results.
    single = "CASE json_type(value) WHEN 'ARRAY' THEN value->0 ELSE value END"
    opened = f"SELECT *, {single} AS one FROM ({valued})"
    label = f"CASE json_type(one) WHEN 'OBJECT' THEN {label_in('one')} ELSE one END"
    wrong = (
        "json_type(value) = 'ARRAY' AND json_array_length(value) <> 1 OR json_type(label) IN ('ARRAY', 'OBJECT') "
        f"OR json_type(one) = 'OBJECT' AND ({several_in('one')} OR {is_placed('one')} OR label IS NULL)"
    )
    return Export(
        f"SELECT *, {label} AS label FROM ({opened})",
        _columns(files) | {"label": "label"},
        left_out=cases((f"{text_of('json', 'annotation_id')} IS NULL", literal("tasks without annotations"))),
        problem=cases(
            (f"{task} IS NULL", words("path", literal(": no id in "), excerpt("json"))),
            (f"{annotator} IS NULL", words(*place, literal("no 'annotator'"))),
            (wrong, words(*place, literal(f"{question!r} is not one label of the task ({READ}): "), excerpt("value"))),
        ),
        nested=True,
        question=question,
        notes=said,
    )


def _columns(files: Files) -> dict[str, str]:
    """What can be read of an annotation; some of it are answers."""
    return {name: field_of("json", name) for name in files.columns} | {
        "task": field_of("json", "id"),
        "worker": field_of("json", "annotator"),
    }


def _value(cell: str) -> str:
    """An answer; what a CSV has as JSON in a text, it is again."""
    text = f"json_extract_string({cell}, '$')"
    written = f"json_type({cell}) = 'VARCHAR' AND regexp_matches({text}, '^(\\{{|\\[[\\{{\"])') AND json_valid({text})"
    empty = f"json_type({cell}) = 'NULL' OR {text} IN ('', '[]')"
    return f"CASE WHEN {empty} THEN NULL WHEN {written} THEN {text}::JSON ELSE {cell} END"


def _question(files: Files, reading: Reading) -> tuple[str, tuple[str, ...]]:
    """The key of the answers that are wanted: the one that is named, or the only one that there can be; and a note."""
    possible = [name for name in files.columns if name not in {"id", *ABOUT}]
    if reading.question:
        return files.choose_question(reading.question, possible, TITLE), ()
    sorted_ = not files.as_objects and files.columns == sorted(files.columns)
    placed = possible if sorted_ else _behind_the_data(files)
    # Behind an id that comes first stand data, whose id it is; behind another one answers, whether they differ or not.
    if len(placed) == 1 or (placed and not sorted_ and files.columns[0] != "id"):
        return files.choose_question("", placed, TITLE), ()
    differing = _differing(files, files.counting(files.objects, _columns(files), reading, nested=True))
    if len(differing) == 1:
        return differing[0], (f"the answers are those to {differing[0]!r}, the only ones that differ within a task",)
    if not differing and sorted_ and placed:
        raise InputError(
            f"{files.name} does not say which of its columns has the answers, and none differs between the annotations "
            f"of a task: name one with --question ({', '.join(placed)})"
        )
    return files.choose_question("", differing or placed, TITLE), ()


def _behind_the_data(files: Files) -> list[str]:
    """The keys that stand behind ``id``, and behind what else is there before its turn: the data have it, too."""
    keys = f"SELECT DISTINCT json_keys(json) FROM ({files.objects}) WHERE json_type(json) = 'OBJECT'"
    if not files.as_objects:
        return sorted(answers_among(files.columns))
    return sorted({name for (row,) in files.ask(keys) if isinstance(row, list) for name in answers_among(row)})


def answers_among(keys: Sequence[str]) -> list[str]:
    """The keys of a record that are answers, as far as the order tells.

    >>> answers_among(["text", "id", "mood", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"])
    ['mood']
    >>> answers_among(["id", "text", "updated_at", "mood", "annotator", "annotation_id", "created_at", "lead_time"])
    ['mood']
    """
    end = len(keys)
    later = len(ABOUT)
    while end and keys[end - 1] in ABOUT[:later]:
        end -= 1
        later = ABOUT.index(keys[end])
    start = max((place + 1 for place, name in enumerate(keys[:end]) if name in {"id", *ABOUT}), default=end)
    return list(keys[start:end])


def _differing(files: Files, records: str) -> list[str]:
    """The keys whose values differ between annotations of one task, in the order of the alphabet."""
    names = sorted({*files.columns} - {"id", *ABOUT})
    if not names:
        return []
    cells = {f"c{at}": text_of("json", name) for at, name in enumerate(names)}
    hashes = ", ".join(f"CASE WHEN {cell} IS NOT NULL THEN hash({cell}) END AS {name}" for name, cell in cells.items())
    within = ", ".join(f"min({name}) <> max({name}) AS {name}" for name in cells)
    each = f"SELECT {within} FROM (SELECT {text_of('json', 'id')} AS id, {hashes} FROM ({records})) GROUP BY id"
    (row,) = files.ask(f"SELECT {', '.join(f'bool_or({name})' for name in cells)} FROM ({each})")
    return [name for name, differs in zip(names, row, strict=True) if differs]
