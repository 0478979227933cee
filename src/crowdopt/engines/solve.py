"""The public function ``crowdopt.solve``: the likeliest labels for count vectors, without files or tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crowdopt.engines.base import Limits, OnProgress
from crowdopt.engines.registry import run
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Certificate, Space
from crowdopt.model.objective import Objective, response_matrix
from crowdopt.model.offsets import Offsets, checked_number, checked_prior
from crowdopt.model.problem import Problem
from crowdopt.options.model import DEFAULT_TIME_LIMIT
from crowdopt.options.words import in_python_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Result:
    """What :func:`solve` returns.

    Attributes:
        mapping: Index of the label of each given row of counts; -1 for rows without responses.
        matrix: Response matrix [class, true, answered]; NaN rows where nothing is known.
        certificate: What was proved.
    """

    mapping: Ints
    matrix: Floats
    certificate: Certificate


@in_python_words
def solve(
    counts: Any,
    weights: Any = None,
    *,
    scale: Literal["ordinal", "nominal"] = "ordinal",
    space: Literal["dominance", "all"] | None = None,
    selectivity: Literal["none", "estimate"] | Sequence[float] = "none",
    prior_matrix: Any = None,
    smoothing: float = 0.0,
    ranked: bool = False,
    engine: str = "auto",
    time_limit: float = DEFAULT_TIME_LIMIT,
    on_progress: OnProgress | None = None,
) -> Result:
    """Finds the likeliest labels for count vectors.

    Two labels are proved by a scan, but for labels told apart under dominance with numbers of responses that vary.
    These, and more labels under dominance, are proved while few enough sets of buckets respect the order (``chain``);
    beyond that, and over all mappings, more labels are proved by prices (``columns``), which takes the longer the more
    labels there are. Several classes of workers are proved like more labels, also where there are two labels.

    Args:
        counts: Responses by (row, label), lowest label first, or by (row, class, label); whole numbers.
        weights: How many tasks have each row of counts; one each if not given.
        scale: Whether the labels are ordered.
        space: Mappings to search: those that respect the order, or all. By default ``dominance`` for ordinal
            scales and for two labels, else ``all``.
        selectivity: ``none``, ``estimate``, or the known share of each label.
        prior_matrix: Pseudo-counts by (true, answered), or by (class, true, answered): what is known of the workers.
        smoothing: A pseudo-count for every entry.
        ranked: Whether the classes stand in the order of their skill, best first: under dominance, what a better class
            answers then counts for more.
        engine: Name of an engine, or ``auto``.
        time_limit: Seconds for the proof; past them the result is BOUNDED, by labels that do not depend on it.
        on_progress: Called now and then; return True to stop with the best so far.

    Returns:
        Labels per row, the response matrix, and the certificate.

    >>> result = solve([[0, 3], [1, 2], [2, 1], [3, 0]], [30, 12, 9, 49])
    >>> result.mapping
    array([1, 1, 0, 0])
    >>> print(result.certificate.proof, result.certificate.space, round(result.certificate.objective, 3))
    PROVED all -75.046
    """
    buckets, index = Buckets.from_arrays(counts, weights)
    offsets = Offsets.of(
        buckets.n_labels,
        buckets.n_classes,
        prior=checked_prior(prior_matrix, buckets),
        smoothing=checked_number(smoothing, "smoothing"),
    )
    problem = Problem(buckets, _space(scale, space, buckets.n_labels), _objective(selectivity, offsets), ranked)
    names = [str(j) for j in range(buckets.n_labels)]
    solved = run(problem, Limits(time_limit, on_progress), labels=names, engine=engine)
    responses, _ = buckets.by_label(solved.mapping)
    mapping = np.where(index >= 0, solved.mapping[index], -1)
    return Result(mapping, response_matrix(responses, problem.objective), solved.certificate)


def _space(scale: str, space: str | None, n_labels: int) -> Space:
    if scale not in {"ordinal", "nominal"}:
        raise InputError(f"scale must be ordinal or nominal, not {scale!r}")
    if space is None:
        space = "dominance" if scale == "ordinal" or n_labels <= 2 else "all"
    if space not in {"dominance", "all"}:
        raise InputError(f"space must be dominance or all, not {space!r}")
    return Space(space)


def _objective(selectivity: str | Sequence[float], offsets: Offsets | None) -> Objective:
    if isinstance(selectivity, str):
        if selectivity not in {"none", "estimate"}:
            raise InputError(f"selectivity must be none, estimate or a share per label, not {selectivity!r}")
        return Objective("estimated" if selectivity == "estimate" else "none", offsets=offsets)
    if isinstance(selectivity, Mapping) or not isinstance(selectivity, Iterable):  # whose keys would be taken as shares
        raise InputError(f"selectivity must be none, estimate or a share per label, not {selectivity!r}")
    return Objective("given", tuple(checked_number(share, "a share") for share in selectivity), offsets)
