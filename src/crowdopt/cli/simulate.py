"""The command that makes up a crowd: options in, library calls, words out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from crowdopt._option import Option, split_numbers, split_texts
from crowdopt.cli.console import Console
from crowdopt.cli.options import QuietOptions, command_with
from crowdopt.cli.parse import number_or_range
from crowdopt.errors import InputError
from crowdopt.studies.simulate import MatrixKind  # noqa: TC001 -- types are read at run time

if TYPE_CHECKING:
    from crowdopt._arrays import Floats


class SimulateCommand(QuietOptions, total=False):
    """The options of ``crowdopt simulate``."""

    truth: Annotated[str | None, Option(None, "Where the true labels go.", metavar="FILE")]
    tasks: Annotated[int, Option(1000, "Number of tasks.", least=1)]
    workers: Annotated[int, Option(50, "Number of workers.", least=1)]
    responses: Annotated[str, Option("5", "Responses per task.", metavar="N|LOW-HIGH")]
    skew: Annotated[
        float, Option(0.0, "With LOW-HIGH, makes few responses the rule; 0 for all numbers alike.", least=0)
    ]
    labels: Annotated[str, Option("no,yes", "The labels, lowest first.", metavar="LOW,HIGH,...", between=",")]
    selectivity: Annotated[
        str | None, Option(None, "How frequent each label is; equal if not given.", metavar="P,P,...", between=",")
    ]
    accuracy: Annotated[
        float | None, Option(None, "How often a worker is right; drawn at random if not given.", least=0, most=1)
    ]
    near: Annotated[
        float | None,
        Option(
            None,
            "With --accuracy: most errors are to neighbours, each step further has this share; if not given, all "
            "errors are alike.",
            least=0,
            most=1,
        ),
    ]
    kind: Annotated[
        MatrixKind | None,
        Option(
            None,
            "Random workers: whose likeliest answer is the true label (diagonal, the default), any, or of whom "
            "higher answers always speak for a higher label (mlr).",
        ),
    ]
    experts: Annotated[
        int, Option(0, "How many of the workers are experts, who err half as often as the others.", least=0)
    ]
    careless: Annotated[
        float,
        Option(0.0, "Share of the workers who answer whatever the task is, by habits of their own.", least=0, most=1),
    ]
    hard: Annotated[
        float,
        Option(0.0, "Share of the tasks that are hard: half of the answers to them are guesses.", least=0, most=1),
    ]
    seed: Annotated[int, Option(0, "Same seed, same crowd.", least=0)]


@command_with(SimulateCommand)
def simulate(
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where the responses go: .csv, .tsv, .parquet or .jsonl."),
    ],
    **options: Unpack[SimulateCommand],
) -> None:
    """Make up a crowd: a file of responses, and the truth behind them."""
    from crowdopt.results.write.files import together, write_columns
    from crowdopt.studies.simulate import crowd

    _check(output, options)
    truth, names, shares = options["truth"], split_texts(options["labels"]), options["selectivity"]
    with Console(quiet=options["quiet"]) as console:
        console.on_phase("simulating")
        made = crowd(
            options["tasks"],
            options["workers"],
            number_or_range(options["responses"], "--responses"),
            labels=names,
            selectivity=None if shares is None else split_numbers(shares, "--selectivity"),
            matrix=_matrix(len(names), options["accuracy"], options["near"]),
            kind=options["kind"] or "diagonal",
            skew=options["skew"],
            experts=options["experts"],
            careless=options["careless"],
            hard=options["hard"],
            seed=options["seed"],
        )
        console.on_phase("writing")
        with together():
            if truth is not None:
                write_columns(made.truth_dict(), truth)
            write_columns(made.to_dict(), output)
    if not options["quiet"] and "-" not in (output, truth):
        where = f", truth in {truth}" if truth else ""
        experts = f", of whom {made.experts[0]} to {made.experts[-1]} are experts," if options["experts"] else ""
        who = f"{options['workers']:,} workers{experts}"
        print(f"{len(made.label):,} responses of {who} to {options['tasks']:,} tasks in {output}{where}")


def _check(output: str, options: SimulateCommand) -> None:
    """Raises for options that contradict each other, or files that cannot be written."""
    from crowdopt.results.write.files import FORMATS, check_target

    truth, accuracy = options["truth"], options["accuracy"]
    for target in (output, truth):
        if target is not None:
            check_target(target, tuple(FORMATS))
    if truth is not None and os.path.realpath(truth) == os.path.realpath(output):
        raise InputError(f"responses and truth cannot both go to {output}")
    if accuracy is not None and options["kind"] is not None:
        raise InputError("--accuracy fixes how workers answer, --kind draws it at random: give one of them")
    if options["near"] is not None and accuracy is None:
        raise InputError("--near says how far errors go, and needs --accuracy: how many there are")


def _matrix(n_labels: int, accuracy: float | None, near: float | None) -> Floats | None:
    """How workers answer; None if that is drawn."""
    from crowdopt.studies.simulate import near_errors, uniform_errors

    if accuracy is None:
        return None
    return uniform_errors(n_labels, accuracy) if near is None else near_errors(n_labels, accuracy, near)
