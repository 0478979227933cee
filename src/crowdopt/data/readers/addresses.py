"""Addresses of databases: whether a text is one, and what is to be read of the database. No password is ever shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from crowdopt.errors import InputError, without_passwords
from crowdopt.options.words import speaking_python

Kind = Literal["postgresql", "sqlite"]

ADDRESS = re.compile(r"(postgresql|postgres|sqlite)://", re.IGNORECASE)

LIKE_ADDRESS = re.compile(r"\s*(postgresql|postgres|sqlite):/", re.IGNORECASE)
"""The same, also where Path made one slash of two."""

ARGUMENT = re.compile(
    r"(?P<option>(--[\w-]+=|-\w)?\s*)(?P<address>(?P<kind>postgresql|postgres|sqlite)://.*)", re.IGNORECASE | re.DOTALL
)
"""An argument of the command line that is an address, or an option and an address."""

FORMS = "postgresql://user@host/database or sqlite:///file.db"
"""How addresses look, for messages."""


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


@speaking_python
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
            split_address(self.address)
        if self.table and self.query:
            raise InputError("a table and a query were given: leave out --table or --query")
        if not self.table and not self.query.strip():
            raise InputError(f"{self} is a database: say what to read of it with --table or --query")

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
    def kind(self) -> Kind:
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


def split_address(address: str) -> Any:
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
    parts = split_address(address)
    user, _, host = parts.netloc.rpartition("@")
    user = user.partition(":")[0]
    return f"postgresql://{user}{'@' if user else ''}{host}{parts.path}"
