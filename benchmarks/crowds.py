"""Simulated responses of any size, written by DuckDB in memory that does not grow with them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from processes import database

STEPS = ((75, 0), (84, 1), (94, -1), (97, 2), (100, -2))
"""How far an answer is from the truth, and up to which percentile: three in four are right, most others close."""


@dataclass(frozen=True)
class Crowd:
    """A crowd that can be made again.

    Attributes:
        responses: How many rows.
        labels: 2 are *no* and *yes*; more are a rating from 1.
        per_task: Responses to each task.
        workers: How many there are; those of one task differ.
        classes: Classes of workers, in a column of that name if there is more than one.
    """

    responses: int
    labels: int = 2
    per_task: int = 5
    workers: int = 1000
    classes: int = 1

    def write(self, path: str) -> None:
        """Writes Parquet, in an order in which the responses to one task are far apart.

        Position i holds response (i * stride) mod n, a permutation. The workers of a task are a random one and then
        every s-th, so none answers it twice. Workers of the higher classes are more often wrong.
        """
        n = self.responses
        stride = next(s for s in range(round(n * 0.6180339887), 2 * n) if math.gcd(s, n) == 1)
        # The members of a class are those whose numbers leave the same remainder.
        worker = (
            f"(hash(t, 1) % {self.workers} + k * (1 + hash(t, 2) % {self.workers // self.per_task})) % {self.workers}"
        )
        query = f"""
            SELECT 't' || t AS task, 'w' || worker AS worker, {self._named("answer")} AS label
                {f", 'c' || (worker % {self.classes}) AS class" if self.classes > 1 else ""}
            FROM (SELECT *, greatest(0, least({self.labels - 1}, {self._answer()})) AS answer
            FROM (SELECT t, k, {worker} AS worker, {self.truth()} AS truth, (hash(t, k, 4) % 100)::INT AS chance
            FROM (SELECT j // {self.per_task} AS t, j % {self.per_task} AS k
            FROM (SELECT (i * {stride}) % {n} AS j FROM range({n}) AS positions(i)))))
        """
        with database() as con:
            con.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")

    def accuracy(self, path: str) -> float:
        """The share of right labels in a file of answers."""
        named = self._named(self.truth("substr(task, 2)::BIGINT"))
        with database() as con:
            found = con.execute(f"SELECT count(*), avg((label::VARCHAR = ({named})::VARCHAR)::INT) FROM '{path}'")
            tasks, share = found.fetchall()[0]
        if tasks != self.responses // self.per_task:
            raise ValueError(f"{path} has {tasks} tasks, not {self.responses // self.per_task}")
        return float(share)

    def truth(self, task: str = "t") -> str:
        """The true label of a task as SQL, numbered from 0; of two, three in ten are *yes*."""
        return f"(hash({task}, 3) % 10 < 3)::INT" if self.labels == 2 else f"(hash({task}, 3) % {self.labels})::INT"

    def _answer(self) -> str:
        shift = f" + 10 * (worker % {self.classes})" if self.classes > 1 else ""
        chance = f"least(99, chance{shift})"
        if self.labels == 2:
            return f"CASE WHEN {chance} < 80 THEN truth ELSE 1 - truth END"
        steps = " ".join(f"WHEN {chance} < {below} THEN truth + {step}" for below, step in STEPS)
        return f"CASE {steps} END"

    def _named(self, number: str) -> str:
        return f"CASE WHEN {number} = 1 THEN 'yes' ELSE 'no' END" if self.labels == 2 else f"1 + {number}"
