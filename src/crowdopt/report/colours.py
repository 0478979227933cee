"""Colours of labels: a ramp for ordered ones, as different as can be for categories."""

from __future__ import annotations

from crowdopt.report.charts import BLUE, GREEN, INK, ORANGE, PAPER, PURPLE, RED

MIDDLE = "#e3e0d8"
"""Between the lowest and the highest label of an odd number."""

CATEGORIES = (BLUE, ORANGE, GREEN, PURPLE, "#56b4e9", RED, "#f0e442", "#767676")
"""Begins again where there are more labels; the page never tells a label by its colour alone."""


def label_colours(number: int, *, ordered: bool) -> list[str]:
    """A colour for each label, lowest first.

    >>> label_colours(3, ordered=True)
    ['#e69f00', '#e3e0d8', '#0072b2']
    """
    if not ordered:
        return [CATEGORIES[j % len(CATEGORIES)] for j in range(number)]
    if number <= 2:
        return [ORANGE, BLUE][:number]
    return [_mix(j / (number - 1)) for j in range(number)]


def _mix(share: float) -> str:
    """A colour on the way from orange over the middle to blue."""
    start, end, part = (ORANGE, MIDDLE, 2 * share) if share <= 0.5 else (MIDDLE, BLUE, 2 * share - 1)
    pairs = zip(_channels(start), _channels(end), strict=True)
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in pairs)


def ink_on(colour: str) -> str:
    """Dark or light, whichever is read better on a colour: by the contrast of WCAG."""
    light = _luminance(colour)  # WCAG adds 0.05 to both sides, for the light that a screen reflects
    on_dark, on_light = (_luminance(PAPER) + 0.05) / (light + 0.05), (light + 0.05) / (_luminance(INK) + 0.05)
    return PAPER if on_dark > on_light else INK


def _luminance(colour: str) -> float:
    """The relative luminance of sRGB, with the constants of WCAG 2."""
    shares = [channel / 255 for channel in _channels(colour)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
