"""Which known labels teach. Workers name the labels: a known label that would exchange names is kept, and teaches not.

Known labels are tasks that the fit may not change, so the rest could follow them into other names: where those for
``cat`` stand on tasks that most workers call ``dog``, the responses are explained as well by workers who call cats
dogs. Nothing in the responses tells the two apart. That labels mean what most workers mean by them, does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.consensus.given import GivenLabels


def crossed_labels(votes: Ints, known: Ints) -> Floats:
    """How many tasks of each known label most workers give each label (known, answered); it may be added up.

    Args:
        votes: Responses by (task, label).
        known: The label that each task is known to have, or -1.
    """
    held = np.flatnonzero((known >= 0) & (votes.sum(axis=1) > 0))
    top = np.asarray(votes[held] == votes[held].max(axis=1, keepdims=True, initial=0))
    crossed = np.zeros((votes.shape[1], votes.shape[1]))
    np.add.at(crossed, known[held], top / top.sum(axis=1, keepdims=True))  # labels that share the most votes share one
    return crossed


def idle_labels(crossed: Floats) -> Bools:
    """Which labels teach nothing where a task is known to have them.

    Those do not if most workers give their tasks one other label, on more tasks than known labels of either of the two
    are confirmed. So many right ones outweigh some wrong ones, and a bias of the workers is learnt.
    """
    confirmed = np.diag(crossed)
    others = crossed - np.diag(confirmed)
    return np.asarray(np.any(others > confirmed[:, None] + confirmed + CLOSE, axis=1))


def crossed_given(given: GivenLabels, known: Ints) -> tuple[Ints, Floats]:
    """:func:`crossed_labels` of many labels: pairs, as known · labels + answered, and how many tasks each has."""
    task, held = given.task, known >= 0
    most = np.zeros(given.n_tasks, np.int64)
    np.maximum.at(most, task, given.votes)
    top = held[task] & (given.votes > 0) & (given.votes == most[task])
    shares = 1.0 / np.bincount(task[top], minlength=given.n_tasks)[task[top]]
    pairs, at = np.unique(known[task[top]] * given.n_labels + given.label[top], return_inverse=True)
    return pairs, np.asarray(np.bincount(at.reshape(-1), shares, len(pairs)), np.float64)


def idle_given(crossed: Iterable[tuple[Ints, Floats]], n_labels: int) -> Bools:
    """The same as :func:`idle_labels` for many labels, of the sum of all that :func:`crossed_given` gives."""
    keys, numbers = map(np.concatenate, zip(*crossed, strict=True))
    pairs, at = np.unique(keys, return_inverse=True)
    totals = np.bincount(at.reshape(-1), numbers, len(pairs))
    known, answered = np.divmod(pairs, n_labels)
    confirmed = np.bincount(known, totals * (known == answered), n_labels)
    against = (known != answered) & (totals > confirmed[known] + confirmed[answered] + CLOSE)
    return np.bincount(known, against, n_labels) > 0


def teaches(votes: Ints, known: Ints) -> Bools:
    """Which known labels teach how workers answer; see :func:`crossed_labels` for the arguments."""
    return np.asarray((known >= 0) & ~idle_labels(crossed_labels(votes, known))[known])


CLOSE = 1e-9
"""Tasks by which numbers of them differ by rounding only."""
