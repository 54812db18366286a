"""Files of outputs as they stand: TOML, or JSON with the same keys, of a bounded size."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from .._base.errors import InputError
from .._base.safe_files import read_small

__all__ = ["read_document"]

MOST_BYTES = 64 << 20


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file of outputs holds, TOML or JSON, as it stands there."""
    file = Path(path)
    text = read_small(
        file,
        what="description of outputs",
        most=MOST_BYTES,
        next_step="Name a TOML or JSON file that describes the outputs.",
    )
    is_json = text.lstrip().startswith("{")
    try:
        data = json.loads(text, parse_constant=_no_constant) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["cannot be parsed"])[0].rstrip(".")
        raise InputError(f"'{file}' is not valid {'JSON' if is_json else 'TOML'}: {reason}.") from None
    assert isinstance(data, dict)
    return data


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")
