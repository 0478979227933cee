"""Files and databases as lazy tables of DuckDB. Nothing is guessed in silence; what is wrong is said in one line.

Imports ``tables/`` and ``errors``.

Begin with ``open_files.py`` for files: they are found and checked (``find_files.py``), read by the module of their
format (``csv.py``, ``jsonl.py``, ``parquet.py``, ``excel.py``; all are listed in ``formats.py``) and put together
(``union.py``). Databases: ``addresses.py`` (which one), ``database.py`` (how to talk to it), ``database_rows.py``
(its rows), and ``postgres_counts.py`` (what it counts itself). Exports of annotation tools are in ``tools/``.
"""
