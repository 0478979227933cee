from __future__ import annotations

import itertools
import pickle
from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

import crowdopt
from crowdopt.engines.base import Limits
from crowdopt.engines.enumeration import likelihoods
from crowdopt.engines.registry import ENGINES
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.objective import Objective
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.studies.paper import experiments
from crowdopt.studies.paper.em_vs_optimum import SAME_NATS, against_em, below_all, below_best, series, shortfalls
from crowdopt.studies.paper.experiments import collect, pieces, run_experiment, run_piece
from crowdopt.studies.paper.scores import fraction_incorrect
from crowdopt.studies.paper.setups import (
    ALL_EM,
    BEST_FOUND,
    BEYOND,
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
    OPT_ALL,
    OPT_SHARES,
    PAPER_SETUPS,
    RATE_0,
    RATE_1,
    REPORTED,
    SETUPS,
    up,
)
from crowdopt.studies.paper.statistics import interval
from crowdopt.studies.paper.trials import climb, measure_trials, simulated, solve_all
from crowdopt.studies.paper.verdicts import versus
from support.lattice import respects
from support.needs import SHARED, need
from support.oracle import log_likelihood, respects_order

FILTERING = [setup.name for setup in PAPER_SETUPS if setup.name.startswith("filtering")]
RATING = [setup.name for setup in (*PAPER_SETUPS, *BEYOND) if setup.name.startswith("rating")]


@cache
def ran(name: str, trials: int):
    return run_experiment(name, trials, seed=5)


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


def workers(name, m, seed=1):
    """The matrices of the first two trials."""
    piece = next(piece for piece in pieces(name, 2, seed) if piece.m == m)
    return experiments._crowds(SETUPS[name], piece).matrices


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
