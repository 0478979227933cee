"""Columns: the likeliest of all mappings, or of those that respect the order, proved by prices.

Maximises the log-likelihood over all mappings, or over those that respect the order, for any number of labels and
classes of workers and every objective. The search (local_search.py) finds a mapping; prices of buckets prove that none
is better, or by how much one could be: for any prices λ, F ≤ Σ_b λ_b + Σ_j g_j(λ), g_j(λ) being the most that a set of
buckets is worth to label j (relaxation.py, docs/theory.md, Fact 5), computed exactly by branch and bound over
directions of counts: of all sets (pricing.py), or of those that the order lets the label have (pricing_ordered.py, Fact
6). Prices at which this is tight are found by projections and a linear program (prover.py). Where there are none, the
space of all mappings is split (branch_and_bound.py); among those that respect the order the answer is then BOUNDED.

The certificate's witness are the prices, for the whole space or for each of its parts; another program only has to
price them. Its tolerance is that of ``Problem.price_tolerance``: prices are sums over many buckets, found by
projections, and so cannot be as exact as an evaluation. Mappings closer than it are not told apart, and neither is
claimed to be better.

Cost: O(B · R) per cell of the pricing, whose number grows exponentially with R: hundredths of a second for three
labels, tenths for four, seconds for five; under an order also a minimum cut for every cell that the free bound does
not settle. K classes have K (R − 1) dimensions: hundredths of a second for two labels and up to four classes, tenths
for three labels and two or three classes. Past the limits the answer is BOUNDED, by the prices so far, and the
labels are those of the search, which is counted work and always done to its end: they do not depend on the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.engines.base import Engine, Limits, Outcome
from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt.model.problem import Problem

MAX_BUCKETS = 2_000
"""Buckets beyond which prices are not tried: projections keep a product for every two of them."""


def columns(problem: Problem, limits: Limits) -> Outcome:
    """The optimum over the space, or the best found and a bound when the limits are reached."""
    # Here, and not above, as ``import crowdopt`` lists all engines, and these two take a dozen modules.
    from crowdopt.engines.columns.engine_all import Columns
    from crowdopt.engines.columns.engine_ordered import OrderedColumns

    return (Columns if problem.space is Space.ALL else OrderedColumns)(problem, limits).run()


def _refuses(problem: Problem) -> str | None:
    if problem.buckets.n_buckets <= MAX_BUCKETS:
        return None
    return f"is for at most {MAX_BUCKETS:,} different counts; here are {problem.buckets.n_buckets:,}"


COLUMNS = Engine("columns", columns, refuses=_refuses)
