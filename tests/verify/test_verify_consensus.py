"""Verification of a consensus: it is computed again from the data, and every stored number must come out."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from campaigns.consensus_lies import CONSENSUS_LIES
from crowdopt import Solution, aggregate, prove, verify
from crowdopt.errors import InputError
from crowdopt.options.words import python_words
from crowdopt.results import beside_consensus
from crowdopt.verify.verdict import Verdict
from support.mixed_crowds import grouped_crowds, mixed_crowd

if TYPE_CHECKING:
    from crowdopt.results.solution_consensus import ConsensusSolution

SETTINGS = {
    "two labels": ({}, {}),
    "ratings": ({"labels": (1, 2, 3)}, {}),
    "categories": ({"labels": ("cat", "dog", "owl")}, {}),
    "a label that nobody gave": ({}, {"labels": ["no", "maybe", "yes"]}),
    "gold": ({}, {"gold": {"t0": "yes", "t3": "no"}}),
    "gold without a response": ({}, {"gold": {"silent": "yes"}, "missing": "drop"}),
    "shares": ({}, {"label_shares": {"no": 0.3, "yes": 0.7}}),
    "shares of thirds": ({"labels": ("a", "b", "c")}, {"label_shares": {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}}),
    "gold and shares": ({}, {"gold": {"t0": "yes"}, "label_shares": "no=0.5,yes=0.5"}),
    "missing": ({}, {"missing": "drop", "na": ["n/a"]}),
    "scores": ({"labels": (0.25, 0.5, 0.75)}, {"bins": [0.4, 0.6]}),
}


def crowd(name: str, seed: int = 0) -> pd.DataFrame:
    data = mixed_crowd(seed, **SETTINGS[name][0])
    if "missing" in SETTINGS[name][1]:
        data = pd.concat([data, pd.DataFrame({"task": ["silent"], "worker": ["w0"], "label": [None]})])
    return data


@cache
def solved(name: str) -> ConsensusSolution:
    return aggregate(crowd(name), **SETTINGS[name][1])


@pytest.mark.parametrize("name", SETTINGS)
def test_a_consensus_is_reproduced(name, tmp_path):
    for seed in range(2):
        data = crowd(name, seed)
        solution = aggregate(data, **SETTINGS[name][1])
        path, file = tmp_path / "solution.json", tmp_path / "data.csv"
        solution.save(path)
        data.to_csv(file, index=False)
        for brought in (data, data.sample(frac=1, random_state=seed), file):
            found = verify(path, brought)
            assert (found.verdict, found.reasons, found.exit_code) == (Verdict.REPRODUCED, (), 0)
        assert verify(solution, data).verdict is Verdict.REPRODUCED
        assert "nothing is proved" in found.claim
        assert found.check == solution.doubts


def rename(data, column, old, new):
    return data.assign(**{column: data[column].replace(old, new)})


OTHER_RESPONSES = {
    "a response changed": lambda data: data.assign(
        label=[{"no": "yes", "yes": "no"}[data.label.iloc[0]], *data.label.iloc[1:]]
    ),
    "a response less": lambda data: data.iloc[1:],
    "a task less": lambda data: data[data.task != "t2"],
    "a task more": lambda data: pd.concat([data, pd.DataFrame([("new", "w0", "no")], columns=data.columns)]),
    "a task renamed": lambda data: rename(data, "task", "t2", "T2"),
    "two tasks exchanged": lambda data: rename(data, "task", ["t2", "t3"], ["t3", "t2"]),
    "a worker renamed": lambda data: rename(data, "worker", "w2", "W2"),
    "two workers exchanged": lambda data: rename(data, "worker", ["w2", "w4"], ["w4", "w2"]),
    "the labels exchanged": lambda data: rename(data, "label", ["no", "yes"], ["yes", "no"]),
}


@pytest.mark.parametrize("name", OTHER_RESPONSES)
def test_other_responses_are_rejected(name):
    data = mixed_crowd(3)
    found = verify(aggregate(data), OTHER_RESPONSES[name](data))
    assert (found.verdict, found.exit_code) == (Verdict.REJECTED, 1)
    assert found.reasons == ("these are not the responses that the solution was made from",)


def test_other_labels_are_rejected():
    found = verify(aggregate(mixed_crowd()), mixed_crowd(labels=("no", "maybe")))
    assert found.reasons == ("the data have the labels maybe, no, the solution no, yes",)


def test_a_gold_task_that_is_not_there_is_rejected():
    data = mixed_crowd()
    solution = aggregate(data, gold={"t0": "yes"})
    found = verify(solution, data[data.task != "t0"])
    assert found.verdict is Verdict.REJECTED
    assert found.reasons[0].endswith("the gold task 't0' is not in the data")  # which the user cannot change here


@pytest.mark.parametrize("lie", CONSENSUS_LIES, ids=lambda lie: lie.__name__)
def test_lies_are_rejected(lie):
    told = 0
    for number, name in enumerate(["ratings", "gold", "shares of thirds", "a label that nobody gave"]):
        lied = solved(name).to_dict()
        if lie(lied, solved(name), np.random.default_rng(number)) is None:
            continue
        told += 1
        try:
            found = verify(Solution.from_dict(lied), crowd(name))
        except InputError:  # damage, or data that cannot be read as the file says
            continue
        assert found.verdict is Verdict.REJECTED, name
        assert found.reasons
    assert told


SENTENCES = {
    "the parameters of worker 'w2' differ from the data": lambda data: exchange_shares(
        data["parameters"]["workers"]["tilted_matrix"][2]
    ),
    "the parameters of the whole crowd differ from the data (kinds matrix)": lambda data: exchange_shares(
        data["parameters"]["population"]["kinds_matrix"]
    ),
    "the expected answers to the tasks of each label differ from the data": lambda data: exchange_shares(
        data["expected_answers"]
    ),
    "the mean confidence is": lambda data: data.update(mean_confidence=data["mean_confidence"] + 1e-4),
    "the number of tasks with label no is": lambda data: data.update(
        label_tasks=[data["label_tasks"][0] - 1, data["label_tasks"][1] + 1]
    ),
    "the number of tied labels is 0 by the data, 1 in the solution": lambda data: data.update(n_tied=1),
    "what to check is 'nothing' by the data, 'x' in the solution": lambda data: data.update(doubts=["x"]),
    "the number of rows left out is 0 by the data, 3 in the solution": lambda data: data["totals"].update(n_dropped=3),
    "the agreement (alpha) is": lambda data: data["agreement"].update(alpha=data["agreement"]["alpha"] - 0.01),
}


def exchange_shares(rows):
    rows[0], rows[1] = rows[1], rows[0]


@pytest.mark.parametrize("words", SENTENCES)
def test_it_is_said_what_differs(words):
    data = mixed_crowd(3)
    lied = aggregate(data).to_dict()
    SENTENCES[words](lied)
    found = verify(Solution.from_dict(lied), data)
    assert found.verdict is Verdict.REJECTED
    assert any(reason.startswith(words) for reason in found.reasons), found.reasons


def test_of_many_workers_some_are_named():
    data = mixed_crowd(3)
    lied = aggregate(data).to_dict()
    lied["parameters"]["workers"]["vote_precision"] = [1.0] * 5
    *named, rest = verify(Solution.from_dict(lied), data).reasons
    assert named == [f"the parameters of worker 'w{number}' differ from the data" for number in range(3)]
    assert rest == "and those of 2 more workers"


def test_small_probabilities_count_by_their_ratio():
    """What is changed by less than a millionth can still be another number."""
    data = mixed_crowd(1, n_tasks=300)
    lied = aggregate(data).to_dict()
    matrix = lied["parameters"]["workers"]["kinds_matrix"][0]
    matrix[0] = [share + step for share, step in zip(matrix[0], (9e-7, -9e-7), strict=True)]
    found = verify(Solution.from_dict(lied), data)
    assert found.reasons == ("the parameters of worker 'w0' differ from the data",)


def test_what_was_given_is_named():
    data = mixed_crowd()
    shares = {"no": 0.75, "yes": 0.25}
    solution = aggregate(data, gold={"t0": "yes", "t3": "no"}, label_shares=shares)
    given = ", given the labels of 2 tasks and how frequent the labels are (no 0.75, yes 0.25)"
    assert given in verify(solution, data).claim
    assert given in solution.words().headline
    assert given in solution.words().verdict.sentence
    assert "given" not in verify(aggregate(data), data).claim
    groups = aggregate(data.assign(kind="one"), group="kind", label_shares=shares)
    assert "given how frequent the labels are" in verify(groups, data.assign(kind="one")).claim


def test_doubts_are_repeated():
    """Nobody answered a task twice: that follows from the data, and a file that does not say so is wrong."""
    data = mixed_crowd().drop_duplicates("task")
    solution = aggregate(data)
    found = verify(solution, data)
    assert found.verdict is Verdict.REPRODUCED
    assert found.check == solution.doubts != ()
    silent = Solution.from_dict(solution.to_dict() | {"doubts": []})
    assert "what to check is" in verify(silent, data).reasons[0]


def test_what_a_proof_gives_to_doubt_is_found_in_the_data_and_not_in_its_file(monkeypatch):
    data = mixed_crowd()
    solution = Solution.from_dict(prove(data).to_dict() | {"doubts": ["look at it", "twice"]})
    found = verify(solution, data)
    assert (found.verdict, found.check) == (Verdict.CONFIRMED, ())
    monkeypatch.setattr(beside_consensus, "MOST_RESPONSES", 0)  # the consensus is not found for so many
    found = verify(solution, data)
    assert found.verdict is Verdict.CONFIRMED
    assert found.check == ("the file says: look at it", "the file says: twice")


@pytest.mark.parametrize("group", ["", "kind"])
def test_a_doubt_that_is_taken_out_of_a_proof_is_found_again(group):
    rng = np.random.default_rng(5)
    rare = rng.random(400) < 0.1  # proved labels overrule the consensus on many tasks, and no clear majority
    rows = [(t, w, "yn"[rng.random() > (0.75 if rare[t] else 0.2)], "one") for t in range(400) for w in "ab"]
    data = pd.DataFrame(rows, columns=["task", "worker", "label", "kind"])
    solution = prove(data, group=group)
    one = solution["one"] if group else solution
    assert "overrule the consensus on" in one.doubts[0]
    silent = replace(one, doubts=())
    found = verify(replace(solution, groups={"one": silent}) if group else silent, data)
    assert found.verdict is Verdict.CONFIRMED
    doubt = python_words(one.doubts[0])
    assert found.check == (f"group one: {doubt}" if group else doubt,)


def test_a_doubt_that_the_counts_show_cannot_be_taken_out_of_a_file():
    rows = [(f"t{at}", worker, int(at % 10 == 0)) for at in range(200) for worker in "abc"]
    rows += [(f"t{at}", "d", 1) for at in range(0, 200, 2)]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    solution = prove(data, prior_matrix=[[0, 0], [10_000, 10]])
    assert solution.buckets.overruled(solution.mapping) > 0.05
    assert "clear majorities" in solution.doubts[0]
    assert verify(solution, data).check[0].startswith("these labels overrule clear majorities on")
    found = verify(Solution.from_dict(solution.to_dict() | {"doubts": []}), data)
    assert found.verdict is Verdict.REJECTED
    assert found.reasons[0].startswith("the file does not say that it is to be checked")


def test_the_workers_beside_are_checked(tmp_path, monkeypatch):
    monkeypatch.setattr("crowdopt.results.solution_file.format.MOST_INSIDE", 0)
    data, path = mixed_crowd(), tmp_path / "solution.json"
    aggregate(data).save(path)
    assert verify(path, data).verdict is Verdict.REPRODUCED
    aggregate(mixed_crowd(7)).save(tmp_path / "other.json")
    (tmp_path / "other.workers.parquet").replace(tmp_path / "solution.workers.parquet")
    found = verify(path, data)
    assert (found.verdict, len(found.reasons)) == (Verdict.REJECTED, 1)
    assert found.reasons[0].startswith("solution.workers.parquet is not the one that the solution was saved with")


# Groups.


@pytest.mark.parametrize("jobs", [1, 2])
def test_groups_are_reproduced(tmp_path, jobs):
    data = grouped_crowds()
    solutions = aggregate(data, group="group")
    solutions.save(tmp_path / "solutions.json")
    found = verify(tmp_path / "solutions.json", data, jobs=jobs)
    assert (found.verdict, found.reasons, found.exit_code) == (Verdict.REPRODUCED, (), 0)
    assert found.claim == "groups: 3 computed again from the data, nothing is proved"
    assert found.check == tuple(f"group {group}: {d}" for group, one in solutions.items() for d in one.doubts)


def test_a_group_of_other_responses_is_rejected():
    data = grouped_crowds()
    solutions = aggregate(data, group="group")
    swapped = rename(data[data.group == "b"], "worker", ["w0", "w4"], ["w4", "w0"])
    found = verify(solutions, pd.concat([data[data.group != "b"], swapped]))
    assert found.verdict is Verdict.REJECTED
    assert found.reasons == ("group b: these are not the responses that the solution was made from",)


def test_a_group_that_was_taken_away_is_rejected():
    data = grouped_crowds()
    solutions = aggregate(data, group="group")
    lied = solutions.to_dict()
    lied["groups"] = [entry for entry in lied["groups"] if entry["group"] != "b"]
    found = verify(type(solutions).from_dict(lied), data)
    assert found.reasons == ("group b of the data has neither a solution nor a reason why not",)
    lied["failures"] = [{"group": "b", "reason": "it was too hard"}]
    found = verify(type(solutions).from_dict(lied), data)
    assert found.verdict is Verdict.REJECTED
    assert found.reasons == ("group b has no solution to check, though it can be read; the file says: it was too hard",)


def test_groups_whose_labels_the_shares_do_not_fit_have_no_solution():
    data = grouped_crowds()
    solutions = aggregate(data, group="group", label_shares="no=0.4,yes=0.6")
    assert list(solutions.failures) == ["c"]
    found = verify(solutions, data)
    assert found.verdict is Verdict.REPRODUCED
    assert found.reasons[0].startswith("group c has no solution to check, though it can be read; the file says: ")


# The command.


def test_words_and_codes_of_the_command(crowdopt, tmp_path):
    data, saved = tmp_path / "data.csv", tmp_path / "solution.json"
    mixed_crowd(3).to_csv(data, index=False)
    crowdopt("aggregate", data, "--solution", saved, "-o", tmp_path / "answers.csv")
    said = crowdopt("verify", saved, data)
    assert said.splitlines()[0] == "REPRODUCED"
    assert said.splitlines()[1].startswith("  CONSENSUS: about ")
    facts = json.loads(crowdopt("verify", saved, data, "--json"))
    assert (facts["verdict"], facts["check"], facts["reasons"]) == ("REPRODUCED", [], [])
    OTHER_RESPONSES["a worker renamed"](mixed_crowd(3)).to_csv(data, index=False)
    said = crowdopt("verify", saved, data, code=1)
    assert said == "REJECTED\n  these are not the responses that the solution was made from\n"


def test_doubts_come_before_the_verdict(crowdopt, tmp_path):
    data, saved = tmp_path / "data.csv", tmp_path / "solution.json"
    mixed_crowd().drop_duplicates("task").to_csv(data, index=False)
    crowdopt("aggregate", data, "--solution", saved)
    first, verdict, *_ = crowdopt("verify", saved, data).splitlines()
    assert first.startswith("CHECK: no task was answered by two workers")
    assert verdict == "REPRODUCED"
    assert json.loads(crowdopt("verify", saved, data, "--json"))["check"] == [first.removeprefix("CHECK: ")]


def test_a_damaged_file_is_rejected(crowdopt, tmp_path):
    data, saved = tmp_path / "data.csv", tmp_path / "solution.json"
    mixed_crowd().to_csv(data, index=False)
    crowdopt("aggregate", data, "--solution", saved)
    contents = json.loads(saved.read_text())
    contents["parameters"]["population"]["vote_precision"] = -1
    saved.write_text(json.dumps(contents))
    assert "REJECTED\n  the solution file is damaged: " in crowdopt("verify", saved, data, code=1)
