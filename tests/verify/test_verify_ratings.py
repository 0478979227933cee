"""Verification of ratings and categories: every engine, number of labels and kind of knowledge, honest and not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from campaigns.truth import can_be_tried, optimum
from crowdopt import Solution, prove, verify
from crowdopt.engines.enumeration import TooManyMappings, enumerate_mappings
from crowdopt.engines.registry import ENGINES
from crowdopt.model.order import Order
from crowdopt.verify.check import check_against
from crowdopt.verify.verdict import Verdict
from support.rated_crowds import HARD, KINDS, SETTINGS, Setting, asked, read, reloaded, solved

if TYPE_CHECKING:
    from crowdopt.data.load import Source

HEURISTICS = [name for name in ENGINES if name.startswith(("em", "soft", "vote"))]


def checked(solution: Solution, source: Source, **options):
    counted = (source.responses.scale, source.counts.buckets, source.totals, source.counts.gold)
    return check_against(solution, *counted, digest=source.digest, **options)


def can_be_enumerated(source: Source) -> bool:
    """Whether the reference engine takes little time."""
    buckets = source.counts.buckets
    try:
        enumerate_mappings(Order.of(buckets.counts), buckets.n_labels, limit=50_000)
    except TooManyMappings:
        return False
    return True


def honest_solutions(setting: Setting, source: Source, options: dict):
    """Every engine that can answer, finished and interrupted."""
    unfit = {"scan", *(HARD if setting.nominal else ["columns"]), *(() if can_be_enumerated(source) else ["enumerate"])}
    for engine in ENGINES.keys() - unfit:
        yield solved(source, options, engine)
        if engine != "vote":
            yield solved(source, options, engine, stopped=True)
    if not setting.nominal:
        yield solved(source, options, "search", space="all")
        yield solved(source, options, "columns", space="all")


# 1. Honest solutions.


def assert_honest_solutions_pass(setting: Setting, seed: int) -> None:
    data, options = asked(setting, seed)
    source, rest = read(data, options)
    engines = set()
    for solution in honest_solutions(setting, source, rest):
        certificate = solution.certificate
        engines.add(certificate.engine)
        found = checked(reloaded(solution), source)
        assert (found.verdict, found.reasons) == (Verdict.CONFIRMED, ()), (certificate, found.reasons)
        if can_be_tried(solution) and certificate.bound is not None:
            best = optimum(solution, certificate.space)
            assert certificate.objective - 1e-9 <= best <= certificate.bound + 1e-9
    assert engines >= {"search", *HEURISTICS, *(() if setting.nominal else ["chain"])}


@pytest.mark.grid
@pytest.mark.parametrize("nominal", [False, True], ids=["ordinal", "nominal"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_honest_solutions_of_small_problems_are_confirmed(setting, nominal):
    assert_honest_solutions_pass(replace(setting, nominal=nominal), 0)


@pytest.mark.grid
@pytest.mark.parametrize("setting", [replace(setting, medium=True) for setting in SETTINGS], ids=str)
def test_honest_solutions_of_medium_problems_are_confirmed(setting):
    assert_honest_solutions_pass(setting, 1)


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nominal", [False, True], ids=["ordinal", "nominal"])
def test_what_prove_saves_is_confirmed_whatever_the_order_of_rows(nominal, kind, tmp_path):
    for medium in (False, True):
        data, options = asked(Setting(3, equal=medium, kind=kind, nominal=nominal, medium=medium), 3)
        solution = prove(data, **options)
        solution.save(tmp_path / "solution.json")
        found = verify(tmp_path / "solution.json", data.sample(frac=1, random_state=3))
        assert (found.verdict, found.reasons, found.exit_code) == (Verdict.CONFIRMED, (), 0)
        assert verify(solution, data).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("kind", KINDS)
def test_honest_solutions_of_medium_problems_without_order_are_confirmed(kind):
    assert_honest_solutions_pass(Setting(4, equal=False, kind=kind, nominal=True, medium=True), 2)
