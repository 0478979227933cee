"""The paper's diagrams: buckets, their order, and mappings that respect it; all of it computed, nothing traced."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt.engines.enumeration import enumerate_mappings, full_lattice
from crowdopt.engines.solve import solve
from crowdopt.model.order import Order
from crowdopt.report.charts import BLUE, GRID, PALE_BLUE, PALE_GREEN, PALE_ORANGE, PAPER, RED, SOFT
from crowdopt.studies.paper.svg import Drawing

if TYPE_CHECKING:
    from crowdopt._arrays import Ints
    from crowdopt.studies.paper.svg import Point

RATING_COLOURS = (PALE_ORANGE, PALE_GREEN, PALE_BLUE)
"""One per rating, lowest first; the lowest and the highest also stand for 0 and 1."""

DiagramRow = dict[str, Any]


@dataclass(frozen=True)
class Diagram:
    """A drawing, the numbers behind it, and what it says in words."""

    svg: str
    rows: list[DiagramRow]
    words: str


def mapping_example() -> Diagram:
    """Figure 1: 500 items in three buckets, and the mappings that respect their order."""
    buckets = np.array([[0, 0, 3], [1, 1, 1], [3, 0, 0]])
    sizes = (300, 100, 100)
    order = Order.of(buckets[:, None])
    mappings = enumerate_mappings(order, 3)[::-1].astype(int) + 1
    drawing = Drawing(470, 300)
    drawing.heading("Buckets shrink the search, their order shrinks it again", "Figure 1 · 500 items, 3 responses each")
    for b, (bucket, size) in enumerate(zip(buckets, sizes, strict=True)):
        y = 108 + 62 * b
        drawing.box((74, y), 116, 40, fill=PAPER)
        drawing.text((74, y - 2), _responses(bucket), bold=True)
        drawing.text((74, y + 13), f"{size} items", size=11, colour=SOFT)
        if b:
            drawing.arrow((74, y - 62), (74, y), half=(58, 20))
        for k, mapping in enumerate(mappings):
            at = (170 + 31 * k, y)
            drawing.box(at, 27, 40, fill=RATING_COLOURS[mapping[b] - 1], stroke=GRID, radius=3)
            drawing.text((at[0], y + 5), str(mapping[b]), size=13)
    drawing.text((310, 80), f"the {len(mappings)} mappings that respect the order, one a column", size=11, colour=SOFT)
    drawing.text((12, 284), f"all mappings: 3^500  ·  bucket by bucket: 3^3 = 27  ·  in order: {len(mappings)}",
                 anchor="start")  # fmt: skip
    rows = [dict(zip(("3,3,3", "1,2,3", "1,1,1"), map(int, mapping), strict=True)) for mapping in mappings]
    words = (
        "Items with the same responses share a bucket and a rating: 27 mappings are left of 3⁵⁰⁰. A bucket with higher "
        f"responses may not get the lower rating: {len(mappings)} are left."
    )
    return Diagram(drawing.svg(), rows, words)


def filtering_example() -> Diagram:
    """Figure 2: four items with three responses, their buckets, and all five cut-points with their likelihood."""
    items = {(3, 0): "I1", (2, 1): "I3, I4", (1, 2): "I2", (0, 3): "empty"}
    rows = _cut_points()
    drawing = Drawing(470, 376)
    drawing.heading("Filtering: buckets on a line, and where to cut it", "Figure 2 · the paper's example, m = 3")
    spots = {bucket: (62 + 58 * bucket[0], 292 - 58 * bucket[1]) for bucket in items}
    _axes(drawing, (62, 292), 3, 58)
    buckets = list(items)
    for above, below in pairwise(buckets):
        drawing.arrow(spots[above], spots[below], half=(12, 12))
    for bucket, spot in spots.items():
        label = int(bucket[0] >= 2)
        drawing.circle(spot, 17, fill=(PALE_ORANGE, PALE_BLUE)[label])
        drawing.text((spot[0], spot[1] + 4), f"{bucket[0]},{bucket[1]}", size=11)
        drawing.text((spot[0] + 22, spot[1] - 8), items[bucket], size=11, anchor="start")
    middle = [(spots[2, 1][axis] + spots[1, 2][axis]) / 2 for axis in (0, 1)]
    drawing.path([(middle[0] - 52, middle[1] + 52), (middle[0] + 52, middle[1] - 52)], stroke=RED, width=2, dash="6 4")
    drawing.text((middle[0] + 56, middle[1] - 54), "cut-point 2", size=11, colour=RED, anchor="start")
    _bars(drawing, rows)
    best = max(rows, key=lambda row: float(row["log_likelihood"]))
    words = (
        "Each item is a point on the line of 3 responses; blue gets 1, orange gets 0. The five cut-points are all the "
        "mappings that respect the order. The cut drawn is the paper's; the likeliest one is cut-point "
        f"{best['cut_point']}, with a log-likelihood of −{-best['log_likelihood']:.2f}."
    )
    return Diagram(drawing.svg(), rows, words)


def _cut_points() -> list[DiagramRow]:
    """The log-likelihood of every cut-point of the example."""
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.objective import Objective

    ones, tasks = np.array([3, 2, 1]), [1, 2, 1]
    buckets, _ = Buckets.from_arrays(np.column_stack([3 - ones, ones]), tasks)
    yes = buckets.counts[:, 0, 1]
    return [
        {"cut_point": cut, "log_likelihood": Objective("none").of_mapping(buckets, (yes > 3 - cut).astype(np.int64))}
        for cut in range(5)
    ]


def _bars(drawing: Drawing, rows: list[DiagramRow]) -> None:
    """Log-likelihoods as bars beside each other, the likeliest in blue."""
    best = max(row["log_likelihood"] for row in rows)
    drawing.text((376, 80), "log-likelihood by cut-point", size=11, colour=SOFT)
    for k, row in enumerate(rows):
        x, length = 308 + 34 * k, -16 * row["log_likelihood"]
        is_best = row["log_likelihood"] == best
        drawing.box((x, 100 + length / 2), 20, length, fill=BLUE if is_best else GRID, stroke=SOFT, radius=2)
        drawing.text((x, 94), str(row["cut_point"]), size=11)
        drawing.text((x, 114 + length), f"{row['log_likelihood']:.2f}".replace("-", "−"), size=9.5, bold=is_best)


def dominance_dag() -> Diagram:
    """Figure 5: the order among the ten buckets of three responses with three ratings, cut by a likeliest mapping."""
    lattice, weights, labels = rated_crowd()
    spots = [_dag_spot(bucket) for bucket in lattice]
    drawing = Drawing(470, 560)
    drawing.heading("The order of ratings, cut by the likeliest mapping",
                    "Figure 5 · R = 3, m = 3 · a simulated crowd of 1,000 items")  # fmt: skip
    for a, b in Order.of(lattice[:, None]).arrows():
        drawing.arrow(spots[a], spots[b], half=(42, 19))
    for rating, aside in ((2, 6), (3, -6)):  # two cuts may run through the same gap
        left, right = (_boundary(lattice, labels, rating, side) + aside for side in (0, 1))
        drawing.path([(30, left), (178, left), (262, right), (390, right)], stroke=RED, width=2, dash="6 4")
        drawing.text((396, right + 4), f"cut c = {rating}", size=11, colour=RED, anchor="start")
    for spot, bucket, weight, label in zip(spots, lattice, weights, labels, strict=True):
        drawing.box(spot, 84, 38, fill=RATING_COLOURS[label - 1])
        drawing.text((spot[0], spot[1] - 2), ",".join(str(count) for count in bucket[::-1]), bold=True)
        drawing.text((spot[0], spot[1] + 13), f"{weight} items", size=11, colour=SOFT)
    _key(drawing, (34, 540), {"gets 3": PALE_BLUE, "gets 2": PALE_GREEN, "gets 1": PALE_ORANGE})
    rows = [
        {
            "responses_3": int(b[2]),
            "responses_2": int(b[1]),
            "responses_1": int(b[0]),
            "items": int(w),
            "rating": int(j),
        }
        for b, w, j in zip(lattice, weights, labels, strict=True)
    ]
    words = (
        "A bucket i,j,k holds the items with i responses of 3, j of 2 and k of 1. Arrows lead to buckets that are one "
        "step lower; no bucket may get a higher rating than one above it. The dashed cuts are the likeliest such "
        "mapping for a simulated crowd, proved by the chain engine."
    )
    return Diagram(drawing.svg(), rows, words)


def rated_crowd() -> tuple[Ints, Ints, Ints]:
    """The buckets of three responses with ratings 1 to 3, the items of a simulated crowd in them, likeliest ratings."""
    rng = np.random.Generator(np.random.PCG64(5))
    matrix = np.array([[0.75, 0.2, 0.05], [0.15, 0.75, 0.1], [0.05, 0.25, 0.7]])
    responses = np.concatenate(
        [rng.multinomial(3, row, size=n) for row, n in zip(matrix, (400, 250, 350), strict=True)]
    )
    lattice = full_lattice(3, 3)
    weights = (responses[:, None] == lattice).all(axis=2).sum(axis=0)
    mapping = solve(lattice, weights, engine="chain").mapping
    return lattice, weights, mapping + 1


def _dag_spot(bucket: Ints) -> Point:
    """Rows by the sum of ratings; the two columns by how far the responses are spread."""
    height = int(bucket[1] + 2 * bucket[2])
    column = {0: 0, 1: 0, 5: 0, 6: 0}.get(height, 1 if bucket[1] >= 2 else -1)
    return 220 + 88 * column, 88 + 68 * (6 - height)


def _boundary(lattice: Ints, labels: Ints, rating: int, side: int) -> float:
    """Where a cut meets one side: half-way between the buckets above and below it on that side and in the middle."""
    spots = np.array([_dag_spot(bucket) for bucket in lattice])
    here = spots[:, 0] >= 220 if side else spots[:, 0] <= 220
    above, below = spots[here & (labels >= rating), 1], spots[here & (labels < rating), 1]
    return float((above.max(initial=56) + below.min(initial=528)) / 2)


def varying_order() -> Diagram:
    """Figure 8: the order when items have up to four responses, and two of the mappings that respect it."""
    drawing, spots = _plane(
        "The order with up to m responses", "Figure 8 · m = 4 · arrows lead to dominated buckets", 4
    )
    for at, name in ((_between(spots, (1, 0), (2, 0)), "f_i: at least 2 ones"),):
        drawing.path([(at[0], 382), (at[0], 92)], stroke=RED, width=2, dash="6 4")
        drawing.text((at[0] + 6, 102), name, size=11, colour=RED, anchor="start")
    level = _between(spots, (0, 1), (0, 2))[1]
    drawing.path([(40, level), (352, level)], stroke=BLUE, width=2, dash="2 3")
    drawing.text((358, level + 4), "f_j: at most 1 zero", size=11, colour=BLUE, anchor="start")
    _buckets(drawing, spots, {})
    order = Order.of(np.array([[j, i] for i, j in spots])[:, None])
    rows = [_arrow_row(list(spots)[a], list(spots)[b]) for a, b in order.arrows()]
    words = (
        "With numbers of responses that vary, a bucket is a point: ones to the right, zeros upwards. More ones and "
        "fewer zeros dominate. Two simple mappings that respect the order: at least 2 ones (right of the red line), "
        "and at most 1 zero (below the blue line)."
    )
    return Diagram(drawing.svg(), rows, words)


def varying_constraint() -> Diagram:
    """Figure 13: what must get 1 as soon as one bucket does."""
    drawing, spots = _plane(
        "One bucket takes others along", "Figure 13 · m = 4 · if (1,2) gets 1, so do all in blue", 4
    )
    forced = {(i, j): int(i >= 1 and j <= 2) for i, j in spots}
    _buckets(drawing, spots, forced, unknown=0)
    drawing.circle(spots[1, 2], 14, fill="none", stroke=RED, width=3.5)
    rows = [{"ones": i, "zeros": j, "must_be_1": label} for (i, j), label in forced.items()]
    words = (
        "If the bucket of 1 one and 2 zeros gets 1, so must every bucket with at least as many ones and at most as "
        "many zeros: right of it and below."
    )
    return Diagram(drawing.svg(), rows, words)


def varying_boundary() -> Diagram:
    """Figure 14: a mapping is its boundary; the likeliest one of a simulated crowd."""
    size = 5
    drawing, spots = _plane(
        "A mapping is its boundary", "Figure 14 · m = 5 · the likeliest mapping of a simulated crowd", size
    )
    weights, labels = _filtered_crowd(size)
    _buckets(drawing, spots, labels)
    drawing.path(_staircase(spots, labels, size), stroke=RED, width=2.4)
    rows = [{"ones": i, "zeros": j, "items": weights[i, j], "label": label} for (i, j), label in labels.items()]
    words = (
        "A mapping that respects the order is cut off by a staircase that only rises: right of it and below, buckets "
        "get 1 (blue), else 0 (orange). Drawn is the likeliest one for a simulated crowd of 2,000 items with 1 to 5 "
        "responses."
    )
    return Diagram(drawing.svg(), rows, words)


def _filtered_crowd(size: int) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """Items of a simulated crowd with 1 to ``size`` responses by bucket (ones, zeros), and their likeliest labels."""
    rng = np.random.Generator(np.random.PCG64(11))
    truth, sizes = rng.random(2000) < 0.4, rng.integers(1, size, size=2000, endpoint=True)
    ones = rng.binomial(sizes, np.where(truth, 0.85, 0.3))
    pairs, weights = np.unique(np.column_stack([sizes - ones, ones]), axis=0, return_counts=True)
    mapping = solve(pairs, weights, engine="chain").mapping
    by_bucket = [(int(one), int(zero)) for zero, one in pairs]
    return (
        dict(zip(by_bucket, map(int, weights), strict=True)),
        dict(zip(by_bucket, map(int, mapping), strict=True)),
    )


def _plane(title: str, subtitle: str, size: int) -> tuple[Drawing, dict[tuple[int, int], Point]]:
    """The plane of ones and zeros with the arrows of the order."""
    drawing, step = Drawing(470, 440), 264 / size
    drawing.heading(title, subtitle)
    spots = {(i, j): (70 + step * i, 370 - step * j) for i in range(size + 1) for j in range(size + 1 - i)}
    _axes(drawing, (70, 370), size, step)
    order = Order.of(np.array([[j, i] for i, j in spots])[:, None])
    places = list(spots.values())
    for a, b in order.arrows():
        drawing.arrow(places[a], places[b], half=(14, 14))
    return drawing, spots


def _axes(drawing: Drawing, origin: Point, size: int, step: float) -> None:
    x, y = origin
    bottom = y + 30
    for k in range(size + 1):
        drawing.text((x + step * k, bottom + 12), str(k), size=11, colour=SOFT)
        drawing.text((x - 30, y - step * k + 4), str(k), size=11, colour=SOFT)
    drawing.text((x + step * size / 2, bottom + 30), "responses of 1", colour=SOFT)
    drawing.text((12, y - step * size - 30), "responses of 0", colour=SOFT, anchor="start")


def _buckets(
    drawing: Drawing,
    spots: dict[tuple[int, int], Point],
    labels: dict[tuple[int, int], int],
    unknown: int | None = None,
) -> None:
    """The buckets, coloured by label: 1 is blue, 0 orange, and ``unknown`` as white as what has none."""
    for bucket, spot in spots.items():
        label = labels.get(bucket)
        fill = PAPER if label is None or label == unknown else (PALE_ORANGE, PALE_BLUE)[label]
        drawing.circle(spot, 14, fill=fill)
        drawing.text((spot[0], spot[1] + 4), f"{bucket[0]},{bucket[1]}", size=10)


def _staircase(spots: dict[tuple[int, int], Point], labels: dict[tuple[int, int], int], size: int) -> list[Point]:
    """The boundary between 0 and 1: column by column of ones, above the highest bucket that gets 1; it never falls."""
    step, highest = spots[1, 0][0] - spots[0, 0][0], -1
    points: list[Point] = []
    for ones in range(size + 1):
        highest = max([highest, *(zeros for zeros in range(size + 1 - ones) if labels.get((ones, zeros)) == 1)])
        if ones + highest > size:
            break  # all further buckets get 1
        level = spots[0, 0][1] - step * (highest + 0.5)
        points += [(spots[ones, 0][0] - step / 2, level), (spots[ones, 0][0] + step / 2, level)]
    return points


def _between(spots: dict[tuple[int, int], Point], a: tuple[int, int], b: tuple[int, int]) -> Point:
    return (spots[a][0] + spots[b][0]) / 2, (spots[a][1] + spots[b][1]) / 2


def _key(drawing: Drawing, at: Point, entries: dict[str, str]) -> None:
    for k, (name, colour) in enumerate(entries.items()):
        drawing.box((at[0] + 90 * k, at[1] - 4), 16, 16, fill=colour, radius=3)
        drawing.text((at[0] + 90 * k + 14, at[1]), name, anchor="start")


def _responses(bucket: Ints) -> str:
    """The ratings that a bucket holds, one by one."""
    return "{" + ", ".join(str(rating + 1) for rating, count in enumerate(bucket) for _ in range(count)) + "}"


def _arrow_row(above: tuple[int, int], below: tuple[int, int]) -> DiagramRow:
    return {"ones": above[0], "zeros": above[1], "dominates_ones": below[0], "dominates_zeros": below[1]}
