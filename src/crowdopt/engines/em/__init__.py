"""Expectation maximisation, which proves nothing: the method of the literature, to compare with and to soften matrices.

Begin with ``hard`` (what the paper compares with) or ``soft`` (the textbook's); both are made of the ``steps``. This
room imports ``model``, and ``base`` and ``tie_breaking`` of ``engines``.
"""
