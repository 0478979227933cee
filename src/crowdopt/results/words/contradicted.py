"""Known labels that most workers of their tasks contradict: which they are, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np

from crowdopt.consensus.teaching import crossed_votes, exchanged
from crowdopt.data.known_labels import GOLD_COLUMN, NOT_GOLD, TASK_TEXT, count_array, with_text
from crowdopt.data.tables.table import fetch
from crowdopt.results.consensus_tasks import votes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Ints
    from crowdopt.data.encode import Encoded
    from crowdopt.data.load import Source
    from crowdopt.model.scale import Scale

NAMED = 3
"""Tasks that are named if there are many."""


@dataclass(frozen=True)
class Contradicted:
    """Known labels that most workers of their tasks contradict.

    Attributes:
        n_clear: Tasks of known label in which more than half of the workers give one label.
        cases: Those where it is another one: task, known label, answer, workers who give it, and all workers; what
            most workers contradict comes first.
        n_idle: Known labels from which a consensus learns nothing.
    """

    n_clear: int = 0
    cases: tuple[tuple[str, str, str, int, int], ...] = ()
    n_idle: int = 0

    @classmethod
    def of(cls, names: list[str], known: Ints, voters: Ints, scale: Scale) -> Self:
        """What is contradicted, given tasks of known label: their names, their labels, and workers by answer."""
        total, most, answer = voters.sum(axis=1), voters.max(axis=1, initial=0), voters.argmax(axis=1)
        clear = 2 * most > total
        cases = [
            (names[at], scale.labels[known[at]], scale.labels[answer[at]], int(most[at]), int(total[at]))
            for at in np.flatnonzero(clear & (answer != known))
        ]
        return cls(int(clear.sum()), tuple(sorted(cases, key=lambda case: (-case[3] / case[4], -case[4], case[0]))))

    @classmethod
    def in_parts(cls, parts: Iterable[Encoded], scale: Scale) -> Self:
        """Of coded responses."""
        held = [_held(encoded) for encoded in parts]
        if not held:
            return cls()
        tasks, known, votes, voters = zip(*held, strict=True)
        labels, counts = np.concatenate(known), np.concatenate(votes)
        found = cls.of([name for part in tasks for name in part], labels, np.concatenate(voters), scale)
        idle = exchanged(crossed_votes(counts, labels))[labels] & (counts.sum(axis=1) > 0)
        return replace(found, n_idle=int(idle.sum()))

    @classmethod
    def in_counts(cls, source: Source) -> Self:
        """Of tasks that were counted, whose workers answer each task once."""
        counts, scale = source.counts, source.responses.scale
        if counts.gold is None:
            return cls()
        gold = with_text(counts.table.filter(nw.col(GOLD_COLUMN) != NOT_GOLD))
        rows: Any = fetch(gold.select(TASK_TEXT, GOLD_COLUMN, *counts.columns).with_columns(nw.lit(1).alias("n_tasks")))
        votes = count_array(rows, counts.columns, counts.gold.counts.shape[1:]).sum(axis=1)
        return cls.of(list(rows[TASK_TEXT]), np.array(rows[GOLD_COLUMN]), votes, scale)

    @property
    def examples(self) -> str:
        """The first of them, by name."""
        more = "; …" if len(self.cases) > NAMED else ""
        said = (
            f"{task!r}: known {known!r}, answered {answer!r} by {_of(most, total)}"
            for task, known, answer, most, total in self.cases[:NAMED]
        )
        return f"{'; '.join(said)}{more}"

    def that_labels_follow(self) -> str:
        """What to say where the labels of other tasks follow known ones that workers contradict."""
        if len(self.cases) == 1:
            ((task, known, answer, most, total),) = self.cases
            whom = "its only worker contradicts" if total == 1 else f"{most} of its {total} workers contradict"
            whom = f"all {total} of its workers contradict" if most == total > 1 else whom
            found = f"1 task has a known label that {whom} ({task!r}: known {known!r}, answered {answer!r})"
            return f"{found}, and labels follow from it: correct it, or leave it out"
        found = f"{len(self.cases):,} tasks have known labels that most of their workers contradict"
        return f"{found} ({self.examples}), and labels follow from them: correct them, or leave them out"

    def that_teach_nothing(self) -> tuple[str, ...]:
        """What to say of known labels from which a consensus learns nothing; nothing if there are none."""
        if not self.n_idle:
            return ()
        number = "1 known label teaches" if self.n_idle == 1 else f"{self.n_idle:,} known labels teach"
        it = "it" if self.n_idle == 1 else "them"
        examples = f" ({self.examples})" if self.cases else ""
        return (f"{number} nothing about the other tasks: most workers contradict {it}{examples}; look at {it}",)


def _of(most: int, total: int) -> str:
    """How many of all.

    >>> _of(3, 3), _of(3, 4)
    ('all 3', '3 of 4')
    """
    return f"all {total}" if most == total else f"{most} of {total}"


def _held(encoded: Encoded) -> tuple[list[str], Ints, Ints, Ints]:
    """The tasks of known label: their names, their labels, responses and workers by label."""
    at = np.flatnonzero(encoded.known >= 0)
    votes, voters = (votes_of(coded)[at] for coded in (encoded.coded, encoded.coded.one_each()))
    return encoded.tasks.take(at).to_pylist(), encoded.known[at], votes, voters
