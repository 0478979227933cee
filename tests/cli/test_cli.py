"""The command line: what it prints and writes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

from crowdopt.cli.app import _NoPandas
from support.needs import need
from support.printed import unchecked
from support.small_files import PROGRAM, SMALL, process, write

COLUMNS = ["task", "label", "confidence", "margin", "margin_kind", "n_responses", "status"]


FACTS = {
    "proof", "stop", "space", "engine", "log_likelihood", "bound", "gap", "seconds", "n_tasks", "n_workers",
    "n_responses", "n_buckets", "labels", "scale", "scale_inferred", "matrix", "selectivity", "agreement",
    "fingerprint", "advice",
}  # fmt: skip


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_json_is_one_object_with_all_facts(small):
    done = process("prove", small, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    facts = json.loads(done.stdout)
    assert facts.keys() >= FACTS
    assert "accuracy" not in facts
    assert (facts["proof"], facts["stop"], facts["gap"]) == ("PROVED", "FINISHED", 0)
    assert (facts["n_tasks"], facts["n_workers"], facts["n_responses"], facts["n_buckets"]) == (3, 2, 5, 3)
    assert (facts["labels"], facts["scale"], facts["scale_inferred"]) == (["no", "yes"], "ordinal", True)
    assert facts["matrix"] == [[pytest.approx([2 / 3, 1 / 3]), [0, 1]]]


@pytest.mark.parametrize(
    ("name", "accuracy", "log_likelihood", "advised"),
    [
        ("ic", 0.9792, -317.3, False),
        ("bluebirds", 0.8056, -2550.4, False),
        ("sp_amt", 0.9420, -2828.5, False),
        ("mozafari", 0.7350, -1902.4, False),
        ("rte", 0.88625, -4391.9, False),
        ("temp", 0.9394, -2540.5, False),
        ("product", 0.6469, -7701.6, True),
        ("zencrowd_us", 0.7745, -5311.6, True),
    ],
)
def test_published_numbers_of_the_shared_sets(crowdopt, shared_set, name, accuracy, log_likelihood, advised):
    folder = shared_set(name)
    options = ("--duplicates", "all", "--truth", folder / "truth.csv", "--json")
    facts = json.loads(crowdopt("prove", folder / "responses.csv", *options))
    assert facts["proof"] == "PROVED"
    assert facts["accuracy"] == pytest.approx(accuracy, abs=1e-4)
    assert facts["log_likelihood"] == pytest.approx(log_likelihood, abs=0.1)
    assert any("--selectivity" in text for text in facts["advice"]) is advised
    for row in facts["matrix"][0]:
        assert sum(row) == pytest.approx(1)


def test_estimated_selectivity_mends_product(crowdopt, shared_set):
    folder = shared_set("product")
    options = ("--duplicates", "all", "--truth", folder / "truth.csv", "--selectivity", "estimate", "--json")
    facts = json.loads(crowdopt("prove", folder / "responses.csv", *options))
    assert facts["proof"] == "PROVED"
    assert facts["accuracy"] == pytest.approx(0.9055, abs=1e-4)
    assert facts["advice"] == []
    assert facts["selectivity"]["kind"] == "estimated"
    assert facts["selectivity"]["shares"] == facts["label_shares"]


def test_answers_have_their_columns_in_order_and_their_tasks_sorted(crowdopt, tmp_path):
    rows = [(task, worker, label, f"about {task}") for task, worker, label in reversed(SMALL)]
    data = write(tmp_path / "data.csv", rows, ("task", "worker", "label", "note"))
    answers = read(crowdopt("prove", data, "--keep", "note", "--probabilities", "-o", "-"))
    assert list(answers[0]) == [*COLUMNS, "p_no", "p_yes", "note"]
    assert [(row["task"], row["label"], row["note"]) for row in answers] == [
        ("a", "yes", "about a"), ("b", "no", "about b"), ("c", "no", "about c")
    ]  # fmt: skip
    assert [row["n_responses"] for row in answers] == ["2", "2", "1"]
    for row in answers:
        assert float(row["p_no"]) + float(row["p_yes"]) == pytest.approx(1)
        assert row["confidence"] == row[f"p_{row['label']}"]


def test_all_formats_hold_the_same_answers(crowdopt, varied, tmp_path):
    formats = {
        "csv": pyarrow.csv.read_csv,
        "tsv": lambda path: pyarrow.csv.read_csv(
            path, parse_options=pyarrow.csv.ParseOptions(delimiter="\t")
        ),
        "jsonl": pyarrow.json.read_json,
        "parquet": pyarrow.parquet.read_table,
    }  # fmt: skip
    tables = {}
    for name, load in formats.items():
        summary = crowdopt("prove", varied, "-o", tmp_path / f"answers.{name}")
        assert f"answers in {tmp_path / f'answers.{name}'}\n" in summary
        tables[name] = load(tmp_path / f"answers.{name}").to_pydict()
    assert list(tables["csv"]) == COLUMNS
    assert len(tables["csv"]["task"]) == 24
    assert all(table == tables["csv"] for table in tables.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["varied.csv", *(f"answers.{name}" for name in formats)]
    )


def test_a_column_kept_twice_is_kept_once(crowdopt, tmp_path):
    data = write(tmp_path / "data.csv", [(*row, "x") for row in SMALL], ("task", "worker", "label", "note"))
    answers = read(crowdopt("prove", data, "--keep", "note,note", "-o", "-"))
    assert list(answers[0]) == [*COLUMNS, "note"]


def test_pandas_is_blocked_once(crowdopt, small, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if not isinstance(one, _NoPandas)])
    for _ in range(2):
        crowdopt("prove", small, "-q")
    assert sum(isinstance(one, _NoPandas) for one in sys.meta_path) == 1


def test_folder_of_temporary_files_may_have_any_name(small, tmp_path):
    folder = tmp_path / "it's [1] * ?"
    folder.mkdir()
    done = process("prove", small, "-o", "-", environment={"TMPDIR": str(folder)})
    assert done.returncode == 0
    assert (done.stdout, done.stderr) == ((usual := process("prove", small, "-o", "-")).stdout, usual.stderr)
    assert list(folder.iterdir()) == []


def test_large_whole_numbers_order_responses(crowdopt, tmp_path):
    rows = [("a", 1, "no", 2**53), ("a", 1, "yes", 2**53 + 1), ("b", 1, "no", 1)]
    data = write(tmp_path / "data.csv", rows, ("task", "worker", "label", "time"))
    for which, label in {"first": "no", "last": "yes"}.items():
        options = ("--duplicates", which, "--order-by", "time", "--engine", "vote", "-o", "-")
        assert read(crowdopt("prove", data, *options))[0]["label"] == label


def test_missing_labels_of_the_truth_are_left_out(crowdopt, small, tmp_path):
    truth = write(tmp_path / "truth.csv", [("a", "yes"), ("b", "?"), ("b", ""), ("c", "yes")], ("task", "label"))
    facts = json.loads(crowdopt("prove", small, "--truth", truth, "--na", "?", "--json"))
    assert (facts["accuracy"], facts["n_truth"], facts["n_truth_unknown"]) == (0.5, 2, 0)


def test_dash_prints_csv_and_nothing_else(small, tmp_path):
    process("prove", small, "-o", tmp_path / "answers.csv")
    done = process("prove", small, "-o", "-")
    assert done.returncode == 0
    assert all(line.startswith(b"crowdopt: CHECK: ") for line in done.stderr.splitlines())
    assert done.stdout == (tmp_path / "answers.csv").read_bytes()


def test_task_without_a_usable_label_has_no_response(crowdopt, tmp_path):
    data = write(tmp_path / "data.csv", [*SMALL, ("d", "ann", ""), ("d", "bob", "?")])
    answers = read(crowdopt("prove", data, "--missing", "drop", "--na", "?", "-o", "-"))
    assert answers[-1] == dict.fromkeys(COLUMNS, "") | {"task": "d", "n_responses": "0", "status": "no_response"}
    assert [row["status"] for row in answers[:-1]] == ["ok", "ok", "ok"]


def test_equally_likely_labels_are_a_tie(crowdopt, tmp_path):
    # Both unanimous tasks are certain; the split one may join either with the same likelihood.
    rows = [("a", 1, "no"), ("a", 2, "no"), ("b", 1, "no"), ("b", 2, "yes"), ("c", 1, "yes"), ("c", 2, "yes")]
    answers = read(crowdopt("prove", write(tmp_path / "data.csv", rows), "-o", "-"))
    assert [row["status"] for row in answers] == ["ok", "tie", "ok"]
    assert float(answers[1]["margin"]) == pytest.approx(0, abs=1e-9)


def test_summary_says_what_was_proved_and_how_to_get_answers(small):
    done = process("prove", small, environment={"FORCE_COLOR": "1"}, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PROVED" in done.stdout
    assert "add -o answers.csv" in done.stdout


@pytest.mark.parametrize(
    ("command", "n_labels", "columns", "fits"),
    [("aggregate", 12, 80, False), ("aggregate", 12, 130, True), ("aggregate", 7, 80, True),
     ("aggregate", 2, 24, False), ("prove", 12, 80, False), ("prove", 7, 80, True)],
)  # fmt: skip
def test_how_workers_answer_is_printed_where_it_fits(tmp_path, command, n_labels, columns, fits):
    """No number is cut: without the room for all of them there is one line instead."""
    rows = [(f"t{t:02}", f"w{w}", f"l{(t + (t + w) % 5 // 4) % n_labels:02}") for t in range(24) for w in range(4)]
    engine = ["--engine", "vote"] if command == "prove" else []
    data = write(tmp_path / "data.csv", rows)
    said = process(command, data, *engine, environment={"COLUMNS": str(columns)}, text=True).stdout
    assert ("tasks labelled" in said, "the report has it (--report FILE.html)" in said) == (fits, not fits)
    cells = [cell for line in said.splitlines() if line.startswith("│ l") for cell in line.split("│")[2:-1]]
    assert len(cells) == fits * n_labels**2
    assert all(cell.endswith("% ") for cell in cells)


def test_sentences_of_the_summary_are_not_broken(crowdopt, tmp_path):
    target = tmp_path / ("long " * 30 + ".csv")
    lines = unchecked(crowdopt("prove", write(tmp_path / "data.csv", SMALL), "-o", target))
    assert lines[0].startswith("PROVED: the most likely among all possible answers; log-likelihood -1.9")
    assert lines[0].endswith(" s)")
    assert lines[-1] == f"answers in {target}"


@pytest.mark.parametrize("command", ["prove", "verify"])
def test_quiet_prints_nothing(crowdopt, small, tmp_path, command):
    saved = tmp_path / "solution.json"
    assert crowdopt("prove", small, "--solution", saved, "--quiet") == ""
    assert crowdopt(*(["verify", saved, small] if command == "verify" else ["prove", small]), "-q") == ""


def test_labels_that_standard_output_cannot_show_do_not_fail(tmp_path):
    data = write(tmp_path / "data.csv", [("a", 1, "да"), ("b", 1, "нет")])
    done = process("prove", data, "--json", environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["labels"] == ["да", "нет"]


def test_reader_that_goes_away_is_no_error(tmp_path):
    command = f"'{PROGRAM}' simulate --tasks 50000 -o - | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"task,worker,label\n", b"")


def test_time_limit_bounds(crowdopt, varied):
    options = ("--selectivity", "estimate", "--json")
    stopped = json.loads(crowdopt("prove", varied, *options, "--time-limit", "0"))
    assert (stopped["proof"], stopped["stop"]) == ("BOUNDED", "TIME")
    assert stopped["gap"] == pytest.approx(stopped["bound"] - stopped["log_likelihood"])
    assert stopped["gap"] > 0
    finished = json.loads(crowdopt("prove", varied, *options))
    assert (finished["proof"], finished["stop"]) == ("PROVED", "FINISHED")
    assert stopped["log_likelihood"] <= finished["log_likelihood"] <= stopped["bound"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_same_seed_same_crowd(crowdopt, tmp_path, suffix):
    made = []
    for run, seed in enumerate((1, 1, 2)):
        target, truth = tmp_path / f"{run}.{suffix}", tmp_path / f"truth{run}.{suffix}"
        said = crowdopt("simulate", "-o", target, "--truth", truth, "--tasks", 20, "--responses", "2-4", "--seed", seed)
        assert said.startswith(tuple("456789")), said  # 40 to 80 responses
        assert str(truth) in said
        made.append((target.read_bytes(), truth.read_bytes()))
    assert made[0] == made[1]
    assert made[0][0] != made[2][0]
    assert made[0][1] != made[2][1]


def test_simulated_crowds_of_every_kind(crowdopt, tmp_path):
    from crowdopt.studies.simulate import crowd

    target = tmp_path / "crowd.csv"
    options = ["--labels", "1,2,3", "--tasks", 30, "--responses", "1-4", "--seed", 6]
    said = crowdopt("simulate", "-o", target, *options, "--kind", "mlr", "--experts", 4, "--skew", 1.5)
    assert "of whom w01 to w04 are experts" in said
    again = crowd(30, 50, (1, 4), labels=("1", "2", "3"), kind="mlr", experts=4, skew=1.5, seed=6)
    rows = [line.split(",") for line in target.read_text().splitlines()]
    assert rows[0] == ["task", "worker", "label"]
    assert [row[2] for row in rows[1:]] == again.label.tolist()
    made = {kind: crowdopt("simulate", "-o", "-", *options, "--kind", kind) for kind in ("any", "diagonal", "mlr")}
    assert made["diagonal"] == crowdopt("simulate", "-o", "-", *options)
    assert len(set(made.values())) == 3


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["prove", "data.csv"], ""),
        (["prove", "data.csv", "-o", "-"], ""),
        (["simulate", "-o", "-"], ""),
        (["--help"], ""),
        (["aggregate", "data.csv", "-o", "o.csv", "--solution", "s.json"], "; written: s.json, o.csv"),
    ],
    ids=str,
)
def test_a_full_device_is_one_line_that_says_what_was_written(arguments, written, tmp_path):
    need(Path("/dev/full").exists(), "/dev/full")
    (tmp_path / "data.csv").write_text("task,worker,label\na,v,yes\na,w,yes\nb,v,no\n")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crowdopt", *arguments],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == f"crowdopt: cannot write to standard output: No space left on device{written}\n"
    assert {path.name for path in tmp_path.iterdir()} == {
        "data.csv",
        *written.removeprefix("; written: ").split(", "),
    } - {""}


def test_simulated_crowd_can_be_piped(tmp_path):
    truth = tmp_path / "truth.csv"
    crowd = process("simulate", "-o", "-", "--truth", truth, "--tasks", 300, "--accuracy", "0.9", "--responses", "7")
    assert (crowd.returncode, crowd.stderr) == (0, b"")
    assert len(crowd.stdout.splitlines()) == 1 + 300 * 7
    done = process("prove", "-", "--truth", truth, "--json", input=crowd.stdout, stdin=None)
    facts = json.loads(done.stdout)
    assert (facts["proof"], facts["n_tasks"], facts["n_responses"]) == ("PROVED", 300, 2100)
    assert facts["accuracy"] > 0.97


@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_a_closed_input_or_error_output_is_no_traceback(tmp_path, closed):
    """Exit code 1 would read as REJECTED."""
    program = Path(sys.executable).parent / "crowdopt"
    source = "-" if closed == "<&-" else "nowhere.csv"
    done = subprocess.run(
        ["sh", "-c", f'"{program}" prove {source} {closed}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("crowdopt: cannot read standard input: it is closed\n" if closed == "<&-" else "")
