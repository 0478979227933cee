"""The fuzzer: what it once found, some new inputs of every reader, and that it would see an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import crowdopt
from campaigns import fuzz, fuzz_readers
from campaigns.fuzz import FINDINGS, Case, draw, fault, smallest, store
from campaigns.fuzz_readers import READERS
from crowdopt.errors import InputError


def test_what_was_once_found_is_mended():
    stored = sorted(FINDINGS.glob("*.json"))
    assert stored
    for path in stored:
        assert fault(Case.from_dict(json.loads(path.read_text(encoding="utf-8")))) == "", path


def test_some_inputs_of_every_reader(tmp_path):
    number = 5 * len(READERS)
    tally = fuzz.fuzz(range(number), 1, list(READERS), tmp_path)
    assert tally.wrong == {}
    assert tally.counts == dict.fromkeys(READERS, 5)
    assert not list(tmp_path.iterdir())


def test_the_same_seed_draws_the_same_inputs():
    readers = list(READERS)
    first = [draw(7, number, readers) for number in range(len(readers))]
    # a file of SQLite and a workbook hold the time at which they were made
    timed = {"sqlite", "xlsx"}
    again = [draw(7, number, readers) for number in range(len(readers))]
    assert [one for one in first if one.reader not in timed] == [one for one in again if one.reader not in timed]
    assert len({one.content for one in first}) == len(readers)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("oh"), "RuntimeError: oh"),
        (InputError("Binder Error: no such column"), "says 'Binder Error: '"),
        (InputError(""), "an error without words"),
    ],
)
def test_an_error_of_any_other_kind_is_found_and_made_small(tmp_path, monkeypatch, error, said):
    """Even the smallest file with a comma in it."""

    def fail(data, **options):
        del options
        if b"," in Path(data).read_bytes():
            raise error
        raise InputError("no comma")

    case = Case("csv", b"task,worker,label\na,b,c\n", 1)
    assert fault(case) == ""
    with monkeypatch.context() as patched:
        patched.setattr(crowdopt, "prove", fail)
        found = fault(case)
        assert said in found
        small = smallest(case, lambda other: said in fault(other), tries=100)
    assert small.content == b","
    path = store(small, found, tmp_path)
    assert Case.from_dict(json.loads(path.read_text(encoding="utf-8"))) == small


def test_a_file_that_is_left_behind_is_found(monkeypatch):
    def litter(name, choice):
        del choice
        Path(f"{name}.bak").touch()
        return ""

    monkeypatch.setitem(READERS, "csv", fuzz_readers.Reader("r.csv", READERS["csv"].make, litter))
    assert fault(Case("csv", b"x", 1)) == "leaves ['r.csv.bak'] behind"


def test_a_confirmed_lie_is_found():
    true = fuzz_readers.true_solution("solution")
    lie = json.loads(true)
    lie["certificate"]["objective"] += 0.01
    assert fuzz_readers.about_meaning(true, true) == ""
    assert fuzz_readers.about_meaning(json.dumps(lie).encode(), true) == "CONFIRMED, but /certificate/objective differs"


def test_a_process_that_dies_is_found(monkeypatch, tmp_path):
    def die(name, choice):
        del name, choice
        os.abort()

    monkeypatch.setattr(fuzz, "FINDINGS", tmp_path)
    monkeypatch.setitem(READERS, "csv", fuzz_readers.Reader("r.csv", READERS["csv"].make, die))
    tally = fuzz.watched(range(2), 1, ["csv"], (), tmp_path)
    assert tally.counts == {"csv": 2}
    assert [words.split(" -> ")[0] for words in tally.wrong.values()] == ["input 0: dies with 6"]
    assert len(list(tmp_path.iterdir())) == 2
