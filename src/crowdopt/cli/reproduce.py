"""The command that makes the paper again: options in, library calls, words out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from crowdopt.cli.console import Console, print_json
from crowdopt.cli.options import ShowOptions, command_with

if TYPE_CHECKING:
    from crowdopt.studies.paper.reproduce import Reproduction


@command_with(ShowOptions)
def reproduce(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Figures, such as fig3a, fig3 or table2,beyond10; may be repeated."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials for each point, 1 to 1,000,000; if not given, the paper's.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same numbers.")] = 0,
    ic: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Image comparisons: responses.csv, truth.csv; else not run.")
    ] = None,
    product: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Product pairs: responses.csv, truth.csv; else not run.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go.")] = Path("reproduction"),
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as there are cores if not given.")] = None,
    **options: Unpack[ShowOptions],
) -> None:
    """Make the paper again: its experiments, figures and claims, on one page."""
    from crowdopt.studies.paper.output import check_folder, write
    from crowdopt.studies.paper.reproduce import reproduce as run

    check_folder(out)
    folders = {name: folder for name, folder in (("ic", ic), ("product", product)) if folder is not None}
    with Console(quiet=options["quiet"]) as console:
        console.on_phase("starting")
        made = run(only=only or (), trials=trials, seed=seed, folders=folders, jobs=jobs, on_phase=console.on_phase)
        console.on_phase("writing")
        write(made, out)
    if options["quiet"]:
        return
    if options["as_json"]:
        print_json(_summary(made, out))
    else:
        print("\n".join(_words(made, out)))


def _summary(made: Reproduction, out: Path) -> dict[str, Any]:
    return {
        "page": str(out / "index.html"),
        "figures": [figure.name for figure in made.figures if figure.rows],
        "claims": made.counts(),
        "missing": made.missing,
        "seconds": round(made.seconds, 3),
    }


def _words(made: Reproduction, out: Path) -> list[str]:
    drawn = sum(bool(figure.rows) for figure in made.figures)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in made.counts().items() if count)
    return [
        *made.missing,
        f"{drawn} of {len(made.figures)} figures and tables in {made.seconds:,.0f} s",
        *([f"{len(made.claims)} claims: {counts}"] if made.claims else []),
        f"page in {out / 'index.html'}",
    ]
