"""How often labels are right, and whether their probabilities mean what they say: ``crowdopt aggregate`` and others.

python benchmarks/accuracy.py [--quick] [--json FILE] [--data DIR] [--seeds FIRST:LAST] [--peers NAME,...]

Prints tables in Markdown: (a) accuracy on public sets of crowd labels whose truth is known, against majority vote with
shared ties and every method of crowd-kit, each in a process of its own with 120 seconds; (b) the means over these sets,
with log-loss, calibration and differences; (c) the sets thinned to 2, 3, 5 and 8 responses per task; (d) simulated
crowds of many makes. ``crowdopt`` is ``aggregate`` without any option but ``duplicates="all"``, so that every method
gets all rows. The model, its constants and its weights were chosen while looking at the public sets, at thinned ones
and at other simulated crowds; the number of rounds on thinned sets and on simulated crowds of the makes of (d): see
rounds.py. Differences stand with their standard errors. Progress goes to standard error.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import crowdopt
from crowdopt.consensus.consensus import find_consensus
from crowdopt.consensus.rows import Rows
from crowdopt.data.coded import Coded
from crowdopt.studies.compare.methods import CROWD_KIT
from dawid_skene import dawid_skene
from processes import environment
from real_sets import DATA, SETS
from scores import Scores, difference, scores_of, vote_shares
from simulated_crowds import MAKES, draw
from tables import describe, parser, say, show, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TIME_LIMIT = 120.0
OURS, VOTE, DS = "crowdopt", "vote", "DawidSkene"
PEERS = tuple(name for name in CROWD_KIT if name != "MajorityVote")
THINNED, THIN_SEEDS, MOST_TASKS = (2, 3, 5, 8), (0, 1), 3000
QUICK = ("ic",)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Responses as numbers, the labels sorted as numbers or texts, and the truth (see ``scores_of``)."""

    name: str
    task: np.ndarray
    worker: np.ndarray
    label: np.ndarray
    truth: np.ndarray
    n_labels: int

    @property
    def votes(self) -> np.ndarray:
        """The shares of the votes."""
        return vote_shares(self.task, self.label, len(self.truth), self.n_labels)

    def consensus(self) -> np.ndarray:
        """The probabilities of the consensus."""
        coded = Coded.of(self.task, self.worker, self.label, self.n_labels)
        return find_consensus(Rows.of(coded)).probabilities

    def some(self, rows: np.ndarray, name: str) -> Crowd:
        """Some of the responses, and the tasks that have one."""
        tasks, task = np.unique(self.task[rows], return_inverse=True)
        worker = np.unique(self.worker[rows], return_inverse=True)[1]
        return Crowd(name, task, worker, self.label[rows], self.truth[tasks], self.n_labels)

    def thinned(self, most: int, seed: int) -> Crowd:
        """At most so many random responses of every task."""
        order = np.lexsort((np.random.default_rng(seed).random(len(self.task)), self.task))
        first = np.searchsorted(self.task[order], np.arange(len(self.truth)))
        rank = np.arange(len(order)) - first[self.task[order]]
        return self.some(np.sort(order[rank < most]), f"{self.name} {most}")


def read(folder: Path) -> tuple[Crowd, list[str], list[str]]:
    """A set as numbers, its tasks and its labels."""
    with (folder / "responses.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        true = dict(list(csv.reader(file))[1:])
    tasks, workers = (sorted({row[at] for row in rows}) for at in (0, 1))
    labels = list(crowdopt.model.scale.sorted_texts({row[2] for row in rows}))
    codes = [{value: at for at, value in enumerate(values)} for values in (tasks, workers, labels)]
    task, worker, label = (np.array([codes[at][row[at]] for row in rows]) for at in range(3))
    truth = np.array([codes[2].get(true[one], -2) if one in true else -1 for one in tasks])
    return Crowd(folder.name, task, worker, label, truth, len(labels)), tasks, labels


def aggregated(folder: Path, tasks: list[str], labels: list[str]) -> np.ndarray:
    """What ``aggregate`` gives, in the order of the tasks and labels."""
    found = crowdopt.aggregate(folder / "responses.csv", duplicates="all").probabilities.to_pydict()
    place = {task: at for at, task in enumerate(map(str, found["task"]))}
    order = [place[task] for task in tasks]
    return np.stack([np.array(found[f"p_{label}"])[order] for label in labels], axis=1)


def crowd_kit(method: str, crowd: Crowd, folder: Path) -> np.ndarray | str:
    """What a method of crowd-kit gives, in a process of its own; a text says why it gives nothing."""
    given, made = folder / "rows.npz", folder / f"{method}.npy"
    np.savez(given, task=crowd.task, worker=crowd.worker, label=crowd.label, n_labels=crowd.n_labels)
    command = [sys.executable, __file__, "--peer", method, str(given), str(made)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f"not done in {TIME_LIMIT:g} s"
    return np.load(made) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def run_peer(method: str, given: str, made: str) -> None:
    """Fits a method of crowd-kit and leaves its probabilities; those of labels alone are one and zero."""
    import pandas as pd
    from crowdkit import aggregation
    from sklearn.base import BaseEstimator

    warnings.simplefilter("ignore")
    rows = np.load(given)
    frame = pd.DataFrame({name: rows[name] for name in ("task", "worker", "label")})
    np.random.seed(0)  # noqa: NPY002 -- some of them draw from the global state
    peer: Any = type(method, (getattr(aggregation, method), BaseEstimator), {})()
    if method in {"DawidSkene", "OneCoinDawidSkene"}:
        peer.n_iter = 100
    labels = peer.fit_predict(frame).sort_index()
    probabilities = np.eye(int(rows["n_labels"]))[labels.to_numpy().astype(int)]
    if (found := getattr(peer, "probas_", None)) is not None:
        whole = found.reindex(index=labels.index, columns=range(int(rows["n_labels"]))).fillna(0.0)
        probabilities = whole.to_numpy()
    np.save(made, probabilities)


def run_set(folder: Path, peers: tuple[str, ...]) -> dict[str, Any]:
    """All methods on one set."""
    say(folder.name)
    crowd, tasks, labels = read(folder)
    found: dict[str, np.ndarray | str] = {OURS: aggregated(folder, tasks, labels), VOTE: crowd.votes}
    with tempfile.TemporaryDirectory() as place:
        found |= {method: crowd_kit(method, crowd, Path(place)) for method in peers}
    methods = {name: scored(p, crowd.truth) for name, p in found.items()}
    sizes = {"tasks": len(tasks), "workers": int(crowd.worker.max()) + 1, "responses": len(crowd.task)}
    return {"set": folder.name, **sizes, "methods": methods}


def scored(found: np.ndarray | str, truth: np.ndarray) -> dict[str, Any]:
    """The scores of probabilities, or why there are none."""
    if isinstance(found, str):
        return {"accuracy": None, "error": found}
    return {**asdict(scores_of(found, truth)), "error": None}


def means(sets: list[dict[str, Any]]) -> dict[str, float | None]:
    """The mean accuracy of each method, over all sets; None for one that failed on any of them."""
    found = {name: [one["methods"][name]["accuracy"] for one in sets] for name in sets[0]["methods"]}
    return {name: None if None in values else sum(values) / len(values) for name, values in found.items()}


def run_three(crowd: Crowd) -> dict[str, Any]:
    """The consensus, the vote and Dawid-Skene on one crowd."""
    ways = {
        OURS: crowd.consensus(),
        VOTE: crowd.votes,
        DS: dawid_skene(crowd.task, crowd.worker, crowd.label, crowd.n_labels),
    }
    return {"crowd": crowd.name, "methods": {name: asdict(scores_of(p, crowd.truth)) for name, p in ways.items()}}


def thin_sets(
    folders: list[Path],
    way: Callable[[Crowd], dict[str, Any]] = run_three,
    seeds: Sequence[int] = THIN_SEEDS,
) -> list[dict[str, Any]]:
    """Every set with fewer responses per task, where it has clearly more; of many tasks without truth only some."""
    runs = []
    for folder in folders:
        say(f"{folder.name}, thinned")
        crowd, _, _ = read(folder)
        other = np.random.default_rng(5).permutation(np.flatnonzero(crowd.truth == -1))[MOST_TASKS:]
        crowd = crowd.some(~np.isin(crowd.task, other), crowd.name)
        per_task = len(crowd.task) / len(crowd.truth)
        for most in THINNED:
            if most < 0.85 * per_task:
                runs += [{**way(crowd.thinned(most, seed)), "set": folder.name, "most": most} for seed in seeds]
    return runs


def simulated(seeds: range, way: Callable[[Crowd], dict[str, Any]] = run_three) -> list[dict[str, Any]]:
    """Crowds of all makes."""
    runs = []
    for make in MAKES:
        say(make)
        for seed in seeds:
            one = draw(make, seed)
            crowd = Crowd(make, one.task, one.worker, one.label, one.truth, one.n_labels)
            runs.append({**way(crowd), "make": make, "seed": seed})
    return runs


def column(runs: list[dict[str, Any]], method: str, score: str = "accuracy") -> np.ndarray:
    """One score of one method in all runs."""
    return np.array([run["methods"][method][score] for run in runs])


def with_error(pair: tuple[float, float], digits: int = 3) -> str:
    """A difference with its standard error."""
    return f"{pair[0]:+.{digits}f} ({pair[1]:.{digits}f})"


def show_sets(sets: list[dict[str, Any]]) -> None:
    """The accuracy of every method on every set."""
    names = list(sets[0]["methods"])
    rows = [
        [
            one["set"],
            *("–" if (share := one["methods"][name]["accuracy"]) is None else f"{share:.4f}" for name in names),
        ]
        for one in sets
    ]
    caption = f"Accuracy, all rows, {TIME_LIMIT:g} s for each method; – where it failed or was not done."
    show("accuracy.py (a)", caption, ("set", *names), rows)


def show_means(sets: list[dict[str, Any]]) -> None:
    """The means over the sets that a method was done with, beside ours on the same sets."""
    rows = []
    for name in sets[0]["methods"]:
        done = [one for one in sets if one["methods"][name]["error"] is None]
        if not done:
            continue
        means = {score: column(done, name, score).mean() for score in Scores.__dataclass_fields__}
        lead = difference(column(done, OURS), column(done, name))
        mean = [f"{column(done, OURS).mean():.4f}", with_error(lead)] if name != OURS else ["", ""]
        losses = [f"{means['log_loss']:.3f}", f"{means['calibration']:.3f}"]
        rows.append([name, str(len(done)), f"{means['accuracy']:.4f}", *mean, *losses])
    columns = ("method", "sets", "accuracy", "ours there", "ours less theirs", "log-loss", "calibration error")
    show("accuracy.py (b)", "Means over the sets; differences with their standard error over sets.", columns, rows)
    best = np.maximum(column(sets, VOTE), column(sets, DS))
    short = column(sets, OURS) - best
    below = [f"{one['set']} {gap:+.4f}" for one, gap in zip(sets, short, strict=True) if gap < -0.02]
    print(f"More than .02 below the better of vote and Dawid-Skene: {', '.join(below) or 'no set'}.\n")


def show_runs(name: str, caption: str, runs: list[dict[str, Any]], by: str, base: str, over: str) -> None:
    """Means of many runs by one of their properties, whose standard errors are over bases, and over all runs."""
    groups = {str(value): [run for run in runs if run[by] == value] for value in dict.fromkeys(run[by] for run in runs)}
    rows = []
    for value, group in {**groups, "all": runs}.items():
        bases = np.array([str(run[over if group is runs else base]) for run in group])
        cells = [f"{column(group, method).mean():.4f}" for method in (OURS, VOTE, DS)]
        cells += [with_error(difference(column(group, OURS), column(group, method), bases)) for method in (VOTE, DS)]
        cells += [f"{column(group, method, 'log_loss').mean():.3f}" for method in (OURS, VOTE, DS)]
        rows.append([value, str(len(group)), *cells, f"{column(group, OURS, 'calibration').mean():.3f}"])
    columns = (
        *(by, "crowds", OURS, VOTE, DS, f"less {VOTE}", f"less {DS}"),
        *(f"log-loss {method}" for method in (OURS, VOTE, DS)),
        "calibration error",
    )
    show(name, caption, columns, rows)


def main() -> None:
    """Runs, prints, writes."""
    if sys.argv[1:2] == ["--peer"]:
        run_peer(*sys.argv[2:])
        return
    options = parser(__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the folder with a folder for each set")
    options.add_argument("--seeds", default="200:206", metavar="FIRST:LAST", help="of the simulated crowds")
    options.add_argument("--peers", default=",".join(PEERS), metavar="NAME,...", help="methods of crowd-kit")
    chosen = options.parse_args()
    first, last = map(int, chosen.seeds.split(":"))
    names = [name for names in SETS.values() for name in names if not chosen.quick or name in QUICK]
    folders = [chosen.data / name for name in names if (chosen.data / name / "responses.csv").is_file()]
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick, "seconds": TIME_LIMIT}
    figures |= {"sets": [], "thinned": []}
    print(describe(figures["environment"]) + "\n")
    if folders:
        peers = (DS,) if chosen.quick else tuple(chosen.peers.split(","))
        figures["sets"] = [run_set(folder, peers) for folder in folders]
        show_sets(figures["sets"])
        show_means(figures["sets"])
        figures["thinned"] = thin_sets(folders)
        caption = (
            "The sets with at most so many responses per task, two draws each. Accuracies are means over crowds; "
            "differences are means over sets, with standard errors over sets."
        )
        show_runs("accuracy.py (c)", caption, figures["thinned"], "most", "set", "set")
    else:
        print("There are no data sets in the folder given by --data (by default ../shared/data): only simulated ones.")
    figures["simulated"] = simulated(range(first, first + 1 if chosen.quick else last))
    caption = "Simulated crowds; standard errors over seeds, of all over makes."
    show_runs("accuracy.py (d)", caption, figures["simulated"], "make", "seed", "make")
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
