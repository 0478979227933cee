"""A Spark of two worker processes on this machine, for the tests: loopback only, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

QUIET = """
rootLogger.level = off
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.layout.type = PatternLayout
"""

FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java for small data: to compile it thoroughly would take longer than to run it."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "4m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def cluster(master: str = "local-cluster[2,1,1024]", java: str = FRUGAL, **settings: str):
    """A session on executors that are processes of their own; they work in a folder that is removed."""
    import pyspark

    for role in ("driver", "executor"):
        settings[f"spark.{role}.extraJavaOptions"] = java

    home, kept = Path(tempfile.mkdtemp(prefix="crowdopt-spark-")), dict(os.environ)
    for part in Path(pyspark.__file__).parent.iterdir():  # executors work in SPARK_HOME/work
        if part.name in {"bin", "jars", "python", "sbin"}:
            (home / part.name).symlink_to(part)
    (home / "conf").mkdir()
    (home / "conf" / "log4j2.properties").write_text(QUIET)
    os.environ |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    try:
        builder = pyspark.sql.SparkSession.builder.master(master).config("spark.local.dir", str(home / "local"))
        for name, value in (SETTINGS | settings).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            gateway = session.sparkContext._gateway
            session.stop()
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()
            pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    finally:
        os.environ.clear()
        os.environ.update(kept)
        shutil.rmtree(home, ignore_errors=True)


def executors(session) -> list[int]:
    """The process ids of the executors."""
    app = session.sparkContext.applicationId
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has ended in the meantime
                continue
            if app.encode() in words and any(b"CoarseGrainedExecutorBackend" in word for word in words):
                found.append(int(folder.name))
    return found


def placed(table, spark, n_parts: int = 3):
    """A table on the cluster, in several parts."""
    return spark.createDataFrame(table).repartition(n_parts)


def wait_until(true, what: str) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen")
