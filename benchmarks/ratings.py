"""What ordered labels cost and what is proved about them, on seeded crowds.

python benchmarks/ratings.py [--quick] [--json FILE]

Prints four tables in Markdown, each between two comments, so that they can be pasted into docs/results.md:
(a) the time and the proof of ``crowdopt.solve`` for crowds of many sizes, (b) the work of the chain engine against an
enumeration of all mappings, (c) hard EM against the optimum, (d) the search engine against the optimum. Progress goes
to standard error.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdopt import solve
from crowdopt.engines.chain import MAX_UP_SETS
from crowdopt.engines.em.hard import START_NAMES, hard_em
from crowdopt.engines.enumeration import MAX_MAPPINGS, count_mappings, full_lattice
from crowdopt.model.buckets import Buckets
from crowdopt.model.certificate import Certificate, Space, Stop
from crowdopt.model.order import Order, TooManyUpSets, UpSets
from crowdopt.model.problem import Problem
from crowdopt.studies.simulate import crowd
from processes import environment
from tables import MISSED, describe, duration, nats, parser, say, show, span, tally, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats, Ints
    from crowdopt.engines.base import Progress

N_TASKS = 1000
KINDS = ("sharp", "diagonal", "random")
TARGETS = {(3, 5): 0.02, (4, 4): 0.02, (5, 3): 0.02, (3, 10): 0.1, (4, 6): 5, (5, 4): 5, (3, 15): 5, (3, 19): 5}
"""Seconds that a size (labels, responses per task) should stay below."""

SIZES = (*TARGETS, (4, 8), (5, 5), (3, 30))
PAPER = {
    (3, 3): "126",
    (3, 4): "462",
    (3, 5): "1,716",
    (4, 3): "2.8e4",
    (4, 4): "2.7e6",
    (5, 2): "2.8e4",
    (5, 3): "1.1e8",
}
"""The numbers of mappings that the paper prints in its Table 2."""

LEAST_RATIO = 500
"""By how much the chain engine's work should be less than the number of mappings for five labels, three responses."""

MOST_CALLS = 6
"""A crowd is solved again until it was solved so often, or the seconds of the plan are spent."""


@dataclass(frozen=True)
class Plan:
    """How much is run: ``few`` or ``many`` crowds of a kind and size, each for ``seconds`` or a single call.

    ``counted`` crowds are only looked at for the number of their up-sets.
    """

    sizes: tuple[tuple[int, int], ...]
    few: int
    many: int
    counted: int
    seconds: float
    lattices: tuple[tuple[int, int], ...]
    em_settings: tuple[tuple[int, int], ...]
    em_crowds: int
    search_sizes: tuple[tuple[int, int], ...]
    search_crowds: int

    def crowds(self, size: tuple[int, int]) -> int:
        """Crowds of each kind: many where they are solved fast."""
        return self.many if TARGETS.get(size, math.inf) <= 0.1 else self.few


FULL = Plan(
    sizes=SIZES,
    few=3,
    many=10,
    counted=30,
    seconds=3.0,
    lattices=tuple(PAPER),
    em_settings=((2, 5), (3, 3), (3, 5)),
    em_crowds=100,
    search_sizes=((3, 5), (4, 4), (5, 3), (3, 10)),
    search_crowds=25,
)
QUICK = Plan(
    sizes=((3, 5), (4, 4), (3, 20)),
    few=1,
    many=2,
    counted=2,
    seconds=0.5,
    lattices=((3, 3), (3, 4), (5, 3)),
    em_settings=((2, 5), (3, 3)),
    em_crowds=5,
    search_sizes=((3, 5),),
    search_crowds=3,
)


@dataclass(frozen=True)
class Timed:
    """One crowd of part (a). Seconds are medians of ``calls``; ``first`` and ``last`` only where the search answered.

    Attributes:
        up_sets: Their number; None if there are more than the chain engine lists.
        calls: Wall-clock seconds of each call that counts.
        cpu: Seconds of processor time of the same calls, all threads together.
        first: Seconds from the call to the first mapping that the search could have handed over.
        last: Seconds from the call to the last progress report with a better mapping.
    """

    n_labels: int
    size: int
    kind: str
    seed: int
    buckets: int
    up_sets: int | None
    engine: str
    proof: str
    stop: str
    gap: float | None
    work: int
    objective: float
    seconds: float
    calls: tuple[float, ...]
    cpu: tuple[float, ...]
    first: float | None
    last: float | None


def response_rates(kind: str, n_labels: int, rng: np.random.Generator) -> Floats:
    """The matrix [true, answered] of a crowd of the given kind."""
    if kind == "sharp":
        steps = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels)))
        rates = np.exp(-0.9 * steps)
        return np.asarray(rates / rates.sum(axis=1, keepdims=True))
    rates = _uniform_rows(n_labels, rng)
    while kind == "diagonal" and (wrong := rates.argmax(axis=1) != np.arange(n_labels)).any():
        rates[wrong] = _uniform_rows(n_labels, rng)[wrong]
    return rates


def _uniform_rows(n_labels: int, rng: np.random.Generator) -> Floats:
    """Rows from Dirichlet(1, ..., 1): the gaps between sorted uniform numbers."""
    cuts = np.sort(rng.random((n_labels, n_labels - 1)), axis=1)
    return np.asarray(np.diff(cuts, axis=1, prepend=0.0, append=1.0))


def draw(kind: str, n_labels: int, size: int, seed: int) -> Ints:
    """The counts (task, label) of a crowd whose true labels are uniform."""
    rng = np.random.Generator(np.random.PCG64([n_labels, size, KINDS.index(kind), seed]))
    rates = response_rates(kind, n_labels, rng)
    drawn = crowd(N_TASKS, size, size, labels=[str(j) for j in range(n_labels)], matrix=rates, seed=rng)
    answers = drawn.label.astype(np.int64).reshape(N_TASKS, size)
    return np.asarray((answers[:, :, None] == np.arange(n_labels)).sum(axis=1))


def count_up_sets(buckets: Buckets) -> int | None:
    """The number of up-sets, None if there are more than the chain engine lists."""
    try:
        return len(UpSets.of(Order.of(buckets.counts), MAX_UP_SETS))
    except TooManyUpSets:
        return None


def is_listed(counts: Ints) -> bool:
    """Whether the chain engine can list the up-sets of a crowd."""
    return count_up_sets(Buckets.from_arrays(counts)[0]) is not None


def timed(counts: Ints, weights: Ints | None = None, engine: str = "auto") -> tuple[float, Certificate]:
    """Seconds of one call, and the certificate."""
    before = time.perf_counter()
    result = solve(counts, weights, engine=engine)
    return time.perf_counter() - before, result.certificate


def warm_up() -> None:
    """Compiles the loops that large sizes need, or loads them from where the compiler keeps them."""
    solve(full_lattice(4, 5))


def measure(kind: str, n_labels: int, size: int, seed: int, budget: float) -> Timed:
    """Solves a crowd a few times; the first call counts only if it is the only one."""
    counts = draw(kind, n_labels, size, seed)
    buckets, _ = Buckets.from_arrays(counts)
    calls, cpu, seen = list[float](), list[float](), list[tuple[float, float]]()
    while len(calls) < MOST_CALLS and sum(calls) < budget:
        seen.clear()
        before, before_cpu = time.perf_counter(), time.process_time()

        def watch(progress: Progress, before: float = before) -> bool:
            seen.append((time.perf_counter() - before, progress.objective))
            return False

        certificate = solve(counts, on_progress=watch).certificate
        calls.append(time.perf_counter() - before)
        cpu.append(time.process_time() - before_cpu)
    kept = slice(1 if len(calls) > 1 else 0, None)
    incumbents = [at for at, objective in seen if math.isfinite(objective)]
    best = max((objective for _, objective in seen), default=-math.inf)
    searched = certificate.engine != "chain" and bool(incumbents)
    return Timed(
        n_labels,
        size,
        kind,
        seed,
        buckets.n_buckets,
        count_up_sets(buckets),
        certificate.engine,
        certificate.proof.value,
        certificate.stop.value,
        certificate.gap,
        certificate.work,
        certificate.objective,
        statistics.median(calls[kept]),
        tuple(calls[kept]),
        tuple(cpu[kept]),
        incumbents[0] if searched else None,
        next(at for at, objective in seen if objective == best) if searched else None,
    )


def part_a(plan: Plan) -> list[dict[str, Any]]:
    """Times and proofs of crowds of many sizes."""
    if plan is not QUICK:
        warm_up()
    found, listed = list[Timed](), dict[tuple[tuple[int, int], str], str]()
    for (n_labels, size), kind in itertools.product(plan.sizes, KINDS):
        say(f"(a) {n_labels} labels, {size} responses, {kind}")
        runs = [measure(kind, n_labels, size, seed, plan.seconds) for seed in range(plan.crowds((n_labels, size)))]
        found += sorted(runs, key=lambda run: (run.engine, run.seed))
        few = sum(is_listed(draw(kind, n_labels, size, seed)) for seed in range(plan.counted))
        listed[(n_labels, size), kind] = f"{few} of {plan.counted}"
    groups = itertools.groupby(found, key=lambda run: ((run.n_labels, run.size), run.kind, run.engine))
    rows = [_row_a(size, kind, listed[size, kind], list(runs)) for (size, kind, _), runs in groups]
    columns = (
        *("labels", "responses", "crowd", "can be listed", "engine", "crowds", "buckets", "up-sets", "proof"),
        *("largest gap", "work, median", "time, median", "time, worst", "target", "processor, median"),
        *("first answer", "last gain"),
    )
    caption = (
        f"Ordered labels under dominance, {N_TASKS:,} tasks: `crowdopt.solve(counts)` once compiled code is loaded. "
        f"*Can be listed*: crowds that have no more than {MAX_UP_SETS:,} up-sets, so that the chain engine can prove "
        "its answer. A crowd's time is the median of its calls; the median and the worst are over crowds. Processor "
        "time hangs less on what else the machine does. *First answer* and *last gain*: when the search had one to "
        "hand over, and when it last found a better one (medians). Gaps are in nats."
    )
    show("ratings.py (a)", caption, columns, rows)
    return [asdict(run) for run in found]


def _row_a(size: tuple[int, int], kind: str, listed: str, runs: list[Timed]) -> list[str]:
    times = [run.seconds for run in runs]
    proofs = Counter(run.proof if run.stop == Stop.FINISHED else f"{run.proof} ({run.stop})" for run in runs)
    first = [run.first for run in runs if run.first is not None]
    last = [run.last for run in runs if run.last is not None]
    return [
        *(str(number) for number in size),
        kind,
        listed,
        runs[0].engine,
        str(len(runs)),
        span(run.buckets for run in runs),
        _up_sets([run.up_sets for run in runs]),
        tally(proofs),
        nats(max(run.gap or 0.0 for run in runs)),
        f"{statistics.median(run.work for run in runs):,.0f}",
        duration(statistics.median(times)),
        duration(max(times)),
        _against_target(size, times),
        duration(statistics.median(statistics.median(run.cpu) for run in runs)),
        duration(statistics.median(first)) if first else "",
        duration(statistics.median(last)) if last else "",
    ]


def _up_sets(numbers: Sequence[int | None]) -> str:
    listed = [number for number in numbers if number is not None]
    return span(listed) if listed else f"more than {MAX_UP_SETS:,}"


def _against_target(size: tuple[int, int], times: list[float]) -> str:
    if size not in TARGETS:
        return "none"
    below = sum(taken < TARGETS[size] for taken in times)
    verdict = "met" if below == len(times) else f"MISSED by {len(times) - below} of {len(times)}"
    return f"< {duration(TARGETS[size])}: {verdict}"


def part_b(plan: Plan) -> list[dict[str, Any]]:
    """The work of the chain engine against the number of mappings."""
    found, rows = list[dict[str, Any]](), list[list[str]]()
    rng = np.random.Generator(np.random.PCG64(0))
    for n_labels, size in plan.lattices:
        say(f"(b) {n_labels} labels, {size} responses")
        counts = full_lattice(n_labels, size)
        weights = rng.integers(1, 100, len(counts))
        order = Order.of(counts[:, None])
        mappings = count_mappings(order, n_labels)
        solve(counts, weights)
        ours = [timed(counts, weights, "chain") for _ in range(5)]
        seconds, best = statistics.median(taken for taken, _ in ours), ours[0][1]
        theirs = timed(counts, weights, "enumerate") if mappings <= MAX_MAPPINGS else None
        agree = None if theirs is None else abs(theirs[1].objective - best.objective) <= best.tolerance
        found.append(
            {
                "n_labels": n_labels,
                "size": size,
                "buckets": len(counts),
                "up_sets": len(UpSets.of(order, MAX_UP_SETS)),
                "mappings": mappings,
                "work": best.work,
                "ratio": mappings / best.work,
                "proof": best.proof.value,
                "proof_seconds": seconds,
                "enumerate_seconds": theirs[0] if theirs else None,
                "same_optimum": agree,
            }
        )
        rows.append(
            [
                *(str(number) for number in (n_labels, size, len(counts))),
                f"{found[-1]['up_sets']:,}",
                PAPER[n_labels, size],
                f"{mappings:,}",
                f"{best.work:,}",
                f"{mappings / best.work:,.2f}",
                duration(seconds),
                duration(theirs[0]) if theirs else "too many",
                f"{theirs[0] / seconds:,.2f}" if theirs else "",
                {None: "", True: "yes", False: "NO"}[agree],
            ]
        )
    columns = (
        *("labels", "responses", "buckets", "up-sets", "mappings in the paper", "mappings", "chain's work"),
        *("mappings / work", "chain", "enumeration", "enumeration / chain", "same optimum"),
    )
    caption = "All buckets of a size with random weights: the chain engine against an enumeration of all mappings."
    show("ratings.py (b)", caption, columns, rows)
    for entry in found:
        if (entry["n_labels"], entry["size"]) == (5, 3):
            met = "met" if entry["ratio"] >= LEAST_RATIO else "MISSED"
            print(f"Target for 5 labels, 3 responses: work at least {LEAST_RATIO} times less than mappings: {met}.\n")
    return found


def part_c(plan: Plan) -> list[dict[str, Any]]:
    """Hard EM from the paper's starts against the optimum."""
    found, rows = list[dict[str, Any]](), list[list[str]]()
    for (n_labels, size), kind in itertools.product(plan.em_settings, ("diagonal", "random")):
        say(f"(c) {n_labels} labels, {size} responses, {kind}")
        losses: dict[str, list[float]] = {name: [] for name in (*START_NAMES, "*")}
        spaces: set[str] = set()
        for seed in range(plan.em_crowds):
            counts = draw(kind, n_labels, size, seed)
            _, best = timed(counts)
            if best.gap is None or best.gap > best.tolerance:
                sys.exit(f"nothing to compare with: {best}")
            spaces.add(best.space.value)
            problem = Problem(Buckets.from_arrays(counts)[0], Space.ALL)
            ends = {name: hard_em(problem, name).value for name in START_NAMES}
            ends["*"] = max(ends.values())
            for name, value in ends.items():
                losses[name].append(best.objective - value)
        for name, lost in losses.items():
            missed = [loss for loss in lost if loss > MISSED]
            above = [-loss for loss in lost if loss < -MISSED]
            found.append(
                {
                    "n_labels": n_labels,
                    "size": size,
                    "kind": kind,
                    "space": sorted(spaces),
                    "start": name,
                    "crowds": len(lost),
                    "missed": len(missed),
                    "mean_shortfall": statistics.mean(missed) if missed else 0.0,
                    "largest_shortfall": max(missed, default=0.0),
                    "above": len(above),
                    "largest_above": max(above, default=0.0),
                    "losses": lost,
                }
            )
            rows.append(
                [
                    *(str(number) for number in (n_labels, size)),
                    kind,
                    " and ".join(sorted(spaces)),
                    f"EM({name})",
                    f"{len(missed)} of {len(lost)}",
                    nats(found[-1]["mean_shortfall"]),
                    nats(found[-1]["largest_shortfall"]),
                    f"{len(above)} of {len(lost)}",
                    nats(found[-1]["largest_above"]),
                ]
            )
    columns = (
        *("labels", "responses", "crowd", "optimum over", "start", "below the optimum", "mean shortfall of these"),
        *("largest shortfall", "above the optimum", "largest excess"),
    )
    caption = (
        f"Hard EM against the optimum, {N_TASKS:,} tasks, in nats. EM looks at all mappings: where the optimum is "
        "the one under dominance, EM may end above it."
    )
    show("ratings.py (c)", caption, columns, rows)
    return found


def part_d(plan: Plan, solved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The search engine against engines that prove; ``solved`` are the crowds of part (a)."""
    if plan is not QUICK:
        warm_up()
    found: list[dict[str, Any]] = []
    for kind, (n_labels, size) in itertools.product(("random", "diagonal"), plan.search_sizes):
        say(f"(d) {n_labels} labels, {size} responses, {kind}")
        for seed in range(plan.search_crowds):
            seconds, best = timed(draw(kind, n_labels, size, seed), engine="chain")
            found.append(_searched("small", (n_labels, size, kind, seed), best.objective, seconds))
    say("(d) larger crowds")
    for run in solved:
        if run["proof"] == "PROVED" and (run["n_labels"], run["size"]) not in plan.search_sizes:
            at = (run["n_labels"], run["size"], run["kind"], run["seed"])
            found.append(_searched("larger", at, run["objective"], run["seconds"]))
    rows, small = list[list[str]](), [run for run in found if run["part"] == "small"]
    for kind in ("random", "diagonal"):
        of_kind = [run for run in small if run["kind"] == kind]
        for n_labels, size in plan.search_sizes:
            runs = [run for run in of_kind if (run["n_labels"], run["size"]) == (n_labels, size)]
            rows.append(_row_d(kind, str(n_labels), str(size), runs))
        rows.append(_row_d(kind, "all", "", of_kind))
    larger = [run for run in found if run["part"] == "larger"]
    for (n_labels, size), group in itertools.groupby(larger, key=lambda run: (run["n_labels"], run["size"])):
        rows.append(_row_d("those of (a)", str(n_labels), str(size), list(group)))
    columns = (
        *("crowd", "labels", "responses", "optimum found", "worst loss", "largest gap claimed"),
        *("search, median", "proof, median"),
    )
    caption = f"The search engine where the optimum is proved, {N_TASKS:,} tasks. In nats."
    show("ratings.py (d)", caption, columns, rows)
    return found


def _searched(part: str, at: tuple[int, int, str, int], optimum: float, seconds: float) -> dict[str, Any]:
    """What the search makes of a crowd whose optimum is known."""
    n_labels, size, kind, seed = at
    search_seconds, certificate = timed(draw(kind, n_labels, size, seed), engine="search")
    return {
        "part": part,
        "n_labels": n_labels,
        "size": size,
        "kind": kind,
        "seed": seed,
        "loss": optimum - certificate.objective,
        "claimed_gap": certificate.gap,
        "proof_seconds": seconds,
        "search_seconds": search_seconds,
    }


def _row_d(kind: str, n_labels: str, size: str, runs: list[dict[str, Any]]) -> list[str]:
    hits = sum(run["loss"] <= MISSED for run in runs)
    return [
        kind,
        n_labels,
        size,
        f"{hits} of {len(runs)}",
        nats(max(0.0, *(run["loss"] for run in runs))),
        nats(max(run["claimed_gap"] for run in runs)),
        duration(statistics.median(run["search_seconds"] for run in runs)),
        duration(statistics.median(run["proof_seconds"] for run in runs)),
    ]


def main() -> None:
    """Measures, prints, writes."""
    chosen = parser("Ordered labels: time, proof, and what heuristics miss.").parse_args()
    plan = QUICK if chosen.quick else FULL
    figures: dict[str, Any] = {"environment": environment(), "quick": chosen.quick}
    print(describe(figures["environment"]) + "\n")
    for name, part in (("a", part_a), ("b", part_b), ("c", part_c)):
        figures[name] = part(plan)
    figures["d"] = part_d(plan, figures["a"])
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
