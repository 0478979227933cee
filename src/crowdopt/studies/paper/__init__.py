"""The paper made again: its experiments, its figures and tables, and what became of each of its claims.

A. Das Sarma, A. Parameswaran and J. Widom, *Globally Optimal Crowdsourcing Quality Management* (SIGMOD 2016). Nothing
here is needed to aggregate responses; everything here is computed by the same engines that do. It may import what
``studies`` may. Begin with ``reproduce``, which goes from beginning to end.

- ``setups``: the experiments as data; ``real_data``: real responses whose truth is known; ``trials``: one trial of any
  of them, measured by ``scores``; ``experiments``: all trials, in pieces that can run anywhere, and the rows behind the
  figures.
- ``mapping_counts``: numbers of mappings; ``em_vs_optimum``: how often EM misses the optimum, and by how much.
- ``statistics``: means, and what is sure of them; ``verdicts``: how claims are judged; ``claims`` and its parts: what
  the paper says, what was measured, and whether it holds.
- ``catalogue``: all figures and tables; ``figures``, ``diagrams``, ``svg``: how they are drawn.
- ``glossary``, ``errata``, ``format``, ``page``: the page; ``output``: the files.
"""
