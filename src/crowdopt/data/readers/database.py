"""Databases: where one is, what is to be read of it, and how to talk to it. No password ever leaves this module.

PostgreSQL and SQLite are spoken to through ADBC, which hands over Arrow tables. What is read is read in one snapshot
that cannot write; what is written is written in one transaction.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from crowdopt.errors import CrowdoptError, InputError, MissingExtraError, OutputError, without_passwords

if TYPE_CHECKING:
    from collections.abc import Iterator

DatabaseKind = Literal["postgresql", "sqlite"]

ADDRESS = re.compile(r"(postgresql|postgres|sqlite)://", re.IGNORECASE)

LIKE_ADDRESS = re.compile(r"\s*(postgresql|postgres|sqlite):/", re.IGNORECASE)
"""The same, also where Path made one slash of two."""

ARGUMENT = re.compile(
    r"(?P<option>(--[\w-]+=|-\w)?\s*)(?P<address>(?P<kind>postgresql|postgres|sqlite)://.*)", re.IGNORECASE | re.DOTALL
)

FORMS = "postgresql://user@host/database or sqlite:///file.db"

PATIENCE = 10
"""Seconds to wait for a server that does not answer, unless the address has a connect_timeout."""

READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

STANDARD_TEXTS = "SET standard_conforming_strings = on"
"""A backslash in a text is a backslash, whatever the server is set to."""

CANCELLED = "canceling statement due to user request"
"""What PostgreSQL says when an interrupt made the driver stop it."""

PROPER = re.compile("(?:ERROR|FATAL):  (.*)")
"""What a server says; before it stands what the driver says."""

NOISE = re.compile(r"^([A-Z_]+: )?(\[\w+\] )?([Ff]ailed to [^:]*: |connection to server [^:]*failed: )*")
"""What stands before the message where no server said anything."""


def is_address(text: object) -> bool:
    """Whether a text is the address of a database, and not a path.

    >>> is_address("postgresql://host/db"), is_address("responses.csv")
    (True, False)
    """
    return isinstance(text, str) and ADDRESS.match(text) is not None


def check_path(path: object) -> None:
    """Raises if the address of a database stands where a file is meant; does not show it, as it may hold a password."""
    if LIKE_ADDRESS.match(str(path)):
        raise InputError(
            "a file is meant where the address of a database was given; databases are read with --table or --query, "
            "and written with -o ADDRESS --output-table NAME"
        )


def shown_argument(text: str) -> str:
    """An argument of the command line without the password of the address that it may be, or that an option has.

    >>> shown_argument("--output=postgresql://ann:my secret@host/crowd?password=my secret")
    '--output=postgresql://ann@host/crowd'
    """
    found = ARGUMENT.fullmatch(text)
    if found is None or found["kind"].lower() == "sqlite":
        return without_passwords(text)
    try:
        return found["option"] + _shown(found["address"])
    except InputError:
        return f"{found['option']}{found['kind']}://..."


@dataclass(frozen=True)
class Database:
    """A table or a query of a database, in the place of a file or a frame.

    Attributes:
        address: ``postgresql://user:password@host:port/database`` or ``sqlite:///path``. A password is better left to
            the environment (PGPASSWORD) or the file ~/.pgpass, where nobody sees it; it is shown nowhere.
        table: The table to read or to write: a name, or a schema and a name with a dot between them.
        query: A SELECT to read instead.
        replace: Whether what is written may take the place of a table that is there already.

    >>> Database("postgresql://ann:secret@localhost/crowd", table="responses")
    Database('postgresql://ann@localhost/crowd', table='responses')
    """

    address: str = field(repr=False)
    table: str = ""
    query: str = ""
    replace: bool = False

    def __post_init__(self) -> None:
        if not is_address(self.address):
            raise InputError(f"a database has an address like {FORMS}")
        if self.kind == "sqlite":
            self.path  # noqa: B018 -- raises if there is none
        else:
            _split(self.address)
        if self.table and self.query:
            raise InputError("a table and a query were given: leave out --table or --query")
        if not self.table and not self.query.strip():
            raise InputError(
                f"{self} is a database: say what to read of it with --table or --query (in Python table= or query=)"
            )

    def __repr__(self) -> str:
        named = f"table={self.table!r}" if self.table else f"query={self.query!r}"
        return f"Database({str(self)!r}, {named})"

    def __str__(self) -> str:
        return self.address if self.kind == "sqlite" else _shown(self.address)

    @property
    def where(self) -> str:
        """What to call it where something was written to it."""
        return f"table {self.table} of {self}"

    @property
    def kind(self) -> DatabaseKind:
        """Which database it is."""
        return "sqlite" if self.address.lower().startswith("sqlite") else "postgresql"

    @property
    def path(self) -> Path:
        """The file of an SQLite database."""
        found = re.fullmatch(r"sqlite:///(.+)", self.address, re.IGNORECASE)
        if found is None:
            raise InputError(f"{self.address} names no file: write sqlite:///file.db, or sqlite:////folder/file.db")
        return Path(found[1])

    @property
    def schema_and_name(self) -> tuple[str, str]:
        """The table's schema, empty if it is the usual one, and its name."""
        schema, _, name = self.table.rpartition(".")
        return schema, name

    @property
    def relation(self) -> str:
        """What to write behind FROM."""
        from crowdopt.data.tables.workspace import quote as quoted

        if self.query:
            # The line break ends a comment that the query may end with.
            return f"({self.query.strip().rstrip(';')}\n) AS crowdopt_query"
        return ".".join(quoted(part) for part in self.schema_and_name if part)


def database_of(data: Any, table: str = "", query: str = "") -> Any:
    """The table or query of a database if ``data`` is an address, alone or in a list; else the data as they are."""
    named = [data] if isinstance(data, str) else list(data) if isinstance(data, list | tuple) else []
    if not any(map(is_address, named)):
        if table or query:
            raise InputError(f"a table or query is part of a database, which has an address like {FORMS}")
        return data
    if len(named) > 1:
        raise InputError("a database must be the only input")
    return Database(named[0], table, query)


def _split(address: str) -> Any:
    """The parts of a PostgreSQL address. What is wrong with it is said without it: it may hold a password."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 -- raises if it is no number
    except ValueError:
        parts = None
    if parts is None or parts.fragment or "@" in parts.path + parts.query:
        raise InputError(
            f"the address of the database cannot be read: write {FORMS}, and in a password %40 for @, %2F for /, "
            "%3A for :, %23 for # and %3F for ?"
        )
    return parts


def _shown(address: str) -> str:
    """A PostgreSQL address without its password, and without options, which may hold one, too."""
    parts = _split(address)
    user, _, host = parts.netloc.rpartition("@")
    user = user.partition(":")[0]
    return f"postgresql://{user}{'@' if user else ''}{host}{parts.path}"


def _dialled(address: str) -> str:
    """A PostgreSQL address as the driver takes it, whatever signs the password is made of."""
    parts = _split(address)
    user, _, host = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    login = quote(unquote(name), safe="") + (":" + quote(unquote(password), safe="") if colon else "")
    options = {"connect_timeout": str(PATIENCE)} | dict(parse_qsl(parts.query)) | {"client_encoding": "UTF8"}
    return f"postgresql://{login}{'@' if login else ''}{host}{parts.path}?{urlencode(options, quote_via=quote)}"


def _secrets(database: Database) -> list[str]:
    """The passwords in an address, as written and as meant, the longest first."""
    if database.kind == "sqlite":
        return []
    parts = _split(database.address)
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
