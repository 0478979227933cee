"""Loops in threads, also in a process that was forked after they ran."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from crowdopt.consensus.threads import by_parts


def _summed() -> list[int]:
    numbers = np.arange(1000)
    return by_parts(lambda first, last: int(numbers[first:last].sum()), 1000, 1e9)


def test_parts_make_up_the_whole():
    assert sum(_summed()) == 499_500


def test_a_forked_process_has_threads_of_its_own():
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    before = _summed()  # the threads of this process are there, and none of them in a child
    child = multiprocessing.get_context("fork").Process(target=_summed)
    child.start()
    child.join(60)
    alive = child.is_alive()
    child.kill()
    assert not alive
    assert child.exitcode == 0
    assert before == _summed()
