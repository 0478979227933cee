"""Globally optimal answers from crowds that disagree, with a certificate that says what was proved.

>>> from crowdopt import solve
>>> solve([[0, 3], [1, 2], [3, 0]], weights=[30, 12, 49]).certificate.proof
<Proof.PROVED: 'PROVED'>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import crowdopt._startup  # noqa: F401 - before all that takes time
from crowdopt import errors
from crowdopt._version import __version__
from crowdopt.data.readers.addresses import Database
from crowdopt.engines.solve import solve
from crowdopt.model.certificate import Certificate, Proof, Space, Stop
from crowdopt.verify.verify import verify

if TYPE_CHECKING:
    from crowdopt.estimator import Consensus, GlobalOptimum
    from crowdopt.pipeline import aggregate, prove
    from crowdopt.results.solution import Solution
    from crowdopt.results.solutions import Solutions
    from crowdopt.studies.compare.comparison import compare

__all__ = [
    "Certificate",
    "Consensus",
    "Database",
    "GlobalOptimum",
    "Proof",
    "Solution",
    "Solutions",
    "Space",
    "Stop",
    "__version__",
    "aggregate",
    "compare",
    "errors",
    "prove",
    "solve",
    "verify",
]

_LATER = {
    "Consensus": "estimator",
    "GlobalOptimum": "estimator",
    "Solution": "results.solution",
    "Solutions": "results.solutions",
    "aggregate": "pipeline",
    "prove": "pipeline",
    "compare": "studies.compare.comparison",
}
"""Names whose modules need a table library, imported on first use so that the rest starts at once."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'crowdopt' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"crowdopt.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
