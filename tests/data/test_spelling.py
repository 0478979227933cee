"""Which labels are one, which look alike, and what is said of them: from counts alone."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdopt.data.notes import label_notes
from crowdopt.data.reading import Reading
from crowdopt.data.spelling import RARE, RARE_SHARE, _families, equal_labels, onto, rare_labels, spell
from crowdopt.errors import InputError
from crowdopt.model.letters import BLANKS, is_missing_word, look_key, same_key, shown_apart, trimmed, without_invisible
from crowdopt.options.words import python_words

PLAIN, TIDY, VERBATIM = Reading(), Reading(tidy=True), Reading(verbatim=True)
READINGS = {"plain": PLAIN, "tidy": TIDY, "verbatim": VERBATIM}

CYRILLIC_YES = "y\u0435s"
WIDE_YES = "\uff59\uff45\uff53"
PIECES = [
    *["yes", "no", "Yes", " ", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u0435", "\u00e9", "e\u0301", "É", "ß", "SS"],
    *["N/A", "-", "+", "İ", "ς", "\u0412", "\u0432", "B", "\u200d", "\ufe0f", "❤", "\uff59", "’", "'", "\u00b4"],
]

texts = st.lists(st.sampled_from(PIECES), max_size=4).map("".join).filter(bool)
counted = st.dictionaries(texts, st.integers(0, 9), max_size=8)
scales = st.lists(texts, max_size=3, unique=True)


def test_all_white_space_of_unicode_is_blank():
    assert set(BLANKS) == {chr(code) for code in range(0x110000) if chr(code).isspace()}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("yes", "Yes "), ("yes", "\u00a0YES\u2003"), ("caf\u00e9", "CAFE\u0301"), ("stra\u00dfe", "STRASSE"),
        ("\u03c3", "\u03c2"), ("yes", "\tyes\r\n"),
    ],
)  # fmt: skip
def test_case_form_and_blanks_around_do_not_tell_labels_apart(one, other):
    assert equal_labels(one, other, PLAIN)
    assert not equal_labels(one, other, VERBATIM)


@pytest.mark.parametrize(
    "other", [CYRILLIC_YES, WIDE_YES, "yes\u200b", "\ufeffyes", "y\u00ades", "\u202eyes", "yes\ufe0f"]
)
def test_what_looks_alike_is_one_label_if_that_is_wished(other):
    assert not equal_labels("yes", other, PLAIN)
    assert equal_labels("yes", other, TIDY)
    found = spell({"yes": 7, other: 2}, PLAIN)
    assert found.changes == {}
    assert found.alike == (tuple(sorted(["yes", other])),)
    (note,) = label_notes(found, PLAIN)
    assert "look alike and are 2 labels (7 and 2 responses); --tidy takes them for one" in note
    assert note.isascii()
    assert spell({"yes": 7, other: 2}, TIDY).counts == {"yes": 9}


@pytest.mark.parametrize("label", ["нет", "да", "❤\ufe0f", "👨\u200d👩", "می\u200cخواهم", "ｈ２", "naïve"])
def test_other_scripts_and_pictures_are_nothing_odd(label):
    for reading in (PLAIN, TIDY):
        found = spell({label: 3, "x": 4}, reading)
        assert (found.changes, label_notes(found, reading)) == ({}, ())


ENGLAND, SCOTLAND = (
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in code) + "\U000e007f" for code in ("gbeng", "gbsct")
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ENGLAND, SCOTLAND), ("10\u00b2", "102"), ("H\u2082O", "H2O"), ("1\u00bd", "11/2"), ("\u00bd", "1/2"),
        ("m\u00b2", "m2"), ("1\u00aa", "1a"),
    ],
)  # fmt: skip
def test_what_plainly_differs_is_never_one_label(one, other):
    for reading in (PLAIN, TIDY):
        found = spell({one: 3, other: 4}, reading)
        assert (found.changes, label_notes(found, reading)) == ({}, ())


def test_tags_behind_plain_letters_are_not_seen():
    assert look_key("yes" + ENGLAND[1:]) == "yes"
    assert look_key("\u33a1") == look_key("m\u00b2")


def test_the_commonest_spelling_wins_and_of_several_the_smallest_text():
    assert spell({"yes": 2, "Yes": 5, "YES ": 4}, PLAIN).counts == {"Yes": 11}
    assert spell({"yes": 2, "Yes": 2, "yes ": 1}, PLAIN).counts == {"yes": 5}
    assert spell({"yes": 2, "Yes": 2}, PLAIN).counts == {"Yes": 4}
    assert spell({"yes ": 2}, PLAIN).changes == {"yes ": "yes"}


def test_the_spelling_that_the_user_names_wins():
    counts = {"yes": 90, "YES ": 5, "no": 3}
    assert spell(counts, PLAIN, ["NO", "YES"]).changes == {"yes": "YES", "YES ": "YES", "no": "NO"}
    assert spell({"a": 3, "A ": 2, "A": 1, " a": 4}, PLAIN, ["a", "A"]).changes == {"A ": "A", " a": "a"}
    assert spell({CYRILLIC_YES: 90}, TIDY, ["yes", "no"]).changes == {CYRILLIC_YES: "yes"}
    assert spell({"YES ": 1}, PLAIN, ["yes", "Yes"]).changes == {}  # which of the two cannot be known


def test_blanks_alone_are_no_label():
    assert spell({" \u00a0": 3, "x": 1}, PLAIN).changes == {" \u00a0": None}
    assert spell({" \u00a0": 3, "x": 1}, VERBATIM).changes == {}
    assert spell({"\u200b": 3, "x": 1}, TIDY).changes == {"\u200b": None}


def test_texts_that_stand_for_a_missing_label_do_so_in_every_spelling():
    counts = {"? ": 3, "X": 2, "x": 1, "\u0445": 1}
    assert spell(counts, Reading(na=("?", "x"))).changes == {"? ": None, "x": None, "X": None}
    assert spell(counts, Reading(na=("?", "X"), tidy=True)).counts == {}
    assert spell(counts, Reading(na=("? ",), verbatim=True)).changes == {}  # an exact one is gone before


def test_a_label_that_the_user_names_is_not_missing_in_another_spelling():
    assert spell({"NA": 3, "na": 2, "Na": 1}, Reading(na=("NA",)), ["na", "x"]).changes == {"NA": None, "Na": "na"}
    assert spell({"x": 3, "X ": 2}, Reading(na=("x",)), ["x", "y"]).changes == {"x": None, "X ": None}


@pytest.mark.parametrize(
    "word", ["NA", "n/a", "N/A", "#N/A", "<NA>", "null", "NULL", "NaN", "None", "-", "--", "\u2014", " na\u200b"]
)
def test_missing_value_words_are_named_and_left_out_only_if_that_is_wished(word):
    assert is_missing_word(word)
    counts = {word: 3, "a": 4, "b": 5}
    found = spell(counts, PLAIN)
    assert len(found.words) == 1
    note = label_notes(found, Reading(missing="drop"))[-1]
    assert "(3 responses) is a label here; if it means that there is no answer, --na " in note
    assert note.endswith(" leaves it out, and so does --tidy")
    tidied = spell(counts, TIDY)
    assert (tidied.changes, tidied.left_out) == ({word: None}, {word: 3})
    assert label_notes(tidied, TIDY)[-1].endswith("(3 responses) was taken for a missing label")


def test_a_word_that_is_an_answer_stays():
    assert spell({"none": 3, "some": 4}, TIDY, ["none", "some"]).counts == {"none": 3, "some": 4}
    assert label_notes(spell({"none": 3, "some": 4}, PLAIN, ["none", "some"]), PLAIN, ["none", "some"]) == ()
    assert spell({"-": 3, "+": 4}, TIDY).counts == {"-": 3, "+": 4}
    assert spell({"-": 3, "+": 4}, PLAIN).words == ()
    assert spell({"nano": 3, "x": 4}, TIDY).changes == {}


def test_rare_labels_are_few_by_number_and_by_share():
    assert rare_labels({"yes": 3000, "no": 2022, "maybe": RARE}) == ["maybe"]
    assert rare_labels({"yes": 3000, "no": 2022, "maybe": RARE + 1}) == []
    assert rare_labels({"a": RARE_SHARE - 100, "b": 99, "c": 1}) == ["c"]
    assert rare_labels({"a": RARE_SHARE - 101, "b": 99, "c": 1}) == []
    assert rare_labels({"a": 5000, "b": 5000, "c": 2, "d": 1}) == ["d", "c"]
    assert rare_labels({"a": 5000, "b": 5000, "c": 2, "d": 1}, ["d"]) == ["c"]
    assert rare_labels({"a": 9000, "b": 1}) == []  # how often a filter says yes
    assert rare_labels({"a": 5000, "b": 27, "yess": 1, "nno": 1, "maybe": 2}) == ["nno", "yess", "maybe"]
    rest = [f"c{at}" for at in range(12)]
    assert rare_labels({"a": 5000, "b": 900} | dict.fromkeys(rest, 5)) == []  # where few is the rule
    assert len(rare_labels({"a": 5000, "b": 940} | dict.fromkeys(rest, 5))) == 12


def test_a_slip_is_named_beside_all_that_is_named_otherwise():
    counts = {"no": 3140, "yes": 1871, "no\u200b": 4, "\ufeffno": 1, "yes\u200b": 3, "N/A": 4, "none": 3, "maybe": 1}
    notes = label_notes(spell(counts, PLAIN), PLAIN)
    assert notes[0].startswith(r"'no', 'no\u200b' and '\ufeffno' look alike and are 3 labels (3,140, 4 and 1 ")
    assert "so do other labels (3 responses); --tidy takes them for one" in notes[0]
    assert notes[-1] == "'maybe' has 1 of 5,027 responses; if it is a slip, --na maybe leaves it out"


def test_all_words_for_a_missing_label_are_named_with_what_leaves_them_out():
    words = ["-", "N/A", "NA", "nan", "none", "null"]
    (note,) = label_notes(spell(dict.fromkeys(words, 2) | {"a": 50, "b": 60}, PLAIN), PLAIN)
    assert all(f"{word!r} (2 responses)" in note for word in words)
    assert '--na "-,N/A,NA,nan,none,null" leaves them out, and so does --tidy' in note
    assert python_words(note).endswith(
        'na=["-", "N/A", "NA", "nan", "none", "null"] leaves them out, and so does tidy=True'
    )


def test_what_tidying_does_with_labels_that_nobody_sees():
    kept, gone = label_notes(spell({"\u200b": 3, "a\u200b": 2, "b": 4}, PLAIN), PLAIN)
    assert kept.endswith("(2 responses) holds characters that nobody sees; --tidy takes them away")
    assert gone.endswith("(3 responses) holds nothing but characters that nobody sees; --tidy leaves it out")
    assert spell({"a\u200b": 2, "b": 4}, PLAIN, ["a\u200b", "b"]).invisible == ()


def test_a_merge_by_tidying_is_undone_without_it():
    (note,) = label_notes(spell({"yes": 3, CYRILLIC_YES: 2}, TIDY), TIDY)
    assert note.endswith("; leave out --tidy to keep apart what only looks alike")
    (note,) = label_notes(spell({"yes": 3, "Yes": 2}, TIDY), TIDY)
    assert note.endswith("; --verbatim in place of --tidy keeps them apart")


def test_long_texts_are_shown_where_they_differ():
    path = "https://example.com/a/folder/of/many/pictures/of/cats/"
    one, other = shown_apart([f"{path}Photo.jpg", f"{path}photo.jpg"])
    assert one.endswith("cats/Photo.jpg'")
    assert other.endswith("cats/photo.jpg'")
    assert max(len(one), len(other)) <= 42


def test_notes_are_few_and_short_whatever_the_labels():
    letters = "abcdefghijklmnopqrstuvwxyz"
    counts = {f"{'x' * 300}{letter}{blank}": 3 for letter in letters for blank in ("", " ", "\u00a0", "\t")}
    counts |= {f"{letter}{end}": 1 for letter in letters for end in ("", "\u200b", "\ufeff")}
    counts |= dict.fromkeys(["N/A", "null", "none", "nan", "-"], 2) | {"most": 99_999, "much": 9_999}
    for reading in READINGS.values():
        notes = label_notes(spell(counts, reading), reading)
        assert 1 <= len(notes) <= 5
        assert all(len(note) < 420 and "\n" not in note for note in notes)


def test_a_note_says_what_was_taken_for_one_label():
    found = spell({"Yes": 1204, "yes ": 31, "no": 7}, PLAIN)
    assert label_notes(found, PLAIN) == (
        "'Yes' and 'yes ' were taken for one label, 'Yes': 1,204 and 31 responses; --verbatim keeps them apart",
    )
    found = spell({"caf\u00e9": 3, "cafe\u0301": 2, "Tea": 1, "tea": 9, " TEA": 1, "TEA": 1}, PLAIN)
    (note,) = label_notes(found, PLAIN)
    assert note == (
        "'tea', ' TEA' and 2 other spellings were taken for one label, 'tea': 9, 1 and 2 responses, and so were "
        "spellings of 1 more label (2 responses); --verbatim keeps them apart"
    )
    (note,) = label_notes(spell({"caf\u00e9": 3, "cafe\u0301": 2}, PLAIN), PLAIN)
    assert note.startswith(r"'caf\xe9' and 'cafe\u0301' were taken for one label, 'café': ")


def test_advice_that_would_do_something_else_is_not_given():
    """A comma parts texts on the command line, which also takes the blanks from around them."""
    for label in ("well, no", " x", "a\nb"):
        (note,) = label_notes(spell({"a": 5000, "b": 5000, label: 1}, VERBATIM), VERBATIM)
        assert "--na TEXT" in note


def test_known_labels_become_those_of_the_scale_or_stay():
    assert onto(["yes ", "NO", "maybe ", " "], ["no", "yes"], PLAIN) == {"yes ": "yes", "NO": "no", " ": None}
    assert onto(["yes ", "NO"], ["no", "yes"], VERBATIM) == {}
    assert onto([CYRILLIC_YES, "N/A"], ["no", "yes"], TIDY) == {CYRILLIC_YES: "yes", "N/A": None}


@given(st.lists(texts, max_size=12))
def test_labels_are_one_if_a_chain_of_labels_leads_from_one_to_the_other(labels):
    families = {label: {label} for label in labels}
    for one, other in [*combinations(labels, 2)] * len(labels):
        unseen = same_key(without_invisible(one)), same_key(without_invisible(other))
        if {same_key(one), unseen[0]} & {same_key(other), unseen[1]} or look_key(one) == look_key(other):
            families[one] |= families[other]
            families[other] |= families[one]
    found = _families(labels, tidy=True)
    assert sorted(map(sorted, found)) == sorted({tuple(sorted(one)): sorted(one) for one in families.values()}.values())


@pytest.mark.parametrize("reading", [PLAIN, TIDY], ids=["plain", "tidy"])
def test_time_follows_the_number_of_spellings(reading):
    letters = "abcdefghijklmnop"
    cases = ([*map(str.upper, letters)], [*letters])
    spellings = ["".join(cases[i >> k & 1][k] for k in range(len(letters))) for i in range(1 << len(letters))]
    begun = process_time()
    found = spell({**dict.fromkeys(spellings, 1), "z": 5}, reading)
    assert process_time() - begun < 20  # one or two; a quarter took two minutes when sets were joined one by one
    assert found.counts == {letters.upper(): len(spellings), "z": 5}


def test_verbatim_and_tidy_contradict_each_other():
    with pytest.raises(InputError, match="leave out one of the two"):
        Reading(verbatim=True, tidy=True)


@pytest.mark.parametrize("name", READINGS)
@given(counts=counted, named=scales, data=st.data())
def test_spelling_does_not_depend_on_order_and_doing_it_twice_changes_nothing(name, counts, named, data):
    found = spell(counts, READINGS[name], named)
    shuffled = data.draw(st.permutations(list(counts.items())))
    assert spell(dict(shuffled), READINGS[name], named) == found
    again = spell(found.counts, READINGS[name], named)
    assert (again.changes, again.counts) == ({}, found.counts)


@pytest.mark.parametrize("name", READINGS)
@given(counts=counted, named=scales)
def test_no_response_is_lost_and_labels_stay_what_they_were(name, counts, named):
    reading = READINGS[name]
    found = spell(counts, reading, named)
    expected: Counter[str] = Counter()
    for label, n in counts.items():
        new = found.changes.get(label, label)
        if new is None:
            assert not trimmed(label) or name == "tidy"
        else:
            expected[new] += n
            assert name == "tidy" or equal_labels(label, new, reading)
    assert found.counts == dict(expected)


@given(texts, texts)
def test_one_label_is_one_key(one, other):
    assert (same_key(one) == same_key(other)) == equal_labels(one, other, PLAIN)
    assert look_key(one) == look_key(one + "\u200b")
