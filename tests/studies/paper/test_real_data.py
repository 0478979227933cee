"""Real responses whose truth is known: read, sampled, and refused where they cannot be used."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.errors import InputError
from crowdopt.studies.paper.experiments import pieces, run_experiment
from crowdopt.studies.paper.real_data import read_known
from crowdopt.studies.paper.setups import ALL_EM, INCORRECT, LIKELIHOOD, OPT, OPT_SHARES


def write_folder(folder, responses, truth):
    (folder / "responses.csv").write_text("task,worker,label\n" + "\n".join(responses) + "\n")
    (folder / "truth.csv").write_text("task,label\n" + "\n".join(truth) + "\n")
    return folder


def test_real_data_are_read(tmp_path):
    answers = [("b", "xxy"), ("a", "yy"), ("c", "x"), ("d", "y")]
    responses = [f"{task},w{k},{label}" for task, labels in answers for k, label in enumerate(labels)]
    known = read_known(write_folder(tmp_path, responses, ["a,y", "b,x", "c,y"]))
    assert known.counts.tolist() == [[0, 2], [2, 1], [1, 0]]
    assert known.truth.tolist() == [1, 0, 1]
    assert known.fewest == 1


def test_all_responses_are_sampled_where_all_are_asked_for(tmp_path):
    responses = [f"t{k},w{j},{'no' if (k + j) % 3 else 'yes'}" for k in range(8) for j in range(3)]
    folder = write_folder(tmp_path, responses, [f"t{k},{'no' if k % 2 else 'yes'}" for k in range(8)])
    sampled, whole = run_experiment("ic", 3, folder=folder), run_experiment("product", 1, folder=folder)
    assert sampled.sizes == (1, 2, 3)
    for name in (OPT, *ALL_EM, OPT_SHARES):
        for metric in (LIKELIHOOD, INCORRECT):
            np.testing.assert_allclose(sampled.values[3, name, metric], whole.values[3, name, metric][0])


@pytest.mark.parametrize(
    ("responses", "truth", "message"),
    [
        (["a,w,x", "b,w,y", "c,w,z"], ["a,x"], "needs two labels"),
        (["a,w,x", "b,w,y"], ["a,z"], "not among the answers"),
        (["a,w,x", "b,w,y"], ["c,x"], "no task has both"),
        (["a,w,x", "b,w,y"], [], "truth.csv: has no rows"),
        (["a,w,x", "b,w,y"], ["a,x", "a,y"], "truth.csv: gives task 'a' two different labels"),
        (
            ["a,w,x", "a,w,y"],
            ["a,x"],
            r"responses.csv: 1 \(task, worker\) pair occurs more than once.*first: \(a, w\)$",
        ),
        (["a,w,x", "b,w,"], ["a,x"], r"responses.csv: 1 of 2 rows is incomplete \(1 without a label\)$"),
    ],
)
def test_real_data_that_cannot_be_used(tmp_path, responses, truth, message):
    with pytest.raises(InputError, match=message):
        pieces("ic", 1, folder=write_folder(tmp_path, responses, truth))
