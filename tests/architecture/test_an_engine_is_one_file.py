"""A new engine is one file and one line: all that reads them does so, in a copy of the package that has one more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crowdopt
from crowdopt.engines.registry import ENGINES, engine_named
from crowdopt.model.claims import CLAIMS, titles

FILE = '''
import numpy as np

from crowdopt.engines.base import Engine, Outcome


def commonest(problem, limits):
    """Gives every task the label that was answered most often."""
    label = problem.buckets.responses.sum(axis=(0, 1)).argmax()
    mapping = np.full(problem.buckets.n_buckets, label)
    value = problem.objective.of_mapping(problem.buckets, mapping)
    return Outcome(mapping, value, bound=None, space=problem.space, work=1)


def refuses(problem):
    return "is for at most 3 labels" if problem.buckets.n_labels > 3 else None


COMMONEST = Engine("commonest", commonest, refuses=refuses)
'''
LINE = '    "commonest": Claims("crowdopt.engines.commonest:COMMONEST", "the commonest label", PROMISE),\n'
SCRIPT = """
import json, sys
import pandas as pd
import crowdopt
from crowdopt.errors import InputError
from crowdopt.studies.compare.comparison import compare

frame = pd.DataFrame(
    [(t, w, a) for t, answers in enumerate(["yyy", "yyn", "ynn", "nnn", "yyy"]) for w, a in enumerate(answers)],
    columns=["task", "worker", "label"],
)
solution = crowdopt.prove(frame, engine="commonest")
solution.save("solution.json")
solution.report("report.html")
compared = compare(frame, methods=["commonest", "vote"])
try:
    crowdopt.solve([[1, 0, 0, 0]], engine="commonest")
except InputError as error:
    refused = str(error)
try:
    crowdopt.solve([[1, 0]], engine="nonsense")
except InputError as error:
    there_are = str(error)
found = crowdopt.verify("solution.json", frame)
print(json.dumps({
    "engine": solution.certificate.engine,
    "labels": solution.mapping.tolist(),
    "refused": refused,
    "there_are": there_are,
    "verdict": found.verdict, "reasons": found.reasons, "claim": found.claim,
    "compared": {one.method: [one.title, one.error] for one in compared.outcomes},
    "reported": "the commonest label" in open("report.html", encoding="utf-8").read(),
}))
"""


def run_with_one_more(folder: Path, promise: str) -> dict:
    """What the script prints with a copy of the package that has one more file, and one more line."""
    package = folder / "crowdopt"
    shutil.copytree(Path(crowdopt.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "engines" / "commonest.py").write_text(FILE, encoding="utf-8")
    table = package / "model" / "claims.py"
    before, brace, after = table.read_text(encoding="utf-8").partition("CLAIMS = {\n")
    assert brace
    table.write_text(before + brace + LINE.replace("PROMISE", promise) + after, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_one_file_and_one_line_are_all_there_is_to_do(tmp_path):
    found = run_with_one_more(tmp_path, "proves=False")
    assert (found["engine"], set(found["labels"])) == ("commonest", {1})
    assert found["refused"] == "engine 'commonest' is for at most 3 labels"
    assert "chain, columns, commonest, em," in found["there_are"]
    assert (found["verdict"], found["reasons"]) == ("CONFIRMED", [])
    assert found["claim"].startswith("UNPROVED: commonest gives log-likelihood")
    assert found["compared"] == {"commonest": ["the commonest label", None], "vote": ["majority vote", None]}
    assert found["reported"]


def test_verify_checks_what_the_line_promises(tmp_path):
    found = run_with_one_more(tmp_path, "majority=True")
    assert found["verdict"] == "REJECTED"
    assert "a label is not the majority's" in found["reasons"]


def test_every_line_leads_to_its_engine():
    assert {name for name, claims in CLAIMS.items() if claims.by_name} == ENGINES.keys()
    assert all(engine_named(name).name == name for name in CLAIMS)
    assert list(ENGINES) == sorted(ENGINES)


def test_engines_that_prove_nothing_have_a_title_and_no_others():
    assert titles().keys() == {name for name, claims in CLAIMS.items() if not claims.proves}


def test_a_line_that_leads_nowhere_is_an_error(monkeypatch):
    monkeypatch.setitem(CLAIMS, "nowhere", CLAIMS["vote"])
    with pytest.raises(TypeError, match="does not declare an engine 'nowhere'"):
        engine_named("nowhere")
