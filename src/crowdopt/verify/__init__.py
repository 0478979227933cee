"""Verification: what a solution says is checked against the data, without trusting whoever made it.

Begin with ``verify`` (the public function; ``groups`` for many solutions), then ``check``, which compares one solution
with what was counted, and ``margins``. What an answer claims is in ``crowdopt.model.claims``. The core (``recheck``,
``optimum*``, ``alternatives``, ``witness*``) computes everything anew by plain means; it imports nothing but ``model``.

This room imports ``results`` and ``data`` to read files, never ``engines``: a test says so. Its code is slower than
the engines', and shares nothing with it on purpose: do not merge the two.
"""
