"""Texts are written in the words of the command line, and Python says them with the names of its arguments."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdopt
from crowdopt import Consensus, Database, GlobalOptimum, Solution, Solutions, errors
from crowdopt._option import declared, flags_of
from crowdopt.options.verbs import AggregateOptions, CompareOptions, ProveOptions, VerifyOptions
from crowdopt.options.words import command_line_speaks, python_words, spoken, without_options
from support.messages import OPTION, messages

GROUPS = [AggregateOptions, ProveOptions, CompareOptions, VerifyOptions]
FLAGS = sorted({flag for group in GROUPS for name, (_, option) in declared(group).items()
                for flag in flags_of(name, option)})  # fmt: skip

VALUES = {
    "7", "COL", "FILE", "NAME", "ADDRESS", "TEXT", "all", "dominance", "drop", "drop-all", "error", "estimate",
    "export", "first", "id", "last", "marginal", "nominal", "none", "ordinal", "same", "table", "vote", "windows-1252",
    "7.*", "workflow_version = …",
}  # fmt: skip
"""What messages give as the value of an option; a word that is not among them may be one of the sentence."""


def test_there_are_messages_that_name_options():
    assert len(messages()) > 50


@pytest.mark.parametrize(("place", "said"), messages(), ids=[place for place, _ in messages()])
def test_no_message_names_an_option_in_python(place, said):
    translated = python_words(said)
    assert not OPTION.search(translated)
    values = re.findall(r'=(\[.*?\]|"[^"]*"(?: or "[^"]*")*)', translated)
    words = {word for value in values for word in re.findall(r'"([^"]*)"', value)}
    assert words <= VALUES, f"{place}: is that a value, or a word for NO_VALUES?"


@pytest.mark.parametrize(
    ("said", "in_python"),
    [
        ("add --missing drop to leave them out", 'add missing="drop" to leave them out'),
        ("try --scale nominal, or --space all", 'try scale="nominal", or space="all"'),
        ("--duplicates first|last with --order-by COL", 'duplicates="first" or "last" with order_by="COL"'),
        ("name it with --labels 10,20,30", 'name it with labels=["10", "20", "30"]'),
        ("--labels names a label twice: a, a", "labels names a label twice: a, a"),
        ("the order must be named: --labels, lowest first", "the order must be named: labels, lowest first"),
        ("scores need --bins (--bins 5 makes five)", "scores need bins (bins=5 makes five)"),
        ("for example --bins 0.5,", "for example bins=[0.5]"),
        ("--bins 0.3,0.7; or not", "bins=[0.3, 0.7]; or not"),
        ("did you mean --task 'my item'? (columns: x)", 'did you mean task="my item"? (columns: x)'),
        ('if so, --na "N/A,-" leaves it out', 'if so, na=["N/A", "-"] leaves it out'),
        ("did you mean --class tier?", 'did you mean class_="tier"?'),
        ("leave out --wide", "leave out wide=True"),
        ("--from toloka reads it", 'tool="toloka" reads it'),
        ("crowd-kit's slow methods: add --all", "crowd-kit's slow methods: add all_methods=True"),
        ("with --find-classes 8", "with find_classes=8"),
        ("(try --jobs 1)", "(try jobs=1)"),
        ("add --replace to write a new one", "add replace=True to write a new one"),
        ("run crowdopt aggregate on them", "run crowdopt.aggregate on them"),
        ("written with -o ADDRESS --output-table NAME", 'written with Database("ADDRESS", "NAME")'),
        ("label '--labels' is not on the scale", "label '--labels' is not on the scale"),
        *[(said, said) for said in ["worker 'w9 --gold' and 'it\\'s --wide'", '"x --task a" is none', "('--na',)"]],
        ("the truth's --gold, not 'crowdopt aggregate'", "the truth's gold, not 'crowdopt aggregate'"),
        ("'a'; the workers' --wide, or --task 'a b'", "'a'; the workers' wide=True, or task=\"a b\""),
        ("no --such option, no--labels", "no --such option, no--labels"),
    ],
)  # fmt: skip
def test_words_of_python(said, in_python):
    assert python_words(said) == in_python
    assert spoken(said) == in_python
    with command_line_speaks():
        assert spoken(said) == said
    assert spoken(said) == in_python


def test_a_verb_without_options_of_reading_is_not_told_of_them():
    said = "'a; --b' and \"c;'d\" are one; they count once (worker 'x'); --verbatim keeps 'a; b' apart; or not"
    assert without_options(said) == "'a; --b' and \"c;'d\" are one; they count once (worker 'x')"
    assert without_options("1 worker has blanks; do it in the data") == "1 worker has blanks; do it in the data"


@given(st.lists(st.sampled_from([*FLAGS, "all", "7", "COL", "a,b", "'a b'", "names", ",", ";", "(", ")", "drop", ""])))
def test_what_is_in_the_words_of_python_stays_as_it_is(parts):
    said = python_words(" ".join(parts))
    assert python_words(said) == said


TWICE = pd.DataFrame(
    [("a", "ann", "x"), ("a", "ann", "y"), ("b", "ann", "x"), ("b", "bob", "z")], columns=["task", "worker", "label"]
)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: crowdopt.aggregate(TWICE, duplicates="error"), errors.DuplicateError, 'duplicates="all"'),
        (lambda: crowdopt.prove(TWICE, duplicates="first"), errors.InputError, 'order_by="COL"'),
        (lambda: crowdopt.aggregate(TWICE, labels=["x"]), errors.InputError, "^labels must name"),
        (lambda: crowdopt.aggregate(TWICE, scale="ordinal"), errors.InputError, "must be named: labels, lowest"),
        (lambda: crowdopt.compare(TWICE, duplicates="error"), errors.DuplicateError, 'duplicates="all"'),
        (lambda: Consensus(duplicates="error").fit(TWICE), errors.DuplicateError, 'duplicates="all"'),
        (lambda: GlobalOptimum(duplicates="error").fit(TWICE), errors.DuplicateError, 'duplicates="all"'),
        (lambda: crowdopt.aggregate("sqlite:///x.db"), errors.InputError, "with table or query"),
        (lambda: Database("sqlite:///x.db", "a", "b"), errors.InputError, "leave out table or query"),
        (lambda: Solution.load("sqlite:///x.db"), errors.InputError, 'Database\\("ADDRESS", "NAME"\\)'),
        (lambda: Solutions.load("sqlite:///x.db"), errors.InputError, 'Database\\("ADDRESS", "NAME"\\)'),
        (lambda: crowdopt.verify("sqlite:///x.db", TWICE), errors.InputError, 'Database\\("ADDRESS", "NAME"\\)'),
    ],
)  # fmt: skip
def test_errors_name_arguments(call, error, said):
    with pytest.raises(error, match=said) as caught:
        call()
    one: BaseException | None = caught.value
    while one is not None:  # what it came of is shown in a traceback, too
        assert not OPTION.search(str(one))
        one = one.__cause__ or one.__context__
    assert any("crowdopt" in str(entry.path) for entry in caught.traceback)


def test_methods_of_solutions_name_arguments(tmp_path):
    rows = [(task, worker, "xy"[task % 2]) for task in range(6) for worker in "abc"]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"]).assign(p_x=1)
    solution = crowdopt.prove(data, keep=["p_x"])
    solution.save(tmp_path / "s.json")
    for call in (
        lambda: solution.answers_frame(probabilities=True),
        lambda: solution.answers_table(probabilities=True),
        lambda: solution.probabilities,
        lambda: solution.write(tmp_path / "a.csv", probabilities=True),
    ):
        with pytest.raises(errors.ColumnError, match="or do without probabilities=True"):
            call()
    with pytest.raises(errors.ClassError, match="leave out classes and class_"):
        solution.predict(data, classes={"a": "b"})


def test_the_command_line_has_its_own_words(crowdopt, tmp_path):
    TWICE.to_csv(tmp_path / "data.csv", index=False)
    said = crowdopt("aggregate", tmp_path / "data.csv", "--duplicates", "error", code=2)
    assert "say --duplicates all" in said
    assert spoken("--labels") == "labels"  # Python's again
