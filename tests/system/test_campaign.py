"""The exactness campaign: problems that were once wrong, a few new ones, and that it would see an error."""

from __future__ import annotations

import json

import numpy as np

from campaigns import campaign
from campaigns.campaign import REGRESSIONS, Case, Tally, disagreements, draw, smallest, store
from crowdopt.engines.registry import ENGINES


def test_what_was_once_wrong_is_right():
    stored = sorted(REGRESSIONS.glob("*.json"))
    assert stored  # at least the example of their form
    for path in stored:
        case = Case.from_dict(json.loads(path.read_text(encoding="utf-8"))["case"])
        assert disagreements(case) == [], path


def test_a_few_problems_of_every_kind(tmp_path):
    tally = Tally()
    campaign.campaign(lambda number: number < 6, 1, tally, tmp_path)
    assert tally.wrong == []
    assert tally.counts["problems"] == 6
    assert tally.counts["auto PROVED"] >= 6
    assert tally.counts["lies"] >= 10
    assert not list(tmp_path.iterdir())


def test_an_engine_that_errs_is_caught_and_the_problem_made_small(tmp_path, monkeypatch):
    """An engine that says of the vote that it is proved, over all mappings."""
    vote = ENGINES["vote"]

    def boast(problem, limits):
        outcome = vote.run(problem, limits)
        return campaign.replace(outcome, bound=outcome.objective)

    monkeypatch.setitem(ENGINES, "vote", campaign.replace(vote, run=boast))
    tally = Tally()
    campaign.campaign(lambda number: number < 12 and not tally.wrong, 2, tally, tmp_path)
    (path,) = tmp_path.glob("*.json")
    small = Case.from_dict(json.loads(path.read_text(encoding="utf-8"))["case"])
    assert any("vote" in words for words in disagreements(small))
    assert all(not disagreements(other) for other in campaign.simpler(small))
    monkeypatch.undo()
    assert disagreements(small) == []


def test_cases_survive_the_file(tmp_path):
    for seed in range(20):
        case = draw(np.random.default_rng(seed))
        again = Case.from_dict(json.loads(store(case, ["why"], tmp_path).read_text(encoding="utf-8"))["case"])
        assert again.to_dict() == case.to_dict()
        assert again.optimum(case.space) == case.optimum(case.space)
        assert smallest(case, lambda _: False) is case
