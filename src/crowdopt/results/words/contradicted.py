"""Known labels that most workers of their tasks contradict: which they are, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np

from crowdopt.data.known_labels import GOLD_COLUMN, NOT_GOLD, TASK_TEXT, count_array, with_text
from crowdopt.data.tables.table import fetch

if TYPE_CHECKING:
    from crowdopt._arrays import Bools, Ints
    from crowdopt.data.load import Source
    from crowdopt.model.scale import Scale
    from crowdopt.results.tasks.consensus_tasks import AnyTasks

NAMED = 3
"""Tasks that are named if there are many."""


@dataclass(frozen=True)
class Contradicted:
    """Known labels that most workers of their tasks contradict.

    Attributes:
        n_clear: Tasks of known label in which more than half of the workers give one label.
        cases: Those where it is another one: task, known label, answer, workers who give it, and all workers; what
            most workers contradict comes first.
        who: Whom the numbers count: workers, or responses where nobody looked who repeats an answer.
    """

    n_clear: int
    cases: tuple[tuple[str, str, str, int, int], ...]
    who: str = "workers"

    @classmethod
    def of(
        cls, names: list[str], known: Ints, voters: tuple[Ints, Ints, Ints], scale: Scale, who: str = "workers"
    ) -> Self:
        """What is contradicted, given tasks of known label: their names, their labels, and who answers what.

        The last are numbers of workers, of those who give the most frequent answer, and which one that is.
        """
        total, most, answer = voters
        clear = 2 * most > total
        cases = [
            (names[at], scale.labels[known[at]], scale.labels[answer[at]], int(most[at]), int(total[at]))
            for at in np.flatnonzero(clear & (answer != known))
        ]
        cases.sort(key=lambda case: (-case[3] / case[4], -case[4], case[0]))
        return cls(int(clear.sum()), tuple(cases), who)

    @classmethod
    def in_tasks(cls, tasks: AnyTasks, chosen: Bools | None = None) -> Self:
        """Of the tasks of a consensus, or of some of them."""
        at = np.flatnonzero(~tasks.free if chosen is None else chosen & ~tasks.free)
        total, most, answer = (one[at] for one in tasks.top_voters)
        return cls.of(tasks.names.take(at).to_pylist(), tasks.known[at], (total, most, answer), tasks.scale)

    @classmethod
    def in_counts(cls, source: Source) -> Self:
        """Of tasks that were counted."""
        counts, scale = source.counts, source.responses.scale
        if counts.gold is None:
            return cls(0, ())
        gold = with_text(counts.table.filter(nw.col(GOLD_COLUMN) != NOT_GOLD))
        rows: Any = fetch(gold.select(TASK_TEXT, GOLD_COLUMN, *counts.columns).with_columns(nw.lit(1).alias("n_tasks")))
        votes = count_array(rows, counts.columns, counts.gold.counts.shape[1:]).sum(axis=1)
        voters = votes.sum(axis=1), votes.max(axis=1, initial=0), votes.argmax(axis=1)
        who = "responses" if source.reading.duplicates == "all" else "workers"
        return cls.of(list(rows[TASK_TEXT]), np.array(rows[GOLD_COLUMN]), voters, scale, who)

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
            whom = (
                f"its only {self.who[:-1]} contradicts"
                if total == 1
                else f"{most} of its {total} {self.who} contradict"
            )
            whom = f"all {total} of its {self.who} contradict" if most == total > 1 else whom
            found = f"1 task has a known label that {whom} ({task!r}: known {known!r}, answered {answer!r})"
            return f"{found}, and labels follow from it: correct it, or leave it out"
        found = f"{len(self.cases):,} tasks have known labels that most of their {self.who} contradict"
        return f"{found} ({self.examples}), and labels follow from them: correct them, or leave them out"


def _of(most: int, total: int) -> str:
    """How many of all.

    >>> _of(3, 3), _of(3, 4)
    ('all 3', '3 of 4')
    """
    return f"all {total}" if most == total else f"{most} of {total}"


def that_teach_nothing(tasks: AnyTasks) -> tuple[str, ...]:
    """What to say of known labels from which a consensus learns nothing; nothing if there are none."""
    held = ~tasks.free & (tasks.top_voters[0] > 0)
    n_idle = int((held & ~tasks.taught).sum())
    if not n_idle:
        return ()
    number = "1 known label teaches" if n_idle == 1 else f"{n_idle:,} known labels teach"
    found = Contradicted.in_tasks(tasks, held & ~tasks.taught)
    n_against, they = len(found.cases), "it" if n_idle == 1 else "them"
    which = f"{n_against:,} of them" if 0 < n_against < n_idle else they
    why = f"most workers contradict {which}{f' ({found.examples})' if found.cases else ''}"
    return (f"{number} nothing about the other tasks: {why}; look at {they}",)
