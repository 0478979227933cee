"""The experiments of the paper: what is likelier than what, and what the rows hold."""

from __future__ import annotations

import itertools
import pickle
from functools import cache

import numpy as np
import pytest

import crowdopt
from crowdopt.engines.base import Limits
from crowdopt.engines.registry import ENGINES
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.objective import Objective
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.studies.paper import experiments
from crowdopt.studies.paper.em_vs_optimum import SAME_NATS, below_all, shortfalls
from crowdopt.studies.paper.experiments import collect, pieces, run_experiment, run_piece
from crowdopt.studies.paper.scores import fraction_incorrect
from crowdopt.studies.paper.setups import (
    ALL_EM,
    BEYOND,
    DISTANCE,
    EM1,
    EM2,
    EM3,
    EMD,
    IN_ORDER,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    OPT_ALL,
    OPT_SHARES,
    PAPER_SETUPS,
    RATE_1,
    REPORTED,
    SETUPS,
    up,
)
from crowdopt.studies.paper.statistics import interval
from crowdopt.studies.paper.trials import measure_trials, simulated, solve_all
from support.lattice import respects
from support.needs import SHARED, need
from support.oracle import log_likelihood
from support.paper_runs import ran, workers

FILTERING = [setup.name for setup in PAPER_SETUPS if setup.name.startswith("filtering")]


RATING = [setup.name for setup in (*PAPER_SETUPS, *BEYOND) if setup.name.startswith("rating")]


@cache
def image_comparison(trials: int = 4):
    need((SHARED / "ic" / "responses.csv").is_file(), f"the shared data set 'ic' ({SHARED / 'ic'})")
    return run_experiment("ic", trials, seed=5, folder=SHARED / "ic")


@pytest.mark.parametrize("name", FILTERING)
def test_nothing_is_likelier_than_opt_in_filtering(name):
    experiment = ran(name, 15)
    for m in experiment.sizes:
        best = experiment.values[m, OPT, LIKELIHOOD]
        for other in (*ALL_EM, OPT_SHARES, *map(up, ALL_EM)):
            assert (experiment.values[m, other, LIKELIHOOD] <= best + SAME_NATS).all()
    assert all(row["mean"] >= -SAME_NATS for row in shortfalls(experiment))
    assert max(row["mean"] for row in shortfalls(experiment)) > 1


@pytest.mark.full
@pytest.mark.parametrize("name", ["mappings-mlr", "mappings-diagonal"])
def test_nothing_is_likelier_than_the_best_of_all_mappings(name):
    experiment = ran(name, 3)
    assert all(row["low"] >= -SAME_NATS or row["mean"] > 0 for row in below_all(experiment))
    for m in experiment.sizes:
        best = experiment.values[m, OPT_ALL, LIKELIHOOD]
        for other in (OPT, *ALL_EM):
            assert (experiment.values[m, other, LIKELIHOOD] <= best + SAME_NATS).all()
    assert max(row["mean"] for row in below_all(experiment) if row["algorithm"] == OPT) > 1


def test_the_best_of_all_mappings_is_proved_for_the_crowds_of_the_page():
    for name in ("mappings-mlr", "mappings-diagonal"):
        setup = SETUPS[name]
        assert setup.algorithms[-1] == OPT_ALL
        crowds = simulated(setup, 3, [np.random.default_rng(k) for k in range(3)])
        found = solve_all(setup, crowds)[:, -1]
        for held, mapping in zip(crowds.weights, found, strict=True):
            result = crowdopt.solve(crowds.lattice.counts[:, 0], held, space="all", scale="nominal")
            assert result.certificate.proof is Proof.PROVED
            tasks = np.repeat(crowds.lattice.counts[:, 0], held, axis=0)
            value = log_likelihood(tasks, np.repeat(mapping, held))
            assert value == pytest.approx(result.certificate.objective, abs=1e-6)


@pytest.mark.full
def test_with_the_best_names_all_mappings_err_about_as_often_as_opt_on_ordinal_crowds():
    """What the caption of Beyond 12 says of names."""
    setup = SETUPS["mappings-mlr"]
    crowds = simulated(setup, 8, [np.random.default_rng(k) for k in range(12)])
    mappings = solve_all(setup, crowds)
    names = [np.array(names) for names in itertools.permutations(range(3))]
    wrong = np.array([fraction_incorrect(crowds.tables[:, None], order[mappings]) for order in names])
    as_named, best_names = wrong[0].mean(axis=0), wrong.min(axis=0).mean(axis=0)
    assert abs(best_names[-1] - best_names[0]) < 0.03
    assert as_named[-1] > best_names[-1] + 0.03


@pytest.mark.parametrize("name", RATING)
def test_what_respects_the_order_is_not_likelier_than_opt(name):
    experiment = ran(name, 4)
    seen = 0
    for m in experiment.sizes:
        best = experiment.values[m, OPT, LIKELIHOOD]
        assert experiment.values[m, OPT, IN_ORDER].all()
        for em in ALL_EM:
            in_order = experiment.values[m, em, IN_ORDER] == 1
            assert (experiment.values[m, em, LIKELIHOOD][in_order] <= best[in_order] + SAME_NATS).all()
            seen += in_order.sum()
    assert seen


@pytest.mark.parametrize("name", ["filtering-0.7", "rating-2", "rating-equal-R4"])
def test_the_engines_of_the_library_say_the_same(name):
    setup, m = SETUPS[name], 3
    rngs = [np.random.default_rng(seed) for seed in range(6)]
    crowds = simulated(setup, m, rngs)
    mappings = solve_all(setup, crowds)
    values = measure_trials(setup, crowds, mappings)
    space = Space.ALL if setup.n_labels == 2 else Space.DOMINANCE
    for trial, weights in enumerate(crowds.weights):
        buckets, index = Buckets.from_arrays(crowds.lattice.counts, weights)
        problem = Problem(buckets, space)
        names = ("scan" if setup.n_labels == 2 else "chain", "em1", "em2", "em3", "em")
        for k, engine in enumerate(names):
            outcome = ENGINES[engine].run(problem, Limits())
            ours, theirs = mappings[trial, k, index >= 0], outcome.mapping[index[index >= 0]]
            if engine.startswith("em"):  # which names its labels by agreement; the paper's does not
                pairs = set(zip(ours.tolist(), theirs.tolist(), strict=True))
                assert len(pairs) == len(set(ours.tolist())) == len(set(theirs.tolist()))
            else:
                assert np.array_equal(ours, theirs)
            assert values[trial, k, setup.metrics.index(LIKELIHOOD)] == pytest.approx(outcome.objective, rel=1e-12)
        if setup.n_labels == 2:
            found = ENGINES["scan"].run(Problem(buckets, space, Objective("estimated")), Limits()).mapping
            assert np.array_equal(mappings[trial, 5, index >= 0], found[index[index >= 0]])


def test_order_is_judged_under_every_naming():
    setup = SETUPS["rating-equal"]
    crowds = simulated(setup, 2, [np.random.default_rng(1)])
    ordered = np.array([0, 0, 1, 1, 1, 2])  # by lowest answers, hence falling: in order once turned around
    mixed = np.array([0, 1, 0, 2, 1, 0])
    values = measure_trials(setup, crowds, np.array([[ordered, 2 - ordered, mixed, ordered, ordered]]))
    counts, used = crowds.lattice.counts, crowds.weights[0] > 0
    assert used.all()
    in_order = values[0, :, setup.metrics.index(IN_ORDER)]
    assert in_order.tolist() == [1, 1, 0, 1, 1]
    assert [respects(Order.of(counts), f) for f in (ordered, 2 - ordered, mixed)] == [False, True, False]


@pytest.mark.parametrize("name", ["filtering-0.9", "rating-3-mlr"])
def test_pieces_make_the_whole(name, monkeypatch):
    whole = ran(name, 4)
    monkeypatch.setattr(experiments, "TRIALS", {2: 3, 3: 1})
    todo = pieces(name, 4, seed=5)
    assert {piece.last - piece.first for piece in todo} == ({3, 1} if name.startswith("filtering") else {1})
    todo = [pickle.loads(pickle.dumps(piece)) for piece in reversed(todo)]  # noqa: S301 - what another process gets
    again = collect(todo, [run_piece(piece) for piece in todo])
    assert again.values.keys() == whole.values.keys()
    for key, values in whole.values.items():
        np.testing.assert_array_equal(again.values[key], values)
    assert again.trials == whole.trials == 4


def test_more_trials_begin_with_the_same_ones():
    few, more = ran("filtering-0.5", 2), ran("filtering-0.5", 3)
    for key, values in few.values.items():
        np.testing.assert_array_equal(more.values[key][:2], values)


def test_workers_differ_between_experiments_sizes_seeds_and_trials():
    drawn = [("filtering-0.5", 4), ("filtering-0.5", 5), ("filtering-0.7", 4), ("filtering-0.5", 4, 2)]
    rates = [matrix[0, 0] for case in drawn for matrix in workers(*case)]
    assert len(set(rates)) == len(rates) == 8


@pytest.mark.parametrize("other", ["filtering-0.5-n100", "filtering-0.5-n10000"])
def test_workers_are_the_same_where_only_the_number_of_items_differs(other):
    for m in (1, 6):
        np.testing.assert_array_equal(workers("filtering-0.5", m), workers(other, m))
    few, many = (run_experiment(name, 2, seed=1).values[5, EM1, EMD] for name in ("filtering-0.5", other))
    assert (few != many).all()


def test_pieces_of_two_experiments_do_not_mix():
    todo = [pieces("filtering-0.5", 1)[0], pieces("filtering-0.7", 1)[0]]
    with pytest.raises(ValueError, match="do not belong together"):
        collect(todo, [run_piece(piece) for piece in todo])


@pytest.mark.parametrize("name", [name for name, setup in SETUPS.items() if setup.data == "simulated"])
def test_rows_have_the_documented_columns(name):
    experiment = ran(name, 1)
    rows, setup = experiment.rows, SETUPS[name]
    metrics = [LIKELIHOOD, INCORRECT, EMD, JSD] if setup.n_labels == 2 else list(REPORTED)
    assert {(row["m"], row["algorithm"], row["metric"]) for row in rows} == {
        (m, algorithm, metric) for m in setup.sizes for algorithm in setup.algorithms for metric in metrics
    }
    assert list(rows[0]) == ["experiment", "m", "algorithm", "metric", "mean", "low", "high", "trials"]
    assert all(row["experiment"] == name and row["trials"] == 1 and np.isnan(row["low"]) for row in rows)
    assert all(isinstance(row["mean"], float) and np.isfinite(row["mean"]) for row in rows)


def test_intervals_hold_the_mean():
    for row in ran("rating-equal", 4).rows:
        assert row["low"] <= row["mean"] <= row["high"]
    low, high = interval(np.array([0.0, 1.0] * 500))
    assert (high - low) / 2 == pytest.approx(1.96 * 0.5 / np.sqrt(1000), rel=2e-3)


@pytest.mark.parametrize("name", ["filtering-0.5", "rating-equal"])
def test_metrics_of_ranges_that_the_paper_states(name):
    experiment = ran(name, 4)
    for (_, _, metric), values in experiment.values.items():
        if metric in {EMD, DISTANCE} and (metric == DISTANCE or experiment.setup.n_labels == 2):
            assert ((values >= 0) & (values <= 2)).all()
        if metric == LIKELIHOOD:
            assert (values <= 0).all()


def test_images_are_compared_as_the_paper_says():
    experiment = image_comparison()
    assert experiment.sizes == tuple(range(1, 20))
    assert experiment.n_tasks == 48
    last = {name: experiment.values[19, name, INCORRECT] for name in (OPT, EM1, EM2, EM3)}
    assert (last[OPT] == 1 / 48).all()
    assert (last[EM1] == 1 / 48).all()
    assert (last[EM3] > 0.8).all()
    for m in experiment.sizes:
        assert experiment.values[m, EM3, INCORRECT].mean() > 0.8
        best = experiment.values[m, OPT, LIKELIHOOD]
        assert all((experiment.values[m, em, LIKELIHOOD] <= best + SAME_NATS).all() for em in ALL_EM)
        assert np.isnan(experiment.values[m, EM2, RATE_1]).all()  # EM(2) gives one label to all
    assert experiment.values[19, OPT, LIKELIHOOD][0] == pytest.approx(-317.3, abs=0.05)


def test_estimated_shares_save_a_skewed_set(shared_set):
    experiment = run_experiment("product", 7, folder=shared_set("product"))
    assert experiment.trials == 1
    assert experiment.sizes == (3,)
    wrong = {name: float(experiment.values[3, name, INCORRECT][0]) for name in (OPT, OPT_SHARES)}
    assert wrong == pytest.approx({OPT: 1 - 0.6469, OPT_SHARES: 1 - 0.9055}, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("filtering-0.6", {}, "there is no experiment 'filtering-0.6'; there are filtering-0.5,"),
        ("ic", {}, "needs a folder"),
        ("rating-2", {"trials": 0}, "1 to 1,000,000 trials, not 0"),
        ("rating-2", {"trials": 10**12}, "1 to 1,000,000 trials, not 1,000,000,000,000"),
        ("ic", {"folder": "/nonexistent"}, "no such folder: /nonexistent"),
        ("ic", {"folder": __file__}, "is not a folder"),
    ],
)
def test_experiments_that_cannot_be_run(name, options, message):
    with pytest.raises(InputError, match=message):
        pieces(name, **options)


def test_paper_has_the_papers_numbers_of_trials():
    assert {setup.name: setup.trials for setup in PAPER_SETUPS} == {
        **dict.fromkeys(FILTERING, 1000),
        **dict.fromkeys(("ic", "rating-equal", "rating-2", "rating-3"), 100),
    }
    assert len(pieces("filtering-0.5")) == 100
    assert sum(piece.last - piece.first for piece in pieces("rating-equal")) == 800
