"""Changes of solution files, for forgeries.py: those that mean something, and those that know nothing of what it means.

Each takes the original, all originals and a random generator, and gives the text of a file and the data that it is
brought with; or None where such a change cannot be made. CHANGES has them by what they do.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from campaigns.consensus_lies import CONSENSUS_LIES
from campaigns.lies import LIES, pick
from campaigns.rating_lies import RATING_LIES
from campaigns.truth import retell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from campaigns.forgeries import Original

Json = dict[str, Any]

CHANGES: dict[str, Callable[[Original, list[Original], np.random.Generator], tuple[str, Path] | None]] = {}


def a_change(words: str, *kinds: str):
    """Registers a change, which may be one of files of some kinds only."""

    def add(function):
        def change(original, others, rng):
            return None if kinds and original.solution.kind not in kinds else function(original, others, rng)

        CHANGES[words] = change
        return function

    return add


def told(original: Original, contents: Json) -> tuple[str, Path]:
    return json.dumps(contents), original.data


@a_change("a label flipped", "proof")
def flip(original, others, rng):
    contents, labels = original.copy(), original.solution.buckets.n_labels
    at = int(rng.integers(len(contents["buckets"]["label"])))
    old = contents["buckets"]["label"][at]
    contents["buckets"]["label"][at] = pick([label for label in range(labels) if label != old], rng)
    return told(original, contents)


@a_change("a label flipped, all else made to fit", "proof")
def flip_and_fit(original, others, rng):
    contents, labels = original.copy(), original.solution.buckets.n_labels
    mapping = original.solution.mapping.copy()
    at = int(rng.integers(len(mapping)))
    mapping[at] = pick([label for label in range(labels) if label != mapping[at]], rng)
    if not np.isfinite(original.solution.objective.of_mapping(original.solution.buckets, mapping)):
        return None
    if contents["certificate"]["bound"] is not None and rng.random() < 0.5:
        contents["certificate"] |= {"bound": contents["certificate"]["objective"] + 1.0, "proof": "BOUNDED"}
    retell(contents, original.solution, mapping)
    if contents["certificate"]["engine"] == "columns":
        value = contents["certificate"]["objective"]
        contents["certificate"]["tolerance"] = original.solution.problem.price_tolerance(value)
    return told(original, contents)


@a_change("a count off by one", "proof")
def miscount(original, others, rng):
    contents = original.copy()
    lists = [contents["buckets"]["weights"], *(row for bucket in contents["buckets"]["counts"] for row in bucket)]
    if contents["offsets"]:
        lists += [
            contents["offsets"]["gold_tasks"],
            *(r for rows in contents["offsets"]["gold_responses"] for r in rows),
        ]
    if rng.random() < 0.2:
        numbers, at = contents["totals"], pick(sorted(contents["totals"]), rng)
    else:
        numbers = pick(lists, rng)
        at = int(rng.integers(len(numbers)))
    numbers[at] += int(rng.choice([-1, 1]))
    return told(original, contents)


@a_change("the bound moved", "proof")
def move_bound(original, others, rng):
    contents = original.copy()
    certificate = contents["certificate"]
    step = float(rng.choice([-1, 1]) * rng.choice([4 * certificate["tolerance"], 1e-3, 0.1, 1.0, 10.0]))
    if certificate["bound"] is None:
        certificate |= {"bound": certificate["objective"] + abs(step)}
    else:
        certificate["bound"] += step
    certificate["gap"] = max(0.0, certificate["bound"] - certificate["objective"])
    certificate["proof"] = "PROVED" if certificate["gap"] <= certificate["tolerance"] else "BOUNDED"
    return told(original, contents)


def _leaf(contents: Json, rng: np.random.Generator) -> Json | None:
    """Prices and gains of some part of the space."""
    witness = contents["certificate"]["witness"]
    while witness and "children" in witness:
        witness = witness["children"][pick(sorted(witness["children"]), rng)]
    return witness


@a_change("prices perturbed", "proof")
def perturb_prices(original, others, rng):
    contents = original.copy()
    leaf = _leaf(contents, rng)
    if leaf is None:
        return None
    prices, gains = np.array(leaf["prices"]), np.array(leaf["gains"])
    size = float(rng.choice([1e-5, 1e-3, 0.1, 1.0]))
    how = int(rng.integers(5))
    at, other = rng.permutation(len(prices))[:2]
    if how == 0:
        prices[at] += size * rng.choice([-1, 1])
    elif how == 1:  # the sum stays, so that only the sets tell
        prices[at] += size
        prices[other] -= size
    elif how == 2:
        noise = size * rng.standard_normal(len(prices))
        prices += noise - noise.mean()
    elif how == 3:
        gains[int(rng.integers(len(gains)))] += size * rng.choice([-1, 1])
    else:  # a smaller sum, as for a smaller bound
        prices -= size / len(prices)
    leaf |= {"prices": prices.tolist(), "gains": gains.tolist()}
    return told(original, contents)


@a_change("prices perturbed, the bound their sum", "proof")
def perturb_prices_and_bound(original, others, rng):
    """The liar adds up the prices again, so that only the sets can tell whether the bound is true."""
    contents = original.copy()
    certificate, witness = contents["certificate"], contents["certificate"]["witness"]
    if witness is None or "children" in witness:
        return None
    at, size = int(rng.integers(len(witness["prices"]))), float(rng.choice([1e-3, 0.1, 1.0]))
    witness["prices"][at] += size * rng.choice([-1, 1])
    bound = max(sum(witness["prices"]) + sum(witness["gains"]), certificate["objective"])
    gap = bound - certificate["objective"]
    proof = "PROVED" if gap <= certificate["tolerance"] else "BOUNDED"
    certificate |= {"bound": bound, "gap": gap, "proof": proof}
    return told(original, contents)


def _marked(contents: Json) -> Json:
    """What has the fingerprint in it."""
    return contents["certificate"] if contents["kind"] == "proof" else contents


def _another(original: Original, others: list[Original], rng: np.random.Generator) -> Original | None:
    """A solution of the same kind for other responses."""
    kind, mark = original.solution.kind, _marked(original.contents)["fingerprint"]
    alike = [other for other in others if other.solution.kind == kind]
    differ = [other for other in alike if _marked(other.contents)["fingerprint"] != mark]
    return pick(differ, rng) if differ else None


@a_change("another data set's fingerprint")
def swap_fingerprint(original, others, rng):
    other = _another(original, others, rng)
    if other is None:
        return None
    contents = original.copy()
    _marked(contents)["fingerprint"] = _marked(other.contents)["fingerprint"]
    return json.dumps(contents), pick([original.data, other.data], rng)


@a_change("another data set")
def swap_data(original, others, rng):
    other = _another(original, others, rng)
    return None if other is None else (json.dumps(original.contents), other.data)


SWAPPED = {
    "proof": ["buckets", "matrix", "certificate", "label_shares", "totals"],
    "consensus": ["parameters", "totals", "agreement", "label_tasks", "mean_confidence"],
}


@a_change("another data set's labels, matrix, certificate or parameters")
def swap_part(original, others, rng):
    other = _another(original, others, rng)
    if other is None:
        return None
    contents, part = original.copy(), pick(SWAPPED[original.solution.kind], rng)
    contents[part] = other.copy()[part]
    return told(original, contents)


@a_change("a lie of lies.py", "proof")
def lie(original, others, rng):
    contents, solution = original.copy(), original.solution
    more = solution.scale.n_labels > 2 or solution.certificate.engine != "scan"
    lies = [*LIES, *(RATING_LIES if more else [])]
    what = lies[int(rng.integers(len(lies)))](contents, solution, rng)
    return None if what is None else told(original, contents)


@a_change("a lie of consensus_lies.py", "consensus")
def lie_about_a_consensus(original, others, rng):
    contents = original.copy()
    what = pick(CONSENSUS_LIES, rng)(contents, original.solution, rng)
    return None if what is None else told(original, contents)


@a_change("the other kind")
def call_it_the_other_kind(original, others, rng):
    """The file calls a proof a consensus, or a consensus a proof; half of the time with all parts of the other kind."""
    contents = original.copy()
    if rng.random() < 0.5:
        alike = [other for other in others if other.solution.kind != original.solution.kind]
        contents = (pick(alike, rng).copy() if alike else {}) | contents
    contents["kind"] = "consensus" if original.solution.kind == "proof" else "proof"
    return told(original, contents)


# Changes of the JSON that know nothing of what it means.


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every element."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def _at(contents: Json, path: tuple[Any, ...]) -> Any:
    for key in path:
        contents = contents[key]
    return contents


def _part(path: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(key for key in path[:3] if isinstance(key, str))


def _random_change(change: Callable[..., None], *, of: tuple[type, ...] = (), within: type = object, length: int = 1):
    """Changes an element of some kinds, or any, within a list or anything; parts of a file are as likely, however long.

    Args:
        change: Takes what holds the element, its key or index, and a random generator.
        of: The kinds of elements; empty for all.
        within: What holds them.
        length: How much it holds at least.
    """

    def fits(contents, path):
        holder, value = _at(contents, path[:-1]), _at(contents, path)
        return isinstance(holder, within) and len(holder) >= length and (not of or type(value) in of)

    def make(original, others, rng):
        contents = original.copy()
        found = [path for path in places(contents) if fits(contents, path)]
        part = pick(sorted(set(map(_part, found))), rng)
        path = pick([path for path in found if _part(path) == part], rng)
        change(_at(contents, path[:-1]), path[-1], rng)
        return told(original, contents)

    return make


def _other_number(holder, key, rng):
    old = holder[key]
    if type(old) is int and rng.random() < 0.8:
        holder[key] = old + int(rng.choice([-1, 1, 2, 1000]))
    else:
        size = float(rng.choice([1e-7, 1e-4, 0.1, 1.0, 1e6]))
        holder[key] = old + size * float(rng.choice([-1, 1])) * max(1.0, abs(old))


def _other_text(holder, key, rng):
    words = [
        "",
        "x",
        "all",
        "dominance",
        "NONE",
        "BOUNDED",
        "TIME",
        "chain",
        "search",
        "vote",
        "drop",
        "same",
        "nominal",
    ]
    old = holder[key]
    holder[key] = pick([word for word in [*words, old + "x", old[:-1]] if word != old], rng)


def _other_kind(holder, key, rng):
    old = holder[key]
    values = [None, True, False, 0, -1, 1.5, "", "1", [], {}, [0], 1e308, -(10**30), float("nan"), float("inf")]
    holder[key] = pick([value for value in values if json.dumps(value) != json.dumps(old)], rng)


def _deny(holder, key, rng):
    holder[key] = not holder[key]


def _remove(holder, key, rng):
    del holder[key]


def _twice(holder, key, rng):
    holder.insert(key, json.loads(json.dumps(holder[key])))


def _exchange(holder, key, rng):
    other = int(rng.integers(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


CHANGES |= {
    "any number changed": _random_change(_other_number, of=(int, float)),
    "any text changed": _random_change(_other_text, of=(str,)),
    "true and false exchanged": _random_change(_deny, of=(bool,)),
    "any element of another kind": _random_change(_other_kind),
    "any element removed": _random_change(_remove),
    "an element of a list twice": _random_change(_twice, within=list),
    "two elements of a list exchanged": _random_change(_exchange, within=list, length=2),
}


@a_change("a name said twice, differently")
def say_twice(original, others, rng):
    """JSON that has a name twice: who reads it takes the first or the last."""
    part = pick([part for part, value in original.contents.items() if isinstance(value, dict)], rng)
    name = pick(sorted(original.contents[part]), rng)
    text = json.dumps(original.contents)
    start = text.index("{", text.index(f'"{part}": {{')) + 1
    value = original.contents[part][name]
    said = json.dumps(value + 1 if type(value) in {int, float} else f"{value}x" if isinstance(value, str) else None)
    return text[:start] + f'"{name}": {said}, ' + text[start:], original.data


@a_change("any character changed")
def change_character(original, others, rng):
    text = json.dumps(original.contents)
    at = int(rng.integers(len(text)))
    return text[:at] + pick([c for c in '0123456789.,-"[]{}: ea' if c != text[at]], rng) + text[at + 1 :], original.data
