"""Pearson's chi-square test of two columns: the statistic, its degrees of freedom and p-value, Cramér's V.

With O the counts of the cells, r and c those of their rows and columns and n all, X2 = n (sum O^2 / (r c) - 1). Rows and columns without
records do not count; V^2 = X2 / (n min(rows - 1, columns - 1)). With Yates's `correction`, which R and scipy make in tables of two by two unless
told otherwise, X2 = n (|a d - b c| - n / 2)^2 / (r1 r2 c1 c2), and 0 where n / 2 is more; V is then that of the corrected X2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import CrossClassification, crosstab, sums_by_cell
from ..domain import OutputDomain
from ..equations import Output
from ..numbers import Interval
from .base import KINDS, SLACK, Columns, Kind, Sample, Statistic, Whole
from .formulas import Derived, Formulas, at_least, raise_to
from .single import CountsPart, GroupTest, Single


class ChiSquare(Formulas):
    """The statistic out of the counts of a table's cells, with what follows from it."""

    def __init__(
        self,
        shape: tuple[int, ...],
        keys: tuple[str, ...] = ("statistic",),
        *,
        correction: bool = False,
    ) -> None:
        super().__init__(keys)
        self.shape, self.correction = shape, correction

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether one row or column has all records."""
        table = sums.reshape(self.shape)
        return bool(min((table.sum(axis=axis) > 0.5).sum() for axis in (0, 1)) < 2)

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the statistic, n, the degrees of freedom and the smaller number of rows or columns less one."""
        table = raise_to(sums, 0.0).reshape(*sums.shape[:-1], *self.shape)
        n, sizes = (
            raise_to(table.sum(axis=(-2, -1)), 1.0),
            [(table.real.sum(axis=axis) > 0.5).sum(axis=-1) - 1.0 for axis in (-1, -2)],
        )
        return {
            "statistic": self._corrected(table, n) if self.correction else self._plain(table, n),
            "n": n,
            "dof": np.maximum(sizes[0] * sizes[1], 1.0) + 0.0 * n,
            "least": np.maximum(np.minimum(*sizes), 1.0) + 0.0 * n,
        }

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        """Return the p-value and Cramér's V."""
        statistic, n = numbers["statistic"], numbers["n"]
        v = math.sqrt(statistic / (n * numbers["least"]))
        slopes = {"statistic": 0.5 * v / max(statistic, 1e-9), "n": -0.5 * v / n}
        return {"p_value": chi_square_p_value(numbers), "cramers_v": Derived(v, slopes)}

    @staticmethod
    def _plain(table: NDArray[Any], n: NDArray[Any]) -> NDArray[Any]:
        rows, columns = table.sum(axis=-1, keepdims=True), table.sum(axis=-2, keepdims=True)
        share = table**2 / (raise_to(rows, 1e-9) * raise_to(columns, 1e-9))
        # In a row or column without records: what the first one adds.
        first = table / ((rows.real + 1.0) * (columns.real + 1.0))
        share = np.where((rows.real < 0.5) | (columns.real < 0.5), first, share)
        return raise_to(n * (share.sum(axis=(-2, -1)) - 1.0), 0.0)

    @staticmethod
    def _corrected(table: NDArray[Any], n: NDArray[Any]) -> NDArray[Any]:
        table = raise_to(table, 1e-9)
        cross = table[..., 0, 0] * table[..., 1, 1] - table[..., 0, 1] * table[..., 1, 0]
        excess = at_least(cross * np.sign(cross.real) - 0.5 * n, 0.0)
        margins = table.sum(axis=-1).prod(axis=-1) * table.sum(axis=-2).prod(axis=-1)
        return np.asarray(n * excess**2 / margins)


def chi_square_p_value(numbers: Mapping[str, float]) -> Derived:
    """Return the p-value of a chi-square statistic."""
    from scipy.special import chdtrc

    dof = numbers["dof"]
    return Derived.from_function(
        lambda statistic: float(chdtrc(dof, max(statistic, 0.0))),
        statistic=max(numbers["statistic"], 0.0),
    )


class ChiSquareSpec(GroupTest):
    """Pearson's chi-square test of the two columns of `by`, each in bands or not."""

    NO_NUMBERS: ClassVar[str] = "all its records are in one row or column of its table"

    kind: Literal["chi-square"] = "chi-square"
    by: Annotated[Columns, Key(min_length=2, max_length=2)]
    groups: dict[str, Any] = Key(default_factory=dict)
    statistic: Annotated[Any, Statistic("the statistic", "required")] = None
    dof: Annotated[Whole | None, Statistic(is_whole=True)] = None
    p_value: Annotated[Any, Statistic("the p-value")] = None
    cramers_v: Annotated[Any, Statistic("Cramér's V")] = None
    counts: CountsPart = None
    correction: bool = False

    def cells(self, domain: OutputDomain) -> CrossClassification:
        """Return the table; two by two with a correction."""
        cells = self.crossing(domain)
        if self.correction and cells.shape != (2, 2):
            raise self.fault(" has a correction (Yates's), which is for tables of two by two.")
        return cells

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the statistic as a function of the counts of the cells, what follows from it, and the table."""
        if self.statistic is None:
            raise self.fault(" must have its statistic.")
        return super().equations(domain)

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return a number as a function of the counts of the cells."""
        cells, (lo, hi) = self.cells(domain), interval
        terms, reading = (
            sums_by_cell(domain, cells, ()),
            ChiSquare(cells.shape, (key,), correction=self.correction),
        )
        return self.sum_system(
            domain, cells.size, [terms], [Interval(max(lo, 0.0), max(hi, 0.0))], reading
        )

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether the statistic is below 0, or above n times the smaller number of rows or columns less one."""
        interval, n = self.intervals()["statistic"], self.known_n(domain) or domain.n_rows
        max_statistic = float(n * (min(self.crossing(domain).shape) - 1))
        if interval.hi < 0:
            return "its statistic is below 0"
        if interval.lo > max_statistic + SLACK * max(1.0, max_statistic):
            return "its statistic is above the largest that a table of so many rows and columns can have"
        return super().contradiction(domain)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records; nan where one row or column has all of them."""
        from scipy.stats import chi2

        table = crosstab(self.cells(sample.domain), sample.inside)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        smaller_dof = min(table.shape) - 1
        if smaller_dof < 1:
            return dict.fromkeys(self.statistics, Single(math.nan))
        n, expected = int(table.sum()), np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        apart = np.abs(table - expected)
        statistic = float(
            ((apart - np.minimum(0.5, apart) * self.correction) ** 2 / expected).sum()
        )
        dof = (table.shape[0] - 1) * (table.shape[1] - 1)
        v = math.sqrt(statistic / (n * smaller_dof))
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


KINDS.register(
    Kind(
        "chi-square",
        ChiSquareSpec,
        "StatisticalHypothesisTests",
        "Pearson's chi-square test of two columns",
    )
)
