"""The methods that are compared: our engines, and crowd-kit's aggregators where it is installed.

All get the same rows (task, worker, label as whole numbers) and give one label for each task.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.claims import titles
from crowdopt.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt._arrays import Ints
    from crowdopt.engines.base import Limits
    from crowdopt.model.objective import Objective

OUR_METHODS = {
    "opt-dominance": ("OPT, respecting the order", "auto", Space.DOMINANCE),
    "opt-all": ("OPT, over all answers", "auto", Space.ALL),
    **{name: (title, name, Space.ALL) for name, title in titles().items()},
}
"""Our own by name: what they are called, the engine, and the space it searches."""

CROWD_KIT = (
    "MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "KOS", "MMSR"
)  # fmt: skip
"""The aggregators of crowd-kit that answer with one label per task, and need nothing but the responses."""

SEEDED = ("KOS", "MACE", "MMSR")
"""Those of them that take a seed; others draw from NumPy's global state, or not at all."""


@dataclass(frozen=True, eq=False)
class MethodInput:
    """What every method gets.

    Attributes:
        task: Index of the task of each response.
        worker: Index of its worker.
        label: Index of the label answered.
        n_labels: Labels on the scale.
        objective: What the likelihood is.
    """

    task: Ints
    worker: Ints
    label: Ints
    n_labels: int
    objective: Objective

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
    return OUR_METHODS[method][0] if method in OUR_METHODS else f"crowd-kit {method}"


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


def prepared_method(
    method: str, rows: MethodInput, limits: Callable[[], Limits], seed: int
) -> Callable[[], tuple[Ints, dict[str, Any]]]:
    """A function that does the work of a method and nothing else: what it needs is imported, and is there."""
    if method in OUR_METHODS:
        from crowdopt.engines.registry import run

        _, engine, space = OUR_METHODS[method]

        def solve() -> tuple[Ints, dict[str, Any]]:
            buckets, index = Buckets.from_arrays(rows.counts())
            names = [str(j) for j in range(rows.n_labels)]
            solved = run(Problem(buckets, space, rows.objective), limits(), labels=names, engine=engine)
            certificate = solved.certificate
            said = {"proof": certificate.proof.value, "space": certificate.space.value, "gap": certificate.gap}
            return solved.mapping[index], said

        return solve
    import pandas as pd

    frame = pd.DataFrame({"task": rows.task, "worker": rows.worker, "label": rows.label})
    np.random.seed(seed)  # noqa: NPY002 -- some of them draw from the global state
    options = {"random_state": seed} if method in SEEDED else {}
    aggregator = _crowd_kit(method)(**options)

    def fit() -> tuple[Ints, dict[str, Any]]:
        found = aggregator.fit_predict(frame).reindex(range(rows.n_tasks))
        if missing := int(found.isna().sum()):
            raise ValueError(f"it gave no label to {missing} of {rows.n_tasks} tasks")
        return found.to_numpy().astype(np.int64), {}

    return fit
