"""Sending work to executors, with all of this package that it needs: crowdopt need not be installed there."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from crowdopt.errors import CrowdoptError
from crowdopt.results.cluster import sent
from crowdopt.results.cluster.sent import LACKS, pickled, run_sent
from crowdopt.results.workers.spark import sent_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SENT = (
    *("_arrays.py", "_numba.py", "_parallel.py", "errors.py", "consensus", "model"),
    *("data/__init__.py", "data/coded.py", "data/parts.py", "results/__init__.py", "results/kinds.py"),
    *("results/labelling.py", "results/tasks/__init__.py", "results/tasks/consensus_tasks.py"),
    *("results/cluster/__init__.py", "results/cluster/sent.py", "results/cluster/work.py"),
)
"""The files, and whole rooms, that ``work`` needs."""


@cache
def zipped_sources() -> bytes:
    """The sources as a ZIP file, the same bytes for the same sources. The package itself imports nothing."""
    root, buffer, texts = files("crowdopt"), BytesIO(), {"__init__.py": ""}
    for name in SENT:
        path = root.joinpath(name)
        here = {name: path} if path.is_file() else {f"{name}/{one.name}": one for one in path.iterdir()}
        texts |= {one: there.read_text("utf-8") for one, there in here.items() if one.endswith(".py")}
    with ZipFile(buffer, "w") as archive:
        for name, text in sorted(texts.items()):
            archive.writestr(ZipInfo(f"crowdopt/{name}"), text, ZIP_DEFLATED)
    return buffer.getvalue()


def on_group(frame: Any, key: str, work: Callable[[Any], Any], schema: str) -> Any:
    """A table that work makes of the rows of every key, an Arrow table."""
    sources, sent_work = zipped_sources(), pickled(work)

    def run(rows: Any) -> Any:
        return run_sent(sources, sent_work, rows)

    run.__annotations__.clear()  # Spark takes hints of types for hints of how to call it
    with _as_it_is():
        return frame.groupBy(key).applyInArrow(run, schema)


def on_both(frame: Any, other: Any, key: str, work: Callable[[Any, Any], Any], schema: str) -> Any:
    """The same of the rows of two tables."""
    sources, sent_work = zipped_sources(), pickled(work)

    def run(rows: Any, others: Any) -> Any:
        return run_sent(sources, sent_work, rows, others)

    run.__annotations__.clear()
    with _as_it_is():
        return frame.groupBy(key).cogroup(other.groupBy(key)).applyInArrow(run, schema)


@contextmanager
def _as_it_is() -> Iterator[None]:
    """Sends ``sent.py`` whole, without what Spark says of versions of pandas, which is not used."""
    with sent_whole(sent), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def explaining() -> Iterator[None]:
    """Says in one line what executors lack."""
    try:
        yield
    except Exception as error:
        lack = re.search(f"{LACKS} (\\w+)", str(error))
        if lack is None:
            raise
        raise CrowdoptError(f"{lack[0]}, which finding a consensus needs there: install {lack[1]} for it") from None
