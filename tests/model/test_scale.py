"""The scale: order, kind and text of labels."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from crowdopt import GlobalOptimum, Solution, prove, verify
from crowdopt.errors import InputError
from crowdopt.model.agreement import agreement
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.scale import MAX_LABELS, MOST_LABELS, Scale, canonical_text, check_few_labels
from crowdopt.results.advice import advise_scale
from crowdopt.results.solve_counts import space_of
from crowdopt.results.words.sentences import headline
from crowdopt.results.words.summary import summarise
from support.ways import to_pandas, to_polars


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        ("1", "1"),
        ("1.0", "1.0"),
        (0.5, "0.5"),
        (-0.0, "0"),
        (1e300, "1e+300"),
        (2**70, str(2**70)),
        (True, "true"),
        (False, "false"),
        ("007", "007"),
        (Decimal("1.50"), "1.5"),
        (Decimal(100), "100"),
        (Decimal("NaN"), "NaN"),
        (dt.date(2024, 5, 1), "2024-05-01"),
        (dt.datetime(2024, 5, 1, 9, 30, tzinfo=dt.UTC), "2024-05-01T09:30:00"),
        (dt.datetime(2024, 5, 1, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2024-05-01T07:30:00"),
        (dt.time(9, 30), "09:30:00"),
        (b"yes", "yes"),
        (b"\xff", "\ufffd"),
        ((1, 2), "(1, 2)"),
        (np.bool_(True), "true"),  # noqa: FBT003
        (np.int8(3), "3"),
        (np.float64(1), "1"),
        (np.float64(0.5), "0.5"),
        (np.str_("x"), "x"),
        (np.datetime64("2024-05-01T09:30:00", "ns"), "2024-05-01T09:30:00"),
        (np.datetime64("2024-05-01", "D"), "2024-05-01T00:00:00"),
    ],
)
def test_canonical_text(value, text):
    assert canonical_text(value) == text


@pytest.mark.parametrize(
    ("found", "labels", "kind"),
    [
        (["10", "2", "1"], ("1", "2", "10"), "nominal"),
        ([10, 2, -1], ("-1", "2", "10"), "nominal"),
        ([2.5, 10.0, 1e-3], ("0.001", "2.5", "10"), "nominal"),
        (["1e1", "2", "9"], ("2", "9", "1e1"), "nominal"),
        (["10", "2", "a"], ("10", "2", "a"), "nominal"),
        (["1_0", "2", "3"], ("1_0", "2", "3"), "nominal"),
        (["nan", "2", "3"], ("2", "3", "nan"), "nominal"),
        (["inf", "2", "3"], ("2", "3", "inf"), "nominal"),
        (["zebra", "apple", "Mole"], ("Mole", "apple", "zebra"), "nominal"),
        (["yes", "no"], ("no", "yes"), "ordinal"),
        ([True, False], ("false", "true"), "ordinal"),
        (["yes"], ("yes",), "ordinal"),
    ],
)
def test_order_is_numeric_where_all_are_numbers_and_text_otherwise(found, labels, kind):
    for order in (found, found[::-1]):
        scale = Scale.of(order)
        assert (scale.labels, scale.kind, scale.inferred) == (labels, kind, True)
        assert scale.occurring == frozenset(range(len(labels)))
        assert [canonical_text(value) for value in scale.values] == list(labels)
        assert all(any(value is one for one in found) for value in scale.values)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ("012", "ordinal"), ("123", "ordinal"), ("12345", "ordinal"), ("1234567", "ordinal"), ("0123456", "ordinal"),
        ("01234567", "nominal"), ("12345678", "nominal"), ("234", "nominal"), ("1245", "nominal"), ("0245", "nominal"),
        ([-1, 0, 1], "ordinal"), ([-2, -1, 0, 1, 2], "ordinal"), ([-3, -2, -1, 0, 1, 2, 3], "ordinal"),
        (list(range(-4, 5)), "nominal"), ([-2, -1, 1, 2], "nominal"), ([-2, -1, 0], "nominal"),
        ([-1, 0, 1, 2], "nominal"), ([-1, 1, 3], "nominal"), ([-1, 1], "ordinal"),
        ([10, 20, 30], "nominal"), ([0.0, 0.5, 1.0], "nominal"),
        ([0.5, 1.5, 2.5], "nominal"), ([1.0, 2.0, 3.0], "ordinal"), (["1.0", "2.0", "3.0"], "ordinal"),
        (list(range(1, 13)), "nominal"), (list(range(12)), "nominal"), ([0, 0.5, 1, 1.5, 2], "nominal"),
        (["1", "2", "3", "a"], "nominal"), ([100, 200], "ordinal"), ([1, 2, 3, 10**20], "nominal"),
    ],
    ids=str,
)  # fmt: skip
def test_what_looks_like_ratings(labels, kind):
    for found in (list(labels), [str(label) for label in labels], list(labels)[::-1]):
        scale = Scale.of(found)
        assert (scale.kind, scale.inferred) == (kind, True)
    numbers = [label for label in labels if label != "a"]
    assert list(Scale.of(list(labels)).labels)[: len(numbers)] == [
        canonical_text(n) for n in sorted(numbers, key=float)
    ]
    if len(labels) == len(numbers):
        assert Scale.of(list(labels), kind="ordinal").labels == Scale.of(list(labels), kind="nominal").labels
    assert Scale.of(list(labels), [canonical_text(label) for label in labels]).kind == "ordinal"


def test_named_labels_set_the_order_and_may_not_occur():
    scale = Scale.of(["good", "bad"], ["bad", "fair", "good"])
    assert scale.labels == scale.values == ("bad", "fair", "good")
    assert (scale.kind, scale.inferred, scale.occurring) == ("ordinal", False, frozenset({0, 2}))


@pytest.mark.parametrize(
    ("found", "named", "values"),
    [
        ([1, 3], ("1", "2", "3"), (1, 2, 3)),
        ([1.5, 3.0], ("1.5", "2", "3"), (1.5, 2.0, 3.0)),
        ([True], ("false", "true"), (False, True)),
        ([False], ("maybe", "false"), ("maybe", False)),
        ([1, 2], ("1", "2", "many"), (1, 2, "many")),
        (["1", "3"], ("1", "2", "3"), ("1", "2", "3")),
    ],
)
def test_a_label_that_never_occurs_has_the_type_of_the_others(found, named, values):
    found_values = Scale.of(found, named).values
    assert found_values == values
    assert [type(value) for value in found_values] == [type(value) for value in values]


def test_a_fraction_on_a_scale_of_integers_stays_what_it_is():
    """Were it rounded, two labels would have one value."""
    assert Scale.of([1, 2], ("1", "1.5", "2")).values == (1, 1.5, 2)


def test_labels_off_the_named_scale_are_listed():
    with pytest.raises(InputError, match=r"^2 labels not on the scale no, yes: 'No', 'maybe'$"):
        Scale.of(["no", "maybe", "No"], ["no", "yes"])
    with pytest.raises(InputError, match=r"^1 label not on the scale no, yes: 'x{39}…'$"):
        Scale.of(["x" * 50], ["no", "yes"])
    with pytest.raises(InputError, match=r"^7 labels .*: '1', '2', '3', '4', '5', … \(7 in all\)$"):
        Scale.of(list("1234567"), ["no", "yes"])


NUMBERS, TEXTS = ["3", "1", "2"], ["low", "high", "mid"]
ORDER = ("low", "mid", "high")


@pytest.mark.parametrize(
    ("found", "named", "said", "labels", "kind", "inferred"),
    [
        (["yes", "no"], (), "", ("no", "yes"), "ordinal", True),
        (["yes", "no"], (), "ordinal", ("no", "yes"), "ordinal", False),
        (["yes", "no"], (), "nominal", ("no", "yes"), "nominal", False),
        (["yes"], (), "nominal", ("yes",), "nominal", False),
        (NUMBERS, (), "", ("1", "2", "3"), "ordinal", True),
        (NUMBERS, (), "ordinal", ("1", "2", "3"), "ordinal", False),
        (NUMBERS, (), "nominal", ("1", "2", "3"), "nominal", False),
        (NUMBERS, ("2", "3", "1"), "", ("2", "3", "1"), "ordinal", False),
        (TEXTS, (), "", ("high", "low", "mid"), "nominal", True),
        (TEXTS, (), "nominal", ("high", "low", "mid"), "nominal", False),
        (TEXTS, ORDER, "", ORDER, "ordinal", False),
        (TEXTS, ORDER, "ordinal", ORDER, "ordinal", False),
        (TEXTS, ORDER, "nominal", ORDER, "nominal", False),
    ],
)
def test_what_the_user_says_of_the_scale_holds(found, named, said, labels, kind, inferred):
    scale = Scale.of(found, named, said)
    assert (scale.labels, scale.kind, scale.inferred) == (labels, kind, inferred)


def test_the_order_of_texts_must_be_named():
    with pytest.raises(InputError, match=r"^the order of labels that are texts.*--labels, lowest first.*'high', 'low'"):
        Scale.of(TEXTS, (), "ordinal")


def test_two_labels_agree_as_much_ordered_as_unordered():
    rng = np.random.default_rng(0)
    for n_labels, same in ((2, True), (3, False)):
        counts, weights = rng.integers(0, 9, (20, 1, n_labels)), rng.integers(1, 99, 20)
        ordered, unordered = (agreement(counts, weights, metric).alpha for metric in ("ordinal", "nominal"))
        assert (ordered == pytest.approx(unordered, abs=1e-12)) is same


@pytest.mark.parametrize(
    ("scale", "asked", "space"),
    [
        (Scale.of(NUMBERS), None, Space.DOMINANCE),
        (Scale.of(NUMBERS), "all", Space.ALL),
        (Scale.of(NUMBERS), "dominance", Space.DOMINANCE),
        (Scale.of(NUMBERS, (), "nominal"), None, Space.ALL),
        (Scale.of(TEXTS), None, Space.ALL),
        (Scale.of(TEXTS), "all", Space.ALL),
        (Scale.of(TEXTS, ORDER), None, Space.DOMINANCE),
        (Scale.of(["no", "yes"], (), "nominal"), None, Space.DOMINANCE),
        (Scale.of(["no", "yes"], (), "nominal"), "dominance", Space.DOMINANCE),
        (Scale.of(["no", "yes"], ("no", "maybe", "yes"), "nominal"), None, Space.ALL),
    ],
)
def test_the_space_follows_from_the_scale(scale, asked, space):
    assert space_of(asked, scale) is space


@pytest.mark.parametrize("scale", [Scale.of(TEXTS), Scale.of(NUMBERS, (), "nominal")])
def test_dominance_needs_an_order(scale):
    with pytest.raises(InputError, match=r"^dominance needs ordered labels: say --scale ordinal, or --labels from low"):
        space_of("dominance", scale)


# Answers of nearby marks, and answers that jump between the ends.
NEAR = [(t, f"w{w}", "12345"[min(4, (t + (w == 2)) % 5)]) for t in range(20) for w in range(3)]
FAR = [(t, f"w{w}", "15234"[(t % 5 + (w == 2 and t % 5 == 0))]) for t in range(20) for w in range(3)]


def test_numbers_that_were_taken_as_ordered_are_named_in_the_first_line():
    ends = "; the labels look like ratings and were taken as ordered (--scale nominal if they are names)"
    assert headline(prove(to_polars(NEAR), engine="vote")).endswith(ends)
    for said in ({"scale": "ordinal"}, {"scale": "nominal"}, {"labels": list("12345")}):
        assert "taken as ordered" not in headline(prove(to_polars(NEAR), engine="vote", **said))
    two = to_polars([row for row in NEAR if row[2] in "12"])
    assert prove(two).scale.inferred
    assert "taken as ordered" not in headline(prove(two))
    texts = to_polars([(task, worker, f"mark {label}") for task, worker, label in NEAR])
    assert "taken as ordered" not in headline(prove(texts, engine="vote"))


def test_agreement_is_of_the_kind_of_the_scale_and_says_so():
    alphas = {}
    for kind in ("ordinal", "nominal"):
        solution = prove(to_polars(NEAR), engine="vote", scale=kind)
        expected = agreement(solution.buckets.counts, solution.buckets.weights, kind)
        alphas[kind] = solution.agreement.alpha
        assert solution.agreement == expected
        assert f"Krippendorff's alpha {expected.alpha:.3f} ({kind})" in summarise(solution).facts["agreement"]
    assert alphas["ordinal"] != pytest.approx(alphas["nominal"], abs=1e-3)
    two = summarise(prove(to_polars([row for row in NEAR if row[2] in "12"]))).facts["agreement"]
    assert "(ordinal)" not in two


def test_numbers_that_do_not_behave_like_an_order_are_pointed_out():
    solution = prove(to_polars(FAR), engine="vote")
    ordered, unordered = (
        agreement(solution.buckets.counts, solution.buckets.weights, kind).alpha for kind in ("ordinal", "nominal")
    )
    assert ordered < unordered
    found = f"Krippendorff's alpha is {ordered:.3f} taken as ordered, {unordered:.3f} as categories"
    assert solution.advice == (f"these ratings do not behave like an order ({found}): try --scale nominal",)
    assert prove(to_polars(NEAR), engine="vote").advice == ()
    for said in ({"scale": "ordinal"}, {"scale": "nominal"}, {"labels": list("12345")}):
        assert prove(to_polars(FAR), engine="vote", **said).advice == ()


def test_no_advice_where_nobody_disagrees():
    for counts in ([[1, 0, 0], [0, 1, 0]], [[3, 0, 0], [2, 0, 0]]):
        buckets, _ = Buckets.from_arrays(np.array(counts), np.array([1, 1]))
        assert advise_scale(Scale.of(NUMBERS), buckets) == ()


@pytest.mark.parametrize("said", [{}, {"scale": "nominal"}, {"scale": "ordinal"}, {"labels": list("54321")},
                                  {"labels": list("54321"), "scale": "nominal"}])  # fmt: skip
def test_the_file_says_the_scale(said, tmp_path):
    data = to_polars(NEAR)
    solution = prove(data, engine="vote", **said)
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert loaded.reading.scale == said.get("scale", "")
    assert (loaded.scale.labels, loaded.scale.kind) == (solution.scale.labels, solution.scale.kind)
    assert loaded.agreement == solution.agreement
    assert verify(loaded, data).verdict == "CONFIRMED"
    other = solution.to_dict()
    other["reading"]["scale"] = "nominal" if solution.scale.kind == "ordinal" else "ordinal"
    assert verify(Solution.from_dict(other), data).verdict == "REJECTED"


def test_the_estimator_takes_a_scale():
    data = to_pandas(NEAR)
    assert GlobalOptimum(engine="vote").fit(data).solution_.scale.kind == "ordinal"
    assert GlobalOptimum(engine="vote", scale="nominal").fit(data).solution_.scale.kind == "nominal"


@pytest.mark.parametrize("named", [False, True])
def test_up_to_ten_thousand_labels(named):
    labels = [str(j) for j in range(MOST_LABELS)]
    scale = Scale.of(labels, labels if named else ())
    assert scale.n_labels == 10_000
    assert scale.index("9999") == 9999
    with pytest.raises(InputError, match=r"10,001 different labels, such as .*; at most 10,000 are supported"):
        Scale.of([*labels, "10000"], [*labels, "10000"] if named else ())


def test_up_to_64_labels_are_few():
    labels = [f"label {j}" for j in range(MAX_LABELS + 1)]
    check_few_labels(Scale.of(labels[:-1]))
    with pytest.raises(
        InputError, match=r"^65 different labels, such as .*; labels are proved among at most 64; merge"
    ):
        check_few_labels(Scale.of(labels))


def test_too_many_scores_need_bins_and_too_many_texts_do_not():
    with pytest.raises(InputError, match=r"scores need --bins \(--bins 5 makes five of equal width\)$"):
        Scale.of([j / 7 for j in range(10_001)])
    with pytest.raises(InputError, match=r"^10,001 different labels.*; is this column one of free texts or ids\?$"):
        Scale.of([f"label {j}" for j in range(10_001)])


@pytest.mark.parametrize(
    ("found", "kinds"), [([1, "1"], "int and str"), (["true", True], "bool and str"), ([1.0, "1"], "float and str")]
)
def test_one_text_of_two_types_is_an_error(found, kinds):
    with pytest.raises(InputError, match=f"occurs as {kinds}: make the column one type"):
        Scale.of(found)


def test_index():
    scale = Scale.of(["no", "yes"])
    assert [scale.index(label) for label in scale.labels] == [0, 1]
    with pytest.raises(InputError, match="label 'Yes' is not on the scale no, yes"):
        scale.index("Yes")


@pytest.mark.parametrize("labels", [["1", "1.0"], ["1", "2", "1.0"], ["7", "007", "8"], ["1e1", "9", "10"]], ids=str)
def test_labels_that_are_the_same_number_are_refused_unless_they_are_names(labels):
    with pytest.raises(InputError, match="are the same number: write them alike, or say --scale nominal"):
        Scale.of(labels)
    assert set(Scale.of(labels, kind="nominal").labels) == set(labels)
    assert Scale.of(labels, named=labels).labels == tuple(labels)
    assert Scale.of([*labels, "x"]).kind == "nominal"
