"""What verify finds in files of solutions with gold, a prior matrix and smoothing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from crowdopt import Solution, prove, verify
from crowdopt.errors import SolutionFileError
from crowdopt.model.offsets import Offsets
from support.gold import BASIC, GOLD
from support.ways import ROWS, to_polars, to_text

# What verify finds


@pytest.fixture(scope="module")
def honest():
    return prove(to_polars(ROWS), gold=GOLD, prior_matrix=BASIC, smoothing=0.5, selectivity="estimate")


def judge(solution, tmp_path, tamper):
    """Changes the file of a solution, and verifies it."""
    data = json.loads(json.dumps(solution.to_dict()))
    tamper(data)
    path = tmp_path / "solution.json"
    path.write_text(json.dumps(data))
    return verify(path, to_polars(ROWS))


def remove_a_task(data):
    data["reading"]["gold"].pop()


def remove_all_gold(data):
    data["reading"]["gold"] = []


def change_a_label(data):
    pair = data["reading"]["gold"][0]
    pair[1] = "yes" if pair[1] == "no" else "no"


def add_a_task(data):
    data["reading"]["gold"].append(["35", "no"])


def change_gold_responses(data):
    data["offsets"]["gold_responses"][0][0][0] += 1


def change_gold_tasks(data):
    data["offsets"]["gold_tasks"][1] += 1


def change_the_number_of_gold_tasks(data):
    data["totals"]["n_gold"] += 1


def change_smoothing(data):
    data["offsets"]["smoothing"] = 0.25


def change_prior(data):
    data["offsets"]["prior"][1][0][1] += 1


def forget_prior(data):
    data["offsets"]["prior"] = None


def forget_offsets(data):
    data["offsets"] = None


def deny_what_is_given(data):
    data["certificate"]["given"] = ["gold", "smoothing"]


def a_task_twice(data):
    """As gold twice, it would be taken from the others twice."""
    data["reading"]["gold"].insert(0, list(data["reading"]["gold"][0]))


TAMPERS = [
    remove_a_task, remove_all_gold, change_a_label, add_a_task, change_gold_responses, change_gold_tasks, a_task_twice,
    change_the_number_of_gold_tasks, change_smoothing, change_prior, forget_prior, forget_offsets, deny_what_is_given,
]  # fmt: skip


def test_the_honest_file_is_confirmed(honest, tmp_path):
    assert judge(honest, tmp_path, dict.copy).verdict == "CONFIRMED"


@pytest.mark.parametrize("tamper", TAMPERS)
def test_a_changed_file_is_rejected(honest, tmp_path, tamper):
    found = judge(honest, tmp_path, tamper)
    assert found.verdict == "REJECTED"
    assert found.reasons


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"smoothing": 0.25}, "log-likelihood"),
        ({"prior": None}, "log-likelihood"),
        ({"prior": BASIC[:, None] + 1}, "log-likelihood"),
        ({"gold_tasks": np.array([2, 3])}, "gold tasks by label"),
        ({"gold_responses": np.array([[[9, 1]], [[0, 9]]])}, "responses to gold tasks by label"),
    ],
)
def test_a_file_that_is_changed_all_through_is_rejected(honest, tmp_path, change, reason):
    """The matrix and all that follows from the labels are those of the changed offsets."""
    told = replace(honest, objective=replace(honest.objective, offsets=replace(honest.objective.offsets, **change)))
    told.save(tmp_path / "solution.json")
    found = verify(tmp_path / "solution.json", to_polars(ROWS))
    assert found.verdict == "REJECTED"
    assert reason in " ".join(found.reasons)


def test_gold_that_agrees_with_itself_but_not_with_the_data_is_rejected(honest, tmp_path):
    """Solved anew with counts that nobody gave: a perfect file, of other data."""
    offsets = honest.objective.offsets
    made_up = Offsets(offsets.gold_responses[::-1].copy(), offsets.gold_tasks, offsets.prior, offsets.smoothing)
    objective = replace(honest.objective, offsets=made_up)
    value = objective.of_mapping(honest.buckets, honest.mapping)
    certificate = replace(honest.certificate, objective=value, bound=value)
    replace(honest, objective=objective, certificate=certificate).save(tmp_path / "solution.json")
    found = verify(tmp_path / "solution.json", to_polars(ROWS))
    assert found.verdict == "REJECTED"
    assert "the responses to gold tasks by label differ from the data" in found.reasons


OTHERS = {
    "another label": [*ROWS, (8, "w0", "maybe")],
    "no gold task": [row for row in ROWS if row[0] != 7],
    "another response to gold": [*ROWS, (7, "x", "no")],
    "fewer responses": ROWS[:-1],
    "other tasks": [(task + 1000, worker, label) for task, worker, label in ROWS],
    "one label": [(task, worker, "no") for task, worker, _ in ROWS],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_data_are_rejected(honest, name, tmp_path):
    honest.save(tmp_path / "solution.json")
    for data in (to_polars(OTHERS[name]), to_text(OTHERS[name], tmp_path)):
        found = verify(tmp_path / "solution.json", data)
        assert found.verdict == "REJECTED"
        assert found.reasons


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("offsets", []),
        ("offsets", "none"),
        ("offsets", 0),
        ("offsets", {}),
        ("gold_responses", None),
        ("gold_responses", []),
        ("gold_responses", [[[1, 2]]]),
        ("gold_responses", [[[1, 2]], [[1]]]),
        ("gold_responses", [[[1, 2, 3]], [[1, 2, 3]]]),
        ("gold_responses", [[[1, 2]], [[1, -2]]]),
        ("gold_responses", [[[1, 2]], [[1, 0.5]]]),
        ("gold_responses", [[[1, 2]], [[1, "2"]]]),
        ("gold_responses", [[[True, True]], [[True, True]]]),
        ("gold_responses", [[[1, 2]], [[1, 2**70]]]),
        ("gold_tasks", [1]),
        ("gold_tasks", [1, None]),
        ("gold_tasks", [1, -1]),
        ("gold_tasks", 5),
        ("prior", [[1, 2], [3, 4]]),
        ("prior", [[[1, 2]], [[3, -4]]]),
        ("prior", [[[1, 2]], [[3, float("nan")]]]),
        ("prior", [[[1, 2]], [[3, float("inf")]]]),
        ("prior", [[[1, 2]], [[3, "4"]]]),
        ("prior", [[[1, 2]], [[3, None]]]),
        ("prior", [[[1, 2]], [[3, 10**400]]]),
        ("prior", "x"),
        ("smoothing", -1),
        ("smoothing", float("nan")),
        ("smoothing", float("inf")),
        ("smoothing", "0.5"),
        ("smoothing", None),
        ("smoothing", True),
        ("smoothing", 10**400),
        ("more", 1),
    ],
)
def test_damaged_offsets_are_named_as_damage(honest, name, value, tmp_path):
    data = json.loads(json.dumps(honest.to_dict()))
    if name == "offsets":
        data["offsets"] = value
    else:
        data["offsets"][name] = value
    with pytest.raises(SolutionFileError, match="damaged"):
        Solution.from_dict(data)
    (tmp_path / "solution.json").write_text(json.dumps(data))
    with pytest.raises(SolutionFileError):
        prove(to_polars(ROWS), prior_matrix=tmp_path / "solution.json")


@pytest.mark.parametrize("name", ["gold_responses", "gold_tasks", "prior", "smoothing", "offsets"])
def test_missing_parts_of_the_offsets_are_named(honest, name):
    data = json.loads(json.dumps(honest.to_dict()))
    del (data if name == "offsets" else data["offsets"])[name]
    with pytest.raises(SolutionFileError, match=f"'{name}' is missing"):
        Solution.from_dict(data)


@pytest.mark.parametrize(
    "gold",
    [
        None,
        "a",
        {"0": "no"},
        ["ab"],
        [["0"]],
        [["0", "no", "yes"]],
        [[0, "no"]],
        [["0", None]],
        [None],
        [["0", "no"]] * 2,
    ],
)
def test_a_damaged_list_of_gold_is_named_as_damage(honest, gold):
    data = json.loads(json.dumps(honest.to_dict()))
    data["reading"]["gold"] = gold
    with pytest.raises(SolutionFileError, match="damaged"):
        Solution.from_dict(data)
