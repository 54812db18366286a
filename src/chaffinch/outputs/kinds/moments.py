"""Summaries of a number, for all records or by groups: means, sums, standard deviations and variances, and what other summaries share with them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import (
    CrossClassification,
    cell_array,
    cell_names,
    column_numbers,
    record_groups,
    sums_by_cell,
)
from ..domain import OutputDomain
from ..equations import Output
from ..numbers import Interval
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, EmptyCells, Magnitudes, Spread
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
    Variable,
    by_code,
    cell_label,
    least_step,
    middle,
)
from .formulas import GroupFormulas, raise_to

SPREADS = ("sd", "variance")
CENTRES = 17
"""How many numbers a spread is put into a linear programme around, where groups are few."""
FEW_GROUPS = 50
"""Groups up to which there are so many; of more there are three."""


class SummarySpec(OutputSpec):
    """A summary of the column `of`: a `value`, or `values` for the groups that `by` and `groups` make."""

    unit_noun: ClassVar[str] = "group"

    variable: Variable
    by: Columns = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)
    value: Annotated[Any, Statistic(presence="main")] = None
    values: Annotated[Any, Statistic(presence="main")] = None

    @property
    def numbers(self) -> Any:
        """What is published, in either form; None for a recipe."""
        return self.value if self.values is None else self.values

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for a column that is no number."""
        self.filter(domain)
        self.crossing(domain)
        domain[self.variable].values  # noqa: B018  raises for words

    def by_group(self, sample: Sample) -> Iterator[Floats]:
        """Give the numbers of each group's records."""
        numbers = column_numbers(self.variable, sample.domain, sample.inside)
        for rows in record_groups(self.crossing(sample.domain), sample.inside):
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
    NO_NUMBER: ClassVar[str] = "has no records"
    """Why a group has no number, for messages."""

    values: Annotated[list[Any] | dict[str, Any] | None, Statistic(presence="main")] = None

    @abstractmethod
    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the number of each group of records."""

    def printed_cells(self, cells: CrossClassification) -> NDArray[np.object_]:
        """Return the numbers as printed, with an axis for each column of `by`."""
        if (self.value is None) == (self.values is None) or (self.by and self.values is None):
            raise self.fault(" must have a value, or values for the groups of its `by`.")
        return cell_array(self.numbers, cells, what=f"Output '{self.name}'", absent="")

    def intervals(self, cells: CrossClassification) -> dict[int, Interval]:
        """Return the interval of each group's number, by the group's position; withheld ones are absent."""
        block = NumberBlock(
            "values", [], self.printed_cells(cells).ravel().tolist(), label="a value"
        )
        numbered = enumerate(self.block_intervals(block, 0))
        intervals = {k: interval for k, interval in numbered if interval is not None}
        if not intervals:
            raise self.fault(" has no value that is not withheld.")
        return intervals

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give each group's number."""
        cells, numbers = self.crossing(domain), list[Any]()
        if self.numbers is not None:
            self.intervals(cells)
            numbers = self.printed_cells(cells).ravel().tolist()
        field = "values" if self.by else "value"
        names, shape = cell_names(cells), cells.shape
        yield NumberBlock("values", names, numbers, shape=shape, label="a value", field=field)

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return each group's number."""
        n, values, units = zip(*self.group_numbers(sample), strict=True)
        return {"values": Estimates(values, units, n)}

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return which group has no number, and why."""
        return f"{cell_label(self.crossing(sample.domain), index)} {self.NO_NUMBER}"

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the groups, and n."""
        cells = self.crossing(counter.domain)
        printed = counter.marked(cells.names)
        if self.values is not None and cells.steps:
            printed = cell_array(self.values, cells, what=f"Output '{self.name}'", absent="")
        shown = counter.numbers_shown(printed)
        quantity = f"{self.QUANTITY}:{'/'.join(self.of_columns)}"
        return [counter.tally("cells", cells, shown=shown, quantities=[quantity]), *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give groups, those that show nobody, and the values behind them."""
        yield Counts(tallies, self.unit_noun)
        if self.kind in ("sum", "shares"):
            yield EmptyCells(tallies[:1])
        yield Magnitudes(tallies[0], column_numbers(self.variable, counter.domain, counter.codes))

    @property
    def of_columns(self) -> tuple[str, ...]:
        """The columns whose numbers it sums up."""
        return (self.variable,)


class Moments(GroupFormulas):
    """Means, sums, variances or standard deviations of groups, out of each group's count, sum and sum of squares.

    `step` is the smallest difference of two values: a standard deviation has no derivative at 0, and takes there the one that it has
    where one record lies a step away from the others.
    """

    def __init__(
        self, kind: str, groups: list[int], *, shift: float, ddof: int, step: float = 1.0
    ) -> None:
        super().__init__(groups, 2 if kind in ("mean", "sum") else 3)
        self.kind, self.shift, self.ddof, self.step = kind, shift, ddof, step

    def formula(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the number of each group."""
        if self.kind == "sum":
            return sums[..., 1] + self.shift * sums[..., 0]
        n = raise_to(sums[..., 0], 1.0)
        if self.kind == "mean":
            return self.shift + sums[..., 1] / n
        free = raise_to(n - self.ddof, 1.0)
        variance = raise_to((sums[..., 2] - sums[..., 1] ** 2 / n) / free, 0.0)
        if self.kind == "variance":
            return variance
        sd = np.sqrt(variance.real)
        slope = 0.5 / np.maximum(sd, self.step / np.sqrt(n.real))
        return np.asarray(sd + slope * (variance - variance.real))

    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers are of no records: a mean of none, a spread of none or, with ddof 1, of one."""
        return np.asarray(sums[:, 0] < self._fewest - 0.5)

    @property
    def _fewest(self) -> int:
        """The fewest records that have such a number."""
        return {"sum": 0, "mean": 1}.get(self.kind, 1 + self.ddof)

    def linear(self, each: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats, Floats]:
        """Return conditions that are linear in the records, out of what each adds to the sums: rows, and the ends of each.

        Sums are as they are. A mean between lo and hi is sum - lo n >= 0 and sum - hi n <= 0. Around any number c, sum (x - c)^2 is at least
        sum (x - mean)^2 = (n - ddof) variance; so a variance of at least v asks for sum ((x - c)^2 - v) >= -ddof v at every c, of which some
        are tried, over the range of the numbers. (That it is at most something is linear for no c.) There is at least one record, of a spread
        with ddof 1 two.
        """
        counts, sums, *squares = (
            each[self.width * self.groups + power] for power in range(self.width)
        )
        if self.kind == "sum":
            return sums + self.shift * counts, lo, hi
        conditions: list[tuple[Floats, Any, Any]] = [(counts, self._fewest, np.inf)]
        if self.kind == "mean":
            low, high = ((end - self.shift)[:, None] * counts for end in (lo, hi))
            conditions += [(sums - low, 0.0, np.inf), (sums - high, -np.inf, 0.0)]
        else:
            variance = lo if self.kind == "variance" else np.maximum(lo, 0.0) ** 2
            inside = counts > 0
            centres = sums[inside] / counts[inside] if inside.any() else np.zeros(1)
            tried = np.linspace(
                centres.min(), centres.max(), CENTRES if len(self.groups) <= FEW_GROUPS else 3
            )
            for c in tried:
                around = squares[0] - 2.0 * c * sums + (c**2 - variance[:, None]) * counts
                conditions.append((around, -self.ddof * variance, np.inf))
        rows, lows, highs = zip(*conditions, strict=True)
        low, high = (
            np.concatenate([np.broadcast_to(end, len(self.groups)) for end in ends])
            for ends in (lows, highs)
        )
        return np.vstack(rows), low, high


class MomentSpec(GroupedNumbers):
    """Means, sums, standard deviations or variances of a number, for all records or by groups."""

    kind: Literal["mean", "sum", "sd", "variance"]
    ddof: Annotated[int, Key(ge=0, le=1)] = 1

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return one system of sums."""
        position, cells = domain.position(self.variable), self.crossing(domain)
        values = domain.columns[position].values
        shift = 0.0 if self.kind == "sum" else middle(values)
        intervals = self.intervals(cells)
        powers = (1,) if self.kind in ("mean", "sum") else (1, 2)
        terms = sums_by_cell(
            domain, cells, [by_code((position, (values - shift) ** power)) for power in powers]
        )
        reading = Moments(
            self.kind, list(intervals), shift=shift, ddof=self.ddof, step=least_step(values)
        )
        size = cells.size * (1 + len(powers))
        return (
            self.sum_system(domain, size, [terms], intervals.values(), reading),
            *self.n_equations(domain),
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

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return which group has no number. Of a spread nothing is said but this: one record would be a count of people."""
        if self.kind == "mean":
            return super().undefined_reason(sample, block, index)
        return f"{cell_label(self.crossing(sample.domain), index)} has too few records for its {self.kind}"

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

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return why no values of its column have a published spread, as far as a linear programme cannot say: it is too small.

        The least variance that is not 0 has one of n numbers a step away from all others: step^2 (n - 1) / (n (n - ddof)).
        """
        if self.kind not in SPREADS:
            return None
        intervals = self.intervals(self.crossing(domain)).values()
        if any(interval.hi < 0 for interval in intervals):
            return "a spread is below 0"
        values, n = (
            self.kept_values(domain, self.variable),
            None if self.by else self.known_n(domain),
        )
        if n is None or n <= self.ddof or len(values) < 2:
            return None
        min_spread = least_step(values) ** 2 * (n - 1) / (n * (n - self.ddof))
        min_spread = math.sqrt(min_spread) if self.kind == "sd" else min_spread
        if any(
            interval.lo > 0 and interval.hi < min_spread * (1.0 - SLACK) for interval in intervals
        ):
            bound = (
                f"{min_spread:.6g}, " if n >= domain.threshold else ""
            )  # n follows from the bound
            what = "a standard deviation" if self.kind == "sd" else "a variance"
            return f"{what} is above 0 and below {bound}the smallest that values with the steps of column '{self.variable}' can have"
        return None

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give groups, the values behind them, and spreads."""
        yield from super().evidence(tallies, counter)
        if self.kind in SPREADS:
            yield Spread(tallies[0])


for _name, _statbarn, _sentence in (
    ("mean", "LinearAggregations", "means, by groups or not"),
    ("sum", "LinearAggregations", "sums, by groups or not"),
    ("sd", "Shape", "standard deviations, by groups or not"),
    ("variance", "Shape", "variances, by groups or not"),
):
    KINDS.register(Kind(_name, MomentSpec, _statbarn, _sentence))
