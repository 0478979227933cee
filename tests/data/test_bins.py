"""Scores in bins: the same from every kind of table, by number or by edges, and in the file."""

from __future__ import annotations

import bisect
import json
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdopt import Solution, prove, verify
from crowdopt.data.bins import bin_labels, equal_width, parse_bins
from crowdopt.data.reading import Reading
from crowdopt.data.responses import check, count_tasks
from crowdopt.errors import InputError, SolutionFileError
from support.ways import BACKENDS, WAYS, plain, to_arrow, to_pandas, to_polars, to_text, wide

EDGES = (0.3, 0.7)
NAMES = ("below 0.3", "0.3 to 0.7", "0.7 and above")


def scores(seed=0):
    """Scores of two digits, some of them on an edge."""
    rng = np.random.default_rng(seed)
    drawn = [
        (task, f"w{worker}", round(float(np.clip(rng.normal(task % 3 / 2, 0.2), 0, 1)), 2))
        for task in range(60)
        for worker in range(4)
    ]
    return [*drawn, (0, "v", 0.3), (1, "v", 0.7), (2, "v", 0.0), (3, "v", 1.0)]


ROWS = scores()


def expected(edges=EDGES, rows=ROWS):
    """By hand: how many responses of each task are in each bin, sorted."""
    tasks = {}
    for task, _, score in rows:
        tasks.setdefault(task, [0] * (len(edges) + 1))[bisect.bisect_right(edges, score)] += 1
    return sorted(tasks.values())


def counted(solution):
    return sorted(np.repeat(solution.buckets.counts[:, 0, :], solution.buckets.weights, axis=0).tolist())


TYPES = {
    "float64": pa.array([score for _, _, score in ROWS]),
    "float32": pa.array([score for _, _, score in ROWS], pa.float32()),
    "text": pa.array([str(score) for _, _, score in ROWS]),
    "odd text": pa.array([f" +{score:.4e} " for _, _, score in ROWS]),
    "decimal": pa.array([Decimal(f"{score:.2f}") for _, _, score in ROWS]),
}


def test_there_are_more_scores_than_labels_and_some_on_an_edge():
    assert len({score for _, _, score in ROWS}) > 64
    assert {0.3, 0.7} < {score for _, _, score in ROWS}
    assert float(np.float32(0.7)) < 0.7


@pytest.mark.grid
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", TYPES)
def test_scores_of_any_type_from_any_kind_of_table(backend, kind):
    data = BACKENDS[backend](to_arrow(ROWS).set_column(2, "label", TYPES[kind]))
    solution = prove(data, bins=EDGES, engine="vote")
    assert (solution.scale.labels, solution.scale.kind, solution.scale.inferred) == (NAMES, "ordinal", False)
    assert solution.certificate.space == "dominance"
    assert counted(solution) == expected()
    answers = plain(solution.answers)
    assert type(solution.answers) is type(data)
    assert set(answers["label"]) == set(NAMES)
    assert prove(data, bins=5, engine="vote").reading.bins == (0.2, 0.4, 0.6, 0.8)
    assert counted(prove(data, bins=5, engine="vote")) == expected((0.2, 0.4, 0.6, 0.8))


@pytest.mark.parametrize("way", [way for way in WAYS if way not in {"polars-category", "polars-enum"}])
def test_every_way_in(way, tmp_path):
    options = {"bins": EDGES, "engine": "vote", "wide": way.startswith("wide")}
    assert counted(prove(WAYS[way](ROWS, tmp_path), **options)) == expected()


@pytest.mark.parametrize(
    "data",
    [
        to_pandas(ROWS).astype({"label": "category"}),
        to_pandas(ROWS).astype({"label": pd.CategoricalDtype(sorted({row[2] for row in ROWS})[::-1], ordered=True)}),
        to_polars(ROWS).with_columns(pl.col("label").cast(pl.String).cast(pl.Categorical)),
        to_polars(ROWS).with_columns(
            pl.col("label").cast(pl.String).cast(pl.Enum(sorted({str(row[2]) for row in ROWS})[::-1]))
        ),
    ],
    ids=["category", "ordered", "polars", "enum"],
)
def test_categories_of_scores_are_scores(data):
    solution = prove(data, bins=EDGES, engine="vote")
    assert (counted(solution), solution.scale.labels) == (expected(), NAMES)
    assert set(plain(solution.answers)["label"]) <= set(NAMES)


def test_the_answer_of_a_task_is_the_name_of_its_bin():
    answers = plain(prove(to_polars(ROWS), bins=EDGES, engine="vote").answers)
    by_task = {}
    for task, _, score in ROWS:
        by_task.setdefault(task, []).append(bisect.bisect_right(EDGES, score))
    for task, label in zip(answers["task"], answers["label"], strict=True):
        votes = [by_task[task].count(j) for j in range(3)]
        assert label == NAMES[votes.index(max(votes))]


def test_every_bin_is_on_the_scale():
    responses = check(to_polars([("a", "v", 0.5), ("b", "v", 0.9)]), Reading(bins=(-1.0, 0.0, 0.6, 2.0)))
    assert responses.scale.labels == ("below -1", "-1 to 0", "0 to 0.6", "0.6 to 2", "2 and above")
    assert responses.scale.occurring == {2, 3}
    assert count_tasks(responses).buckets.counts.tolist() == [[[0, 0, 0, 1, 0]], [[0, 0, 1, 0, 0]]]


@pytest.mark.parametrize("bins", [5, (0.25, 0.5), [0.5], np.array([0.1, 0.9]), np.int64(3)], ids=repr)
def test_the_file_needs_no_options(bins, tmp_path):
    path = to_text(ROWS, tmp_path)
    solution = prove(path, bins=bins, engine="vote")
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert loaded.reading == solution.reading
    assert loaded.scale.labels == solution.scale.labels == bin_labels(solution.reading.bins)
    for data in (path, to_polars(ROWS), to_pandas(ROWS), duckdb.from_arrow(to_arrow(ROWS))):
        assert verify(loaded, data).verdict == "CONFIRMED"
    # The bins are those of the file, whatever the range of the scores is now.
    assert verify(loaded, to_polars([*ROWS, (0, "x", 100.0)])).verdict == "REJECTED"
    assert check(to_polars([*ROWS, (0, "x", 100.0)]), loaded.reading).reading == loaded.reading


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (["0.3"], "not a list of numbers"),
        ([True], "not a list of numbers"),
        ([None], "not a list of numbers"),
        ([[0.3]], "not a list of numbers"),
        ([float("nan")], "finite"),
        ([0.7, 0.3], "must rise"),
        ([10**400], "damaged"),
        ("0.3", "'bins' cannot be '0.3'"),
        (0.3, r"'bins' cannot be 0\.3"),
    ],
)
def test_a_file_with_other_bins_is_damaged(bins, message):
    data = prove(to_polars(ROWS), bins=EDGES, engine="vote").to_dict()
    data["reading"]["bins"] = bins
    with pytest.raises(SolutionFileError, match=message):
        Solution.from_dict(data)


def test_a_file_that_moves_an_edge_is_rejected():
    data = prove(to_polars(ROWS), bins=EDGES, engine="vote").to_dict()
    data["reading"]["bins"] = [0.3, 0.8]
    assert verify(Solution.from_dict(data), to_polars(ROWS)).verdict == "REJECTED"


@given(
    st.floats(-1e300, 1e300),
    st.floats(-1e300, 1e300),
    st.integers(2, 64),
)
def test_bins_of_equal_width(low, high, n):
    low, high = sorted((low, high))
    try:
        edges = equal_width(low, high, n)
    except InputError as error:
        assert "all scores" in str(error) if low == high else "too close" in str(error)  # noqa: PT017
        assert high - low <= 1e-12 * max(abs(low), abs(high)) or high - low < 1e-300
        return
    assert len(edges) == n - 1
    widths = np.diff([low, *edges, high])
    assert (widths > 0).all()
    if high - low > 1e-9 * max(abs(low), abs(high)):
        assert np.allclose(widths, high / n - low / n, rtol=1e-4)
    assert len(set(bin_labels(edges))) == n


@pytest.mark.parametrize(
    ("low", "high", "n", "edges"),
    [
        (0.0, 1.0, 10, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        (1.0, 5.0, 4, (2.0, 3.0, 4.0)),
        (-1.0, 1.0, 2, (0.0,)),
        (0.0, 1.0, 3, (0.333333333333, 0.666666666667)),
        (1e15, 1e15 + 8, 4, (1e15 + 2, 1e15 + 4, 1e15 + 6)),
        (-1.7e308, 1.7e308, 2, (0.0,)),
    ],
)
def test_computed_edges_are_short_where_they_can_be(low, high, n, edges):
    assert equal_width(low, high, n) == edges


def test_scores_that_do_not_count_do_not_make_the_range():
    rows = [("a", "v", 0.0), ("b", "v", 1.0), (None, "v", 50.0), ("c", None, -50.0), ("d", "v", None)]
    for data in (to_polars(rows), to_pandas(rows), to_arrow(rows), duckdb.from_arrow(to_arrow(rows))):
        responses = check(data, Reading(missing="drop-all"), n_bins=2)
        assert responses.reading.bins == (0.5,)
        assert responses.n_dropped == 3


def test_missing_scores(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("task,worker,label\na,v,0.1\nb,v,?\nc,v,\nd,v,0.9\n")
    assert check_file(path, bins=2, na=["?"], missing="drop") == (("below 0.5", "0.5 and above"), 2, 4)
    with pytest.raises(InputError, match=r"^2 of 4 rows are incomplete \(2 without a label\)"):
        prove(path, bins=2, na=["?"], missing="error")
    with pytest.raises(InputError, match=r"1 of 3 labels are not finite numbers, such as '\?'.* na$"):
        prove(path, bins=2)
    path.write_text("task,worker,label\na,v,\n")
    with pytest.raises(InputError, match=r"^there are no responses"):
        prove(path, bins=2, missing="drop-all")


def check_file(path, **options):
    solution = prove(path, engine="vote", **options)
    return solution.scale.labels, solution.totals.n_dropped, solution.totals.n_tasks


WRONG = {
    "text": (["0.1", "x", "y", None], "2 of 3", "'x'"),
    "underscore": (["0.1", "1_0", "2", None], "1 of 3", "'1_0'"),
    "infinite": ([0.5, float("inf"), float("-inf"), None], "2 of 3", "'-inf'"),
    "infinite text": (["0.5", "inf", "1e999", None], "2 of 3", "'1e999'"),
    "boolean": ([True, False, True, None], "3 of 3", "'false'"),
    "nan text": (["0.5", "nan", "1", None], "1 of 3", "'nan'"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("bins", [3, [0.5]], ids=["number", "edge"])
def test_labels_that_are_no_scores(backend, kind, bins):
    values, how_many, example = WRONG[kind]
    data = pa.table({"task": list("abcd"), "worker": ["v"] * 4, "label": values})
    with pytest.raises(InputError, match=r"^bins needs scores") as raised:
        prove(BACKENDS[backend](data), bins=bins, missing="drop", engine="vote")
    assert f"{how_many} labels are not finite numbers, such as {example};" in str(raised.value)


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (1, "2 to 64 bins, not 1"),
        (65, "2 to 64 bins, not 65"),
        (0, "2 to 64 bins"),
        (-3, "2 to 64 bins"),
        (True, "2 to 64 bins, not True"),
        (0.5, r"a list of edges, lowest first, not 0\.5"),
        ("0.3,0.7", "a list of edges"),
        ([], "a list of edges"),
        (["low"], "a list of edges"),
        ([10**400], "a list of edges"),
        ([0.7, 0.3], r"must rise, and do not: 0\.7, 0\.3"),
        ([0.3, 0.3], "must rise"),
        ([0.3, float("inf")], r"finite numbers, not 0\.3, inf"),
        ([float("nan")], "finite numbers, not nan"),
        (range(64), "64 edges make 65 bins; at most 64"),
    ],
)
def test_bins_that_mean_nothing(bins, message):
    with pytest.raises(InputError, match=message):
        prove(to_polars(ROWS), bins=bins)


def test_63_edges_are_allowed():
    assert parse_bins(range(63)) == (0, tuple(map(float, range(63))))
    assert parse_bins(64) == (64, ())


@pytest.mark.parametrize("bins", [3, [0.5]])
@pytest.mark.parametrize(("other", "message"), [({"labels": ["a", "b"]}, "labels"), ({"scale": "nominal"}, "scale")])
def test_bins_make_the_labels_and_their_order(bins, other, message):
    """Which is said before anything is read."""
    with pytest.raises(InputError, match=f"leave out {message}"):
        prove(to_polars([("a", "v", "no score")]), bins=bins, **other)


def test_bins_may_be_said_to_be_ordinal():
    solution = prove(to_polars(ROWS), bins=EDGES, scale="ordinal", engine="vote")
    assert (solution.scale.kind, solution.scale.inferred, solution.reading.scale) == ("ordinal", False, "ordinal")
    assert verify(solution, to_polars(ROWS)).verdict == "CONFIRMED"


def test_equal_scores_have_no_width():
    with pytest.raises(InputError, match=r"^all scores are 0\.5: .*bins=\[0\.5\]$"):
        prove(to_polars([("a", "v", 0.5), ("b", "w", 0.5)]), bins=3)
    with pytest.raises(InputError, match="too close together for 9 bins"):
        prove(to_polars([("a", "v", 1.0), ("b", "w", 1.0 + 2**-52)]), bins=9)


@pytest.mark.parametrize("duplicates", ["same", "last"])
def test_duplicates_are_judged_by_their_bin(duplicates):
    columns = {"task": ["a", "a"], "worker": ["v", "v"], "label": [0.1, 0.2], "time": [2, 1]}
    order = {"order_by": "time"} if duplicates == "last" else {}
    responses = check(pl.DataFrame(columns), Reading(bins=(0.15,) if order else (0.5,), duplicates=duplicates, **order))
    assert count_tasks(responses).buckets.counts.tolist() == [[[1, 0]]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", ["scores", "texts", "names"])
def test_the_truth_may_be_scores_or_names_of_bins(backend, shape):
    solution = prove(to_polars(ROWS), bins=EDGES, engine="vote")
    answers = plain(solution.answers)
    inside = {"below 0.3": 0.123, "0.3 to 0.7": 0.3, "0.7 and above": 0.7}
    true = [inside[label] for label in answers["label"]]
    true[0] = 0.9 if true[0] < 0.7 else 0.1
    if shape == "texts":
        true = [str(score) for score in true]
    if shape == "names":
        true = [NAMES[bisect.bisect_right(EDGES, score)] for score in true]
    truth = BACKENDS[backend](pa.table({"task": answers["task"], "label": true}))
    found = prove(BACKENDS[backend](to_arrow(ROWS)), bins=EDGES, engine="vote", truth=truth).accuracy
    assert (found.value, found.n_tasks, found.n_unknown) == (1 - 1 / len(true), len(true), 0)


def test_a_truth_of_many_scores():
    truth = pl.DataFrame({"task": range(2000), "label": [task / 2000 for task in range(2000)]})
    rows = [(task, worker, task / 2000) for task in range(2000) for worker in "vw"]
    found = prove(to_polars(rows), bins=4, engine="vote", truth=truth).accuracy
    assert (found.value, found.n_tasks) == (1, 2000)


@pytest.mark.parametrize(
    ("text", "edges"),
    [("0.5", (0.5,)), ("0.3,0.7", EDGES), ("4", (0.25, 0.5, 0.75)), ("1,", (1.0,)), ("-1,0.5,", (-1.0, 0.5))],
)
def test_the_command_line(text, edges, tmp_path, crowdopt):
    path, solution = to_text(ROWS, tmp_path), tmp_path / "solution.json"
    found = json.loads(crowdopt("prove", path, "--bins", text, "--engine", "vote", "--solution", solution, "--json"))
    assert (tuple(found["labels"]), found["scale"], found["scale_inferred"]) == (bin_labels(edges), "ordinal", False)
    assert json.loads(solution.read_text())["reading"]["bins"] == list(edges)
    assert crowdopt("verify", solution, path).splitlines()[0] == "CONFIRMED"


def test_wide_scores_with_an_index_of_their_own():
    data = wide(ROWS).astype(str).replace("nan", "").set_index(pd.Index(np.zeros(60, int)))
    assert counted(prove(data, wide=True, bins=EDGES, engine="vote")) == expected()
