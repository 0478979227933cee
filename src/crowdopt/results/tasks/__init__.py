"""Tasks that were judged: those of a consensus of few labels and of many, and those of other data.

Begin with ``consensus_tasks.py``; ``given_tasks.py`` is the same for many labels, with sparse tables.
``judged_tasks.py`` has what predictions and rankings are made of.
"""
