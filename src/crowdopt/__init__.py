"""Globally optimal answers from crowds that disagree."""

from crowdopt._version import __version__

__all__ = ["__version__"]
