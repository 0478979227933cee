"""What options of the command line mean when they hold more than one thing."""

from __future__ import annotations

from crowdopt.data.readers.addresses import Database, is_address
from crowdopt.errors import InputError


def target_of(output: str | None, table: str, *, replace: bool) -> str | Database | None:
    """Where a result goes to: a file, or a table of a database."""
    if output is not None and is_address(output):
        if not table:
            raise InputError("-o names a database: say which table to write with --output-table")
        return Database(output, table, replace=replace)
    if table or replace:
        raise InputError("--output-table and --replace have a meaning only if -o is the address of a database")
    return output


def shown(target: str | Database | None) -> str | None:
    """A target in words."""
    return target.where if isinstance(target, Database) else target


def number_or_range(text: str, option: str) -> int | tuple[int, int]:
    """A whole number, or two with a dash between them.

    >>> number_or_range("3", "--responses"), number_or_range("3-7", "--responses")
    (3, (3, 7))
    """
    low, dash, high = text.partition("-")
    try:
        return (int(low), int(high)) if dash else int(low)
    except ValueError:
        raise InputError(f"{option} takes a number or LOW-HIGH, not {text!r}") from None


def check_stdout(*outputs: str | None, as_json: bool) -> None:
    """Raises if two results would go to standard output."""
    if "-" in outputs and as_json:
        raise InputError("-o - and --json would both print to standard output: give one of them a file")
