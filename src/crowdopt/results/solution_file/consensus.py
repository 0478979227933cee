"""The file of a consensus: what it has learnt of the population and of every worker, and totals; no tasks.

The parameters are those of the last step, from which the labels of any tasks follow. All that is in the file follows
from the data, so that ``verify`` can compute it again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.consensus.parameters import LearntHere, Parameters
from crowdopt.model.agreement import Agreement
from crowdopt.model.strict_json import checked_list, finite_number, how_many, share_of_one
from crowdopt.results.kinds import UNCERTAIN_BELOW, class_of_kind
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crowdopt._arrays import Floats
    from crowdopt.data.reading import Reading
    from crowdopt.results.solution_consensus import ConsensusSolution

PARTS = COMMON_PARTS | {"given_shares": list, "label_tasks": list, "expected_answers": list, "parameters": dict}
"""What the file must have to be read at all, and of what kind that is in JSON."""

ROUNDING = 1e-6
"""By how much shares may miss one in sum."""

SHA256 = re.compile("[0-9a-f]{64}")


def encode_consensus(solution: ConsensusSolution, workers: dict[str, Any] | None = None) -> dict[str, Any]:
    """A consensus as plain JSON values.

    Args:
        solution: The consensus.
        workers: What stands in the place of the parameters of workers, if these are elsewhere.
    """
    parameters = solution.parameters
    if workers is None:
        workers = {"names": list(solution.worker_names)} | _nested(parameters.workers)
    return encode_common(solution) | {
        "given_shares": list(solution.given_shares),
        "label_tasks": list(solution.label_tasks),
        "expected_answers": solution.expected_answers.tolist(),
        "mean_confidence": solution.mean_confidence,
        "n_uncertain": solution.n_uncertain,
        "n_tied": solution.n_tied,
        "fingerprint": solution.fingerprint,
        "parameters": {"population": _nested(parameters.population), "workers": workers},
    }


def _nested(arrays: Mapping[str, Floats]) -> dict[str, Any]:
    return {name: values.tolist() for name, values in arrays.items()}


def decode_consensus(data: dict[str, Any], workers: Mapping[str, Any] | None = None) -> ConsensusSolution:
    """The inverse of :func:`encode_consensus`.

    Args:
        data: The file.
        workers: Names and parameters of the workers, if these were elsewhere: arrays, flat for each worker.
    """
    check_parts(data, PARTS)
    check_parts(data["parameters"], {"population": dict, "workers": dict})
    held = data["parameters"]["workers"]
    solution: ConsensusSolution = class_of_kind("consensus")(**_parse(data, held if workers is None else workers))
    _check_together(solution)
    check_derived(encode_consensus(solution, None if workers is None else held), data, "what it should hold")
    return solution


def shapes(n_labels: int, *, by_skill: bool) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """The shapes of the parameters of the population, and of one worker, who has a skill or matrices."""
    r = n_labels
    if by_skill:
        skills: dict[str, tuple[int, ...]] = {"vote_precision": (), "skill": ()}
        of_labels = dict.fromkeys(("vote_shares", "skill_shares", "skill_error_shares"), (r,))
        return of_labels | {"skill_kinds": (3,)} | skills, skills
    worker: dict[str, tuple[int, ...]] = {
        "vote_precision": (),
        "tilted_matrix": (r, r),
        "kinds_matrix": (2 * r, r),
    }
    shares: dict[str, tuple[int, ...]] = {
        "vote_shares": (r,),
        "tilted_shares": (r,),
        "tilted_kinds": (r, r + 1),
        "kinds_shares": (2 * r,),
    }
    return shares | worker, worker


def _parse(data: dict[str, Any], workers: Mapping[str, Any]) -> dict[str, Any]:
    common = parse_common(data)
    _check_no_classes(common["reading"])
    n_labels, by_skill = common["scale"].n_labels, "skill" in data["parameters"]["population"]
    of_population, of_worker = shapes(n_labels, by_skill=by_skill)
    names = texts(workers["names"])
    if len(set(names)) < len(names) or not names:
        raise damaged("it has a worker twice, or none")
    by_worker = {name: (len(names), *shape) for name, shape in of_worker.items()}
    found = {name: values for name, values in workers.items() if name != "names"}
    expected = (n_labels + 1, 2) if by_skill else (n_labels, n_labels)
    return common | {
        "crowd": _parse_agreement(data["agreement"]),
        "learnt": LearntHere(
            Parameters(
                _arrays(data["parameters"]["population"], of_population, "population"),
                _arrays(found, by_worker, "workers"),
            ),
            tuple(names),
        ),
        "given_shares": tuple(checked_list((int, float), data["given_shares"], "numbers")),
        "label_tasks": tuple(how_many(value) for value in data["label_tasks"]),
        "expected_answers": _parse_expected(data["expected_answers"], expected),
        "mean_confidence": share_of_one(data["mean_confidence"]),
        "n_uncertain": how_many(data["n_uncertain"]),
        "n_tied": how_many(data["n_tied"]),
        "fingerprint": _checked_fingerprint(data["fingerprint"]),
    }


def _check_no_classes(reading: Reading) -> None:
    if reading.class_column or reading.classes or reading.ranked or reading.found:
        raise damaged("a consensus knows no classes of workers")


def _checked_fingerprint(value: Any) -> str:
    if not isinstance(value, str) or not SHA256.fullmatch(value):
        raise damaged(f"{value!r:.80} is not a fingerprint")
    return value


def _parse_expected(values: Any, shape: tuple[int, int]) -> Floats:
    array: Floats = number_array(values, "its expected answers", float)
    if array.shape != shape or not (np.isfinite(array) & (array >= 0)).all():
        raise damaged("its expected answers should be a number from 0 for each label and answer")
    return array


def _parse_agreement(data: dict[str, Any]) -> Agreement:
    alpha = None if data["alpha"] is None else finite_number(data["alpha"])
    pairwise = None if data["pairwise"] is None else share_of_one(data["pairwise"])
    if (alpha or 0.0) > 1 + ROUNDING or (pairwise is None and alpha is not None):
        raise damaged("its agreement is none that there can be")
    return Agreement(alpha, pairwise)


def _arrays(data: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]], whose: str) -> dict[str, Floats]:
    """The parameters of the population or of the workers, each of its shape."""
    if data.keys() != wanted.keys():
        raise damaged(f"the parameters of its {whose} should be {', '.join(wanted)}")
    return {name: _array(data[name], shape, f"{name!r} of its {whose}") for name, shape in wanted.items()}


def _array(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Positive precisions, skills, or rows of shares that sum to one."""
    array: Floats = number_array(values, what, float)
    if isinstance(values, np.ndarray) and array.size == np.prod(shape):
        array = array.reshape(shape)
    if array.shape != shape:
        raise damaged(f"{what} should be numbers by {shape}, not {array.shape}")
    if what.startswith("'vote_precision'"):
        if not (np.isfinite(array) & (array > 0)).all():
            raise damaged(f"{what} should be positive")
    elif what.startswith("'skill'"):
        if not ((array > 0) & (array < 1)).all():
            raise damaged(f"{what} should be between 0 and 1")
    elif not (np.isfinite(array) & (array >= 0)).all() or (abs(array.sum(axis=-1) - 1) > ROUNDING).any():
        raise damaged(f"{what} should be shares that sum to 1")
    return array


def _check_together(solution: ConsensusSolution) -> None:
    """What the file says in several places must agree."""
    totals, n_labels, n_tasks = solution.totals, solution.scale.n_labels, sum(solution.label_tasks)
    if len(solution.label_tasks) != n_labels:
        raise damaged("its tasks by label are not those of its labels")
    if n_tasks != totals.n_tasks - totals.n_gold - totals.n_no_response:
        raise damaged("its tasks by label are not as many as its tasks")
    if max(solution.n_uncertain, solution.n_tied) > n_tasks:
        raise damaged("more labels are uncertain or tied than there are")
    sure = n_tasks - solution.n_uncertain
    least_probable = 0.0 if solution.by_skill else 1 / n_labels
    least = (sure * UNCERTAIN_BELOW + solution.n_uncertain * least_probable) / max(n_tasks, 1)
    most = (sure + solution.n_uncertain * UNCERTAIN_BELOW) / max(n_tasks, 1) if n_tasks else 1.0
    if not least - ROUNDING <= solution.mean_confidence <= most + ROUNDING:
        raise damaged("its mean confidence is not that of so many uncertain labels")
    if len(solution.worker_names) != totals.n_workers or totals.n_workers > totals.n_responses:
        raise damaged("its workers are not as many as it says")
    if abs(solution.expected_answers.sum() - totals.n_responses) > ROUNDING * totals.n_responses:
        raise damaged("its expected answers are not as many as its responses")
    if solution.given_shares:
        _check_given(np.array(solution.given_shares), solution.parameters.population)


def _check_given(given: Floats, population: Mapping[str, Floats]) -> None:
    """Shares that were given are those of the parameters."""
    held = [population["vote_shares"]]
    if "skill" in population:
        held.append(population["skill_shares"])
    else:
        held += [population["tilted_shares"], population["kinds_shares"].reshape(-1, 2).sum(axis=1)]
    positive = np.isfinite(given).all() and (given > 0).all()
    if not positive or any(one.shape != given.shape or (abs(one - given) > ROUNDING).any() for one in held):
        raise damaged("the given shares of its labels are not those of its parameters")
