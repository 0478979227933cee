"""Files that reports are made from."""

from __future__ import annotations

import pytest

import crowdopt
from support.reports import crowd


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Responses, a truth for all tasks and for half of them, and a solution."""
    folder = tmp_path_factory.mktemp("files")
    frame = crowd(60, 3, (3, 4), 30)
    frame.to_csv(folder / "responses.csv", index=False)
    truth = frame.groupby("task", as_index=False)["label"].median().astype({"label": int})
    truth.to_csv(folder / "truth.csv", index=False)
    truth.iloc[:30].to_csv(folder / "half.csv", index=False)
    crowdopt.prove(folder / "responses.csv", keep=["text"]).save(folder / "solution.json")
    return folder
