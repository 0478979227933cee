"""How far EM ends from OPT, and OPT from the best of all mappings, trial by trial: averages would hide that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.studies.paper.setups import ALL_EM, LIKELIHOOD, OPT, OPT_ALL
from crowdopt.studies.paper.statistics import interval

if TYPE_CHECKING:
    from crowdopt.studies.paper.experiments import Experiment, Rows

SHORTFALL, BELOW_ALL = "nats below OPT", "nats below the best of all mappings"


def shortfalls(experiment: Experiment) -> Rows:
    """Rows as an experiment has them, of how many nats EM is below OPT on the same crowd; negative where above."""
    return _below(experiment, OPT, ALL_EM, SHORTFALL)


def below_all(experiment: Experiment) -> Rows:
    """The same of OPT and EM below the optimum over all mappings, which nothing is above."""
    return _below(experiment, OPT_ALL, (OPT, *ALL_EM), BELOW_ALL)


def _below(experiment: Experiment, best: str, others: tuple[str, ...], metric: str) -> Rows:
    rows: Rows = []
    for m in experiment.sizes:
        for name in others:
            short = experiment.values[m, best, LIKELIHOOD] - experiment.values[m, name, LIKELIHOOD]
            low, high = interval(short)
            rows.append({
                "experiment": experiment.name, "m": m, "algorithm": name, "metric": metric,
                "mean": float(short.mean()), "low": low, "high": high, "trials": experiment.trials,
            })  # fmt: skip
    return rows
