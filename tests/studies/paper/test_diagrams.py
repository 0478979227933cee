"""Drawings: what they show is computed again by hand, and charts draw what they are given."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from crowdopt.report.charts import BLUE, ORANGE, PALE_BLUE, PALE_ORANGE, Axis, Style, line_chart
from crowdopt.studies.paper import diagrams
from support.oracle import consistent_mappings, dominates, log_likelihood


def fills(svg, shape):
    """The colours of all shapes of a kind, in the order in which they were drawn."""
    return re.findall(rf'<{shape} [^>]*fill="([^"]+)"', svg)


def test_first_example():
    shown = diagrams.mapping_example()
    assert len(shown.rows) == 10
    assert shown.rows[0] == {"3,3,3": 3, "1,2,3": 3, "1,1,1": 3}
    assert shown.rows[-1] == {"3,3,3": 1, "1,2,3": 1, "1,1,1": 1}
    assert all(row["3,3,3"] >= row["1,2,3"] >= row["1,1,1"] for row in shown.rows)


def test_cut_points_of_the_filtering_example():
    shown = diagrams.filtering_example()
    items = np.array([[0, 3], [2, 1], [1, 2], [1, 2]])  # I1 to I4: answers 0, answers 1
    for row in shown.rows:
        mapping = (items[:, 1] > 3 - row["cut_point"]).astype(int)  # cut-point c: the c buckets with most ones
        assert row["log_likelihood"] == pytest.approx(log_likelihood(items, mapping))
    assert [row["cut_point"] for row in shown.rows] == [0, 1, 2, 3, 4]
    assert max(shown.rows, key=lambda row: row["log_likelihood"])["cut_point"] == 1
    assert "cut-point 1, with a log-likelihood of −6.18" in shown.words
    assert fills(shown.svg, "circle") == [PALE_BLUE, PALE_BLUE, PALE_ORANGE, PALE_ORANGE]  # cut at 2


def test_the_order_of_ratings_is_cut_by_the_likeliest_mapping():
    rows = diagrams.dominance_dag().rows
    buckets = np.array([[row["responses_1"], row["responses_2"], row["responses_3"]] for row in rows])
    weights, ratings = np.array([row["items"] for row in rows]), np.array([row["rating"] for row in rows])
    assert (buckets.sum(axis=1) == 3).all()
    assert weights.sum() == 1000
    items = np.repeat(np.arange(len(rows)), weights)
    values = {tuple(f): log_likelihood(buckets[items], f[items]) for f in consistent_mappings(buckets)}
    assert len(values) == 126
    assert values[tuple(ratings - 1)] == pytest.approx(max(values.values()))


def test_arrows_of_the_order_with_varying_numbers():
    rows = diagrams.varying_order().rows
    found = {((row["ones"], row["zeros"]), (row["dominates_ones"], row["dominates_zeros"])) for row in rows}
    points = [(i, j) for i, j in itertools.product(range(5), repeat=2) if i + j <= 4]
    steps = {((i, j), (i - 1, j)) for i, j in points if i} | {((i, j), (i, j + 1)) for i, j in points if i + j < 4}
    assert found == steps


def test_what_one_bucket_takes_along():
    rows = diagrams.varying_constraint().rows
    assert len(rows) == 15
    for row in rows:
        forced = dominates(np.array([row["zeros"], row["ones"]]), np.array([2, 1]))
        assert row["must_be_1"] == forced


def test_a_mapping_is_its_boundary():
    shown = diagrams.varying_boundary()
    points = {(row["ones"], row["zeros"]): row for row in shown.rows}
    buckets = np.array([[zeros, ones] for ones, zeros in points])
    labels = np.array([row["label"] for row in shown.rows])
    assert not [1 for a, b in itertools.permutations(range(len(labels)), 2)
                if labels[a] < labels[b] and dominates(buckets[a], buckets[b])]  # fmt: skip
    assert sum(row["items"] for row in shown.rows) == 2000
    (stairs,) = re.findall(r'<path d="M([^"]+)" fill="none" stroke="[^"]+" stroke-width="2.4"', shown.svg)
    line = [tuple(map(float, point.split(","))) for point in stairs.split(" L")]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(line))  # it only rises
    step = 264 / 5
    for (ones, zeros), row in points.items():
        spot = (70 + step * ones, 370 - step * zeros)
        level = next((y for (left, y), (right, _) in itertools.pairwise(line) if left <= spot[0] <= right), -np.inf)
        assert row["label"] == (spot[1] > level)  # what gets 1 is below


# Charts

ROWS = [{"m": m, "who": who, "mean": m + k, "low": m + k - 2, "high": m + k + 2} for m in (1, 2)
        for k, who in enumerate("ab")]  # fmt: skip


def chart(y_axis):
    styles = {"a": Style(BLUE, 2), "b": Style(ORANGE, 5, (2, 2))}
    return line_chart(ROWS, styles, series="who", x="m", title="T", subtitle="S", x_axis=Axis("x", values=[1, 2]),
                      y_axis=y_axis)  # fmt: skip


def points(made):
    """What a chart draws."""
    (values,) = made["datasets"].values()
    return values


def test_bands_reach_from_low_to_high_and_lines_run_through_means():
    bands, lines, dots = chart(Axis("y"))["layer"]
    assert (bands["mark"]["type"], bands["encoding"]["y"]["field"], bands["encoding"]["y2"]["field"]) == (
        "area", "low", "high")  # fmt: skip
    assert (lines["mark"]["type"], lines["encoding"]["y"]["field"]) == ("line", "mean")
    assert (dots["mark"]["type"], dots["encoding"]["y"]["field"]) == ("circle", "mean")
    assert lines["encoding"]["y"]["title"] == "y"
    assert lines["encoding"]["color"]["scale"] == {"domain": ["a", "b"], "range": [BLUE, ORANGE], "type": "ordinal"}
    assert lines["encoding"]["strokeWidth"]["scale"]["range"] == [2, 5]
    assert lines["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [2, 2]]


def test_wide_lines_are_drawn_below_narrow_ones():
    assert [point["who"] for point in points(chart(Axis("y")))] == ["b", "b", "a", "a"]


def test_axes_begin_at_zero_or_are_logarithmic_on_both_sides_where_asked():
    def scale(axis):
        return chart(axis)["layer"][1]["encoding"]["y"]["scale"]

    assert scale(Axis("y")) == {"zero": False}
    assert scale(Axis("y", zero=True)) == {"zero": True}
    assert scale(Axis("y", symlog=True)) == {"type": "symlog"}
    assert min(point["low"] for point in points(chart(Axis("y", zero=True)))) == 0
    assert min(point["low"] for point in points(chart(Axis("y")))) == -1


def test_a_point_without_an_interval_has_a_narrow_band():
    row = {"m": 1, "who": "a", "mean": 3.0, "low": np.nan, "high": np.nan}
    made = line_chart([row], {"a": Style(BLUE, 2)}, series="who", x="m", title="T", subtitle="S", x_axis=Axis("x"),
                      y_axis=Axis("y"))  # fmt: skip
    assert points(made) == [{"m": 1, "who": "a", "mean": 3.0, "low": 3.0, "high": 3.0}]
