"""Notes: what is odd about labels and ids and what was done with it, in a few lines of words, whatever the data.

Each is a fact and, where somebody can do something, what to do. Examples are given, never lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdopt.data.spelling import rare_labels, tidy_label
from crowdopt.model.letters import has_blanks, is_missing_word, same_key, shown, shown_apart, without_invisible
from crowdopt.model.scale import are_ratings, sorted_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from crowdopt.data.reading import Reading
    from crowdopt.data.spelling import Spelling

EXAMPLES = 3
"""Texts that a note names at most."""

MOST_WORDS = 6
"""Words for a missing label that a note names at most."""

LONGEST_OPTION = 60
"""Characters of the value of an option in a note."""


def label_notes(found: Spelling, reading: Reading, named: Collection[str] = ()) -> tuple[str, ...]:
    """What to say of the labels.

    Args:
        found: What was found in texts.
        reading: The options of reading.
        named: Labels that are not rare by accident, as the user, a type or a solution names them.
    """
    notes = [_merged(found.merged, reading)] if found.merged else []
    notes += [left_out_note(found.left_out)] if found.left_out else []
    notes += [_alike(found)] if found.alike else []
    invisible = [one for one in found.invisible if not any(one in same for same in found.alike)]
    empty = [one for one in invisible if not without_invisible(one)]
    notes += _unseen([one for one in invisible if one not in empty], found, "", "takes them away")
    notes += _unseen(empty, found, "nothing but ", f"leaves {'it' if len(empty) == 1 else 'them'} out")
    if found.words:
        notes.append(_words(found, reading))
    already = {*found.words, *found.invisible, *(label for same in found.alike for label in same)}
    if rare := rare_labels(found.counts, {*named, *already}):
        notes.append(rare_note(found.counts, rare, reading))
    return tuple(notes)


def _unseen(labels: Sequence[str], found: Spelling, what: str, tidy: str) -> list[str]:
    holds = "holds" if len(labels) == 1 else "hold"
    said = f"{holds} {what}characters that nobody sees; --tidy {tidy}"
    return [f"{_labels(labels, found.counts)} {said}"] if labels else []


def rare_note(counts: Mapping[str, int], rare: Sequence[str], reading: Reading) -> str:
    """What to say of labels with very few responses."""
    total = f"{sum(counts.values()):,} responses"
    advice = f"{'if it is a slip' if len(rare) == 1 else 'if they are slips'}, {_na(rare, reading)}"
    advice += _ratings_without(rare, counts, reading)
    if len(rare) == 1:
        return f"{shown(rare[0])} has {counts[rare[0]]} of {total}; {advice}"
    listed = ", ".join(f"{shown(label)} {counts[label]}" for label in rare[:EXAMPLES])
    such = listed if len(rare) <= EXAMPLES else f"such as {listed}"
    return f"{len(rare)} labels have very few of {total}: {such}; {advice}"


def _merged(merged: Mapping[str, Mapping[str, int]], reading: Reading) -> str:
    """The label with most responses that were spelled in another way, and how many more there are."""
    others = {label: sum(n for text, n in of.items() if text != label) for label, of in merged.items()}
    label = min(merged, key=lambda one: (-others[one], one))
    spellings = sorted(merged[label], key=lambda text: (-merged[label][text], text))
    shown_ones = spellings if len(spellings) <= EXAMPLES else spellings[: EXAMPLES - 1]
    numbers = [merged[label][text] for text in shown_ones]
    texts = shown_apart([*shown_ones, *([] if label in shown_ones else [label])])
    names, new = texts[: len(shown_ones)], texts[shown_ones.index(label) if label in shown_ones else -1]
    same = len(set(map(same_key, spellings))) == 1
    if same:  # whose letters look as they should
        new = shown(label)
    if len(shown_ones) < len(spellings):
        names.append(f"{len(spellings) - len(shown_ones)} other spellings")
        numbers.append(sum(merged[label].values()) - sum(numbers))
    changed = _responses(sum(others.values()) - others[label])
    more = (
        f", and so were spellings of {_several(len(merged) - 1, 'more label')} ({changed})" if len(merged) > 1 else ""
    )
    verbatim = "--verbatim in place of --tidy" if reading.tidy else "--verbatim"
    if len(spellings) == 1:
        return f"{names[0]} was taken for {new}: {_responses(numbers[0])}{more}; {verbatim} keeps labels as they are"
    counted = _and([f"{n:,}" for n in numbers])
    apart = f"{verbatim} keeps them apart" if same else "leave out --tidy to keep apart what only looks alike"
    return f"{_and(names)} were taken for one label, {new}: {counted} responses{more}; {apart}"


def left_out_note(left_out: Mapping[str, int]) -> str:
    """What to say of words that were taken for missing labels, given how often each occurs."""
    labels = sorted(left_out, key=lambda label: (-left_out[label], label))
    said = "was taken for a missing label" if len(labels) == 1 else "were taken for missing labels"
    return f"{_labels(labels, left_out, MOST_WORDS)} {said}"


def _alike(found: Spelling) -> str:
    """The labels that look alike of which most responses would be another label."""
    same = min(found.alike, key=lambda one: (-_smaller(one, found.counts), one))
    labels = sorted(same, key=lambda label: (-found.counts.get(label, 0), label))
    few = labels[:EXAMPLES]
    counted = _and([f"{found.counts.get(label, 0):,}" for label in few])
    others = _responses(sum(_smaller(one, found.counts) for one in found.alike if one != same))
    more = f"; so do other labels ({others})" if len(found.alike) > 1 else ""
    return (
        f"{_and(shown_apart(few))} look alike and are {len(labels)} labels ({counted} responses){more}; "
        "--tidy takes them for one"
    )


def _smaller(labels: Sequence[str], counts: Mapping[str, int]) -> int:
    numbers = sorted(counts.get(label, 0) for label in labels)
    return sum(numbers[:-1])


def _words(found: Spelling, reading: Reading) -> str:
    words = sorted(found.words, key=lambda label: (-found.counts[label], label))
    said = "is a label here" if len(words) == 1 else "are labels here"
    ratings = _ratings_without(words, found.counts, reading)
    return f"{_labels(words, found.counts, MOST_WORDS)} {said}; {if_missing(words, reading)}{ratings}"


def _ratings_without(odd: Sequence[str], counts: Mapping[str, int], reading: Reading) -> str:
    """That the other labels are ratings, if it is these that make categories of them."""
    rest = sorted_texts(counts.keys() - {*odd})
    if reading.labels or reading.scale or are_ratings(list(counts)) or not are_ratings(rest):
        return ""
    return f"; the others alone are {len(rest)} ratings, {rest[0]} to {rest[-1]}"


def if_missing(words: Sequence[str], reading: Reading) -> str:
    """What leaves words for a missing label out."""
    mean = "it means" if len(words) == 1 else "they mean"
    tidy = "" if reading.verbatim else ", and so does --tidy"
    return f"if {mean} that there is no answer, {_na(words, reading)}{tidy}"


def _labels(labels: Sequence[str], counts: Mapping[str, int], most: int = EXAMPLES) -> str:
    """Some labels and their responses."""
    listed = [f"{shown(label)} ({_responses(counts.get(label, 0))})" for label in labels[:most]]
    return _and(listed) if len(labels) <= most else f"{len(labels)} labels, such as {_and(listed)},"


def _na(labels: Sequence[str], reading: Reading) -> str:
    """The option that leaves labels out, as far as it can be written in a line."""
    joined = ",".join(labels)
    odd = any("," in text or '"' in text or has_blanks(text) or not text.isprintable() for text in labels)
    if odd or len(joined) > LONGEST_OPTION:
        option = "--na TEXT"
    else:
        option = f"--na {joined}" if joined.replace(",", "").isalnum() else f'--na "{joined}"'
    also = " --missing drop" if reading.missing == "error" else ""
    return f"{option}{also} leaves {_them(labels)} out"


def leave_out(labels: Sequence[Any], named: Sequence[str], reading: Reading) -> str:
    """What to do about labels that are not on the scale that the user names."""
    if not all(isinstance(label, str) for label in labels):
        return "; name them in --labels, or take the rows out"
    tidy, alike = _what_tidy_does(labels, named, reading)
    rest = [label for label in labels if label not in alike]
    return "; " + ", and ".join([_na(rest, reading)] * bool(rest) + [f"--tidy {tidy}"] * bool(tidy))


def take_out(labels: Sequence[Any], named: Sequence[str], reading: Reading) -> str:
    """What to do about labels of new responses that are not on the scale of the solution."""
    tidy, _ = _what_tidy_does([label for label in labels if isinstance(label, str)], named, reading)
    return "; take the rows out" + (f", or make the solution with --tidy, which {tidy}" if tidy else "")


def _what_tidy_does(labels: Sequence[str], named: Sequence[str], reading: Reading) -> tuple[str, list[str]]:
    """What --tidy would do with labels off a scale, in words, empty if nothing; and those that look like one of it."""
    if reading.tidy or reading.verbatim:
        return "", []
    alike = [label for label in labels if tidy_label(label, named)]
    said = ["takes labels that look alike for one"] if alike else []
    said += ["leaves out words for a missing label"] if any(map(is_missing_word, labels)) else []
    return " and ".join(said), alike


def _them(labels: Sequence[Any]) -> str:
    return "it" if len(labels) == 1 else "them"


def trimmed_note(rows: Mapping[str, int], reading: Reading) -> str:
    """What to say of ids in a text file that lost the blanks around them: in how many rows, by what they tell apart."""
    listed = _and([f"the {role} in {_several(n, reading.row)}" for role, n in rows.items()])
    return f"blanks around {listed} were taken away; --verbatim keeps them"


def blank_note(role: str, number: int, example: str) -> str:
    """What to say of ids with blanks around them that stay as they are."""
    return (
        f"{_several(number, role)} {'has' if number == 1 else 'have'} blanks around the name, such as "
        f"{shown(example)}; only text files are trimmed: do it in the data if they should not be there"
    )


def alike_note(role: str, number: int, examples: Sequence[str], counts: Sequence[int] = ()) -> str:
    """What to say of ids that differ in nothing but case, Unicode form or blanks."""
    responses = f" ({_and([f'{n:,}' for n in counts])} responses)" if counts else ""
    return (
        f"{_several(number, role)} differ from another one in case, blanks or Unicode form only, such as "
        f"{_and(shown_apart(list(examples)))}{responses}; they count as different {_plural(role)}: write them alike "
        "if they are one"
    )


def _responses(n: int) -> str:
    return _several(n, "response")


def _several(n: int, noun: str) -> str:
    return f"{n:,} {noun if n == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun}{'es' if noun.endswith('s') else 's'}"


def _and(parts: Sequence[str]) -> str:
    """Parts as a list in a sentence.

    >>> _and(["a"]), _and(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
