"""Spelling: which of the labels that occur are one label, and what else is odd about them. Counts in, a map out.

Labels are one if they are equal but for blanks around them, case and Unicode form (``letters.same_key``). All of them
get the spelling that most responses have, and of several such the smallest text; where the user names the scale, its
spelling. ``--tidy`` also takes for one what looks alike (``letters.look_key``), and words such as N/A for missing
labels; ``--verbatim`` leaves all as it is. Nothing here depends on the order of anything.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crowdopt.model.letters import (
    has_invisible,
    is_missing_word,
    look_key,
    same_key,
    trimmed,
    without_invisible,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from crowdopt.data.reading import Reading

RARE = 5
"""Responses that a label has at most if it is named as rare."""

RARE_SHARE = 500
"""And one in how many responses it has at most."""

RARE_TOGETHER = 100
"""One in how many responses all rare labels have together at most: where more are rare, that is how the data are."""


@dataclass(frozen=True)
class Spelling:
    """What becomes of the labels that occur, and what is odd about them.

    Attributes:
        changes: The labels that change, and what they become; None if that is a missing label.
        merged: For each label that was spelled in another way, its spellings and how many responses have each.
        left_out: The labels that became missing ones since they are words for that, with their responses.
        counts: The labels that are left, with their responses.
        alike: Labels that are left and look alike.
        invisible: Labels that are left, that nobody names, and that have characters that nobody sees.
        words: Labels that are left and often stand for a missing one.
    """

    changes: dict[str, str | None] = field(default_factory=dict)
    merged: dict[str, dict[str, int]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    alike: tuple[tuple[str, ...], ...] = ()
    invisible: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def spell(
    counts: Mapping[str, int], reading: Reading, named: Sequence[str] = (), answers: Sequence[str] = ()
) -> Spelling:
    """What becomes of labels, given how many responses have each.

    Args:
        counts: The labels as they stand in the data, and their responses.
        reading: The options of reading.
        named: The labels whose spelling is given: the scale that the user names, or that a solution has.
        answers: Labels that are answers, whatever words they are, though their spelling is not given.
    """
    counts = {label: counts[label] for label in sorted(counts)}
    found: dict[str, str | None] = {label: label for label in counts}
    if not reading.verbatim:
        found = _spelled(counts, reading, named)
    words = _missing_words(found.values(), {*named, *(found[label] for label in answers if label in found)})
    left_out = {label: n for label, n in counts.items() if reading.tidy and (found[label] in words or _unseen(label))}
    found = {label: None if label in left_out else found[label] for label in counts}
    merged: dict[str, dict[str, int]] = {}
    left: Counter[str] = Counter()
    for label, new in found.items():
        if new is not None:
            left[new] += counts[label]
            if counts[label]:  # a type may name spellings that no response has
                merged.setdefault(new, {})[label] = counts[label]
    return Spelling(
        changes={label: new for label, new in found.items() if new != label},
        merged={new: of for new, of in merged.items() if len(of) > 1 or new not in of},
        left_out=left_out,
        counts=dict(left),
        alike=() if reading.verbatim else _alike(left, named),
        invisible=()
        if reading.verbatim
        else tuple(one for one in sorted(set(left).difference(named)) if has_invisible(one)),
        words=tuple(sorted(words.intersection(left))),
    )


def _unseen(label: str) -> bool:
    """Whether a label is nothing but characters that nobody sees, and not blanks alone, which are no label at all."""
    return bool(trimmed(label)) and not without_invisible(label)


def _spelled(counts: Mapping[str, int], reading: Reading, named: Sequence[str]) -> dict[str, str | None]:
    """The new spelling of each label; None if it is empty, or one with a text that stands for a missing label.

    A label that the user names is one with its like, and not with a missing one that is spelled otherwise.
    """
    missing, given = set(map(trimmed, reading.na_texts)), set(named).difference(reading.na)
    plain = without_invisible if reading.tidy else trimmed
    known = {label for label in counts if plain(label) and trimmed(label) not in missing}
    found: dict[str, str | None] = dict.fromkeys(counts)
    for family in _families([*counts, *named, *missing], tidy=reading.tidy):
        heads = sorted(family & given)
        if family & missing and not heads:
            continue
        spellings: Counter[str] = Counter()
        for label in family & known:
            spellings[plain(label)] += counts[label]
        common = min(spellings, key=lambda text: (-spellings[text], text), default="")
        found |= {label: _head(label, heads) if heads else common for label in family & known}
    return found


def _families(labels: Iterable[str], *, tidy: bool) -> list[set[str]]:
    """The labels in sets of those that are one. One may look like a second and be written like a third: sets join."""
    above: dict[str, str] = {}  # from every key to one of the same set, and on to the one that stands for the set

    def top(key: str) -> str:
        while above[key] != key:
            above[key] = key = above[above[key]]
        return key

    key_of = {}
    for label in labels:
        key_of[label] = first = "same " + same_key(label)
        above.setdefault(first, first)
        if tidy:
            for key in ("same " + same_key(without_invisible(label)), "look " + look_key(label)):
                above.setdefault(key, key)
                above[top(key)] = top(first)
    families: dict[str, set[str]] = {}
    for label, key in key_of.items():
        families.setdefault(top(key), set()).add(label)
    return list(families.values())


def _head(label: str, heads: Sequence[str]) -> str:
    """Which of the given spellings a label has: the only one, or else the nearest; itself if that is not one."""
    for alike in (None, same_key, trimmed):
        near = [head for head in heads if alike is None or alike(head) == alike(label)]
        if label in near:
            return label
        if len(near) == 1:
            return near[0]
    return label


def _missing_words(labels: Iterable[str | None], named: Collection[str | None]) -> set[str]:
    """The labels that may stand for a missing one: none that the user names, and no minus where there is a plus."""
    left = {label for label in labels if label is not None}
    signs = any(without_invisible(label) == "+" for label in left)
    return {
        label
        for label in left
        if label not in named and is_missing_word(label) and not (signs and without_invisible(label) == "-")
    }


def _alike(labels: Iterable[str], named: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Labels that look alike, unless the user names all of them."""
    looks: dict[str, list[str]] = {}
    for label in sorted(labels):
        looks.setdefault(look_key(label), []).append(label)
    return tuple(tuple(same) for same in looks.values() if len(same) > 1 and not set(same) <= set(named))


def rare_labels(counts: Mapping[str, int], known: Collection[str] = ()) -> list[str]:
    """The labels with very few responses, the fewest first: a slip, or an answer that hardly anybody gives.

    They have at most RARE responses and one in RARE_SHARE, and together at most one in RARE_TOGETHER; at least two
    labels have more.

    Args:
        counts: The labels and their responses.
        known: Labels that are none of them, as the user or something else has named them.

    >>> rare_labels({"yes": 3000, "no": 2026, "maybe": 1}), rare_labels({"yes": 30, "no": 20, "maybe": 1})
    (['maybe'], [])
    """
    total = sum(counts.values())
    few = [label for label, n in counts.items() if 0 < n <= RARE and n * RARE_SHARE <= total]
    rare = [label for label in few if label not in known]
    slips = len(counts) - len(few) >= 2 and sum(counts[label] for label in rare) * RARE_TOGETHER <= total
    return sorted(rare, key=lambda label: (counts[label], label)) if slips else []


def pooled(spellings: Sequence[Spelling]) -> Spelling:
    """What was found in several groups, as one; the changes are left out, as each group has its own."""
    merged: dict[str, Counter[str]] = {}
    left_out: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for one in spellings:
        for label, of in one.merged.items():
            merged.setdefault(label, Counter()).update(of)
        left_out.update(one.left_out)
        counts.update(one.counts)
    return Spelling(
        merged={label: dict(merged[label]) for label in sorted(merged)},
        left_out=dict(left_out),
        counts=dict(counts),
        alike=tuple(sorted({same for one in spellings for same in one.alike})),
        invisible=tuple(sorted({label for one in spellings for label in one.invisible})),
        words=tuple(sorted({label for one in spellings for label in one.words})),
    )


def onto(labels: Iterable[str], scale: Sequence[str], reading: Reading) -> dict[str, str | None]:
    """How labels change that were read beside the responses: those that are one with a label of the scale become it.

    Others stay, so that whoever compares them can say that they are not on the scale.
    """
    changes, known = spell(dict.fromkeys(labels, 0), reading, scale).changes, set(scale)
    return {label: new for label, new in changes.items() if new is None or new in known}


def tidy_label(label: str, scale: Sequence[str]) -> str | None:
    r"""The label of a scale that --tidy takes a text for since it looks alike; None if there is not just one.

    >>> tidy_label("y\u0435s", ["no", "yes"]), tidy_label("maybe", ["no", "yes"])
    ('yes', None)
    """
    alike = [one for one in scale if look_key(one) == look_key(label)]
    return alike[0] if len(alike) == 1 else None


def equal_labels(one: str, other: str, reading: Reading) -> bool:
    """Whether two texts are one label."""
    if reading.verbatim or same_key(one) == same_key(other):
        return not reading.verbatim or one == other
    return reading.tidy and look_key(one) == look_key(other)
