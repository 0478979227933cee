"""inspect-ai: logs as JSON, and the table of their samples; each scorer is a worker.

A sample that was run in several epochs, or in several evaluations, is a task for each of them: what the scorers judged
is another output each time. ``--task id`` takes them for one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crowdopt.data.readers.tools.base import Export, Files, Tool, cases, excerpt, field_of, text_of, way_to, words
from crowdopt.data.tables.workspace import literal, quote
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.reading import Reading

TITLE = "inspect-ai"
SCORE = "score_"
ABOUT_A_SCORE = ("_answer", "_explanation", "_metadata")
"""How the names of columns end that say more about a score."""

KEPT = {"id": "id", "epoch": "epoch", "input": "input", "target": "target", "sample_id": "uuid"}
"""The columns of a sample, and its fields."""


SCORER, VALUE, PARSED = "crowdopt_scorer", "crowdopt_value", "crowdopt_parsed"
"""What a score is made of in a query, beside the columns of a table."""

NO_NUMBER = "('NaN', 'nan')"
"""What a score is, as text, that was not given."""


def recognise(columns: Sequence[str]) -> bool:
    """Whether these are the keys of a log, or the columns of a table of samples."""
    return {"eval", "samples"} <= set(columns) or _is_log_without_samples(columns) or bool(_scores(columns))


def read(files: Files, reading: Reading) -> Export:
    """The scores of the samples; where a score has several values, one of them."""
    if _scores(files.columns):
        return _read_table(files, reading.question)
    if _is_log_without_samples(files.columns):
        raise InputError(f"{files.name} is a log without samples: write it with `inspect log dump`, not header only")
    files.need(["eval", "samples"], TITLE)
    query = files.stored(_scored(files))
    question = _question(files, "value", query, reading.question)
    sample, more = field_of("sample", "id"), _told_apart(files, query, field_of("sample", "epoch"), "run")
    place = ["path", literal(": sample "), f"{sample}::VARCHAR", literal(": ")]
    value, keyed = "value", f"json_type(value) = 'OBJECT' AND {bool(question)}"
    if question:
        value = f"CASE json_type(value) WHEN 'OBJECT' THEN {field_of('value', question)} END"
    return Export(
        query,
        {name: field_of("sample", field) for name, field in KEPT.items()}
        | {
            "task": f"to_json(concat({text_of('sample', 'id')}, {', '.join(more)}))" if more else sample,
            "worker": "to_json(scorer)",
            "label": f"CASE WHEN json_extract_string({value}, '$') <> 'NaN' THEN {value} END",
            "model": "model",
            "eval_id": "to_json(run)",
        },
        left_out=cases(
            ("sample IS NOT NULL AND scorer IS NULL", literal("samples without scores")),
            (f"{bool(question)} AND NOT ({keyed})", literal(f"scores without {question!r}")),
        ),
        problem=cases(
            ("sample IS NULL", words("path", literal(": no list of samples in "), excerpt("json"))),
            (
                f"{text_of('sample', 'id')} IS NULL",
                words("path", literal(": no id in the sample "), excerpt("sample")),
            ),
            (
                f"json_type({value}) IN ('ARRAY', 'OBJECT')",
                words(*place, literal("the score of "), "scorer", literal(" is not one value: "), excerpt("value")),
            ),
        ),
        nested=True,
        question=question,
    )


def _scored(files: Files) -> str:
    """The query for all scores of all samples; a sample that has none is there without."""
    run = "coalesce(json_extract_string(json, '/eval/eval_id'), json_extract_string(json, '/eval/run_id'))"
    samples = field_of("json", "samples")
    # Most of a log are events, which are left where they are.
    fields = literal(json.dumps([dict.fromkeys([*KEPT.values(), "scores"], "JSON")]))
    listed = f"CASE json_type({samples}) WHEN 'ARRAY' THEN json_transform({samples}, {fields}) ELSE [NULL] END"
    log = f"path, {excerpt('json')} AS json, json_extract(json, '/eval/model') AS model, {run} AS run"
    parted = f"SELECT {log}, unnest({listed}) AS one FROM ({files.named_objects})"
    each = f"SELECT * EXCLUDE one, CASE WHEN one IS NOT NULL THEN to_json(one) END AS sample FROM ({parted})"
    scores = field_of("sample", "scores")
    names = f"CASE WHEN len(json_keys({scores})) > 0 THEN json_keys({scores}) ELSE [NULL] END"
    named = f"SELECT *, unnest({names}) AS scorer FROM ({each})"
    way = f"'/scores' || {way_to('scorer')} || '/value'"
    return f"SELECT *, json_extract(sample, {way}) AS value FROM ({named})"


def _question(files: Files, value: str, query: str, question: str) -> str:
    """Which of the values of a score; empty if scores have one value each."""
    keys = f"SELECT unnest(json_keys({value})) AS key FROM ({query}) WHERE json_type({value}) = 'OBJECT'"
    available = [str(key) for (key,) in files.ask(f"SELECT DISTINCT key FROM ({keys}) ORDER BY key")]
    return files.choose_question(question, available, TITLE) if available or question else ""


def _told_apart(files: Files, query: str, epoch: str, run: str) -> list[str]:
    """What the name of a task has behind its sample: its epoch and its evaluation, where there are several."""
    ((epochs, runs),) = files.ask(f"SELECT count(DISTINCT ({epoch})::VARCHAR), count(DISTINCT {run}) FROM ({query})")
    told = [f"', epoch ', ({epoch})::VARCHAR"] if int(str(epochs)) > 1 else []
    return told + ([f"', run ', {run}"] if int(str(runs)) > 1 else [])


def _is_log_without_samples(columns: Sequence[str]) -> bool:
    return {"version", "status", "eval", "plan"} <= set(columns) and "samples" not in columns


def _scores(columns: Sequence[str]) -> list[str]:
    """The columns of scores in a table of samples."""
    if not {"sample_id", "eval_id", "id", "epoch"} <= set(columns):
        return []
    scores = [name for name in dict.fromkeys(columns) if name.startswith(SCORE)]
    more = {name + end for name in scores for end in ABOUT_A_SCORE}
    return [name for name in scores if name not in more]


def _read_table(files: Files, question: str) -> Export:
    """A row for each score; an empty cell is none, since there may be other scorers in every evaluation."""
    names = [name for name in dict.fromkeys(files.columns) if name.strip()]
    query = _scores_of_table(files, names)
    if question and not files.ask(f"SELECT 1 FROM ({query}) WHERE json_type({PARSED}) = 'OBJECT' LIMIT 1"):
        raise InputError(f"{files.name} has one value of each score: leave out --question")
    question = _question(files, PARSED, query, question)
    value, label = PARSED, VALUE
    if question:
        value = f"CASE json_type({PARSED}) WHEN 'OBJECT' THEN {field_of(PARSED, question)} END"
        label = f"nullif(json_extract_string({value}, '$'), 'NaN')"
    more = _told_apart(files, query, "epoch", "eval_id")
    return Export(
        query,
        {name: quote(name) for name in names}
        | {"task": f"concat(id, {', '.join(more)})" if more else "id", "worker": SCORER, "label": label},
        left_out=cases(
            (f"{VALUE} IS NULL", literal("empty cells of scores")),
            (
                f"{bool(question)} AND json_type({PARSED}) IS DISTINCT FROM 'OBJECT'",
                literal(f"scores without {question!r}"),
            ),
        ),
        problem=cases(
            ("id IS NULL", literal(f"{files.name}: a sample has no id")),
            (
                f"json_type({value}) IN ('ARRAY', 'OBJECT')",
                words(
                    literal(f"{files.name}: sample "), "id", literal(": the score of "), SCORER,
                    literal(" is not one value: "), excerpt(VALUE),
                ),
            ),
        ),
        question=question,
    )  # fmt: skip


def _scores_of_table(files: Files, names: Sequence[str]) -> str:
    """The query for all scores; several values of one are JSON, as text."""
    pairs = ", ".join(
        f"{{'{SCORER}': {literal(name.removeprefix(SCORE))}, '{VALUE}': {quote(name)}::VARCHAR}}"
        for name in _scores(files.columns)
    )
    each = f"SELECT *, unnest([{pairs}], recursive := true) FROM ({files.table(names)})"
    known = f"SELECT * REPLACE (CASE WHEN {VALUE} NOT IN {NO_NUMBER} THEN {VALUE} END AS {VALUE}) FROM ({each})"
    several = f"regexp_matches({VALUE}, '^\\s*[\\[{{]')"
    return f"SELECT *, CASE WHEN {several} THEN TRY_CAST({VALUE} AS JSON) END AS {PARSED} FROM ({known})"


TOOL = Tool("inspect-ai", recognise, read, ("question",))
