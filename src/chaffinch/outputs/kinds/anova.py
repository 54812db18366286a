"""One-way analysis of variance: its table, and the n, means and standard deviations of the groups.

Between groups: sum n_k (mean_k - mean)^2 with k - 1 degrees of freedom; within: sum (n_k - 1) s_k^2 with n - k; F is the ratio of their mean
squares. Groups without records do not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..columns import Floats
from ..crossing import Crossing, Frame, column_numbers, record_groups, sums_by_cell
from ..equations import Output
from ..precision import Interval
from ..rules.counts import degrees_of_freedom, threshold
from ..rules.findings import Finding
from ..rules.policy import Policy
from ..rules.tallies import OutputTally
from ..rules.tallying import Tallier
from .base import KINDS, Kind, Sample, Whole
from .compiling import by_code, least_step, middle
from .parts import KindPart, PartedNumbers
from .single import Single
from .smooth import Followed, SmoothNumbers, at_least
from .t_test import group_part


class Anova(SmoothNumbers):
    """The numbers of the table out of the count, sum and sum of squares (both less a number) of each group; `step` as in `Moments`."""

    def __init__(self, keys: tuple[str, ...], *, step: float) -> None:
        super().__init__(keys, {})
        self.step = step

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return sums of squares, mean squares, F and its degrees of freedom."""
        n, total, squares = sums[..., 0::3], sums[..., 1::3], sums[..., 2::3]
        each = total**2 / at_least(n, 1.0)
        every = at_least(n.sum(axis=-1), 1.0)
        between = each.sum(axis=-1) - total.sum(axis=-1) ** 2 / every
        within = at_least(squares.sum(axis=-1) - each.sum(axis=-1), 0.25 * self.step**2)
        groups = (n.real > 0.5).sum(axis=-1)
        dof_between, dof_within = np.maximum(groups - 1.0, 1.0), every - groups
        ms_between, ms_within = between / dof_between, within / at_least(dof_within, 1.0)
        return {
            "ss_between": between,
            "ss_within": within,
            "ms_between": ms_between,
            "ms_within": ms_within,
            "dof_between": dof_between + 0.0 * every,
            "dof_within": dof_within,
            "statistic": ms_between / ms_within,
            "eta_squared": between / (between + within),
        }

    def follow(self, numbers: Mapping[str, float]) -> Mapping[str, Followed]:
        """Return the p-value."""
        from scipy.special import fdtrc
        from scipy.stats import f

        of = numbers["dof_between"], max(numbers["dof_within"], 1.0)
        at, h = max(numbers["statistic"], 0.0), 1e-5 * of[1]
        by_dof = float(fdtrc(of[0], of[1] + h, at) - fdtrc(of[0], of[1] - h, at)) / (2.0 * h)
        slopes = {"statistic": -float(f.pdf(max(at, 1e-9), *of)), "dof_within": by_dof}
        return {"p_value": Followed(float(fdtrc(*of, at)), slopes)}

    def lacking(self, sums: Floats) -> bool:
        """Return whether all records are in one group, or are as many as groups, or do not differ within one."""
        n, total, squares = sums[0::3], sums[1::3], sums[2::3]
        groups = int((n > 0.5).sum())
        within = squares.sum() - (total**2 / np.maximum(n, 1.0)).sum()
        return bool(groups < 2 or n.sum() - groups < 0.5 or within < 0.25 * self.step**2)


class AnovaSpec(PartedNumbers):
    """A one-way analysis of variance of the column `of` between the groups of `by`."""

    NUMBERS: ClassVar[tuple[str, ...]] = (
        "statistic",
        "dof_between",
        "dof_within",
        "p_value",
        "ss_between",
        "ss_within",
        "ms_between",
        "ms_within",
        "eta_squared",
        "counts",
        "means",
        "sds",
    )
    BESIDE: ClassVar[tuple[str, ...]] = (*NUMBERS, "n")
    PARTS: ClassVar[tuple[str, ...]] = ("counts", "means", "sds")
    WHOLE: ClassVar[tuple[str, ...]] = ("dof_between", "dof_within")
    USUAL: ClassVar[tuple[str, ...]] = ("statistic", "dof_between", "dof_within", "p_value")
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("of", "by")
    NOUN: ClassVar[str] = "group"
    WORDS: ClassVar[dict[str, str]] = {
        "statistic": "the statistic",
        "p_value": "the p-value",
        "ss_between": "the sum of squares between groups",
        "ss_within": "the sum of squares within groups",
        "ms_between": "the mean square between groups",
        "ms_within": "the mean square within groups",
        "eta_squared": "eta squared",
    }
    LACK: ClassVar[str] = "its records are in one group, or do not differ within the groups"

    kind: Literal["anova"] = "anova"
    of: str
    by: Annotated[list[str], Key(min_length=1, max_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    statistic: Any = None
    dof_between: Whole | None = None
    dof_within: Whole | None = None
    p_value: Any = None
    ss_between: Any = None
    ss_within: Any = None
    ms_between: Any = None
    ms_within: Any = None
    eta_squared: Any = None
    counts: list[Any] | None = None
    means: list[Any] | dict[str, Any] | None = None
    sds: list[Any] | dict[str, Any] | None = None
    p_below: Annotated[float, Key(gt=0, le=1)] | None = None

    def part(self, key: str) -> KindPart:
        """Return the n, means and standard deviations of the groups."""
        return group_part(key, self.of, self.by, self.groups)

    def told_n(self, frame: Frame) -> tuple[int, Crossing] | None:
        """Return the number of records that the degrees of freedom within groups tell: so many and one for each group with records."""
        if self.dof_within is None or self.dof_between is None:
            return None
        return self.dof_within + self.dof_between + 1, self.crossing(frame)

    def system(self, frame: Frame, key: str, interval: Interval) -> Output:
        """Return the table as formulas of each group's count, sum and sum of squares."""
        cells, position = self.crossing(frame), frame.fields.position(self.of)
        values = frame.fields.every[position].values
        shift = middle(values)
        terms = sums_by_cell(
            frame, cells, [by_code(position, (values - shift) ** power) for power in (1, 2)]
        )
        reading = Anova((key,), step=least_step(values))
        return self.sum_system(frame, 3 * cells.size, [terms], [interval], reading)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the table of records, F by scipy; nan where there is none."""
        from scipy.stats import f, f_oneway

        x = column_numbers(self.of, sample.fields, sample.inside)
        every = [
            x[rows]
            for rows in record_groups(self.crossing(sample.frame), sample.inside)
            if len(rows)
        ]
        n, k = sum(map(len, every)), len(every)
        if k < 2 or n <= k or all(np.ptp(some) == 0.0 for some in every):
            return {
                key: Single(0 if key in self.WHOLE else math.nan)
                for key in (*self.WORDS, *self.WHOLE)
            }
        test, mean = f_oneway(*every), np.concatenate(every).mean()
        between = float(sum(len(some) * (some.mean() - mean) ** 2 for some in every))
        within = float(sum(((some - some.mean()) ** 2).sum() for some in every))
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

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the groups, what is published of them, the records as one cell, and n, which degrees of freedom tell."""
        cells = self.crossing(tallier.frame)
        told = (
            [tallier.whole(cells)]
            if self.publishes("dof_within") and not self.publishes("n")
            else []
        )
        fit = tallier.fit(f"anova {self.of} by {self.by[0]}", cells)
        return [*self.part_tallies(tallier, tallier.tally("cells", cells)), *fit, *told]

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        """Return small groups, what the rules say of their numbers, and whether there are enough records."""
        dof = int(tallies[0].counts.sum()) - int((tallies[0].counts > 0).sum())
        own = [*threshold(tallies, policy), degrees_of_freedom(self.name, self.kind, dof, policy)]
        return self.part_findings(tallier, policy, own)


KINDS.register(
    Kind(
        "anova",
        AnovaSpec,
        "StatisticalHypothesisTests",
        "a one-way analysis of variance: its table, and its groups",
    )
)
