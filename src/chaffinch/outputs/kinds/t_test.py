"""Tests of means: Student's and Welch's t tests of a column against a number, of two groups, of two columns record by record; one-way analysis of variance.

With n, mean and variance s^2 of each group, t = (difference - mu) / standard error. One sample, and differences of pairs: s^2 / n with n - 1
degrees of freedom. Two groups: pooled, ((n1 - 1) s1^2 + (n2 - 1) s2^2) / (n1 + n2 - 2) times 1 / n1 + 1 / n2; or Welch's (1947, Biometrika 34),
s1^2 / n1 + s2^2 / n2, with Satterthwaite's degrees of freedom. All of it is a formula of each group's count, sum and sum of squares.

Analysis of variance has its table, and the n, means and standard deviations of the groups. Between groups: sum n_k (mean_k - mean)^2 with k - 1 degrees of
freedom; within: sum (n_k - 1) s_k^2 with n - k; F is the ratio of their mean squares. Groups without records do not count.
"""

from __future__ import annotations

import math
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
from .base import (
    KINDS,
    Columns,
    Kind,
    OptionalColumn,
    Sample,
    Statistic,
    Variable,
    Whole,
    by_code,
    least_step,
    middle,
)
from .formulas import Alternative, Derived, Formulas, at_least, tail
from .single import CountsPart, GroupTest, KindPart, Single


class TTest(Formulas):
    """The numbers of a t test out of the count, sum and sum of squares (both less `shift`) of one group, or of two."""

    def __init__(
        self, keys: tuple[str, ...], test: TTestSpec, *, shift: float, step: float
    ) -> None:
        super().__init__(keys, test.toward)
        self.mu, self.welch, self.alternative, self.level = (
            test.mu,
            bool(test.welch),
            test.alternative,
            test.level,
        )
        self.shift, self.step = shift, step

    def _groups(self, sums: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Counts, sums and sums of squares around the mean, (..., groups) each."""
        n = at_least(sums[..., 0::3], 1.0)
        return n, sums[..., 1::3], sums[..., 2::3] - sums[..., 1::3] ** 2 / n

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the difference, its standard error, t and its degrees of freedom."""
        n, total, squares = self._groups(sums)
        # Where all records agree there is no t: they count as if one were a step away.
        squares = at_least(squares, 0.25 * self.step**2)
        mean, free = self.shift + total / n, at_least(n - 1.0, 1.0)
        if n.shape[-1] == 1:
            difference, variance, dof = (
                mean[..., 0],
                squares[..., 0] / free[..., 0] / n[..., 0],
                n[..., 0] - 1.0,
            )
        else:
            difference = mean[..., 0] - mean[..., 1]
            each = squares / free / n
            variance, dof = each.sum(axis=-1), n.sum(axis=-1) - 2.0
            if self.welch:
                dof = variance**2 / (each**2 / free).sum(axis=-1)
            else:
                variance = squares.sum(axis=-1) / at_least(dof, 1.0) * (1.0 / n).sum(axis=-1)
        error = np.sqrt(variance)
        return {
            "difference": difference,
            "standard_error": error,
            "statistic": (difference - self.mu) / error,
            "dof": dof,
        }

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        """Return the p-value, and the ends of the confidence interval."""
        from scipy.special import stdtr

        t, dof, error = numbers["statistic"], max(numbers["dof"], 1.0), numbers["standard_error"]
        tails, sign = tail(self.alternative, t)
        p_value = Derived.from_function(
            lambda statistic, dof: tails * float(stdtr(dof, sign * statistic)), statistic=t, dof=dof
        )
        wide = Derived.from_function(lambda dof: _critical(dof, self.level), dof=dof)
        ends = {
            key: Derived(
                numbers["difference"] + sign * wide.value * error,
                {
                    "difference": 1.0,
                    "standard_error": sign * wide.value,
                    "dof": sign * error * wide.slopes["dof"],
                },
            )
            for key, sign in (("low", -1.0), ("high", 1.0))
        }
        return {"p_value": p_value, **ends}

    def has_wrong_sign(self, numbers: Mapping[str, float]) -> bool:
        """Return whether t has another sign than it should, as far as that is published."""
        wanted = self.toward.get("statistic", self.toward.get("difference", self.mu) - self.mu)
        return self.alternative == "two-sided" and wanted * numbers["statistic"] < 0.0

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether a group has fewer than two records, or no records differ."""
        _, _, squares = self._groups(sums)
        return bool((sums[0::3] < 1.5).any() or squares.sum() < 0.25 * self.step**2)


def _critical(dof: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(dof, 0.5 + 0.5 * level))


class TTestSpec(GroupTest):
    """A t test of the column `of`: against `mu`, between the two groups of `by`, or against the column `paired` record by record."""

    unit_noun: ClassVar[str] = "group"
    NO_NUMBERS: ClassVar[str] = (
        "a group has fewer than two records there, or all of them have the same value"
    )

    kind: Literal["t-test"] = "t-test"
    variable: Variable
    by: Annotated[Columns, Key(max_length=1)] = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)
    paired: OptionalColumn = None
    welch: bool | None = None
    mu: float = 0.0
    alternative: Alternative = "two-sided"
    level: Annotated[float, Key(gt=0, lt=1)] = 0.95
    statistic: Annotated[Any, Statistic("the statistic", default=True)] = None
    dof: Annotated[Any, Statistic("the degrees of freedom", default=True)] = None
    p_value: Annotated[Any, Statistic("the p-value", default=True)] = None
    difference: Annotated[Any, Statistic("the difference")] = None
    standard_error: Annotated[Any, Statistic("the standard error")] = None
    low: Annotated[Any, Statistic("the lower end")] = None
    high: Annotated[Any, Statistic("the upper end")] = None
    counts: CountsPart = None
    means: Annotated[Any, Statistic(is_part=True)] = None
    sds: Annotated[Any, Statistic(is_part=True)] = None

    def cells(self, domain: OutputDomain) -> CrossClassification:
        """The two groups, or all records as one."""
        self.refuse(
            (
                self.by and self.paired is not None,
                " has `by` and `paired`: a test is between two groups of records, or between two columns of each.",
            ),
            (
                (self.welch is None) == bool(self.by),
                " must say whether each group has a variance of its own: welch = true (R's default), or false (pooled, scipy's)."
                if self.by
                else " is of one group, or of pairs: only a test between two groups has `welch`.",
            ),
            (
                self.alternative != "two-sided"
                and (self.publishes("low") or self.publishes("high")),
                " has an interval, which is read for two-sided tests only. Leave out low and high.",
            ),
        )
        cells = self.crossing(domain)
        if self.by and cells.size != 2:
            raise self.fault(
                f' must be between two groups. Choose them: groups = {{ "{self.by[0]}" = [...] }}.'
            )
        return cells

    def kind_part(self, key: str) -> KindPart:
        """Return the n, means and standard deviations of the groups."""
        if self.paired is not None or (key == "counts" and not self.by):
            raise self.fault(
                f" has no groups, so it cannot have {key}. Use n, or outputs of kind mean and sd."
            )
        return super().kind_part(key)

    def implied_n(self, domain: OutputDomain) -> tuple[int, CrossClassification] | None:
        """Return the number of records that the degrees of freedom tell, Welch's apart."""
        if self.dof is None or self.welch:
            return None
        cells = self.cells(domain)
        return round(self.intervals()["dof"].middle) + cells.size, cells

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return those of the numbers; degrees of freedom other than Welch's are a number of records."""
        drop = "" if self.welch else f"{self.name}: dof"
        return tuple(equation for equation in super().equations(domain) if equation.name != drop)

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return the test as formulas of each group's count, sum and sum of squares."""
        cells = self.cells(domain)
        first, position = domain[self.variable].values, domain.position(self.variable)
        if self.paired is None:
            shift, step = middle(first), least_step(first)
            numbers: list[Any] = [by_code((position, (first - shift) ** power)) for power in (1, 2)]
        else:
            second, other = domain[self.paired].values, domain.position(self.paired)
            if other == position:
                raise self.fault(f" cannot compare column '{self.variable}' with itself.")
            shift, step = middle(first) - middle(second), min(least_step(first), least_step(second))
            numbers = [
                (
                    (position, other),
                    lambda grid, power=power: (
                        (first[grid[position]] - second[grid[other]] - shift) ** power
                    ),
                )
                for power in (1, 2)
            ]
        terms = sums_by_cell(domain, cells, numbers)
        reading = TTest((key,), self, shift=shift, step=step)
        return self.sum_system(domain, 3 * cells.size, [terms], [interval], reading)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the test on records, by scipy; nan where a group has one record or none, or no records differ."""
        from scipy.stats import t as student
        from scipy.stats import ttest_1samp, ttest_ind

        x = column_numbers(self.variable, sample.domain, sample.inside)
        if self.paired is not None:
            x = x - column_numbers(self.paired, sample.domain, sample.inside)
        samples = [x[rows] for rows in record_groups(self.cells(sample.domain), sample.inside)]
        if min(map(len, samples)) < 2 or all(np.ptp(numbers) == 0.0 for numbers in samples):
            return dict.fromkeys(self.statistics, Single(math.nan))
        if len(samples) == 1:
            test = ttest_1samp(samples[0], self.mu, alternative=self.alternative)
            difference, shift = float(samples[0].mean()), 0.0
        else:
            test = ttest_ind(
                samples[0] - self.mu,
                samples[1],
                equal_var=not self.welch,
                alternative=self.alternative,
            )
            difference, shift = float(samples[0].mean() - samples[1].mean()), self.mu
        interval = test.confidence_interval(self.level)
        statistic, dof = float(test.statistic), float(test.df)
        if statistic == 0.0:
            error = float(interval.high - interval.low) / 2.0 / _critical(dof, self.level)
        else:
            error = (difference - self.mu) / statistic
        n = sum(map(len, samples))
        return {
            "statistic": Single(statistic, 1.0),
            "dof": Single(dof, 1.0),
            "p_value": Single(float(test.pvalue), float(2.0 * student.pdf(statistic, dof))),
            "difference": Single(difference, error),
            "standard_error": Single(error, error / math.sqrt(2 * n)),
            "low": Single(float(interval.low) + shift, error),
            "high": Single(float(interval.high) + shift, error),
        }

    @property
    def implies_n(self) -> bool:
        """Whether its degrees of freedom imply the number of records: Welch's do not."""
        return self.publishes("dof") and not self.welch


KINDS.register(
    Kind(
        "t-test",
        TTestSpec,
        "StatisticalHypothesisTests",
        "a t test of one group, of two groups, or of pairs",
    )
)


class Anova(Formulas):
    """The numbers of the table out of the count, sum and sum of squares (both less a number) of each group; `step` as in `Moments`."""

    def __init__(self, keys: tuple[str, ...], *, step: float) -> None:
        super().__init__(keys)
        self.step = step

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return sums of squares, mean squares, F and its degrees of freedom."""
        n, total, squares = sums[..., 0::3], sums[..., 1::3], sums[..., 2::3]
        each = total**2 / at_least(n, 1.0)
        n_all = at_least(n.sum(axis=-1), 1.0)
        between = each.sum(axis=-1) - total.sum(axis=-1) ** 2 / n_all
        within = at_least(squares.sum(axis=-1) - each.sum(axis=-1), 0.25 * self.step**2)
        groups = (n.real > 0.5).sum(axis=-1)
        dof_between, dof_within = np.maximum(groups - 1.0, 1.0), n_all - groups
        ms_between, ms_within = between / dof_between, within / at_least(dof_within, 1.0)
        return {
            "ss_between": between,
            "ss_within": within,
            "ms_between": ms_between,
            "ms_within": ms_within,
            "dof_between": dof_between + 0.0 * n_all,
            "dof_within": dof_within,
            "statistic": ms_between / ms_within,
            "eta_squared": between / (between + within),
        }

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        """Return the p-value."""
        from scipy.special import fdtrc

        between, within = numbers["dof_between"], max(numbers["dof_within"], 1.0)
        return {
            "p_value": Derived.from_function(
                lambda statistic, dof_within: float(fdtrc(between, dof_within, max(statistic, 0))),
                statistic=max(numbers["statistic"], 0.0),
                dof_within=within,
            )
        }

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether all records are in one group, or are as many as groups, or do not differ within one."""
        n, total, squares = sums[0::3], sums[1::3], sums[2::3]
        groups = int((n > 0.5).sum())
        within = squares.sum() - (total**2 / np.maximum(n, 1.0)).sum()
        return bool(groups < 2 or n.sum() - groups < 0.5 or within < 0.25 * self.step**2)


class AnovaSpec(GroupTest):
    """A one-way analysis of variance of the column `of` between the groups of `by`."""

    unit_noun: ClassVar[str] = "group"
    NO_NUMBERS: ClassVar[str] = "its records are in one group, or do not differ within the groups"

    kind: Literal["anova"] = "anova"
    variable: Variable
    by: Annotated[Columns, Key(min_length=1, max_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    statistic: Annotated[Any, Statistic("the statistic", default=True)] = None
    dof_between: Annotated[Whole | None, Statistic(is_whole=True, default=True)] = None
    dof_within: Annotated[Whole | None, Statistic(is_whole=True, default=True)] = None
    p_value: Annotated[Any, Statistic("the p-value", default=True)] = None
    ss_between: Annotated[Any, Statistic("the sum of squares between groups")] = None
    ss_within: Annotated[Any, Statistic("the sum of squares within groups")] = None
    ms_between: Annotated[Any, Statistic("the mean square between groups")] = None
    ms_within: Annotated[Any, Statistic("the mean square within groups")] = None
    eta_squared: Annotated[Any, Statistic("eta squared")] = None
    counts: CountsPart = None
    means: Annotated[list[Any] | dict[str, Any] | None, Statistic(is_part=True)] = None
    sds: Annotated[list[Any] | dict[str, Any] | None, Statistic(is_part=True)] = None

    def implied_n(self, domain: OutputDomain) -> tuple[int, CrossClassification] | None:
        """Return the number of records that the degrees of freedom within groups tell: so many and one for each group with records."""
        if self.dof_within is None or self.dof_between is None:
            return None
        return self.dof_within + self.dof_between + 1, self.crossing(domain)

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return the table as formulas of each group's count, sum and sum of squares."""
        cells, position = self.crossing(domain), domain.position(self.variable)
        values = domain.columns[position].values
        shift = middle(values)
        terms = sums_by_cell(
            domain, cells, [by_code((position, (values - shift) ** power)) for power in (1, 2)]
        )
        reading = Anova((key,), step=least_step(values))
        return self.sum_system(domain, 3 * cells.size, [terms], [interval], reading)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the table of records, F by scipy; nan where there is none."""
        from scipy.stats import f, f_oneway

        x = column_numbers(self.variable, sample.domain, sample.inside)
        samples = [
            x[rows]
            for rows in record_groups(self.crossing(sample.domain), sample.inside)
            if len(rows)
        ]
        n, k = sum(map(len, samples)), len(samples)
        if k < 2 or n <= k or all(np.ptp(numbers) == 0.0 for numbers in samples):
            return dict.fromkeys(self.statistics, Single(math.nan))
        test, mean = f_oneway(*samples), np.concatenate(samples).mean()
        between = float(sum(len(numbers) * (numbers.mean() - mean) ** 2 for numbers in samples))
        within = float(sum(((numbers - numbers.mean()) ** 2).sum() for numbers in samples))
        statistic, dof = float(test.statistic), (k - 1, n - k)
        noise = (
            within / dof[1]
        )  # sums of squares have the standard deviation noise sqrt(2 dof), where means do not differ
        unit = math.sqrt(2.0 / dof[0])
        share = math.sqrt(2.0 * dof[0]) / n
        return {
            "statistic": Single(statistic, unit),
            "p_value": Single(float(test.pvalue), unit * float(f.pdf(statistic, *dof))),
            "ss_between": Single(between, noise * math.sqrt(2.0 * dof[0])),
            "ss_within": Single(within, noise * math.sqrt(2.0 * dof[1])),
            "ms_between": Single(between / dof[0], noise * unit),
            "ms_within": Single(noise, noise * math.sqrt(2.0 / dof[1])),
            "eta_squared": Single(between / (between + within), share),
            "dof_between": Single(dof[0]),
            "dof_within": Single(dof[1]),
        }

    @property
    def implies_n(self) -> bool:
        """Whether its degrees of freedom imply the number of records."""
        return self.publishes("dof_within")


KINDS.register(
    Kind(
        "anova",
        AnovaSpec,
        "StatisticalHypothesisTests",
        "a one-way analysis of variance: its table, and its groups",
    )
)
