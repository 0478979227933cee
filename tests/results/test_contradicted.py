"""Pinned labels that contradict the workers: who is told, and that a proof which follows them says CHECK."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt import Solution, aggregate, prove, verify
from crowdopt.errors import DataWarning
from crowdopt.options.words import python_words
from crowdopt.results import beside_consensus
from crowdopt.results.words.contradicted import NAMED, Contradicted
from support.ways import to_pandas, to_text

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

LABELS = ("cat", "dog", "emu")


def crowd(n_tasks: int = 60, right: float = 0.75, seed: int = 3) -> tuple[list[tuple], np.ndarray]:
    """Animals and what four workers call them; the first three of a task are right on every fifth task."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_tasks)
    rows = []
    for task in range(n_tasks):
        for worker in range(4):
            wrong = task % 5 and rng.random() > right
            rows.append((f"t{task:02}", f"w{worker}", LABELS[(truth[task] + wrong * rng.integers(1, 3)) % 3]))
    return rows, truth


ROWS, TRUTH = crowd()


def wrong_label(task: int) -> str:
    return LABELS[(TRUTH[task] + 1) % 3]


def agreement(solution) -> float:
    """The share of tasks of unknown label with a clear majority that have its label."""
    votes: dict[str, list[str]] = {}
    for task, _, label in ROWS:
        votes.setdefault(task, []).append(label)
    rows = [row for row in solution.answers.to_dict("records") if row["status"] != "gold"]
    clear = {task: max(set(given), key=given.count) for task, given in votes.items()}
    clear = {task: label for task, label in clear.items() if 2 * votes[task].count(label) > len(votes[task])}
    return float(np.mean([row["label"] == clear[row["task"]] for row in rows if row["task"] in clear]))


def test_one_wrong_label_that_exchanges_the_names_of_a_proof_is_named(crowdopt, tmp_path):
    gold = {"t05": wrong_label(5)}
    solution = prove(to_pandas(ROWS), gold=gold)
    assert agreement(solution) < 0.5
    named, overrules = solution.doubts
    assert named == (
        f"1 task has a known label that all 4 of its workers contradict ('t05': known {wrong_label(5)!r}, answered "
        f"{LABELS[TRUTH[5]]!r}), and labels follow from it: correct it, or leave it out"
    )
    assert overrules.startswith("these labels overrule clear majorities on ")
    path = to_text(ROWS, tmp_path)
    (tmp_path / "gold.csv").write_text(f"task,label\nt05,{wrong_label(5)}\n")
    said = crowdopt("prove", path, "--gold", tmp_path / "gold.csv", "--solution", tmp_path / "s.json")
    assert said.startswith(f"CHECK: {named}; these labels overrule clear majorities")
    assert "\nPROVED: " in said
    result = verify(Solution.load(tmp_path / "s.json"), path)
    assert (result.verdict.value, result.check) == ("CONFIRMED", tuple(map(python_words, solution.doubts)))


def test_the_consensus_keeps_the_names_and_says_that_it_learnt_nothing(invoke, tmp_path):
    free = aggregate(to_pandas(ROWS))
    solution = aggregate(to_pandas(ROWS), gold={"t05": wrong_label(5)})
    assert agreement(solution) == pytest.approx(agreement(free), abs=0.01)
    assert agreement(solution) > 0.95
    assert solution.doubts == ()
    (advice,) = solution.advice
    assert advice == (
        "1 known label teaches nothing about the other tasks: most workers contradict it ('t05': known "
        f"{wrong_label(5)!r}, answered {LABELS[TRUTH[5]]!r} by all 4); look at it"
    )
    with pytest.warns(DataWarning) as caught:
        aggregate(to_pandas(ROWS), gold={"t05": wrong_label(5)})
    assert [str(one.message) for one in caught] == [f"note: {advice}"]
    (tmp_path / "gold.csv").write_text(f"task,label\nt05,{wrong_label(5)}\n")
    to_pandas(ROWS).to_csv(tmp_path / "r.csv", index=False)
    _, _, said = invoke("aggregate", tmp_path / "r.csv", "--gold", tmp_path / "gold.csv", "-q")
    assert said == f"crowdopt: note: {advice}\n"
    loaded = Solution.from_dict(solution.to_dict()).with_source(solution.source)
    assert loaded.advice == (advice,)
    assert verify(solution, to_pandas(ROWS)).verdict.value == "REPRODUCED"
    right = aggregate(to_pandas(ROWS), gold={f"t{task:02}": LABELS[TRUTH[task]] for task in range(0, 60, 5)})
    assert right.advice == ()


def test_several_wrong_labels_are_counted_and_some_are_named():
    gold = {f"t{task:02}": wrong_label(task) for task in range(0, 30, 5)}
    (named, overrules) = prove(to_pandas(ROWS), gold=gold).doubts
    assert named.startswith("6 tasks have known labels that most of their workers contradict ('t00': known ")
    assert named.count(" by all 4") == NAMED
    assert named.endswith("; …), and labels follow from them: correct them, or leave them out")
    assert overrules.startswith("these labels overrule")
    consensus = aggregate(to_pandas(ROWS), gold=gold)
    assert agreement(consensus) > 0.95
    assert consensus.doubts[0].startswith("known labels contradict most of the workers on 6 of 6 tasks ('t00': known")
    assert consensus.advice[0].startswith("6 known labels teach nothing about the other tasks: most workers contradict")


def test_right_known_labels_that_teach_nothing_are_not_called_contradicted():
    same = [f"t{task:02}" for task in range(60) if LABELS[TRUTH[task]] == "cat"]
    other = [f"t{task:02}" for task in range(60) if LABELS[TRUTH[task]] == "dog"]
    gold = dict.fromkeys([same[0], *other[:4]], "cat")
    (said,) = [one for one in aggregate(to_pandas(ROWS), gold=gold).advice if "nothing about" in one]
    assert said.startswith("5 known labels teach nothing about the other tasks: most workers contradict 3 of them (")


def test_known_labels_are_looked_at_where_every_row_counts(monkeypatch):
    gold = {f"t{task:02}": wrong_label(task) for task in range(0, 30, 5)}
    monkeypatch.setattr(beside_consensus, "MOST_RESPONSES", 0)
    doubt = prove(to_pandas(ROWS), gold=gold, duplicates="all").doubts[0]
    assert doubt.startswith("6 tasks have known labels that most of their responses contradict ('t00': known ")


def test_known_labels_that_nobody_contradicts_are_not_blamed():
    gold = {f"t{task:02}": LABELS[TRUTH[task]] for task in range(0, 30, 5)}
    assert prove(to_pandas(ROWS), gold=gold).doubts == ()


def test_they_are_named_where_nobody_looked_at_the_consensus(monkeypatch):
    gold = {"t05": wrong_label(5)}
    looked = prove(to_pandas(ROWS), gold=gold).doubts
    monkeypatch.setattr(beside_consensus, "MOST_RESPONSES", 0)
    solution = prove(to_pandas(ROWS), gold=gold)
    assert "majorities only" in solution.advice[-1]
    assert solution.doubts[0] == looked[0]
    assert "all 4 of its workers contradict ('t05'" in looked[0]
    assert "clear majorities" in solution.doubts[1]


def test_names_of_rare_labels_that_are_exchanged_are_noticed():
    """Two labels of three tasks each among hundreds: what one wrong label exchanges is less than anybody overlooks."""
    rows = [(f"t{task:03}", f"w{worker}", "cat") for task in range(300) for worker in range(4)]
    rare = {f"r{task}": "dog" for task in range(3)} | {f"s{task}": "emu" for task in range(3)}
    rows += [(task, f"w{worker}", label) for task, label in rare.items() for worker in range(4)]
    solution = prove(to_pandas(rows), gold={"r0": "emu", "s0": "dog"})
    found = solution.answers.set_index("task")["label"]
    assert [found[task] for task in ("r1", "r2", "s1", "s2")] == ["emu", "emu", "dog", "dog"]
    (doubt,) = solution.doubts
    assert doubt.startswith("2 tasks have known labels that most of their workers contradict ('r0': known 'emu', answ")
    kept = aggregate(to_pandas(rows), gold={"r0": "emu", "s0": "dog"}).answers.set_index("task")["label"]
    assert [kept[task] for task in ("r1", "r2", "s1", "s2")] == ["dog", "dog", "emu", "emu"]


def test_how_workers_contradict_in_words():
    scale = prove(to_pandas(ROWS)).scale

    def said(*voters):
        who = np.array([sum(voters)]), np.array([max(voters)]), np.array([np.argmax(voters)])
        found = Contradicted.of(["t"], np.array([0]), who, scale)
        return found.n_clear, found.that_labels_follow() if found.cases else ""

    assert said(0, 0, 0) == (0, "")
    assert said(2, 2, 0) == (0, "")
    assert said(3, 1, 0) == (1, "")
    end = "('t': known 'cat', answered 'dog'), and labels follow from it: correct it, or leave it out"
    assert said(0, 1, 0) == (1, f"1 task has a known label that its only worker contradicts {end}")
    assert said(1, 3, 0) == (1, f"1 task has a known label that 3 of its 4 workers contradict {end}")
    assert said(0, 3, 0) == (1, f"1 task has a known label that all 3 of its workers contradict {end}")
