"""Tables: counts and percentages, exact, suppressed, rounded or banded, with or without margins; histograms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.errors import InputError
from ..columns import Floats
from ..equations import Output, SumSystem
from ..precision import Rounding, count_interval, share_interval, within_share
from ..where import Filter
from .base import Cells, Frame, OutputSpec, Step, Whole, crossed, shaped, sums_by_cell, table_of_counts

__all__ = ["Counted", "HistogramSpec", "Shares", "TableSpec"]

TOTAL = "All"
"""What the margins of a table are called, as pandas does."""


class Counted(OutputSpec):
    """What outputs with counts share: how counts were withheld or rounded.

    Parameters
    ----------
    threshold
        Counts below it were withheld: such cells, null or "x" in the file, have 1 to threshold - 1 records.
    suppressed_zeros
        Whether zeros were withheld too.
    base, rounding
        What counts were rounded to, and how: `nearest`, `down`, `up`, or `random` (either neighbour).
    """

    threshold: Annotated[int, Key(ge=1)] | None = None
    suppressed_zeros: bool = False
    base: Annotated[int, Key(ge=1)] = 1
    rounding: Rounding = "nearest"

    def bounds(self, cells: NDArray[np.object_], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and largest count of each cell."""
        both = [
            count_interval(
                cell,
                most=most,
                threshold=self.threshold,
                suppressed_zeros=self.suppressed_zeros,
                base=self.base,
                rounding=self.rounding,
                what=f"Output '{self.name}': a count",
            )
            for cell in cells.ravel()
        ]
        lo, hi = np.array(both, dtype=np.int64).reshape(-1, 2).T
        return lo, hi


class TableSpec(Counted):
    """A table of counts, or of percentages.

    Parameters
    ----------
    by
        The columns that are crossed.
    groups
        Bands of columns; see `base.crossed`.
    counts, cells
        Counts as nested lists, or by names such as "m|rented"; cells that are not named have count 0.
    percentages
        What the numbers are percentages of, instead of counts: `all`, `rows` (each group of the first column adds up to 100) or
        `columns` (each of the last).
    values
        Percentages, in either form.
    totals
        The number of records behind each row's (or column's) percentages, if published.
    margins
        Whether lists have one more entry along each column, its total (named "All").
    """

    KINDS: ClassVar[tuple[str, ...]] = ("table",)

    kind: Literal["table"] = "table"
    by: Annotated[list[str], Key(min_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    counts: list[Any] | None = None
    cells: dict[str, Any] | None = None
    percentages: Literal["all", "rows", "columns"] | None = None
    values: list[Any] | dict[str, Any] | None = None
    totals: list[Any] | None = None
    margins: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are crossed."""
        return tuple(self.by)

    def crossing(self, frame: Frame) -> Cells:
        """Return the cells."""
        return crossed(self.by, self.groups, frame.fields, output=self.name)

    def given(self, frame: Frame) -> NDArray[np.object_]:
        """Return the numbers as printed, with an axis for each column, margins included."""
        sources = [source for source in (self.counts, self.cells, self.values) if source is not None]
        if len(sources) != 1 or (self.values is not None) != (self.percentages is not None):
            raise InputError(
                f'Output \'{self.name}\' must have counts, or cells, or values with percentages = "all", "rows" or "columns": one of them.'
            )
        cells = self.crossing(frame)
        absent = 0 if self.cells is not None or (self.percentages and not self.margins) else None
        return shaped(
            sources[0], cells, what=f"Output '{self.name}'", absent=absent, total=TOTAL if self.margins else None
        )

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the table, and a table for each of its margins."""
        cells, kept = self.crossing(frame), self.filter(frame)
        if self.percentages is not None:
            return (*self._shares(frame, cells, kept), *self.n_equations(frame))
        if self.totals is not None:
            raise InputError(
                f"Output '{self.name}' has totals, which belong to percentages. For counts use margins = true."
            )
        given = self.given(frame)
        if not self.margins:
            lo, hi = self.bounds(given, frame.rows)
            return (table_of_counts(self.name, frame, cells.steps, kept, lo, hi), *self.n_equations(frame))
        made: list[Output] = []
        for summed in product((False, True), repeat=len(self.by)):
            part = given[tuple(slice(-1, None) if out else slice(None, -1) for out in summed)]
            lo, hi = self.bounds(part, frame.rows)
            steps = [step for step, out in zip(cells.steps, summed, strict=True) if not out]
            left = [name for name, out in zip(self.by, summed, strict=True) if not out]
            name = self.name if not any(summed) else f"{self.name}: {' by '.join(left) or 'all'}"
            # Total over a column with groups: over the levels that are in a group.
            whole = [
                _inside(step) for step, out in zip(cells.steps, summed, strict=True) if out and (step[1] < 0).any()
            ]
            made.append(table_of_counts(name, frame, [*steps, *whole], kept, lo, hi))
        return (*made, *self.n_equations(frame))

    def _shares(self, frame: Frame, cells: Cells, kept: Filter) -> tuple[Output, ...]:
        if self.margins:
            raise InputError(
                f"Output '{self.name}': percentages cannot have margins. Leave out the 100s; give totals instead."
            )
        what = f"Output '{self.name}': a percentage"
        shares = [share_interval(cell, decimals=self.decimals, what=what) for cell in self.given(frame).ravel()]
        axis = {"all": None, "rows": 0, "columns": len(self.by) - 1}[self.percentages or "all"]
        whole = np.zeros(cells.shape, dtype=np.int64) if axis is None else np.indices(cells.shape)[axis]
        extra: tuple[Output, ...] = ()
        totals: list[int] | None = None
        if axis is None:
            n = self.known_n(frame)
            totals = None if n is None or any((group < 0).any() for _, group in cells.steps) else [n]
        elif self.totals is not None:
            if len(self.totals) != cells.shape[axis]:
                raise InputError(f"Output '{self.name}' must have {cells.shape[axis]} totals. Got {len(self.totals)}.")
            lo, hi = self.bounds(np.array(self.totals, dtype=object), frame.rows)
            # Exact within the table's columns: the others add nothing, unless some of their levels are in no group.
            others = [_inside(step) for k, step in enumerate(cells.steps) if k != axis and (step[1] < 0).any()]
            extra = (table_of_counts(f"{self.name}: totals", frame, [cells.steps[axis], *others], kept, lo, hi),)
            totals = lo.tolist() if (lo == hi).all() else None
        if totals is None:
            reading = Shares(whole.ravel(), [k for k, share in enumerate(shares) if share is not None])
            if not reading.cells:
                return extra
            bounds = np.array([share for share in shares if share is not None])
            terms = sums_by_cell(frame, cells, ())
            system = SumSystem(
                self.name, cells.size, (terms,), bounds[:, 0], bounds[:, 1], keep=kept.keep(), reported=reading
            )
            return (system, *extra)
        ends = [
            (0, totals[k]) if share is None else within_share(share, totals[k], what=what)
            for share, k in zip(shares, whole.ravel(), strict=True)
        ]
        lo, hi = np.array(ends, dtype=np.int64).T
        return (table_of_counts(self.name, frame, cells.steps, kept, lo, hi), *extra)


def _inside(step: Step) -> Step:
    return step[0], np.where(step[1] < 0, -1, 0).astype(np.int64)


class Shares:
    """Counts as shares of the total of the row, column or table that they stand in, with derivatives."""

    def __init__(self, whole: NDArray[np.int64], cells: Sequence[int]) -> None:
        self.whole, self.cells = whole, list(cells)

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the shares of the published cells, and their derivatives by all counts."""
        total = np.maximum(np.bincount(self.whole, weights=sums)[self.whole], 1.0)
        share = sums / total
        same = self.whole[:, None] == self.whole[None, :]
        slope = (np.eye(len(sums)) - share[:, None] * same) / total[:, None]
        return share[self.cells], slope[self.cells]


class HistogramSpec(Counted):
    """A histogram: counts between edges, each bin with its lower edge and without its upper one, the last with both (as numpy)."""

    KINDS: ClassVar[tuple[str, ...]] = ("histogram",)

    kind: Literal["histogram"] = "histogram"
    of: str
    edges: Annotated[list[float], Key(min_length=2)]
    counts: list[Any]
    n: Whole | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.of,)

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the bins as a table."""
        position, edges = frame.fields.position(self.of), np.array(self.edges, dtype=float)
        if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise InputError(f"Output '{self.name}': the edges of a histogram must rise.")
        if len(self.counts) != len(edges) - 1:
            raise InputError(
                f"Output '{self.name}' has {len(edges)} edges, so it needs {len(edges) - 1} counts. Got {len(self.counts)}."
            )
        values = frame.fields.every[position].values
        group = np.searchsorted(edges, values, side="right") - 1
        group[values == edges[-1]] = len(edges) - 2
        group[(values < edges[0]) | (values > edges[-1])] = -1
        lo, hi = self.bounds(np.array([*self.counts, None], dtype=object)[:-1], frame.rows)
        last = len(edges) - 2
        if group.max() < last:  # bins beyond the column's values
            if (lo[group.max() + 1 :] > 0).any():
                raise InputError(f"Output '{self.name}' counts records beyond the values of column '{self.of}'.")
            lo, hi = lo[: group.max() + 1], hi[: group.max() + 1]
        table = table_of_counts(self.name, frame, [(position, group.astype(np.int64))], self.filter(frame), lo, hi)
        return (table, *self.n_equations(frame))
