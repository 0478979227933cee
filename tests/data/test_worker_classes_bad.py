"""Classes of workers that cannot be used: one line, and nothing is left."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crowdopt import prove
from crowdopt.cli.app import main
from crowdopt.errors import ClassError
from support.commands import prove_command, text
from support.worker_classes import CLASSES, crowd

# 4. Bad input.

DATA = text([tuple(row) for row in crowd().itertuples(index=False)], ("task", "worker", "label", "class"))


PLAIN = text([tuple(row[:3]) for row in crowd().itertuples(index=False)])


PAIRS = [*CLASSES.items()]


BAD = {
    "a worker in two classes, in the data": (
        DATA + b"t99,w0,yes,regular\n", ["--class", "class"], b"", ["worker 'w0' is in 2 classes: 'expert', 'regular'"]
    ),
    "a worker in two classes, in the file": (
        PLAIN, ["--classes", "classes.csv"], text([*PAIRS, ("w0", "regular")], ("worker", "class")),
        ["classes.csv: worker 'w0' is in two classes, 'expert' and 'regular'"],
    ),
    "a class with no responses": (
        PLAIN, ["--classes", "classes.csv"], text([*PAIRS, ("zoe", "guru")], ("worker", "class")),
        ["classes.csv: the class 'guru' has no responses"],
    ),
    "a class file for other workers": (
        PLAIN, ["--classes", "classes.csv"], text([("x", "expert"), ("y", "regular")], ("worker", "class")),
        ["classes.csv: worker 'w0' (and 5 more) has no class"],
    ),
    "a worker without a class": (
        PLAIN, ["--classes", "classes.csv"], text(PAIRS[:-1], ("worker", "class")),
        ["classes.csv: worker 'w5' has no class"],
    ),
    "ranks of an unknown class": (
        DATA, ["--class", "class", "--ranked", "guru,regular"], b"", ["'guru', which is not one of expert, regular"]
    ),
    "ranks that leave out a class": (
        DATA, ["--class", "class", "--ranked", "expert"], b"", ["--ranked must name every class", "'regular'"]
    ),
    "ranks that name a class twice": (
        DATA, ["--class", "class", "--ranked", "expert,expert"], b"", ["--ranked names a class twice"]
    ),
    "ranks without classes": (DATA, ["--ranked", "a,b"], b"", ["--ranked needs the classes", "--class", "--classes"]),
    "ranks without an order": (
        DATA, ["--class", "class", "--ranked", "expert,regular", "--space", "all"], b"", ["ranked classes matter only"]
    ),
    "no class in the data": (
        DATA + b"t99,w0,yes,\n", ["--class", "class", "--missing", "error"], b"",
        ["1 without a class", "--missing error"],
    ),
    "no class in the file": (
        PLAIN, ["--classes", "classes.csv"], text([*PAIRS[:-1], ("w5", "")], ("worker", "class")),
        ["classes.csv: the classes have a row without a worker or a class (worker 'w5')"],
    ),
    "no worker in the file": (
        PLAIN, ["--classes", "classes.csv"], text([*PAIRS, ("", "expert")], ("worker", "class")),
        ["without a worker or a class (class 'expert')"],
    ),
    "no rows in the file": (
        PLAIN, ["--classes", "classes.csv"], b"worker,class\n", ["classes.csv: the classes have no rows"]
    ),
    "no such column in the data": (
        DATA, ["--class", "clas"], b"", ["no column named 'clas' for the class; did you mean --class class?"]
    ),
    "no such column in the file": (
        PLAIN, ["--classes", "classes.csv"], text(PAIRS, ("worker", "tier")),
        ["classes.csv: no column named 'class'", "did you mean --class tier?"],
    ),
    "no such file": (PLAIN, ["--classes", "none.csv"], b"", ["no such file: none.csv"]),
    "a column twice": (DATA, ["--class", "worker"], b"", ["task, worker, label and class must be different columns"]),
    "a class for everyone": (
        text([(f"t{i % 9}", f"w{i}", "no", f"c{i}") for i in range(99)], ("task", "worker", "label", "class")),
        ["--class", "class"], b"", ["more than 32 classes of workers", "is it the right column?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(fails, name):
    data, options, classes, expected = BAD[name]
    files = {"data.csv": data} | ({"classes.csv": classes} if classes else {})
    message = fails(*prove_command(*options), files=files)
    for part in expected:
        assert part in message


@pytest.mark.parametrize("classes", [{"w0": None}, {"w0": float("nan")}, {}, {None: "x"}])
def test_classes_with_gaps_are_refused(classes):
    with pytest.raises(ClassError):
        prove(crowd(), classes=classes)


def test_the_classes_are_not_overwritten(monkeypatch, capsys, tmp_path):
    (tmp_path / "data.csv").write_bytes(PLAIN)
    (tmp_path / "classes.csv").write_bytes(text(PAIRS, ("worker", "class")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["crowdopt", "prove", "data.csv", "--classes", "classes.csv", "-o", "classes.csv"])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    assert "it is one of the inputs" in capsys.readouterr().err
    assert Path("classes.csv").read_bytes() == text(PAIRS, ("worker", "class"))
