"""Claims that take no experiment: numbers of mappings, and what holds of all crowds small enough to try everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crowdopt.engines.enumeration import enumerate_mappings, full_lattice, likelihoods
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.objective import phi
from crowdopt.model.order import Order
from crowdopt.model.problem import Problem
from crowdopt.studies.paper.format import number_text
from crowdopt.studies.paper.mapping_counts import agrees, appendix_count, counted, points, table_2, up_to
from crowdopt.studies.paper.verdicts import Check, Criterion, Judgement, holds_if, joint_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Bools, Ints
    from crowdopt.studies.paper.verdicts import Experiments

Filtered: TypeAlias = tuple[int, int]
"""An item of two labels: how many responses are 1, and how many 0."""

LISTED = {(3, 3, 3), (3, 3, 2), (3, 3, 1), (3, 2, 2), (3, 2, 1), (3, 1, 1), (2, 2, 2), (2, 2, 1), (2, 1, 1), (1, 1, 1)}
"""The mappings of the paper's first example."""
SIZES = {2: 10, 3: 6, 4: 5, 5: 4}
"""Numbers of responses up to which buckets are counted by writing down all answers, by number of labels."""


def _first_example(_: Experiments) -> Judgement:
    buckets = np.array([[0, 0, 3], [1, 1, 1], [3, 0, 0]])
    mappings = {tuple(int(label) + 1 for label in row) for row in enumerate_mappings(Order.of(buckets[:, None]), 3)}
    text = f"{3 ** len(buckets)} mappings by bucket, {len(mappings)} of them in order"
    same = "the ten that the paper lists" if mappings == LISTED else "not those that the paper lists"
    return Judgement(f"{text}, {same}", holds_if(3 ** len(buckets) == 27, mappings == LISTED))


def _buckets(labels: Sequence[int]) -> Judgement:
    texts, right = [], []
    for n_labels in labels:
        found = [len({tuple(sorted(answers)) for answers in product(range(n_labels), repeat=m)})
                 for m in range(1, SIZES[n_labels] + 1)]  # fmt: skip
        right += [
            number_of == math.comb(n_labels + m - 1, n_labels - 1) == len(full_lattice(n_labels, m))
            for m, number_of in enumerate(found, 1)
        ]
        texts.append(f"R = {n_labels}, m = 1–{len(found)}: {', '.join(map(str, found))}")
    return Judgement(f"Counted by writing down all answers: {'; '.join(texts)}", holds_if(*right))


def _cut_points(_: Experiments) -> Judgement:
    rows = {m: counted(2, m) for m in range(1, 11)}
    text = f"Counted for m = 1–10: {', '.join(str(row.dominance) for row in rows.values())}"
    return Judgement(text, holds_if(*(row.dominance == m + 2 for m, row in rows.items())))


@dataclass(frozen=True)
class Tried:
    """One crowd of which all mappings were tried.

    Attributes:
        items: Its items.
        best: The highest log-likelihood of all mappings.
        cut: That of mappings that respect the order.
        reasonable: That of mappings with error rates of at most 1/2; a rate that does not exist is no hindrance.
        unreasonable_cut: Whether some mapping that respects the order is not reasonable.
    """

    items: tuple[Filtered, ...]
    best: float
    cut: float
    reasonable: float
    unreasonable_cut: bool


@cache
def small_crowds() -> tuple[Tried, ...]:
    """All crowds of up to five items with one, two or three responses each."""
    return tuple(
        _try_all(items)
        for m in (1, 2, 3)
        for n_items in range(1, 6)
        for items in combinations_with_replacement([(m - zeros, zeros) for zeros in range(m + 1)], n_items)
    )


def _try_all(items: tuple[Filtered, ...]) -> Tried:
    mappings = np.array(list(product((0, 1), repeat=len(items))))
    counts = np.array(items)[:, ::-1]  # answers 0, answers 1
    responses = np.stack([(mappings == label).astype(np.int64) @ counts for label in (0, 1)], axis=1)
    values = phi(responses[:, :, None, :]).sum(axis=1)
    wrong, all_of = np.stack([responses[:, 0, 1], responses[:, 1, 0]], axis=1), responses.sum(axis=2)
    reasonable = (2 * wrong <= all_of).all(axis=1)
    above = counts[:, None, 1] >= counts[None, :, 1]
    cut = ~(above & (mappings[:, :, None] < mappings[:, None, :])).any(axis=(1, 2))
    return Tried(
        items, float(values.max()), float(values[cut].max()), float(values[reasonable].max(initial=-math.inf)),
        unreasonable_cut=bool((cut & ~reasonable).any()),
    )  # fmt: skip


def _items(items: Sequence[tuple[int, ...]]) -> str:
    return ", ".join("(" + ",".join(map(str, item)) + ")" for item in items)


def _cuts_are_reasonable(_: Experiments) -> Judgement:
    crowds = small_crowds()
    wrong = [crowd for crowd in crowds if crowd.unreasonable_cut]
    text = f"In {len(wrong)} of the {len(crowds)} smallest crowds some mapping that respects the order is not"
    text += f", first in that of one item {_items(wrong[0].items)}, which it maps to 0" if wrong else ""
    return Judgement(f"{text} (errata, entry 2)", holds_if(not wrong))


def _theorem(_: Experiments) -> Judgement:
    crowds = small_crowds()
    more = [crowd for crowd in crowds if crowd.cut > crowd.reasonable + 1e-9]
    less = [crowd for crowd in crowds if crowd.cut < crowd.reasonable - 1e-9]
    text = f"Of the {len(crowds)} smallest crowds it is likelier in {len(more)}, less likely in {len(less)}"
    if known := [crowd for crowd in more if math.isfinite(crowd.reasonable)]:
        cut, reasonable = number_text(known[0].cut), number_text(known[0].reasonable)
        text += f"; items {_items(known[0].items)}: {cut} against {reasonable} (errata, entry 2)"
    return Judgement(text, holds_if(not more and not less))


def _global(_: Experiments) -> Judgement:
    crowds = small_crowds()
    short = [crowd for crowd in crowds if crowd.cut < crowd.best - 1e-9]
    text = f"Of the {len(crowds)} smallest crowds some other mapping is likelier in {len(short)}"
    return Judgement(text, holds_if(not short))


def _table(column: int) -> Judgement:
    rows = table_2()
    exact = [(row.unconstrained, row.bucketized, row.dominance)[column] for row in rows]
    right = [agrees(value, row.printed[column]) for value, row in zip(exact, rows, strict=True)]
    wrong = [
        f"(R, m) = ({row.n_labels}, {row.m}) is printed as {row.printed[column].replace('*', ' × ')} and is {value:,}"
        for row, value, ok in zip(rows, exact, right, strict=True)
        if not ok
    ]
    text = f"{sum(right)} of {len(right)} entries agree"
    return Judgement(f"{text}; {'; '.join(wrong)} (errata, entry 15)" if wrong else text, holds_if(*right))


def _other_columns(_: Experiments) -> Judgement:
    free, by_bucket = _table(0), _table(1)
    verdict = joint_verdict([free.verdict, by_bucket.verdict])
    return Judgement(f"All mappings: {free.text}. By bucket: {by_bucket.text}", verdict)


def _much_smaller(_: Experiments) -> Judgement:
    rows = table_2()
    factors = {
        "all mappings": [row.unconstrained / row.dominance for row in rows],
        "those by bucket": [row.bucketized / row.dominance for row in rows],
    }
    text = "; ".join(
        f"of {name} 1 in {number_text(min(found))} to 1 in {number_text(max(found))}" for name, found in factors.items()
    )
    return Judgement(f"Left {text}", holds_if(*(factor >= 100 for factor in factors["all mappings"])))


@dataclass(frozen=True)
class Counterexample:
    """A crowd whose likeliest mapping does not respect the order.

    Attributes:
        items: The answers that each item got.
        best: The likeliest labels, and their likelihood.
        ordered: The likeliest labels that respect the order, and theirs.
    """

    items: tuple[tuple[int, ...], ...]
    best: tuple[tuple[int, ...], float]
    ordered: tuple[tuple[int, ...], float]


def counterexample() -> Counterexample:
    """Five items with two ratings each, all mappings of which are compared."""
    items = ((3, 3), (2, 3), (2, 3), (1, 3), (1, 2))
    rows = [[ratings.count(label) for label in (1, 2, 3)] for ratings in items]
    buckets, index = Buckets.from_arrays(rows)
    problem = Problem(buckets, Space.ALL)
    every = np.array(list(product(range(3), repeat=buckets.n_buckets)), np.uint8)
    ordered = enumerate_mappings(Order.of(buckets.counts), 3)

    def likeliest(mappings: np.ndarray) -> tuple[tuple[int, ...], float]:
        values = likelihoods(problem, mappings)
        # Of equals, the one that agrees with most answers: renaming labels changes nothing.
        ties = mappings[values >= values.max() - 1e-9].astype(np.int64)
        found = max(ties, key=buckets.agreement)
        return tuple(int(label) + 1 for label in found[index]), math.exp(values.max())

    return Counterexample(items, likeliest(every), likeliest(ordered))


def _contains_the_best(_: Experiments) -> Judgement:
    shown = counterexample()
    (best, value), (ordered, ordered_value) = shown.best, shown.ordered
    text = (
        f"Items rated {_items(shown.items)}: the likeliest ratings, {', '.join(map(str, best))}, have likelihood "
        f"{value:.6f}; the likeliest in order, {', '.join(map(str, ordered))}, {ordered_value:.6f} (errata, entry 5). "
        "How often EM finds likelier ratings than the best in order: Beyond 10"
    )
    return Judgement(text, holds_if(value <= ordered_value))


def _lattice(_: Experiments) -> Judgement:
    cases = {(n_labels, m): full_lattice(n_labels, m) for n_labels, m in ((3, 3), (3, 4), (4, 3))}
    orders = [Order.of(buckets[:, None]).dominates | np.eye(len(buckets), dtype=bool) for buckets in cases.values()]
    right = [_has_bounds(above) and _has_bounds(above.T) for above in orders]
    return Judgement(f"All pairs of buckets tried for (R, m) = {_items(list(cases))}", holds_if(*right))


def _has_bounds(above: Bools) -> bool:
    """Whether any two elements have a common lower bound that is above all other common ones."""
    common = above[:, None, :] & above[None, :, :]  # c is below a and b
    reaches_all = (common[:, :, None, :] <= above[None, None, :, :]).all(axis=3)  # d is above every common bound
    return bool((common & reaches_all).any(axis=2).all())


def _unions(_: Experiments) -> Judgement:
    right = []
    for m in range(1, 6):
        zeros, ones = points(m).T
        corners = [(ones >= i) & (zeros <= j) for i in range(m + 1) for j in range(m + 1)]
        mappings = enumerate_mappings(Order.of(points(m)[:, None]), 2).astype(bool)
        inside = [[corner for corner in corners if (corner <= mapping).all()] for mapping in mappings]
        unions = [np.any([np.zeros_like(zeros, bool), *parts], axis=0) for parts in inside]
        right.append(np.array_equal(unions, mappings))
    return Judgement("All mappings tried for m = 1–5, a mapping without any 1 being the empty union", holds_if(*right))


def buckets_of_two_classes(experts: int, regulars: int, *, up_to_these: bool) -> Ints:
    """All buckets (y_e, n_e, y_r, n_r): ones and zeros of experts and of regular workers."""
    sides = [[(y, n) for y, n in product(range(size + 1), repeat=2) if y + n == size or (up_to_these and y + n <= size)]
             for size in (experts, regulars)]  # fmt: skip
    return np.array([[*one, *other] for one, other in product(*sides)], np.int64)


def conditions(buckets: Ints, *, printed: bool) -> tuple[Bools, Bools]:
    """Which bucket (row) dominates which (column) by the paper's first condition for classes, and by its second.

    With ``printed`` the zeros of regular workers are not compared, as the paper has it.
    """
    (ye, ne, yr, nr), (ye2, ne2, yr2, nr2) = buckets.T[:, :, None], buckets.T[:, None, :]
    compared = [ye - ye2, yr - yr2, ne2 - ne, *([] if printed else [nr2 - nr])]
    totals = (ye + yr == ye2 + yr2) & (ne + nr == ne2 + nr2)
    return _strictly(compared), totals & _strictly([ye - ye2, ne2 - ne])


def _strictly(leads: list[Ints]) -> Bools:
    return np.asarray(np.all([lead >= 0 for lead in leads], axis=0) & np.any([lead > 0 for lead in leads], axis=0))


def _class_order(_: Experiments) -> Judgement:
    buckets = buckets_of_two_classes(2, 2, up_to_these=True)
    texts, right = [], []
    for printed in (True, False):
        first, second = conditions(buckets, printed=printed)
        above = first | second
        both_ways = int((above & above.T).any())
        skips = (above[:, :, None] & above[None, :, :]) & ~above[:, None, :]
        right.append(not both_ways and not skips.any())
        name = "As printed" if printed else "With the regular workers' zeros in the fourth place"
        text = f"{name}: "
        if skips.any():
            one, two, three = (buckets[at] for at in np.argwhere(skips)[0])
            text += f"{_items([one])} dominates {_items([two])}, this {_items([three])}, but not the first the last"
        texts.append(text if skips.any() else f"{text}transitive")
    return Judgement(f"{'. '.join(texts)} (errata, entry 14)", holds_if(any(right)))


def _classes_help(_: Experiments) -> Judgement:
    table, fewer = [], []
    for experts, regulars in ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (2, 3)):
        buckets = buckets_of_two_classes(experts, regulars, up_to_these=False)
        first, second = conditions(buckets, printed=False)
        mappings = np.array(list(product((False, True), repeat=len(buckets))))
        counts = [_respecting(mappings, above) for above in (first, first | second)]
        fewer.append(counts[1] < counts[0])
        table.append({"experts": experts, "regular workers": regulars, "by bucket": len(mappings),
                      "first condition": counts[0], "both conditions": counts[1]})  # fmt: skip
    return Judgement("Mappings that respect the order, all tried", holds_if(*fewer), table)


def _respecting(mappings: Bools, above: Bools) -> int:
    wrong = np.zeros(len(mappings), bool)
    for high, low in np.argwhere(above):
        wrong |= ~mappings[:, high] & mappings[:, low]
    return int((~wrong).sum())


def _boundaries(_: Experiments) -> Judgement:
    exact = {m: up_to(m) for m in range(1, 9)}
    right = all(appendix_count(m) == number_of for m, number_of in exact.items())
    order = all(number_of == 2 ** (m + 1) for m, number_of in exact.items())
    text = f"Counted for m = 1–8: {', '.join(map(str, exact.values()))}, which is 2^(m+1); the formula gives "
    text += ", ".join(str(appendix_count(m)) for m in exact)
    return Judgement(f"{text} (errata, entry 6)", holds_if(right, order))


ROUNDED = Criterion(
    holds="every number that is printed with digits is the exact one, rounded to these; a bare power of ten has to be "
          "the right magnitude only",
    in_part="some are, some are not", fails="none is",
)  # fmt: skip
ALL_TRIED = "in every crowd of up to 5 items with 1, 2 or 3 responses each, all mappings tried"

SECTION_1 = (
    Check("Section 1, Figure 1", "Of 3^500 mappings of 500 items in three buckets, 27 treat buckets alike; 10 of these "
          "respect the order.", Criterion(holds="these are the numbers, and the ten are those listed",
                                          in_part="one of the two is so", fails="neither is"), (), _first_example),
)  # fmt: skip
SECTION_3 = (
    Check("Section 3.2", "With m responses to each item there are m + 1 buckets.",
          Criterion(holds="counted, m = 1 to 10", in_part="right for some m", fails="right for none"), (),
          lambda _: _buckets([2])),
    Check("Section 3.2", "With m responses to each item there are m + 2 mappings that respect the order.",
          Criterion(holds="counted, m = 1 to 10", in_part="right for some m", fails="right for none"), (), _cut_points),
    Check("Section 3.3", "All mappings that respect the order are reasonable: error rates of at most 1/2.",
          Criterion(holds=ALL_TRIED, fails="not in one of these crowds"), (), _cuts_are_reasonable),
    Check("Section 3.3, Theorem 3.1", "The likeliest mapping that respects the order is exactly as likely as the "
          "likeliest reasonable one.", Criterion(holds=ALL_TRIED, fails="not in one of these crowds"), (), _theorem),
    Check("Sections 3.2 and 3.3", "The likeliest of the m + 2 mappings that respect the order is likeliest of all.",
          Criterion(holds=ALL_TRIED, fails="not in one of these crowds"), (), _global),
)  # fmt: skip
COUNTS_OF_SECTION_4 = (
    Check("Section 4.2", "With m responses of R ratings there are (R+m−1 choose R−1) buckets.",
          Criterion(holds="counted, for 3, 4 and 5 ratings", in_part="right for some R and m", fails="right for none"),
          (), lambda _: _buckets([3, 4, 5])),
    Check("Section 4.2, Table 2", "Numbers of mappings that respect the order.", ROUNDED, (), lambda _: _table(2)),
    Check("Section 4.2, Table 2", "Numbers of all mappings of 100 items, and of mappings by bucket.", ROUNDED, (),
          _other_columns),
    Check("Section 4.2, Table 2", "Mappings that respect the order are far fewer than all mappings.",
          Criterion(holds="at most 1 in 100 in every row of the table", in_part="in some rows", fails="in none"), (),
          _much_smaller),
    Check("Section 4.2", "The mappings that respect the order contain a likeliest mapping.",
          Criterion(holds="no mapping is likelier than the best of them, in a case small enough to try all",
                    fails="one is"), (), _contains_the_best),
)  # fmt: skip
SECTION_4_4 = (
    Check("Section 4.4, Theorem 4.1", "The order on buckets is a lattice.",
          Criterion(holds="any two buckets have a greatest one below both and a least one above both, in all cases",
                    in_part="in some of the cases", fails="in none"), (), _lattice),
)  # fmt: skip
SECTION_5 = (
    Check("Section 5.1", "With varying numbers of responses every mapping that respects the order is a union of "
          "mappings f_ij (at least i ones and at most j zeros).",
          Criterion(holds="every one is, for m = 1 to 5", in_part="for some m", fails="for none"), (), _unions),
    Check("Section 5.2", "The two conditions for experts and regular workers make a partial order.",
          Criterion(holds="no two buckets dominate each other, and dominance is transitive, among all buckets of up to "
                          "2 responses from each class, as printed or with the evident slip mended",
                    fails="not so either way"), (), _class_order),
    Check("Section 5.2", "Knowing that experts err less, which gives the second condition, leaves fewer mappings.",
          Criterion(holds="fewer in every case tried", in_part="in some cases", fails="in none"), (), _classes_help),
)  # fmt: skip
APPENDIX_C = (
    Check("Section 5.1 and Appendix C",
          "With up to m responses, 2^(m+1) − 1 + 2^m mappings respect the order, hence O(2^m).",
          Criterion(holds="the exact numbers are those of the formula, and they double with every m",
                    in_part="one of the two is so", fails="neither is"), (), _boundaries),
)  # fmt: skip
