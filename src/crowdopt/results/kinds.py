"""The two kinds of solutions, and what both call uncertain.

What reads and writes solutions is called by their methods, so it cannot import their classes: it finds them here, by
the name of their kind.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

Kind = Literal["consensus", "proof"]
"""As files call them: what ``aggregate`` gives, and what ``prove`` gives."""

UNCERTAIN_BELOW = 0.8
"""Tasks whose label is less probable than this are called uncertain."""


def class_of_kind(kind: Kind) -> Any:
    """The class of the solutions of a kind."""
    if kind == "consensus":
        return import_module("crowdopt.results.solution_consensus").ConsensusSolution
    return import_module("crowdopt.results.solution_proof").ProofSolution
