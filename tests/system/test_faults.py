"""Faults: whatever ends a run, no output is half written, and what is said is one line."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import crowdopt
from crowdopt.cli.console import KEEPING, Console
from crowdopt.errors import InputError
from crowdopt.results.write.files import check_target
from support.fault_commands import OUTPUTS, as_csv, left, rows

NOTHING = "crowdopt: interrupted; nothing was written\n"


# Ctrl-C and SIGTERM, phase by phase.


@pytest.mark.parametrize(
    ("phase", "args"),
    [
        ("reading", ["prove", "data.csv", *OUTPUTS]),
        ("coding", ["aggregate", "data.csv", *OUTPUTS]),
        ("weighing", ["aggregate", "data.csv", *OUTPUTS]),
        ("writing", ["aggregate", "data.csv", *OUTPUTS]),
        ("weighing", ["aggregate", "data.csv", "--group", "batch", *OUTPUTS]),
        ("counting", ["prove", "data.csv", *OUTPUTS]),
        ("writing", ["prove", "data.csv", *OUTPUTS]),
        ("counting", ["prove", "data.csv", "--group", "batch", *OUTPUTS]),
        ("verifying", ["verify", "made.json", "data.csv"]),
        ("running majority vote", ["compare", "data.csv", "--methods", "vote"]),
        ("measuring", ["workers", "made.json", "data.csv", "-o", "workers.csv", "--confusion", "confusion.csv"]),
        ("writing", ["predict", "made.json", "data.csv", "-o", "predictions.csv"]),
        ("ranking", ["next", "made.json", "data.csv", "-o", "next.csv"]),
        ("simulating", ["simulate", "-o", "crowd.csv", "--truth", "truth.csv"]),
        ("writing", ["simulate", "-o", "crowd.csv", "--truth", "truth.csv"]),
    ],
)
def test_interrupt_in_a_phase_writes_nothing(phase, args, faulty, ending, tmp_path):
    number, word, code = ending
    Path("data.csv").write_text(as_csv(rows(20)))
    crowdopt.prove("data.csv").save("made.json")
    seen = []

    def interrupt():
        seen.append(phase)
        os.kill(os.getpid(), number)

    faulty.on_phase(phase, interrupt)
    assert faulty(*args) == (code, "", f"crowdopt: {word}; nothing was written\n")
    assert seen
    assert left() == ["data.csv", "made.json"]
    assert left(tmp_path / "temporary") == []


KEPT = "the best answers so far were kept", "all answers were found and kept"


def signalled_in_phase(number, faulty, *args):
    """What each run of a command gives that a signal meets as its first phase begins, as its second one, and so on."""
    old, seen, when = Console.on_phase, [], 0

    def on_phase(console, name):
        old(console, name)
        seen.append(name)
        if len(seen) == when:
            os.kill(os.getpid(), number)

    faulty.monkeypatch.setattr(Console, "on_phase", on_phase)
    while True:
        seen.clear()
        when += 1
        result = faulty(*args)
        if len(seen) < when:
            assert result[0] == 0
            break
        yield seen[when - 1], result


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ("aggregate data.csv -o a.csv --report a.html --truth truth.csv", ()),
        ("aggregate data.csv -o a.csv --group batch", ()),
        ("prove data.csv -o a.csv --report a.html --truth truth.csv", KEPT),
        ("prove data.csv -o a.csv --engine vote", KEPT[1:]),
        ("prove data.csv -o a.csv --find-classes 2", KEPT),
        ("prove data.csv -o a.csv --group batch", KEPT),
        ("compare data.csv --methods vote --report c.html --truth truth.csv", ()),
        ("report made.json data.csv -o r.html --truth truth.csv", ()),
        ("workers made.json data.csv -o w.csv", ()),
        ("predict made.json data.csv -o p.csv", ()),
        ("next made.json data.csv -o n.csv", ()),
        ("verify made.json data.csv", ()),
        ("simulate -o crowd.csv", ()),
    ],
)
def test_only_prove_keeps_answers_when_it_is_terminated_and_whatever_ends_in_a_phase_says_so(args, told, faulty):
    Path("data.csv").write_text(as_csv(rows(20)))
    Path("truth.csv").write_text("task,label\nt0,yes\nt1,no\n")
    crowdopt.prove("data.csv").save("made.json")
    there, said = left(), set()
    for phase, (code, _, err) in signalled_in_phase(signal.SIGTERM, faulty, *args.split()):
        last = err.splitlines()[-1].removeprefix("crowdopt: terminated; ")
        assert code == 143, phase
        if told and phase in KEEPING:
            assert last in told, phase
            assert "a.csv" in left(), phase
            said.add(phase)
        else:
            assert (last, left()) == ("nothing was written", there), phase
        for name in {*left()} - {*there}:
            Path(name).unlink()
    assert bool(said) is bool(told)


@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("crowdopt.results.write.files.copy_query", 1),
        ("crowdopt.results.write.files.copy_query", -1),
        ("pathlib.Path.write_text", -1),
        ("crowdopt.report.write_report.gather", 1),
        ("crowdopt.report.write_report.render", 1),
    ],
)
def test_interrupt_while_outputs_are_written_leaves_the_old_ones(place, when, faulty, ending, tmp_path):
    number, word, code = ending
    nothing = f"crowdopt: {word}; nothing was written\n"
    Path("data.csv").write_text(as_csv(rows(20)))
    for name in ("answers.csv", "solution.json", "report.html"):
        Path(name).write_text("old")
    faulty.interrupt(place, when, number)
    assert faulty("prove", "data.csv", *OUTPUTS, "--report", "report.html") == (code, "", nothing)
    assert left() == ["answers.csv", "data.csv", "report.html", "solution.json"]
    assert {Path(name).read_text() for name in ("answers.csv", "solution.json", "report.html")} == {"old"}
    assert left(tmp_path / "temporary") == []


@pytest.mark.parametrize(
    ("place", "when"),
    [("pathlib.Path.replace", 1), ("pathlib.Path.replace", -1), ("crowdopt.cli.console.print_result", 1)],
)
def test_interrupt_after_the_outputs_are_written_says_so(place, when, faulty, ending):
    number, word, code = ending
    Path("data.csv").write_text(as_csv(rows(20)))
    faulty.interrupt(place, when, number)
    said = f"crowdopt: {word}; written: solution.json, answers.csv\n"
    assert faulty("prove", "data.csv", *OUTPUTS) == (code, "", said)
    assert left() == ["answers.csv", "data.csv", "solution.json"]
    assert crowdopt.verify("solution.json", "data.csv").verdict.value == "CONFIRMED"


def test_a_second_interrupt_while_solving_writes_nothing(faulty, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    faulty.interrupt("crowdopt.results.solve_counts.run")
    faulty.interrupt("crowdopt.results.solve_counts.run")
    assert faulty("prove", "data.csv", *OUTPUTS) == (130, "", NOTHING)
    assert left() == ["data.csv"]
    assert left(tmp_path / "temporary") == []


def test_interrupt_ends_the_process_of_a_method(faulty, tmp_path):
    Path("data.csv").write_text(as_csv(rows(20)))
    started, communicate = [], subprocess.Popen.communicate

    def interrupted(process, *args, **kwargs):
        started.append(process)
        os.kill(os.getpid(), signal.SIGINT)
        return communicate(process, *args, **kwargs)

    faulty.monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    assert faulty("compare", "data.csv", "--methods", "vote") == (130, "", NOTHING)
    assert [process.returncode for process in started] == [-signal.SIGKILL]
    assert left(tmp_path / "temporary") == []


# Outputs together, and what a message says of them.


def test_an_output_that_cannot_take_its_place_names_those_that_did(faulty):
    Path("data.csv").write_text(as_csv(rows(20)))
    faulty.fault("pathlib.Path.replace", lambda: Path("answers.csv").mkdir(), when=-1)
    said = "crowdopt: cannot write answers.csv: Is a directory; written: solution.json\n"
    assert faulty("prove", "data.csv", *OUTPUTS) == (2, "", said)
    assert left() == ["answers.csv", "data.csv", "solution.json"]


@pytest.mark.parametrize("there", [True, False], ids=["file", "nothing"])
def test_a_link_stays_a_link(there, faulty):
    Path("data.csv").write_text(as_csv(rows(20)))
    Path("elsewhere").mkdir()
    for name in ("answers.csv", "solution.json"):
        if there:
            Path("elsewhere", name).write_text("old")
        Path(name).symlink_to(Path("elsewhere", name))
    assert faulty("prove", "data.csv", *OUTPUTS, "-q")[0] == 0
    assert Path("answers.csv").is_symlink()
    assert Path("solution.json").is_symlink()
    assert left("elsewhere") == ["answers.csv", "solution.json"]
    assert crowdopt.verify("elsewhere/solution.json", "data.csv").verdict.value == "CONFIRMED"


def test_messages_name_the_output_as_the_user_does(faulty):
    Path("data.csv").write_text(as_csv(rows(20)))
    Path("device.csv").symlink_to("/dev/full")
    Path("lost.csv").symlink_to("nowhere/lost.csv")
    expected = {
        "/sys/a.csv": "cannot write /sys/a.csv: ",
        "/dev/full": "cannot write '/dev/full': the name must end in",
        "device.csv": "cannot write device.csv: it is a device or a pipe, and no file",
        "lost.csv": "cannot write lost.csv: the folder ",
    }
    for target, words in expected.items():
        code, out, err = faulty("prove", "data.csv", "-o", target)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"crowdopt: {words}")
        assert ".tmp" not in err


def test_two_links_to_one_file_are_not_two_outputs(faulty):
    for name in ("a.csv", "b.csv"):
        Path(name).symlink_to("same.csv")
    assert faulty("simulate", "-o", "a.csv", "--truth", "b.csv")[0] == 2


@pytest.mark.parametrize(
    ("name", "said"), [("a" * 300 + ".csv", "File name too long"), ("loop.csv", "it is a link that leads to itself")]
)
def test_an_output_that_cannot_be_is_refused_before_any_work(tmp_path, name, said):
    target = tmp_path / name
    if name == "loop.csv":
        target.symlink_to(target)
    with pytest.raises(InputError, match=said):
        check_target(target, (".csv",))
