"""Pearson's chi-square test of two columns: the statistic, its degrees of freedom and p-value, Cramér's V.

With O the counts of the cells, r and c those of their rows and columns and n all, X2 = n (sum O^2 / (r c) - 1), without Yates's correction.
Rows and columns without records do not count; V^2 = X2 / (n min(rows - 1, columns - 1)). The equations ask for the statistic alone: degrees of
freedom, p-value and V follow from it and the table.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..bounds import room
from ..columns import Floats
from ..crossing import Frame, crosstab, sums_by_cell
from ..precision import Interval
from ..rules.counts import degrees_of_freedom, threshold
from .base import KINDS, Finding, Kind, Output, OutputTally, Policy, Sample, Tallier, Whole
from .single import Single, SingleNumbers

__all__ = ["ChiSquare", "ChiSquareSpec"]


class ChiSquare:
    """The statistic out of the counts of a table's cells, with derivatives."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return whether there is no statistic: one row or column has all records."""
        table = sums.reshape(self.shape)
        return np.array([min((table.sum(axis=axis) > 0.5).sum() for axis in (0, 1)) < 2])

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the statistic, and its derivatives by all counts."""
        table = np.maximum(sums, 0.0).reshape(self.shape)
        rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        n, product = float(table.sum()), np.maximum(rows, 1e-9) * np.maximum(columns, 1e-9)
        share = table**2 / product
        excess = float(share.sum()) - 1.0
        by_row = share.sum(axis=1, keepdims=True) / np.maximum(rows, 1e-9)
        by_column = share.sum(axis=0, keepdims=True) / np.maximum(columns, 1e-9)
        # In a row or column without records: what the first one adds.
        own = np.where((rows < 0.5) | (columns < 0.5), 1.0 / ((rows + 1.0) * (columns + 1.0)), 2.0 * table / product)
        slope = n * (own - by_row - by_column) + excess
        return np.array([n * excess]), slope.reshape(1, -1)


class ChiSquareSpec(SingleNumbers):
    """Pearson's chi-square test of the two columns of `by`, each in bands or not."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("statistic", "dof", "p_value", "cramers_v")
    BESIDE: ClassVar[tuple[str, ...]] = ("dof", "p_value", "cramers_v", "n")
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
    p_below: Annotated[float, Key(gt=0, le=1)] | None = None

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the statistic as a function of the counts of the cells."""
        if self.statistic is None:
            raise self.fault(" must have its statistic.")
        cells, (lo, hi) = self.crossing(frame), self.intervals()["statistic"]
        terms, interval = sums_by_cell(frame, cells, ()), Interval(max(lo, 0.0), max(hi, 0.0))
        return (
            self.sum_system(frame, cells.size, [terms], [interval], ChiSquare(cells.shape)),
            *self.n_equations(frame),
        )

    def contradiction(self, frame: Frame) -> str | None:
        """Return whether the statistic is below 0, or above n times the smaller number of rows or columns less one."""
        interval, n = self.intervals()["statistic"], self.known_n(frame) or frame.rows
        most = float(n * (min(self.crossing(frame).shape) - 1))
        if interval.hi < 0:
            return "its statistic is below 0"
        if interval.lo > most + room(most):
            return "its statistic is above the largest that a table of so many rows and columns can have"
        return None

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records; nan where one row or column has all of them."""
        from scipy.stats import chi2

        table = crosstab(self.crossing(sample.frame), sample.inside)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        least = min(table.shape) - 1
        if least < 1:
            return {key: Single(0 if key == "dof" else math.nan) for key in self.NUMBERS}
        n, expected = int(table.sum()), np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        statistic = float(((table - expected) ** 2 / expected).sum())
        dof = (table.shape[0] - 1) * (table.shape[1] - 1)
        v = math.sqrt(statistic / (n * least))
        unit = math.sqrt(2.0 * dof)  # the statistic's standard deviation where the columns are independent
        return {
            "statistic": Single(statistic, unit),
            "dof": Single(dof),
            "p_value": Single(float(chi2.sf(statistic, dof)), unit * float(chi2.pdf(statistic, dof))),
            "cramers_v": Single(v, unit * 0.5 * v / max(statistic, 1e-9)),
        }

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the table's cells, whose counts are not shown, the records as one cell, and n."""
        cells = tallier.tally("cells", self.crossing(tallier.frame))
        return [cells, *tallier.fit(f"chi-square {' by '.join(self.by)}")]

    def findings(self, tallies: list[OutputTally], tallier: Tallier, policy: Policy) -> list[Finding]:
        """Return small cells behind the test, and whether there are enough records for its cells."""
        dof = len(tallier.inside) - int((tallies[0].counts > 0).sum())
        return [*threshold(tallies, policy), degrees_of_freedom(self.name, self.kind, dof, policy)]


KINDS.register(
    Kind("chi-square", ChiSquareSpec, "StatisticalHypothesisTests", "Pearson's chi-square test of two columns")
)
