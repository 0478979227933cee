"""Many labels: a member that gives every worker one skill, and a sparse ``vote``. Matrices of workers would be huge.

A worker of skill s gives the right label with probability s, and any other label l in proportion to how frequent l is
among wrong answers. Skills are drawn from a Beta distribution, which is learnt from all workers. A task is plain or
hard: in hard ones skills count for little. A label that nobody gave to a task is not told from others of its kind: all
of them together are one more answer, so that probabilities are known of few labels for each task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crowdopt.consensus.cells import AnswerCells
from crowdopt.consensus.given import GivenLabels, GivenShares
from crowdopt.consensus.grid import on_grid
from crowdopt.consensus.parameters import Fitted, Parameters
from crowdopt.consensus.pooling import FIRST_STRENGTH, PRIOR_SIZE, PRIOR_TABLES, STRONGEST, WEAKEST
from crowdopt.consensus.skill_kernels import expect_labels, fill_labels_without, weigh_votes
from crowdopt.consensus.states import LEAST, log_table, logs_of_shares
from crowdopt.consensus.threads import by_parts
from crowdopt.consensus.vote import LEAST_RESIDUAL, PULL, VoteLearner, exact_precisions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from crowdopt._arrays import Floats, Ints, SmallInts
    from crowdopt.consensus.rows import Rows

HARD = 0.3
"""Skill in hard tasks, as a share of skill in plain ones."""

DRAWN = 0.15
"""How often answers to a misleading task are the label that it draws to. More would let minorities win."""

KINDS, KIND_PULL = np.array([0.8, 0.1, 0.1]), 0.1
"""How many tasks are taken to be plain, hard and misleading to begin with, and the weight of that for each task."""

SHARE_PULL = 1.0
"""Weight of the vote shares in the shares of the labels, for each task; and a part of a task for each label."""

LABEL_PULL = 0.1
"""Weight of even shares, for each label, in those of the labels and of wrong answers."""

ERROR_PULL = 1.0
"""Weight of the vote shares in the shares of wrong answers, for each of these."""

FIRST_SKILL = 0.7
SKILLS = (0.02, 0.98)
"""The least and the largest mean skill."""

MIN_ROUNDS, MAX_ROUNDS = 8, 60
SETTLED = 1e-3
MAX_VOTE_ROUNDS, VOTE_SETTLED = 200, 1e-6


WEIGHTS = {"vote": 0.25, "skill": 0.75}
"""The members of the consensus of many labels, and their weights."""

MOST_IN_MATRICES, MOST_LABELS_IN_MATRICES = 1 << 26, 64
"""Numbers in the matrices of all workers, and labels, up to which every worker has a matrix."""


def needs_skills(n_labels: int, n_workers: int) -> bool:
    """Whether workers have one skill each, as matrices of them would be too large: a rule of the data alone."""
    return n_labels > MOST_LABELS_IN_MATRICES or n_workers * n_labels * n_labels > MOST_IN_MATRICES


def first_shares(rows: Rows, given: GivenLabels) -> Floats:
    """The shares of the answers, or the label where it is known (entry)."""
    size = np.diff(rows.start)[given.task]
    shares = given.votes / np.maximum(size, 1)
    known = rows.known[given.task]
    return np.where(known >= 0, given.label == known, shares)


def fit_votes(rows: Rows, shares: Floats | None, on_round: Callable[[], None]) -> Fitted:
    """Fits the member ``vote``, see vote.py; the shares of the labels are those given, if there are any."""
    given, load = GivenLabels.of(rows), np.bincount(rows.worker, minlength=rows.n_workers)
    found = GivenShares(first_shares(rows, given), np.zeros(rows.n_tasks))
    prior = np.zeros(rows.n_labels)
    _, residual, total = _vote_round(rows, given, np.ones(rows.n_workers), prior, found)
    scale = PULL * max(residual.sum(), LEAST_RESIDUAL) / max(load.sum(), 1)
    change, n_rounds = np.inf, 0
    while change >= VOTE_SETTLED and n_rounds < MAX_VOTE_ROUNDS:
        n_rounds += 1
        on_round()
        precision = exact_precisions((PULL + load) / (scale + residual))
        prior = total / total.sum() if shares is None else shares
        change, residual, total = _vote_round(rows, given, precision, prior, found)
    population = {"vote_shares": prior, "vote_precision": np.array(PULL / scale)}
    learner = SparseVoteLearner(prior, float(scale))
    return Fitted(Parameters(population, {"vote_precision": precision}), n_rounds, learner)


def _vote_round(
    rows: Rows, given: GivenLabels, precision: Floats, prior: Floats, found: GivenShares
) -> tuple[float, Floats, Floats]:
    def part(first: int, last: int) -> tuple[float, float, Floats, Floats]:
        residual, total = np.zeros(rows.n_workers), np.zeros(rows.n_labels)
        tasks, shares, other = _some(rows, given, found, first, last)
        return (*weigh_votes(tasks, precision, prior, shares, other, residual, total), residual, total)

    changes, times, residuals, totals = zip(*by_parts(part, rows.n_tasks, 10 * len(rows.worker)), strict=True)
    return max(changes), np.sum(residuals, axis=0), np.maximum(np.sum(totals, axis=0) + sum(times) * prior, 0.0)


def _some(
    rows: Rows, given: GivenLabels, found: GivenShares, first: int, last: int
) -> tuple[tuple[Any, ...], Floats, Floats]:
    """Some of the tasks as loops want them, and where their probabilities are put."""
    start, cells = rows.start[first : last + 1], given.start[first : last + 1]
    tasks = start, rows.worker, given.of_row, rows.known[first:last], cells, given.label
    return tasks, found.entries[cells[0] : cells[-1]], found.other[first:last]


@dataclass(frozen=True, eq=False)
class SparseVoteLearner(VoteLearner):
    """Learns the precisions of workers from sparse votes; see ``learning.Learner``."""

    def look(self, parts: Iterable[Rows], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """How far workers are from the votes, and how often they answered."""
        residual, load = np.zeros(cells.n_workers), np.zeros(cells.n_workers)
        for rows in parts:
            load += np.bincount(rows.worker, minlength=rows.n_workers)
            given = GivenLabels.of(rows)
            residual += _vote_round(rows, given, tables["precision"], self.shares, _nothing(given))[1]
        return {"residual": residual, "load": load}


def _nothing(given: GivenLabels) -> GivenShares:
    return GivenShares(np.zeros(len(given.label)), np.zeros(given.n_tasks))


def fit_skills(rows: Rows, shares: Floats | None, on_round: Callable[[], None]) -> Fitted:
    """Fits the member ``skill``; the shares of the labels are those given, if there are any."""
    given = GivenLabels.of(rows)
    found = GivenShares(first_shares(rows, given), np.zeros(rows.n_tasks))
    exact = on_grid(found.entries)
    votes = _summed(given.label, exact, rows.n_labels)
    prior_labels = LABEL_PULL + SHARE_PULL * votes
    right = _summed(rows.worker, exact[given.of_row], rows.n_workers)
    asked = np.bincount(rows.worker, minlength=rows.n_workers).astype(float)
    wrong = _summed(rows.answer, 1 - exact[given.of_row], rows.n_labels)
    labels, kinds, skills = votes, KINDS * rows.n_tasks, _Skills(FIRST_SKILL, FIRST_STRENGTH)
    for n_rounds in range(1, MAX_ROUNDS + 1):
        on_round()
        skills = skills.better(right, asked)
        population = {
            "skill_shares": _of_sum_one(labels + prior_labels) if shares is None else shares,
            "skill_error_shares": _of_sum_one(wrong + LABEL_PULL + ERROR_PULL * wrong.sum() * _of_sum_one(votes)),
            "skill_kinds": _of_sum_one(kinds + KIND_PULL * rows.n_tasks * KINDS),
            "skill": np.array(skills.mean),
        }
        of_worker = skills.of(right, asked)
        change, kinds, right, asked, labels, wrong = _expect(rows, given, population, of_worker, found)
        if change < SETTLED and n_rounds >= MIN_ROUNDS:
            break
    return Fitted(Parameters(population, {"skill": of_worker}), n_rounds, SkillLearner(population, skills))


class _Skills:
    """What is expected of the skills of workers: their mean, and how many responses it is worth."""

    def __init__(self, mean: float, strength: float) -> None:
        self.mean, self.strength = mean, strength

    def of(self, right: Floats, asked: Floats) -> Floats:
        """The skill of each worker."""
        return np.asarray((right + self.strength * self.mean) / (asked + self.strength))

    def better(self, right: Floats, asked: Floats) -> _Skills:
        """The mean and the strength that the workers show: tables of a Chinese restaurant, as in ``pooling``."""
        from scipy.special import psi  # which executors of a cluster may lack: they have matrices

        mean, strength = self.mean, self.strength
        for _ in range(2):
            yes, no = strength * mean, strength * (1 - mean)
            tables = [
                float(on_grid(alpha * (psi(n + alpha) - psi(alpha))).sum())
                for alpha, n in ((yes, right), (no, np.maximum(asked - right, 0.0)))
            ]
            size = float(on_grid(psi(asked + strength) - psi(strength)).sum())
            mean = float(np.clip((tables[0] + 1) / (sum(tables) + 2), *SKILLS))
            strength = float(np.clip((sum(tables) + PRIOR_TABLES) / (size + PRIOR_SIZE), WEAKEST, STRONGEST))
        return _Skills(mean, strength)


@dataclass(frozen=True, eq=False)
class SkillLearner:
    """Learns the skills of workers; what is expected of them stays. See ``learning.Learner``.

    Attributes:
        population: What is known of the population.
        skills: What is expected of the skills.
    """

    name: ClassVar = "skill"
    rows: ClassVar = {"right": "worker", "asked": "worker"}
    cells = staticmethod(AnswerCells.none)

    population: dict[str, Floats]
    skills: _Skills

    def begin(self, values: Floats, cells: AnswerCells) -> dict[str, Floats]:
        """The skills, by worker."""
        del cells
        return {"skill": values}

    def look(self, parts: Iterable[Rows], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """How often workers are right, as is expected, of how many responses."""
        right, asked = np.zeros(cells.n_workers), np.zeros(cells.n_workers)
        for rows in parts:
            given = GivenLabels.of(rows)
            found = _expect(rows, given, self.population, tables["skill"], _nothing(given))
            right += found[2]
            asked += found[3]
        return {"right": right, "asked": asked}

    def learn(self, sums: dict[str, Floats], cells: AnswerCells, tables: dict[str, Floats]) -> dict[str, Floats]:
        """The skills that follow."""
        del cells, tables
        return {"skill": self.skills.of(sums["right"], sums["asked"])}

    def parameters(self, cells: AnswerCells, tables: dict[str, Floats]) -> Floats:
        """The skills, by worker."""
        del cells
        return tables["skill"]


def _expect(
    rows: Rows, given: GivenLabels, population: dict[str, Floats], skills: Floats, found: GivenShares
) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
    """Puts the probabilities in place; what they add up to."""
    sizes = rows.n_workers, rows.n_workers, rows.n_labels, rows.n_labels, len(KINDS)
    of_workers, tables = _of_workers(skills), _tables(population)

    def part(first: int, last: int) -> tuple[float, float, list[Floats]]:
        sums = [np.zeros(size) for size in sizes]
        tasks, shares, other = _some(rows, given, found, first, last)
        return (*expect_labels(tasks, of_workers, tables, shares, other, *sums), sums)

    changes, times, parts = zip(*by_parts(part, rows.n_tasks, 20 * len(rows.worker)), strict=True)
    right, asked, labels, wrong, kinds = (np.sum(one, axis=0) for one in zip(*parts, strict=True))
    return max(changes), kinds, right, asked, np.maximum(labels + sum(times) * population["skill_shares"], 0.0), wrong


def _of_workers(skills: Floats) -> tuple[Floats, Floats]:
    """Log odds of being right, and log-probabilities of being wrong, in plain and in hard tasks (kind, worker)."""
    both = np.stack([skills, HARD * skills])
    wrong = log_table(1 - both)
    return log_table(both) - wrong, wrong


def _tables(population: dict[str, Floats]) -> tuple[Any, ...]:
    shares, errors, kinds = (population[name] for name in ("skill_shares", "skill_error_shares", "skill_kinds"))
    logs = log_table(errors), log_table(1 - errors), on_grid(logs_of_shares(shares))
    return *logs, shares, errors, np.log(np.maximum(kinds, LEAST)), DRAWN, float((shares * errors).sum())


def _summed(at: SmallInts, values: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(at, values, length), np.float64)


def _of_sum_one(values: Floats) -> Floats:
    return np.asarray(values / values.sum())


def votes_of_labels(rows: Rows, given: GivenLabels, parameters: Parameters) -> GivenShares:
    """What ``vote`` says of every task."""
    found, precision = _nothing(given), parameters.workers["vote_precision"]
    _vote_round(rows, given, precision, parameters.population["vote_shares"], found)
    return found


def skills_of_labels(rows: Rows, given: GivenLabels, parameters: Parameters) -> GivenShares:
    """What ``skill`` says of every task."""
    found = _nothing(given)
    _expect(rows, given, parameters.population, parameters.workers["skill"], found)
    return found


def labels_without(rows: Rows, given: GivenLabels, parameters: Parameters) -> tuple[Ints, Floats]:
    """What the others say: how probable the labels of its task are without this worker's responses to it.

    Returns where the entries of the task of each response begin, and at last where they end; and the probabilities.
    """
    population, workers = parameters.population, parameters.workers
    sizes = np.diff(given.start)[rows.task]
    place = np.append(0, np.cumsum(sizes))
    found, everything = np.zeros(place[-1]), GivenShares(np.zeros(len(given.label)), np.zeros(rows.n_tasks))
    tasks = _some(rows, given, everything, 0, rows.n_tasks)[0]
    votes = workers["vote_precision"], population["vote_shares"], tuple(WEIGHTS.values())
    fill_labels_without(tasks, _of_workers(workers["skill"]), _tables(population), *votes, place, found)
    return place, found
