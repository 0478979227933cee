"""A few lines of SVG: what the diagrams of buckets are drawn with."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from math import hypot

from crowdopt.report.charts import FONT, INK, PAPER, SOFT

Point = tuple[float, float]


@dataclass
class Drawing:
    """An SVG drawing that grows shape by shape; later shapes lie on top."""

    width: float
    height: float
    shapes: list[str] = field(default_factory=list)

    def heading(self, title: str, subtitle: str) -> None:
        """Title and second line, where charts have theirs."""
        self.text((12, 24), title, size=14, bold=True, anchor="start")
        self.text((12, 44), subtitle, size=12, colour=SOFT, anchor="start")

    def text(
        self, at: Point, words: str, *, size: float = 12, colour: str = INK, anchor: str = "middle", bold: bool = False
    ) -> None:
        """A line of text; ``at`` is its baseline."""
        weight = ' font-weight="bold"' if bold else ""
        self.shapes.append(
            f'<text x="{at[0]:g}" y="{at[1]:g}" font-family="{FONT}" font-size="{size:g}px" fill="{colour}" '
            f'text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def box(self, at: Point, width: float, height: float, *, fill: str, stroke: str = INK, radius: float = 6) -> None:
        """A box around its centre."""
        self.shapes.append(
            f'<rect x="{at[0] - width / 2:g}" y="{at[1] - height / 2:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius:g}" fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>'
        )

    def circle(self, at: Point, radius: float, *, fill: str, stroke: str = INK, width: float = 1.2) -> None:
        """A circle."""
        self.shapes.append(
            f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="{radius:g}" fill="{fill}" stroke="{stroke}" '
            f'stroke-width="{width:g}"/>'
        )

    def path(self, points: list[Point], *, stroke: str, width: float = 1.2, dash: str = "", fill: str = "none") -> None:
        """Straight lines through points; closed where filled."""
        steps = " L".join(f"{x:g},{y:g}" for x, y in points) + ("" if fill == "none" else " Z")
        pattern = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(f'<path d="M{steps}" fill="{fill}" stroke="{stroke}" stroke-width="{width:g}"{pattern}/>')

    def arrow(self, start: Point, end: Point, *, half: Point, colour: str = SOFT) -> None:
        """An arrow from the edge of one shape to that of another, both of half width and height ``half``."""
        x, y = end[0] - start[0], end[1] - start[1]
        # The share of the way at which the line leaves the box around the first shape, and a little more.
        leaves = min(size / abs(way) for size, way in zip(half, (x, y), strict=True) if way) + 2 / hypot(x, y)
        tail = (start[0] + leaves * x, start[1] + leaves * y)
        tip = (end[0] - leaves * x, end[1] - leaves * y)
        x, y = x / hypot(x, y), y / hypot(x, y)
        back = (tip[0] - 7 * x, tip[1] - 7 * y)
        self.path([tail, back], stroke=colour)
        self.path([tip, (back[0] - 3.5 * y, back[1] + 3.5 * x), (back[0] + 3.5 * y, back[1] - 3.5 * x)],
                  stroke=colour, width=0.5, fill=colour)  # fmt: skip

    def svg(self) -> str:
        """The drawing as a file of its own."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}">'
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="{PAPER}"/>{"".join(self.shapes)}</svg>'
        )
