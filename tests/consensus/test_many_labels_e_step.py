"""The E-step of many labels, whose sums over pairs of labels are put together: the same as pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from crowdopt.consensus.skill_kernels import _log_pull, _log_pulls
from crowdopt.consensus.skills import DRAWN


def pair_by_pair(j, votes, own, labels, n, away, log_error):
    """What a task may draw to beside label j, one label after the other."""
    far = [
        (votes[d] - 1) * (away - log_error[labels[d]]) + votes[d] * np.log(DRAWN) - own[d]
        + (n - votes[d]) * np.log1p(-DRAWN)
        for d in range(len(labels)) if d != j and votes[d] > 1
    ]  # fmt: skip
    return np.logaddexp.reduce(far) if far else -np.inf


@pytest.mark.parametrize("most", [1, 2, 3, 40])
@pytest.mark.parametrize("size", [0, 1, 2, 30])
@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_what_a_task_draws_to_is_the_sum_over_all_other_labels(most, size, spread):
    rng = np.random.default_rng([most, size, int(spread)])
    for _ in range(20):
        votes = rng.integers(0, most + 1, size).astype(float)
        own = -spread * rng.random(size) * votes
        labels, n = rng.permutation(50)[:size], int(votes.sum()) + 1
        log_error = np.log(rng.dirichlet(np.full(50, 0.3)) + 1e-12)
        pulls = _log_pulls(votes, own, labels, n, log_error, DRAWN)
        for j in range(size + 1):
            away = np.log1p(-0.9 * rng.random())
            expected = pair_by_pair(j, votes, own, labels, n, away, log_error)
            assert _log_pull(j, away, pulls) == pytest.approx(expected, rel=1e-13, abs=1e-12)
