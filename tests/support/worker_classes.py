"""A crowd of experts and regulars."""

from __future__ import annotations

import numpy as np
import pandas as pd

CLASSES = {"w0": "expert", "w1": "expert", "w2": "regular", "w3": "regular", "w4": "regular", "w5": "regular"}


SKILL = {"expert": 0.95, "regular": 0.65}


def crowd(seed: int = 0, n_tasks: int = 20, labels=("no", "yes")) -> pd.DataFrame:
    """Each task has answers of two to five of six workers; some have none of an expert."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(n_tasks):
        truth = rng.integers(len(labels))
        for worker in rng.permutation(6)[: rng.integers(2, 6)]:
            right = rng.random() < SKILL[CLASSES[f"w{worker}"]]
            answer = truth if right else (truth + rng.integers(1, len(labels))) % len(labels)
            rows.append((f"t{task:02d}", f"w{worker}", labels[answer], CLASSES[f"w{worker}"]))
    return pd.DataFrame(rows, columns=["task", "worker", "label", "class"])
