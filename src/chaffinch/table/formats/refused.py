"""Files that are known, so that they can be refused in words: the first Feather, and pickles, which run code when opened."""

from __future__ import annotations

from .format import FORMATS, Format

__all__ = ["FEATHER1", "PICKLE"]

FEATHER1 = FORMATS.register(Format("feather1", magic=(b"FEA1",)))
PICKLE = FORMATS.register(Format("pickle", magic=(b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")))
