"""The command that makes up a crowd: options in, library calls, words out."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crowdopt.cli.console import Console
from crowdopt.cli.options import Quiet  # noqa: TC001 -- Typer reads it at run time
from crowdopt.cli.parse import number_or_range, split_numbers, split_texts
from crowdopt.errors import InputError

if TYPE_CHECKING:
    from crowdopt._arrays import Floats


class KindChoice(StrEnum):
    """Which random workers; the names are those of :func:`crowdopt.studies.simulate.random_matrix`."""

    any = "any"
    diagonal = "diagonal"
    mlr = "mlr"


def simulate(
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where the responses go: .csv, .tsv, .parquet or .jsonl."),
    ],
    truth: Annotated[str | None, typer.Option(metavar="FILE", help="Where the true labels go.")] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks.")] = 1000,
    workers: Annotated[int, typer.Option(min=1, help="Number of workers.")] = 50,
    responses: Annotated[str, typer.Option(metavar="N|LOW-HIGH", help="Responses per task.")] = "5",
    skew: Annotated[
        float, typer.Option(min=0, help="With LOW-HIGH, makes few responses the rule; 0 for all numbers alike.")
    ] = 0.0,
    labels: Annotated[str, typer.Option(metavar="LOW,HIGH,...", help="The labels, lowest first.")] = "no,yes",
    selectivity: Annotated[
        str | None, typer.Option(metavar="P,P,...", help="How frequent each label is; equal if not given.")
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="How often a worker is right; drawn at random if not given."),
    ] = None,
    near: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="With --accuracy: most errors are to neighbours, each step further has this share; if not given, all "
            "errors are alike.",
        ),
    ] = None,
    kind: Annotated[
        KindChoice | None,
        typer.Option(
            help="Random workers: whose likeliest answer is the true label (diagonal, the default), any, or of whom "
            "higher answers always speak for a higher label (mlr)."
        ),
    ] = None,
    experts: Annotated[
        int, typer.Option(min=0, help="How many of the workers are experts, who err half as often as the others.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same crowd.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Make up a crowd: a file of responses, and the truth behind them."""
    from crowdopt.results.write.files import FORMATS, check_target, together, write_columns
    from crowdopt.studies.simulate import crowd

    for target in (output, truth):
        if target is not None:
            check_target(target, tuple(FORMATS))
    if truth is not None and os.path.realpath(truth) == os.path.realpath(output):
        raise InputError(f"responses and truth cannot both go to {output}")
    if accuracy is not None and kind is not None:
        raise InputError("--accuracy fixes how workers answer, --kind draws it at random: give one of them")
    if near is not None and accuracy is None:
        raise InputError("--near says how far errors go, and needs --accuracy: how many there are")
    names = split_texts(labels)
    with Console(quiet=quiet) as console:
        console.on_phase("simulating")
        made = crowd(
            tasks,
            workers,
            number_or_range(responses, "--responses"),
            labels=names,
            selectivity=None if selectivity is None else split_numbers(selectivity, "--selectivity"),
            matrix=_matrix(len(names), accuracy, near),
            kind=(kind or KindChoice.diagonal).value,
            skew=skew,
            experts=experts,
            seed=seed,
        )
        console.on_phase("writing")
        with together():
            if truth is not None:
                write_columns(made.truth_dict(), truth)
            write_columns(made.to_dict(), output)
    if not quiet and "-" not in (output, truth):
        where = f", truth in {truth}" if truth else ""
        who = f"{workers:,} workers" + (
            f", of whom {made.experts[0]} to {made.experts[-1]} are experts," if experts else ""
        )
        print(f"{len(made.label):,} responses of {who} to {tasks:,} tasks in {output}{where}")


def _matrix(n_labels: int, accuracy: float | None, near: float | None) -> Floats | None:
    """How workers answer; None if that is drawn."""
    from crowdopt.studies.simulate import near_errors, uniform_errors

    if accuracy is None:
        return None
    return uniform_errors(n_labels, accuracy) if near is None else near_errors(n_labels, accuracy, near)
