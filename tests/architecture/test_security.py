"""What the package never does: run or unpickle what it reads, start a shell, fetch anything. SECURITY.md says why."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import crowdopt

SOURCE = Path(crowdopt.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

RUNS = {"eval", "exec", "compile", "__import__", "execfile"}
"""Built-in functions that turn text into code."""

UNPACKS = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle", "yaml"}
"""Modules whose files can hold code."""

FETCHES = {
    "aiohttp", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "socketserver", "ssl", "telnetlib",
    "urllib.request", "urllib3", "webbrowser", "xmlrpc",
}  # fmt: skip
"""Modules that speak to a network; addresses of databases are split by ``urllib.parse`` and given to their drivers."""

STARTS = {
    "os.system", "os.popen", "os.execv", "os.execve", "os.execvp", "os.execl", "os.spawnl", "os.spawnv", "pty.spawn",
    "subprocess.getoutput", "subprocess.getstatusoutput",
}  # fmt: skip
"""Functions that start a shell, or another program without saying which arguments are arguments."""

ALLOWED = {
    ("_parallel.py", "imports pickle"),  # through pipes between this program and processes that it started itself
    ("results/cluster/sent.py", "imports pickle"),  # between the driver and the executors of the user's cluster
    (
        "results/workers/spark.py",
        "imports pyspark.cloudpickle",
    ),  # how Spark sends functions of this package to its executors
}
"""Every exception, each explained in SECURITY.md."""


def findings(code: str) -> set[str]:
    """What some code does that this package must not do."""
    return {found for node in ast.walk(ast.parse(code)) for found in (*_imports(node), *_calls(node))}


def _imports(node: ast.AST) -> list[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        if str(node.module).partition(".")[0] in UNPACKS | FETCHES:
            names = [str(node.module)]
    found = []
    for name in names:
        parts = name.split(".")
        roots = {parts[0], ".".join(parts[:2])}
        if roots & (UNPACKS | FETCHES) or UNPACKS & set(parts):
            found.append(f"imports {name}")
    return found + [f"imports {name}" for name in names if name in STARTS]


def _calls(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.Call):
        return []
    called = ast.unparse(node.func)
    found = [f"calls {called}"] if called in RUNS | STARTS or called.removeprefix("builtins.") in RUNS else []
    for keyword in node.keywords:
        constant = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg in {"shell", "allow_pickle"} and not constant:
            found.append(f"{keyword.arg}={ast.unparse(keyword.value)}")
    if called.endswith("import_module") and not _names_a_module(node.args[0]):
        found.append(f"imports by a name that is {ast.unparse(node.args[0])}")
    return found


def _names_a_module(name: ast.expr) -> bool:
    """Whether what is imported by name begins with a name that stands in the code."""
    start = name.values[0] if isinstance(name, ast.JoinedStr) else name
    return isinstance(start, ast.Constant) and str(start.value).startswith(("crowdopt.", "adbc_driver_"))


def test_no_code_runs_or_unpickles_or_fetches_anything():
    assert len(FILES) > 100
    found = {
        (path.relative_to(SOURCE).as_posix(), finding)
        for path in FILES
        for finding in findings(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import pickle as harmless",
        "from pyspark import cloudpickle",
        "from pyspark.cloudpickle import dumps",
        "import numpy as np; np.load('x.npy', allow_pickle=True)",
        "np.load('x.npy', allow_pickle=wanted)",
        "import yaml; yaml.load(text)",
        "eval(text)",
        "import builtins; builtins.exec(text)",
        "__import__(name)",
        "compile(text, '', 'eval')",
        "from importlib import import_module; import_module(name)",
        "import_module(f'{name}.dbapi')",
        "import os; os.system(text)",
        "from os import system",
        "import subprocess; subprocess.run(text, shell=True)",
        "import urllib.request",
        "from urllib.request import urlopen",
        "from urllib import request",
        "import http.client",
        "import socket",
    ],
)
def test_each_of_them_would_be_found(code):
    assert findings(code)


@pytest.mark.parametrize(
    "code",
    [
        "from urllib.parse import quote",
        "import re; re.compile('x')",
        "import subprocess; subprocess.run(['ls'], shell=False)",
        "import_module('crowdopt.pipeline')",
        "model.eval()",
    ],
)
def test_and_nothing_else(code):
    assert not findings(code)


def test_templates_fetch_nothing():
    for path in [path for kind in ("html", "css", "js") for path in SOURCE.rglob(f"*.{kind}")]:
        text = path.read_text(encoding="utf-8")
        for fetching in ("<script src", "<link ", "@import", "url(", "fetch(", "XMLHttpRequest", "eval(", "Function("):
            assert fetching not in text, path
