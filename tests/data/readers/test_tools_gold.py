"""Known labels that an export brings: they measure the answers, and are pinned only if the user says so."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

import crowdopt
from crowdopt.data.readers.tools import TOOL_NAMES, tool_named
from crowdopt.errors import GoldError, InputError
from support.needs import SAMPLES
from support.servers import to_sqlite

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

PLAIN = SAMPLES / "responses.csv"
SENTIMENT = {"question": "sentiment"}
GOLD = {"t0": "Positive", "t1": "Negative"}

ROWS = [
    (task, worker, "dog" if (task + (worker == task % 4 and task % 3 == 0)) % 2 else "cat")
    for task in range(40)
    for worker in range(4)
]
"""Forty tasks of four workers: odd ones are dogs, and one worker errs on a third of the tasks."""


def toloka(path: Path, known: dict[int, str], rows=ROWS) -> Path:
    """An export of Toloka in which some tasks are control tasks."""
    names = ["INPUT:image", "OUTPUT:animal", "GOLDEN:animal", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id"]
    with (path / "toloka.tsv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow([*names, "ASSIGNMENT:status"])
        for task, worker, label in rows:
            writer.writerow([f"{task}.png", label, known.get(task, ""), f"t{task}", f"w{worker}", "APPROVED"])
    return path / "toloka.tsv"


def label_studio(path: Path, known: dict[int, str], rows=ROWS, expert: int = 99) -> Path:
    """An export of Label Studio in which an expert marks annotations as ground truth."""
    tasks: dict[int, list] = {}
    starred = [(task, expert, label) for task, label in known.items()]
    for number, (task, worker, label) in enumerate([*rows, *starred]):
        result = {"from_name": "animal", "to_name": "image", "type": "choices", "value": {"choices": [label]}}
        tasks.setdefault(task, []).append(
            {"id": number, "completed_by": worker, "result": [result], "ground_truth": worker == expert}
        )
    listed = [{"id": task, "data": {}, "annotations": one} for task, one in tasks.items()]
    (path / "export.json").write_text(json.dumps(listed))
    return path / "export.json"


def appen(path: Path, known: dict[int, str], rows=ROWS) -> Path:
    """A full report of Appen in which some units are test questions."""
    with (path / "appen.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["_unit_id", "_golden", "_tainted", "_worker_id", "animal", "animal_gold"])
        for task, worker, label in rows:
            writer.writerow([task, str(task in known).lower(), "false", worker, label, known.get(task, "")])
    return path / "appen.csv"


def zooniverse(path: Path, known: dict[int, str], rows=ROWS) -> Path:
    """A classification export of Zooniverse with gold standard classifications of an expert."""
    starred = [(task, "expert", label) for task, label in known.items()]
    with (path / "zooniverse.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["classification_id", "user_name", "workflow_id", "gold_standard", "annotations", "subject_ids"]
        )
        for number, (task, worker, label) in enumerate([*rows, *starred]):
            annotations = json.dumps([{"task": "T0", "value": label}])
            writer.writerow([number, worker, 10, "true" if worker == "expert" else "", annotations, task])
    return path / "zooniverse.csv"


WRITTEN = {
    "toloka": (toloka, "t"), "label-studio": (label_studio, ""), "appen": (appen, ""), "zooniverse": (zooniverse, "")
}  # fmt: skip
"""What writes an export of each tool that brings known labels, and how its tasks begin."""

ANSWERED = {"label-studio", "zooniverse"}
"""Those in which what says that a label is known is a response, too."""

both = pytest.mark.parametrize("tool", WRITTEN)
verbs = pytest.mark.parametrize("verb", [crowdopt.aggregate, crowdopt.prove])


def test_every_tool_that_brings_known_labels_is_tested():
    assert {name for name in TOOL_NAMES if "export_gold" in tool_named(name).options} == WRITTEN.keys()


def labels(solution):
    return dict(zip(*(solution.answers[name].to_pylist() for name in ("task", "label")), strict=True))


@verbs
@both
def test_known_labels_measure_and_change_nothing(tool, verb, tmp_path):
    write, _ = WRITTEN[tool]
    right = {task: ["cat", "dog"][task % 2] for task in range(12)}
    known = right | {3: "cat"}
    solution = verb(write(tmp_path, known))
    measured = solution.export_accuracy
    assert (measured.value, measured.n_tasks, measured.n_unknown) == (11 / 12, 12, 0)
    assert (solution.accuracy, solution.reading.gold, solution.totals.n_gold) == (None, (), 0)
    facts = solution.summary()
    assert (facts["export_accuracy"], facts["n_export_known"]) == (11 / 12, 12)
    assert "accuracy" not in facts
    said = solution.words().facts["known labels"]
    assert said.startswith("accuracy on the 12 tasks of known label that the export brings: 0.917 (")
    assert measured.answered == (tool in ANSWERED)
    assert "(they were not used)" in said or measured.answered
    without = write(tmp_path, {}) if tool not in ANSWERED else None  # there they are responses, too
    if without:
        plain = verb(without)
        assert plain.export_accuracy is None
        assert "known labels" not in plain.words().facts
        assert plain.answers.equals(solution.answers)


@both
def test_one_known_label(tool, tmp_path):
    write, _ = WRITTEN[tool]
    said = crowdopt.aggregate(write(tmp_path, {0: "dog"})).words().facts["known labels"]
    assert said.startswith("accuracy on the only task of known label that the export brings: 0.000 (")
    assert ("it was not used" in said) == (tool not in ANSWERED)


def test_majority_vote_stands_beside_it(tmp_path):
    solution = crowdopt.aggregate(toloka(tmp_path, {0: "cat", 1: "cat"}))
    assert solution.export_accuracy.vote == 0.5
    assert solution.words().facts["known labels"].endswith("; majority vote, ties shared, 0.500")


@verbs
@both
def test_pinned_only_if_the_user_says_so(tool, verb, tmp_path):
    write, begins = WRITTEN[tool]
    solution = verb(write(tmp_path, {0: "cat", 1: "dog"}), gold="export")
    assert solution.reading.gold == ((f"{begins}0", "cat"), (f"{begins}1", "dog"))
    assert solution.export_accuracy is None
    assert "known labels" not in solution.words().facts
    assert "its known labels are pinned (--gold export)" in solution.words().facts["source"]
    statuses = solution.answers["status"].to_pylist()
    assert statuses.count("gold") == 2
    assert solution.totals.n_responses == len(ROWS)  # an annotation that says what is known is then no response


@pytest.mark.parametrize(("file", "options"), [("toloka.tsv", {}), ("label_studio.json", SENTIMENT)])
def test_pinned_they_are_what_a_file_of_gold_is(file, options):
    solution = crowdopt.prove(SAMPLES / file, gold="export", keep=["text"], **options)
    plain = crowdopt.prove(PLAIN, keep=["text"], gold=GOLD)
    assert solution.buckets.fingerprint(solution.scale.labels) == plain.buckets.fingerprint(plain.scale.labels)
    assert solution.certificate.objective == plain.certificate.objective
    assert solution.certificate.given == ("gold",)
    assert [label for _, label in solution.reading.gold] == ["Positive", "Negative"]
    assert solution.totals == plain.totals


def test_a_ground_truth_that_is_not_pinned_is_a_response_like_any_other():
    pinned = crowdopt.prove(SAMPLES / "label_studio.json", gold="export", **SENTIMENT)
    measured = crowdopt.prove(SAMPLES / "label_studio.json", **SENTIMENT)
    assert (pinned.totals.n_responses, pinned.totals.n_gold) == (23, 2)
    assert (measured.totals.n_responses, measured.totals.n_gold) == (25, 0)
    said = measured.words().facts["known labels"]
    assert "(not pinned; the annotations that say so count as responses)" in said


def test_a_cancelled_ground_truth_is_none(tmp_path):
    tasks = json.loads((SAMPLES / "label_studio.json").read_text())
    for annotation in tasks[0]["annotations"]:
        annotation["was_cancelled"] = annotation["ground_truth"]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert crowdopt.prove(tmp_path / "export.json", **SENTIMENT).export_accuracy.n_tasks == 1
    assert crowdopt.prove(tmp_path / "export.json", gold="export", **SENTIMENT).reading.gold == (("2", "Negative"),)


def test_gold_of_the_user_is_pinned_and_the_export_measures_the_others(tmp_path):
    path = toloka(tmp_path, {0: "cat", 1: "cat", 2: "cat", 3: "dog"})
    solution = crowdopt.aggregate(path, gold={"t1": "dog", "t20": "cat"})
    assert solution.reading.gold == (("t1", "dog"), ("t20", "cat"))
    assert (solution.export_accuracy.value, solution.export_accuracy.n_tasks) == (1.0, 3)
    everything = crowdopt.aggregate(path, gold={f"t{task}": "cat" for task in range(4)})
    assert everything.export_accuracy is None


def test_a_truth_and_the_known_labels_are_two_facts(tmp_path):
    path = toloka(tmp_path, {0: "dog", 1: "dog"})
    solution = crowdopt.aggregate(path, truth=pa.table({"task": ["t2", "t3", "t4"], "label": ["cat", "dog", "cat"]}))
    assert (solution.accuracy.value, solution.accuracy.n_tasks) == (1.0, 3)
    assert (solution.export_accuracy.value, solution.export_accuracy.n_tasks) == (0.5, 2)
    facts = solution.words().facts
    assert facts["accuracy"].startswith("1.0000 on 3 tasks with known truth")
    assert "on the 2 tasks of known label that the export brings: 0.500" in facts["known labels"]
    said = solution.summary()
    assert (said["accuracy"], said["n_truth"], said["export_accuracy"], said["n_export_known"]) == (1.0, 3, 0.5, 2)


def test_a_task_with_two_known_labels_measures_nothing(tmp_path):
    path = toloka(tmp_path, {0: "cat", 1: "dog"})
    path.write_text(path.read_text().replace("0.png\tcat\tcat", "0.png\tcat\tdog", 1))
    solution = crowdopt.aggregate(path)
    assert (solution.export_accuracy.value, solution.export_accuracy.n_tasks) == (1.0, 1)
    assert solution.words().facts["known labels"].endswith("left out as the export knows two labels: 1 task")
    with pytest.raises(InputError, match=r"^the gold of the export gives task 't0' two different labels$"):
        crowdopt.aggregate(path, gold="export")


def test_a_known_label_that_nobody_answered(tmp_path):
    path = toloka(tmp_path, {0: "bird", 1: "bird"})
    assert crowdopt.aggregate(path).export_accuracy.value == 0.0
    with pytest.raises(GoldError, match=r"'bird' of task 't0' is not on the scale"):
        crowdopt.aggregate(path, gold="export")
    solution = crowdopt.aggregate(path, gold="export", labels=["bird", "cat", "dog"], scale="nominal")
    assert labels(solution)["t0"] == "bird"


def test_known_labels_of_tasks_that_nobody_answered_say_nothing(tmp_path):
    path = label_studio(tmp_path, {0: "cat", 100: "dog"})
    solution = crowdopt.aggregate(path, gold="export")
    assert solution.reading.gold == (("0", "cat"),)
    assert crowdopt.aggregate(path).totals.n_tasks == 41  # there the annotation of the expert is a response


# What has none


def test_where_there_is_no_export_none_can_be_pinned(tmp_path, invoke):
    frame = pa.table({"task": ["a", "b"], "worker": ["v", "v"], "label": ["x", "y"]})
    database = to_sqlite(frame, tmp_path / "data.db")
    for data in (PLAIN, frame, database):
        with pytest.raises(InputError, match=r'^gold="export" is for exports .* labels with gold="FILE"$'):
            crowdopt.aggregate(data, gold="export")
    none = {
        "mturk.csv": "exports of MTurk .* bring no known labels",
        "prodigy.jsonl": "exports of Prodigy .* bring no known labels",
        "label_studio_enterprise.json": "label_studio_enterprise.json brings no known labels",
        "label_studio_min.json": "label_studio_min.json brings no known labels",
    }
    for file, why in none.items():
        question = SENTIMENT if file.endswith("json") else {}
        with pytest.raises(GoldError, match=f'^gold="export": .*{why}; name your own file of known labels'):
            crowdopt.aggregate(SAMPLES / file, gold="export", **question)
    code, out, err = invoke("aggregate", PLAIN, "--gold", "export", "-o", tmp_path / "a.csv")
    assert (code, out) == (2, "")
    assert err.startswith("crowdopt: --gold export is for exports of annotation tools, and ")
    assert "--from: mturk, " in err
    assert not (tmp_path / "a.csv").exists()
    with pytest.raises(InputError, match=r"tasks of known label \(gold\) do not go with group"):
        crowdopt.aggregate(SAMPLES / "toloka.tsv", gold="export", group="text")


@pytest.mark.parametrize("name", ["./export", Path("export")])
def test_a_file_of_that_name_is_a_file(name, monkeypatch, tmp_path):
    toloka(tmp_path, {})
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "gold.csv").write_text("task,label\nt5,dog\n")
    monkeypatch.chdir(tmp_path)
    solution = crowdopt.aggregate("toloka.tsv", gold=f"{name}/gold.csv" if isinstance(name, str) else name / "gold.csv")
    assert solution.reading.gold == (("t5", "dog"),)
    with pytest.raises(InputError, match="export"):  # a folder, and not the word
        crowdopt.aggregate("toloka.tsv", gold=name)


def test_the_option_that_is_gone(fails):
    for verb in ("aggregate", "prove"):
        said = fails(verb, "data.csv", "--ignore-gold", files={"data.csv": b"task,worker,label\na,x,y\n"})
        assert "there is no --ignore-gold any more: " in said
        assert "pinned only by --gold export" in said
        with pytest.raises(InputError, match=r"^there is no option 'ignore_gold' any more: .* by gold=\"export\" now"):
            getattr(crowdopt, verb)(SAMPLES / "toloka.tsv", ignore_gold=True)


# What else reads exports


@verbs
@both
@pytest.mark.parametrize("gold", [None, "export"])
def test_everything_goes_on_from_the_solution_file(tool, verb, gold, tmp_path):
    write, _ = WRITTEN[tool]
    path = write(tmp_path, {0: "cat", 1: "dog", 2: "dog"})
    verb(path, gold=gold).save(tmp_path / "solution.json")
    solution = crowdopt.Solution.load(tmp_path / "solution.json")
    assert solution.reading.export_gold == (gold == "export")
    result = crowdopt.verify(solution, path)
    assert result.verdict.value in {"CONFIRMED", "REPRODUCED"}, result.reasons
    assert len(solution.workers(path)) == solution.totals.n_workers
    predicted = solution.predict(path)["task"].to_pylist()
    assert len(predicted) == 40
    suggested = set(solution.next_tasks(path, 40)["task"].to_pylist())
    pinned = {task for task, _ in solution.reading.gold}
    assert {str(task) for task in suggested} == {str(task) for task in predicted} - pinned


@verbs
def test_known_labels_that_changed_are_not_those_of_the_solution(verb, tmp_path):
    path = toloka(tmp_path, {0: "cat", 1: "dog"})
    solution = verb(path, gold="export")
    solution = crowdopt.Solution.from_dict(solution.to_dict())
    toloka(tmp_path, {0: "cat", 2: "cat"})
    result = crowdopt.verify(solution, path)
    assert result.verdict.value == "REJECTED"
    assert result.reasons == ("the known labels of the export are not those that the solution took for granted",)
    with pytest.raises(GoldError, match="the known labels of the export are not those"):
        solution.workers(path)
    toloka(tmp_path, {})
    assert crowdopt.verify(solution, path).verdict.value == "REJECTED"
    measured = verb(path)
    toloka(tmp_path, {0: "cat"})
    assert crowdopt.verify(measured, path).verdict.value != "REJECTED"  # they were not used


def test_the_command_line_and_the_report_say_it(tmp_path, monkeypatch, crowdopt):
    toloka(tmp_path, {0: "cat", 1: "cat"})
    monkeypatch.chdir(tmp_path)
    out = " ".join(crowdopt("aggregate", "toloka.tsv", "--solution", "s.json", "--report", "one.html").split())
    said = "accuracy on the 2 tasks of known label that the export brings: 0.500 (they were not used)"
    assert said in out
    assert "its known labels measure the answers (--gold export pins them)" in out
    crowdopt("report", "s.json", "toloka.tsv", "-o", "two.html")
    for page in ("one.html", "two.html"):
        text = Path(page).read_text()
        assert said in text
        assert "Accuracy on the export’s known labels</dt><dd>50.00%" in text.replace("50.00 %", "50.00%")
    facts = json.loads(crowdopt("prove", "toloka.tsv", "--json"))
    assert (facts["export_accuracy"], facts["n_export_known"], facts["n_gold"]) == (0.5, 2, 0)
    pinned = json.loads(crowdopt("prove", "toloka.tsv", "--gold", "export", "--json"))
    assert (pinned.get("export_accuracy"), pinned["n_gold"]) == (None, 2)


def test_groups_are_measured(tmp_path, crowdopt):
    rows = [*ROWS, *((task + 40, worker, label) for task, worker, label in ROWS)]
    path = toloka(tmp_path, {0: "cat", 1: "cat", 41: "dog"}, rows)
    lines = path.read_text().splitlines()
    batches = [f"{line}\t{'one' if int(line.partition('.')[0]) < 40 else 'two'}" for line in lines[1:]]
    path.write_text("\n".join([f"{lines[0]}\tINPUT:batch", *batches]) + "\n")
    for verb in ("aggregate", "prove"):
        out = " ".join(crowdopt(verb, path, "--group", "batch").split())
        assert "accuracy on the 3 tasks of known label that the export brings: 0.667 (they were not used)" in out
        facts = json.loads(crowdopt(verb, path, "--group", "batch", "--json"))
        assert (facts["export_accuracy"], facts["n_export_known"]) == (2 / 3, 3)
        assert [(one["group"], one["export_accuracy"], one["n_export_known"]) for one in facts["groups"]] == [
            ("one", 0.5, 2),
            ("two", 1.0, 1),
        ]


def test_compare_uses_none_of_them(tmp_path):
    path = toloka(tmp_path, {0: "dog"})
    assert crowdopt.compare(path, methods=["vote"]).n_responses == len(ROWS)


def test_nothing_warns_that_should_not(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crowdopt.aggregate(toloka(tmp_path, {0: "cat", 1: "dog"}))
