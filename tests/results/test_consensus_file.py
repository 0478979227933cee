"""The file of a consensus: there and back, damaged in every way, and the workers beside it."""

from __future__ import annotations

import copy
import hashlib
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdopt import Solution, aggregate, prove
from crowdopt.errors import CrowdoptError, OutputError, SolutionFileError
from crowdopt.results.solution_consensus import ConsensusSolution
from crowdopt.results.solution_file.parts import same
from crowdopt.results.solution_proof import ProofSolution
from crowdopt.results.solutions import Solutions
from support.mixed_crowds import grouped_crowds, mixed_crowd

VARIANTS = {
    "two labels": ({}, {}),
    "ratings": ({"labels": (1, 2, 3)}, {}),
    "a label that nobody gave": ({}, {"labels": ["no", "maybe", "yes"]}),
    "gold": ({}, {"gold": {"t0": "yes", "t1": "no"}}),
    "shares": ({}, {"label_shares": {"no": 0.3, "yes": 0.7}}),
    "alone": ({"n_tasks": 1}, {"labels": ["no", "yes"]}),
}


@pytest.fixture(params=VARIANTS)
def solution(request) -> ConsensusSolution:
    crowd, options = VARIANTS[request.param]
    return aggregate(mixed_crowd(**crowd), **options)


@pytest.fixture
def few_inside(monkeypatch):
    """Files have workers beside them, however few these are."""
    monkeypatch.setattr("crowdopt.results.solution_file.format.MOST_INSIDE", 0)


def test_there_and_back(solution, tmp_path):
    data = json.loads(json.dumps(solution.to_dict(), allow_nan=False))
    assert data == solution.to_dict()
    assert (data["kind"], data["format_version"]) == ("consensus", 5)
    again = Solution.from_dict(data)
    assert isinstance(again, ConsensusSolution)
    assert again.to_dict() == data
    assert again.summary() == solution.summary()
    assert (again.words(), repr(again)) == (solution.words(), repr(solution))
    solution.save(tmp_path / "solution.json")
    assert ConsensusSolution.load(tmp_path / "solution.json").to_dict() == data
    assert [file.name for file in tmp_path.iterdir()] == ["solution.json"]
    with pytest.raises(CrowdoptError, match="loaded from a file has no tasks"):
        again.answers  # noqa: B018


def test_a_file_of_the_other_kind_is_refused(tmp_path):
    aggregate(mixed_crowd()).save(tmp_path / "consensus.json")
    prove(mixed_crowd()).save(tmp_path / "proof.json")
    with pytest.raises(SolutionFileError, match="this is the file of a consensus, and one of a proof is needed"):
        ProofSolution.load(tmp_path / "consensus.json")
    with pytest.raises(SolutionFileError, match="this is the file of a proof, and one of a consensus is needed"):
        ConsensusSolution.load(tmp_path / "proof.json")
    assert {Solution.load(tmp_path / f"{kind}.json").kind for kind in ("proof", "consensus")} == {"proof", "consensus"}


@pytest.mark.parametrize("kind", ["vote", "", None, "PROOF", 1])
def test_another_kind_is_damage(kind):
    with pytest.raises(SolutionFileError, match="not a consensus or a proof"):
        Solution.from_dict(aggregate(mixed_crowd()).to_dict() | {"kind": kind})


def test_what_one_kind_says_is_not_taken_for_the_other():
    consensus, proof = aggregate(mixed_crowd()).to_dict(), prove(mixed_crowd()).to_dict()
    for data, kind in ((consensus, "proof"), (proof, "consensus")):
        with pytest.raises(SolutionFileError, match="is missing"):
            Solution.from_dict(data | {"kind": kind})
    with pytest.raises(SolutionFileError, match="does not belong there"):
        Solution.from_dict(proof | consensus)


# Damage.


def paths(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def changed(data, path, value):
    data = copy.deepcopy(data)
    at(data, path[:-1])[path[-1]] = value
    return data


FREE = ("crowdopt_version",)
OF_PYTHON = re.compile(r"invalid literal|int\(\)|inhomogeneous|could not convert|ufunc|dtype|len\(\)|NoneType|object")
"""Words of errors in conversions, which tell a user nothing; but for what JSON calls an object."""


@pytest.mark.grid
@pytest.mark.parametrize("wrong", [None, "x", [], {}, True, 1.5, -1, 10**30, float("nan"), [None], [[]]], ids=repr)
def test_a_value_of_the_wrong_kind_is_damage_wherever_it_is(solution, wrong):
    data, said = solution.to_dict(), []
    for path in paths(data):
        if not path or path == FREE:
            continue
        broken = changed(data, path, wrong)
        try:
            loaded = Solution.from_dict(broken)
        except SolutionFileError as error:
            said.append(str(error))
            continue
        assert same(loaded.to_dict(), broken), path
        kinds = {type(wrong), type(at(data, path))}
        assert len(kinds) == 1 or kinds == {int, float} or path[0] == "agreement", path
    assert [text for text in said if OF_PYTHON.search(text.replace("JSON object", ""))] == []


def test_what_is_missing_or_too_much_is_damage_wherever_it_is(solution):
    data = solution.to_dict()
    for path in paths(data):
        value = at(data, path)
        if isinstance(value, dict):
            with pytest.raises(SolutionFileError):
                Solution.from_dict(changed(data, (*path, "extra"), 1))
        if not path or (path[0], len(path)) in {("reading", 3), ("doubts", 2)}:
            continue  # a shorter list is one that a file can have; verify judges it
        broken = copy.deepcopy(data)
        del at(broken, path[:-1])[path[-1]]
        with pytest.raises(SolutionFileError):
            Solution.from_dict(broken)


POPULATION, WORKERS = ("parameters", "population"), ("parameters", "workers")


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        ((*POPULATION, "vote_precision"), lambda _: 0.0, "should be positive"),
        ((*WORKERS, "vote_precision", 1), lambda _: -1.0, "should be positive"),
        ((*WORKERS, "vote_precision", 1), lambda _: float("inf"), "should be positive"),
        ((*WORKERS, "tilted_matrix", 0, 0, 0), lambda p: p + 1e-3, "'tilted_matrix' of its workers .* sum to 1"),
        ((*WORKERS, "kinds_matrix", 2, 0), lambda _: [1.5, -0.5], "shares that sum to 1"),
        ((*POPULATION, "vote_shares"), lambda row: [*row, 0.0], "should be numbers by"),
        ((*POPULATION, "tilted_kinds", 0, 0), lambda p: p - 1e-3, "shares that sum to 1"),
        ((*WORKERS, "names", 0), lambda _: "w1", "a worker twice"),
        ((*WORKERS, "names"), lambda names: [*names, "new"], "should be numbers by"),
        (("label_tasks", 0), lambda n: n + 1, "not as many as its tasks"),
        (("expected_answers", 0, 0), lambda n: n + 1, "not as many as its responses"),
        (("expected_answers", 0), lambda row: [row[0] + 2 * row[1], -row[1]], "a number from 0 for each"),
        (("expected_answers", 1, 0), lambda _: float("inf"), "a number from 0 for each"),
        (("expected_answers", 0), lambda row: [*row, 0.0], "whole numbers, as many|does not hold numbers"),
        (("expected_answers",), lambda rows: rows[:1], "a number from 0 for each"),
        (("n_uncertain",), lambda _: 1000, "more labels are uncertain or tied"),
        (("n_tied",), lambda _: 1000, "more labels are uncertain or tied"),
        (("n_uncertain",), lambda _: 14, "mean confidence is not that"),
        (("mean_confidence",), lambda _: 0.5, "mean confidence is not that"),
        (("mean_confidence",), lambda _: 1.5, "not a share"),
        (("given_shares",), lambda _: [0.9, 0.1], "given shares of its labels are not those"),
        (("given_shares",), lambda _: [1.0], "given shares of its labels are not those"),
        (("fingerprint",), lambda text: text[:-1], "not a fingerprint"),
        (("fingerprint",), str.upper, "not a fingerprint"),
        (("agreement",), lambda _: {"alpha": 0.5, "pairwise": None}, "agreement is none"),
        (("agreement", "alpha"), lambda _: 1.5, "agreement is none"),
        (("doubts",), lambda _: ["x", "x"], "a doubt is there twice"),
        (("doubts",), lambda _: [" "], "a doubt is there twice, or is empty"),
        (("scale", "labels"), lambda labels: [labels[0]] * 2, "a label twice"),
        (("totals", "n_workers"), lambda _: 2, "workers are not as many"),
        (("totals", "n_responses"), lambda _: 3, "workers are not as many"),
        (("reading", "classes"), lambda _: [["w1", "a"]], "knows no classes"),
        (("reading", "class_column"), lambda _: "pool", "knows no classes"),
    ],
)
def test_lies_that_can_be_seen_without_data_are_damage(path, change, said):
    data = aggregate(mixed_crowd()).to_dict()
    with pytest.raises(SolutionFileError, match=said):
        Solution.from_dict(changed(data, path, change(at(data, path))))


# The workers beside.


def test_many_workers_are_in_a_file_beside(solution, tmp_path, few_inside):
    path, beside = tmp_path / "solution.json", tmp_path / "solution.workers.parquet"
    solution.save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, beside.name]
    said = json.loads(path.read_text())["parameters"]["workers"]
    assert said == {"file": beside.name, "sha256": hashlib.sha256(beside.read_bytes()).hexdigest()}
    loaded = Solution.load(path)
    assert loaded.to_dict() == solution.to_dict()
    for name, values in solution.parameters.workers.items():
        assert np.array_equal(loaded.parameters.workers[name], values)


def test_the_limit_is_a_million_numbers():
    from crowdopt.results.solution_file.workers import MOST_INSIDE, n_numbers

    solution = aggregate(mixed_crowd())
    assert MOST_INSIDE == 1_000_000
    assert n_numbers({"": solution}) == 5 * (1 + 4 + 8)


def test_both_files_can_be_moved_and_reached_by_a_link(tmp_path, few_inside):
    solution = aggregate(mixed_crowd())
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "there.json")
    solution.save(tmp_path / "link.json")
    assert sorted(file.name for file in (tmp_path / "real").iterdir()) == ["there.json", "there.workers.parquet"]
    assert Solution.load(tmp_path / "link.json").to_dict() == solution.to_dict()
    (tmp_path / "real").rename(tmp_path / "moved")
    (tmp_path / "moved" / "there.json").rename(tmp_path / "moved" / "other.json")
    assert Solution.load(tmp_path / "moved" / "other.json").to_dict() == solution.to_dict()


def test_a_file_beside_that_is_not_there_or_another_is_refused(tmp_path, few_inside):
    path, beside = tmp_path / "solution.json", tmp_path / "solution.workers.parquet"
    aggregate(mixed_crowd()).save(path)
    whole = beside.read_bytes()
    for spoilt in (whole[:-1], whole + b"x", b"", bytes([*whole[:200], whole[200] ^ 1, *whole[201:]])):
        beside.write_bytes(spoilt)
        with pytest.raises(SolutionFileError, match=r"solution.workers.parquet is not the one"):
            Solution.load(path)
    beside.unlink()
    with pytest.raises(SolutionFileError, match=r"solution.workers.parquet is not there: .* keep both together"):
        Solution.load(path)
    with pytest.raises(SolutionFileError, match="not where it says"):
        Solution.from_dict(json.loads(path.read_text()))


@pytest.mark.parametrize(
    "name", ["../x.workers.parquet", "/etc/x.workers.parquet", "a\\x.workers.parquet", "x.parquet", "", None, 3]
)
def test_only_a_file_beside_it_is_read(tmp_path, few_inside, name):
    path = tmp_path / "solution.json"
    aggregate(mixed_crowd()).save(path)
    data = json.loads(path.read_text())
    data["parameters"]["workers"]["file"] = name
    path.write_text(json.dumps(data))
    with pytest.raises(SolutionFileError, match="damaged"):
        Solution.load(path)


def refitted(path, change):
    """The files with a changed table beside them, as a liar with a calculator makes them fit."""
    beside = path.with_name("solution.workers.parquet")
    pq.write_table(change(pq.read_table(beside)), beside)
    data = json.loads(path.read_text())
    data["parameters"]["workers"]["sha256"] = hashlib.sha256(beside.read_bytes()).hexdigest()
    path.write_text(json.dumps(data))


def with_column(table, name, values):
    at_ = table.column_names.index(name)
    return table.set_column(at_, name, pa.array(values, table.schema.field(name).type))


TABLES = {
    "a column less": lambda table: table.drop_columns(["kinds_matrix"]),
    "a column more": lambda table: table.append_column("more", table["worker"]),
    "a row less": lambda table: table.slice(1),
    "no rows": lambda table: table.slice(0, 0),
    "a row twice": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "another group": lambda table: with_column(table, "group", ["x"] * 5),
    "two groups": lambda table: with_column(table, "group", ["", "", "", "x", "x"]),
    "a group twice": lambda table: with_column(table, "group", ["", "x", "", "x", "x"]),
    "a missing name": lambda table: with_column(table, "worker", ["w0", "w1", "w2", "w3", None]),
    "a missing number": lambda table: with_column(table, "vote_precision", [1.0, 2.0, 3.0, 4.0, None]),
    "not a number": lambda table: with_column(table, "vote_precision", [1.0, 2.0, 3.0, 4.0, float("nan")]),
    "a missing entry": lambda table: with_column(table, "tilted_matrix", [[0.5, 0.5, 0.5, None]] * 5),
    "rows of other lengths": lambda table: with_column(
        table, "tilted_matrix", [[0.5] * 6, [0.5] * 2, *[[0.5] * 4] * 3]
    ),
    "longer rows": lambda table: with_column(table, "tilted_matrix", [[1 / 3] * 9] * 5),
    "no shares": lambda table: with_column(table, "tilted_matrix", [[0.5, 0.4, 0.5, 0.5]] * 5),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_damaged_file_beside_is_damage(tmp_path, few_inside, name):
    path = tmp_path / "solution.json"
    aggregate(mixed_crowd(3)).save(path)
    assert len(Solution.load(path).worker_names) == 5
    refitted(path, TABLES[name])
    with pytest.raises(SolutionFileError, match="damaged"):
        Solution.load(path)


def test_a_file_beside_that_is_no_table_is_damage(tmp_path, few_inside):
    path, beside = tmp_path / "solution.json", tmp_path / "solution.workers.parquet"
    aggregate(mixed_crowd()).save(path)
    beside.write_bytes(b"PAR1 and nothing else")
    data = json.loads(path.read_text())
    data["parameters"]["workers"]["sha256"] = hashlib.sha256(beside.read_bytes()).hexdigest()
    path.write_text(json.dumps(data))
    with pytest.raises(SolutionFileError, match="no Parquet file"):
        Solution.load(path)


@pytest.mark.parametrize("broken", ["write_text", "whole_file"])
def test_both_files_are_written_or_none(tmp_path, few_inside, monkeypatch, broken):
    path = tmp_path / "solution.json"
    first, second = aggregate(mixed_crowd()), aggregate(mixed_crowd(5))
    first.save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def fail(*_):
        raise OutputError("the disk is full")

    monkeypatch.setattr(f"crowdopt.results.write.files.{broken}", fail)
    with pytest.raises(OutputError, match="the disk is full"):
        second.save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert Solution.load(path).to_dict() == first.to_dict()


# Groups.


@pytest.mark.parametrize("inside", [10**6, 0])
def test_groups_there_and_back(tmp_path, monkeypatch, inside):
    monkeypatch.setattr("crowdopt.results.solution_file.format.MOST_INSIDE", inside)
    solutions = aggregate(grouped_crowds(), group="group")
    path = tmp_path / "solutions.json"
    solutions.save(path)
    assert len([*tmp_path.iterdir()]) == (1 if inside else 2)
    again = Solutions.load(path)
    assert again.to_dict() == solutions.to_dict()
    assert {one.kind for one in again.values()} == {"consensus"}
    for group, one in solutions.items():
        assert again[group].to_dict() == one.to_dict()


def test_groups_of_two_kinds_are_damage():
    data = aggregate(grouped_crowds(), group="group").to_dict()
    other = prove(grouped_crowds(), group="group").to_dict()
    assert {entry["kind"] for entry in data["groups"]} == {"consensus"}
    mixed = data | {"groups": [data["groups"][0], *other["groups"][1:]]}
    with pytest.raises(SolutionFileError, match="two kinds"):
        Solutions.from_dict(mixed)


def test_groups_of_two_files_beside_are_damage(tmp_path, few_inside):
    path = tmp_path / "solutions.json"
    aggregate(grouped_crowds(), group="group").save(path)
    data = json.loads(path.read_text())
    data["groups"][1]["parameters"]["workers"]["sha256"] = "0" * 64
    path.write_text(json.dumps(data))
    with pytest.raises(SolutionFileError, match="in several files"):
        Solutions.load(path)
