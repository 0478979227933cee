"""Claims of Appendix A: more about filtering, Figures 9 and 10."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crowdopt.engines.base import Limits
from crowdopt.engines.em.hard import hard_em
from crowdopt.engines.scan import scan
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.problem import Problem
from crowdopt.studies.paper.claims.filtering import COMPARABLE
from crowdopt.studies.paper.format import number_text, places, span
from crowdopt.studies.paper.scores import jsd_score
from crowdopt.studies.paper.setups import (
    DISTANCE,
    EM1,
    EM_ANY,
    EM_BEST,
    EMD,
    INCORRECT,
    JSD,
    OPT,
    OPT_SHARES,
    S5,
    S7,
    S9,
)
from crowdopt.studies.paper.verdicts import (
    AHEAD,
    EQUALS,
    TIES,
    Check,
    Criterion,
    Judgement,
    ahead,
    both_ways,
    holds_if,
    join_parts,
    joint_verdict,
    means,
    versus,
)
from crowdopt.studies.simulate_counts import Lattice

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.studies.paper.statistics import Sure
    from crowdopt.studies.paper.verdicts import Experiments, Line, Versus

    Naming = Callable[[str], str]

RANGED = {EMD: (S5, S7, S9), DISTANCE: ("rating-equal", "rating-2", "rating-3")}
"""Metrics for which the paper states a range of 0 to 2, and where."""
ERRORS = np.linspace(0, 0.5, 1001)
"""Error rates of better than random workers."""


def _ranges(found: Experiments) -> Judgement:
    facts, texts = [], []
    for metric, names in RANGED.items():
        values = [found[name].values[key] for name in names for key in found[name].values if key[2] == metric]
        low, high = (float(end([end(value) for value in values])) for end in (np.min, np.max))
        facts.append(low >= 0 and high <= 2)
        texts.append(f"{metric} {number_text(low)} to {number_text(high)}")
    return Judgement(f"Over all trials: {'; '.join(texts)}", holds_if(*facts))


def _comparable(found: Experiments, naming: Naming) -> Judgement:
    pairs = [versus(found[S5], metric, naming(em)) for metric in (INCORRECT, JSD) for em in (EM1, EM_BEST, EM_ANY)]
    verdict = holds_if(*(pair.overall.within(COMPARABLE) for pair in pairs))
    numbers = [line for pair in pairs for line in pair.numbers()]
    return Judgement("Lead of OPT", verdict, [_averaged(pair) for pair in pairs], numbers)


def _averaged(pair: Versus) -> Line:
    lead = pair.overall
    return {"metric": pair.metric, "against": pair.other, "lead averaged over m": number_text(lead.mean, sign=True),
            "99 % interval": span([lead.low, lead.high], sign=True),
            "verdict": holds_if(lead.within(COMPARABLE))}  # fmt: skip


def _high_accuracy(found: Experiments, naming: Naming) -> Judgement:
    even = np.full((len(ERRORS), 2, 2), 0.5)
    workers = np.stack([np.column_stack([1 - ERRORS, ERRORS]), np.column_stack([ERRORS, 1 - ERRORS])], axis=1)
    guesses = {INCORRECT: 0.5, JSD: float(jsd_score(even, workers).mean())}
    facts: list[Sure] = []
    table: list[Line] = []
    for metric, guess in guesses.items():
        for name in (OPT, naming(EM1)):
            own = means(found[S5], name, metric)
            good = {m: mean.below(guess / 2) for m, mean in own.items()}
            facts += good.values()
            sure = places([m for m, ok in good.items() if ok], list(own))
            table.append({"metric": metric, "algorithm": name, "mean": span(mean.mean for mean in own.values()),
                          "a guess has": guess, "surely below half of that at m": sure,
                          "verdict": holds_if(*good.values())})  # fmt: skip
    return Judgement("Means over all trials at s = .5", holds_if(*facts), table)


def _moderate_skew(found: Experiments, naming: Naming) -> Judgement:
    pairs = {em: versus(found[S7], JSD, naming(em)) for em in (EM_BEST, EM_ANY, EM1)}
    verdicts = {em: ahead([pair]).verdict for em, pair in pairs.items()}
    verdicts[EM1] = holds_if(pairs[EM1].overall.within(COMPARABLE))
    table = [
        {**pair.line(), "averaged over m": number_text(pair.overall.mean, sign=True), "verdict": verdicts[em]}
        for em, pair in pairs.items()
    ]
    numbers = [line for pair in pairs.values() for line in pair.numbers()]
    return Judgement("Lead of OPT by JSD", joint_verdict(verdicts.values()), table, numbers)


def _skew_best(found: Experiments, naming: Naming) -> Judgement:
    def against(metric: str) -> Judgement:
        return join_parts(
            {em: ahead([versus(found[S9], metric, naming(em))], "Lead of OPT") for em in (EM_BEST, EM_ANY)}
        )

    return join_parts({metric: against(metric) for metric in (INCORRECT, JSD)}, "by")


def _skew_first(found: Experiments, naming: Naming) -> Judgement:
    parts = {
        metric: ahead([versus(found[S9], metric, OPT, first=naming(EM1))], "Lead of EM(1)")
        for metric in (INCORRECT, JSD)
    }
    judged = join_parts(parts, "by")
    return replace(judged, table=[{"algorithm": naming(EM1), **line} for line in judged.table])


def _extreme_example(_: Experiments) -> Judgement:
    """1,000 items that are all 1, answered 0 with probability 0.2, in numbers as expected."""
    likelier, all_ones, table = [], [], []
    for m in range(1, 11):
        lattice = Lattice.full(2, m)
        expected = 1000 * lattice.probabilities([[0.8, 0.2], [0.2, 0.8]])[1]
        buckets, _index = Buckets.from_arrays(lattice.counts, expected.round().astype(np.int64))
        problem = Problem(buckets, Space.ALL)
        truth = problem.objective.of_mapping(buckets, np.ones(buckets.n_buckets, np.int64))
        best = scan(problem, Limits())
        ends = {"EM(1)": hard_em(problem, "1"), "EM(1), ties to 1": hard_em(problem, "1", ties="highest")}
        mappings = {"OPT": best.mapping} | {name: run.mapping for name, run in ends.items()}
        shares = {name: float(buckets.weights[f == 1].sum() / buckets.n_tasks) for name, f in mappings.items()}
        likelier.append(best.objective > truth + 1e-6)
        all_ones += [shares[name] > 0.99 for name in ends]
        table.append({"m": m, "log-likelihood of the truth": truth, "of OPT": best.objective,
                      **{f"of {name}": run.value for name, run in ends.items()},
                      **{f"items that {name} calls 1": share for name, share in shares.items()}})  # fmt: skip
    text = f"OPT is likelier than the truth at {sum(likelier)} of {len(table)} m; EM(1) calls (nearly) all items 1 "
    text += f"in {sum(all_ones)} of {len(all_ones)} cases (m and rule for ties)"
    return Judgement(text, holds_if(*likelier, *all_ones), table)


def _tuned(found: Experiments, naming: Naming) -> Judgement:
    text = "OPT with estimated selectivity, wrong items, s = .9"
    judged = ahead((versus(found[S9], INCORRECT, other, first=OPT_SHARES) for other in (OPT, naming(EM1))), text)
    cost = versus(found[S5], INCORRECT, OPT, first=OPT_SHARES).overall
    costs = f"Where truths are even (s = .5), its lead over OPT averaged over m is {number_text(cost.mean, sign=True)}"
    return replace(judged, text=f"{text}. {costs}")


CHECKS = (
    Check("Section 4.3 and Appendix A",
          "The EMD score of two labels and the distance-weighted score of three ratings lie between 0 and 2.",
          Criterion(holds="so they do in every trial", in_part="one of them does", fails="neither does"),
          (S5, S7, S9, "rating-equal", "rating-2", "rating-3"), _ranges, averages=False),
    Check("Appendix A, Figures 9(a) and 9(b)", "At s = 0.5 OPT and EM are comparable by fraction incorrect and JSD.",
          Criterion(holds=f"averages over m are surely within {COMPARABLE} of each other, by both metrics, for EM(1) "
                          "and EM(*)",
                    in_part="some are, some surely not", fails="surely none is", each=f"{EQUALS}; {TIES}"),
          (S5,), both_ways(_comparable)),
    Check("Appendix A, Figures 9(a) and 9(b)", "There both OPT and EM are highly accurate.",
          Criterion(holds="fraction incorrect and JSD of OPT and EM(1) are surely less than half of those of a guess "
                          "(labels, or answers, at even odds), at every m",
                    in_part="some are, some surely not", fails="surely none is", each=TIES),
          (S5,), both_ways(_high_accuracy)),
    Check("Appendix A, Figure 9(c)", "At s = 0.7 OPT beats EM(*) by JSD and is comparable with EM(1).",
          Criterion(holds=f"surely better than EM(*) at some m, and at none can it be worse by more than the margin; "
                          f"the average over m is surely within {COMPARABLE} of EM(1)'s",
                    in_part="one of the two is so, or it is surely better than EM(*) at some m and surely worse at "
                            "another", fails="neither is so", each=f"{EQUALS}; {TIES}"),
          (S7,), both_ways(_moderate_skew)),
    Check("Appendix A, Figures 10(b) and 10(c)", "At s = 0.9 OPT beats EM(*).",
          replace(AHEAD, each=f"fraction incorrect and JSD; {EQUALS}; {TIES}"), (S9,), both_ways(_skew_best)),
    Check("Appendix A, Figures 10(b) and 10(c)", "At s = 0.9 OPT does worse than EM(1).",
          Criterion(holds="EM(1) is surely better at some m, and at no m can it be worse by more than the margin",
                    in_part="it is surely better at some m, and surely worse at another",
                    fails="it can lead by more than the margin at no m", each=f"fraction incorrect and JSD; {TIES}"),
          (S9,), both_ways(_skew_first)),
    Check("Appendix A",
          "If all items are 1 and a fifth of the answers wrong, the likeliest labels are not all 1, while EM(1) finds "
          "the true ones.",
          Criterion(holds="at m = 1 to 10, OPT is likelier than the true labels and EM(1) gives 1 to more than 99 % of "
                          "items, whichever way its ties go",
                    in_part="so at some m, or one of the two", fails="neither at any m"), (), _extreme_example),
    Check("Appendix A", "Knowing that truths are skewed, one can tune OPT for it.",
          replace(AHEAD, holds="at s = 0.9 OPT with estimated selectivity labels items surely better than OPT and "
                               "EM(1) at some m, and at no m can it be worse by more than the margin", each=TIES),
          (S5, S9), both_ways(_tuned)),
)  # fmt: skip
