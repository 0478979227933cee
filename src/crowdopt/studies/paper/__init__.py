"""The paper made again: its experiments, its figures and tables, and what became of each of its claims.

A. Das Sarma, A. Parameswaran and J. Widom, *Globally Optimal Crowdsourcing Quality Management* (SIGMOD 2016). Nothing
here is needed to aggregate responses; everything here is computed by the same engines that do.

- ``setups``: the experiments as data; ``known``: real responses whose truth is known; ``trials``: one trial of any of
  them; ``experiments``: all trials, in pieces that can run anywhere, and the rows behind the figures.
- ``counts``: numbers of mappings; ``against_em``: how often EM misses the optimum; ``leads``: how far it ends below.
- ``estimates``: means, and what is sure of them; ``verdicts``: how claims are judged; ``claims`` and its parts: what
  the paper says, what was measured, and whether it holds.
- ``catalogue``: all figures and tables; ``figures``, ``diagrams``, ``drawing``: how they are drawn.
- ``choices``, ``errata``, ``words``, ``page``: the page; ``reproduce``, ``work``, ``output``: from beginning to end.
"""
