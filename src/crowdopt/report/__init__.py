"""Pages and charts for people: the report of a solution, the page of a comparison, the cell of a notebook.

Imports ``results`` and what is below it; nothing of ``verify`` or ``studies``. Only ``charts.py`` imports Altair, and
only ``page.py`` Jinja2.

Begin with ``write_report.py``: it gathers the facts (``content.py``), draws the charts (``solution_charts.py``, in the
grammar of ``charts.py``) and fills the templates (``page.py``, ``templates/``). ``lattice.py`` is the picture of all
buckets, ``safe_text.py`` what is done to texts of the user's before a page shows them.
"""
