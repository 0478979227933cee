"""Found classes: the criterion, the classes of crowds whose classes are known, from the data to the file."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from crowdopt import GlobalOptimum, Solution, prove, verify
from crowdopt.classes.find import Judged, best_judged, find_classes, judge
from crowdopt.classes.mixture_em import Settings
from crowdopt.cli.app import main
from crowdopt.data.encode import Coded, encode_responses
from crowdopt.errors import ClassError, InputError
from crowdopt.model.certificate import Proof, Space
from crowdopt.results.sentences import verdict_of
from crowdopt.results.summary import summarise
from crowdopt.verify.verdict import Verdict
from support.commands import prove_command


def symmetric(n_labels: int, right: float) -> np.ndarray:
    return np.where(np.eye(n_labels, dtype=bool), right, (1 - right) / (n_labels - 1))


SHARP, BLUNT = symmetric(3, 0.9), symmetric(3, 0.45)
YES_SAYER = np.array([[0.3, 0.7], [0.05, 0.95]])


def drawn(seed: int, matrices, *, n_tasks: int = 300, workers: int = 15, per_task: int = 8):
    """Responses of ``workers`` workers of each class; with the labels and the classes that they were drawn from."""
    rng = np.random.default_rng(seed)
    matrices = np.asarray(matrices)
    n_classes, n_labels = matrices.shape[:2]
    truth = rng.integers(n_labels, size=n_tasks)
    classes = np.repeat(np.arange(n_classes), workers)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.permutation(len(classes))[:per_task] for _ in range(n_tasks)])
    edges = matrices[classes[worker], truth[task]].cumsum(axis=1)[:, :-1]
    return task, worker, (rng.random(len(task))[:, None] > edges).sum(axis=1), truth, classes


def frame(seed: int = 0, matrices=(SHARP, BLUNT), **sizes) -> pd.DataFrame:
    task, worker, label, _, _ = drawn(seed, matrices, **sizes)
    names = np.array(["low", "mid", "top"] if len(matrices[0]) == 3 else ["no", "yes"])
    texts = {"task": [f"t{t:03d}" for t in task], "worker": [f"w{w:02d}" for w in worker], "label": names[label]}
    return pd.DataFrame(texts)


SMALL = {"n_tasks": 60, "workers": 6, "per_task": 5}


def outcome(solution: Solution) -> tuple:
    answers = pd.DataFrame({name: list(solution.answers[name]) for name in ("task", "label")})
    rows = sorted(map(tuple, answers.to_numpy().tolist()))
    return rows, solution.reading.classes, solution.classes, solution.certificate.objective


# The criterion


def judged(scores, *, n_classes=1, shares="none") -> Judged:
    return Judged(Settings(n_classes, shares), np.array(scores, float), 10)


def test_the_fewest_classes_within_one_standard_error_are_chosen():
    best = judged([-1.0, -1.0, -1.0, -1.0], n_classes=8)
    near = judged([-1.6, -0.7, -0.8, -1.1], n_classes=2)  # a lead of .2 with an error of about .7
    far = judged([-2.0, -2.0, -2.0, -1.9])  # always worse
    assert best_judged([far, near, best]) is near
    assert best_judged([far, best]) is best
    likelier = replace(near, scores=near.scores + 0.01)
    assert best_judged([far, near, best, likelier]) is likelier


def test_the_error_of_a_lead_is_that_of_a_sum_over_tasks():
    one, other = judged([-1.0, -2.0, -3.0]), judged([-1.5, -1.0, -1.0])
    lead, error = one.lead_of(other)
    assert lead == pytest.approx((-0.5 + 1 + 2) / 10)
    spread = np.array([-0.5, 1.0, 2.0])
    assert error == pytest.approx(np.sqrt(((spread - spread.mean()) ** 2).sum()) / 10)


def test_every_response_is_held_out_once():
    coded = Coded.of(*drawn(1, [SHARP])[:3], n_labels=3)
    (one,) = judge(coded, [Settings(1)])
    assert one.n_held_out == coded.n_responses
    assert (one.scores < 0).all()
    part = judge(coded, [Settings(1)], most=1)[0]
    assert part.n_held_out == coded.n_responses // 5


@pytest.mark.parametrize("seed", range(3))
def test_finds_experts(seed):
    task, worker, label, truth, classes = drawn(seed, [SHARP, BLUNT])
    found = find_classes(Coded.of(task, worker, label, 3), 2)
    assert (found.decision.classes == classes).mean() > 0.9  # the class that is right more often comes first
    assert (found.decision.labels == truth).mean() > 0.9
    chosen = find_classes(Coded.of(task, worker, label, 3), "auto")
    assert chosen.settings.n_classes > 1
    assert (chosen.decision.labels == truth).mean() > 0.9


@pytest.mark.full
def test_mostly_one_class_where_there_is_one():
    """By one standard error a rule cannot be always right; where it is not, the labels do not suffer."""
    numbers = []
    for seed in range(8):
        task, worker, label, truth, _ = drawn(seed, [symmetric(3, 0.7)], workers=20, n_tasks=150)
        found = find_classes(Coded.of(task, worker, label, 3), "auto")
        numbers.append(found.settings.n_classes)
        assert (found.decision.labels == truth).mean() > 0.88
    assert numbers.count(1) >= 5


def test_finds_those_who_nearly_always_say_yes():
    task, worker, label, truth, classes = drawn(1, [symmetric(2, 0.85), YES_SAYER])
    found = find_classes(Coded.of(task, worker, label, 2), 2, smoothing=0.5)
    assert (found.decision.classes == classes).mean() > 0.9
    assert (found.decision.labels == truth).mean() > 0.95


def test_what_is_given_is_kept():
    coded = Coded.of(*drawn(5, [SHARP, BLUNT], n_tasks=60)[:3], n_labels=3)
    found = find_classes(coded, 3, shares="estimate", smoothing=1.0)
    assert found.settings == Settings(3, "estimate", 1.0)
    assert found.judged == ()
    assert (found.decision.prior == 1).all()
    found = find_classes(coded, "auto", shares=(0.2, 0.3, 0.5))
    assert {one.settings.shares for one in found.judged} == {(0.2, 0.3, 0.5)}
    assert found.decision.shares.tolist() == [0.2, 0.3, 0.5]


def test_many_responses_are_judged_by_some_of_the_tasks(monkeypatch):
    coded = Coded.of(*drawn(7, [SHARP, BLUNT])[:3], n_labels=3)
    monkeypatch.setattr("crowdopt.classes.find.MOST", 800)
    monkeypatch.setattr("crowdopt.classes.find.MANY", 500)
    (one,) = judge(coded, [Settings(2)])
    assert one.n_held_out == pytest.approx(800 * 2 / 5, abs=1)  # two parts of the responses to a third of the tasks
    assert 0 < (one.scores < 0).sum() <= 100


# From the data to the file


@pytest.mark.parametrize("wanted", ["auto", 2])
def test_rows_in_any_order_from_any_source(wanted, tmp_path):
    data = frame(**SMALL)
    first = prove(data, find_classes=wanted)
    mixed = data.sample(frac=1, random_state=1)
    mixed.to_csv(tmp_path / "data.csv", index=False)
    assert outcome(prove(mixed, find_classes=wanted)) == outcome(first)
    assert outcome(prove(pl.from_pandas(mixed), find_classes=wanted)) == outcome(first)
    from_file = prove(tmp_path / "data.csv", find_classes=wanted)
    assert from_file.reading.classes == first.reading.classes
    assert from_file.certificate.fingerprint == first.certificate.fingerprint
    assert from_file.mapping.tolist() == first.mapping.tolist()


def test_labels_are_at_least_as_likely_as_those_of_the_alternation():
    data = frame(**SMALL)
    solution = prove(data, find_classes=3, selectivity="none", smoothing=0.5)
    encoded = encode_responses(solution.source.responses)
    coded, workers = encoded.coded, tuple(encoded.workers.to_pylist())
    found = find_classes(coded, 3, shares="none", smoothing=0.5)
    names = dict(solution.reading.classes)
    assert [names[worker] for worker in workers] == [str(k + 1) for k in found.decision.classes]
    assert solution.certificate.objective >= found.decision.trace[-1] - 1e-9
    assert solution.certificate.space is Space.ALL
    assert solution.certificate.proof is Proof.PROVED
    assert solution.certificate.given == ("found classes", "smoothing")


def test_the_order_can_be_asked_for_and_then_proved():
    solution = prove(frame(**SMALL), labels=["low", "mid", "top"], find_classes=2, space="dominance", time_limit=5)
    assert solution.certificate.space is Space.DOMINANCE
    assert verify(solution, frame(**SMALL)).verdict is not Verdict.REJECTED
    two = prove(frame(matrices=[symmetric(2, 0.9), YES_SAYER], n_tasks=40), find_classes=2, space="dominance")
    assert two.certificate.proof is Proof.PROVED
    assert "found classes" in two.certificate.given


def test_the_file_says_that_classes_were_found(tmp_path):
    data, path = frame(**SMALL), tmp_path / "solution.json"
    solution = prove(data, find_classes=2)
    solution.save(path)
    assert json.loads(path.read_text())["reading"]["classes_found"] is True
    loaded = Solution.load(path)
    assert loaded.classes_found
    assert loaded.classes == solution.classes
    assert verify(path, data).verdict is not Verdict.REJECTED
    other = data.assign(worker=data["worker"].str.replace("w00", "w99"))
    assert verify(path, other).verdict is Verdict.REJECTED
    forged = json.loads(path.read_text())
    forged["reading"]["classes_found"] = False  # as if somebody had known the classes
    path.write_text(json.dumps(forged))
    assert verify(path, data).verdict is Verdict.REJECTED


def test_one_class_needs_no_names(tmp_path):
    data = frame(matrices=[symmetric(2, 0.75)], workers=12)
    solution = prove(data, find_classes=1)
    assert solution.classes == ()
    assert solution.reading.classes == ()
    assert solution.classes_found
    assert solution.certificate.proof is Proof.PROVED
    assert verify(solution, data).verdict is Verdict.CONFIRMED


def test_the_summary_says_that_smoothing_was_found_and_changes_the_likelihood():
    data = frame(matrices=[symmetric(2, 0.75)], workers=12)
    for solution in (prove(data, find_classes=1), prove(frame(**SMALL), find_classes=2)):
        said = summarise(solution)
        assert "found smoothing" in said.headline
        assert "prior matrix" not in said.headline
        assert "does not compare" in said.facts["smoothing"]
        assert "the smoothing that was found along with the classes" in verdict_of(solution).sentence
    given = summarise(prove(data, find_classes=1, smoothing=1))
    assert "and smoothing; " in given.headline
    assert "smoothing" not in given.facts


def test_auto_may_be_written_in_capitals():
    data = frame(**SMALL)
    assert prove(data, find_classes="AUTO").certificate == prove(data, find_classes="auto").certificate


def test_shares_and_smoothing_are_kept_if_given_and_else_chosen():
    data = frame(**SMALL)
    chosen = prove(data, find_classes=2)
    assert "prior matrix" in chosen.certificate.given
    assert chosen.objective.offsets.prior.shape == (3, 2, 3)
    given = prove(data, find_classes=2, selectivity={"low": 0.5, "mid": 0.3, "top": 0.2}, smoothing=1)
    assert given.objective.shares == (0.5, 0.3, 0.2)
    assert given.objective.offsets.prior is None
    assert given.objective.offsets.smoothing == 1


def test_wide_tables_and_missing_answers():
    data = frame(**SMALL)
    wide = data.pivot_table(index="task", columns="worker", values="label", aggfunc="first").reset_index()
    wide.loc[len(wide)] = ["t999"] + [None] * (wide.shape[1] - 1)
    solution = prove(wide, wide=True, find_classes=2)
    assert solution.reading.classes == prove(data, find_classes=2).reading.classes
    assert solution.totals.n_no_response == 1
    assert verify(solution, wide).verdict is not Verdict.REJECTED


def test_workers_have_their_class():
    data = frame(**SMALL)
    solution = prove(data, find_classes=2)
    table = solution.workers()
    assert dict(zip(table["worker"], table["class"], strict=True)) == dict(solution.reading.classes)


def test_new_responses_are_labelled_with_the_matrices_of_the_classes():
    data = frame(**SMALL)
    solution = prove(data, find_classes=2)
    again = solution.predict(data, probabilities=True)
    names = [f"p_{label}" for label in solution.scale.labels]
    assert np.allclose(again[names], solution.answers_frame(probabilities=True)[names])
    stranger = data.assign(worker="nobody knows").drop_duplicates("task")
    assert solution.predict(stranger)["label"].notna().all()


def test_a_drop_in_finds_classes():
    data = frame(**SMALL)
    model = GlobalOptimum(find_classes=2).fit(data)
    assert model.solution_.reading.classes == prove(data, find_classes=2).reading.classes
    assert model.errors_.loc["w00"].equals(model.errors_.loc["w01"]) == (
        len({name for worker, name in model.solution_.reading.classes if worker in {"w00", "w01"}}) == 1
    )


def test_the_summary_says_what_is_proved_and_what_is_not(tmp_path, monkeypatch, capsys):
    path = tmp_path / "data.csv"
    frame(**SMALL).to_csv(path, index=False)
    shown = {}
    for options in ((), ("--json",)):
        monkeypatch.setattr(sys, "argv", ["crowdopt", "prove", str(path), "--find-classes", "2", *options])
        with pytest.raises(SystemExit) as exited:
            main()
        assert exited.value.code == 0
        shown[options] = capsys.readouterr().out
    words = " ".join(shown[()].split())
    assert "given the found classes" in words
    assert "12 in classes found in the data; class 1 of " in words
    assert "How workers of class 2 answer" in words
    facts = json.loads(shown["--json",])
    assert facts["classes_found"] is True
    assert [one["name"] for one in facts["classes"]] == ["1", "2"]
    assert np.array(facts["matrix"]).shape == (2, 3, 3)


# Advice


def test_a_plain_summary_names_found_classes_where_they_are_clearly_better():
    expected = "try --find-classes auto"
    differing = prove(frame(matrices=[symmetric(2, 0.95), symmetric(2, 0.2)], n_tasks=200))
    assert any(expected in advice for advice in differing.advice)
    alike = prove(frame(matrices=[symmetric(2, 0.75)], workers=30, n_tasks=200))
    assert not any(expected in advice for advice in alike.advice)


@pytest.mark.parametrize(
    "options",
    [{"find_classes": 2}, {"engine": "vote"}, {"smoothing": 1.0}, {"classes": {f"w{w:02d}": "all" for w in range(30)}}],
)
def test_nobody_is_advised_who_has_said_something_of_the_workers(options):
    data = frame(matrices=[symmetric(2, 0.95), symmetric(2, 0.2)], n_tasks=100)
    assert not any("--find-classes" in advice for advice in prove(data, **options).advice)


def test_many_responses_are_not_looked_at_unbidden(monkeypatch):
    def fail(*_):
        raise AssertionError("the criterion was asked")

    monkeypatch.setattr("crowdopt.results.advice.ADVISED", (1, 100))
    monkeypatch.setattr("crowdopt.results.advice.encode_responses", fail)
    assert prove(frame(n_tasks=20)).certificate.bound is not None


# Bad input

CSV = frame(n_tasks=12, workers=3, per_task=4).to_csv(index=False).encode()
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
    "gold": (["2", "--gold", "gold.csv"], "--find-classes does not go with --gold"),
    "a prior": (["2", "--prior-matrix", "prior.csv"], "--find-classes does not go with --prior-matrix"),
    "groups": (["2", "--group", "batch"], "--find-classes does not go with --group"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_found_is_refused(fails, name):
    options, message = REFUSED[name]
    files = {"data.csv": CSV, "workers.csv": WORKERS, "gold.csv": b"task,label\nt000,low\n", "prior.csv": b"x\n"}
    assert message in fails(*prove_command("--find-classes", *options), files=files)


@pytest.mark.parametrize("wanted", [True, 2.0, "two", ["auto"]])
def test_what_is_no_number_of_classes(wanted):
    with pytest.raises(ClassError, match="auto or a whole number"):
        prove(frame(**SMALL), find_classes=wanted)
    assert issubclass(ClassError, InputError)
