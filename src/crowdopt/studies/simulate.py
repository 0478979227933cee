"""Seeded crowds with known truth, for tests, benchmarks and examples.

A crowd is drawn from the model itself: every task has one true label, and every response depends on that
label alone, through one confusion matrix that all workers share, or through one for experts and one for the rest.
Where only the counts matter, :mod:`crowdopt.studies.simulate_counts` draws those without a single response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from crowdopt.errors import InputError
from crowdopt.studies.simulate_faults import disturbed, drawn_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from crowdopt._arrays import Bools, Floats, Ints

    Texts: TypeAlias = NDArray[np.str_]

MatrixKind = Literal["any", "diagonal", "mlr"]
"""Which confusion matrices may be drawn: see :func:`random_matrix`."""

_BLOCK = 256
"""Matrices drawn at once where few of them will do."""

MAX_SIMULATED = 100_000_000
"""More are not drawn at once: they would not fit into memory."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """Responses, and the truth behind them.

    Attributes:
        task: The task of every response, all responses to a task together.
        worker: The worker of every response.
        label: The answer of every response.
        tasks: Every task.
        truth: The true label of every task.
        matrix: Probability of every answer, by (true label, answered label).
        labels: The labels, in the order of the matrix.
        experts: The workers who are experts.
        expert_matrix: The matrix that experts answer by; None if there are none.
    """

    task: Texts
    worker: Texts
    label: Texts
    tasks: Texts
    truth: Texts
    matrix: Floats
    labels: tuple[str, ...]
    experts: tuple[str, ...] = ()
    expert_matrix: Floats | None = None

    def to_dict(self) -> dict[str, Texts]:
        """The responses as columns."""
        return {"task": self.task, "worker": self.worker, "label": self.label}

    def truth_dict(self) -> dict[str, Texts]:
        """The true labels as columns, one row per task."""
        return {"task": self.tasks, "label": self.truth}


def crowd(
    n_tasks: int,
    n_workers: int,
    responses: int | tuple[int, int],
    *,
    labels: Sequence[str] = ("no", "yes"),
    selectivity: ArrayLike | None = None,
    matrix: ArrayLike | None = None,
    kind: MatrixKind = "diagonal",
    skew: float = 0.0,
    experts: int = 0,
    expert_matrix: ArrayLike | None = None,
    careless: float = 0.0,
    hard: float = 0.0,
    seed: int | np.random.Generator,
) -> Crowd:
    """Draws a crowd. The same seed gives the same crowd on any machine.

    Args:
        n_tasks: Number of tasks.
        n_workers: Number of workers.
        responses: Responses per task, each from another worker: one number for all tasks, or (low, high) for numbers
            between these two, both included, which are uniform unless there is a ``skew``.
        labels: The possible answers.
        selectivity: Probability of each label to be the truth of a task; None for all alike.
        matrix: Probability of every answer, by (true label, answered label); None for a :func:`random_matrix`.
        kind: Which random matrices may be drawn.
        skew: Makes few responses the rule: the k-th of the possible numbers of responses, lowest first, has a
            probability in proportion to k ** -skew.
        experts: How many of the workers are experts; which tasks they answer is left to chance, as for all.
        expert_matrix: The matrix of the experts; None for ``matrix`` with every error half as likely.
        careless: Share of the workers who answer whatever the task is, each by habits of their own.
        hard: Share of the tasks that are hard: half of the answers to them are guesses.
        seed: A whole number, or a generator to draw from.

    Raises:
        InputError: No such crowd exists.

    >>> drawn = crowd(3, 10, 2, matrix=[[0.9, 0.1], [0.2, 0.8]], seed=7)
    >>> drawn.task.tolist()
    ['t1', 't1', 't2', 't2', 't3', 't3']
    >>> len(drawn.worker), sorted(drawn.to_dict()), len(drawn.truth)
    (6, ['label', 'task', 'worker'], 3)
    """
    texts, low, high = _checked(n_tasks, n_workers, responses, labels)
    n_labels, rng = len(texts), _generator(seed)
    shares = np.full(n_labels, 1 / n_labels) if selectivity is None else selectivity
    confusion = _confusion(matrix, n_labels, kind, rng)
    truth = drawn_from(_probabilities(shares, (n_labels,), "selectivity"), n_tasks, rng)
    sizes = _sizes(n_tasks, low, high, skew, rng)
    worker = _deal(n_workers, sizes, high, rng)
    expert = _experts(experts, n_workers, expert_matrix, confusion)
    answer = _answers(confusion, expert, np.repeat(truth, sizes), worker < experts, rng)
    answer = disturbed(answer, worker, sizes, (n_labels, n_workers), (careless, hard), rng)
    names, tasks, workers = np.array(texts), _ids("t", n_tasks), _ids("w", n_workers)
    return Crowd(
        task=np.repeat(tasks, sizes), worker=workers[worker], label=names[answer], tasks=tasks, truth=names[truth],
        matrix=confusion, labels=texts, experts=tuple(workers[:experts].tolist()),
        expert_matrix=expert if experts else None,
    )  # fmt: skip


def _confusion(matrix: ArrayLike | None, n_labels: int, kind: MatrixKind, rng: np.random.Generator) -> Floats:
    """How workers answer: as given, or drawn."""
    if matrix is None:
        return random_matrix(n_labels, rng, kind)
    return _probabilities(matrix, (n_labels, n_labels), "matrix")


def random_matrix(n_labels: int, rng: np.random.Generator, kind: MatrixKind = "diagonal") -> Floats:
    """Draws a confusion matrix.

    All kinds begin with rows that are uniform over all distributions, Dirichlet(1, ..., 1), each on its own:

    - ``any``: just that; workers may be anything.
    - ``diagonal``: given that the largest entry of each row is on the diagonal. The true label is the most likely
      answer, though with three labels or more it may well have less than half of them. With two labels this makes both
      error rates uniform between 0 and 1/2.
    - ``mlr``: given that likelihood ratios are monotone, p(i' | j') p(i | j) >= p(i | j') p(i' | j) for i < i', j < j':
      a higher answer always speaks for a higher truth. Drawn by rejection, of three labels about 1 in 82, so that more
      labels than three would take too long.

    Args:
        n_labels: Number of labels.
        rng: The generator to draw from.
        kind: Which matrices may be drawn.

    Returns:
        The matrix, by (true label, answered label); every row sums to 1.

    >>> random_matrix(3, np.random.default_rng(1)).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    if n_labels < 2:
        raise InputError(f"a matrix needs at least two labels, not {n_labels}")
    if kind not in get_args(MatrixKind):
        raise InputError(f"the kind of a matrix is one of {', '.join(get_args(MatrixKind))}, not {kind!r}")
    if kind == "mlr":
        return _monotone(n_labels, rng)
    if n_labels == 2 and kind == "diagonal":
        first, second = rng.uniform(0.5, 1, size=2)
        return np.array([[first, 1 - first], [1 - second, second]])
    rows = _uniform_rows(n_labels, (n_labels,), rng)
    return _largest_on_diagonal(rows) if kind == "diagonal" else rows


def _uniform_rows(n_labels: int, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draws distributions over labels, uniform over all of them."""
    # The gaps between sorted uniforms are Dirichlet(1, ..., 1). Unlike rng.dirichlet, they need no logarithm,
    # whose last bit differs from machine to machine.
    cuts = np.sort(rng.random((*shape, n_labels - 1)), axis=-1)
    return np.diff(cuts, axis=-1, prepend=0.0, append=1.0)


def _largest_on_diagonal(rows: Floats) -> Floats:
    """Swaps the largest entry of each row with the one on the diagonal.

    All labels being alike in a uniform row, this has the same distribution as drawing anew until the largest is there.
    """
    diagonal, largest = np.arange(len(rows)), rows.argmax(axis=1)
    top = rows[diagonal, largest]
    rows[diagonal, largest] = rows[diagonal, diagonal]
    rows[diagonal, diagonal] = top
    return rows


def _monotone(n_labels: int, rng: np.random.Generator) -> Floats:
    """Draws matrices until likelihood ratios are monotone."""
    if n_labels > 3:
        raise InputError(f"matrices of kind 'mlr' are drawn for two or three labels, not {n_labels}: they are too rare")
    while True:
        drawn = _uniform_rows(n_labels, (_BLOCK, n_labels), rng)
        # All entries being positive, neighbours are enough: ratios of neighbours multiply up to all others.
        good = drawn[:, :-1, :-1] * drawn[:, 1:, 1:] >= drawn[:, :-1, 1:] * drawn[:, 1:, :-1]
        found = np.flatnonzero(good.all(axis=(1, 2)))
        if len(found):
            return np.asarray(drawn[found[0]])


def uniform_errors(n_labels: int, accuracy: float) -> Floats:
    """The matrix [true, answered] of workers who are right with probability ``accuracy`` and else pick evenly.

    >>> uniform_errors(2, 0.75).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if n_labels < 2:
        return np.ones((1, 1))
    wrong = (1 - accuracy) / (n_labels - 1)
    return np.where(np.eye(n_labels, dtype=bool), accuracy, wrong)


def near_errors(n_labels: int, accuracy: float, near: float) -> Floats:
    """The same of workers who rate: most errors are to a neighbour of the true label.

    Args:
        n_labels: Number of labels.
        accuracy: How often they are right.
        near: How likely a wrong label is against the one a step nearer; 0 if only neighbours are mistaken for it.

    >>> near_errors(3, 0.75, 0.25).round(3).tolist()
    [[0.75, 0.2, 0.05], [0.125, 0.75, 0.125], [0.05, 0.2, 0.75]]
    """
    if n_labels < 2:
        return np.ones((1, 1))
    places = np.arange(n_labels)
    steps = np.abs(places[:, None] - places)
    errors = np.where(steps == 0, 0.0, near ** np.maximum(steps - 1, 0))
    return np.where(steps == 0, accuracy, errors / errors.sum(axis=1, keepdims=True) * (1 - accuracy))


def _checked(
    n_tasks: int, n_workers: int, responses: int | tuple[int, int], labels: Sequence[str]
) -> tuple[tuple[str, ...], int, int]:
    """The labels and the fewest and most responses per task, once they make sense."""
    if isinstance(responses, tuple) and len(responses) != 2:
        raise InputError(f"responses must be a number or (low, high), not {responses!r}")
    low, high = responses if isinstance(responses, tuple) else (responses, responses)
    for name, value in (
        ("n_tasks", n_tasks),
        ("n_workers", n_workers),
        ("responses", low),
        ("responses", high),
    ):
        if not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{name} must be a whole number, at least 1, not {value!r}")
    if low > high:
        raise InputError(f"responses must go from low to high, not from {low} to {high}")
    if high > n_workers:
        raise InputError(f"{high} responses per task need as many workers, but there are only {n_workers}")
    if max(n_tasks * high, n_workers) > MAX_SIMULATED:
        words = f"{n_tasks:,} tasks with up to {high:,} responses by {n_workers:,} workers"
        raise InputError(f"{words} are too many to draw at once")
    texts = tuple(labels)
    if isinstance(labels, str) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"labels must be a sequence of texts, not {labels!r}")
    if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
        raise InputError(f"there must be at least two labels, all distinct and none empty, not {', '.join(texts)!r}")
    return texts, low, high


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    """The generator of a seed. Its algorithm is named, as numpy may change its default one."""
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number, at least 0, or a numpy Generator, not {seed!r}")
    return np.random.Generator(np.random.PCG64(seed))


def _probabilities(given: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    """An array whose rows are distributions."""
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from error
    if array.shape != shape:
        wanted, given_shape = (" by ".join(map(str, size)) for size in (shape, array.shape))
        raise InputError(f"{name} must have one entry per label, {wanted}, not {given_shape}")
    if not np.all((array >= 0) & (array <= 1)):  # so written, it also refuses NaN
        raise InputError(f"{name} must be probabilities between 0 and 1, not {array.tolist()}")
    sums = array.sum(axis=-1)
    if not np.allclose(sums, 1, rtol=0, atol=1e-9):
        where = " in every row" if array.ndim > 1 else ""
        raise InputError(f"{name} must sum to 1{where}, not {sums.tolist()}")
    return array


def _sizes(n_tasks: int, low: int, high: int, skew: float, rng: np.random.Generator) -> Ints:
    """Draws the number of responses of each task."""
    if not (np.isfinite(skew) and skew >= 0):
        raise InputError(f"skew must be a number of at least 0, not {skew!r}")
    if skew == 0:
        return rng.integers(low, high, size=n_tasks, endpoint=True)
    return low + drawn_from(skewed_shares(high - low + 1, skew), n_tasks, rng)


def skewed_shares(most: int, skew: float) -> Floats:
    """Probabilities of 1 to ``most`` responses in proportion to k ** -skew: few responses are the rule.

    >>> skewed_shares(2, 1.0).round(3).tolist()
    [0.667, 0.333]
    """
    share = np.arange(1, most + 1) ** -float(skew)
    return np.asarray(share / share.sum())


def _experts(experts: int, n_workers: int, matrix: ArrayLike | None, confusion: Floats) -> Floats:
    """The matrix of the experts, once their number makes sense."""
    if not isinstance(experts, int | np.integer) or not 0 <= experts <= n_workers:
        raise InputError(f"experts must be a whole number, at most that of all workers, {n_workers}, not {experts!r}")
    if matrix is None:
        return np.asarray((confusion + np.eye(len(confusion))) / 2)
    return _probabilities(matrix, confusion.shape, "expert_matrix")


def _answers(confusion: Floats, expert: Floats, truth: Ints, by_expert: Bools, rng: np.random.Generator) -> Ints:
    """Draws one answer for every true label, some of them by the matrix of experts."""
    answer = np.empty_like(truth)
    for matrix, asks in ((confusion, ~by_expert), (expert, by_expert)):
        for label, row in enumerate(matrix):
            asked = np.flatnonzero(asks & (truth == label))
            answer[asked] = drawn_from(row, len(asked), rng)
    return answer


def _deal(n_workers: int, sizes: Ints, high: int, rng: np.random.Generator) -> Ints:
    """Draws distinct workers for every task, as hands of cards from shuffled decks.

    A deck is all workers in random order. It is cut into as many hands of ``high`` workers as it holds, and
    every task takes the first few of its hand. So each task gets a uniformly random set of distinct workers
    without any rejection; at least half of each deck is used, which bounds the memory by a small multiple
    of the responses (plus one deck); and loads are more even than independent draws would make them, as no
    worker gets a second task from the same deck.
    """
    hands = n_workers // high
    decks = np.tile(np.arange(n_workers), (-(-len(sizes) // hands), 1))
    rng.permuted(decks, axis=1, out=decks)
    dealt = decks[:, : hands * high].reshape(-1, high)[: len(sizes)]
    return dealt[np.arange(high) < sizes[:, None]].astype(np.int64, copy=False)


def _ids(prefix: str, n: int) -> Texts:
    """Names prefix1 to prefixN, padded with zeros so that their order as texts is their order as numbers.

    >>> _ids("w", 10)[[0, 9]].tolist()
    ['w01', 'w10']
    """
    width = len(str(n))
    return np.strings.add(prefix, np.strings.zfill(np.arange(1, n + 1).astype(f"U{width}"), width))
