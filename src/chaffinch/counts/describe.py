"""What a table holds, in counts that may be shown: columns, kinds, levels, missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._base.html import html_table
from .._base.masking import THRESHOLD, masked_count
from .._base.plain import to_plain
from ..table.codec import Categories
from ..table.encode import level_labels
from ..table.read import open_table
from ..table.schema import Column
from .counter import Counter
from .marginal import Marginal
from .memory import MemoryCounter

__all__ = ["ColumnDescription", "Description", "describe"]

MOST_COMMON = 5


@dataclass(frozen=True)
class ColumnDescription:
    """One column: `missing` and the counts in `common` are rounded, and small ones hidden."""

    name: str
    kind: str
    role: str
    type: str
    levels: int | None
    missing: int | str
    common: tuple[tuple[str, int | str], ...]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**to_plain(self), "common": [{"level": level, "records": n} for level, n in self.common]}


@dataclass(frozen=True)
class Description:
    """The columns of a table. Holds no value that fewer records than `threshold` share, and no small count."""

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
        """Return a row of words for each column: name, kind, role, levels, missing, most common levels."""
        return [
            (
                column.name, column.kind, column.role, "" if column.levels is None else str(column.levels),
                str(column.missing), ", ".join(level for level, _ in column.common),
            )
            for column in self.columns
        ]  # fmt: skip

    HEAD = ("column", "kind", "role", "levels", "missing", "most common levels")

    def _repr_html_(self) -> str:
        table = html_table(self.HEAD, self.rows(), caption=f"{self.n_rows:,} rows")
        return table + (html_table(["notes"], [[note] for note in self.notes]) if self.notes else "")


def describe(counter: Counter | Any, *, notes: tuple[str, ...] = (), threshold: int = THRESHOLD) -> Description:
    """Return what a table holds, or that of a counter, from its one-way marginals alone.

    Levels of numeric columns are bins and atoms; their names come from means of ten records or more. Missing
    counts and counts of levels are rounded to multiples of the threshold, those below it hidden.
    """
    counter = counter if hasattr(counter, "marginals") else MemoryCounter(open_table(counter))
    names = counter.schema.names
    marginals = dict(zip(names, counter.marginals([(name,) for name in names]), strict=True))
    columns = tuple(_column(column, marginals.get(column.name), threshold) for column in counter.schema)
    return Description(counter.n_rows, columns, notes, threshold)


def _column(column: Column, marginal: Marginal | None, threshold: int) -> ColumnDescription:
    kind, codec = column.kind, column.codec
    if marginal is None or codec is None:
        return ColumnDescription(column.name, kind, column.role, column.type, None, "", (), column.reason)
    counts = marginal.dense()
    values = counts[: codec.n_values]
    shown = [int(code) for code in (-values).argsort(kind="stable") if values[code] >= threshold]
    if not isinstance(codec, Categories):
        shown = [code for code in shown if code in set(codec.atom_codes.tolist())]
    level_names = level_labels(column)
    common = tuple((level_names[code], masked_count(values[code], threshold)) for code in shown[:MOST_COMMON])
    missing = masked_count(counts[codec.n_values :].sum(), threshold)
    return ColumnDescription(column.name, kind, column.role, column.type, codec.size, missing, common, column.reason)
