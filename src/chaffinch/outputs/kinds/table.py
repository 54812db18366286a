"""Tables and histograms: counts and percentages, exact, suppressed, rounded or banded, with or without margins; counts between edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats, Ints
from ..cells import (
    TOTAL,
    CrossClassification,
    cell_array,
    cell_names,
    column_numbers,
    crosstab,
    sums_by_cell,
    table_of_counts,
    with_margins,
)
from ..domain import MAX_ROWS, OutputDomain
from ..equations import Output
from ..filters import Filter
from ..numbers import (
    Interval,
    Printer,
    Rounding,
    share_interval,
    within_share,
)
from ..rules.cell_counts import COUNT, CellCounter, CellCounts, sum_out
from ..rules.evidence import HistogramEnds, TableCells
from .base import (
    KINDS,
    Columns,
    Estimates,
    Kind,
    NumberBlock,
    OutputSpec,
    Sample,
    Statistic,
    Variable,
    object_array,
)

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

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the cells."""
        yield TableCells(tallies, self.unit_noun)


class TableSpec(Counted):
    """A table of counts, or of percentages of `all`, of each of the `rows` (groups of the first column) or `columns` (of the last)."""

    kind: Literal["table"] = "table"
    by: Annotated[Columns, Key(min_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    counts: Annotated[list[Any] | None, Statistic(presence="main")] = None
    cells: Annotated[dict[str, Any] | None, Statistic(presence="main")] = None
    percentages: Literal["all", "rows", "columns"] | None = None
    values: Annotated[list[Any] | dict[str, Any] | None, Statistic(presence="main")] = None
    totals: Annotated[list[Any] | None, Statistic()] = None
    margins: bool = False

    def printed_cells(self, domain: OutputDomain) -> NDArray[np.object_]:
        """Return the numbers as printed, with an axis for each column, margins included."""
        sources = [
            source for source in (self.counts, self.cells, self.values) if source is not None
        ]
        if len(sources) != 1 or (self.values is not None) != (self.percentages is not None):
            raise self.fault(
                ' must have counts, or cells, or values with percentages = "all", "rows" or "columns": one of them.'
            )
        cells = self.crossing(domain)
        absent = 0 if self.cells is not None or (self.percentages and not self.margins) else None
        return cell_array(
            sources[0],
            cells,
            what=f"Output '{self.name}'",
            absent=absent,
            total=TOTAL if self.margins else None,
        )

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the table, and a table for each of its margins."""
        cells, within = self.crossing(domain), self.filter(domain)
        if self.percentages is not None:
            return (*self._shares(domain, cells, within), *self.n_equations(domain))
        if self.totals is not None:
            raise self.fault(
                " has totals, which belong to percentages. For counts use margins = true."
            )
        printed = self.printed_cells(domain)
        tables: list[Output] = []
        for out in product((False, True) if self.margins else (False,), repeat=len(self.by)):
            lo, hi = self.bounds(self._margin(printed, out), domain.n_rows)
            name = (
                f"{self.name}: {' by '.join(self._remaining(out)) or 'all'}"
                if any(out)
                else self.name
            )
            tables.append(table_of_counts(name, domain, sum_out(cells, out).steps, within, lo, hi))
        return (*tables, *self.n_equations(domain))

    def _remaining(self, out: tuple[bool, ...]) -> list[str]:
        """The columns of a margin: those that are not summed out."""
        return [name for name, is_summed in zip(self.by, out, strict=True) if not is_summed]

    def _margin(self, printed: NDArray[Any], out: tuple[bool, ...]) -> NDArray[Any]:
        """The numbers of a margin among those with totals as the last along each axis; all of them where there are no totals."""
        slices = (slice(-1, None) if is_summed else slice(None, -1) for is_summed in out)
        return printed[tuple(slices)] if self.margins else printed

    def _shares(
        self, domain: OutputDomain, cells: CrossClassification, within: Filter
    ) -> tuple[Output, ...]:
        if self.margins:
            raise self.fault(
                ": percentages cannot have margins. Leave out the 100s; give totals instead."
            )
        what = f"Output '{self.name}': a percentage"
        shares = [
            share_interval(cell, decimals=self.decimals, what=what)
            for cell in self.printed_cells(domain).ravel()
        ]
        axis, total_index = self.whole_axis, numbers_of_wholes(cells.shape, self.percentages)
        extra: tuple[Output, ...] = ()
        totals: list[int] | None = None
        if axis is None:
            n = self.known_n(domain)
            totals = (
                None if n is None or any((group < 0).any() for _, group in cells.steps) else [n]
            )
        elif self.totals is not None:
            if len(self.totals) != cells.shape[axis]:
                raise self.fault(f" must have {cells.shape[axis]} totals. Got {len(self.totals)}.")
            lo, hi = self.bounds(self.totals, domain.n_rows)
            # Exact within the table's columns: the others add nothing, unless some of their levels are in no group.
            steps = sum_out(cells, self._other_axes).steps
            extra = (table_of_counts(f"{self.name}: totals", domain, steps, within, lo, hi),)
            totals = lo.tolist() if (lo == hi).all() else None
        if totals is None:
            reading = TableShares(
                total_index, [k for k, share in enumerate(shares) if share is not None]
            )
            if not reading.cells:
                return extra
            known = [share for share in shares if share is not None]
            system = self.sum_system(
                domain, cells.size, [sums_by_cell(domain, cells, ())], known, reading
            )
            return (system, *extra)
        ends = [
            (0, totals[k])
            if share is None
            else within_share(share, totals[k], what=what, threshold=domain.threshold)
            for share, k in zip(shares, total_index, strict=True)
        ]
        lo, hi = np.array(ends, dtype=np.int64).T
        return (table_of_counts(self.name, domain, cells.steps, within, lo, hi), *extra)

    @property
    def whole_axis(self) -> int | None:
        """The axis whose groups have percentages that add up to 100; None where the whole table has."""
        return whole_axis(len(self.by), self.percentages)

    @property
    def _other_axes(self) -> tuple[bool, ...]:
        """Which columns are summed out of the totals."""
        return tuple(axis != self.whole_axis for axis in range(len(self.by)))

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give counts or percentages, and totals."""
        cells, key = self.crossing(domain), "counts" if self.percentages is None else "values"
        names, numbers = cell_names(cells, margins=self.margins), list[Any]()
        if any(source is not None for source in (self.counts, self.cells, self.values)):
            numbers = self.printed_cells(domain).ravel().tolist()
        shape = tuple(size + self.margins for size in cells.shape)
        yield NumberBlock(key, names, numbers, "count" if key == "counts" else "number", shape)
        axis = self.whole_axis
        if self.publishes("totals") and (axis is not None or self.totals is not None):
            size = len(self.totals or ()) if axis is None else cells.shape[axis]
            called = () if axis is None else [f"total {name}" for name in cells.names[axis]]
            names = [f"total {k}" for k in range(size)]
            yield NumberBlock("totals", names, self.totals or (), "count", (size,), titles=called)

    def with_placeholder_values(self, domain: OutputDomain) -> Self:
        return self.changed(values={}) if self.percentages is not None else self.changed(cells={})

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return counts; or percentages, and their totals. A row, or column, without records has percentages of 0."""
        counts = crosstab(self.crossing(sample.domain), sample.inside)
        if self.percentages is None:
            return {"counts": Estimates((with_margins(counts) if self.margins else counts).ravel())}
        over = tuple(k for k in range(counts.ndim) if k != self.whole_axis)
        totals = np.maximum(counts.sum(axis=over, keepdims=True), 1)
        share = counts / totals
        units = 100.0 * np.sqrt(np.maximum(share * (1.0 - share), 1e-12) / totals)
        # An empty cell is few records only where zeros are withheld too.
        sizes = counts if self.suppressed_zeros else np.where(counts == 0, MAX_ROWS, counts)
        return {
            "values": Estimates((100.0 * share).ravel(), units.ravel(), sizes.ravel()),
            "totals": Estimates(np.atleast_1d(counts.sum(axis=over))),
        }

    def block_intervals(self, block: NumberBlock, rows: int) -> list[Interval | None]:
        """Return the interval of each number of a block, of percentages within 0 to 100."""
        if block.counted:
            return super().block_intervals(block, rows)
        shares = (share_interval(cell, decimals=self.decimals) for cell in block.numbers)
        return [
            None if share is None else Interval(100.0 * share.lo, 100.0 * share.hi)
            for share in shares
        ]

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return cells, margins that are printed or follow, and n."""
        cells = self.crossing(counter.domain)
        if self.percentages:
            return self._share_tallies(counter, cells)
        source = self.counts if self.counts is not None else self.cells
        names = tuple((*labels, TOTAL) for labels in cells.names) if self.margins else cells.names
        printed = counter.marked(names)
        if source is not None:
            absent = 0 if isinstance(source, Mapping) else None
            total = TOTAL if self.margins else None
            printed = cell_array(
                source, cells, what=f"Output '{self.name}'", absent=absent, total=total
            )
        tallies: list[CellCounts] = []
        for out in product((False, True), repeat=len(cells.steps)):
            remaining = self._remaining(out)
            what = (
                "cells"
                if not any(out)
                else f"total by {' and '.join(remaining)}"
                if remaining
                else "total"
            )
            if not any(out) or self.margins:
                shown = None if printed is None else self._margin(printed, out)
                tallies.append(counter.counts(what, sum_out(cells, out), shown))
            elif tallies[0].is_exact and (2 ** len(out) <= MOST_MARGINS or len(remaining) <= 1):
                tallies.append(
                    counter.tally(what, sum_out(cells, out), quantities=[COUNT], implied=True)
                )
        if not self.margins and tallies[0].is_exact and 2 ** len(cells.steps) > MOST_MARGINS:
            tallies[0] = replace(tallies[0], more_margins=True)
        return [*tallies, *counter.n()]

    def _share_tallies(self, counter: CellCounter, cells: CrossClassification) -> list[CellCounts]:
        axis, printed = self.whole_axis, counter.marked(cells.names)
        if self.values is not None:
            printed = cell_array(self.values, cells, what=f"Output '{self.name}'", absent=0)
        shown = counter.numbers_shown(printed)
        counted = self.publishes("totals") or (
            axis is None and (self.publishes("n") or not counter.filter.masks)
        )
        table = counter.tally("cells", cells, shown=shown, quantities=[COUNT] if counted else [])
        if counted and self.decimals is not None:
            over = tuple(k for k in range(len(cells.steps)) if k != axis)
            largest = int(table.counts.reshape(cells.shape).sum(axis=over).max())
            table = replace(table, width=int(10.0**-self.decimals / 100.0 * largest))
        tallies = [table]
        if axis is not None and self.publishes("totals"):
            totals = None if self.totals is None else object_array(self.totals)
            tallies.append(counter.counts("totals", sum_out(cells, self._other_axes), totals))
        return [*tallies, *counter.n()]


def whole_axis(axes: int, percentages: str | None) -> int | None:
    """Return the axis whose groups have percentages that add up to 100; None where the whole table has."""
    return {"all": None, "rows": 0, "columns": axes - 1}[percentages or "all"]


def numbers_of_wholes(shape: tuple[int, ...], percentages: str | None) -> Ints:
    """Return what each cell is a percentage of, by number.

    Examples
    --------
    >>> numbers_of_wholes((2, 2), "rows").tolist()
    [0, 0, 1, 1]
    """
    axis = whole_axis(len(shape), percentages)
    total_index = np.zeros(shape, dtype=np.int64) if axis is None else np.indices(shape)[axis]
    return total_index.ravel()


class TableShares:
    """Counts as shares of the total of the row, column or table that they stand in, with derivatives."""

    def __init__(self, total_index: NDArray[np.int64], cells: Sequence[int]) -> None:
        self.whole, self.cells = total_index, list(cells)

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

    kind: Literal["histogram"] = "histogram"
    variable: Variable
    edges: Annotated[list[float], Key(min_length=2)]
    counts: Annotated[list[Any] | None, Statistic(presence="required")] = None

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the bins as a table."""
        edges, counts = np.array(self.edges, dtype=float), self.counts or []
        self.refuse(
            (
                not np.isfinite(edges).all() or (np.diff(edges) <= 0).any(),
                ": the edges of a histogram must rise.",
            ),
            (
                len(counts) != len(edges) - 1,
                f" has {len(edges)} edges, so it needs {len(edges) - 1} counts. Got {len(counts)}.",
            ),
        )
        ((position, group),) = self.bins(domain).steps
        lo, hi = self.bounds(counts, domain.n_rows)
        last = int(group.max())
        if last < len(edges) - 2:  # bins beyond the column's values
            if (lo[last + 1 :] > 0).any():
                raise self.fault(f" counts records beyond the values of column '{self.variable}'.")
            lo, hi = lo[: last + 1], hi[: last + 1]
        table = table_of_counts(self.name, domain, [(position, group)], self.filter(domain), lo, hi)
        return (table, *self.n_equations(domain))

    def bins(self, domain: OutputDomain) -> CrossClassification:
        """Return the bins as cells, called "16 to 20"."""
        position, edges = domain.position(self.variable), np.array(self.edges, dtype=float)
        values = domain.columns[position].values
        group = np.searchsorted(edges, values, side="right") - 1
        group[values == edges[-1]] = len(edges) - 2
        group[(values < edges[0]) | (values > edges[-1])] = -1
        names = tuple(f"{a:g} to {b:g}" for a, b in pairwise(self.edges))
        return CrossClassification(((position, group.astype(np.int64)),), (names,))

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the counts, one for each bin."""
        bins, numbers = len(self.edges) - 1, self.counts
        numbers = numbers if numbers and len(numbers) == bins else []
        yield NumberBlock("counts", self.bins(domain).names[0], numbers, "count", (bins,))

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the counts."""
        numbers = column_numbers(self.variable, sample.domain, sample.inside)
        return {"counts": Estimates(np.histogram(numbers, bins=np.array(self.edges))[0])}

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return bins, the total that follows, and n."""
        cells = self.bins(counter.domain)
        printed = counter.marked(cells.names) if self.counts is None else object_array(self.counts)
        tallies = [counter.counts("cells", cells, printed)]
        if tallies[0].is_exact:
            tallies.append(
                counter.tally("total", sum_out(cells, (True,)), quantities=[COUNT], implied=True)
            )
        return [*tallies, *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the bins, and the ends that are the smallest or largest value there is."""
        values = column_numbers(self.variable, counter.domain, counter.inside)
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
