"""What a reproduction leaves in its folder: every file whole or not at all, and none of an earlier one."""

from __future__ import annotations

import csv
import io
import os
import re
from typing import TYPE_CHECKING, Any

from crowdopt.data.readers.addresses import check_path
from crowdopt.errors import InputError, OutputError
from crowdopt.results.write.files import whole_file, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from crowdopt.studies.paper.claims import Claim
    from crowdopt.studies.paper.reproduce import Reproduction

MANIFEST = "files.txt"
"""The names of all files of a reproduction, one a line."""
OURS = re.compile(r"(fig|table|beyond|claim-)\d+[abc]?\.(csv|svg|png)|(claims|experiments)\.csv|claims\.md|index\.html")
"""The names that files of ours have: nothing else is ever removed, whatever a manifest says."""
CLAIM_COLUMNS = (
    "number",
    "where",
    "claim",
    "verdict",
    "measured",
    "holds if",
    "in part if",
    "fails if",
    "judged for each of",
)
"""Of claims.csv."""


def check_folder(folder: Path) -> None:
    """Raises if the files cannot be written there, before any work is done; makes nothing yet."""
    check_path(folder)
    try:
        there = folder
        while not there.exists():
            there = there.absolute().parent
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)[:60]}…: {(error.strerror or str(error)).lower()}") from error
    if not there.is_dir():
        raise InputError(f"cannot write into {folder}: {there} is not a folder")
    if not os.access(there, os.W_OK):
        raise InputError(f"cannot write into {folder}: permission denied")


def write(made: Reproduction, folder: Path) -> None:
    """Writes every figure as SVG, PNG and CSV, every table as CSV, the claims, and the page that shows them all.

    Files that an earlier reproduction wrote into the folder, and this one did not, are removed: no page speaks of them.
    """
    files = contents(made)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = _listed(folder)
        write_text(
            folder / MANIFEST, _lines(sorted({*earlier, *files}))
        )  # were it interrupted, the next would know of all
        for name, data in files.items():
            with whole_file(folder / name) as temporary:
                temporary.write_bytes(data)
        for name in earlier - files.keys():
            (folder / name).unlink(missing_ok=True)
        write_text(folder / MANIFEST, _lines(sorted(files)))
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror or error}") from error


def contents(made: Reproduction) -> dict[str, bytes]:
    """All files by name."""
    files: dict[str, str | bytes] = {
        "claims.csv": as_csv([_row(claim) for claim in made.claims], CLAIM_COLUMNS),
        "claims.md": as_markdown(made),
    }
    if made.rows:
        files["experiments.csv"] = as_csv(made.rows)
    for figure in made.figures:
        if figure.rows:
            files[f"{figure.name}.csv"] = as_csv(figure.rows)
        if figure.svg and figure.png:
            files |= {f"{figure.name}.svg": figure.svg, f"{figure.name}.png": figure.png}
    for claim in made.claims:
        if lines := claim.judged.numbers or claim.judged.table:
            files[f"{name_of(claim)}.csv"] = as_csv(lines)
    files["index.html"] = made.page
    return {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}


def name_of(claim: Claim) -> str:
    """The name of the file with the numbers of a claim."""
    return f"claim-{claim.number:02}"


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Rows as CSV, with the columns given, or with all that any of them has."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or columns_of(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns that any row has, in the order in which they come.

    >>> columns_of([{"a": 1, "b": 2}, {"a": 1, "c": 3}])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(name for row in rows for name in row))


def as_markdown(made: Reproduction) -> str:
    """All claims with their verdicts: what was run, how many have each, and a table."""
    facts = "; ".join(f"{name} {value}" for name, value in made.facts.items())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in made.counts().items() if count)
    rows = [f"| {claim.number} | {claim.where} | {claim.claim} | {claim.verdict} |" for claim in made.claims]
    head = [f"{facts}.", "", f"{len(made.claims)} claims: {counts}.", ""]
    table = ["| # | where | claim | verdict |", "| --: | --- | --- | --- |", *rows]
    return _lines([*head, *(line.replace("*", r"\*").replace("_", r"\_") for line in table)])


def _row(claim: Claim) -> dict[str, Any]:
    criterion = claim.criterion
    values = (claim.number, claim.where, claim.claim, claim.verdict, claim.judged.text, criterion.holds,
              criterion.in_part, criterion.fails, criterion.each)  # fmt: skip
    return dict(zip(CLAIM_COLUMNS, values, strict=True))


def _listed(folder: Path) -> set[str]:
    """The files of ours that the manifest of a folder names."""
    manifest = folder / MANIFEST
    names = manifest.read_text(encoding="utf-8", errors="replace").splitlines() if manifest.is_file() else []
    return {name for name in names if OURS.fullmatch(name)}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
