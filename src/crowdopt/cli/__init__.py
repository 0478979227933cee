"""The command line: options in, library calls, words out. No logic that the library lacks.

Begin with ``entry.py`` (how the process starts and ends) and ``app.py`` (all commands; ``prove`` and ``verify``).
``options.py`` turns declared options into parameters of Typer; ``console.py`` prints progress, tables and summaries.

It may import everything; nothing imports it. Commands import what they need when they run, so that ``--help`` is quick.
Only this room imports Typer and Rich.
"""
