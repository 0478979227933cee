"""Writing results: files whole or not at all, tables of databases in one transaction.

Imports ``data`` and what is below it.

Begin with ``files.py``; ``database.py`` writes to PostgreSQL and SQLite, ``label_studio.py`` predictions for that tool.
``in_place.py`` remembers which results are in their places, for an error that comes later.
"""
