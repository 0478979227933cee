"""The digest of responses from its definition in data/fingerprint.py, row by row."""

from __future__ import annotations

import hashlib

from crowdopt.data.load import load, workspace_for
from crowdopt.data.reading import Reading
from crowdopt.model.scale import canonical_text


def defined(rows) -> str:
    """The digest of rows (task, worker, label)."""
    n_rows, *sums = 0, 0, 0
    for row in rows:
        task, worker, label = (canonical_text(value).encode() for value in row)
        text = b"%d %d " % (len(task), len(worker)) + task + worker + label
        digits = hashlib.sha256(text).hexdigest()
        n_rows, sums = n_rows + 1, [sums[0] + int(digits[:15], 16), sums[1] + int(digits[15:30], 16)]
    return hashlib.sha256(f"{n_rows} {sums[0]} {sums[1]}".encode()).hexdigest()


def digest_from(data, **options) -> str:
    """The digest of data that are read with some options."""
    workspace = workspace_for(data)
    try:
        return load(data, Reading(**options), workspace).digest
    finally:
        if workspace is not None:
            workspace.close()
