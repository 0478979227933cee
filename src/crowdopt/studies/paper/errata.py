"""The paper's errors in one sentence each; docs/errata.md has them with smallest examples, which are run as tests."""

from __future__ import annotations

ERRATA: dict[str, str] = {
    "The filtering example exchanges its two error rates": "By its own definitions e_1 is 2/9 and e_0 is 1/3.",
    "Cuts are not all reasonable, and the filtering theorem fails as stated": (
        "Items (3,0) and (2,1): cut between them, the log-likelihood is −1.910 with e_0 = 2/3; the best reasonable "
        "mapping has −2.703. The best cut is in fact best among all mappings."
    ),
    "Algorithm 2 finds only the constant mappings": (
        "A node may get every rating from 1 to the lowest of its parents, not from the lowest to the highest."
    ),
    "Two inequalities are the wrong way round": (
        "A bucket that dominates has fewer responses at or below each rating, and gets at least the other's rating."
    ),
    "For more than two ratings the optimum is not global": (
        "Items {3,3}, {2,3}, {2,3}, {1,3}, {1,2} are likelier rated 3, 2, 2, 3, 1 than in any way that respects the "
        "order."
    ),
    "Varying numbers of responses: boundaries are counted twice": (
        "With up to m responses there are 2^(m+1) mappings in order, not 2^(m+1) − 1 + 2^m."
    ),
    "Slips in two proofs": (
        "A formula for p_00 counts the wrong answers, two steps are exchanged, and a lower bound should be upper."
    ),
    '"Rating" where filtering is meant': "Two error rates describe filtering; three ratings take six numbers.",
    "A start of EM whose middle column sums to 1.01": ".33 + .34 + .34; so results cannot be compared digit by digit.",
    "The proof of the filtering theorem leaves the mappings it speaks of": (
        "Repairing one inconsistency can make a mapping unreasonable, for which the next repair lowers the likelihood."
    ),
    "Error rates of a label that no item has": "They are 0/0; such a label contributes nothing, and has no rates.",
    "The definition of a lattice is too weak": (
        "It asks for a lower bound that no other is above, where one above all others is meant."
    ),
    "The lattice proof makes a bucket with a negative count": (
        "It raises any sum that has room; only the last that has may be raised."
    ),
    "Worker classes: one count is forgotten, and dominance is not transitive": (
        "The zeros of regular workers are never compared, and the two conditions need their transitive closure."
    ),
    "One digit of Table 2": "For R = 4 and m = 3 there are 28,744 mappings: 2.9, not 2.8, times 10^4.",
    "Error rates that cannot be": ("If 80 % of responses are 1, then s = .9 and e_1 = .1 would take a negative e_0."),
}
"""By the titles of the entries of docs/errata.md, in their order."""
