"""A solution, and what follows from it: answers, summary, advice, predictions, next tasks, the solution file.

It may import ``classes``, ``engines``, ``data``, ``model`` and the options. Only methods of ``Solution`` for people
(report, charts, notebook cells) call the room ``report`` above.

Begin with ``solution``; ``solutions`` has those of many groups. ``answers`` makes the table of answers, ``facts`` and
``summary`` say what was found in JSON and in words, ``advice`` what to beware of; ``solution_file`` writes and reads.
``cluster`` finds a consensus on Spark. ``reread`` opens the data again for ``workers``, ``predict`` and ``next_tasks``;
``write`` puts tables in their place.
"""
