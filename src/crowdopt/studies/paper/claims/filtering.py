"""Claims of the filtering experiments with simulated crowds: Section 3.5.1, Figures 3 and 4(a)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.studies.paper.em_vs_optimum import SAME_NATS, series
from crowdopt.studies.paper.format import number_text, percent, places, span
from crowdopt.studies.paper.setups import (
    ALL_EM,
    EM1,
    EM2,
    EM3,
    EM_ANY,
    EM_BEST,
    EMD,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    S5,
    S7,
    S9,
    up,
)
from crowdopt.studies.paper.statistics import Estimate, every, trend
from crowdopt.studies.paper.verdicts import (
    AHEAD,
    EQUALS,
    TIES,
    Check,
    Criterion,
    Judgement,
    ahead,
    both_ways,
    combined,
    holds_if,
    join_parts,
    means,
    versus,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.studies.paper.experiments import Experiment
    from crowdopt.studies.paper.statistics import Sure
    from crowdopt.studies.paper.verdicts import Experiments, Line

    Naming = Callable[[str], str]

COMPARABLE = 0.02
"""Scores that differ by no more than this are comparable: one item in fifty."""
OTHER_NUMBERS = (f"{S5}-n100", f"{S5}-n10000")
AHEAD_WITH_TIES = replace(AHEAD, each=TIES)


def _items(found: Experiments) -> Judgement:
    facts: list[Sure] = []
    table: list[Line] = []
    numbers: list[Line] = []
    for name in OTHER_NUMBERS:
        for algorithm in (OPT, EM1):
            for metric in (INCORRECT, EMD, JSD):
                gaps = _changes(found[S5], found[name], algorithm, metric)
                inside = {m: gap.within(COMPARABLE) for m, gap in gaps.items()}
                facts.append(every(inside.values()))
                names = {"items": found[name].n_tasks, "algorithm": algorithm, "metric": metric}
                table.append({
                    **names,
                    "change": span((gap.mean for gap in gaps.values()), sign=True),
                    "widest interval": f"± {number_text(max(gap.half for gap in gaps.values()))}",
                    "surely comparable at m": places([m for m, fact in inside.items() if fact], gaps),
                    "surely not at m": places([m for m, fact in inside.items() if fact is False], gaps),
                })  # fmt: skip
                numbers += [{**names, "m": m, "change": gap.mean, "low": gap.low, "high": gap.high}
                            for m, gap in gaps.items()]  # fmt: skip
    text = "Mean change against 1,000 items, s = .5, with the same workers"
    return Judgement(text, holds_if(every(facts)), table, numbers)


def _changes(base: Experiment, other: Experiment, algorithm: str, metric: str) -> dict[int, Estimate]:
    """How much larger a metric is with another number of items, trial by trial: the workers are the same."""
    trials = min(base.trials, other.trials)
    return {
        m: Estimate.of(other.values[m, algorithm, metric][:trials] - base.values[m, algorithm, metric][:trials])
        for m in base.sizes
    }


def _never_below(found: Experiments) -> Judgement:
    worst, trials = np.inf, 0
    for name in (S5, S7, S9):
        experiment = found[name]
        for m in experiment.sizes:
            best = experiment.values[m, OPT, LIKELIHOOD]
            others = [experiment.values[m, em, LIKELIHOOD] for em in (*ALL_EM, *map(up, ALL_EM))]
            worst = min(worst, float((best - np.max(others, axis=0)).min()))
            trials += len(best)
    below = "none" if worst >= -SAME_NATS else f"some, by up to {number_text(-worst)} nats"
    text = f"Of {trials:,} trials with s = .5, .7 and .9 an EM is likelier in {below}. Leads at s = .5 in nats"
    return Judgement(text, holds_if(worst >= -SAME_NATS), [versus(found[S5], LIKELIHOOD, em).line() for em in ALL_EM])


def _gap_falls(found: Experiments, naming: Naming) -> Judgement:
    facts: list[Sure] = []
    table: list[Line] = []
    numbers: list[Line] = []
    for em in map(naming, ALL_EM):
        pair = versus(found[S5], LIKELIHOOD, em)
        falls = trend(pair.leads)
        mean, low, high = map(number_text, (falls.mean, falls.low, falls.high))
        facts.append(falls.below(-0.5))
        table.append({
            "against": em,
            "lead in nats at m = 1, 2, …": ", ".join(number_text(lead.mean) for lead in pair.leads.values()),
            "rank correlation with m": f"{mean} ({low} to {high})",
            "verdict": holds_if(facts[-1]),
        })  # fmt: skip
        numbers += pair.numbers()
    return Judgement("Mean lead of OPT at s = .5", holds_if(*facts), table, numbers)


def _accuracy(found: Experiments, naming: Naming) -> Judgement:
    own = span(mean.mean for mean in means(found[S7], OPT, INCORRECT).values())
    return ahead((versus(found[S7], INCORRECT, naming(em)) for em in ALL_EM), f"OPT is wrong on {own} of the items")


def _emd(found: Experiments, naming: Naming) -> Judgement:
    parts = {
        s: ahead((versus(found[name], EMD, naming(em)) for em in ALL_EM), "Lead of OPT")
        for name, s in ((S5, "0.5"), (S7, "0.7"))
    }
    return join_parts(parts, "s")


def _starts(found: Experiments, naming: Naming) -> Judgement:
    experiment, first = found[S5], naming(EM1)
    own = combined(experiment, EMD, {OPT: 1}).mean
    facts: list[Sure] = []
    table: list[Line] = []
    for name in (first, *map(naming, (EM2, EM3))):
        score, short = combined(experiment, EMD, {name: 1}), combined(experiment, LIKELIHOOD, {OPT: 1, name: -1})
        if name == first:
            as_claimed = [combined(experiment, EMD, {name: 1, OPT: -1.5}).below(0)]
        else:
            worse = combined(experiment, LIKELIHOOD, {first: 2, OPT: -1, name: -1})
            as_claimed = [combined(experiment, EMD, {name: 1, OPT: -2}).above(0), worse.above(0)]
        facts += as_claimed
        table.append({"algorithm": name, "EMD averaged over m": score.mean, "times OPT's": score.mean / own,
                      "nats below OPT": short.mean, "verdict": holds_if(*as_claimed)})  # fmt: skip
    text = f"EM(3) ends exactly as likely as EM(1) in {percent(_alike(experiment, naming, (0, 1)))} of all trials"
    return Judgement(text, holds_if(*facts), table)


def _alike(experiment: Experiment, naming: Naming, rests: tuple[int, ...]) -> float:
    """The share of trials, with m of these rests modulo 2, in which EM(1) and EM(3) end equally likely."""
    both = [[series(experiment, m, naming(em), LIKELIHOOD) for em in (EM1, EM3)]
            for m in experiment.sizes if m % 2 in rests]  # fmt: skip
    return float(np.mean([np.abs(one - other) <= SAME_NATS for one, other in both]))


def _best_of_three(found: Experiments, naming: Naming) -> Judgement:
    experiment = found[S5]
    odd, even = (_alike(experiment, naming, (rest,)) for rest in (1, 0))
    text = (
        f"EM(1) and EM(3) end equally likely in {percent(odd)} of trials with odd m and in {percent(even)} with even "
        "m, so that EM(*) mostly chooses among equals. Lead of EM(1) by EMD"
    )
    parts = {em: ahead([versus(experiment, EMD, naming(em), first=naming(EM1))], text) for em in (EM_BEST, EM_ANY)}
    return join_parts(parts)


def _all_metrics(found: Experiments, naming: Naming) -> Judgement:
    parts = {}
    for name, s in ((S5, ".5"), (S7, ".7")):
        for metric in (LIKELIHOOD, INCORRECT, EMD, JSD):
            pairs = [versus(found[name], metric, naming(em)) for em in (EM1, EM_BEST)]
            parts[f"{metric}, s = {s}"] = ahead(pairs, "Lead of OPT")
    return join_parts(parts, "by")


CHECKS = (
    Check("Section 3.5.1", "The number of items hardly matters.",
          Criterion(holds=f"fraction incorrect, EMD and JSD of OPT and EM(1) with 100 and with 10,000 items are surely "
                          f"within {COMPARABLE} of those with 1,000, at every m",
                    fails=f"one of them surely differs by more than {COMPARABLE} at some m"),
          (S5, *OTHER_NUMBERS), _items),
    Check("Section 3.5.1, Figure 3(a)", "OPT finds mappings at least as likely as those of every EM.",
          Criterion(holds="in no trial is any EM likelier by more than 0.000001 nats, whichever way its ties go",
                    fails="in some trial one is"),
          (S5, S7, S9), _never_below, averages=False),
    Check("Section 3.5.1, Figure 3(a)", "The gain in likelihood over EM shrinks as m grows.",
          Criterion(holds="Spearman's rank correlation of the mean lead with m, from 2 on, is surely below −0.5 for "
                          "all four EM",
                    in_part="for some of them", fails="for none of them", each=TIES),
          (S5,), both_ways(_gap_falls)),
    Check("Section 3.5.1, Figure 3(b)", "At s = 0.7 OPT labels items more accurately than every EM.",
          AHEAD_WITH_TIES, (S7,), both_ways(_accuracy)),
    Check("Section 3.5.1, Figures 3(c) and 4(a)", "By EMD, OPT's matrix is closer to the true one than every EM's.",
          replace(AHEAD, each=f"s = 0.5 and 0.7; {TIES}"), (S5, S7), both_ways(_emd)),
    Check("Section 3.5.1, Figure 3(c)", "EM(1) does well by EMD; EM(2) and EM(3) get stuck in bad local maxima.",
          Criterion(holds="averaged over m, the EMD of EM(1) is surely below 1.5 times OPT's, those of EM(2) and EM(3) "
                          "surely above twice OPT's, and both are short of OPT's likelihood by surely more than twice "
                          "as much as EM(1)",
                    in_part="some of these five are so, others surely not", fails="all five are surely not so",
                    each=TIES),
          (S5,), both_ways(_starts)),
    Check("Section 3.5.1, Figure 3(c)", "EM(*) suffers from the poor starts among its three.",
          replace(AHEAD, holds="by EMD EM(1) is surely better than EM(*) at some m, and at no m can it be worse by "
                               "more than the margin", each=f"{EQUALS}; {TIES}"),
          (S5,), both_ways(_best_of_three)),
    Check("Section 3.5.1", "By every metric OPT does better than EM(1) and EM(*).",
          replace(AHEAD, each=f"s = 0.5 and 0.7; log-likelihood, fraction incorrect, EMD and JSD; {TIES}"),
          (S5, S7), both_ways(_all_metrics)),
)  # fmt: skip
