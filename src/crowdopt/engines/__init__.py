"""Engines: they find labels for counted responses, and prove how good these are.

Every engine is a function of a problem and limits in a file of its own, whose docstring says what it maximises, over
which space, why that is exact, and what it costs. No engine knows of files, tables or solutions.

This room imports ``model`` and the modules at the top. Begin with ``base`` (what engines take and return) and
``registry`` (which there are, and which one is picked); ``solve`` is the public function. ``scan`` is for two labels,
``chain`` and ``enumeration`` list what respects an order, ``columns`` proves by prices, ``local_search`` only searches,
``vote`` and ``em`` are there to be compared with.
"""
