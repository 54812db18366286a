"""From a parsed output to recipes over the columns of the data: which columns, filter and records it is of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._base.errors import InputError
from ..document import Outputs, recipes_of
from ..domain import Fields


def place_candidates(candidates: Iterable[list[dict[str, Any]]], fields: Fields) -> Outputs:
    """Return the first of some ways to say an output that the columns of data allow, each compiled once; InputError, that of the last, where none does."""
    fault = InputError("it has no recipe")
    for entries in candidates:
        try:
            return recipes_of(entries, fields)
        except InputError as error:
            fault = error
    raise fault
