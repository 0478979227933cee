"""Answers of a consensus by task, and whether two of them are the same."""

from __future__ import annotations

from crowdopt.model.scale import canonical_text
from support.ways import plain

SAME = 1e-9


def by_task(solution) -> dict[str, dict]:
    """The answers with all probabilities by the text of the task."""
    columns = plain(solution.answers_frame(probabilities=True))
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return {canonical_text(row.pop("task")): row for row in rows}


def assert_same(found, expected) -> None:
    """The same labels, and probabilities that differ by no more than SAME."""
    assert found.keys() == expected.keys()
    for task, row in expected.items():
        assert found[task].keys() == row.keys()
        for name, value in row.items():
            other = found[task][name]
            if isinstance(value, float):
                assert abs(other - value) <= SAME, (task, name)
            else:
                assert (other is None) == (value is None), (task, name)
                assert value is None or canonical_text(other) == canonical_text(value), (task, name)
