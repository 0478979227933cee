"""The problem in numbers: labels, counts of responses, what is maximised, and what was proved.

Nothing here knows of tables or files. It may import ``errors`` and ``_arrays``, and third-party only NumPy.

Begin with ``problem`` (what an engine gets), ``buckets`` (distinct counts of responses) and ``objective`` (the
log-likelihood); ``order`` has the order of the buckets, ``certificate`` what is known about an answer, ``margins`` how
much each label is worth, ``scale`` the labels, ``offsets`` known labels and priors, ``agreement`` how much workers
agree, ``strict_json`` how stored values are checked. ``claims`` is the one place that names engines: their contract
with ``verify``.
"""
