"""What aggregating on Spark costs: CPU time and peak memory of every process of a cluster on this machine.

python benchmarks/spark.py [--verb aggregate] [--sizes 1e6,1e7] [--partitions 8] [--out benchmarks/results/spark.json]

Two executors with one core and 2 GB each. Times are of reading Parquet, counting, solving and writing the answers as
Parquet, without the start of Spark; the operating system says what the processes took. The answers are compared with
those of the same file through DuckDB: proved ones must be the same, of a consensus it is said how many labels differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from crowds import Crowd
from processes import elsewhere, environment
from spine import HERE, compare

MASTER = "local-cluster[2,1,2048]"
TICKS = os.sysconf("SC_CLK_TCK")
ROLES = {
    "CoarseGrainedExecutorBackend": "executors",
    "pyspark-shell": "driver, Java",
    "pyspark.daemon": "executors, Python",
}
"""What a process is, by what its command line has."""


def processes(root: int) -> dict[int, tuple[str, float, float]]:
    """The processes below one, and itself: what each is, its seconds of CPU so far and its peak in megabytes."""
    parents, found = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        except OSError:  # it has ended in the meantime
            continue
        number = int(folder.name)
        parents[number] = int(fields[1])
        role = next((role for part, role in ROLES.items() if part in words), "driver, Python")
        peak = float(status.get("VmHWM", "0 kB").split()[0]) * 1024 / 1e6
        found[number] = (role, (int(fields[11]) + int(fields[12])) / TICKS, peak)
    family = {root}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return {number: found[number] for number in family if number in found}


CROWDS = {"prove": {}, "aggregate": {"labels": 5, "workers": 5000}}
"""What crowds the verbs get."""


def run_here(verb: str, source: str, target: str, n_partitions: int) -> dict[str, Any]:
    """Aggregates a file on a cluster that is started for it."""
    sys.path.append(str(HERE.parent / "tests"))
    import crowdopt
    from support.clusters import cluster

    settings = {
        "spark.driver.maxResultSize": "64m",  # a sample is some megabytes
        "spark.executor.memory": "2g",
        "spark.sql.shuffle.partitions": str(n_partitions),
    }
    with cluster(MASTER, java="", **settings) as session:
        session.read.parquet(source).limit(1).count()  # both executors are there, and Java is warm enough to read
        before, started = processes(os.getpid()), time.perf_counter()
        solution = getattr(crowdopt, verb)(session.read.parquet(source))
        solved = time.perf_counter()
        solution.answers.write.parquet(target)
        ended, after = time.perf_counter(), processes(os.getpid())
    roles: dict[str, dict[str, float]] = {}
    for number, (role, cpu, peak) in after.items():
        one = roles.setdefault(role, {"cpu": 0.0, "peak_mb": 0.0})
        one["cpu"] += cpu - before.get(number, ("", 0.0, 0.0))[1]
        one["peak_mb"] += peak
    return {
        "proof": solution.certificate.proof.value if solution.certificate else None,
        "wall": ended - started,
        "wall_aggregate": solved - started,
        "cpu": sum(one["cpu"] for one in roles.values()),
        "peak_mb": sum(one["peak_mb"] for one in roles.values()),
        "roles": roles,
    }


def run_size(verb: str, folder: Path, n_responses: int, n_partitions: int) -> dict[str, Any]:
    """One size in a process of its own, checked against DuckDB."""
    source, target, other = (folder / f"{name}-{n_responses}.parquet" for name in ("responses", "spark", "duckdb"))
    elsewhere(Crowd(n_responses, **CROWDS[verb]).write, str(source))
    words = [sys.executable, __file__, "--verb", verb, "--run", str(source), str(target)]
    words += ["--partitions", str(n_partitions)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the run of {n_responses} responses failed: {done.stderr[-2000:]}")
    command = [sys.executable, "-m", "crowdopt", verb, str(source), "-o", str(other), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = elsewhere(compare, f"{target}/*.parquet", str(other))
    if not found.same and verb == "prove":
        sys.exit(f"Spark and DuckDB give different answers: {found}")
    source.unlink()
    return {"n_responses": n_responses, "n_different": found.differences, **json.loads(done.stdout.splitlines()[-1])}


def show(run: dict[str, Any]) -> None:
    """One size as it stands in a table."""
    per_million = run["cpu"] / run["n_responses"] * 1e6
    print(
        f"{run['n_responses']:.0e} responses: {run['wall']:.1f} s ({run['wall_aggregate']:.1f} s until solved), "
        f"CPU {run['cpu']:.1f} s ({per_million:.1f} s per million), peak {run['peak_mb']:,.0f} MB in all; "
        f"labels that differ from those of DuckDB: {run['n_different']:,}"
    )
    for role, one in sorted(run["roles"].items()):
        print(f"  {role:18} CPU {one['cpu']:7.1f} s   peak {one['peak_mb']:7,.0f} MB")


def main() -> None:
    """Makes the data, measures, prints, writes."""
    parser = argparse.ArgumentParser(description="Measures crowdopt on Spark.")
    parser.add_argument("--verb", choices=CROWDS, default="prove")
    parser.add_argument("--sizes", default="1e6,1e7", help="numbers of responses, separated by commas")
    parser.add_argument("--partitions", type=int, default=8, help="parts of a table after a shuffle")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "spark.json", help="where the numbers go")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        print(json.dumps(run_here(chosen.verb, *chosen.run, chosen.partitions)))
        return
    result: dict[str, Any] = {"environment": environment(), "sizes": []}
    with tempfile.TemporaryDirectory(prefix="crowdopt-bench-") as name:
        for size in chosen.sizes.split(","):
            result["sizes"].append(run_size(chosen.verb, Path(name), int(float(size)), chosen.partitions))
            show(result["sizes"][-1])
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
