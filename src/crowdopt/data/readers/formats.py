"""The formats of files: a new one is a module like these, and a line here."""

from __future__ import annotations

from crowdopt.data.readers.csv import CSV, TSV, TXT
from crowdopt.data.readers.excel import EXCEL
from crowdopt.data.readers.jsonl import JSON, JSON_LINES
from crowdopt.data.readers.parquet import PARQUET

FILE_FORMATS = {one.name: one for one in (CSV, TSV, TXT, PARQUET, JSON_LINES, JSON, EXCEL)}
"""By name, in the order in which messages list them."""
