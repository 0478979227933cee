"""Data of any source: read, checked and counted. Everything whose cost grows with the data happens here.

Imports ``options`` and ``model``; knows nothing of engines or solutions.

Begin with ``load.py``. The way is: open a source (``readers/``) as a table (``tables/``); make it long and clean
(``prepare.py``); see what is in it (``overview.py``) and put labels and ids right (``hygiene.py``, with ``spelling.py``
for what is one label and ``notes.py`` for the words); settle repeated answers (``duplicates.py``), and note what is odd
about rows (``odd_rows.py``); count the answers
to each task (``responses.py``). With groups, ``groups.py`` goes the same way for all of them at once.
``rows/`` says which rows and cells are responses. ``known_labels.py`` is for gold and truth, ``worker_classes.py`` for
classes of workers, ``bins.py`` for scores, ``encode.py`` and ``parts.py`` for responses as arrays (``coded.py``),
``fingerprint.py`` for a digest of them.
"""
