"""Rank tests: Mann and Whitney's (Wilcoxon's of two groups), Kruskal and Wallis's.

Ranks depend on the records only by how many of them have each value, in each group; so the statistics, with their corrections for ties, are
formulas of such counts. With t the records that share a value, ties take (t^3 - t) off what numbers without ties would vary by. P-values are those of the
normal (or chi-square) approximation; `correction` takes half a rank off, as R does unless told, and scipy for two groups.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import CrossClassification, column_numbers, record_groups, sums_by_cell
from ..domain import OutputDomain
from ..equations import Output
from ..numbers import Interval
from .base import KINDS, Columns, Kind, Sample, Statistic, Variable, Whole
from .chi_square import chi_square_p_value
from .formulas import Alternative, Derived, Formulas, at_least, tail
from .single import CountsPart, GroupTest, KindPart, Single

MOST_COUNTS = 1_200
"""The most counts, groups times values, that a search may keep; of columns with more values only the rules are checked."""


def too_many_values(column: str, counts: int, max_counts: int = MOST_COUNTS) -> str:
    """Return that a column has too many values for a search, with so many counts; nothing where it has not."""
    if counts <= max_counts:
        return ""
    return (
        f"column '{column}' has more values than the {max_counts:,} that a search keeps counts of"
    )


def values_by_group(
    column: str, cells: CrossClassification, domain: OutputDomain
) -> CrossClassification:
    """Return each value of a column in each group."""
    step = (domain.position(column), np.arange(len(domain[column].values)))
    return CrossClassification((*cells.steps, step), (*cells.names, domain[column].labels))


def ties(together: NDArray[Any]) -> NDArray[Any]:
    """What records that share a value take off: sum of t^3 - t."""
    return np.asarray((together**3 - together).sum(axis=-1))


def mid_ranks(together: NDArray[Any]) -> NDArray[Any]:
    """The mean rank of the records of each value, in order."""
    return np.cumsum(together, axis=-1) - 0.5 * (together - 1.0)


def correct_for_continuity(
    difference: NDArray[Any], alternative: Alternative, *, correction: bool
) -> NDArray[Any]:
    """How far a statistic is from what is expected, half a rank taken off towards it."""
    half = {"two-sided": np.sign(difference.real), "greater": 1.0, "less": -1.0}[alternative]
    return difference - 0.5 * half if correction else difference


class RankSum(Formulas):
    """A sum of ranks with its z and p-value; formulas have `z`, and what is `expected` of the statistic."""

    def __init__(
        self,
        keys: tuple[str, ...],
        toward: Mapping[str, float],
        alternative: Alternative,
        *,
        correction: bool,
    ) -> None:
        super().__init__(keys, toward)
        self.alternative, self.correction = alternative, correction

    def has_wrong_sign(self, numbers: Mapping[str, float]) -> bool:
        """Return whether z has another sign than it should, as far as that is published."""
        expected = numbers["expected"]
        wanted = self.toward.get("z", self.toward.get("statistic", expected) - expected)
        return self.alternative == "two-sided" and wanted * numbers["z"] < 0.0

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        """Return the p-value."""
        from scipy.special import ndtr

        tails, sign = tail(self.alternative, numbers["z"])
        return {
            "p_value": Derived.from_function(
                lambda z: tails * float(ndtr(sign * z)), z=numbers["z"]
            )
        }


class MannWhitney(RankSum):
    """U of the first of two groups (R's W), U / (n1 n2), z and the p-value, out of how many records of each group have each value."""

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return U, the share of pairs that it is, and z."""
        first, second = np.split(sums, 2, axis=-1)
        n1, n2 = (at_least(counts.sum(axis=-1), 1.0) for counts in (first, second))
        u = (first * (np.cumsum(second, axis=-1) - 0.5 * second)).sum(axis=-1)
        n = n1 + n2
        variance = n1 * n2 / 12.0 * (n + 1.0 - ties(first + second) / (n * (n - 1.0)))
        expected = 0.5 * n1 * n2
        z = correct_for_continuity(
            u - expected, self.alternative, correction=self.correction
        ) / np.sqrt(at_least(variance, 1e-9))
        return {"statistic": u, "auc": u / (n1 * n2), "z": z, "expected": expected}

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether a group has no records, or all have the same value."""
        first, second = np.split(sums, 2)
        return bool(min(first.sum(), second.sum()) < 0.5 or (first + second > 0.5).sum() < 2)


class KruskalWallis(Formulas):
    """H, corrected for ties, its degrees of freedom and p-value, out of how many records of each group have each value."""

    def __init__(self, keys: tuple[str, ...], groups: int) -> None:
        super().__init__(keys)
        self.groups = groups

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return H and its degrees of freedom."""
        counts = sums.reshape(*sums.shape[:-1], self.groups, -1)
        together, sizes = counts.sum(axis=-2), counts.sum(axis=-1)
        n, rank = at_least(sizes.sum(axis=-1), 2.0), mid_ranks(together)
        squares = ((counts * rank[..., None, :]).sum(axis=-1) ** 2 / at_least(sizes, 1.0)).sum(
            axis=-1
        )
        h = 12.0 / (n * (n + 1.0)) * squares - 3.0 * (n + 1.0)
        dof = np.maximum((sizes.real > 0.5).sum(axis=-1) - 1.0, 1.0) + 0.0 * n
        return {"statistic": h / at_least(1.0 - ties(together) / (n**3 - n), 1e-9), "dof": dof}

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        """Return the p-value."""
        return {"p_value": chi_square_p_value(numbers)}

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether all records are in one group, or have the same value."""
        counts = sums.reshape(self.groups, -1)
        return bool((counts.sum(axis=1) > 0.5).sum() < 2 or (counts.sum(axis=0) > 0.5).sum() < 2)


class RankSpec(GroupTest):
    """What tests of the ranks of a column share."""

    unit_noun: ClassVar[str] = "group"
    NO_NUMBERS: ClassVar[str] = "a group has no records there, or all of them have the same value"

    variable: Variable
    by: Columns = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)

    def kind_part(self, key: str) -> KindPart:
        """Return the n and medians of the groups."""
        kind_part = super().kind_part(key)
        counts = getattr(self, "counts", None)
        return (
            kind_part._replace(entry={**kind_part.entry, "n": counts})
            if key == "medians" and counts is not None
            else kind_part
        )

    def rules_only(self, domain: OutputDomain) -> str:
        """Return that there are too many values for a search, where there are."""
        return too_many_values(self.variable, self._size(domain))

    def _size(self, domain: OutputDomain) -> int:
        return self.crossing(domain).size * len(domain[self.variable].values)

    def _values_by_group(self, domain: OutputDomain) -> CrossClassification:
        if self.variable in self.by:
            raise self.fault(f" cannot rank column '{self.variable}' by itself.")
        return values_by_group(self.variable, self.crossing(domain), domain)

    @abstractmethod
    def reading(self, key: str, groups: int) -> Formulas:
        """Return a number as a formula of counts."""

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return the test as formulas of how many records of each group have each value."""
        cells = self._values_by_group(domain)
        reading = self.reading(key, cells.shape[0])
        return self.sum_system(
            domain, cells.size, [sums_by_cell(domain, cells, ())], [interval], reading
        )

    def samples(self, sample: Sample) -> list[Floats]:
        """Return the numbers of each group."""
        x = column_numbers(self.variable, sample.domain, sample.inside)
        return [x[rows] for rows in record_groups(self.crossing(sample.domain), sample.inside)]


class MannWhitneySpec(RankSpec):
    """The rank test of Mann and Whitney (Wilcoxon's rank sum test): whether the numbers of one of two groups tend to be larger."""

    kind: Literal["mann-whitney"] = "mann-whitney"
    by: Annotated[Columns, Key(min_length=1, max_length=1)]
    alternative: Alternative = "two-sided"
    correction: bool = True
    statistic: Annotated[Any, Statistic("the statistic", default=True)] = None
    auc: Annotated[Any, Statistic("the share of pairs")] = None
    z: Annotated[Any, Statistic("z")] = None
    p_value: Annotated[Any, Statistic("the p-value", default=True)] = None
    counts: CountsPart = None
    medians: Annotated[Any, Statistic(is_part=True)] = None

    def _values_by_group(self, domain: OutputDomain) -> CrossClassification:
        cells = super()._values_by_group(domain)
        if cells.shape[0] != 2:
            raise self.fault(
                f' must be between two groups. Choose them: groups = {{ "{self.by[0]}" = [...] }}.'
            )
        return cells

    def reading(self, key: str, groups: int) -> Formulas:
        """Return a number of the test as a formula of counts."""
        return MannWhitney((key,), self.toward, self.alternative, correction=self.correction)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records, by scipy; nan where there is none."""
        from scipy.stats import mannwhitneyu, norm

        first, second = self.samples(sample)
        if not len(first) or not len(second) or np.ptp(np.concatenate([first, second])) == 0.0:
            return dict.fromkeys(self.statistics, Single(math.nan))
        test = mannwhitneyu(
            first,
            second,
            use_continuity=self.correction,
            alternative=self.alternative,
            method="asymptotic",
        )
        n1, n2 = len(first), len(second)
        n, pairs = n1 + n2, n1 * n2
        _, together = np.unique(np.concatenate([first, second]), return_counts=True)
        unit = math.sqrt(
            pairs / 12.0 * (n + 1.0 - float((together**3.0 - together).sum()) / (n * (n - 1.0)))
        )
        u = float(test.statistic)
        z = (
            float(
                correct_for_continuity(
                    np.array(u - 0.5 * pairs), self.alternative, correction=self.correction
                )
            )
            / unit
        )
        return {
            "statistic": Single(u, unit),
            "auc": Single(u / pairs, unit / pairs),
            "z": Single(z, 1.0),
            "p_value": Single(float(test.pvalue), 2.0 * float(norm.pdf(z))),
        }


class KruskalWallisSpec(RankSpec):
    """The rank test of Kruskal and Wallis between groups, corrected for ties."""

    kind: Literal["kruskal-wallis"] = "kruskal-wallis"
    by: Annotated[Columns, Key(min_length=1, max_length=1)]
    statistic: Annotated[Any, Statistic("the statistic", default=True)] = None
    dof: Annotated[Whole | None, Statistic(is_whole=True, default=True)] = None
    p_value: Annotated[Any, Statistic("the p-value", default=True)] = None
    counts: CountsPart = None
    medians: Annotated[Any, Statistic(is_part=True)] = None

    def reading(self, key: str, groups: int) -> Formulas:
        """Return a number of the test as a formula of counts."""
        return KruskalWallis((key,), groups)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records, by scipy; nan where there is none."""
        from scipy.stats import chi2, kruskal

        samples = [numbers for numbers in self.samples(sample) if len(numbers)]
        if len(samples) < 2 or np.ptp(np.concatenate(samples)) == 0.0:
            return dict.fromkeys(self.statistics, Single(math.nan))
        test, dof = kruskal(*samples), len(samples) - 1
        unit, h = math.sqrt(2.0 * dof), float(test.statistic)
        return {
            "statistic": Single(h, unit),
            "p_value": Single(float(test.pvalue), unit * float(chi2.pdf(max(h, 1e-9), dof))),
            "dof": Single(dof),
        }


for _kind in (
    Kind(
        "mann-whitney",
        MannWhitneySpec,
        "StatisticalHypothesisTests",
        "the rank test of Mann and Whitney between two groups",
    ),
    Kind(
        "kruskal-wallis",
        KruskalWallisSpec,
        "StatisticalHypothesisTests",
        "the rank test of Kruskal and Wallis between groups",
    ),
):
    KINDS.register(_kind)
