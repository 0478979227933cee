"""What each verb takes and refuses, and what is said where nothing else is printed."""

from __future__ import annotations

import json

import pytest

from crowdopt import Consensus, GlobalOptimum, aggregate, prove
from crowdopt._option import declared, flags_of
from crowdopt.errors import CheckWarning, InputError
from crowdopt.options.verbs import AggregateOptions, ProveOptions
from support.ways import ROWS, to_pandas, to_text

OF_PROVE = sorted(declared(ProveOptions).keys() - declared(AggregateOptions).keys())


def test_there_are_options_of_prove_only():
    assert {"engine", "selectivity", "find_classes", "classes", "smoothing", "time_limit", "seed"} <= set(OF_PROVE)


@pytest.mark.parametrize("name", OF_PROVE)
def test_options_of_prove_are_refused_by_name(name, fails):
    with pytest.raises(InputError, match=rf"aggregate has no option '{name}': it belongs to prove"):
        aggregate(to_pandas(ROWS), **{name: 1})
    flag = flags_of(name, declared(ProveOptions)[name][1])[0]
    message = fails(
        "aggregate", "data.csv", flag, "1", "-o", "a.csv", files={"data.csv": b"task,worker,label\na,x,y\n"}
    )
    assert flag in message
    assert "crowdopt prove" in message
    assert ("--label-shares" in message) == (name == "selectivity")


def test_shares_have_the_name_of_each_verb(fails):
    with pytest.raises(InputError, match=r"prove has no option 'label_shares'; .* are selectivity here"):
        prove(to_pandas(ROWS), label_shares="no=0.5,yes=0.5")
    said = fails("prove", "data.csv", "--label-shares", "1", files={"data.csv": b"task,worker,label\na,x,y\n"})
    assert "with --selectivity" in said
    assert "Possible options" not in said


@pytest.mark.parametrize("option", ["--truth", "--gold", "--label-shares", "-o", "--wide=1"])
def test_options_with_too_little_or_too_much_are_one_line(option, fails):
    said = fails("aggregate", "data.csv", option, files={"data.csv": b"task,worker,label\na,x,y\n"})
    assert option.partition("=")[0] in said
    assert "--help" in said
    assert "prove" not in said


def test_an_option_that_nobody_has_is_a_mistake_of_the_caller():
    with pytest.raises(TypeError, match="'engin'"):
        aggregate(to_pandas(ROWS), engin="vote")


def test_a_warning_shows_the_line_of_the_caller():
    for run in (aggregate, prove, lambda data: Consensus().fit(data), lambda data: GlobalOptimum().fit(data)):
        with pytest.warns(CheckWarning) as caught:
            run(to_pandas(ROWS[:1]))
        assert {one.filename for one in caught} == {__file__}


def test_what_to_check_is_said_also_where_nothing_else_is_printed(invoke, tmp_path):
    path, solution = to_text(ROWS[:1], tmp_path), tmp_path / "solution.json"
    for verb in ("aggregate", "prove"):
        for options in (("-q",), ("-o", "-")):
            code, _, err = invoke(verb, path, *options)
            assert (code, err.count("crowdopt: CHECK: no task was answered by two workers")) == (0, 1)
        code, out, err = invoke(verb, path, "-q", "--json", "--solution", solution)
        assert (code, err) == (0, "")
        assert json.loads(out)["check"]
        for follow in (("workers", solution, path), ("next", solution, path), ("verify", solution, path)):
            code, out, err = invoke(*follow, "-q")
            assert (code, out, err.count("crowdopt: CHECK: ")) == (0, "", 1)
