"""promptfoo: results as JSON, JSON Lines or CSV; each metric, or else the model that graded, is a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import (
    Export,
    Files,
    Tool,
    cases,
    excerpt,
    field_of,
    if_any,
    list_of,
    way_to,
    words,
)
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "promptfoo"
GRADED, RESULTS = "gradingResult", "results"
STATUS, SCORES = "Status", "Named Scores"
QUESTIONS = ("pass", "score")
"""What graders say of an output; the first is taken if none is named."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of results, of one in each line, or the columns of a table of them."""
    names = set(columns)
    return (
        {"evalId", RESULTS} <= names or {GRADED, "testIdx", "promptIdx"} <= names or {STATUS, "Score", SCORES} <= names
    )


def read(files: Files, reading: Reading) -> Export:
    """What graders say of the outputs: whether they pass, or their score."""
    if SCORES in files.columns:
        return _read_table(files, reading)
    if GRADED not in files.columns:
        files.need([RESULTS], TITLE)
    question = files.choose_question(reading.question or QUESTIONS[0], QUESTIONS, TITLE)
    query = files.stored(_graded(files))
    assertion = field_of("part", "assertion")
    known = f"(coalesce({if_any('test')}, {if_any('vars')}) IS NOT NULL)"
    inputs = files.ask(f"SELECT DISTINCT unnest(json_keys(vars)) AS name FROM ({query}) ORDER BY name")
    place = [literal(f"{files.name}: test "), "test::VARCHAR", literal(": ")]
    return Export(
        query,
        {str(name): field_of("vars", str(name)) for (name,) in inputs}
        | {
            "task": _task(files, query),
            "worker": _worker(assertion),
            "label": field_of("part", question),
            "testIdx": "test",
            "promptIdx": "prompt",
            "provider": field_of(field_of("result", "provider"), "id"),
            "description": field_of(field_of("result", "testCase"), "description"),
            "output": field_of(field_of("result", "response"), "output"),
        },
        left_out=cases(
            (f"{known} AND part IS NULL", literal("outputs that were not graded")),
            (f"{if_any(assertion)} IS NULL AND part IS NOT NULL", literal("sums of several assertions")),
        ),
        problem=cases(
            ("result IS NULL", words(literal(f"{files.name}: no list of results, or result, in "), excerpt("json"))),
            (f"NOT {known}", words(literal(f"{files.name}: no testIdx in "), excerpt("result"))),
            (
                f"json_type({field_of('part', question)}) IN ('ARRAY', 'OBJECT')",
                words(*place, literal(f"{question!r} is not one value: "), excerpt("part")),
            ),
        ),
        nested=True,
        question=question,
    )  # fmt: skip


def _graded(files: Files) -> str:
    """The query for all parts of all gradings; an output that was not graded is there without.

    A record is a document with a list of results, or a result of its own, whatever the other files have.
    """
    listed = f"json_extract(json, '/{RESULTS}/{RESULTS}')"
    own = f"coalesce({field_of('json', GRADED)}, {field_of('json', 'testIdx')}) IS NOT NULL"
    results = cases((f"json_type({listed}) = 'ARRAY'", list_of(listed)), (own, "[json]"), ("true", "[NULL]"))
    each = f"SELECT {excerpt('json')} AS json, unnest({results}) AS result FROM ({files.objects})"
    parts = list_of(field_of(field_of("result", GRADED), "componentResults"))
    fields = {"vars": "vars", "testIdx": "test", "promptIdx": "prompt"}
    named = ", ".join(f"{field_of('result', field)} AS {name}" for field, name in fields.items())
    return f"SELECT *, {named}, unnest(CASE len({parts}) WHEN 0 THEN [NULL] ELSE {parts} END) AS part FROM ({each})"


def _worker(assertion: str) -> str:
    """The metric of an assertion, or else who graded it, or else what kind of assertion it is."""
    provider = field_of(assertion, "provider")
    named = f"CASE json_type({provider}) WHEN 'VARCHAR' THEN {provider} END"
    fields = [field_of(assertion, "metric"), field_of(provider, "label"), field_of(provider, "id")]
    return f"coalesce({', '.join(map(if_any, fields))}, {named}, {field_of(assertion, 'type')})"


def _task(files: Files, query: str) -> str:
    """The number of the test, or what was put in where there is none; with that of the prompt, if there are several."""
    test = f"coalesce({if_any('test')}, vars)"
    ((prompts,),) = files.ask(f"SELECT count(DISTINCT prompt::VARCHAR) FROM ({query})")
    if int(str(prompts)) < 2:
        return test
    return f"to_json(concat(json_extract_string({test}, '$'), ', prompt ', json_extract_string(prompt, '$')))"


def _read_table(files: Files, reading: Reading) -> Export:
    """The named scores, which a table has for each prompt, in columns of the same names."""
    if files.columns.count(STATUS) > 1:
        raise InputError(
            f"{files.name} has the outputs of {files.columns.count(STATUS)} prompts in columns of the same names: "
            "have promptfoo write JSON"
        )
    files.choose_question(reading.question or "score", ["score"], TITLE)
    names = [name for name in dict.fromkeys(files.columns) if name.strip()]
    inputs = [quote(name) for name in names[: names.index(STATUS) - 1] if name != "Description"] or [quote(names[0])]
    scores = f"TRY_CAST({quote(SCORES)} AS JSON)"
    keys = "CASE WHEN len(json_keys(scores)) > 0 THEN json_keys(scores) ELSE [NULL] END"
    query = f"SELECT *, unnest({keys}) AS grader FROM (SELECT *, {scores} AS scores FROM ({files.table(names)}))"
    return Export(
        query,
        {name: quote(name) for name in names}
        | {
            "task": inputs[0] if len(inputs) == 1 else f"to_json([{', '.join(inputs)}])::VARCHAR",
            "worker": "grader",
            "label": f"json_extract_string(scores, {way_to('grader')})",
        },
        left_out=cases(("grader IS NULL", literal("outputs without named scores (JSON has all scores)"))),
        question="score",
    )


TOOL = Tool("promptfoo", recognise, read, ("question",))
