"""Fisher's exact test of a table of two by two: its p-value and odds ratio.

Given the margins, the first cell is hypergeometric. The p-value adds up the tables that are as unlikely as the one there is (or lie on one side of it), as R and
scipy do. The odds ratio is that of the counts, a d / (b c), as scipy prints it; or, `conditional`, the one at which the first cell is what is expected given the
margins (the conditional maximum likelihood estimate), as R does.
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
from .base import KINDS, Columns, Kind, Sample, Statistic
from .formulas import Alternative, scale_number
from .single import CountsPart, GroupTest, Single

SAME = 1.0 + 1e-7
"""Probabilities up to this factor count as equal, as in R."""
MOST_LOG_ODDS = 60.0


def _hypergeometric(table: NDArray[Any]) -> tuple[Floats, Floats]:
    """The first cells that the margins of a table allow, and the logarithms of their probabilities."""
    from scipy.special import gammaln

    (a, b), (c, _) = table
    n, row, column = float(table.sum()), a + b, a + c
    cells = np.arange(max(0.0, row + column - n), min(row, column) + 1.0)
    each = -sum(
        gammaln(counts + 1.0)
        for counts in (cells, row - cells, column - cells, n - row - column + cells)
    )
    largest = each.max()
    return cells, each - largest - math.log(float(np.exp(each - largest).sum()))


class FisherExact:
    """The p-value and the odds ratio out of the four counts; derivatives by one record more and one fewer, since p-values have no others."""

    def __init__(
        self,
        keys: tuple[str, ...],
        toward: Mapping[str, float],
        alternative: Alternative,
        *,
        conditional: bool,
    ) -> None:
        self.keys, self.toward, self.alternative, self.conditional = (
            keys,
            toward,
            alternative,
            conditional,
        )

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers there are none of: all with an empty row or column, the odds ratio where it is without end."""
        table = np.round(sums).reshape(2, 2)
        empty = bool((table.sum(axis=0) < 1).any() or (table.sum(axis=1) < 1).any())
        return np.array(
            [
                empty or (key == "odds_ratio" and not math.isfinite(self.odds_ratio(table)))
                for key in self.keys
            ]
        )

    def p_value(self, table: NDArray[Any]) -> float:
        """Return the p-value of a table."""
        cells, logs = _hypergeometric(table)
        chances, first_cell = np.exp(logs), table[0, 0]
        if self.alternative == "two-sided":
            probability = float(chances[round(first_cell - cells[0])])
            return min(float(chances[chances <= probability * SAME].sum()), 1.0)
        side = cells <= first_cell if self.alternative == "less" else cells >= first_cell
        return min(float(chances[side].sum()), 1.0)

    def odds_ratio(self, table: NDArray[Any]) -> float:
        """Return the odds ratio of a table; 0 or infinite where a cell is empty."""
        (a, b), (c, d) = table
        if not self.conditional:
            return math.inf if b * c == 0.0 else float(a * d / (b * c))
        cells, logs = _hypergeometric(table)
        if a <= cells[0] or a >= cells[-1]:
            return 0.0 if a <= cells[0] else math.inf
        low, high = -MOST_LOG_ODDS, MOST_LOG_ODDS
        for _ in range(200):
            middle = 0.5 * (low + high)
            tilted = logs + middle * cells
            weights = np.exp(tilted - tilted.max())
            below = float((cells * weights).sum() / weights.sum()) < a
            low, high = (middle, high) if below else (low, middle)
            if high - low < 1e-13:
                break
        return math.exp(0.5 * (low + high))

    def numbers(self, table: NDArray[Any]) -> Floats:
        """Return the published numbers of a table as equations have them; where the odds ratio is 0 or without end, that with half a record more in each cell."""
        numbers = []
        for key in self.keys:
            number = self.p_value(table) if key == "p_value" else self.odds_ratio(table)
            if key == "odds_ratio" and (number == 0.0 or not math.isfinite(number)):
                (a, b), (c, d) = table + 0.5
                number = float(a * d / (b * c))
            value = scale_number(key, number)[0]
            numbers.append(-value if key == "p_value" and self._has_wrong_sign(table) else value)
        return np.array(numbers)

    def _has_wrong_sign(self, table: NDArray[Any]) -> bool:
        """Whether the odds ratio is on another side of 1 than it should be, as far as it is published."""
        (a, b), (c, d) = table
        return (
            self.alternative == "two-sided"
            and (self.toward.get("odds_ratio", 1.0) - 1.0) * (a * d - b * c) < 0.0
        )

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and how they change with each count."""
        table = np.round(np.maximum(sums, 0.0)).reshape(2, 2)
        slope = np.zeros((len(self.keys), 4))
        for k, record in enumerate(np.eye(4).reshape(4, 2, 2)):
            fewer = np.maximum(table - record, 0.0)
            slope[:, k] = (self.numbers(table + record) - self.numbers(fewer)) / float(
                (table + record - fewer).sum()
            )
        return self.numbers(table), slope


class FisherSpec(GroupTest):
    """Fisher's exact test of the two columns of `by`, each of two groups."""

    NO_NUMBERS: ClassVar[str] = "a row, a column or a cell of its table has no records there"

    kind: Literal["fisher"] = "fisher"
    by: Annotated[Columns, Key(min_length=2, max_length=2)]
    groups: dict[str, Any] = Key(default_factory=dict)
    alternative: Alternative = "two-sided"
    conditional: bool | None = None
    p_value: Annotated[Any, Statistic("the p-value", default=True)] = None
    odds_ratio: Annotated[Any, Statistic("the odds ratio")] = None
    counts: CountsPart = None

    def cells(self, domain: OutputDomain) -> CrossClassification:
        """Return the table, which is two by two."""
        cells = self.crossing(domain)
        self.refuse(
            (
                cells.shape != (2, 2),
                " must be of a table of two by two. Choose two groups of each column, with groups = { ... }.",
            ),
            (
                self.conditional is None and self.publishes("odds_ratio"),
                " must say which odds ratio it has: conditional = true for the estimate given the margins (R), false for that of the counts (scipy).",
            ),
        )
        return cells

    def systems(self, domain: OutputDomain, intervals: dict[str, Interval]) -> list[Output]:
        """Return p-value and odds ratio as functions of the counts, together: neither follows from the other, but they nearly rise together."""
        terms = sums_by_cell(domain, self.cells(domain), ())
        reading = FisherExact(
            tuple(intervals), self.toward, self.alternative, conditional=bool(self.conditional)
        )
        return [self.sum_system(domain, 4, [terms], intervals.values(), reading)]

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether the p-value is above 1, or the odds ratio below 0."""
        intervals = self.intervals()
        if "p_value" in intervals and (
            intervals["p_value"].lo > 1.0 or intervals["p_value"].hi < 0.0
        ):
            return "its p-value does not lie between 0 and 1"
        if "odds_ratio" in intervals and intervals["odds_ratio"].hi < 0.0:
            return "its odds ratio is below 0"
        return super().contradiction(domain)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records, by scipy; nan where a row or column has none, and for an odds ratio without end."""
        from scipy.stats import fisher_exact
        from scipy.stats.contingency import odds_ratio

        table = crosstab(self.cells(sample.domain), sample.inside)
        if (table.sum(axis=0) == 0).any() or (table.sum(axis=1) == 0).any():
            return dict.fromkeys(self.statistics, Single(math.nan))
        p_value = float(fisher_exact(table, alternative=self.alternative).pvalue)
        ratio = float(
            odds_ratio(table, kind="conditional" if self.conditional else "sample").statistic
        )
        log_error = math.sqrt(float((1.0 / np.maximum(table, 0.5)).sum()))
        return {
            "p_value": Single(p_value, max(p_value * (1.0 - p_value), 1e-9)),
            "odds_ratio": Single(
                ratio if math.isfinite(ratio) else math.nan, max(ratio, 1e-6) * log_error
            ),
        }


KINDS.register(
    Kind(
        "fisher",
        FisherSpec,
        "StatisticalHypothesisTests",
        "Fisher's exact test of a table of two by two",
    )
)
