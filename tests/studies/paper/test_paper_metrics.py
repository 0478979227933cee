"""Metrics of the experiments task by task, and what must show in them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

from crowdopt.engines.enumeration import likelihoods
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.problem import Problem
from crowdopt.studies.paper.em_vs_optimum import SAME_NATS, against_em, below_best, series
from crowdopt.studies.paper.setups import (
    ALL_EM,
    BEST_FOUND,
    DISTANCE,
    EM1,
    EM2,
    EM3,
    EM_ANY,
    EM_BEST,
    EMD,
    IN_ORDER,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    OPT_SHARES,
    RATE_0,
    RATE_1,
    SETUPS,
    up,
)
from crowdopt.studies.paper.trials import climb, measure_trials, simulated, solve_all
from crowdopt.studies.paper.verdicts import versus
from support.oracle import log_likelihood, respects_order
from support.paper_runs import ran

# Metrics, task by task


@pytest.mark.parametrize(("name", "m"), [("filtering-0.7", 4), ("rating-2", 3), ("rating-equal-R4", 2)])
def test_every_metric_is_that_of_the_tasks_one_by_one(name, m):
    setup = SETUPS[name]
    crowds = simulated(setup, m, [np.random.default_rng(seed) for seed in (8, 9)])
    mappings = solve_all(setup, crowds)
    values = measure_trials(setup, crowds, mappings)
    buckets = crowds.lattice.counts[:, 0]
    for trial, table in enumerate(crowds.tables):
        truth, place = (np.repeat(index, table.ravel()) for index in np.indices(table.shape).reshape(2, -1))
        for k in range(len(setup.algorithms)):
            found = mappings[trial, k][place]
            direct = dict(one_by_one(setup, crowds.matrices[trial], buckets[place], truth, found))
            used = np.unique(place)
            names = np.array(list(itertools.permutations(range(setup.n_labels))))
            direct[IN_ORDER] = float(
                any(respects_order(buckets[used], name[mappings[trial, k][used]]) for name in names)
            )
            assert values[trial, k] == pytest.approx([direct[metric] for metric in setup.metrics], nan_ok=True)


def one_by_one(setup, workers, tasks, truth, found):
    """Every metric of one trial from its tasks: responses (task, label), true labels, and those found."""
    labels = range(setup.n_labels)
    counts = [tasks[found == label].sum(axis=0) for label in labels]
    rows = [count / count.sum() if count.sum() else np.full(len(labels), 1 / len(labels)) for count in counts]
    yield LIKELIHOOD, log_likelihood(tasks, found)
    yield INCORRECT, np.mean(found != truth)
    yield DISTANCE, np.mean(np.abs(found - truth))
    yield EMD, sum(wasserstein_distance(labels, labels, p, q) for p, q in zip(rows, workers, strict=True))
    yield JSD, sum(jensenshannon(p, q, base=2) ** 2 for p, q in zip(rows, workers, strict=True))
    yield RATE_0, counts[0][1] / counts[0].sum() if counts[0].sum() else np.nan
    yield RATE_1, counts[1][0] / counts[1].sum() if counts[1].sum() else np.nan


# What must show


def test_skewed_truths_are_better_served_by_em_and_best_by_estimated_shares():
    experiment = ran("filtering-0.9", 40)
    first = versus(experiment, INCORRECT, OPT, first=EM1)
    assert first.overall.above(0)
    assert set(first.better) >= {3, 5, 7}
    shares = versus(experiment, INCORRECT, OPT, first=OPT_SHARES)
    assert shares.overall.above(0)
    assert set(shares.better) >= set(range(2, 9))
    assert not shares.worse


def test_orderly_workers_are_best_served_by_opt():
    experiment = ran("rating-equal-mlr", 20)
    for em in (EM1, EM2, EM3):
        found = versus(experiment, LIKELIHOOD, em)
        assert found.better == tuple(range(2, 9))
    assert not any(versus(experiment, LIKELIHOOD, em).worse for em in ALL_EM)


def test_ties_to_one_serve_skewed_truths_better():
    experiment = ran("filtering-0.9", 40)
    for m in (2, 4):
        low, high = (experiment.values[m, em, INCORRECT].mean() for em in (EM1, up(EM1)))
        assert high < low - 0.1
    assert all(
        np.array_equal(experiment.values[m, em, INCORRECT], experiment.values[m, up(em), INCORRECT])
        for m in (1, 3)
        for em in (EM1, EM3)
    )


def test_nothing_found_is_below_what_it_was_found_from():
    experiment = ran("rating-equal", 4)
    gained = 0
    for m in experiment.sizes:
        best = experiment.values[m, BEST_FOUND, LIKELIHOOD]
        for name in (OPT, *ALL_EM):
            assert (best >= experiment.values[m, name, LIKELIHOOD] - SAME_NATS).all()
        gained += (best > experiment.values[m, EM_BEST, LIKELIHOOD] + 1).sum()
    assert gained > 5


def test_climbing_ends_where_no_single_move_gains_and_seldom_below_the_best():
    setup, short = SETUPS["rating-equal"], []
    for seed in range(12):
        crowds = simulated(setup, 2, [np.random.default_rng(seed)])
        used = crowds.weights[0] > 0
        problem = Problem(Buckets(crowds.lattice.counts[used], crowds.weights[0][used]), Space.ALL)
        found = climb(problem, [solve_all(setup, crowds)[0, k][used] for k in range(4)])
        every_one = np.array(list(itertools.product(range(3), repeat=used.sum())), np.uint8)
        values = likelihoods(problem, every_one)
        value = problem.objective.of_mapping(problem.buckets, found)
        near = (every_one != found).sum(axis=1) <= 1
        assert value >= values[near].max() - 1e-6
        short.append(values.max() > value + 1e-6)
    assert sum(short) < 6


# How often EM misses


def test_misses_are_counted_trial_by_trial():
    experiment = ran("rating-equal", 4)
    rows = against_em([experiment])
    assert len(rows) == 8 * 4
    for row in rows:
        lead = experiment.values[row["m"], row["algorithm"], LIKELIHOOD] - experiment.values[row["m"], OPT, LIKELIHOOD]
        below, above = [-x for x in lead if x < -SAME_NATS], [x for x in lead if x > SAME_NATS]
        assert (row["missed"], row["beat"]) == (len(below) / 4, len(above) / 4)
        assert row["short"] == pytest.approx(np.mean(below) if below else 0)
        assert row["ahead"] == pytest.approx(np.mean(above) if above else 0)
        assert row["most"] == pytest.approx(max(above, default=0))
        assert row["below_best"] == np.mean(below_best(experiment, row["m"], row["algorithm"])) >= row["missed"]
        assert (row["experiment"], row["R"], row["trials"]) == ("rating-equal", 3, 4)
        assert 0 <= row["beat"] <= row["out_of_order"] <= 1
    assert max(row["beat"] for row in rows) > 0
    two = against_em([ran("filtering-0.5", 15)])
    assert all(row["beat"] == row["out_of_order"] == row["most"] == 0 for row in two)
    assert all(row["below_best"] == row["missed"] for row in two)
    assert max(row["missed"] for row in two if row["algorithm"] == EM_BEST) > 0.2


def test_any_of_equals():
    experiment = ran("filtering-0.5", 15)
    # With three responses there is always a majority, and the third start ends at the mirror image of the first.
    for naming in (str, up):
        np.testing.assert_allclose(series(experiment, 3, naming(EM_ANY), INCORRECT), 0.5)
        np.testing.assert_allclose(
            series(experiment, 3, naming(EM_ANY), LIKELIHOOD),
            experiment.values[3, naming(EM_BEST), LIKELIHOOD],
            atol=SAME_NATS,
        )
    differ = [series(experiment, m, EM_ANY, EMD) != series(experiment, m, up(EM_ANY), EMD) for m in (2, 4)]
    assert np.any(differ)
