"""Checking the solutions of many groups against the data: each as ``verify`` checks one, on all cores."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crowdopt._parallel import n_cores, run_all
from crowdopt.errors import ClassError, CrowdoptError
from crowdopt.verify.check import check_against
from crowdopt.verify.verdict import Verdict, Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.groups import GroupedSource
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.solutions import Solutions


def verify_groups(
    solutions: Solutions,
    data: Any,
    *,
    time_limit: float,
    memory_limit: str | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    on_group: Callable[[int, int], object] = lambda *_: None,
) -> Verification:
    """Checks the solutions of all groups; see ``verify`` for the arguments. The time limit is that of each group."""
    from crowdopt.data.groups import load_groups
    from crowdopt.data.load import workspace_for

    workspace = workspace_for(data, memory_limit=memory_limit, threads=threads)
    try:
        source = load_groups(data, solutions.reading, workspace, resolved=True)
    except ClassError as error:
        return Verification(Verdict.REJECTED, (str(error),))
    finally:
        if workspace is not None:
            workspace.close()
    if wrong := list(_about_groups(solutions, source)):
        return Verification(Verdict.REJECTED, tuple(wrong))
    items = [(_alone(solutions[group]), source.groups[group], time_limit) for group in solutions]

    def report(done: int) -> bool:
        on_group(done, len(items))
        return False

    found = run_all(check_group, items, n_cores() if jobs is None else jobs, None, report)
    verdicts = {group: one for at, group in enumerate(solutions) if (one := found[at]) is not None}
    if rejected := _reasons(verdicts, Verdict.REJECTED):
        return Verification(Verdict.REJECTED, rejected)
    if lost := [group for group in solutions if group not in verdicts]:
        raise CrowdoptError(
            f"group {lost[0]} was not checked: the process that checked it was ended, and so was a second one"
        )
    proofs = Counter(str(solutions[group].certificate.proof) for group in solutions)
    claim = "groups: " + ", ".join(f"{number:,} {proof}" for proof, number in sorted(proofs.items()))
    failed = tuple(_failure(group, why, source) for group, why in solutions.failures.items())
    # A group that cannot be read has no solution. Of one that can, someone could have taken it away.
    if any(group not in source.failures for group in solutions.failures):
        return Verification(Verdict.BOUND_NOT_RECHECKED, failed, claim)
    if open_ := _reasons(verdicts, Verdict.BOUND_NOT_RECHECKED):
        return Verification(Verdict.BOUND_NOT_RECHECKED, open_, claim)
    return Verification(Verdict.CONFIRMED, failed, claim)


def _reasons(verdicts: dict[str, Verification], verdict: Verdict) -> tuple[str, ...]:
    """The reasons of all groups that have a verdict."""
    found = ((group, reason) for group, one in verdicts.items() if one.verdict is verdict for reason in one.reasons)
    return tuple(f"group {group}: {reason}" for group, reason in found)


def _failure(group: str, why: str, source: GroupedSource) -> str:
    if group in source.failures:
        return f"group {group} has no solution: {source.failures[group]}"
    return f"group {group} has no solution to check, though it can be read; the file says: {why}"


def check_group(item: tuple[ProofSolution, CountedProblem, float]) -> Verification:
    """Checks one solution against what was counted, within some seconds."""
    solution, counted, seconds = item
    known = (counted.scale, counted.buckets, counted.totals, counted.gold, counted.classes)
    return check_against(solution, *known, digest=counted.digest, time_limit=seconds)


def _alone(solution: ProofSolution) -> ProofSolution:
    """A solution without the classes of all workers, which the check of one group does not need."""
    return replace(solution, reading=replace(solution.reading, classes=()), source=None)


def _about_groups(solutions: Solutions, source: GroupedSource) -> Iterator[str]:
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
