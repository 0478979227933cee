"""More than 64 labels: ``aggregate`` gives every worker one skill, and tells of the labels that a task received."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdopt
from crowdopt import aggregate, prove, verify
from crowdopt.data import parts
from crowdopt.errors import CheckWarning, InputError, SolutionFileError
from crowdopt.results.solution_consensus import ConsensusSolution
from crowdopt.verify.verdict import Verdict
from support.commands import run

NAMES = ("a label", "label 'x'", "läbel", "标签", "other")


def crowd(n_labels, n_tasks=300, *, n_workers=12, seed=1, name="label {}".format):
    """Responses with their truth; every label occurs, and two workers guess."""
    rng = np.random.default_rng([seed, n_labels])
    labels = np.array([*NAMES, *(name(j) for j in range(n_labels))][:n_labels], object)
    truth = np.append(np.arange(n_labels), rng.integers(n_labels, size=max(n_tasks - n_labels, 0)) ** 2 // n_labels)
    rows = []
    for task, true in enumerate(truth):
        for worker in rng.choice(n_workers, 4, replace=False):
            right = rng.random() < (0.75 if worker > 1 else 0.0)
            rows.append((f"t{task}", f"w{worker}", labels[true if right else rng.integers(n_labels)]))
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    known = pd.DataFrame({"task": [f"t{task}" for task in range(len(truth))], "label": labels[truth]})
    return data, known


@pytest.fixture(scope="module")
def hundred():
    return crowd(100)


@pytest.fixture(scope="module")
def solved(hundred):
    data, known = hundred
    return aggregate(data, truth=known)


def test_columns_with_dots_and_quotes_are_for_frames():
    data, _ = crowd(100)
    data["label"] = data["label"].replace({"läbel": 'l"b.l'})
    assert aggregate(data).probabilities['p_l"b.l'].notna().any()
    with pytest.raises(InputError, match="with a dot or a double quote"):
        aggregate(data).write("answers.csv", probabilities=True)


def shuffled(data):
    return data.sample(frac=1, random_state=3).reset_index(drop=True)


def test_it_is_right_more_often_than_the_vote(solved):
    assert solved.by_skill
    assert solved.accuracy.value > solved.accuracy.vote + 0.02
    assert abs(solved.mean_confidence - solved.accuracy.value) < 0.08


def test_sixty_four_labels_have_matrices_and_sixty_five_have_skills():
    few, many = (aggregate(crowd(n)[0]) for n in (64, 65))
    assert not few.by_skill
    assert few.parameters.workers["tilted_matrix"].shape == (12, 64, 64)
    assert many.by_skill
    assert many.parameters.workers["skill"].shape == (12,)
    assert "p_other" in many.probabilities.columns


def test_probabilities_are_those_of_labels_that_tasks_received(hundred, solved):
    data, _ = hundred
    table = solved.probabilities.set_index("task")
    assert list(table.columns) == [f"p_{label}" for label in solved.scale.labels] + ["p_other_label"]  # one is "other"
    received = pd.crosstab(data["task"], data["label"]).loc[table.index] > 0
    of_labels = table.iloc[:, :-1].set_axis(list(solved.scale.labels), axis=1)
    assert (of_labels.notna() == received[list(of_labels.columns)]).all(axis=None)
    assert np.allclose(table.sum(axis=1), 1)
    answers = solved.answers.set_index("task")
    chosen = [of_labels.loc[task, label] for task, label in answers["label"].items()]
    assert np.array_equal(chosen, answers["confidence"])
    assert np.array_equal(chosen, of_labels.max(axis=1))


@pytest.mark.parametrize("how", ["polars", "pyarrow", "csv", "parquet", "sqlite"])
def test_all_sources_give_the_same(hundred, solved, how, tmp_path):
    data, wanted = shuffled(hundred[0]), solved.answers_frame(probabilities=True)
    if how == "polars":
        source = pl.from_pandas(data)
    elif how == "pyarrow":
        source = pa.Table.from_pandas(data, preserve_index=False)
    elif how == "sqlite":
        import sqlite3

        with sqlite3.connect(tmp_path / "r.db") as database:
            data.to_sql("responses", database, index=False)
        source = f"sqlite:///{tmp_path / 'r.db'}"
    else:
        source = tmp_path / f"data.{how}"
        data.to_csv(source, index=False) if how == "csv" else data.to_parquet(source, index=False)
    found = aggregate(source, table="responses") if how == "sqlite" else aggregate(source)
    assert found.fingerprint == solved.fingerprint
    frame = found.answers_frame(probabilities=True)
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    assert list(frame.columns) == list(wanted.columns)
    assert frame["label"].tolist() == wanted["label"].tolist()
    assert np.array_equal(frame.iloc[:, 5:].to_numpy(float), wanted.iloc[:, 5:].to_numpy(float), equal_nan=True)


def test_names_of_tasks_and_workers_change_nothing(hundred, solved):
    data = hundred[0]
    other = data.assign(task=data["task"].str[::-1] + "z", worker=data["worker"].str[::-1])
    found = aggregate(other).answers.set_index("task")["confidence"]
    wanted = solved.answers.assign(task=solved.answers["task"].str[::-1] + "z").set_index("task")["confidence"]
    assert (found.loc[wanted.index] == wanted).all()


def test_it_is_saved_and_reproduced(hundred, solved, tmp_path):
    data = hundred[0]
    path, answers = tmp_path / "s.json", tmp_path / "a.csv"
    solved.save(path)
    solved.write(answers, probabilities=True)
    assert verify(path, shuffled(data), answers=answers).verdict is Verdict.REPRODUCED
    assert verify(path, data.iloc[1:]).verdict is Verdict.REJECTED
    said = json.loads(path.read_text())
    said["parameters"]["workers"]["skill"][0] *= 0.9
    path.write_text(json.dumps(said))
    rejected = verify(path, data)
    assert rejected.verdict is Verdict.REJECTED
    assert "parameters of worker 'w0'" in rejected.reasons[0]
    changed = pd.read_csv(answers, dtype=str)
    changed.loc[0, "p_other_label"] = "0.9"
    changed.to_csv(answers, index=False)
    solved.save(path)
    [wrong] = verify(path, data, answers=answers).reasons
    assert "has p_other_label 0.9 in the answers" in wrong


def test_damaged_files_are_refused(solved, tmp_path):
    said = solved.to_dict()
    for name, value in (("skill", 1.5), ("skill_kinds", [1.0, 1.0, 1.0]), ("skill_shares", [1.0])):
        parameters = {**said["parameters"], "population": {**said["parameters"]["population"], name: value}}
        with pytest.raises(SolutionFileError, match=f"'{name}' of its population"):
            ConsensusSolution.from_dict({**said, "parameters": parameters})


def test_known_labels_hold_and_teach(hundred):
    data, known = hundred
    gold = known.iloc[:40]
    solution = aggregate(data, gold=dict(zip(gold["task"], gold["label"], strict=True)), truth=known)
    table = solution.answers.set_index("task")
    assert (table.loc[gold["task"], "status"] == "gold").all()
    assert table.loc[gold["task"], "label"].tolist() == gold["label"].tolist()
    assert (table.loc[gold["task"], "confidence"] == 1).all()
    assert solution.totals.n_gold == 40
    assert solution.accuracy.n_tasks == 260
    with_probabilities = solution.probabilities.set_index("task")
    assert (with_probabilities.loc[gold["task"], "p_other_label"] == 0).all()


def test_known_labels_that_would_exchange_names_teach_nothing(hundred, solved):
    data, known = hundred
    votes = pd.crosstab(data["task"], data["label"])
    clear = votes.index[(votes["a label"] >= 3)][:5]
    with pytest.warns(CheckWarning, match="these labels may have been exchanged"):
        solution = aggregate(data, gold=dict.fromkeys(clear, "label 77"))
    assert "5 known labels teach nothing" in solution.advice[0]
    answers, before = (one.answers.set_index("task")["label"].drop(clear) for one in (solution, solved))
    assert (answers == before).mean() > 0.98
    del known


def test_a_task_whose_known_label_nobody_gave_keeps_it(hundred):
    data, _ = hundred
    given = set(data.loc[data["task"] == "t200", "label"])
    label = next(one for one in sorted(set(data["label"])) if one not in given)
    table = aggregate(data, gold={"t200": label}).answers_frame(probabilities=True).set_index("task")
    assert table.loc["t200", ["label", f"p_{label}"]].tolist() == [label, 1.0]
    silent = pd.concat([data, pd.DataFrame({"task": ["lonely", "quiet"], "worker": "w1", "label": None})])
    table = aggregate(silent, gold={"lonely": label}).answers.set_index("task")
    assert table.loc["lonely", ["label", "status", "n_responses"]].tolist() == [label, "gold", 0]
    assert table.loc["quiet", "status"] == "no_response"


def test_given_shares_are_used(hundred):
    data, _ = hundred
    labels = sorted(set(data["label"]))
    shares = dict.fromkeys(labels, 0.5 / (len(labels) - 1)) | {"label 90": 0.5}
    solution = aggregate(data, label_shares=shares)
    at = solution.scale.labels.index("label 90")
    assert solution.parameters.population["skill_shares"][at] == 0.5
    assert solution.label_tasks[at] >= aggregate(data).label_tasks[at]


def test_a_scale_of_a_hundred_numbers_has_a_mean():
    data, known = crowd(100)
    numbers = {label: j for j, label in enumerate(sorted(set(data["label"])))}
    data["label"], known["label"] = data["label"].map(numbers), known["label"].map(numbers)
    solution = aggregate(data, scale="ordinal", truth=known)
    answers = solution.answers
    assert answers["mean"].between(0, 99).all()
    sure = answers["confidence"] > 0.9
    assert (abs(answers["mean"] - answers["label"])[sure] < 10).all()
    assert "mean" not in aggregate(data).answers


def test_workers_are_told_apart(hundred, solved):
    data, known = hundred
    workers = solved.workers().set_index("worker")
    assert workers.loc["w0", "flag"] == "chance"
    assert set(workers["skill"].nsmallest(2).index) == {"w0", "w1"}
    right = data.merge(known, on="task").assign(right=lambda rows: rows["label_x"] == rows["label_y"])
    rate = right.groupby("worker")["right"].mean()
    good = workers.index[workers["flag"].isna()]
    assert (rate[good].between(workers["accuracy_low"][good], workers["accuracy_high"][good])).mean() > 0.8
    confusion = solved.confusion()
    assert confusion["n"].sum() == len(data)


def test_predictions_of_the_same_data_are_the_same(hundred, solved):
    again = solved.predict(hundred[0], probabilities=True).set_index("task")
    wanted = solved.answers_frame(probabilities=True).set_index("task")
    assert (again["label"] == wanted["label"]).all()
    assert np.allclose(again.iloc[:, 4:].astype(float), wanted.iloc[:, 4:].astype(float), equal_nan=True)
    new = pd.DataFrame({"task": ["n", "n", "m"], "worker": ["w5", "stranger", None], "label": ["label 7"] * 2 + [None]})
    found = solved.predict(new).set_index("task")
    assert found.loc["n", "label"] == "label 7"
    assert found.loc["m", "status"] == "no_response"


def test_the_next_responses_go_where_labels_are_unsure(hundred, solved):
    ranked = solved.next_tasks(n=300)
    assert (ranked["gain"] >= 0).all()
    assert ranked["confidence"][:30].mean() < solved.answers["confidence"].mean() - 0.2


def test_the_report_and_the_summary_name_some_labels(hundred, solved, tmp_path):
    path = tmp_path / "r.csv"
    hundred[0].to_csv(path, index=False)
    hundred[1].to_csv(tmp_path / "truth.csv", index=False)
    printed, _ = run("aggregate", path, "--truth", tmp_path / "truth.csv")
    assert "and 80 more labels" in " ".join(printed.split())
    solved.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "The 20 most frequent of 100 labels" in page
    assert "answers another one" in page
    assert "CONSENSUS" in solved._repr_html_()


def test_each_group_has_labels_of_its_own(hundred, tmp_path):
    many, few = hundred[0].assign(group="many"), crowd(5, 60)[0].assign(group="few")
    data = shuffled(pd.concat([many, few]))
    solutions = aggregate(data, group="group")
    alone = aggregate(hundred[0])
    assert [one.by_skill for one in (solutions["few"], solutions["many"])] == [False, True]
    ours = solutions.answers[solutions.answers["group"] == "many"].reset_index(drop=True)
    assert (ours[["task", "label", "confidence"]] == alone.answers[["task", "label", "confidence"]]).all(axis=None)
    solutions.save(tmp_path / "s.json")
    assert verify(tmp_path / "s.json", data).verdict is Verdict.REPRODUCED
    proofs = prove(data, group="group")
    assert list(proofs) == ["few"]
    assert "labels are proved among at most 64; merge" in proofs.failures["many"]


def test_parts_of_many_responses_are_learnt_from_a_sample(hundred, solved, monkeypatch, tmp_path):
    monkeypatch.setattr(parts, "SAMPLE", 600)
    monkeypatch.setattr(parts, "PART", 200)
    data, known = hundred
    gold = dict(zip(known["task"][:20], known["label"][:20], strict=True))
    path = tmp_path / "r.csv"
    shuffled(data).to_csv(path, index=False)
    solution, other = aggregate(path, gold=gold, truth=known), aggregate(data, gold=gold, truth=known)
    assert solution.tasks.parts.is_one is False
    assert solution.accuracy.value > solved.accuracy.vote
    frames = [one.answers_frame(probabilities=True) for one in (solution, other)]
    ours, theirs = frames[0].to_pandas(), frames[1]
    assert ours["label"].tolist() == theirs["label"].tolist()
    assert np.array_equal(ours.iloc[:, 5:].to_numpy(float), theirs.iloc[:, 5:].to_numpy(float), equal_nan=True)
    solution.save(tmp_path / "s.json")
    assert verify(tmp_path / "s.json", path).verdict is Verdict.REPRODUCED


@pytest.mark.parametrize("n", [65, 200])
def test_one_worker_or_one_task_will_do(n):
    labels = [f"label {j}" for j in range(n)]
    one_worker = pd.DataFrame({"task": [f"t{j}" for j in range(n)], "worker": "w", "label": labels})
    with pytest.warns(UserWarning, match="no task was answered by two workers"):
        assert aggregate(one_worker).answers["label"].tolist() == sorted(
            labels, key=lambda one: one.replace("label ", "t")
        )
    one_task = one_worker.assign(task="t", worker=one_worker["task"])
    with pytest.warns(UserWarning, match="CHECK"):
        [status] = aggregate(one_task).answers["status"]
    assert status == "tie"
    one_response = pd.DataFrame({"task": ["t"], "worker": ["w"], "label": ["label 3"]})
    with pytest.warns(UserWarning, match="CHECK"):
        assert aggregate(one_response, labels=labels).answers["label"].tolist() == ["label 3"]


def test_the_estimator_takes_many_labels(hundred, solved):
    fitted = crowdopt.Consensus().fit(hundred[0])
    assert fitted.labels_.tolist() == solved.answers["label"].tolist()
    assert fitted.errors_ is None
    assert fitted.probas_.notna().all(axis=None)
    assert np.allclose(fitted.priors_.sum(), 1)
    assert (fitted.skills_["w5"] > fitted.skills_["w0"]).all()
    assert (fitted.predict_proba(hundred[0]).to_numpy() == fitted.probas_.to_numpy()).all()


def test_a_task_that_hundreds_answered_alike_changes_no_other(hundred, solved):
    popular = [("popular", f"fan {n}", "label 7") for n in range(400)]
    found = aggregate(pd.concat([hundred[0], pd.DataFrame(popular, columns=["task", "worker", "label"])]))
    answers = found.answers.set_index("task")
    assert answers.loc["popular", "label"] == "label 7"
    assert answers.loc["popular", "confidence"] > 0.99
    assert np.isfinite(answers["confidence"]).all()
    others = solved.answers.set_index("task")["label"]
    assert (answers["label"].loc[others.index] == others).mean() > 0.97
    assert solved.predict(pd.DataFrame(popular, columns=["task", "worker", "label"]))["label"].tolist() == ["label 7"]


def test_nothing_is_gained_where_all_workers_gave_one_label():
    rows = [(f"t{task}", f"w{worker}", "label 3") for task in range(3) for worker in range(3)]
    found = aggregate(
        pd.DataFrame(rows, columns=["task", "worker", "label"]), labels=list(map("label {}".format, range(70)))
    )
    assert found.by_skill
    assert found.next_tasks(n=3)["gain"].max() < 1e-6


def test_prove_says_what_to_do(hundred):
    with pytest.raises(InputError, match=r"at most 64; merge some of them, or use crowdopt\.aggregate"):
        prove(hundred[0])


def test_free_texts_are_refused():
    n = 10_001
    data = pd.DataFrame(
        {"task": [f"t{j // 2}" for j in range(n)], "worker": "w", "label": [f"text {j}" for j in range(n)]}
    )
    with pytest.raises(
        InputError, match=r"10,001 different labels, such as .*; is this column one of free texts or ids\?"
    ):
        aggregate(data)


def test_workers_too_many_for_matrices_have_skills(monkeypatch):
    from crowdopt.consensus import skills

    data, known = crowd(6, 200)
    dense = aggregate(data, truth=known)
    monkeypatch.setattr(skills, "MOST_IN_MATRICES", 12 * 36 - 1)
    sparse = aggregate(data, truth=known)
    assert (dense.by_skill, sparse.by_skill) == (False, True)
    assert sparse.agreement == dense.agreement
    assert (sparse.answers["label"].to_numpy() == dense.answers["label"].to_numpy()).mean() > 0.95
    assert prove(data, find_classes=2, time_limit=5).classes_found
    assert len(sparse.workers()) == 12
    assert len(sparse.next_tasks(n=5)) == 5
    assert sparse.predict(data)["label"].tolist() == sparse.answers["label"].tolist()
