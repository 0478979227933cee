"""The paper from beginning to end: run its experiments, draw its figures, judge its claims, write it all down."""

from __future__ import annotations

import csv
import io
import os
import platform
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdopt._version import __version__
from crowdopt.charts import check_installed
from crowdopt.errors import InputError, OutputError
from crowdopt.paper.catalogue import Drawn, label_of, pick
from crowdopt.paper.claims import check_claims
from crowdopt.paper.experiments import SETUPS, Experiment, Item, collect, run_item, tasks
from crowdopt.paper.figures import draw
from crowdopt.paper.leads import shortfalls
from crowdopt.paper.page import VERDICTS, Run, render, section_of
from crowdopt.paper.work import run_all
from crowdopt.write import whole_file, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crowdopt.paper.claims import Claim
    from crowdopt.paper.figures import Figure

NEEDED = {
    "ic": "the image comparisons (48 tasks, 19 workers; Joglekar, Garcia-Molina and Parameswaran, KDD 2013)",
    "product": "the product pairs (8,315 tasks, 3 responses each; Wang and others, CrowdER 2012)",
}
"""Real data that some experiments need, and that cannot come with the package."""


@dataclass(frozen=True)
class Reproduction:
    """What was made.

    Attributes:
        figures: All figures and tables, those without data empty.
        claims: What became of each claim.
        missing: What was not run, and how to get it.
        seconds: How long it took.
        page: The page, as HTML.
    """

    figures: list[Figure]
    claims: list[Claim]
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
    """Makes the paper again; the same numbers for the same seed, whatever ``jobs`` is.

    Args:
        only: Names of figures; all if none is given.
        trials: Trials for each point; the paper's numbers if not given.
        seed: Seed of all random choices.
        folders: Folders with responses.csv and truth.csv by the names of NEEDED; what is not given is not run.
        jobs: Number of processes; as many as there are cores if not given.
        on_phase: Called with what is being done.

    Raises:
        InputError: A figure is not known, or a folder has not what it should.
        MissingExtraError: Charts cannot be drawn here.
    """
    start = time.monotonic()
    check_installed()
    folders = folders or {}
    entries = pick(only)
    wanted = {entry.experiment for entry in entries if not isinstance(entry, Drawn)} if only else set(SETUPS)
    names = [name for name in SETUPS if name in wanted and (name not in NEEDED or name in folders)]
    experiments = run_experiments(names, trials, seed, folders, jobs or os.cpu_count() or 1, on_phase)
    rows = [row for experiment in experiments.values() for row in (*experiment.rows, *shortfalls(experiment))]
    figures = []
    for entry in entries:
        on_phase(f"drawing {label_of(entry.name)}")
        figures.append(draw(entry, rows))
    on_phase("checking claims")
    shown = {entry.section for entry in entries}
    claims = [claim for claim in check_claims(experiments) if not only or section_of(claim.where) in shown]
    missing = [_how_to_get(name) for name in NEEDED if name in wanted and name not in folders]
    seconds = time.monotonic() - start
    facts = _facts(experiments, trials, seed, seconds)
    return Reproduction(figures, claims, missing, seconds, render(Run(facts, figures, claims, missing)))


def run_experiments(
    names: Sequence[str], trials: int | None, seed: int, folders: dict[str, Path], jobs: int,
    on_phase: Callable[[str], None]
) -> dict[str, Experiment]:  # fmt: skip
    """Runs experiments, telling after every piece of work what is under way."""
    items = {name: tasks(name, trials, seed, folders.get(name)) for name in names}
    todo = [item for name in names for item in items[name]]
    total, done, start = sum(item.last - item.first for item in todo), 0, time.monotonic()

    def on_done(item: Item) -> None:
        nonlocal done
        done += item.last - item.first
        seconds = time.monotonic() - start
        on_phase(f"{SETUPS[item.experiment].title}, m = {item.m}: {done:,} of {total:,} trials, {seconds:,.0f} s")

    results = iter(run_all(run_item, todo, jobs, on_done))
    return {name: collect(own, [next(results) for _ in own]) for name, own in items.items()}


def check_folder(folder: Path) -> None:
    """Raises if the files cannot be written there, before any work is done; makes nothing yet."""
    there = folder
    while not there.exists():
        there = there.absolute().parent
    if not there.is_dir():
        raise InputError(f"cannot write into {folder}: {there} is not a folder")
    if not os.access(there, os.W_OK):
        raise InputError(f"cannot write into {folder}: permission denied")


def write(made: Reproduction, folder: Path) -> None:
    """Writes every figure as SVG, PNG and CSV, every table as CSV, and the page: each file whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    for figure in made.figures:
        if figure.rows:
            write_text(folder / f"{figure.name}.csv", _as_csv(figure.rows))
        if figure.svg and figure.png:
            write_text(folder / f"{figure.name}.svg", figure.svg)
            with whole_file(folder / f"{figure.name}.png") as temporary:
                temporary.write_bytes(figure.png)
    if made.claims:
        write_text(folder / "claims.csv", _as_csv([_claim_row(claim) for claim in made.claims]))
    write_text(folder / "index.html", made.page)


def _claim_row(claim: Claim) -> dict[str, str]:
    return {name: str(getattr(claim, name)) for name in ("where", "claim", "measured", "verdict", "criterion")}


def _as_csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _how_to_get(name: str) -> str:
    return (
        f"Without --{name} DIR nothing is measured on {NEEDED[name]}. DIR is a folder with responses.csv (columns "
        "task, worker, label) and truth.csv (task, label), made from the data that its authors published."
    )


def _facts(experiments: dict[str, Experiment], trials: int | None, seed: int, seconds: float) -> dict[str, str]:
    import numpy as np

    held = sum(experiment.trials * len(experiment.sizes) for experiment in experiments.values())
    return {
        "crowdopt": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "seed": str(seed),
        "trials per point": "as in the paper" if trials is None else f"{trials:,}",
        "trials in all": f"{held:,}",
        "took": f"{seconds:,.0f} s",
    }
