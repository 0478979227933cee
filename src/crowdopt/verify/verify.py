"""Checking a solution against the data, without trusting whoever made it.

Of a proof, nothing here imports an engine. The data are read and counted again; the likelihood, the matrix, the order,
the margins and the bound are computed anew, the bound by the plainest way that can work (recheck.py). Of a consensus
nothing was proved: it is computed again, by what made it, and compared number by number (consensus.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from crowdopt._option import complete, taking
from crowdopt.data.readers.addresses import database_of
from crowdopt.errors import ClassError, GoldError, InputError, SolutionFileError
from crowdopt.options.reading import ResourceOptions
from crowdopt.options.verbs import VerifyOptions
from crowdopt.options.words import in_python_words, without_options
from crowdopt.results.solution import Solution
from crowdopt.verify.verdict import Verdict, Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdopt.data.load import Source
    from crowdopt.results.solution_proof import ProofSolution
    from crowdopt.results.solutions import Solutions


@in_python_words
@taking(VerifyOptions)
def verify(
    solution: Solution | Solutions[Any] | str | Path,
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
    data = database_of(data, options["table"], options["query"])
    return _verification(solution, data, options, on_group).spoken()


def _verification(
    solution: Solution | Solutions[Any] | str | Path,
    data: Any,
    options: VerifyOptions,
    on_group: Callable[[int, int], object],
) -> Verification:
    """The verdict in the words of the command line."""
    # Here, and not above, as ``import crowdopt`` offers this function and should be quick.
    from crowdopt.results.solutions import Solutions, read_solution_file

    if isinstance(solution, str | Path):
        try:
            solution = read_solution_file(solution)
        except SolutionFileError as error:
            if _is_solution_file(data):
                raise InputError(
                    "the solution comes first and the data second; here it is the other way round"
                ) from error
            return Verification(Verdict.REJECTED, (str(error),))
    if isinstance(solution, Solution):
        return _verify_one(solution, data, options)
    anything: object = solution
    if not isinstance(anything, Solutions):
        kind = type(anything).__name__
        raise InputError(f"give the solution, or the path of its file, and then the data; here a {kind} comes first")
    from crowdopt.verify.groups import verify_groups  # here, as pools of processes take time to import

    return verify_groups(solution, data, options, on_group)


def _verify_one(solution: Solution, data: Any, options: VerifyOptions) -> Verification:
    from crowdopt.data.load import load, paths_of, unchanged, workspace_for
    from crowdopt.data.readers.open_files import explain_errors

    workspace = workspace_for(data, **complete(ResourceOptions, options))
    try:
        source = load(data, solution.reading, workspace, resolved=True)
        found, answered = _checked(solution, source, options["time_limit"])
        found = replace(found, notes=tuple(map(without_options, source.notes)))
        if options["answers"] is None or found.verdict is Verdict.REJECTED or answered is None:
            return found
        from crowdopt.verify.answers import answer_differences

        with unchanged(workspace), explain_errors(paths_of(data)):
            return found.with_answers(answer_differences(answered, source, options["answers"]))
    except (ClassError, GoldError) as error:
        return Verification(Verdict.REJECTED, (str(error),))
    finally:
        if workspace is not None:
            workspace.close()


def _checked(solution: Solution, source: Source, time_limit: float) -> tuple[Verification, Solution | None]:
    """The verdict, and the solution that the answers should be of, with its tasks."""
    from crowdopt.results.solution_consensus import ConsensusSolution
    from crowdopt.results.solution_proof import ProofSolution

    if isinstance(solution, ConsensusSolution):
        from crowdopt.verify.consensus import check_source

        return check_source(solution, source)
    if not isinstance(solution, ProofSolution):
        raise TypeError(f"no check is known for a {type(solution).__name__}")
    from crowdopt.data.load import paths_of, unchanged
    from crowdopt.data.readers.open_files import explain_errors
    from crowdopt.results.beside_consensus import beside_consensus
    from crowdopt.verify.check import check_proof, with_doubts

    found = replace(check_proof(solution, source.counted, time_limit), claim=_claim(solution))
    answered = replace(solution, source=source, scale=source.responses.scale)
    if found.verdict is not Verdict.REJECTED:
        with unchanged(source.workspace), explain_errors(paths_of(source.original)):
            found = with_doubts(found, solution, beside_consensus(answered))
    return found, answered


def _claim(solution: ProofSolution) -> str:
    """What was said to be proved, and about how much of the data; not how it came about, which no data can tell."""
    from crowdopt.results.words.sentences import headline
    from crowdopt.results.words.summary import left_out_in_words

    left_out = left_out_in_words(solution.totals.n_dropped, solution.reading)
    return headline(solution, run=False) + (f"; {left_out}" if left_out else "")


def _is_solution_file(data: Any) -> bool:
    """Whether what should be data is a solution, as when the two were exchanged."""
    from crowdopt.data.load import paths_of
    from crowdopt.results.solution_file.format import format_of, read_json

    paths = paths_of(data)
    if len(paths) != 1 or Path(paths[0]).suffix.lower() != ".json":
        return False
    try:
        return format_of(read_json(paths[0])) is not None
    except InputError:
        return False
