"""Lies about a consensus, for the tests of verify: ways to change its true file into a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.lies import pick

if TYPE_CHECKING:
    from collections.abc import Callable

# Each takes the file's dictionary, the solution and a random generator, changes it in place, and says what for the
# record; or returns None where the change would leave the file true or the case does not have such a thing.

CONSENSUS_LIES: list[Callable[..., str | None]] = []

STEPS = (1e-4, 1e-2, 0.3)


def a_consensus_lie(function):
    CONSENSUS_LIES.append(function)
    return function


def _shift(row, rng) -> bool:
    """Moves some probability from one entry of a row to another, so that it still sums to one."""
    if len(row) < 2:
        return False
    order = [int(at) for at in rng.permutation(len(row))]
    source = max(order, key=lambda at: row[at])
    target = next(at for at in order if at != source)
    step = min(float(rng.choice(STEPS)), row[source] / 2)
    row[source] -= step
    row[target] += step
    return step > 1e-5


@a_consensus_lie
def shift_a_worker(data, solution, rng):
    """A row of a worker's matrix, which is one still."""
    matrices = data["parameters"]["workers"][pick(["tilted_matrix", "kinds_matrix"], rng)]
    return "worker" if _shift(pick(pick(matrices, rng), rng), rng) else None


@a_consensus_lie
def shift_the_population(data, solution, rng):
    population = data["parameters"]["population"]
    name = pick(sorted(population.keys() - {"vote_precision"}), rng)
    row = population[name] if name.endswith("shares") else pick(population[name], rng)
    return name if _shift(row, rng) else None


@a_consensus_lie
def change_a_precision(data, solution, rng):
    values = data["parameters"]["workers"]["vote_precision"]
    values[int(rng.integers(len(values)))] *= float(rng.choice([0.5, 1.0001, 2]))
    return "precision"


@a_consensus_lie
def change_the_precision_of_all(data, solution, rng):
    data["parameters"]["population"]["vote_precision"] *= float(rng.choice([0.5, 1.0001, 2]))
    return "population precision"


@a_consensus_lie
def exchange_two_workers(data, solution, rng):
    names = data["parameters"]["workers"]["names"]
    one, other = (int(at) for at in rng.permutation(len(names))[:2])
    names[one], names[other] = names[other], names[one]
    return "exchanged names"


@a_consensus_lie
def exchange_the_skills_of_two_workers(data, solution, rng):
    """Everything of one worker becomes another's."""
    workers = data["parameters"]["workers"]
    one, other = (int(at) for at in rng.permutation(len(workers["names"]))[:2])
    before = [workers[name][one] for name in workers if name != "names"]
    for name in workers.keys() - {"names"}:
        workers[name][one], workers[name][other] = workers[name][other], workers[name][one]
    return None if before == [workers[name][one] for name in workers if name != "names"] else "exchanged skills"


@a_consensus_lie
def rename_a_worker(data, solution, rng):
    names = data["parameters"]["workers"]["names"]
    names[int(rng.integers(len(names)))] += "x"
    return "renamed"


@a_consensus_lie
def leave_out_a_worker(data, solution, rng):
    workers = data["parameters"]["workers"]
    at = int(rng.integers(len(workers["names"])))
    for values in workers.values():
        del values[at]
    data["totals"]["n_workers"] -= 1
    return "left out"


@a_consensus_lie
def move_a_task_to_another_label(data, solution, rng):
    tasks = data["label_tasks"]
    given = [at for at, n in enumerate(tasks) if n]
    source = pick(given, rng)
    tasks[source] -= 1
    tasks[pick([at for at in range(len(tasks)) if at != source], rng)] += 1
    return "label"


@a_consensus_lie
def move_expected_answers(data, solution, rng):
    """Workers seem to have answered otherwise, as often."""
    rows = data["expected_answers"]
    cells = [(at, answer) for at, row in enumerate(rows) for answer in range(len(row))]
    source = max(cells, key=lambda cell: rows[cell[0]][cell[1]])
    target = pick([cell for cell in cells if cell != source], rng)
    step = float(rng.choice(STEPS))
    rows[source[0]][source[1]] -= step
    rows[target[0]][target[1]] += step
    return "expected answers"


@a_consensus_lie
def move_the_mean_confidence(data, solution, rng):
    data["mean_confidence"] += float(rng.choice([-1e-4, -1e-5, 1e-5, 1e-4]))
    return "confidence"


@a_consensus_lie
def change_a_number_of_tasks(data, solution, rng):
    name = pick(["n_uncertain", "n_tied"], rng)
    data[name] += 1 if not data[name] or rng.random() < 0.5 else -1
    return name


@a_consensus_lie
def change_a_total_of_all(data, solution, rng):
    name = pick(sorted(data["totals"]), rng)
    data["totals"][name] += 1
    return name


@a_consensus_lie
def change_an_agreement(data, solution, rng):
    name = pick(["alpha", "pairwise"], rng)
    old = data["agreement"][name]
    data["agreement"][name] = 0.5 if old is None else old - 0.01
    return name


@a_consensus_lie
def change_the_responses(data, solution, rng):
    data["fingerprint"] = ("0" if data["fingerprint"][0] != "0" else "1") + data["fingerprint"][1:]
    return "fingerprint"


@a_consensus_lie
def doubt_or_do_not(data, solution, rng):
    data["doubts"] = [] if data["doubts"] else ["all of it"]
    return "doubts"


@a_consensus_lie
def give_shares(data, solution, rng):
    """The file says that the user gave shares that crowdopt found, or that crowdopt found shares that the user gave."""
    data["given_shares"] = [] if data["given_shares"] else list(data["parameters"]["population"]["vote_shares"])
    return "given"


@a_consensus_lie
def give_other_shares(data, solution, rng):
    """Other shares, made to fit where the file says them again."""
    if not data["given_shares"]:
        return None
    shares, population = data["given_shares"], data["parameters"]["population"]
    old = list(shares)
    if not _shift(shares, rng):
        return None
    population["vote_shares"], population["tilted_shares"] = list(shares), list(shares)
    states = population["kinds_shares"]
    for at in range(len(states)):
        states[at] *= shares[at // 2] / old[at // 2]
    return "other shares"


@a_consensus_lie
def take_away_the_gold(data, solution, rng):
    if not data["reading"]["gold"]:
        return None
    data["reading"]["gold"] = data["reading"]["gold"][1:]
    return "gold"


@a_consensus_lie
def change_a_known_label(data, solution, rng):
    if not data["reading"]["gold"]:
        return None
    pair = pick(data["reading"]["gold"], rng)
    pair[1] = pick([label for label in solution.scale.labels if label != pair[1]], rng)
    return "gold label"


@a_consensus_lie
def make_a_task_known(data, solution, rng):
    known = {task for task, _ in data["reading"]["gold"]}
    if "t5" in known:
        return None
    data["reading"]["gold"] = sorted([*data["reading"]["gold"], ["t5", solution.scale.labels[0]]])
    return "more gold"


@a_consensus_lie
def turn_the_labels(data, solution, rng):
    if data["reading"]["bins"]:
        return None
    data["reading"]["labels"] = list(reversed(solution.scale.labels))
    return "labels"


@a_consensus_lie
def change_the_kind_of_scale(data, solution, rng):
    data["scale"]["kind"] = "nominal" if data["scale"]["kind"] == "ordinal" else "ordinal"
    return "kind of scale"
