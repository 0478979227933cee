"""Rows that lack something, and workers who answer a task more than once: what counts, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdopt import Consensus, GlobalOptimum, Solution, Solutions, aggregate, compare, prove, verify
from crowdopt.data.odd_rows import Incomplete
from crowdopt.data.reading import Reading
from crowdopt.errors import DataWarning, DuplicateError, InputError
from crowdopt.options.words import python_words, without_options
from crowdopt.verify.verdict import Verdict
from support.dirty_rows import AGAIN, DIRTY, DISTINCT, INCOMPLETE, NOTES, ROWS
from support.servers import server
from support.ways import NAMES, WAYS, canonical, facts, to_arrow, to_pandas, to_polars

TOLD = (*NOTES[:-1], NOTES[-1].removesuffix("; --duplicates has other rules"))
"""What is said by a verb that has no such option."""

LONG = [way for way in WAYS if not way.startswith("wide")]


@pytest.mark.parametrize("way", LONG)
def test_every_way_in_counts_the_same_and_says_the_same(way, tmp_path):
    solution = prove(WAYS[way](DIRTY, tmp_path))
    assert solution.notes == NOTES
    clean = prove(to_pandas([*DISTINCT, *INCOMPLETE]))
    assert facts(solution) == facts(clean)
    assert (solution.totals.n_dropped, solution.totals.n_responses) == (4, len(DISTINCT))
    assert [row[2] for row in canonical(solution)].count("no_response") == 1
    consensus = aggregate(WAYS[way](DIRTY, tmp_path))
    assert consensus.notes == NOTES
    assert consensus.fingerprint == aggregate(to_pandas([*DISTINCT, *INCOMPLETE])).fingerprint
    assert verify(solution, to_pandas(DIRTY)).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("way", LONG)
def test_clean_rows_have_no_notes(way, tmp_path):
    assert aggregate(WAYS[way](ROWS, tmp_path)).notes == ()


@pytest.mark.full
def test_a_server_counts_distinct_answers_and_keeps_the_rows():
    table = to_arrow(DIRTY)
    solution = prove(server().load(table))
    assert solution.source.on_server
    assert solution.notes == NOTES
    workers = solution.workers().to_pydict()
    there = prove(table).workers().to_pydict()
    assert workers == there
    assert solution.source.digest == prove(table).source.digest


SMALL = [
    ("a", "ann", "x"), ("a", "ann", "y"), ("a", "ann", "x"), ("a", "bob", "x"), ("b", "ann", "y"), ("b", "ann", "y"),
    ("b", "bob", "x"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "votes"),
    [
        ({}, [(2, 1), (1, 1)]),
        ({"duplicates": "distinct"}, [(2, 1), (1, 1)]),
        ({"duplicates": "all"}, [(3, 1), (1, 2)]),
        ({"duplicates": "first", "order_by": "at"}, [(2, 0), (1, 1)]),
        ({"duplicates": "last", "order_by": "at"}, [(2, 0), (1, 1)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "csv"])
def test_what_every_rule_counts(rule, votes, kind, tmp_path):
    data = pd.DataFrame([(*row, at) for at, row in enumerate(SMALL)], columns=[*NAMES, "at"])
    data.to_csv(tmp_path / "data.csv", index=False)
    brought = {"pandas": data, "polars": to_polars(SMALL).with_row_index("at"), "duckdb": duckdb.from_df(data),
               "csv": tmp_path / "data.csv"}[kind]  # fmt: skip
    solution = prove(brought, labels=["x", "y"], **rule)
    found = {tuple(count) for count in solution.buckets.counts[:, 0].tolist()}
    assert found == set(votes)
    assert bool(solution.notes) == (rule.get("duplicates", "distinct") == "distinct")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("error", r"^2 \(task, worker\) pairs occur more than once: 1 with identical labels, 1 with conflicting ones"),
        ("error", r'first: \(a, ann\), \(b, ann\); leave out duplicates="error" to count each distinct answer once'),
        ("error", r'say duplicates="all" to count every row, or add duplicates="first" or "last" with order_by="COL"'),
        ("same", r'^1 \(task, worker\) pair has conflicting labels; first: \(a, ann\); leave out duplicates="same"'),
    ],
)  # fmt: skip
def test_rules_that_stop(rule, said):
    for brought in (to_pandas(SMALL), to_polars(SMALL), duckdb.from_df(to_pandas(SMALL))):
        with pytest.raises(DuplicateError, match=said):
            aggregate(brought, duplicates=rule)


@pytest.mark.parametrize("way", ["pandas", "duckdb", "csv", "postgresql"])
def test_identical_repeats_that_count_once_are_said_where_others_would_stop(way, tmp_path):
    rows = [*ROWS, AGAIN, AGAIN]
    found = aggregate(WAYS[way](rows, tmp_path), duplicates="same")
    assert found.notes == aggregate(to_pandas(rows)).notes
    assert found.notes[0].startswith("2 rows repeat an answer of the same worker to the same task; it counts once")
    assert found.totals.n_responses == len(ROWS)
    grouped_rows = pd.concat([to_pandas(rows).assign(kind="a"), to_pandas(SMALL).assign(kind="b")])
    groups = aggregate(grouped_rows, group="kind", duplicates="same", jobs=1)
    assert groups["a"].notes == found.notes
    assert "1 (task, worker) pair has conflicting labels" in groups.failures["b"]


rows_of_few = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]), st.sampled_from(["ann", "bob", "cy", None]),
        st.sampled_from(["x", "y", "z", None]),
    ),
    min_size=1, max_size=30,
)  # fmt: skip


@settings(max_examples=60)
@given(rows_of_few, st.randoms(use_true_random=False))
def test_notes_by_hand_whatever_the_order(rows, random):
    data = [*rows, *[(f"t{at}", "dora", "xyz"[at % 3]) for at in range(40)]]
    complete = [row for row in data if None not in row]
    pairs = {row[:2] for row in complete}
    kinds = {pair: sorted({row[2] for row in complete if row[:2] == pair}) for pair in pairs}
    again = sorted({row[:2] for row in complete if complete.count(row) > 1})
    conflicts = sorted(pair for pair in pairs if len(kinds[pair]) > 1)
    solution = prove(to_polars(data))
    numbers = [note.partition(" ")[0] for note in solution.notes]
    lost = len(data) - len(complete)
    times = "once" if len(conflicts) == 1 else str(len(conflicts))
    n_again = len(complete) - len(set(complete))
    assert numbers == [
        *([str(lost)] if lost else []),
        *([str(n_again)] if n_again else []),
        *([times] if conflicts else []),
    ]
    for pair, word in ((again[:1], "repeat"), (conflicts[:1], "different")):
        for task, worker in pair:
            assert any(word in note and f"worker {worker!r}, task {task!r}" in note for note in solution.notes)
    assert (solution.totals.n_responses, solution.totals.n_dropped) == (len(set(complete)), lost)
    random.shuffle(data)
    for other in (to_polars(data), duckdb.from_arrow(to_arrow(data))):
        same = prove(other)
        assert (facts(same), same.notes) == (facts(solution), solution.notes)


def test_notes_show_names_that_cannot_break_a_line():
    odd = "a\nb\x1b[31m" + "c" * 100
    data = to_pandas([(odd, odd, "x"), (odd, odd, "y"), ("b", "w", "x")])
    (note,) = aggregate(data).notes
    assert note.isprintable()
    assert len(note) < 300
    assert "a\\nb\\x1b[31m" in note


MOST = [(None, "w", "x"), ("a", "v", "x"), ("b", "v", "y"), *[("c", f"w{at}", None) for at in range(4)]]


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (MOST, {}, r"^5 of 7 rows are incomplete: 4 have no label \(column 'label'\); if that is another column,"),
        (MOST, {}, r'name it with label="COL", or else add missing="drop-all" to leave all these rows out$'),
        ([(task, None, "x") for task in range(3)], {}, r"3 of 3 rows are incomplete: 3 have no worker \(column 'wo"),
        ([(None, "w", "x"), ("a", "w", "x"), (None, "w", "y")], {}, r"2 of 3 .*2 have no task .* with task=\"COL\""),
        ([("a", "w", "?"), ("a", "v", "?"), ("b", "w", "x")], {"na": ["?"]}, r"2 of 3 .*2 have no label; if texts"),
        ([("a", "w", "NA"), ("a", "v", "NA"), ("b", "w", "x")], {"tidy": True}, "words that tidy=True leaves out"),
    ],
)  # fmt: skip
def test_more_than_half_incomplete_is_an_error(rows, options, said):
    for brought in (to_pandas(rows), to_polars(rows), duckdb.from_arrow(to_arrow(rows))):
        with pytest.raises(InputError, match=said):
            aggregate(brought, **options)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "comments",
            "have no label; if you mean another question, name it with --question NAME, or else add --missing ",
        ),
        ("", "have no label; add --missing drop-all to leave all these rows out"),
    ],
)
def test_an_export_has_questions_and_no_columns(question, said):
    nothing = Incomplete(rows=9, n=9, empty=0, without_id=0, parts={"task": 0, "worker": 0, "label": 9})
    with pytest.raises(InputError, match=said):
        nothing.check_few(Reading(tool="toloka", question=question))


def test_who_insists_may_leave_out_most_rows():
    solution = prove(to_pandas(MOST), missing="drop-all")
    assert (solution.totals.n_dropped, solution.totals.n_responses) == (5, 2)
    assert solution.notes == ("5 of 7 rows are incomplete and were left out: 1 without a task, 4 without a label",)
    with pytest.raises(
        InputError, match=r'^5 of 7 rows are incomplete \(.*\); leave out missing="error" to do without'
    ):
        prove(to_pandas(MOST), missing="error")


def test_half_of_the_rows_may_be_incomplete_and_empty_ones_are_none():
    rows = [("a", "v", "x"), ("b", "v", "y"), ("c", "w", None), ("d", None, "x")]
    assert prove(to_pandas(rows)).totals.n_dropped == 2
    empty = [(None, None, None)] * 20
    assert prove(to_pandas([*rows, *empty])).totals.n_dropped == 22
    with pytest.raises(InputError, match="23 of 25 rows are incomplete: 22 have no worker"):
        prove(to_pandas([*rows, ("e", None, "x"), *empty]))


def test_cells_of_a_wide_table_are_empty_without_a_word():
    wide = pd.DataFrame({"task": ["a", "b", "c"], "ann": ["x", None, None], "bob": [None, "y", None]})
    assert prove(wide, wide=True).notes == ()
    wide.loc[3] = [None, "x", "x"]
    found = prove(wide, wide=True)
    assert found.notes == ("2 of 8 cells are incomplete and were left out: 2 without a task",)
    assert "(2 incomplete cells left out)" in found.words().facts["responses"]
    twice = pd.concat([wide.iloc[:1], wide])
    assert prove(twice, wide=True).notes[1].startswith("1 cell repeats an answer of the same worker")
    assert verify(found, wide).claim.endswith("; 2 incomplete cells left out")


def test_empty_lines_are_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("task,worker,label\n\na,v,x\n\n\nb,w,y\n\n")
    (tmp_path / "a.jsonl").write_text(
        '{"task":"a","worker":"v","label":"x"}\n\n{"task":"b","worker":"w","label":"y"}\n'
    )
    for name in ("a.csv", "a.jsonl"):
        assert aggregate(tmp_path / name).notes == ()


def test_a_solution_reads_what_it_is_given_though_most_of_it_is_incomplete():
    solution = prove(to_pandas(ROWS))
    todo = [(f"c{at}", None, None) for at in range(len(ROWS))] + [(f"d{at}", "w1", None) for at in range(200)]
    with pytest.warns(DataWarning, match="without a label"):
        assert len(solution.predict(to_pandas([*ROWS, *todo]))) == 25 + len(todo)
    with pytest.warns(DataWarning, match="without a label"):
        solution.next_tasks(to_pandas([*ROWS, *todo]), 3)


# Groups.

GROUPS = [
    *[(*row, "clean") for row in ROWS],
    *[(*row, "dirty") for row in DIRTY],
    *[(*row, "third") for row in SMALL],
    ("a", "ann", "x", None),
]


def grouped(rows=GROUPS):
    return pd.DataFrame(rows, columns=[*NAMES, "kind"])


@pytest.mark.parametrize("verb", [aggregate, prove])
@pytest.mark.parametrize("kind", ["pandas", "duckdb"])
def test_groups_have_the_notes_of_their_rows_and_of_all(verb, kind, tmp_path):
    data = grouped() if kind == "pandas" else duckdb.from_df(grouped())
    solutions = verb(data, group="kind", jobs=1)
    for group in ("clean", "dirty", "third"):
        rows = grouped()[grouped()["kind"] == group].drop(columns="kind")
        assert solutions[group].notes == verb(rows).notes
        assert verify(solutions[group], rows).verdict is not Verdict.REJECTED
    assert solutions["dirty"].notes == NOTES
    incomplete, again, different = solutions.notes
    assert incomplete.startswith(f"5 of {len(GROUPS)} rows are incomplete and were left out: ")
    assert incomplete.endswith("1 without a group")
    assert again.startswith("5 rows repeat")
    assert different.startswith("2 times a worker gave different answers")
    assert solutions.summary()["notes"] == list(solutions.notes)
    solutions.save(tmp_path / "s.json")
    again = Solutions.load(tmp_path / "s.json")
    assert (again.notes, again["dirty"].notes) == (solutions.notes, solutions["dirty"].notes)
    assert verify(again, grouped(GROUPS[::-1])).notes == tuple(
        python_words(without_options(note)) for note in solutions.notes
    )
    silent = verify(replace(solutions, notes=()), data)
    assert silent.verdict is Verdict.REJECTED
    assert silent.reasons[0].startswith("what is odd about the rows is '5 of ")


def test_most_rows_of_all_groups_incomplete_is_an_error():
    rows = [("a", "w", None, "one"), ("a", "v", None, "one"), ("b", "v", "x", "two"), ("b", "w", "x", "two")]
    solutions = prove(grouped([*rows, ("b", "w", "y", "one")]), group="kind")
    assert solutions["one"].totals.n_dropped == 2  # most of a group may be: it is the right column
    with pytest.raises(InputError, match=r"3 of 5 rows are incomplete: 3 have no label .* name it with label"):
        prove(grouped([*rows, ("b", "w", None, "two")])[:5].assign(label=[None, None, "x", "x", None]), group="kind")
    with pytest.raises(InputError, match=r"3 of 4 rows are incomplete: 3 have no group \(column 'kind'\)"):
        prove(grouped(rows).assign(kind=[None, None, None, "two"], label="x"), group="kind")


# Where notes are said.


def test_the_command_line_says_them(crowdopt, invoke, tmp_path):
    to_pandas(DIRTY).to_csv(tmp_path / "data.csv", index=False)
    for verb in ("aggregate", "prove"):
        out = crowdopt(verb, tmp_path / "data.csv", "--solution", tmp_path / "s.json")
        words = " ".join(out.split())
        assert all(note in words for note in NOTES)
        assert out.index("data ") < out.index("tasks ")
        assert json.loads(crowdopt(verb, tmp_path / "data.csv", "--json"))["notes"] == list(NOTES)
        said = [f"crowdopt: note: {note}" for note in NOTES]
        for quiet in (["-q"], ["-o", "-"]):
            code, out, err = invoke(verb, tmp_path / "data.csv", *quiet)
            assert code == 0
            assert [line for line in err.splitlines() if "note: " in line] == said
            assert not any(note in out for note in NOTES)
        saved = Solution.load(tmp_path / "s.json")
        assert saved.notes == NOTES
        for command in (["verify"], ["workers"], ["predict"], ["next"]):
            out = crowdopt(*command, tmp_path / "s.json", tmp_path / "data.csv")
            assert [line.strip() for line in out.splitlines() if "data: " in line] == [f"data: {note}" for note in TOLD]
            told = json.loads(crowdopt(*command, tmp_path / "s.json", tmp_path / "data.csv", "--json"))["notes"]
            assert told == list(TOLD)
            _, _, err = invoke(*command, tmp_path / "s.json", tmp_path / "data.csv", "-q")
            assert [line for line in err.splitlines() if "note: " in line] == [
                f"crowdopt: note: {note}" for note in TOLD
            ]


def test_groups_say_them(crowdopt, tmp_path):
    grouped().to_csv(tmp_path / "data.csv", index=False)
    out = crowdopt("aggregate", tmp_path / "data.csv", "--group", "kind")
    notes = [line for line in out.splitlines() if line.startswith("data: ")]
    assert len(notes) == 3
    assert "without a group" in notes[0]


def test_the_report_and_a_notebook_show_them(tmp_path):
    for verb in (aggregate, prove):
        solution = verb(to_pandas(DIRTY))
        solution.report(tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text()
        assert "<dt>data</dt><dd>4 of " in page
        assert page.count("3 rows repeat an answer") == 1
        cell = solution._repr_html_()
        assert "3 rows repeat an answer" in cell
        assert "duplicates has other rules" in cell
        assert "--duplicates" not in cell


def said_of(call):
    with pytest.warns(DataWarning) as caught:
        call()
    found = [one for one in caught if issubclass(one.category, DataWarning)]
    assert all(one.filename == __file__ for one in found)
    return [str(one.message) for one in found]


def test_python_warns_in_its_own_words():
    expected = [f"note: {note.replace('--duplicates', 'duplicates')}" for note in NOTES]
    data = to_pandas(DIRTY)
    assert said_of(lambda: aggregate(data)) == expected
    assert said_of(lambda: prove(data)) == expected
    assert said_of(lambda: Consensus().fit(data)) == expected
    assert said_of(lambda: GlobalOptimum().fit_predict(data)) == expected
    solution = aggregate(to_pandas(ROWS))
    expected[-1] = expected[-1].removesuffix("; duplicates has other rules")  # which is no choice there
    assert said_of(lambda: solution.predict(data)) == expected
    assert said_of(lambda: solution.next_tasks(data)) == expected
    assert len(said_of(lambda: aggregate(grouped(), group="kind"))) == 3


@pytest.mark.filterwarnings("error::crowdopt.errors.DataWarning")
def test_nobody_is_warned_of_what_is_known():
    solution = aggregate(to_pandas(ROWS))
    solution.workers(to_pandas(ROWS))
    for rule in ({"duplicates": "all"}, {"duplicates": "first", "order_by": "at"}):
        prove(to_pandas(SMALL).assign(at=range(len(SMALL))), **rule)
    dirty = replace(aggregate(to_pandas(ROWS)), notes=())
    assert verify(dirty, to_pandas(ROWS)).notes == ()


def test_estimators_count_as_aggregate_does():
    data = to_pandas(DIRTY)
    assert Consensus().fit(data).solution_.fingerprint == aggregate(data).fingerprint
    every = Consensus(duplicates="all").fit(data).solution_
    assert every.totals.n_responses == len(DISTINCT) + 3
    fitted = GlobalOptimum().fit(data)
    assert fitted.certificate_.fingerprint == prove(data).certificate.fingerprint


# The solution file.


@pytest.mark.parametrize("verb", [aggregate, prove])
def test_verify_finds_the_notes_again(verb, tmp_path):
    solution = verb(to_pandas(DIRTY))
    found = verify(solution, to_pandas(DIRTY[::-1]))
    assert found.verdict in {Verdict.CONFIRMED, Verdict.REPRODUCED}
    assert found.notes == TOLD
    data = solution.to_dict()
    for forged in ([], [*NOTES, "all is well"], ["1 of 2 rows were left out"]):
        changed = verify(Solution.from_dict(data | {"notes": forged}), to_pandas(DIRTY))
        assert changed.verdict is Verdict.REJECTED
        assert "what is odd about the rows is" in changed.reasons[0]
    with pytest.raises(InputError, match="a note is there twice, or is empty"):
        Solution.from_dict(data | {"notes": ["", "x"]})
    with pytest.raises(InputError, match="damaged"):
        Solution.from_dict({name: value for name, value in data.items() if name != "notes"})


def test_workers_with_several_answers_to_a_task_have_their_own_counts():
    """By the rule ``distinct`` as by ``all`` where no row is repeated."""
    rows = [*SMALL, ("c", "bob", "x"), ("c", "cy", "x"), ("c", "cy", "y"), ("b", "cy", "x")]
    distinct = list(dict.fromkeys(rows))
    for verb in (aggregate, prove):
        ours, theirs = verb(to_pandas(rows)).workers(), verb(to_pandas(distinct), duplicates="all").workers()
        pd.testing.assert_frame_equal(ours, theirs)


def test_methods_that_are_compared_get_the_rows_that_count():
    with pytest.warns(DataWarning, match="repeat an answer"):
        found = compare(to_pandas(DIRTY), methods=["consensus", "vote"])
    clean = compare(to_pandas(DISTINCT), methods=["consensus", "vote"])
    assert found.notes[:3] == tuple(map(python_words, NOTES))
    assert found.n_responses == len(DISTINCT)
    assert [one.labels.tolist() for one in found.outcomes] == [one.labels.tolist() for one in clean.outcomes]
