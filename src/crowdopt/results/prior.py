"""Prior matrices: what is known of the workers from elsewhere, as pseudo-counts by (true, answered).

They come as an array, as a nested dict by label, as a CSV or TSV file with a row for every true label and a column
for every answer, or as a solution: last month's counts are this month's prior. Their labels get the spelling of the
scale.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.readers.addresses import check_path
from crowdopt.data.spelling import onto
from crowdopt.errors import InputError
from crowdopt.model.offsets import checked_prior
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crowdopt._arrays import Floats
    from crowdopt.data.reading import Reading
    from crowdopt.model.buckets import Buckets
    from crowdopt.model.scale import Scale
    from crowdopt.results.solution_proof import ProofSolution


def read_prior(
    source: Any, scale: Scale, buckets: Buckets, reading: Reading, classes: Sequence[str] = ()
) -> Floats | None:
    """The pseudo-counts by (label, class, answer), or None if there are none; ``classes`` are the names of classes."""
    from crowdopt.results.solution_proof import ProofSolution

    if isinstance(source, str | Path):
        check_path(source)
        path = Path(source)
        source = ProofSolution.load(path) if path.suffix.lower() == ".json" else _read_table(path)
    if isinstance(source, ProofSolution):
        return _counts_behind(source, scale, reading, classes)
    if hasattr(source, "columns"):
        source = _by_index(source)
    if isinstance(source, dict):
        source = _by_label(source, scale, reading)
    return checked_prior(source, buckets)


def _spelled(labels: Sequence[str], scale: Scale, reading: Reading) -> list[str]:
    """The labels as the scale spells them; those that are not on it stay as they are."""
    changes = onto(labels, scale.labels, reading)
    return [changes.get(label) or label for label in labels]


def _counts_behind(solution: ProofSolution, scale: Scale, reading: Reading, classes: Sequence[str]) -> Floats:
    """The responses by label of a solution, with what it was told itself; smoothing is not evidence and stays out."""
    labels = _spelled(solution.scale.labels, scale, reading)
    if unknown := [label for label in labels if label not in scale.labels]:
        raise InputError(
            f"the prior solution has the label {unknown[0]!r}, which is not on the scale {', '.join(scale.labels)}"
        )
    counts = solution.responses_by_label.astype(float)
    if (offsets := solution.objective.offsets) is not None:
        counts += offsets.gold_responses + (0.0 if offsets.prior is None else offsets.prior)
    theirs = [one.name for one in solution.classes]
    if unknown := [name for name in theirs if name not in classes]:
        raise InputError(f"the prior solution has the class {unknown[0]!r}, which there is not here")
    if classes and not theirs:
        raise InputError("the prior solution has no classes of workers, but there are some here")
    at = [scale.index(label) for label in labels]
    of_class = [list(classes).index(name) for name in theirs] or [0]
    prior = np.zeros((scale.n_labels, max(len(classes), 1), scale.n_labels))
    np.add.at(prior, np.ix_(at, of_class, at), counts)  # several labels of the solution may be one here
    return prior


def _read_table(path: Path) -> dict[str, dict[str, float]]:
    """A file whose first row names the answers and whose first column names the true labels."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=delimiter) if row]
    except OSError as error:
        raise InputError(f"cannot read the prior matrix {path}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:  # not text, or not even the name of a file
        raise InputError(f"the prior matrix {path} is not a table of text: {error}") from error
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise InputError(
            f"the prior matrix {path} must be a table: a first row with the answers, then one row for each true label, "
            "its name first"
        )
    table: dict[str, dict[str, float]] = {}
    for name, *cells in rows[1:]:
        if name in table:
            raise InputError(f"the prior matrix {path} has two rows for {name!r}")
        try:
            table[name] = dict(zip(rows[0][1:], map(float, cells), strict=True))
        except ValueError as error:
            raise InputError(f"the prior matrix {path} must hold numbers: {error}") from None
    return table


def _by_index(frame: Any) -> dict[Any, dict[Any, Any]]:
    """A pandas frame with the true labels as its index; other tables have no names of rows."""
    if not nw.dependencies.is_pandas_dataframe(frame):
        raise InputError(
            "a prior matrix must be a pandas frame with the true labels as index, a nested dict or an array"
        )
    rows = frame.to_numpy().tolist()
    return {true: dict(zip(frame.columns, row, strict=True)) for true, row in zip(frame.index, rows, strict=True)}


def _by_label(table: dict[Any, Any], scale: Scale, reading: Reading) -> list[list[Any]]:
    """A table by the names of the labels as rows in the order of the scale."""
    if not all(isinstance(row, dict) for row in table.values()):
        raise InputError("the prior matrix must have a dict of pseudo-counts by answer for each true label")

    def by_spelling(what: str, named: dict[Any, Any]) -> dict[str, Any]:
        texts = [canonical_text(name) for name in named]
        spelled = _spelled(texts, scale, reading)
        if sorted(spelled) != sorted(scale.labels):
            raise InputError(
                f"the prior matrix must have one {what} for each of {', '.join(scale.labels)}; it has "
                f"{', '.join(texts) or 'none'}"
            )
        return dict(zip(spelled, named.values(), strict=True))

    rows = {true: by_spelling("column", row) for true, row in by_spelling("row", table).items()}
    return [[rows[true][answered] for answered in scale.labels] for true in scale.labels]
