"""Memory that was freed and that allocators keep for later: given back to the system, so that the peak of a long run is that of its largest step."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from .progress import Progress


def giving_back(progress: Progress) -> Progress:
    """Return a `Progress` that gives memory back whenever something else is being done than before."""
    last = [""]

    def show(doing: str, share: float) -> None:
        if doing != last[0]:
            last[0] = doing
            give_memory_back()
        progress(doing, share)

    return show


def give_memory_back() -> None:
    """Return what Arrow's and C's allocators hold unused to the system, where they can; call it between steps that each take much."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    """The function of the C library that does it; None elsewhere than with glibc."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
