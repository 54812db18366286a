"""Tables and histograms: counts and percentages, exact, suppressed, rounded or banded, with or without margins; counts between edges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..cells import (
    TOTAL,
    Crossing,
    Frame,
    cell_names,
    column_numbers,
    crosstab,
    shaped,
    sums_by_cell,
    table_of_counts,
    with_margins,
)
from ..domain import Fields, Floats, Ints
from ..equations import Output
from ..filters import Filter
from ..numbers import (
    WITHHELD,
    Number,
    Printer,
    Rounding,
    count_interval,
    count_number,
    share_interval,
    within_share,
)
from ..rules.cell_counts import COUNT, CellCounter, CellCounts, summed
from ..rules.evidence import HistogramEnds, TableCells
from .base import KINDS, Kind, OutputSpec, PrintedNumbers, Sample, boxed, check_some, nested

MOST_MARGINS = 16
"""The margins of a table without withheld cells follow from its cells; with more than this only the one-way ones are made at once, and others
where another output has the same columns."""


class Counted(OutputSpec):
    """Outputs with counts: those below a threshold may be withheld (null or "x" in the file), all may be rounded to a base."""

    PRINTING: ClassVar[tuple[str, ...]] = ("digits", "bands", "withheld")

    threshold: Annotated[int, Key(ge=1)] | None = None
    suppressed_zeros: bool = False
    base: Annotated[int, Key(ge=1)] = 1
    rounding: Rounding = "nearest"

    @property
    def printer(self) -> Printer:
        """How it prints its numbers."""
        return replace(super().printer, base=self.base, rounding=self.rounding)

    def bounds(
        self, cells: Sequence[Any] | NDArray[np.object_], most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and largest count of each cell."""
        how: dict[str, Any] = {
            key: getattr(self, key) for key in ("threshold", "suppressed_zeros", "base", "rounding")
        }
        what, flat = (
            f"Output '{self.name}': a count",
            cells.ravel() if isinstance(cells, np.ndarray) else cells,
        )
        ends = [count_interval(cell, most=most, what=what, **how) for cell in flat]
        lo, hi = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        return lo, hi

    def count_numbers(
        self,
        names: Iterable[str],
        printed: Sequence[Any] | NDArray[np.object_],
        counts: Iterable[Any],
        rows: int,
    ) -> Iterator[Number]:
        """Give counts as printed beside those of the records."""
        return map(count_number, names, *self.bounds(printed, rows), counts)

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the cells."""
        yield TableCells(tallies, self.NOUN)


class TableSpec(Counted):
    """A table of counts, or of percentages of `all`, of each of the `rows` (groups of the first column) or `columns` (of the last)."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("counts", "cells", "values", "totals")
    BESIDE: ClassVar[tuple[str, ...]] = ("totals", "n")
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("by",)

    kind: Literal["table"] = "table"
    by: Annotated[list[str], Key(min_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    counts: list[Any] | None = None
    cells: dict[str, Any] | None = None
    percentages: Literal["all", "rows", "columns"] | None = None
    values: list[Any] | dict[str, Any] | None = None
    totals: list[Any] | None = None
    margins: bool = False

    def printed_cells(self, frame: Frame) -> NDArray[np.object_]:
        """Return the numbers as printed, with an axis for each column, margins included."""
        sources = [
            source for source in (self.counts, self.cells, self.values) if source is not None
        ]
        if len(sources) != 1 or (self.values is not None) != (self.percentages is not None):
            raise self.fault(
                ' must have counts, or cells, or values with percentages = "all", "rows" or "columns": one of them.'
            )
        cells = self.crossing(frame)
        absent = 0 if self.cells is not None or (self.percentages and not self.margins) else None
        return shaped(
            sources[0],
            cells,
            what=f"Output '{self.name}'",
            absent=absent,
            total=TOTAL if self.margins else None,
        )

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the table, and a table for each of its margins."""
        cells, within = self.crossing(frame), self.filter(frame)
        if self.percentages is not None:
            return (*self._shares(frame, cells, within), *self.n_equations(frame))
        if self.totals is not None:
            raise self.fault(
                " has totals, which belong to percentages. For counts use margins = true."
            )
        printed = self.printed_cells(frame)
        if not self.margins:
            lo, hi = self.bounds(printed, frame.rows)
            return (
                table_of_counts(self.name, frame, cells.steps, within, lo, hi),
                *self.n_equations(frame),
            )
        tables: list[Output] = []
        for out in product((False, True), repeat=len(self.by)):
            lo, hi = self.bounds(printed[_part(out)], frame.rows)
            name = (
                f"{self.name}: {' by '.join(self._left(out)) or 'all'}" if any(out) else self.name
            )
            tables.append(table_of_counts(name, frame, summed(cells, out).steps, within, lo, hi))
        return (*tables, *self.n_equations(frame))

    def _left(self, out: tuple[bool, ...]) -> list[str]:
        """The columns of a margin: those that are not summed out."""
        return [name for name, gone in zip(self.by, out, strict=True) if not gone]

    def _shares(self, frame: Frame, cells: Crossing, within: Filter) -> tuple[Output, ...]:
        if self.margins:
            raise self.fault(
                ": percentages cannot have margins. Leave out the 100s; give totals instead."
            )
        what = f"Output '{self.name}': a percentage"
        shares = [
            share_interval(cell, decimals=self.decimals, what=what)
            for cell in self.printed_cells(frame).ravel()
        ]
        axis = self.whole_axis
        whole = (
            np.zeros(cells.shape, dtype=np.int64) if axis is None else np.indices(cells.shape)[axis]
        )
        extra: tuple[Output, ...] = ()
        totals: list[int] | None = None
        if axis is None:
            n = self.known_n(frame)
            totals = (
                None if n is None or any((group < 0).any() for _, group in cells.steps) else [n]
            )
        elif self.totals is not None:
            if len(self.totals) != cells.shape[axis]:
                raise self.fault(f" must have {cells.shape[axis]} totals. Got {len(self.totals)}.")
            lo, hi = self.bounds(self.totals, frame.rows)
            # Exact within the table's columns: the others add nothing, unless some of their levels are in no group.
            steps = summed(cells, self._other_axes).steps
            extra = (table_of_counts(f"{self.name}: totals", frame, steps, within, lo, hi),)
            totals = lo.tolist() if (lo == hi).all() else None
        if totals is None:
            reading = TableShares(
                whole.ravel(), [k for k, share in enumerate(shares) if share is not None]
            )
            if not reading.cells:
                return extra
            known = [share for share in shares if share is not None]
            system = self.sum_system(
                frame, cells.size, [sums_by_cell(frame, cells, ())], known, reading
            )
            return (system, *extra)
        ends = [
            (0, totals[k])
            if share is None
            else within_share(share, totals[k], what=what, threshold=frame.threshold)
            for share, k in zip(shares, whole.ravel(), strict=True)
        ]
        lo, hi = np.array(ends, dtype=np.int64).T
        return (table_of_counts(self.name, frame, cells.steps, within, lo, hi), *extra)

    @property
    def whole_axis(self) -> int | None:
        """The axis whose groups have percentages that add up to 100; None where the whole table has."""
        return {"all": None, "rows": 0, "columns": len(self.by) - 1}[self.percentages or "all"]

    @property
    def _other_axes(self) -> tuple[bool, ...]:
        """Which columns are summed out of the totals."""
        return tuple(axis != self.whole_axis for axis in range(len(self.by)))

    def filled(self, frame: Frame) -> Self:
        return self.changed(values={}) if self.percentages is not None else self.changed(cells={})

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give counts or percentages, and totals."""
        if any(part is not None for part in (self.counts, self.cells, self.values)):
            key, names = "counts" if self.percentages is None else "values", self.crossing(frame)
            cells = self.printed_cells(frame).ravel().tolist()
            yield PrintedNumbers(
                key, cell_names(names, margins=self.margins), cells, self.percentages is None
            )
        if self.totals is not None:
            yield PrintedNumbers(
                "totals", [f"total {k}" for k in range(len(self.totals))], self.totals, True
            )

    def shares(self, counts: Ints) -> tuple[Floats, Ints, Ints]:
        """Return percentages, the count that each is out of, and the totals by group of the axis (of the table: one).

        A row, or column, without records has percentages of 0.
        """
        over = tuple(k for k in range(counts.ndim) if k != self.whole_axis)
        whole = np.broadcast_to(counts.sum(axis=over, keepdims=True), counts.shape)
        return 100.0 * (counts / np.maximum(whole, 1)), whole, np.atleast_1d(counts.sum(axis=over))

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return counts; or percentages, and their totals if these are published."""
        cells = self.crossing(sample.frame)
        counts = crosstab(cells, sample.inside)
        if self.percentages is None:
            counts = with_margins(counts) if self.margins else counts
            names = cell_names(cells, margins=self.margins)
            return {"counts": nested(printer.counts(counts.ravel(), names), counts.shape)}
        percentages, _, totals = self.shares(counts)
        printed = [
            WITHHELD
            if name in printer.withheld or printer.few(int(count))
            else printer.number(share, "values", name)
            for name, count, share in zip(
                cell_names(cells), counts.ravel(), percentages.ravel(), strict=True
            )
        ]
        check_some(printed, self.name, part)
        numbers = {"values": nested(printed, counts.shape)}
        if self.publishes("totals") and self.whole_axis is not None:
            numbers["totals"] = printer.counts(totals, [f"total {k}" for k in range(len(totals))])
        return numbers

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give counts, or percentages and totals, beside those of the records."""
        cells, rows = self.crossing(sample.frame), sample.frame.rows
        counts, printed = crosstab(cells, sample.inside), self.printed_cells(sample.frame).ravel()
        if self.percentages is None:
            counts = with_margins(counts) if self.margins else counts
            yield from self.count_numbers(
                cell_names(cells, margins=self.margins), printed, counts.ravel(), rows
            )
            return
        percentages, whole, totals = self.shares(counts)
        for name, cell, percentage, out_of in zip(
            cell_names(cells), printed, percentages.ravel(), whole.ravel(), strict=True
        ):
            interval = share_interval(cell, decimals=self.decimals)
            if interval is not None:
                share = percentage / 100.0
                error = 100.0 * math.sqrt(max(share * (1 - share), 1e-12) / max(int(out_of), 1))
                yield Number(
                    name, 100.0 * interval.lo, 100.0 * interval.hi, float(percentage), error
                )
        if self.totals is not None and self.whole_axis is not None:
            names = [f"total {name}" for name in cells.names[self.whole_axis]]
            yield from self.count_numbers(names, self.totals, totals, rows)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return cells, margins that are printed or follow, and n."""
        cells = self.crossing(counter.frame)
        if self.percentages:
            return self._share_tallies(counter, cells)
        source = self.counts if self.counts is not None else self.cells
        names = tuple((*some, TOTAL) for some in cells.names) if self.margins else cells.names
        printed = counter.marked(names)
        if source is not None:
            absent = 0 if isinstance(source, Mapping) else None
            total = TOTAL if self.margins else None
            printed = shaped(
                source, cells, what=f"Output '{self.name}'", absent=absent, total=total
            )
        tallies: list[CellCounts] = []
        for out in product((False, True), repeat=len(cells.steps)):
            left = self._left(out)
            what = (
                "cells" if not any(out) else f"total by {' and '.join(left)}" if left else "total"
            )
            if not any(out) or self.margins:
                part = printed[_part(out)] if printed is not None and self.margins else printed
                tallies.append(counter.counts(what, summed(cells, out), part))
            elif tallies[0].is_exact and (2 ** len(out) <= MOST_MARGINS or len(left) <= 1):
                tallies.append(
                    counter.tally(what, summed(cells, out), quantities=[COUNT], implied=True)
                )
        if not self.margins and tallies[0].is_exact and 2 ** len(cells.steps) > MOST_MARGINS:
            tallies[0] = replace(tallies[0], more_margins=True)
        return [*tallies, *counter.n()]

    def _share_tallies(self, counter: CellCounter, cells: Crossing) -> list[CellCounts]:
        axis, printed = self.whole_axis, counter.marked(cells.names)
        if self.values is not None:
            printed = shaped(self.values, cells, what=f"Output '{self.name}'", absent=0)
        shown = counter.numbers_shown(printed)
        counted = self.publishes("totals") or (
            axis is None and (self.publishes("n") or not counter.filter.masks)
        )
        table = counter.tally("cells", cells, shown=shown, quantities=[COUNT] if counted else [])
        if counted and self.decimals is not None:
            over = tuple(k for k in range(len(cells.steps)) if k != axis)
            most = int(table.counts.reshape(cells.shape).sum(axis=over).max())
            table = replace(table, width=int(10.0**-self.decimals / 100.0 * most))
        tallies = [table]
        if axis is not None and self.publishes("totals"):
            totals = None if self.totals is None else boxed(self.totals)
            tallies.append(counter.counts("totals", summed(cells, self._other_axes), totals))
        return [*tallies, *counter.n()]


def _part(out: tuple[bool, ...]) -> tuple[slice, ...]:
    """Where a margin stands among numbers with totals as the last along each axis."""
    return tuple(slice(-1, None) if gone else slice(None, -1) for gone in out)


class TableShares:
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


KINDS.register(Kind("table", TableSpec, "Frequencies", "counts or percentages of columns crossed"))


class HistogramSpec(Counted):
    """A histogram: counts between edges, each bin with its lower edge and without its upper one, the last with both (as numpy)."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("counts",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("counts",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("of",)

    kind: Literal["histogram"] = "histogram"
    of: str
    edges: Annotated[list[float], Key(min_length=2)]
    counts: list[Any] | None = None

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the bins as a table."""
        edges, counts = np.array(self.edges, dtype=float), self.counts or []
        if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise self.fault(": the edges of a histogram must rise.")
        if len(counts) != len(edges) - 1:
            raise self.fault(
                f" has {len(edges)} edges, so it needs {len(edges) - 1} counts. Got {len(counts)}."
            )
        ((position, group),) = self.bins(frame.fields).steps
        lo, hi = self.bounds(counts, frame.rows)
        last = int(group.max())
        if last < len(edges) - 2:  # bins beyond the column's values
            if (lo[last + 1 :] > 0).any():
                raise self.fault(f" counts records beyond the values of column '{self.of}'.")
            lo, hi = lo[: last + 1], hi[: last + 1]
        table = table_of_counts(self.name, frame, [(position, group)], self.filter(frame), lo, hi)
        return (table, *self.n_equations(frame))

    def bins(self, fields: Fields) -> Crossing:
        """Return the bins as cells, called "16 to 20"."""
        position, edges = fields.position(self.of), np.array(self.edges, dtype=float)
        values = fields.every[position].values
        group = np.searchsorted(edges, values, side="right") - 1
        group[values == edges[-1]] = len(edges) - 2
        group[(values < edges[0]) | (values > edges[-1])] = -1
        names = tuple(f"{a:g} to {b:g}" for a, b in pairwise(self.edges))
        return Crossing(((position, group.astype(np.int64)),), (names,))

    def filled(self, frame: Frame) -> Self:
        return self.changed(counts=[0] * (len(self.edges) - 1))

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give the counts."""
        if self.counts and len(self.counts) == len(self.edges) - 1:
            yield PrintedNumbers(
                "counts", list(self.bins(frame.fields).names[0]), self.counts, True
            )

    def _counts(self, sample: Sample) -> Any:
        numbers = column_numbers(self.of, sample.fields, sample.inside)
        return np.histogram(numbers, bins=np.array(self.edges, dtype=float))[0]

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the counts."""
        return {"counts": printer.counts(self._counts(sample), self.bins(sample.fields).names[0])}

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the counts beside those of the records."""
        names = self.bins(sample.fields).names[0]
        return self.count_numbers(names, self.counts or [], self._counts(sample), sample.frame.rows)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return bins, the total that follows, and n."""
        cells = self.bins(counter.fields)
        printed = counter.marked(cells.names) if self.counts is None else boxed(self.counts)
        tallies = [counter.counts("cells", cells, printed)]
        if tallies[0].is_exact:
            tallies.append(
                counter.tally("total", summed(cells, (True,)), quantities=[COUNT], implied=True)
            )
        return [*tallies, *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the bins, and the ends that are the smallest or largest value there is."""
        values = column_numbers(self.of, counter.fields, counter.inside)
        yield from super().evidence(tallies, counter)
        ends = {"the first edge": self.edges[0], "the last edge": self.edges[-1]}
        extremes = values.min(initial=np.inf), values.max(initial=-np.inf)
        yield HistogramEnds(
            {
                name: int((values == extreme).sum())
                for (name, end), extreme in zip(ends.items(), extremes, strict=True)
                if len(values) and float(end) == float(extreme)
            }
        )


KINDS.register(Kind("histogram", HistogramSpec, "Frequencies", "counts between edges"))
