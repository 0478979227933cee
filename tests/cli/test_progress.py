"""How much of the work is done, and how long the rest may take."""

from __future__ import annotations

import pandas as pd
import pytest

import crowdopt
from crowdopt.cli import console as at_work
from crowdopt.cli.console import Console


class Shown:
    """Stands for a terminal: the last line that it was given."""

    line = ""

    def update(self, line):
        self.line = line


@pytest.fixture
def shown(monkeypatch):
    """What a console says that was told so much of a phase is done, so many seconds after the phase began."""
    now, shown = [0.0], Shown()
    monkeypatch.setattr(at_work.time, "monotonic", lambda: now[0])
    console = Console(quiet=True)
    console._status = shown

    def after(seconds, share, phase=""):
        if phase:
            console.on_phase(phase)
        now[0] += seconds
        console.on_share(share)
        return shown.line

    return after


def test_a_share_of_the_work_is_shown_with_a_time_left_that_never_grows(shown):
    assert shown(0.5, 0.2, "weighing") == "weighing: 20% done"  # too early to tell
    assert shown(1.5, 0.25) == "weighing: 25% done, about 6 s left"
    assert shown(8, 0.5) == "weighing: 50% done, about 6 s left"  # slower than before: ten seconds are as long again
    assert shown(2, 0.8) == "weighing: 80% done, about 3 s left"


def test_each_phase_begins_anew(shown):
    assert shown(2, 0.5, "finding classes") == "finding classes: 50% done, about 2 s left"
    assert shown(3, 0.05, "weighing") == "weighing: 5% done"
    assert shown(27, 0.1) == "weighing: 10% done, about 270 s left"


ROWS = [(f"t{i}", f"w{j}", "yes" if (i * (j + 2)) % 5 < 2 else "no") for i in range(20) for j in range(4)]
DATA = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


@pytest.mark.parametrize(
    ("verb", "options", "phase"),
    [
        (crowdopt.aggregate, {}, "weighing"),
        (crowdopt.prove, {}, "comparing with the consensus"),
        (crowdopt.prove, {"find_classes": 2}, "finding classes"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_phase_that_finds_a_consensus_tells_its_share(verb, options, phase):
    phases, told = [], []
    verb(DATA, on_phase=phases.append, on_share=lambda share: told.append((phases[-1], share)), **options)
    shares = [share for _, share in told]
    assert {name for name, _ in told} == {phase}
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
