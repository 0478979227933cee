"""Found classes from the data to the file: what is found, what the user's knowledge replaces, what is said of it."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from crowdopt import GlobalOptimum, Solution, prove, verify
from crowdopt.cli.app import main
from crowdopt.consensus.classes import find_classes
from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.data.encode import encode_responses
from crowdopt.errors import ClassError, InputError
from crowdopt.model.certificate import Proof, Space
from crowdopt.results.words.sentences import verdict_of
from crowdopt.results.words.summary import summarise
from crowdopt.verify.verdict import Verdict
from support.classed_crowds import YES_SAYER, classed_frame, symmetric
from support.commands import prove_command

SMALL = {"n_tasks": 60, "workers": 6, "per_task": 5}
ALL_FOUND = ("found classes", "found shares", "found smoothing")


def outcome(solution: Solution) -> tuple:
    answers = pd.DataFrame({name: list(solution.answers[name]) for name in ("task", "label")})
    rows = sorted(map(tuple, answers.to_numpy().tolist()))
    return rows, solution.reading.classes, solution.classes, solution.certificate.objective


@pytest.mark.parametrize("wanted", ["auto", 3])
def test_rows_in_any_order_from_any_source(wanted, tmp_path):
    data = classed_frame(**SMALL)
    first = prove(data, find_classes=wanted)
    mixed = data.sample(frac=1, random_state=1)
    mixed.to_csv(tmp_path / "data.csv", index=False)
    assert outcome(prove(mixed, find_classes=wanted)) == outcome(first)
    assert outcome(prove(pl.from_pandas(mixed), find_classes=wanted)) == outcome(first)
    from_file = prove(tmp_path / "data.csv", find_classes=wanted)
    assert from_file.reading.classes == first.reading.classes
    assert from_file.certificate.fingerprint == first.certificate.fingerprint
    assert from_file.mapping.tolist() == first.mapping.tolist()


def test_what_the_consensus_finds_is_what_is_given():
    data = classed_frame(**SMALL)
    solution = prove(data, find_classes=3)
    encoded = encode_responses(solution.source.responses)
    rows = Rows.of(encoded.coded)
    found = find_classes([(rows, find_consensus(rows).probabilities)], 3)
    names = dict(solution.reading.classes)
    assert [names[worker] for worker in encoded.workers.to_pylist()] == [str(k + 1) for k in found.classes]
    assert np.array_equal(solution.objective.offsets.prior, np.swapaxes(found.prior, 0, 1))
    assert solution.objective.shares == pytest.approx(found.shares)
    assert solution.certificate.space is Space.ALL
    assert solution.certificate.given == ALL_FOUND
    assert solution.reading.found == ("classes", "smoothing", "shares")


def test_auto_is_eight_classes_of_two_labels_and_two_of_more():
    two = prove(classed_frame(1, [symmetric(2, 0.9), YES_SAYER], **SMALL), find_classes="auto")
    assert 2 < len(two.classes) <= 8
    assert two.certificate.proof is Proof.PROVED
    three = prove(classed_frame(**SMALL), find_classes="auto")
    assert len(three.classes) == 2
    assert three.certificate.proof is Proof.PROVED
    assert prove(classed_frame(**SMALL), find_classes="AUTO").certificate == three.certificate
    few = classed_frame(1, [symmetric(2, 0.9)], n_tasks=20, workers=3, per_task=3)
    assert prove(few, find_classes="auto").totals.n_workers == 3


def test_the_seed_does_not_matter_for_the_classes():
    data = classed_frame(**SMALL)
    assert prove(data, find_classes=3, seed=1).reading == prove(data, find_classes=3).reading


def test_the_order_can_be_asked_for_and_then_proved():
    data = classed_frame(matrices=[symmetric(2, 0.9), YES_SAYER], n_tasks=40)
    solution = prove(data, find_classes=2, space="dominance")
    assert solution.certificate.space is Space.DOMINANCE
    assert solution.certificate.proof is Proof.PROVED
    assert verify(solution, data).verdict is not Verdict.REJECTED


def test_what_is_given_replaces_what_is_found():
    data = classed_frame(**SMALL)
    shares = {"low": 0.5, "mid": 0.3, "top": 0.2}
    by_shares = prove(data, find_classes=2, selectivity=shares)
    assert by_shares.objective.shares == (0.5, 0.3, 0.2)
    assert by_shares.certificate.given == ("found classes", "selectivity", "found smoothing")
    smoothed = prove(data, find_classes=2, smoothing=1, selectivity="none")
    assert smoothed.objective.offsets.prior is None
    assert smoothed.objective.offsets.smoothing == 1
    assert smoothed.certificate.given == ("found classes", "smoothing")
    matrices = np.array([symmetric(3, 0.8), symmetric(3, 0.5)]) * 10
    prior = prove(data, find_classes=2, prior_matrix=matrices)
    assert np.array_equal(prior.objective.offsets.prior, np.swapaxes(matrices, 0, 1))
    assert prior.certificate.given == ("found classes", "found shares", "prior matrix")
    forbidden = prove(data, find_classes=2, selectivity={"low": 0.6, "mid": 0.4, "top": 0.0})
    assert "top" not in set(forbidden.answers["label"])


def test_known_labels_are_heeded():
    data = classed_frame(**SMALL)
    gold = dict.fromkeys([f"t{t:03d}" for t in range(20)], "mid")
    solution = prove(data, find_classes=2, gold=gold)
    assert solution.certificate.given == ("found classes", "found shares", "gold", "found smoothing")
    assert solution.totals.n_gold == 20
    assert solution.reading.classes != prove(data, find_classes=2).reading.classes
    assert verify(solution, data).verdict is Verdict.CONFIRMED


def test_the_file_says_what_was_found(tmp_path):
    data, path = classed_frame(**SMALL), tmp_path / "solution.json"
    solution = prove(data, find_classes=2)
    solution.save(path)
    assert json.loads(path.read_text())["reading"]["found"] == ["classes", "smoothing", "shares"]
    loaded = Solution.load(path)
    assert loaded.classes_found
    assert loaded.classes == solution.classes
    assert verify(path, data).verdict is Verdict.CONFIRMED
    other = data.assign(worker=data["worker"].str.replace("w00", "w99"))
    assert verify(path, other).verdict is Verdict.REJECTED
    for claim in ([], ["classes"], ["classes", "smoothing"], ["classes", "shares"], ["luck"], "classes"):
        forged = json.loads(path.read_text())
        forged["reading"]["found"] = claim  # as if somebody had known them
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        assert verify(tmp_path / "forged.json", data).verdict is Verdict.REJECTED


def test_one_class_needs_no_names():
    data = classed_frame(matrices=[symmetric(2, 0.75)], workers=12)
    solution = prove(data, find_classes=1)
    assert solution.classes == ()
    assert solution.reading.classes == ()
    assert solution.classes_found
    assert solution.certificate.given == ("found shares", "found smoothing")
    assert solution.certificate.proof is Proof.PROVED
    assert verify(solution, data).verdict is Verdict.CONFIRMED


def test_the_words_say_that_all_came_from_the_same_responses():
    data = classed_frame(**SMALL)
    solution = prove(data, find_classes=2)
    said = summarise(solution)
    assert "given the found classes and found shares and found smoothing" in said.headline
    assert "does not compare" in said.facts["smoothing"]
    assert said.facts["selectivity"].startswith("found in the same responses: low ")
    assert "12 in classes found in the same responses; class 1, " in said.facts["workers"]
    sentence = verdict_of(solution).sentence
    for what in ("classes of workers", "shares of the labels", "pseudo-counts"):
        assert f"{what} that were found in the same responses" in sentence
    given = summarise(prove(data, find_classes=2, smoothing=1, selectivity="none"))
    assert "given the found classes and smoothing; " in given.headline
    assert "smoothing" not in given.facts


def test_wide_tables_and_missing_answers():
    data = classed_frame(**SMALL)
    wide = data.pivot_table(index="task", columns="worker", values="label", aggfunc="first").reset_index()
    wide.loc[len(wide)] = ["t999"] + [None] * (wide.shape[1] - 1)
    solution = prove(wide, wide=True, find_classes=2)
    assert solution.reading.classes == prove(data, find_classes=2).reading.classes
    assert solution.totals.n_no_response == 1
    assert verify(solution, wide).verdict is not Verdict.REJECTED


def test_workers_have_their_class():
    solution = prove(classed_frame(**SMALL), find_classes=2)
    table = solution.workers()
    assert dict(zip(table["worker"], table["class"], strict=True)) == dict(solution.reading.classes)


def test_new_responses_are_labelled_with_the_matrices_of_the_classes():
    data = classed_frame(**SMALL)
    solution = prove(data, find_classes=2)
    again = solution.predict(data, probabilities=True)
    names = [f"p_{label}" for label in solution.scale.labels]
    assert np.allclose(again[names], solution.answers_frame(probabilities=True)[names])
    stranger = data.assign(worker="nobody knows").drop_duplicates("task")
    assert solution.predict(stranger)["label"].notna().all()


def test_a_drop_in_finds_classes():
    data = classed_frame(**SMALL)
    model = GlobalOptimum(find_classes=2).fit(data)
    assert model.solution_.reading.classes == prove(data, find_classes=2).reading.classes
    assert model.errors_.loc["w00"].equals(model.errors_.loc["w01"]) == (
        len({name for worker, name in model.solution_.reading.classes if worker in {"w00", "w01"}}) == 1
    )


def test_the_command_says_what_is_proved_and_what_is_not(tmp_path, monkeypatch, capsys):
    path = tmp_path / "data.csv"
    classed_frame(**SMALL).to_csv(path, index=False)
    shown = {}
    for options in ((), ("--json",)):
        monkeypatch.setattr(sys, "argv", ["crowdopt", "prove", str(path), "--find-classes", "2", *options])
        with pytest.raises(SystemExit) as exited:
            main()
        assert exited.value.code == 0
        shown[options] = capsys.readouterr().out
    words = " ".join(shown[()].split())
    assert "given the found classes" in words
    assert "How workers of class 2 answer" in words
    facts = json.loads(shown["--json",])
    assert facts["classes_found"] is True
    assert tuple(facts["given"]) == ALL_FOUND
    assert [one["name"] for one in facts["classes"]] == ["1", "2"]
    assert np.array(facts["matrix"]).shape == (2, 3, 3)


# Bad input

CSV = classed_frame(n_tasks=12, workers=3, per_task=4).to_csv(index=False).encode()
WORKERS = b"worker,class\n" + b"".join(b"w%02d,x\n" % w for w in range(6))
REFUSED = {
    "no class": (["0"], "1 to 32 classes of workers, not 0"),
    "fewer than none": (["-3"], "1 to 32 classes of workers, not -3"),
    "more than workers": (["7"], "7 classes cannot be found among 6 workers"),
    "far too many": (["33"], "1 to 32 classes of workers, not 33"),
    "no number": (["many"], "must be auto or a whole number from 1 to 32, not 'many'"),
    "half a class": (["2.5"], "must be auto or a whole number from 1 to 32, not '2.5'"),
    "a column of classes": (["auto", "--class", "kind"], "--find-classes does not go with --class"),
    "a file of classes": (["auto", "--classes", "workers.csv"], "--find-classes does not go with --classes"),
    "ranks": (["2", "--ranked", "1,2"], "--find-classes does not go with --ranked"),
    "groups": (["2", "--group", "batch"], "--find-classes does not go with --group"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_found_is_refused(fails, name):
    options, message = REFUSED[name]
    assert message in fails(*prove_command("--find-classes", *options), files={"data.csv": CSV, "workers.csv": WORKERS})


@pytest.mark.parametrize("wanted", [True, 2.0, "two", ["auto"]])
def test_what_is_no_number_of_classes(wanted):
    with pytest.raises(ClassError, match="auto or a whole number"):
        prove(classed_frame(**SMALL), find_classes=wanted)
    assert issubclass(ClassError, InputError)
