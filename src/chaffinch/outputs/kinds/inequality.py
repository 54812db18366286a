"""Gini coefficients and points of Lorenz curves, as formulas of how many records have each value of the column.

With x_1 <= ... <= x_n and T their sum, G = sum (2 i - n - 1) x_i / (n T). The Lorenz curve at p is the share of T that the lowest p n records have, the record
that p n cuts counting in part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import ALL_RECORDS, column_numbers, sums_by_cell
from ..domain import OutputDomain
from ..equations import Output
from ..numbers import Interval
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, CurveBands, Magnitudes
from .base import KINDS, Estimates, Kind, NumberBlock, OutputSpec, Sample, Statistic, Variable
from .formulas import Formulas, GroupFormulas, at_least
from .moments import GroupedNumbers, GroupNumber
from .rank_tests import too_many_values, values_by_group


class Gini(GroupFormulas):
    """Gini coefficients of groups out of how many records of each have each value."""

    def __init__(self, groups: Sequence[int], values: Floats) -> None:
        super().__init__(groups, len(values))
        self.values = values

    def formula(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficient of each group."""
        n = at_least(sums.sum(axis=-1), 1.0)
        total = at_least((sums * self.values).sum(axis=-1), 1e-9)
        rank = 2.0 * np.cumsum(sums, axis=-1) - sums - n[..., None]
        return np.asarray((self.values * sums * rank).sum(axis=-1) / (n * total))

    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which groups have nothing to share."""
        return np.asarray((sums * self.values).sum(axis=1) <= 1e-9)


class Lorenz(Formulas):
    """Points of a Lorenz curve out of how many records have each value."""

    def __init__(self, probabilities: Sequence[float], values: Floats) -> None:
        super().__init__([f"{p:g}" for p in probabilities])
        self.probabilities, self.values = list(probabilities), values

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the share of the lowest records at each point."""
        n, total = sums.sum(axis=-1), at_least((sums * self.values).sum(axis=-1), 1e-9)
        before = np.cumsum(sums, axis=-1) - sums
        points = {}
        for p in self.probabilities:
            remaining = at_least(p * n[..., None] - before, 0.0)
            counted = np.where(remaining.real <= sums.real, remaining, sums)
            points[f"{p:g}"] = (counted * self.values).sum(axis=-1) / total
        return points

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether there is nothing to share."""
        return bool((sums * self.values).sum() <= 1e-9)


class GiniSpec(GroupedNumbers):
    """Gini coefficients of the column `of`, for all records or by groups."""

    QUANTITY: ClassVar[str] = "gini"
    NO_NUMBER: ClassVar[str] = "has nothing to share"

    kind: Literal["gini"] = "gini"

    def rules_only(self, domain: OutputDomain) -> str:
        """Return that there are too many values for a search, where there are."""
        return too_many_values(
            self.variable,
            self.crossing(domain).size * len(domain[self.variable].levels),
        )

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the coefficients as formulas of how many records of each group have each value."""
        if self.variable in self.by:
            raise self.fault(f" cannot take the inequality of '{self.variable}' by itself.")
        if self.rules_only(domain):
            return ()
        groups = self.crossing(domain)
        cells, intervals = (
            values_by_group(self.variable, groups, domain),
            self.intervals(groups),
        )
        reading = Gini(list(intervals), domain[self.variable].values)
        terms = sums_by_cell(domain, cells, ())
        return (
            self.sum_system(domain, cells.size, [terms], intervals.values(), reading),
            *self.n_equations(domain),
        )

    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the coefficient of each group: half the mean difference of all pairs, divided by the mean."""
        for x in self.by_group(sample):
            n, total = len(x), float(x.sum())
            if n == 0 or total <= 0.0:
                yield GroupNumber(n, math.nan)
                continue
            ranked = np.sort(x)
            gini = float(((2.0 * np.arange(1, n + 1) - n - 1.0) * ranked).sum()) / (n * total)
            yield GroupNumber(n, gini, float(x.std()) / (total / n) / math.sqrt(n))

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether a coefficient lies outside 0 to 1, for values of which none is below 0."""
        if (domain[self.variable].values < 0).any():
            return None
        outside = any(
            interval.hi < 0 or interval.lo > 1
            for interval in self.intervals(self.crossing(domain)).values()
        )
        return "a coefficient does not lie between 0 and 1" if outside else None


class LorenzSpec(OutputSpec):
    """Points of the Lorenz curve of the column `of`: what share of its sum the lowest `at` of the records have."""

    unit_noun: ClassVar[str] = "step"

    kind: Literal["lorenz"] = "lorenz"
    variable: Variable
    probabilities: Annotated[list[Annotated[float, Key(gt=0, lt=1)]], Key(min_length=1, alias="at")]
    values: Annotated[list[Any] | None, Statistic(presence="required")] = None

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the points, which must rise."""
        self.refuse(
            (
                sorted(set(self.probabilities)) != list(self.probabilities),
                ": the points of `at` must rise.",
            ),
            (
                self.values is not None and len(self.values) != len(self.probabilities),
                f" must have {len(self.probabilities)} values, one for each point of `at`.",
            ),
        )
        names, shape = [f"{p:g}" for p in self.probabilities], (len(self.probabilities),)
        yield NumberBlock(
            "values",
            names,
            self.values or (),
            shape=shape,
            label="a point",
            placeholder=list(self.probabilities),
        )

    def _intervals(self) -> list[Interval]:
        return [self.printed(number, "a point") for number in self.values or []]

    def rules_only(self, domain: OutputDomain) -> str:
        """Return that there are too many values for a search, where there are."""
        return too_many_values(self.variable, len(domain[self.variable].levels))

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the points as formulas of how many records have each value."""
        list(self.layout(domain))  # checks its points
        values = domain[self.variable].values
        if self.rules_only(domain):
            return ()
        cells = values_by_group(self.variable, ALL_RECORDS, domain)
        intervals = self._intervals()
        system = self.sum_system(
            domain,
            cells.size,
            [sums_by_cell(domain, cells, ())],
            intervals,
            Lorenz(self.probabilities, values),
        )
        return (system, *self.n_equations(domain))

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the curve at each point, between the records; nan where there is nothing to share."""
        x = np.sort(column_numbers(self.variable, sample.domain, sample.inside))
        total, n = float(x.sum()), len(x)
        if total <= 0.0:
            return {"values": Estimates(np.full(len(self.probabilities), np.nan))}
        curve = np.concatenate([[0.0], np.cumsum(x)]) / total
        points = np.interp(np.array(self.probabilities) * n, np.arange(n + 1), curve)
        return {"values": Estimates(points, 1.0 / math.sqrt(n))}

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return that there is nothing to share."""
        return f"column '{self.variable}' has nothing to share there"

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether the curve falls, or lies above the diagonal, for values of which none is below 0."""
        if (domain[self.variable].values < 0).any():
            return None
        shown = self._intervals()
        if any(
            interval.lo > p + 1e-9 for interval, p in zip(shown, self.probabilities, strict=True)
        ):
            return "its curve lies above the diagonal"
        falls = any(later.hi < earlier.lo for earlier, later in pairwise(shown))
        return "its curve falls" if falls else None

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return counter.fit(f"lorenz {self.variable}")

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the people between points, n, and the values behind them."""
        n, ends = len(counter.inside), [0.0, *self.probabilities, 1.0]
        bands = list(pairwise(ends))
        yield CurveBands([f"{a:g} to {b:g}" for a, b in bands], [(b - a) * n for a, b in bands])
        yield Counts(tallies[1:], self.unit_noun)
        yield Magnitudes(tallies[0], column_numbers(self.variable, counter.domain, counter.codes))


KINDS.register(Kind("gini", GiniSpec, "GiniCoefficient", "Gini coefficients, by groups or not"))
KINDS.register(Kind("lorenz", LorenzSpec, "GiniCoefficient", "points of a Lorenz curve"))
