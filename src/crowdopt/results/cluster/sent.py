"""What an executor runs first: it unpacks the sources that came with the work, and does the work with them.

This file is sent as it is, so that it must not need anything of this package, nor anything but Python when it is read.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

if TYPE_CHECKING:
    from collections.abc import Iterator

LACKS = "the Python of the executors has no"
"""How an error begins that says what is missing there."""


def run_sent(sources: bytes, work: bytes, *arguments: Any) -> Any:
    """Calls a pickled function, which is one of the sources, on an executor."""
    for name in ("numpy", "pyarrow", "numba"):
        if find_spec(name) is None:
            raise ImportError(f"{LACKS} {name}")
    with _sources_at_hand(sources):
        threads: Any = import_module("crowdopt.consensus.threads")
        threads.MAX_THREADS = 1  # the other cores have tasks of their own
        return unpickled(work)(*arguments)


def pickled(value: Any) -> bytes:
    """What goes from the driver to executors, from one executor to the next, and back."""
    return pickle.dumps(value, 5)


def unpickled(value: bytes) -> Any:
    """The inverse: of what this package made on the same cluster, and of nothing else."""
    return pickle.loads(value)  # noqa: S301 - see above


@contextmanager
def _sources_at_hand(sources: bytes) -> Iterator[None]:
    """Has these sources be the package, and afterwards what was there before: the executor may have another version."""
    digest = sha256(sources).hexdigest()[:16]
    held = sys.modules.setdefault("crowdopt_sent", ModuleType("crowdopt_sent")).__dict__.setdefault(digest, {})
    before, folder = _taken_out(), _unpacked(sources, digest)
    sys.modules.update(held)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        held.update(_taken_out())
        sys.modules.update(before)


def _taken_out() -> dict[str, ModuleType]:
    """The modules of the package that is loaded, which is then not loaded any more."""
    names = [name for name in sys.modules if name.partition(".")[0] == "crowdopt"]
    return {name: sys.modules.pop(name) for name in names}


def _unpacked(sources: bytes, digest: str) -> str:
    """The folder with the sources: always the same one, so that loops are compiled once for all Python processes."""
    folder = _base() / f"sent-{digest}"
    if not folder.exists():
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        with ZipFile(BytesIO(sources)) as archive:
            archive.extractall(fresh)
        try:
            fresh.rename(folder)
        except OSError:  # another process was faster
            import shutil

            shutil.rmtree(fresh)
    return str(folder)


def _base() -> Path:
    """The user's cache folder; where none can be written, the folder that Spark has for the application."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "crowdopt"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass
    from pyspark import SparkFiles

    os.environ["XDG_CACHE_HOME"] = SparkFiles.getRootDirectory()
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "crowdopt"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
