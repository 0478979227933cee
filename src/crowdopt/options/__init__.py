"""Every option, once: its name, type, default, help and choices.

From these declarations follow the command line (``cli/options.py``), the signatures and docstrings of ``aggregate``,
``prove`` and ``compare``, the parameters of the estimators and the table in the documentation. To add an option,
declare it here; if it changes which responses come out, it also needs a field in ``data/reading.py``, which is stored
in solution files.

Begin with ``verbs``, what each verb takes; its parts are in ``reading`` and ``model``. ``words`` says texts, which name
options as the command line does, with the names of Python's arguments. Each group is a ``TypedDict``:
a function that takes ``**options: Unpack[…]`` is checked, and completed by editors, as if it had listed them. It may
import ``model`` and what is below it.
"""
