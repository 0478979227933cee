"""Sums that do not depend on the order of their terms: the terms are multiples of one small number.

Floating-point sums of such multiples are exact up to 2⁵³ of them. So the order of tasks and workers, and with it their
names, changes no bit of a sum; otherwise rounds that drive away from a balance would blow up its last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crowdopt._arrays import Floats

GRAIN = 2.0**-32
"""Sums are exact up to two million (2²¹), which is more than the responses of most problems; above, nearly so."""


def on_grid(values: Floats, grain: float = GRAIN) -> Floats:
    """The nearest multiples of a power of two."""
    steps = np.asarray(values / grain)
    np.rint(steps, out=steps)
    steps *= grain
    return steps
