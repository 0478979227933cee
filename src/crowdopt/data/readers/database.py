"""How to talk to a database. What goes wrong is said without the password that an address may hold.

PostgreSQL and SQLite are spoken to through ADBC, which hands over Arrow tables. What is read is read in one snapshot
that cannot write; what is written is written in one transaction.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from crowdopt.data.readers.addresses import Database, split_address
from crowdopt.errors import CrowdoptError, InputError, MissingExtraError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 10
"""Seconds to wait for a server that does not answer, unless the address has a connect_timeout."""

READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""All queries see the data as the first one did, and none can change them."""

STANDARD_TEXTS = "SET standard_conforming_strings = on"
"""A backslash in a text is a backslash, whatever the server is set to."""

CANCELLED = "canceling statement due to user request"
"""What PostgreSQL says when an interrupt made the driver stop it."""

PROPER = re.compile("(?:ERROR|FATAL):  (.*)")
"""What a server says; before it stands what the driver says."""

NOISE = re.compile(r"^([A-Z_]+: )?(\[\w+\] )?([Ff]ailed to [^:]*: |connection to server [^:]*failed: )*")
"""What stands before the message where no server said anything."""


def _dialled(address: str) -> str:
    """A PostgreSQL address as the driver takes it, whatever signs the password is made of."""
    parts = split_address(address)
    user, _, host = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    login = quote(unquote(name), safe="") + (":" + quote(unquote(password), safe="") if colon else "")
    options = {"connect_timeout": str(PATIENCE)} | dict(parse_qsl(parts.query)) | {"client_encoding": "UTF8"}
    return f"postgresql://{login}{'@' if login else ''}{host}{parts.path}?{urlencode(options, quote_via=quote)}"


def _secrets(database: Database) -> list[str]:
    """The passwords in an address, as written and as meant, the longest first."""
    if database.kind == "sqlite":
        return []
    parts = split_address(database.address)
    _, _, password = parts.netloc.rpartition("@")[0].partition(":")
    options = [value for name, value in parse_qsl(parts.query) if "password" in name.lower()]
    found = {form for one in (password, *options) for form in (one, unquote(one), quote(one, safe="")) if form}
    return sorted(found, key=len, reverse=True)


@contextmanager
def connected(database: Database, *, write: bool = False) -> Iterator[Any]:
    """A cursor in a transaction of its own; what it wrote is there when the block ends well, and else was never there.

    Raises:
        InputError: The server cannot be reached or refuses, or something asked of it is wrong.
        OutputError: The same, where something is to be written.
        MissingExtraError: The driver is not installed.
    """
    with explained(database, OutputError if write else InputError):
        connection = _connect(database, write=write)
        try:
            with connection.cursor() as cursor:
                yield cursor
            connection.commit() if write else connection.rollback()
        finally:
            connection.close()


def _connect(database: Database, *, write: bool) -> Any:
    try:
        dbapi = import_module(f"adbc_driver_{database.kind}.dbapi")
    except ImportError as error:
        raise MissingExtraError(f"{database.kind}://", "databases") from error
    if database.kind == "sqlite":
        path = database.path
        if not write and not path.is_file():
            raise InputError(f"{database}: there is no file {path}")
        return dbapi.connect(f"file:{quote(str(path.absolute()))}?mode={'rwc' if write else 'ro'}")
    connection = dbapi.connect(_dialled(database.address))
    with connection.cursor() as cursor:
        cursor.execute(STANDARD_TEXTS)
        if not write:
            cursor.execute(READ_ONLY)
    connection.commit()
    return connection


class _StreamError(Exception):
    """What a server said after its first rows, when Arrow no longer tells it from an error of a file."""


def batches(reader: Any) -> Iterator[Any]:
    """The batches of a reader of Arrow that a driver feeds; SQLite takes any bytes for a text, Arrow does not."""
    import pyarrow as pa

    try:
        for batch in reader:
            batch.validate(full=True)
            yield batch
    except pa.ArrowInvalid as error:
        raise _StreamError("a text is not UTF-8" if "UTF8" in str(error) else str(error)) from None
    except (pa.ArrowException, OSError) as error:
        raise _StreamError(str(error)) from None


@contextmanager
def explained(database: Database, kind: type[CrowdoptError]) -> Iterator[None]:
    """Turns what the driver raises into an error of ours, in one line without a password."""
    try:
        yield
    except CrowdoptError:
        raise
    except Exception as error:
        driver = type(error).__module__.partition(".")[0] == "adbc_driver_manager"
        if not driver and not isinstance(error, _StreamError):
            raise
        text = str(error)
        if CANCELLED in text:
            raise KeyboardInterrupt from None
        # Not "from error", whose text may hold what must not be shown.
        raise kind(_words(database, text)) from None


def _words(database: Database, text: str) -> str:
    for secret in _secrets(database):
        text = text.replace(secret, "***")
    proper = PROPER.search(text)
    line = proper[1] if proper else NOISE.sub("", text.split("\n", 1)[0])
    if "Failed to connect" in text:
        return f"cannot connect to {database}: {line}"
    if database.query and re.search("prepare query|read-?only", text):
        return f"{database}: the query cannot be run: {line}; it must be one SELECT"
    return f"{database}: {line}"
