"""Numbers and places in words, as the page has them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


def number_text(value: Any, *, sign: bool = False) -> str:
    """A number with as many digits as mean something to a reader; large whole ones as powers of ten; texts as they are.

    >>> (
    ...     number_text(-0.01234),
    ...     number_text(3.14159, sign=True),
    ...     number_text(12345.6),
    ...     number_text(0.0, sign=True),
    ...     number_text(None),
    ... )
    ('−0.0123', '+3.14', '12,346', '0', '–')
    >>> number_text(28744), number_text(3**100)
    ('28,744', '5.2 × 10^47')
    """
    if value is None or isinstance(value, str):
        return value or "–"
    if isinstance(value, float) and math.isnan(value):
        return "–"
    size = abs(value)
    if size >= 10**9:
        mantissa, _, exponent = f"{value:.1e}".partition("e+")
        return f"{mantissa} × 10^{int(exponent)}".replace("-", "−")
    digits = 0 if isinstance(value, int) or size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 4
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    if digits:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"+0", "-0"} else text.replace("-", "−")


def span(values: Iterable[float], *, sign: bool = False) -> str:
    """The lowest and the highest of some numbers.

    >>> span([0.25, -1.5, 120.0], sign=True), span([0.0, 0.0])
    ('−1.5 to +120', '0')
    """
    found = list(values)
    low, high = (number_text(end, sign=sign) for end in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    """A share in percent; what is rare is not called never, nor what is frequent always.

    >>> percent(0.0), percent(0.0004), percent(0.27), percent(0.9999), percent(1.0)
    ('0 %', 'under 1 %', '27 %', 'over 99 %', '100 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{share:.0%}".replace("%", " %")


def percents(shares: Iterable[float]) -> str:
    """The lowest and the highest of some shares.

    >>> percents([0.5, 0.25]), percents([1.0])
    ('25 % to 50 %', '100 %')
    """
    found = list(shares)
    low, high = percent(min(found)), percent(max(found))
    return low if low == high else f"{low} to {high}"


def places(sizes: Sequence[int], of: Collection[int]) -> str:
    """Some of the numbers of responses, and how many of all they are.

    >>> places((1, 2, 3, 7), range(1, 11)), places((), (1, 2))
    ('1–3, 7 (4 of 10)', 'none of 2')
    """
    if not sizes:
        return f"none of {len(of)}"
    runs: list[list[int]] = []
    for m in sizes:
        if runs and m == runs[-1][-1] + 1:
            runs[-1].append(m)
        else:
            runs.append([m])
    parts = [f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    return f"{', '.join(parts)} ({len(sizes)} of {len(of)})"


def and_then(parts: Iterable[str]) -> str:
    """Several sentences as one text, each with its own full stop.

    >>> and_then(["One", "two."])
    'One. two.'
    """
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)
