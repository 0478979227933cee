"""The file of a proof: labels by bucket, their margins, the certificate, and what was maximised.

What no data can tell, such as the advice or the accuracy against a truth, is not in the file; but for the doubts, which
``verify`` repeats as the file's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.data.worker_classes import WorkerClass
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Certificate, Space
from crowdopt.model.margins import Margins
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.parameters import ModelParameters
from crowdopt.model.strict_json import how_many, of_kind, share_of_one
from crowdopt.results.kinds import class_of_kind
from crowdopt.results.solution_file.parts import (
    COMMON_PARTS,
    check_derived,
    check_parts,
    damaged,
    encode_common,
    number_array,
    parse_common,
    texts,
)
from crowdopt.results.words.facts import nested

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.results.solution_proof import ProofSolution

PARTS = COMMON_PARTS | {
    "certificate": dict, "classes": list, "selectivity": dict, "matrix": list, "label_shares": list, "buckets": dict,
}  # fmt: skip
"""What the file must have to be read at all, and of what kind that is in JSON."""
BUCKET_LISTS = ("counts", "weights", "label", "margin", "tied")
"""The lists that the buckets are made of."""


def encode_proof(solution: ProofSolution) -> dict[str, Any]:
    """A proof as plain JSON values."""
    margins = solution.margins
    finite = np.isfinite(margins.values)
    return (
        encode_common(solution)
        | {
            "certificate": solution.certificate.to_dict(),
            "classes": [dict(vars(one)) for one in solution.classes],
            "selectivity": {"kind": solution.objective.kind, "shares": list(solution.objective.shares)},
            "offsets": _encode_offsets(solution.objective.offsets),
            "seed": solution.seed,
            "matrix": nested(solution.matrix),
            "label_shares": solution.shares.tolist(),
            "buckets": {
                "counts": solution.buckets.counts.tolist(),
                "weights": solution.buckets.weights.tolist(),
                "label": solution.mapping.tolist(),
                "margin": [float(value) if ok else None for value, ok in zip(margins.values, finite, strict=True)],
                "margin_kind": margins.kind,
                "tied": margins.tied.tolist(),
            },
        }
        | _encode_parameters(solution.parameters)
    )


def _encode_parameters(parameters: ModelParameters | None) -> dict[str, Any]:
    """What the marginal likelihood was maximised over; nothing where matrices follow from the labels."""
    if parameters is None:
        return {}
    return {"parameters": {"matrix": parameters.matrix.tolist(), "shares": parameters.shares.tolist()}}


def _decode_parameters(data: Any, shape: tuple[int, ...]) -> ModelParameters:
    """The parameters; of what shape (class, true, answered) they must be follows from the buckets."""
    matrix = number_array(data["matrix"], "its parameters", float)
    shares = number_array(data["shares"], "its parameters", float)
    if matrix.shape != shape or shares.shape != shape[1:2]:
        raise damaged("its parameters are not those of its labels and classes")
    for rows in (matrix, shares):
        if not ((rows >= 0) & (rows <= 1)).all() or not np.allclose(rows.sum(axis=-1), 1, rtol=0, atol=1e-12):
            raise damaged("its parameters are not probabilities that sum to one")
    return ModelParameters(matrix, shares)


def _encode_offsets(offsets: Offsets | None) -> dict[str, Any] | None:
    if offsets is None:
        return None
    return {
        "gold_responses": offsets.gold_responses.tolist(),
        "gold_tasks": offsets.gold_tasks.tolist(),
        "prior": None if offsets.prior is None else offsets.prior.tolist(),
        "smoothing": offsets.smoothing,
    }


def _decode_offsets(data: Any, shape: tuple[int, ...]) -> Offsets | None:
    """The offsets; of what shape they must be follows from the buckets."""
    if data is None:
        return None
    gold, tasks = np.array(data["gold_responses"]), np.array(data["gold_tasks"])
    whole = gold.dtype.kind == tasks.dtype.kind == "i" and min(gold.min(), tasks.min()) >= 0
    if gold.shape != shape or tasks.shape != shape[:1] or not whole:
        raise damaged("its gold counts are not those of its labels")
    prior = None if data["prior"] is None else np.array(data["prior"], dtype=float)
    if type(data["smoothing"]) not in {int, float}:
        raise damaged(f"smoothing cannot be {data['smoothing']!r}")
    return Offsets(gold.astype(np.int64), tasks.astype(np.int64), prior, float(data["smoothing"]))


def decode_proof(data: dict[str, Any]) -> ProofSolution:
    """The inverse of :func:`encode_proof`."""
    check_parts(data, PARTS)
    for name in BUCKET_LISTS:
        if not isinstance(data["buckets"].get(name), list):
            raise damaged(f"its buckets have no list {name!r}")
    solution: ProofSolution = class_of_kind("proof")(**_parse(data))
    check_derived(encode_proof(solution), data, "its labels")
    return solution


def _parse(data: dict[str, Any]) -> dict[str, Any]:
    table, common = data["buckets"], parse_common(data)
    n_labels = common["scale"].n_labels
    buckets, mapping = _parse_buckets(table, n_labels)
    certificate = Certificate.from_dict(data["certificate"])
    marginal = certificate.space is Space.PARAMETERS
    if table["margin_kind"] not in ({"odds"} if marginal else {"exact", "upper"}):
        raise damaged(f"margin kind {table['margin_kind']!r}")
    if marginal != ("parameters" in data):
        raise damaged("its parameters are missing, or do not belong to its certificate")
    margin = _column([np.inf if value is None else value for value in table["margin"]], "margin", float)
    shape = (n_labels, *buckets.counts.shape[1:])
    return common | {
        "buckets": buckets,
        "mapping": mapping,
        "margins": Margins(margin, table["margin_kind"], _column(table["tied"], "tied", bool)),
        "objective": _parse_objective(data["selectivity"], data["offsets"], shape),
        "certificate": certificate,
        "parameters": _decode_parameters(data["parameters"], (shape[1], shape[0], shape[0])) if marginal else None,
        "classes": _parse_classes(data["classes"], buckets.counts.shape[1]),
        "seed": of_kind(data["seed"], int, "not an integer"),
    }


def _column(values: list[Any], name: str, kind: type) -> Any:
    """A column of buckets as an array."""
    return number_array(values, f"the list {name!r} of its buckets", kind)


def _parse_buckets(table: dict[str, Any], n_labels: int) -> tuple[Buckets, Ints]:
    """The buckets, and the label of each."""
    counts, weights, mapping = (_column(table[name], name, np.int64) for name in ("counts", "weights", "label"))
    buckets, index = Buckets.from_arrays(counts, weights)
    if not np.array_equal(index, np.arange(buckets.n_buckets)):
        raise damaged("its buckets are not distinct and sorted")
    sizes = {len(mapping), len(table["margin"]), len(table["tied"]), buckets.n_buckets}
    if len(sizes) > 1 or buckets.n_labels != n_labels:
        raise damaged("its bucket columns differ in length")
    if len(mapping) and not (mapping.min() >= 0 and mapping.max() < n_labels):
        raise damaged("a bucket has a label that is not on the scale")
    return buckets, mapping


def _parse_objective(selectivity: dict[str, Any], offsets: Any, shape: tuple[int, ...]) -> Objective:
    if selectivity["kind"] not in {"none", "given", "estimated"}:
        raise damaged(f"selectivity {selectivity['kind']!r}")
    shares = tuple(share_of_one(share) for share in selectivity["shares"])
    if shares and len(shares) != shape[0]:
        raise damaged("its selectivity does not have a share for each label")
    return Objective(selectivity["kind"], shares, _decode_offsets(offsets, shape))


def _parse_classes(data: list[dict[str, Any]], n_classes: int) -> tuple[WorkerClass, ...]:
    names = texts([one["name"] for one in data])
    if len(set(names)) < len(names) or max(len(names), 1) != n_classes:
        raise damaged("its classes are not those of its counts")
    return tuple(WorkerClass(one["name"], how_many(one["n_workers"])) for one in data)
