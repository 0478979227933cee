"""Names of columns that some libraries cannot have as they are: hidden behind others while we work with them."""

from __future__ import annotations

HIDDEN = "crowdopt_hidden_"
"""How the names begin behind which others are hidden."""


def hidden(name: str, signs: str) -> str:
    """Another name for a column whose own has one of some signs in it.

    >>> hidden("gpt-4o", "."), hidden("o.1", ".")
    ('gpt-4o', 'crowdopt_hidden_6f2e31')
    """
    needed = name.startswith(HIDDEN) or any(sign in name for sign in signs)
    return f"{HIDDEN}{name.encode().hex()}" if needed else name


def unhidden(name: str) -> str:
    """The name that is hidden behind another, if one is.

    >>> unhidden("gpt-4o"), unhidden("crowdopt_hidden_6f2e31")
    ('gpt-4o', 'o.1')
    """
    return bytes.fromhex(name.removeprefix(HIDDEN)).decode() if name.startswith(HIDDEN) else name
