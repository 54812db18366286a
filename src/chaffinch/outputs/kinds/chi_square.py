"""Pearson's chi-square test of two columns: the statistic, its degrees of freedom and p-value, Cramér's V.

With O the counts of the cells, r and c those of their rows and columns and n all, X2 = n (sum O^2 / (r c) - 1), without Yates's correction.
Rows and columns without records do not count; V^2 = X2 / (n min(rows - 1, columns - 1)). The equations ask for the statistic alone: degrees of
freedom, p-value and V follow from it and the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.errors import InputError
from ..bounds import room
from ..columns import Floats
from ..crossing import Crossing, Frame, crosstab, sums_by_cell
from ..equations import Output, SumSystem
from ..precision import Interval
from ..printing import Printer
from ..refit import Number, count_number
from ..rules.counts import degrees_of_freedom, threshold
from ..rules.tallies import OutputTally
from ..rules.tallying import Tallier
from .base import KINDS, Kind, OutputSpec, PrintedNumbers, Sample, Whole
from .computing import no_estimate

if TYPE_CHECKING:
    from ..rules.findings import Finding
    from ..rules.policy import Policy

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


class _Test(NamedTuple):
    """The numbers of a test on records."""

    statistic: float
    dof: int
    p_value: float
    cramers_v: float


class ChiSquareSpec(OutputSpec):
    """Pearson's chi-square test of two columns.

    Parameters
    ----------
    by, groups
        The two columns, and bands of them.
    statistic, dof, p_value, cramers_v
        What was published; a p-value may be "<0.001".
    p_below
        From which on p-values are printed so; read off a p-value that is.
    """

    NUMBERS: ClassVar[tuple[str, ...]] = ("statistic", "dof", "p_value", "cramers_v")
    BESIDE: ClassVar[tuple[str, ...]] = ("dof", "p_value", "cramers_v", "n")
    REQUIRED: ClassVar[tuple[str, ...]] = ("statistic",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("by",)

    kind: Literal["chi-square"] = "chi-square"
    by: Annotated[list[str], Key(min_length=2, max_length=2)]
    groups: dict[str, Any] = Key(default_factory=dict)
    statistic: Any = None
    dof: Whole | None = None
    p_value: Any = None
    cramers_v: Any = None
    p_below: Annotated[float, Key(gt=0, le=1)] | None = None

    def without_numbers(self, frame: Frame) -> Self:
        """Return the recipe, with how small p-values are printed."""
        recipe, bound = super().without_numbers(frame), self._p_bound()
        return recipe if bound is None else recipe.changed(p_below=bound)

    def _p_bound(self) -> float | None:
        """What a p-value such as "<0.001" is below."""
        if not isinstance(self.p_value, str) or not self.p_value.strip().startswith("<"):
            return None
        return self.printed(self.p_value.strip()[1:], "the p-value").middle

    def _intervals(self) -> dict[str, Interval]:
        """The intervals of the statistic, the p-value and V, where they are published."""
        intervals = {}
        for key, what in (("statistic", "the statistic"), ("p_value", "the p-value"), ("cramers_v", "Cramér's V")):
            number = getattr(self, key)
            if key == "p_value" and (bound := self._p_bound()) is not None:
                intervals[key] = Interval(0.0, bound)
            elif number is not None:
                intervals[key] = self.printed(number, what)
        return intervals

    def filled(self, frame: Frame) -> Self:
        """Return a recipe with some numbers or other."""
        return self.changed(statistic=1.0)

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the statistic as a function of the counts of the cells."""
        intervals = self._intervals()
        if "statistic" not in intervals:
            raise InputError(f"Output '{self.name}' must have its statistic.")
        cells, (lo, hi) = self.crossing(frame), intervals["statistic"]
        reading, keep = ChiSquare(cells.shape), self.filter(frame).keep()
        terms, bounds = sums_by_cell(frame, cells, ()), (np.array([max(lo, 0.0)]), np.array([max(hi, 0.0)]))
        system = SumSystem(self.name, cells.size, (terms,), *bounds, keep=keep, reported=reading)
        return (system, *self.n_equations(frame))

    def contradiction(self, frame: Frame) -> str | None:
        """Return whether the statistic is below 0, or above n times the smaller number of rows or columns less one."""
        interval, n = self._intervals()["statistic"], self.known_n(frame) or frame.rows
        most = float(n * (min(self.crossing(frame).shape) - 1))
        if interval.hi < 0:
            return "its statistic is below 0"
        if interval.lo > most + room(most):
            return "its statistic is above the largest that a table of so many rows and columns can have"
        return None

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give the statistic, and what was published beside it."""
        for key in ("statistic", "p_value", "cramers_v"):
            if getattr(self, key) is not None:
                yield PrintedNumbers(key, [key], [getattr(self, key)], False)

    def _test(self, sample: Sample) -> _Test | None:
        """The test on records; None where one row or column has all of them."""
        from scipy.stats import chi2

        table = crosstab(self.crossing(sample.frame), sample.inside)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        least = min(table.shape) - 1
        if least < 1:
            return None
        n, expected = int(table.sum()), np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        statistic = float(((table - expected) ** 2 / expected).sum())
        dof = (table.shape[0] - 1) * (table.shape[1] - 1)
        return _Test(statistic, dof, float(chi2.sf(statistic, dof)), math.sqrt(statistic / (n * least)))

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the statistic, and what is published beside it."""
        test = self._test(sample)
        if test is None:
            raise no_estimate(self.name, part, "all its records are in one row or column of its table")
        numbers: dict[str, Any] = {"statistic": printer.number(test.statistic, "statistic", "statistic")}
        numbers |= {"dof": test.dof} if self.publishes("dof") else {}
        for key in ("p_value", "cramers_v"):
            if self.publishes(key):
                numbers[key] = printer.number(getattr(test, key), key, key)
        if self.p_below is not None and "p_value" in numbers and test.p_value < self.p_below:
            numbers["p_value"] = f"<{self.p_below:g}"
        return numbers

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the test's numbers beside those of the records."""
        from scipy.stats import chi2

        test = self._test(sample) or _Test(math.nan, 0, math.nan, math.nan)
        unit = math.sqrt(2.0 * max(test.dof, 1))  # the statistic's standard deviation where the columns are independent
        units = {
            "statistic": unit,
            "p_value": unit * float(chi2.pdf(test.statistic, max(test.dof, 1))),
            "cramers_v": unit * 0.5 * test.cramers_v / max(test.statistic, 1e-9),
        }
        for key, interval in self._intervals().items():
            yield Number(key, *interval, getattr(test, key), units[key])
        if self.dof is not None:
            yield count_number("dof", self.dof, self.dof, test.dof)

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the table's cells, whose counts are not shown, the records as one cell, and n."""
        cells: Crossing = self.crossing(tallier.frame)
        return [tallier.tally("cells", cells), *tallier.fit(f"chi-square {' by '.join(self.by)}")]

    def findings(self, tallies: list[OutputTally], tallier: Tallier, policy: Policy) -> list[Finding]:
        """Return small cells behind the test, and whether there are enough records for its cells."""
        dof = len(tallier.inside) - int((tallies[0].counts > 0).sum())
        return [*threshold(tallies, policy), degrees_of_freedom(self.name, self.kind, dof, policy)]


KINDS.register(
    Kind("chi-square", ChiSquareSpec, "StatisticalHypothesisTests", "Pearson's chi-square test of two columns")
)
