"""CHECK: when labels are to be doubted, what is said of them, and that no way of reading the data loses it."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdopt import aggregate, prove
from crowdopt.errors import CheckWarning
from crowdopt.results import beside_consensus, source_consensus
from crowdopt.results.solution import Solution
from support.servers import to_sqlite
from support.ways import NAMES, to_pandas, to_text

if TYPE_CHECKING:
    from pathlib import Path

    from crowdopt import Database

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def random_answers() -> list[tuple]:
    rng = np.random.default_rng(1)
    return [(task, f"w{worker}", "ab"[rng.integers(2)]) for task in range(60) for worker in range(4)]


DOUBTFUL = {
    "random answers": (random_answers(), "two workers agree on a task no more often than by chance (tasks: 60)"),
    "no task answered twice": ([(task, task % 3, "ab"[task % 2]) for task in range(9)], "no task was answered by two"),
    "one label": ([(task, worker, "a") for task in range(9) for worker in "xy"], "all responses to tasks that several"),
}


@pytest.mark.parametrize(("rows", "reason"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_cannot_be_told_from_chance_is_to_be_checked(rows, reason, crowdopt, tmp_path):
    path = to_text(rows, tmp_path)
    (doubt,) = aggregate(to_pandas(rows)).doubts
    assert doubt.startswith(reason)
    first = crowdopt("aggregate", path).splitlines()[0]
    assert first == f"CHECK: {doubt}"
    assert json.loads(crowdopt("aggregate", path, "--json"))["check"] == [doubt]


def test_a_worker_does_not_agree_with_itself():
    twice = [(task, "x", "ab"[task % 2]) for task in range(60) for _ in range(3)]
    (doubt,) = aggregate(to_pandas(twice), duplicates="all").doubts
    assert doubt.startswith("no task was answered by two workers")
    guessed = [*twice, *((task, "y", answer) for task, _, answer in random_answers()[::4])]
    solution = aggregate(to_pandas(guessed), duplicates="all")
    assert solution.doubts[0].startswith("two workers agree on a task little more often than by chance, or on too few")
    assert "CHECK" in repr(solution)
    assert "expected" not in repr(solution)


def repeated(n_tasks: int, n_workers: int, times: int, accuracy: float) -> pd.DataFrame:
    """Workers who answer each task several times, and not always alike."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=n_tasks)
    rows = [
        (task, f"w{worker}", "ab"[truth[task] ^ (rng.random() > accuracy)])
        for task in range(n_tasks)
        for worker in range(n_workers)
        for _ in range(times)
    ]
    return pd.DataFrame(rows, columns=NAMES)


@pytest.mark.parametrize("crowd", [(200, 3, 5, 0.85), (200, 2, 10, 0.9), (200, 5, 10, 0.85), (200, 3, 3, 0.8)])
def test_a_worker_does_not_disagree_with_itself(crowd):
    assert aggregate(repeated(*crowd), duplicates="all").doubts == ()


def test_ratings_that_are_near_each_other_agree():
    rng = np.random.default_rng(0)
    rows = [
        (task, worker, int(np.clip(np.rint(truth + 1.2 * rng.normal()), 1, 10)))
        for task, truth in enumerate(rng.integers(1, 11, size=25))
        for worker in "xy"
    ]
    assert aggregate(to_pandas(rows)).doubts == ()


def test_few_tasks_of_a_rare_label_may_be_luck():
    (doubt,) = aggregate(to_pandas([(task, worker, "ab"[task == 0]) for task in range(3) for worker in "xy"])).doubts
    assert "or on too few tasks to tell (3), so that may be luck" in doubt


def test_workers_who_answered_no_task_of_known_label_are_not_known_by_it():
    rows = [(task, task % 30, "ab"[task % 2]) for task in range(200)]
    gold = pd.DataFrame({"task": [0], "label": ["a"]})
    (doubt,) = aggregate(to_pandas(rows), gold=gold).doubts
    assert doubt.startswith("no task was answered by two workers")


def test_tasks_of_known_label_tell_how_good_workers_are():
    gold = pd.DataFrame({"task": range(10), "label": ["ab"[task % 2] for task in range(10)]})
    rows = [(task, worker, "ab"[task % 2]) for task in range(10) for worker in "xyz"]
    rows += [(task, "xyz"[task % 3], "ab"[task % 2]) for task in range(10, 40)]
    assert aggregate(to_pandas(rows), gold=gold).doubts == ()


def test_known_labels_that_were_exchanged_are_noticed():
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=100)
    rows = [
        (task, f"w{worker}", "ab"[truth[task] ^ (rng.random() > 0.85)]) for task in range(100) for worker in range(5)
    ]
    gold = pd.DataFrame({"task": range(30), "label": ["ba"[truth[task]] for task in range(30)]})
    for solution in (aggregate(to_pandas(rows), gold=gold), prove(to_pandas(rows), gold=gold)):
        (doubt,) = solution.doubts
        assert doubt.startswith("known labels contradict most of the workers on 29 of 30 tasks ('")
        assert doubt.endswith("; …), so these labels may have been exchanged; look at them")
    gold["label"] = ["ab"[truth[task]] for task in range(30)]
    for solution in (aggregate(to_pandas(rows), gold=gold), prove(to_pandas(rows), gold=gold)):
        assert solution.doubts == ()


def test_groups_to_be_checked_have_no_number():
    groups = {"guessed": random_answers(), "fine": [(t, w, "ab"[t % 2]) for t in range(10) for w in "xyz"]}
    data = pd.concat([to_pandas(rows).assign(group=name) for name, rows in groups.items()])
    both = aggregate(data, group="group")
    assert both.summary()["mean_confidence"] == both["fine"].mean_confidence
    assert "CHECK 1 of them, of the others about " in repr(both)
    guessed = aggregate(data[data["group"] == "guessed"], group="group")
    assert guessed.summary()["mean_confidence"] is None
    assert "CHECK 1 of them, how many of the labels are right cannot be told" in repr(guessed)


# Proofs.


def overruled() -> pd.DataFrame:
    """A rare label that the likeliest labels of one matrix give to many more tasks, but to no clear majority."""
    rng = np.random.default_rng(5)
    rare = rng.random(400) < 0.1
    rows = [
        (f"t{task}", f"w{worker}", "yes" if rng.random() < (0.75 if rare[task] else 0.2) else "no")
        for task in range(400)
        for worker in range(2)
    ]
    return pd.DataFrame(rows, columns=NAMES)


def to_database(data: pd.DataFrame, tmp_path: Path) -> Database:
    return to_sqlite(pa.Table.from_pandas(data), tmp_path / "data.db")


def test_a_proof_is_compared_with_the_consensus_wherever_the_data_are(tmp_path):
    data = overruled()
    (doubt,) = prove(data).doubts
    assert "the consensus on" in doubt
    assert "majorities" not in doubt
    table = to_database(data, tmp_path)
    assert prove(table).doubts == (doubt,)
    assert prove(data.assign(kind="one"), group="kind")["one"].doubts == (doubt,)
    classes = {name: name for name in ("w0", "w1")}
    alone = prove(data, classes=classes).doubts
    assert prove(data.assign(kind="one"), group="kind", classes=classes)["one"].doubts == alone
    found = prove(data, find_classes=1, smoothing=0.0).doubts
    assert "the consensus on" in found[0]
    assert prove(table, find_classes=1, smoothing=0.0).doubts == found


def test_tasks_without_a_response_are_compared_with_nothing():
    data = overruled()
    more = pd.DataFrame({"task": ["a", "zz"], "worker": [None, None], "label": [None, None]})
    data = pd.concat([more, data]).assign(kind="one")
    here, (group,) = prove(data, missing="drop"), prove(data, missing="drop", group="kind").values()
    assert here.doubts == group.doubts == prove(overruled()).doubts != ()


def test_where_nobody_looked_at_the_consensus_a_proof_says_so(tmp_path, invoke, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = overruled()
    solution = prove(data)
    assert solution.advice == ()
    solution.save("made.json")
    monkeypatch.setattr(beside_consensus, "MOST_RESPONSES", 100)
    (group,) = prove(data.assign(kind="one"), group="kind").values()
    for one in (prove(data), group):
        assert one.doubts == ()
        assert one.advice[-1].startswith("these labels were compared with majorities only: there are more than 100")
    assert prove(data, engine="vote").advice == ()  # which promises nothing
    data.to_csv("data.csv", index=False)
    for command in ("workers", "predict", "next"):  # what the file says is not lost
        code, out, _ = invoke(command, "made.json", "data.csv")
        assert code == 0
        assert out.startswith(f"CHECK: {solution.doubts[0]}")


def test_a_comparison_that_nobody_waits_for_is_left():
    seen = []
    solution = prove(overruled(), on_progress=lambda one: seen.append(one) or one.bound - one.objective < 1e-6)
    assert (solution.certificate.stop, solution.interrupted) == ("FINISHED", True)
    assert solution.advice[-1].startswith("these labels were compared with majorities only: someone asked to stop")
    again = solution.with_source(solution.source)
    assert "the consensus on" in again.doubts[0]
    assert again.advice == ()


def test_a_heuristic_with_found_classes_promises_nothing():
    found = prove(overruled(), engine="vote", find_classes=2)
    assert (found.doubts, found.advice) == ((), prove(overruled(), engine="vote", find_classes=2).advice)


def test_answers_that_are_repeated_do_not_agree_where_nobody_looks_at_workers(monkeypatch):
    monkeypatch.setattr(beside_consensus, "MOST_RESPONSES", 0)
    rows = [(task, "x", "ab"[task % 2]) for task in range(60) for _ in range(3)]
    assert prove(to_pandas(rows), duplicates="all").doubts == ()
    (doubt,) = prove(to_pandas(random_answers())).doubts
    assert doubt.startswith("two workers agree on a task no more often than by chance")


@pytest.mark.parametrize(("rows", "reason"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_nobody_can_know_is_not_proved_in_green(rows, reason, crowdopt, tmp_path):
    assert prove(to_pandas(rows)).doubts[0].startswith(reason)
    assert crowdopt("prove", to_text(rows, tmp_path)).startswith(f"CHECK: {reason}")


def test_the_consensus_behind_found_classes_is_found_once(monkeypatch):
    found, fit = [], source_consensus.fit_consensus
    monkeypatch.setattr(source_consensus, "fit_consensus", lambda *a, **k: found.append(1) or fit(*a, **k))
    prove(overruled(), find_classes=2)
    assert len(found) == 1


def test_a_file_keeps_its_doubts():
    solution = prove(overruled())
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckWarning)
        assert Solution.from_dict(solution.to_dict()).doubts == solution.doubts
