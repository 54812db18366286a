"""The cell of each combination of levels, tally by tally: what a published count is a count of, whoever is in the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .atoms import cells_of, used_columns
from .tallies import COUNT, Ints, OutputTally

MOST_COMBINATIONS = 300_000
"""Combinations of levels of one tally that are written out."""


@dataclass(frozen=True, eq=False)
class CellLookup:
    """`cells` has the cell of each combination of levels of `columns`, in C order of `shape`; -1 for none. `size` is how many cells there are."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    cells: Ints
    size: int

    @cached_property
    def strides(self) -> Ints:
        """How far apart two combinations are that differ by one level of a column."""
        return np.array(
            [
                int(np.prod(self.shape[place + 1 :], dtype=np.int64))
                for place in range(len(self.shape))
            ],
            dtype=np.int64,
        )

    def shares(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return, by cell and combination of levels of some of its columns, the share of the combinations of the other columns that are in the cell."""
        first = [self.columns.index(column) for column in columns]
        rest = [place for place in range(len(self.shape)) if place not in first]
        width = int(np.prod([self.shape[place] for place in first], dtype=np.int64))
        ordered = self.cells.reshape(self.shape).transpose([*first, *rest]).reshape(width, -1)
        at = np.where(ordered >= 0, ordered, self.size) * width + np.arange(width)[:, None]
        counted = np.bincount(at.reshape(-1), minlength=(self.size + 1) * width).reshape(
            self.size + 1, width
        )
        return np.asarray(counted[:-1] / ordered.shape[1])


def lookup_of(tally: OutputTally) -> CellLookup | None:
    """Return the cells of a tally by the levels of its columns; None where these are too many to write out."""
    columns = tuple(sorted(used_columns(tally)))
    shape = tuple(tally.sizes[column] for column in columns)
    if float(np.prod(shape, dtype=float)) > MOST_COMBINATIONS:
        return None
    places = (
        np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.int64)
    )
    grid = dict(zip(columns, places, strict=True))
    return CellLookup(
        columns, shape, cells_of(tally, grid, places.shape[1], tally.sizes), tally.size
    )


def counting(tallies: Sequence[OutputTally]) -> list[OutputTally]:
    """Return the tallies whose counts are known or withheld, without those that follow from another of the same output or say the same as one before."""
    chosen: dict[bytes, OutputTally] = {}
    for tally in tallies:
        if COUNT in tally.quantities and not (tally.implied and used_columns(tally)):
            chosen.setdefault(tally.said, tally)
    return list(chosen.values())
