"""Checking the solutions of many groups against the data: each as ``verify`` checks one, on all cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crowdopt._option import complete
from crowdopt._parallel import n_cores, run_all
from crowdopt.data.groups import load_groups
from crowdopt.data.load import paths_of, unchanged, workspace_for
from crowdopt.data.parts import EncodedParts
from crowdopt.data.readers.open_files import explain_errors
from crowdopt.errors import ClassError, CrowdoptError
from crowdopt.options.reading import ResourceOptions
from crowdopt.options.words import without_options
from crowdopt.results.beside_consensus import group_beside_consensus, what_to_compare
from crowdopt.results.solution_consensus import ConsensusSolution
from crowdopt.verify.answers import answer_differences
from crowdopt.verify.check import check_proof, with_doubts
from crowdopt.verify.consensus import check_consensus
from crowdopt.verify.verdict import Verdict, Verification, about_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crowdopt.data.coded import Encoded
    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.groups import GroupedSource
    from crowdopt.options.verbs import VerifyOptions
    from crowdopt.results.beside_consensus import ToCompare
    from crowdopt.results.solution import Solution
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.solutions import Solutions

OnGroup = Callable[[int, int], object]
Checked = tuple[Verification, "Solution | None"]
"""The verdict on a group, and the solution that its answers should be of, if it is known."""


def verify_groups(solutions: Solutions[Any], data: Any, options: VerifyOptions, on_group: OnGroup) -> Verification:
    """Checks the solutions of all groups; see ``verify`` for the arguments. The time limit is that of each group."""
    workspace = workspace_for(data, **complete(ResourceOptions, options))
    try:
        source = load_groups(data, solutions.reading, workspace, resolved=True)
        if wrong := [*_about_groups(solutions, source), *about_notes(source.notes, solutions.notes)]:
            return Verification(Verdict.REJECTED, tuple(wrong))
        checked = _check_all(solutions, source, options, on_group)
        found = _verdict(solutions, source, {group: one for group, (one, _) in checked.items()})
        found = replace(found, notes=tuple(map(without_options, source.notes)))
        if options["answers"] is None or found.verdict is Verdict.REJECTED:
            return found
        groups = {group: one for group, (_, one) in checked.items() if one is not None}
        answered = replace(solutions, groups=groups, source=source)
        with unchanged(workspace), explain_errors(paths_of(data)):
            return found.with_answers(answer_differences(answered, source, options["answers"]))
    except ClassError as error:
        return Verification(Verdict.REJECTED, (str(error),))
    finally:
        if workspace is not None:
            workspace.close()


def _check_all(
    solutions: Solutions[Any], source: GroupedSource, options: VerifyOptions, on_group: OnGroup
) -> dict[str, Checked]:
    """Checks every group, in several processes."""
    groups = source.groups
    items: list[Any]
    if solutions.kind == ConsensusSolution.kind:
        with unchanged(source.workspace), explain_errors(paths_of(source.original)):
            encoded = source.encoded()
        wanted = options["answers"] is not None
        check: Callable[[Any], Checked] = check_group_consensus
        items = [(_alone(solutions[group]), groups[group], encoded[group], wanted) for group in solutions]
    else:
        check = check_group
        with unchanged(source.workspace), explain_errors(paths_of(source.original)):
            compared = dict(zip(groups, what_to_compare(source), strict=True))
        seconds = options["time_limit"]
        items = [(_alone(solutions[group]), groups[group], seconds, compared[group]) for group in solutions]

    def report(done: int) -> bool:
        on_group(done, len(items))
        return False

    found = run_all(check, items, n_cores() if options["jobs"] is None else options["jobs"], None, report)
    return {group: one for at, group in enumerate(solutions) if (one := found[at]) is not None}


def _verdict(solutions: Solutions[Any], source: GroupedSource, verdicts: dict[str, Verification]) -> Verification:
    """One verdict from those of all groups."""
    doubts = tuple(f"group {group}: {doubt}" for group, one in verdicts.items() for doubt in one.check)
    failed = {group: _failure(group, why, source) for group, why in solutions.failures.items()}
    # A group that cannot be read has no solution. Of one that can, someone could have taken it away.
    readable = [group for group in failed if group not in source.failures]
    is_consensus = solutions.kind == ConsensusSolution.kind
    left_out = tuple(failed[group] for group in _left_out(readable, solutions, source)) if is_consensus else ()
    if wrong := (*_reasons(verdicts, Verdict.REJECTED), *left_out):
        return Verification(Verdict.REJECTED, wrong, check=doubts)
    if lost := [group for group in solutions if group not in verdicts]:
        raise CrowdoptError(
            f"group {lost[0]} was not checked: the process that checked it was ended, and so was a second one"
        )
    reasons = tuple(failed.values())
    if is_consensus:
        given = ", given how frequent the labels are" if any(one.given_shares for one in solutions.values()) else ""
        claim = f"groups: {len(verdicts):,} computed again from the data{given}, nothing is proved"
        return Verification(Verdict.REPRODUCED, reasons, claim, doubts)
    proofs = Counter(str(one.certificate.proof) for one in solutions.values())
    claim = "groups: " + ", ".join(f"{number:,} {proof}" for proof, number in sorted(proofs.items()))
    if readable:
        return Verification(Verdict.BOUND_NOT_RECHECKED, reasons, claim, doubts)
    if open_ := _reasons(verdicts, Verdict.BOUND_NOT_RECHECKED):
        return Verification(Verdict.BOUND_NOT_RECHECKED, open_, claim, doubts)
    return Verification(Verdict.CONFIRMED, reasons, claim, doubts)


def _left_out(readable: list[str], solutions: Solutions[Any], source: GroupedSource) -> Iterator[str]:
    """Of groups without a consensus those that must have one: known shares of the labels, if there are any, fit."""
    given = {frozenset(one.scale.labels) for one in solutions.values() if one.given_shares}
    for group in readable:
        if not given or frozenset(source.groups[group].scale.labels) in given:
            yield group


def _reasons(verdicts: dict[str, Verification], verdict: Verdict) -> tuple[str, ...]:
    """The reasons of all groups that have a verdict."""
    found = ((group, reason) for group, one in verdicts.items() if one.verdict is verdict for reason in one.reasons)
    return tuple(f"group {group}: {reason}" for group, reason in found)


def _failure(group: str, why: str, source: GroupedSource) -> str:
    if group in source.failures:
        return f"group {group} has no solution: {source.failures[group]}"
    return f"group {group} has no solution to check, though it can be read; the file says: {why}"


def check_group(item: tuple[ProofSolution, CountedProblem, float, ToCompare]) -> Checked:
    """Checks one proof against what was counted, within some seconds."""
    solution, counted, seconds, compared = item
    found, answered = check_proof(solution, counted, seconds), replace(solution, scale=counted.scale)
    if found.verdict is not Verdict.REJECTED:
        found = with_doubts(found, solution, group_beside_consensus(answered, compared))
    return found, answered


def check_group_consensus(item: tuple[ConsensusSolution, CountedProblem, Encoded, bool]) -> Checked:
    """Computes one consensus again; what was found is given if it is wanted, as it may be large."""
    solution, counted, encoded, wanted = item
    verification, found = check_consensus(solution, counted, EncodedParts.of(encoded))
    return verification, found if wanted else None


def _alone(solution: Any) -> Any:
    """A solution without its tasks, and the classes of all workers, which the check of one group does not need."""
    kept = {"tasks": None} if isinstance(solution, ConsensusSolution) else {}
    return replace(solution, reading=replace(solution.reading, classes=()), source=None, **kept)


def _about_groups(solutions: Solutions[Any], source: GroupedSource) -> Iterator[str]:
    """Every group of the data must be there, with a solution or with the reason why it has none, and no other."""
    for group in solutions:
        if group in source.failures:
            yield f"group {group} cannot be read: {source.failures[group]}"
        elif group not in source.groups:
            yield f"group {group} is not in the data"
    in_data, told = {*source.groups, *source.failures}, {*solutions, *solutions.failures}
    for group in sorted(solutions.failures.keys() - in_data):
        yield f"group {group} is said to have failed, and is not in the data"
    for group in sorted(in_data - told):
        yield f"group {group} of the data has neither a solution nor a reason why not"
