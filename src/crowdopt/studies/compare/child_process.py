"""One method in a process of its own, so that its time and its memory are its own too.

Run as ``python -m crowdopt.studies.compare.child_process FOLDER METHOD``: reads the rows from the folder and leaves a
result there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from crowdopt.engines.base import Limits
from crowdopt.model.objective import Objective
from crowdopt.model.offsets import Offsets
from crowdopt.model.scale import Scale
from crowdopt.studies.compare.methods import OUR_METHODS, MethodInput, MethodLabels, prepared_method

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Where Linux tells the memory of a process, and forgets its peak."""

MEBIBYTE = 1024 * 1024

_LEAVING = threading.Lock()


def write_input(folder: Path, rows: MethodInput, smoothing: float, time_limit: float, seed: int) -> None:
    """Leaves what a child needs."""
    np.savez(folder / "rows.npz", task=rows.task, worker=rows.worker, label=rows.label)
    objective = {"kind": rows.objective.kind, "shares": list(rows.objective.shares), "smoothing": smoothing}
    scale = {"labels": list(rows.scale.labels), "scale": rows.scale.kind}
    options = objective | scale | {"time_limit": time_limit, "seed": seed}
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")


def read_result(folder: Path, method: str) -> tuple[dict[str, Any], MethodLabels | None]:
    """What a child left: facts, and the label of each task if there is one."""
    facts: dict[str, Any] = json.loads((folder / f"{method}.json").read_text(encoding="utf-8"))
    if "error" in facts:
        return facts, None
    found = np.load(folder / f"{method}.npz")
    return facts, MethodLabels(found["labels"], found.get("confidence"), facts["proof"])


def main(folder: Path, method: str) -> None:
    """Runs one method and writes its result."""
    warnings.simplefilter("ignore")  # of other libraries about each other
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    columns = np.load(folder / "rows.npz")
    labels = tuple(options["labels"])
    offsets = Offsets.of(len(labels), smoothing=options["smoothing"])
    objective = Objective(options["kind"], tuple(options["shares"]), offsets)
    scale = Scale(labels, labels, options["scale"], inferred=False, occurring=frozenset(range(len(labels))))
    rows = MethodInput(columns["task"], columns["worker"], columns["label"], scale, objective)
    try:
        fit = prepared_method(
            method, rows, lambda: Limits(options["time_limit"], seed=options["seed"]), options["seed"]
        )
        if method not in OUR_METHODS:  # which stop by themselves, with an answer
            _stop_after(options["time_limit"], folder / f"{method}.json")
        before = _start_memory()
        started = time.perf_counter()
        found = fit()
        facts: dict[str, Any] = {
            "seconds": time.perf_counter() - started,
            "memory": _memory_since(before),
            "proof": found.proof,
        }
        said: dict[str, Any] = {"labels": found.labels, "confidence": found.confidence}
        np.savez(folder / f"{method}.npz", **{name: column for name, column in said.items() if column is not None})
    except Exception as error:  # noqa: BLE001 -- whatever a method raises is what its row says
        facts = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    _leave(facts, folder / f"{method}.json")


def _leave(facts: dict[str, Any], path: Path) -> None:
    """Leaves a result, whole: this process may be killed at any moment."""
    with _LEAVING:  # the method may end in the very moment in which it is stopped
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(facts), encoding="utf-8")
        temporary.replace(path)


def _stop_after(seconds: float, path: Path) -> None:
    """Ends this process if the method takes too long."""

    def stop() -> None:
        _leave({"error": f"stopped after {seconds:g} s"}, path)
        os._exit(0)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()


def _start_memory() -> float | None:
    """The memory of this process now, in MiB, its peak forgotten; None where the system does not tell."""
    if not (STATUS.exists() and os.access(RESET, os.W_OK)):
        return None
    RESET.write_text("5", encoding="ascii")
    return _status("VmRSS")


def _memory_since(before: float | None) -> float | None:
    """How much more it had at its peak."""
    return None if before is None else max(0.0, _status("VmHWM") - before)


def _status(name: str) -> float:
    lines = STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 / MEBIBYTE for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
