"""The report of a consensus: what it says, and that nothing looks certain that is doubted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdopt
from crowdopt.errors import CheckWarning, CrowdoptError
from crowdopt.report.charts import GREEN, svg_of
from crowdopt.report.content_consensus import CONFIDENCE_EDGES, gather_consensus
from crowdopt.results.words.sentences import verdict_of
from support.commands import Text, run
from support.reports import HOSTILE, TURNED, crowd, hostile, solved, turned

DOUBT = "two responses to a task agree no more often than by chance, so these labels may be guesses"


def truth_of(frame):
    return frame.groupby("task", as_index=False)["label"].agg(lambda labels: labels.mode().iloc[0])


def page_of(solution, folder, **options):
    path = folder / "report.html"
    solution.report(path, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def judged():
    frame = crowd(90, 3, (2, 5), 70, names=["cat", "dog", "owl"])
    return crowdopt.aggregate(frame, truth=truth_of(frame).iloc[:60], keep=["text"], gold={"t0080": "owl"})


def test_every_part_is_there_and_links_lead_somewhere(judged, tmp_path):
    page = Text(page_of(judged, tmp_path, command="crowdopt aggregate 'my file.csv'"))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert {"tasks", "answers", "workers", "vote", "truth", "again"} <= set(page.ids)
    assert page.scripts == 2
    assert (
        f"About {judged.mean_confidence:.0%} of the labels are expected to be right, given the label of 1 task"
        in page.text
    )
    for words in (
        "CONSENSUS", "text of 7", "How workers answer: of the responses", "second label", "skill",
        "majority vote is right on", "crowdopt aggregate 'my file.csv'", "crowdopt verify", judged.fingerprint,
        f"crowdopt {crowdopt.__version__}",
    ):  # fmt: skip
        assert words in page.text


def test_nothing_on_it_says_proved(judged, tmp_path):
    assert "proved" not in Text(page_of(judged, tmp_path)).text.lower()
    assert "PROVED" not in judged._repr_html_()


def test_the_least_certain_tasks_come_first_with_their_second_label(judged):
    facts, tasks = gather_consensus(judged)["tasks"], judged.need_tasks()
    answers = judged.answers_frame(probabilities=True).set_index("task")
    assert [row["confidence"] for row in facts["rows"]] == sorted(answers[answers["status"] != "gold"]["confidence"])
    assert len(facts["rows"]) == facts["n_tasks"] == 89
    for row in facts["rows"]:
        ranked = sorted((answers.loc[row["task"], f"p_{label}"], label) for label in judged.scale.labels)
        assert (row["p_second"], row["second"]) == ranked[-2]
        assert row["label"] == answers.loc[row["task"], "label"]
        assert row["kept"] == [f"text of {int(row['task'][1:])}"]
    assert (tasks.known >= 0).sum() == 1


def test_answers_by_label_are_shares_and_numbers_of_responses(judged):
    facts = gather_consensus(judged)["matrix"]
    counts = np.array([row["counts"] for row in facts])
    assert counts.sum() == pytest.approx(judged.totals.n_responses)
    assert np.array([row["shares"] for row in facts]) == pytest.approx(counts / counts.sum(axis=1, keepdims=True))
    assert [row["label"] for row in facts] == ["cat", "dog", "owl"]
    assert sum(row["n_tasks"] for row in facts) == 89


def test_confidence_and_truth_are_set_side_by_side(judged):
    facts = gather_consensus(judged)
    answers = judged.answers.set_index("task")
    truth = truth_of(crowd(90, 3, (2, 5), 70, names=["cat", "dog", "owl"])).iloc[:60].set_index("task")["label"]
    known = answers.loc[truth.index]
    right = known["label"] == truth
    assert sum(row["n_tasks"] for row in facts["calibration"]) == 60
    for row in facts["calibration"]:
        inside = (known["confidence"] >= row["low"]) & (
            (known["confidence"] < row["high"]) | (row["high"] == CONFIDENCE_EDGES[-1])
        )
        assert row["n_tasks"] == inside.sum() > 0
        assert row["expected"] == pytest.approx(known["confidence"][inside].mean())
        assert row["right"] == pytest.approx(right[inside].mean())
    assert facts["accuracy"]["value"] == pytest.approx(right.mean())
    assert facts["accuracy"]["n_without"] == 29


def test_majority_vote_differs_where_another_label_has_more_responses():
    frame = crowd(120, 2, (3, 6), 71, names=["no", "yes"], right=0.3)
    good = frame["worker"].isin(["w0", "w1", "w2"])  # who know better than the majority
    frame.loc[good, "label"] = frame[good]["task"].map(lambda task: ["no", "yes"][int(task[1:]) % 2])
    truth = truth_of(frame)
    solution = crowdopt.aggregate(frame, truth=truth)
    votes = pd.crosstab(frame["task"], frame["label"])
    label = solution.answers.set_index("task")["label"]
    own = np.array([votes.loc[task, label[task]] for task in votes.index])
    most, facts = votes.max(axis=1).to_numpy(), gather_consensus(solution)["vote"]
    assert facts["n_different"] == (own < most).sum() > 0
    assert facts["n_tied"] == (votes["no"] == votes["yes"]).sum() > 0
    assert facts["n_truth"] == facts["n_different"]
    differs = votes.index[own < most]
    assert facts["n_right"] == (label[differs] == truth.set_index("task")["label"][differs]).sum()
    assert facts["n_right"] + facts["n_vote_right"] == facts["n_different"]  # with two labels one of them is right
    assert facts["accuracy"] == solution.accuracy.vote


def test_a_doubted_consensus_says_check_first_and_shows_no_green(judged, tmp_path):
    doubted = replace(judged, doubts=(DOUBT,))
    page = page_of(doubted, tmp_path)
    assert re.search(r'<h1><span class="badge check">CHECK</span> Two responses', page)
    assert "<title>CHECK:" in page
    assert "How many of the labels are right cannot be told" in Text(page).text
    assert doubted.words().headline.startswith(f"CHECK: {DOUBT}\n")
    cell = doubted._repr_html_()
    assert "CHECK" in cell.partition("<table>")[0]
    assert GREEN not in cell


@pytest.mark.parametrize("name", ["line", "vote"])
def test_a_doubted_proof_says_check_before_its_verdict_and_shows_no_green(name, tmp_path):
    doubted = replace(solved(name), doubts=("the proved labels overrule the consensus on 9% of the tasks",))
    sure, said = verdict_of(replace(doubted, doubts=())), verdict_of(doubted)
    assert said.word == "CHECK"
    assert said.sentence == "The proved labels overrule the consensus on 9% of the tasks."
    assert said.more[0] == f"{sure.word}: {sure.sentence}"
    page = page_of(doubted, tmp_path)
    badges = re.findall(r'class="badge ([^"]*)"', page)
    assert badges == ["check"]
    assert page.index(">CHECK<") < page.index(f"{sure.word}: ")
    cell = doubted._repr_html_()
    assert cell.index("CHECK") < cell.index(f"{sure.word}: ")
    assert GREEN not in cell
    first, second = doubted.words().headline.split("\n")
    assert first == "CHECK: the proved labels overrule the consensus on 9% of the tasks"
    assert "log-likelihood" in second


def test_callers_in_python_are_warned_and_the_terminal_says_it_once(tmp_path):
    frame = pd.DataFrame([("a", "ann", "yes"), ("b", "bob", "no")], columns=["task", "worker", "label"])
    with pytest.warns(CheckWarning, match="CHECK: no task was answered by two workers") as caught:
        crowdopt.aggregate(frame)
    assert [one.filename for one in caught] == [__file__]
    frame.to_csv(tmp_path / "r.csv", index=False)
    out, err = run("aggregate", tmp_path / "r.csv")
    assert out.startswith("CHECK: no task was answered by two workers")
    assert err == ""


def test_of_groups_one_warning_names_the_first(tmp_path):
    alone = [("a", "ann", "yes"), ("b", "bob", "no")]
    agreed = [(task, worker, "no" if task == "c" else "yes") for task in "cdefgh" for worker in ("ann", "bob", "cy")]
    rows = [(*row, group) for group, part in (("one", alone), ("two", agreed), ("zoo", alone)) for row in part]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label", "batch"])
    with pytest.warns(CheckWarning) as caught:
        found = crowdopt.aggregate(frame, group="batch", jobs=1)
    doubtful = [group for group, one in found.items() if one.doubts]
    assert {"one", "zoo"} <= set(doubtful)
    assert [str(one.message) for one in caught] == [
        f"CHECK: {len(doubtful)} of 3 groups; 'one': {found['one'].doubts[0]}"
    ]


def test_what_users_bring_is_escaped(tmp_path):
    solution = crowdopt.aggregate(hostile(), keep=["text"], labels=["calm", HOSTILE, "שלום"])
    page = page_of(solution, tmp_path, command=HOSTILE)
    assert HOSTILE not in page
    assert Text(page).scripts == 2
    assert HOSTILE not in solution._repr_html_()


def test_no_text_turns_the_direction_of_what_stands_beside_it(tmp_path):
    frame = turned()
    truth = frame.groupby("task", as_index=False)["label"].first()
    solution = crowdopt.aggregate(frame, keep=["text"], labels=["לא", TURNED], truth=truth)
    page = page_of(solution, tmp_path, command=f"crowdopt aggregate --labels לא,{TURNED}")
    for text in (page, solution._repr_html_()):
        assert not set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067") & set(text)
        assert text.count("\u2068") == text.count("\u2069") > 0


def test_the_same_data_in_any_order_give_the_same_page(tmp_path):
    frame = crowd(80, 3, (3, 5), 38)
    assert (
        len({page_of(crowdopt.aggregate(rows), tmp_path) for rows in (frame, frame.sample(frac=1, random_state=0))})
        == 1
    )


def test_trivial_crowds_have_a_report(tmp_path):
    one_label = pd.DataFrame([("a", "w", "yes"), ("b", "w", "yes")], columns=["task", "worker", "label"])
    assert "CHECK" in Text(page_of(crowdopt.aggregate(one_label), tmp_path)).text
    one_task = pd.DataFrame([("a", "w", "yes"), ("a", "v", "no")], columns=["task", "worker", "label"])
    assert "1 have several labels" in Text(page_of(crowdopt.aggregate(one_task), tmp_path)).text


def test_the_charts_of_the_report_are_there_for_notebooks(judged, tmp_path):
    charts = judged.charts()
    assert list(charts) == ["confidence"]
    page = page_of(judged, tmp_path)
    assert svg_of(charts["confidence"].to_dict()).partition(">")[2] in page


def test_without_tasks_a_notebook_shows_the_facts_and_charts_ask_for_the_data(judged):
    loaded = replace(judged, tasks=None, source=None)
    assert "expected to be right" in loaded._repr_html_()
    with pytest.raises(CrowdoptError, match="need the data"):
        loaded.charts()


def test_a_page_from_the_parameters_and_the_data_is_the_same_page(judged, tmp_path):
    frame = crowd(90, 3, (2, 5), 70, names=["cat", "dog", "owl"])
    loaded = replace(judged, tasks=None, source=None, accuracy=None)
    first = page_of(replace(judged, accuracy=None), tmp_path)
    assert page_of(loaded, tmp_path, data=frame) == first


@pytest.mark.full
def test_long_texts_and_many_tasks_do_not_make_it_large(tmp_path):
    frame = crowd(2500, 5, (2, 4), 41, n_workers=1100)
    frame["worker"] = "<worker>" * 20 + frame["worker"]
    for name in ("text", "more", "most"):
        frame[name] = "<&>'🦜" * 120 + frame["task"]
    solution = crowdopt.aggregate(frame, keep=["text", "more", "most"])
    assert len(page_of(solution, tmp_path).encode()) < 3_000_000
