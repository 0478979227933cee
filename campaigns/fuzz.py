"""The fuzzer: spoilt files of every kind, each of which must be answered or refused in one line.

python -m campaigns.fuzz [--minutes M] [--inputs N] [--seed S] [--reader NAME]

A file is made by a small grammar or taken from the samples, spoilt (mutations.py), and given to ``prove``, the
command line, ``Solution.load`` or ``verify``. Allowed are an answer, and an error of ours that is one short line
without the words of what we are made of; and ``verify`` confirms nothing but what the true file says. All else (any
other exception, a line too many, a file left behind, a process that dies, hangs or takes too much memory) is a
finding: it is made smaller while it still is one and stored in campaigns/findings, where test_fuzz.py tries it ever
after. Ends with the counts, and exit code 1 if there was any finding.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from campaigns.fuzz_readers import READERS, about_message
from crowdopt.errors import CrowdoptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


FINDINGS = Path(__file__).parent / "findings"


MEMORY = 1 << 30
"""Bytes that a small file may cost at most, beyond what the process has before."""


HANG = 60.0
"""Seconds without an answer to a small file after which nobody waits any longer."""


STRETCH = 400
"""Inputs that one process tries."""


@dataclass(frozen=True)
class Case:
    """A spoilt file, and who is to read it.

    Attributes:
        reader: A name of READERS.
        content: The bytes of the file.
        choice: A number that chooses between the ways in and the options of a reader.
    """

    reader: str
    content: bytes
    choice: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {"reader": self.reader, "choice": self.choice, "content": base64.b64encode(self.content).decode()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """The inverse of :meth:`to_dict`."""
        return cls(data["reader"], base64.b64decode(data["content"]), data["choice"])


def fault(case: Case) -> str:
    """What is wrong with what comes of a case; nothing if all is right."""
    reader = READERS[case.reader]
    with _alone() as (folder, temporary):
        Path(reader.name).write_bytes(case.content)
        (folder / "out").mkdir()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            wrong = reader.read(reader.name, case.choice)
        except CrowdoptError as error:
            wrong = about_message(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be kept
            wrong = f"{type(error).__name__}: {str(error)[:300]} (in {_raised_in(error)})"
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if grown * 1024 > MEMORY:
            wrong = wrong or f"takes {grown >> 10} MB"
        left = [*temporary.iterdir(), *(one for one in folder.iterdir() if one.name not in {reader.name, "out"})]
        left += [one for one in (folder / "out").iterdir() if one.name not in {"answers.csv", "solution.json"}]
        return wrong or (f"leaves {[one.name for one in left]} behind" if left else "")


def _raised_in(error: BaseException) -> str:
    """The last of our own files that an error came through."""
    files, trace = [], error.__traceback__
    while trace:
        files.append((Path(trace.tb_frame.f_code.co_filename), trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    return next((f"{path.name} {name}" for path, name in reversed(files) if "crowdopt" in path.parts), "the fuzzer")


@contextmanager
def _alone() -> Iterator[tuple[Path, Path]]:
    """A folder to work in and one for temporary files, both gone afterwards."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder, temporary = Path(name) / "work", Path(name) / "temporary"
        folder.mkdir()
        temporary.mkdir()
        try:
            os.chdir(folder)
            with patch.object(tempfile, "tempdir", str(temporary)):
                yield folder, temporary
        finally:
            os.chdir(here)


def draw(seed: int, number: int, readers: list[str]) -> Case:
    """The input of this number, the same for the same seed."""
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 - nothing is to be kept secret
    reader = readers[number % len(readers)]
    return Case(reader, READERS[reader].make(rng), rng.randrange(1 << 16))


def kind_of(case: Case, words: str) -> str:
    """What two findings have in common that are the same."""
    return f"{case.reader}: {re.sub(r'[^A-Za-z ]+', '', words)[:40]}"


def smallest(case: Case, is_wrong: Callable[[Case], bool], tries: int = 60) -> Case:
    """A case of the same kind from which no long stretch can be taken away."""
    size = len(case.content) // 2
    while size and tries > 0:
        at = 0
        while at < len(case.content) and tries > 0:
            content = case.content[:at] + case.content[at + size :]
            tries -= 1
            if is_wrong(smaller := Case(case.reader, content, case.choice)):
                case = smaller
            else:
                at += size
        size //= 2
    return case


def store(case: Case, words: str, folder: Path = FINDINGS) -> Path:
    """Keeps a case for test_fuzz.py."""
    folder.mkdir(exist_ok=True)
    name = f"{case.reader.replace(' ', '_')}-{zlib.crc32(case.content):08x}.json"
    path = folder / name
    path.write_text(json.dumps({"why": words.splitlines()[0]} | case.to_dict(), indent=1) + "\n", encoding="utf-8")
    return path


@dataclass
class Tally:
    """What was tried and what went wrong.

    Attributes:
        counts: Inputs by reader.
        wrong: The first finding of each kind, and how many there were.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    again: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """The sum of two."""
        self.counts += other.counts
        self.again += other.again
        self.wrong = other.wrong | self.wrong


def fuzz(
    numbers: range, seed: int, readers: list[str], folder: Path = FINDINGS, at: Any = None, known: Any = ()
) -> Tally:
    """Tries the inputs of these numbers; ``at`` is told which one is being tried."""
    tally = Tally()
    for number in numbers:
        if at is not None:
            at.value = number
        case = draw(seed, number, readers)
        tally.counts[case.reader] += 1
        if words := fault(case):
            kind = kind_of(case, words)
            tally.again[kind] += 1
            if kind in known or kind in tally.wrong:
                continue
            small = smallest(case, lambda other, kind=kind: kind_of(other, fault(other)) == kind)
            tally.wrong[kind] = f"input {number}: {words} -> {store(small, words, folder)}"
            print(tally.wrong[kind], file=sys.stderr)
    return tally


def watched(numbers: range, seed: int, readers: list[str], known: Any, folder: Path = FINDINGS) -> Tally:
    """The same in a process of its own, which may die or hang."""
    context = multiprocessing.get_context("fork")
    at, (here, there) = context.Value("q", numbers.start), context.Pipe()
    work = lambda: there.send(fuzz(numbers, seed, readers, folder, at, known))  # noqa: E731
    process = context.Process(target=work)
    process.start()
    there.close()
    last, since = -1, time.monotonic()
    while process.is_alive() and not here.poll(1.0):
        if at.value != last:
            last, since = at.value, time.monotonic()
        elif time.monotonic() - since > HANG:
            process.kill()
    try:
        tally: Tally = here.recv()
        process.join()
    except EOFError:  # it did not come to its end
        process.join()
        case = draw(seed, at.value, readers)
        code = -(process.exitcode or 0)
        words = "hangs" if code == signal.SIGKILL else f"dies with {code}"
        kind = kind_of(case, words)
        tally = Tally()
        tally.counts.update(draw(seed, one, readers).reader for one in range(numbers.start, at.value + 1))
        tally.wrong[kind] = f"input {at.value}: {words} -> {store(case, words, folder)}"
        tally.again[kind] += 1
        if at.value + 1 < numbers.stop:
            tally.add(watched(range(at.value + 1, numbers.stop), seed, readers, known, folder))
    return tally


def main() -> int:
    """Runs, tells, and says by its exit code whether all was well."""
    options = argparse.ArgumentParser(description="Spoilt files: an answer or one line.")
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--inputs", type=int, default=0, help="stop after so many, whatever the time")
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--reader", choices=READERS, default=None)
    chosen = options.parse_args()
    readers = [chosen.reader] if chosen.reader else list(READERS)
    tally, start, number = Tally(), time.monotonic(), 0
    while number < chosen.inputs if chosen.inputs else time.monotonic() < start + 60 * chosen.minutes:
        stop = min(number + STRETCH, chosen.inputs or number + STRETCH)
        tally.add(watched(range(number, stop), chosen.seed, readers, tally.wrong))
        number = stop
        spent = (time.monotonic() - start) / 60
        print(f"{number:,} inputs, {len(tally.wrong)} kinds of findings, {spent:.1f} min", file=sys.stderr)
    print(f"seed {chosen.seed}: {sum(tally.counts.values()):,} inputs, {len(tally.wrong)} kinds of findings")
    for name in readers:
        print(f"  {name:24s} {tally.counts[name]:8,}")
    for kind, words in tally.wrong.items():
        print(f"{tally.again[kind]} x {words}")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
