"""From a source to the same source with classes of workers that the consensus tells apart, and what goes with them."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crowdopt.consensus.classes import auto_n_classes, find_classes
from crowdopt.data.responses import count_tasks
from crowdopt.data.worker_classes import MAX_CLASSES, WorkerClass, with_classes
from crowdopt.errors import ClassError
from crowdopt.model.objective import read_selectivity
from crowdopt.results.source_consensus import consensus_of, known_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Ints
    from crowdopt.consensus.work import OnShare
    from crowdopt.data.load import Source
    from crowdopt.data.responses import Responses
    from crowdopt.options.model import SolveOptions
    from crowdopt.results.source_consensus import SourceConsensus


def with_found_classes(
    source: Source, n_classes: int | Literal["auto"], wanted: SolveOptions, on_share: OnShare | None = None
) -> tuple[Source, SolveOptions, SourceConsensus]:
    """The same data counted by classes that are found in them, what goes with these classes, and the consensus.

    What goes with them is how frequent the labels are and the pseudo-counts that smooth the matrices, unless the user
    gave them.

    Raises:
        ClassError: There cannot be that many classes.
    """
    responses, scale = source.responses, source.responses.scale
    if n_classes == "auto":
        n_classes = auto_n_classes(scale.n_labels, responses.n_workers)
    _check_n_classes(n_classes, responses.n_workers)
    shares = known_shares(read_selectivity(wanted["selectivity"], scale.labels).shares)
    consensus = consensus_of(source, shares, on_share)
    found = find_classes(((rows, probabilities) for _, rows, probabilities in consensus.judged()), n_classes)
    what, counts = ["classes"], source.counts
    if wanted["smoothing"] is None and wanted["prior_matrix"] is None:
        wanted, what = {**wanted, "prior_matrix": found.prior}, [*what, "smoothing"]
    if wanted["selectivity"] is None:
        found_shares = dict(zip(scale.labels, found.shares.tolist(), strict=True))
        wanted, what = {**wanted, "selectivity": found_shares}, [*what, "shares"]
    if len(found.prior) > 1:
        responses = _classed(responses, consensus.parts.workers.to_pylist(), found.classes)
        counts = count_tasks(responses, source.workspace)
    responses = replace(responses, reading=replace(responses.reading, found=tuple(what)))
    return replace(source, responses=responses, counts=counts), wanted, consensus


def checked_n_classes(wanted: Any) -> int | Literal["auto"]:
    """The number of classes that a user wants; raises if it is neither a whole number nor the word auto."""
    if isinstance(wanted, str) and wanted.strip().lower() == "auto":
        return "auto"
    if isinstance(wanted, bool) or not isinstance(wanted, Integral):
        wrong = f"the number of classes to find must be auto or a whole number from 1 to {MAX_CLASSES}"
        raise ClassError(f"{wrong}, not {wanted!r}")
    return int(wanted)


def _check_n_classes(n_classes: int, n_workers: int) -> None:
    if not 1 <= n_classes <= MAX_CLASSES:
        raise ClassError(f"there can be 1 to {MAX_CLASSES} classes of workers, not {n_classes}")
    if n_classes > n_workers:
        raise ClassError(f"{n_classes} classes cannot be found among {n_workers} workers")


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
