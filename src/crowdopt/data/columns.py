"""Which columns of a source are which; errors that name the nearest one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from crowdopt.data.rows.spread import spread_columns
from crowdopt.errors import ColumnError

if TYPE_CHECKING:
    from crowdopt.data.reading import Reading

Choose = Callable[[Sequence[str]], list[str]]
"""Given the columns that a source has, the ones to read; raises ColumnError."""

SYNONYMS = {
    "task": ("task", "task_id", "task_name", "item", "item_id", "unit", "unit_id", "question_id", "hit", "hitid",
             "example_id", "sample", "sample_id", "instance", "instance_id", "document_id", "doc_id", "record",
             "record_id", "subject", "subject_id", "subject_ids", "object", "object_id", "image", "image_id",
             "image_name", "filename", "file_name", "sentence_id", "text_id", "tweet_id", "post_id", "comment_id",
             "pair_id", "prompt_id", "query_id", "test_case", "custom_id", "orig_id", "original_id", "external_id",
             "row_id", "uid", "id", "question", "example", "document", "doc", "index", "idx", "image_url", "url",
             "prompt", "sentence", "tweet", "text"),
    "worker": ("worker", "worker_id", "workerid", "worker_name", "annotator", "annotator_id", "annotator_name",
               "rater", "rater_id", "user", "user_id", "user_name", "username", "performer", "performer_id", "judge",
               "judge_id", "judge_name", "model", "model_id", "model_name", "labeler", "labeler_id", "labeller",
               "labeller_id", "coder", "coder_id", "crowdworker", "crowd_worker_id", "turker", "turker_id",
               "participant", "participant_id", "prolific_pid", "contributor", "contributor_id", "reviewer",
               "reviewer_id", "assessor", "assessor_id", "evaluator", "evaluator_id", "grader", "scorer", "expert",
               "completed_by", "created_by", "session_id", "author", "email"),
    "label": ("label", "labels", "answer", "answers", "response", "rating", "score", "value", "judgment", "judgement",
              "verdict", "grade", "annotation", "annotations", "annotated_label", "category", "vote", "choice",
              "decision", "result", "class", "class_name", "output", "prediction", "opinion", "sentiment"),
    "class": ("class", "worker_class", "crowd", "pool", "platform", "tier", "skill", "role"),
    "group": ("group", "batch", "question", "language", "project", "job", "campaign"),
}  # fmt: skip
"""Common names of columns, likeliest first: suggested in errors, never used in silence."""

WIDE = "if each worker has a column, say --wide or --worker-columns"
"""What to do where neither workers nor labels have a column."""

LISTED = 12
"""Columns that an error lists."""


def need(name: str, role: str, available: Sequence[str]) -> str:
    """Returns ``name`` if the source has exactly one such column, else raises with what to do instead."""
    return need_all([(name, role)], available)[0]


def need_all(wanted: Sequence[tuple[str, str]], available: Sequence[str]) -> list[str]:
    """The names of pairs (name, role), if the source has each exactly once; else raises with all that is wrong."""
    columns = list(available)
    for name, _ in wanted:
        if (found := columns.count(name)) > 1:
            raise ColumnError(f"there are {found} columns named {name!r}; rename all but one")
    if missing := [(name, role) for name, role in wanted if name not in columns]:
        used = {name for name, _ in wanted}
        said = _missing(missing, [name for name in columns if name not in used], columns)
        raise ColumnError(said, missing=tuple(name for name, _ in missing))
    return list(dict.fromkeys(name for name, _ in wanted))


def _missing(missing: Sequence[tuple[str, str]], free: Sequence[str], columns: Sequence[str]) -> str:
    """What to say of columns that are not there; ``free`` are those that have no other role."""
    said = ", and none".join(f" named {name!r} for the {role}" for name, role in missing)
    blank: list[tuple[str, str]] = []
    guessed: list[tuple[str, str]] = []
    for name, role in missing:
        taken = {guess for guess, _ in blank + guessed}
        # what is kept, or orders responses, may be a column that has another role
        left = [one for one in free if one not in taken] if role in SYNONYMS else columns
        odd = next((column for column in left if column.strip() == name.strip()), "")
        if guess := odd or suggest(name, role, left):
            (blank if odd else guessed).append((guess, role))
    hint = f"; {_about_blanks(blank)}" if blank else ""
    if {"worker", "label"} <= {role for _, role in missing} - {role for _, role in blank + guessed}:
        hint += f"; {WIDE}"
    hint += f"; did you mean {_options(guessed)}?" if guessed else ""
    # A name with blanks around it looks like the right one; quotes show the difference.
    listed = ", ".join(name if name == name.strip() else repr(name) for name in columns[:LISTED])
    return f"no column{said}{hint} (columns: {listed}{', …' if len(columns) > LISTED else ''})"


def _about_blanks(odd: Sequence[tuple[str, str]]) -> str:
    names = " and ".join(repr(name) for name, _ in odd)
    before, after = any(name != name.lstrip() for name, _ in odd), any(name != name.rstrip() for name, _ in odd)
    where = "around" if before and after else "before" if before else "behind"
    one = f"the column is named {names}, with a blank {where} it" if len(odd) == 1 else ""
    return (
        f"{one or f'the columns are named {names}, with blanks {where} them'}: mend the header, or say {_options(odd)}"
    )


def _options(columns: Sequence[tuple[str, str]]) -> str:
    """Columns as options by their roles; those whose role has no option of its own by their names."""
    options = [f"--{role} {shlex.quote(name)}" for name, role in columns if role in SYNONYMS]
    others = [repr(name) for name, role in columns if role not in SYNONYMS]
    return " and ".join([" ".join(options), *others] if options else others)


def suggest(name: str, role: str, available: Sequence[str]) -> str | None:
    """The column that the user most likely meant, or None."""
    folded = {_fold(column): column for column in reversed(available)}
    if near := get_close_matches(_fold(name), folded, n=1, cutoff=0.75):
        return folded[near[0]]
    for synonym in SYNONYMS.get(role, ()):
        if synonym in folded:
            return folded[synonym]
    return None


def choose_responses(reading: Reading) -> Choose:
    """The columns that a table of responses needs."""
    wanted: list[tuple[str, str]] = [(reading.index, reading.index_role)]
    if not reading.wide:
        wanted = [(reading.task, "task"), (reading.worker, "worker"), (reading.label, "label")]
    options = {"class": reading.class_column, "group": reading.group}
    options |= {
        f"--{name.replace('_', '-')} option": getattr(reading, name) for name in ("order_by", "time", "seconds")
    }
    wanted += [(name, role) for role, name in options.items() if name]
    wanted += [(name, "--keep option") for name in reading.keep]
    wanted += [(name, "--where option") for name in reading.where_columns]

    def choose(available: Sequence[str]) -> list[str]:
        chosen = need_all(wanted, available)
        return _with_spread(reading, available, chosen) if reading.wide else chosen

    return choose


def _with_spread(reading: Reading, available: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The same with the columns of a wide table that are workers, or tasks: those that are named, or all others."""
    if not reading.across_columns and len(set(available)) < len(available):
        twice = next(name for name in available if list(available).count(name) > 1)
        raise ColumnError(
            f"there are {list(available).count(twice)} columns named {twice!r}: one column per worker is needed"
        )
    return list(dict.fromkeys([*chosen, *spread_columns(reading, available)]))


def choose_truth(reading: Reading) -> Choose:
    """The columns that a table of true labels needs."""

    def choose(available: Sequence[str]) -> list[str]:
        return [
            reading.task if reading.task in available else need("task", "task", available),
            reading.label if reading.label in available else need("label", "label", available),
        ]

    return choose


def choose_group_truth(reading: Reading) -> Choose:
    """The columns that a table of true labels in groups needs."""

    def choose(available: Sequence[str]) -> list[str]:
        return [need(reading.group, "group", available), *choose_truth(reading)(available)]

    return choose


def choose_classes(reading: Reading) -> Choose:
    """The columns that a table of the classes of workers needs."""

    def choose(available: Sequence[str]) -> list[str]:
        return [
            reading.worker if reading.worker in available else need("worker", "worker", available),
            need(reading.class_column or "class", "class", available),
        ]

    return choose


def check_answer_columns(names: Sequence[str], *, fold: bool = True) -> None:
    """Raises if two columns of the answers would have one name; in files and DuckDB, case makes no difference."""
    seen: dict[str, str] = {}
    for name in names:
        key = name.lower() if fold else name
        if key in seen:
            both = repr(name) if seen[key] == name else f"{seen[key]!r} and {name!r}, which differ only in case"
            hint = ", or do without --probabilities" if name.startswith("p_") else ""
            raise ColumnError(f"the answers cannot have two columns named {both}; rename one in the data{hint}")
        seen[key] = name
        if fold and ('"' in name or "." in name):  # Narwhals does not quote it for DuckDB
            hint = ": do without --probabilities" if name.startswith("p_") else ""
            raise ColumnError(
                f"the answers cannot have a column {name!r}, with a dot or a double quote, in a file or DuckDB{hint}"
            )


def _fold(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_").strip("_")
