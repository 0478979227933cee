"""GlobalOptimum: a drop-in for crowd-kit's aggregators, with the manners of a scikit-learn estimator."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

import numpy as np

from crowdopt._option import declared, taking, with_arguments
from crowdopt.errors import CrowdoptError, InputError, MissingExtraError
from crowdopt.model.scale import canonical_text
from crowdopt.options import EstimatorOptions
from crowdopt.pipeline import prove

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crowdopt._arrays import Ints
    from crowdopt.model.certificate import Certificate
    from crowdopt.results.solution_proof import ProofSolution


class GlobalOptimum:
    """Maximum-likelihood labels, proved, on pandas frames with columns ``task``, ``worker``, ``label``.

    Args:
        labels: The scale, lowest label first; taken from the data if None.
        options: What ``prove`` takes beside columns and files: see ``EstimatorOptions``.

    Unlike ``prove``, it counts all responses of a worker who answered a task more than once, as crowd-kit does:
    ``duplicates`` is ``all``.

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

    labels_: pd.Series[Any]
    probas_: pd.DataFrame
    priors_: pd.Series[Any]
    errors_: pd.DataFrame
    certificate_: Certificate
    solution_: ProofSolution

    @taking(EstimatorOptions, duplicates="all")
    def __init__(self, labels: Sequence[Any] | None = None, **options: Unpack[EstimatorOptions]) -> None:
        self.labels = labels
        for name, value in options.items():
            setattr(self, name, value)

    def fit(self, data: pd.DataFrame) -> Self:
        """Finds the labels, matrix and certificate."""
        pandas = _pandas()
        if not isinstance(data, pandas.DataFrame):
            raise InputError(f"GlobalOptimum takes pandas frames, not {type(data).__name__}; use crowdopt.prove")
        options = self.get_params()
        labels = options.pop("labels")
        solution = prove(data, labels=() if labels is None else labels, **cast("EstimatorOptions", options))
        values = list(solution.scale.values)
        answers = solution.answers_frame(probabilities=True).set_index("task")
        self.solution_ = solution
        self.certificate_ = solution.certificate
        self.labels_ = answers["label"].rename("agg_label")
        self.probas_ = answers[[f"p_{label}" for label in solution.scale.labels]].set_axis(values, axis=1)
        shares = solution.summary()["selectivity"]["shares"] or solution.shares.tolist()
        self.priors_ = pandas.Series(shares, index=pandas.Index(values, name="label"), name="prior")
        self.errors_ = self._errors(data, values)
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Fits, and returns the label of every task."""
        return self.fit(data).labels_

    def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Fits, and returns the probability of every label for every task."""
        return self.fit(data).probas_

    def predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Labels the tasks of new responses with the fitted matrix: the most probable label of each."""
        from crowdopt.results.labelling import label_counts

        counts, index = self._counted(data)
        values = list(self.solution_.scale.values)
        chosen = [values[j] for j in label_counts(self.solution_, counts).labels]
        labels: pd.Series[Any] = _pandas().Series(chosen, index=index, name="agg_label")
        return labels

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Probability of every label for the tasks of new responses, under the fitted matrix."""
        counts, index = self._counted(data)
        posterior, values = self.solution_.posterior_of(counts), list(self.solution_.scale.values)
        probabilities: pd.DataFrame = _pandas().DataFrame(posterior, index=index, columns=values)
        return probabilities

    def _counted(self, data: pd.DataFrame) -> tuple[Ints, pd.Index[Any]]:
        """The counts (task, class, answer) of new responses, and the tasks."""
        pandas = _pandas()
        if not hasattr(self, "solution_"):
            raise CrowdoptError("this GlobalOptimum is not fitted yet: call fit first")
        scale = self.solution_.scale
        missing = data[["task", "label"]].isna().any(axis=1)
        if missing.any():
            raise InputError(f"{int(missing.sum())} of {len(data)} rows have no task or no label")
        texts = [canonical_text(value) for value in data["label"]]
        answered = np.array([scale.index(text) for text in texts], dtype=np.int64)
        tasks, first = pandas.factorize(data["task"], sort=True)
        classes, n_classes = self._class_of(data), self.solution_.buckets.n_classes
        n_classes += int(classes.max(initial=0) == n_classes)
        counts: Ints = np.zeros((len(first), n_classes, scale.n_labels), np.int64)
        place = (tasks * n_classes + classes) * scale.n_labels + answered
        np.add.at(counts.reshape(-1), place, 1)
        return counts, pandas.Index(first, name="task")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, as scikit-learn wants them."""
        del deep  # there are no nested estimators
        return {name: getattr(self, name) for name in ("labels", *declared(EstimatorOptions))}

    def set_params(self, **params: Any) -> Self:
        """Sets arguments of the constructor."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InputError(f"GlobalOptimum has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"GlobalOptimum({', '.join(changed)})"

    def _errors(self, data: pd.DataFrame, values: list[Any]) -> pd.DataFrame:
        pandas = _pandas()
        workers = data["worker"].dropna().drop_duplicates()
        index = pandas.MultiIndex.from_product([workers, values], names=["worker", "label"])
        # worker, answered, true
        blocks = np.swapaxes(self.solution_.matrix, 1, 2)[self._class_of(workers.to_frame())]
        errors: pd.DataFrame = pandas.DataFrame(blocks.reshape(-1, len(values)), index=index, columns=values)
        return errors

    def _class_of(self, data: pd.DataFrame) -> Ints:
        """The index of the class of the worker of every row: 0 if all are alike, one behind all if it is not known."""
        names = [one.name for one in self.solution_.classes]
        if not names:
            return np.zeros(len(data), np.int64)
        known = {worker: names.index(name) for worker, name in self.solution_.reading.classes if name in names}
        texts = [canonical_text(worker) for worker in data["worker"]]
        return np.array([known.get(text, len(names)) for text in texts], np.int64)


GlobalOptimum.__doc__ = with_arguments(GlobalOptimum.__doc__, EstimatorOptions)


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("GlobalOptimum", "pandas") from error
    return pd
