"""How claims are judged: paired comparisons of algorithms, and the words for them.

All algorithms see the same crowds, so they are compared by the mean of their differences over trials. One is *better*
at an m if the 99 % interval of that mean lies above zero, *worse* if below; else the two are level there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from crowdopt.paper.against_em import series
from crowdopt.paper.experiments import Experiment, interval
from crowdopt.paper.setups import LIKELIHOOD, OPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Verdict = Literal["holds", "fails", "in part", "not measured"]
Judged: TypeAlias = tuple[str, Verdict]
"""What was found, in words, and the verdict."""
Found: TypeAlias = Mapping[str, Experiment]
"""The experiments that were run, by name."""
LEVEL = 0.99
"""Of intervals: of many comparisons, a few would exceed 95 % by chance."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and what became of it.

    Attributes:
        where: The section, figure or table that has it.
        claim: What is claimed, in our words.
        measured: What was found.
        verdict: Whether it holds.
        criterion: What it takes to hold, as the code has it.
    """

    where: str
    claim: str
    measured: str
    verdict: Verdict
    criterion: str = ""


@dataclass(frozen=True)
class Check:
    """A claim, and how it is checked.

    Attributes:
        where: The section, figure or table that has it.
        claim: What is claimed.
        criterion: What it takes to hold.
        needs: The experiments that it takes.
        measure: Says what was found, and the verdict.
    """

    where: str
    claim: str
    criterion: str
    needs: tuple[str, ...]
    measure: Callable[[Found], Judged]

    def __call__(self, found: Found) -> Claim:
        """Checks the claim if everything that it needs was run."""
        measured, verdict = self._judge(found)
        return Claim(self.where, self.claim, measured, verdict, self.criterion)

    def _judge(self, found: Found) -> Judged:
        missing = [name for name in self.needs if name not in found]
        if missing:
            return f"needs the experiment {', '.join(missing)}", "not measured"
        if any(found[name].trials < 2 for name in self.needs if found[name].setup.data != "whole"):
            return "a single trial says nothing of averages", "not measured"
        return self.measure(found)


@dataclass(frozen=True)
class Versus:
    """How much better one algorithm is than another by a metric, on average, at each m.

    Attributes:
        other: The other algorithm.
        lead: The mean lead by m; below zero if the other is better.
        better: Where it is better.
        worse: Where it is worse.
    """

    other: str
    lead: dict[int, float]
    better: tuple[int, ...]
    worse: tuple[int, ...]

    def __str__(self) -> str:
        found = [where(sizes, word) for sizes, word in ((self.better, "better"), (self.worse, "worse")) if sizes]
        return f"{self.other} {span(self.lead.values(), sign=True)} ({', '.join(found) or 'level'})"


def versus(experiment: Experiment, metric: str, other: str, first: str = OPT) -> Versus:
    """Compares two algorithms by a metric; higher is better for the log-likelihood only."""
    sign = 1 if metric == LIKELIHOOD else -1
    leads = {
        m: sign * (series(experiment, m, first, metric) - series(experiment, m, other, metric))
        for m in experiment.sizes
    }
    ends = {m: interval(lead, LEVEL) for m, lead in leads.items()}
    return Versus(
        other=other,
        lead={m: float(lead.mean()) for m, lead in leads.items()},
        better=tuple(m for m, (low, _) in ends.items() if low > 0),
        worse=tuple(m for m, (_, high) in ends.items() if high < 0),
    )


def ahead(pairs: Iterable[Versus]) -> Verdict:
    """Holds if better than each at some m and worse than none at any; fails if never better than one, but worse."""
    pairs = list(pairs)
    if all(pair.better and not pair.worse for pair in pairs):
        return "holds"
    return "fails" if any(pair.worse and not pair.better for pair in pairs) else "in part"


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """All of them if they agree; else in part."""
    distinct = set(verdicts)
    return distinct.pop() if len(distinct) == 1 else "in part"


def holds_if(*conditions: bool) -> Verdict:
    """Holds if all conditions do, fails if none does."""
    return "holds" if all(conditions) else "in part" if any(conditions) else "fails"


def mean(experiment: Experiment, algorithm: str, metric: str) -> dict[int, float]:
    """The mean of a metric by m; of values that are there."""
    found = {m: series(experiment, m, algorithm, metric) for m in experiment.sizes}
    return {m: float(np.nanmean(values)) for m, values in found.items() if not np.isnan(values).all()}


def trend(points: Mapping[int, float]) -> float:
    """Spearman's rank correlation of values with m, m = 1 left out: there one answer is all there is to explain."""
    from scipy.stats import spearmanr

    some = {m: value for m, value in points.items() if m > 1}
    if len(set(some.values())) < 2:
        return 0.0
    return float(spearmanr(list(some), list(some.values())).statistic)


def span(values: Iterable[float], *, sign: bool = False) -> str:
    """The lowest and the highest of some numbers.

    >>> span([0.25, -1.5, 120.0], sign=True)
    '−1.5 to +120'
    """
    low, high = min(values := list(values)), max(values)
    return f"{number(low, sign=sign)} to {number(high, sign=sign)}"


def number(value: float, *, sign: bool = False) -> str:
    """A number with as many digits as mean something to a reader.

    >>> number(-0.01234), number(3.14159, sign=True), number(12345.6), number(0.0, sign=True)
    ('−0.0123', '+3.14', '12,346', '0')
    """
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 4
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    if digits:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"+0", "-0"} else text.replace("-", "−")


def where(sizes: Sequence[int], word: str) -> str:
    """A word and the numbers of responses that it is true of.

    >>> where((1, 2, 3, 7), "better"), where((), "worse")
    ('better at m = 1–3, 7', 'worse nowhere')
    """
    if not sizes:
        return f"{word} nowhere"
    runs: list[list[int]] = []
    for m in sizes:
        if runs and m == runs[-1][-1] + 1:
            runs[-1].append(m)
        else:
            runs.append([m])
    parts = [f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    return f"{word} at m = {', '.join(parts)}"


def joined(pairs: Iterable[Versus]) -> str:
    """Several comparisons in words."""
    return "; ".join(str(pair) for pair in pairs)
