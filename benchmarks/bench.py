"""Every claim of speed and accuracy, measured against the alternatives in one run: one file of results, one page.

python benchmarks/bench.py [--quick] [--out FOLDER] [--release] [--only PART,…]

Runs the programs of PARTS one after the other (an hour or more), puts their figures into results.json, and draws them
on a page, beside those of the release before. ``--release`` also keeps the results in benchmarks/releases, under the
version's name; they are meant to be committed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from processes import environment

HERE = Path(__file__).resolve().parent
RELEASES = HERE / "releases"
PARTS = ("end_to_end", "aggregate_speed", "exact", "growth", "accuracy", "workers", "found_classes")
VERBS = ["aggregate", "prove"]
"""Stand in the results, as 0.1.0 had one verb only."""


def run_part(name: str, folder: Path, *, quick: bool) -> dict[str, Any]:
    """One part, in a process of its own, which prints its tables into a file and its progress for who waits."""
    print(f"{name}.py", flush=True)
    figures = folder / f"{name}.json"
    command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(figures), *(["--quick"] if quick else [])]
    with (folder / f"{name}.md").open("w", encoding="utf-8") as tables:
        started = time.perf_counter()
        done = subprocess.run(command, stdout=tables, check=False)
    if done.returncode:
        sys.exit(f"{name}.py ended with exit code {done.returncode}")
    found: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    return {**found, "minutes": round((time.perf_counter() - started) / 60, 2)}


def kept(target: Path, version: str, *, quick: bool) -> dict[str, Any]:
    """The parts that were measured before and can stand beside new ones: of this version and verbs, and as thorough."""
    if not target.exists():
        return {}
    results = json.loads(target.read_text(encoding="utf-8"))
    same = (results["version"], results.get("verbs"), results["quick"]) == (version, VERBS, quick)
    return dict(results["parts"]) if same else {}


def earlier(version: str, folder: Path = RELEASES) -> Path | None:
    """The results of the release before, if there is one."""
    found = [path for path in folder.glob("*.json") if _order(path.stem) < _order(version)]
    return max(found, key=lambda path: _order(path.stem), default=None)


def latest(folder: Path = RELEASES) -> Path:
    """The results of the latest release."""
    return max(folder.glob("*.json"), key=lambda path: _order(path.stem))


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures crowdopt against the alternatives.")
    parser.add_argument("--quick", action="store_true", help="a tiny version, to see that it runs")
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "bench", help="the folder of the results")
    parser.add_argument("--release", action="store_true", help="also keep the results under the version's name")
    parser.add_argument(
        "--only", default=",".join(PARTS), help="some parts; others are taken from the folder's results"
    )
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",")
    if chosen.release and chosen.quick:
        parser.error("the tiny version is not for a release")
    if unknown := set(chosen.only) - set(PARTS):
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return chosen


def main() -> None:
    """Measures, writes, draws."""
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    target = chosen.out / "results.json"
    around = environment()
    version = around["packages"]["crowdopt"]
    before = kept(target, version, quick=chosen.quick)
    results = {"version": version, "verbs": VERBS, "environment": around, "quick": chosen.quick, "parts": before}
    for name in chosen.only:
        results["parts"] = {**results["parts"], name: run_part(name, chosen.out, quick=chosen.quick)}
        text = json.dumps(results, separators=(",", ":")).replace("},{", "},\n{") + "\n"
        target.write_text(text, encoding="utf-8")
    if missing := [name for name in PARTS if name not in results["parts"]]:
        sys.exit(f"the page needs these parts, too: {', '.join(missing)}")
    if chosen.release:
        RELEASES.mkdir(exist_ok=True)
        (RELEASES / f"{version}.json").write_text(text, encoding="utf-8")
    # The page is drawn by a process of its own: this one stays as small as those it measures need it to be.
    old = earlier(version)
    subprocess.run([sys.executable, str(HERE / "page.py"), str(target), *([str(old)] if old else [])], check=True)


if __name__ == "__main__":
    main()
