"""The scale: order, kind and text of labels."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from crowdopt.errors import InputError
from crowdopt.scale import MAX_LABELS, Scale, canonical_text


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
        (dt.datetime(2024, 5, 1, 9, 30, tzinfo=dt.UTC), "2024-05-01T09:30:00+00:00"),
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
        (["10", "2", "1"], ("1", "2", "10"), "ordinal"),
        ([10, 2, -1], ("-1", "2", "10"), "ordinal"),
        ([2.5, 10.0, 1e-3], ("0.001", "2.5", "10"), "ordinal"),
        (["1e1", "2", "9"], ("2", "9", "1e1"), "ordinal"),
        (["10", "2", "a"], ("10", "2", "a"), "nominal"),
        (["1_0", "2", "3"], ("1_0", "2", "3"), "nominal"),
        (["nan", "2", "3"], ("2", "3", "nan"), "nominal"),
        (["inf", "2", "3"], ("2", "3", "inf"), "nominal"),
        (["zebra", "apple", "Mole"], ("Mole", "apple", "zebra"), "nominal"),
        (["yes", "no"], ("no", "yes"), "ordinal"),
        ([True, False], ("false", "true"), "ordinal"),
        (["yes"], ("yes",), "ordinal"),
        (["1", "1.0", "01"], ("01", "1", "1.0"), "ordinal"),
    ],
)
def test_order_is_numeric_where_all_are_numbers_and_text_otherwise(found, labels, kind):
    for order in (found, found[::-1]):
        scale = Scale.of(order)
        assert (scale.labels, scale.kind, scale.inferred) == (labels, kind, True)
        assert scale.occurring == frozenset(range(len(labels)))
        assert [canonical_text(value) for value in scale.values] == list(labels)
        assert all(any(value is one for one in found) for value in scale.values)


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
    with pytest.raises(InputError, match=r"^1 label not on the scale no, yes: 'x{37}…'$"):
        Scale.of(["x" * 50], ["no", "yes"])
    with pytest.raises(InputError, match=r"^7 labels .*: '1', '2', '3', '4', '5', … \(7 in all\)$"):
        Scale.of(list("1234567"), ["no", "yes"])


@pytest.mark.parametrize(("n", "named"), [(MAX_LABELS, False), (MAX_LABELS, True)])
def test_up_to_64_labels(n, named):
    labels = [str(j) for j in range(n)]
    assert Scale.of(labels, labels if named else ()).n_labels == 64
    with pytest.raises(InputError, match="65 different labels; at most 64"):
        Scale.of([*labels, "64"], [*labels, "64"] if named else ())


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
