"""The one likelihood.

A mapping gives every bucket a label. With N[j] the responses to the tasks of label j, counted by
(class, answer), and n[j] the number of those tasks, the log-likelihood at its best response matrix is

    F = Σ_j Ψ_j,    Ψ_j = Σ_k Σ_i M[j,k,i] ln(M[j,k,i] / M[j,k,·]) + s_j(n[j]),    M = N + G,

where G are the offsets, what is known beforehand (offsets.py), and s_j is the selectivity term: 0 (none), n ln π_j
(given) or n ln(n / n_total) (estimated jointly; tasks of known label count in both). Every Ψ_j is convex in (N, n),
which is what the engines rest on (docs/theory.md).

A response matrix is always indexed [class, true, answered] and its rows sum to one. The paper's
p(i, j), the probability of answering i when the truth is j, is the transpose of one class of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crowdopt.errors import InputError
from crowdopt.model.buckets import blocks_of
from crowdopt.model.letters import same_key
from crowdopt.model.offsets import checked_number
from crowdopt.model.scale import canonical_text, named_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Counts, Floats, Ints
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.offsets import Offsets

SelectivityKind = Literal["none", "given", "estimated"]

MIN_TOLERANCE = 1e-9
"""Log-likelihoods closer than this are never told apart."""


@dataclass(frozen=True)
class Objective:
    """What is maximised: the likelihood of the responses, and of the labels where selectivity is on.

    Attributes:
        kind: Whether the shares of the labels are ignored, given, or estimated with the rest.
        shares: The given shares π, one per label; empty otherwise. A share of zero forbids the label.
        offsets: What is known beforehand about how workers answer, or None.
    """

    kind: SelectivityKind = "none"
    shares: tuple[float, ...] = ()
    offsets: Offsets | None = None

    def __post_init__(self) -> None:
        if (self.kind == "given") != bool(self.shares):
            raise InputError("shares of labels belong to given selectivity, and only to it")
        if self.shares:
            if not all(0 <= share <= 1 for share in self.shares):
                raise InputError(f"selectivity must be shares between 0 and 1, not {list(self.shares)}")
            if abs(math.fsum(self.shares) - 1) > 1e-6:
                raise InputError(f"selectivity must sum to 1, not {math.fsum(self.shares):g}")

    @property
    def interchangeable(self) -> bool:
        """Whether all labels have one and the same term, so that renaming them leaves F alone."""
        return len(set(self.shares)) <= 1 and (self.offsets is None or self.offsets.interchangeable)

    @property
    def given(self) -> tuple[str, ...]:
        """What a proof takes for granted."""
        selectivity = ("selectivity",) if self.kind == "given" else ()
        return (*selectivity, *(self.offsets.given if self.offsets else ()))

    def offset(self, label: int) -> Counts | int:
        """G of one label, shape (class, answer); whole numbers if all of them are; 0 where nothing is known."""
        return 0 if self.offsets is None else self.offsets.counts[label]

    def offset_tasks(self, label: int) -> int:
        """The tasks that are known to have a label."""
        return 0 if self.offsets is None else int(self.offsets.gold_tasks[label])

    def level(self, label: int, responses: Ints, tasks: Ints, n_total: int, table: CountTable | None = None) -> Floats:
        """Ψ of one label, for many candidate sets at once.

        Args:
            label: Index of the label.
            responses: N of each candidate, shape (..., class, answer).
            tasks: n of each candidate, shape (...).
            n_total: Number of tasks that take part in the fit.
            table: Looks logarithms up instead of taking them: faster, and less exact by ``table.error``.
        """
        fit = phi(np.asarray(responses + self.offset(label))) if table is None else table.phi(label, responses)
        return fit + self._share_term(label, tasks, n_total)

    def total(self, responses: Ints, tasks: Ints) -> Floats:
        """F of many candidate mappings: responses (..., label, class, answer), tasks (..., label)."""
        if self.offsets is None and self.kind == "none":
            return np.asarray(phi(responses).sum(axis=-1), dtype=float)  # all labels are alike, and done at once
        n_total = int(tasks.reshape(-1, tasks.shape[-1])[0].sum())
        levels = [self.level(j, responses[..., j, :, :], tasks[..., j], n_total) for j in range(tasks.shape[-1])]
        return np.asarray(np.sum(levels, axis=0), dtype=float)

    def of_mapping(self, buckets: Buckets, mapping: Ints) -> float:
        """F of one mapping of buckets."""
        responses, tasks = buckets.by_label(mapping)
        return float(self.total(responses, tasks))

    def log_shares(self, tasks: Ints) -> Floats:
        """Ln π of every label as the posterior uses it, up to a constant; uniform when selectivity is none."""
        if self.kind == "none":
            return np.zeros(len(tasks))
        if self.offsets is not None:
            tasks = tasks + self.offsets.gold_tasks
        shares = np.asarray(self.shares) if self.kind == "given" else tasks / tasks.sum()
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares), dtype=float)

    def _share_term(self, label: int, tasks: Ints, n_total: int) -> Floats | float:
        if self.kind == "none":
            return 0.0
        if self.kind == "estimated":
            known = self.offset_tasks(label)
            all_known = 0 if self.offsets is None else int(self.offsets.gold_tasks.sum())
            return times_log_share(tasks + known, n_total - tasks + (all_known - known))
        if self.shares[label] == 0:
            return np.where(tasks > 0, -np.inf, 0.0)
        return np.asarray(tasks * math.log(self.shares[label]), dtype=float)


def times_log_share(part: Counts, rest: Counts) -> Floats:
    """``part * ln(part / (part + rest))``, zero where part is zero, good to a few units in the last place.

    Near one the logarithm is taken of the rest (plainly computed, this would be -0.9992):

    >>> round(float(times_log_share(np.array(10**15), np.array(1))), 12)
    -1.0
    """
    whole = part + rest
    near_one = part > rest
    ratio = np.where(near_one, rest, np.where(part > 0, part, 1)) / np.where(whole > 0, whole, 1)
    log_share = np.where(near_one, np.log1p(-np.minimum(ratio, 0.5)), np.log(np.where(near_one, 1.0, ratio)))
    return np.asarray(np.where(part > 0, part * log_share, 0.0), dtype=float)


def phi(responses: Counts) -> Floats:
    """Φ: the log-likelihood of responses (..., class, answer) under their own best matrix row."""
    if responses.dtype.kind == "f":
        rest = _sums_of_others(responses)
    else:
        rest = responses.sum(axis=-1, keepdims=True) - responses
    return np.asarray(times_log_share(responses, rest).sum(axis=(-1, -2)), dtype=float)


def _sums_of_others(values: Counts) -> Floats:
    """For each entry of the last axis the sum of all others, without a difference, which would lose digits."""
    zero = np.zeros_like(values[..., :1])
    before = np.cumsum(np.concatenate([zero, values[..., :-1]], axis=-1), axis=-1)
    after = np.cumsum(np.concatenate([zero, values[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return np.asarray(before + after)


class CountTable:
    """x ln x for every count up to a total, offsets included: for searches that evaluate Φ millions of times.

    Attributes:
        offsets: The distinct offsets that occur in the sums.
        values: (n + offset) ln(n + offset), by offset and n.
        parts: Which offset goes with an answer, by (label, class, answer); one row for all labels where they share it.
        wholes: Which one goes with the sum of a row, by (label, class).
        complete: Whether the table is there at all: not if it would have more entries than allowed.
        error: How far a looked-up Φ may be from the true one: the rounding of terms of size N ln N.
    """

    def __init__(self, objective: Objective, buckets: Buckets, limit: int) -> None:
        """Makes a table for the counts of ``buckets`` if at most ``limit`` entries do."""
        given = objective.offsets.counts if objective.offsets else np.zeros((1, *buckets.counts.shape[1:]))
        known = np.concatenate([given, given.sum(axis=-1, keepdims=True)], axis=-1)
        self.offsets, which = np.unique(known.astype(float), return_inverse=True)
        index = which.reshape(known.shape).astype(np.int64)
        self.parts, self.wholes = np.ascontiguousarray(index[..., :-1]), np.ascontiguousarray(index[..., -1])
        self.complete = (buckets.n_responses + 1) * len(self.offsets) <= limit
        number = np.arange(buckets.n_responses + 1 if self.complete else 0)
        self.values = x_log_x(number + self.offsets[:, None])
        self._at_parts, self._at_wholes = self.parts * len(number), self.wholes * len(number)
        largest = float(x_log_x(np.asarray(buckets.n_responses + known.max())))
        self.error = (4 + known[0].size) * buckets.n_classes * float(np.finfo(float).eps) * abs(largest)

    def phi(self, label: int, responses: Ints) -> Floats:
        """Φ of counts (..., class, answer) with the offsets of a label; the table must be complete."""
        row, flat = label if len(self.parts) > 1 else 0, self.values.ravel()
        parts = flat.take(self._at_parts[row] + responses).sum(axis=(-1, -2))
        return np.asarray(parts - flat.take(self._at_wholes[row] + responses.sum(axis=-1)).sum(axis=-1), dtype=float)


def x_log_x(x: Floats) -> Floats:
    """``x * ln(x)``, zero at zero."""
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)), dtype=float)


def tolerance(value: float, n_labels: int, n_classes: int = 1) -> float:
    """How far an evaluated F may be from the true one, and never less than MIN_TOLERANCE.

    All terms of F have one sign, so the relative error of their sum is at most that of a term (one division, one
    logarithm, one product: under 8 units; one per count where offsets are fractions) plus one rounding per addition.
    """
    terms = n_labels * (n_classes * n_labels + 1) + 2 * n_labels
    return max(MIN_TOLERANCE, (8 + terms) * float(np.finfo(float).eps) * abs(value))


def response_matrix(responses: Counts, objective: Objective | None = None) -> Floats:
    """The best matrix [class, true, answered] for N[label, class, answer] and offsets; rows without any are NaN."""
    if objective is not None and objective.offsets is not None:
        responses = responses + objective.offsets.counts
    by_class = np.swapaxes(responses, 0, 1).astype(float)
    whole = by_class.sum(axis=-1, keepdims=True)
    return np.where(whole > 0, by_class / np.where(whole > 0, whole, 1), np.nan)


def pooled_matrix(responses: Counts, objective: Objective) -> Floats:
    """The matrix [one class, true, answered] of all classes together, their offsets included."""
    if objective.offsets is not None:
        responses = responses + objective.offsets.counts
    return response_matrix(responses.sum(axis=1, keepdims=True))


def label_scores(counts: Ints, matrix: Floats, log_shares: Floats) -> Floats:
    """Ln of share times likelihood of every label for every bucket of counts (bucket, class, answer).

    A label of which nothing is known gets probability zero: if no task has it, or if a class that answered here has
    answered no task of it, so that its row is undefined.
    """
    score = np.empty((len(counts), len(log_shares)))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_matrix = np.log(matrix)
        for some in blocks_of(len(counts), matrix.size):
            terms = counts[some, :, None, :] * log_matrix[None]  # bucket, class, true, answered
            terms = np.where((counts[some, :, None, :] == 0) | np.isnan(log_matrix)[None], 0.0, terms)
            score[some] = terms.sum(axis=(1, 3)) + log_shares
    unknown = np.isnan(matrix).any(axis=-1)  # class, true
    answered = counts.sum(axis=-1) > 0  # bucket, class
    score[(answered[:, :, None] & unknown).any(axis=1) | ~open_labels(matrix, log_shares)] = -np.inf
    return np.asarray(score)


def open_labels(matrix: Floats, log_shares: Floats) -> Bools:
    """Which labels a task can have at all: something is known of them, and their share is not zero; else all."""
    can_be = ~np.isnan(matrix).any(axis=-1).all(axis=0) & np.isfinite(log_shares)
    return np.asarray(can_be | ~can_be.any())


def posterior(counts: Ints, matrix: Floats, log_shares: Floats) -> Floats:
    """Probability of every label for every bucket; where none explains the counts, all that are open are equal."""
    score = label_scores(counts, matrix, log_shares)
    best = score.max(axis=1, keepdims=True)
    score = np.where(np.isfinite(best), score, np.where(open_labels(matrix, log_shares), 0.0, -np.inf))
    scaled = np.exp(score - np.where(np.isfinite(best), best, 0.0))
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def read_selectivity(selectivity: str | dict[Any, float] | None, labels: Sequence[str]) -> Objective:
    """What a user says of the shares of the labels: ``none``, ``estimate`` or the shares; nothing if None.

    >>> read_selectivity("no=0.9,yes=0.1", ["no", "yes"]).shares
    (0.9, 0.1)
    """
    if selectivity is None or selectivity == "none":
        return Objective()
    if selectivity == "estimate":
        return Objective("estimated")
    return Objective("given", read_shares(selectivity, labels, "selectivity", "none, estimate, or "))


def read_shares(given: Any, labels: Sequence[str], option: str, others: str = "") -> tuple[float, ...]:
    """The share of every label, from a dict or a text ``LABEL=P,LABEL=P``.

    Args:
        given: What the user says.
        labels: The labels.
        option: The name of the option, for errors.
        others: What else the option takes, for errors.
    """
    if isinstance(given, str):
        return _parse_shares(given, labels, f"--{option.replace('_', '-')}", others)
    if not isinstance(given, dict):
        raise InputError(f"{option} must be {others}a dict with the share of each label, not {given!r}")
    shares: dict[str, Any] = {}
    for name, share in given.items():
        _name_once(shares, _label_of(canonical_text(name), labels), share, option)
    if set(shares) != set(labels):
        raise InputError(f"{option} must give a share for each of {named_labels(labels)}")
    return tuple(checked_number(shares[label], "a share") for label in labels)


def _label_of(name: str, labels: Sequence[str]) -> str:
    """The label that a user means: the one of this name, or else the only one that differs in case or blanks alone.

    >>> _label_of("NO", ["no", "yes"]), _label_of("NO", ["No", "no"]), _label_of("No", ["No", "no"])
    ('no', 'NO', 'No')
    """
    if name in labels:
        return name
    same = [label for label in labels if same_key(label) == same_key(name)]
    return same[0] if len(same) == 1 else name


def _name_once(shares: dict[str, Any], name: str, share: Any, option: str) -> None:
    if name in shares:
        raise InputError(f"{option} names the label {name!r} twice")
    shares[name] = share


def _parse_shares(text: str, labels: Sequence[str], option: str, others: str) -> tuple[float, ...]:
    shares: dict[str, float] = {}
    known = set(labels)
    for item in text.split(","):
        name, equals, share = item.rpartition("=")
        name = _label_of(name.strip(), labels)
        if not equals or name not in known:
            raise InputError(
                f"cannot read {item!r} in {option}: it takes {others}LABEL=P,… for the labels {named_labels(labels)}"
            )
        try:
            number = float(share)
        except ValueError:
            raise InputError(f"{option}: {share!r} is not a number") from None
        _name_once(shares, name, number, option)
    if missing := [label for label in labels if label not in shares]:
        raise InputError(f"{option} must give a share for every label; missing: {named_labels(missing)}")
    return tuple(shares[label] for label in labels)
