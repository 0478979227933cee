"""Rows of which some lack something, some are repeated, and some contradict another; and what is said of them."""

from __future__ import annotations

from support.ways import ROWS as NUMBERED

ROWS = [(str(task), worker, label) for task, worker, label in NUMBERED]
AGAIN, OTHER = ROWS[0], (*ROWS[4][:2], "no" if ROWS[4][2] == "yes" else "yes")
INCOMPLETE = [(None, "w1", "yes"), (ROWS[7][0], None, "no"), (ROWS[9][0], "w11", None), ("1000", None, None)]
DIRTY = [*ROWS[:5], AGAIN, *INCOMPLETE[:2], *ROWS[5:], OTHER, AGAIN, OTHER, *INCOMPLETE[2:]]
DISTINCT = [*ROWS, OTHER]

FIRST = min(AGAIN[:2], OTHER[:2])
LEFT_OUT = (
    f"4 of {len(DIRTY)} rows are incomplete and were left out: 1 without a task, 2 without a worker, 2 without a label"
)
REPEAT = (
    "3 rows repeat an answer of the same worker to the same task; it counts once (for example worker {!r}, task {!r})"
)
DIFFERENT = (
    "once a worker gave different answers to one task; each of them counts (worker {!r}, task {!r}: 'no' and 'yes'); "
    "--duplicates has other rules"
)
NOTES = (LEFT_OUT, REPEAT.format(*FIRST[::-1]), DIFFERENT.format(*OTHER[1::-1]))
