"""Claims of Appendix A (filtering, Figures 9 and 10) and of Appendix C (varying numbers of responses)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.buckets import Buckets
from crowdopt.certificate import Space
from crowdopt.paper.against_em import EM_RANDOM
from crowdopt.paper.claims_filtering import AHEAD, S5, S7, S9
from crowdopt.paper.counts import appendix_count, up_to
from crowdopt.paper.setups import DISTANCE, EM1, EM_BEST, EMD, INCORRECT, JSD, OPT, OPT_SHARES
from crowdopt.paper.verdicts import Check, ahead, holds_if, joined, mean, number, span, together, versus
from crowdopt.problem import Problem
from crowdopt.simulate_tables import Lattice
from crowdopt.solve.em import hard_em
from crowdopt.solve.engine import Limits
from crowdopt.solve.scan import scan

if TYPE_CHECKING:
    from crowdopt.paper.verdicts import Found, Judged

COMPARABLE = 0.02
"""Scores whose averages over m differ by no more than this are comparable: one item in fifty."""


def _ranges(found: Found) -> Judged:
    high: dict[str, float] = {}
    low: dict[str, float] = {}
    for experiment in found.values():
        for (_, _, metric), values in experiment.values.items():
            allowed = (metric == EMD and experiment.setup.n_labels == 2) or (
                metric == DISTANCE and experiment.setup.n_labels == 3
            )
            if allowed:
                high[metric] = max(high.get(metric, -np.inf), float(values.max()))
                low[metric] = min(low.get(metric, np.inf), float(values.min()))
    text = "; ".join(f"{metric} {number(low[metric])} to {number(high[metric])}" for metric in high)
    return f"over all trials: {text}", holds_if(min(low.values()) >= 0, max(high.values()) <= 2)


def _comparable(found: Found) -> Judged:
    texts, close = [], []
    for metric in (INCORRECT, JSD):
        for em in (EM1, EM_BEST, EM_RANDOM):
            apart = float(np.mean(list(versus(found[S5], metric, em).lead.values())))
            close.append(abs(apart) <= COMPARABLE)
            texts.append(f"{metric} over {em} {number(apart, sign=True)}")
    own = [span(mean(found[S5], OPT, metric).values()) for metric in (INCORRECT, JSD)]
    text = f"mean lead of OPT over all m: {'; '.join(texts)}. OPT itself: {INCORRECT} {own[0]}, {JSD} {own[1]}"
    return text, holds_if(*close)


def _moderate_skew(found: Found) -> Judged:
    pairs = [versus(found[S7], JSD, em) for em in (EM_BEST, EM_RANDOM)]
    first = versus(found[S7], JSD, EM1)
    apart = float(np.mean(list(first.lead.values())))
    text = f"lead over {joined([*pairs, first])}; over EM(1) on average {number(apart, sign=True)}"
    return text, together([ahead(pairs), holds_if(abs(apart) <= COMPARABLE)])


def _skew_best(found: Found) -> Judged:
    texts, verdicts = [], []
    for metric in (INCORRECT, JSD):
        pairs = [versus(found[S9], metric, em) for em in (EM_BEST, EM_RANDOM)]
        verdicts.append(ahead(pairs))
        texts.append(f"{metric} ({verdicts[-1]}): lead of OPT over {joined(pairs)}")
    return ". ".join(texts), together(verdicts)


def _skew_first(found: Found) -> Judged:
    pairs = [versus(found[S9], metric, OPT, first=EM1) for metric in (INCORRECT, JSD)]
    text = f"{INCORRECT}: lead of EM(1) over {pairs[0]}; {JSD}: over {pairs[1]}"
    return text, together([ahead([pair]) for pair in pairs])


def _extreme_example(_: Found) -> Judged:
    """1,000 items that are all 1, answered 0 with probability 0.2, in numbers as expected; five responses each."""
    lattice = Lattice.full(2, 5)
    expected = 1000 * lattice.probabilities([[0.8, 0.2], [0.2, 0.8]])[1]
    buckets, _index = Buckets.from_arrays(lattice.counts, expected.round().astype(np.int64))
    problem = Problem(buckets, Space.ALL)
    truth = problem.objective.of_mapping(buckets, np.ones(buckets.n_buckets, np.int64))
    best, first = scan(problem, Limits()), hard_em(problem, "1")
    ones = {name: float(buckets.weights[mapping == 1].sum() / buckets.n_tasks)
            for name, mapping in (("OPT", best.mapping), ("EM(1)", first.mapping))}  # fmt: skip
    text = (
        f"five responses each: the true labels have log-likelihood {number(truth)}; OPT {number(best.objective)} with "
        f"{ones['OPT']:.1%} of items 1, EM(1) {number(first.value)} with {ones['EM(1)']:.1%}"
    )
    return text, holds_if(best.objective > truth, ones["EM(1)"] > 0.99)


def _tuned(found: Found) -> Judged:
    pairs = [versus(found[S9], INCORRECT, other, first=OPT_SHARES) for other in (OPT, EM1)]
    text = f"with the shares of the labels estimated along, s = .9, lead over {joined(pairs)}"
    if "product" in found:
        product = found["product"]
        wrong = {name: mean(product, name, INCORRECT) for name in (OPT, OPT_SHARES, EM1)}
        shown = "; ".join(f"{name} {number(next(iter(values.values())))}" for name, values in wrong.items())
        text += f". Real responses (product), {INCORRECT}: {shown}"
    even = versus(found[S5], INCORRECT, OPT, first=OPT_SHARES)
    return f"{text}. Where truths are even (s = .5) it costs: lead over {even}", ahead(pairs)


def _boundaries(_: Found) -> Judged:
    exact = {m: up_to(m) for m in range(1, 9)}
    right = all(appendix_count(m) == number_of for m, number_of in exact.items())
    order = all(number_of == 2 ** (m + 1) for m, number_of in exact.items())
    text = f"counted for m = 1–8: {', '.join(map(str, exact.values()))}, which is 2^(m+1); the formula gives "
    text += ", ".join(str(appendix_count(m)) for m in exact)
    return text, holds_if(right, order)


APPENDIX_A = (
    Check("Section 4.3 and Appendix A",
          "The EMD score of two labels and the distance-weighted score of three ratings lie between 0 and 2.",
          "so they do in every trial", (S5,), _ranges),
    Check("Appendix A, Figures 9(a) and 9(b)", "At s = 0.5 OPT and EM are comparable by fraction incorrect and JSD.",
          "averages over m differ by at most 0.02, for EM(1) and EM(*), both if its ties go to the first start and if "
          "to any", (S5,), _comparable),
    Check("Appendix A, Figure 9(c)", "At s = 0.7 OPT beats EM(*) by JSD and is comparable with EM(1).",
          "better than EM(*) at some m and worse at none, however its ties are broken; average over m within 0.02 of "
          "EM(1)", (S7,), _moderate_skew),
    Check("Appendix A, Figures 10(b) and 10(c)", "At s = 0.9 OPT beats EM(*).",
          "better at some m, worse at none, however ties of EM(*) are broken, by both metrics", (S9,), _skew_best),
    Check("Appendix A, Figures 10(b) and 10(c)", "At s = 0.9 OPT does worse than EM(1).",
          "EM(1) better at some m, worse at none, by both metrics", (S9,), _skew_first),
    Check("Appendix A",
          "If all items are 1 and a fifth of the answers wrong, the likeliest labels are not all 1, while EM(1) finds "
          "the true ones.", "OPT likelier than the true labels; EM(1) gives 1 to 99 % of items", (), _extreme_example),
    Check("Appendix A", "Knowing that truths are skewed, one can tune OPT for it.",
          f"OPT with estimated selectivity against OPT and EM(1) at s = 0.9: {AHEAD}", (S5, S9), _tuned),
)  # fmt: skip

APPENDIX_C = (
    Check("Section 5.1 and Appendix C",
          "With up to m responses, 2^(m+1) − 1 + 2^m mappings respect the order, hence O(2^m).",
          "the exact numbers are those of the formula, and they double with every m", (), _boundaries),
)  # fmt: skip
