"""Methods compared on the same responses: accuracy, log-loss, agreement, time, memory and likelihood.

Begin with ``comparison``. ``methods`` says which methods there are and how each is called; ``child_process`` runs one
of them in a process that does nothing else, for its time and memory. It may import what ``studies`` may.
"""
