"""Nothing is read or written outside the paths that were named: every open of the whole program, seen by strace."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.hostile import responses, written
from support.needs import need

TRACED = (
    "openat,open,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,symlink,symlinkat,link,linkat,truncate"
)
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
BASE = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>")
PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')


def touched(folder, *words):
    """The paths that a command opens to read, and those that it writes, makes or removes, in a folder of its own."""
    log = folder / "strace.log"
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(temporary), "HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["strace", "-f", "-y", "-s", "4096", "-o", log, "-e", f"trace={TRACED}",
         sys.executable, "-m", "crowdopt", *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    read, changed = set(), set()
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        call = CALL.match(line)
        if call is None or call[3].startswith("-"):
            continue
        base = BASE.match(call[2])
        start = Path(base[1]) if base else folder
        paths = {Path(os.path.normpath(start / one.encode().decode("unicode_escape"))) for one in PATH.findall(call[2])}
        reads = call[1].startswith("open") and not re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", call[2])
        (read if reads else changed).update(paths)
    log.unlink()
    return done, read, changed


def inside(path, *folders):
    return any(path == folder or folder in path.parents for folder in folders)


@pytest.fixture
def folder(tmp_path):
    need(subprocess.run(["which", "strace"], capture_output=True, check=False).returncode == 0, "strace")
    (tmp_path / "out").mkdir()
    (tmp_path / "home" / ".cache").mkdir(parents=True, exist_ok=True)
    secret = tmp_path / "secret"  # the name of a column may have no dot
    secret.write_text("task,worker,label\nx,y,z\n")
    # Cells and names that are paths, patterns, addresses and functions of the database.
    texts = [str(secret), f"read_csv('{secret}')", f"file://{secret}", "*.csv", "http://127.0.0.1:9/secret.csv"]
    written(responses(texts).assign(**{f"FROM '{secret}'": str(secret)}), tmp_path / "r.csv")
    return tmp_path


def test_only_what_is_named_is_opened(folder):
    out = folder / "out"
    runs = [
        ("aggregate", "r.csv", "-o", "out/c.csv", "--solution", "out/c.json", "--report", "out/c.html"),
        ("verify", "out/c.json", "r.csv", "--answers", "out/c.csv"),
        ("prove", "r.csv", "-o", "out/a.csv", "--solution", "out/s.json", "--report", "out/r.html"),
        ("prove", "r.csv", "-o", "out/a.parquet", "--keep", f"FROM '{folder / 'secret'}'"),
        ("verify", "out/s.json", "r.csv"),
    ]
    for words in runs:
        done, read, changed = touched(folder, *words)
        assert done.returncode == 0, done.stderr
        assert folder / "secret" not in read
        assert folder / "r.csv" in read
        # Compiled loops are kept where SECURITY.md says.
        own = (out, folder / "temporary", folder / "home" / ".cache" / "crowdopt", Path("/dev"), Path("/proc"))
        strange = {path for path in changed if not inside(path, *own)}
        assert {path for path in strange if "__pycache__" not in path.parts} == set()
        assert list((folder / "temporary").iterdir()) == []
    names = {"c.csv", "c.json", "c.html", "a.csv", "s.json", "r.html", "a.parquet"}
    assert {one.name for one in out.iterdir()} == names


def test_files_that_an_export_names_are_not_opened(folder):
    secret = str(folder / "secret")
    result = [{"from_name": "s", "to_name": "text", "type": "choices", "value": {"choices": ["yes"]}}]
    tasks = [
        {"id": n, "data": {"image": secret, "text": f"file://{secret}"}, "file_upload": secret,
         "annotations": [{"id": n, "completed_by": 1, "result": result}]}
        for n in range(3)
    ]  # fmt: skip
    (folder / "export.json").write_text(json.dumps(tasks))
    done, read, _ = touched(folder, "prove", "export.json", "--json")
    assert done.returncode == 0, done.stderr
    assert folder / "export.json" in read
    assert Path(secret) not in read
