"""Classes of workers, found in the responses: who answers alike.

It may import ``engines``, ``data``, ``model`` and the options.

Begin with ``apply``, which takes a source to the same source with classes. ``find`` chooses how many there are,
``mixture_em`` fits them, ``spark`` does so on a cluster.
"""
