"""``--likelihood marginal`` from the command line and from Python: what it says, and what it does not go with."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from crowdopt import GlobalOptimum, prove
from crowdopt.errors import ClassError, InputError
from support.marginal import values_at

ROWS = [
    (f"t{t:02d}", f"w{w}", "yes" if (t % 3 == 0) != (t * 7 + w * 5) % 11 < 3 else "no")
    for t in range(40)
    for w in range(5)
]


@pytest.fixture(scope="module")
def data():
    return pd.DataFrame(ROWS, columns=["task", "worker", "label"])


def test_labels_and_confidences_are_those_of_the_best_parameters(data):
    solution = prove(data, likelihood="marginal")
    certificate, parameters = solution.certificate, solution.parameters
    assert (certificate.proof, certificate.space, certificate.engine) == ("PROVED", "parameters", "marginal")
    assert 0 <= certificate.gap <= certificate.tolerance == 0.1
    value = values_at(solution.problem, parameters.shares[None], parameters.matrix[None])[0]
    assert certificate.objective == pytest.approx(value)
    assert np.array_equal(solution.matrix, parameters.matrix)
    assert np.array_equal(solution.posterior.argmax(axis=1), solution.mapping)
    answers = solution.answers
    assert set(answers["margin_kind"]) == {"odds"}
    odds = np.log(answers["confidence"] / (1 - answers["confidence"]))
    assert answers["margin"].to_numpy() == pytest.approx(odds.to_numpy(), abs=1e-6)


def test_joint_stays_what_it_was(data):
    assert prove(data).to_dict().keys() == prove(data, likelihood="joint").to_dict().keys()
    assert "parameters" not in prove(data).to_dict()
    assert prove(data).summary()["likelihood"] == "joint"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"space": "all"}, "space"),
        ({"engine": "scan"}, "engine"),
        ({"selectivity": "none"}, "selectivity"),
        ({"ranked": ["a", "b"], "classes": {f"w{w}": "ab"[w % 2] for w in range(5)}}, "ranked"),
    ],
    ids=str,
)
def test_what_does_not_go_with_it_is_refused_in_one_line(data, options, named):
    with pytest.raises(InputError, match=named) as refused:
        prove(data, likelihood="marginal", **options)
    assert "\n" not in str(refused.value)


def test_a_search_that_was_stopped_says_so(data):
    rare = data.sample(90, random_state=1)
    stopped = prove(rare, likelihood="marginal", each=True, time_limit=0.0)
    assert (stopped.certificate.proof, stopped.certificate.stop) == ("BOUNDED", "TIME")
    assert any("a longer run" in line for line in stopped.advice)
    assert not any("a longer run" in line for line in prove(data, likelihood="marginal").advice)


def test_there_are_two_likelihoods(data):
    with pytest.raises(InputError, match="joint or marginal"):
        prove(data, likelihood="conditional")


@pytest.mark.parametrize("options", [{"each": True}, {"find_classes": 2}, {"find_classes": 1}], ids=str)
def test_classes_of_workers_go_with_it(data, options):
    solution = prove(data, likelihood="marginal", time_limit=5.0, **options)
    assert solution.certificate.likelihood == "marginal"
    assert solution.parameters.matrix.shape[0] == max(1, len(solution.classes))


def test_it_is_told_in_the_summary_the_report_and_the_json(data, tmp_path):
    solution = prove(data, likelihood="marginal")
    said = solution.words()
    assert "largest marginal likelihood over all response matrices and shares of labels" in said.headline
    assert "averaged over" in said.facts["likelihood"]
    assert said.verdict.word in {"PROVED", "CHECK"}
    facts = json.loads(json.dumps(solution.summary()))
    assert (facts["likelihood"], facts["space"]) == ("marginal", "parameters")
    assert facts["selectivity"]["shares"] == pytest.approx(solution.parameters.shares.tolist())
    solution.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Marginal log-likelihood" in page
    assert "the logarithm of its odds" in page
    assert "others may be jointly likelier" in page


def test_a_solution_file_labels_new_tasks(data, tmp_path):
    from crowdopt import Solution

    prove(data, likelihood="marginal", classes={f"w{w}": "ab"[w % 2] for w in range(5)}).save(tmp_path / "s.json")
    solution = Solution.load(tmp_path / "s.json")
    new = pd.DataFrame(
        [("n1", "w0", "yes"), ("n1", "w1", "yes"), ("n2", "w9", "no")], columns=["task", "worker", "label"]
    )
    assert solution.predict(new)["confidence"].between(0.5, 1).all()
    assert len(solution.workers(data)) == 5
    assert len(solution.next_tasks(data, 3)) == 3


def test_the_estimator_takes_it(data):
    assert GlobalOptimum(likelihood="marginal").fit(data).certificate_.likelihood == "marginal"


def test_classes_are_said_in_one_way_only(data):
    with pytest.raises(ClassError):
        prove(data, likelihood="marginal", each=True, find_classes=2)
