"""The verdict: what was proved, in plain words that say no more than the certificate does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdopt.model.certificate import Proof, Space, Stop
from crowdopt.results.summary import given_of

if TYPE_CHECKING:
    from crowdopt.results.solution import Solution

METHODS = {
    "vote": "majority vote",
    "em1": "EM(1), from workers mostly right",
    "em2": "EM(2), from workers who guess",
    "em3": "EM(3), from workers mostly wrong",
    "em": "EM(*), the best of these",
    "soft-em": "soft EM",
}
"""What the engines that prove nothing are called among people."""

_STOPPED = {
    Stop.TIME: "The time limit stopped the search before it could prove more",
    Stop.MEMORY: "A limit on size stopped the search before it could prove more",
    Stop.INTERRUPT: "The search was interrupted before it could prove more",
}

_GIVEN = {
    "classes": "these classes of workers",
    "found classes": "these classes of workers, which were found in the data",
    "found smoothing": "the smoothing that was found along with the classes",
    "ranked classes": "their ranking",
    "gold": "the tasks of known label",
    "selectivity": "the shares of the labels",
}


@dataclass(frozen=True)
class ReportVerdict:
    """What the top of the report says.

    Attributes:
        word: PROVED, BOUNDED or NOT PROVED.
        sentence: What that means here.
        more: What else to know: why it stopped, and what "likely" means.
    """

    word: str
    sentence: str
    more: tuple[str, ...]


def verdict_of(solution: Solution) -> ReportVerdict:
    """The verdict on a solution."""
    certificate, model = solution.certificate, _model(solution)
    among = f"{_space(solution)}{_given(given_of(solution))}"
    if certificate.proof is Proof.NONE:
        who = METHODS.get(certificate.engine, certificate.engine)
        sentence = f"These answers come from {who}. Nothing was proved: others may be more likely."
        return ReportVerdict("NOT PROVED", sentence, (model,))
    if certificate.proof is Proof.PROVED:
        sentence = f"These answers are the most likely among {among}."
        return ReportVerdict("PROVED", sentence, (_beyond(solution), model))
    gap = nats(certificate.gap or 0.0)
    sentence = f"These answers are within {gap} nats of the most likely among {among}."
    stopped = _STOPPED.get(certificate.stop, "The search ended with this gap still open")
    return ReportVerdict(
        "BOUNDED", sentence, (f"{stopped}: an answer that is up to {gap} nats likelier may exist.", model)
    )


def _model(solution: Solution) -> str:
    """What no certificate can promise."""
    how = "each by the response matrix of its class" if solution.classes else "all by one response matrix"
    return (
        f"Likely means: under the model that workers answer independently, {how}. The likeliest answers need not be "
        "true; they are what explains the responses best."
    )


def _beyond(solution: Solution) -> str:
    certificate = solution.certificate
    if solution.margins.tied.any():
        n_tied = int(solution.buckets.weights[solution.margins.tied].sum())
        tasks = "1 task" if n_tied == 1 else f"{n_tied:,} tasks"
        return f"No other answers are likelier by more than rounding; others are equally likely and differ on {tasks}."
    return f"No other answers among them are likelier by more than {certificate.tolerance:.1g} nats."


def _space(solution: Solution) -> str:
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
