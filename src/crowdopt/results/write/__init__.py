"""Tables on their way out: to files, to databases, to annotation tools; whole or not at all.

Begin with ``files``; ``database`` writes to PostgreSQL and SQLite, ``label_studio`` writes predictions for that tool,
``in_place`` knows which files have already taken their place. It may import what ``results`` may.
"""
