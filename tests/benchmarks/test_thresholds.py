"""What is promised of the consensus on public sets still holds, as the benchmarks measure it."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import numpy as np

from support.needs import ROOT


def test_the_consensus_keeps_what_is_promised(monkeypatch, shared_set):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    accuracy, workers = (importlib.import_module(name) for name in ("accuracy", "workers"))
    check_labels(accuracy, [shared_set(name) for names in accuracy.SETS.values() for name in names])
    check_workers(workers, [shared_set(name) for name in workers.SETS])


def check_labels(accuracy, folders):
    """Accuracy and probabilities; Dawid-Skene is crowd-kit's where that is installed, else our own few lines."""
    assert len(folders) == 17
    sets = [accuracy.run_set(folder, (accuracy.DS,) if find_spec("crowdkit") else ()) for folder in folders]
    for one, folder in zip(sets, folders, strict=True):
        if accuracy.DS not in one["methods"]:
            one["methods"][accuracy.DS] = accuracy.run_three(accuracy.read(folder)[0])["methods"][accuracy.DS]
    assert accuracy.column(sets, accuracy.OURS, "accuracy").mean() >= 0.855
    assert accuracy.column(sets, accuracy.OURS, "log_loss").mean() <= 0.40
    assert accuracy.column(sets, accuracy.OURS, "calibration").mean() <= 0.08
    ours, vote, theirs = (accuracy.column(sets, name) for name in (accuracy.OURS, accuracy.VOTE, accuracy.DS))
    assert (ours < np.maximum(vote, theirs) - 0.02).sum() <= 2


def check_workers(workers, folders):
    """Intervals and skill."""
    runs = [workers.read(folder).figures(workers.RESPONSES["set"]) for folder in folders]
    found = workers.pooled([run for run in runs if "holds" in run])
    assert np.mean(found["holds"]) >= 0.80
    assert np.median(found["width"]) <= 0.20
    assert found["correlation"] >= 0.77
