"""Pearson correlations, of two columns or as a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import ALL_RECORDS, column_numbers, cross_classify, sums_by_cell
from ..domain import OutputDomain
from ..equations import Output
from ..numbers import UNSAID, Interval, is_withheld
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, DegreesOfFreedom
from .base import (
    KINDS,
    SLACK,
    Columns,
    Estimates,
    Kind,
    NumberBlock,
    OutputSpec,
    Sample,
    Statistic,
    as_list,
    by_code,
    least_step,
    middle,
    renumber_equations,
)
from .formulas import Formulas, raise_to


class Correlations(Formulas):
    """Pearson correlations of pairs, out of n, sums, squares and products (of the pairs) of one group of records.

    `steps` are the smallest differences of two values of each column. Where all records agree in a column it has no correlation: it then
    counts as if one record were a step away.
    """

    def __init__(self, pairs: list[tuple[int, int]], steps: Floats) -> None:
        super().__init__([f"{a}|{b}" for a, b in pairs])
        self.pairs, self.columns, self.steps = pairs, len(steps), steps

    def _spread(self, sums: NDArray[Any]) -> NDArray[Any]:
        k, n = self.columns, raise_to(sums[..., :1], 1.0)
        spread: NDArray[Any] = sums[..., 1 + k : 1 + 2 * k] - sums[..., 1 : 1 + k] ** 2 / n
        return spread

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which pairs have no correlation: all records agree in one of the columns."""
        flat = self._spread(sums) < 0.25 * self.steps**2
        return np.array([flat[a] or flat[b] for a, b in self.pairs], dtype=bool)

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the correlation of each pair."""
        first, n = sums[..., 1 : 1 + self.columns], raise_to(sums[..., 0], 1.0)
        spread = raise_to(self._spread(sums), 0.25 * self.steps**2)
        products = np.moveaxis(sums[..., 1 + 2 * self.columns :], -1, 0)
        return {
            key: (product - first[..., a] * first[..., b] / n)
            / np.sqrt(spread[..., a] * spread[..., b])
            for key, (a, b), product in zip(self.keys, self.pairs, products, strict=True)
        }


class CorrelationSpec(OutputSpec):
    """The Pearson correlation of two numbers, or the matrix of several, both halves of which must agree where both are published."""

    kind: Literal["correlation"] = "correlation"
    variables: Annotated[Columns, Key(min_length=2, alias="of")]
    value: Annotated[Any, Statistic(presence="main")] = None
    values: Annotated[list[list[Any]] | None, Statistic(presence="main")] = None

    def intervals(self) -> dict[tuple[int, int], Interval]:
        """Return the interval of each pair's correlation."""
        k = len(self.variables)
        if (self.value is None) == (self.values is None) or (self.value is not None and k != 2):
            raise self.fault(
                " must have a value for two columns, or values: a matrix of correlations."
            )
        if self.values is None:
            return {(0, 1): self._interval(self.value)}
        if len(self.values) != k or any(len(row) != k for row in self.values):
            raise self.fault(f": the matrix must have {k} rows of {k} correlations.")
        intervals = {}
        for a, b in combinations(range(k), 2):
            both = [
                self._interval(self.values[i][j])
                for i, j in ((a, b), (b, a))
                if self.values[i][j] not in UNSAID
            ]
            if len(both) == 2 and both[0] != both[1]:
                raise self.fault(": the matrix of correlations must be symmetric.")
            if both:
                intervals[a, b] = both[0]
        if not intervals:
            raise self.fault(" has no correlation.")
        return intervals

    def _interval(self, number: Any) -> Interval:
        interval = self.printed(number, "a correlation")
        if interval.lo > 1 or interval.hi < -1:
            raise self.fault(": correlations must lie between -1 and 1.")
        return interval

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return one system of sums."""
        cells = cross_classify(self.variables, {}, domain, output=self.name)  # checks names
        intervals, positions = self.intervals(), cells.positions
        fields = [domain.columns[p] for p in positions]
        shifted = [field.values - middle(field.values) for field in fields]
        k, size = len(positions), 1 + 2 * len(positions) + len(intervals)
        terms = [renumber_equations(sums_by_cell(domain, ALL_RECORDS, ()), [0])]
        for i, p in enumerate(positions):
            powers = [by_code((p, shifted[i] ** power)) for power in (1, 2)]
            terms.append(
                renumber_equations(
                    sums_by_cell(domain, ALL_RECORDS, powers, count=False), [1 + i, 1 + k + i]
                )
            )
        for row, (a, b) in enumerate(intervals):
            times = [by_code((positions[a], shifted[a]), (positions[b], shifted[b]))]
            terms.append(
                renumber_equations(
                    sums_by_cell(domain, ALL_RECORDS, times, count=False), [1 + 2 * k + row]
                )
            )
        reading = Correlations(
            list(intervals), np.array([least_step(field.values) for field in fields])
        )
        return (
            self.sum_system(domain, size, terms, intervals.values(), reading),
            *self.n_equations(domain),
        )

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for columns that are no numbers."""
        self.filter(domain)
        for column in self.variables:
            domain[column].values  # noqa: B018

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.variables)), 2))

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give each pair's correlation, from either half of the matrix."""
        numbers, matrix = as_list(self.value), self.values
        if numbers or matrix is not None:
            self.intervals()
        if matrix is not None:
            numbers = [
                matrix[b][a] if is_withheld(matrix[a][b]) else matrix[a][b] for a, b in self._pairs
            ]
        names = [f"{self.variables[a]}|{self.variables[b]}" for a, b in self._pairs]
        yield NumberBlock("values", names, numbers, label="a correlation")

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return each pair's correlation; nan for a column with one value only."""
        n, values = len(sample.inside), np.full(len(self._pairs), np.nan)
        if n > 1:
            numbers = [
                column_numbers(name, sample.domain, sample.inside) for name in self.variables
            ]
            with np.errstate(all="ignore"):
                matrix = np.clip(np.asarray(np.corrcoef(numbers), dtype=float), -1.0, 1.0)
            values = matrix[np.triu_indices(len(self.variables), 1)]
        return {"values": Estimates(values, (1.0 - values**2) / math.sqrt(max(n, 1)))}

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return which column of a pair has one value only."""
        first, second = (self.variables[k] for k in self._pairs[index])
        levels = np.unique(sample.inside[:, sample.domain.position(first)])
        return f"column '{first if len(levels) < 2 else second}' has a single value there"

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return the correlation of two columns, or the matrix."""
        (block,), k, printer = self.layout(sample.domain), len(self.variables), self.printer
        pairs = self.shown(block, self.estimates(sample)["values"], sample, printer)
        if k == 2:
            return {"value": pairs[0]}
        printed: list[list[Any]] = [[printer.number(1.0, "values", "")] * k for _ in range(k)]
        for (a, b), number in zip(self._pairs, pairs, strict=True):
            printed[a][b] = printed[b][a] = number
        return {"values": printed}

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return why no numbers have the published correlations; None if some may.

        A column needs two values to have a correlation at all. Of three columns, the angles arccos r obey the triangle inequality and add
        up to at most a full turn: else their correlation matrix has a negative eigenvalue.
        """
        intervals = self.intervals()
        for pair in intervals:
            for k in pair:
                if len(self.kept_values(domain, self.variables[k])) < 2:
                    return f"column '{self.variables[k]}' has one value only, so that nothing is correlated with it"
        n = self.known_n(domain)
        if n is not None and n < 2:
            return "one record has no correlation"
        # Angles fall as correlations rise. Ends that were rounded beyond 1 are taken back.
        angles = {
            pair: (math.acos(min(max(r.hi, -1.0), 1.0)), math.acos(min(max(r.lo, -1.0), 1.0)))
            for pair, r in intervals.items()
        }
        for three in combinations(range(len(self.variables)), 3):
            pairs = list(combinations(three, 2))
            if not all(pair in angles for pair in pairs):
                continue
            smallest, largest = (
                [angles[pair][0] for pair in pairs],
                [angles[pair][1] for pair in pairs],
            )
            apart = any(smallest[k] > sum(largest) - largest[k] + SLACK for k in range(3))
            if apart or sum(smallest) > 2.0 * math.pi + SLACK:
                names = ", ".join(f"'{self.variables[k]}'" for k in three)
                return f"the correlations of {names} contradict each other: no three columns have all of them"
        return None

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return counter.fit(str(self.variables))

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, and records less two."""
        yield Counts(tallies, self.unit_noun)
        yield DegreesOfFreedom(len(counter.inside) - 2)


KINDS.register(
    Kind(
        "correlation",
        CorrelationSpec,
        "CorrelationCoefficients",
        "the Pearson correlation of two columns, or a matrix",
    )
)
