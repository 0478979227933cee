"""The command line, run in this process or in one of its own, and what it printed or wrote."""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import pytest

from crowdopt.cli.app import main

PROGRAM = Path(sys.executable).parent / "crowdopt"


HEADER = ("task", "worker", "label")


def text(rows, header=HEADER):
    return "".join(",".join(row) + "\n" for row in [header, *rows]).encode()


@pytest.fixture
def fails(monkeypatch, capfd, tmp_path):
    """Runs a command that must fail, in a folder of its own; returns the message."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(*args, files):
        for name, content in files.items():
            Path(name).write_bytes(content)
        before = sorted(work.rglob("*"))
        monkeypatch.setattr(sys, "argv", ["crowdopt", *args])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capfd.readouterr()
        assert (exited.value.code, out) == (2, "")
        assert err.startswith("crowdopt: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert sorted(work.rglob("*")) == before
        assert list(temporary.iterdir()) == []
        return err

    return run


def prove_command(*options, output="answers.csv", solution="solution.json"):
    return ("prove", "data.csv", "-o", output, "--solution", solution, *options)


@pytest.fixture
def invoke(monkeypatch, capfd):
    """Runs the command line in this process: its exit code, and what it wrote on standard output and standard error."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["crowdopt", *map(str, args)])
        with pytest.raises(SystemExit) as exited:
            main()
        return exited.value.code or 0, *capfd.readouterr()

    return run


@pytest.fixture
def crowdopt(invoke):
    """Runs the command line in this process: what it wrote, which is on standard error if it refuses to work."""

    def run(*args, code=0):
        found, out, err = invoke(*args)
        assert found == code, err
        refused = [line for line in err.splitlines() if not line.startswith(("crowdopt: CHECK: ", "crowdopt: note: "))]
        assert bool(refused) == (code == 2), err
        return err if refused else out

    return run


VOID = {"meta", "br", "input", "line", "circle", "polyline", "polygon", "path", "rect"}


class Text(HTMLParser):
    """The words of a page and its parts; raises where a tag is not closed, or something could be loaded or run."""

    def __init__(self, page):
        super().__init__()
        self.words, self.ids, self.links, self.open, self.scripts = [], [], [], [], 0
        self.feed(page)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not {"src", "srcset", "xlink:href", "action"} & given.keys()
        assert not [name for name in given if name.startswith("on")]
        assert tag not in {"link", "iframe", "img", "object", "embed", "form", "image", "use"}
        self.ids += [given["id"]] if "id" in given and tag != "clippath" else []
        self.links += [given["href"]] if "href" in given else []
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def run(*args, code=0):
    """Runs the command line in this process: standard output and standard error, after checking the exit code."""
    out, err = io.StringIO(), io.StringIO()
    argv = mock.patch.object(sys, "argv", ["crowdopt", *map(str, args)])
    with argv, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as exited:
        main()
    assert (exited.value.code or 0) == code, err.getvalue()
    return out.getvalue(), err.getvalue()
