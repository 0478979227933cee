"""Every package that comes with this one is listed with a licence that fits; the lowest versions are tested."""

from __future__ import annotations

import importlib.util
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from support.needs import ROOT

FITTING = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
    "CNRI-Python", "ISC", "MIT", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
"""Licences of packages that a program under Apache-2.0 may need, and be given away with."""


@pytest.fixture(scope="module")
def dependencies():
    path = ROOT / "docs" / "dependencies.py"
    specification = importlib.util.spec_from_file_location("dependencies", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def listed():
    """The rows of the page: name, versions, licence, what for."""
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    return [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| package")]


def pinned(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines if "==" in line}


def test_every_package_that_is_installed_is_listed(dependencies):
    rows = dependencies.rows()
    assert len(rows) > 50
    assert not set(rows) - set(listed()), "python docs/dependencies.py writes the page anew"


def test_nothing_else_is_listed():
    names = {row.split(" | ")[0].removeprefix("| ") for row in listed()}
    assert names <= pinned("constraints.txt").keys()


def test_every_licence_fits():
    for row in listed():
        licence = row.split("|")[3].strip()
        assert set(re.split(" AND | OR ", licence)) <= FITTING, row


def test_lowest_versions_are_the_bounds_of_the_project(dependencies):
    asked = [one for group in dependencies.extras().values() for one in group]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = map(Requirement, project["optional-dependencies"]["dev"])
    asked += [one for one in tools if one.name == "polars"]  # whose frames are used where they are
    bounds = {
        canonicalize_name(one.name): Version(part.version)
        for one in asked
        for part in one.specifier
        if part.operator == ">="
    }
    assert bounds.keys() == {canonicalize_name(one.name) for one in asked}
    assert {name: Version(version) for name, version in pinned("constraints-lowest.txt").items()} == bounds


def test_development_uses_versions_that_the_project_allows(dependencies):
    versions = pinned("constraints.txt")
    for group in dependencies.extras().values():
        for one in group:
            assert one.specifier.contains(versions[canonicalize_name(one.name)]), one
