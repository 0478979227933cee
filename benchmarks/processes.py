"""Programs measured as processes: wall time, CPU time, peak memory; and what the numbers depend on.

The process that measures has to stay small and to do its own heavy work in children, because a child's reported peak
begins at the size of the process that started it.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

DRIVER_LIMIT_MB = 50.0
"""Peak memory of this process beyond which what it reports of its children would be in doubt."""

PACKAGES = (
    *("crowdopt", "duckdb", "narwhals", "numpy", "numba", "highspy", "pyarrow"),
    *("pandas", "crowd-kit", "scikit-learn"),
)
MODULES = {"crowd-kit": "crowdkit", "scikit-learn": "sklearn"}
"""What is imported of a package, where it has another name."""


@dataclass(frozen=True)
class Run:
    """What one process took.

    Attributes:
        error: The last thing it said if it failed.
        stopped: What it reached if it was ended for taking too long: it takes more than what stands here.
    """

    wall: float
    cpu: float
    peak_mb: float
    error: str = ""
    stopped: str = ""


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database for the work around the measurements; to be used ``elsewhere``."""
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as spill,
        duckdb.connect(config={"memory_limit": "4GB", "temp_directory": spill}) as con,
    ):
        yield con


def elsewhere(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function in a new process, so that this one does not grow."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


@dataclass(frozen=True)
class Cap:
    """What a process may take before it is ended: seconds, and gigabytes of addresses."""

    seconds: float
    memory_gb: float


def measure(arguments: list[str], cap: Cap | None = None, said: Path | None = None) -> Run:
    """Runs a command and waits for it to end.

    Args:
        arguments: The command.
        cap: When to end it; None for never.
        said: The file that gets its standard output; None if nobody wants it.
    """
    with tempfile.TemporaryFile() as errors, said.open("wb") if said else Path(os.devnull).open("wb") as output:
        before = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=output, stderr=errors)
        clock = _watch(process, cap) if cap else None
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - before
        if clock:
            clock.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    code = process.returncode
    stopped = cap is not None and code == -signal.SIGKILL and wall >= cap.seconds
    return Run(
        wall,
        usage.ru_utime + usage.ru_stime,
        peak_mb(usage.ru_maxrss),
        error=f"exit code {code}: {' '.join(last)}" if code and not stopped else "",
        stopped=f"did not end within {cap.seconds / 60:g} minutes" if cap is not None and stopped else "",
    )


def _watch(process: subprocess.Popen[bytes], cap: Cap) -> threading.Timer:
    """Limits the memory of a process that has just begun, and starts the clock that ends it."""
    size = int(cap.memory_gb * 1e9)
    resource.prlimit(process.pid, resource.RLIMIT_AS, (size, size))
    clock = threading.Timer(cap.seconds, process.kill)
    clock.start()
    return clock


def peak_mb(maxrss: int) -> float:
    """The peak in megabytes; Linux counts in units of 1024 bytes, macOS in bytes."""
    return maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def median(runs: list[Run]) -> Run:
    """The median of each measure."""
    columns = zip(*((run.wall, run.cpu, run.peak_mb) for run in runs), strict=True)
    wall, cpu, peak = (statistics.median(column) for column in columns)
    return Run(wall, cpu, peak)


def environment() -> dict[str, Any]:
    """What the numbers depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    packages = [name for name in PACKAGES if find_spec(MODULES.get(name, name))]
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "memory_gb": round(memory, 1),
        "load_at_start": os.getloadavg()[0],
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


def stay_small() -> None:
    """Ends the program if it grew so much that the peaks of small children are in doubt."""
    size = peak_mb(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    if size > DRIVER_LIMIT_MB:
        sys.exit(f"this process grew to {size:.0f} MB, so the peaks of small children are in doubt; nothing written")
