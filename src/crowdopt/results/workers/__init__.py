"""How good each worker is, and how each answers (docs/workers.md).

``counts`` counts responses where they are, ``statistics`` measures workers by these counts and declares the columns,
``table`` makes the tables, ``spark`` makes them on a cluster. ``skill`` measures workers by the probabilities of a
consensus. It may import what ``results`` may.
"""
