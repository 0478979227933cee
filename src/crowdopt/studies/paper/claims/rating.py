"""Claims about rating experiments: Section 4.3 with Figures 6 and 7, Appendix B with Figures 11 and 12.

The paper does not say how it draws workers. So every claim is judged with all three kinds of random matrices: better
than random (``diagonal``), any, and of monotone likelihood ratio (``mlr``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crowdopt.studies.paper.em_vs_optimum import against_em, below_best
from crowdopt.studies.paper.format import number_text, percent, percents, places, span
from crowdopt.studies.paper.setups import (
    ALL_EM,
    DISTANCE,
    EM_BEST,
    EMD,
    EQUAL,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    MATRIX_KINDS,
    OPT,
    S5,
)
from crowdopt.studies.paper.statistics import Estimate, every, trend
from crowdopt.studies.paper.verdicts import (
    AHEAD,
    Check,
    Criterion,
    Judgement,
    ahead,
    holds_if,
    join_parts,
    means,
    versus,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.studies.paper.experiments import Experiment
    from crowdopt.studies.paper.statistics import Sure
    from crowdopt.studies.paper.verdicts import ClaimVerdict, Experiments, Line

    Measure: TypeAlias = Callable[[Experiment], Judgement]

WORKERS = "all three kinds of random workers"
ORDERS = 9
"""Orders of magnitude that the paper has at m = 5."""


def names_of(*truths: str) -> tuple[str, ...]:
    """The experiments with some distributions of the truths and every kind of random workers."""
    return tuple(f"rating-{spread}{suffix}" for spread in truths for suffix in MATRIX_KINDS.values())


def _with(measure: Measure, *truths: str) -> Callable[[Experiments], Judgement]:
    """Judges a claim for some distributions of the truths, with every kind of random workers."""

    def judge(found: Experiments) -> Judgement:
        parts = {
            kind if len(truths) == 1 else f"{kind}, s = {spread}": measure(found[f"rating-{spread}{suffix}"])
            for spread in truths
            for kind, suffix in MATRIX_KINDS.items()
        }
        return join_parts(parts, "workers")

    return judge


def _ahead(metric: str) -> Measure:
    unit = " in nats" if metric == LIKELIHOOD else f" by {metric}"
    return lambda experiment: ahead((versus(experiment, metric, em) for em in ALL_EM), f"Lead of OPT{unit}")


def _likelihood(experiment: Experiment) -> Judgement:
    judged = _ahead(LIKELIHOOD)(experiment)
    rows = against_em([experiment])
    beats = {em: max(row["beat"] for row in rows if row["algorithm"] == em) for em in ALL_EM}
    table = [
        line | {"EM likelier in up to": f"{percent(beats[line['against']])} of trials", "verdict": line.pop("verdict")}
        for line in map(dict, judged.table)
    ]
    return replace(judged, table=table)


def _nine_orders(experiment: Experiment) -> Judgement:
    lead = (experiment.values[5, OPT, LIKELIHOOD] - experiment.values[5, EM_BEST, LIKELIHOOD]) / math.log(10)
    gain = Estimate.of(lead)
    verdict: ClaimVerdict = "not decided"
    if gain.below(ORDERS):
        verdict = "in part" if gain.above(0) else "fails"
    elif gain.above(ORDERS / 2):
        verdict = "holds"
    line = {"mean orders of magnitude": number_text(gain.mean, sign=True), "99 % interval": span([gain.low, gain.high])}
    return Judgement("Lead of OPT over EM(*) at m = 5", verdict, [line])


def _gap_falls(experiment: Experiment) -> Judgement:
    facts: list[Sure] = []
    table: list[Line] = []
    numbers: list[Line] = []
    for em in ALL_EM:
        pair = versus(experiment, LIKELIHOOD, em)
        falls = trend(pair.leads)
        mean, low, high = map(number_text, (falls.mean, falls.low, falls.high))
        facts += [falls.below(-0.5), every(lead.above(-pair.margin) for lead in pair.leads.values())]
        table.append({
            "against": em,
            "lead in nats at m = 1, 2, …": ", ".join(number_text(lead.mean) for lead in pair.leads.values()),
            "rank correlation with m": f"{mean} ({low} to {high})",
            "surely worse at m": places(pair.worse, pair.leads),
            "verdict": holds_if(*facts[-2:]),
        })  # fmt: skip
        numbers += pair.numbers()
    return Judgement("Lead of OPT", holds_if(*facts), table, numbers)


def _accuracy(experiment: Experiment) -> Judgement:
    shares = np.array(experiment.setup.shares)
    steps = np.abs(np.subtract.outer(range(len(shares)), range(len(shares))))
    guess = float(shares @ steps.mean(axis=1))
    own = means(experiment, OPT, DISTANCE)
    good = {m: mean.below(guess / 2) for m, mean in own.items()}
    pairs = [versus(experiment, DISTANCE, em) for em in ALL_EM]
    line = {
        "mean distance of OPT": span(mean.mean for mean in own.values()),
        "of a guess": guess,
        "surely below half of that at m": places([m for m, fact in good.items() if fact], own),
        **{f"lead over {pair.other}": span((lead.mean for lead in pair.leads.values()), sign=True) for pair in pairs},
    }
    numbers = [entry for pair in pairs for entry in pair.numbers()]
    return Judgement("OPT against a guess and, for information, against EM", holds_if(*good.values()), [line], numbers)


def _more_than_filtering(found: Experiments) -> Judgement:
    def measure(experiment: Experiment) -> Judgement:
        leads = [versus(e, LIKELIHOOD, EM_BEST).leads for e in (experiment, found[S5])]
        gaps = {m: leads[0][m] - leads[1][m] for m in leads[0] if m in leads[1] and m > 1}
        more = {m: gap.above(0) for m, gap in gaps.items()}
        line = {
            "lead over EM(*) in rating": span((leads[0][m].mean for m in gaps), sign=True),
            "in filtering": span((leads[1][m].mean for m in gaps), sign=True),
            "surely more at m": places([m for m, fact in more.items() if fact], gaps),
            "surely less at m": places([m for m, gap in gaps.items() if gap.below(0)], gaps),
        }
        numbers = [{"m": m, "rating": leads[0][m].mean, "filtering": leads[1][m].mean, "difference": gap.mean,
                    "low": gap.low, "high": gap.high} for m, gap in gaps.items()]  # fmt: skip
        return Judgement(
            "Mean lead of OPT over EM(*) in nats, from m = 2 on", holds_if(*more.values()), [line], numbers
        )

    return _with(measure, "equal")(found)


LABEL_STEPS = {
    "3 ratings (diagonal) against 2 labels": (EQUAL, S5),
    "3 ratings (any) against 2 labels": (f"{EQUAL}-any", S5),
    "3 ratings (mlr) against 2 labels": (f"{EQUAL}-mlr", S5),
    "4 ratings against 3": (f"{EQUAL}-R4", EQUAL),
    "5 ratings against 4": (f"{EQUAL}-R5", f"{EQUAL}-R4"),
}
"""More parameters against fewer."""


def _goes_wrong_more(found: Experiments) -> Judgement:
    return join_parts(
        {step: _wrong_more(*(found[name] for name in pair)) for step, pair in LABEL_STEPS.items()}, "step"
    )


def _wrong_more(many: Experiment, few: Experiment) -> Judgement:
    sizes = [m for m in many.sizes if m in few.sizes and m > 1]
    shares = {m: [Estimate.share(below_best(e, m, EM_BEST)) for e in (many, few)] for m in sizes}
    more = [m for m, (one, other) in shares.items() if one.low > other.high]
    fewer = [m for m, (one, other) in shares.items() if one.high < other.low]
    verdict: ClaimVerdict = (
        "holds" if len(more) == len(sizes) else "in part" if more else "fails" if fewer else "not decided"
    )
    line = {
        "with more": percents(one.mean for one, _ in shares.values()),
        "with fewer": percents(other.mean for _, other in shares.values()),
        "surely more often at m": places(more, sizes),
        "surely less often at m": places(fewer, sizes),
    }  # fmt: skip
    numbers = [{"m": m, "R": e.setup.n_labels, "falls short": share.mean, "low": share.low, "high": share.high}
               for m, both in shares.items() for e, share in zip((many, few), both, strict=True)]  # fmt: skip
    return Judgement("Share of trials in which EM(*) ends below the best mapping found", verdict, [line], numbers)


def _often(experiment: Experiment) -> Judgement:
    pairs = [versus(experiment, metric, em) for metric in (INCORRECT, DISTANCE, EMD, JSD) for em in ALL_EM]
    better, worse = sum(len(pair.better) for pair in pairs), sum(len(pair.worse) for pair in pairs)
    number_of = len(pairs) * len(experiment.sizes)
    level = sum(lead.above(pair.margin) is False for pair in pairs for lead in pair.leads.values()
                if not lead.above(0) and not lead.below(0))  # fmt: skip
    unclear = number_of - better - worse - level
    verdict: ClaimVerdict = "not decided"
    if better > number_of / 2:
        verdict = "holds"
    elif better + unclear <= number_of / 2:
        verdict = "in part" if better > worse else "fails"
    line = {"comparisons": number_of, "surely better": better, "surely worse": worse, "level": level,
            "unclear": unclear}  # fmt: skip
    numbers = [entry for pair in pairs for entry in pair.numbers()]
    return Judgement("Comparisons of OPT with EM: 4 metrics, 4 EM, every m", verdict, [line], numbers)


AHEAD_OF_ALL = replace(AHEAD, each=WORKERS)
OTHER_TRUTHS = replace(AHEAD, each=f"{WORKERS}; truths 20/60/20 (s = 2) and 40/20/40 (s = 3)")

RATINGS_OF_SECTION_4 = (
    Check("Section 4.3, Figure 6", "OPT's ratings are much likelier than those of every EM.", AHEAD_OF_ALL,
          names_of("equal"), _with(_likelihood, "equal")),
    Check("Section 4.3, Figure 6", "At m = 5 OPT's ratings are on average 9 orders of magnitude likelier than EM(*)'s.",
          Criterion(holds="the 99 % interval of the mean number of orders lies above 4.5, and reaches 9 or beyond",
                    in_part="it lies between 0 and 9", fails="it lies below 9, and not above 0", each=WORKERS),
          names_of("equal"), _with(_nine_orders, "equal")),
    Check("Section 4.3, Figure 6", "The gain in likelihood over EM shrinks as m grows.",
          Criterion(holds="Spearman's rank correlation of the mean lead with m, from 2 on, is surely below −0.5, and "
                          "at no m can OPT be worse by more than the margin, for all four EM",
                    in_part="some of these eight are so, some surely not", fails="surely none is", each=WORKERS),
          names_of("equal"), _with(_gap_falls, "equal")),
    Check("Section 4.3, Figure 7", "OPT's ratings are highly accurate by the distance-weighted score.",
          Criterion(holds="the mean distance from the truth is surely less than half of that of a guess, at every m",
                    in_part="at some m, surely not at others", fails="surely at no m", each=WORKERS),
          names_of("equal"), _with(_accuracy, "equal")),
    Check("Sections 3.5.1 and 4.3", "Gains in likelihood are small in filtering and much larger in rating.",
          Criterion(holds="the mean lead over EM(*) is surely larger for ratings, at every m from 2 on",
                    in_part="at some m, surely not at others", fails="surely not larger at any m", each=WORKERS),
          (S5, *names_of("equal")), _more_than_filtering),
    Check("Section 4.3", "With more parameters to estimate, EM ends in a lesser maximum more often.",
          Criterion(holds="EM(*) falls short of the best mapping found in surely more trials than with fewer labels, "
                          "at every m from 2 on that both have (Wilson's intervals apart)",
                    in_part="at some of these m", fails="at none, and in surely fewer trials at one",
                    each="the steps from 2 labels to 3 ratings (with all kinds of random workers), to 4, and to 5"),
          (S5, *names_of("equal"), f"{EQUAL}-R4", f"{EQUAL}-R5"), _goes_wrong_more),
    Check("Section 4.3", "By other metrics, of ratings and of matrices, OPT does well and often beats EM.",
          Criterion(holds="surely better in more than half of all comparisons: fraction incorrect, distance, EMD and "
                          "JSD, against four EM, at every m",
                    in_part="in less than half, even if all that is unclear counted, but surely better more often than "
                            "surely worse",
                    fails="in less than half, and not more often than surely worse", each=WORKERS),
          names_of("equal"), _with(_often, "equal")),
)  # fmt: skip

APPENDIX_B = (
    Check("Appendix B, Figures 11(a) and 12(a)", "With other truths, too, OPT's ratings are likelier than every EM's.",
          OTHER_TRUTHS, names_of("2", "3"), _with(_likelihood, "2", "3")),
    Check("Appendix B, Figures 11(b) and 12(b)", "They are more accurate than every EM's.", OTHER_TRUTHS,
          names_of("2", "3"), _with(_ahead(DISTANCE), "2", "3")),
    Check("Appendix B, Figures 11(c) and 12(c)", "OPT's matrix is closer to the true one than every EM's.",
          OTHER_TRUTHS, names_of("2", "3"), _with(_ahead(EMD), "2", "3")),
)  # fmt: skip
