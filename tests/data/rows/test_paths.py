"""Values inside objects of JSON Lines, by their paths."""

from __future__ import annotations

import json

import pytest

import crowdopt
from crowdopt.errors import ColumnError, InputError

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")

NAMES = {"task": "item.id", "worker": "by.o.1.name", "label": "verdict.score"}


def rows():
    return [
        {
            "item": {"id": f"t{task}", "lang": "en" if task % 2 else "fr", "a/b~c": f"k{task}"},
            "by": {"o.1": {"name": f"w{worker}"}},
            "verdict": {"score": 1 + (task + worker) % 3, "why": ["x"]},
            "item.flat": "top",
        }
        for task in range(8)
        for worker in range(3)
    ]


def written(path, some=None):
    (path / "r.jsonl").write_text("\n".join(map(json.dumps, rows() if some is None else some)))
    return path / "r.jsonl"


def test_a_path_names_a_column(tmp_path):
    path = written(tmp_path)
    solution = crowdopt.aggregate(path, **NAMES, keep=["item.lang", "item.a/b~c", "item.flat"])
    found = solution.source.responses.table.collect().to_arrow().to_pylist()
    assert sorted((row["task"], row["worker"], row["label"]) for row in found) == sorted(
        (row["item"]["id"], row["by"]["o.1"]["name"], row["verdict"]["score"]) for row in rows()
    )
    first = solution.answers.to_pylist()[0]
    assert [first[name] for name in ("task", "item_lang", "item_a/b~c", "item_flat")] == ["t0", "fr", "k0", "top"]
    solution.save(tmp_path / "s.json")
    assert crowdopt.verify(crowdopt.Solution.load(tmp_path / "s.json"), path).verdict == "REPRODUCED"
    assert len(solution.workers()) == 3


def test_groups_and_filters_take_paths(tmp_path):
    solutions = crowdopt.aggregate(written(tmp_path), **NAMES, group="item.lang", where="verdict.score <= 2")
    n = {group: solution.totals.n_responses for group, solution in solutions.items()}
    assert n == {
        lang: sum(row["item"]["lang"] == lang and row["verdict"]["score"] <= 2 for row in rows())
        for lang in ("en", "fr")
    }
    assert solutions.answers.column_names[0] == "item_lang"


def test_a_key_with_a_dot_goes_before_a_path(tmp_path):
    some = [row | {"verdict.score": "top"} for row in rows()]
    solution = crowdopt.aggregate(written(tmp_path, some), **NAMES)
    assert solution.scale.labels == ("top",)


def test_two_paths_of_one_name_are_an_error(tmp_path):
    some = [row | {"verdict": {"a": {"b.score": 1}, "a.b": {"score": 2}}} for row in rows()]
    with pytest.raises(ColumnError, match=r"2 columns named 'verdict\.a\.b\.score'"):
        crowdopt.aggregate(written(tmp_path, some), **NAMES | {"label": "verdict.a.b.score"})


def test_rows_that_lack_the_object_lack_the_value(tmp_path):
    some = [*rows(), {"item": {"id": "t0"}, "by": None, "verdict": None}, {"item": {"id": "t1"}, "verdict": "failed"}]
    solution = crowdopt.aggregate(written(tmp_path, some), **NAMES)
    assert (solution.totals.n_responses, solution.totals.n_dropped) == (24, 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"label": "verdict.scores"},
            r"no column named 'verdict\.scores'.*did you mean label=\"verdict.score\"\?.*item\.id",
        ),
        ({"label": "verdict"}, r"no column named 'verdict' .*verdict\.score, verdict\.why"),
        (
            {"task": "t", "worker": "w", "label": "verdict"},
            r"'verdict' is nested \(an object .*verdict\.score, verdict\.why",
        ),
        ({"label": "verdict.why"}, r"column 'verdict\.why' is nested \(a list"),
    ],
)
def test_errors_list_the_paths_that_there_are(tmp_path, options, said):
    with pytest.raises(ColumnError, match=said):
        crowdopt.aggregate(written(tmp_path, [row | {"t": "a", "w": "b"} for row in rows()]), **NAMES | options)


def test_values_of_two_types_are_found_at_their_line(tmp_path):
    some = rows()
    some[4]["verdict"]["score"] = "bad"
    with pytest.raises(InputError, match=r"'verdict\.score' is a number in some rows and text in others .*line 5"):
        crowdopt.aggregate(written(tmp_path, some), **NAMES)


def test_all_files_must_have_the_path(tmp_path):
    first = written(tmp_path)
    second = tmp_path / "s.csv"
    second.write_text("item.id,by.o.1.name,verdict.score\nt0,w9,1\n")
    with pytest.raises(InputError, match=r"'verdict\.score' has numbers in .* and texts in"):
        crowdopt.aggregate([first, second], **NAMES)


def test_paths_go_with_the_names_of_files(tmp_path):
    for worker in ("w0", "w1", "w2"):
        own = [row for row in rows() if row["by"]["o.1"]["name"] == worker]
        written(tmp_path, own).rename(tmp_path / f"{worker}.jsonl")
    solution = crowdopt.aggregate(
        sorted(tmp_path.iterdir()), task="item.id", label="verdict.score", keep=["item.lang"], worker_from_file=True
    )
    found = solution.source.responses.table.collect().to_arrow().to_pylist()
    assert sorted((row["task"], row["worker"], row["label"]) for row in found) == sorted(
        (row["item"]["id"], row["by"]["o.1"]["name"], row["verdict"]["score"]) for row in rows()
    )


JUDGES = ("claude-3.5", "o1", "gpt.4.1")


def judged(**beside):
    return [
        {
            "id": f"t{task}",
            "judgements": {judge: {"verdict": "yes" if task % 2 else "no", "score": task} | beside for judge in JUDGES},
            "flat": dict.fromkeys(JUDGES, "yes" if task % 3 else "no"),
        }
        for task in range(6)
    ]


def workers_of(path, pattern):
    solution = crowdopt.aggregate(path, task="id", worker_columns=pattern)
    return {worker for worker, *_ in zip(*solution.workers().to_pydict().values(), strict=True)}, solution.scale.labels


@pytest.mark.parametrize("pattern", ["judgements.*.verdict", "flat.*"])
def test_a_pattern_stands_for_one_key(tmp_path, pattern):
    path = written(tmp_path, judged(raw={"verdict": "perhaps"}, why=["x"]))
    assert workers_of(path, pattern) == ({*JUDGES}, ("no", "yes"))


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (
            "judgements.*",
            r"the \* of 'judgements\.\*' is one key.*objects.*'judgements\.\*\.verdict', 'judgem.*\.score'",
        ),
        ("judge*", "column 'judgements' is nested"),
        ("judge*ict", r"write 'judge\*\.claude-3\.5\.verdict'"),
        ("flat.*.verdict", r"no column is like 'flat\.\*\.verdict'"),
    ],
)
def test_a_pattern_does_not_stand_for_several_keys(tmp_path, pattern, said):
    with pytest.raises(ColumnError, match=said):
        crowdopt.aggregate(written(tmp_path, judged()), task="id", worker_columns=pattern)


def test_where_one_value_is_an_object_the_pattern_is_an_error(tmp_path):
    some = judged()
    some[3]["flat"]["o1"] = {"verdict": "yes"}
    with pytest.raises(ColumnError, match=r"objects under it: write 'flat\.\*\.verdict'"):
        crowdopt.aggregate(written(tmp_path, some), task="id", worker_columns="flat.*")


def test_names_of_text_files_are_no_paths(tmp_path):
    (tmp_path / "r.csv").write_text("id,score.claude-3.5.a,score.o1\n" + "".join(f"t{n},yes,no\n" for n in range(4)))
    assert workers_of(tmp_path / "r.csv", "score.*")[0] == {"claude-3.5.a", "o1"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"worker": "judgements.judge", "label": "judgements.verdict"}, "judgements"),
        ({"worker": "deep.list.judge", "label": "deep.list.verdict"}, r"deep\.list"),
        ({"worker_columns": "judgements.*.verdict"}, "judgements"),
        ({"worker_columns": "judgements.*"}, "judgements"),
    ],
)
def test_lists_are_not_read_and_the_error_says_what_to_do(tmp_path, options, named):
    answers = [{"judge": "a", "verdict": "yes"}, {"judge": "b", "verdict": "no"}]
    path = written(tmp_path, [{"id": f"t{n}", "judgements": answers, "deep": {"list": answers}} for n in range(3)])
    with pytest.raises(
        ColumnError, match=f"'{named}' is a list, and lists are not read; write a row for each"
    ) as raised:
        crowdopt.aggregate(path, task="id", **options)
    assert "did you mean" not in str(raised.value)
