"""The tie rule: among equally likely mappings, more agreement, then the lexicographically smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt.buckets import Buckets
    from crowdopt.types import Ints


def agreement_counts(buckets: Buckets, mappings: Sequence[Ints]) -> list[int]:
    """Responses equal to the given label, for each mapping."""
    return [buckets.agreement(mapping) for mapping in mappings]


def lexicographic_first(mappings: Sequence[Ints]) -> Ints:
    """The smallest mapping over buckets in their sorted order."""
    return min(mappings, key=lambda mapping: mapping.tolist())
