"""Checking a solution against the data, without trusting the engine that made it.

Nothing here imports an engine. The data are read and counted again; the likelihood, the matrix, the order,
the margins and the bound are computed anew, the bound by the plainest way that can work (recheck.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from crowdopt._option import complete, taking
from crowdopt.data.readers.addresses import database_of
from crowdopt.errors import ClassError, GoldError, InputError, SolutionFileError
from crowdopt.options import ResourceOptions, VerifyOptions
from crowdopt.results.solution import Solution
from crowdopt.verify.verdict import Verdict, Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.solutions import Solutions


@taking(VerifyOptions)
def verify(
    solution: Solution | Solutions | str | Path,
    data: Any,
    *,
    on_group: Callable[[int, int], object] = lambda *_: None,
    **options: Unpack[VerifyOptions],
) -> Verification:
    """Checks a solution (or a solution file) against the data it was made from.

    Args:
        solution: The solution, or the solutions of groups, or the path of its file.
        data: The data, in any form that ``aggregate`` takes. It is read with the options in the solution.
        on_group: Called now and then with the number of groups that are checked, and of all.
        options: Where the data are, and what the check may take: see ``VerifyOptions``.

    Raises:
        InputError: The data cannot be read at all, or there is no solution file.
    """
    # Here, and not above, as ``import crowdopt`` offers this function and should be quick.
    from crowdopt.data.load import load, workspace_for
    from crowdopt.results.solutions import read_solution_file
    from crowdopt.verify.check import check_against

    data = database_of(data, options["table"], options["query"])
    time_limit, limits = options["time_limit"], complete(ResourceOptions, options)
    if isinstance(solution, str | Path):
        try:
            solution = read_solution_file(solution)
        except SolutionFileError as error:
            if _is_solution_file(data):
                raise InputError(
                    "the solution comes first and the data second; here it is the other way round"
                ) from error
            return Verification(Verdict.REJECTED, (str(error),))
    if not isinstance(solution, Solution):
        from crowdopt.verify.groups import verify_groups  # here, as pools of processes take time to import

        return verify_groups(solution, data, time_limit=time_limit, jobs=options["jobs"], on_group=on_group, **limits)
    workspace = workspace_for(data, **limits)
    try:
        source = load(data, solution.reading, workspace, resolved=True)
        scale, buckets = source.responses.scale, source.counts.buckets
        numbers, gold, classes = source.totals, source.counts.gold, source.responses.classes
        digest = source.digest
    except (ClassError, GoldError) as error:
        return Verification(Verdict.REJECTED, (str(error),))
    finally:
        if workspace is not None:
            workspace.close()
    found = check_against(solution, scale, buckets, numbers, gold, classes, digest=digest, time_limit=time_limit)
    return replace(found, claim=_claim(solution))


def _claim(solution: ProofSolution) -> str:
    """What was said to be proved, and about how much of the data; not how it came about, which no data can tell."""
    from crowdopt.results.sentences import headline

    dropped = solution.totals.n_dropped
    return headline(solution, run=False) + (f"; {dropped:,} incomplete rows left out" if dropped else "")


def _is_solution_file(data: Any) -> bool:
    """Whether what should be data is a solution, as when the two were exchanged."""
    from crowdopt.data.load import paths_of
    from crowdopt.results.file_format import format_of, read_json

    paths = paths_of(data)
    if len(paths) != 1 or Path(paths[0]).suffix.lower() != ".json":
        return False
    try:
        return format_of(read_json(paths[0])) is not None
    except InputError:
        return False
