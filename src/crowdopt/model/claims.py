"""What is known of an engine by its name: what it is called, and what its answers claim.

A certificate names its engine; CLAIMS says what every answer of an engine of that name promises. That is the contract
between engines and ``verify``, which checks these promises and knows nothing else of engines. It lies in the model,
below both: ``verify`` shares no code with the engines, so it could not read what their files declare.

A new engine is one file in ``engines`` and one line in CLAIMS (engines/registry.py says more).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crowdopt.model.certificate import Space

if TYPE_CHECKING:
    from crowdopt.model.problem import Problem


@dataclass(frozen=True)
class Claims:
    """What an engine promises.

    Attributes:
        at: Where the registry finds the engine, as ``module:NAME``.
        title: What people call it where it stands beside the optimum; empty if it proves the optimum itself.
        by_name: Whether a user may ask for it by name.
        proves: Whether it leaves a bound; else it proves nothing.
        labels: The only number of labels that it takes; None if any.
        classes: The only number of classes of workers that it takes; None if any.
        space: The only space that it proves for; None if any.
        margins: What its margins are the least loss among (docs/theory.md, "Margins"): ``moves`` of one bucket;
            ``closures``, which under dominance are moves with all that the order asks to move along, and else moves; or
            ``thresholds`` on the share of yes, which rise, and are exact where these are all mappings that compete.
        exhaustive: Whether it looks at every mapping that respects the order. If it finishes, its margins are exact,
            and it took the likeliest mapping, of several the one that agrees with most responses.
        best_names: Whether interchangeable labels have the names that agree with most responses, also where it stopped.
        boxes: Whether it proves parameters by boxes of them, which it may leave as a witness.
        prices: Whether it proves by prices: it may leave them as a witness, and its tolerance is theirs.
        looked_up: Whether its margins are sums of looked-up logarithms, which are less exact.
        majority: Whether labels are those of the majority, the lowest of several, and ties are those of votes.
    """

    at: str = ""
    title: str = ""
    by_name: bool = True
    proves: bool = False
    labels: int | None = None
    classes: int | None = None
    space: Space | None = None
    margins: Literal["moves", "closures", "thresholds"] = "moves"
    exhaustive: bool = False
    best_names: bool = False
    boxes: bool = False
    prices: bool = False
    looked_up: bool = False
    majority: bool = False

    def cover(self, problem: Problem) -> bool:
        """Whether these are claims about such a problem."""
        buckets = problem.buckets
        return (
            self.labels in {None, buckets.n_labels}
            and self.classes in {None, buckets.n_classes}
            and self.space in {None, problem.space}
        )


# Methods that are compared stand in this order.
CLAIMS = {
    "trivial": Claims("crowdopt.engines.trivial:TRIVIAL", by_name=False, proves=True, labels=1),
    "scan": Claims("crowdopt.engines.scan:SCAN", proves=True, labels=2, classes=1, margins="thresholds"),
    "chain": Claims(
        "crowdopt.engines.chain:CHAIN",
        proves=True, space=Space.DOMINANCE, margins="closures", exhaustive=True, looked_up=True,
    ),
    "enumerate": Claims(
        "crowdopt.engines.enumeration:ENUMERATION",
        proves=True, space=Space.DOMINANCE, margins="closures", exhaustive=True,
    ),
    "columns": Claims(
        "crowdopt.engines.columns.engine:COLUMNS", proves=True, margins="closures", best_names=True, prices=True
    ),
    "search": Claims("crowdopt.engines.local_search:SEARCH", proves=True, margins="closures", best_names=True),
    "marginal": Claims(
        "crowdopt.engines.marginal.engine:MARGINAL", by_name=False, proves=True, space=Space.PARAMETERS, boxes=True
    ),
    "vote": Claims("crowdopt.engines.vote:VOTE", "majority vote", majority=True),
    "em1": Claims("crowdopt.engines.em.hard:EM1", "EM(1), from workers mostly right"),
    "em2": Claims("crowdopt.engines.em.hard:EM2", "EM(2), from workers who guess"),
    "em3": Claims("crowdopt.engines.em.hard:EM3", "EM(3), from workers mostly wrong"),
    "em": Claims("crowdopt.engines.em.hard:EM", "EM(*), the best of these"),
    "soft-em": Claims("crowdopt.engines.em.soft:SOFT_EM", "soft EM"),
}  # fmt: skip
"""What every engine promises, by its name."""

UNKNOWN = Claims()
"""The claims of an engine that is not in the table: none."""


def titles() -> dict[str, str]:
    """What the engines that prove nothing are called among people, by name: the methods to compare the optimum with."""
    return {name: claims.title for name, claims in CLAIMS.items() if claims.title}
