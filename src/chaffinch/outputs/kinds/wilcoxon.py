"""Wilcoxon's signed rank test, of pairs or against a number: the sum of the ranks of positive differences, in the order of their sizes.

It depends on how many records have each difference; those of 0 are left out. Ties and p-values as in `rank_tests.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import column_numbers
from ..domain import OutputDomain
from ..equations import Output, Terms
from ..numbers import Interval
from .base import KINDS, Kind, OptionalColumn, Sample, Statistic
from .formulas import Alternative, Formulas, at_least
from .rank_tests import RankSpec, RankSum, correct_for_continuity, mid_ranks, ties
from .single import Single


class SignedRanks(RankSum):
    """The sum of the ranks of positive differences (R's V), the smaller of both sums (scipy's), z and the p-value.

    Out of how many records have each size of a difference: first those above 0, then those below.
    """

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return V, the smaller sum, and z."""
        above, below = np.split(sums, 2, axis=-1)
        together = above + below
        n, rank = at_least(together.sum(axis=-1), 1.0), mid_ranks(together)
        v, other = (above * rank).sum(axis=-1), (below * rank).sum(axis=-1)
        variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties(together) / 48.0
        expected = n * (n + 1.0) / 4.0
        z = correct_for_continuity(
            v - expected, self.alternative, correction=self.correction
        ) / np.sqrt(at_least(variance, 1e-9))
        return {
            "statistic": v,
            "smaller": np.where(v.real <= other.real, v, other),
            "z": z,
            "expected": expected,
        }

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether no records differ."""
        return bool(sums.sum() < 0.5)


class WilcoxonSpec(RankSpec):
    """Wilcoxon's signed rank test of the column `of` against `mu`, or against the column `paired` record by record; differences of 0 do not count."""

    NO_NUMBERS: ClassVar[str] = "no records differ there"

    kind: Literal["wilcoxon"] = "wilcoxon"
    by: Annotated[list[str], Key(max_length=0)] = Key(default_factory=list)
    paired: OptionalColumn = None
    mu: float = 0.0
    alternative: Alternative = "two-sided"
    correction: bool | None = None
    statistic: Annotated[Any, Statistic("the statistic", default=True)] = None
    smaller: Annotated[Any, Statistic("the smaller sum")] = None
    z: Annotated[Any, Statistic("z")] = None
    p_value: Annotated[Any, Statistic("the p-value", default=True)] = None

    def _differences(self, domain: OutputDomain) -> tuple[tuple[int, ...], Floats]:
        """The columns, and the difference of each combination of their levels."""
        positions: tuple[int, ...] = (domain.position(self.variable),)
        differences = domain[self.variable].values - self.mu
        if self.paired is not None:
            if self.paired == self.variable:
                raise self.fault(f" cannot compare column '{self.variable}' with itself.")
            positions = tuple(sorted((positions[0], domain.position(self.paired))))
            grid = domain.grid(positions)
            differences = differences[grid[domain.position(self.variable)]]
            differences = (
                differences - domain[self.paired].values[grid[domain.position(self.paired)]]
            )
        return positions, np.round(differences, 9)

    def _size(self, domain: OutputDomain) -> int:
        return 2 * len(np.unique(np.abs(self._differences(domain)[1])))

    def reading(self, key: str, groups: int) -> Formulas:
        """Return a number of the test as a formula of counts."""
        return SignedRanks((key,), self.toward, self.alternative, correction=bool(self.correction))

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return the test as formulas of how many records have each difference."""
        self._check_correction()
        positions, differences = self._differences(domain)
        rows = np.flatnonzero(differences)
        sizes, size_index = np.unique(np.abs(differences[rows]), return_inverse=True)
        below = np.where(differences[rows] < 0.0, len(sizes), 0)
        terms = Terms.sparse(
            positions, domain.shape(positions), rows, size_index.ravel() + below, np.ones(len(rows))
        )
        return self.sum_system(domain, 2 * len(sizes), [terms], [interval], self.reading(key, 1))

    def _check_correction(self) -> None:
        if self.correction is None and (self.publishes("z") or self.publishes("p_value")):
            raise self.fault(
                " must say whether half a rank was taken off for its p-value: correction = true (R's default), or false (scipy's)."
            )

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records, by scipy; nan where none differ."""
        from scipy.stats import norm, rankdata, wilcoxon

        self._check_correction()
        x = column_numbers(self.variable, sample.domain, sample.inside) - self.mu
        if self.paired is not None:
            x = x - column_numbers(self.paired, sample.domain, sample.inside)
        x = np.round(x, 9)
        x = x[x != 0.0]
        if not len(x):
            return dict.fromkeys(self.statistics, Single(math.nan))
        correction, n, ranks = bool(self.correction), len(x), rankdata(np.abs(x))
        test = wilcoxon(
            x,
            zero_method="wilcox",
            correction=correction,
            alternative=self.alternative,
            method="asymptotic",
        )
        v = float(ranks[x > 0.0].sum())
        _, together = np.unique(np.abs(x), return_counts=True)
        unit = math.sqrt(
            n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - float((together**3.0 - together).sum()) / 48.0
        )
        z = float(
            correct_for_continuity(
                np.array(v - n * (n + 1.0) / 4.0), self.alternative, correction=correction
            )
        ) / max(unit, 1e-9)
        return {
            "statistic": Single(v, unit),
            "smaller": Single(min(v, n * (n + 1.0) / 2.0 - v), unit),
            "z": Single(z, 1.0),
            "p_value": Single(float(test.pvalue), 2.0 * float(norm.pdf(z))),
        }

    @property
    def fit_name(self) -> str:
        """What the test is of."""
        return f"wilcoxon {self.variable} {self.paired or self.mu}"


KINDS.register(
    Kind(
        "wilcoxon",
        WilcoxonSpec,
        "StatisticalHypothesisTests",
        "Wilcoxon's signed rank test, of pairs or against a number",
    )
)
