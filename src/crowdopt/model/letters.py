"""Letters: when two texts are the same to a reader, though not to a computer.

Two questions are asked of labels. Are they one label, but for blanks around them, upper and lower case, and the Unicode
form of accents (:func:`same_key`)? Do they look alike, too, where letters of two alphabets, wide letters, curly quotes
or characters that nobody sees are mixed (:func:`look_key`)?
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import decomposition, normalize

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + (
    "\u2028\u2029\u202f\u205f\u3000"
)  # fmt: skip
"""All white space of Unicode, the no-break space among them: what Python's ``str.strip`` takes away."""

HAS_BLANKS = f"^[{BLANKS}]|[{BLANKS}]$"
"""A pattern for texts with blanks around them, for databases and libraries of tables alike."""

_JOINERS = "\u200c\u200d"

_TAGS = frozenset(map(chr, range(0xE0020, 0xE0080)))
"""What says behind a black flag whose flag it is."""

_JOINING = _TAGS | frozenset(map(chr, chain(
    (0x200C, 0x200D), range(0x180B, 0x180E), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0),
)))  # fmt: skip
"""What is usual behind a letter or picture that is not ASCII: joiners, and what says how a picture is to be drawn."""

_INVISIBLE = _JOINING | frozenset(map(chr, chain(
    range(0x09), range(0x0E, 0x1C), range(0x7F, 0x85), range(0x86, 0xA0),
    (0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x180F, 0x3164, 0xFEFF, 0xFFA0),
    range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070), range(0xFFF9, 0xFFFC), range(0xE0000, 0xE1000),
)))  # fmt: skip
"""What nobody sees: control characters, soft hyphens, spaces without width, marks of direction, fillers, tags."""

_WITHOUT_INVISIBLE = dict.fromkeys(map(ord, _INVISIBLE))

_LOOKS = str.maketrans(
    "АВЕКМНОРСТУХІЈЅԚԜаеосрухіјѕһԁԛԝѵкӏ" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονι" "ıɡ" "‐‑‒–—−⁄‘’‚‛“”„′″",
    "ABEKMHOPCTYXIJSQWaeocpyxijshdqwvkl" "ABEZHIKMNOPTYXovi" "ig" "------/''''\"\"\"'\"",
)  # fmt: skip
"""Letters of Cyrillic and Greek that look like Latin ones, and signs that look like those of a keyboard."""


_OF_THEIR_OWN = ("<super>", "<sub>", "<fraction>")
"""Forms of letters that plainly differ from the letters they are made of: 10² is not 102, and 1½ not 11/2."""


def trimmed(text: str) -> str:
    r"""The text without blanks around it.

    >>> trimmed("\u00a0yes \t")
    'yes'
    """
    return text.strip(BLANKS)


def has_blanks(text: str) -> bool:
    """Whether a text has blanks around it."""
    return trimmed(text) != text


def same_key(text: str) -> str:
    r"""What two texts have in common that differ only in case, Unicode form or blanks around them.

    >>> same_key("Yes ") == same_key("yes"), same_key("Caf\u00e9") == same_key("cafe\u0301")
    (True, True)
    """
    if text.isascii():
        return trimmed(text).casefold()
    return normalize("NFD", normalize("NFD", trimmed(text)).casefold())


def look_key(text: str) -> str:
    r"""What two texts have in common that look alike: letters of other alphabets, wide ones, invisible characters.

    >>> look_key("y\u0435s") == look_key("yes\u200b") == look_key("\uff59\uff45\uff53") == "yes"
    True
    """
    text = _visible(text)
    if not text.isascii():
        text = _taken_apart(_taken_apart(text).translate(_LOOKS).casefold())
    return " ".join(text.casefold().split())


def _taken_apart(text: str) -> str:
    """The text in its plainest letters and accents; powers, indices and fractions stay."""
    return normalize("NFD", "".join(map(_plainest, text)))


def _plainest(letter: str) -> str:
    how = decomposition(letter)
    if not how or how.startswith(_OF_THEIR_OWN):
        return letter
    return "".join(_plainest(chr(int(code, 16))) for code in how.split() if not code.startswith("<"))


def narrow(text: str) -> str:
    r"""The text with narrow letters and digits in the place of wide ones.

    >>> narrow("\uff14\uff12"), narrow("4\u00b2") == "4\u00b2"
    ('42', True)
    """
    return "".join(_plainest(letter) if decomposition(letter).startswith("<wide>") else letter for letter in text)


def without_invisible(text: str) -> str:
    r"""The trimmed text without characters that nobody sees, but those that pictures and other scripts are made with.

    >>> without_invisible("yes\u200b "), without_invisible("\u2764\ufe0f") == "\u2764\ufe0f"
    ('yes', True)
    """
    while (shorter := _without_some(text)) != text:
        text = shorter
    return text


def _without_some(text: str) -> str:
    return _visible(trimmed(text), _JOINING).strip(BLANKS + _JOINERS)


def _visible(text: str, usual: Collection[str] = _TAGS) -> str:
    """The text without characters that nobody sees, but those that are usual behind a letter that is not ASCII."""
    kept: list[str] = []
    for letter in text:
        if letter not in _INVISIBLE or (letter in usual and kept and not kept[-1].isascii()):
            kept.append(letter)
    return "".join(kept)


def has_invisible(text: str) -> bool:
    """Whether a text has characters that nobody sees, where they are not usual."""
    return not _INVISIBLE.isdisjoint(text) and without_invisible(text) != trimmed(text)


MISSING_WORDS = frozenset(
    ("na", "n/a", "n.a.", "n.a", "#n/a", "<na>", "nan", "null", "none", "nil", "-", "--", "\u2013", "\u2014")
)
"""What people and programs write where there is no answer, in small letters."""


def is_missing_word(text: str) -> bool:
    """Whether a text is one that often stands for a missing label.

    >>> is_missing_word("N/A"), is_missing_word("no")
    (True, False)
    """
    return without_invisible(text).casefold() in MISSING_WORDS


def shown(text: str, limit: int = 40) -> str:
    r"""A text in quotes for a message; what nobody sees is written out.

    >>> shown("yes\u200b"), shown("x" * 50)
    ("'yes\\u200b'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'")
    """
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def shown_apart(texts: list[str]) -> list[str]:
    r"""Several texts in quotes; those that look alike with their characters written out.

    >>> shown_apart(["caf\u00e9", "tea"]), shown_apart(["yes", "y\u0435s"])
    (["'café'", "'tea'"], ["'yes'", "'y\\u0435s'"])
    """
    texts = _where_they_differ(texts)
    bare = [re.sub(r"\s", " ", text.translate(_WITHOUT_INVISIBLE)) for text in texts]
    looks = [normalize("NFKD", text).translate(_LOOKS) for text in bare]
    return [
        ascii(text if len(text) <= 40 else text[:39]) if looks.count(look) > 1 else shown(text)
        for text, look in zip(texts, looks, strict=True)
    ]


def told_apart(texts: Sequence[str], known: Sequence[str]) -> tuple[list[str], list[str]]:
    r"""Texts in quotes, and known ones without; the characters of those that look alike are written out.

    >>> told_apart(["y\u0435s", "maybe"], ["no", "yes"]), told_apart(["yes"], ["no", "y\u0435s"])
    ((["'y\\u0435s'", "'maybe'"], ['no', 'yes']), (["'yes'"], ['no', "'y\\u0435s'"]))
    """
    looks = set(map(look_key, texts))
    alike = [one for one in known if look_key(one) in looks]
    written = shown_apart([*texts, *alike])
    new = {one: text for one, text in zip(alike, written[len(texts) :], strict=True) if not one.isascii()}
    return written[: len(texts)], [new.get(one, one) for one in known]


def _where_they_differ(texts: list[str], limit: int = 40) -> list[str]:
    """The texts without most of what they begin with in common, where that would be all that is shown of them."""
    low, high = min(texts), max(texts)
    same = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    start = same - limit // 2
    return (
        [f"…{text[start:]}" for text in texts]
        if start > 0 and low != high and len(max(texts, key=len)) > limit
        else texts
    )
