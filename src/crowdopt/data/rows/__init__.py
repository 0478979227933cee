"""Which rows and cells of a table are responses, as users say it: ``--where``, ``--worker-columns``, ``--time``.

``conditions`` reads a filter and ``where`` takes the rows that pass it, ``spread`` says which columns of a wide table
are workers (or tasks), ``timing`` what is known of workers by the clock. It may import what ``data`` may.
"""
