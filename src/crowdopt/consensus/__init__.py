"""The consensus: how likely every label of every task is, from who answered what.

It may import ``data`` for its coded responses, and nothing else of the house but what all rooms share.

Begin with ``consensus``, the fixed mean of three posteriors: ``vote``, ``tilted`` and ``kinds``, a file each. They take
``rows`` and give ``parameters``; ``states`` and ``pooling`` are what ``tilted`` and ``kinds`` have in common.
``learning`` is how workers are weighed where responses are too many. ``kernels`` holds the compiled loops, ``grid`` why
sums do not depend on the order of their terms.
"""
