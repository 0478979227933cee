"""A consensus against the data: it is computed again, and every number that is stored must come out.

Nothing is proved here, and nothing was: a consensus is no optimum that could be checked by other means. So this calls
what made it, and says REPRODUCED, never CONFIRMED.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.load import paths_of, unchanged
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.errors import InputError
from crowdopt.model.scale import named_labels
from crowdopt.results.solve_consensus import solve_consensus
from crowdopt.results.source_consensus import tasks_of
from crowdopt.results.words.summary import left_out_in_words
from crowdopt.results.words.summary_consensus import expectation, given_words
from crowdopt.verify.verdict import Verdict, Verification, about_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt._arrays import Bools
    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.load import Source
    from crowdopt.data.parts import EncodedParts
    from crowdopt.results.solution_consensus import ConsensusSolution

CLOSE = 1e-6
"""How near numbers must be to count as the same: machines round differently."""

MOST_NAMED = 3
"""Workers that are named if many differ."""


def check_source(stored: ConsensusSolution, source: Source) -> tuple[Verification, ConsensusSolution | None]:
    """Checks a consensus against data that were read; see :func:`check_consensus`."""
    with unchanged(source.workspace), explain_errors(paths_of(source.original)):
        parts = tasks_of(source)
        verification, found = check_consensus(stored, source.counted, parts)
    return verification, None if found is None else replace(found, source=source)


def check_consensus(
    stored: ConsensusSolution, counted: CountedProblem, parts: EncodedParts | Source
) -> tuple[Verification, ConsensusSolution | None]:
    """Computes a consensus again, and compares; also gives what was found, which has the tasks.

    Args:
        stored: What is to be checked.
        counted: What was counted in the data.
        parts: The responses; or the source, if they stay on a cluster.
    """
    if wrong := tuple(_about_responses(stored, counted)):
        return Verification(Verdict.REJECTED, wrong), None
    given = dict(zip(stored.scale.labels, stored.given_shares, strict=True)) if stored.given_shares else None
    try:
        found = solve_consensus(counted, parts, given)
    except InputError as error:
        return Verification(Verdict.REJECTED, (str(error),)), None
    wrong = tuple(_differences(stored, found))
    verdict = Verdict.REJECTED if wrong else Verdict.REPRODUCED
    return Verification(verdict, wrong, _claim(found), found.doubts), found


def _claim(found: ConsensusSolution) -> str:
    """What a consensus says, and about how much of the data."""
    left_out = left_out_in_words(found.totals.n_dropped, found.reading)
    said = f"{expectation(found)}{given_words(found)}; computed again from the data, nothing is proved"
    return f"CONSENSUS: {said}{f'; {left_out}' if left_out else ''}"


def _about_responses(stored: ConsensusSolution, counted: CountedProblem) -> Iterator[str]:
    """Whether these are the responses at all; if not, that is all there is to say."""
    if counted.scale.labels != stored.scale.labels:
        ours, theirs = map(named_labels, (counted.scale.labels, stored.scale.labels))
        yield f"the data have the labels {ours}, the solution {theirs}"
    elif counted.fingerprint != stored.fingerprint:
        yield "these are not the responses that the solution was made from"


def _differences(stored: ConsensusSolution, found: ConsensusSolution) -> Iterator[str]:
    """What is stored, and does not come out of the data."""
    if (found.scale.kind, found.scale.inferred) != (stored.scale.kind, stored.scale.inferred):
        yield "the kind of scale does not follow from the reading options"
    for name, value in vars(found.totals).items():
        yield from _number(f"the number of {_words(name)}", value, getattr(stored.totals, name))
    for field in fields(found.crowd):
        ours, theirs = (getattr(one.crowd, field.name) for one in (found, stored))
        yield from _number(f"the agreement ({field.name})", ours, theirs)
    for label, ours, theirs in zip(found.scale.labels, found.label_tasks, stored.label_tasks, strict=True):
        yield from _number(f"the number of tasks with label {label}", ours, theirs)
    # A millionth of a response is nothing, whatever share of a sum it is.
    if found.by_skill != stored.by_skill:
        yield "workers have skills by the data, and matrices in the solution, or the other way round"
        return
    if not np.isclose(found.expected_answers, stored.expected_answers, rtol=CLOSE, atol=CLOSE).all():
        yield "the expected answers to the tasks of each label differ from the data"
    yield from _number("the number of uncertain labels", found.n_uncertain, stored.n_uncertain)
    yield from _number("the number of tied labels", found.n_tied, stored.n_tied)
    yield from _number("the mean confidence", found.mean_confidence, stored.mean_confidence)
    yield from about_notes(found.notes, stored.notes)
    if found.doubts != stored.doubts:
        said, follows = ("; ".join(one.doubts) or "nothing" for one in (stored, found))
        yield f"what to check is '{follows}' by the data, '{said}' in the solution"
    yield from _parameters(stored, found)


def _words(name: str) -> str:
    """A field of the totals in words."""
    own = {"n_no_response": "tasks without a response", "n_gold": "gold tasks", "n_dropped": "rows left out"}
    return own.get(name, name.removeprefix("n_"))


def _number(what: str, ours: Any, theirs: Any) -> Iterator[str]:
    """Whole numbers are the same or not; others may be rounded."""
    exact = ours is None or theirs is None or isinstance(ours, int)
    if not (ours == theirs if exact else _close(ours, theirs)):
        yield f"{what} is {_shown(ours)} by the data, {_shown(theirs)} in the solution"


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.9g}"


def _close(ours: Any, theirs: Any) -> Bools:
    return np.asarray(np.isclose(ours, theirs, rtol=CLOSE, atol=0))  # of small ones, too, the ratio counts


def _parameters(stored: ConsensusSolution, found: ConsensusSolution) -> Iterator[str]:
    for name, ours in found.parameters.population.items():
        if not _close(ours, stored.parameters.population[name]).all():
            yield f"the parameters of the whole crowd differ from the data ({name.replace('_', ' ')})"
    if found.worker_names != stored.worker_names:
        for name in sorted(set(found.worker_names) ^ set(stored.worker_names))[:MOST_NAMED]:
            yield f"worker {name!r} is not in the {'solution' if name in found.worker_names else 'data'}"
        yield "the workers are not those of the data, in their order"
        return
    differs = np.zeros(len(found.worker_names), bool)
    for name, values in found.parameters.workers.items():
        close = _close(values, stored.parameters.workers[name])
        differs |= ~close.reshape(len(differs), -1).all(axis=1)
    at = np.flatnonzero(differs)
    for worker in at[:MOST_NAMED]:
        yield f"the parameters of worker {found.worker_names[worker]!r} differ from the data"
    if len(at) > MOST_NAMED:
        yield f"and those of {len(at) - MOST_NAMED:,} more workers"
