"""The likelihood of every cut between two labels as a curve: its geometry, so that the script can move along it."""

from __future__ import annotations

from typing import Any

from crowdopt.report.lattice_layout import PAD, WIDTH
from crowdopt.results.words.sentences import nats

HEIGHT, TOP, BOTTOM, LEFT = 250.0, 16.0, 46.0, 76.0
"""The picture, and what is left free in it for the axes."""


def curve_of(cuts: dict[str, Any]) -> dict[str, Any]:
    """The places of all cuts in the picture; a cut that is impossible has none."""
    possible: list[float] = [value for value in cuts["values"] if value is not None]
    low, high = min(possible), max(possible)
    whole, last = (high - low) or 1.0, max(cuts["n_cuts"] - 1, 1)

    def height(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / whole, 1)

    across = [round(LEFT + (WIDTH - LEFT - PAD) * place / last, 1) for place in cuts["places"]]
    points = [
        {"x": x, "y": None if value is None else height(value)} for x, value in zip(across, cuts["values"], strict=True)
    ]
    marks = [high - whole * part / 4 for part in range(5)] if high > low else [high]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "floor": HEIGHT - BOTTOM,
        "left": LEFT,
        "right": WIDTH - PAD,
        "points": points,
        "line": " ".join(f"{point['x']},{point['y']}" for point in points if point["y"] is not None),
        "marks": [
            {"y": height(value), "text": f"−{nats(high - value)}" if value < high else "best"} for value in marks
        ],
    }
