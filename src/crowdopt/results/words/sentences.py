"""What was proved, and why it went no further, in plain words that say no more than the certificate does.

The headline is the one line of the summary and of ``verify``; the verdict is what a report and a notebook begin with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.model.claims import titles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.model.certificate import Certificate
    from crowdopt.results.solution_proof import ProofSolution


OVERRULED = 0.05
"""Share of the tasks that proved labels may decide otherwise in silence."""

NEARLY_ALL = 0.985
"""A share from which on a percentage has a decimal."""

_STOPPED = {
    Stop.FINISHED: ("search finished", "The search ended with this gap still open"),
    Stop.TIME: ("stopped by the time limit", "The time limit stopped the proof, not the search for labels"),
    Stop.MEMORY: (
        "stopped by the limit of memory (--memory-limit)",
        "The limit of memory (--memory-limit) stopped the search before it could prove more",
    ),
    Stop.INTERRUPT: ("interrupted", "The search was interrupted before it could prove more"),
    Stop.REACH: ("a proof is out of reach", "First bounds showed that a proof is out of reach"),
}
"""Why an answer is BOUNDED: in the headline, and in the verdict."""

_TOO_LARGE = (
    "stopped by a limit on size, of numbers or by --memory-limit",
    "A limit on size, of numbers or by --memory-limit, stopped the search before it could prove more",
)
"""The same of the engine that also stops where numbers are too large to tell apart."""

_GIVEN = {
    "classes": "these classes of workers",
    "found classes": "classes of workers that were found in the same responses",
    "found smoothing": "pseudo-counts that were found in the same responses",
    "found shares": "shares of the labels that were found in the same responses",
    "ranked classes": "their ranking",
    "gold": "the tasks of known label",
    "selectivity": "the shares of the labels",
}
"""What a proof takes for granted, in the verdict; the headline has the names as they are."""


def headline(solution: ProofSolution, *, run: bool = True) -> str:
    """What was proved, in one sentence, and what was taken for granted; of the ``run`` also by whom and how fast."""
    scale, proved = solution.scale, _proved(solution, run=run)
    if scale.inferred and scale.kind == "ordinal" and scale.n_labels > 2:
        return f"{proved}; the labels look like ratings and were taken as ordered (--scale nominal if they are names)"
    return proved


def _proved(solution: ProofSolution, *, run: bool) -> str:
    certificate = solution.certificate
    if certificate.space is Space.PARAMETERS:
        return _proved_of_parameters(certificate, run=run)
    value = f"log-likelihood {certificate.objective:,.2f}"
    if certificate.proof is Proof.NONE:
        return f"UNPROVED: {certificate.engine} gives {value}"
    where = (
        "all possible answers" if certificate.space is Space.ALL else "all answers that respect the order of the labels"
    )
    if certificate.given:
        where += f", given the {' and '.join(certificate.given)}"
    how = f" ({certificate.engine}, {certificate.seconds:.3f} s)" if run else ""
    if certificate.proof is Proof.PROVED:
        return f"PROVED: the most likely among {where}; {value}{how}"
    stopped = "; " + _why_stopped(certificate)[0] if run else ""
    gap = f"{certificate.gap:,.0f}" if (certificate.gap or 0.0) >= 1000 else f"{certificate.gap:,.3g}"
    each = f"{solution.gap_per_task:,.2g} per task"
    return f"BOUNDED: within {gap} nats ({each}) of the most likely among {where}; {value}{stopped}{how}"


def _proved_of_parameters(certificate: Certificate, *, run: bool) -> str:
    """The same of the marginal likelihood, of which parameters are proved and not labels."""
    given = f", given the {' and '.join(certificate.given)}" if certificate.given else ""
    how = f" ({certificate.engine}, {certificate.seconds:.3f} s)" if run else ""
    stopped = "; " + _why_stopped(certificate)[0] if run and certificate.proof is Proof.BOUNDED else ""
    return (
        f"{certificate.proof}: within {nats(certificate.gap or 0.0)} nats of the largest marginal likelihood over all "
        f"response matrices and shares of labels{given}; marginal log-likelihood {certificate.objective:,.2f}"
        f"{stopped}{how}"
    )


def _why_stopped(certificate: Certificate) -> tuple[str, str]:
    large = certificate.stop is Stop.MEMORY and certificate.engine == "scan"
    return _TOO_LARGE if large else _STOPPED[certificate.stop]


@dataclass(frozen=True)
class ReportVerdict:
    """What the top of the report says.

    Attributes:
        word: PROVED, BOUNDED, NOT PROVED or CONSENSUS; CHECK if the answers are doubted, whatever else is true of them.
        sentence: What that means here.
        more: What else to know: why it stopped, and what "likely" means.
    """

    word: str
    sentence: str
    more: tuple[str, ...]


def doubtful(doubts: Sequence[str], *more: str) -> ReportVerdict:
    """The verdict on answers that are doubted: why, and behind it what else is to be said."""
    return ReportVerdict("CHECK", " ".join(f"{doubt[0].upper()}{doubt[1:]}." for doubt in doubts), more)


def after_doubts(doubts: Sequence[str], line: str) -> str:
    """A line of the summary, below one that says CHECK and why if there is something to doubt."""
    return f"CHECK: {'; '.join(doubts)}\n{line}" if doubts else line


def verdict_of(solution: ProofSolution) -> ReportVerdict:
    """The verdict on a proof."""
    found = _undoubted(solution)
    if not solution.doubts:
        return found
    return doubtful(solution.doubts, f"{found.word}: {found.sentence}", *found.more)


def _undoubted(solution: ProofSolution) -> ReportVerdict:
    certificate, model = solution.certificate, _model(solution)
    if certificate.space is Space.PARAMETERS:
        return _verdict_on_parameters(solution)
    among = f"{_space(solution)}{_given(certificate.given)}"
    if certificate.proof is Proof.NONE:
        who = titles().get(certificate.engine, certificate.engine)
        sentence = f"These answers come from {who}. Nothing was proved: others may be more likely."
        return ReportVerdict("NOT PROVED", sentence, (model,))
    if certificate.proof is Proof.PROVED:
        sentence = f"These answers are the most likely among {among}."
        return ReportVerdict("PROVED", sentence, (_beyond(solution), model))
    gap = nats(certificate.gap or 0.0)
    each = f"at most {nats(solution.gap_per_task or 0.0)} nats per task"
    sentence = f"These answers are within {gap} nats of the most likely among {among}."
    stopped = f"{_why_stopped(certificate)[1]}: an answer that is up to {gap} nats likelier, {each}, may exist."
    return ReportVerdict("BOUNDED", sentence, (stopped, model))


def _verdict_on_parameters(solution: ProofSolution) -> ReportVerdict:
    certificate, gap = solution.certificate, nats(solution.certificate.gap or 0.0)
    sentence = (
        f"No response matrices and shares of labels explain the responses better by more than {gap} nats, the labels "
        f"averaged over{_given(certificate.given)}; each task has its most probable label by them."
    )
    if certificate.proof is Proof.PROVED:
        return ReportVerdict("PROVED", sentence, (_model(solution),))
    stopped = f"{_why_stopped(certificate)[1]}: a longer run may find others."
    return ReportVerdict("BOUNDED", sentence, (stopped, _model(solution)))


def _model(solution: ProofSolution) -> str:
    """What no certificate can promise."""
    own = all(one.n_workers == 1 for one in solution.classes)
    how = "each by a response matrix of its own" if own else "each by the response matrix of its class"
    how = how if solution.classes else "all by one response matrix"
    return (
        f"Likely means: under the model that workers answer independently, {how}. The likeliest answers need not be "
        "true; they are what explains the responses best."
    )


def _beyond(solution: ProofSolution) -> str:
    certificate = solution.certificate
    if solution.margins.tied.any():
        n_tied = int(solution.buckets.weights[solution.margins.tied].sum())
        tasks = "1 task" if n_tied == 1 else f"{n_tied:,} tasks"
        return f"No other answers are likelier by more than rounding; others are equally likely and differ on {tasks}."
    return f"No other answers among them are likelier by more than {certificate.tolerance:.1g} nats."


def _space(solution: ProofSolution) -> str:
    """The answers that were searched: only where these are all of them does it say so."""
    if solution.certificate.space is Space.DOMINANCE:
        return "all answers that respect the order of the scale"
    n_labels, n_tasks = solution.scale.n_labels, solution.buckets.n_tasks
    if n_labels == 1:
        return "all possible answers: there is but one label"
    return f"all {n_labels}^{n_tasks:,} possible answers"


def _given(given: tuple[str, ...]) -> str:
    """What the proof takes for granted."""
    named = [_GIVEN.get(name, f"the {name}") for name in given]
    return f", given {' and '.join([', '.join(named[:-1]), named[-1]] if len(named) > 1 else named)}" if named else ""


def nats(value: float) -> str:
    """A difference of log-likelihoods as people read it.

    >>> nats(0.7), nats(12345.6), nats(-0.000012)
    ('0.7', '12,346', '−1.2e-05')
    """
    size = abs(value)
    return ("−" if value < 0 else "") + (f"{size:,.0f}" if size >= 1000 else f"{size:.3g}")


def expected_right(share: float | None) -> str:
    """How many labels are expected to be right; None where that cannot be told.

    >>> expected_right(0.984), expected_right(0.99996)
    ('about 98% of the labels are expected to be right', 'about 99.9% of the labels are expected to be right')
    """
    if share is None:
        return "how many of the labels are right cannot be told"
    percent = f"{share:.0%}" if share < NEARLY_ALL else f"{min(share, 0.999):.1%}"  # never all of them
    return f"about {percent} of the labels are expected to be right"


def overruling(shares: Mapping[str, float]) -> tuple[str, ...]:
    """What to say of proved labels that overrule others, by whom they overrule and on which share of the tasks."""
    said = [f"{whom} on {share:.0%}" for whom, share in shares.items() if share > OVERRULED]
    if not said:
        return ()
    found = f"these labels overrule {' and '.join(said)} of the tasks"
    return (
        f"{found}, so the model that was stated may not fit; crowdopt aggregate gives the labels most likely right",
    )
