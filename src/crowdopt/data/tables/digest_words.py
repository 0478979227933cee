"""The numbers that the digest of a response is summed as, wherever SQL is asked; see ``data/fingerprint.py``."""

from __future__ import annotations

DIGITS = 15
"""Hexadecimal digits of a number: 60 bits, which fit into the integers of every database."""

WORDS = {"high": 1, "low": 1 + DIGITS}
"""The numbers, and the digit of a SHA-256 that each begins at, counted from one."""
