"""The consensus equals the prototype that it was written after, on all shared sets."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from crowdopt.consensus import kinds, tilted
from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from support.crowds import renamed
from support.needs import SHARED, need

PROTOTYPE = SHARED.parent / "prototypes" / "consensus"
LARGE = ("trec3",)
SETS = (
    "ic", "bluebirds", "sp_amt", "mozafari", "rte", "temp", "product", "zencrowd_us", "weather", "weather3", "web",
    "dog", "movies3", "wsd", "music", "labelme",
)  # fmt: skip

RUN = """
import sys
import numpy as np
folder, shared, *names = sys.argv[1:]
sys.path.insert(0, {prototype!r})
import data
from committee import members
from kernels import vote_shares
for name in names:
    crowd = data.load(name, shared)
    agreed = np.bincount(crowd.worker, vote_shares(crowd)[crowd.task, crowd.label], minlength=crowd.W)
    agreement = agreed / np.bincount(crowd.worker, minlength=crowd.W)
    ranks = np.argsort(np.argsort(agreement, kind="stable"), kind="stable")  # as the prototype ranks workers
    np.savez(
        f"{{folder}}/{{name}}.npz", task=crowd.task, worker=crowd.worker, answer=crowd.label,
        sizes=[crowd.T, crowd.W, crowd.R], ranks=ranks, **members(crowd),
    )
"""


@pytest.fixture(scope="session")
def prototype(tmp_path_factory):
    """A function that runs the prototype, which is compiled once, and gives what it found on a set."""
    folder, ran = tmp_path_factory.mktemp("prototype"), set()

    def found(name: str) -> dict[str, np.ndarray]:
        need((PROTOTYPE / "committee.py").is_file(), f"the prototype of the consensus ({PROTOTYPE})")
        need((SHARED / name).is_dir(), f"the shared data set {name!r}")
        if name not in ran:
            names = [name] if name in LARGE else [one for one in SETS if (SHARED / one).is_dir()]
            code = RUN.format(prototype=str(PROTOTYPE))
            caches = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, "-c", code, str(folder), str(SHARED), *names]
            subprocess.run(command, check=True, env=os.environ | caches)
            ran.update(names)
        with np.load(folder / f"{name}.npz") as file:
            return dict(file)

    return found


def rows_of_prototype(found: dict[str, np.ndarray]) -> Rows:
    n_tasks, n_workers, n_labels = found["sizes"].tolist()
    start = np.searchsorted(found["task"], np.arange(n_tasks + 1))
    worker, answer = found["worker"].astype(np.int64), found["answer"].astype(np.int64)
    return Rows(start, worker, answer, n_workers, n_labels, np.full(n_tasks, -1))


ALL = [*SETS, *(pytest.param(name, marks=pytest.mark.full) for name in LARGE)]


@pytest.mark.parametrize("name", ALL)
def test_every_member_equals_the_prototype(name, prototype, monkeypatch):
    found = prototype(name)
    monkeypatch.setattr(tilted, "ranks", lambda _: found["ranks"].astype(float))  # which tells tied workers apart
    monkeypatch.setattr(tilted, "MAX_ROUNDS", 100)  # which goes on longer
    monkeypatch.setattr(kinds, "MAX_ROUNDS", 150)
    consensus = find_consensus(rows_of_prototype(found))
    for member, probabilities in consensus.members.items():
        assert np.abs(probabilities - found[member]).max() < 1e-6
    mean = found["vote"] / 4 + found["tilted"] / 2 + found["kinds"] / 4
    assert np.abs(consensus.probabilities - mean).max() < 1e-6


@pytest.mark.parametrize("name", [*SETS[:4], *(pytest.param(name, marks=pytest.mark.full) for name in SETS[4:])])
def test_other_names_of_tasks_and_workers_change_nothing(name, prototype):
    rows = rows_of_prototype(prototype(name))
    other, task, _ = renamed(rows, seed=1)
    ours, theirs = (find_consensus(one).probabilities for one in (rows, other))
    assert np.abs(ours - theirs[task]).max() < 1e-9
