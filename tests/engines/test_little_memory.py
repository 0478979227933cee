"""Engines that list, in too little memory: what they say, and that they find the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crowdopt.engines.base import Limits
from crowdopt.engines.chain import chain, list_up_sets
from crowdopt.engines.chain_paths import Paths
from crowdopt.engines.enumeration import full_lattice
from crowdopt.engines.local_search import KEPT, Climbs
from crowdopt.engines.registry import run
from crowdopt.errors import InputError
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Space
from crowdopt.model.problem import Problem


def test_enumeration_says_that_it_is_the_memory():
    problem = Problem(Buckets.from_arrays(full_lattice(3, 3))[0])
    with pytest.raises(InputError, match=r"these 10 buckets: too many for the memory limit$"):
        run(problem, Limits(bytes=1000), labels="abc", engine="enumerate")


def test_the_chain_says_that_it_is_the_memory():
    problem = Problem(Buckets.from_arrays(full_lattice(3, 3))[0])
    with pytest.raises(InputError, match="too many for the memory limit: raise --memory-limit, or leave the choice"):
        run(problem, Limits(bytes=1000), labels="abc", engine="chain")


def test_climbs_that_forget_keep_the_best():
    rng = np.random.default_rng(3)
    problem = Problem(Buckets.from_arrays(rng.multinomial(6, [0.4, 0.3, 0.3], size=60))[0], Space.ALL)
    mappings = rng.integers(3, size=(500, problem.buckets.n_buckets))
    all_kept, few = Climbs(problem, Limits()), Climbs(problem, Limits(bytes=0))
    for block in np.split(mappings, 50):
        all_kept.keep(block)
        few.keep(block)
    assert len(all_kept.found) > 500 > 2 * KEPT >= len(few.found)
    assert max(few.found.values()) == pytest.approx(max(all_kept.found.values()), abs=1e-9)


def test_pairs_that_do_not_fit_into_a_list_change_nothing():
    problem = Problem(Buckets.from_arrays(full_lattice(3, 5), np.arange(1, 22))[0])
    limits = Limits(bytes=300_000)
    sets = list_up_sets(problem, limits)
    assert Paths(problem, sets, limits)._most_listed() < len(sets) <= Paths(problem, sets, Limits())._most_listed()
    few, whole = chain(problem, limits), chain(problem, Limits())
    assert few.mapping.tolist() == whole.mapping.tolist()
    assert math.isclose(few.bound, whole.bound, abs_tol=1e-9)
