"""Tables of any library, through Narwhals; one file for each library that needs more than that.

Imports ``model`` and the libraries of tables: only here, in ``readers/`` and in ``results/write/`` is DuckDB
imported.

Begin with ``table.py``: the few operations that all other code is written in. A function of the same name in
``duckdb.py``, ``pandas.py``, ``pyarrow.py`` or ``spark.py`` takes the place of the one there; a new library is a file
like these, and its name in ``table.BACKENDS``. ``workspace.py`` is the private database that files are read with.
"""
