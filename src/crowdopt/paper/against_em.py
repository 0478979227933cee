"""How often EM misses the optimum, and by how much; and how often it beats what was found under the order.

Over all mappings nothing beats the optimum. For ratings OPT searches only mappings that respect the order, while EM
knows no order, so that it can also end above OPT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from crowdopt.paper.setups import ALL_EM, EM1, EM2, EM3, EM_BEST, IN_ORDER, LIKELIHOOD, OPT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt.paper.experiments import Experiment
    from crowdopt.types import Floats

SAME = 1e-6
"""Nats by which log-likelihoods of a few thousand may differ and be the same."""

EM_RANDOM = "EM(*), ties at random"
"""The likeliest of the three runs of EM, where equals are chosen among by chance: its expected value."""


class Miss(TypedDict):
    """EM against OPT at one m.

    ``missed`` and ``beat`` are shares of trials below and above OPT, ``short`` and ``ahead`` the mean nats in those,
    ``most`` the largest lead; 0 where there are none. ``out_of_order`` is the share of results that respect the order
    under no names.
    """

    experiment: str
    n_labels: int
    m: int
    algorithm: str
    trials: int
    missed: float
    short: float
    beat: float
    ahead: float
    most: float
    out_of_order: float


def against_em(experiments: Iterable[Experiment]) -> list[Miss]:
    """A row for every experiment, m and start of EM."""
    return [
        _miss(experiment, m, algorithm) for experiment in experiments for m in experiment.sizes for algorithm in ALL_EM
    ]


def _miss(experiment: Experiment, m: int, algorithm: str) -> Miss:
    lead = experiment.values[m, algorithm, LIKELIHOOD] - experiment.values[m, OPT, LIKELIHOOD]
    below, above = -lead[lead < -SAME], lead[lead > SAME]
    in_order = experiment.values.get((m, algorithm, IN_ORDER))
    return Miss(
        experiment=experiment.name,
        n_labels=experiment.setup.n_labels,
        m=m,
        algorithm=algorithm,
        trials=experiment.trials,
        missed=len(below) / len(lead),
        short=float(below.mean()) if len(below) else 0.0,
        beat=len(above) / len(lead),
        ahead=float(above.mean()) if len(above) else 0.0,
        most=float(above.max(initial=0.0)),
        out_of_order=0.0 if in_order is None else float(1 - in_order.mean()),
    )


def series(experiment: Experiment, m: int, algorithm: str, metric: str) -> Floats:
    """One value per trial, of EM_RANDOM as well."""
    if algorithm != EM_RANDOM:
        return experiment.values[m, algorithm, metric]
    starts = (EM1, EM2, EM3)
    value = np.array([experiment.values[m, start, LIKELIHOOD] for start in starts])
    tied = value >= experiment.values[m, EM_BEST, LIKELIHOOD] - SAME
    found = np.array([experiment.values[m, start, metric] for start in starts])
    return np.asarray(np.where(tied, found, 0.0).sum(axis=0) / tied.sum(axis=0), dtype=float)


def best_known(experiment: Experiment, m: int) -> Floats:
    """The highest log-likelihood that any algorithm reached in each trial."""
    return np.asarray(np.max([experiment.values[m, name, LIKELIHOOD] for name in (OPT, *ALL_EM)], axis=0), dtype=float)
