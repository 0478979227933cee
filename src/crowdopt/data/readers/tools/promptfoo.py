"""promptfoo: results as JSON, JSON Lines or CSV; each metric, or else the model that graded, is a worker.

What graders judge is one output. So a task is a test with a prompt of one provider, in one evaluation. Results of early
versions do not number tests and prompts: there a task is what was put in, the provider and the prompt.
"""

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
    text_of,
    way_to,
    words,
)
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import ColumnError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "promptfoo"
GRADED, RESULTS = "gradingResult", "results"
STATUS, SCORES, DESCRIPTION = "Status", "Named Scores", "Description"
QUESTIONS = ("pass", "score")
"""What graders say of an output; the first is taken if none is named."""

DOCUMENT = {"evalId", RESULTS, "config", "shareableUrl", "metadata", "vars", "runtimeOptions"}
"""The keys of a document; those of early versions have no evalId."""

VERSIONS = ("2", "3")
"""The versions of results that are read."""

ERROR = "2"
"""The ``failureReason`` of an output that is none, since the provider or promptfoo itself failed."""

NO_VERDICT = (
    "Could not extract JSON from llm-rubric response",
    "llm-rubric produced malformed response",
    "Could not perform remote grading: ",
    "Factuality checker output did not match expected format: ",
    "Invalid category value: ",
    "Model grader produced a malformed response:",
    "LLM does not propose any evaluation step",
    "LLM-proposed evaluation steps are not in JSON format: ",
    "LLM-proposed evaluation result is not in JSON format: ",
)
"""How the reason begins where a grader gave no verdict, in promptfoo's own words; later versions mark it, too."""

ERRORS = "outputs that are errors"
"""What outputs are called that nobody could grade."""

LONGEST = 100
"""Characters of a prompt, or of what an assertion asks for, in a name; of a longer text it has the beginning."""

ASSERTION = field_of("part", "assertion")
ASKED = field_of(ASSERTION, "value")
METRIC = if_any(field_of(ASSERTION, "metric"))
NO_RESULTS = words("path", literal(": no list of results, or result, in "), excerpt("json"))
OUTPUT = "run, test::VARCHAR, told, number"
"""The columns that tell outputs apart."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of results, of one in each line, or the columns of a table of them."""
    names = set(columns)
    return (
        {"evalId", RESULTS} <= names
        or {RESULTS, "config"} <= names <= DOCUMENT
        or {GRADED, "testIdx", "promptIdx"} <= names
        or {STATUS, "Score", SCORES} <= names
    )


def read(files: Files, reading: Reading) -> Export:
    """What graders say of the outputs: whether they pass, or their score."""
    if SCORES in files.columns:
        return _read_table(files, reading)
    if GRADED not in files.columns:
        files.need([RESULTS], TITLE)
    question = files.choose_question(reading.question or QUESTIONS[0], QUESTIONS, TITLE)
    graded = files.stored(_graded(files))
    _check_documents(files, graded)
    query = _numbered(files, graded)
    worker, notes = _worker(files, query)
    known = "(test IS NOT NULL AND told IS NOT NULL)"
    inputs = files.ask(f"SELECT DISTINCT unnest(json_keys(vars)) AS name FROM ({query}) ORDER BY name")
    place = ["path", literal(": test "), "test::VARCHAR", literal(": ")]
    return Export(
        query,
        {"evalId": "to_json(run)", "assertion": ASKED}
        | {str(name): field_of("vars", str(name)) for (name,) in inputs}
        | {
            "task": _task(files, query),
            "worker": worker,
            "label": field_of("part", question),
            "testIdx": "test",
            "promptIdx": "prompt",
            "provider": field_of(field_of("result", "provider"), "id"),
            "description": field_of(field_of("result", "testCase"), "description"),
            "output": field_of(field_of("result", "response"), "output"),
        },
        left_out=cases(
            (f"{known} AND {text_of('result', 'failureReason')} = '{ERROR}'", literal(ERRORS)),
            (f"{known} AND part IS NULL", literal("outputs that were not graded")),
            (f"{known} AND {_gave_no_verdict()}", literal("gradings that failed")),
            (f"{if_any(ASSERTION)} IS NULL AND part IS NOT NULL", literal("sums of several assertions")),
        ),
        problem=cases(
            ("result IS NULL", NO_RESULTS),
            ("test IS NULL", words("path", literal(": no testIdx in "), excerpt("result"))),
            ("told IS NULL", words("path", literal(": no promptIdx, provider or prompt in "), excerpt("result"))),
            (
                f"json_type({field_of('part', question)}) IN ('ARRAY', 'OBJECT')",
                words(*place, literal(f"{question!r} is not one value: "), excerpt("part")),
            ),
        ),
        nested=True,
        question=question,
        notes=notes,
    )  # fmt: skip


def _check_documents(files: Files, query: str) -> None:
    """Raises if nothing has results, which may be the export of another tool, or a document's version is not known."""
    ((some,),) = files.ask(f"SELECT bool_or(result IS NOT NULL) FROM ({query})")
    if some is False:
        ((problem,),) = files.ask(f"SELECT min({NO_RESULTS}) FROM ({query})")
        raise ColumnError(f"{problem}, so it is no export of {TITLE}")
    known = ", ".join(map(literal, VERSIONS))
    others = f"SELECT path, version FROM ({query}) WHERE version NOT IN ({known}) ORDER BY path LIMIT 1"
    for path, version in files.ask(others):
        read_ones = " and ".join(VERSIONS)
        raise InputError(f"{path} has results of version {version}, which is not known: versions {read_ones} are read")


def _gave_no_verdict() -> str:
    """The condition that a grader failed, so that what stands there is no verdict."""
    marked = f"{text_of(field_of('part', 'metadata'), 'graderError')} = 'true'"
    reason = text_of("part", "reason")
    return f"({' OR '.join([marked, *(f'starts_with({reason}, {literal(one)})' for one in NO_VERDICT)])})"


def _graded(files: Files) -> str:
    """The query for all parts of all gradings; an output that was not graded is there without.

    A record is a document with a list of results, or a result of its own, whatever the other files have. A document
    says of which evaluation it is; for other files the file is the evaluation. What tells its prompt is ``told``.
    """
    listed = f"json_extract(json, '/{RESULTS}/{RESULTS}')"
    own = f"coalesce({field_of('json', GRADED)}, {field_of('json', 'testIdx')}) IS NOT NULL"
    results = cases((f"json_type({listed}) = 'ARRAY'", list_of(listed)), (own, "[json]"), ("true", "[NULL]"))
    each = (
        f"SELECT path, {excerpt('json')} AS json, coalesce({text_of('json', 'evalId')}, file) AS run, "
        f"json_extract_string(json, '/{RESULTS}/version') AS version, "
        f"unnest(results) AS result, unnest(range(len(results))) AS place "
        f"FROM (SELECT *, {results} AS results FROM ({files.named_objects}))"
    )
    test, prompt = if_any(field_of("result", "testIdx")), if_any(field_of("result", "promptIdx"))
    inputs, parts = field_of("result", "vars"), list_of(field_of(field_of("result", GRADED), "componentResults"))
    return (
        f"SELECT *, {inputs} AS vars, coalesce({test}, {if_any(inputs)}) AS test, {prompt} AS prompt, "
        f"coalesce('prompt ' || json_extract_string({prompt}, '$'), {_provider_and_prompt()}) AS told, "
        f"{test} IS NOT NULL AND {prompt} IS NOT NULL AS indexed, "
        f"unnest(CASE len({parts}) WHEN 0 THEN [NULL] ELSE {parts} END) AS part FROM ({each})"
    )


def _provider_and_prompt() -> str:
    """The expression for the provider and the prompt of a result, which is told by its label, or else by its text."""
    provider, prompt = field_of("result", "provider"), field_of("result", "prompt")
    said = [_if_any_text(text_of(prompt, name)) for name in ("label", "display", "raw")]
    parts = [_if_any_text(text_of(provider, name)) for name in ("id", "label")]
    parts += [_if_text(provider), _shortened(f"coalesce({', '.join(said)}, {_if_text(prompt)})")]
    return _if_any_text(f"concat_ws(', ', {', '.join(parts)})")


def _numbered(files: Files, query: str) -> str:
    """The query with numbers of outputs that nothing else tells apart, such as those of repeated tests."""
    if not files.ask(f"SELECT 1 FROM ({query}) WHERE NOT indexed LIMIT 1"):
        return f"SELECT *, 1 AS number FROM ({query})"
    number = "dense_rank() OVER (PARTITION BY run, test::VARCHAR, told, indexed ORDER BY place, result::VARCHAR)"
    return files.stored(f"SELECT *, CASE WHEN indexed THEN 1 ELSE {number} END AS number FROM ({query})")


def _worker(files: Files, query: str) -> tuple[str, tuple[str, ...]]:
    """The metric of an assertion, or else who graded it, or else what kind of assertion it is; and what to say of it.

    If that is the same for assertions about one output which ask for different things, what they ask for is added.
    """
    provider = field_of(ASSERTION, "provider")
    named = f"CASE json_type({provider}) WHEN 'VARCHAR' THEN {provider} END"
    fields = [if_any(field_of(provider, "label")), if_any(field_of(provider, "id")), named]
    grader = f"coalesce({METRIC}, {', '.join(fields)}, {field_of(ASSERTION, 'type')})"
    found = files.ask(
        f"SELECT DISTINCT grader FROM (SELECT *, {grader}::VARCHAR AS grader FROM ({query})) "
        f"WHERE part IS NOT NULL AND {METRIC} IS NULL GROUP BY grader, {OUTPUT} "
        f"HAVING count(DISTINCT coalesce({ASKED}::VARCHAR, '')) > 1 ORDER BY grader"
    )
    if not found:
        return grader, ()
    several = ", ".join(literal(str(name)) for (name,) in found)
    asked = _shortened(f"json_extract_string({ASKED}, '$')")
    own = f"to_json(concat_ws(': ', json_extract_string({grader}, '$'), {asked}))"
    listed = ", ".join(str(name).strip('"') for (name,) in found)
    note = f"assertions without a metric are workers by what they ask for: {listed}"
    return f"CASE WHEN {METRIC} IS NULL AND {grader}::VARCHAR IN ({several}) THEN {own} ELSE {grader} END", (note,)


def _task(files: Files, query: str) -> str:
    """The number of the test, or what was put in where there is none; and the prompt if there are several."""
    ((prompts, runs, numbers),) = files.ask(
        f"SELECT count(DISTINCT told), count(DISTINCT run), count(DISTINCT number) FROM ({query})"
    )
    more = ["', ' || told"] if int(str(prompts)) > 1 else []
    more += ["', eval ' || run"] if int(str(runs)) > 1 else []
    more += ["CASE WHEN number > 1 THEN ', output ' || number END"] if int(str(numbers)) > 1 else []
    return f"to_json(concat(json_extract_string(test, '$'), {', '.join(more)}))" if more else "test"


def _if_any_text(text: str) -> str:
    return f"nullif({text}, '')"


def _if_text(value: str) -> str:
    return f"CASE json_type({value}) WHEN 'VARCHAR' THEN json_extract_string({value}, '$') END"


def _shortened(text: str) -> str:
    """The expression for a text that goes into a name; of a long one, which another may begin like, it has a digest."""
    beginning = f"concat(left({text}, {LONGEST}), '… ', left(md5({text}), 8))"
    return f"CASE WHEN len({text}) > {LONGEST} THEN {beginning} ELSE {text} END"


def _read_table(files: Files, reading: Reading) -> Export:
    """The named scores, which a table has for each prompt, in columns of the same names."""
    for part in files.parts:
        if (prompts := part.columns.count(STATUS)) > 1:
            raise InputError(
                f"{part.name} has the outputs of {prompts} prompts in columns of the same names: "
                "have promptfoo write JSON"
            )
    files.choose_question(reading.question or "score", ["score"], TITLE)
    names = [name for name in dict.fromkeys(files.columns) if name.strip()]
    read_scores = f"SELECT *, TRY_CAST({quote(SCORES)} AS JSON) AS {PARSED} FROM ({_rows(files, names)})"
    keys = f"CASE WHEN len(json_keys({PARSED})) > 0 THEN json_keys({PARSED}) ELSE [NULL] END"
    return Export(
        f"SELECT *, unnest({keys}) AS {GRADER} FROM ({read_scores})",
        {name: quote(name) for name in names}
        | {"task": ROW, "worker": GRADER, "label": f"json_extract_string({PARSED}, {way_to(GRADER)})"},
        left_out=cases(
            (f"{quote(STATUS)}::VARCHAR = 'ERROR'", literal(ERRORS)),
            (f"{GRADER} IS NULL", literal("outputs without named scores (JSON has all scores)")),
        ),
        question="score",
    )


ROW, NUMBER, PARSED, GRADER = "crowdopt_row", "crowdopt_number", "crowdopt_scores", "crowdopt_grader"
"""What is found of a row of a table, in a query beside its columns, which may have any names."""


def _rows(files: Files, names: Sequence[str]) -> str:
    """The query for all rows and their names: what was put in, with the description if the same was put in elsewhere.

    Rows that have both in common are outputs of their own, too: they have numbers.
    """
    table = files.table(names)
    inputs = [quote(name) for name in names[: names.index(STATUS) - 1] if name != DESCRIPTION] or [quote(names[0])]
    task = inputs[0] if len(inputs) == 1 else f"to_json([{', '.join(inputs)}])::VARCHAR"
    row = f"to_json([{', '.join(f'{quote(name)}::VARCHAR' for name in names)}])::VARCHAR"
    ((rows, tasks),) = files.ask(f"SELECT count(DISTINCT {row}), count(DISTINCT coalesce({task}, '')) FROM ({table})")
    if rows == tasks:
        return f"SELECT *, {task} AS {ROW} FROM ({table})"
    if DESCRIPTION in names:
        task = f"CASE WHEN {task} IS NOT NULL THEN concat_ws(', ', {task}, {quote(DESCRIPTION)}) END"
    number = f"dense_rank() OVER (PARTITION BY {task} ORDER BY {row})"
    numbered = f"SELECT *, {task} AS {ROW}, {number} AS {NUMBER} FROM ({table})"
    name = f"CASE WHEN {NUMBER} > 1 THEN {ROW} || ', output ' || {NUMBER} ELSE {ROW} END"
    return f"SELECT * REPLACE ({name} AS {ROW}) FROM ({numbered})"


TOOL = Tool("promptfoo", recognise, read, ("question",))
