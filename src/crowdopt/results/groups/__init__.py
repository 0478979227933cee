"""Many groups, each a problem of its own: solving all of them, and their answers in one table.

Imports the rest of ``results`` and what is below it.

Begin with ``solve_groups.py``; ``answers_grouped.py`` joins the tasks of all groups with what was found of them.
"""
