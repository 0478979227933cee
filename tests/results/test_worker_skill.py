"""How good workers are by uncertain labels: intervals that cover, one number that ranks, and flags that are right."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, betaincinv

from crowdopt.results.workers.skill import (
    ComparedWithAll,
    _own_sums,
    beside_others,
    measure_skill,
    skill_reason,
    summed,
    uncertain_share,
)
from crowdopt.results.workers.statistics import FLAGS

LABELS = ("no", "yes", "maybe")


@dataclass(frozen=True, eq=False)
class Judged(ComparedWithAll):
    """Responses that remember the whole tables of the members."""

    members: Any


def judged(task, worker, answer, members, without, *, n_workers=None, known=None):
    """Responses as lists, or arrays; members as (weight, probabilities)."""
    columns = [np.asarray(column, np.int64) for column in (task, worker, answer)]
    some = np.zeros(len(columns[0]), bool) if known is None else np.asarray(known)
    right = [(weight, np.asarray(one)[columns[0], columns[2]]) for weight, one in members]
    table = np.asarray(without, float)
    sizes = n_workers or int(max(worker)) + 1, table.shape[1]
    return Judged(*columns, *sizes, some, right, table, members)


def by_oracle(task, worker, answer, matrices, shares):
    """The exact posteriors of the labels, and those without the worker, by one who knows how everybody answers."""
    n_tasks = int(task.max()) + 1
    said = np.log(matrices[worker, :, answer])
    logs = np.tile(np.log(shares), (n_tasks, 1))
    np.add.at(logs, task, said)
    return softmax(logs), softmax(logs[task] - said)


def softmax(logs):
    scaled = np.exp(logs - logs.max(axis=1, keepdims=True))
    return scaled / scaled.sum(axis=1, keepdims=True)


def coins(accuracy, n_labels):
    """The matrices of workers who err evenly."""
    matrices = np.repeat(((1 - accuracy) / (n_labels - 1))[:, None, None], n_labels, axis=1).repeat(n_labels, axis=2)
    matrices[:, np.arange(n_labels), np.arange(n_labels)] = accuracy[:, None]
    return matrices


def drawn(seed, matrices, *, n_tasks=400, per_task=5, shares=None):
    """A crowd that answers by the matrices, with its truth."""
    rng = np.random.default_rng(seed)
    n_workers, n_labels, _ = matrices.shape
    shares = np.full(n_labels, 1 / n_labels) if shares is None else np.asarray(shares)
    truth = rng.choice(n_labels, n_tasks, p=shares)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.choice(n_workers, per_task, replace=False) for _ in range(n_tasks)])
    answer = (rng.random(len(task))[:, None] > matrices[worker, truth[task]].cumsum(axis=1)).sum(axis=1)
    answer = np.minimum(answer, n_labels - 1)
    posterior, without = by_oracle(task, worker, answer, matrices, shares)
    return judged(task, worker, answer, [(1.0, posterior)], without, n_workers=n_workers), truth


def flags_of(skill):
    return [FLAGS[number] for number in skill.flag]


# The interval.


def test_with_certain_labels_the_interval_is_that_of_jeffreys_prior():
    """By its definition: the Beta distribution has the probability 1/40 below and above it."""
    k, n = np.arange(1.0, 20), np.full(19, 20.0)
    low, high, worth = uncertain_share(k / n, n, np.zeros(19))
    assert betainc(k + 0.5, n - k + 0.5, low) == pytest.approx(0.025)
    assert betainc(k + 0.5, n - k + 0.5, high) == pytest.approx(0.975)
    assert worth == pytest.approx(20)


@pytest.mark.parametrize(("n", "sure"), [(12, 0.8), (60, 0.7), (60, 0.97), (300, 0.6)])
def test_the_interval_is_that_of_all_labels_that_may_be(n, sure):
    """Against draws: of a member by weight, of the labels by this member, of the rate by these labels.

    Their mean and their variance give the interval; it holds about as many of them as it should.
    """
    rng = np.random.default_rng(n)
    weights = np.array([0.25, 0.5, 0.25])
    tables = [np.stack([1 - right, right], axis=1) for right in rng.beta(9 * sure, 9 * (1 - sure), (3, n))]
    tables[0] = tables[0] * 0.8 + [0.2, 0.0]  # one member thinks worse of all of them
    members = list(zip(weights, tables, strict=True))
    mean = sum(weight * table for weight, table in members)
    skill = measure_skill([judged(np.arange(n), np.zeros(n, int), np.ones(n, int), members, mean)])
    draws = 200_000
    right = np.concatenate(
        [(rng.random((int(w * draws) // 10, n)) < table[:, 1]).sum(axis=1) for w, table in members]
    ).repeat(10)
    rate = rng.beta(right + 0.5, n - right + 0.5)
    assert skill.accuracy[0] == pytest.approx(mean[:, 1].mean())
    size = rate.mean() * (1 - rate.mean()) / rate.var() - 1
    ends = betaincinv(size * rate.mean(), size * (1 - rate.mean()), [0.025, 0.975])
    low, high = skill.accuracy_low[0], skill.accuracy_high[0]
    assert (low, high) == pytest.approx(ends, abs=0.004)
    assert 0.92 < ((low <= rate) & (rate <= high)).mean() < 0.98


def test_members_that_differ_make_the_interval_wider():
    table = np.tile([0.1, 0.9], (50, 1))
    rows = (np.arange(50), np.zeros(50, int), np.ones(50, int))
    one = measure_skill([judged(*rows, [(1.0, table)], table)])
    other = [(0.5, np.tile([0.02, 0.98], (50, 1))), (0.5, np.tile([0.18, 0.82], (50, 1)))]
    two = measure_skill([judged(*rows, other, table)])
    assert two.accuracy == pytest.approx(one.accuracy)
    assert two.accuracy_low[0] < one.accuracy_low[0] < one.accuracy_high[0] < two.accuracy_high[0]


@pytest.mark.parametrize(("n_labels", "per_task"), [(2, 3), (2, 9), (4, 4)])
def test_intervals_cover_the_rate_in_simulated_crowds(n_labels, per_task):
    """They hold it at least as often as they say, within four standard errors, and no label is certain."""
    hits = agreed = n = 0
    for seed in range(10):
        accuracy = np.random.default_rng(seed).uniform(0.55, 0.95, 60)
        rows, _ = drawn(seed, coins(accuracy, n_labels), per_task=per_task)
        skill = measure_skill([rows])
        hits += int(((skill.accuracy_low <= accuracy) & (accuracy <= skill.accuracy_high)).sum())
        width = skill.agreement_high - skill.agreement_low
        agreed += int(((skill.agreement_low <= skill.agreement) & (width < 1)).sum())
        n += len(accuracy)
    assert hits / n > 0.95 - 4 * math.sqrt(0.95 * 0.05 / n)
    assert agreed == n


def test_an_interval_that_took_the_labels_for_certain_would_not_cover():
    """What the uncertainty of the labels is for: with three responses to a task the likeliest label is often wrong."""
    certain = uncertain = n = 0
    for seed in range(10):
        accuracy = np.random.default_rng(seed).uniform(0.55, 0.8, 60)
        rows, _ = drawn(seed, coins(accuracy, 2), per_task=3, n_tasks=2000)
        skill = measure_skill([rows])
        table = rows.members[0][1]
        hard = judged(rows.task, rows.worker, rows.answer, [(1.0, np.eye(2)[table.argmax(axis=1)])], rows.without)
        bold = measure_skill([hard])
        uncertain += int(((skill.accuracy_low <= accuracy) & (accuracy <= skill.accuracy_high)).sum())
        certain += int(((bold.accuracy_low <= accuracy) & (accuracy <= bold.accuracy_high)).sum())
        n += len(accuracy)
    assert uncertain / n > 0.93
    assert certain / n < 0.8


# Repeated answers to one task.


def repeated(rows, times):
    """Every worker gives every answer so many times."""
    columns = (np.repeat(one, times) for one in (rows.task, rows.worker, rows.answer))
    without, known = (np.repeat(one, times, axis=0) for one in (rows.without, rows.known))
    return judged(*columns, rows.members, without, n_workers=rows.n_workers, known=known)


@pytest.mark.parametrize("times", [2, 3, 8])
def test_who_repeats_every_answer_is_judged_like_one_who_does_not(times):
    for rows in (with_odd_ones(1), drawn(2, coins(np.linspace(0.5, 0.95, 40), 3))[0]):
        once, again = measure_skill([rows]), measure_skill([repeated(rows, times)])
        for name, values in vars(once).items():
            factor = times if name in {"n_responses", "n_compared"} else 1
            assert getattr(again, name) == pytest.approx(factor * values, abs=1e-9), name
        for number in range(rows.n_workers):
            assert skill_reason(again, number, LABELS) == skill_reason(once, number, LABELS)


def test_intervals_of_those_who_repeat_their_answers_cover_the_rate():
    """As if repeats were answers to other tasks, they would hold it for about two thirds."""
    hits = n = 0
    for seed in range(10):
        accuracy = np.random.default_rng(seed).uniform(0.55, 0.95, 60)
        skill = measure_skill([repeated(drawn(seed, coins(accuracy, 2))[0], 8)])
        hits += int(((skill.accuracy_low <= accuracy) & (accuracy <= skill.accuracy_high)).sum())
        n += len(accuracy)
    assert hits / n > 0.95 - 4 * math.sqrt(0.95 * 0.05 / n)


def test_without_repeats_the_variance_is_that_of_independent_answers():
    rows, _ = drawn(4, coins(np.linspace(0.5, 0.95, 30), 3))
    right = rows.members[0][1][rows.task, rows.answer]
    n = np.bincount(rows.worker)
    variance = np.bincount(rows.worker, weights=right * (1 - right)) / n**2
    skill = measure_skill([rows])
    assert (rows.weight == 1).all()
    assert skill.n_tasks.tolist() == skill.n_responses.tolist() == n.tolist()
    assert skill.accuracy == pytest.approx(np.bincount(rows.worker, weights=right) / n, abs=1e-12)
    low, high, _ = uncertain_share(skill.accuracy, n, variance)
    assert np.abs(skill.accuracy_low - low).max() < 1e-12
    assert np.abs(skill.accuracy_high - high).max() < 1e-12


def test_answers_to_one_task_that_differ_are_right_and_wrong_together():
    """Against all labels that three tasks can have: the answers to them are 0 0 1, 2, and 1 0 2 2."""
    task, answer = np.array([0, 0, 0, 1, 2, 2, 2, 2]), np.array([0, 0, 1, 2, 1, 0, 2, 2])
    table = np.random.default_rng(6).dirichlet(np.ones(3), 3)
    rows = judged(task, np.zeros(8, int), answer, [(1.0, table)], table[task])
    shares = np.array([[2 / 3, 1 / 3, 0], [0, 0, 1], [1 / 4, 1 / 4, 1 / 2]])
    labels = [*itertools.product(range(3), repeat=3)]
    chance = np.array([math.prod(table[range(3), label]) for label in labels])
    right = np.array([shares[range(3), label].sum() for label in labels])
    mean = chance @ right
    skill = measure_skill([rows])
    assert skill.accuracy[0] == pytest.approx(mean / 3)
    assert rows.variance(table[task, answer])[0] == pytest.approx(chance @ (right - mean) ** 2)
    assert (skill.n_tasks[0], skill.n_responses[0]) == (3, 8)


# The one number.


def test_skill_ranks_newcomers_by_what_little_is_known_of_them():
    """Three right responses of three are less than 95 of 100, and three wrong ones are better than 20 of 100."""
    worker = np.repeat([0, 1, 2, 3], [100, 3, 3, 100])
    answer = np.concatenate([np.arange(100) < 95, [1, 1, 1], [0, 0, 0], np.arange(100) < 20]).astype(int)
    table = np.tile([0.0, 1.0], (206, 1))
    skill = measure_skill([judged(np.arange(206), worker, answer, [(1.0, table)], table)])
    assert skill.accuracy.tolist() == [0.95, 1.0, 0.0, 0.2]
    assert np.argsort(-skill.skill).tolist() == [0, 1, 2, 3]
    average = answer.mean()
    assert skill.skill[1] == pytest.approx((3 + 4 * average) / 7)


def test_skill_ranks_the_workers_of_a_simulated_crowd():
    accuracy = np.random.default_rng(1).uniform(0.4, 0.95, 80)
    rows, _ = drawn(1, coins(accuracy, 3), n_tasks=1500)
    skill = measure_skill([rows]).skill
    ranks = [np.argsort(np.argsort(values)) for values in (skill, accuracy)]
    assert np.corrcoef(*ranks)[0, 1] > 0.93


# What the others say.


def test_agreement_does_not_flatter_those_who_guess():
    rows, truth = drawn(5, coins(np.full(30, 0.5), 2), n_tasks=3000, per_task=3)
    votes = np.zeros((3000, 2))
    np.add.at(votes, (rows.task, rows.answer), 1.0)
    others = votes[rows.task] - np.eye(2)[rows.answer]
    skill = measure_skill([judged(rows.task, rows.worker, rows.answer, [(1.0, votes / 3)], others / 2)])
    assert skill.accuracy.mean() > 0.6
    assert skill.agreement.mean() == pytest.approx(0.5, abs=0.02)
    assert skill.agreement == pytest.approx(skill.chance, abs=0.1)
    assert len(truth) == 3000


def test_chance_is_the_mean_over_all_orders_and_a_flag_needs_more_than_their_spread():
    """By going through all orders of seven answers."""
    rng = np.random.default_rng(8)
    answer, without = rng.integers(0, 3, 7), rng.dirichlet(np.ones(3), 7)
    task, worker = np.tile(np.arange(7), 2), np.repeat([0, 1], 7)
    rows = judged(task, worker, np.tile(answer, 2), [(1.0, without)], np.tile(without, (2, 1)))
    orders = [sum(without[i, a] for i, a in enumerate(order)) for order in itertools.permutations(answer.tolist())]
    assert measure_skill([rows]).chance[0] == pytest.approx(np.mean(orders) / 7)
    beside = beside_others([rows], summed([rows], _own_sums))
    assert beside.deviation[0] == pytest.approx(np.std(orders))


def test_only_tasks_that_others_answered_or_whose_label_is_known_are_compared():
    table = np.tile([0.3, 0.7], (4, 1))
    rows = ([0, 0, 1, 2, 2, 3], [0, 1, 0, 0, 0, 1], [1, 1, 1, 0, 1, 0])
    known = [False, False, False, False, False, True]
    skill = measure_skill([judged(*rows, [(1.0, table)], np.tile([0.3, 0.7], (6, 1)), known=known)])
    assert skill.n_responses.tolist() == [4, 2]
    assert skill.n_compared.tolist() == [1, 2]


# Flags.


def with_odd_ones(seed, n_tasks=300):
    """A good crowd of 20 workers, and one each who says yes, nearly always says yes, guesses, opposes, and is new."""
    accuracy = np.random.default_rng(seed).uniform(0.75, 0.95, 20)
    always, nearly = np.tile([1e-6, 1 - 1e-6], (2, 1)), np.tile([0.05, 0.95], (2, 1))
    odd = [always, nearly, np.full((2, 2), 0.5), coins(np.array([0.1]), 2)[0], coins(np.array([0.9]), 2)[0]]
    matrices = np.concatenate([coins(accuracy, 2), odd])
    rng = np.random.default_rng(seed + 100)
    truth = rng.integers(0, 2, n_tasks)
    pairs = [
        (task, worker) for task in range(n_tasks) for worker in (*rng.choice(20, 6, replace=False), 20, 21, 22, 23)
    ]
    task, worker = np.array([*pairs, *((task, 24) for task in range(7))]).T
    answer = (rng.random(len(task)) < matrices[worker, truth[task], 1]).astype(int)
    posterior, without = by_oracle(task, worker, answer, matrices, np.array([0.5, 0.5]))
    return judged(task, worker, answer, [(1.0, posterior)], without)


@pytest.mark.parametrize("seed", range(8))
def test_odd_workers_are_flagged_and_good_ones_are_not(seed):
    skill = measure_skill([with_odd_ones(seed)])
    flags = flags_of(skill)
    assert flags[:20] == [""] * 20
    assert flags[20:22] == ["same", "same"]
    assert flags[23] == "opposite"
    assert flags[24] in {"", "unclear"}
    reasons = [skill_reason(skill, number, LABELS) for number in range(25)]
    assert reasons[:20] == [""] * 20
    assert reasons[20] == "answers 'yes' whatever the task"
    assert reasons[21].startswith("answers 'yes' to 9")
    assert reasons[23].startswith("worse than guessing: agrees with the others on 1")
    if flags[24]:
        assert reasons[24] == "has answered 7 tasks: too few to tell from guessing"


def test_of_those_who_guess_nearly_all_are_flagged_so():
    """One in forty is above chance, and one below, by chance."""
    flags = [flags_of(measure_skill([with_odd_ones(seed)]))[22] for seed in range(60)]
    assert set(flags) <= {"chance", "opposite", ""}
    assert flags.count("chance") >= 52
    skill = measure_skill([with_odd_ones(0)])
    assert skill_reason(skill, 22, LABELS).startswith("no better than guessing: agrees with the others on ")


def test_few_who_guess_are_praised_and_few_who_are_good_are_blamed():
    """In a crowd of both, with labels that are uncertain: within four standard errors of one in forty."""
    praised = blamed = guessing = good = 0
    for seed in range(20):
        accuracy = np.where(np.arange(60) < 20, 0.5, 0.8)
        skill = measure_skill([drawn(seed, coins(accuracy, 2), n_tasks=600)[0]])
        flag = np.array(flags_of(skill))
        praised += int((flag[:20] == "").sum())
        blamed += int(np.isin(flag[20:], ["same", "opposite", "chance"]).sum())
        guessing, good = guessing + 20, good + 40
    assert praised / guessing < 0.025 + 4 * math.sqrt(0.025 * 0.975 / guessing)
    assert blamed / good < 0.025


def test_who_says_what_is_true_is_not_flagged_for_saying_the_same():
    """All tasks of this worker are of one label: there is nothing to tell it from guessing, but no reason to blame."""
    rows, truth = drawn(3, coins(np.full(20, 0.9), 2))
    mine = np.flatnonzero(truth == 0)[:60]
    right = np.tile([0.99, 0.01], (60, 1))
    more = judged(
        np.concatenate([rows.task, mine]),
        np.concatenate([rows.worker, np.full(60, 20)]),
        np.concatenate([rows.answer, np.zeros(60, int)]),
        rows.members,
        np.concatenate([rows.without, right]),
    )
    skill = measure_skill([more])
    assert FLAGS[skill.flag[20]] == "unclear"
    assert skill.agreement[20] == pytest.approx(0.99)


def test_a_worker_alone_is_judged_by_gold():
    answer, truth = np.ones(40, int), np.arange(40) % 2
    table = np.eye(2)[truth]
    rows = (np.arange(40), np.zeros(40, int))
    gold = {"members": [(1.0, table)], "without": table, "known": np.ones(40, bool)}
    assert skill_reason(measure_skill([judged(*rows, answer, **gold)]), 0, LABELS) == "answers 'yes' whatever the task"
    good = measure_skill([judged(*rows, truth, **gold)])
    assert flags_of(good) == [""]
    assert good.accuracy.tolist() == [1.0]
    assert good.accuracy_high.tolist() == [1.0]


# Degenerate crowds.


def test_one_response():
    skill = measure_skill([judged([0], [0], [1], [(1.0, np.array([[0.4, 0.6]]))], [[0.5, 0.5]])])
    assert (skill.n_responses[0], skill.n_compared[0]) == (1, 0)
    assert skill.accuracy[0] == skill.skill[0] == pytest.approx(0.6)
    assert 0 < skill.accuracy_low[0] < 0.1
    assert 0.9 < skill.accuracy_high[0] < 1
    assert (skill.agreement_low[0], skill.agreement_high[0]) == (0, 1)
    assert skill_reason(skill, 0, LABELS) == "nobody else answered its tasks"


def test_few_of_many_responses_that_others_answered_too():
    table = np.tile([0.1, 0.9], (30, 1))
    task, worker = [*range(30), 0], [0] * 30 + [1]
    skill = measure_skill([judged(task, worker, [1] * 31, [(1.0, table)], np.tile([0.1, 0.9], (31, 1)))])
    reason = "has answered 30 tasks, of which others answered 1: too few to tell from guessing"
    assert skill_reason(skill, 0, LABELS) == reason
    assert skill_reason(skill, 1, LABELS) == "has answered 1 task: too few to tell from guessing"


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_unanimous(n_labels):
    """All say one thing, and the labels are that: all are right, and nothing tells anybody from guessing."""
    table = np.eye(n_labels)[np.zeros(10, int)]
    task, worker = np.divmod(np.arange(40), 4)
    skill = measure_skill([judged(task, worker, np.zeros(40, int), [(0.5, table), (0.5, table)], table[task])])
    assert (
        skill.accuracy.tolist() == skill.skill.tolist() == skill.agreement.tolist() == skill.chance.tolist() == [1] * 4
    )
    assert ((skill.accuracy_low > 0.7) & (skill.accuracy_high == 1)).all()
    assert flags_of(skill) == ["unclear"] * 4


def test_workers_without_responses_and_crowds_without_any():
    table = np.array([[0.2, 0.8]])
    skill = measure_skill([judged([0, 0], [0, 2], [1, 1], [(1.0, table)], [[0.3, 0.7]] * 2, n_workers=4)])
    assert skill.n_responses.tolist() == [1, 0, 1, 0]
    assert skill.skill == pytest.approx(np.full(4, 0.8))
    assert (skill.accuracy_low[1], skill.accuracy_high[1]) == (0, 1)
    empty = measure_skill([judged([], [], [], [(1.0, np.zeros((0, 2)))], np.zeros((0, 2)), n_workers=2)])
    assert flags_of(empty) == ["unclear", "unclear"]


def test_no_order_of_rows_or_names_of_workers_moves_a_number():
    rows = with_odd_ones(2)
    rng = np.random.default_rng(0)
    order, names = rng.permutation(len(rows.task)), rng.permutation(rows.n_workers)
    other = judged(rows.task[order], names[rows.worker[order]], rows.answer[order], rows.members, rows.without[order])
    one, two = measure_skill([rows]), measure_skill([other])
    for name, values in vars(one).items():
        assert getattr(two, name)[names] == pytest.approx(values, abs=1e-9), name
