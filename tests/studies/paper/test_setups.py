"""What figures show, and what was simulated for them, as the paper's captions and text have it."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.studies.paper.catalogue import CATALOGUE, Plot
from crowdopt.studies.paper.setups import (
    BEYOND,
    DISTANCE,
    EM1,
    EM2,
    EM3,
    EM_BEST,
    EMD,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    SETUPS,
)
from crowdopt.studies.paper.trials import simulated

EVEN, TWO, THREE = (1 / 3, 1 / 3, 1 / 3), (0.2, 0.6, 0.2), (0.4, 0.2, 0.4)
FIGURES = {
    "fig3a": (0.5, LIKELIHOOD), "fig3b": (0.7, INCORRECT), "fig3c": (0.5, EMD), "fig4a": (0.7, EMD),
    "fig4b": ("ic", LIKELIHOOD), "fig4c": ("ic", INCORRECT), "fig6": (EVEN, LIKELIHOOD), "fig7": (EVEN, DISTANCE),
    "fig9a": (0.5, INCORRECT), "fig9b": (0.5, JSD), "fig9c": (0.7, JSD),
    "fig10a": (0.9, LIKELIHOOD), "fig10b": (0.9, INCORRECT), "fig10c": (0.9, JSD),
    "fig11a": (TWO, LIKELIHOOD), "fig11b": (TWO, DISTANCE), "fig11c": (TWO, EMD),
    "fig12a": (THREE, LIKELIHOOD), "fig12b": (THREE, DISTANCE), "fig12c": (THREE, EMD),
}  # fmt: skip


def test_figures_show_what_their_captions_say():
    plots = {
        entry.name: entry for entry in CATALOGUE if isinstance(entry, Plot) and entry.section not in {"beyond", "all"}
    }
    assert plots.keys() == FIGURES.keys()
    for name, (truths, metric) in FIGURES.items():
        setup, plot = SETUPS[plots[name].experiment], plots[name]
        assert (plot.metric, plot.algorithms) == (metric, (OPT, EM_BEST, EM1, EM2, EM3))
        if truths == "ic":
            assert (setup.name, setup.data, setup.n_labels) == ("ic", "sampled", 2)
            continue
        assert (setup.data, setup.n_tasks, setup.kind, setup.workers_of) == ("simulated", 1000, "diagonal", "")
        if isinstance(truths, float):
            assert (setup.n_labels, setup.exact, setup.sizes) == (2, False, tuple(range(1, 11)))
            assert setup.shares == pytest.approx((1 - truths, truths))
        else:
            assert (setup.n_labels, setup.exact, setup.sizes) == (3, True, tuple(range(1, 9)))
            assert setup.shares == pytest.approx(truths)


def test_what_goes_beyond_the_paper():
    found = {setup.name: (setup.n_labels, setup.n_tasks, setup.kind, setup.trials, setup.sizes) for setup in BEYOND}
    small, three = tuple(range(1, 11)), tuple(range(1, 9))
    assert found == {
        "filtering-0.5-n100": (2, 100, "diagonal", 200, small),
        "filtering-0.5-n10000": (2, 10_000, "diagonal", 200, small),
        "product": (2, 1000, "diagonal", 1, ()),
        **{f"rating-{t}-{kind}": (3, 1000, kind, 100, three) for t in ("equal", "2", "3") for kind in ("any", "mlr")},
        "rating-equal-R4": (4, 1000, "diagonal", 100, (1, 2, 3, 4)),
        "rating-equal-R5": (5, 1000, "diagonal", 100, (1, 2, 3)),
        **{f"mappings-{kind}": (3, 1000, kind, 50, (*three, 12)) for kind in ("mlr", "diagonal")},
    }
    for name, setup in SETUPS.items():
        if name.startswith("rating"):
            assert setup.exact
            truths = {"2": TWO, "3": THREE, "equal": (1 / setup.n_labels,) * setup.n_labels}[name.split("-")[1]]
            assert setup.shares == pytest.approx(truths)


def test_truths_have_the_shares_of_the_setup():
    for name in ("rating-2", "rating-3", "rating-equal"):
        setup = SETUPS[name]
        tasks = simulated(setup, 2, [np.random.default_rng(3)]).tables.sum(axis=2)[0]
        assert np.abs(tasks - 1000 * np.array(setup.shares)).max() < 1
    ones = simulated(SETUPS["filtering-0.9"], 2, [np.random.default_rng(k) for k in range(40)]).tables.sum(axis=2)[:, 1]
    assert len(set(ones)) > 5
    assert abs(ones.mean() - 900) < 10
