"""Aggregating: one set of rows by every way in, what the user knows, and what changes no probability."""

from __future__ import annotations

import csv
import json

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import aggregate
from crowdopt.errors import ColumnError, GoldError, InputError
from crowdopt.model.scale import Scale
from crowdopt.results.tasks.consensus_tasks import label_probabilities
from support.gold import GOLD, as_rows
from support.needs import SAMPLES
from support.same_answers import SAME, assert_same, by_task
from support.ways import NAMES, ROWS, WAYS, plain, to_pandas, to_polars, to_text

COLUMNS = ["task", "label", "confidence", "n_responses", "status"]


def rated(seed: int = 0, n_tasks: int = 30, labels=(1, 2, 3)) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(n_tasks):
        true = rng.integers(len(labels))
        for worker in rng.permutation(8)[:4]:
            answer = true if rng.random() < 0.75 else rng.integers(len(labels))
            rows.append((task, f"w{worker}", labels[answer]))
    return pd.DataFrame(rows, columns=NAMES)


# 1. The same from everywhere.


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same(way, tmp_path):
    data = WAYS[way](ROWS, tmp_path)
    solution = aggregate(data, wide=way.startswith("wide"))
    expected = aggregate(to_pandas(ROWS))
    assert_same(by_task(solution), by_task(expected))
    assert list(plain(solution.answers)) == COLUMNS
    assert list(plain(solution.probabilities)) == ["task", "p_no", "p_yes"]
    assert plain(solution.answers)["task"] == sorted(plain(solution.answers)["task"])
    assert solution.totals == expected.totals


small_crowds = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 5), st.sampled_from(["a", "b", "c"])),
    min_size=1, max_size=40, unique_by=lambda row: row[:2],
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(small_crowds, st.permutations(range(8)), st.permutations(range(6)), st.randoms(use_true_random=False))
def test_names_and_order_change_nothing(rows, tasks, workers, random):
    expected = by_task(aggregate(to_polars(rows)))
    renamed = [(tasks[task], workers[worker], label) for task, worker, label in rows]
    random.shuffle(renamed)
    found = by_task(aggregate(to_polars(renamed)))
    assert_same({str(task): found[str(tasks[task])] for task in map(int, expected)}, expected)


def test_threads_change_nothing(tmp_path):
    rows = [(task, f"w{worker}", label) for task, worker, label in rated(n_tasks=200).itertuples(index=False)]
    path = to_text(rows, tmp_path)
    first, second = (aggregate(path, threads=threads) for threads in (1, 2))
    assert np.array_equal(first.need_tasks().probabilities, second.need_tasks().probabilities)


@pytest.mark.parametrize("labels", [(1, 2, 3), ("high", "low", "medium"), (0, 1)], ids=str)
def test_the_scale_changes_no_probability(labels):
    data = rated(labels=labels)
    expected = by_task(aggregate(data))
    for options in ({"scale": "nominal"}, {"labels": list(labels)[::-1]}, {"labels": list(labels), "scale": "ordinal"}):
        found = by_task(aggregate(data, **options))
        for task, row in expected.items():
            for label in labels:
                assert abs(found[task][f"p_{label}"] - row[f"p_{label}"]) <= SAME


def test_labels_that_nobody_answered_change_no_probability():
    data = rated()
    expected, found = by_task(aggregate(data)), by_task(aggregate(data, labels=[0, 1, 2, 3, 4]))
    for task, row in expected.items():
        assert found[task]["p_0"] == found[task]["p_4"] == 0
        assert max(abs(found[task][f"p_{label}"] - row[f"p_{label}"]) for label in (1, 2, 3)) <= SAME


def test_ratings_have_a_mean():
    found = by_task(aggregate(rated()))
    for row in found.values():
        assert row["mean"] == pytest.approx(row["p_1"] + 2 * row["p_2"] + 3 * row["p_3"], abs=1e-12)
    for options in ({"labels": [3, 2, 1]}, {"labels": [1, 2, 3]}):
        assert {task: row["mean"] for task, row in by_task(aggregate(rated(), **options)).items()} == pytest.approx(
            {task: row["mean"] for task, row in found.items()}, abs=SAME
        )
    for data, options in ((rated(), {"scale": "nominal"}), (rated(labels=(0, 1)), {}), (rated(labels=("a", "b")), {})):
        assert "mean" not in plain(aggregate(data, **options).answers)


# 2. Ties.


def symmetric(labels, extra=()) -> pd.DataFrame:
    """Two workers who say of every task all pairs of labels: nothing tells one label from another."""
    rows = [(f"{a}{b}", w, label) for a in labels for b in labels for w, label in enumerate((a, b))]
    return pd.DataFrame([*rows, *extra], columns=NAMES)


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        (("no", "yes"), {}, "no"),  # two labels are ordered
        (("no", "yes"), {"labels": ["yes", "no"]}, "yes"),
        (("b", "a"), {"scale": "nominal"}, "a"),
        ((10, 9), {}, 9),
        ((10, 9), {"scale": "nominal"}, 10),  # by name, and "10" is before "9"
        ((10, 9), {"labels": [10, 9]}, 10),
    ],
)
def test_ties_go_to_the_lower_label_if_ordered_and_else_by_name(labels, options, expected):
    solution = aggregate(symmetric(labels), **options)
    found = by_task(solution)
    tied = f"{labels[0]}{labels[1]}"
    assert abs(found[tied][f"p_{labels[0]}"] - found[tied][f"p_{labels[1]}"]) <= 1e-9
    assert (found[tied]["label"], found[tied]["status"]) == (expected, "tie")
    unanimous = found[f"{labels[0]}{labels[0]}"]
    assert (unanimous["label"], unanimous["status"]) == (labels[0], "ok")
    assert solution.n_tied == sum(row["status"] == "tie" for row in found.values()) == 2


def test_without_an_order_ties_go_to_the_more_frequent_label():
    scores = np.array([[0.5, 0.5, 0.0], [0.4, 0.2, 0.4], [0.3, 0.4, 0.3], [0.5, 0.5 - 1e-8, 0.0]])
    for kind, votes, expected in (
        ("nominal", [5, 9, 9], [1, 2, 1, 0]),
        ("nominal", [9, 9, 9], [0, 0, 1, 0]),
        ("ordinal", [1, 9, 9], [0, 0, 1, 0]),
    ):
        labelled = label_probabilities(scores, Scale.of("abc", "abc", kind), np.array(votes))
        assert labelled.labels.tolist() == expected
        assert labelled.tied.tolist() == [True, True, False, False]


# 3. How workers answer.


def answers_by_label(solution, data) -> np.ndarray:
    """Every response, shared among the labels of its task, by the answers and the data."""
    answers, labels = solution.answers_frame(probabilities=True).set_index("task"), solution.scale.labels
    probable = answers.loc[data["task"], [f"p_{label}" for label in labels]].to_numpy(float)
    return np.array([probable[data["label"].astype(str) == label].sum(axis=0) for label in labels]).T


def test_expected_answers_are_the_responses_shared_among_the_labels_of_their_tasks():
    data = to_pandas(ROWS)
    for options in ({}, {"gold": GOLD}, {"labels": ["no", "maybe", "yes"]}, {"label_shares": "no=0.4,yes=0.6"}):
        solution = aggregate(data, **options)
        assert solution.expected_answers == pytest.approx(answers_by_label(solution, data), abs=1e-6)
        assert solution.expected_answers.sum() == pytest.approx(len(data))
        unused = [label == "maybe" for label in solution.scale.labels]
        assert np.isnan(solution.answer_shares).all(axis=1).tolist() == unused
        assert np.nansum(solution.answer_shares, axis=1) == pytest.approx([0 if none else 1 for none in unused])
    twice = aggregate(pd.concat([data, data]), duplicates="all")
    assert twice.expected_answers.sum() == pytest.approx(2 * len(data))


def test_expected_answers_are_the_same_to_the_last_bit_in_any_order():
    data = rated(n_tasks=200)
    expected = aggregate(data).expected_answers
    order = np.random.default_rng(1).permutation(200)
    renamed = data.assign(task=order[data["task"]]).sample(frac=1, random_state=2)
    assert aggregate(renamed).expected_answers.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_the_shares_of_answers_are_near_those_by_the_truth(seed):
    """Many workers who are nearly always right answer few tasks; three, who often miss a yes, answer all."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(2, size=300), np.array([[0.95, 0.95]] * 30 + [[0.9, 0.5]] * 3)
    asked = [(task, worker) for task in range(300) for worker in (*rng.choice(30, 3, replace=False), 30, 31, 32)]
    task, worker = np.array(asked).T
    answer = np.where(rng.random(len(task)) < right[worker, truth[task]], truth[task], 1 - truth[task])
    solution = aggregate(pd.DataFrame({"task": task, "worker": worker, "label": answer}))
    by_truth = np.array([np.bincount(answer[truth[task] == label]) for label in range(2)])
    by_truth = by_truth / by_truth.sum(axis=1, keepdims=True)
    assert np.abs(solution.answer_shares - by_truth).max() < 0.05
    assert np.abs(solution.parameters.population["tilted_matrix"] - by_truth).max() > 0.12  # of the mean worker
    rows = solution.words().matrices[""]
    assert rows == [[str(label), *(f"{p:.1%}" for p in solution.answer_shares[label])] for label in range(2)]


# 4. What is known.


@pytest.mark.parametrize("way", ["dict", "pandas", "arrow", "duckdb", "csv"])
def test_gold_keeps_its_labels_and_teaches_the_rest(way, tmp_path):
    gold = GOLD if way == "dict" else WAYS[way](as_rows(GOLD), tmp_path)
    (tmp_path / "data").mkdir()
    expected = by_task(aggregate(to_pandas(ROWS), gold=GOLD))
    for source in (to_pandas(ROWS), to_text(ROWS, tmp_path / "data")):
        solution = aggregate(source, gold=gold)
        found = by_task(solution)
        assert_same(found, expected)
        for task, label in GOLD.items():
            row = found[str(task)]
            assert (row["label"], row["status"], row["confidence"], row[f"p_{label}"]) == (label, "gold", 1.0, 1.0)
        assert (solution.totals.n_gold, sum(solution.label_tasks)) == (5, 20)
    without = by_task(aggregate(to_pandas(ROWS)))
    assert any(abs(found[task]["p_no"] - without[task]["p_no"]) > 1e-3 for task in found if int(task) not in GOLD)


def test_gold_without_a_response_has_its_label():
    data = pd.DataFrame([*ROWS, (500, "w1", None), (501, "w1", None)], columns=NAMES)
    for source in (data, duckdb.from_df(data)):
        solution = aggregate(source, gold={500: "yes", 7: "no"}, missing="drop")
        found = by_task(solution)
        assert found["500"] == {
            "label": "yes", "confidence": 1.0, "n_responses": 0, "status": "gold", "p_no": 0.0, "p_yes": 1.0,
        }  # fmt: skip
        assert found["501"] == {
            "label": None, "confidence": None, "n_responses": 0, "status": "no_response", "p_no": None, "p_yes": None,
        }  # fmt: skip
        expected = by_task(aggregate(to_pandas(ROWS), gold={7: "no"}))
        assert found.keys() == {*expected, "500", "501"}


def test_gold_may_have_a_label_that_nobody_answered():
    with pytest.raises(GoldError, match="name the whole scale with labels"):
        aggregate(to_pandas(ROWS), gold={7: "maybe"})
    found = by_task(aggregate(to_pandas(ROWS), gold={7: "maybe"}, labels=["no", "maybe", "yes"]))
    assert (found["7"]["label"], found["7"]["p_maybe"]) == ("maybe", 1.0)
    for row in found.values():
        assert sum(row[f"p_{label}"] for label in ("no", "maybe", "yes")) == pytest.approx(1, abs=1e-12)


def test_label_shares_are_held():
    shares = {"yes": 0.1, "no": 0.9}
    solution = aggregate(to_pandas(ROWS), label_shares=shares)
    assert solution.given_shares == (0.9, 0.1)
    for name in ("vote_shares", "tilted_shares"):
        assert solution.parameters.population[name] == pytest.approx([0.9, 0.1], abs=1e-12)
    assert solution.parameters.population["kinds_shares"].reshape(2, -1).sum(axis=1) == pytest.approx([0.9, 0.1])
    for same in ("no=0.9,yes=0.1", "NO=0.9, Yes =0.1", {"NO": 0.9, " yes": 0.1}):
        assert_same(by_task(aggregate(to_pandas(ROWS), label_shares=same)), by_task(solution))
    estimated, held = by_task(aggregate(to_pandas(ROWS))), by_task(solution)
    assert sum(row["p_yes"] for row in held.values()) < sum(row["p_yes"] for row in estimated.values())
    assert solution.summary()["given_shares"] == [0.9, 0.1]
    assert "no 0.9, yes 0.1" in solution.words().facts["known shares"]


BAD_SHARES = {
    "no sum": "no=0.9,yes=0.2",
    "a label left out": "no=1",
    "another label": "no=0.5,maybe=0.5",
    "zero": "no=1,yes=0",
    "negative": "no=1.5,yes=-0.5",
    "no number": "no=half,yes=half",
    "no shares": "estimate",
    "nothing": "",
}


@pytest.mark.parametrize("shares", BAD_SHARES.values(), ids=BAD_SHARES)
def test_bad_shares_are_one_line_and_nothing_is_written(shares, fails):
    rows = [*[("a", worker, "yes") for worker in "xyz"], *[("b", worker, "no") for worker in "xyz"]]
    message = fails(
        "aggregate", "data.csv", "-o", "a.csv", "--label-shares", shares,
        files={"data.csv": "\n".join(",".join(row) for row in [NAMES, *rows]).encode()},
    )  # fmt: skip
    assert "share" in message
    with pytest.raises(InputError, match="share"):
        aggregate(pd.DataFrame(rows, columns=NAMES), label_shares=shares)


@pytest.mark.parametrize("shares", [3, [0.5, 0.5], {"no": 0.5}, {"no": 0.5, "yes": "half"}], ids=str)
def test_shares_are_a_dict_or_a_text(shares):
    with pytest.raises(InputError, match="share"):
        aggregate(to_pandas(ROWS), label_shares=shares)


# 5. Shapes of data.


def test_kept_columns_stand_behind():
    data = to_pandas(ROWS).assign(note=lambda table: "about " + table["task"].astype(str), margin=1)
    answers = plain(aggregate(data, keep=["note", "margin"]).answers)
    assert list(answers) == [*COLUMNS, "note", "margin"]
    assert answers["note"] == [f"about {task}" for task in answers["task"]]
    with pytest.raises(ColumnError, match="two columns named 'status'"):
        aggregate(data.assign(status=1), keep=["status"])
    with pytest.raises(ColumnError, match="two columns named 'mean'"):
        aggregate(rated().assign(mean=1), keep=["mean"])


def test_scores_in_bins():
    data = rated(labels=(0.2, 0.7, 4.0))
    found = by_task(aggregate(data, bins=[0.5, 1.0]))
    labels = {0.2: "below 0.5", 0.7: "0.5 to 1", 4.0: "1 and above"}
    expected = by_task(aggregate(data.assign(label=data["label"].map(labels)), labels=list(labels.values())))
    assert_same(found, expected)


EXPORTS = {
    "mturk.csv": {},
    "mturk_questions.csv": {"question": "sentiment"},
    "toloka.tsv": {},
    "label_studio_enterprise.json": {"question": "sentiment"},
    "label_studio_min.json": {"question": "sentiment"},
    "prodigy.jsonl": {},
    "argilla.json": {"question": "sentiment"},
}


@pytest.mark.parametrize("file", EXPORTS)
def test_exports_of_tools_give_what_the_plain_table_gives(file):
    def by_text(solution):
        rows = solution.answers_frame(probabilities=True).to_pylist()
        return {" ".join(row.pop("text").split()): {k: v for k, v in row.items() if k != "task"} for row in rows}

    expected = by_text(aggregate(SAMPLES / "responses.csv", keep=["text"]))
    found = by_text(aggregate(SAMPLES / file, keep=["text"], **EXPORTS[file]))
    assert_same(found, expected)


def test_one_label_is_certain():
    found = by_task(aggregate(to_pandas([(task, worker, "yes") for task in range(3) for worker in range(2)])))
    assert {(row["label"], row["confidence"], row["status"]) for row in found.values()} == {("yes", 1.0, "ok")}


def test_one_worker_is_believed_and_doubted():
    solution = aggregate(to_pandas([(task, "ann", "yes" if task % 3 else "no") for task in range(9)]))
    found = by_task(solution)
    assert [row["label"] for row in found.values()] == ["yes" if task % 3 else "no" for task in range(9)]
    assert all(0.5 < row["confidence"] < 1 for row in found.values())
    assert len(solution.doubts) == 1


def test_duplicates_all_count_every_answer():
    rows = [(task, worker, label) for task, worker, label in ROWS if worker != "w0"]
    twice = [*rows, *rows[:20]]
    with pytest.raises(InputError, match="occur more than once"):
        aggregate(to_pandas(twice), duplicates="error")
    solution = aggregate(to_pandas(twice), duplicates="all")
    assert solution.totals.n_responses == len(twice)
    assert sum(row["n_responses"] for row in by_task(solution).values()) == len(twice)
    assert_same(by_task(aggregate(to_pandas(twice[::-1]), duplicates="all")), by_task(solution))
    assert_same(by_task(aggregate(to_pandas(twice), duplicates="same")), by_task(aggregate(to_pandas(rows))))


# 6. What it says.


def test_what_agrees_is_not_doubted(crowdopt, tmp_path):
    path = to_text(ROWS, tmp_path)
    first = crowdopt("aggregate", path).splitlines()[0]
    facts = json.loads(crowdopt("aggregate", path, "--json"))
    assert first == f"CONSENSUS: about {facts['mean_confidence']:.0%} of the labels are expected to be right"
    assert (facts["kind"], facts["check"]) == ("consensus", [])
    assert "proof" not in facts


def test_standard_output_gets_the_answers_and_nothing_else(crowdopt, tmp_path):
    path, target = to_text(ROWS, tmp_path), tmp_path / "answers.csv"
    crowdopt("aggregate", path, "-o", target, "--probabilities", "-q")
    printed = crowdopt("aggregate", path, "-o", "-", "--probabilities")
    assert printed == target.read_text()
    rows = list(csv.DictReader(printed.splitlines()))
    assert list(rows[0]) == [*COLUMNS, "p_no", "p_yes"]
    expected = by_task(aggregate(to_pandas(ROWS)))
    assert {row["task"]: row["label"] for row in rows} == {task: row["label"] for task, row in expected.items()}


def test_a_solution_of_a_consensus_has_no_certificate():
    solution = aggregate(to_pandas(ROWS))
    assert (solution.certificate, solution.objective, solution.margins) == (None, None, None)
