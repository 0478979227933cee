"""Faults on demand: a signal at a given moment of a run, in this process or in one of its own."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from crowdopt.cli import app as cli


def find(place):
    """The object that a dotted name is an attribute of, and the name of the attribute."""
    parts = place.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:-1]:
            owner = getattr(owner, name)
        return owner, parts[-1]
    raise ModuleNotFoundError(place)


def raising(function, when, fault):
    """The function, with a fault before its n-th call, or after it if ``when`` is negative."""
    calls = 0

    def faulty(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == when:
            fault()
        result = function(*args, **kwargs)
        if calls == -when:
            fault()
        return result

    return faulty


def signalled(number):
    """Sends this process a signal."""
    return lambda: os.kill(os.getpid(), number)


def killed_at(place, when, *args, cwd, before=""):
    """Runs the command line in a process that is killed at a given moment; its exit code.

    Args:
        place: The function that is called in that moment.
        when: The number of the call; negative for after it.
        args: The command line.
        cwd: The folder that it runs in.
        before: What the process has to do first.
    """
    code = (
        f"import sys, signal; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); from support import faults\n"
        f"owner, name = faults.find({place!r})\n"
        f"fault = faults.signalled(signal.SIGKILL)\n"
        f"setattr(owner, name, faults.raising(getattr(owner, name), {when}, fault))\n"
        f"sys.argv[0] = 'crowdopt'\n{before}\n"
        "from crowdopt.cli.entry import main; main()"
    )
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False, timeout=120).returncode


class Command:
    """The command line in this process, with faults at given moments."""

    def __init__(self, monkeypatch, capfd):
        self.monkeypatch, self.capfd = monkeypatch, capfd
        monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def fault(self, place, fault, when=1):
        """Something happens before the n-th call of a function, or after it if ``when`` is negative."""
        owner, name = find(place)
        self.monkeypatch.setattr(owner, name, raising(getattr(owner, name), when, fault))

    def interrupt(self, place, when=1, number=signal.SIGINT):
        """Ctrl-C, or another signal, at that moment."""
        self.fault(place, signalled(number), when)

    def on_phase(self, phase, fault):
        """Something happens when a phase begins."""
        from crowdopt.cli.console import Console

        old = Console.on_phase

        def on_phase(console, name):
            old(console, name)
            if name == phase:
                fault()

        self.monkeypatch.setattr(Console, "on_phase", on_phase)

    def __call__(self, *args):
        """Runs a command: exit code, standard output, standard error."""
        self.monkeypatch.setattr(sys, "argv", ["crowdopt", *map(str, args)])
        self.capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        return code, *self.capfd.readouterr()
