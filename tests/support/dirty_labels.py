"""Labels in several spellings, for tests of what becomes of them."""

from __future__ import annotations

from support.ways import ROWS

SPELLINGS = ("{}", "{}", "{}", "{} ", "{}\u00a0", "\u2003{}\t")
CYRILLIC_YES = "y\u0435s"
TEXT_FILES = ["csv", "tsv", "xlsx", "jsonl"]


def dirty(rows, spellings=SPELLINGS):
    """The same rows with labels in several spellings, of which the clean one is the commonest."""
    found = []
    for at, (task, worker, label) in enumerate(rows):
        spelled = spellings[at % len(spellings)].format(label)
        found.append((task, worker, spelled.upper() if at % 7 == 6 else spelled))
    return found


def spelled(label: str, n: int) -> list[str]:
    return [SPELLINGS[at % len(SPELLINGS)].format(label) for at in range(n)]


def named_rows(rows):
    """The rows with texts as tasks, some ids with blanks around them."""
    return [
        (f"t{task}" + (" " if at % 5 == 0 else ""), ("\u00a0" if at % 4 == 0 else "") + worker, label)
        for at, (task, worker, label) in enumerate(rows)
    ]


CLEAN_NAMES = [(f"t{task}", worker, label) for task, worker, label in ROWS]
