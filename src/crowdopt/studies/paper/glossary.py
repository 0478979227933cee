"""What the paper leaves open and had to be chosen, and what the page means by its words."""

from __future__ import annotations

from crowdopt.studies.paper.setups import PAPER_SETUPS, SETUPS
from crowdopt.studies.paper.verdicts import MIN_TRIALS, SLACK, SLACK_NATS

VERDICT_WORDS = {
    "holds": "what was measured bears the claim out, under every reading that the paper leaves open",
    "in part": "some of it is borne out and some is refuted, or it depends on a reading",
    "fails": "what was measured refutes it",
    "not decided": "the intervals are too wide to tell: more trials would",
    "not measured": "an experiment that it needs was not run",
}
"""The verdicts in one sentence each; every claim says what exactly they take."""

CHOICES: dict[str, str] = {
    "R, m, n": (
        "R labels (2 in filtering, else ratings 1 to R), m responses to every item, n items. Simulated crowds have "
        "1,000 items, but for one claim 100 and 10,000. The paper's text does not say which m its figures show; here "
        "they are 1 to 10 for two labels and 1 to 8 for three ratings."
    ),
    "s": (
        "In filtering, the probability of every item to be a 1. In rating a name: s = 2 has truths 20/60/20 in "
        "percent, s = 3 has 40/20/40, otherwise they are even; these shares are exact (334, 333 and 333 items)."
    ),
    "Random workers": (
        "All workers of a trial answer by one random matrix. Two labels: both error rates uniform between 0 and 1/2. "
        "Ratings: for each truth a distribution of answers, uniform among all distributions. That is [any]. In "
        "[diagonal], which the paper's figures are drawn with here, the largest probability is given to the true "
        "rating. In [mlr] matrices are drawn until likelihood ratios are monotone: a higher answer always speaks for a "
        "higher truth. The paper says only that ratings' workers are random; so claims are judged for all three."
    ),
    "OPT": (
        "The likeliest mapping: of all mappings for two labels, of those that respect the order for ratings. It is not "
        "found by the paper's enumeration but by a scan and by a longest path, which give the same."
    ),
    "OPT, estimated selectivity": "OPT when it also estimates how frequent the labels are, and counts that likelihood.",
    "EM(1), EM(2), EM(3)": (
        "Hard EM, as the paper describes it: every item gets the label that explains it best, the matrix is fitted to "
        "these labels, and so on until nothing changes. Two labels: it starts from error rates of 0.25, 0.5 and 0.75. "
        "Three ratings: from the paper's three matrices, the middle column of the third divided by its sum of 1.01; "
        "more ratings: from matrices in the same spirit. A label that loses its last item is out for good."
    ),
    "EM(*)": (
        "The likeliest of these three, the first of equals. Equals are frequent, as the third start often ends at the "
        "mirror image of the first. So claims are also judged for any of equals, by its average."
    ),
    "Ties to 0, ties to 1": (
        "When two labels explain an item equally well, which with even m is frequent, EM has to choose. Figures show "
        "ties to 0, the lowest label; claims about two labels are judged both ways. For ratings ties go to the lowest: "
        "turning the scale around would make that the highest, and truths and workers are drawn alike either way."
    ),
    "Best found": (
        "For ratings, the likeliest mapping that was found at all, in order or not: climbing from OPT and from where "
        "EM ended, by single buckets. The true optimum may be higher, so EM misses it at least so often. In the "
        "section on all mappings it is the true optimum, proved by prices for every crowd."
    ),
    "Metrics": (
        "Log-likelihoods are natural, in nats; 2.3 nats are an order of magnitude. Fraction incorrect: items with "
        "another label than the true one. Distance-weighted: mean distance from the true rating. EMD and JSD compare "
        "the estimated matrix with the true one, summed over true labels; JSD is the divergence, in bits. For a label "
        "that no item got, nothing is estimated; it counts as even odds for all answers."
    ),
    "Trials": (
        f"As many as in the paper where it has the experiment: {PAPER_SETUPS[0].trials:,} in filtering, "
        f"{SETUPS['rating-equal'].trials} in rating and with real responses; {SETUPS['filtering-0.5-n100'].trials} "
        "with other numbers of items, 100 with other workers and more ratings, and "
        f"{SETUPS['mappings-mlr'].trials} for the best of all mappings. All algorithms see the same crowds."
    ),
    "Sure": (
        "A lead is the mean, over trials, of the difference of two algorithms on the same crowd; above zero the first "
        "is better. It is surely above a number if its whole 99 % interval is (Student's t; Wilson's for shares). "
        "There is no correction for many comparisons: of a hundred between equals, one is called sure by chance. "
        f"With fewer than {MIN_TRIALS} trials nothing about averages is."
    ),
    "The margin": (
        f"Less than this counts as level: {SLACK:.0%} of the range of the metric (0.02 of fraction incorrect; of the "
        "distance 0.04, of EMD 0.04 and 0.12, of JSD 0.04 and 0.06, for two labels and three), and for the "
        f"log-likelihood {SLACK_NATS} nats per item."
    ),
    "Thresholds": (
        "Words such as near, comparable, much or fairly well had to be given a number. That was done with a pilot of "
        "20 trials at hand, not blindly; so what was measured stands beside every verdict."
    ),
}
"""By what it is about."""
