"""How claims are judged: by what is sure, in five words.

All algorithms see the same crowds, so they are compared by the mean of their differences over trials. Something is
*sure* if the 99 % interval of such a mean says so. A claim of which too little is sure, one way or the other, is not
decided; it neither holds nor fails because intervals are wide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from crowdopt.studies.paper.em_vs_optimum import SAME_NATS, series
from crowdopt.studies.paper.experiments import Experiment
from crowdopt.studies.paper.format import and_then, number_text, places, span
from crowdopt.studies.paper.setups import DISTANCE, EMD, INCORRECT, JSD, LIKELIHOOD, OPT, up
from crowdopt.studies.paper.statistics import Estimate, averaged, every, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crowdopt.studies.paper.statistics import Sure

ClaimVerdict = Literal["holds", "in part", "fails", "not decided", "not measured"]
Line: TypeAlias = dict[str, Any]
"""One line of a table, by its columns."""
Experiments: TypeAlias = Mapping[str, Experiment]
"""The experiments that were run, by name."""

MIN_TRIALS = 10
"""Fewer trials decide nothing about averages: a few discrete values may agree by chance."""
SLACK = 0.02
"""Share of a metric's range that counts as level: of the items, one in fifty."""
SLACK_NATS = 0.01
"""The same for the log-likelihood, which has no range: nats per item."""
TOO_FEW = "Too few trials to tell"


@dataclass(frozen=True)
class Judgement:
    """What was found, and the verdict.

    Attributes:
        text: What was found, in words.
        verdict: Whether the claim holds.
        table: What is too much for words: lines with the same columns.
        numbers: The numbers behind the table, line by line, if they are more than it shows.
    """

    text: str
    verdict: ClaimVerdict
    table: list[Line] = field(default_factory=list)
    numbers: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Criterion:
    """What each verdict takes.

    Attributes:
        holds: When a claim holds.
        fails: When it fails.
        in_part: When it holds in part.
        each: Readings of the paper for each of which it is judged; where they differ, it holds in part.
    """

    holds: str
    fails: str
    in_part: str = "never"
    each: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and what became of it.

    Attributes:
        number: Its number among all claims, however few are shown.
        where: The section, figure or table that has it.
        claim: What is claimed, in our words.
        criterion: What each verdict takes.
        judged: What was found, and the verdict.
    """

    number: int
    where: str
    claim: str
    criterion: Criterion
    judged: Judgement

    @property
    def verdict(self) -> ClaimVerdict:
        """Whether it holds."""
        return self.judged.verdict


@dataclass(frozen=True)
class Check:
    """A claim, and how it is checked.

    Attributes:
        where: The section, figure or table that has it.
        claim: What is claimed.
        criterion: What each verdict takes.
        needs: All experiments that it takes.
        measure: Says what was found, and the verdict.
        averages: Whether it is about averages, which a few trials say nothing of.
    """

    where: str
    claim: str
    criterion: Criterion
    needs: tuple[str, ...]
    measure: Callable[[Experiments], Judgement]
    averages: bool = True

    def judge(self, found: Experiments) -> Judgement:
        """Checks the claim if everything that it needs was run."""
        missing = [name for name in self.needs if name not in found]
        if missing:
            return Judgement(f"Needs {', '.join(missing)}, not run", "not measured")
        judged = self.measure(found)
        trials = min((found[name].trials for name in self.needs if found[name].setup.data != "whole"), default=0)
        if self.needs and self.averages and trials < MIN_TRIALS:
            words = f"Fewer than {MIN_TRIALS} trials decide nothing about averages"
            return Judgement(and_then([judged.text, words]), "not decided", judged.table, judged.numbers)
        if judged.verdict == "not decided":
            return Judgement(and_then([judged.text, TOO_FEW]), "not decided", judged.table, judged.numbers)
        return judged


def holds_if(*facts: Sure) -> ClaimVerdict:
    """Holds if all facts are true, fails if all are false, in part if there are both; else it is not decided."""
    words: dict[Sure, ClaimVerdict] = {True: "holds", False: "fails", None: "not decided"}
    return joint_verdict(words[fact] for fact in facts)


def joint_verdict(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """The verdict on all of several parts, or readings, of a claim.

    >>> joint_verdict(["holds", "holds"]), joint_verdict(["holds", "fails"]), joint_verdict(["holds", "not decided"])
    ('holds', 'in part', 'not decided')
    """
    distinct = set(verdicts)
    if len(distinct) == 1:
        return distinct.pop()
    return "in part" if "in part" in distinct or {"holds", "fails"} <= distinct else "not decided"


def join_parts(parts: Mapping[str, Judgement], column: str = "") -> Judgement:
    """Puts the parts, or the readings, of a claim together: their verdicts, their words, and their tables.

    Args:
        parts: What was found, by part.
        column: Name of a column that tells in the tables which part a line is of, if they do not tell themselves.
    """
    verdict = joint_verdict(part.verdict for part in parts.values())
    texts = list(dict.fromkeys(part.text for part in parts.values()))
    if len(texts) > 1:
        texts = [f"{name} ({part.verdict}): {part.text}" for name, part in parts.items()]
    table, numbers = [], []
    for name, part in parts.items():
        first, last = ({column: name}, {"verdict": part.verdict}) if column else ({}, {})
        table += [first | line | ({} if "verdict" in line else last) for line in part.table]
        numbers += [first | line for line in part.numbers]
    return Judgement(and_then(texts), verdict, _distinct(table), _distinct(numbers))


def _distinct(lines: list[Line]) -> list[Line]:
    """Every line once: readings share what does not depend on them."""
    return [dict(line) for line in dict.fromkeys(tuple(line.items()) for line in lines)]


def both_ways(measure: Callable[[Experiments, Callable[[str], str]], Judgement]) -> Callable[[Experiments], Judgement]:
    """Judges a claim about two labels with EM's ties to 0 and to 1; ``measure`` is told how to call EM each time."""

    def judge(found: Experiments) -> Judgement:
        return join_parts({"Ties to 0": measure(found, lambda em: em), "Ties to 1": measure(found, up)})

    return judge


def margin(experiment: Experiment, metric: str) -> float:
    """What counts as level: 2 % of the range of a metric, a hundredth of a nat per item for the log-likelihood."""
    labels = experiment.setup.n_labels
    ranges = {INCORRECT: 1, DISTANCE: labels - 1, EMD: labels * (labels - 1), JSD: labels}
    return SLACK_NATS * experiment.n_tasks if metric == LIKELIHOOD else SLACK * ranges[metric]


@dataclass(frozen=True)
class Versus:
    """How much better one algorithm is than another by a metric, on average, at each m.

    Attributes:
        first: The algorithm.
        other: The other algorithm.
        metric: What they are compared by.
        leads: The mean lead by m; below zero if the other is better.
        margin: What counts as level.
    """

    first: str
    other: str
    metric: str
    leads: Mapping[int, Estimate]
    margin: float

    @property
    def better(self) -> tuple[int, ...]:
        """Where it is surely better."""
        return tuple(m for m, lead in self.leads.items() if lead.above(0))

    @property
    def worse(self) -> tuple[int, ...]:
        """Where it is surely worse."""
        return tuple(m for m, lead in self.leads.items() if lead.below(0))

    @property
    def overall(self) -> Estimate:
        """The lead averaged over all m."""
        return averaged(self.leads.values())

    @property
    def somewhere_better(self) -> Sure:
        """Whether it is better at some m; false if it can lead by more than the margin at none."""
        return True if self.better else some(lead.above(self.margin) for lead in self.leads.values())

    @property
    def somewhere_worse(self) -> Sure:
        """Whether it is worse at some m; false if it can be behind by more than the margin at none."""
        return True if self.worse else some(lead.below(-self.margin) for lead in self.leads.values())

    def line(self) -> Line:
        """The comparison as a line of a table."""
        return {
            "against": self.other,
            "mean lead": span((lead.mean for lead in self.leads.values()), sign=True),
            "surely better at m": places(self.better, self.leads),
            "surely worse at m": places(self.worse, self.leads),
        }

    def numbers(self) -> list[Line]:
        """The leads at every m."""
        names = {"metric": self.metric, "algorithm": self.first, "against": self.other}
        return [
            {**names, "m": m, "lead": lead.mean, "low": lead.low, "high": lead.high} for m, lead in self.leads.items()
        ]


def versus(experiment: Experiment, metric: str, other: str, first: str = OPT) -> Versus:
    """Compares two algorithms by a metric; higher is better for the log-likelihood only.

    Differences that rounding can make count as none: were they all there is, their mean would seem sure.
    """
    sign = 1 if metric == LIKELIHOOD else -1
    leads = {}
    for m in experiment.sizes:
        lead = sign * (series(experiment, m, first, metric) - series(experiment, m, other, metric))
        leads[m] = Estimate.of(np.where(np.abs(lead) <= SAME_NATS, 0.0, lead))
    return Versus(first, other, metric, leads, margin(experiment, metric))


TIES = "EM's ties to 0, and to 1"
EQUALS = "EM(*) taking the first of equally likely starts, and any of them"
AHEAD = Criterion(
    holds="surely better than each at some m, and at no m can it be worse than any by more than the margin",
    in_part="surely better than each at some m, and surely worse than one at another",
    fails="there is one that it can lead by more than the margin at no m",
)
"""What it takes to be better than others: see :func:`ahead`."""


def ahead(pairs: Iterable[Versus], text: str = "") -> Judgement:
    """Judges whether an algorithm is better than each of some others; a line of the table has the verdict on one."""
    pairs = list(pairs)
    table = [pair.line() | {"verdict": _ahead_of_all([pair])} for pair in pairs]
    return Judgement(text, _ahead_of_all(pairs), table, [line for pair in pairs for line in pair.numbers()])


def _ahead_of_all(pairs: Sequence[Versus]) -> ClaimVerdict:
    better = every(pair.somewhere_better for pair in pairs)
    worse = some(pair.somewhere_worse for pair in pairs)
    if better is False:
        return "fails"
    if better is None or worse is None:
        return "not decided"
    return "in part" if worse else "holds"


def means(experiment: Experiment, algorithm: str, metric: str) -> dict[int, Estimate]:
    """The mean of a metric by m, where there is one."""
    found = {m: Estimate.of(series(experiment, m, algorithm, metric)) for m in experiment.sizes}
    return {m: mean for m, mean in found.items() if number_text(mean.mean) != "–"}


def combined(experiment: Experiment, metric: str, weights: Mapping[str, float]) -> Estimate:
    """A weighted sum of the metric of several algorithms, trial by trial, averaged over all m."""
    return averaged(
        Estimate.of(np.sum([weight * series(experiment, m, name, metric) for name, weight in weights.items()], axis=0))
        for m in experiment.sizes
    )
