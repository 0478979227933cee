"""OpenAI batches: labels inside objects, and answers that call a function."""

from __future__ import annotations

import json

import pytest

import crowdopt
from crowdopt.errors import InputError
from support.juries import as_lines, notes, responses

pytestmark = pytest.mark.filterwarnings("ignore::crowdopt.errors.CheckWarning")


def line(task, **body):
    return {"custom_id": task, "response": {"status_code": 200, "body": {"model": "gpt"} | body}, "error": None}


def chat(task, answer, **message):
    content = answer if answer is None or isinstance(answer, str) else json.dumps(answer)
    return line(task, choices=[{"index": 0, "message": {"role": "assistant", "content": content} | message}])


def batch(tmp_path, *answers):
    return as_lines(tmp_path / "b.jsonl", [chat(str(n), one) for n, one in enumerate(answers)])


def labels(solution):
    return [label for _, _, label in responses(solution)]


NESTED = {"verdict": {"score": 3}, "reason": "polite"}, {"verdict": {"score": 4}, "reason": "rude"}


def test_a_key_is_not_chosen_where_another_holds_an_object(tmp_path):
    path = batch(tmp_path, *NESTED)
    said = r"b\.jsonl: 'verdict' is not one value .* question \(reason, verdict\.score\)"
    with pytest.raises(InputError, match=said):
        crowdopt.aggregate(path)
    with pytest.raises(InputError, match=r"no question 'verdict'; did you mean 'verdict\.score'\?"):
        crowdopt.aggregate(path, question="verdict")
    solution = crowdopt.aggregate(path, question="verdict.score")
    assert labels(solution) == [3, 4]
    assert crowdopt.verify(solution, path).verdict.value == "REPRODUCED"
    assert labels(crowdopt.aggregate(path, question="reason")) == ["polite", "rude"]


@pytest.mark.parametrize("other", [["a"], {}, {"why": ["a"]}, [{"score": 1}]])
def test_nor_where_it_holds_anything_that_is_not_one_value(other, tmp_path):
    path = batch(tmp_path, {"reason": "polite"}, {"verdict": other, "reason": "rude"})
    with pytest.raises(InputError, match="is not one value in some answers"):
        crowdopt.aggregate(path)


def test_the_only_short_value_is_found_inside_objects(tmp_path):
    path = batch(tmp_path, *({"out": {"verdict": {"score": n, "why": "so " * 60}}} for n in (3, 4)))
    solution = crowdopt.aggregate(path)
    assert labels(solution) == [3, 4]
    assert notes(solution) == ["label: 'out.verdict.score' of the JSON that was answered"]
    assert solution.reading.question == "out.verdict.score"


def test_keys_may_have_dots_and_slashes(tmp_path):
    path = batch(tmp_path, *({"v.s": n, "v": {"s": 9, "a/b~c": n}} for n in (3, 4)))
    for question in ("v.s", "v.a/b~c"):
        assert labels(crowdopt.aggregate(path, question=question)) == [3, 4]


def test_lists_and_objects_are_no_labels(tmp_path):
    path = batch(tmp_path, "yes", ["yes"], {}, "no", "[1] is wrong")
    solution = crowdopt.aggregate(path)
    assert labels(solution) == ["yes", "no", "[1] is wrong"]
    assert notes(solution) == ["answers that are lists or objects, which are no labels, left out: 2"]
    with pytest.raises(InputError, match="nothing but 2 answers that are lists or objects"):
        crowdopt.aggregate(batch(tmp_path, ["yes"], {"verdict": ["no"]}))


def test_deep_objects_end(tmp_path):
    deep = "yes"
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(InputError, match="nothing but 1 answers that are lists or objects"):
        crowdopt.aggregate(batch(tmp_path, deep))


# Calls of functions


def called(arguments):
    return {"id": "c", "type": "function", "function": {"name": "judge", "arguments": json.dumps(arguments)}}


def output(*items):
    return line("r", output=[{"type": "reasoning", "summary": []}, *items])


def function_call(arguments):
    return {"type": "function_call", "name": "judge", "arguments": json.dumps(arguments), "call_id": "c"}


@pytest.mark.parametrize("content", [None, "", "I judge."])
def test_a_call_of_a_function_answers_with_its_arguments(content, tmp_path):
    records = [chat(str(n), content, tool_calls=[called({"verdict": one})]) for n, one in enumerate(("yes", "no"))]
    records += [output(function_call({"verdict": "yes"}))]
    solution = crowdopt.aggregate(as_lines(tmp_path / "b.jsonl", records))
    assert responses(solution) == [("0", "gpt", "yes"), ("1", "gpt", "no"), ("r", "gpt", "yes")]


def test_several_calls_are_counted_and_none_is_no_call(tmp_path):
    one = called({"verdict": "yes"})
    records = [
        chat("a", None, tool_calls=[one]),
        chat("b", None, tool_calls=[one, one]),
        output(function_call({"verdict": "no"}), function_call({"verdict": "no"})),
        chat("c", {"verdict": "no"}, tool_calls=[]),
        chat("d", {"verdict": "no"}, tool_calls=None),
        chat("e", None, tool_calls=None),
    ]
    solution = crowdopt.aggregate(as_lines(tmp_path / "b.jsonl", records))
    assert responses(solution) == [("a", "gpt", "yes"), ("c", "gpt", "no"), ("d", "gpt", "no")]
    assert notes(solution)[:2] == ["answers of several function calls left out: 2", "empty answers left out: 1"]


def test_errors_name_the_file_among_several(tmp_path):
    good = batch(tmp_path, "yes", "no")
    bad = as_lines(tmp_path / "bad.jsonl", [{"custom_id": "a", "note": "from somewhere else"}])
    with pytest.raises(InputError, match=r"bad\.jsonl: no response or error in"):
        crowdopt.aggregate([good, bad])
    as_lines(bad, [chat("a", {"verdict": "yes"})])
    with pytest.raises(InputError, match="the 2 files: 1 answers are JSON, 2 are texts"):
        crowdopt.aggregate([good, bad])
