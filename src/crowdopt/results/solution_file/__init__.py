"""The solution file: both kinds of solutions as JSON, strict on the way in.

Begin with ``format``: which kind a file is, those of groups, saving and reading. ``parts`` has what both kinds have in
common, ``proof`` and ``consensus`` the rest, ``workers`` the file beside that of a consensus of very many workers.
"""
