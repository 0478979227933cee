"""The digest of responses: one text that tells the rows (task, worker, label) of two data sets apart.

It is computed where the rows are, in one pass that keeps nothing of them, and is the same from every source, whatever
the order of rows and the type of their columns. Task, worker and label are taken as canonical text, in UTF-8. The
SHA-256 of a response is that of ``b"<bytes of task> <bytes of worker> <task><worker><label>"``: the lengths say where
one text ends and the next begins. Its first 30 hexadecimal digits are two numbers of 60 bits. The digest is the
SHA-256 of ``b"<rows> <sum of first numbers> <sum of second numbers>"``, both sums exact.

No accident gives other responses the same digest. But sums can be steered: someone who may invent rows at will can
search for some that add up to the same. It is no defence against that.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import narwhals as nw

from crowdopt.data.tables.digest_words import WORDS
from crowdopt.data.tables.table import Table, digest_sums, in_database, with_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crowdopt.data.readers.postgres_counts import Server
    from crowdopt.data.responses import Responses


def digest_of_responses(responses: Responses, server: Server | None = None) -> str:
    """The digest of all responses that have a label; a server that counts them sums their digests, too."""
    found = server.digest_sums() if server else _sums(responses.table, ())
    return _digest(found, 0)


def digests_of_groups(table: Table) -> dict[str, str]:
    """The same by group, for a table (group, task, worker, label) of checked responses."""
    found = _sums(table, ("group",))
    return {group: _digest(found, at) for at, group in enumerate(found["group"])}


def _sums(table: Table, by: Sequence[str]) -> dict[str, list[Any]]:
    """The number of responses and the sums of the numbers of their digests, for all values of ``by``."""
    texts = ("task", "worker", "label")
    rows = table.filter(~nw.col("label").is_null()).select(*by, *texts)
    with in_database(rows) as there:
        return digest_sums(with_texts(there, texts), by)


def _digest(found: Mapping[str, Sequence[Any]], at: int) -> str:
    numbers = (found[name][at] for name in ("n", *WORDS))
    return hashlib.sha256(" ".join(str(int(number)) for number in numbers).encode()).hexdigest()
