"""Files of outputs as they stand: TOML, or JSON with the same keys, of a bounded size."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from .._base.errors import FileError, InputError

__all__ = ["read_document"]

MOST_BYTES = 64 << 20


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file of outputs holds, TOML or JSON, as it stands there."""
    file = Path(path)
    try:
        raw = file.read_bytes() if file.stat().st_size <= MOST_BYTES else None
    except FileNotFoundError:
        raise FileError(f"No such file: '{file}'. Name a TOML or JSON file that describes the outputs.") from None
    except OSError as error:
        raise FileError(f"Cannot read '{file}': {error.strerror or 'the system refused'}.") from None
    if raw is None:
        raise FileError(f"'{file}' is over {MOST_BYTES >> 20} MiB: no description of outputs is that large.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"'{file}' is not UTF-8. Descriptions of outputs are.") from None
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
