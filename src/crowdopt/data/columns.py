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
    "task": ("task", "task_id", "item", "item_id", "question", "question_id", "hit", "hitid", "example", "example_id",
             "document", "doc_id", "image", "unit", "unit_id", "object", "id"),
    "worker": ("worker", "worker_id", "workerid", "annotator", "annotator_id", "rater", "rater_id", "user", "user_id",
               "performer", "judge", "model", "labeler", "labeller", "coder", "crowdworker"),
    "label": ("label", "labels", "answer", "response", "rating", "score", "value", "judgment", "judgement",
              "annotation", "category", "vote", "class", "output"),
    "class": ("class", "worker_class", "crowd", "pool", "platform", "tier", "skill", "role"),
    "group": ("group", "batch", "question", "language", "project", "job", "campaign"),
}  # fmt: skip
"""Common names of columns, likeliest first: suggested in errors, never used in silence."""


def need(name: str, role: str, available: Sequence[str]) -> str:
    """Returns ``name`` if the source has exactly one such column, else raises with what to do instead."""
    found = list(available).count(name)
    if found == 1:
        return name
    if found > 1:
        raise ColumnError(f"there are {found} columns named {name!r}; rename all but one")
    # A name with blanks around it looks like the right one; quotes show the difference.
    listed = ", ".join(name if name == name.strip() else repr(name) for name in available[:12]) + (
        ", …" if len(available) > 12 else ""
    )
    hint = ""
    if guess := suggest(name, role, available):
        option = f"--{role}" if role in SYNONYMS else ""
        hint = f"; did you mean {option} {shlex.quote(guess)}?" if option else f"; did you mean {guess!r}?"
    raise ColumnError(f"no column named {name!r} for the {role}{hint} (columns: {listed})")


def suggest(name: str, role: str, available: Sequence[str]) -> str | None:
    """The column that the user most likely meant, or None."""
    folded = {_fold(column): column for column in reversed(available)}
    if near := get_close_matches(_fold(name), folded, n=1, cutoff=0.75):
        return folded[near[0]]
    for synonym in SYNONYMS.get(role, ()):
        if _fold(synonym) in folded:
            return folded[_fold(synonym)]
    return None


def choose_responses(reading: Reading) -> Choose:
    """The columns that a table of responses needs."""

    def choose(available: Sequence[str]) -> list[str]:
        if reading.wide:
            return _choose_wide(reading, available)
        chosen = [
            need(reading.task, "task", available),
            need(reading.worker, "worker", available),
            need(reading.label, "label", available),
        ]
        if reading.class_column:
            chosen.append(need(reading.class_column, "class", available))
        if reading.group:
            chosen.append(need(reading.group, "group", available))
        chosen += [need(name, "--keep option", available) for name in reading.keep]
        for option in ("order_by", "time", "seconds"):
            if name := getattr(reading, option):
                chosen.append(need(name, f"--{option.replace('_', '-')} option", available))
        chosen += [need(name, "--where option", available) for name in reading.where_columns]
        return list(dict.fromkeys(chosen))

    return choose


def _choose_wide(reading: Reading, available: Sequence[str]) -> list[str]:
    """All columns of a wide table, but for those that are not named where some are."""
    chosen = [need(reading.index, reading.index_role, available)]
    further = {"class": reading.class_column, "group": reading.group}
    chosen += [need(name, role, available) for role, name in further.items() if name]
    chosen += [need(name, "--keep option", available) for name in reading.keep]
    chosen += [need(name, "--where option", available) for name in reading.where_columns]
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
    return name.strip().lower().replace(" ", "_").replace("-", "_")
