"""The paper's experiments as data, and a few more that its claims call for.

Where the paper leaves something open, this is what was chosen:

- *Numbers of responses*: the text gives none for simulated crowds (its figures would). 1 to 10 for two labels; 1 to 8
  for three, which is past the 5 that the paper calls practical.
- *Truths*: for two labels every item is a 1 with probability s; for ratings the shares are exact, as it says they are.
- *Random workers*: for two labels both error rates are uniform below 1/2. For ratings "randomly generated" is taken, as
  there, for better than random: ``diagonal``, the true rating being the likeliest answer. The same is also run with any
  matrices at all, and with those of monotone likelihood ratio (see :func:`crowdopt.studies.simulate.random_matrix`).
- *Numbers of items*: where these vary, workers are the same trial by trial, so that nothing but the items differs.
- *EM's ties*: for two labels EM is run twice, with ties to 0 and with ties to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from crowdopt.studies.simulate import MatrixKind

OPT, EM1, EM2, EM3, EM_BEST = "OPT", "EM(1)", "EM(2)", "EM(3)", "EM(*)"
OPT_SHARES = "OPT, estimated selectivity"
BEST_FOUND = "best found"
"""The likeliest mapping that was found at all, whether it respects the order or not: of more than two labels."""
OPT_ALL = "OPT, all mappings"
"""The likeliest mapping of all, proved."""
ALL_EM = (EM1, EM2, EM3, EM_BEST)
EM_ANY = "EM(*), any of equals"
"""The likeliest of the three runs of EM, where equals are chosen among by chance: its expected value."""


def up(em: str) -> str:
    """The name of EM when its ties between two labels go to 1; without, they go to 0."""
    return f"{em}, ties to 1"


S5, S7, S9 = "filtering-0.5", "filtering-0.7", "filtering-0.9"
IC, PRODUCT = "ic", "product"
EQUAL = "rating-equal"

LIKELIHOOD, INCORRECT, EMD, JSD, DISTANCE = (
    "log-likelihood",
    "fraction incorrect",
    "EMD",
    "JSD",
    "distance-weighted",
)
REPORTED = (LIKELIHOOD, INCORRECT, EMD, JSD, DISTANCE)
"""The metrics that rows are made of."""

RATE_0, RATE_1, IN_ORDER = "false positive rate", "false negative rate", "respects the order"
"""What is kept of every trial besides: the estimated error rates of two labels (NaN for a label that no task has), and
whether the clusters respect the order under some names (1 or 0)."""


MATRIX_KINDS: dict[MatrixKind, str] = {"diagonal": "", "any": "-any", "mlr": "-mlr"}
"""Kinds of random workers, and how the names of their experiments end."""


@dataclass(frozen=True)
class Setup:
    """One experiment.

    Attributes:
        name: What it is called by.
        title: What it is called in words.
        n_labels: Number of labels.
        sizes: Numbers of responses per task, m; empty where the data say.
        trials: Trials for each m, as in the paper where it has the experiment.
        data: Where crowds come from: simulated, responses sampled from real ones, or all real ones at once.
        n_tasks: Tasks of a simulated crowd.
        shares: Share of each label among the truths.
        exact: Whether these shares are exact, or probabilities.
        kind: The matrices of simulated crowds.
        workers_of: The experiment whose workers it has, trial by trial; workers of its own if empty.
        all_mappings: Whether the optimum over all mappings is found and proved as well: of more than two labels.
    """

    name: str
    title: str
    n_labels: int
    sizes: tuple[int, ...]
    trials: int
    data: Literal["simulated", "sampled", "whole"] = "simulated"
    n_tasks: int = 1000
    shares: tuple[float, ...] = ()
    exact: bool = False
    kind: MatrixKind = "diagonal"
    workers_of: str = ""
    all_mappings: bool = False

    @property
    def algorithms(self) -> tuple[str, ...]:
        """What is compared."""
        if self.n_labels == 2:
            return (OPT, *ALL_EM, OPT_SHARES, *map(up, ALL_EM))
        return (OPT, *ALL_EM, OPT_ALL if self.all_mappings else BEST_FOUND)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is measured: matrices can be compared only where the true one is known."""
        matrices = (EMD, JSD) if self.data == "simulated" else ()
        if self.n_labels == 2:
            return (LIKELIHOOD, INCORRECT, *matrices, RATE_0, RATE_1)
        return (LIKELIHOOD, INCORRECT, *matrices, DISTANCE, IN_ORDER)


def _filtering(selectivity: float, n_tasks: int = 1000) -> Setup:
    suffix, words = ("", "") if n_tasks == 1000 else (f"-n{n_tasks}", f", {n_tasks} items")
    return Setup(
        name=f"filtering-{selectivity}{suffix}",
        title=f"Filtering, s = {selectivity}{words}",
        n_labels=2,
        sizes=tuple(range(1, 11)),
        trials=200 if suffix else 1000,
        n_tasks=n_tasks,
        shares=(1 - selectivity, selectivity),
        workers_of=f"filtering-{selectivity}" if suffix else "",
    )


def _rating(truths: str, kind: MatrixKind = "diagonal") -> Setup:
    shares, words = {
        "equal": ((1 / 3, 1 / 3, 1 / 3), "truths evenly spread"),
        "2": ((0.2, 0.6, 0.2), "truths 20/60/20 (s = 2)"),
        "3": ((0.4, 0.2, 0.4), "truths 40/20/40 (s = 3)"),
    }[truths]
    workers = {"diagonal": "", "any": ", any workers", "mlr": ", workers of monotone likelihood ratio"}[kind]
    return Setup(
        name=f"rating-{truths}{MATRIX_KINDS[kind]}",
        title=f"Rating, R = 3, {words}{workers}",
        n_labels=3,
        sizes=tuple(range(1, 9)),
        trials=100,
        shares=shares,
        exact=True,
        kind=kind,
    )


def _more_labels(n_labels: int, most: int) -> Setup:
    return Setup(
        name=f"rating-equal-R{n_labels}",
        title=f"Rating, R = {n_labels}, truths evenly spread",
        n_labels=n_labels,
        sizes=tuple(range(1, most + 1)),
        trials=100,
        shares=(1 / n_labels,) * n_labels,
        exact=True,
    )


def _all_mappings(kind: MatrixKind, words: str) -> Setup:
    """Crowds on which no order can be relied on, or any: truths evenly spread, three labels."""
    return Setup(
        name=f"mappings-{kind}",
        title=f"All mappings, R = 3, {words}",
        n_labels=3,
        sizes=(*range(1, 9), 12),
        trials=50,
        shares=(1 / 3,) * 3,
        exact=True,
        kind=kind,
        all_mappings=True,
    )


PAPER_SETUPS: tuple[Setup, ...] = (
    *(_filtering(selectivity) for selectivity in (0.5, 0.7, 0.9)),
    Setup(IC, "Image comparison, real responses", 2, (), 100, "sampled"),
    *(_rating(truths) for truths in ("equal", "2", "3")),
)
"""The paper's own experiments."""

BEYOND: tuple[Setup, ...] = (
    *(_filtering(0.5, n_tasks) for n_tasks in (100, 10_000)),
    Setup(PRODUCT, "Product matching, real responses", 2, (), 1, "whole"),
    *(_rating(truths, kind) for kind in ("any", "mlr") for truths in ("equal", "2", "3")),
    _more_labels(4, 4),
    _more_labels(5, 3),
    _all_mappings("mlr", "ordinal crowds (monotone likelihood ratio)"),
    _all_mappings("diagonal", "nominal crowds (the true label is the likeliest answer)"),
)
"""What its claims call for besides."""

SETUPS: dict[str, Setup] = {setup.name: setup for setup in (*PAPER_SETUPS, *BEYOND)}
"""All experiments by name."""
