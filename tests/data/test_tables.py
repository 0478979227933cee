"""Tables of every library: what one of them does in its own way takes the same arguments as what all others do."""

from __future__ import annotations

import inspect

import duckdb
import narwhals as nw
import numpy as np
import pytest

from crowdopt.data.tables import table

SHARED = {name: one for name, one in vars(table).items() if hasattr(one, "__wrapped__")}
"""The functions that a backend may have of its own."""

OWN = [(backend, name) for backend in table.BACKENDS for name in SHARED if hasattr(backend, name)]


def test_a_small_table_in_duckdb_keeps_the_types_of_its_columns():
    like = nw.from_native(duckdb.sql("SELECT 1 AS x"))
    columns = {"n": np.arange(3), "mixed": [1, "x", None], "share": [0.5, None, 1.0], "name": ["a", "b", None]}
    native = table.small_table(columns, like=like).to_native()
    assert list(map(str, native.types)) == ["BIGINT", "VARCHAR", "DOUBLE", "VARCHAR"]
    assert native.fetchall() == [(0, "1", 0.5, "a"), (1, "x", None, "b"), (2, None, 1.0, None)]


@pytest.mark.parametrize(
    ("backend", "name"), OWN, ids=[f"{backend.__name__.rpartition('.')[2]}.{name}" for backend, name in OWN]
)
def test_functions_of_a_backend_take_the_same_arguments(backend, name):
    own, shared = (inspect.signature(one).parameters.values() for one in (getattr(backend, name), SHARED[name]))
    assert [(one.name, one.kind, one.default) for one in own] == [(one.name, one.kind, one.default) for one in shared]


def test_every_public_function_of_a_backend_is_used():
    unused = {
        f"{backend.__name__}.{name}"
        for backend in table.BACKENDS
        for name, one in vars(backend).items()
        if inspect.isfunction(one) and one.__module__ == backend.__name__ and not name.startswith("_")
    } - {f"{backend.__name__}.{name}" for backend, name in OWN}
    elsewhere = {"is_mine", "is_spark", "with_listed"}  # sparse.py calls the last
    assert {name.rpartition(".")[2] for name in unused} <= elsewhere
