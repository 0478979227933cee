"""Claims about rating: Table 2, Section 4.3 with Figures 6 and 7, Appendix B with Figures 11 and 12.

The paper does not say how it draws workers. So every claim is judged with all three kinds of random matrices that were
run: better than random (``diagonal``), any, and of monotone likelihood ratio. It holds if it does with all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crowdopt.paper.against_em import SAME, against_em, best_known
from crowdopt.paper.counts import agrees, counterexample, table_2
from crowdopt.paper.experiments import interval
from crowdopt.paper.setups import ALL_EM, DISTANCE, EM_BEST, EMD, INCORRECT, JSD, LIKELIHOOD, OPT
from crowdopt.paper.verdicts import (
    LEVEL,
    Check,
    ahead,
    holds_if,
    joined,
    mean,
    number,
    span,
    together,
    trend,
    versus,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.paper.experiments import Experiment
    from crowdopt.paper.verdicts import Found, Judged

    Measure: TypeAlias = Callable[[Experiment], Judged]

EQUAL, FILTERING = "rating-equal", "filtering-0.5"
KINDS = {"diagonal": "", "any": "-any", "mlr": "-mlr"}
"""Kinds of random workers, and how the names of their experiments end."""
AHEAD = (
    "better than each EM on average at some m, worse than none at any m (99 % intervals of paired differences); with "
    "all kinds of random workers"
)


def _with(measure: Measure, *truths: str) -> Callable[[Found], Judged]:
    """Judges a claim for some distributions of the truths, with every kind of random workers that was run."""

    def judge(found: Found) -> Judged:
        texts, verdicts = [], []
        for spread in truths:
            texts.append(f"s = {spread}:" if len(truths) > 1 else "")
            for kind, suffix in KINDS.items():
                experiment = found.get(f"rating-{spread}{suffix}")
                if experiment is not None:
                    text, verdict = measure(experiment)
                    texts.append(f"[{kind}: {verdict}] {text}")
                    verdicts.append(verdict)
        return " ".join(texts).strip(), together(verdicts)

    return judge


def _ahead(metric: str) -> Measure:
    def measure(experiment: Experiment) -> Judged:
        pairs = [versus(experiment, metric, em) for em in ALL_EM]
        return f"lead over {joined(pairs)}.", ahead(pairs)

    return measure


def _likelihood(experiment: Experiment) -> Judged:
    text, verdict = _ahead(LIKELIHOOD)(experiment)
    rows = [row for row in against_em([experiment]) if row["algorithm"] == EM_BEST]
    beat = "; ".join(f"{row['m']}: {row['beat']:.0%}, {number(row['ahead'])}" for row in rows if row["beat"])
    text += f" EM(*) is likelier than OPT in (m: share of trials, mean nats) {beat or 'no trial'}."
    return text, verdict


def _table(column: int) -> Judged:
    rows = table_2()
    exact = [(row.unconstrained, row.bucketized, row.dominance)[column] for row in rows]
    right = [agrees(value, row.printed[column]) for value, row in zip(exact, rows, strict=True)]
    texts = [
        f"({row.n_labels}, {row.m}) {f'{value:,}' if value < 10**12 else f'{value:.2e}'}"
        for value, row in zip(exact, rows, strict=True)
    ]
    return f"counted for (R, m): {'; '.join(texts)}", holds_if(*right)


def _sizes_of_spaces(_: Found) -> Judged:
    (free, free_verdict), (bucketized, bucket_verdict) = _table(0), _table(1)
    return f"all: {free}. By bucket: {bucketized}", together([free_verdict, bucket_verdict])


def _much_smaller(_: Found) -> Judged:
    factors = [row.bucketized / row.dominance for row in table_2()]
    text = f"the order leaves 1 in {number(min(factors))} to 1 in {max(factors):.1e} of the mappings by bucket"
    return text, holds_if(all(factor >= 100 for factor in factors))


def _contains_the_best(found: Found) -> Judged:
    shown = counterexample()
    (best, value), (ordered, ordered_value) = shown.best, shown.ordered
    text = (
        f"items {shown.items}: the likeliest ratings {best} have likelihood {value:.6f}, the likeliest that respect "
        f"the order {ordered} {ordered_value:.6f}"
    )
    beat = {}
    for name, experiment in found.items():
        if name.startswith("rating"):
            rows = [row["beat"] for row in against_em([experiment]) if row["algorithm"] == EM_BEST]
            beat[name] = max(rows)
    if beat:
        text += f"; simulated, EM(*) found a likelier one in up to {max(beat.values()):.0%} of trials at one m"
    return text, holds_if(value <= ordered_value and not any(beat.values()))


def _nine_orders(experiment: Experiment) -> Judged:
    if 5 not in experiment.sizes:
        return "not run with m = 5", "not measured"
    lead = (experiment.values[5, OPT, LIKELIHOOD] - experiment.values[5, EM_BEST, LIKELIHOOD]) / math.log(10)
    low, high = interval(lead, LEVEL)
    text = f"{number(float(lead.mean()), sign=True)} orders of magnitude ({number(low)} to {number(high)})."
    return text, "holds" if lead.mean() >= 9 else "in part" if low > 0 else "fails"


def _gap_falls(experiment: Experiment) -> Judged:
    pairs = {em: versus(experiment, LIKELIHOOD, em) for em in ALL_EM}
    trends = {em: trend(pair.lead) for em, pair in pairs.items()}
    shown = ", ".join(number(value) for value in pairs[EM_BEST].lead.values())
    text = "; ".join(f"{em} {number(value)}" for em, value in trends.items())
    text = f"lead over EM(*) in nats for m = 1, 2, …: {shown}; rank correlation with m: {text}."
    falls = [value <= -0.5 for value in trends.values()]
    return text, holds_if(*falls, not any(pair.worse for pair in pairs.values()))


def _more_than_filtering(found: Found) -> Judged:
    two = found[FILTERING]

    def measure(experiment: Experiment) -> Judged:
        sizes = [m for m in experiment.sizes if m in two.sizes and m > 1]
        gaps = {}
        for m in sizes:
            ends = [interval(e.values[m, OPT, LIKELIHOOD] - e.values[m, EM_BEST, LIKELIHOOD], LEVEL)
                    for e in (experiment, two)]  # fmt: skip
            gaps[m] = (ends[0][0] + ends[0][1] - ends[1][0] - ends[1][1]) / 2, ends[0][0] > ends[1][1]
        larger = [m for m, (_, sure) in gaps.items() if sure]
        text = f"lead over EM(*) less that in filtering: {span((gap for gap, _ in gaps.values()), sign=True)} nats, "
        return text + f"{where(larger, 'surely larger')}.", holds_if(*(m in larger for m in sizes))

    return _with(measure, "equal")(found)


def _goes_wrong_more(found: Found) -> Judged:
    short = {}
    for name in (FILTERING, EQUAL, f"{EQUAL}-R4", f"{EQUAL}-R5"):
        if name in found:
            best = {m: best_known(found[name], m) - found[name].values[m, EM_BEST, LIKELIHOOD] for m in (2, 3)}
            lost = np.concatenate([gap > SAME for gap in best.values()]).astype(float)
            short[found[name].setup.n_labels] = float(lost.mean()), *interval(lost, LEVEL)
    text = ", ".join(
        f"R = {labels} {share:.0%} ({low:.0%} to {high:.0%})" for labels, (share, low, high) in short.items()
    )
    text = f"EM(*) falls short of the best mapping found in so many trials with m = 2 and 3: {text}"
    return text, holds_if(short[3][1] > short[2][2])


def _often(experiment: Experiment) -> Judged:
    pairs = [versus(experiment, metric, em) for metric in (INCORRECT, DISTANCE, EMD, JSD) for em in ALL_EM]
    better, worse = sum(len(pair.better) for pair in pairs), sum(len(pair.worse) for pair in pairs)
    number_of = len(pairs) * len(experiment.sizes)
    text = f"better in {better}, worse in {worse} of {number_of} comparisons (m × EM × metric)."
    return text, "holds" if better > number_of / 2 else "in part" if better > worse else "fails"


def _accuracy(experiment: Experiment) -> Judged:
    text, verdict = _ahead(DISTANCE)(experiment)
    own = mean(experiment, OPT, DISTANCE)
    guess = float(np.abs(np.subtract.outer(range(3), range(3))).mean())
    return f"OPT {span(own.values())} (a guess has {number(guess)}); {text}", verdict


SECTION_4 = (
    Check("Section 4.2, Table 2", "Numbers of mappings that respect the order.",
          "the printed digits are those of the exact numbers, cut or rounded", (), lambda _: _table(2)),
    Check("Section 4.2, Table 2", "Numbers of all mappings of 100 items, and of mappings by bucket.",
          "the printed digits are those of the exact numbers, cut or rounded", (), _sizes_of_spaces),
    Check("Section 4.2, Table 2", "Mappings that respect the order are far fewer than mappings by bucket.",
          "at most 1 in 100 in every row of the table", (), _much_smaller),
    Check("Section 4.2", "The mappings that respect the order contain a likeliest mapping.",
          "no mapping is likelier than the best of them, in a case small enough to try all and in simulations", (),
          _contains_the_best),
    Check("Section 4.3, Figure 6", "OPT's ratings are much likelier than those of every EM.", AHEAD, (EQUAL,),
          _with(_likelihood, "equal")),
    Check("Section 4.3, Figure 6", "At m = 5 OPT's ratings are on average 9 orders of magnitude likelier than EM(*)'s.",
          "the mean is 9 or more (in part: above 0 at 99 %); with all kinds of random workers", (EQUAL,),
          _with(_nine_orders, "equal")),
    Check("Section 4.3, Figure 6", "The gain in likelihood over EM shrinks as m grows.",
          "Spearman's rank correlation of the mean lead with m (from 2 on) is −0.5 or less for all four EM, and OPT is "
          "nowhere worse than any; with all kinds of random workers", (EQUAL,), _with(_gap_falls, "equal")),
    Check("Section 4.3, Figure 7", "OPT's ratings are accurate by the distance-weighted score, more so than EM's.",
          AHEAD, (EQUAL,), _with(_accuracy, "equal")),
    Check("Sections 3.5.1 and 4.3", "Gains in likelihood are small in filtering and much larger in rating.",
          "the mean lead over EM(*) is larger for ratings at every m from 2 on (99 % intervals apart); with all kinds "
          "of random workers", (FILTERING, EQUAL), _more_than_filtering),
    Check("Section 4.3", "With more parameters to estimate, EM ends in a lesser maximum more often.",
          "EM(*) falls short of the best mapping found in more trials with three labels than with two (99 % intervals "
          "apart)", (FILTERING, EQUAL), _goes_wrong_more),
    Check("Section 4.3", "By other metrics, of ratings and of matrices, OPT does well and often beats EM.",
          "better in more than half of all comparisons (in part: more often better than worse); with all kinds of "
          "random workers", (EQUAL,), _with(_often, "equal")),
)  # fmt: skip

APPENDIX_B = (
    Check("Appendix B, Figures 11(a) and 12(a)", "With other truths, too, OPT's ratings are likelier than every EM's.",
          AHEAD, ("rating-2", "rating-3"), _with(_likelihood, "2", "3")),
    Check("Appendix B, Figures 11(b) and 12(b)", "They are more accurate than every EM's.", AHEAD,
          ("rating-2", "rating-3"), _with(_ahead(DISTANCE), "2", "3")),
    Check("Appendix B, Figures 11(c) and 12(c)", "OPT's matrix is closer to the true one than every EM's.", AHEAD,
          ("rating-2", "rating-3"), _with(_ahead(EMD), "2", "3")),
)  # fmt: skip
