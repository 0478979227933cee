"""Where the buckets stand in the picture, and which of them are neighbours.

Two labels: a line by the number of higher answers, or a plane of both numbers where they vary. Three labels: a triangle
of shares, each corner being one answer. More labels, or several classes of workers: ordered labels by the mean of the
answers and their spread, categories on a shelf for each label. Heavier buckets are placed first and stand where they
belong; what would lie on them moves aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crowdopt.model.order import Order
from crowdopt.report.safe_text import clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.model.buckets import Buckets

WIDTH, PAD = 760.0, 46.0
"""Width of the picture, and what is left free at its edges, in units that are pixels on a wide screen."""

SMALL, LARGE = 4.5, 26.0
"""The radius of the lightest and of the heaviest bucket, if there is room."""

MAX_LINKS = 900
"""More lines than this are a grey area."""

Point = tuple[float, float]
LayoutKind = Literal["line", "plane", "triangle", "arch", "shelves"]


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
        links: Pairs of buckets with a line between them.
        outline: The corners of what the buckets are in; empty if nothing.
        captions: The texts of axes and corners.
    """

    kind: LayoutKind
    width: float
    height: float
    at: Floats
    radius: Floats
    links: tuple[tuple[int, int], ...]
    captions: tuple[Caption, ...]
    outline: tuple[Point, ...] = ()

    def borders(self) -> list[tuple[int, int, float, float, float, float]]:
        """Where a cut between two neighbours would run: pairs of buckets, and both ends of the border between them.

        The border of two buckets is what lies as near to the one as to the other, and nearer to no third (Voronoi's
        cells), so that the borders of all neighbours with different labels join to lines. Shelves have none.
        """
        if self.kind == "shelves":
            return []
        from scipy.spatial import Voronoi

        # Points around the picture, far enough that their cells do not reach into it: so all cells inside are finite.
        far = 4 * max(self.width, self.height)
        turns = np.linspace(0, 2 * np.pi, 12, endpoint=False)
        frame = np.stack([self.width / 2 + far * np.cos(turns), self.height / 2 + far * np.sin(turns)], axis=1)
        cells = Voronoi(np.concatenate([self.at, frame]))
        found = []
        for (a, b), ends in zip(cells.ridge_points.tolist(), cells.ridge_vertices, strict=True):
            if max(a, b) < len(self.at) and -1 not in ends:
                (x1, y1), (x2, y2) = cells.vertices[ends].tolist()
                if segment := _inside((x1, y1), (x2, y2), self.width, self.height):
                    found.append((a, b, *segment))
        return sorted(found)


def lay_out(buckets: Buckets, mapping: Ints, labels: Sequence[str], *, ordered: bool) -> Layout:
    """The picture of some buckets.

    Args:
        buckets: The buckets to draw.
        mapping: Their labels, by which shelves are filled.
        labels: The names of the labels, lowest first.
        ordered: Whether the order of the labels means something.
    """
    flat = buckets.n_classes == 1
    if flat and buckets.n_labels == 2:
        return _line(buckets, labels) if buckets.equal_sizes else _plane(buckets, labels)
    if flat and buckets.n_labels == 3:
        return _triangle(buckets, labels)
    return _arch(buckets, labels) if ordered and buckets.n_labels > 1 else _shelves(buckets, mapping, labels)


def _radii(buckets: Buckets, largest: float) -> Floats:
    share = np.sqrt(buckets.weights / buckets.weights.max())
    return np.asarray(np.maximum(largest * share, min(SMALL, largest)))


def _line(buckets: Buckets, labels: Sequence[str]) -> Layout:
    size, high = int(buckets.sizes[0]), buckets.counts[:, 0, 1]
    first, last = int(high.min()), int(high.max())
    step = min((WIDTH - 2 * PAD) / max(last - first, 1), 2.4 * LARGE)
    radius = _radii(buckets, min(LARGE, 0.47 * step))
    left, y = (WIDTH - step * (last - first)) / 2, 16 + radius.max()
    at = np.stack([left + step * (high - first), np.full(len(high), y)], axis=1)
    every = max(1, math.ceil((last - first) / 24))
    ticks = [Caption(left + step * (k - first), y + radius.max() + 20, str(k)) for k in range(first, last + 1, every)]
    name = Caption(WIDTH / 2, y + radius.max() + 40, f"answers {labels[1]} of {size:,}")
    links = [(a + 1, a) for a in range(len(high) - 1)]
    return Layout("line", WIDTH, y + radius.max() + 50, at, radius, tuple(links), (*ticks, name))


def _plane(buckets: Buckets, labels: Sequence[str]) -> Layout:
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
    return Layout("plane", WIDTH, floor + 30, at, radius, _few(Order.of(buckets.counts).arrows()), tuple(captions))


def _triangle(buckets: Buckets, labels: Sequence[str]) -> Layout:
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
        at, links = _spread(at, radius, buckets.weights), []
    low = top + height + LARGE + 22
    captions = (
        Caption(left, low, f"all answer {labels[0]}"),
        Caption(WIDTH / 2, 16, f"all answer {labels[1]}"),
        Caption(left + side, low, f"all answer {labels[2]}"),
    )
    lowest = float((at[:, 1] + radius).max())
    outline = tuple((float(x), float(y)) for x, y in corners)
    return Layout("triangle", WIDTH, max(low, lowest) + 14, at, radius, _few(links), captions, outline)


def _arch(buckets: Buckets, labels: Sequence[str]) -> Layout:
    by_label, places = buckets.counts.sum(axis=1), np.arange(buckets.n_labels)
    size = by_label.sum(axis=1)
    mean = by_label @ places / size
    spread = np.sqrt(np.maximum(by_label @ places**2 / size - mean**2, 0.0))
    radius, step = _radii(buckets, 20), (WIDTH - 2 * PAD) / (buckets.n_labels - 1)
    at = _spread(np.stack([PAD + step * mean, -step * spread], axis=1), radius, buckets.weights)
    at[:, 1] -= float((at[:, 1] - radius).min()) - 26
    floor = float((at[:, 1] + radius).max()) + 24
    captions = [Caption(PAD + step * j, floor, clip(label, 14)) for j, label in enumerate(labels)]
    captions += [Caption(WIDTH / 2, floor + 20, "mean answer →"), Caption(4, 14, "answers differ more ↑", "start")]
    return Layout("arch", WIDTH, floor + 30, at, radius, (), tuple(captions))


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


def _spread(at: Floats, radius: Floats, weights: Ints) -> Floats:
    """The places without overlap and within the width: the heaviest first, each as near to its place as is free."""
    turns = np.arange(6000)  # of a spiral that reaches 124 units; if no spot on it is free, the last one is taken
    angle, length = turns * 2.399963, 1.6 * np.sqrt(turns)  # the golden angle fills the plane evenly
    offsets = np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1)
    placed: list[int] = []
    result = at.copy()
    for b in np.argsort(-weights, kind="stable"):
        others, apart = result[placed], radius[placed] + radius[b] + 1.5
        spots = at[b] + offsets
        for spot in spots[np.abs(spots[:, 0] - WIDTH / 2) <= WIDTH / 2 - radius[b] - 2]:
            if bool((np.hypot(*(others - spot).T) >= apart).all()):
                break
        result[b] = spot
        placed.append(int(b))
    return result


def _inside(start: Point, end: Point, width: float, height: float) -> tuple[float, float, float, float] | None:
    """The part of a straight line that is inside the picture, rounded; None if there is none."""
    enters, leaves = 0.0, 1.0
    for begin, way, size in ((start[0], end[0] - start[0], width), (start[1], end[1] - start[1], height)):
        if way == 0:
            if not 0 <= begin <= size:
                return None
            continue
        first, last = sorted((-begin / way, (size - begin) / way))
        enters, leaves = max(enters, first), min(leaves, last)
    if enters >= leaves:
        return None
    x, y = end[0] - start[0], end[1] - start[1]
    (x1, y1), (x2, y2) = ((start[0] + part * x, start[1] + part * y) for part in (enters, leaves))
    return round(x1, 1), round(y1, 1), round(x2, 1), round(y2, 1)


def _few(links: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(links) if len(links) <= MAX_LINKS else ()
