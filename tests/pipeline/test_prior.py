"""Prior matrices, and solutions that are the prior of the next ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdopt import Solution, prove, verify
from crowdopt.errors import InputError
from support.gold import BASIC, GOLD, counts_behind, write_matrix
from support.ways import ROWS, canonical, facts, to_polars

# Priors


def shift(rows, by):
    return [(task + by, worker, label) for task, worker, label in rows]


@pytest.mark.parametrize("labels", [["no", "yes"], ["yes", "no"]], ids=["same order", "other order"])
@pytest.mark.parametrize("smoothing", [0.0, 2.5])
def test_a_solution_is_the_prior_of_the_next(labels, smoothing, tmp_path):
    prior = {"no": {"no": 3.0, "yes": 1.5}, "yes": {"no": 0.25, "yes": 4.0}}
    before = prove(to_polars(ROWS), labels=labels, gold=GOLD, prior_matrix=prior, smoothing=smoothing)
    before.save(tmp_path / "before.json")
    counts = counts_behind(before, ROWS, ["no", "yes"]) + BASIC  # smoothing is no evidence
    now = to_polars(shift(ROWS[:70], 500))
    swapped = counts[::-1, ::-1]
    priors = {
        "solution": before,
        "loaded": Solution.load(tmp_path / "before.json"),
        "file": str(tmp_path / "before.json"),
        "path": tmp_path / "before.json",
        "array": counts,
        "list": counts.tolist(),
        "dict": dict(zip(["no", "yes"], [dict(zip(["no", "yes"], row, strict=True)) for row in counts], strict=True)),
        "frame": pd.DataFrame(swapped, index=["yes", "no"], columns=["yes", "no"]),
        "csv": write_matrix(tmp_path / "prior.csv", counts, ["no", "yes"]),
        "other order": write_matrix(tmp_path / "other.csv", swapped, ["yes", "no"]),
        "tsv": str(write_matrix(tmp_path / "prior.tsv", counts, ["no", "yes"], "\t")),
    }
    expected = facts(prove(now, prior_matrix=counts))
    assert expected != facts(prove(now))
    for name, given in priors.items():
        solution = prove(now, prior_matrix=given)
        assert solution.objective.offsets.counts[:, 0] == pytest.approx(counts), name
        assert facts(solution) == expected, name
        assert solution.certificate.given == ("prior matrix",)
        assert verify(solution, now).verdict == "CONFIRMED"
        turned = prove(now, prior_matrix=given, labels=["yes", "no"]) if name not in {"array", "list"} else None
        if turned:
            assert turned.certificate.objective == pytest.approx(solution.certificate.objective)
            assert turned.objective.offsets.counts[:, 0] == pytest.approx(swapped)


def test_months_add_up(tmp_path):
    """A prior that has a prior: nothing is counted twice, and nothing is forgotten."""
    months = [ROWS[:40], shift(ROWS[40:80], 500), shift(ROWS[80:], 1000)]
    prior, total = None, np.zeros((2, 2))
    for month in months:
        solution = prove(to_polars(month), prior_matrix=prior, smoothing=1)
        total += counts_behind(solution, month, ["no", "yes"])
        solution.save(tmp_path / "solution.json")
        prior = Solution.load(tmp_path / "solution.json")
    last = prove(to_polars(ROWS), prior_matrix=tmp_path / "solution.json")
    assert last.objective.offsets.counts[:, 0] == pytest.approx(total)


def test_a_prior_of_fewer_labels_says_nothing_of_the_others(tmp_path):
    rows = [(task, worker, {"no": "1", "yes": "3"}[label]) for task, worker, label in ROWS]
    before = prove(to_polars(rows))
    now = [*rows, (9000, "v", "2")]
    prior = prove(to_polars(now), prior_matrix=before).objective.offsets.prior[:, 0]
    assert prior[1].tolist() == prior[:, 1].tolist() == [0, 0, 0]
    assert prior[np.ix_([0, 2], [0, 2])] == pytest.approx(counts_behind(before, rows, ["1", "3"]))
    after = prove(to_polars(now))
    with pytest.raises(InputError, match=r"prior solution has the label '2', which is not on the scale 1, 3"):
        prove(to_polars(rows), prior_matrix=after)


SPELLED = [(task, worker, label.title()) for task, worker, label in ROWS]


def test_a_prior_follows_the_spelling_of_the_responses(tmp_path):
    before, now = prove(to_polars(SPELLED)), shift(ROWS[:70], 500)
    counts = counts_behind(before, SPELLED, ["No", "Yes"])
    expected = facts(prove(to_polars(now), prior_matrix=counts))
    before.save(tmp_path / "before.json")
    for prior in (
        before,
        tmp_path / "before.json",
        write_matrix(tmp_path / "prior.csv", counts, ["NO", "yes "]),
        pd.DataFrame(counts, index=["NO", "yes"], columns=["No", " Yes"]),
        {
            "No": dict(zip(["NO", "Yes"], counts[0], strict=True)),
            "YES": dict(zip(["no", "yes"], counts[1], strict=True)),
        },
    ):
        assert facts(prove(to_polars(now), prior_matrix=prior)) == expected
        with pytest.raises(InputError, match=r"'No', which is not on the scale no, yes|must have one .* it has"):
            prove(to_polars(now), prior_matrix=prior, verbatim=True)


def test_a_prior_of_groups_follows_the_spelling_of_each():
    before, counts = prove(to_polars(ROWS)), counts_behind(prove(to_polars(ROWS)), ROWS, ["no", "yes"])
    both = {"lower": ROWS, "title": SPELLED}
    frames = [pd.DataFrame(rows, columns=["task", "worker", "label"]).assign(batch=name) for name, rows in both.items()]
    found = prove(pd.concat(frames), group="batch", prior_matrix=before)
    assert [found[name].scale.labels for name in both] == [("no", "yes"), ("No", "Yes")]
    for name in both:
        assert found[name].objective.offsets.prior[:, 0] == pytest.approx(counts)


def test_spellings_that_a_prior_kept_apart_add_up():
    rows = [
        (task, worker, "NO" if label == "no" and at % 3 else label) for at, (task, worker, label) in enumerate(ROWS)
    ]
    before = prove(to_polars(rows), verbatim=True, labels=["NO", "no", "yes"])
    counts = counts_behind(before, rows, ["NO", "no", "yes"])
    counts[1] += counts[0]
    counts[:, 1] += counts[:, 0]
    found = prove(to_polars(ROWS), prior_matrix=before)
    assert found.objective.offsets.prior[:, 0] == pytest.approx(counts[1:, 1:])
    twice = {"no": {"no": 3, "yes": 1}, "No": {"no": 3, "yes": 1}, "yes": {"no": 1, "yes": 4}}
    with pytest.raises(InputError, match="one row for each of no, yes; it has no, No, yes"):
        prove(to_polars(ROWS), prior_matrix=twice)


def test_names_of_a_prior_may_be_numbers():
    rows = [(task, worker, label == "yes") for task, worker, label in ROWS]
    of_truth = prove(to_polars(rows), prior_matrix={True: {True: 4, False: 0.25}, False: {False: 3, True: 1.5}})
    numbers = [(task, worker, int(label)) for task, worker, label in rows]
    for prior in ({0: {0: 3, 1: 1.5}, 1.0: {0: 0.25, "1": 4}}, BASIC, [[3, 1.5], [0.25, 4]]):
        solution = prove(to_polars(numbers), prior_matrix=prior)
        assert solution.certificate.objective == of_truth.certificate.objective


def test_a_prior_of_zeros_changes_nothing_but_what_is_given():
    plain_, zeros = prove(to_polars(ROWS)), prove(to_polars(ROWS), prior_matrix=np.zeros((2, 2)))
    assert canonical(zeros) == canonical(plain_)
    assert zeros.certificate == replace(plain_.certificate, given=("prior matrix",))


def test_a_byte_order_mark_and_blank_lines_in_a_prior_are_no_matter(tmp_path):
    path = tmp_path / "prior.csv"
    path.write_bytes(b"\xef\xbb\xbf,no,yes\r\n\r\nno,3,1.5\r\nyes,2.5e-1,4\r\n\r\n")
    assert prove(to_polars(ROWS), prior_matrix=path).objective.offsets.prior[:, 0] == pytest.approx(BASIC)
