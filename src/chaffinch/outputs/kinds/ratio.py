"""Ratios of two totals, weighted means, shares of a total and weighted tables; for all records or by groups.

With w the weight (1 if there is none): a ratio is sum w a / sum w b, a weighted mean sum w a / sum w; shares are the percentages of a column's sum that
the cells of a table have. A weighted table has sums (or shares) of the column of weights, and the unweighted counts beside or not; rules are run on the
records behind each cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import column_numbers, record_groups, sums_by_cell
from ..domain import MOST_CELLS, OutputDomain
from ..equations import Output, Terms
from ..numbers import Interval, share_interval
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, Magnitudes
from ..rules.findings import RuleFinding
from ..rules.policy import Policy
from .base import (
    KINDS,
    Column,
    Columns,
    Kind,
    OptionalColumn,
    Sample,
    Statistic,
    by_code,
    renumber_equations,
)
from .formulas import GroupFormulas
from .moments import GroupedNumbers, GroupNumber
from .single import CountsPart, KindPart, PartsAlone, once
from .table import TableShares, numbers_of_wholes

TOO_MANY = f"its columns together have over {MOST_CELLS} combinations of levels"


class Ratios(GroupFormulas):
    """Sums divided by sums, group by group: the numerator, then the denominator."""

    def __init__(self, groups: Sequence[int]) -> None:
        super().__init__(groups, 2)

    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which ratios have a denominator of 0."""
        return np.asarray(np.abs(sums[:, 1]) < 1e-9)

    def formula(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the ratio of each group."""
        below = sums[..., 1]
        return np.asarray(sums[..., 0] / np.where(np.abs(below.real) < 1e-9, 1e-9, below))


class RatioSpec(GroupedNumbers):
    """The ratio of the sums of the columns `of` and `over`, or the mean of `of`; each record counted with its `weight`, if there is one."""

    QUANTITY: ClassVar[str] = "ratio"
    NO_NUMBER: ClassVar[str] = "has nothing to divide by"

    kind: Literal["ratio", "weighted-mean"]
    over: OptionalColumn = None
    weight: OptionalColumn = None

    @property
    def of_columns(self) -> tuple[str, ...]:
        """The columns that it sums up."""
        return tuple(name for name in (self.variable, self.over, self.weight) if name is not None)

    def _factors(self) -> tuple[list[str], list[str]]:
        """The columns whose products are summed up above and below the line."""
        self.refuse(
            (
                self.kind == "ratio" and self.over is None,
                " must name the column below the line, with over = ...",
            ),
            (
                self.kind == "weighted-mean" and (self.weight is None or self.over is not None),
                " must name the column of weights, with weight = ..., and no other.",
            ),
            (len(set(self.of_columns)) < len(self.of_columns), " must name different columns."),
        )
        weight = [] if self.weight is None else [self.weight]
        return [*weight, self.variable], [*weight, *([] if self.over is None else [self.over])]

    def rules_only(self, domain: OutputDomain) -> str:
        """Return that there are too many combinations for a search, where there are."""
        crossed = math.prod(len(domain[name].levels) for name in self.by)
        n_combinations = max(
            math.prod(len(domain[name].levels) for name in side if name not in self.by)
            for side in self._factors()
        )
        return TOO_MANY if crossed * n_combinations > MOST_CELLS else ""

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for columns that are no numbers, or missing."""
        super().check_recipe(domain)
        for name in self.of_columns:
            domain[name].values  # noqa: B018  raises for words
        self._factors()

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return one system of sums: above and below the line, in each group."""
        if self.rules_only(domain):
            return ()
        cells, terms = self.crossing(domain), list[Terms]()
        intervals = self.intervals(cells)
        for side, names in enumerate(self._factors()):
            columns = [(domain.position(name), domain[name].values) for name in names]
            sums = sums_by_cell(domain, cells, [by_code(*columns)], count=False)
            terms.append(renumber_equations(sums, [2 * k + side for k in range(cells.size)]))
        system = self.sum_system(
            domain, 2 * cells.size, terms, intervals.values(), Ratios(list(intervals))
        )
        return (system, *self.n_equations(domain))

    def _sums(self, sample: Sample | CellCounter) -> tuple[Floats, Floats]:
        """What each record adds above and below the line."""
        codes = sample.codes if isinstance(sample, CellCounter) else sample.inside
        above, below = (
            np.prod(
                [column_numbers(name, sample.domain, codes) for name in names]
                or [np.ones(len(codes))],
                axis=0,
            )
            for names in self._factors()
        )
        return above, below

    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the ratio of each group, with the error of a ratio to first order."""
        above, below = self._sums(sample)
        for rows in record_groups(self.crossing(sample.domain), sample.inside):
            a, b = above[rows], below[rows]
            total = float(b.sum())
            if not len(rows) or total == 0.0:
                yield GroupNumber(len(rows), math.nan)
                continue
            ratio = float(a.sum()) / total
            yield GroupNumber(
                len(rows), ratio, math.sqrt(float(((a - ratio * b) ** 2).sum())) / abs(total)
            )

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether a weighted mean lies outside the values of its column, where no weight is below 0."""
        if (
            self.kind != "weighted-mean"
            or self.weight is None
            or (domain[self.weight].values < 0).any()
        ):
            return None
        values, cells = domain[self.variable].values, self.crossing(domain)
        outside = any(
            interval.hi < values[0] - 1e-7 or interval.lo > values[-1] + 1e-7
            for interval in self.intervals(cells).values()
        )
        return f"a mean lies outside the values of column '{self.variable}'" if outside else None

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give groups, and what is summed up above and below the line."""
        yield Counts(tallies, self.unit_noun)
        for values in self._sums(counter):
            if np.ptp(values) > 0 or self.over:
                yield Magnitudes(tallies[0], values)

    def findings(
        self, tallies: list[CellCounts], counter: CellCounter, policy: Policy
    ) -> list[RuleFinding]:
        """Return what the rules say, once where they say it of both sums."""
        return once(super().findings(tallies, counter, policy))


class ShareSpec(GroupedNumbers):
    """The percentages of the sum of the column `of` that the cells of `by` have: of `all`, of each of the `rows` or `columns`."""

    QUANTITY: ClassVar[str] = "share"
    NO_NUMBER: ClassVar[str] = "has nothing to be a share of"

    kind: Literal["shares"] = "shares"
    by: Columns
    percentages: Literal["all", "rows", "columns"] = "all"

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the sums of all cells, as shares."""
        if self.rules_only(domain):
            return ()
        cells, field, position = (
            self.crossing(domain),
            domain[self.variable],
            domain.position(self.variable),
        )
        if (field.values < 0).any():
            raise self.fault(f" has shares of column '{self.variable}', which has values below 0.")
        printed = self.printed_cells(cells).ravel()
        what = f"Output '{self.name}': a percentage"
        shares = [
            share_interval(printed[k], decimals=self.decimals, what=what)
            for k in self.intervals(cells)
        ]
        sums = sums_by_cell(
            domain,
            cells,
            [by_code((position, field.values))],
            count=False,
        )
        reading = TableShares(
            numbers_of_wholes(cells.shape, self.percentages), list(self.intervals(cells))
        )
        intervals = [Interval(*share) for share in shares if share is not None]
        return (
            self.sum_system(domain, cells.size, [sums], intervals, reading),
            *self.n_equations(domain),
        )

    def rules_only(self, domain: OutputDomain) -> str:
        """Return that there are too many combinations for a search, where there are."""
        return (
            TOO_MANY
            if math.prod(len(domain[name].levels) for name in (self.variable, *self.by))
            > MOST_CELLS
            else ""
        )

    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the percentage of each cell."""
        cells = self.crossing(sample.domain)
        groups = list(self.by_group(sample))
        total_index, sums = (
            numbers_of_wholes(cells.shape, self.percentages),
            np.array([numbers.sum() for numbers in groups]),
        )
        totals = np.bincount(total_index, weights=sums)[total_index]
        for numbers, total in zip(groups, totals, strict=True):
            if total <= 0.0:
                yield GroupNumber(len(numbers), math.nan)
                continue
            error = 100.0 * math.sqrt(float((numbers**2).sum())) / total
            yield GroupNumber(len(numbers), 100.0 * float(numbers.sum()) / total, error)


KINDS.register(
    Kind("ratio", RatioSpec, "CalculatedRatios", "ratios of two totals, by groups or not")
)
KINDS.register(
    Kind("weighted-mean", RatioSpec, "LinearAggregations", "weighted means, by groups or not")
)
KINDS.register(
    Kind("shares", ShareSpec, "LinearAggregations", "percentages of a column's sum, by groups")
)


class WeightedTableSpec(PartsAlone):
    """A table whose cells are sums of the column `weight`, or percentages of them; `counts` are how many records each cell has."""

    kind: Literal["weighted-table"] = "weighted-table"
    by: Annotated[Columns, Key(min_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    weight: Column
    percentages: Literal["all", "rows", "columns"] | None = None
    values: Annotated[list[Any] | dict[str, Any] | None, Statistic(is_part=True, default=True)] = (
        None
    )
    counts: CountsPart = None

    def kind_part(self, key: str) -> KindPart:
        """Return weighted numbers as sums or shares of the weights, and counts as a table."""
        groups: dict[str, Any] = {"by": self.by, "groups": self.groups}
        if key == "counts":
            return KindPart("table", "counts", groups)
        if self.percentages is None:
            return KindPart("sum", "values", {"of": self.weight, **groups})
        return KindPart(
            "shares", "values", {"of": self.weight, "percentages": self.percentages, **groups}
        )


KINDS.register(
    Kind(
        "weighted-table",
        WeightedTableSpec,
        "Frequencies",
        "weighted counts or percentages, with the unweighted counts or not",
    )
)
