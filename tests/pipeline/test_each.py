"""Every worker a class of its own: proved on juries, as brute force says, from every source, with all that follows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from crowdopt import GlobalOptimum, Solution, prove, verify
from crowdopt.errors import ClassError
from crowdopt.model.certificate import Proof, Space
from crowdopt.results.words.sentences import verdict_of
from crowdopt.results.words.summary import summarise
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.classed_crowds import jury
from support.commands import prove_command
from support.ways import ROWS, WAYS, canonical, to_pandas


@pytest.mark.parametrize(("n_labels", "n_judges"), [(2, 3), (2, 5), (2, 7), (3, 3)])
def test_juries_are_proved(n_labels, n_judges):
    data = jury(n_judges, n_judges, n_labels)
    solution = prove(data, each=True)
    assert solution.certificate.proof is Proof.PROVED
    assert solution.certificate.space is Space.ALL
    assert [one.name for one in solution.classes] == [f"judge {k}" for k in range(n_judges)]
    assert solution.matrix.shape == (n_judges, n_labels, n_labels)
    assert (np.diagonal(solution.matrix, axis1=1, axis2=2).mean(axis=1) > 0.5).all()  # labels have the names that agree


def tiny_jury(seed: int) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """A jury that brute force can try: its responses, also as counts (task, worker, label), and its labels."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(2, 4))
    n_tasks, n_workers = int(rng.integers(2, 8 if n_labels == 2 else 6)), int(rng.integers(2, 5))
    answered = rng.random((n_tasks, n_workers)) < 0.8
    answered[:, 0] |= ~answered.any(axis=1)
    answered[0] |= ~answered.any(axis=0)
    counts = np.zeros((n_tasks, n_workers, n_labels), np.int64)
    rows = []
    for task, worker in zip(*np.nonzero(answered), strict=True):
        label = int(rng.integers(n_labels))
        counts[task, worker, label] = 1
        rows.append((task, f"w{worker}", "abc"[label]))
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), counts, list("abc"[:n_labels])


@pytest.mark.parametrize("selectivity", [None, "estimate"])
def test_tiny_juries_have_the_optimum_of_brute_force(selectivity, effort):
    for seed in range(effort(200, whole=True)):
        data, counts, labels = tiny_jury(seed)
        solution = prove(data, each=True, labels=labels, selectivity=selectivity)
        best = oracle.brute_force(counts, space="all", shares=selectivity).value
        assert solution.certificate.proof is Proof.PROVED, seed
        assert solution.certificate.objective == pytest.approx(best, abs=1e-6), seed
        mapping = np.array([labels.index(label) for label in solution.answers.sort_values("task")["label"]])
        assert oracle.log_likelihood(counts, mapping, selectivity) == pytest.approx(best, abs=1e-6), seed


@pytest.mark.parametrize("seed", range(3))
def test_under_the_order_two_engines_agree(seed):
    data = jury(seed, 4, 2, 60)
    listed = prove(data, each=True, space="dominance", engine="chain")
    priced = prove(data, each=True, space="dominance", engine="columns")
    assert listed.certificate.proof is priced.certificate.proof is Proof.PROVED
    assert listed.certificate.objective == pytest.approx(priced.certificate.objective, abs=1e-6)
    assert prove(data, each=True).certificate.objective >= listed.certificate.objective - 1e-6


@pytest.mark.parametrize("way", ["pandas", "polars-lazy", "arrow", "duckdb", "csv", "sqlite", "wide-pandas"])
def test_the_same_answers_from_every_source(way, tmp_path):
    expected = prove(to_pandas(ROWS), each=True, time_limit=5)
    found = prove(WAYS[way](ROWS, tmp_path), each=True, wide="wide" in way, time_limit=5)
    assert canonical(found) == canonical(expected)
    assert found.classes == expected.classes
    assert found.reading.classes == expected.reading.classes == tuple((f"w{k}", f"w{k}") for k in range(9))


def test_it_is_the_file_that_maps_each_worker_to_itself():
    data = jury(1, 4, 2, 60)
    named = prove(data, classes={name: name for name in data["worker"].unique()}, space="all")
    found = prove(data, each=True)
    assert found.reading == named.reading
    assert canonical(found) == canonical(named)


def test_workers_without_a_label_are_no_classes():
    data = jury(1, 3, 2, 40)
    silent = pd.DataFrame({"task": [0, 99], "worker": ["nobody", "judge 0"], "label": [None, None]})
    solution = prove(pd.concat([data, silent]), each=True, missing="drop")
    assert [one.name for one in solution.classes] == ["judge 0", "judge 1", "judge 2"]
    assert verify(solution, pd.concat([data, silent])).verdict is Verdict.CONFIRMED


def test_gold_and_what_is_said(tmp_path):
    data, path = jury(2, 3, 2, 80), tmp_path / "solution.json"
    gold = {0: "label 0", 1: "label 1"}
    solution = prove(data, each=True, gold=gold)
    assert solution.certificate.proof is Proof.PROVED
    assert solution.certificate.given == ("classes", "gold")
    assert dict(zip(solution.answers["task"], solution.answers["label"], strict=True)).items() >= gold.items()
    assert "3, each a class of its own; judge 0 (" in summarise(solution).facts["workers"]
    assert "each by a response matrix of its own" in " ".join(verdict_of(solution).more)
    solution.save(path)
    assert verify(path, data).verdict is Verdict.CONFIRMED
    other = data.assign(worker=data["worker"].str.replace("judge 2", "judge 9"))
    assert verify(path, other).verdict is Verdict.REJECTED


def test_each_group_has_its_own_workers(tmp_path):
    parts = [jury(k, 3, 2, 30).assign(batch=f"b{k:02d}") for k in range(12)]
    for k, part in enumerate(parts):
        part["worker"] += f" of {k}"
    big = jury(99, 33, 2, 5).assign(batch="big")
    data = pd.concat([*parts, big])  # 69 workers in all
    solutions = prove(data, each=True, group="batch", jobs=1)
    assert list(solutions.failures) == ["big"]
    assert "33 classes, and there can be 32 at most" in solutions.failures["big"]
    for k, part in enumerate(parts):
        alone, found = prove(part.drop(columns="batch"), each=True), solutions[f"b{k:02d}"]
        assert found.reading == alone.reading
        assert found.certificate.objective == alone.certificate.objective
    answers = solutions.answers
    first = answers[answers["batch"] == "b03"].set_index("task")["label"]
    assert first.equals(prove(parts[3].drop(columns="batch"), each=True).answers.set_index("task")["label"])
    solutions.save(tmp_path / "solutions.json")
    assert verify(tmp_path / "solutions.json", data).verdict is Verdict.CONFIRMED


def test_new_responses_and_unknown_workers(tmp_path):
    data = jury(3, 3, 2, 60)
    prove(data, each=True).save(tmp_path / "solution.json")
    solution = Solution.load(tmp_path / "solution.json")
    again = solution.predict(data, probabilities=True)
    expected = prove(data, each=True).answers_frame(probabilities=True)
    names = [f"p_{label}" for label in solution.scale.labels]
    assert np.allclose(again[names], expected[names])
    stranger = solution.predict(data.assign(worker="somebody else").drop_duplicates("task"), probabilities=True)
    one_class = solution.matrix_for(np.zeros((1, 4, 2), np.int64))[3]
    said = data.drop_duplicates("task").sort_values("task")["label"].map({"label 0": 0, "label 1": 1}).to_numpy()
    likelihood = one_class[:, said].T
    assert np.allclose(stranger[names], likelihood / likelihood.sum(axis=1, keepdims=True))


def test_a_drop_in_has_a_matrix_for_every_worker():
    data = jury(4, 3, 2, 60)
    model = GlobalOptimum(each=True).fit(data)
    assert model.certificate_.proof is Proof.PROVED
    assert not model.errors_.loc["judge 0"].equals(model.errors_.loc["judge 1"])
    assert np.allclose(model.errors_.loc["judge 0"].to_numpy().T, model.solution_.matrix[0])
    assert model.predict(data).equals(model.labels_)


def test_too_many_workers(fails):
    data = jury(5, 33, 2, 4).to_csv(index=False).encode()
    said = fails(*prove_command("--each"), files={"data.csv": data})
    assert "there are 33 workers, and --each takes at most 32: find classes of them with --find-classes 8" in said
    assert len(prove(jury(5, 32, 2, 4), each=True, engine="vote").classes) == 32


@pytest.mark.parametrize(
    "options", [["--classes", "w.csv"], ["--class", "kind"], ["--ranked", "a,b"], ["--find-classes", "2"]]
)
def test_classes_are_said_in_one_way_only(fails, options):
    data = jury(5, 3, 2, 4).to_csv(index=False).encode()
    said = fails(*prove_command("--each", *options), files={"data.csv": data, "w.csv": b"worker,class\n"})
    assert f"--each does not go with {options[0]}" in said


def test_the_command(capsys, tmp_path, monkeypatch):
    from crowdopt.cli.app import main

    jury(6, 3, 2, 40).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.setattr("sys.argv", ["crowdopt", "prove", str(tmp_path / "data.csv"), "--each", "--json"])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in facts["classes"]] == ["judge 0", "judge 1", "judge 2"]
    assert facts["proof"] == "PROVED"


def test_errors_are_class_errors():
    with pytest.raises(ClassError, match="33 workers"):
        prove(jury(5, 33, 2, 4), each=True)
