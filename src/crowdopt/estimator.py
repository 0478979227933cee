"""Consensus and GlobalOptimum: drop-ins for crowd-kit's aggregators, with the manners of scikit-learn's estimators."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, cast

import numpy as np

from crowdopt._option import declared, taking, with_arguments
from crowdopt.consensus.tilted import over_tilts
from crowdopt.data.worker_classes import with_trimmed_names
from crowdopt.errors import CrowdoptError, InputError, MissingExtraError
from crowdopt.model.scale import canonical_text
from crowdopt.options.verbs import ConsensusEstimatorOptions, EstimatorOptions
from crowdopt.options.words import speaking_python
from crowdopt.pipeline import aggregate, prove

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crowdopt._arrays import Floats
    from crowdopt.model.certificate import Certificate
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.solution_proof import ProofSolution


@speaking_python
class _Estimator(ABC):
    """What both estimators do alike: parameters by name, labels and probabilities by task."""

    _options: ClassVar[type]
    labels: Sequence[Any] | None
    labels_: pd.Series[Any]
    probas_: pd.DataFrame
    priors_: pd.Series[Any]
    errors_: pd.DataFrame | None

    def _set(self, labels: Sequence[Any] | None, options: Any) -> None:
        self.labels = labels
        for name, value in options.items():
            setattr(self, name, value)

    @abstractmethod
    def _solved(self, data: pd.DataFrame, options: Any) -> tuple[Solution, Floats, Floats | None]:
        """The solution, the shares of labels, and how each worker (in order of appearance) answers each label.

        The last are None where workers have a skill, and no matrix.
        """

    def fit(self, data: pd.DataFrame) -> Self:
        """Finds the labels, their probabilities, and how workers answer; warns where they should be checked."""
        pandas, kind = _pandas(type(self).__name__), type(self).__name__
        if not isinstance(data, pandas.DataFrame):
            raise InputError(f"{kind} takes pandas frames, not {type(data).__name__}; use crowdopt.aggregate or prove")
        options = self.get_params()
        options["labels"] = () if self.labels is None else self.labels
        solution, shares, matrices = self._solved(data, options)
        values, labels = list(solution.scale.values), solution.scale.labels
        answers = solution.answers_frame(probabilities=True).set_index("task")
        self.labels_ = answers["label"].rename("agg_label")
        self.probas_ = answers[[f"p_{label}" for label in labels]].set_axis(values, axis=1)
        self.priors_ = pandas.Series(shares, index=pandas.Index(values, name="label"), name="prior")
        self.errors_ = None
        if matrices is None:
            self.probas_ = self.probas_.fillna(0.0)
            return self
        index = pandas.MultiIndex.from_product([_workers_of(data), values], names=["worker", "label"])
        blocks = np.swapaxes(matrices, 1, 2).reshape(-1, len(values))  # worker, answered; true
        self.errors_ = pandas.DataFrame(blocks, index=index, columns=values)
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Fits, and returns the label of every task."""
        return self.fit(data).labels_

    def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Fits, and returns the probability of every label for every task."""
        return self.fit(data).probas_

    def predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Labels the tasks of new responses by what was fitted: the most probable label of each."""
        labels: pd.Series[Any] = self._predicted(data)["label"].rename("agg_label")
        return labels

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Probability of every label for the tasks of new responses, by what was fitted."""
        names = [f"p_{label}" for label in self._fitted().scale.labels]
        probabilities: pd.DataFrame = self._predicted(data)[names].set_axis(list(self._fitted().scale.values), axis=1)
        return probabilities.fillna(0.0) if self.errors_ is None else probabilities

    def _predicted(self, data: pd.DataFrame) -> pd.DataFrame:
        predicted: pd.DataFrame = self._fitted().predict(data, probabilities=True).set_index("task")
        return predicted

    def _fitted(self) -> Solution:
        if not hasattr(self, "solution_"):
            raise CrowdoptError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return cast("Solution", self.solution_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, as scikit-learn wants them."""
        del deep  # there are no nested estimators
        return {name: getattr(self, name) for name in ("labels", *declared(self._options))}

    def set_params(self, **params: Any) -> Self:
        """Sets arguments of the constructor."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class Consensus(_Estimator):
    """The labels that are most likely right, on pandas frames with columns ``task``, ``worker``, ``label``.

    Args:
        labels: The scale, lowest label first; taken from the data if None.
        options: What ``aggregate`` takes beside columns and files: see ``ConsensusEstimatorOptions``.

    Attributes:
        labels_: Series ``agg_label`` of labels, indexed by task.
        probas_: Probability of each label, tasks by labels; of more than 64 labels those that the task received.
        skills_: Series ``skill`` of one number for each worker, as ``workers`` has it: the share of right answers.
        priors_: Share of each label.
        errors_: Probability of each answer, indexed by (worker, label answered), one column per true label; None where
            there are more than 64 labels, and a worker has one skill.
        solution_: The whole solution.

    >>> import pandas as pd
    >>> rows = [(task, worker, "yes" if task < "c" else "no") for task in "abcd" for worker in ("ann", "bob", "cy")]
    >>> Consensus().fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).to_dict()
    {'a': 'yes', 'b': 'yes', 'c': 'no', 'd': 'no'}
    """

    _options = ConsensusEstimatorOptions
    skills_: pd.Series[Any]
    solution_: ConsensusSolution

    @taking(ConsensusEstimatorOptions)
    def __init__(self, labels: Sequence[Any] | None = None, **options: Unpack[ConsensusEstimatorOptions]) -> None:
        self._set(labels, options)

    def _solved(self, data: pd.DataFrame, options: Any) -> tuple[Solution, Floats, Floats | None]:
        self.solution_ = solution = aggregate(data, **options)
        self.skills_ = solution.workers().set_index("worker")["skill"]
        if solution.by_skill:
            return solution, solution.parameters.population["skill_shares"], None
        index = {name: at for at, name in enumerate(solution.worker_names)}
        places = [
            index.get(canonical_text(worker), -1) for worker in _workers_of(data)
        ]  # -1: without a usable response
        parameters = solution.parameters.aligned(np.array(places))
        population = parameters.population
        matrices = over_tilts(parameters.workers["tilted_matrix"], population["tilted_kinds"])
        return solution, population["tilted_shares"], matrices


class GlobalOptimum(_Estimator):
    """Maximum-likelihood labels, proved, on pandas frames with columns ``task``, ``worker``, ``label``.

    Args:
        labels: The scale, lowest label first; taken from the data if None.
        options: What ``prove`` takes beside columns and files: see ``EstimatorOptions``.

    Attributes:
        labels_: Series ``agg_label`` of labels, indexed by task.
        probas_: Probability of each label, tasks by labels.
        priors_: Share of each label.
        errors_: Probability of each answer, indexed by (worker, label answered), one column per true label. Workers of
            one class share one matrix, so their blocks are equal.
        certificate_: What was proved.
        solution_: The whole solution.

    >>> import pandas as pd
    >>> rows = [
    ...     ("a", "ann", "yes"),
    ...     ("a", "bob", "yes"),
    ...     ("b", "ann", "no"),
    ...     ("b", "bob", "yes"),
    ...     ("c", "bob", "no"),
    ... ]
    >>> GlobalOptimum().fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).to_dict()
    {'a': 'yes', 'b': 'no', 'c': 'no'}
    """

    _options = EstimatorOptions
    verbatim: bool
    certificate_: Certificate
    solution_: ProofSolution

    @taking(EstimatorOptions)
    def __init__(self, labels: Sequence[Any] | None = None, **options: Unpack[EstimatorOptions]) -> None:
        self._set(labels, options)

    def _solved(self, data: pd.DataFrame, options: Any) -> tuple[Solution, Floats, Floats]:
        self.solution_ = solution = prove(data, **options)
        self.certificate_ = solution.certificate
        shares = solution.summary()["selectivity"]["shares"] or solution.shares
        names = [one.name for one in solution.classes]
        pairs = solution.reading.classes if self.verbatim else with_trimmed_names(solution.reading.classes)
        known = {worker: names.index(name) for worker, name in pairs if name in names}
        classes = [known.get(canonical_text(worker), 0) for worker in _workers_of(data)]
        return solution, np.asarray(shares), solution.matrix[classes]


for _kind in (Consensus, GlobalOptimum):
    _kind.__doc__ = with_arguments(_kind.__doc__, _kind._options)  # noqa: SLF001 -- ours


def _workers_of(data: pd.DataFrame) -> pd.Series[Any]:
    return data["worker"].dropna().drop_duplicates()


def _pandas(who: str) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError(who, "pandas") from error
    return pd
