"""What computing outputs of any kind shares: nested lists, and the words for numbers that records do not have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._base.errors import InputError
from ..._base.masking import HIDDEN
from ..crossing import Crossing
from ..printing import WITHHELD

__all__ = ["called", "check_some", "nested", "no_estimate"]

NEXT = "Merge levels, leave them out by a filter, give this part a larger share of the records, or split with another seed."


def no_estimate(output: str, part: str, why: str) -> InputError:
    """Return the error for an output whose numbers these records do not have; `part` is what the records are."""
    return InputError(f"Output '{output}' cannot be computed on {part}: {why}. {NEXT}")


def check_some(printed: Iterable[Any], output: str, part: str) -> None:
    """Raise InputError where every number is withheld."""
    if all(number == WITHHELD for number in printed):
        raise no_estimate(output, part, "every one of its numbers would be withheld")


def called(cells: Crossing, cell: int) -> str:
    """Return a cell as messages may call it."""
    name = cells.safe_cell(cell)
    return "the output" if not name else "a cell" if name == HIDDEN else f"cell '{name}'"


def nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as nested ones; the entry itself for no axes."""
    boxed = np.empty(len(flat), dtype=object)
    boxed[:] = flat
    return boxed.reshape(shape).tolist()
