"""Every option is declared once, and everything follows from its declaration."""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields

import pytest
import typer

import crowdopt
from crowdopt._option import declared
from crowdopt.cli.app import app
from crowdopt.data.reading import Reading
from crowdopt.options.verbs import (
    AggregateOptions,
    CompareOptions,
    ConsensusEstimatorOptions,
    EstimatorOptions,
    ProveOptions,
    VerifyOptions,
)

FUNCTIONS = {
    "aggregate": AggregateOptions,
    "prove": ProveOptions,
    "compare": CompareOptions,
    "verify": VerifyOptions,
    "Consensus": ConsensusEstimatorOptions,
    "GlobalOptimum": EstimatorOptions,
}
CALLED_OTHERWISE = {"class_column": "class_"}
"""Fields of a reading that options have another name for."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signature_lists_every_option(name):
    parameters = inspect.signature(getattr(crowdopt, name)).parameters
    for option, (kind, declaration) in declared(FUNCTIONS[name]).items():
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[option].annotation == kind
        if name[0].islower() or option != "duplicates":  # of estimators, where crowd-kit counts all of them
            assert parameters[option].default == declaration.default
    assert inspect.Parameter.VAR_KEYWORD not in {parameter.kind for parameter in parameters.values()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_describes_every_option(name):
    text = inspect.getdoc(getattr(crowdopt, name))
    for option, (_, declaration) in declared(FUNCTIONS[name]).items():
        assert f"\n    {option}: {(declaration.more or declaration.help)[:30]}" in text
    assert "\n    options: " not in text


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("aggregate", AggregateOptions),
        ("prove", ProveOptions),
        ("compare", CompareOptions),
        ("verify", VerifyOptions),
    ],
)
def test_the_command_line_takes_every_option(command, options):
    group = typer.main.get_command(app)
    parameters = {parameter.name: parameter for parameter in group.commands[command].params}
    for name, (_, declaration) in declared(options).items():
        assert parameters[name].help == declaration.help
        assert parameters[name].opts == (declaration.flag.split() or [f"--{name.replace('_', '-')}"])


def test_what_is_stored_in_files_has_the_declared_defaults():
    options = declared(ProveOptions)
    for field in fields(Reading):
        name = CALLED_OTHERWISE.get(field.name, field.name)
        if name in {"group", "found", "export_gold"}:  # an argument of its own, what is found, and one value of gold
            continue
        default = options[name][1].default
        assert field.default == default or (field.default, default) in {
            ("", None), ((), None), ("", "auto"),
        }  # fmt: skip


def test_editors_see_the_options():
    """The implementation takes ``**options: Unpack[…]``, which type checkers and editors expand."""
    hints = inspect.signature(inspect.unwrap(crowdopt.prove)).parameters["options"].annotation
    assert hints == "Unpack[ProveOptions]"
    assert typing.is_typeddict(ProveOptions)


@pytest.mark.parametrize("name", ["lables", "options"])
def test_an_unknown_option_is_a_type_error(name):
    for function, called in ((crowdopt.prove, "prove"), (crowdopt.compare, "compare")):
        with pytest.raises(TypeError, match=rf"{called}\(\) got an unexpected keyword argument '{name}'"):
            function("responses.csv", **{name: ["a"]})
    with pytest.raises(TypeError, match=rf"GlobalOptimum.__init__\(\) got an unexpected keyword argument '{name}'"):
        crowdopt.GlobalOptimum(**{name: 1})
