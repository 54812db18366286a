"""Means, sums, standard deviations and variances of a number, for all records or by groups."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..bounds import SLACK, bound_in_words, least_variance, left_values, most_variance, room
from ..cells import Crossing, Frame, cell_names, column_numbers, record_groups, shaped, sums_by_cell
from ..domain import Floats
from ..equations import Output
from ..numbers import UNSAID, Interval, Number, Printer
from ..rules.counts import threshold, zeros
from ..rules.findings import Finding
from ..rules.magnitudes import group_rules, spread_rule
from ..rules.policy import Policy
from ..rules.tallies import OutputTally, Tallier
from .base import (
    KINDS,
    Kind,
    OutputSpec,
    PrintedNumbers,
    Sample,
    by_code,
    check_some,
    least_step,
    middle,
    nested,
    printed_groups,
)


class SummarySpec(OutputSpec):
    """A summary of the column `of`: a `value`, or `values` for the groups that `by` and `groups` make."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("value", "values")
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("of", "by")
    NOUN: ClassVar[str] = "group"

    if TYPE_CHECKING:  # each kind has these among its keys, in its own order
        of: str
        by: list[str]
        value: Any
        values: Any

    @property
    def numbers(self) -> Any:
        """What is published, in either form; None for a recipe."""
        return self.value if self.values is None else self.values

    def check_recipe(self, frame: Frame) -> None:
        """Raise for a column that is no number."""
        self.filter(frame)
        self.crossing(frame)
        frame.fields[self.of].values  # noqa: B018  raises for words

    def by_group(self, sample: Sample) -> Iterator[Floats]:
        """Give the numbers of each group's records."""
        numbers = column_numbers(self.of, sample.fields, sample.inside)
        for rows in record_groups(self.crossing(sample.frame), sample.inside):
            yield numbers[rows]


class GroupNumber(NamedTuple):
    """How many records a group has, its number (nan where it has none), and the number's standard error."""

    n: int
    value: float
    unit: float = 0.0


class GroupedNumbers(SummarySpec):
    """A summary with one number for each group."""

    QUANTITY: ClassVar[str] = "sum"
    """What differences of it are of: a sum of the column can be subtracted from another."""

    @abstractmethod
    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the number of each group of records."""

    @property
    def lack(self) -> str:
        """What a group without a number lacks, for messages."""
        return "has no records"

    def printed_cells(self, cells: Crossing) -> NDArray[np.object_]:
        """Return the numbers as printed, with an axis for each column of `by`."""
        if (self.value is None) == (self.values is None) or (self.by and self.values is None):
            raise self.fault(" must have a value, or values for the groups of its `by`.")
        return shaped(self.numbers, cells, what=f"Output '{self.name}'", absent="")

    def intervals(self, cells: Crossing) -> dict[int, Interval]:
        """Return the interval of each group's number, by the group's position; withheld ones are absent."""
        printed = self.printed_cells(cells).ravel()
        intervals = {
            k: self.printed(number, "a value")
            for k, number in enumerate(printed)
            if number not in UNSAID
        }
        if not intervals:
            raise self.fault(" has no value that is not withheld.")
        return intervals

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give each group's number."""
        if self.numbers is not None:
            cells = self.crossing(frame)
            self.intervals(cells)
            yield PrintedNumbers(
                "values", cell_names(cells), self.printed_cells(cells).ravel().tolist(), False
            )

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return each group's number."""
        cells = self.crossing(sample.frame)
        groups = ((one.n, [one.value]) for one in self.group_numbers(sample))
        printed = [
            row[0]
            for row in printed_groups(
                groups, cell_names(cells), cells, printer, part, lack=self.lack
            )
        ]
        check_some(printed, self.name, part)
        return {"values": nested(printed, cells.shape)} if self.by else {"value": printed[0]}

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give each group's number beside that of the records."""
        cells = self.crossing(sample.frame)
        intervals, names = self.intervals(cells), cell_names(cells)
        for k, one in enumerate(self.group_numbers(sample)):
            if k in intervals:
                yield Number(names[k] or self.kind, *intervals[k], one.value, one.unit)

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the groups, and n."""
        cells = self.crossing(tallier.frame)
        printed = tallier.marked(cells.names)
        if self.values is not None and cells.steps:
            printed = shaped(self.values, cells, what=f"Output '{self.name}'", absent="")
        shown = tallier.numbers_shown(printed)
        quantity = f"{self.QUANTITY}:{'/'.join(self.of_columns)}"
        return [tallier.tally("cells", cells, shown=shown, quantities=[quantity]), *tallier.n()]

    @property
    def of_columns(self) -> tuple[str, ...]:
        """The columns whose numbers it sums up."""
        return (self.of,)


SPREADS = ("sd", "variance")
CENTRES = 17
"""Numbers around which a spread is put into a linear programme, where there are at most"""
FEW_GROUPS = 50
"""groups; fewer of them where there are more."""


class Moments:
    """Means, sums, variances or standard deviations of groups, out of each group's count, sum and sum of squares.

    `step` is the smallest difference of two values: a standard deviation has no derivative at 0, and takes there the one that it has
    where one record lies a step away from the others.
    """

    def __init__(
        self, kind: str, groups: list[int], *, shift: float, ddof: int, step: float = 1.0
    ) -> None:
        self.kind, self.groups, self.shift, self.ddof, self.step = kind, groups, shift, ddof, step

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the numbers of the published groups, and their derivatives by all sums."""
        values, slope = np.zeros(len(self.groups)), np.zeros((len(self.groups), len(sums)))
        width = 2 if self.kind in ("mean", "sum") else 3
        for row, group in enumerate(self.groups):
            of = slice(group * width, (group + 1) * width)
            values[row], slope[row, of] = self._one(sums[of])
        return values, slope

    def _one(self, sums: Floats) -> tuple[float, list[float]]:
        n = max(float(sums[0]), 1.0)
        mean = float(sums[1]) / n
        if self.kind == "mean":
            return self.shift + mean, [-mean / n, 1.0 / n]
        if self.kind == "sum":
            return float(sums[1]) + self.shift * float(sums[0]), [self.shift, 1.0]
        free = max(n - self.ddof, 1.0)
        variance = max((float(sums[2]) - n * mean**2) / free, 0.0)
        slope = [(mean**2 - variance) / free, -2.0 * mean / free, 1.0 / free]
        if self.kind == "variance":
            return variance, slope
        sd = math.sqrt(variance)
        return sd, [part / (2.0 * max(sd, self.step / math.sqrt(n))) for part in slope]

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers are of no records: a mean of none, a spread of none or, with ddof 1, of one."""
        least = {"sum": 0.0, "mean": 1.0}.get(self.kind, 1.0 + self.ddof)
        counts: Floats = sums[:: 2 if self.kind in ("mean", "sum") else 3][self.groups]
        return counts < least - 0.5

    def _spread_linear(self, each: Floats, least: Floats) -> tuple[Floats, Floats, Floats]:
        """What a variance of at least `least` asks of the records.

        Around any number c, sum (x - c)^2 is at least sum (x - mean)^2 = (n - ddof) variance. So sum ((x - c)^2 - least) >= -ddof least for
        every c; some are tried, over the range of the numbers. (That a variance is at most something is linear for no c.)
        """
        counts, sums, squares = (
            np.stack([each[3 * group + power] for group in self.groups]) for power in range(3)
        )
        inside = counts > 0
        centres = sums[inside] / counts[inside] if inside.any() else np.zeros(1)
        tried = np.linspace(
            centres.min(), centres.max(), CENTRES if len(self.groups) <= FEW_GROUPS else 3
        )
        rows = [squares - 2.0 * c * sums + (c**2 - least[:, None]) * counts for c in tried]
        low = np.tile(-self.ddof * least, len(tried))
        return np.vstack(rows), low, np.full(len(low), np.inf)

    def linear(self, each: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Return conditions that are linear in the records, out of what each adds to the sums: means and sums as they are, spreads from below."""
        if self.kind in SPREADS:
            return self._spread_linear(
                each, lo if self.kind == "variance" else np.maximum(lo, 0.0) ** 2
            )
        counts = np.stack([each[2 * group] for group in self.groups])
        sums = np.stack([each[2 * group + 1] for group in self.groups])
        if self.kind == "sum":
            return sums + self.shift * counts, lo, hi
        # lo <= shift + sum / count <= hi, times the count.
        low, high = (lo - self.shift)[:, None], (hi - self.shift)[:, None]
        zero, infinite = np.zeros(len(counts)), np.full(len(counts), np.inf)
        both = np.vstack([sums - low * counts, sums - high * counts])
        return both, np.concatenate([zero, -infinite]), np.concatenate([infinite, zero])


class MomentSpec(GroupedNumbers):
    """Means, sums, standard deviations or variances of a number, for all records or by groups."""

    kind: Literal["mean", "sum", "sd", "variance"]
    of: str
    by: list[str] = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)
    value: Any = None
    values: list[Any] | dict[str, Any] | None = None
    ddof: Annotated[int, Key(ge=0, le=1)] = 1

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return one system of sums."""
        position, cells = frame.fields.position(self.of), self.crossing(frame)
        values = frame.fields.every[position].values
        shift = 0.0 if self.kind == "sum" else middle(values)
        intervals = self.intervals(cells)
        powers = (1,) if self.kind in ("mean", "sum") else (1, 2)
        terms = sums_by_cell(
            frame, cells, [by_code(position, (values - shift) ** power) for power in powers]
        )
        reading = Moments(
            self.kind, list(intervals), shift=shift, ddof=self.ddof, step=least_step(values)
        )
        size = cells.size * (1 + len(powers))
        return (
            self.sum_system(frame, size, [terms], intervals.values(), reading),
            *self.n_equations(frame),
        )

    def moment(self, x: Floats) -> float:
        """Return the mean, sum, standard deviation or variance of numbers; nan where there is none."""
        if self.kind == "sum":
            return float(x.sum())
        if self.kind == "mean":
            return float(x.mean()) if len(x) else math.nan
        if len(x) <= self.ddof or not len(x):
            return math.nan
        return float(x.std(ddof=self.ddof) if self.kind == "sd" else x.var(ddof=self.ddof))

    @property
    def lack(self) -> str:
        """What a group without a number lacks. Of a spread nothing is said but this: one record would be a count of people."""
        return (
            "has no records" if self.kind == "mean" else f"has too few records for its {self.kind}"
        )

    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the number of each group of records."""
        for x in self.by_group(sample):
            n, spread = max(len(x), 1), float(x.std()) if len(x) else 0.0
            error = {
                "sum": spread * math.sqrt(n),
                "mean": spread / math.sqrt(n),
                "sd": spread / math.sqrt(2 * n),
                "variance": spread**2 * math.sqrt(2 / n),
            }[self.kind]
            yield GroupNumber(len(x), self.moment(x), error)

    def _n_behind(self, frame: Frame) -> int | None:
        """How many numbers are behind a moment without groups, where that is known."""
        return None if self.by else self.known_n(frame)

    def contradiction(self, frame: Frame) -> str | None:
        """Return why no values of its column have a published mean, sum, standard deviation or variance, group by group."""
        values, n = left_values(self.of, self, frame), self._n_behind(frame)
        most = self.known_n(frame) or frame.rows
        column = f"column '{self.of}'"
        for interval in self.intervals(self.crossing(frame)).values():
            if not len(values):
                return f"its filter leaves no value of {column}"
            low, high = float(values[0]), float(values[-1])
            if self.kind == "mean" and (
                interval.hi < low - room(low) or interval.lo > high + room(high)
            ):
                return f"a mean lies outside the values of {column}"
            if self.kind == "sum":
                least, largest = (
                    (low * n, high * n)
                    if n is not None
                    else (min(low, 0.0) * most, max(high, 0.0) * most)
                )
                if interval.hi < least - room(least) or interval.lo > largest + room(largest):
                    return f"a sum lies outside what so many values of {column} can add up to"
            if self.kind in SPREADS:
                if interval.hi < 0:
                    return "a spread is below 0"
                if reason := self._spread_contradiction(interval, values, n, most, frame.threshold):
                    return reason
        return None

    def _spread_contradiction(
        self, interval: Interval, values: Floats, n: int | None, most: int, threshold: int
    ) -> str | None:
        """Why a spread is too large for the range of some values, or too small for their steps."""
        largest = most_variance(float(values[-1] - values[0]), n, ddof=self.ddof, most=most)
        shown = math.sqrt(largest) if self.kind == "sd" else largest
        what = "a standard deviation" if self.kind == "sd" else "a variance"
        if interval.lo > shown + room(shown):
            return f"{what} is above {bound_in_words(shown, n, threshold)}the largest that values on the range of column '{self.of}' can have"
        if n is not None and len(values) > 1 and interval.lo > 0:
            least = least_variance(float(np.diff(values).min()), n, ddof=self.ddof)
            shown = math.sqrt(least) if self.kind == "sd" else least
            if interval.hi < shown * (1.0 - SLACK):
                return f"{what} is above 0 and below {bound_in_words(shown, n, threshold)}the smallest that values with the steps of column '{self.of}' can have"
        return None

    def pair_contradiction(self, other: OutputSpec, frame: Frame) -> str | None:
        """Return why a mean (or a sum) and a spread of the same numbers cannot both hold.

        The mean decides how far apart numbers on a range can lie: the variance is at most (m - a)(b - m) n / (n - ddof).
        """
        if not isinstance(other, type(self)):
            return None
        spread, centre = (self, other) if self.kind in SPREADS else (other, self)
        same = (self.of, self.by, self.groups, self.where) == (
            other.of,
            other.by,
            other.groups,
            other.where,
        )
        if not same or spread.kind not in SPREADS or centre.kind in SPREADS:
            return None
        counts = {n for n in (self._n_behind(frame), other._n_behind(frame)) if n is not None}
        n = counts.pop() if len(counts) == 1 else None
        values, means = left_values(self.of, self, frame), centre.intervals(centre.crossing(frame))
        if not len(values) or (centre.kind == "sum" and n is None):
            return None
        low, high = float(values[0]), float(values[-1])
        for group, interval in spread.intervals(spread.crossing(frame)).items():
            if group not in means:
                continue
            people = 1 if centre.kind == "mean" else n or 1
            mean = Interval(means[group].lo / people, means[group].hi / people)
            # The mean of the interval, and of the range, that leaves most room: the one nearest to the middle.
            nearest = min(max(0.5 * (low + high), max(mean.lo, low)), min(mean.hi, high))
            fewest = n if n is not None else spread.ddof + 1
            largest = (
                max(nearest - low, 0.0)
                * max(high - nearest, 0.0)
                * fewest
                / max(fewest - spread.ddof, 1)
            )
            shown = math.sqrt(largest) if spread.kind == "sd" else largest
            if interval.lo > shown + room(shown):
                what = "standard deviation" if spread.kind == "sd" else "variance"
                return f"with that {centre.kind}, the {what} is above {bound_in_words(shown, n, frame.threshold)}the largest that values on the range of column '{self.of}' can have"
        return None

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        """Return small groups, dominance, groups with one value, and the degrees of freedom of spreads."""
        values = column_numbers(self.of, tallier.fields, tallier.codes)
        empty = zeros(tallies[:1], policy) if self.kind == "sum" else []
        spread = [spread_rule(tallies[0], policy)] if self.kind in SPREADS else []
        return [
            *threshold(tallies, policy),
            *empty,
            *group_rules(tallies[0], values, policy),
            *spread,
        ]


KINDS.register(Kind("mean", MomentSpec, "LinearAggregations", "means, by groups or not"))
KINDS.register(Kind("sum", MomentSpec, "LinearAggregations", "sums, by groups or not"))
KINDS.register(Kind("sd", MomentSpec, "Shape", "standard deviations, by groups or not"))
KINDS.register(Kind("variance", MomentSpec, "Shape", "variances, by groups or not"))
