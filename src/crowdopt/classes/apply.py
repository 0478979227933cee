"""From a source to the same source with classes that were found in it, and to what goes with these classes."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crowdopt.classes.find import MOST, find_classes
from crowdopt.data.encode import encode_responses, labels_of_buckets
from crowdopt.data.responses import Responses, count_tasks
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.worker_classes import MAX_CLASSES, WorkerClass, with_classes
from crowdopt.errors import ClassError
from crowdopt.model.objective import read_selectivity
from crowdopt.model.offsets import checked_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.classes.mixture_em import Settings, Shares
    from crowdopt.data.load import Source
    from crowdopt.model.scale import Scale
    from crowdopt.options import SolveOptions


def with_found_classes(
    source: Source, n_classes: int | Literal["auto"], wanted: SolveOptions
) -> tuple[Source, SolveOptions, Ints]:
    """The same data counted by classes that are found in them, and what goes with these classes.

    That is how frequent the labels are and the pseudo-counts that smooth the matrices, unless the user gave them; and
    the labels of buckets that the alternation ended with, from where a search for better ones begins.
    """
    responses, scale = source.responses, source.responses.scale
    smoothing = None if wanted["smoothing"] is None else checked_number(wanted["smoothing"], "smoothing")
    shares = _shares(wanted["selectivity"], scale)
    if is_spark(responses.table) and source.totals.n_responses > MOST:
        from crowdopt.classes.spark import find_on_cluster

        there = find_on_cluster(source, n_classes, shares=shares, smoothing=smoothing, seed=wanted["seed"])
        model = there.model
        return there.source, _going_with(model.settings, model.prior, model.shares, wanted, scale), there.labels
    encoded = encode_responses(responses)
    coded, workers = encoded.coded, tuple(encoded.workers.to_pylist())
    found = find_classes(coded, n_classes, shares=shares, smoothing=smoothing, seed=wanted["seed"])
    decision = found.decision
    counts, n_found = source.counts, len(decision.prior)
    if n_found > 1:
        responses = _classed(responses, workers, decision.classes)
        counts = count_tasks(responses, source.workspace.folder if source.workspace else None)
    responses = replace(responses, reading=replace(responses.reading, classes_found=True))
    labels = labels_of_buckets(coded, decision.classes, decision.labels, counts.buckets)
    wanted = _going_with(found.settings, decision.prior, decision.shares, wanted, scale)
    return replace(source, responses=responses, counts=counts), wanted, labels


def _going_with(settings: Settings, prior: Floats, shares: Floats, wanted: SolveOptions, scale: Scale) -> SolveOptions:
    """What was asked for, and what goes with the classes where nothing was said."""
    if wanted["smoothing"] is None:
        wanted = {**wanted, "prior_matrix": prior}
    if wanted["selectivity"] is None:
        wanted = {**wanted, "selectivity": _selectivity(settings, shares, scale)}
    return {**wanted, "space": wanted["space"] or "all"}


def checked_n_classes(wanted: Any) -> int | Literal["auto"]:
    """The number of classes that a user wants; raises if it is neither a whole number nor the word auto."""
    if isinstance(wanted, str) and wanted.strip().lower() == "auto":
        return "auto"
    if isinstance(wanted, bool) or not isinstance(wanted, Integral):
        wrong = f"the number of classes to find must be auto or a whole number from 1 to {MAX_CLASSES}"
        raise ClassError(f"{wrong}, not {wanted!r}")
    return int(wanted)


def check_alone(given: Sequence[str]) -> None:
    """Raises if options are given that found classes do not go with."""
    if given:
        raise ClassError(f"--find-classes does not go with {given[0]}: classes are found where nothing is known yet")


def _classed(responses: Responses, workers: Sequence[str], classes: Ints) -> Responses:
    """The responses with the class of their worker; classes are numbered from 1."""
    sizes = np.bincount(classes)
    width = len(str(len(sizes)))  # so that their order as texts is the same
    names = [f"{at:0{width}d}" for at in range(1, len(sizes) + 1)]
    pairs = tuple(sorted(zip(workers, (names[k] for k in classes.tolist()), strict=True)))
    reading = replace(responses.reading, classes=pairs)
    return replace(
        responses,
        table=with_classes(responses.table, reading),
        classes=tuple(map(WorkerClass, names, sizes.tolist())),
        reading=reading,
    )


def _shares(selectivity: str | dict[Any, float] | None, scale: Scale) -> Shares | None:
    """What a user says of the shares of the labels, in the words of an alternation; None if that is nothing."""
    if selectivity is None:
        return None
    objective = read_selectivity(selectivity, scale.labels)
    return objective.shares or ("estimate" if objective.kind == "estimated" else "none")


def _selectivity(settings: Settings, shares: Floats, scale: Scale) -> str | dict[Any, float]:
    """The shares that go with the classes, in the words of a user."""
    if settings.shares == "none":
        return "none"
    return dict(zip(scale.labels, (shares / shares.sum()).tolist(), strict=True))
