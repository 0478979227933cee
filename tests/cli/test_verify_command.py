"""The command that checks a solution."""

from __future__ import annotations

import json

import pytest

from support.small_files import SMALL, VARIED, process, write


def told(said: str) -> str:
    """What verify says behind the lines that say what to check."""
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("CHECK: "))


READINGS = {
    "renamed columns": (
        lambda folder: write(folder / "data.csv", SMALL, ("item", "rater", "answer")),
        ("--task", "item", "--worker", "rater", "--label", "answer"),
    ),
    "duplicates": (
        lambda folder: write(folder / "data.csv", [*SMALL, ("c", "bob", "yes")]),
        ("--duplicates", "all"),
    ),
    "last of duplicates": (
        lambda folder: write(
            folder / "data.csv",
            [*((*row, 1) for row in SMALL), ("c", "bob", "yes", 2)],
            ("task", "worker", "label", "n"),
        ),
        ("--duplicates", "last", "--order-by", "n"),
    ),
    "missing": (
        lambda folder: write(folder / "data.csv", [*SMALL, ("d", "ann", "?"), ("d", "", "yes")]),
        ("--missing", "drop", "--na", "?,n/a"),
    ),
    "encoding": (
        lambda folder: write(folder / "data.csv", [*SMALL, ("é", "bob", "no")], encoding="windows-1252"),
        ("--encoding", "windows-1252"),
    ),
    "wide": (
        lambda folder: write(folder / "data.csv", [("a", "1", "1"), ("b", "0", ""), ("c", "", "1")]),
        ("--wide",),
    ),
    "labels and selectivity": (
        lambda folder: write(folder / "data.csv", SMALL),
        ("--labels", "yes,no", "--selectivity", "yes=0.75,no=0.25"),
    ),
    "majority": (lambda folder: write(folder / "data.csv", VARIED), ("--engine", "vote")),
    "stopped": (
        lambda folder: write(folder / "data.csv", VARIED),
        ("--selectivity", "estimate", "--time-limit", "0"),
    ),
}


@pytest.mark.parametrize("name", READINGS)
def test_verify_needs_no_options(crowdopt, tmp_path, name):
    make, options = READINGS[name]
    data = make(tmp_path)
    crowdopt("prove", data, *options, "--solution", tmp_path / "solution.json")
    assert told(crowdopt("verify", tmp_path / "solution.json", data)).startswith("CONFIRMED\n  ")


def flip_a_label(solution):
    solution["buckets"]["label"][0] ^= 1


def lower_the_bound(solution):
    solution["certificate"]["bound"] -= 1


def raise_the_likelihood(solution):
    solution["certificate"]["objective"] += 1
    solution["certificate"]["bound"] += 1


@pytest.mark.parametrize("tamper", [flip_a_label, lower_the_bound, raise_the_likelihood])
def test_tampered_solution_is_rejected(crowdopt, varied, tmp_path, tamper):
    saved = tmp_path / "solution.json"
    crowdopt("prove", varied, "--solution", saved)
    solution = json.loads(saved.read_text())
    tamper(solution)
    saved.write_text(json.dumps(solution))
    verdict, reason, *_ = crowdopt("verify", saved, varied, code=1).splitlines()
    assert verdict == "REJECTED"
    assert reason.strip()


def test_solution_of_other_data_is_rejected(small, varied, tmp_path):
    saved = tmp_path / "solution.json"
    assert process("prove", small, "--solution", saved, "-q").returncode == 0
    done = process("verify", saved, varied, "--json")
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["verdict"] == "REJECTED"
    assert process("verify", saved, small).returncode == 0


def test_bound_that_takes_too_long_is_not_rechecked(crowdopt, varied, tmp_path):
    saved = tmp_path / "solution.json"
    crowdopt("prove", varied, "--selectivity", "estimate", "--solution", saved)
    said = told(crowdopt("verify", saved, varied, "--time-limit", "0", code=3))
    assert said.splitlines()[0] == "BOUND NOT RE-CHECKED"
    assert "time limit" in said
    assert told(crowdopt("verify", saved, varied)).startswith("CONFIRMED\n  PROVED: ")


def test_what_is_confirmed_is_said(crowdopt, tmp_path):
    """An unproved answer is confirmed as unproved, and not as the best."""
    data, saved = tmp_path / "data.csv", tmp_path / "solution.json"
    crowdopt("simulate", "-o", data, "--tasks", "30", "--seed", "1")
    crowdopt("prove", data, "--engine", "vote", "--solution", saved)
    assert told(crowdopt("verify", saved, data)).startswith("CONFIRMED\n  UNPROVED: vote gives log-likelihood")
    assert json.loads(crowdopt("verify", saved, data, "--json"))["claim"].startswith("UNPROVED")
    lines = data.read_text(encoding="utf-8").replace("yes", "", 1)
    data.write_text(lines, encoding="utf-8")
    crowdopt("prove", data, "--missing", "drop", "--solution", saved)
    assert "; 1 incomplete row left out\n" in crowdopt("verify", saved, data)
    changed = json.loads(saved.read_text(encoding="utf-8"))
    changed["certificate"]["objective"] += 1
    saved.write_text(json.dumps(changed), encoding="utf-8")
    assert "PROVED" not in crowdopt("verify", saved, data, code=1)
