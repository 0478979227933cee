"""Tables in databases, and the command line that reads and writes them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from crowdopt.cli.app import main
from support.servers import server, to_sqlite

KINDS = ["postgresql", "sqlite"]


def database(kind, table, path, name="responses"):
    return server().load(table) if kind == "postgresql" else to_sqlite(table, path / "data.db", name)


@pytest.fixture
def program(monkeypatch, capsys):
    """The command line, in a folder of its own; in this process, since there are many runs."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def run(*arguments, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["crowdopt", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=said.out, stderr=said.err)

    return run
