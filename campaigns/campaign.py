"""The exactness campaign: random problems of every variant, every engine against brute force and against each other.

python -m campaigns.campaign [--minutes M] [--problems N] [--seed S]

A problem is drawn, answered by every engine that takes it, whole and stopped at a random moment, and compared with the
best of all mappings of its tasks, tried one by one (oracle.py). Some problems also go from a table of responses to a
solution file, which ``verify`` must confirm, and are lied about (lies.py), which it must reject. A problem that an
engine gets wrong is made as small as possible while it still does, and is stored in campaigns/regressions, where
test_campaign.py tries it ever after. Ends with the counts, and exit code 1 if there was any disagreement.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from campaigns.lies import LIES
from campaigns.rating_lies import RATING_LIES
from campaigns.truth import judge
from crowdopt import Solution, prove, verify
from crowdopt.engines.base import Limits
from crowdopt.engines.registry import ENGINES, run
from crowdopt.errors import CrowdoptError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Proof, Space
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from crowdopt.verify.verdict import Verdict
from support import oracle
from support.problems import KINDS, random_classed_tasks, random_objective, random_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crowdopt.engines.registry import Solved

REGRESSIONS = Path(__file__).parent / "regressions"

PROVING = {"auto", "columns", "search"}
"""Engines that take every problem of this size."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem small enough to try every mapping.

    Attributes:
        tasks: Counts by (task, class, label).
        space: Which mappings to search.
        ranked: Whether the classes are ranked.
        kind: ``none``, ``estimated`` or ``given`` shares of the labels.
        shares: The given ones.
        gold: Responses to tasks of known label, by (label, class, answer).
        gold_tasks: How many such tasks there are, by label.
        prior: Pseudo-counts by (label, class, answer); None for none.
        smoothing: A pseudo-count for every entry.
    """

    tasks: np.ndarray
    space: str
    ranked: bool
    kind: str
    shares: tuple[float, ...]
    gold: np.ndarray
    gold_tasks: np.ndarray
    prior: np.ndarray | None
    smoothing: float

    @property
    def problem(self) -> Problem:
        """The same in the words of the engines."""
        offsets = Offsets(self.gold, self.gold_tasks, self.prior, self.smoothing)
        known = self.gold.any() or self.gold_tasks.any() or self.prior is not None or self.smoothing
        objective = Objective(self.kind, self.shares, offsets if known else None)
        return Problem(Buckets.from_arrays(self.tasks)[0], Space(self.space), objective, self.ranked)

    def optimum(self, space: str) -> float:
        """The best of all mappings of tasks in a space, from the definition."""
        shares = {"none": None, "estimated": "estimate", "given": list(self.shares)}[self.kind]
        known = self.gold + (0.0 if self.prior is None else self.prior) + self.smoothing
        added = oracle.Added(shares, known, self.gold_tasks)
        return oracle.brute_force(self.tasks, space=space, shares=added, ranked=self.ranked).value

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        as_lists = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()
        }
        return as_lists | {"shares": list(self.shares)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """The inverse of :meth:`to_dict`."""
        arrays = {name: np.array(data[name], np.int64) for name in ("tasks", "gold", "gold_tasks")}
        prior = None if data["prior"] is None else np.array(data["prior"], float)
        return cls(**(data | arrays | {"prior": prior, "shares": tuple(data["shares"])}))


def draw(rng: np.random.Generator) -> Case:
    """A problem of any variant."""
    n_labels, n_classes = int(rng.integers(2, 6)), int(rng.choice([1, 1, 2, 3]))
    equal = bool(rng.random() < 0.5)
    if n_classes == 1:
        tasks = random_tasks(rng, n_labels, equal=equal)[:, None, :]
    else:
        n_labels = min(n_labels, 3)
        tasks = random_classed_tasks(rng, n_classes, n_labels, equal=equal)
    objective, _ = random_objective(rng, str(rng.choice(KINDS)), n_labels, n_classes)
    none = Offsets(np.zeros((n_labels, n_classes, n_labels), np.int64), np.zeros(n_labels, np.int64), None, 0.0)
    offsets = objective.offsets or none
    space, ranked = str(rng.choice(["dominance", "all"])), bool(n_classes > 1 and rng.random() < 0.5)
    known = (offsets.gold_responses, offsets.gold_tasks, offsets.prior, offsets.smoothing)
    return Case(tasks, space, ranked and space == "dominance", objective.kind, objective.shares, *known)


@dataclass
class Tally:
    """What was done and what went wrong.

    Attributes:
        counts: How often what came out.
        wrong: What each disagreement was about.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def disagreements(case: Case, tally: Tally | None = None, seed: int = 0) -> list[str]:
    """What is wrong with the answers of all engines to a problem; nothing if all is right."""
    problem, optima = case.problem, {space: case.optimum(space) for space in {case.space, "all"}}
    labels = [str(j) for j in range(case.tasks.shape[-1])]
    found = []
    for engine, limits in ways(np.random.default_rng(seed)):
        try:
            solved = run(problem, limits, labels=labels, engine=engine)
        except CrowdoptError as error:
            if engine in PROVING:
                found.append(f"{engine}: refuses a problem ({error})")
            continue  # not for this engine
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be kept
            found.append(f"{engine}: {type(error).__name__}: {error}")
            continue
        if tally is not None:
            tally.counts[f"{engine} {solved.certificate.proof}"] += 1
        words = f"{engine} ({solved.certificate.proof}, stop {solved.certificate.stop})"
        found += [f"{words}: {fault}" for fault in faults(problem, solved, optima)]
    return found


def faults(problem: Problem, solved: Solved, optima: dict[str, float]) -> Iterator[str]:
    """What is wrong with one answer."""
    certificate, slack = solved.certificate, 2 * solved.certificate.tolerance + 1e-9
    claims = certificate.proof is not Proof.NONE
    # Those that prove nothing do not keep to the order either.
    best = optima[certificate.space.value if claims else "all"]
    value = problem.objective.of_mapping(problem.buckets, solved.mapping)
    if abs(value - certificate.objective) > slack:
        yield f"says {certificate.objective!r}, its labels give {value!r}"
    if certificate.objective > best + slack:
        yield f"{certificate.objective!r} is above the optimum {best!r}"
    if certificate.bound is not None and certificate.bound < best - slack:
        yield f"the bound {certificate.bound!r} is below the optimum {best!r}"
    if certificate.proof is Proof.PROVED and certificate.objective < best - slack:
        yield f"{certificate.objective!r} is called proved, and {best!r} is better"
    ordered = claims and certificate.space is Space.DOMINANCE
    if ordered and not oracle.respects_order(problem.buckets.counts, solved.mapping, ranked=problem.ranked):
        yield "the labels do not respect the order"


def ways(rng: np.random.Generator) -> Iterator[tuple[str, Limits]]:
    """Every engine, and those that can be stopped stopped at a random moment."""
    for engine in ("auto", *ENGINES):
        yield engine, Limits(5.0, seed=int(rng.integers(1000)))
    for engine in ("auto", "columns", "chain", "search"):
        calls = iter(range(int(2 ** rng.uniform(0, 8))))
        yield engine, Limits(5.0, on_progress=lambda _, calls=calls: next(calls, None) is None)


def smallest(case: Case, is_wrong: Callable[[Case], bool]) -> Case:
    """A problem that is still wrong and of which nothing can be taken away."""
    while True:
        smaller = next((other for other in simpler(case) if is_wrong(other)), None)
        if smaller is None:
            return case
        case = smaller


def simpler(case: Case) -> Iterator[Case]:
    """The problem less a task, less a part of what is known, less a response."""
    for at in range(len(case.tasks) if len(case.tasks) > 1 else 0):
        yield replace(case, tasks=np.delete(case.tasks, at, axis=0))
    if case.prior is not None:
        yield replace(case, prior=None)
    if case.smoothing:
        yield replace(case, smoothing=0.0)
    if case.gold.any() or case.gold_tasks.any():
        yield replace(case, gold=np.zeros_like(case.gold), gold_tasks=np.zeros_like(case.gold_tasks))
    if case.kind != "none":
        yield replace(case, kind="none", shares=())
    for at in np.argwhere(case.tasks > 0):
        tasks = case.tasks.copy()
        tasks[tuple(at)] -= 1
        if tasks[at[0]].any():
            yield replace(case, tasks=tasks)


def store(case: Case, words: list[str], folder: Path = REGRESSIONS) -> Path:
    """Keeps a problem for test_campaign.py."""
    folder.mkdir(exist_ok=True)
    text = json.dumps({"why": words, "case": case.to_dict()}, indent=1)
    path = folder / f"{zlib.crc32(text.encode()):08x}.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def attack(case: Case, rng: np.random.Generator, tally: Tally) -> list[str]:
    """From a table of responses to a file that must be confirmed, and lies about it that must not."""
    data = table_of(case)
    options = {
        "space": case.space,
        "labels": [f"l{j}" for j in range(case.tasks.shape[-1])],
        "smoothing": case.smoothing,
    }
    shares = {"none": "none", "estimated": "estimate"}.get(case.kind) or dict(
        zip(options["labels"], case.shares, strict=True)
    )
    if case.tasks.shape[1] > 1:
        options |= {"class_": "class"}
        if case.ranked and data["class"].nunique() == case.tasks.shape[1]:
            options |= {"ranked": [f"c{k}" for k in range(case.tasks.shape[1])]}
    if case.prior is not None and data["class"].nunique() == case.tasks.shape[1]:
        prior = np.swapaxes(case.prior, 0, 1)
        options |= {"prior_matrix": prior if len(prior) > 1 else prior[0]}
    can_vote = case.kind != "given" or all(case.shares)  # the vote knows nothing of labels that cannot be
    engine = str(rng.choice(["auto", "auto", "search", "vote" if can_vote else "auto"]))
    solution = prove(data, selectivity=shares, engine=engine, **options)
    found = verify(Solution.from_dict(json.loads(json.dumps(solution.to_dict()))), data)
    tally.counts[f"verify {found.verdict}"] += 1
    wrong = [f"a true solution is rejected: {found.reasons}"] if found.verdict is Verdict.REJECTED else []
    lies = [*LIES, *(RATING_LIES if solution.scale.n_labels > 2 or solution.certificate.engine != "scan" else [])]
    for lie in (lies[at] for at in rng.permutation(len(lies))[:12]):
        lied = solution.to_dict()
        what = lie(lied, solution, rng)
        if what is None:
            continue
        tally.counts["lies"] += 1
        if judge(lied, solution, data).verdict is not Verdict.REJECTED:
            wrong.append(f"{lie.__name__} ({what}) is not rejected")
    return wrong


def table_of(case: Case) -> pd.DataFrame:
    """Responses with the counts of a problem; every worker answers each task once."""
    rows = [
        (f"t{task}", f"w{k}-{number}", f"l{answer}", f"c{k}")
        for task, by_class in enumerate(case.tasks)
        for k, counts in enumerate(by_class)
        for number, answer in enumerate(np.repeat(np.arange(len(counts)), counts))
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label", "class"])


def campaign(until: Callable[[int], bool], seed: int, tally: Tally, folder: Path = REGRESSIONS) -> None:
    """Draws and checks problems, the same ones for the same seed, until told to stop."""
    number = 0
    while until(number):
        rng = np.random.default_rng([seed, number])
        case = draw(rng)
        words = disagreements(case, tally, number)
        if words:
            small = smallest(case, lambda other, number=number: bool(disagreements(other, None, number)))
            tally.wrong.append(f"problem {number}: {words} -> {store(small, words, folder)}")
        if number % 5 == 0:
            tally.wrong += [f"problem {number}: {words}" for words in attack(case, rng, tally)]
        number += 1
    tally.counts["problems"] = number


def main() -> int:
    """Runs, tells, and says by its exit code whether all agreed."""
    options = argparse.ArgumentParser(description="Random problems: every engine against brute force.")
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--problems", type=int, default=0, help="stop after so many, whatever the time")
    options.add_argument("--seed", type=int, default=int(time.time()))
    chosen = options.parse_args()
    tally, end = Tally(), time.monotonic() + 60 * chosen.minutes

    def until(number: int) -> bool:
        if number and number % 200 == 0:
            left = max(0.0, end - time.monotonic())
            print(f"{number:,} problems, {len(tally.wrong)} disagreements, {left / 60:.0f} min left", file=sys.stderr)
        return number < chosen.problems if chosen.problems else time.monotonic() < end

    campaign(until, chosen.seed, tally)
    print(f"seed {chosen.seed}: {tally.counts['problems']:,} problems, {len(tally.wrong)} disagreements")
    for name, number in sorted(tally.counts.items()):
        print(f"  {name:28s} {number:9,}")
    print("\n".join(tally.wrong))
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
