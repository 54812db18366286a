"""What compiling outputs of any kind into equations shares: a column's numbers, one group of a cross, a column cut into parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..columns import Floats
from ..crossing import Crossing, Frame, Step, table_of_counts
from ..equations import Output, Terms
from ..where import Filter

Grid = Mapping[int, NDArray[Any]]


def by_code(position: int, numbers: Floats) -> tuple[tuple[int], Callable[[Grid], Floats]]:
    """Return a number for each level of a column as `sums_by_cell` takes it: the column, and the function of a grid of codes."""
    return (position,), lambda grid: numbers[grid[position]]


def middle(values: Floats) -> float:
    """Return a round number in the middle: sums of squares around it lose no digits."""
    return float(np.round(values.mean()))


def least_step(values: Floats) -> float:
    """Return the smallest difference of two values; 1 where there is one value only."""
    return float(np.diff(values).min(initial=np.inf)) if len(values) > 1 else 1.0


def only(group: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the groups of a column's levels with one of them left, as the first."""
    return np.where(group == number, 0, -1).astype(np.int64)


def placed(terms: Terms, equations: Sequence[int]) -> Terms:
    """Return terms with their equations 0, 1, ... put elsewhere."""
    return replace(terms, equations=np.array(equations, dtype=np.int64)[terms.equations])


@dataclass(frozen=True, eq=False)
class GroupOfRecords:
    """One group of a cross, within a filter, and a column of numbers that says something of it."""

    name: str
    frame: Frame
    position: int
    steps: tuple[Step, ...]
    within: Filter

    @property
    def values(self) -> Floats:
        """The column's numbers."""
        return self.frame.fields.every[self.position].values

    def cut(
        self,
        name: str,
        of: NDArray[Any],
        lo: Sequence[Any],
        hi: Sequence[Any],
        *,
        more: Sequence[Step] = (),
        fault: str,
    ) -> Output:
        """Return how many records have values in each part of the column; `fault` for parts without values that must have some."""
        parts = np.unique(of)
        if any(least > 0 for part, least in enumerate(lo) if part not in parts):
            raise InputError(fault)
        step = (self.position, np.searchsorted(parts, of).astype(np.int64))
        low, high = (np.array([bound[part] for part in parts]) for bound in (lo, hi))
        return table_of_counts(name, self.frame, [step, *more, *self.steps], self.within, low, high)


def groups_of(
    names: Sequence[str], frame: Frame, position: int, cells: Crossing, within: Filter
) -> list[GroupOfRecords]:
    """Return the groups of a cross, one by one, called by some names."""
    groups = []
    for name, place in zip(names, np.ndindex(cells.shape), strict=True):
        steps = tuple((p, only(group, k)) for (p, group), k in zip(cells.steps, place, strict=True))
        groups.append(GroupOfRecords(name, frame, position, steps, within))
    return groups
