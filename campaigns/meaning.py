"""Whether a solution file is true, found out without ``verify``: by comparison with a true one, and by brute force.

What a file means is a handful of statements, and each is computed again from the definition (oracle.py): its counts
are those of the data, its likelihood that of its labels, its bound above every mapping of the space, its prices a
proof of it. What else may differ from a true file, and why it may, is in MAY_DIFFER.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from support import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from campaigns.forgeries import Original

Json = dict[str, Any]

MAY_DIFFER = {
    "certificate.work": "nothing is said about the data: how much work it was",
    "certificate.seconds": "nothing is said about the data: how long it took",
    "certificate.stop": "nothing is said about the data: why the engine stopped",
    "certificate.engine": "nothing is said about the data: who found labels that are as good as said",
    "seed": "nothing is said about the data: the seed",
    "crowdopt_version": "nothing is said about the data: who wrote the file",
    "doubts": "the file of a proof says for itself what is to be checked",
    "certificate.witness": "the prices still prove the bound",
    "certificate.objective": "the likelihood is the same within the tolerance",
    "certificate.tolerance": "the tolerance is the same, up to rounding",
    "certificate.bound": "a bound that is true as well",
    "certificate.gap": "a bound that is true as well",
    "certificate.proof": "less is said than was proved, or as much",
    "certificate.space": "the bound holds in this space as well",
    "buckets.label": "labels of which all is true that is said of them",
    "buckets.margin": "margins of those labels, or the same up to rounding",
    "buckets.tied": "margins of those labels, or the same up to rounding",
    "buckets.margin_kind": "exact margins are upper bounds as well",
    "matrix": "the same numbers, up to rounding, or those of the labels",
    "label_shares": "the same numbers, up to rounding, or those of the labels",
    "agreement": "the same numbers, up to rounding",
    "offsets.prior": "pseudo-counts are given: all follows from them that is said",
    "offsets.smoothing": "pseudo-counts are given: all follows from them that is said",
    "offsets": "none, and all of them nought, are the same",
}
"""What may be another in a file that is true, and why; and every option of reading may that makes no difference."""


def _why(part: str) -> str | None:
    """Why a part may differ; None if it may not."""
    return "read in this way the data are the same" if part.startswith("reading.") else MAY_DIFFER.get(part)


def reason_to_confirm(original: Original, contents: Any, data: Path, *, bound: bool) -> str:
    """Why a changed file is as true as the original, or a text that begins with WRONG.

    Args:
        original: The solution that was changed.
        contents: The changed file.
        data: The data that it speaks of.
        bound: Whether its bound is to be true as well.
    """
    if data != original.data:
        return "WRONG: it speaks of other data"
    if not isinstance(contents, dict) or any(isinstance(part, list) and _is_pairs(part) for part in contents.values()):
        return "WRONG: it does not say one thing"
    if original.solution.kind == "consensus":
        return _reason_of_consensus(original.contents, contents)
    try:
        wrong = next(_untrue(original, contents, bound=bound), None)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return f"WRONG: it cannot be read ({type(error).__name__}: {error})"
    changed = sorted({_part(path) for path in _differences(original.contents, contents)})
    if unknown := [part for part in changed if _why(part) is None]:
        wrong = wrong or f"{', '.join(unknown)} may not differ"
    return f"WRONG: {wrong}" if wrong else _words(changed)


ROUNDED = 2e-6
"""How far a number of a consensus may be off and still be the same: machines round differently."""


def _reason_of_consensus(true: Json, contents: Json) -> str:
    """The same for a consensus: all that it says of the data is the same, numbers up to rounding."""
    for path in sorted(_leaves_that_differ(true, contents)):
        if path.strip(".") == "crowdopt_version" or path.startswith(".reading."):
            continue
        ours, theirs = _at(true, path), _at(contents, path)
        rounded = type(ours) is float and type(theirs) in {int, float}
        if not rounded or not math.isclose(ours, theirs, rel_tol=ROUNDED):
            return f"WRONG: {path} may not differ"
    return "the same numbers, up to rounding; or who wrote it, or how the same data are read"


def _at(contents: Any, path: str) -> Any:
    """What a path of :func:`_leaves_that_differ` leads to; None if it is not there."""
    for name in path.split(".")[1:]:
        try:
            contents = contents[int(name) if isinstance(contents, list) else name]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return contents


def _leaves_that_differ(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Like :func:`_differences`, and into lists of the same length."""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _leaves_that_differ(one, other, f"{path}.{number}")
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours.keys() | theirs.keys():
            yield from _leaves_that_differ(ours.get(name), theirs.get(name), f"{path}.{name}")
    elif json.dumps(ours) != json.dumps(theirs):
        yield path


def _words(parts: list[str]) -> str:
    """Every reason once, with what it is the reason of."""
    reasons: dict[str, list[str]] = {}
    for part in parts:
        reasons.setdefault(str(_why(part)), []).append(part)
    return "; ".join(f"{', '.join(them)}: {why}" for why, them in reasons.items())


def _is_pairs(part: list[Any]) -> bool:
    """An object that has a name twice was read as pairs."""
    return bool(part) and isinstance(part[0], tuple)


def _differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """The names of what differs."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours.keys() | theirs.keys():
            if name not in ours or name not in theirs:
                yield f"{path}.{name}"
            else:
                yield from _differences(ours[name], theirs[name], f"{path}.{name}")
    elif json.dumps(ours) != json.dumps(theirs):
        yield path


def _part(path: str) -> str:
    """What a path belongs to, as MAY_DIFFER knows it."""
    names = path.strip(".").split(".")
    return names[0] if names[0] in {"agreement", "matrix"} else ".".join(names[:2])


def _untrue(original: Original, contents: Json, *, bound: bool) -> Iterator[str]:
    """What is not so."""
    true, certificate, table = original.contents, contents["certificate"], contents["buckets"]
    for name in ("scale", "classes", "totals", "selectivity", "format", "format_version"):
        if contents[name] != true[name]:
            yield f"{name} differs from the data"
    for name in ("counts", "weights"):
        if table[name] != true["buckets"][name]:
            yield f"{name} differ from the data"
    if certificate["fingerprint"] != true["certificate"]["fingerprint"]:
        yield "the fingerprint is another"
    if certificate["given"] != true["certificate"]["given"]:
        yield "something else is given"
    facts = Facts(original, contents)
    yield from _about_labels(facts, contents, true)
    if certificate["proof"] != "NONE":
        yield from _about_proof(facts, contents, bound=bound)


def _about_labels(facts: Facts, contents: Json, true: Json) -> Iterator[str]:
    certificate, table = contents["certificate"], contents["buckets"]
    labels = table["label"]
    value, slack = facts.value(labels), 2 * true["certificate"]["tolerance"]
    if abs(value - certificate["objective"]) > slack:
        yield f"the likelihood of its labels is {value!r}"
    if not math.isclose(certificate["tolerance"], true["certificate"]["tolerance"], rel_tol=0.5):
        yield "the tolerance is another"
    if labels != true["buckets"]["label"] or contents["offsets"] != true["offsets"]:
        return
    if not _close(contents["matrix"], true["matrix"]) or not _close(contents["label_shares"], true["label_shares"]):
        yield "matrix or shares do not follow from the labels"
    if not _close(table["margin"], true["buckets"]["margin"], 1e-5) or table["tied"] != true["buckets"]["tied"]:
        yield "margins or ties do not follow from the labels"
    if not _close(list(contents["agreement"].values()), list(true["agreement"].values())):
        yield "the agreement does not follow from the counts"


def _close(ours: Any, theirs: Any, slack: float = 1e-8) -> bool:
    if isinstance(ours, list):
        return (
            isinstance(theirs, list)
            and len(ours) == len(theirs)
            and all(map(_close, ours, theirs, [slack] * len(ours)))
        )
    return ours is theirs or ours == theirs or math.isclose(ours, theirs, rel_tol=slack, abs_tol=slack)


def _about_proof(facts: Facts, contents: Json, *, bound: bool) -> Iterator[str]:
    certificate = contents["certificate"]
    slack, limit = 2 * certificate["tolerance"], certificate["bound"]
    if certificate["gap"] != max(0.0, limit - certificate["objective"]):
        yield "the gap does not follow from the bound"
    if certificate["proof"] == "PROVED" and certificate["gap"] > certificate["tolerance"]:
        yield "the gap is no proof"
    tasks, ordered = facts.counts, certificate["space"] == "dominance"
    if ordered and not oracle.respects_order(tasks, np.array(contents["buckets"]["label"]), ranked=facts.ranked):
        yield "the labels break the order"
    best = facts.optimum(certificate["space"])
    if bound and limit < best - slack:
        yield f"the bound {limit!r} is below {best!r}"
    if bound and certificate["witness"] is not None and not facts.prove(certificate["witness"], limit + slack, {}):
        yield "the prices do not prove the bound"


class Facts:
    """What is true of the problem of a file."""

    def __init__(self, original: Original, contents: Json) -> None:
        self.counts = np.array(original.contents["buckets"]["counts"])
        self.weights = np.array(original.contents["buckets"]["weights"])
        self.n_labels = self.counts.shape[-1]
        self.ranked = original.solution.ranked
        self.key = json.dumps([contents["selectivity"], contents["offsets"]])
        self.ordered = contents["certificate"]["space"] == "dominance"
        self.added = _added(self.key, self.counts.shape)

    @property
    def tasks(self) -> np.ndarray:
        """The counts of each task."""
        return np.repeat(self.counts, self.weights, axis=0)

    def value(self, labels: list[int]) -> float:
        """The log-likelihood of labels of the buckets."""
        mapping = np.repeat(np.array(labels), self.weights)
        return oracle.log_likelihood(self.tasks, mapping, self.added)

    def optimum(self, space: str) -> float:
        """The best of all mappings of tasks."""
        return _optimum(self.tasks.tobytes(), self.tasks.shape, space, self.ranked, self.key)

    def prove(self, witness: Json, bound: float, fixed: dict[int, int]) -> bool:
        """Whether prices prove a bound, by trying every set of buckets under every label."""
        if "bucket" in witness:
            children, bucket = witness["children"], witness["bucket"]
            tried = {
                int(label) for label in children if self.prove(children[label], bound, fixed | {bucket: int(label)})
            }
            return all(self._stands_for(label, tried, fixed) for label in range(self.n_labels))
        prices = np.where([b in fixed for b in range(len(self.counts))], 0.0, witness["prices"])
        total = float(prices.sum())
        said = total + sum(witness["gains"])
        for label in range(self.n_labels):
            sets = self._sets(label, fixed)
            total += float((self._worth(sets, label) - sets @ prices).max(initial=-math.inf))
        return max(total, said) <= bound

    def _stands_for(self, label: int, tried: set[int], fixed: dict[int, int]) -> bool:
        """Whether a label was tried, or is forbidden, or one was tried that nothing tells apart from it."""
        shares = self.added.shares if isinstance(self.added.shares, list) else [1.0] * self.n_labels
        fresh = [j for j in tried if j not in fixed.values() and label not in fixed.values() and self._alike(j, label)]
        return label in tried or shares[label] == 0 or bool(fresh)

    def _alike(self, one: int, other: int) -> bool:
        shares = self.added.shares if isinstance(self.added.shares, list) else [1.0] * self.n_labels
        same = np.array_equal(self.added.known[one], self.added.known[other]) and shares[one] == shares[other]
        return bool(same and self.added.known_tasks[one] == self.added.known_tasks[other])

    def _sets(self, label: int, fixed: dict[int, int]) -> np.ndarray:
        """The sets of buckets that may have a label."""
        sets = oracle.all_mappings(len(self.counts), 2)
        for bucket, its in fixed.items():
            sets = sets[sets[:, bucket] == (its == label)]
        if self.ordered:
            sets = np.array([row for row in sets if self._fits(row, label)])
        return sets

    def _fits(self, row: np.ndarray, label: int) -> bool:
        """Whether the order allows a set: whether the rest can have higher and lower labels."""
        inside, outside = np.flatnonzero(row), np.flatnonzero(row == 0)
        for b in outside:
            over = any(self._above[b, c] for c in inside)
            under = any(self._above[c, b] for c in inside)
            if (over and under) or (over and label == self.n_labels - 1) or (under and label == 0):
                return False
        return True

    @property
    def _above(self) -> np.ndarray:
        return _order(self.counts.tobytes(), self.counts.shape, self.ranked)

    def _worth(self, sets: np.ndarray, label: int) -> np.ndarray:
        """Ψ of sets of buckets under a label."""
        known, shares = self.added.known[label], self.added.shares
        sizes = sets @ self.weights
        values = np.zeros(len(sets))
        for k in range(self.counts.shape[1]):
            answers = sets @ (self.weights[:, None] * self.counts[:, k]) + known[k]
            values += _x_log_x(answers).sum(axis=1) - _x_log_x(answers.sum(axis=1))
        if shares == "estimate":
            sizes = sizes + self.added.known_tasks[label]
            values += _x_log_x(sizes) - sizes * math.log(self.weights.sum() + self.added.known_tasks.sum())
        elif shares is not None:
            values += sizes * math.log(shares[label]) if shares[label] else np.where(sizes > 0, -np.inf, 0.0)
        return values


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.where(x > 0, x, 1.0))


@cache
def _added(key: str, shape: tuple[int, ...]) -> oracle.Added:
    """What is added to the likelihood of the responses."""
    selectivity, offsets = json.loads(key)
    shares = {"none": None, "estimated": "estimate", "given": selectivity["shares"]}[selectivity["kind"]]
    if offsets is None:
        return oracle.Added(shares, np.zeros((shape[2], *shape[1:])), np.zeros(shape[2], int))
    known = np.array(offsets["gold_responses"]) + (0 if offsets["prior"] is None else np.array(offsets["prior"]))
    return oracle.Added(shares, known + offsets["smoothing"], np.array(offsets["gold_tasks"]))


@cache
def _optimum(counts: bytes, shape: tuple[int, ...], space: str, ranked: bool, key: str) -> float:
    tasks = np.frombuffer(counts, np.int64).reshape(shape)
    return oracle.brute_force(tasks, space=space, shares=_added(key, shape), ranked=ranked).value


@cache
def _order(counts: bytes, shape: tuple[int, ...], ranked: bool) -> np.ndarray:
    buckets = np.frombuffer(counts, np.int64).reshape(shape)
    return np.array([[oracle.dominates(a, b, ranked=ranked) for b in buckets] for a in buckets])
