"""That labels are right at least as often as by a plain vote, where this was once in doubt."""

from __future__ import annotations

import importlib

import numpy as np

from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.data.coded import Coded
from support.needs import ROOT


def test_of_twelve_labels_most_of_them_rare_as_many_are_right_as_by_vote(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    crowds, scores = (importlib.import_module(name) for name in ("simulated_crowds", "scores"))
    ours, theirs = [], []
    for seed in range(400, 404):
        one = crowds.draw("own matrices, hard tasks, 12 rare labels", seed)
        assert one.n_labels == 12
        assert np.sort(np.bincount(one.truth, minlength=12))[:6].sum() < 0.3 * len(one.truth)
        found = find_consensus(Rows.of(Coded.of(one.task, one.worker, one.label, 12))).probabilities
        votes = scores.vote_shares(one.task, one.label, len(one.truth), 12)  # whose ties are shared
        ours.append(scores.scores_of(found, one.truth).accuracy)
        theirs.append(scores.scores_of(votes, one.truth).accuracy)
    assert np.mean(ours) >= np.mean(theirs), (ours, theirs)
