"""The description of a table in counts that may be published: columns, kinds, levels, missing
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.masking import THRESHOLD, masked_count
from .._base.results import html_table, to_plain
from ..table.domain import Intervals, level_labels
from ..table.rows import open_table
from ..table.schema import Column
from .counter import Counter, MemoryCounter
from .marginal import Marginal

N_COMMON = 5
MAX_CELLS = 24
"""Bars of a small picture of a column, at the most."""


@dataclass(frozen=True)
class ColumnDescription:
    """One column: `missing` and the counts in `common` and `cells` are rounded, and small ones
    hidden.

    `cells` are bars of a small picture: numbers from low to high, levels by their size, and none
    has a name.
    """

    name: str
    kind: str
    role: str
    type: str
    levels: int | None
    missing: int | str
    common: tuple[tuple[str, int | str], ...]
    reason: str
    cells: tuple[int | str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **to_plain(self),
            "common": [{"level": level, "records": n} for level, n in self.common],
        }


@dataclass(frozen=True)
class Description:
    """The columns of a table. Holds no value that fewer records than `threshold` share, and no
    small count.
    """

    n_rows: int
    columns: tuple[ColumnDescription, ...]
    notes: tuple[str, ...] = ()
    threshold: int = THRESHOLD

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the version of its form."""
        return {
            "format": "chaffinch-description",
            "version": 1,
            "rows": self.n_rows,
            "columns": [column.to_dict() for column in self.columns],
            "notes": list(self.notes),
        }

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """Return a row of text for each column: name, kind, role, levels, missing, most common
        levels.
        """
        return [
            (
                column.name,
                column.kind,
                column.role,
                "" if column.levels is None else str(column.levels),
                str(column.missing),
                ", ".join(level for level, _ in column.common),
            )
            for column in self.columns
        ]

    HEAD = ("column", "kind", "role", "levels", "missing", "most common levels")

    def _repr_html_(self) -> str:
        table = html_table(self.HEAD, self.rows(), caption=f"{self.n_rows:,} rows")
        return table + (
            html_table(["notes"], [[note] for note in self.notes]) if self.notes else ""
        )


def describe(
    counter: Counter | Any, *, notes: tuple[str, ...] = (), threshold: int = THRESHOLD
) -> Description:
    """Return the description of a table, or of the table of a counter, from its one-way marginals
    alone.

    Levels of numeric columns are bins and atoms; their names come from means of ten records or
    more. Missing counts and counts of levels are rounded to multiples of the threshold, those below
    it hidden.
    """
    counter = counter if hasattr(counter, "marginals") else MemoryCounter(open_table(counter))
    names = counter.schema.names
    marginals = dict(zip(names, counter.marginals([(name,) for name in names]), strict=True))
    columns = tuple(
        _column(column, marginals.get(column.name), threshold, counter.n_rows)
        for column in counter.schema
    )
    return Description(counter.n_rows, columns, notes, threshold)


def _column(
    column: Column, marginal: Marginal | None, threshold: int, n_rows: int
) -> ColumnDescription:
    kind, codec = column.kind, column.codec
    if marginal is None or codec is None:
        return ColumnDescription(
            column.name, kind, column.role, column.type, None, "", (), column.reason
        )
    counts = marginal.dense()
    values = counts[: codec.n_values]
    common_codes = [
        int(code) for code in (-values).argsort(kind="stable") if values[code] >= threshold
    ]
    bins = set(codec.bin_codes.tolist())
    common_codes = [code for code in common_codes if code not in bins]
    level_names = level_labels(column)
    common = tuple(
        (level_names[code], masked_count(values[code], threshold, total=n_rows))
        for code in common_codes[:N_COMMON]
    )
    missing = masked_count(counts[codec.n_values :].sum(), threshold, total=n_rows)
    bars = tuple(
        masked_count(count, threshold, total=n_rows)
        for count in (_spread(values, codec) if codec.numeric else _largest(values))
    )
    return ColumnDescription(
        column.name,
        kind,
        column.role,
        column.type,
        codec.size,
        missing,
        common,
        column.reason,
        bars,
    )


def _largest(counts: NDArray[Any]) -> list[float]:
    """Return counts of levels as at most `MAX_CELLS` bars: the largest first, all others in the
    last.
    """
    ranked = -np.sort(-counts)
    if len(ranked) <= MAX_CELLS:
        return [float(count) for count in ranked]
    return [*map(float, ranked[: MAX_CELLS - 1]), float(ranked[MAX_CELLS - 1 :].sum())]


def _spread(counts: NDArray[Any], codec: Intervals) -> list[float]:
    """Return counts of bins and point masses as bars of equal width from low to high; the count of
    a bin is spread evenly over the bars that it overlaps.

    The outermost bars hold what lies far beyond the middle half of the records: no extreme
    stretches the picture.
    """
    low, high = codec.ranges()
    order = np.argsort(low + high, kind="stable")
    low, high, counts = low[order], high[order], counts[order].astype(float)
    if not counts.sum():
        return []
    below = np.cumsum(counts) / counts.sum()
    lower, upper = (
        min(int(np.searchsorted(below, share)), len(high) - 1) for share in (0.25, 0.75)
    )
    reach = 1.5 * max(high[upper] - low[lower], 1e-12)
    ends = np.linspace(
        max(low[0], low[lower] - reach), min(high[-1], high[upper] + reach), MAX_CELLS + 1
    )
    if ends[-1] <= ends[0]:
        return [float(counts.sum())]
    cuts = np.clip(ends, ends[0], ends[-1])
    bars = np.zeros(MAX_CELLS)
    for lower_end, upper_end, count in zip(low, high, counts, strict=True):
        if upper_end <= lower_end:  # a point mass, or a bin of one value
            bars[
                min(max(int(np.searchsorted(cuts, lower_end, side="right")) - 1, 0), MAX_CELLS - 1)
            ] += count
            continue
        lower_end, upper_end = (
            float(np.clip(end, ends[0], ends[-1])) for end in (lower_end, upper_end)
        )
        if upper_end <= lower_end:
            bars[0 if upper_end <= ends[0] else MAX_CELLS - 1] += count
            continue
        shared = np.clip(
            np.minimum(cuts[1:], upper_end) - np.maximum(cuts[:-1], lower_end), 0.0, None
        )
        bars += count * shared / shared.sum()
    return [float(count) for count in bars]
