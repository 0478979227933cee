"""Forged solution files: true ones are written to disk, changed there, and given to ``verify`` with the data.

python -m campaigns.forgeries [--files N] [--seed S]

A file is changed in one of the ways of changes.py: a label is flipped, a count is off by one, the bound is moved,
prices are perturbed, the fingerprint or the data are those of another set; a lie of lies.py is told; or any number,
text or element of the JSON becomes another. Files of both kinds are changed, proofs and consensuses. A change that
``verify`` confirms, or says that it was reproduced, must have left the file true, for a reason that can be named
(meaning.py finds it without the help of ``verify``). Ends with a table of what became of the files of each change, and
exit code 1 if anything wrong was confirmed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from campaigns.changes import CHANGES
from campaigns.lies import pick
from campaigns.meaning import reason_to_confirm
from crowdopt import Solution, aggregate, prove, verify
from crowdopt.errors import CheckWarning, CrowdoptError
from crowdopt.verify.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Json = dict[str, Any]
Forged = tuple[str, Path]


@dataclass(frozen=True, eq=False)
class Original:
    """A true solution file and the data that it was made from.

    Attributes:
        name: What kind of solution it is.
        data: The file of responses.
        solution: The solution.
        contents: Its file.
    """

    name: str
    data: Path
    solution: Solution
    contents: Json

    def copy(self) -> Json:
        """The contents, to be changed."""
        return json.loads(json.dumps(self.contents))


# The solutions that are forged: every engine, kind of knowledge, space and way to stop.


def responses(seed: int, n_labels: int, *, n_tasks: int, workers: tuple[int, int]) -> pd.DataFrame:
    """A crowd that is right more often than not; every task has a number of workers in a range."""
    rng = np.random.default_rng(seed)
    rows = []
    for task, truth in enumerate(rng.integers(n_labels, size=n_tasks)):
        for worker in rng.permutation(workers[1])[: int(rng.integers(workers[0], workers[1] + 1))]:
            answer = int(truth) if rng.random() < 0.6 else int(rng.integers(n_labels))
            rows.append((f"t{task}", f"w{worker}", answer + 1, "ab"[worker % 2]))
    return pd.DataFrame(rows, columns=["task", "worker", "label", "class"])


def stopping(after: int) -> Callable[[object], bool]:
    """Stops an engine at its so many-th report."""
    calls = iter(range(after))
    return lambda _: next(calls, None) is None


GOLD = pd.DataFrame({"task": ["t0", "t1"], "label": [2, 1]})
TWO: Json = {"n_labels": 2, "n_tasks": 14, "workers": (4, 4)}
VARYING: Json = TWO | {"workers": (1, 5)}
THREE: Json = {"n_labels": 3, "n_tasks": 11, "workers": (3, 3)}
FEW: Json = {"n_labels": 2, "n_tasks": 9, "workers": (3, 4)}

SETTINGS: dict[str, tuple[Json, Json]] = {
    "scan": (TWO, {}),
    "scan, varying numbers": (VARYING, {}),
    "scan, given shares": (TWO, {"selectivity": {1: 0.7, 2: 0.3}}),
    "scan, lines": (VARYING, {"selectivity": "estimate", "space": "all"}),
    "chain": (THREE, {}),
    "chain, smoothing": (THREE, {"smoothing": 0.5}),
    "chain, gold": (THREE, {"gold": GOLD}),
    "chain, prior": (VARYING, {"prior_matrix": [[5.0, 2.0], [1.5, 4.0]]}),
    "chain, classes": (FEW, {"class_": "class"}),
    "chain, ranked classes": (FEW, {"class_": "class", "ranked": ["a", "b"], "selectivity": "estimate"}),
    "enumerate": (THREE, {"engine": "enumerate"}),
    "columns": (THREE, {"space": "all", "engine": "columns"}),
    "columns, given shares": (THREE, {"space": "all", "selectivity": {1: 0.5, 2: 0.3, 3: 0.2}}),
    "columns, gold": (THREE, {"space": "all", "gold": GOLD, "selectivity": "estimate"}),
    "columns, classes": (FEW, {"space": "all", "class_": "class", "engine": "columns"}),
    "ordered columns": (THREE, {"engine": "columns"}),
    "columns, stopped": (THREE, {"space": "all", "engine": "columns", "on_progress": stopping(3)}),
    "chain, stopped": (THREE, {"engine": "chain", "on_progress": stopping(1)}),
    "search": (THREE, {"engine": "search"}),
    "search, no time": (THREE, {"engine": "search", "time_limit": 0.0}),
    "em": (THREE, {"engine": "em"}),
    "soft-em": (TWO, {"engine": "soft-em"}),
    "vote": (THREE, {"engine": "vote"}),
}
"""The crowd and the options of each kind of proof."""

CONSENSUS_SETTINGS: dict[str, tuple[Json, Json]] = {
    "consensus": (TWO, {}),
    "consensus, varying numbers": (VARYING, {}),
    "consensus, ratings": (THREE, {}),
    "consensus, names": (THREE, {"scale": "nominal"}),
    "consensus, gold": (THREE, {"gold": GOLD}),
    "consensus, given shares": (TWO, {"label_shares": {1: 0.7, 2: 0.3}}),
    "consensus, a label more": (FEW, {"labels": [1, 2, 3]}),
}
"""The same for consensuses."""

TRUE = {"proof": Verdict.CONFIRMED, "consensus": Verdict.REPRODUCED}
"""What verify says of true files."""


def originals(folder: Path, names: tuple[str, ...] = (*SETTINGS, *CONSENSUS_SETTINGS), seed: int = 0) -> list[Original]:
    """The solutions, their files and their data; all of them confirmed or reproduced."""
    made = []
    for number, name in enumerate(names):
        crowd, options = (SETTINGS | CONSENSUS_SETTINGS)[name]
        run = prove if name in SETTINGS else aggregate
        data = folder / f"{number}.csv"
        responses(1000 * seed + number, **crowd).to_csv(data, index=False)
        with warnings.catch_warnings(action="ignore", category=CheckWarning):  # such small crowds are doubtful
            solution = run(data, **options)
        solution.save(folder / f"{number}.json")
        found = verify(folder / f"{number}.json", data)
        if found.verdict is not TRUE[solution.kind]:
            raise AssertionError(f"{name}: a true solution is {found}")
        made.append(Original(name, data, solution, solution.to_dict()))
    return made


# What becomes of them.


@dataclass
class Table:
    """What became of the files of each change.

    Attributes:
        counts: How many had which fate, by change and fate.
        reasons: Why confirmed ones are true, and how many are so.
        wrong: What was confirmed although it is wrong.
    """

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in CHANGES})
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        fates = ("rejected", "not re-checked", "still true", "wrong but confirmed")
        lines = ["| change | files | " + " | ".join(fates) + " |", "|---|--:" + "|--:" * len(fates) + "|"]
        total = sum(self.counts.values(), Counter())
        for name, counts in {**self.counts, "all": total}.items():
            lines.append(f"| {name} | {counts.total():,} | " + " | ".join(f"{counts[fate]:,}" for fate in fates) + " |")
        return "\n".join(lines)


def forge(made: list[Original], files: int, seed: int, folder: Path, names: Sequence[str] = tuple(CHANGES)) -> Table:
    """Changes files and has them verified, the same ones for the same seed; every change in turn."""
    table, path = Table(), folder / "forged.json"
    for number in range(files):
        rng = np.random.default_rng([seed, number])
        name = names[number % len(names)]
        original, forged = _forgery(name, made, rng)
        path.write_text(forged[0], encoding="utf-8")
        _judge(table, name, original, path, forged)
    return table


def _forgery(name: str, made: list[Original], rng: np.random.Generator) -> tuple[Original, Forged]:
    """A change of some solution that has what is to be changed; what says the same in other words is none."""
    while True:
        original = pick(made, rng)
        forged = CHANGES[name](original, made, rng)
        if forged is not None and (_means(forged[0]) != original.contents or forged[1] != original.data):
            return original, forged


def _means(text: str) -> Any:
    """What a text says; a name that is said twice says something else than one that is said once."""
    try:
        return json.loads(
            text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else pairs
        )
    except ValueError:
        return None


def _judge(table: Table, name: str, original: Original, path: Path, forged: Forged) -> None:
    words = f"{name}, {original.name}"
    try:
        found = verify(path, forged[1], time_limit=20.0)
    except CrowdoptError:  # the data cannot be read as the file says: exit code 2, and nothing is confirmed
        table.counts[name]["rejected"] += 1
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, it is to be told
        table.counts[name]["wrong but confirmed"] += 1
        table.wrong.append(f"{words}: {type(error).__name__}: {error}")
        return
    if found.verdict is Verdict.REJECTED:
        table.counts[name]["rejected"] += 1
        return
    reason = reason_to_confirm(original, _means(forged[0]), forged[1], bound=found.verdict is Verdict.CONFIRMED)
    if reason.startswith("WRONG"):
        table.counts[name]["wrong but confirmed"] += 1
        table.wrong.append(f"{words}: {reason}")
    else:
        table.counts[name]["not re-checked" if found.verdict is Verdict.BOUND_NOT_RECHECKED else "still true"] += 1
        table.reasons[f"{found.verdict}: {reason}"] += 1


def main() -> int:
    """Runs, tells, and says by its exit code whether anything wrong was confirmed."""
    options = argparse.ArgumentParser(description="Forged solution files, against verify.")
    options.add_argument("--files", type=int, default=1000)
    options.add_argument("--seed", type=int, default=int(time.time()))
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = originals(Path(folder), seed=chosen.seed % 1000)
        print(f"seed {chosen.seed}: {len(made)} kinds of solution", file=sys.stderr)
        table = forge(made, chosen.files, chosen.seed, Path(folder))
    print(f"seed {chosen.seed}\n\n{table}\n\nWhy it is true what was not rejected:\n")
    for reason, number in table.reasons.most_common():
        print(f"{number:6,}  {reason}")
    print("\n".join(table.wrong))
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
