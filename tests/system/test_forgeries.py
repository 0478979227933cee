"""Forged solution files: some of every change, and that a confirmed forgery would be seen."""

from __future__ import annotations

import sys

import pytest

from campaigns.changes import CHANGES
from campaigns.forgeries import forge, originals

KINDS = (
    "scan, given shares", "chain, gold", "chain, ranked classes", "columns", "columns, stopped", "search, no time",
    "vote", "consensus", "consensus, ratings", "consensus, gold", "consensus, given shares",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return originals(tmp_path_factory.mktemp("originals"), KINDS)


def test_no_forged_file_is_confirmed_unless_it_is_true(made, tmp_path, effort):
    table = forge(made, effort(9) * len(CHANGES), 7, tmp_path)
    assert table.wrong == []
    assert all(counts.total() >= effort(9) for counts in table.counts.values())
    assert sum(counts["rejected"] for counts in table.counts.values()) > 0.8 * effort(9) * len(CHANGES)
    for change in (
        "a label flipped", "a count off by one", "another data set", "another data set's fingerprint",
        "a lie of consensus_lies.py", "the other kind",
    ):  # fmt: skip
        assert table.counts[change]["rejected"] == table.counts[change].total(), change


@pytest.mark.parametrize(
    ("module", "check", "change"),
    [
        ("check", "_about_data", "a count off by one"),
        ("check", "_about_labels", "a lie of lies.py"),
        ("check", "_about_bound", "the bound moved"),
        ("consensus", "_parameters", "a lie of consensus_lies.py"),
        ("consensus", "_about_responses", "a lie of consensus_lies.py"),
        ("consensus", "_differences", "any number changed"),
    ],
)
def test_a_confirmed_forgery_is_seen(made, tmp_path, monkeypatch, module, check, change):
    """Without one of its checks, verify confirms what is wrong."""
    monkeypatch.setattr(sys.modules[f"crowdopt.verify.{module}"], check, lambda *_: iter(()))
    assert forge(made, 30, 7, tmp_path, [change]).wrong
