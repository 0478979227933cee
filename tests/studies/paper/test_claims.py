"""Every claim about an experiment, in a made-up world where it holds and in one where it does not."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from crowdopt.studies.paper.claims import CHECKS, check_claims
from crowdopt.studies.paper.experiments import Experiment
from crowdopt.studies.paper.setups import (
    BEST_FOUND,
    DISTANCE,
    EM1,
    EM2,
    EM3,
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
)
from crowdopt.studies.paper.verdicts import MIN_TRIALS

TRIALS = 12
USUAL = {LIKELIHOOD: -1000.0, INCORRECT: 0.1, EMD: 0.2, JSD: 0.05, DISTANCE: 0.3, RATE_0: 0.1, RATE_1: 0.1, IN_ORDER: 1}
"""What every algorithm has in a world where nothing is said of it."""
STARTS, ALL = {EM1, EM2, EM3}, {EM1, EM2, EM3, EM_BEST}


def world(*rules):
    """A world: rules (algorithms, metric, value at m), which change what is usual, whichever way EM's ties go."""

    def value(_, m, algorithm, metric):
        plain = algorithm.removesuffix(", ties to 1")
        for names, what, found in rules:
            if what == metric and plain in ({names} if isinstance(names, str) else names):
                return found(m) if callable(found) else found
        return USUAL[metric]

    return value


def lived_in(name, value, trials=TRIALS, noise=0.0):
    """An experiment in a world."""
    setup = SETUPS[name]
    sizes = {"ic": tuple(range(1, 20)), "product": (3,)}.get(name, setup.sizes)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    # EM's likelihoods stay as they are: the best of three starts has to be one of them.
    noisy = {(a, k) for a in setup.algorithms for k in setup.metrics if a == OPT or k != LIKELIHOOD}
    values = {
        (m, algorithm, metric): value(name, m, algorithm, metric)
        + noise * ((algorithm, metric) in noisy) * rng.standard_normal(trials)
        for m in sizes
        for algorithm in setup.algorithms
        for metric in setup.metrics
    }
    return Experiment(setup, trials, 48 if name == "ic" else setup.n_tasks, values)


def judged(words, value, **options):
    """The verdict on the only claim that has these words, in a world."""
    where, _, text = words.rpartition(": ")
    (check,) = [check for check in CHECKS if text in check.claim and where in check.where]
    return check.judge({name: lived_in(name, value, **options) for name in check.needs}).verdict


def other_items(metric, change):
    """Another value of OPT's metric, with 100 items only, at one m."""
    usual = world()

    def value(name, m, algorithm, what):
        moved = change if (name.endswith("-n100") and (m, algorithm, what) == (4, OPT, metric)) else 0
        return usual(name, m, algorithm, what) + moved

    return value


def in_rating(rating, filtering):
    """One world for ratings and another for two labels."""
    return lambda name, *what: (rating if name.startswith("rating") else filtering)(name, *what)


def worse_by(amount, metrics, names=ALL, *, sign=1):
    """A world in which some EM is worse than OPT by metrics of which lower is better; likelihoods fall."""
    return world(
        *((names, what, USUAL[what] + sign * amount * (-100 if what == LIKELIHOOD else 1)) for what in metrics)
    )


SCORES = (INCORRECT, EMD, JSD)
STUCK = [({EM2, EM3}, EMD, 0.41), ({EM2, EM3}, LIKELIHOOD, -1021.0), (EM1, LIKELIHOOD, -1010.0)]
MIRRORED = [({EM2, EM3, EM_BEST}, EMD, 0.6)]
POOR = (EM2, LIKELIHOOD, -1100.0)
APART = [(EM1, RATE_0, 0.19), (EM1, RATE_1, 0.19), (EM3, RATE_0, 0.81), (EM3, RATE_1, 0.81)]

WORLDS = [
    # claim, a world where it holds, one where it does not, and the verdict there
    ("The number of items hardly matters", other_items(EMD, 0.019), other_items(EMD, 0.021), "fails"),
    ("The number of items hardly matters", other_items(JSD, -0.019), other_items(JSD, -0.021), "fails"),
    ("OPT finds mappings at least as likely", world(), world((EM3, LIKELIHOOD, -999.9)), "fails"),
    ("3.5.1: The gain in likelihood over EM shrinks", world((ALL, LIKELIHOOD, lambda m: -1000 - 100 / m)),
     world((ALL, LIKELIHOOD, lambda m: -1000 - 10 * m)), "fails"),
    ("more accurately than every EM", worse_by(0.01, [INCORRECT]),
     worse_by(0.01, [INCORRECT], {EM2}, sign=-1), "fails"),
    ("By EMD, OPT's matrix is closer", worse_by(0.01, [EMD]), worse_by(0.01, [EMD], sign=-1), "fails"),
    ("EM(1) does well by EMD", world((EM1, EMD, 0.29), *STUCK), world((EM1, EMD, 0.31), *STUCK), "in part"),
    ("EM(1) does well by EMD", world(*STUCK), world((EM1, EMD, 0.31), ({EM2, EM3}, EMD, 0.39)), "fails"),
    ("EM(*) suffers", world(*MIRRORED), world(), "fails"),
    ("By every metric OPT does better", worse_by(0.01, [LIKELIHOOD, *SCORES]),
     worse_by(0.01, [LIKELIHOOD, *SCORES], sign=-1), "fails"),
    ("all but EM(2) reach a high likelihood", world(POOR, ({EM1, EM3, EM_BEST}, LIKELIHOOD, -1004.9)),
     world(POOR, ({EM1, EM3, EM_BEST}, LIKELIHOOD, -1005.1)), "fails"),
    ("all but EM(2) reach a high likelihood", world(POOR), world(), "fails"),
    ("EM(2) ends near error rates", world((EM2, RATE_0, 0.59), (EM2, RATE_1, 0.41)), world((EM2, RATE_0, 1)), "fails"),
    ("error rates near 0, EM(3) near 1", world(*APART),
     world((EM1, RATE_0, 0.21), (EM3, RATE_1, 0.79)), "fails"),
    ("opposite labels that are about equally likely", world((EM3, INCORRECT, 0.81), (EM3, LIKELIHOOD, -1019)),
     world((EM3, INCORRECT, 0.79), (EM3, LIKELIHOOD, -1021)), "fails"),
    ("fairly well even with very few", world(({OPT, EM1}, INCORRECT, 0.149)),
     world(({OPT, EM1}, INCORRECT, lambda m: 0.151 if m == 2 else 0)), "fails"),
    ("sometimes much less accurate",
     world((EM_BEST, INCORRECT, lambda m: 0.201 if m == 4 else 0), (STARTS, INCORRECT, 0.201)),
     world(({EM_BEST, *STARTS}, INCORRECT, 0.199)), "fails"),
    ("much likelier than those of every EM", worse_by(0.2, [LIKELIHOOD]),
     worse_by(0.2, [LIKELIHOOD], {EM3}, sign=-1), "fails"),
    ("9 orders of magnitude", world((EM_BEST, LIKELIHOOD, -1000 - 9.1 * np.log(10))),
     world((EM_BEST, LIKELIHOOD, -1000 - 8.9 * np.log(10))), "in part"),
    ("9 orders of magnitude", world((EM_BEST, LIKELIHOOD, -1050)), world((EM_BEST, LIKELIHOOD, -999)), "fails"),
    ("4.3: The gain in likelihood over EM shrinks", world((ALL, LIKELIHOOD, lambda m: -1000 - 100 / m)),
     world((ALL, LIKELIHOOD, lambda m: -1000 + 11 * m)), "in part"),  # it falls, but below zero
    ("4.3: The gain in likelihood over EM shrinks", world((ALL, LIKELIHOOD, lambda m: -1000 + m)),
     world((ALL, LIKELIHOOD, lambda m: -900 - m)), "fails"),
    ("highly accurate by the distance", world((OPT, DISTANCE, 0.444)), world((OPT, DISTANCE, 0.445)), "fails"),
    ("small in filtering and much larger in rating",
     in_rating(worse_by(0.2, [LIKELIHOOD]), worse_by(0.1, [LIKELIHOOD])),
     in_rating(worse_by(0.1, [LIKELIHOOD]), worse_by(0.2, [LIKELIHOOD])), "fails"),
    ("often beats EM", worse_by(0.01, [INCORRECT, DISTANCE, EMD]), worse_by(0.01, [INCORRECT], sign=-1), "fails"),
    ("often beats EM", worse_by(0.01, [INCORRECT, DISTANCE, EMD]), worse_by(0.01, [INCORRECT, DISTANCE]), "in part"),
    ("lie between 0 and 2", world(), world(({OPT}, EMD, 2.1), ({OPT}, DISTANCE, -0.1)), "fails"),
    ("At s = 0.5 OPT and EM are comparable", worse_by(0.019, [INCORRECT, JSD]),
     worse_by(0.021, [INCORRECT, JSD]), "fails"),
    ("There both OPT and EM are highly accurate", world(({OPT, EM1}, INCORRECT, 0.249), ({OPT, EM1}, JSD, 0.077)),
     world(({OPT, EM1}, INCORRECT, 0.251), ({OPT, EM1}, JSD, 0.079)), "fails"),
    ("At s = 0.7 OPT beats EM(*) by JSD", worse_by(0.015, [JSD]), worse_by(0.025, [JSD], sign=-1), "fails"),
    ("At s = 0.9 OPT beats EM(*)", worse_by(0.01, [INCORRECT, JSD]),
     worse_by(0.01, [INCORRECT, JSD], sign=-1), "fails"),
    ("At s = 0.9 OPT does worse than EM(1)", worse_by(0.01, [INCORRECT, JSD], {EM1}, sign=-1),
     worse_by(0.01, [INCORRECT, JSD], {EM1}), "fails"),
    ("one can tune OPT for it", world((OPT_SHARES, INCORRECT, 0.05)), world((OPT_SHARES, INCORRECT, 0.15)), "fails"),
    ("With other truths, too", worse_by(0.2, [LIKELIHOOD]), worse_by(0.2, [LIKELIHOOD], {EM1}, sign=-1), "fails"),
    ("They are more accurate than every EM", worse_by(0.01, [DISTANCE]), world(), "fails"),
    ("Figures 11(c) and 12(c): closer to the true one", worse_by(0.01, [EMD]), worse_by(0.01, [INCORRECT]), "fails"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "good", "bad", "otherwise"), WORLDS, ids=[case[0][:40] for case in WORLDS])
def test_a_claim_holds_where_it_should_and_not_where_it_should_not(words, good, bad, otherwise):
    assert judged(words, good) == "holds"
    assert judged(words, bad) == otherwise


MORE_OFTEN = "EM ends in a lesser maximum more often"


def missing(*, more):
    """A world in which EM(*) misses more often the more labels there are, or the fewer."""

    def value(name, m, algorithm, metric):
        labels = SETUPS[name].n_labels
        often = (labels - 2) / 3 if more else (5 - labels) / 3
        if metric == LIKELIHOOD and algorithm in {BEST_FOUND, OPT}:
            return np.where(np.arange(60) < 60 * often, -1000.0, -1001.0)
        return np.full(60, -1001.0 if metric == LIKELIHOOD else USUAL[metric])

    return value


def test_more_labels_more_misses():
    assert judged(MORE_OFTEN, missing(more=True), trials=60) == "holds"
    assert judged(MORE_OFTEN, missing(more=False), trials=60) == "fails"
    assert judged(MORE_OFTEN, world()) == "not decided"


def test_every_claim_about_an_experiment_has_its_worlds():
    covered = {check.claim for words, *_ in WORLDS for check in CHECKS if words.rpartition(": ")[2] in check.claim}
    covered |= {check.claim for check in CHECKS if MORE_OFTEN in check.claim}
    assert covered == {check.claim for check in CHECKS if check.needs}


AVERAGES = [(words, good) for words, good, *_ in WORLDS if "at least as likely" not in words and "0 and 2" not in words]


@pytest.mark.parametrize(("words", "good"), AVERAGES, ids=[case[0][:40] for case in AVERAGES])
def test_what_is_noisy_does_not_hold(words, good):
    assert judged(words, good, noise=400.0, trials=10) != "holds"


def test_a_difference_of_the_rules_for_ties_makes_it_in_part():
    def value(name, m, algorithm, metric):
        usual = world()(name, m, algorithm, metric)
        return usual + (0.1 if metric == INCORRECT and algorithm.startswith("EM") and "ties" not in algorithm else 0)

    assert judged("more accurately than every EM", value) == "in part"


def test_kinds_of_workers_count_alike():
    good, bad = worse_by(0.2, [LIKELIHOOD]), worse_by(0.2, [LIKELIHOOD], sign=-1)
    for kind in ("-any", "-mlr"):
        mixed = judged("much likelier than those of every EM",
                       lambda name, *what, kind=kind: (bad if name.endswith(kind) else good)(name, *what))  # fmt: skip
        assert mixed == "in part"


def test_few_trials_decide_nothing_about_averages():
    experiments = [lived_in(name, worse_by(0.01, [LIKELIHOOD, *SCORES]), trials=MIN_TRIALS - 1) for name in SETUPS]
    for check, claim in zip(CHECKS, check_claims(experiments), strict=True):
        assert claim.judged.text or claim.judged.table
        if check.needs and check.averages:
            assert claim.verdict == "not decided"
            assert f"Fewer than {MIN_TRIALS} trials" in claim.judged.text
        else:
            assert claim.verdict != "not decided"


def test_a_single_trial_says_nothing():
    claims = check_claims([lived_in(name, world(), trials=1) for name in SETUPS])
    assert {claim.verdict for check, claim in zip(CHECKS, claims, strict=True) if check.averages and check.needs} == {
        "not decided"
    }


def test_a_claim_is_judged_only_if_all_of_its_experiments_were_run():
    whole = {name: lived_in(name, world()) for name in SETUPS}
    for check in CHECKS:
        for name in check.needs:
            part = {other: experiment for other, experiment in whole.items() if other != name}
            judged_so = check.judge(part)
            assert judged_so.verdict == "not measured"
            assert name in judged_so.text
        own = {name: whole[name] for name in check.needs}
        assert check.judge(own) == check.judge(whole)


def test_all_says_what_each_verdict_takes():
    for check in CHECKS:
        assert check.criterion.holds
        assert check.criterion.fails
        assert check.criterion.in_part


def test_a_tiny_set_of_real_responses_is_no_reason_to_stop():
    same = lived_in("ic", world((STARTS | {EM_BEST, OPT}, LIKELIHOOD, 0.0)))
    claims = [claim for claim in check_claims([same]) if "3.5.2" in claim.where]
    assert len(claims) == 6
    assert claims[0].verdict == "fails"  # EM(2) is as likely as the others
