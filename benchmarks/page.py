"""The page of the benchmarks: what was claimed and whether it holds, then all figures.

python benchmarks/page.py RESULTS.json [EARLIER.json]

Writes index.html beside the results.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import accuracy
from crowdopt.report.charts import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SOFT,
    Axis,
    Style,
    bars,
    described,
    line_chart,
    svg_of,
)
from crowdopt.report.page import fill
from crowdopt.results.write.files import write_text
from end_to_end import AGGREGATE, CAP, DAWID_SKENE, DUCKDB, MAJORITY, OURS, PROVE, VOTE
from exact import digest, listing
from growth import slope
from tables import duration, nats

HERE = Path(__file__).resolve().parent
STYLES = {
    PROVE: Style(BLUE, 3.5),
    AGGREGATE: Style(BLUE, 2, (6, 2)),
    VOTE: Style(PURPLE, 1.5, (2, 2)),
    MAJORITY: Style(ORANGE, 2),
    DAWID_SKENE: Style(RED, 2),
    DUCKDB: Style(GREEN, 1.5, (5, 3)),
}
MEASURES = {"wall": "seconds from start to end", "cpu": "seconds of CPU", "peak_mb": "peak memory, MB"}
TARGETS = ((MAJORITY, 1.0), (DAWID_SKENE, 5.0))
"""How many times what ``prove`` takes the others should take at least."""

LARGE = 10**6
"""From how many responses on the targets hold."""

METHODS = {
    accuracy.OURS: "what aggregate gives",
    accuracy.VOTE: "the majority vote with ties shared",
    "prove, one matrix": "what prove gives without options",
    "classes of 0.1.0": "what --find-classes auto gave there, in another way than now",
}
"""The methods of the accuracies that are not crowd-kit's."""

OLD_NAMES = {
    "end_to_end": {"crowdopt": PROVE, "crowdopt, engine vote": VOTE},
    "accuracy": {"crowdopt": "prove, one matrix", "found classes": "classes of 0.1.0"},
}
"""What is called otherwise in the results of 0.1.0: its only verb was what ``prove`` is now."""

OLD_SECONDS = 30.0
"""What each method had there."""


def named_as_now(results: dict[str, Any]) -> dict[str, Any]:
    """Results whose programs and methods have the names of today; those of 0.1.0 say nothing of verbs."""
    if "verbs" in results:
        return results
    parts = {name: _renamed(part, OLD_NAMES.get(name, {})) for name, part in results["parts"].items()}
    return {**results, "parts": {**parts, "accuracy": {"seconds": OLD_SECONDS, **parts["accuracy"]}}}


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(one, names) for key, one in value.items()}
    return [_renamed(one, names) for one in value] if isinstance(value, list) else value


TABLES = ("aggregate_speed", "accuracy.py (b)", "accuracy.py (c)", "accuracy.py (d)", "workers", "found_classes")
"""How the names of tables begin that stand on the page as they were printed, if the results have them."""


def verdicts(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every target at every large size: what was measured, and whether it was met."""
    found = []
    for case in cases:
        if case["crowd"]["responses"] < LARGE:
            continue
        for name, least in TARGETS:
            ratio = case["times_crowdopt"].get(name)
            if ratio is None:  # not run, or failed
                continue
            keys = ("wall", "cpu", "peak") if name == MAJORITY else ("wall", "cpu")
            stopped = case["median"][name]["stopped"]  # then it takes more than what is shown
            found.append(
                {
                    "responses": case["crowd"]["responses"],
                    "labels": case["crowd"]["labels"],
                    "program": name,
                    "least": least,
                    "ratio": {key: ratio[key] if key in keys else None for key in ("wall", "cpu", "peak")},
                    "met": all(ratio[key] >= least for key in keys),
                    "stopped": stopped,
                }
            )
    return found


def end_to_end_charts(cases: list[dict[str, Any]]) -> list[str]:
    """Time and memory against the number of responses, for the smallest number of labels."""
    labels = cases[0]["crowd"]["labels"]
    drawn = []
    for key, unit in MEASURES.items():
        rows = [
            _point(
                case["crowd"]["responses"], name, [run[key] for run in case["runs"][name]], case["median"][name][key]
            )
            for case in cases
            if case["crowd"]["labels"] == labels
            for name in case["median"]
            if not case["median"][name]["error"] and not case["median"][name]["stopped"]
        ]
        words = "; ".join(f"{row['series']} at {row['x']:,}: {row['mean']:.3g}" for row in rows)
        chart = line_chart(
            *(rows, STYLES), series="series", x="x", title=unit[0].upper() + unit[1:],
            subtitle=f"{labels} labels, medians",
            x_axis=Axis("responses", sorted({row["x"] for row in rows}), log=True), y_axis=Axis(unit, log=True),
        )  # fmt: skip
        drawn.append(described(svg_of(chart), f"{unit}. {words}."))
    return drawn


def growth_charts(series: list[dict[str, Any]]) -> list[str]:
    """What a run costs beyond its start, and what solving costs, on log-log axes."""
    drawn = []
    for one in series:
        rows = [
            _point(point["x"], name, [value], value)
            for point in one["points"]
            for name, value in (("the whole run", point["beyond_start"]), ("solving", point["seconds"]))
            if value > 0 and point["proof"] == "PROVED"
        ]
        slopes = ", ".join(
            f"{name} {slope(one[key])}" for name, key in (("run", "cpu_exponent"), ("solving", "solve_exponent"))
        )
        styles = {"the whole run": Style(BLUE, 2.5), "solving": Style(SOFT, 1.5, (4, 3))}
        chart = line_chart(
            *(rows, styles), series="series", x="x", title=one["unit"][0].upper() + one["unit"][1:],
            subtitle=f"exponents: {slopes}",
            x_axis=Axis(one["unit"], sorted({point["x"] for point in one["points"]}), log=True),
            y_axis=Axis("seconds", log=True),
        )  # fmt: skip
        drawn.append(described(svg_of(chart), f"Cost against {one['unit']}; exponents: {slopes}."))
    return drawn


def _point(x: float, series: str, values: list[float], middle: float) -> dict[str, Any]:
    return {"x": x, "series": series, "mean": middle, "low": min(values), "high": max(values)}


def accuracy_chart(sets: list[dict[str, Any]]) -> str:
    """The mean accuracy of each method."""
    found = {name: value for name, value in accuracy.means(sets).items() if value is not None}
    rows = [
        {"name": name, "value": value, "text": f"{value:.2%}"}
        for name, value in sorted(found.items(), key=lambda item: -item[1])
    ]
    words = "; ".join(f"{row['name']}: {row['text']}" for row in rows)
    axis = Axis("share of right labels")
    chart = bars(rows, title="Mean accuracy", subtitle=f"over {len(sets)} public sets", x_axis=axis)
    return described(svg_of(chart), f"Mean accuracy over {len(sets)} sets. {words}.")


def failures(sets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Why methods gave no answer, and on which sets: each reason once."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in sets:
        for name, method in one["methods"].items():
            if method["error"]:
                found.setdefault((name, method["error"]), []).append(one["set"])
    return [{"method": name, "reason": reason, "sets": on} for (name, reason), on in sorted(found.items())]


def changes(results: dict[str, Any], before: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What is done with another amount of work than in the release before; times are not compared, being noisy."""
    now, then = _work(results), _work(before) if before else {}
    return [
        {"where": where, "before": then[where], "now": now[where], "times": now[where] / max(then[where], 1)}
        for where in now
        if where in then and now[where] != then[where]
    ]


def _work(results: dict[str, Any]) -> dict[str, int]:
    """Every count of work that does not depend on a clock, by what it was for."""
    found = {}
    for cell in results["parts"].get("exact", {}).get("cells", []):
        for one in cell["crowds"]:
            if one["proof"] == "PROVED":
                name = f"{cell['space']} ({cell['labels']}, {cell['responses']}), {one['kind']} {one['seed']}"
                found[name] = one["work"]
    for series in results["parts"].get("growth", {}).get("series", []):
        for point in series["points"]:
            if point["proof"] == "PROVED":
                found[f"growth, {series['unit']} {point['x']:,}"] = point["work"]
    return found


def printed(parts: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that stand on the page as they were printed."""
    return [one for part in parts.values() for one in part.get("tables", []) if one["name"].startswith(TABLES)]


def render(results: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """The page as HTML."""
    results = named_as_now(results)
    parts = results["parts"]
    cases, cells = parts["end_to_end"]["cases"], parts["exact"]["cells"]
    sets, series = parts["accuracy"]["sets"], parts["growth"]["series"]
    means = accuracy.means(sets) if sets else {}
    return fill(
        "page.html",
        others={"page.html": (HERE / "page.html").read_text(encoding="utf-8")},
        data={},
        results=results,
        two_verbs="verbs" in results,
        before=before,
        verdicts=verdicts(cases),
        cases=cases,
        base=PROVE,
        programs=OURS,
        cap=CAP,
        end_to_end_charts=end_to_end_charts(cases),
        cells=[{**cell, **digest(cell["crowds"]), "n": len(cell["crowds"])} for cell in cells],
        growth_charts=growth_charts(series),
        sets=sets,
        means=dict(sorted(means.items(), key=lambda item: item[0] not in METHODS)),
        described={name: words for name, words in METHODS.items() if name in means},
        tables=printed(parts),
        accuracy_chart=accuracy_chart(sets) if sets else "",
        failures=failures(sets),
        changes=changes(results, before),
        compared=len(set(_work(results)) & set(_work(before))) if before else 0,
        duration=duration,
        listing=listing,
        lost=nats,
    )


def main() -> None:
    """Draws."""
    source, *others = map(Path, sys.argv[1:])
    results, *before = (json.loads(path.read_text(encoding="utf-8")) for path in (source, *others))
    target = source.with_name("index.html")
    write_text(target, render(results, before[0] if before else None))
    print(f"{target}\n{source}")


if __name__ == "__main__":
    main()
