"""Everything that crowdopt raises, as one tree.

Exceptions::

    CrowdoptError                  anything below; the command line exits with 2
    ├── InputError                 the data or an option is wrong; says what, where and what to do
    │   ├── ClassError             a worker in two classes or in none, or a class that nobody is in
    │   ├── ColumnError            a column is missing, ambiguous or of an unusable type
    │   ├── DuplicateError         a worker answered the same task more than once
    │   ├── GoldError              a task of known label that is not in the data, or a label off the scale
    │   └── SolutionFileError      a solution file that cannot be used
    ├── MissingExtraError          an optional dependency is not installed
    └── OutputError                a result could not be written

Warnings::

    CheckWarning                   answers should be checked before anybody relies on them; says why
    DataWarning                    the data are not quite what they seem; says what was done with them
"""

import re

_LOGIN = re.compile(r"((?<!\w)\w+:/+(?!\[)[^:/@]*):(?!\s|\d+(?:[/?:\s]|$)).*@", re.DOTALL)
"""An address, a user and a password; but not an address and a port, or the end of an address, and other text."""

_OPTION = re.compile(r"((?:(?<!\w)\w*password|[?&][^=&%]*+%[^=&]*+)=)[^&]+", re.IGNORECASE)
"""An option that is a password, or whose name is written so that nobody sees what it is."""


def without_passwords(text: str) -> str:
    """A text in which the addresses of databases have lost their passwords: the last net, where all else failed.

    >>> without_passwords("postgresql://ann:secret@host/crowd")
    'postgresql://ann@host/crowd'
    """
    return _OPTION.sub(r"\1***", _LOGIN.sub(r"\1@", text))


_LINES = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
LONGEST = 1000
"""Characters of an error: names and cells that it quotes may be of any length."""


def one_line(text: str) -> str:
    """A text as one line of bearable length, whatever it quotes.

    >>> one_line("no column " + chr(10) + "named x")
    'no column named x'
    """
    return _without_middle(_LINES.sub(" ", _without_middle(text, 2 * LONGEST)).strip(), LONGEST)


def _without_middle(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest * 2 // 3]} … {text[-longest // 4 :]}"


def _said(text: str) -> str:
    """A text fit for an error. Patterns that look for passwords take long for megabytes, which nobody sees anyway."""
    return one_line(without_passwords(_without_middle(text, 10 * LONGEST)))


class CrowdoptError(Exception):
    """Base of all errors that crowdopt raises on purpose. What they say is one line, and holds no password."""

    def __init__(self, *said: object) -> None:
        super().__init__(*(_said(one) if isinstance(one, str) else one for one in said))


class InputError(CrowdoptError, ValueError):
    """The data or an option is wrong."""


class ClassError(InputError):
    """A worker is in two classes or in none, or a class has no responses or is not known."""


class ColumnError(InputError):
    """A column is missing, ambiguous or of an unusable type.

    Attributes:
        missing: The names, or patterns, that no column has; empty if the error is about something else.
    """

    def __init__(self, *said: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(*said)
        self.missing = missing


class DuplicateError(InputError):
    """A worker answered the same task more than once and no rule says what to do."""


class GoldError(InputError):
    """A task of known label is not in the data, or its label is not on the scale."""


class SolutionFileError(InputError):
    """A solution file is damaged, of another version, or not a solution file."""


class MissingExtraError(CrowdoptError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional package: pip install 'crowdopt[{extra}]'")
        self.extra = extra


class OutputError(CrowdoptError, OSError):
    """A result could not be written; nothing was left behind."""


class CheckWarning(UserWarning):
    """Answers should be checked before anybody relies on them."""


class DataWarning(UserWarning):
    """The data are not quite what they seem: what was found in them, and what was done."""
