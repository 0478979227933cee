"""Rows that are good, for what is bad beside them."""

from __future__ import annotations

from support.commands import HEADER, text

GOOD = [("a", "ann", "yes"), ("a", "bob", "yes"), ("b", "ann", "no"), ("b", "bob", "yes"), ("c", "bob", "no")]


CONTENTS = {
    "misspelt column": (text(GOOD, ("tsk", "worker", "label")), ["'task'", "--task tsk", "tsk, worker, label"]),
    "column of another name": (text(GOOD, ("item", "worker", "label")), ["--task item"]),
    "other worker column": (text(GOOD, ("task", "Annotator", "label")), ["--worker Annotator"]),
    "other label column": (text(GOOD, ("task", "worker", "rating")), ["--label rating"]),
    "no such column": (text(GOOD, ("task", "worker", "zzz")), ["no column named 'label'", "task, worker, zzz"]),
    "column twice": (text([(*row, "x") for row in GOOD], (*HEADER, "label")), ["2 columns named 'label'"]),
    "empty file": (b"", ["data.csv is empty"]),
    "blank lines": (b"\n\n", ["data.csv is empty"]),
    "header only": (text([]), ["no responses"]),
    "no label at all": (text([("a", "ann", "")]), ["1 of 1 rows", "1 has no label", "--label COL", "drop-all"]),
    "mostly no worker": (
        text([GOOD[0], ("d", "", "yes"), ("e", "", "no")]),
        ["2 of 3 rows are incomplete: 2 have no worker (column 'worker')", "--worker COL", "--missing drop-all"],
    ),
    "many labels": (
        text([(f"t{i}", "ann", f"label {i}") for i in range(1000)]),
        ["1,000 different labels", "at most 64"],
    ),
    "one label too many": (
        text([(f"t{i}", "ann", f"label {i}") for i in range(65)]),
        ["65 different labels", "at most 64"],
    ),
    "many scores": (
        text([(f"t{i}", "ann", f"{i / 7:.3f}") for i in range(1000)]),
        ["1,000 different labels", "at most 64", "scores need --bins (--bins 5 makes five of equal width)"],
    ),
    "blanks around a name": (text(GOOD, ("task", " worker", "label")), ["no column named 'worker'", "' worker'"]),
    "escape codes": (text(GOOD, ("task", "\x1b[31mred", "label")), ["\\x1b[31mred"]),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), ["not a text file", "PNG"]),
    "windows-1252": (text(GOOD) + "é,ann,no\n".encode("windows-1252"), ["UTF-8", "line 7", "windows-1252"]),
    "utf-16": (text(GOOD).decode().encode("utf-16"), ["UTF-16", "--encoding utf-16"]),
    "utf-16 without a mark": (text(GOOD).decode().encode("utf-16-le"), ["--encoding utf-16-le"]),
    "too many fields": (text([*GOOD, ("d", "ann", "no", "x")]), ["line 7", "4 fields", "3"]),
    "open quote": (text(GOOD) + b'"d,ann,no\n', ["line 7", "quote"]),
}
