"""Where the buckets stand in the picture, and which of them are neighbours.

Two labels: a line by the number of higher answers, or a plane of both numbers where they vary. Three labels: a triangle
of shares, each corner being one answer. More labels, or several classes of workers: ordered labels in a swarm along
the mean answer, categories on a shelf for each label. Heavier buckets are placed first and stand where they belong;
what would lie on them moves aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.order import Order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.buckets import Buckets
    from crowdopt.types import Floats, Ints

WIDTH, PAD = 760.0, 46.0
"""Width of the picture, and what is left free at its edges, in units that are pixels on a wide screen."""

SMALL, LARGE = 4.5, 26.0
"""The radius of the lightest and of the heaviest bucket, if there is room."""

MAX_LINKS = 900
"""More lines than this are a grey area."""

Kind = Literal["line", "plane", "triangle", "swarm", "shelves"]


@dataclass(frozen=True)
class Caption:
    """A text in the picture: where, what, and which end of it is there."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "middle"


@dataclass(frozen=True, eq=False)
class Layout:
    """A picture of buckets.

    Attributes:
        kind: Which of the pictures it is.
        width: Of the picture.
        height: Of the picture.
        at: Place of each bucket: x, y.
        radius: Radius of each bucket; its area is as the number of tasks, but for the very small.
        links: Pairs of neighbours that a cut can pass between, the higher one first where there is an order.
        captions: The texts of axes and corners.
    """

    kind: Kind
    width: float
    height: float
    at: Floats
    radius: Floats
    links: tuple[tuple[int, int], ...]
    captions: tuple[Caption, ...]


def lay_out(buckets: Buckets, mapping: Ints, labels: Sequence[str], *, ordered: bool, ranked: bool = False) -> Layout:
    """The picture of some buckets.

    Args:
        buckets: The buckets to draw.
        mapping: Their labels, by which shelves are filled.
        labels: The names of the labels, lowest first.
        ordered: Whether the order of the labels means something.
        ranked: Whether the classes of workers are ranked.
    """
    flat = buckets.n_classes == 1
    if flat and buckets.n_labels == 2:
        return _line(buckets, labels, ordered) if buckets.equal_sizes else _plane(buckets, labels, ordered)
    if flat and buckets.n_labels == 3:
        return _triangle(buckets, labels, ordered)
    return _swarm(buckets, labels, ranked) if ordered else _shelves(buckets, mapping, labels)


def _radii(buckets: Buckets, largest: float) -> Floats:
    share = np.sqrt(buckets.weights / buckets.weights.max())
    return np.asarray(np.maximum(largest * share, min(SMALL, largest)))


def _line(buckets: Buckets, labels: Sequence[str], ordered: bool) -> Layout:
    size, high = int(buckets.sizes[0]), buckets.counts[:, 0, 1]
    step = (WIDTH - 2 * PAD) / max(size, 1)
    radius = _radii(buckets, min(LARGE, 0.47 * step))
    y = 18 + radius.max()
    at = np.stack([PAD + step * high, np.full(len(high), y)], axis=1)
    every = max(1, math.ceil(size / 20))
    ticks = [Caption(PAD + step * k, y + radius.max() + 20, str(k)) for k in range(0, size + 1, every)]
    name = Caption(WIDTH / 2, y + radius.max() + 40, f"answers {labels[1]} of {size:,}")
    links = [(a + 1, a) for a in range(len(high) - 1)]
    return Layout("line", WIDTH, y + radius.max() + 50, at, radius, _few(links, ordered), (*ticks, name))


def _plane(buckets: Buckets, labels: Sequence[str], ordered: bool) -> Layout:
    most = buckets.counts[:, 0].max(axis=0)
    step = min((WIDTH - 2 * PAD) / max(int(most[0]), 1), 560 / max(int(most[1]), 1), 64)
    radius = _radii(buckets, min(LARGE, max(0.46 * step, SMALL)))
    left, bottom = PAD + 20, 20 + LARGE + step * most[1]
    at = np.stack([left + step * buckets.counts[:, 0, 0], bottom - step * buckets.counts[:, 0, 1]], axis=1)
    across, up = (range(0, int(most[j]) + 1, max(1, math.ceil(28 / step))) for j in (0, 1))
    floor = bottom + radius.max() + 18
    captions = [
        *(Caption(left + step * k, floor, str(k)) for k in across),
        *(Caption(left - radius.max() - 8, bottom - step * k + 4, str(k), "end") for k in up),
        Caption(left, floor + 20, f"answers {labels[0]} →", "start"),
        Caption(4, 14, f"answers {labels[1]} ↑", "start"),
    ]
    return Layout(
        "plane", WIDTH, floor + 30, at, radius, _few(Order.of(buckets.counts).arrows(), ordered), tuple(captions)
    )


def _triangle(buckets: Buckets, labels: Sequence[str], ordered: bool) -> Layout:
    side = WIDTH - 2 * PAD - 100
    height = side * math.sqrt(3) / 2
    left, top = (WIDTH - side) / 2, 56.0
    # The lowest label left, the highest right, the middle one on top: the order is read from left to right.
    corners = np.array([[left, top + height], [WIDTH / 2, top], [left + side, top + height]])
    shares = buckets.counts[:, 0] / buckets.sizes[:, None]
    at = shares @ corners
    if buckets.equal_sizes:
        radius = _radii(buckets, min(LARGE, 0.46 * side / int(buckets.sizes[0])))
        links = _steps(buckets.counts[:, 0])
    else:
        radius = _radii(buckets, 18)
        at = _spread(at, radius, buckets.weights)
        links = Order.of(buckets.counts).arrows() if ordered else []
    low = top + height + LARGE + 22
    captions = (
        Caption(left, low, f"all answer {labels[0]}"),
        Caption(WIDTH / 2, 16, f"all answer {labels[1]}"),
        Caption(left + side, low, f"all answer {labels[2]}"),
    )
    lowest = float((at[:, 1] + radius).max())
    return Layout("triangle", WIDTH, max(low, lowest) + 14, at, radius, _few(links, draw=True), captions)


def _swarm(buckets: Buckets, labels: Sequence[str], ranked: bool) -> Layout:
    by_label = buckets.counts.sum(axis=1)
    mean = by_label @ np.arange(buckets.n_labels) / by_label.sum(axis=1)
    x = PAD + (WIDTH - 2 * PAD) * mean / (buckets.n_labels - 1)
    radius = _radii(buckets, 22)
    at = _spread(np.stack([x, np.zeros(len(x))], axis=1), radius, buckets.weights, upright=True)
    top = float((at[:, 1] - radius).min()) - 12
    at[:, 1] -= top
    floor = float((at[:, 1] + radius).max()) + 24
    step = (WIDTH - 2 * PAD) / (buckets.n_labels - 1)
    captions = [Caption(PAD + step * j, floor, clip(label, 14)) for j, label in enumerate(labels)]
    captions.append(Caption(WIDTH / 2, floor + 20, "mean answer"))
    links = _few(Order.of(buckets.counts, ranked=ranked).arrows(), draw=True)
    return Layout("swarm", WIDTH, floor + 30, at, radius, links, tuple(captions))


def _shelves(buckets: Buckets, mapping: Ints, labels: Sequence[str]) -> Layout:
    """One shelf for each label, filled from left to right by weight."""
    radius = _radii(buckets, 20)
    at, captions, y = np.zeros((buckets.n_buckets, 2)), list[Caption](), 0.0
    for j in np.unique(mapping):
        captions.append(Caption(4, y + 16, clip(labels[j], 60), "start"))
        x, row, y = PAD / 2, 0.0, y + 28
        inside = np.flatnonzero(mapping == j)
        for b in inside[np.argsort(-buckets.weights[inside], kind="stable")]:
            if x + 2 * radius[b] > WIDTH - PAD / 2:
                x, y, row = PAD / 2, y + row + 4, 0.0
            row = max(row, 2 * radius[b])  # the first of a row is its largest
            at[b] = x + radius[b], y + row / 2
            x += 2 * radius[b] + 4
        y += row + 10
    return Layout("shelves", WIDTH, y + 4, at, radius, (), tuple(captions))


def _steps(counts: Ints) -> list[tuple[int, int]]:
    """Pairs of buckets of one size that differ by one response, the one with the higher response first."""
    index = {tuple(row): b for b, row in enumerate(counts.tolist())}
    found = []
    for row, b in index.items():
        for low in range(len(row)):
            for high in range(low + 1, len(row)):
                moved = list(row)
                moved[low], moved[high] = moved[low] - 1, moved[high] + 1
                if (a := index.get(tuple(moved))) is not None:
                    found.append((a, b))
    return found


def _spread(at: Floats, radius: Floats, weights: Ints, *, upright: bool = False) -> Floats:
    """The places without overlap: by weight, each as near to its place as is free; ``upright``: only up or down."""
    placed: list[int] = []
    result = at.copy()
    for b in np.argsort(-weights, kind="stable"):
        others = result[placed]
        apart = radius[placed] + radius[b] + 1.5
        for offset in _offsets(upright):
            spot = at[b] + offset
            if not len(others) or bool((np.hypot(*(others - spot).T) >= apart).all()):
                break
        result[b] = spot
        placed.append(int(b))
    return result


def _offsets(upright: bool) -> Floats:
    """Ways to step aside, the shortest first."""
    if upright:
        steps = np.arange(1, 400) * 3.0
        heights = np.concatenate([[0.0], np.stack([-steps, steps], axis=1).ravel()])
        return np.stack([np.zeros(len(heights)), heights], axis=1)
    turns = np.arange(4000)
    angle, length = turns * 2.399963, 1.6 * np.sqrt(turns)  # the golden angle fills the plane evenly
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1)


def _few(links: Sequence[tuple[int, int]], draw: bool) -> tuple[tuple[int, int], ...]:
    return tuple(links) if draw and len(links) <= MAX_LINKS else ()


def clip(text: str, length: int) -> str:
    """The text, cut to a length.

    >>> clip("perhaps", 5)
    'perh…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"
