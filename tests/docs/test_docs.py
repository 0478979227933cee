"""Every command and every piece of Python in the README and the docs runs, as it stands there."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crowdopt
from support.needs import ROOT
from support.reports import crowd
from support.servers import PASSWORD, server, to_sqlite

PROGRAM = Path(sys.executable).parent / "crowdopt"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

NOT_RUN = ("make demo", "make test", "pip install")
"""Commands that set things up: whoever runs these tests has run them."""

LESS = {
    "compare": ["--methods", "opt-all,vote,em"],
    "reproduce": ["--trials", "2", "--only", "fig3a"],
}
"""What is added to commands that would take minutes."""


def blocks(page, kind):
    return [body for name, body in BLOCK.findall(page.read_text(encoding="utf-8")) if name == kind]


def commands(page):
    return [
        line.removeprefix("$ ")
        for body in blocks(page, "console")
        for line in body.splitlines()
        if line.startswith("$ ")
    ]


@pytest.fixture
def files(prepared, tmp_path):
    """The files that the pages speak of, for one page: it may write others in their place."""
    return Path(shutil.copytree(prepared, tmp_path / "docs"))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "tests" / "samples", folder, dirs_exist_ok=True)
    responses = crowd(60, 2, (3, 5), 70, names=["no", "yes"])
    responses["tier"] = np.where(responses["kind"] == "a", "gold", "silver")
    responses["question"] = np.where(responses["task"] < "t0030", "is it blue?", "is it a bird?")
    truth = responses.groupby("task", as_index=False)["label"].agg(lambda labels: sorted(labels)[len(labels) // 2])
    workers = sorted(responses["worker"].unique())
    rng = np.random.default_rng(71)
    skilled = pd.DataFrame(
        {"worker": workers, "class": ["expert" if k < 4 else "regular" for k in range(len(workers))]}
    )
    wide = responses.pivot_table(index="task", columns="worker", values="label", aggfunc="first").reset_index()
    tables = {
        "responses": responses,
        "tomorrow": responses[responses["task"] < "t0010"],
        "new-responses": responses[responses["task"] < "t0010"],
        "truth": truth,
        "gold": truth.iloc[:5],
        "workers": skilled,
        "experts": skilled,
        "mine": responses,
        "prior": pd.DataFrame({"label": ["no", "yes"], "no": [8, 2], "yes": [2, 8]}),
        "ratings": crowd(40, 5, (3, 3), 72),
        "categories": crowd(40, 3, (3, 3), 73, names=["cat", "dog", "owl"]),
        "scores": crowd(40, 3, (3, 3), 74).assign(label=lambda frame: rng.random(len(frame)).round(3)),
        "wide": wide,
        "jury": crowd(40, 3, (3, 3), 75, names=["poor", "fair", "good"]),
        "new-jury": crowd(10, 3, (3, 3), 76, names=["poor", "fair", "good"]),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    to_sqlite(pa.Table.from_pandas(responses, preserve_index=False), folder / "responses.db")
    solution = crowdopt.prove(folder / "responses.csv")
    solution.save(folder / "solution.json")
    solution.save(folder / "last-month.json")
    for name in ("IC", "PRODUCT"):
        (folder / name).mkdir()
        responses.to_csv(folder / name / "responses.csv", index=False)
        truth.to_csv(folder / name / "truth.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def environment(prepared):
    """Where the server is that the pages speak of, and its password."""
    server().run("CREATE DATABASE crowd")
    crowd_server = replace(server(), name="crowd")
    table = pa.Table.from_pandas(pd.read_csv(prepared / "responses.csv"), preserve_index=False)
    crowd_server.load(table, "responses")
    crowd_server.load(table.rename_columns({"task": "item"}), "judgements")
    return os.environ | {"PGPORT": str(server().port), "PGPASSWORD": PASSWORD}


def test_there_is_something_to_run():
    assert sum(len(commands(page)) for page in PAGES) > 30
    assert sum(len(blocks(page, "python")) for page in PAGES) > 5


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_commands_run(page, files, environment):
    for command in commands(page):
        if command.startswith(NOT_RUN):
            continue
        words = shlex.split(command, comments=True)
        assert words[0] == "crowdopt", command
        done = subprocess.run(
            [PROGRAM, *words[1:], *LESS.get(words[1], [])],
            cwd=files, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "index.md"], ids=lambda page: page.name)
def test_what_new_users_try_first_is_not_advised_against(page, tmp_path):
    simulated, n_aggregated = set(), 0
    for command in commands(page):
        words = shlex.split(command, comments=True)
        if words[:2] == ["crowdopt", "simulate"]:
            simulated.add(words[words.index("-o") + 1])
        elif words[:2] != ["crowdopt", "aggregate"] or words[2] not in simulated or "--json" in words:
            continue
        n_aggregated += words[1] == "aggregate"
        done = subprocess.run(
            [PROGRAM, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300
        )
        assert "warning" not in done.stdout, command
        assert "CHECK" not in done.stdout, command
    assert n_aggregated


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_runs(page, files, monkeypatch):
    monkeypatch.chdir(files)
    names: dict[str, object] = {}
    for body in blocks(page, "python"):
        exec(compile(body, page.name, "exec"), names)  # noqa: S102


def test_every_page_is_in_the_navigation_and_every_command_in_the_reference():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert f": {page.name}\n" in site
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    reference = build.commands()
    for name in (
        "aggregate",
        "prove",
        "verify",
        "simulate",
        "workers",
        "predict",
        "next",
        "report",
        "compare",
        "reproduce",
    ):
        assert f"## crowdopt {name}\n" in reference
    assert "| `--report FILE.html` |" in reference
    assert "--selectivity none\\|estimate\\|LABEL=P,..." in reference
    assert "--label-shares LABEL=P,..." in reference


def test_figures_in_the_docs_come_from_their_script():
    text = (ROOT / "docs" / "knowledge.md").read_text(encoding="utf-8")
    table = text.partition("<!-- which_options.py -->")[2].partition("<!-- end of which_options.py -->")[0]
    script = ROOT / "benchmarks" / "which_options.py"
    done = subprocess.run([sys.executable, script, "--quick"], capture_output=True, text=True, check=True, timeout=300)
    header = next(line for line in done.stdout.splitlines() if line.startswith("| crowd"))
    assert header in table
    assert table.count("\n| ") == 2 + 4 * 3
