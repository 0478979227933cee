"""Predictions and next tasks of a consensus: its last step on other data, with average workers for those unknown."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import crowdopt as package
from crowdopt import aggregate
from crowdopt.consensus.rows import Rows
from crowdopt.consensus.vote import vote_labels
from crowdopt.data.coded import Coded
from crowdopt.errors import ClassError, InputError
from crowdopt.model.scale import canonical_text
from crowdopt.results.next_tasks import expected_gains
from crowdopt.results.predict import Prediction
from crowdopt.results.reread import read_new
from support.mixed_crowds import mixed_crowd
from support.needs import SAMPLES, SHARED, need
from support.ways import NAMES, ROWS, WAYS, crowd, plain, to_pandas

SAME = 1e-9
COLUMNS = ["task", "label", "confidence", "n_responses", "status"]
NEW = crowd(seed=8, n_tasks=30)


def rows_of(table) -> dict[str, dict]:
    columns = plain(table)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return {canonical_text(row.pop("task")): row for row in rows}


def assert_same(found, expected) -> None:
    assert found.keys() == expected.keys()
    for task, row in expected.items():
        assert found[task].keys() == row.keys()
        for name, value in row.items():
            if isinstance(value, float):
                assert abs(found[task][name] - value) <= SAME, (task, name)
            else:
                assert found[task][name] == value, (task, name)


def rated(seed: int = 0, n_tasks: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    true = np.repeat(rng.integers(1, 4, n_tasks), 4)
    worker = np.concatenate([rng.permutation(8)[:4] for _ in range(n_tasks)])
    label = np.where(rng.random(4 * n_tasks) < 0.75, true, rng.integers(1, 4, 4 * n_tasks))
    return pd.DataFrame({"task": np.repeat(np.arange(n_tasks), 4), "worker": worker, "label": label})


# 1. The same data.


@pytest.mark.parametrize("way", WAYS)
def test_the_same_data_get_the_same_answers(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    solution = aggregate(data, wide=way.startswith("wide"))
    found = solution.predict(data, probabilities=True)
    assert type(found) is type(solution.answers)
    assert list(plain(found)) == [*COLUMNS, "p_no", "p_yes"]
    assert plain(found)["task"] == sorted(plain(found)["task"])
    assert_same(rows_of(found), rows_of(solution.answers_frame(probabilities=True)))


OPTIONS = {
    "ratings": (rated(), {}),
    "categories": (rated(), {"scale": "nominal"}),
    "labels that nobody says": (rated(), {"labels": [0, 1, 2, 3, 4]}),
    "known shares": (rated(), {"label_shares": {1: 0.5, 2: 0.3, 3: 0.2}}),
    "every answer": (pd.concat([rated(), rated()[:20]]), {"duplicates": "all"}),
    "bins": (rated(), {"bins": [1.5]}),
    "no response": (pd.concat([rated(), rated()[:1].assign(task=99, label=np.nan)]), {"missing": "drop"}),
    "kept": (rated().assign(note="n"), {"keep": ["note"]}),
}


@pytest.mark.parametrize(("data", "options"), OPTIONS.values(), ids=OPTIONS)
def test_whatever_was_asked_for(data, options):
    solution = aggregate(data.reset_index(drop=True), **options)
    shuffled = data.sample(frac=1, random_state=3).reset_index(drop=True)
    found, expected = (rows_of(one) for one in (
        solution.predict(shuffled, probabilities=True), solution.answers_frame(probabilities=True),
    ))  # fmt: skip
    assert ("mean" in next(iter(found.values()))) == (options.get("scale") != "nominal" and "bins" not in options)
    assert_same(found, expected)


def test_tasks_are_told_one_by_one():
    """What is said of a task does not depend on which others are there."""
    solution = aggregate(rated())
    expected = rows_of(solution.answers_frame(probabilities=True))
    for task in (0, 7, 29):
        alone = rated()[lambda data, task=task: data["task"] == task].reset_index(drop=True)
        assert_same(rows_of(solution.predict(alone, probabilities=True)), {str(task): expected[str(task)]})


# 2. Others.


def posterior_of_vote(solution, answers) -> np.ndarray:
    """The member ``vote``, from its definition."""
    population, index = solution.parameters.population, list(solution.worker_names)
    shares = population["vote_shares"].copy()
    for worker, label in answers:
        known = worker in index
        weight = solution.parameters.workers["vote_precision"][index.index(worker)] if known else None
        shares[label] += population["vote_precision"] if weight is None else weight
    return shares / shares.sum()


def test_unknown_workers_are_average_ones():
    solution = aggregate(rated())
    new = pd.DataFrame([("a", "nobody", 1), ("a", "0", 2), ("b", "nobody", 1), ("b", "else", 1)], columns=NAMES)
    with read_new(solution, new) as source:
        prediction = Prediction(solution, source)
        judged, facts = prediction.judged, prediction.summary()
    assert facts["n_unknown_workers"] == judged.n_unknown_workers == 2
    # Workers in the order of their names: 0, else, nobody.
    coded = Coded.of(np.array([0, 0, 1, 1]), np.array([2, 0, 2, 1]), np.array([0, 1, 0, 0]), 3)
    place = np.array([solution.worker_names.index("0"), -1, -1])
    votes = vote_labels(Rows.of(coded), solution.parameters.aligned(place))
    assert votes[0] == pytest.approx(posterior_of_vote(solution, [("nobody", 0), ("0", 1)]), abs=1e-9)
    assert votes[1] == pytest.approx(posterior_of_vote(solution, [("nobody", 0), ("else", 0)]), abs=1e-9)
    renamed = new.assign(worker=new["worker"].replace({"nobody": "who", "else": "ever"}))
    assert_same(rows_of(solution.predict(renamed)), rows_of(solution.predict(new)))
    one = solution.predict(new[new["task"] == "b"].reset_index(drop=True), probabilities=True)
    assert one["label"].tolist() == [1]
    assert 1 / 3 < one["confidence"].iloc[0] < 1


def test_known_workers_weigh_what_they_are_worth():
    """One who is always with the others is believed more than one who answers at random."""
    rng = np.random.default_rng(5)
    rows = []
    for task in range(200):
        true = rng.integers(2)
        rows += [(task, f"good{w}", true if rng.random() < 0.95 else 1 - true) for w in range(3)]
        rows += [(task, "bad", rng.integers(2))]
    solution = aggregate(pd.DataFrame(rows, columns=NAMES))
    new = pd.DataFrame([("a", "good0", 1), ("a", "bad", 0), ("b", "good0", 0), ("b", "bad", 1)], columns=NAMES)
    assert solution.predict(new)["label"].tolist() == [1, 0]
    alone = solution.predict(pd.DataFrame([("a", "good0", 1), ("b", "bad", 1), ("c", "new", 1)], columns=NAMES))
    confidence = dict(zip(alone["task"], alone["confidence"], strict=True))
    assert confidence["a"] > confidence["c"] > confidence["b"]


def test_gold_of_the_solution_says_nothing_of_new_tasks():
    solution = aggregate(to_pandas(ROWS), gold={7: "yes", 14: "no"})
    new = [(7, "w1", "no"), (7, "w2", "no"), (7, "w3", "no")]
    found = solution.predict(to_pandas(new))
    assert (found["label"].tolist(), found["status"].tolist()) == (["no"], ["ok"])


def test_labels_off_the_scale_are_named():
    solution = aggregate(to_pandas(ROWS))
    with pytest.raises(InputError, match="1 label not on the scale no, yes: 'maybe'"):
        solution.predict(to_pandas([*NEW, (1000, "w", "maybe")]))


@pytest.mark.parametrize("options", [{"classes": {"w1": "a"}}, {"class_": "worker"}], ids=str)
def test_a_consensus_has_no_classes(options):
    solution = aggregate(to_pandas(ROWS))
    for call in (solution.predict, solution.next_tasks):
        with pytest.raises(ClassError, match="knows no classes of workers: leave out classes and class_"):
            call(to_pandas(NEW), **options)


def test_the_command_predicts_from_the_file(crowdopt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    to_pandas(ROWS).to_csv("data.csv", index=False)
    new = [*NEW, (2000, "nobody", "yes"), (2000, "else", "no")]
    to_pandas(new).to_csv("new.csv", index=False)
    crowdopt("aggregate", "data.csv", "--solution", "s.json", "-o", "answers.csv", "--probabilities", "-q")
    crowdopt("predict", "s.json", "data.csv", "-o", "again.csv", "--probabilities", "-q")
    answers, again = (pd.read_csv(name).set_index("task") for name in ("answers.csv", "again.csv"))
    assert_same(*({str(task): dict(row) for task, row in one.iterrows()} for one in (again, answers)))
    said = crowdopt("predict", "s.json", "new.csv", "-o", "found.csv")
    assert "2 workers whom the solution does not know: taken for average" in said
    to_pandas(new[:-1]).to_csv("one.csv", index=False)
    assert "1 worker whom the solution does not know" in crowdopt("predict", "s.json", "one.csv")
    facts = json.loads(crowdopt("predict", "s.json", "new.csv", "--json"))
    assert (facts["n_unknown_workers"], facts["n_tasks"], facts["n_responses"]) == (2, 31, len(new))
    wrong = crowdopt("predict", "s.json", "new.csv", "--class", "worker", "-o", "no.csv", code=2)
    assert "leave out --classes and --class" in wrong
    assert "taken for average" not in crowdopt("predict", "s.json", "data.csv")
    crowdopt("next", "s.json", "data.csv", "-n", "3", "-o", "next.csv", "-q")
    expected = aggregate(to_pandas(ROWS)).next_tasks(n=3)
    assert pd.read_csv("next.csv")["task"].tolist() == expected["task"].tolist()


# 3. Where the next responses pay.


def test_gains_follow_from_the_probabilities_and_the_answers_so_far():
    solution = aggregate(rated())
    found = rows_of(solution.next_tasks(n=100))
    answers = rows_of(solution.answers_frame(probabilities=True))
    assert found.keys() == answers.keys()
    matrix = solution.answer_shares[None]
    for task, row in answers.items():
        gains = expected_gains(np.array([[row[f"p_{label}"] for label in (1, 2, 3)]]), matrix, np.ones(1))
        assert found[task]["gain"] == pytest.approx(gains.one[0], abs=1e-9)
        assert found[task]["gain_per_response"] == pytest.approx(gains.rate[0], abs=1e-9)
        assert (found[task]["label"], found[task]["confidence"]) == (row["label"], row["confidence"])
    rates = [row["gain_per_response"] for row in found.values()]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1] >= 0
    unsure = [answers[task]["confidence"] for task in list(found)[:5]]
    assert max(unsure) < np.median([row["confidence"] for row in answers.values()])


def test_at_labels_without_responses_the_next_are_of_average_workers():
    solution = aggregate(mixed_crowd(), labels=["no", "maybe", "yes"])
    with read_new(solution, mixed_crowd()) as source:
        (matrix,) = solution.judged(source).matrix
    assert np.isnan(solution.answer_shares).all(axis=1).tolist() == [False, True, False]
    assert matrix[1].tolist() == solution.parameters.population["tilted_matrix"][1].tolist()
    assert matrix[[0, 2]].tolist() == solution.answer_shares[[0, 2]].tolist()


def test_gold_needs_no_further_responses():
    gold = {7: "yes", 14: "no"}
    solution = aggregate(to_pandas(ROWS), gold=gold)
    found = solution.next_tasks(n=1000)
    assert set(found["task"]) == {task for task, *_ in ROWS} - set(gold)
    assert found.equals(solution.next_tasks(to_pandas(ROWS), n=1000))


def test_tasks_without_a_response_come_first_among_equals():
    frame = pd.DataFrame([*ROWS, (500, "w1", None)], columns=NAMES)
    row = rows_of(aggregate(frame, missing="drop").next_tasks(n=1000))["500"]
    assert (row["label"], row["confidence"], row["n_responses"]) == (None, None, 0)
    assert row["gain"] > 0


# 4. Back to Label Studio.


@pytest.mark.parametrize(("question", "key"), [("sentiment", "choices"), ("stars", "rating")])
def test_label_studio_takes_the_answers_back(question, key, tmp_path):
    solution = aggregate(SAMPLES / "label_studio.json", question=question)
    solution.write(tmp_path / "predictions.json", output_format="label-studio")
    tasks = json.loads((tmp_path / "predictions.json").read_text())
    rows = {row["task"]: row for row in solution.answers.to_pylist()}
    assert [task["id"] for task in tasks] == list(rows)
    for task in tasks:
        (prediction,) = task["predictions"]
        assert prediction["model_version"] == f"crowdopt {package.__version__}"
        assert prediction["score"] == rows[task["id"]]["confidence"]
        value = prediction["result"][0]["value"][key]
        assert (value[0] if key == "choices" else value) == rows[task["id"]]["label"]


def test_a_real_export_of_label_studio_gets_its_predictions(tmp_path):
    export = SHARED / "exports" / "label_studio.json"
    need(export.exists(), f"the export {export.name} among the shared data")
    solution = aggregate(export, duplicates="all", missing="drop")
    solution.write(tmp_path / "predictions.json", output_format="label-studio")
    tasks = json.loads((tmp_path / "predictions.json").read_text())
    answered = [row for row in solution.answers.to_pylist() if row["label"] is not None]
    assert len(tasks) == len(answered) > 0
    assert {task["predictions"][0]["score"] for task in tasks} == {row["confidence"] for row in answered}
