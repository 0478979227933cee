"""The consensus on a cluster: the population on the driver, looks at all responses on the executors.

It may import what ``results`` may, and Spark. ``work`` is what executors do: it needs NumPy, PyArrow and Numba alone.

Begin with ``consensus``, which says what is done where; ``sending`` brings this package to executors that lack it, and
``sent`` runs it there.
"""
