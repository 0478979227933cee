"""Proofs about parameters: what is so is confirmed, whatever is forged is not."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from crowdopt import Solution, prove, verify
from crowdopt.errors import SolutionFileError
from crowdopt.verify.optimum_marginal import Marginal
from crowdopt.verify.verdict import Verdict
from crowdopt.verify.witness_box_bounds import Boxes, summing_to_one
from crowdopt.verify.witness_boxes import saturated_bound
from support.marginal import KINDS, small_problem, values_at

NAMES = ("no", "yes", "maybe")


def crowd(n_labels=2, n_tasks=60, n_workers=9, seed=0, skill=0.75):
    """A crowd whose workers answer about half of the tasks."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_tasks)
    rows = []
    for task, worker in np.argwhere(rng.random((n_tasks, n_workers)) < 0.6).tolist():
        right = rng.random() < skill + 0.02 * worker
        label = truth[task] if right else rng.integers(n_labels)
        rows.append((f"t{task:02d}", f"w{worker}", NAMES[label]))
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def proved(data, **options):
    return prove(data, **{"likelihood": "marginal", "time_limit": 30.0} | options)


@pytest.fixture(scope="module")
def honest():
    data = crowd()
    solution = proved(data)
    assert solution.certificate.proof == "PROVED"
    return data, solution.to_dict()


def judged(forged, data, **options):
    """The verdict on what a file says; a file that cannot be read is rejected, too."""
    try:
        solution = Solution.from_dict(forged)
    except SolutionFileError:
        return Verdict.REJECTED
    return verify(solution, data, **options).verdict


CLASSES = {f"w{w}": "first" if w < 5 else "second" for w in range(9)}
CASES = {
    "plain": {},
    "classes": {"classes": CLASSES},
    "smoothing": {"smoothing": 0.5},
    "gold": {"gold": {"t00": "yes", "t01": "no", "t02": "no"}},
    "prior": {"prior_matrix": [[8, 2], [1, 9]]},
    "shares": {"selectivity": {"no": 0.3, "yes": 0.7}},
}


@pytest.mark.parametrize("case", CASES)
def test_honest_proofs_are_confirmed(case, tmp_path):
    data = crowd(seed=len(case))
    solution = proved(data, **CASES[case])
    assert (solution.certificate.proof, solution.certificate.likelihood) == ("PROVED", "marginal")
    solution.save(tmp_path / "solution.json")
    assert verify(tmp_path / "solution.json", data).verdict is Verdict.CONFIRMED
    assert verify(solution, data, answers=solution.answers).verdict is Verdict.CONFIRMED


def test_three_labels_are_confirmed():
    data = crowd(n_labels=3, n_tasks=80, skill=0.9)
    solution = proved(data)
    assert solution.certificate.proof == "PROVED"
    assert verify(solution, data).verdict is Verdict.CONFIRMED


def test_what_was_stopped_is_confirmed_with_its_gap():
    data = crowd(n_labels=3, skill=0.5)
    solution = proved(data, time_limit=0.0)
    assert solution.certificate.proof == "BOUNDED"
    assert verify(solution, data).verdict is Verdict.CONFIRMED


def test_groups_are_confirmed():
    data = pd.concat([crowd(seed=seed).assign(batch=f"b{seed}") for seed in range(3)])
    solutions = prove(data, group="batch", likelihood="marginal", jobs=1)
    assert {one.certificate.likelihood for one in solutions.values()} == {"marginal"}
    assert verify(solutions, data, jobs=1).verdict is Verdict.CONFIRMED


def test_other_data_are_rejected(honest):
    data, told = honest
    assert judged(told, data.iloc[1:]) is Verdict.REJECTED
    assert judged(told, crowd(seed=1)) is Verdict.REJECTED


def changed(told, *path, to):
    forged = copy.deepcopy(told)
    *way, last = path
    at = forged
    for step in way:
        at = at[step]
    at[last] = to(at[last]) if callable(to) else to
    certificate = forged["certificate"]
    certificate["gap"] = max(0.0, certificate["bound"] - certificate["objective"])
    return forged


FORGED = {
    "a higher value": (("certificate", "objective"), lambda value: value + 0.05),
    "a lower value": (("certificate", "objective"), lambda value: value - 0.05),
    "a bound below the value": (("certificate", "bound"), lambda bound: bound - 0.5),
    "another tolerance": (("certificate", "tolerance"), 1.0),
    "another engine": (("certificate", "engine"), "columns"),
    "an engine nobody knows": (("certificate", "engine"), "oracle"),
    "another space": (("certificate", "space"), "all"),
    "something given": (("certificate", "given"), ["gold"]),
    "another fingerprint": (("certificate", "fingerprint"), "0" * 64),
    "another label": (("buckets", "label", 0), lambda label: 1 - label),
    "another margin": (("buckets", "margin", 0), lambda margin: margin + 0.01),
    "another kind of margin": (("buckets", "margin_kind"), "exact"),
    "a tie": (("buckets", "tied", 0), lambda tied: not tied),
    "another share": (("parameters", "shares"), lambda shares: [shares[0] - 0.01, shares[1] + 0.01]),
    "another matrix": (("parameters", "matrix", 0, 0), lambda row: [row[0] - 0.01, row[1] + 0.01]),
    "no probability": (("parameters", "matrix", 0, 0), [1.5, -0.5]),
    "a row that sums to more": (("parameters", "matrix", 0, 0), lambda row: [row[0], row[1] + 0.01]),
    "no parameters": (("parameters",), None),
    "a box too few": (("certificate", "witness", "entries"), lambda entries: entries[:-1]),
    "a box too many": (("certificate", "witness", "entries"), lambda entries: [*entries, -1]),
    "a split too few": (("certificate", "witness", "at"), lambda at: at[1:]),
    "no such parameter": (("certificate", "witness", "entries", 0), 6),
    "no parameter": (("certificate", "witness", "entries", 0), True),
    "no probability to split at": (("certificate", "witness", "at", 0), 1.5),
    "no number to split at": (("certificate", "witness", "at", 0), "half"),
    "no such class": (("certificate", "witness", "names", "class"), 1),
    "one answer for both labels": (("certificate", "witness", "names", "answers"), [0, 0]),
    "other words": (("certificate", "witness"), lambda witness: witness | {"trust": "me"}),
    "no witness but words": (("certificate", "witness"), {}),
}


@pytest.mark.parametrize("lie", FORGED)
def test_forged_proofs_are_rejected(lie, honest):
    data, told = honest
    path, to = FORGED[lie]
    assert judged(changed(told, *path, to=to), data) is Verdict.REJECTED


def test_exchanged_labels_are_rejected(honest):
    data, told = honest
    forged = changed(told, "buckets", "label", to=lambda labels: [1 - label for label in labels])
    forged["parameters"] = {
        "shares": told["parameters"]["shares"][::-1],
        "matrix": [rows[::-1] for rows in told["parameters"]["matrix"]],
    }
    forged["matrix"], forged["label_shares"] = forged["parameters"]["matrix"], told["label_shares"][::-1]
    found = verify(Solution.from_dict(forged), data)
    assert found.verdict is Verdict.REJECTED
    assert any("other names of the labels" in reason for reason in found.reasons)


def test_worse_parameters_with_a_bound_of_their_own_are_rejected(honest):
    """All that follows from them is so; but there are better ones, and the bound says that there are not."""
    data, told = honest
    solution = Solution.from_dict(told)
    marginal = Marginal(solution.problem)
    point = 0.9 * marginal.point(solution.parameters) + 0.05
    worse = copy.deepcopy(told)
    matrix = point[1:].reshape(2, 1, 2).swapaxes(0, 1)
    worse["parameters"] = {"shares": point[0].tolist(), "matrix": matrix.tolist()}
    worse["matrix"] = matrix.tolist()
    value = marginal.value(point)
    assert value < solution.certificate.objective - 0.2
    worse["certificate"] |= {"objective": value, "bound": value + 0.1, "gap": (value + 0.1) - value}
    scores = marginal.scores(point)
    worse["buckets"] |= {
        "label": scores.argmax(axis=1).tolist(),
        "margin": np.abs(scores[:, 1] - scores[:, 0]).tolist(),
    }
    worse["certificate"]["proof"] = "PROVED" if worse["certificate"]["gap"] <= 0.1 else "BOUNDED"
    tasks = np.bincount(worse["buckets"]["label"], worse["buckets"]["weights"], minlength=2)
    worse["label_shares"] = (tasks / tasks.sum()).tolist()
    found = verify(Solution.from_dict(worse), data)
    assert found.verdict is Verdict.REJECTED
    assert "above the bound" in found.reasons[0]


def test_a_lower_bound_is_never_confirmed_below_the_maximum(honest, effort):
    """A bound that is lowered is checked as it is: confirmed only where nothing is above it."""
    data, told = honest
    rng = np.random.default_rng(3)
    highest = told["certificate"]["objective"]
    for lowered in rng.uniform(0, 0.1, effort(20)).tolist():
        verdict = judged(changed(told, "certificate", "bound", to=highest + lowered), data, time_limit=5.0)
        assert verdict is not Verdict.REJECTED  # the maximum is where the value is, and no higher
    for excess in (1e-3, 0.02):
        assert judged(changed(told, "certificate", "bound", to=highest - excess), data) is Verdict.REJECTED


def test_other_splits_of_the_space_prove_the_same_or_nothing(honest, effort):
    data, told = honest
    rng = np.random.default_rng(4)
    for _ in range(effort(20)):
        moved = [float(np.clip(one + rng.normal(0, 0.2), 0, 1)) for one in told["certificate"]["witness"]["at"]]
        assert judged(changed(told, "certificate", "witness", "at", to=moved), data) is not Verdict.REJECTED
    whole = {"names": None, "entries": [-1], "at": []}
    assert judged(changed(told, "certificate", "witness", to=whole), data) is Verdict.CONFIRMED


def test_without_a_witness_the_bound_is_not_checked(honest):
    data, told = honest
    assert judged(changed(told, "certificate", "witness", to=None), data) is Verdict.BOUND_NOT_RECHECKED


def test_without_time_the_bound_is_not_checked(honest):
    data, told = honest
    assert judged(told, data, time_limit=0.0) is Verdict.BOUND_NOT_RECHECKED


def test_names_are_no_cut_where_labels_are_told_apart():
    data = crowd(seed=5)
    told = proved(data, selectivity={"no": 0.3, "yes": 0.7}).to_dict()
    forged = changed(told, "certificate", "witness", "names", to={"class": 0, "answers": [0, 1]})
    assert judged(forged, data) is Verdict.REJECTED


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(2, 1), (2, 3), (3, 1), (3, 2), (4, 1)], ids=str)
def test_no_point_of_a_box_is_above_what_the_check_says(size, kind, effort):
    n, k = size
    rng = np.random.default_rng([*size, KINDS.index(kind), 2])
    for _ in range(effort(10)):
        problem = small_problem(rng, *size, kind)
        marginal = Marginal(problem)
        points = rng.dirichlet(np.full(n, rng.choice([0.2, 1.0])), (200, marginal.rows))
        if marginal.shares is not None:
            points[:, 0] = marginal.shares
        values = values_at(problem, points[:, 0], points[:, 1:].reshape(-1, n, k, n).swapaxes(1, 2))
        assert marginal.value(points[0]) == pytest.approx(values[0], rel=1e-12)
        assert values.max() <= saturated_bound(problem)
        width = rng.choice([1e-9, 0.01, 0.1, 0.5], (200, 1, 1)) * rng.random(points.shape)
        low, high = np.maximum(points - width, 0), np.minimum(points + width, 1)
        if marginal.shares is not None:
            low[:, 0] = high[:, 0] = marginal.shares
        low, high, some = summing_to_one(low, high, 0 if marginal.shares is None else 1)
        assert some.all()
        boxes = Boxes(marginal, low, high)
        bounds, c, rows = boxes.bounds()
        assert (values <= bounds + 1e-9).all()
        beaten = values - rng.exponential(1.0, 200)
        left, right = boxes.cut(c, rows, np.maximum(bounds - beaten, 0.0))
        assert (left <= points).all()
        assert (points <= right).all()
