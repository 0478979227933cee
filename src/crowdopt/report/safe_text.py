"""Texts of the user's on a page: cut to a length, and without power over the text around them.

A label may be written from right to left, or hold characters that turn the direction of what follows: a number beside
it would then be shown the wrong way round. So such characters are written out, and a text that is written from right
to left is isolated, as ``<bdi>`` would, by two characters that also work in attributes and in drawings.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from crowdopt.results.solution import Solution

_S = TypeVar("_S", bound="Solution")

CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""All characters whose only use is to change the direction of text."""

_WRITTEN_OUT = {ord(control): f"\\u{ord(control):04x}" for control in CONTROLS}
_BEGIN, _END = "\u2068", "\u2069"  # first strong isolate, pop directional isolate
_RIGHT_TO_LEFT = {"R", "AL", "AN"}  # classes of Unicode: Hebrew and the like, Arabic letters, Arabic numbers


def visible(text: str) -> str:
    r"""The text with the characters that change its direction written out.

    >>> print(visible("yes" + chr(0x202E)))
    yes\u202e
    """
    return text.translate(_WRITTEN_OUT)


def isolated(text: str) -> str:
    """The text, visible, so that it can stand within a sentence and change nothing beside it.

    >>> isolated("yes"), len(isolated("כן"))
    ('yes', 4)
    """
    text = visible(text)
    backward = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)
    return f"{_BEGIN}{text}{_END}" if backward else text


def clip(text: str, length: int) -> str:
    """The text, cut to a length; what was isolated stays so.

    >>> clip("perhaps", 5)
    'perh…'
    """
    if text.startswith(_BEGIN):
        return f"{_BEGIN}{clip(text[1:-1], length)}{_END}"
    return text if len(text) <= length else text[: length - 1] + "…"


def with_safe_names(solution: _S) -> _S:
    """The solution with names of labels and classes that can stand within sentences: for words, not for data."""
    labels = tuple(map(isolated, solution.scale.labels))
    classes = tuple(replace(one, name=isolated(one.name)) for one in solution.classes)
    scale = replace(solution.scale, labels=labels)
    said = (solution.notes, solution.doubts, solution.advice)
    notes, doubts, advice = (tuple(map(visible, texts)) for texts in said)
    return replace(solution, scale=scale, classes=classes, notes=notes, doubts=doubts, advice=advice)
