"""Crowds of three to five labels with what is known of them, and their solutions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from crowdopt import Solution
from crowdopt._option import complete
from crowdopt.data.counts import Totals
from crowdopt.data.load import Source, load
from crowdopt.data.reading import Reading
from crowdopt.engines.base import Limits
from crowdopt.engines.registry import run
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.problem import Problem
from crowdopt.model.scale import Scale
from crowdopt.options.model import SolveOptions
from crowdopt.results.solution_proof import ProofSolution
from crowdopt.results.solve_counts import solve_counted

KINDS = ["none", "estimate", "given", "gold", "prior", "smoothing"]


HARD = ["chain", "enumerate"]


NEVER = 600.0


@dataclass(frozen=True)
class Setting:
    """A crowd to be asked, and what is known about it."""

    n_labels: int
    equal: bool
    kind: str
    nominal: bool = False
    medium: bool = False

    def __str__(self) -> str:
        words = ["equal" if self.equal else "varying", self.kind, "nominal" if self.nominal else "ordinal"]
        return "-".join([str(self.n_labels), *words, "medium" if self.medium else "small"])

    def rng(self, *seed: int) -> np.random.Generator:
        return np.random.default_rng([*seed, self.n_labels, self.equal, KINDS.index(self.kind), self.nominal])


SETTINGS = [Setting(n, equal, kind) for n in (3, 4, 5) for equal in (True, False) for kind in KINDS]


def crowd(setting: Setting, rng: np.random.Generator) -> pd.DataFrame:
    """Responses of workers who are right more or less often."""
    n_labels, medium = setting.n_labels, setting.medium
    n_tasks = int(rng.integers(60, 91)) if medium else int(rng.integers(2, {3: 8, 4: 7, 5: 7}[n_labels]))
    most = {3: 4, 4: 3, 5: 3}[n_labels] - (not setting.equal) if medium else 4
    sizes = np.full(n_tasks, rng.integers(2, most + 1)) if setting.equal else rng.integers(1, most + 1, n_tasks)
    noise = rng.choice([0.1, 0.4, 0.7])
    matrix = (1 - noise) * np.eye(n_labels) + noise * rng.dirichlet(np.ones(n_labels), n_labels)
    truth = rng.integers(n_labels, size=n_tasks)
    rows = [
        (task, worker, int(rng.choice(n_labels, p=matrix[truth[task]])))
        for task in range(n_tasks)
        for worker in range(sizes[task])
    ]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    data["label"] = data["label"].map(dict(enumerate(names_of(setting))))
    return data


def names_of(setting: Setting) -> list[str]:
    return list("abcde" if setting.nominal else "12345")[: setting.n_labels]


def knowledge(setting: Setting, rng: np.random.Generator, data: pd.DataFrame) -> dict:
    """The options of ``prove`` that say what is known."""
    names, n_labels, kind = names_of(setting), setting.n_labels, setting.kind
    if kind == "given":
        shares = rng.integers(1, 9, n_labels).astype(float)
        return {"selectivity": dict(zip(names, (shares / shares.sum()).tolist(), strict=True))}
    if kind == "gold":
        tasks = rng.permutation(data["task"].nunique())[: 5 if setting.medium else 1]
        estimate = {"selectivity": "estimate"} if rng.random() < 0.5 else {}
        return {"gold": {int(task): str(rng.choice(names)) for task in tasks}, **estimate}
    if kind == "prior":
        counts = np.where(rng.random((n_labels, n_labels)) < 0.3, 0.0, rng.exponential(4.0, (n_labels, n_labels)))
        return {"prior_matrix": counts.round(2).tolist()}
    return {"smoothing": 0.5} if kind == "smoothing" else {"selectivity": kind}


def asked(setting: Setting, seed: int) -> tuple[pd.DataFrame, dict]:
    """The data, and the options that say how to read them and what is known."""
    rng = setting.rng(seed)
    data = crowd(setting, rng)
    named = {"labels": names_of(setting), "scale": "nominal" if setting.nominal else "ordinal"}
    inferred = setting.medium and data["label"].nunique() == setting.n_labels  # then the data say it themselves
    return data, {**({} if inferred else named), **knowledge(setting, rng, data)}


def read(data: pd.DataFrame, options: dict) -> tuple[Source, dict]:
    """What ``prove`` counts, once for all engines; and the options that are left."""
    options = dict(options)
    reading = Reading(labels=tuple(options.pop("labels", ())), scale=options.pop("scale", ""))
    return load(data, reading, None, gold=options.pop("gold", None)), options


def solved(source: Source, options: dict, engine: str, *, stopped: bool = False, space: str | None = None) -> Solution:
    """The solution of one engine; a stopped one is interrupted when it first reports."""
    limits = Limits(NEVER, (lambda _: True) if stopped else None)
    wanted = complete(SolveOptions, options | {"engine": engine, "space": space})
    return replace(solve_counted(source.counted, wanted, limits), source=source)


def reloaded(solution: Solution) -> Solution:
    return Solution.from_dict(json.loads(json.dumps(solution.to_dict())))


def solution_of(tasks: np.ndarray, engine: str, setting: Setting, *, known=None, **options) -> Solution:
    """The solution of tasks that were never in a table; ``known`` is a prior matrix."""
    buckets, _ = Buckets.from_arrays(tasks)
    known = knowledge(setting, setting.rng(8), None) | ({} if known is None else {"prior_matrix": known})
    prior = known.get("prior_matrix")
    offsets = Offsets.of(
        setting.n_labels,
        prior=None if prior is None else np.array(prior)[:, None],
        smoothing=known.get("smoothing", 0.0),
    )
    kind = {"none": "none", "estimate": "estimated", "given": "given"}.get(setting.kind, "none")
    shares = tuple(known["selectivity"].values()) if kind == "given" else ()
    problem = Problem(buckets, Space(options.get("space", "dominance")), Objective(kind, shares, offsets))
    names = tuple(names_of(setting))
    limits = Limits(NEVER, (lambda _: True) if options.get("stopped") else None)
    found = run(problem, limits, labels=names, engine=engine)
    return ProofSolution(
        scale=Scale.of(names, names),
        buckets=buckets,
        mapping=found.mapping,
        margins=found.margins,
        objective=problem.objective,
        certificate=found.certificate,
        totals=Totals(buckets.n_tasks, 0, 0, 1, buckets.n_responses, 0),
        reading=Reading(labels=names),
    )
