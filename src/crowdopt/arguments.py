"""What options of the command line mean when they hold more than one thing."""

from __future__ import annotations

from crowdopt.errors import InputError


def split_texts(text: str) -> list[str]:
    """Comma-separated values; an empty text is none.

    >>> split_texts("a, b"), split_texts("")
    (['a', 'b'], [])
    """
    return [item.strip() for item in text.split(",")] if text else []


def split_numbers(text: str, option: str) -> list[float]:
    """Comma-separated numbers.

    >>> split_numbers("0.2,0.8", "--selectivity")
    [0.2, 0.8]
    """
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, not {text!r}") from None


def number_or_range(text: str, option: str) -> int | tuple[int, int]:
    """A whole number, or two with a dash between them.

    >>> number_or_range("3", "--responses"), number_or_range("3-7", "--responses")
    (3, (3, 7))
    """
    low, dash, high = text.partition("-")
    try:
        return (int(low), int(high)) if dash else int(low)
    except ValueError:
        raise InputError(f"{option} takes a number or LOW-HIGH, not {text!r}") from None
