"""The next response: gains from their definition, by following every sequence of answers; and who comes first."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import Solution, prove
from crowdopt.errors import InputError
from crowdopt.model.scale import canonical_text
from crowdopt.results.next_tasks import expected_gains, look_ahead
from crowdopt.studies.simulate import uniform_errors
from support.printed import first_cells
from support.problems import gain_by_sequences
from support.ways import NAMES, ROWS, WAYS, crowd, plain, to_pandas

COLUMNS = ["task", "label", "confidence", "n_responses", "gain", "gain_per_response", "n_more"]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 3), st.booleans())
def test_gains_are_those_of_all_sequences_of_answers(seed, n_labels, zeros):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(n_labels), n_labels)
    if zeros:
        matrix[0] = np.eye(n_labels)[0]
    posterior = rng.dirichlet(np.ones(n_labels), 3)
    ahead = 6
    found = expected_gains(posterior, matrix[None], np.ones(1))
    for i, rho in enumerate(posterior):
        gains = [gain_by_sequences(rho, matrix, n) for n in range(1, ahead + 1)]
        assert found.one[i] == pytest.approx(max(gains[0], 0), abs=1e-12)
        assert all(b >= a - 1e-12 for a, b in itertools.pairwise([0.0, *gains]))  # never falls
        rates = [gain / n for n, gain in enumerate(gains, 1)]
        assert found.rate[i] >= max(rates) - 1e-12
        if found.n_responses[i] <= ahead:
            assert found.rate[i] == pytest.approx(rates[found.n_responses[i] - 1], abs=1e-12)
            assert all(rate < found.rate[i] for rate in rates[: found.n_responses[i] - 1])  # fewer are not as good


def test_one_response_alone_may_not_change_a_label_but_two_can():
    """One yes among workers who are right four times of five: one more no makes it even, two more turn it round."""
    matrix = uniform_errors(2, 0.8)
    found = expected_gains(np.array([[0.2, 0.8], [0.5, 0.5]]), matrix[None], np.ones(1))
    assert found.one == pytest.approx([0.0, 0.3], abs=1e-12)
    two = gain_by_sequences([0.2, 0.8], matrix, 2)
    assert two > 0
    assert found.rate[0] == pytest.approx(max(two / 2, gain_by_sequences([0.2, 0.8], matrix, 4) / 4), rel=1e-9)
    assert (found.rate[1], found.n_responses[1]) == (pytest.approx(0.3), 1)


def test_who_answers_by_chance_has_nothing_to_give():
    found = expected_gains(np.array([[0.3, 0.7], [0.5, 0.5]]), uniform_errors(2, 0.5)[None], np.ones(1))
    assert found.one.tolist() == pytest.approx([0, 0], abs=1e-15)
    assert found.rate.tolist() == pytest.approx([0, 0], abs=1e-15)


def test_a_gain_is_the_mean_over_classes():
    matrices = np.stack([uniform_errors(2, 0.9), uniform_errors(2, 0.6)])
    posterior = np.array([[0.5, 0.5], [0.3, 0.7]])
    each = [expected_gains(posterior, matrix[None], np.ones(1)).one for matrix in matrices]
    both = expected_gains(posterior, matrices, np.array([0.25, 0.75])).one
    assert both == pytest.approx(0.25 * each[0] + 0.75 * each[1])


def test_many_labels_are_looked_ahead_as_far_as_can_be_listed():
    assert [look_ahead(n) for n in (2, 5, 6, 64)] == [9, 9, 7, 2]
    found = expected_gains(np.full((1, 64), 1 / 64), uniform_errors(64, 0.5)[None], np.ones(1))
    assert found.one == pytest.approx(0.5 - 1 / 64)


def oracle(rows, solution, gold=()):
    """Every task in its place: by gain per response, then fewer responses, then by itself."""
    votes, tasks = defaultdict(Counter), set()
    for task, _, label in rows:
        tasks.add(task)
        if label is not None:
            votes[task][label] += 1
    ranked = []
    for task in tasks - set(gold):
        counts = np.array([[votes[task][label] for label in solution.scale.labels]])
        posterior = solution.posterior_of(counts[:, None, :])
        found = expected_gains(posterior, solution.matrix, np.ones(1))
        ranked.append((-round(found.rate[0], 12), counts.sum(), task, found.one[0], found.rate[0]))
    return sorted(ranked)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_ranks_alike(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    solution = prove(data, wide=way.startswith("wide"))
    for found in (solution.next_tasks(data, 12), solution.next_tasks(n=12)):
        assert type(found) is type(solution.answers)
        columns = plain(found)
        assert list(columns) == COLUMNS
        expected = oracle(ROWS, solution)
        if way.endswith(("csv", "tsv")):  # whose tasks are texts
            expected.sort(key=lambda row: (*row[:2], str(row[2])))
        assert [canonical_text(task) for task in columns["task"]] == [str(row[2]) for row in expected[:12]]
        assert columns["gain"] == pytest.approx([row[3] for row in expected[:12]], abs=1e-12)
        assert columns["gain_per_response"] == pytest.approx([row[4] for row in expected[:12]], abs=1e-12)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "duckdb", "csv"])
def test_gold_tasks_need_no_response(kind, tmp_path):
    gold = {7: "yes", 14: "no"}
    data = WAYS[kind](ROWS, tmp_path)
    solution = prove(data, gold=gold)
    for found in (solution.next_tasks(data, 1000), solution.next_tasks(n=1000)):
        tasks = {int(task) for task in plain(found)["task"]}
        assert tasks == {task for task, *_ in ROWS} - set(gold)
    fewer = WAYS[kind]([row for row in ROWS if row[0] != 7], tmp_path)
    assert len(plain(solution.next_tasks(fewer, 1000))["task"]) == len(tasks)


def test_tasks_without_a_response_are_ranked_by_the_shares():
    frame = pd.DataFrame([*ROWS, (500, "w1", None)], columns=NAMES)
    solution = prove(frame, missing="drop")
    first = solution.next_tasks(frame, 1).iloc[0]
    assert (first["task"], first["n_responses"]) == (500, 0)  # half and half, and no response wasted on it yet
    assert pd.isna(first["label"])
    assert pd.isna(first["confidence"])
    expected = expected_gains(np.array([[0.5, 0.5]]), solution.matrix, np.ones(1))
    assert first["gain"] == pytest.approx(expected.one[0])


def test_data_may_have_grown():
    solution = prove(to_pandas(ROWS))
    grown = crowd(seed=3, n_tasks=40)
    found = plain(solution.next_tasks(to_pandas(grown), 15))
    assert found["task"] == [row[2] for row in oracle(grown, solution)[:15]]


def test_kept_columns_come_along():
    frame = to_pandas(ROWS).assign(note=lambda table: "about " + table["task"].astype(str))
    found = prove(frame, keep=["note"]).next_tasks(n=3)
    assert list(found) == [*COLUMNS, "note"]
    assert found["note"].tolist() == [f"about {task}" for task in found["task"]]


@pytest.mark.parametrize("n", [0, -1, "x", 1.5])
def test_number_of_tasks_must_be_positive(n):
    with pytest.raises(InputError, match="must be a whole number from 1"):
        prove(to_pandas(ROWS)).next_tasks(n=n)


@pytest.mark.full
def test_asking_where_it_is_worth_most_beats_asking_anywhere():
    """Mean accuracy over crowds, after as many further responses as there are tasks."""
    reached = {"next": [], "anywhere": []}
    for seed in range(6):
        for policy, found in reached.items():
            rng = np.random.default_rng(seed)
            truth = rng.integers(0, 2, 300)
            rows = [(task, worker, answer(rng, truth[task])) for task in range(300) for worker in range(3)]
            for step in range(6):
                data = to_pandas(rows)
                chosen = prove(data).next_tasks(n=50)["task"] if policy == "next" else rng.permutation(300)[:50]
                rows += [(task, 3 + step, answer(rng, truth[task])) for task in chosen]
            found.append((prove(to_pandas(rows)).answers["label"].to_numpy() == truth).mean())
    assert np.mean(reached["next"]) > np.mean(reached["anywhere"]) + 0.02


def answer(rng, true):
    return int(true if rng.random() < 0.8 else 1 - true)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    to_pandas(ROWS).to_csv("data.csv", index=False)
    prove("data.csv").save("solution.json")
    to_pandas([*ROWS, (1000, "w0", "maybe")]).to_csv("maybe.csv", index=False)
    return tmp_path


def test_command_ranks_and_writes(crowdopt, folder):
    said = crowdopt("next", "solution.json", "data.csv", "-n", 22, "-o", "next.csv")
    assert "and 2 more" in said
    assert "all of them in next.csv" in said
    shown = first_cells(said)
    with (folder / "next.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert len(rows) == 22
    assert shown == [row["task"] for row in rows[:20]]
    facts = json.loads(crowdopt("next", "solution.json", "data.csv", "-n", 22, "--json"))
    assert [row["task"] for row in facts["tasks"]] == [row["task"] for row in rows]
    assert crowdopt("next", "solution.json", "data.csv", "-n", 22, "-o", "-") == (folder / "next.csv").read_text()
    expected = Solution.load("solution.json").next_tasks("data.csv", 22).to_pydict()
    assert [float(row["gain"]) for row in rows] == expected["gain"]


BAD = {
    "a label off the scale": (["maybe.csv"], "1 label not on the scale no, yes: 'maybe'"),
    "no data": (["none.csv"], "none.csv"),
    "output over the data": (["data.csv", "-o", "data.csv"], "it is one of the inputs"),
    "two things on standard output": (["data.csv", "-o", "-", "--json"], "both print"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_nothing_is_written(crowdopt, folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    said = crowdopt("next", "solution.json", *arguments, code=2)
    assert message in said
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_number_that_is_none_is_refused(crowdopt, folder):
    assert "not in the range" in crowdopt("next", "solution.json", "data.csv", "-n", 0, code=2)
