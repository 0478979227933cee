"""Claims of the filtering experiment with real responses: Section 3.5.2, Figures 4(b) and 4(c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.studies.paper.em_vs_optimum import SAME_NATS, series
from crowdopt.studies.paper.format import number_text, percent, places, span
from crowdopt.studies.paper.setups import (
    EM1,
    EM2,
    EM3,
    EM_ANY,
    EM_BEST,
    IC,
    INCORRECT,
    LIKELIHOOD,
    OPT,
    RATE_0,
    RATE_1,
)
from crowdopt.studies.paper.statistics import Estimate, every, some
from crowdopt.studies.paper.verdicts import (
    EQUALS,
    TIES,
    Check,
    Criterion,
    Judgement,
    both_ways,
    holds_if,
    join_parts,
    means,
    versus,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.studies.paper.statistics import Sure
    from crowdopt.studies.paper.verdicts import Experiments

    Naming = Callable[[str], str]

MUCH = 0.1
"""A lead in the share of wrong items that is much."""


def _high_likelihood(found: Experiments, naming: Naming) -> Judgement:
    experiment = found[IC]
    poor = versus(experiment, LIKELIHOOD, naming(EM2)).leads
    facts: list[Sure] = [every(lead.above(0) for lead in poor.values())]
    table = []
    for em in map(naming, (EM1, EM3, EM_BEST)):
        leads = versus(experiment, LIKELIHOOD, em).leads
        part = {m: series(experiment, m, OPT, LIKELIHOOD) * 0.95 - series(experiment, m, em, LIKELIHOOD)
                + 0.05 * series(experiment, m, naming(EM2), LIKELIHOOD) for m in experiment.sizes}  # fmt: skip
        facts.append(every(Estimate.of(values).below(0) for values in part.values()))
        largest = max((leads[m].mean / poor[m].mean for m in leads if poor[m].mean > 0), default=None)
        table.append({"algorithm": em, "nats below OPT": span(lead.mean for lead in leads.values()),
                      "at most this share of EM(2)'s": largest, "verdict": holds_if(facts[-1])})  # fmt: skip
    text = f"EM(2) is below OPT by {span(lead.mean for lead in poor.values())} nats"
    verdict = holds_if(*facts[1:]) if facts[0] else "fails" if facts[0] is False else "not decided"
    return Judgement(text, verdict, table)


def _near_half(found: Experiments, naming: Naming) -> Judgement:
    experiment, em = found[IC], naming(EM2)
    ends = [mean for rate in (RATE_0, RATE_1) for mean in means(experiment, em, rate).values()]
    missing = [np.isnan(series(experiment, m, em, rate)) for m in experiment.sizes for rate in (RATE_0, RATE_1)]
    text = f"Mean error rates {span(end.mean for end in ends)}; a label gets no item, and so has no rate, in "
    near = every(Estimate(end.mean - 0.5, end.low - 0.5, end.high - 0.5).within(0.1) for end in ends)
    return Judgement(f"{text}{percent(2 * float(np.mean(missing)))} of trials", holds_if(near))


def _extremes(found: Experiments, naming: Naming) -> Judgement:
    ends = {
        em: [mean for rate in (RATE_0, RATE_1) for mean in means(found[IC], naming(em), rate).values()]
        for em in (EM1, EM3)
    }
    text = "; ".join(f"{em} {span(mean.mean for mean in values)}" for em, values in ends.items())
    facts = [every(mean.below(0.2) for mean in ends[EM1]), every(mean.above(0.8) for mean in ends[EM3])]
    return Judgement(f"Mean error rates of both kinds at all m: {text}", holds_if(*facts))


def _opposite(found: Experiments, naming: Naming) -> Judgement:
    experiment = found[IC]
    near = []
    for m in experiment.sizes:
        one, other = (series(experiment, m, naming(em), LIKELIHOOD) for em in (EM1, EM3))
        # Within 2 % on either side, log-likelihoods being negative.
        sides = (
            Estimate.of(one - other + 0.02 * one).below(SAME_NATS),
            Estimate.of(one - other - 0.02 * one).above(-SAME_NATS),
        )
        near.append(every(sides))
    apart = versus(experiment, LIKELIHOOD, naming(EM3), first=naming(EM1)).leads
    wrong = {em: means(experiment, naming(em), INCORRECT) for em in (EM1, EM3)}
    text = f"Mean log-likelihoods differ by up to {number_text(max(abs(lead.mean) for lead in apart.values()))} nats"
    shares = ", ".join(f"{em} {span(mean.mean for mean in values.values())}" for em, values in wrong.items())
    opposite = every(mean.above(0.8) for mean in wrong[EM3].values())
    return Judgement(f"{text}. Wrong items: {shares}", holds_if(every(near), opposite))


def _few_responses(found: Experiments, naming: Naming) -> Judgement:
    experiment = found[IC]
    wrong = {name: means(experiment, name, INCORRECT) for name in (OPT, naming(EM1))}
    last, n_tasks = experiment.sizes[-1], experiment.n_tasks
    shown = sorted({m for m in (1, 2, 3, 4, 5, 10, last) if m in experiment.sizes})
    good = {name: every(mean.below(0.15) for mean in values.values()) for name, values in wrong.items()}
    table = [
        {"wrong items": name, **{f"m = {m}": values[m].mean for m in shown}, "verdict": holds_if(good[name])}
        for name, values in wrong.items()
    ]
    text = f"At m = {last} OPT is wrong on {number_text(wrong[OPT][last].mean * n_tasks)} of {n_tasks} items"
    return Judgement(text, holds_if(*good.values()), table)


def _sometimes_poor(found: Experiments, naming: Naming) -> Judgement:
    experiment, parts = found[IC], {}
    for em in (EM_BEST, EM_ANY):
        pair = versus(experiment, INCORRECT, naming(em))
        much = some(lead.above(MUCH) for lead in pair.leads.values())
        sure = [m for m, lead in pair.leads.items() if lead.above(MUCH)]
        turned = {m: float((series(experiment, m, naming(em), INCORRECT) > 0.5).mean()) for m in experiment.sizes}
        odd, even = (float(np.mean([t for m, t in turned.items() if m % 2 == rest] or [0.0])) for rest in (1, 0))
        line = {"against": naming(em), "mean lead": span((lead.mean for lead in pair.leads.values()), sign=True),
                f"surely {MUCH} or more at m": places(sure, pair.leads),
                "wrong on most items, odd m": percent(odd), "wrong on most, even m": percent(even),
                "verdict": holds_if(much)}  # fmt: skip
        parts[naming(em)] = Judgement("Lead of OPT", holds_if(much), [line], pair.numbers())
    return join_parts(parts)


CHECKS = (
    Check("Section 3.5.2, Figure 4(b)", "On image comparison all but EM(2) reach a high likelihood.",
          Criterion(holds="EM(2) is surely below OPT, and the mean shortfalls of EM(1), EM(3) and EM(*) are surely "
                          "less than 5 % of its own, at every m",
                    in_part="so for some of the three, surely not for others",
                    fails="EM(2) is not below OPT at some m, or surely so for none of the three", each=TIES),
          (IC,), both_ways(_high_likelihood)),
    Check("Section 3.5.2", "EM(2) ends near error rates of one half.",
          Criterion(holds="its mean error rate is surely within 0.1 of it at every m",
                    fails="it surely is not at some m", each=TIES),
          (IC,), both_ways(_near_half)),
    Check("Section 3.5.2", "EM(1) ends at error rates near 0, EM(3) near 1.",
          Criterion(holds="mean rates are surely below 0.2 and above 0.8 at every m", in_part="so for one of the two",
                    fails="so for none", each=TIES),
          (IC,), both_ways(_extremes)),
    Check("Section 3.5.2, Figure 4(c)", "EM(1) and EM(3) often give opposite labels that are about equally likely.",
          Criterion(holds="mean log-likelihoods are surely within 2 % at every m, and EM(3) is surely wrong on more "
                          "than 0.8 of the items",
                    in_part="one of the two is so", fails="neither is", each=TIES),
          (IC,), both_ways(_opposite)),
    Check("Section 3.5.2, Figure 4(c)", "OPT and EM(1) do fairly well even with very few responses.",
          Criterion(holds="surely less than 0.15 of the items wrong on average at every m, for both",
                    in_part="so for one of them", fails="so for none", each=TIES),
          (IC,), both_ways(_few_responses)),
    Check("Section 3.5.2, Figure 4(c)", "EM(*) is sometimes much less accurate than OPT.",
          Criterion(holds=f"OPT is surely ahead by {MUCH} of the items or more at some m",
                    fails=f"surely by less than {MUCH} at every m", each=f"{EQUALS}; {TIES}"),
          (IC,), both_ways(_sometimes_poor)),
)  # fmt: skip
