"""Values of every type, from every kind of table: kept, compared and given back as what they are."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import GlobalOptimum, prove
from crowdopt.data.reading import Reading
from crowdopt.data.responses import check, count_tasks
from crowdopt.errors import ColumnError, InputError
from crowdopt.model.scale import canonical_text
from crowdopt.pipeline import accuracy
from support.ways import BACKENDS, ROWS, plain, to_arrow, to_pandas, to_polars

DAY, LATER = dt.datetime(2024, 5, 1, 9, 30), dt.datetime(2024, 5, 2)  # noqa: DTZ001
LABELS = {
    "decimal": (Decimal("1.50"), Decimal("2.00")),
    "date": (dt.date(2024, 5, 1), dt.date(2024, 5, 2)),
    "datetime": (DAY, LATER),
    "large": (float(2**53), float(2**53 + 2)),
    "huge": (1e300, 2e300),
    "float": (1.0, 2.5),
    "bool": (False, True),
}


@pytest.mark.grid
@pytest.mark.parametrize("shape", ["same", "text", "arrow"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("labels", LABELS)
def test_truth_of_any_type_is_compared_as_canonical_text(labels, backend, shape):
    values = [LABELS[labels][label == "yes"] for _, _, label in ROWS]
    data = to_arrow(ROWS).set_column(2, "label", pa.array(values))
    solution = prove(BACKENDS[backend](data))
    plain_solution = prove(to_arrow(ROWS))
    assert solution.buckets.counts.tolist() == plain_solution.buckets.counts.tolist()
    answers = plain_solution.answers.to_pydict()
    true = [LABELS[labels][label == "yes"] for label in answers["label"]]
    true[0] = LABELS[labels][true[0] == LABELS[labels][0]]
    tasks = answers["task"]
    if shape == "text":
        true, tasks = [canonical_text(value) for value in true], [str(task) for task in tasks]
    truth = pa.table({"task": tasks, "label": pa.array(true)})
    truth = truth if shape == "arrow" else BACKENDS[backend](truth)
    found = accuracy(solution, truth)
    assert (found.value, found.n_tasks, found.n_unknown) == (1 - 1 / len(true), len(true), 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tasks_of_different_types_are_compared_as_canonical_text(backend):
    rows = [(float(task), worker, label) for task, worker, label in ROWS]
    answers = prove(to_arrow(ROWS)).answers.to_pydict()
    for tasks in (answers["task"], [str(task) for task in answers["task"]], [Decimal(t) for t in answers["task"]]):
        truth = BACKENDS[backend](pa.table({"task": tasks, "label": answers["label"]}))
        found = prove(BACKENDS[backend](to_arrow(rows)), truth=truth).accuracy
        assert (found.value, found.n_tasks, found.n_unknown) == (1, len(tasks), 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_missing_labels_of_the_truth_are_left_out(backend):
    truth = pa.table({"task": [0, 7, 7, 14], "label": ["yes", "", "?", None]})
    found = prove(BACKENDS[backend](to_arrow(ROWS)), truth=BACKENDS[backend](truth), na=["?"]).accuracy
    assert (found.n_tasks, found.n_unknown) == (1, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_wide_columns_of_different_types_are_made_canonical_text(backend):
    columns = {
        "task": ["a", "b", "c"],
        "w1": ["1", "1.5", None],
        "w2": [1.0, 1.5, None],
        "w3": pa.array([1, None, 1], pa.int8()),
        "w4": [Decimal("1.00"), Decimal("1.50"), None],
        "w5": pa.array([1, 1.5, None], pa.float32()),
    }
    solution = prove(BACKENDS[backend](pa.table(columns)), wide=True)
    assert (solution.scale.labels, solution.totals.n_responses) == (("1", "1.5"), 10)
    half = DAY.replace(microsecond=500_000)
    times = [pa.array([DAY, half, None], pa.timestamp(unit)) for unit in ("us", "ms", "ns")]
    columns = {"task": ["a", "b", "c"], "w0": [DAY.isoformat(), half.isoformat(), None]}
    columns |= {f"w{n}": array for n, array in enumerate(times, 1)}
    solution = prove(BACKENDS[backend](pa.table(columns)), wide=True)
    assert solution.scale.labels == ("2024-05-01T09:30:00", "2024-05-01T09:30:00.500000")
    assert solution.totals.n_responses == 8
    columns = {"task": ["a", "b", "c"], "w1": ["true", "false", None], "w2": [True, None, False]}
    solution = prove(BACKENDS[backend](pa.table(columns)), wide=True)
    assert (solution.scale.labels, solution.totals.n_responses) == (("false", "true"), 4)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_objects_of_pandas_are_what_they_hold(missing):
    columns = {"w1": ["1", "2.5", missing], "w2": [1.0, 2.5, missing], "w3": [1, 2.5, missing]}
    data = pd.DataFrame({"task": ["a", "b", "c"], **columns}, dtype=object)
    for workers in (["w1", "w2", "w3"], ["w2", "w3"]):
        solution = prove(data[["task", *workers]], wide=True)
        assert solution.scale.labels == ("1", "2.5")
        assert solution.answers["status"].tolist() == ["ok", "ok", "no_response"]
    data = pd.DataFrame({"task": ["a", "b", "c"], "worker": "w", "label": [True, False, missing]}, dtype=object)
    solution = prove(data, missing="drop")
    assert solution.scale.labels == ("false", "true")
    assert solution.answers["label"].tolist()[:2] == [True, False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kept_categories_are_text_and_nested_columns_are_refused(backend):
    data = to_arrow(ROWS)
    note = pa.array([f"about {task}" for task, _, _ in ROWS])
    data = data.append_column("note", note.dictionary_encode())
    data = data.append_column("nested", pa.array([[task] for task, _, _ in ROWS]))
    answers = plain(prove(BACKENDS[backend](data), keep=["note", "note"]).answers)
    assert answers["note"] == [f"about {task}" for task in answers["task"]]
    with pytest.raises(ColumnError, match="'nested'"):
        prove(BACKENDS[backend](data), keep=["nested"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_of_the_answers_have_names_of_their_own(backend):
    data = BACKENDS[backend](to_arrow(ROWS).append_column("p_yes", pa.array([1] * len(ROWS))))
    solution = prove(data, keep=["p_yes"])
    with pytest.raises(ColumnError, match="two columns named 'p_yes'"):
        solution.answers_frame(probabilities=True)
    data = BACKENDS[backend](to_arrow(ROWS).append_column("Status", pa.array([1] * len(ROWS))))
    with pytest.raises(ColumnError, match="'status' and 'Status'"):
        prove(data, keep=["Status"])


@pytest.mark.parametrize("values", [(DAY, LATER), (DAY.date(), LATER.date()), (Decimal("1.50"), Decimal(2))],
                         ids=["datetime", "date", "decimal"])  # fmt: skip
def test_categories_of_other_objects_come_back(values):
    data = to_pandas([(task, worker, values[label == "yes"]) for task, worker, label in ROWS])
    data = data.astype({"label": "category"})
    answers = prove(data).answers
    assert answers["label"].dtype == data["label"].dtype
    expected = [values[label == "yes"] for label in prove(to_pandas(ROWS)).answers["label"]]
    assert answers["label"].tolist() == expected


def test_options_may_be_numpy_values():
    data = to_pandas([(task, worker, label == "yes") for task, worker, label in ROWS])
    labels = np.array(sorted(data["label"].unique()))
    solution = prove(data, labels=labels, selectivity={np.bool_(False): 0.6, np.bool_(True): 0.4})  # noqa: FBT003
    assert solution.scale.labels == ("false", "true")
    assert solution.objective.shares == (0.6, 0.4)
    model = GlobalOptimum(labels=labels).fit(data)
    assert model.labels_.tolist() == prove(data).answers["label"].tolist()
    assert repr(model) == "GlobalOptimum(labels=array([False,  True]))"


@pytest.mark.parametrize("duplicates", ["error", "all"])
def test_labels_that_cannot_be_counted_are_an_error(monkeypatch, duplicates):
    responses = check(to_polars(ROWS), Reading(duplicates=duplicates))
    broken = replace(responses, scale=replace(responses.scale, values=("no", "YES")))
    with pytest.raises(InputError, match=f"of {len(ROWS)} responses could be counted"):
        count_tasks(broken)


@pytest.mark.parametrize("values", [(1, 2), (1.0, 2.5), (False, True)], ids=["int", "float", "bool"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_categories_of_any_type_equal_the_plain_values(values, missing):
    low, high = values
    labels = [high, high, low, high, low, None if missing else low]
    rows = {"task": list("aabbcd"), "worker": list("xyxyxy"), "label": pd.Series(labels, dtype=object)}
    plain = pd.DataFrame(rows).convert_dtypes()
    categories = plain.astype({"label": pd.CategoricalDtype(list(values))})
    expected = prove(plain, missing="drop")
    found = prove(categories, missing="drop")
    assert found.certificate.fingerprint == expected.certificate.fingerprint
    assert found.answers["label"].dtype == categories["label"].dtype
    assert found.answers["label"].astype(object).tolist()[:3] == expected.answers["label"].tolist()[:3]
