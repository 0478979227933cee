"""How well the consensus knows its workers: what it says of each, next to how often each is right by the truth.

python benchmarks/workers.py [--quick] [--json FILE] [--data DIR] [--seeds FIRST:LAST]

Prints two tables in Markdown, (a) for public sets of crowd labels, (b) for simulated crowds of many makes
(simulated_crowds.py). The form of the intervals was chosen with the sets of (a) in view, and the number of rounds of
the consensus with crowds like those of (b). Each table has the share of the 95 % intervals of the accuracy that hold
the true accuracy, their median width, and the rank correlation of the skill with the true accuracy. The true accuracy
is the share of a worker's responses, to tasks with truth, that equal the truth. Each folder of the data has
responses.csv (task, worker, label) and truth.csv (task, label). Progress goes to standard error.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from crowdopt.consensus.consensus import WEIGHTS, Judge, find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.data.coded import Coded
from crowdopt.results.workers.skill import ComparedWithAll, Skill, measure_skill
from crowdopt.results.workers.statistics import FLAGS
from processes import environment
from simulated_crowds import MAKES, draw
from tables import describe, parser, say, show, write_json

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = (
    *("ic", "bluebirds", "sp_amt", "mozafari", "rte", "temp", "product", "zencrowd_us", "weather", "weather3"),
    *("web", "dog", "movies3", "trec3", "wsd", "music", "labelme"),
)
QUICK = ("movies3", "wsd", "ic")
SEEDS = "100:103"

RESPONSES = {"set": 50, "make": 20}
"""How many responses with truth a worker has at least to be looked at; simulated crowds are smaller."""

WORKERS = 10
"""How many such workers a set has at least to be looked at."""

UNKNOWN, UNHEARD = -1, -2
"""Stand for the truth of a task that has none, and for a label that nobody ever gave."""


@dataclass(frozen=True, eq=False)
class Truth:
    """Workers of one crowd: what is said of each, how many of its responses have truth, and what share equals it."""

    skill: Skill
    n_truth: np.ndarray
    accuracy: np.ndarray

    def figures(self, least: int) -> dict[str, Any]:
        """The figures of a crowd, with lists by worker for pooling; no lists if there are too few workers."""
        said, who = self.skill, self.n_truth >= least
        if who.sum() < WORKERS:
            return {"n_workers": int(who.sum())}
        true = self.accuracy[who]
        low, high = said.accuracy_low[who], said.accuracy_high[who]
        return {
            "n_workers": int(who.sum()),
            "holds": ((low <= true) & (true <= high)).tolist(),
            "width": (high - low).tolist(),
            "correlation": float(spearmanr(said.skill[who], true)[0])
            if np.ptp(true) and np.ptp(said.skill[who])
            else 0.0,
            "flags": {name: int((said.flag[who] == number).sum()) for number, name in enumerate(FLAGS) if name},
        }


def judge(task: np.ndarray, worker: np.ndarray, answer: np.ndarray, n_labels: int, truth: np.ndarray) -> Truth:
    """Finds the consensus and measures its workers; truth is the label of each task, or UNKNOWN."""
    rows = Rows.of(Coded.of(task, worker, answer, n_labels))
    found = find_consensus(rows)
    judged = ComparedWithAll(
        task=rows.task,
        worker=rows.worker.astype(np.int64),
        answer=rows.answer.astype(np.int64),
        n_workers=rows.n_workers,
        n_labels=n_labels,
        right=[(WEIGHTS[name], table[rows.task, rows.answer]) for name, table in found.members.items()],
        without=Judge(found.parameters).probabilities_without(rows),
        known=rows.known[rows.task] >= 0,
    )
    true = truth[rows.task]
    n_truth = judged.sums(1.0 * (true != UNKNOWN))
    right = judged.sums(1.0 * (true == rows.answer))
    return Truth(measure_skill([judged]), n_truth, right / np.maximum(n_truth, 1))


def read(folder: Path) -> Truth:
    """One public set, all rows counted."""
    columns = list(zip(*_rows(folder / "responses.csv"), strict=True))
    (tasks, task), (_, worker), (labels, answer) = (np.unique(column, return_inverse=True) for column in columns)
    codes = {label: number for number, label in enumerate(labels.tolist())}
    by_task = {name: codes.get(label, UNHEARD) for name, label in _rows(folder / "truth.csv")}
    truth = np.array([by_task.get(name, UNKNOWN) for name in tasks.tolist()])
    return judge(task, worker, answer, len(labels), truth)


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def simulated(make: str, seed: int) -> Truth:
    """One simulated crowd."""
    drawn = draw(make, seed)
    tasks, task = np.unique(drawn.task, return_inverse=True)
    worker = np.unique(drawn.worker, return_inverse=True)[1]
    return judge(task, worker, drawn.label.astype(np.int64), drawn.n_labels, drawn.truth[tasks])


def pooled(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of several crowds: workers together, correlations and flags over crowds."""
    return {
        "n_workers": sum(run["n_workers"] for run in runs),
        "holds": [held for run in runs for held in run["holds"]],
        "width": [width for run in runs for width in run["width"]],
        "correlation": float(np.mean([run["correlation"] for run in runs])),
        "flags": {name: sum(run["flags"][name] for run in runs) for name in FLAGS if name},
    }


def line(name: str, run: dict[str, Any]) -> list[str]:
    """A line of a table; it is short where there were too few workers."""
    if "holds" not in run:
        return [name, str(run["n_workers"]), *[""] * (3 + len(FLAGS) - 1)]
    share, width = np.mean(run["holds"]), np.median(run["width"])
    figures = [f"{value:.3f}" for value in (share, width, run["correlation"])]
    return [name, str(run["n_workers"]), *figures, *map(str, run["flags"].values())]


def show_runs(part: str, what: str, caption: str, runs: dict[str, list[dict[str, Any]]]) -> None:
    """A table with a line for each name, and one for all."""
    counted = {name: [run for run in some if "holds" in run] for name, some in runs.items()}
    lines = [line(name, pooled(some) if some else runs[name][0]) for name, some in counted.items()]
    if every := [run for some in counted.values() for run in some]:
        lines.append(line(f"all {len(every)}", pooled(every)))
    columns = (what, "workers", "intervals that hold it", "median width", "rank correlation", *filter(None, FLAGS))
    show(f"workers.py ({part})", caption, columns, lines)


def main() -> None:
    """Measures, prints, writes."""
    options = parser("What the consensus says of workers, next to the truth.")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    options.add_argument("--seeds", default=SEEDS, metavar="FIRST:LAST", help="the seeds of the simulated crowds")
    chosen = options.parse_args()
    names = QUICK if chosen.quick else SETS
    present = [name for name in names if (chosen.data / name / "responses.csv").is_file()]
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "sets": {}, "makes": {}}
    print(describe(figures["environment"]) + "\n")
    for name in present:
        say(name)
        figures["sets"][name] = [read(chosen.data / name).figures(RESPONSES["set"])]
    if present:
        caption = (
            f"Workers with at least {RESPONSES['set']} responses that have truth. A set with fewer than {WORKERS} such "
            "workers does not count. Last: all workers together, and the mean correlation. Right: how many are flagged."
        )
        show_runs("a", "set", caption, figures["sets"])
    else:
        print("There are no data sets in the folder given by --data (by default ../shared/data): no table (a).\n")
    first, last = (100, 101) if chosen.quick else map(int, chosen.seeds.split(":"))
    for make in list(MAKES)[: 2 if chosen.quick else None]:
        say(make)
        runs = [simulated(make, seed).figures(RESPONSES["make"]) for seed in range(first, last)]
        figures["makes"][make] = runs
    caption = f"Simulated crowds; workers with at least {RESPONSES['make']} responses."
    show_runs("b", "make", caption, figures["makes"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
