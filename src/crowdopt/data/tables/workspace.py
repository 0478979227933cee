"""The embedded database that files are read with, and its temporary folder.

One :class:`Workspace` serves one run. It may spill to its own folder under a memory limit, and
removes that folder when it is closed, collected, or when the process ends by an exception.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import weakref
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from crowdopt._option import parse_bytes
from crowdopt.errors import CrowdoptError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


EXACT = 1 << 53
"""Beyond this, different integers are the same fraction."""


def quote(identifier: str) -> str:
    """Quotes a column or table name for SQL, whatever is in it.

    >>> quote('a"; drop table x; --')
    '"a""; drop table x; --"'

    Raises:
        InputError: It has a NUL character, which no name can have.
    """
    if "\0" in identifier:
        raise InputError(f"the name {identifier!r} has a NUL character: take it out")
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quotes a text for SQL.

    >>> literal("it's")
    "'it''s'"
    """
    quoted = "'" + text.replace("'", "''") + "'"
    return "(" + quoted.replace("\0", "' || chr(0) || '") + ")" if "\0" in text else quoted


def path_literal(path: str | Path) -> str:
    """Quotes a path for SQL. The database takes paths for patterns, so what is special in them is escaped.

    >>> path_literal("a[1].csv")
    "'a[[]1].csv'"
    """
    return literal(glob.escape(str(path)))


def query_errors() -> tuple[type[Exception], ...]:
    """What the database raises if a query is wrong, or was interrupted: never about data or disks."""
    import duckdb

    return (
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.InternalException,
        duckdb.InterruptException,
        duckdb.ParserException,
        duckdb.SyntaxException,
    )


MAX_THREADS = 1024
"""Each costs memory before it does anything."""


class Workspace:
    """A private in-process DuckDB connection with a spill folder of its own.

    Attributes:
        n_bytes: Its memory limit; None if there is none but the database's own.
    """

    def __init__(self, *, memory_limit: str | None = None, threads: int | None = None) -> None:
        import duckdb

        if memory_limit is not None and memory_limit.strip().startswith("-"):
            raise InputError(f"a memory limit cannot be negative: {memory_limit!r}")
        self.n_bytes = parse_bytes(memory_limit)
        whole = isinstance(threads, int | Integral) and not isinstance(threads, bool)
        if threads is not None and not (whole and 1 <= threads <= MAX_THREADS):
            raise InputError(f"the number of threads must be 1 to {MAX_THREADS}, not {threads!r}")
        folder = Path(tempfile.mkdtemp(prefix="crowdopt-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)  # also if interrupted before the end of this
        settings: dict[str, Any] = {
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": "false",  # answers are sorted at the end; the way there need not be
            "autoinstall_known_extensions": "false",  # never reach for the network
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allocator_flush_threshold": "1MB",  # what one pass took is given back before the next
            "allocator_bulk_deallocation_flush_threshold": "1MB",
        }
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        if threads is not None:
            settings["threads"] = str(threads)
        try:
            self.connection: duckdb.DuckDBPyConnection = duckdb.connect(":memory:", config=settings)
            self.connection.execute("SET TimeZone = 'UTC'")  # times mean the same on every machine
            self.connection.execute("SET lock_configuration = true")  # and no query, whatever is in it, changes these
        except duckdb.Error as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(
                f"cannot start with memory limit {memory_limit!r}, threads {threads!r}: {error}"
            ) from error
        self.folder = folder
        self._files: dict[str, tuple[int, ...]] = {}
        self._finalizer = weakref.finalize(self, _clean, self.connection, folder)

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Runs or prepares a query on the private connection."""
        return self.connection.sql(query)

    def watch(self, name: str) -> None:
        """From here on a file must stay as it is: it is read more than once, and all must be of one state."""
        self._files.setdefault(os.path.abspath(name), _state(name))  # noqa: PTH100 - of a name, not of what it links to

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raises if a file was changed, as far as its size and time tell; also where that led to another error."""
        try:
            yield
        except CrowdoptError:
            self._check_files()
            raise
        self._check_files()

    def _check_files(self) -> None:
        for name, state in self._files.items():
            if _state(name) != state:
                found = f"{os.path.relpath(name)} was changed while it was read"
                raise InputError(f"{found}: read it again when nobody writes or removes it")

    def close(self) -> None:
        """Closes the connection and removes the temporary folder. May be called again."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def give_back() -> None:
    """Gives memory back to the system that is free, but still held by those who took it: before what takes much."""
    import duckdb
    import pyarrow as pa

    duckdb.connect().close()  # whenever one database is closed, DuckDB gives back what it holds for all of them
    for pool in (pa.default_memory_pool(), pa.system_memory_pool()):  # the latter is also that of Python and NumPy
        pool.release_unused()


def _state(name: str) -> tuple[int, ...]:
    """What tells one state of a file from another; nothing if it is gone."""
    try:
        found = os.stat(name)  # noqa: PTH116 - of a name
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _clean(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    try:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:  # who asks twice wants it no less
        shutil.rmtree(folder, ignore_errors=True)
        raise
