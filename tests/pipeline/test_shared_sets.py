"""Every real set runs with no option but its file, says what is odd about its rows, and is verified."""

from __future__ import annotations

import json

import pytest

from crowdopt import Solution
from crowdopt.options.words import without_options

REPEATS = {"zencrowd_us": (919, 116), "weather": (5, 0), "weather3": (3, 0), "trec3": (1008, 231)}
"""Rows that repeat an answer, and pairs of worker and task with different answers."""

ALIKE = {"zencrowd_us": 20}
"""Tasks that differ from another one in case only."""

RATINGS = {"dog", "movies3", "trec3", "weather", "weather3", "web", "wsd"}
"""Sets of three and more labels that look like ratings."""

SETS = [
    "bluebirds", "dog", "ic", "labelme", "movies3", "mozafari", "music", "product", "rte", "sp_amt", "temp", "trec3",
    "weather", "weather3", "web", "wsd", "zencrowd_us",
]  # fmt: skip


def check_notes(name: str, notes: list[str]) -> None:
    again, different = REPEATS.get(name, (0, 0))
    starts = {
        f"{again:,} rows repeat": again,
        f"{different:,} times a worker gave": different,
        f"{ALIKE.get(name)} tasks differ from another one in case": name in ALIKE,
    }
    expected = [start for start, is_said in starts.items() if is_said]
    assert len(notes) == len(expected)
    assert all(note.startswith(start) for note, start in zip(notes, expected, strict=True))


@pytest.mark.parametrize("name", SETS)
def test_aggregate(crowdopt, shared_set, tmp_path, name):
    data = shared_set(name) / "responses.csv"
    facts = json.loads(crowdopt("aggregate", data, "--json", "--solution", tmp_path / "s.json"))
    check_notes(name, facts["notes"])
    assert facts["scale_inferred"]
    assert (facts["scale"] == "ordinal") == (len(facts["labels"]) == 2 or name in RATINGS)
    assert Solution.load(tmp_path / "s.json").notes == tuple(facts["notes"])


@pytest.mark.full
@pytest.mark.parametrize("name", SETS)
def test_prove_and_verify(crowdopt, invoke, shared_set, tmp_path, name):
    data = shared_set(name) / "responses.csv"
    facts = json.loads(crowdopt("prove", data, "--time-limit", "2", "--json", "--solution", tmp_path / "s.json"))
    check_notes(name, facts["notes"])
    code, out, err = invoke("verify", tmp_path / "s.json", data, "--time-limit", "2")
    assert code in {0, 3}, err
    assert all(f"data: {without_options(note)}" in out for note in facts["notes"])
