"""The methods that are compared: the consensus, our engines, and crowd-kit's aggregators where it is installed.

All get the same rows (task, worker, label as whole numbers) and give one label for each task; some also say how
probable it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.claims import titles
from crowdopt.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.base import Limits
    from crowdopt.model.objective import Objective
    from crowdopt.model.scale import Scale

CONSENSUS = "consensus"
"""What ``aggregate`` gives."""

ENGINE_METHODS = {
    "opt-dominance": ("OPT, respecting the order", "auto", Space.DOMINANCE),
    "opt-all": ("OPT, over all answers", "auto", Space.ALL),
    **{name: (title, name, Space.ALL) for name, title in titles().items()},
}
"""Our engines by name: what they are called, the engine, and the space it searches."""

OUR_METHODS = {CONSENSUS: CONSENSUS} | {name: title for name, (title, _, _) in ENGINE_METHODS.items()}
"""Our own methods by name, and what they are called."""

CROWD_KIT = (
    "MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "KOS", "MMSR"
)  # fmt: skip
"""The aggregators of crowd-kit that answer with one label per task, and need nothing but the responses."""

SLOW = ("GLAD", "MACE", "MMSR")
"""Those of them that take more than ten seconds for 25,000 responses."""

SEEDED = ("KOS", "MACE", "MMSR")
"""Those of them that take a seed; others draw from NumPy's global state, or not at all."""


@dataclass(frozen=True, eq=False)
class MethodInput:
    """What every method gets.

    Attributes:
        task: Index of the task of each response.
        worker: Index of its worker.
        label: Index of the label answered.
        scale: The labels.
        objective: What the likelihood is.
    """

    task: Ints
    worker: Ints
    label: Ints
    scale: Scale
    objective: Objective

    @property
    def n_labels(self) -> int:
        """Labels on the scale."""
        return self.scale.n_labels

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(self.task.max()) + 1

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return int(self.worker.max()) + 1

    def counts(self) -> Ints:
        """Responses by (task, class, label); all workers are of one class."""
        at = np.bincount(self.task * self.n_labels + self.label, minlength=self.n_tasks * self.n_labels)
        return at.reshape(-1, 1, self.n_labels)

    def log_likelihood(self, labels: Ints) -> float:
        """F of one label for each task, under the model that all methods share."""
        at = labels[self.task] * self.n_labels + self.label
        responses = np.bincount(at, minlength=self.n_labels**2).reshape(self.n_labels, 1, self.n_labels)
        return float(self.objective.total(responses, np.bincount(labels, minlength=self.n_labels)))


def title_of(method: str) -> str:
    """What a method is called."""
    return OUR_METHODS.get(method, f"crowd-kit {method}")


def has_crowd_kit() -> bool:
    """Whether crowd-kit is installed; importing it would take seconds."""
    return find_spec("crowdkit") is not None


def _crowd_kit(method: str) -> Callable[..., Any]:
    """An aggregator of crowd-kit, as one of scikit-learn's estimators.

    Some of them ask scikit-learn whether they were fitted, which since 1.7 answers for its own kind only.
    """
    from crowdkit import aggregation
    from sklearn.base import BaseEstimator

    return type(method, (getattr(aggregation, method), BaseEstimator), {})


@dataclass(frozen=True, eq=False)
class MethodLabels:
    """What a method gives.

    Attributes:
        labels: Index of the label of each task.
        confidence: How probable the method says that the label is; None if it does not.
        proof: What it proves, over which space, within which gap; empty if nothing.
    """

    labels: Ints
    confidence: Floats | None = None
    proof: dict[str, Any] = field(default_factory=dict)


def prepared_method(
    method: str, rows: MethodInput, limits: Callable[[], Limits], seed: int
) -> Callable[[], MethodLabels]:
    """A function that does the work of a method and nothing else: what it needs is imported, and is there."""
    if method == CONSENSUS:
        return _prepared_consensus(rows)
    if method in ENGINE_METHODS:
        return _prepared_engine(method, rows, limits)
    return _prepared_peer(method, rows, seed)


def _prepared_consensus(rows: MethodInput) -> Callable[[], MethodLabels]:
    from crowdopt.data.coded import Coded, Encoded
    from crowdopt.data.parts import EncodedParts
    from crowdopt.results.source_consensus import SourceConsensus

    def names(number: int) -> Any:
        import pyarrow as pa

        return pa.array([f"{one:09d}" for one in range(number)])  # sorted; of many, they choose the sample

    def find(task: Ints, worker: Ints, label: Ints) -> MethodLabels:
        coded = Coded.of(task, worker, label, rows.n_labels)
        parts = EncodedParts.of(Encoded.of(coded, names(coded.n_tasks), names(coded.n_workers)))
        labelled = SourceConsensus.of(parts, rows.scale).whole.labelled
        return MethodLabels(labelled.labels, labelled.confidence)

    find(np.arange(2), np.arange(2), np.arange(2))  # loads the compiled loops, which other methods import
    return lambda: find(rows.task, rows.worker, rows.label)


def _prepared_engine(method: str, rows: MethodInput, limits: Callable[[], Limits]) -> Callable[[], MethodLabels]:
    from crowdopt.engines.registry import run

    _, engine, space = ENGINE_METHODS[method]

    def solve() -> MethodLabels:
        buckets, index = Buckets.from_arrays(rows.counts())
        solved = run(Problem(buckets, space, rows.objective), limits(), labels=rows.scale.labels, engine=engine)
        certificate = solved.certificate
        proof = {"proof": certificate.proof.value, "space": certificate.space.value, "gap": certificate.gap}
        return MethodLabels(solved.mapping[index], proof=proof if certificate.gap is not None else {})

    return solve


def _prepared_peer(method: str, rows: MethodInput, seed: int) -> Callable[[], MethodLabels]:
    import pandas as pd

    frame = pd.DataFrame({"task": rows.task, "worker": rows.worker, "label": rows.label})
    np.random.seed(seed)  # noqa: NPY002 -- some of them draw from the global state
    options = {"random_state": seed} if method in SEEDED else {}
    aggregator = _crowd_kit(method)(**options)

    def fit() -> MethodLabels:
        tasks = range(rows.n_tasks)
        found = aggregator.fit_predict(frame).reindex(tasks)
        if missing := int(found.isna().sum()):
            raise ValueError(f"it gave no label to {missing} of {rows.n_tasks} tasks")
        labels = found.to_numpy().astype(np.int64)
        if (probas := getattr(aggregator, "probas_", None)) is None:
            return MethodLabels(labels)
        table = probas.reindex(index=tasks, columns=range(rows.n_labels)).fillna(0.0).to_numpy()
        return MethodLabels(labels, table[np.arange(len(labels)), labels] / table.sum(axis=1))

    return fit
