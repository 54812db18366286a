"""What computing outputs of any kind shares: nested lists, numbers by groups, and the words for numbers that records do not have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.masking import HIDDEN
from ..crossing import Crossing
from ..printing import WITHHELD, Printer

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


def boxed(cells: Sequence[Any]) -> NDArray[np.object_]:
    """Return entries, lists among them or not, as an array of one axis."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def nested(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as nested ones; the entry itself for no axes."""
    return boxed(flat).reshape(shape).tolist()


def is_gone(printer: Printer, n: int) -> bool:
    """Return whether all numbers of a group of so many records are withheld."""
    return printer.few(n) or (printer.suppresses and not n)


def printed_groups(
    groups: Iterable[tuple[int, Sequence[float]]],
    names: Sequence[str],
    cells: Crossing,
    printer: Printer,
    part: str,
    *,
    key: str = "values",
    lack: str = "has no records",
) -> list[list[Any]]:
    """Return the numbers of each group of records as printed, withheld where there are few of them.

    `groups` are how many records each has and its numbers, nan where it has none: InputError, the group called so and what it lacks, in an
    output that withholds nothing. `names` are those of all numbers, group by group.
    """
    name, rows = iter(names), []
    for group, (n, values) in enumerate(groups):
        if not printer.suppresses and any(math.isnan(value) for value in values):
            raise no_estimate(printer.name, part, f"{called(cells, group)} {lack}")
        row = []
        for value in values:
            own = next(name)
            gone = is_gone(printer, n) or own in printer.withheld or math.isnan(value)
            row.append(WITHHELD if gone else printer.number(value, key, own))
        rows.append(row)
    return rows
