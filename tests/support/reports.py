"""Crowds for tests of the report: every kind of picture, and every term of the likelihood."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import crowdopt

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
ODD_TASKS = [
    'it\'s "quoted" & <b>bold</b>',
    "emoji 🦜🦜",
    "\u202eright to left\u202c שלום",
    "</script><script>alert(1)</script>",
]


def crowd(n_tasks, n_labels, sizes, seed, *, names=None, n_workers=12, right=0.7):
    """Responses of a seeded crowd, mostly right; labels are 1, 2, … or have the names given."""
    rng = np.random.default_rng(seed)
    names = names or list(range(1, n_labels + 1))
    rows = []
    for task in range(n_tasks):
        truth, size = rng.integers(n_labels), rng.integers(sizes[0], sizes[1] + 1)
        for worker in rng.permutation(n_workers)[:size]:
            label = truth if rng.random() < right else rng.integers(n_labels)
            rows.append((f"t{task:04d}", f"w{worker}", names[label], f"text of {task}", "ab"[worker % 2]))
    return pd.DataFrame(rows, columns=["task", "worker", "label", "text", "kind"])


CASES = {
    "line": lambda: crowdopt.prove(crowd(80, 2, (5, 5), 1, names=["no", "yes"]), keep=["text"]),
    "plane": lambda: crowdopt.prove(crowd(120, 2, (1, 7), 2, names=["no", "yes"])),
    "plane-knowledge": lambda: crowdopt.prove(
        crowd(90, 2, (1, 6), 3, names=["no", "yes"]),
        gold={"t0001": "yes", "t0002": "no", "t0003": "no"},
        prior_matrix=[[4.5, 1.0], [0.25, 3.0]],
        selectivity="estimate",
        smoothing=0.5,
    ),
    "line-shares": lambda: crowdopt.prove(
        crowd(60, 2, (4, 4), 4, names=["no", "yes"]), selectivity={"no": 0.8, "yes": 0.2}
    ),
    "triangle": lambda: crowdopt.prove(crowd(150, 3, (4, 4), 5)),
    "triangle-varying": lambda: crowdopt.prove(crowd(90, 3, (2, 6), 6), smoothing=0.1),
    "triangle-nominal": lambda: crowdopt.prove(crowd(100, 3, (4, 4), 7, names=["cat", "dog", "owl"])),
    "arch": lambda: crowdopt.prove(crowd(900, 5, (5, 8), 8), time_limit=1, selectivity="estimate"),
    "shelves": lambda: crowdopt.prove(crowd(120, 4, (3, 5), 9, names=["a", "b", "c", "d"]), time_limit=5),
    "classes": lambda: crowdopt.prove(crowd(60, 2, (3, 4), 10), class_="kind"),
    "ranked": lambda: crowdopt.prove(crowd(50, 3, (2, 3), 11), class_="kind", ranked=["a", "b"], smoothing=0.25),
    "vote": lambda: crowdopt.prove(crowd(40, 3, (3, 5), 12), engine="vote"),
}
"""Solutions by name, made when asked for."""


@cache
def solved(name):
    """One of CASES."""
    return CASES[name]()


TURNED = "yes\u202e"
"""A label that turns the direction of what stands behind it."""


def turned():
    """A crowd with such labels, tasks, workers, classes and texts, and some that are written from right to left."""
    frame = crowd(40, 2, (3, 4), 14, names=["לא", TURNED])
    for name in ("task", "worker", "text"):
        frame[name] = frame[name] + "\u2067\u200f"
    frame["kind"] = frame["kind"].map({"a": "טוב", "b": "\u202dnew"})
    return frame


def hostile():
    """A crowd whose labels, tasks, workers and kept texts try to be more than text."""
    frame = crowd(40, 3, (3, 3), 13, names=["calm", HOSTILE, "שלום"])
    frame["task"] = frame["task"].map(lambda task: ODD_TASKS[int(task[1:])] if int(task[1:]) < len(ODD_TASKS) else task)
    frame["worker"] = frame["worker"].map(lambda worker: HOSTILE if worker == "w1" else worker)
    frame["text"] = frame["text"].map(lambda text: f"{text} {HOSTILE} '\" 🦜")
    return frame
