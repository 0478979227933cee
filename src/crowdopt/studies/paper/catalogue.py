"""Every figure of the paper, and its table of numbers, in its order, under its number and with words of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from crowdopt.errors import InputError
from crowdopt.studies.paper import diagrams
from crowdopt.studies.paper.em_vs_optimum import BELOW_ALL, SHORTFALL
from crowdopt.studies.paper.mapping_counts import number_of_mappings
from crowdopt.studies.paper.setups import (
    DISTANCE,
    EM1,
    EM2,
    EM3,
    EM_BEST,
    EMD,
    EQUAL,
    IC,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    OPT_ALL,
    OPT_SHARES,
    PRODUCT,
    S5,
    S7,
    S9,
    SETUPS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Plot:
    """A metric of an experiment against the number of responses, a line for each algorithm."""

    name: str
    section: str
    experiment: str
    metric: str
    title: str
    words: str
    algorithms: tuple[str, ...] = (OPT, EM_BEST, EM1, EM2, EM3)

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it takes."""
        return (self.experiment,)


@dataclass(frozen=True)
class Drawn:
    """Buckets, or a table: made without any experiment."""

    name: str
    section: str
    title: str
    make: Callable[[], diagrams.Diagram]
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """A table of an experiment that has one point only: metrics by algorithm."""

    name: str
    section: str
    experiment: str
    title: str
    words: str

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it takes."""
        return (self.experiment,)


@dataclass(frozen=True)
class Misses:
    """How often EM misses the optimum, or beats it under the order, in several experiments.

    Attributes:
        name: As for a plot.
        section: As for a plot.
        title: As for a plot.
        words: As for a plot.
        experiments: The experiments that it takes.
        drawn: Some of them as lines, by name, with what to call them.
    """

    name: str
    section: str
    title: str
    words: str
    experiments: tuple[str, ...]
    drawn: dict[str, str]


Entry: TypeAlias = Plot | Drawn | Listing | Misses

LIKELY = (
    "How likely the responses are under each algorithm's answers, on a logarithmic scale. Where lines lie on each "
    "other, the answers are equally likely."
)
WRONG = "The share of items that get another label than the true one."
MOVED = (
    "How far the estimated response matrix is from the true one: earth mover's distances, summed over the true labels."
)
APART = "How far the estimated response matrix is from the true one, this time by the Jensen-Shannon divergence."
DISTANT = "How far the estimated ratings are from the true ones, on average: a rating that is off by two counts twice."
SKEWED = " Nine items in ten are a 1 here, and the likeliest answers need not be the most accurate."
REAL = " Real responses (the paper has 48 pairs of pictures and 19 workers), of which m are drawn for each pair."
SHORT = (
    "How much less likely EM's answers are than OPT's on the same crowd, on average. One nat is a factor of 2.7; 2.3 "
    "nats are one order of magnitude."
)
UNORDERED = " Below zero EM is likelier: it is free to break the order that OPT keeps."
WITH_SHARES = "The same crowds with OPT as in the paper, and with OPT that also estimates how frequent the labels are."
ANY = " Here the matrices of workers are drawn without any condition."
ORDERLY = " Here a higher truth makes every higher answer likelier against every lower one (monotone likelihood ratio)."
PRODUCT_PAIRS = (
    "All responses to pairs of products, of which few are the same product. The last row is OPT when it also estimates "
    "how frequent the labels are; what that adds to the likelihood is left out here, so that all rows compare."
)

COMPARED = (OPT, EM1, OPT_SHARES)
MISSED = (
    "How often EM(*) ends at labels that are less likely than the best found, for even truths: for two labels the best "
    "of all, for ratings the best that was found, whether it respects the order or not. The table has EM(*) against "
    "OPT in all simulated crowds, ties to the lowest label; for ratings OPT keeps to the order, and EM can also end "
    "above it. The CSV has all four EM."
)
LINES = {
    S5: "R = 2",
    EQUAL: "R = 3, diagonal",
    f"{EQUAL}-any": "R = 3, any workers",
    f"{EQUAL}-mlr": "R = 3, mlr",
    f"{EQUAL}-R4": "R = 4, diagonal",
    f"{EQUAL}-R5": "R = 5, diagonal",
}
CROWDS = tuple(
    name
    for name, setup in SETUPS.items()
    if setup.data == "simulated" and setup.n_tasks == 1000 and not setup.all_mappings
)
MLR, NOMINAL = "mappings-mlr", "mappings-diagonal"
EVERY = (
    "OPT keeps to the order of the ratings; this is how far it, and EM, end below the likeliest of all mappings, which "
    "was found and proved for each of these crowds."
)
RIGHT = "The share of items with another label than the true one: OPT, the likeliest of all mappings, and EM."
NAMED = (
    " Sets of items are named by agreement, which here often swaps names, as the true rating need not be the likeliest "
    "answer: with the best names the likeliest of all mappings errs about as often as OPT."
)
NO_ORDER = " The labels of this crowd have no order: all that is known is that the true one is the likeliest answer."
WITH_ALL = (OPT, EM_BEST, EM1, OPT_ALL)

CATALOGUE: tuple[Entry, ...] = (
    Drawn("fig1", "1", "Buckets and their order", diagrams.mapping_example),
    Drawn("fig2", "3", "Cut-points of a filter", diagrams.filtering_example),
    Plot("fig3a", "3.5.1", S5, LIKELIHOOD, "Log-likelihood, s = 0.5", LIKELY),
    Plot("fig3b", "3.5.1", S7, INCORRECT, "Items labelled wrongly, s = 0.7", WRONG),
    Plot("fig3c", "3.5.1", S5, EMD, "Error of the response matrix (EMD), s = 0.5", MOVED),
    Plot("fig4a", "3.5.1", S7, EMD, "Error of the response matrix (EMD), s = 0.7", MOVED),
    Plot("fig4b", "3.5.2", IC, LIKELIHOOD, "Log-likelihood, image comparison", LIKELY + REAL),
    Plot("fig4c", "3.5.2", IC, INCORRECT, "Items labelled wrongly, image comparison", WRONG + REAL),
    Drawn("fig5", "4", "The order of ratings", diagrams.dominance_dag),
    Drawn("table2", "4", "How many mappings there are", number_of_mappings),
    Plot("fig6", "4.3", EQUAL, LIKELIHOOD, "Log-likelihood of ratings", LIKELY),
    Plot("fig7", "4.3", EQUAL, DISTANCE, "Distance of ratings from the truth", DISTANT),
    Drawn("fig8", "5", "The order with varying numbers of responses", diagrams.varying_order),
    Plot("fig9a", "A", S5, INCORRECT, "Items labelled wrongly, s = 0.5", WRONG),
    Plot("fig9b", "A", S5, JSD, "Error of the response matrix (JSD), s = 0.5", APART),
    Plot("fig9c", "A", S7, JSD, "Error of the response matrix (JSD), s = 0.7", APART),
    Plot("fig10a", "A", S9, LIKELIHOOD, "Log-likelihood, s = 0.9", LIKELY),
    Plot("fig10b", "A", S9, INCORRECT, "Items labelled wrongly, s = 0.9", WRONG + SKEWED),
    Plot("fig10c", "A", S9, JSD, "Error of the response matrix (JSD), s = 0.9", APART + SKEWED),
    Plot("fig11a", "B", "rating-2", LIKELIHOOD, "Log-likelihood of ratings, truths 20 : 60 : 20", LIKELY),
    Plot("fig11b", "B", "rating-2", DISTANCE, "Distance of ratings, truths 20 : 60 : 20", DISTANT),
    Plot("fig11c", "B", "rating-2", EMD, "Error of the response matrix (EMD), 20 : 60 : 20", MOVED),
    Plot("fig12a", "B", "rating-3", LIKELIHOOD, "Log-likelihood of ratings, truths 40 : 20 : 40", LIKELY),
    Plot("fig12b", "B", "rating-3", DISTANCE, "Distance of ratings, truths 40 : 20 : 40", DISTANT),
    Plot("fig12c", "B", "rating-3", EMD, "Error of the response matrix (EMD), 40 : 20 : 40", MOVED),
    Drawn("fig13", "C", "One bucket takes others along", diagrams.varying_constraint),
    Drawn("fig14", "C", "A mapping is its boundary", diagrams.varying_boundary),
    Plot("beyond1", "beyond", S5, SHORTFALL, "How far EM ends below OPT, filtering, s = 0.5", SHORT),
    Plot("beyond2", "beyond", EQUAL, SHORTFALL, "How far EM ends below OPT, 3 ratings", SHORT + UNORDERED),
    Plot("beyond3", "beyond", "rating-equal-R4", SHORTFALL, "How far EM ends below OPT, 4 ratings", SHORT + UNORDERED),
    Plot("beyond4", "beyond", "rating-equal-R5", SHORTFALL, "How far EM ends below OPT, 5 ratings", SHORT + UNORDERED),
    Plot("beyond5", "beyond", "rating-equal-any", DISTANCE, "Distance of ratings, any workers", DISTANT + ANY),
    Plot("beyond6", "beyond", "rating-equal-mlr", DISTANCE, "Distance of ratings, orderly workers", DISTANT + ORDERLY),
    Plot("beyond7", "beyond", S7, INCORRECT, "Estimating the shares of labels, s = 0.7", WITH_SHARES, COMPARED),
    Plot("beyond8", "beyond", S9, INCORRECT, "Estimating the shares of labels, s = 0.9", WITH_SHARES, COMPARED),
    Listing("beyond9", "beyond", PRODUCT, "Real product pairs", PRODUCT_PAIRS),
    Misses("beyond10", "beyond", "How often EM misses, by R and m", MISSED, CROWDS, LINES),
    Plot("beyond11", "all", MLR, BELOW_ALL, "Below the best of all, ordinal crowds", EVERY + ORDERLY),
    Plot("beyond12", "all", MLR, INCORRECT, "Items labelled wrongly, ordinal crowds", RIGHT + NAMED, WITH_ALL),
    Plot("beyond13", "all", NOMINAL, BELOW_ALL, "Below the best of all, nominal crowds", EVERY + NO_ORDER),
    Plot("beyond14", "all", NOMINAL, INCORRECT, "Items labelled wrongly, nominal crowds", RIGHT + NO_ORDER, WITH_ALL),
)
"""All 20 plots, 6 diagrams and the table of numbers, in the paper's order; then what goes beyond it."""


def pick(names: Sequence[str]) -> list[Entry]:
    """The named entries in the paper's order, all if none is named.

    Names may be in capitals, and several in one text, between commas; ``fig3`` names all parts of Figure 3.

    Raises:
        InputError: If there is none of a name.
    """
    return [entry for entry in CATALOGUE if not names or any(_is_named(entry, name) for name in single(names))]


def single(names: Sequence[str]) -> list[str]:
    """Every name by itself, as it is written in the catalogue or as the beginning of several there.

    >>> single(["Fig3a,TABLE2"])
    ['fig3a', 'table2']
    """
    alone = [part.strip().lower() for name in names for part in name.split(",") if part.strip()]
    if strange := [name for name in alone if not named(name)]:
        have = ", ".join(entry.name for entry in CATALOGUE)
        raise InputError(f"there is no figure {strange[0]!r}; there are {have}")
    if names and not alone:
        raise InputError("no figure is named")
    return alone


def named(name: str) -> list[Entry]:
    """The entries that a single name stands for."""
    return [entry for entry in CATALOGUE if _is_named(entry, name)]


def _is_named(entry: Entry, name: str) -> bool:
    return name in {entry.name, entry.name.rstrip("abc")}


def label_of(name: str) -> str:
    """The number of a figure or table in the paper.

    >>> label_of("fig3a"), label_of("table2"), label_of("beyond1")
    ('Figure 3(a)', 'Table 2', 'Beyond 1')
    """
    kind, number, part = re.split(r"(\d+)", name)
    word = {"fig": "Figure", "table": "Table", "beyond": "Beyond"}[kind]
    return f"{word} {number}({part})" if part else f"{word} {number}"
