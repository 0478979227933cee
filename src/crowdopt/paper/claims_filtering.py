"""Claims of the filtering experiments: Sections 3.2 and 3.5, Figures 3 and 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdopt.paper.against_em import EM_RANDOM, SAME
from crowdopt.paper.counts import counted
from crowdopt.paper.experiments import interval
from crowdopt.paper.setups import (
    ALL_EM,
    EM1,
    EM2,
    EM3,
    EM_BEST,
    EMD,
    INCORRECT,
    JSD,
    LIKELIHOOD,
    OPT,
    RATE_0,
    RATE_1,
)
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
    from crowdopt.paper.experiments import Experiment
    from crowdopt.paper.verdicts import Found, Judged, Verdict

S5, S7, S9 = "filtering-0.5", "filtering-0.7", "filtering-0.9"
AHEAD = "better than each on average at some m, worse than none at any m (99 % intervals of paired differences)"


def _cut_points(_: Found) -> Judged:
    numbers = {m: counted(2, m).dominance for m in range(1, 11)}
    return f"counted for m = 1–10: {', '.join(map(str, numbers.values()))}", holds_if(
        all(number == m + 2 for m, number in numbers.items())
    )


def _items(found: Found) -> Judged:
    base, texts, moved = found[S5], [], []
    for name in (f"{S5}-n100", f"{S5}-n10000"):
        other = found[name]
        for algorithm in (OPT, EM1):
            gaps = {m: _unpaired(base, other, m, algorithm) for m in base.sizes}
            sure = [m for m, (_, low, high) in gaps.items() if not low <= 0 <= high]
            moved.append(len(sure) / len(gaps))
            lead = span((gap for gap, _, _ in gaps.values()), sign=True)
            wide = max(high - gap for gap, _, high in gaps.values())
            texts.append(f"{algorithm}, {other.n_tasks:,} items: {lead} ± {number(wide)} ({where(sure, 'sure')})")
    verdict: Verdict = "holds" if not any(moved) else "in part" if max(moved) < 0.5 else "fails"
    return "fraction incorrect against 1,000 items: " + "; ".join(texts), verdict


def _unpaired(base: Experiment, other: Experiment, m: int, algorithm: str) -> tuple[float, float, float]:
    """The difference of the mean fraction incorrect, and the ends of its interval."""
    ends = []
    for experiment in (base, other):
        values = experiment.values[m, algorithm, INCORRECT]
        low, high = interval(values, LEVEL)
        ends.append((float(values.mean()), (high - low) / 2))
    gap, wide = ends[1][0] - ends[0][0], float(np.hypot(ends[0][1], ends[1][1]))
    return gap, gap - wide, gap + wide


def _never_below(found: Found) -> Judged:
    worst, trials = np.inf, 0
    for name in (S5, S7, S9):
        experiment = found[name]
        for m in experiment.sizes:
            best = experiment.values[m, OPT, LIKELIHOOD]
            worst = min(worst, *(float((best - experiment.values[m, em, LIKELIHOOD]).min()) for em in ALL_EM))
            trials += len(best)
    below = "none" if worst >= -SAME else f"some, by up to {number(-worst)} nats"
    leads = joined(versus(found[S5], LIKELIHOOD, em) for em in (EM1, EM_BEST))
    text = (
        f"of {trials:,} trials with s = .5, .7 and .9 an EM is likelier in {below}; mean lead at s = .5 in nats over "
    )
    return text + leads, holds_if(worst >= -SAME)


def _gap_falls(found: Found) -> Judged:
    leads = {em: versus(found[S5], LIKELIHOOD, em).lead for em in ALL_EM}
    trends = {em: trend(lead) for em, lead in leads.items()}
    text = "; ".join(
        f"{em} {', '.join(number(value) for value in leads[em].values())} (rank correlation {number(trends[em])})"
        for em in ALL_EM
    )
    return f"mean lead of OPT in nats at s = .5 for m = 1, 2, …: {text}", holds_if(
        *(t <= -0.5 for t in trends.values())
    )


def _accuracy(found: Found) -> Judged:
    pairs = [versus(found[S7], INCORRECT, em) for em in ALL_EM]
    own = span(mean(found[S7], OPT, INCORRECT).values())
    return f"OPT {own}; its lead over {joined(pairs)}", ahead(pairs)


def _emd(found: Found) -> Judged:
    texts, verdicts = [], []
    for name, s in ((S5, ".5"), (S7, ".7")):
        pairs = [versus(found[name], EMD, em) for em in ALL_EM]
        verdicts.append(ahead(pairs))
        texts.append(f"s = {s} ({verdicts[-1]}): lead over {joined(pairs)}")
    return ". ".join(texts), together(verdicts)


def _starts(found: Found) -> Judged:
    score = {name: float(np.mean(list(mean(found[S5], name, EMD).values()))) for name in (OPT, EM1, EM2, EM3)}
    short = {em: float(np.mean(list(versus(found[S5], LIKELIHOOD, em).lead.values()))) for em in (EM1, EM2, EM3)}
    text = f"EMD averaged over m: {', '.join(f'{name} {number(value)}' for name, value in score.items())}"
    text += f"; nats below OPT: {', '.join(f'{name} {number(value)}' for name, value in short.items())}"
    text += " (EM(3) ends at the mirror image of EM(1): as likely, but with the labels exchanged)"
    return text, holds_if(
        score[EM1] <= 1.5 * score[OPT],
        min(score[EM2], score[EM3]) >= 2 * score[OPT],
        short[EM2] > 2 * short[EM1],
        short[EM3] > 2 * short[EM1],
    )


def _best_of_three(found: Found) -> Judged:
    experiment = found[S5]
    alike = {
        m: np.abs(experiment.values[m, EM1, LIKELIHOOD] - experiment.values[m, EM3, LIKELIHOOD]) <= SAME
        for m in experiment.sizes
    }
    odd = np.mean([tied.mean() for m, tied in alike.items() if m % 2])
    even = np.mean([tied.mean() for m, tied in alike.items() if not m % 2])
    pairs = [versus(experiment, EMD, em, first=EM1) for em in (EM_BEST, EM_RANDOM)]
    text = (
        f"EM(1) and EM(3) end equally likely in {odd:.0%} of trials with odd m and {even:.0%} with even m, so that the "
        f"choice is one of ties; EMD, lead of EM(1) over {joined(pairs)}"
    )
    return text, ahead(pairs)


def _all_metrics(found: Found) -> Judged:
    texts, verdicts = [], []
    for name, s in ((S5, ".5"), (S7, ".7")):
        for metric in (LIKELIHOOD, INCORRECT, EMD, JSD):
            pairs = [versus(found[name], metric, em) for em in (EM1, EM_BEST)]
            verdicts.append(ahead(pairs))
            texts.append(f"{metric}, s = {s} ({verdicts[-1]}): {joined(pairs)}")
    return ". ".join(texts), together(verdicts)


def _high_likelihood(found: Found) -> Judged:
    leads = {em: versus(found["ic"], LIKELIHOOD, em).lead for em in ALL_EM}
    share = {em: max(leads[em][m] / leads[EM2][m] for m in leads[em]) for em in (EM1, EM3, EM_BEST)}
    text = f"OPT is ahead of EM(2) by {span(leads[EM2].values())} nats, and of "
    text += ", ".join(f"{em} by at most {share[em]:.1%} of that" for em in share)
    return text, holds_if(*(value <= 0.05 for value in share.values()))


def _near_half(found: Found) -> Judged:
    experiment = found["ic"]
    rate = mean(experiment, EM2, RATE_0)
    unused = float(np.mean([np.isnan(experiment.values[m, EM2, RATE_1]).mean() for m in experiment.sizes]))
    text = f"mean error rate of its lower label {span(rate.values())}; the other label gets no item in {unused:.0%} of "
    return text + "trials and so has no rate", holds_if(all(abs(value - 0.5) <= 0.1 for value in rate.values()))


def _extremes(found: Found) -> Judged:
    rates = {em: [mean(found["ic"], em, rate) for rate in (RATE_0, RATE_1)] for em in (EM1, EM3)}
    ends = {em: [value for rate in both for value in rate.values()] for em, both in rates.items()}
    text = "; ".join(f"{em}: {span(values)}" for em, values in ends.items())
    return f"mean error rates over all m: {text}", holds_if(max(ends[EM1]) <= 0.2, min(ends[EM3]) >= 0.8)


def _opposite(found: Found) -> Judged:
    experiment = found["ic"]
    apart = {m: abs(value) for m, value in versus(experiment, LIKELIHOOD, EM3, first=EM1).lead.items()}
    size = {m: -value for m, value in mean(experiment, EM1, LIKELIHOOD).items()}
    wrong = {em: mean(experiment, em, INCORRECT) for em in (EM1, EM3)}
    close = [m for m in apart if apart[m] <= 0.02 * size[m] + SAME]
    text = (
        f"mean log-likelihoods differ by up to {number(max(apart.values()))} nats ({where(close, 'within 2 %')}); "
        f"{INCORRECT}: EM(1) {span(wrong[EM1].values())}, EM(3) {span(wrong[EM3].values())}"
    )
    return text, holds_if(len(close) == len(apart), min(wrong[EM3].values()) > 0.8)


def _few_responses(found: Found) -> Judged:
    experiment = found["ic"]
    wrong = {name: mean(experiment, name, INCORRECT) for name in (OPT, EM1)}
    last = experiment.sizes[-1]
    shown = [m for m in (1, 3, 5, last) if m in experiment.sizes]
    text = "; ".join(f"{name} {', '.join(number(values[m]) for m in shown)}" for name, values in wrong.items())
    last_wrong, n_tasks = wrong[OPT][last], experiment.n_tasks
    text = f"{INCORRECT} at m = {', '.join(map(str, shown))}: {text}; "
    text += f"at m = {last} OPT is wrong on {number(last_wrong * n_tasks)} of {n_tasks} items"
    return text, holds_if(*(max(values.values()) <= 0.15 for values in wrong.values()))


def _sometimes_poor(found: Found) -> Judged:
    experiment = found["ic"]
    pairs = [versus(experiment, INCORRECT, em) for em in (EM_BEST, EM_RANDOM)]
    turned = {m: float((experiment.values[m, EM_BEST, INCORRECT] > 0.5).mean()) for m in experiment.sizes}
    odd = np.mean([share for m, share in turned.items() if m % 2])
    even = np.mean([share for m, share in turned.items() if not m % 2] or [0.0])
    text = (
        f"EM(*) is wrong on most items in {odd:.0%} of trials with odd m and {even:.0%} with even m; lead of OPT over "
    )
    return text + joined(pairs), holds_if(*(len(pair.better) > len(pair.worse) for pair in pairs))


CHECKS = (
    Check("Section 3.2", "With m responses to each item there are m + 2 mappings that respect the order.",
          "counted, m = 1 to 10", (), _cut_points),
    Check("Section 3.5.1", "The number of items hardly matters.",
          "no difference of the mean fraction incorrect at 100 or 10,000 items from that at 1,000 is sure (99 %); in "
          "part if at fewer than half of all m; what is not seen may still be as large as the interval",
          (S5, f"{S5}-n100", f"{S5}-n10000"), _items),
    Check("Section 3.5.1, Figure 3(a)", "OPT finds mappings at least as likely as those of every EM.",
          "in no trial is any EM likelier by more than 1e-6 nats", (S5, S7, S9), _never_below),
    Check("Section 3.5.1, Figure 3(a)", "The gain in likelihood over EM shrinks as m grows.",
          "Spearman's rank correlation of the mean lead with m (from 2 on) is −0.5 or less, for all four EM", (S5,),
          _gap_falls),
    Check("Section 3.5.1, Figure 3(b)", "At s = 0.7 OPT labels items more accurately than every EM.",
          AHEAD, (S7,), _accuracy),
    Check("Section 3.5.1, Figures 3(c) and 4(a)", "By EMD, OPT's matrix is closer to the true one than every EM's.",
          AHEAD, (S5, S7), _emd),
    Check("Section 3.5.1, Figure 3(c)", "EM(1) does well by EMD; EM(2) and EM(3) get stuck in bad local maxima.",
          "EMD of EM(1) at most 1.5 times OPT's, of EM(2) and EM(3) at least twice; both short of OPT's likelihood by "
          "more than twice as much as EM(1)", (S5,), _starts),
    Check("Section 3.5.1, Figure 3(c)", "EM(*) suffers from the poor starts among its three.",
          "EM(1) better than EM(*) by EMD at some m, worse at none, both if ties go to the first start and if to any",
          (S5,), _best_of_three),
    Check("Section 3.5.1", "By every metric OPT does better than EM(1) and EM(*).", AHEAD, (S5, S7), _all_metrics),
    Check("Section 3.5.2, Figure 4(b)", "On image comparison all but EM(2) reach a high likelihood.",
          "the mean shortfall of EM(1), EM(3) and EM(*) is at most 5 % of that of EM(2) at every m", ("ic",),
          _high_likelihood),
    Check("Section 3.5.2", "EM(2) ends near error rates of one half.", "within 0.1 of it on average at every m",
          ("ic",), _near_half),
    Check("Section 3.5.2", "EM(1) ends at error rates near 0, EM(3) near 1.",
          "mean rates at most 0.2 and at least 0.8 at every m", ("ic",), _extremes),
    Check("Section 3.5.2, Figure 4(c)", "EM(1) and EM(3) often give opposite labels that are about equally likely.",
          "mean log-likelihoods within 2 % at every m; EM(3) wrong on more than 0.8 of the items", ("ic",), _opposite),
    Check("Section 3.5.2, Figure 4(c)", "OPT and EM(1) do fairly well even with very few responses.",
          "at most 0.15 of the items wrong on average at every m", ("ic",), _few_responses),
    Check("Section 3.5.2, Figure 4(c)", "EM(*) is sometimes much less accurate than OPT.",
          "OPT better than EM(*) at more m than worse, both if ties go to the first start and if to any", ("ic",),
          _sometimes_poor),
)  # fmt: skip
