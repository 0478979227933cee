"""The summary of a consensus in words: how sure the labels are, and what to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdopt.results.kinds import UNCERTAIN_BELOW
from crowdopt.results.words.sentences import ReportVerdict, after_doubts, doubtful, expected_right
from crowdopt.results.words.summary import (
    Summary,
    accuracy_in_words,
    input_facts,
    labels_in_words,
    matrix_cells,
    plural,
    scale_in_words,
)

if TYPE_CHECKING:
    from crowdopt.results.solution_consensus import ConsensusSolution


def summarise_consensus(solution: ConsensusSolution) -> Summary:
    """The summary of a consensus."""
    totals = solution.totals
    asked = totals.n_tasks - totals.n_no_response
    facts = input_facts(solution, f"{totals.n_workers:,}", f"{totals.n_responses / max(asked, 1):.1f}")
    facts |= scale_in_words(solution.scale)
    facts["labels"] = labels_in_words(solution, solution.label_tasks)
    if solution.by_skill:
        right, _ = solution.expected_answers.sum(axis=0)
        facts["right"] = f"{right / totals.n_responses:.1%} of the responses are expected to be"
    if solution.given_shares:
        facts["known shares"] = _shares(solution)
    facts["uncertain"] = _uncertain(solution)
    facts |= accuracy_in_words(solution)
    matrices = {} if solution.by_skill else {"": matrix_cells(solution, solution.answer_shares)}
    headline = after_doubts(solution.doubts, f"CONSENSUS: {expectation(solution)}{given_words(solution)}")
    verdict = consensus_verdict(solution)
    return Summary(headline, verdict, solution.notes, facts, matrices, solution.advice)


def consensus_verdict(solution: ConsensusSolution) -> ReportVerdict:
    """The verdict on a consensus: the share of labels that is expected to be right, or why they are to be checked."""
    expected = f"{expectation(solution).capitalize()}{given_words(solution)}."
    if solution.doubts:
        return doubtful(solution.doubts, expected)
    means = (
        "That is the mean of their probabilities: an estimate, by three methods together that fail in different "
        "places. Tasks whose label is less probable are worth a second look."
    )
    return ReportVerdict("CONSENSUS", expected, (means,))


def expectation(solution: ConsensusSolution) -> str:
    """What a consensus says of its labels."""
    return expected_right(None if solution.doubts else solution.mean_confidence)


def given_words(solution: ConsensusSolution) -> str:
    """What the user knew beforehand, behind what a consensus says: no data can tell whether it is true."""
    n_gold = solution.totals.n_gold
    known = [f"the label{'' if n_gold == 1 else 's'} of {plural(n_gold, 'task')}"] if n_gold else []
    known += [f"how frequent the labels are ({_shares(solution)})"] if solution.given_shares else []
    return f", given {' and '.join(known)}" if known else ""


def _uncertain(solution: ConsensusSolution) -> str:
    """How many labels are little probable; where nothing tells who is right, nothing tells that either."""
    few, tied = solution.n_uncertain, solution.n_tied
    said = f"{few:,} of {sum(solution.label_tasks):,} labels {_are(few)} less probable than {UNCERTAIN_BELOW:.0%}"
    said = "how many of the labels cannot be told" if solution.doubts else said
    return said + (f"; {tied:,} {_are(tied)} tied with another label" if tied else "")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _shares(solution: ConsensusSolution) -> str:
    shares = zip(solution.scale.labels, solution.given_shares, strict=True)
    return ", ".join(f"{label} {share:g}" for label, share in shares)
