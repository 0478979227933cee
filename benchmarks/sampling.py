"""What it changes that beyond some responses the population is learnt from a sample of the tasks.

python benchmarks/sampling.py [--quick] [--json FILE]

Simulated crowds of a million responses are aggregated twice: as ``crowdopt aggregate`` does it, and by a fit to all of
them. Workers have matrices of their own, one in ten guesses; one task in seven is hard, and there half of the answers
are guesses. *Long tail* says that few workers answer most, *skewed* that some labels are rare.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdopt.data import parts
from crowdopt.data.coded import Coded, Encoded
from crowdopt.data.parts import EncodedParts
from crowdopt.model.scale import Scale
from crowdopt.results.source_consensus import SourceConsensus
from processes import elsewhere, environment
from tables import describe, parser, say, show, write_json

SURE = 1e-4
"""Log-losses take probabilities to be this far from 0."""


@dataclass(frozen=True)
class Make:
    """A crowd that can be drawn again."""

    labels: int
    per_task: int
    workers: int
    long_tail: bool = False
    skewed: bool = False
    responses: int = 10**6

    @property
    def name(self) -> str:
        """What is odd about it."""
        odd = [word for word, is_so in (("long tail", self.long_tail), ("skewed", self.skewed)) if is_so]
        return ", ".join([f"{self.workers:,}", *odd])

    def draw(self) -> tuple[Encoded, np.ndarray]:
        """The responses, and the true labels."""
        rng = np.random.default_rng(0)
        n_tasks = self.responses // self.per_task
        shares = 0.6 ** np.arange(self.labels) if self.skewed else np.ones(self.labels)
        truth = rng.choice(self.labels, n_tasks, p=shares / shares.sum())
        task = np.repeat(np.arange(n_tasks), self.per_task)
        activity = 1 / np.arange(1, self.workers + 1) ** 0.9 if self.long_tail else np.ones(self.workers)
        worker = rng.choice(self.workers, len(task), p=activity / activity.sum())
        right = rng.beta(8, 2, self.workers)
        right[rng.random(self.workers) < 0.1] = 1 / self.labels
        errors = rng.dirichlet(np.ones(self.labels), (self.workers, self.labels)) * (1 - np.eye(self.labels))
        errors /= errors.sum(axis=2, keepdims=True)
        chosen = (errors[worker, truth[task]].cumsum(axis=1) < rng.random((len(task), 1))).sum(axis=1)
        answer = np.where(rng.random(len(task)) < right[worker], truth[task], np.minimum(chosen, self.labels - 1))
        guessed = (rng.random(n_tasks) < 1 / 7)[task] & (rng.random(len(task)) < 0.5)
        answer = np.where(guessed, rng.integers(self.labels, size=len(task)), answer)
        _, worker = np.unique(worker, return_inverse=True)
        coded = Coded.of(task, worker, answer, self.labels)
        names = [
            pa.array([f"{letter}{i:07d}" for i in range(n)]) for letter, n in (("t", n_tasks), ("w", max(worker) + 1))
        ]
        return Encoded.of(coded, *names), truth


MAKES = (
    Make(2, 5, 2_000),
    Make(5, 5, 2_000),
    Make(2, 5, 50_000, long_tail=True),
    Make(5, 5, 50_000, long_tail=True),
    Make(2, 5, 2_000, long_tail=True, skewed=True),
    Make(5, 5, 2_000, long_tail=True, skewed=True),
    Make(2, 5, 100_000, long_tail=True, skewed=True),
    Make(5, 4, 20_000, long_tail=True, skewed=True),
    Make(2, 2, 2_000, long_tail=True, skewed=True),
)
QUICK = (Make(2, 5, 100, responses=20_000),)


def both(make: Make) -> dict[str, Any]:
    """Accuracy and log-loss by a sample and by all responses, and the share of labels that differ."""
    encoded, truth = make.draw()
    scale = Scale.of([f"l{j}" for j in range(make.labels)])
    found = {}
    for name, size in (("sample", parts.SAMPLE), ("all", make.responses)):
        parts.SAMPLE = size
        consensus = SourceConsensus.of(EncodedParts.of(encoded), scale)
        found[name] = np.concatenate([probabilities for _, _, probabilities in consensus.judged()])
    labels = {name: probabilities.argmax(axis=1) for name, probabilities in found.items()}
    at = np.arange(len(truth))
    return {
        "make": asdict(make),
        "differ": float((labels["sample"] != labels["all"]).mean()),
        "accuracy": {name: float((one == truth).mean()) for name, one in labels.items()},
        "log_loss": {name: float(-np.log(np.maximum(one[at, truth], SURE)).mean()) for name, one in found.items()},
    }


def show_makes(makes: tuple[Make, ...], found: list[dict[str, Any]]) -> None:
    """A line for each crowd."""
    rows = [
        [
            *(str(make.labels), str(make.per_task), make.name, f"{one['differ']:.2%}"),
            *(f"{one[score][way]:.4f}" for score in ("accuracy", "log_loss") for way in ("all", "sample")),
        ]
        for make, one in zip(makes, found, strict=True)
    ]
    scores = ("accuracy: all", "sample", "log-loss: all", "sample")
    caption = f"{makes[0].responses:,} responses: a fit to all of them, and as `aggregate` does it."
    show("sampling.py", caption, ("labels", "responses per task", "workers", "labels that differ", *scores), rows)


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("A sample of the tasks against all of them.").parse_args()
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    makes = QUICK if chosen.quick else MAKES
    figures["makes"] = []
    for make in makes:
        say(f"{make.labels} labels, {make.per_task} responses per task, workers: {make.name}")
        figures["makes"].append(elsewhere(both, make))
    show_makes(makes, figures["makes"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
