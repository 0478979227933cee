"""Reports from the command line."""

from __future__ import annotations

import json
import re

import pytest

import crowdopt
from crowdopt import Solution
from crowdopt.errors import CrowdoptError
from support.commands import Text, run
from support.reports import crowd

# ---- The command line ----


def test_prove_writes_a_report_that_names_the_command(files, tmp_path):
    target = tmp_path / "out.html"
    out, _ = run("prove", files / "responses.csv", "--truth", files / "half.csv", "--keep", "text", "--report", target)
    assert f"report in {target}" in out.replace("\n", "")
    page = Text(target.read_text(encoding="utf-8"))
    assert f"crowdopt prove {files / 'responses.csv'} --truth" in page.text
    assert "30 tasks have no truth, and do not count." in page.text


def test_report_makes_the_same_page_from_a_solution_file(files, tmp_path):
    direct = crowdopt.prove(files / "responses.csv", keep=["text"])
    direct.report(tmp_path / "direct.html")
    out, _ = run("report", files / "solution.json", files / "responses.csv", "-o", tmp_path / "again.html")
    assert out.startswith(f"report in {tmp_path / 'again.html'}; it shows what ")
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("direct.html", "again.html")]
    not_in_the_file = re.compile(r'<pre.*?</pre>|<p class="warning".*?</p>|<div><dt>next best.*?</div>', re.DOTALL)
    without = [not_in_the_file.sub("", page) for page in pages]
    assert Text(without[0]).text == Text(without[1]).text


def test_report_makes_the_same_page_of_a_consensus(files, tmp_path):
    options = ["--truth", files / "half.csv"]
    paths = {name: tmp_path / name for name in ("solution.json", "direct.html", "again.html")}
    run(
        "aggregate", files / "responses.csv", "--keep", "text", *options,
        "--solution", paths["solution.json"], "--report", paths["direct.html"], "-q",
    )  # fmt: skip
    run("report", paths["solution.json"], files / "responses.csv", *options, "-o", paths["again.html"], "-q")
    pages = [paths[name].read_text(encoding="utf-8") for name in ("direct.html", "again.html")]
    without = [re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL) for page in pages]
    assert without[0] == without[1]
    assert "Do the probabilities mean what they say?" in without[0]


def test_report_with_a_truth(files, tmp_path):
    run(
        "report",
        files / "solution.json",
        files / "responses.csv",
        "-o",
        tmp_path / "r.html",
        "--truth",
        files / "truth.csv",
        "-q",
    )
    assert "of 60 tasks with a known truth are right" in Text((tmp_path / "r.html").read_text(encoding="utf-8")).text


def test_a_solution_of_another_version_is_refused(files, tmp_path):
    data = json.loads((files / "solution.json").read_text(encoding="utf-8")) | {"format_version": 99}
    (tmp_path / "new.json").write_text(json.dumps(data), encoding="utf-8")
    _, error = run("report", tmp_path / "new.json", files / "responses.csv", "-o", tmp_path / "r.html", code=2)
    assert "format version 99" in error
    assert not (tmp_path / "r.html").exists()


def test_a_report_without_tasks_is_refused(files, tmp_path):
    with pytest.raises(CrowdoptError, match="give the data"):
        Solution.load(files / "solution.json").report(tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_a_report_of_other_data_is_refused(files, tmp_path):
    crowd(10, 3, (3, 4), 40).to_csv(tmp_path / "other.csv", index=False)
    _, error = run("report", files / "solution.json", tmp_path / "other.csv", "-o", tmp_path / "r.html", code=2)
    assert "not the responses that the solution was made from" in error
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("folder.html", "it is a folder"),
        (".", "it is a folder"),
        ("missing/out.html", "does not exist"),
        ("out.txt", "must end in .html, .htm"),
        ("out.csv", "must end in .html, .htm"),
    ],
)
@pytest.mark.parametrize("command", ["prove", "compare"])
def test_a_bad_place_is_refused_before_any_work(command, target, words, files, tmp_path):
    (tmp_path / "folder.html").mkdir()
    others = ["-o", tmp_path / "answers.csv"] if command == "prove" else []
    _, error = run(command, files / "responses.csv", "--report", tmp_path / target, *others, code=2)
    assert words in error
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.html"]


def test_a_truth_of_other_tasks_is_refused(files, tmp_path):
    (tmp_path / "truth.csv").write_text("task,label\nnobody,1\n", encoding="utf-8")
    for command in ("prove", "compare"):
        _, error = run(
            command, files / "responses.csv", "--truth", tmp_path / "truth.csv", "--report", tmp_path / "r.html", code=2
        )
        assert "the truth names none of the tasks" in error
    assert not (tmp_path / "r.html").exists()
