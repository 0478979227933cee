"""From responses to coded ones (see ``coded.py``), for what has to look at them many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from crowdopt.data.coded import Coded, Encoded, codes_of
from crowdopt.data.tables.table import fetch_arrow, with_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crowdopt._arrays import Ints
    from crowdopt.data.responses import Responses
    from crowdopt.data.tables.table import Table
    from crowdopt.model.scale import Scale


def encode_responses(responses: Responses) -> Encoded:
    """The responses that have a label, coded, all of them in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found, labels = fetch_arrow(response_texts(responses)), responses.scale.labels
    (tasks, task), (workers, worker), (texts, answer) = (codes_of(found[name]) for name in ("task", "worker", "label"))
    label = pc.index_in(texts, pa.array(labels, texts.type)).to_numpy()
    return Encoded.of(Coded.of(task, worker, label[answer].astype(np.int64), len(labels)), tasks, workers)


def response_texts(responses: Responses) -> Table:
    """The responses that have a label, as texts, which sort alike from every source."""
    rows = responses.table.filter(~nw.col("label").is_null()).select("task", "worker", "label")
    return with_texts(rows, ["task", "worker", "label"])


def encode_by_group(responses: Table, scales: Mapping[str, Scale]) -> dict[str, Encoded]:
    """The responses of every group, coded as if it were alone; all groups are fetched at once.

    Args:
        responses: Rows of group, task, worker and label; groups are texts.
        scales: The labels of each group; other groups are left out.
    """
    rows = responses.filter(~nw.col("label").is_null()).select("group", "task", "worker", "label")
    found = fetch_arrow(with_texts(rows, ["task", "worker", "label"]))
    names, codes = zip(*(codes_of(found[name]) for name in ("task", "worker", "label")), strict=True)
    encoded = {}
    for name, part in parts_by_group(found["group"]):
        if name in scales:
            own = [np.unique(code[part], return_inverse=True) for code in codes]
            tasks, workers, texts = (all_.take(few) for all_, (few, _) in zip(names, own, strict=True))
            labels = np.array([scales[name].places[text] for text in texts.to_pylist()])
            task, worker, answer = (code.reshape(-1) for _, code in own)
            encoded[name] = Encoded.of(Coded.of(task, worker, labels[answer], scales[name].n_labels), tasks, workers)
    return encoded


def parts_by_group(column: Any) -> Iterator[tuple[str, Ints]]:
    """The groups of an Arrow column, sorted, and which rows are theirs."""
    groups, group = codes_of(column)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.searchsorted(group, np.arange(1, len(groups)), sorter=order))
    return zip(groups.to_pylist(), parts, strict=True)
