"""How loops are compiled: once, and kept in the user's cache folder. Imported only where loops are worth a compiler."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

if TYPE_CHECKING:
    from collections.abc import Callable


def _cache_folder() -> Path | None:
    """A folder that compiled code can be kept in, or None where there is none."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = Path(base).expanduser() / "crowdopt"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


_FOLDER = _cache_folder()


def compiled(function: Callable[..., Any], **settings: Any) -> Any:
    """The function, to be compiled, with Numba's settings, for the types it is first called with."""
    config: Any = numba.config
    before = config.CACHE_DIR  # which is for all functions that are compiled in this process
    if _FOLDER is not None:
        config.CACHE_DIR = str(_FOLDER)
    try:
        return numba.njit(cache=_FOLDER is not None, nogil=True, **settings)(function)
    finally:
        config.CACHE_DIR = before
