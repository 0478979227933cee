"""Source: data of any kind, read, checked and counted. All that is done to data of any size happens here."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdopt.data.columns import Choose, choose_classes, choose_responses, choose_truth
from crowdopt.data.counts import CountedProblem, Totals
from crowdopt.data.fingerprint import digest_of_responses
from crowdopt.data.hygiene import about_tasks
from crowdopt.data.overview import NoRowsError
from crowdopt.data.readers.addresses import Database, database_of
from crowdopt.data.readers.database_rows import read_database
from crowdopt.data.readers.open_files import explain_errors, read_files
from crowdopt.data.readers.postgres_counts import Repeated, Server, serving
from crowdopt.data.readers.tools.open_export import OpenedSource, open_files, open_frame
from crowdopt.data.responses import Responses, TaskCounts, check, count_tasks
from crowdopt.data.rows.where import answered_only, is_any, rows_that_count
from crowdopt.data.tables.spark import is_spark
from crowdopt.data.tables.workspace import Workspace
from crowdopt.data.worker_classes import class_pairs, pairs_of, with_pairs, worker_classes
from crowdopt.errors import ClassError, ColumnError, GoldError, InputError
from crowdopt.model.scale import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crowdopt.data.known_labels import ExportLabels
    from crowdopt.data.reading import Reading
    from crowdopt.model.scale import Scale

OnPhase = Callable[[str], None]
"""Called with a short text when a new phase of the work begins."""


@dataclass(frozen=True, eq=False)
class Source:
    """The responses and what was counted, for as long as a solution is in memory: not part of its file.

    Attributes:
        responses: The checked responses.
        counts: Responses per task, and the buckets.
        original: What the user gave.
        workspace: The database that files were read with; None for frames.
        notes: What is odd about the rows and what was done with them, in the words of the command line.
        about_export: What was done with the rows of a tool's export, and how many rows were not asked for: information,
            and nothing odd.
        digest: Of the responses; see ``fingerprint.py``. Empty if nobody asked for it.
        on_server: Whether a database server counted them, and they stay there.
        export_labels: The known labels that an export brings, if it has any and they are not pinned.
    """

    responses: Responses
    counts: TaskCounts
    original: Any
    workspace: Workspace | None
    notes: tuple[str, ...] = ()
    about_export: tuple[str, ...] = ()
    digest: str = ""
    on_server: bool = False
    export_labels: ExportLabels | None = None

    @property
    def elsewhere(self) -> str:
        """Where the responses stay, if they are not to be brought here."""
        return "cluster" if is_spark(self.responses.table) else "server" if self.on_server else ""

    @property
    def n_responses(self) -> int:
        """Number of responses."""
        return self.totals.n_responses

    @property
    def counted(self) -> CountedProblem:
        """What solving needs."""
        responses, counts = self.responses, self.counts
        known = (counts.buckets, counts.gold, self.totals, responses.reading, self.digest)
        return CountedProblem(responses.scale, responses.classes, *known, self.notes)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the responses, their counts, labels and classes."""
        return self.counted.fingerprint

    @property
    def reading(self) -> Reading:
        """How the data were read."""
        return self.responses.reading

    @property
    def totals(self) -> Totals:
        """The numbers of what went in."""
        gold = self.counts.gold
        n_gold = gold.n_tasks if gold else 0
        return Totals(
            n_tasks=self.counts.buckets.n_tasks + self.counts.n_no_response + n_gold,
            n_gold=n_gold,
            n_no_response=self.counts.n_no_response,
            n_workers=self.responses.n_workers,
            n_responses=self.counts.buckets.n_responses + (gold.n_responses if gold else 0),
            n_dropped=self.responses.n_dropped,
        )


def load(
    data: Any,
    reading: Reading,
    workspace: Workspace | None,
    *,
    n_bins: int = 0,
    resolved: bool = False,
    scale: Scale | None = None,
    known: Sequence[str] = (),
    gold: Any = None,
    classes: Any = None,
    each: bool = False,
    digest: bool = True,
    on_phase: OnPhase = lambda _: None,
) -> Source:
    """Reads, checks (see ``responses.check``) and counts the responses.

    Args:
        data: The responses.
        reading: How to read them.
        workspace: The database to read files with.
        n_bins: Number of bins to put scores into; see ``responses.check``.
        resolved: Whether the reading comes from a solution; see ``responses.check``.
        scale: The scale that the labels must be on; see ``responses.check``.
        known: The classes that workers can be in; see ``responses.check``.
        gold: Tasks of known label; those of an export are pinned if the reading says so.
        classes: Classes of workers.
        each: Whether every worker is a class of its own.
        digest: Whether to make the digest of the responses, which takes a pass over them.
        on_phase: Called when a new phase begins.
    """
    if classes is not None:
        reading = read_classes(classes, reading, workspace)
    checks: dict[str, Any] = {"n_bins": n_bins, "resolved": resolved, "scale": scale, "known": known, "each": each}
    count: Callable[..., Source] = partial(
        _count, data=data, workspace=workspace, gold=gold, classes=classes, digest=digest, on_phase=on_phase, **checks
    )
    with unchanged(workspace), naming(data, NoRowsError), explain_errors(paths_of(data)):
        if isinstance(data, Database) and workspace is not None and not (n_bins or known or each):
            source = _counted_by_server(data, reading, workspace, count)
            if source is not None:
                return source
        return count(open_responses(data, reading, workspace))


def _counted_by_server(
    data: Database, reading: Reading, workspace: Workspace, count: Callable[[OpenedSource, Server], Source]
) -> Source | None:
    """What a database server counts itself; None if it cannot, or if it must see the rows to say what is wrong."""
    with serving(data, choose_responses(reading), reading, workspace) as server:
        if server is None:
            return None
        with suppress(Repeated):
            return count(open_frame(server.rows(), reading), server)
        if reading.duplicates != "distinct":
            return None
        server.take_distinct()
        return count(open_frame(server.rows(), reading), server)


def _count(
    found: OpenedSource,
    server: Server | None = None,
    *,
    data: Any,
    workspace: Workspace | None,
    gold: Any,
    classes: Any,
    digest: bool,
    on_phase: OnPhase,
    **checks: Any,
) -> Source:
    """Checks and counts responses that were opened; see :func:`load` for the arguments."""
    with naming(classes, ClassError):
        responses = check(found.table, found.reading, server=server, trims=found.trims, **checks)
    responses = replace(responses, reading=_pinned(gold, found, responses, workspace, checks["resolved"]))
    on_phase("counting")
    counts = count_tasks(responses, workspace, server, given=not checks["resolved"])
    notes = (*responses.notes, *about_tasks(counts.table, responses.reading))
    source = Source(
        responses, counts, data, workspace, notes, (*found.notes, *([found.left_out] if found.left_out else [])),
        on_server=server is not None, export_labels=found.export_labels,
    )  # fmt: skip
    return replace(source, digest=digest_of_responses(responses, server)) if digest else source


def _pinned(
    gold: Any, found: OpenedSource, responses: Responses, workspace: Workspace | None, resolved: bool
) -> Reading:
    """The reading with the tasks of known label: those that the user gives, or those that the export brings.

    Raises:
        GoldError: Those of the export are not those that a solution has, whose reading this is.
    """
    reading = responses.reading
    if reading.export_gold:
        exported = read_gold(found.gold, responses, workspace)
        if resolved and exported.gold != reading.gold:
            raise GoldError("the known labels of the export are not those that the solution took for granted")
        return exported
    return reading if gold is None else read_gold(gold, responses, workspace)


def read_gold(gold: Any, responses: Responses, workspace: Workspace | None) -> Reading:
    """The reading with the tasks of known label: a path, a table, or a dict of labels by task."""
    from crowdopt.data.known_labels import KnownBy, gold_pairs

    reading = responses.reading
    if isinstance(gold, dict):
        import pyarrow as pa

        gold = pa.table(
            {
                name: [None if _is_missing(value) else canonical_text(value) for value in values]
                for name, values in (("task", gold), ("label", gold.values()))
            }
        )
    with opened(gold, choose_truth(reading), reading, workspace) as table:
        known_by = KnownBy(responses.table, {"": responses.scale.labels})
        return replace(reading, gold=gold_pairs(table, reading, known_by))


def read_classes(classes: Any, reading: Reading, workspace: Workspace | None) -> Reading:
    """The reading with the classes of workers: a path, a table, or a dict of classes by worker."""
    if isinstance(classes, dict):
        return with_pairs(reading, pairs_of(classes))
    choose = choose_classes(reading)
    with naming(classes, ClassError, ColumnError), opened(classes, choose, reading, workspace) as table:
        return with_pairs(reading, class_pairs(worker_classes(table, choose)))


@contextmanager
def naming(data: Any, *kinds: type[InputError]) -> Iterator[None]:
    """Errors of some kinds name the file that they are about, which is not that of the responses."""
    try:
        yield
    except kinds as error:
        if not paths_of(data):
            raise
        raise type(error)(f"{', '.join(paths_of(data))}: {error}") from error


@contextmanager
def opened(data: Any, choose: Choose, reading: Reading, workspace: Workspace | None) -> Iterator[Any]:
    """A second table that the user gives; files are read in a workspace of their own if there is none yet."""
    with unchanged(workspace), explain_errors(paths_of(data)):
        if workspace is not None or not paths_of(data):
            yield open_table(data, choose, reading, workspace)
        else:
            with Workspace() as own:
                yield open_table(data, choose, reading, own)


def unchanged(workspace: Workspace | None) -> AbstractContextManager[None]:
    """Raises if a file that is read was changed meanwhile; of frames nobody knows."""
    return nullcontext() if workspace is None else workspace.unchanged()


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def workspace_for(data: Any, *, memory_limit: str | None = None, threads: int | None = None) -> Workspace | None:
    """A workspace for files and databases; None for frames, which stay where they are."""
    return Workspace(memory_limit=memory_limit, threads=threads) if paths_of(data) else None


def paths_of(data: Any) -> list[str]:
    """The paths that ``data`` names, or the address of a database; none if it is a frame."""
    if isinstance(data, Database):
        return [str(data)]
    if isinstance(data, str | Path):
        return [str(data)]
    if isinstance(data, list | tuple) and data and all(isinstance(item, str | Path) for item in data):
        return [str(item) for item in data]
    return []


def open_responses(data: Any, reading: Reading, workspace: Workspace | None) -> OpenedSource:
    """A frame, a table of a database, or files, which may be those of an annotation tool: the rows that count."""
    found = _opened_whole(data, reading, workspace)
    if not reading.where:
        return found
    table, said = rows_that_count(found.table, found.reading)
    gold = answered_only(found.gold, table, found.reading)
    if found.reading.export_gold and gold is not None and not is_any(gold):
        raise GoldError(f"--gold export: --where ({reading.where}) leaves no task whose label the export knows")
    return replace(found, table=table, left_out=said, gold=gold)


def _opened_whole(data: Any, reading: Reading, workspace: Workspace | None) -> OpenedSource:
    paths = paths_of(data)
    if not paths or workspace is None:
        return open_frame(data, reading)
    if isinstance(database_of(data), Database):
        return open_frame(open_table(data, choose_responses(reading), reading, workspace), reading)
    return open_files(paths, reading, workspace)


def open_table(data: Any, choose: Choose, reading: Reading, workspace: Workspace | None) -> Any:
    """A frame as it is, or files as a lazy relation of the workspace."""
    paths = paths_of(data)
    if not paths:
        return data
    if workspace is None:
        raise TypeError("files are read in a workspace")
    data = database_of(data)
    if isinstance(data, Database):
        return read_database(data, choose, workspace, order_by=reading.order_by)
    return read_files(
        paths, workspace, choose, encoding=reading.encoding, delimiter=reading.delimiter, numeric=reading.order_by
    )
