"""Makes, while the site is built, the tables of options and commands, and the page of the latest benchmarks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def on_files(files: Any, config: Any) -> Any:
    """Called by MkDocs once it has listed what is there: adds the page of the benchmarks."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(BENCHMARKS))
    from bench import earlier, latest
    from page import render

    newest = latest()
    before = earlier(newest.stem)
    results, *others = (json.loads(path.read_text(encoding="utf-8")) for path in (newest, before) if path)
    files.append(File.generated(config, "bench.html", content=render(results, *others)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    for place, make in (("<!-- commands -->", commands), ("<!-- options -->", options)):
        if place in markdown:
            markdown = markdown.replace(place, make())
    return markdown


def options() -> str:
    """The options in Python as Markdown, with who takes which of them."""
    from crowdopt._option import declared
    from crowdopt.options import verbs

    takers = {
        "aggregate": {*declared(verbs.AggregateOptions)},
        "prove": {*declared(verbs.ProveOptions)},
        "compare": {*declared(verbs.CompareOptions)},
        "Consensus": {"labels", *declared(verbs.ConsensusEstimatorOptions)},
        "GlobalOptimum": {"labels", *declared(verbs.EstimatorOptions)},
    }
    rows = [
        f"| `{name}` | `{_escaped(_type(kind))}` | `{option.default!r}` | {_escaped(option.more or option.help)} | "
        + " | ".join("yes" if name in taken else "" for taken in takers.values())
        + " |"
        for name, (kind, option) in (declared(verbs.AggregateOptions) | declared(verbs.ProveOptions)).items()
    ]
    head = f"| option | type | default | meaning | {' | '.join(f'`{name}`' for name in takers)} |\n"
    return head + "|---" * (4 + len(takers)) + "|\n" + "\n".join(rows)


def _type(kind: Any) -> str:
    text = str(kind) if not isinstance(kind, type) or "[" in str(kind) else kind.__name__
    return text.replace("typing.", "").replace("collections.abc.", "")


def commands() -> str:
    """All commands with their arguments and options, as Markdown."""
    import typer

    from crowdopt.cli.app import app

    group = typer.main.get_command(app)
    return "\n\n".join(_command(name, command) for name, command in group.commands.items())  # type: ignore[attr-defined]


def _command(name: str, command: Any) -> str:
    rows = [
        f"| {_named(parameter)} | {_escaped(parameter.help or '')} | {_default(parameter)} |"
        for parameter in command.params
        if parameter.name != "help"
    ]
    lines = [
        f"## crowdopt {name}",
        command.help or "",
        "| option | meaning | default |\n|---|---|---|\n" + "\n".join(rows),
    ]
    return "\n\n".join(lines)


def _named(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or _choices(parameter)}"
    return ", ".join(f"`{option}{_escaped(value)}`" for option in (*parameter.opts, *parameter.secondary_opts))


def _choices(parameter: Any) -> str:
    choices = getattr(parameter.type, "choices", None)
    return "|".join(map(str, choices)) if choices else str(parameter.type.name).upper()


def _default(parameter: Any) -> str:
    value = parameter.default
    value = ",".join(value) if isinstance(value, list) else getattr(value, "value", value)
    return "" if parameter.required or value in (None, "", False) or callable(value) else f"`{value}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
