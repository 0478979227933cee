"""Groups: each is solved as a problem of its own, in several processes; one that cannot be solved stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crowdopt._parallel import run_all
from crowdopt.errors import InputError
from crowdopt.results.solution import Solution
from crowdopt.results.solutions import NOT_SOLVED_YET, Solutions, with_own_readings
from crowdopt.results.solve_consensus import find_group_consensus
from crowdopt.results.solve_counts import LOST, solve_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.data.coded import Encoded
    from crowdopt.data.counts import CountedProblem
    from crowdopt.data.groups import GroupedSource
    from crowdopt.options.model import SolveOptions
    from crowdopt.results.beside_consensus import ToCompare
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.solution_proof import ProofSolution

_S = TypeVar("_S", bound=Solution)

OnGroup = Callable[[int, int], bool]
"""Called with the number of groups that are done, and of all; returning True asks to stop."""

LARGE = 50_000
"""Responses from which on a group takes seconds to aggregate: such groups go to other processes at once."""


def aggregate_groups(
    source: GroupedSource,
    encoded: dict[str, Encoded],
    label_shares: Any = None,
    *,
    jobs: int = 1,
    on_group: OnGroup | None = None,
) -> Solutions[ConsensusSolution]:
    """Finds the consensus of every group; see :func:`_solve_all` for what it raises.

    Args:
        source: The groups.
        encoded: Their responses.
        label_shares: The known shares of the labels, as the user says them, which must fit the labels of each group.
        jobs: Number of processes.
        on_group: Called when a group is done.
    """
    items = [(counted, encoded[group], label_shares) for group, counted in _for_others(source).items()]
    large = any(one.coded.times.sum() >= LARGE for one in encoded.values())
    found = _solve_all(source, find_group_consensus, items, jobs, on_group, alone=0.0 if large else None)
    if found.interrupted:
        raise KeyboardInterrupt("not all groups were aggregated; nothing was written")
    return found


def prove_groups(
    source: GroupedSource,
    compared: Sequence[ToCompare],
    wanted: SolveOptions,
    seconds: float,
    n_bytes: int | None = None,
    *,
    jobs: int = 1,
    on_group: OnGroup | None = None,
) -> Solutions[ProofSolution]:
    """Proves every group within some seconds and bytes each; see :func:`_solve_all` for what it raises."""
    prior = wanted["prior_matrix"]
    if isinstance(prior, str | Path) and Path(prior).suffix.lower() == ".json":
        wanted = {**wanted, "prior_matrix": Solution.load(prior)}  # once for all groups
    room = None if n_bytes is None else n_bytes // jobs
    items = [
        (counted, wanted, seconds, room, one)
        for counted, one in zip(_for_others(source).values(), compared, strict=True)
    ]
    return _solve_all(source, solve_group, items, jobs, on_group, here=solve_group)


def _for_others(source: GroupedSource) -> dict[str, CountedProblem]:
    """What was counted, for other processes: without the classes of all workers, which there may be many of."""
    reading = replace(source.reading, classes=())
    return {group: replace(counted, reading=reading) for group, counted in source.groups.items()}


def _solve_all(
    source: GroupedSource,
    solve: Callable[[Any], _S | str],
    items: Sequence[Any],
    jobs: int,
    on_group: OnGroup | None,
    **how: Any,
) -> Solutions[_S]:
    """Solves all groups, of each of which the function gives the solution, or a text why there is none.

    Raises:
        InputError: No group can be answered.
        KeyboardInterrupt: Someone asked to stop before any group was solved.
    """
    report = on_group or (lambda done, total: False)  # noqa: ARG005
    found = run_all(solve, items, jobs, LOST, lambda done: report(done, len(items)), **how)
    solved: dict[str, _S] = {}
    failures = dict(source.failures)
    for at, group in enumerate(source.groups):
        outcome = found.get(at, NOT_SOLVED_YET)
        if isinstance(outcome, str):
            failures[group] = outcome
        else:
            solved[group] = outcome
    if not solved and NOT_SOLVED_YET in failures.values():
        raise KeyboardInterrupt("no group was solved yet; nothing was written")
    if not solved:
        group, reason = next(iter(failures.items()))
        raise InputError(f"none of the {len(failures)} groups can be answered; {group!r}: {reason}")
    return Solutions(
        with_own_readings(solved, source.reading), failures, source.reading, source=source, notes=source.notes
    )
