"""Which known labels teach. Workers name the labels: a known label that would exchange names is kept, and teaches not.

Known labels are tasks that the fit may not change, so the rest could follow them into other names: where those for
``cat`` stand on tasks that most workers call ``dog``, the responses are explained as well by workers who call cats
dogs. Nothing in the responses tells the two apart. That labels mean what most workers mean by them, does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crowdopt._arrays import Bools, Floats, Ints
    from crowdopt.consensus.rows import Rows


def idle_labels(parts: Iterable[Rows]) -> Bools | None:
    """The labels whose known ones teach nothing, given all responses; None if no label is known.

    Those of a label teach nothing if most workers give their tasks one other label, on more tasks than known labels of
    either of the two are confirmed. So many right ones outweigh some wrong ones, and a bias of the workers is learnt.
    """
    crossed = [_crossed(rows.votes, rows.known) for rows in parts if (rows.known >= 0).any()]
    return exchanged(np.sum(crossed, axis=0)) if crossed else None


def crossed_votes(votes: Ints, known: Ints) -> Floats:
    """Tasks by their known label and the one that most workers give; labels that share the most votes share the task.

    Args:
        votes: Responses by (task, label), of tasks of known label.
        known: Their labels.
    """
    given = votes.sum(axis=1) > 0
    top = np.asarray(votes[given] == votes[given].max(axis=1, keepdims=True, initial=0))
    crossed = np.zeros((votes.shape[1], votes.shape[1]))
    np.add.at(crossed, known[given], top / top.sum(axis=1, keepdims=True))
    return crossed


def exchanged(crossed: Floats) -> Bools:
    """The labels whose known ones would exchange names; see :func:`idle_labels`."""
    confirmed = np.diag(crossed)
    others = crossed - np.diag(confirmed)
    return np.asarray(np.any(others > confirmed[:, None] + confirmed + CLOSE, axis=1))


def with_teaching_labels(rows: Rows, idle: Bools | None) -> Rows:
    """The same responses, with only those known labels that teach."""
    if idle is None:
        return rows
    return replace(rows, known=np.where((rows.known >= 0) & ~idle[rows.known], rows.known, -1))


def _crossed(votes: Ints, known: Ints) -> Floats:
    held = np.flatnonzero(known >= 0)
    return crossed_votes(votes[held], known[held])


CLOSE = 1e-9
"""Tasks by which numbers of them differ by rounding only."""
