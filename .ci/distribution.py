"""Looks into a built wheel and sdist: all that belongs there, nothing else, and the sdist gives the same wheel.

Run as ``python .ci/distribution.py BUILT DIRECT``: a folder with an sdist and the wheel that was built from it, and
one with the wheel that was built from the checkout.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = {"css", "html", "js"}


def check_wheel(path: Path) -> None:
    """The package with its templates and types, and the metadata; no tests, no caches."""
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        information = next(name for name in names if name.endswith(".dist-info/METADATA")).partition("/")[0]
        metadata = Metadata.from_email(wheel.read(f"{information}/METADATA"), validate=True)
    source = ROOT / "src"
    suffixes = {"py", *TEMPLATES}
    expected = {file.relative_to(source).as_posix() for suffix in suffixes for file in source.rglob(f"*.{suffix}")}
    expected |= {"crowdopt/py.typed"}
    expected |= {f"{information}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    expected |= {f"{information}/licenses/LICENSE"}
    _same(names, expected, path.name)
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(names)} files, metadata {metadata.metadata_version}")


def check_sdist(path: Path) -> None:
    """What is in the repository, and the metadata."""
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    _same(names, {*listed.splitlines(), "PKG-INFO"}, path.name)
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(names)} files")


def _same(names: set[str], expected: set[str], where: str) -> None:
    if missing := expected - names:
        sys.exit(f"{where} lacks {', '.join(sorted(missing))}")
    if more := names - expected:
        sys.exit(f"{where} has what does not belong there: {', '.join(sorted(more))}")


def main(built: Path, direct: Path) -> None:
    """Checks both, and that both wheels are the same."""
    (wheel,), (other,), (sdist,) = built.glob("*.whl"), direct.glob("*.whl"), built.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    if wheel.read_bytes() != other.read_bytes():
        sys.exit("the wheel that was built from the sdist is not the one that was built from the checkout")
    print("the sdist gives the same wheel, byte for byte")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
