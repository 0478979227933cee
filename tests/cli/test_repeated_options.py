"""Options that are given several times, and options without a value: nothing is overruled or left out in silence."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import typer

from crowdopt.cli.app import app
from support.commands import text

HEADER = ("task", "worker", "label", "topic", "source", "seconds")
ROWS = [
    (f"t{task}", f"w{worker}", ("no", "yes", "?", "n/a")[(task * (worker + 1)) % 4], "a", "b", str(worker))
    for task in range(8)
    for worker in range(4)
]
WIDE = [("task", "gpt-4o", "a, b", "split", "note")] + [(f"t{n}", "no", "yes", "train", "x") for n in range(6)]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_bytes(text(ROWS, HEADER))
    with (tmp_path / "wide.csv").open("w", newline="") as file:
        csv.writer(file).writerows(WIDE)


def _summary(crowdopt, *options, file="data.csv"):
    return json.loads(crowdopt("aggregate", file, "--json", *options))


@pytest.mark.parametrize(
    ("apart", "together"),
    [
        (["--keep", "topic", "--keep", "source"], ["--keep", "topic,source"]),
        (["--na", "?", "--na", "n/a"], ["--na", "?,n/a"]),
        (["--labels", "no", "--labels", "yes,?", "--labels", "n/a"], ["--labels", "no,yes,?,n/a"]),
        (["--where", "worker != w1", "--where", "seconds >= 2"], ["--where", "worker != w1 and seconds >= 2"]),
    ],
)
def test_values_of_repeated_options_are_joined_in_order(data, crowdopt, apart, together):
    for name, options in (("apart.csv", apart), ("together.csv", together)):
        crowdopt("aggregate", "data.csv", "-q", "-o", name, "--solution", f"{name}.json", *options)
    assert Path("apart.csv").read_text() == Path("together.csv").read_text()
    read = [json.loads(Path(f"{name}.csv.json").read_text())["reading"] for name in ("apart", "together")]
    assert read[0] == read[1]


def test_workers_of_a_wide_table_are_joined(data, crowdopt):
    apart = _summary(crowdopt, "--worker-columns", "gpt-4o", "--worker-columns", '"a, b"', file="wide.csv")
    together = _summary(crowdopt, "--worker-columns", 'gpt-4o,"a, b"', file="wide.csv")
    assert (apart["n_workers"], apart["n_responses"]) == (2, 12)
    assert apart["n_responses"] == together["n_responses"]


def test_lists_of_prove_and_simulate_are_joined(data, crowdopt):
    crowdopt("simulate", "-o", "crowd.csv", "--labels", "low", "--labels", "mid,high", "--selectivity", "0.2,0.3",
             "--selectivity", "0.5", "--tasks", "20", "--workers", "5")  # fmt: skip
    rows = csv.DictReader(Path("crowd.csv").read_text().splitlines())
    assert {row["label"] for row in rows} == {"low", "mid", "high"}
    shares = ["--selectivity", "low=0.2,mid=0.3", "--selectivity", "high=0.5"]
    assert "PROVED" in crowdopt("prove", "crowd.csv", *shares)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--question", "s", "--question", "st"], "--question"),
        (["-o", "a.csv", "--output", "b.csv"], "--output"),
        (["--task", "task", "--task", "task"], "--task"),
        (["--duplicates", "all", "--duplicates", "same"], "--duplicates"),
        (["--threads", "1", "--threads", "1"], "--threads"),
        (["--bins", "3", "--bins", "5"], "--bins"),
        (["--gold", "a.csv", "--gold", "b.csv"], "--gold"),
    ],
)
def test_an_option_of_one_value_is_given_once(data, crowdopt, options, name, tmp_path):
    before = sorted(tmp_path.iterdir())
    said = crowdopt("aggregate", "data.csv", *options, code=2)
    assert said.startswith(f"crowdopt: {name}")
    assert "is given 2 times" in said
    assert said.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_flag_may_be_repeated(data, crowdopt):
    assert crowdopt("aggregate", "data.csv", "-q", "--quiet", "--verbatim", "--verbatim") == ""


COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_overrules_or_leaves_out_an_option_in_silence(crowdopt, command):
    options = [one for one in COMMANDS[command].params if one.param_type_name == "option" and not one.is_flag]
    assert options
    for option in options:
        flag = option.opts[-1]
        assert f"{flag} is empty" in crowdopt(command, "a", flag, "", code=2)
        if not option.multiple:
            assert f"{flag} is given 3 times" in crowdopt(command, "a", *[flag, "1"] * 3, code=2)


@pytest.mark.parametrize("option", ["--where", "--question", "--group", "--keep", "--na", "--worker-columns", "--bins"])
def test_an_option_without_a_value_is_one_line(data, crowdopt, option):
    for given in ([option, ""], [f"{option}="]):
        said = crowdopt("aggregate", "data.csv", *given, code=2)
        assert said.startswith(f"crowdopt: {option} is empty: ")
        assert "variable of the shell" in said
        assert said.count("\n") == 1


def test_one_of_several_values_may_not_be_empty(data, crowdopt):
    assert "--where is empty" in crowdopt("aggregate", "data.csv", "--where", "worker != w1", "--where", "", code=2)


def test_an_input_without_a_name_is_one_line(data, crowdopt):
    assert crowdopt("aggregate", "", code=2).startswith("crowdopt: INPUT is empty: ")
    assert crowdopt("verify", "", "data.csv", code=2).startswith("crowdopt: SOLUTION is empty: ")


def test_no_condition_is_the_default_of_python(data):
    import crowdopt as library

    assert library.aggregate("data.csv", where="").totals.n_responses == len(ROWS)
