"""Pearson's chi-square test of two columns: the statistic, its degrees of freedom and p-value, Cramér's V.

With O the counts of the cells, r and c those of their rows and columns and n all, X2 = n (sum O^2 / (r c) - 1). Rows and columns without
records do not count; V^2 = X2 / (n min(rows - 1, columns - 1)). With Yates's `correction`, which R and scipy make in tables of two by two unless
told otherwise, X2 = n (|a d - b c| - n / 2)^2 / (r1 r2 c1 c2), and 0 where n / 2 is more; V is then that of the corrected X2.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..cells import Crossing, Frame, crosstab, sums_by_cell
from ..domain import Floats
from ..equations import Output
from ..numbers import Interval
from ..rules.cell_counts import CellCounter, CellCounts
from .base import KINDS, SLACK, Kind, Sample, Whole
from .single import GroupTest, KindPart, Single, scaled


class ChiSquare:
    """The statistic out of the counts of a table's cells, with what follows from it, and derivatives."""

    def __init__(
        self,
        shape: tuple[int, ...],
        keys: tuple[str, ...] = ("statistic",),
        *,
        correction: bool = False,
    ) -> None:
        self.shape, self.keys, self.correction = shape, keys, correction

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return whether there is no statistic: one row or column has all records."""
        table = sums.reshape(self.shape)
        return np.full(
            len(self.keys), min((table.sum(axis=axis) > 0.5).sum() for axis in (0, 1)) < 2
        )

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by all counts."""
        from scipy.special import chdtrc
        from scipy.stats import chi2

        table = np.maximum(sums, 0.0).reshape(self.shape)
        statistic, slope = self._corrected(table) if self.correction else self._statistic(table)
        n, (rows, columns) = (
            max(float(table.sum()), 1.0),
            (int((table.sum(axis=k) > 0.5).sum()) for k in (1, 0)),
        )
        dof, least = max((rows - 1) * (columns - 1), 1), max(min(rows, columns) - 1, 1)
        v = math.sqrt(max(statistic, 0.0) / (n * least))
        numbers = {
            "statistic": (statistic, slope),
            "dof": (float(dof), np.zeros_like(slope)),
            "p_value": (
                float(chdtrc(dof, statistic)),
                -float(chi2.pdf(max(statistic, 1e-9), dof)) * slope,
            ),
            "cramers_v": (v, 0.5 * v * (slope / max(statistic, 1e-9) - 1.0 / n)),
        }
        scales = [scaled(key, numbers[key][0]) for key in self.keys]
        slopes = np.stack(
            [numbers[key][1] * by for key, (_, by) in zip(self.keys, scales, strict=True)]
        )
        return np.array([value for value, _ in scales]), slopes

    def _statistic(self, table: Floats) -> tuple[float, Floats]:
        rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        n, product = float(table.sum()), np.maximum(rows, 1e-9) * np.maximum(columns, 1e-9)
        share = table**2 / product
        excess = float(share.sum()) - 1.0
        by_row = share.sum(axis=1, keepdims=True) / np.maximum(rows, 1e-9)
        by_column = share.sum(axis=0, keepdims=True) / np.maximum(columns, 1e-9)
        # In a row or column without records: what the first one adds.
        own = np.where(
            (rows < 0.5) | (columns < 0.5),
            1.0 / ((rows + 1.0) * (columns + 1.0)),
            2.0 * table / product,
        )
        slope = n * (own - by_row - by_column) + excess
        return max(n * excess, 0.0), slope.ravel()

    @staticmethod
    def _corrected(table: Floats) -> tuple[float, Floats]:
        (a, b), (c, d) = np.maximum(table, 1e-9)
        n, apart = a + b + c + d, a * d - b * c
        left = max(abs(apart) - 0.5 * n, 0.0)
        margins = (a + b) * (c + d) * (a + c) * (b + d)
        by_cell = np.sign(apart) * np.array([d, -c, -b, a]) - 0.5
        lines = np.array(
            [
                1 / (a + b) + 1 / (a + c),
                1 / (a + b) + 1 / (b + d),
                1 / (c + d) + 1 / (a + c),
                1 / (c + d) + 1 / (b + d),
            ]
        )
        statistic = float(n * left**2 / margins)
        return statistic, statistic * (1.0 / n - lines) + 2.0 * n * left / margins * by_cell


class ChiSquareSpec(GroupTest):
    """Pearson's chi-square test of the two columns of `by`, each in bands or not."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("statistic", "dof", "p_value", "cramers_v", "counts")
    BESIDE: ClassVar[tuple[str, ...]] = ("dof", "p_value", "cramers_v", "counts", "n")
    PARTS: ClassVar[tuple[str, ...]] = ("counts",)
    WHOLE: ClassVar[tuple[str, ...]] = ("dof",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("statistic",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("by",)
    WORDS: ClassVar[dict[str, str]] = {
        "statistic": "the statistic",
        "p_value": "the p-value",
        "cramers_v": "Cramér's V",
    }
    LACK: ClassVar[str] = "all its records are in one row or column of its table"

    kind: Literal["chi-square"] = "chi-square"
    by: Annotated[list[str], Key(min_length=2, max_length=2)]
    groups: dict[str, Any] = Key(default_factory=dict)
    statistic: Any = None
    dof: Whole | None = None
    p_value: Any = None
    cramers_v: Any = None
    counts: list[Any] | None = None
    correction: bool = False
    p_below: Annotated[float, Key(gt=0, le=1)] | None = None

    def part(self, key: str) -> KindPart:
        """Return the table."""
        return KindPart("table", "counts", {"by": self.by, "groups": self.groups})

    def _cells(self, frame: Frame) -> Crossing:
        cells = self.crossing(frame)
        if self.correction and cells.shape != (2, 2):
            raise self.fault(" has a correction (Yates's), which is for tables of two by two.")
        return cells

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the statistic as a function of the counts of the cells, what follows from it, and the table."""
        if self.statistic is None:
            raise self.fault(" must have its statistic.")
        return super().equations(frame)

    def system(self, frame: Frame, key: str, interval: Interval) -> Output:
        """Return a number as a function of the counts of the cells."""
        cells, (lo, hi) = self._cells(frame), interval
        terms, reading = (
            sums_by_cell(frame, cells, ()),
            ChiSquare(cells.shape, (key,), correction=self.correction),
        )
        return self.sum_system(
            frame, cells.size, [terms], [Interval(max(lo, 0.0), max(hi, 0.0))], reading
        )

    def contradiction(self, frame: Frame) -> str | None:
        """Return whether the statistic is below 0, or above n times the smaller number of rows or columns less one."""
        interval, n = self.intervals()["statistic"], self.known_n(frame) or frame.rows
        most = float(n * (min(self.crossing(frame).shape) - 1))
        if interval.hi < 0:
            return "its statistic is below 0"
        if interval.lo > most + SLACK * max(1.0, most):
            return "its statistic is above the largest that a table of so many rows and columns can have"
        return super().contradiction(frame)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records; nan where one row or column has all of them."""
        from scipy.stats import chi2

        table = crosstab(self._cells(sample.frame), sample.inside)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        least = min(table.shape) - 1
        if least < 1:
            return {
                key: Single(0 if key == "dof" else math.nan) for key in (*self.WORDS, *self.WHOLE)
            }
        n, expected = int(table.sum()), np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        apart = np.abs(table - expected)
        statistic = float(
            ((apart - np.minimum(0.5, apart) * self.correction) ** 2 / expected).sum()
        )
        dof = (table.shape[0] - 1) * (table.shape[1] - 1)
        v = math.sqrt(statistic / (n * least))
        unit = math.sqrt(
            2.0 * dof
        )  # the statistic's standard deviation where the columns are independent
        return {
            "statistic": Single(statistic, unit),
            "dof": Single(dof),
            "p_value": Single(
                float(chi2.sf(statistic, dof)), unit * float(chi2.pdf(statistic, dof))
            ),
            "cramers_v": Single(v, unit * 0.5 * v / max(statistic, 1e-9)),
        }

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the table's cells, whose counts are not shown unless published, the records as one cell, and n."""
        cells = self.crossing(counter.frame)
        fit = counter.fit(f"chi-square {' by '.join(self.by)}", cells)
        return [*self.part_tallies(counter, counter.tally("cells", cells)), *fit]


KINDS.register(
    Kind(
        "chi-square",
        ChiSquareSpec,
        "StatisticalHypothesisTests",
        "Pearson's chi-square test of two columns",
    )
)
