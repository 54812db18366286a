"""JSON from a stranger: what is not exactly JSON is refused."""

from __future__ import annotations

import json
from typing import Any

from ..._base.errors import FileError

__all__ = ["strict_json"]


def strict_json(text: str | bytes, *, name: str) -> Any:
    """Return what a JSON text says; raise for NaN, keys that come twice, numbers beyond all bounds and nesting without end."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError, MemoryError):  # a UnicodeDecodeError is a ValueError too
        raise FileError(f"'{name}' is not sound JSON: it is damaged, truncated or not what it claims to be.") from None


def _no_constant(word: str) -> Any:
    raise ValueError("NaN and infinity are not JSON")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key comes twice")
    return out
