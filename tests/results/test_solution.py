"""Solutions and their files: there and back, damaged in every way, whole or not at all."""

from __future__ import annotations

import copy
import gc
import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest

from crowdopt import Proof, Solution, prove
from crowdopt.errors import ColumnError, CrowdoptError, InputError, OutputError, SolutionFileError
from crowdopt.model.certificate import Certificate
from crowdopt.results.solution_file.parts import same

ROWS = [
    ("a", "ann", "yes"), ("a", "bob", "yes"), ("b", "ann", "no"), ("b", "bob", "yes"),
    ("c", "bob", "no"), ("d", "ann", "no"), ("d", "bob", "no"), ("d", "eve", "yes"),
]  # fmt: skip
TRUTH = pd.DataFrame({"task": ["a", "b", "z"], "label": ["yes", "yes", "no"]})


def frame(rows=ROWS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


VARIANTS = {
    "plain": {},
    "estimate": {"selectivity": "estimate"},
    "given": {"selectivity": {"no": 0.3, "yes": 0.7}, "space": "all"},
    "given-dominance": {"selectivity": "no=0.25,yes=0.75"},
    "forbidden": {"selectivity": "no=1,yes=0"},
    "vote": {"engine": "vote"},
    "truth": {"truth": TRUTH},
    "vote-3": {"engine": "vote", "labels": ["no", "maybe", "yes"]},
    "options": {"na": ["n/a"], "labels": ["yes", "no"], "seed": 7, "missing": "drop", "duplicates": "all"},
}


@pytest.fixture(params=VARIANTS)
def solution(request) -> Solution:
    return prove(frame(), **VARIANTS[request.param])


def test_there_and_back(solution, tmp_path):
    data = json.loads(json.dumps(solution.to_dict(), allow_nan=False))
    assert data == solution.to_dict()
    again = Solution.from_dict(data)
    assert again.to_dict() == data
    assert again.certificate == solution.certificate
    assert repr(again) == repr(solution)
    in_memory = {"advice": (), "accuracy": None, "runner_up": None}  # which no file can prove
    assert again.summary() == replace(solution, **in_memory).summary()
    assert np.array_equal(again.posterior, solution.posterior)
    path = tmp_path / "solution.json"
    solution.save(path)
    assert Solution.load(path).to_dict() == data
    with pytest.raises(CrowdoptError, match="loaded from a file has no tasks"):
        again.answers  # noqa: B018


def leaves(value, path=()):
    """Paths to every value in nested JSON, containers included."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from leaves(child, (*path, key))


def changed(data, path, value=None, *, delete=False):
    data = copy.deepcopy(data)
    if not path:
        return value
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    if delete:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return data


def value_at(data, path):
    for key in path:
        data = data[key]
    return data


FREE = {("crowdopt_version",)}
"""Where anything may stand: it is only shown."""


OF_PYTHON = re.compile(r"invalid literal|int\(\)|inhomogeneous|could not convert|ufunc|dtype|len\(\)")
"""Words of errors in conversions, which tell a user nothing."""


@pytest.mark.parametrize("wrong", [None, "x", [], {}, True, 1.5, -1, 10**30, float("nan"), [None], [[]]], ids=repr)
def test_a_value_of_the_wrong_type_is_damage_wherever_it_is(solution, wrong):
    """Whatever still loads must be what was loaded: nothing is converted in silence."""
    data, said = solution.to_dict(), []
    for path in leaves(data):
        broken = changed(data, path, wrong)
        try:
            loaded = Solution.from_dict(broken)
        except SolutionFileError as error:
            said.append(str(error))
            continue
        if path not in FREE:
            assert same(loaded.to_dict(), broken), path
            kind = type(value_at(data, path))
            optional = {int, float, type(None)}
            right = type(wrong) is kind or {type(wrong), kind} <= optional or (path, wrong) == (("accuracy",), None)
            witness = path[:2] == ("certificate", "witness") and isinstance(wrong, dict)  # which verify judges
            assert right or witness, (path, wrong)
    assert [text for text in said if OF_PYTHON.search(text)] == []


def test_a_missing_key_or_item_is_damage_wherever_it_is(solution):
    data = solution.to_dict()
    for path in leaves(data):
        if not path or path[:1] == ("advice",):
            continue
        broken = changed(data, path, delete=True)
        if path[:2] in {("reading", "na"), ("reading", "labels"), ("certificate", "given")} and len(path) == 3:
            continue  # a shorter list is one that a file can have; verify judges it
        if path[:1] == ("doubts",) and len(path) == 2:
            continue  # what the file says is to be checked is its own
        with pytest.raises(SolutionFileError):
            Solution.from_dict(broken)


def test_a_key_too_many_is_damage(solution):
    data = solution.to_dict()
    for path in leaves(data):
        if isinstance(value_at(data, path), dict):
            with pytest.raises(SolutionFileError):
                Solution.from_dict(changed(data, (*path, "extra"), 1))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, "5", None, True, 2.5])
def test_another_format_version_names_the_version_that_wrote_it(version):
    data = prove(frame()).to_dict() | {"format_version": version, "crowdopt_version": "9.9"}
    with pytest.raises(SolutionFileError) as raised:
        Solution.from_dict(data)
    if version is not True:  # True equals 1, and is found later
        assert re.search(rf"format version {version!r}; this crowdopt reads version 5.*\(9\.9\)", str(raised.value))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a solution file: it is empty"),
        (b"{", "not a solution file: it breaks off at line 1, character 2"),
        (b'{"format": "crowd', "it breaks off at line 1, character 12"),
        (b'{\n"format": crowdopt}', "it is not JSON at line 2, character 11"),
        (b"[]", "not a crowdopt solution file"),
        (b"null", "not a crowdopt solution file"),
        (b'{"format": "other"}', "not a crowdopt solution file"),
        (b'{"format": "crowdopt solution", "format_version": 5}', "is missing"),
        (b"[" * 100_000, "not a solution file"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
    ids=["empty", "open", "cut in a text", "no JSON", "list", "null", "other", "bare", "deep", "binary"],
)
def test_files_that_are_none(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(SolutionFileError, match=message):
        Solution.load(path)


def test_a_file_cut_short_anywhere_is_damage(tmp_path):
    path = tmp_path / "cut.json"
    prove(frame()).save(path)
    whole = path.read_bytes()
    assert whole.endswith(b"}\n")
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(SolutionFileError):
            Solution.load(path)


def test_a_path_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(InputError, match=f"cannot read {re.escape(str(path))}"):
            Solution.load(path)


@pytest.mark.parametrize("method", ["save", "write"])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, method):
    solution = prove(frame())
    path = tmp_path / ("out.json" if method == "save" else "out.csv")
    path.write_text("old")

    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        getattr(solution, method)(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


READERS = {".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet", ".jsonl": "read_ndjson_auto"}


@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("source", ["pandas", "csv"])
def test_answers_are_written_in_every_format(tmp_path, source, suffix, probabilities):
    data = frame([*ROWS, ("e", "ann", None)])
    if source == "csv":
        data.to_csv(tmp_path / "in.csv", index=False)
    solution = prove(data if source == "pandas" else str(tmp_path / "in.csv"), missing="drop")
    path = tmp_path / f"out{suffix}"
    solution.write(path, probabilities=probabilities)
    with duckdb.connect() as connection:
        found = connection.sql(f"FROM {READERS[suffix]}('{path}')").df()
    names = ["task", "label", "confidence", "margin", "margin_kind", "n_responses", "status"]
    assert list(found.columns) == names + ["p_no", "p_yes"] * probabilities
    assert found["task"].tolist() == list("abcde")
    assert found["status"].tolist()[-1] == "no_response"
    assert found["label"].isna().tolist() == [False] * 4 + [True]
    expected = solution.answers_frame(probabilities=probabilities)
    expected = expected.to_pandas() if source == "csv" else expected
    for name in ["confidence", "margin", "n_responses"] + ["p_no", "p_yes"] * probabilities:
        assert found[name].to_numpy(float) == pytest.approx(expected[name].to_numpy(float), nan_ok=True), name


def test_answers_of_a_file_outlive_the_solution(tmp_path):
    frame().to_csv(tmp_path / "in.csv", index=False)
    answers = prove(str(tmp_path / "in.csv")).answers
    gc.collect()
    assert answers.filter(pc.field("label") == "no")["task"].to_pylist() == ["b", "c", "d"]


@pytest.mark.parametrize("error", [duckdb.BinderException, duckdb.CatalogException, duckdb.InternalException])
def test_bugs_are_not_called_output_errors(tmp_path, monkeypatch, error):
    solution = prove(frame())

    def fail(*_):
        raise error("ours")

    monkeypatch.setattr("crowdopt.results.write.files.literal", fail)
    with pytest.raises(error, match="ours"):
        solution.write(tmp_path / "out.csv")
    monkeypatch.setattr(
        "crowdopt.results.write.files.literal", lambda _: (_ for _ in ()).throw(duckdb.IOException("disk"))
    )
    with pytest.raises(OutputError, match="disk"):
        solution.write(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_columns_that_differ_in_case_only_cannot_be_written(tmp_path):
    rows = [(task, worker, label.replace("no", "Yes")) for task, worker, label in ROWS]
    solution = prove(frame(rows), verbatim=True)
    assert list(solution.answers_frame(probabilities=True))[-2:] == ["p_Yes", "p_yes"]
    with pytest.raises(ColumnError, match="'p_Yes' and 'p_yes', which differ only in case"):
        solution.write(tmp_path / "out.csv", probabilities=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("out.xlsx", "must end in .csv"), ("absent/out.csv", "does not exist"), ("folder.csv", "is a folder")],
)
def test_targets_that_cannot_be_written(tmp_path, name, message):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=message):
        prove(frame()).write(tmp_path / name)


def test_repr_says_what_was_proved():
    def shown(solution: Solution) -> str:
        return re.sub(r"\d\.\d{3} s>", "0.001 s>", repr(solution))

    assert shown(prove(frame())) == (
        "<Solution CHECK, PROVED over all: 4 tasks, 3 workers, 2 labels; loglik -3.82, gap 0, scan 0.001 s>"
    )
    assert shown(prove(frame(), engine="vote")) == (
        "<Solution unproved: 4 tasks, 3 workers, 2 labels; loglik -3.82, vote 0.001 s>"
    )
    equal = prove(frame(ROWS[:4]), selectivity="no=0.2,yes=0.8")
    assert shown(equal).startswith("<Solution CHECK, PROVED over dominance: 2 tasks, 2 workers, 2 labels; loglik ")


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([("a", "w", "yes")], ["yes"]),
        ([("a", "w", "yes"), ("a", "v", "yes"), ("b", "w", "yes")], ["yes", "yes"]),
        ([("a", "w", "yes"), ("a", "v", "no")], ["no"]),
        ([("a", "w", "yes"), ("b", "w", "no")], ["yes", "no"]),
    ],
    ids=["one-response", "one-label", "one-task", "no-disagreement"],
)
@pytest.mark.parametrize("selectivity", ["none", "estimate"])
def test_trivial_problems_have_real_certificates(rows, labels, selectivity):
    solution = prove(frame(rows), selectivity=selectivity)
    certificate = solution.certificate
    assert (certificate.proof, certificate.gap, certificate.space) == (Proof.PROVED, 0, "all")
    assert solution.answers["label"].tolist() == labels
    assert Solution.from_dict(json.loads(json.dumps(solution.to_dict()))).certificate == certificate


def test_a_majority_that_the_selectivity_forbids_is_an_error():
    with pytest.raises(InputError, match="share is given as zero"):
        prove(frame(), engine="vote", selectivity="no=1,yes=0")


@pytest.mark.parametrize(("proof", "bound"), [("NONE", -1.0), ("PROVED", None), ("BOUNDED", None), ("PROVED", 5.0)])
def test_a_certificate_cannot_claim_what_its_bound_does_not_say(proof, bound):
    data = prove(frame()).certificate.to_dict()
    gap = None if bound is None else max(0.0, bound - data["objective"])
    with pytest.raises(SolutionFileError, match="certificate is damaged"):
        Certificate.from_dict(data | {"proof": proof, "bound": bound, "gap": gap})
