"""Medians and other quantiles, by groups or not, as counts below and up to the published value.

Quantiles follow numpy's default ("linear"): with n values in order, x_0 to x_(n-1), and h = q (n - 1), j the whole part of h and g the rest,
the quantile is (1 - g) x_j + g x_(j+1). If values of the column lie inside the printed interval [a, b], the equations ask that both
neighbours lie there,

    #{x < a} <= h    and    #{x <= b} >= h + 1,

which is sufficient for the printed value, and necessary if g = 0. If none does, the value lies between two values of the column, and
the two nearest that interpolate to it are asked for: x_j = the lower and x_(j+1) = the upper one, nothing between. (Data whose neighbours
are other values with the same interpolation have the same quantile, too; they are not searched for.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..._base.errors import InputError
from ..cells import (
    CrossClassification,
    cell_array,
    cell_names,
    column_numbers,
    sums_by_cell,
    table_of_counts,
)
from ..domain import OutputDomain
from ..equations import Output, SumSystem
from ..numbers import UNSAID, WITHHELD, Interval, people
from ..rules.cell_counts import COUNT, CellCounter, CellCounts, CellMark, is_unsaid
from ..rules.evidence import Counts, Quantiles
from .base import (
    KINDS,
    Estimates,
    GroupOfRecords,
    Kind,
    NumberBlock,
    Sample,
    by_code,
    cell_label,
    groups_of,
    is_gone,
    nest,
    object_array,
)
from .moments import SummarySpec


class QuantileSpec(SummarySpec):
    """Quantiles of a number, for all records or by groups; see the top of the file for what is asked of the records.

    Without n (and with a filter or groups) values must lie on the column's grid.
    """

    kind: Literal["quantiles", "median"]
    probabilities: list[Annotated[float, Key(ge=0, le=1)]] | None = Key(default=None, alias="at")
    n: Any = None

    @property
    def points(self) -> list[float]:
        """Which quantiles."""
        is_median = self.kind == "median"
        self.refuse(
            (
                is_median and self.probabilities not in (None, [0.5]),
                ' is a median, so it has no `at`. Use kind = "quantiles" for others.',
            ),
            (
                not is_median and not self.probabilities,
                " must say which quantiles it has, with at = [0.25, 0.5, 0.75].",
            ),
        )
        return list(self.probabilities or [0.5])

    def lists(self, cells: CrossClassification) -> list[list[Any]]:
        """Return the quantiles of each group as printed; None where it has none."""
        printed, what, points = self.numbers, f"Output '{self.name}'", self.points
        if printed is None:
            raise self.fault(" must have a value or values.")
        parts = cell_array(printed, cells, what=what, absent=..., lists=True).ravel()
        lists = [
            [None] * len(points)
            if entry is None or entry is ...
            else entry
            if isinstance(entry, list)
            else [entry]
            for entry in parts
        ]
        if any(len(values) != len(points) for values in lists):
            ending = ", for each group." if self.by else "."
            raise self.fault(f" must have {len(points)} quantiles, in the order of `at`{ending}")
        return lists

    def intervals(self, cells: CrossClassification) -> list[list[Interval | None]]:
        """Return, for each group, the interval of each quantile."""
        return [
            [None if q in UNSAID else self.printed(q, "a quantile") for q in values]
            for values in self.lists(cells)
        ]

    def totals(self, domain: OutputDomain, cells: CrossClassification) -> list[int | None]:
        """Return the number of records of each group, where known."""
        if not self.by:
            if self.n is not None and not _is_count(self.n):
                raise self.fault(": n must be a whole number.")
            return [
                self.n
                if self.n is not None
                else (domain.n_rows if not self.filter(domain).masks else None)
            ]
        if self.n is None:
            return [None] * cells.size
        printed = (
            cell_array(self.n, cells, what=f"The n of output '{self.name}'", absent="?")
            .ravel()
            .tolist()
        )
        if any(not _is_count(n) and n not in UNSAID for n in printed):
            raise self.fault(": n must be whole numbers, one for each group.")
        return [n if _is_count(n) else None for n in printed]

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return tables of counts below and up to each quantile; sums where the number of records is not known."""
        position, cells, within = (
            domain.position(self.variable),
            self.crossing(domain),
            self.filter(domain),
        )
        if self.variable in self.by:
            raise self.fault(f" cannot take quantiles of '{self.variable}' by itself.")
        intervals, totals = self.intervals(cells), self.totals(domain, cells)
        equations: list[Output] = []
        if any(n is not None for n in totals) and (self.by or within.masks):
            lo = np.array([0 if n is None else n for n in totals])
            hi = np.array([domain.n_rows if n is None else n for n in totals])
            equations.append(
                table_of_counts(f"{self.name}: n", domain, cells.steps, within, lo, hi)
            )
        if any(n == 0 for n in totals):
            raise self.fault(" has quantiles of no records: some n is 0.")
        names = [f" of group {k + 1}" if self.by else "" for k in range(cells.size)]
        for group, row, n in zip(
            groups_of(names, domain, position, cells, within), intervals, totals, strict=True
        ):
            for q, interval in zip(self.points, row, strict=True):
                if interval is not None:
                    quantile = _Quantile(f"{self.name}: {q:g}{group.name}", group, q, interval)
                    equations += quantile.without_n() if n is None else quantile.with_n(n)
        if not equations:
            raise self.fault(" has no value that is not withheld.")
        return tuple(equations)

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for a column that is no number, and without `at`."""
        super().check_recipe(domain)
        self.points  # noqa: B018  raises without `at`

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the quantiles of all groups, one after the other; None where a group has none."""
        cells, points, numbers = self.crossing(domain), self.points, list[Any]()
        if self.numbers is not None:
            self.intervals(cells)
            numbers = [q for values in self.lists(cells) for q in values]
        names = [
            f"{name} at {q:g}" if name else f"{q:g}" for name in cell_names(cells) for q in points
        ]
        median = self.kind == "median"
        yield NumberBlock(
            "values",
            names,
            numbers,
            shape=cells.shape if median else (*cells.shape, len(points)),
            label="a quantile",
            field="value" if median and not self.by else "values",
        )

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the quantiles of each group; nan where it has no records."""
        points, groups = self.points, list(self.by_group(sample))
        values = [
            np.quantile(x, points) if len(x) else np.full(len(points), np.nan) for x in groups
        ]
        sizes = np.repeat([len(x) for x in groups], len(points))
        return {"values": Estimates(np.concatenate(values), sizes=sizes)}

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return which group has no records."""
        return (
            f"{cell_label(self.crossing(sample.domain), index // len(self.points))} has no records"
        )

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return the quantiles of each group, and n if it is published or needed."""
        numbers = super().computed_numbers(sample)
        n = self.needed_n(sample, *numbers.values())
        return numbers if n is None else {**numbers, "n": n}

    def needed_n(self, sample: Sample, numbers: Any) -> Any:
        """Return n of each group where it is published, or where a quantile between two values says something only together with it."""
        flat = np.array(numbers, dtype=object).ravel().tolist()
        if not self.publishes("n") and self._on_grid(sample.domain, flat):
            return None
        sizes = [len(x) for x in self.by_group(sample)]
        shown = [WITHHELD if is_gone(self.printer, n) else n for n in sizes]
        return nest(shown, self.crossing(sample.domain).shape)

    def _on_grid(self, domain: OutputDomain, printed: list[Any]) -> bool:
        """Whether each quantile as printed may be a value of the column; always where n is known anyway."""
        if not self.by and not self.filter(domain).masks:
            return True
        values = domain[self.variable].values
        shown = [self.printed(number, "a quantile") for number in printed if number != WITHHELD]
        return all(_inside(values, interval).any() for interval in shown)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the groups, and n."""
        cells, values, printed = self.crossing(counter.domain), self.values, None
        groups = bool(cells.steps) and self.publishes("n") and not isinstance(self.n, int)
        if len(cells.steps) == 1 and isinstance(values, list) and len(values) == cells.size:
            lists = [value if isinstance(value, list) else [value] for value in values]
            marks = CellMark.BY_RULE, CellMark.WITHHELD
            printed = object_array([marks[all(map(is_unsaid, numbers))] for numbers in lists])
        shown = counter.numbers_shown(printed)
        table = counter.tally("cells", cells, shown=shown, quantities=[COUNT] if groups else [])
        return [table, *([] if groups else counter.n())]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give groups, and their quantiles."""
        values = column_numbers(self.variable, counter.domain, counter.codes)
        yield Counts(tallies, self.unit_noun)
        yield Quantiles(tallies[0], values, self.points, self.decimals)


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 0


def _widen(interval: Interval) -> Interval:
    """An interval with room for how numbers are stored."""
    slack = 1e-9 * max(1.0, abs(interval.lo), abs(interval.hi))
    return Interval(interval.lo - slack, interval.hi + slack)


def _inside(values: Floats, interval: Interval) -> NDArray[np.bool_]:
    lo, hi = _widen(interval)
    return (values >= lo) & (values <= hi)


class _Quantile:
    """One quantile of one group: its interval, and whether it may be a value of the column."""

    def __init__(self, name: str, group: GroupOfRecords, q: float, interval: Interval) -> None:
        self.name, self.group, self.q, self.values = name, group, q, group.values
        self.lo, self.hi = _widen(interval)
        self.on_grid = bool(_inside(self.values, interval).any())
        if self.hi < self.values[0] or self.lo > self.values[-1]:
            raise InputError(
                f"Output '{name}': the quantile lies outside the values of its column."
            )

    def _cut(self, label: str, part_codes: NDArray[Any], lo: list[int], hi: list[int]) -> Output:
        fault = f"Output '{self.name}': no record could make the quantile what it is."
        return self.group.cut(f"{self.name}, {label}", part_codes, lo, hi, fault=fault)

    def with_n(self, n: int) -> list[Output]:
        """Tables of counts, exact in whole numbers."""
        values, h = self.values, self.q * (n - 1)
        near = round(h)
        h = float(near) if abs(h - near) < 1e-9 * max(n, 1) else h
        j, last = math.floor(h), math.ceil(h)
        if self.on_grid:
            below, above = values < self.lo, values > self.hi
            return [
                self._cut("below", np.where(below, 0, 1), [0, n - j], [j, n]),
                self._cut("up to", np.where(above, 1, 0), [last + 1, 0], [n, n - last - 1]),
            ]
        if j == last:
            raise InputError(
                f"Output '{self.name}' lies between values of its column, where n = {people(n, self.group.domain.threshold)} leaves none. Check n, or the grid."
            )
        a, b = self._between(h - j, n, self.group.domain.threshold)
        groups = np.select([values < a, values == a, values < b, values == b], [0, 1, 2, 3], 4)
        return [
            self._cut("around", groups, [0, 1, 0, 1, 0], [j, j + 1, 0, n - j - 1, n - j - 2]),
            self._cut("below", np.where(values <= a, 0, 1), [j + 1, n - j - 1], [j + 1, n - j - 1]),
        ]

    def _between(self, share: float, n: int, threshold: int) -> tuple[float, float]:
        """The two values of the column, nearest to each other, that interpolate to the printed quantile."""
        lower, upper = self.values[self.values < self.lo], self.values[self.values > self.hi]
        interpolated = (1.0 - share) * lower[:, None] + share * upper[None, :]
        fits = (interpolated >= self.lo) & (interpolated <= self.hi)
        if not fits.any():
            raise InputError(
                f"Output '{self.name}': no two values of its column interpolate to the quantile with n = {people(n, threshold)}. Give its decimals, or check n."
            )
        apart = np.where(fits, upper[None, :] - lower[:, None], np.inf)
        a, b = np.unravel_index(int(np.argmin(apart)), apart.shape)
        return float(lower[a]), float(upper[b])

    def without_n(self) -> list[Output]:
        """Sums of 1{x < a} - q, at most -q, and of 1{x <= b} - q, at least 1 - q: the same without n."""
        if not self.on_grid:
            raise InputError(
                f"Output '{self.name}' lies between values of its column: its n is needed to say which. Give n."
            )
        domain, steps, n_rows = self.group.domain, self.group.steps, float(self.group.domain.n_rows)
        cells, slack, equations = (
            CrossClassification(steps, tuple(("0",) for _ in steps)),
            1e-9 * n_rows,
            list[Output](),
        )
        for label, mask, low, high in (
            ("below", self.values < self.lo, -n_rows, -self.q),
            ("up to", self.values <= self.hi, 1.0 - self.q, n_rows),
        ):
            terms = sums_by_cell(
                domain,
                cells,
                [by_code((self.group.position, mask.astype(float) - self.q))],
                count=False,
            )
            lo, hi, keep = (
                np.array([low - slack]),
                np.array([high + slack]),
                self.group.within.keep(),
            )
            equations.append(SumSystem(f"{self.name}, {label}", 1, (terms,), lo, hi, keep=keep))
        return equations


KINDS.register(Kind("quantiles", QuantileSpec, "Position", "quantiles, by groups or not"))
KINDS.register(Kind("median", QuantileSpec, "Position", "medians, by groups or not"))
