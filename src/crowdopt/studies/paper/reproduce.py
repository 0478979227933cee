"""The paper from beginning to end: run its experiments, draw its figures, judge its claims, lay it all out."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from crowdopt._parallel import n_cores, run_all
from crowdopt._version import __version__
from crowdopt.errors import CrowdoptError, InputError
from crowdopt.report.charts import check_charts_installed
from crowdopt.studies.paper.catalogue import label_of, named, pick, single
from crowdopt.studies.paper.claims import check_claims
from crowdopt.studies.paper.experiments import Experiment, Rows, collect, pieces, run_piece
from crowdopt.studies.paper.figures import draw
from crowdopt.studies.paper.page import VERDICTS, Run, render_paper, section_of
from crowdopt.studies.paper.setups import IC, PAPER_SETUPS, PRODUCT, SETUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crowdopt._arrays import Floats
    from crowdopt.studies.paper.claims import Claim
    from crowdopt.studies.paper.experiments import Piece
    from crowdopt.studies.paper.figures import Figure


@dataclass(frozen=True)
class Needed:
    """Real data that an experiment needs, and that cannot come with the package."""

    words: str
    n_tasks: int
    responses: int


NEEDED_DATA = {
    IC: Needed("the image comparisons (Joglekar, Garcia-Molina and Parameswaran, KDD 2013)", 48, 19),
    PRODUCT: Needed("the product pairs (Wang and others, CrowdER, 2012)", 8315, 3),
}
"""By the name of the experiment, which is that of the option."""


@dataclass(frozen=True)
class Reproduction:
    """What was made.

    Attributes:
        facts: What it takes to run it again.
        figures: All figures and tables, those without data empty.
        claims: What became of each claim.
        rows: The numbers of all experiments that were run.
        missing: What was not run, and how to get it.
        seconds: How long it took.
        page: The page, as HTML.
    """

    facts: dict[str, str]
    figures: list[Figure]
    claims: list[Claim]
    rows: Rows
    missing: list[str]
    seconds: float
    page: str

    def counts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        return {verdict: sum(claim.verdict == verdict for claim in self.claims) for verdict in VERDICTS}


def reproduce(
    *, only: Sequence[str] = (), trials: int | None = None, seed: int = 0, folders: dict[str, Path] | None = None,
    jobs: int | None = None, on_phase: Callable[[str], None] = lambda _: None
) -> Reproduction:  # fmt: skip
    """Makes the paper again; the same page for the same seed, whatever ``jobs`` is.

    Args:
        only: Names of figures; all if none is given.
        trials: Trials for each point; the paper's numbers if not given.
        seed: Seed of all random choices.
        folders: Folders with responses.csv and truth.csv by the names of NEEDED; what is not given is not run.
        jobs: Number of processes; as many as there are cores if not given.
        on_phase: Called with what is being done.

    Raises:
        InputError: A figure is not known, or needs data that are not given, or a folder has not what it should.
        MissingExtraError: Charts cannot be drawn here.
    """
    start = time.monotonic()
    check_charts_installed()
    folders = folders or {}
    _check_data(only, folders)
    entries = pick(only)
    wanted = {name for entry in entries for name in entry.experiments} if only else set(SETUPS)
    names = [name for name in SETUPS if name in wanted and (name not in NEEDED_DATA or name in folders)]
    experiments = run_experiments(names, trials, seed, folders, jobs or n_cores(), on_phase)
    figures = []
    for entry in entries:
        on_phase(f"drawing {label_of(entry.name)}")
        figures.append(draw(entry, experiments))
    on_phase("checking claims")
    shown = {entry.section for entry in entries}
    claims = [claim for claim in check_claims(experiments) if not only or section_of(claim.where) in shown]
    missing = [_how_to_get(name) for name in NEEDED_DATA if name in wanted and name not in folders]
    notes = [note for name in NEEDED_DATA if name in experiments for note in _other_data(name, experiments[name])]
    rows = [row for experiment in experiments.values() for row in experiment.rows]
    on_phase("laying out the page")
    facts = _facts(experiments, trials, seed)
    page = render_paper(Run(facts, figures, claims, missing, notes))
    return Reproduction(facts, figures, claims, rows, missing, time.monotonic() - start, page)


def run_experiments(
    names: Sequence[str], trials: int | None, seed: int, folders: dict[str, Path], jobs: int,
    on_phase: Callable[[str], None]
) -> dict[str, Experiment]:  # fmt: skip
    """Runs experiments, telling after every piece of work what is under way."""
    by_name = {name: pieces(name, trials, seed, folders.get(name)) for name in names}
    todo = [piece for name in names for piece in by_name[name]]
    start = time.monotonic()

    def on_done(n_done: int) -> bool:  # of pieces that may end in any order
        on_phase(f"running experiments: {n_done:,} of {len(todo):,} parts, {time.monotonic() - start:,.0f} s")
        return False

    found = run_all(partial(_tried, run_piece), todo, jobs, None, on_done)
    results: list[Floats] = []
    for at in range(len(todo)):
        result = found[at]
        if isinstance(result, Exception):
            raise result
        if result is None:
            raise CrowdoptError(
                "a process that did a part of the work was ended, by someone or for lack of memory; "
                "try again with --jobs 1"
            )
        results.append(result)
    in_order = iter(results)
    return {name: collect(own, [next(in_order) for _ in own]) for name, own in by_name.items()}


def _tried(function: Callable[[Piece], Floats], piece: Piece) -> Floats | Exception:
    """What a function gives for a piece, or the error that it raises, which is to be raised in the first process."""
    try:
        return function(piece)
    except Exception as error:  # noqa: BLE001 - whatever it is, who waits has to hear of it
        return error


def _check_data(only: Sequence[str], folders: dict[str, Path]) -> None:
    """Raises if a figure is asked for by name, and all that the name stands for needs data that are not given."""
    for name in single(only):
        lacking = [
            {need for need in entry.experiments if need in NEEDED_DATA and need not in folders} for entry in named(name)
        ]
        if all(lacking):
            need = min(lacking[0])
            raise InputError(f"{label_of(named(name)[0].name)} needs --{need} DIR: {NEEDED_DATA[need].words}")


def _how_to_get(name: str) -> str:
    needed = NEEDED_DATA[name]
    return (
        f"Without --{name} DIR nothing is measured on {needed.words}, {needed.n_tasks:,} tasks with "
        f"{needed.responses} responses each. DIR is a folder with responses.csv (columns task, worker, label) and "
        "truth.csv (task, label), made from the data that its authors published."
    )


def _other_data(name: str, experiment: Experiment) -> list[str]:
    """What to say of real data that are not those of NEEDED."""
    needed, most = NEEDED_DATA[name], experiment.sizes[-1]
    if (experiment.n_tasks, most) == (needed.n_tasks, needed.responses):
        return []
    text = (
        f"--{name} was given {experiment.n_tasks:,} tasks with {most} responses or more, where {needed.words} have "
        f"{needed.n_tasks:,} with {needed.responses}: what is said of these is measured on other data."
    )
    return [text]


def _facts(experiments: dict[str, Experiment], trials: int | None, seed: int) -> dict[str, str]:
    import numpy as np

    held = sum(experiment.trials * len(experiment.sizes) for experiment in experiments.values())
    as_printed = f"{PAPER_SETUPS[0].trials:,} (filtering), {PAPER_SETUPS[-1].trials} (rating, real), as in the paper"
    return {
        "crowdopt": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "seed": str(seed),
        "trials per point": as_printed if trials is None else f"{trials:,}",
        "trials in all": f"{held:,}",
    }
