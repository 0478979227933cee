"""The worked example of juries prints what the page says that it prints."""

from __future__ import annotations

import re

from support.needs import ROOT, SAMPLES

PAGE = ROOT / "docs" / "juries.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_block_prints_what_stands_below_it(capsys, monkeypatch):
    monkeypatch.chdir(SAMPLES)
    examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(examples) == PAGE.read_text(encoding="utf-8").count("```python\n") > 3
    names: dict[str, object] = {}
    for code, expected in examples:
        exec(compile(code, PAGE.name, "exec"), names)  # noqa: S102
        assert capsys.readouterr().out == expected
