"""Known labels of exports as tools really wrote them: pinned or not, they take no majority along."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

from crowdopt import aggregate, prove, verify
from crowdopt.options.words import python_words
from support.needs import SHARED, need

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

EXPORTS: dict[str, dict[str, Any]] = {
    "label_studio.json": {"missing": "drop"},
    "toloka_assignments.tsv": {"missing": "drop", "question": "result"},
}


def export(name: str) -> Path:
    """A real export; they are not part of this repository."""
    path = SHARED / "exports" / name
    need(path.is_file(), f"the shared export {name!r} ({path})")
    return path


def votes_of(solution) -> dict[Any, Counter[str]]:
    """The responses to each task, by label."""
    rows = solution.source.responses.table.collect().to_arrow().to_pylist()
    votes: dict[Any, Counter[str]] = {}
    for row in rows:
        votes.setdefault(row["task"], Counter())
        votes[row["task"]][row["label"]] += row["label"] is not None
    return votes


def majorities(solution, least: float) -> dict[Any, str]:
    """The tasks in which more than this share of the responses is one label, and which; without pinned ones."""
    pinned = {str(task) for task, _ in solution.reading.gold}
    votes = {task: count for task, count in votes_of(solution).items() if str(task) not in pinned and count.total()}
    top = {task: count.most_common(1)[0] for task, count in votes.items()}
    return {task: label for task, (label, most) in top.items() if most > least * votes[task].total()}


def n_kept(solution, wanted: dict[Any, str]) -> int:
    answers = dict(zip(*(solution.answers[name].to_pylist() for name in ("task", "label")), strict=True))
    return sum(answers[task] == label for task, label in wanted.items())


def test_a_pinned_star_takes_no_clear_majority_of_the_consensus_along():
    solution = aggregate(export("label_studio.json"), gold="export", **EXPORTS["label_studio.json"])
    clear = majorities(solution, 0.5)
    assert solution.reading.gold == (("3", "Neutral, mixed"),)
    assert len(clear) == n_kept(solution, clear) == 51
    (advice,) = solution.advice
    assert "most workers contradict it ('3': known 'Neutral, mixed', answered 'Positive' by all 4)" in advice


def test_a_proof_that_follows_the_star_says_so():
    solution = prove(export("label_studio.json"), gold="export", **EXPORTS["label_studio.json"])
    clear = majorities(solution, 0.5)
    assert n_kept(solution, clear) < 25  # the names of two labels are exchanged
    assert solution.words().headline.startswith(
        "CHECK: 1 task has a known label that all 4 of its workers contradict ('3': known 'Neutral, mixed', answered "
        "'Positive'), and labels follow from it: correct it, or leave it out; these labels overrule clear majorities"
    )


def test_a_star_that_is_not_pinned_exchanges_nothing():
    for verb in (aggregate, prove):
        solution = verb(export("label_studio.json"), **EXPORTS["label_studio.json"])
        clear = majorities(solution, 0.5)
        assert n_kept(solution, clear) >= len(clear) - 2
        assert (solution.export_accuracy.value, solution.export_accuracy.n_tasks) == (0.0, 1)
        assert solution.totals.n_gold == 0


@pytest.mark.parametrize("number", [1, 2, 4, 8])
def test_several_wrong_labels_take_no_clear_majority_along(number):
    free = aggregate(export("label_studio.json"), **EXPORTS["label_studio.json"])
    wanted, names = majorities(free, 0.5), free.scale.labels
    for seed in range(3):
        some = np.random.default_rng(seed).permutation(sorted(wanted))[:number].tolist()
        gold = {task: names[(names.index(wanted[task]) + 1) % 3] for task in some}
        solution = aggregate(export("label_studio.json"), gold=gold, **EXPORTS["label_studio.json"])
        others = {task: label for task, label in wanted.items() if task not in gold}
        assert n_kept(solution, others) >= len(others) - 1


def test_the_control_tasks_of_toloka_change_no_unanimous_task():
    path, options = export("toloka_assignments.tsv"), EXPORTS["toloka_assignments.tsv"]
    free, pinned = aggregate(path, **options), aggregate(path, gold="export", **options)
    assert (free.totals.n_gold, pinned.totals.n_gold) == (0, 7)
    for solution in (free, pinned):
        unanimous = majorities(solution, 0.999)
        assert len(unanimous) == n_kept(solution, unanimous) >= 60
    assert (free.export_accuracy.value, free.export_accuracy.n_tasks) == (1.0, 7)


@pytest.mark.parametrize("gold", [None, "export"])
@pytest.mark.parametrize("verb", [aggregate, prove])
@pytest.mark.parametrize("name", EXPORTS)
def test_solutions_of_real_exports_are_verified(name, verb, gold):
    solution = verb(export(name), gold=gold, **EXPORTS[name])
    result = verify(solution, export(name))
    assert result.verdict.value == ("REPRODUCED" if verb is aggregate else "CONFIRMED"), result.reasons
    assert result.check == tuple(map(python_words, solution.doubts))


def test_control_tasks_that_are_all_wrong_exchange_nothing(tmp_path):
    """The known answers of a real pool, exchanged: a careless upload."""
    table = duckdb.read_csv(str(export("toloka_assignments.tsv")), all_varchar=True, delimiter="\t", quotechar='"')
    known = '"GOLDEN:result"'
    wrong = f"CASE {known} WHEN 'YES' THEN 'NO' WHEN 'NO' THEN 'YES' END AS {known}"
    table.query("t", f"SELECT * REPLACE ({wrong}) FROM t").write_csv(str(tmp_path / "wrong.tsv"), sep="\t")
    solution = aggregate(tmp_path / "wrong.tsv", gold="export", **EXPORTS["toloka_assignments.tsv"])
    unanimous = majorities(solution, 0.999)
    assert len(unanimous) == n_kept(solution, unanimous)
    (doubt,) = solution.doubts
    assert doubt.startswith("known labels contradict most of the workers on 7 of 7 tasks (")
    measured = aggregate(tmp_path / "wrong.tsv", **EXPORTS["toloka_assignments.tsv"])
    assert (measured.export_accuracy.value, measured.doubts) == (0.0, ())
