"""Small crowds of unlike workers, for the tests of the consensus's files and of their check."""

from __future__ import annotations

import numpy as np
import pandas as pd

SKILLS = (0.95, 0.9, 0.8, 0.7, 0.4)


def mixed_crowd(seed: int = 0, labels: tuple = ("no", "yes"), n_tasks: int = 14, group: str = "") -> pd.DataFrame:
    """Five workers, of whom four are right more often than not, answer most of the tasks."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"t{task}", f"w{worker}", labels[truth if rng.random() < skill else rng.integers(len(labels))])
        for task, truth in enumerate(rng.integers(len(labels), size=n_tasks))
        for worker, skill in enumerate(SKILLS)
        if rng.random() < 0.9
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return frame.assign(group=group) if group else frame


def grouped_crowds() -> pd.DataFrame:
    """Three groups, one of them with labels of its own; all have tasks of the same names."""
    parts = [mixed_crowd(1, group="a"), mixed_crowd(2, group="b"), mixed_crowd(3, ("low", "mid", "top"), group="c")]
    return pd.concat(parts, ignore_index=True)
