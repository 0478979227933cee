"""Methods compared on the same rows: the numbers, and what becomes of a method that fails."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

import crowdopt
from crowdopt.consensus import skills
from crowdopt.engines.base import Limits
from crowdopt.errors import InputError, MissingExtraError
from crowdopt.model.objective import Objective
from crowdopt.report.content import compare_engines
from crowdopt.studies.compare import comparison
from crowdopt.studies.compare.methods import CROWD_KIT, ENGINE_METHODS, OUR_METHODS, SLOW, MethodInput, prepared_method
from support.commands import Text, run
from support.effort import first_fast
from support.reports import HOSTILE, crowd, hostile

OURS = list(OUR_METHODS)
ENGINES = list(ENGINE_METHODS)

PEERS = """
import os, time
import pandas as pd

class MajorityVote:
    def fit_predict(self, data):
        self.probas_ = data.groupby("task")["label"].value_counts().unstack(fill_value=0)
        return data.groupby("task")["label"].agg(lambda labels: labels.value_counts().sort_index().idxmax())

class DawidSkene:
    def fit_predict(self, data):
        raise RuntimeError("it does not\\nconverge")

class GLAD:
    def fit_predict(self, data):
        os.kill(os.getpid(), 9)

class MACE:
    def __init__(self, random_state):
        pass
    def fit_predict(self, data):
        time.sleep(600)

class MMSR:
    def __init__(self, random_state):
        self.seed = random_state
    def fit_predict(self, data):
        return pd.Series([self.seed] * data["task"].nunique())

class KOS:
    def __init__(self, random_state):
        pass
    def fit_predict(self, data):
        return pd.Series([0])
"""
"""Aggregators that go wrong in every way."""


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """Puts PEERS in the place of crowd-kit, in the processes that methods run in."""
    (tmp_path / "peers" / "crowdkit").mkdir(parents=True)
    (tmp_path / "peers" / "crowdkit" / "__init__.py").touch()
    (tmp_path / "peers" / "crowdkit" / "aggregation.py").write_text(PEERS, encoding="utf-8")
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "peers"), *([before] if before else [])]))


def truth_of(frame):
    return frame.groupby("task", as_index=False)["label"].agg(
        lambda labels: labels.value_counts().sort_index().idxmax()
    )


@pytest.mark.parametrize(
    "options",
    first_fast([{}, {"selectivity": "estimate", "smoothing": 0.5}, {"scale": "nominal"}]),
    ids=["plain", "known", "nominal"],
)
def test_our_engines_give_what_prove_gives(options):
    frame = crowd(80, 3, (3, 5), 50)
    truth = truth_of(frame).iloc[:50]
    found = crowdopt.compare(
        frame, truth=truth, methods=[m for m in ENGINES if m != "opt-dominance" or len(options) != 1], **options
    )
    assert found.n_truth == 50
    assert [one.accuracy for one in found.outcomes] == sorted((one.accuracy for one in found.outcomes), reverse=True)
    values = []
    for one in found.outcomes:
        _, engine, space = ENGINE_METHODS[one.method]
        space = space.value if space == "all" or options.get("scale") != "nominal" else None
        solution = crowdopt.prove(frame, truth=truth, engine=engine, space=space, **options)
        assert one.error is None
        assert one.log_likelihood == pytest.approx(solution.certificate.objective, rel=1e-12)
        assert one.accuracy == pytest.approx(solution.accuracy.value, abs=1e-12)
        assert one.seconds > 0
        assert (one.proof is not None) == (solution.certificate.bound is not None)
        values.append(one.log_likelihood)
    assert [one.loss for one in found.outcomes] == pytest.approx([max(values) - value for value in values])


@pytest.mark.parametrize("names", [["no", "yes"], None, ["cat", "dog", "owl"]], ids=["two", "rating", "categories"])
def test_the_consensus_is_what_aggregate_gives_and_comes_first(names):
    frame = crowd(80, 2 if names and len(names) == 2 else 3, (2, 5), 62, names=names, right=0.5)
    truth = truth_of(frame).iloc[:50]
    found = crowdopt.compare(frame.sample(frac=1, random_state=2), truth=truth, methods=["vote", "em1", "consensus"])
    first, *others = found.outcomes
    solution = crowdopt.aggregate(frame, truth=truth)
    assert first.method == "consensus"
    assert [found.labels[j] for j in first.labels] == [str(label) for label in solution.answers["label"]]
    assert first.accuracy == pytest.approx(solution.accuracy.value)
    assert first.log_loss == pytest.approx(solution.accuracy.log_loss, abs=1e-9)
    assert first.agrees == 1
    assert first.proof is None
    assert [one.accuracy for one in others] == sorted((one.accuracy for one in others), reverse=True)
    for one in others:
        assert one.agrees == float((one.labels == first.labels).mean()) == found.agreement["consensus"][one.method]
        assert one.log_loss is None  # they say no probabilities


def test_the_consensus_is_what_aggregate_gives_of_a_sample_and_of_many_workers(monkeypatch):
    frame = crowd(80, 3, (2, 5), 62, names=["cat", "dog", "owl"], right=0.5)
    plain = crowdopt.aggregate(frame).answers["confidence"].to_numpy()
    coded = [frame[name].rank(method="dense").to_numpy(int) - 1 for name in ("task", "worker", "label")]
    rows = MethodInput(*coded, crowdopt.aggregate(frame).scale, Objective())
    monkeypatch.setattr(skills, "MOST_IN_MATRICES", 1)
    found = prepared_method("consensus", rows, Limits, 0)()
    assert np.abs(found.confidence - crowdopt.aggregate(frame).answers["confidence"]).max() < 1e-12
    assert np.abs(found.confidence - plain).max() > 1e-3


def test_without_a_truth_methods_stand_by_their_agreement_with_the_consensus(peers):
    frame = crowd(80, 3, (2, 4), 63, right=0.4)
    found = crowdopt.compare(frame, methods=["MMSR", "em2", "DawidSkene", "vote", "consensus"], seed=1)
    first, *others, last = found.outcomes
    assert (first.method, last.method, last.error is None) == ("consensus", "DawidSkene", False)
    assert [one.agrees for one in others] == sorted((one.agrees for one in others), reverse=True)
    assert {one.log_loss for one in found.outcomes} == {None}


def test_probabilities_of_peers_are_scored(peers):
    frame = crowd(60, 3, (2, 5), 64)
    truth = truth_of(frame).iloc[:40]
    (found,) = crowdopt.compare(frame, truth=truth, methods=["MajorityVote"]).outcomes
    votes = pd.crosstab(frame["task"], frame["label"])
    share = (votes.max(axis=1) / votes.sum(axis=1))[truth["task"]].clip(1e-4, 1 - 1e-4).to_numpy()
    right = votes.idxmax(axis=1)[truth["task"]].to_numpy() == truth["label"].to_numpy()
    assert found.log_loss == pytest.approx(-np.where(right, np.log(share), np.log(1 - share)).mean())


def test_the_labels_of_every_method_are_one_per_task_in_their_order():
    frame = crowd(60, 2, (3, 3), 51, names=["no", "yes"])
    found = crowdopt.compare(frame.sample(frac=1, random_state=1), methods=["opt-all", "vote"])
    outcomes = sorted(found.outcomes, key=lambda one: one.method)
    for one, engine in zip(outcomes, ("auto", "vote"), strict=True):
        answers = crowdopt.prove(frame, engine=engine).answers
        assert [found.labels[j] for j in one.labels] == list(answers["label"])
    alike = float((outcomes[0].labels == outcomes[1].labels).mean())
    assert found.agreement["opt-all"]["vote"] == found.agreement["vote"]["opt-all"] == alike
    assert found.agreement["vote"]["vote"] == 1


def test_peers_get_the_same_rows(peers):
    frame = crowd(60, 3, (3, 5), 52)
    found = crowdopt.compare(frame, methods=["vote", "MajorityVote", "MMSR"], seed=2)
    ours, theirs, constant = found.outcomes  # without the consensus and a truth, in the order in which they are named
    assert np.array_equal(ours.labels, theirs.labels)
    assert ours.log_likelihood == theirs.log_likelihood
    assert constant.labels.tolist() == [2] * 60
    assert theirs.title == "crowd-kit MajorityVote"
    assert theirs.proof is None


def test_a_method_that_fails_is_a_row_that_says_why(peers):
    found = crowdopt.compare(
        crowd(20, 3, (3, 3), 53), methods=["vote", "DawidSkene", "GLAD", "MACE", "KOS"], time_limit=1
    )
    errors = {one.method: one.error for one in found.outcomes}
    assert errors["vote"] is None
    assert errors["DawidSkene"] == "RuntimeError: it does not converge"
    assert errors["GLAD"].startswith("its process ended with -9")
    assert errors["MACE"] == "stopped after 1 s"
    assert errors["KOS"] == "ValueError: it gave no label to 19 of 20 tasks"
    assert set(found.agreement) == {"vote"}


@pytest.mark.full
def test_crowd_kit_itself_takes_part():
    frame = crowd(60, 3, (3, 3), 54)
    found = crowdopt.compare(frame, truth=truth_of(frame), methods=["opt-all", "MajorityVote", "DawidSkene", "KOS"])
    by_name = {one.method: one for one in found.outcomes}
    best, vote, dawid_skene, kos = (by_name[name] for name in ("opt-all", "MajorityVote", "DawidSkene", "KOS"))
    assert vote.accuracy > 0.9
    assert dawid_skene.error is None
    assert dawid_skene.log_loss > 0
    assert found.outcomes[-1] is kos
    assert max(vote.log_likelihood, dawid_skene.log_likelihood) <= best.log_likelihood + 1e-6
    assert "binary" in kos.error


@pytest.mark.full
@pytest.mark.parametrize("method", CROWD_KIT)
def test_every_method_of_crowd_kit_runs_with_what_is_installed(method):
    frame = crowd(60, 2, (3, 3), 54)
    (found,) = crowdopt.compare(frame, truth=truth_of(frame), methods=[method]).outcomes
    assert found.error is None
    assert found.accuracy > 0.9


def test_without_crowd_kit_the_rest_runs_and_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(comparison, "has_crowd_kit", lambda: False)
    frame = crowd(20, 2, (3, 3), 55)
    monkeypatch.setattr(comparison, "OUR_METHODS", {"vote": OUR_METHODS["vote"]})
    monkeypatch.setattr(comparison, "CROWD_KIT", ("MajorityVote",))
    found = crowdopt.compare(frame)
    assert [one.method for one in found.outcomes] == ["vote"]
    assert found.notes == ("crowd-kit's methods are left out: pip install 'crowdopt[compare]'",)
    with pytest.raises(MissingExtraError, match="compare"):
        crowdopt.compare(frame, methods=["MajorityVote"])


@pytest.mark.parametrize(
    ("n_labels", "options", "unfit"),
    [(2, {}, set()), (3, {}, {"KOS"}), (3, {"scale": "nominal"}, {"KOS", "opt-dominance"})],
    ids=["two", "rating", "categories"],
)
def test_all_methods_that_fit_are_run_and_slow_ones_when_asked_for(n_labels, options, unfit):
    solution = crowdopt.prove(crowd(10, n_labels, (3, 3), 56), engine="vote", **options)
    every = [name for name in [*OURS, *CROWD_KIT] if name not in unfit]
    wanted, notes = comparison.methods_for(solution)
    assert wanted == [name for name in every if name not in SLOW]
    assert notes == ("crowd-kit's slow methods are left out (GLAD, MACE, MMSR): add --all",)
    assert comparison.methods_for(solution, all_methods=True) == (every, ())
    assert comparison.methods_for(solution, ["GLAD", "vote"]) == (["GLAD", "vote"], ())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ["nobody"]}, "no method 'nobody'"),
        ({"gold": {"t0001": 1}}, "no option 'gold'"),
        ({"label_shares": {"1": 1}}, "no option 'label_shares'"),
        ({"methods": ["opt-dominance"], "scale": "nominal"}, "needs ordered labels"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        crowdopt.compare(crowd(10, 3, (3, 3), 57), **options)


def test_the_command_prints_a_table_or_json_and_writes_a_page(tmp_path):
    frame = crowd(40, 3, (3, 4), 58)
    frame.to_csv(tmp_path / "r.csv", index=False)
    truth_of(frame).to_csv(tmp_path / "t.csv", index=False)
    arguments = [
        "compare",
        tmp_path / "r.csv",
        "--truth",
        tmp_path / "t.csv",
        "--methods",
        "opt-dominance,vote,consensus",
    ]
    out, _ = run(*arguments, "--report", tmp_path / "page.html")
    assert "40 tasks, 40 with known truth" in out
    assert "opt-dominance" in out
    page = Text((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "OPT, respecting the order" in page.text
    assert "PROVED over dominance" in page.text
    assert "How many labels are right" in page.text
    assert "--methods opt-dominance,vote,consensus" in page.text
    facts = json.loads(run(*arguments, "--json")[0])
    assert [row["method"] for row in facts["methods"]] == ["consensus", "vote", "opt-dominance"]
    assert facts["n_truth"] == 40
    assert facts["methods"][2]["proof"]["proof"] == "PROVED"
    assert facts["methods"][0]["log_loss"] > 0
    assert set(facts["agreement"]["vote"]) == {"opt-dominance", "vote", "consensus"}


@pytest.mark.full
def test_names_and_numbers_stay_whole_in_eighty_columns(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    frame = crowd(40, 3, (3, 4), 60)
    frame.to_csv(tmp_path / "r.csv", index=False)
    truth_of(frame).to_csv(tmp_path / "t.csv", index=False)
    methods = ["opt-dominance", "OneCoinDawidSkene", "KOS"]
    out, _ = run("compare", tmp_path / "r.csv", "--truth", tmp_path / "t.csv", "--methods", ",".join(methods))
    table = out.partition("KOS failed")[0].splitlines()
    rows = [line.split() for line in table if line.split()[:1] and line.split()[0] in methods]
    assert {row[0]: len(row) for row in rows} == {"opt-dominance": 5, "OneCoinDawidSkene": 5, "KOS": 2}
    assert max(map(len, table)) <= 80


def test_an_upside_down_start_of_em_is_not_counted_as_an_error_of_every_task():
    frame = crowd(80, 2, (5, 5), 61, names=["no", "yes"], right=0.8)
    found = crowdopt.compare(frame, truth=truth_of(frame), methods=["em1", "em3"])
    first, third = sorted(found.outcomes, key=lambda one: one.method)
    assert first.log_likelihood == pytest.approx(third.log_likelihood)
    assert first.accuracy == third.accuracy > 0.9
    others = {row["engine"]: row for row in compare_engines(crowdopt.prove(frame, truth=truth_of(frame)))}
    assert others["em3"]["accuracy"] == others["em1"]["accuracy"] == first.accuracy
    assert others["em3"]["n_different"] == others["em1"]["n_different"]


def test_labels_on_the_page_are_escaped(tmp_path, peers):
    found = crowdopt.compare(hostile(), methods=["vote", "DawidSkene"])
    found.report(tmp_path / "page.html", command=HOSTILE)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "RuntimeError: it does not converge" in Text(page).text


def test_a_page_of_nothing_but_failures(tmp_path, peers):
    found = crowdopt.compare(crowd(10, 3, (3, 3), 59), methods=["DawidSkene"])
    found.report(tmp_path / "page.html")
    assert "failed: RuntimeError" in Text((tmp_path / "page.html").read_text(encoding="utf-8")).text
