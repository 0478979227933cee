"""The marginal likelihood: its global maximum over response matrices and shares of labels, with a certified bound.

Begin with ``engine``, which declares it; ``search`` is the branch and bound over boxes of parameters, ``starts`` finds
good parameters by EM, ``cells`` says what the responses rule out, and the ``*_kernels`` have the compiled loops. Every
bound allows for its own rounding. The theory is in docs/theory.md, Facts 7 to 10. It imports the model and
``engines.base``. Whoever changes a kernel must empty the folder of compiled code (``~/.cache/crowdopt``): of a function
that calls others Numba looks at its own file only.
"""
