"""How far EM ends from OPT, trial by trial: differences that averages of log-likelihoods hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.paper.estimates import interval
from crowdopt.paper.setups import ALL_EM, LIKELIHOOD, OPT

if TYPE_CHECKING:
    from crowdopt.paper.experiments import Experiment, Rows

SHORTFALL = "nats below OPT"


def shortfalls(experiment: Experiment) -> Rows:
    """Rows as an experiment has them, of how many nats EM is below OPT on the same crowd; negative where above."""
    rows: Rows = []
    for m in experiment.sizes:
        best = experiment.values[m, OPT, LIKELIHOOD]
        for name in ALL_EM:
            short = best - experiment.values[m, name, LIKELIHOOD]
            low, high = interval(short)
            rows.append({
                "experiment": experiment.name, "m": m, "algorithm": name, "metric": SHORTFALL,
                "mean": float(short.mean()), "low": low, "high": high, "trials": experiment.trials,
            })  # fmt: skip
    return rows
