"""Running the command that makes the paper again, and reading what it wrote."""

from __future__ import annotations

import csv
import struct
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "crowdopt"
VOID = {"meta", "br", "link", "img", "input", "hr"}


def run(*args, code=0):
    """Runs the program, checks its exit code, and gives standard output and standard error."""
    done = subprocess.run(
        [PROGRAM, "reproduce", *map(str, args)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


class Page(HTMLParser):
    """What is on a page; raises where a tag is not closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.words, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not {"src", "srcset", "xlink:href"} & given.keys()
        assert not [name for name in given if name.startswith("on")]
        assert tag not in {"script", "link", "iframe", "img"}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def check_png(data):
    """A PNG whose every part has the right checksum, twice as large as a drawing."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds = 8, []
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        kinds.append(kind)
        at += 12 + size
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    width, height = struct.unpack(">II", data[16:24])
    assert 600 < width < 1400
    assert 400 < height < 1400


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
