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
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Key

from ..._base.errors import InputError
from ..columns import Floats
from ..crossing import Crossing, Frame, cell_names, column_numbers, record_groups, shaped, sums_by_cell, table_of_counts
from ..equations import Output, SumSystem
from ..precision import UNSAID, Interval, people
from ..printing import WITHHELD, Printer
from ..refit import Number
from ..rules.counts import threshold
from ..rules.magnitudes import quantile_rules
from ..rules.tallies import COUNT, OutputTally
from ..rules.tallying import Tallier, is_unsaid
from .base import KINDS, Kind, OutputSpec, PrintedNumbers, Sample
from .computing import called, check_some, nested, no_estimate

if TYPE_CHECKING:
    from ..rules.findings import Finding
    from ..rules.policy import Policy

__all__ = ["QuantileSpec"]


class QuantileSpec(OutputSpec):
    """Quantiles of a number, for all records or by groups; see the top of the file for what is asked of the records.

    Parameters
    ----------
    of
        The column.
    at
        Which quantiles, 0 to 1; a `median` has none.
    value, values
        For a median the number, or one for each group; for quantiles a list in the order of `at`, for groups a list (or mapping) of lists.
    n
        The number of records; for groups a list or mapping. Without it (and with a filter or groups) values must lie on the column's grid.
    """

    NUMBERS: ClassVar[tuple[str, ...]] = ("value", "values")
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("of", "by")
    NOUN: ClassVar[str] = "group"

    kind: Literal["quantiles", "median"]
    of: str
    at: list[Annotated[float, Key(ge=0, le=1)]] | None = None
    by: list[str] = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)
    value: Any = None
    values: Any = None
    n: Any = None

    @property
    def points(self) -> list[float]:
        """Which quantiles."""
        if self.kind == "median":
            if self.at not in (None, [0.5]):
                raise InputError(
                    f"Output '{self.name}' is a median, so it has no `at`. Use kind = \"quantiles\" for others."
                )
            return [0.5]
        if not self.at:
            raise InputError(f"Output '{self.name}' must say which quantiles it has, with at = [0.25, 0.5, 0.75].")
        return list(self.at)

    def intervals(self, cells: Crossing) -> list[list[Interval | None]]:
        """Return, for each group, the interval of each quantile."""
        given = self.value if self.values is None else self.values
        what = f"Output '{self.name}'"
        if given is None:
            raise InputError(f"{what} must have a value or values.")
        points, parts = self.points, [given]
        if self.by:
            boxed = (
                {key: _Box(part) for key, part in given.items()}
                if isinstance(given, dict)
                else _box_at(given, len(cells.shape))
            )
            parts = [box.inner for box in shaped(boxed, cells, what=what, absent=_Box(None)).ravel()]
        lists = [[None] * len(points) if part is None else part if isinstance(part, list) else [part] for part in parts]
        if any(len(one) != len(points) for one in lists):
            raise InputError(
                f"{what} must have {len(points)} quantiles, in the order of `at`"
                + (", for each group." if self.by else ".")
            )
        return [[None if q in UNSAID else self.printed(q, "a quantile") for q in one] for one in lists]

    def totals(self, frame: Frame, cells: Crossing) -> list[int | None]:
        """Return the number of records of each group, where known."""
        if not self.by:
            if self.n is not None and not _is_count(self.n):
                raise InputError(f"Output '{self.name}': n must be a whole number.")
            return [self.n if self.n is not None else (frame.rows if not self.filter(frame).masks else None)]
        if self.n is None:
            return [None] * cells.size
        given = shaped(self.n, cells, what=f"The n of output '{self.name}'", absent="?").ravel().tolist()
        if any(not _is_count(n) and n not in UNSAID for n in given):
            raise InputError(f"Output '{self.name}': n must be whole numbers, one for each group.")
        return [n if _is_count(n) else None for n in given]

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return tables of counts below and up to each quantile; sums where the number of records is not known."""
        position, cells, kept = frame.fields.position(self.of), self.crossing(frame), self.filter(frame)
        if self.of in self.by:
            raise InputError(f"Output '{self.name}' cannot take quantiles of '{self.of}' by itself.")
        every, totals = self.intervals(cells), self.totals(frame, cells)
        equations: list[Output] = []
        if any(n is not None for n in totals) and (self.by or kept.masks):
            lo = np.array([0 if n is None else n for n in totals])
            hi = np.array([frame.rows if n is None else n for n in totals])
            equations.append(table_of_counts(f"{self.name}: n", frame, cells.steps, kept, lo, hi))
        if any(n == 0 for n in totals):
            raise InputError(f"Output '{self.name}' has quantiles of no records: some n is 0.")
        values = frame.fields.every[position].values
        for group, (row, n) in enumerate(zip(every, totals, strict=True)):
            steps = [
                _only(step, int(k)) for step, k in zip(cells.steps, np.unravel_index(group, cells.shape), strict=True)
            ]
            called = f" of group {group + 1}" if self.by else ""
            for q, interval in zip(self.points, row, strict=True):
                if interval is None:
                    continue
                name = f"{self.name}: {q:g}{called}"
                one = _Quantile(name, values, position, q, interval, steps, n)
                equations += one.with_n(frame, kept) if n is not None else one.without_n(frame, kept)
        if not equations:
            raise InputError(f"Output '{self.name}' has no value that is not withheld.")
        return tuple(equations)

    def check_recipe(self, frame: Frame) -> None:
        """Raise for a column that is no number, and without `at`."""
        self.filter(frame)
        self.crossing(frame)
        frame.fields[self.of].values  # noqa: B018  raises for words
        self.points  # noqa: B018  raises without `at`

    def _names(self, cells: Crossing) -> list[str]:
        """What quantiles are called, group by group: "m at 0.5"."""
        return [f"{name} at {q:g}" if name else f"{q:g}" for name in cell_names(cells) for q in self.points]

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give the quantiles of all groups, one after the other; None where a group has none."""
        given = self.value if self.values is None else self.values
        if given is None:
            return
        cells = self.crossing(frame)
        self.intervals(cells)
        parts = [given]
        if isinstance(given, Mapping):
            by = {"|".join(word.strip() for word in str(key).split("|")): part for key, part in given.items()}
            parts = [by.get(name) for name in cell_names(cells)]
        else:
            for _ in cells.shape:
                parts = [inner for part in parts for inner in part]
        width = len(self.points)
        lists = [part if isinstance(part, list) else [part] * (width if part is None else 1) for part in parts]
        yield PrintedNumbers("values", self._names(cells), [q for part in lists for q in part], False)

    def _by_group(self, sample: Sample) -> Iterator[tuple[int, list[float]]]:
        """Give the number of records of each group, and its quantiles; nan where there are none."""
        numbers = column_numbers(self.of, sample.fields, sample.inside)
        for rows in record_groups(self.crossing(sample.frame), sample.inside):
            none = [math.nan] * len(self.points)
            yield len(rows), [float(q) for q in np.quantile(numbers[rows], self.points)] if len(rows) else none

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the quantiles of each group, and n if it is published or needed."""
        cells, printed, sizes = self.crossing(sample.frame), list[Any](), list[Any]()
        names, width = self._names(cells), len(self.points)
        for group, (n, values) in enumerate(self._by_group(sample)):
            of = names[group * width : (group + 1) * width]
            gone = printer.few(n) or (printer.suppresses and not n)
            if not n and not gone:
                raise no_estimate(self.name, part, f"{called(cells, group)} has no records")
            row = [
                WITHHELD if gone or name in printer.withheld else printer.number(value, "values", name)
                for name, value in zip(of, values, strict=True)
            ]
            sizes.append(WITHHELD if gone else n)
            printed.append(row[0] if self.kind == "median" else row)
        every = [number for row in printed for number in (row if isinstance(row, list) else [row])]
        check_some(every, self.name, part)
        if self.by:
            numbers, totals = {"values": nested(printed, cells.shape)}, nested(sizes, cells.shape)
        else:
            numbers, totals = {"value" if self.kind == "median" else "values": printed[0]}, sizes[0]
        # A quantile between two values of the column says something only together with n.
        if self.publishes("n") or not self._on_grid(sample.frame, every):
            numbers["n"] = totals
        return numbers

    def _on_grid(self, frame: Frame, printed: list[Any]) -> bool:
        """Whether each quantile as printed may be a value of the column; always where n is known anyway."""
        if not self.by and not self.filter(frame).masks:
            return True
        values = frame.fields[self.of].values
        for number in printed:
            if number != WITHHELD:
                low, high = self.printed(number, "a quantile")
                slack = 1e-9 * max(1.0, abs(low), abs(high))
                if not ((values >= low - slack) & (values <= high + slack)).any():
                    return False
        return True

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the quantiles beside those of the records."""
        cells = self.crossing(sample.frame)
        values = [q for _, some in self._by_group(sample) for q in some]
        intervals = [interval for row in self.intervals(cells) for interval in row]
        for name, interval, value in zip(self._names(cells), intervals, values, strict=True):
            if interval is not None:
                yield Number(name, *interval, value)

    def contradiction(self, frame: Frame) -> str | None:
        """Return whether quantiles are out of order."""
        order = np.argsort(self.points)
        for row in self.intervals(self.crossing(frame)):
            known = [interval for interval in (row[k] for k in order) if interval is not None]
            if any(later.hi < earlier.lo for earlier, later in pairwise(known)):
                return "its quantiles are out of order: a higher one has a smaller value"
        return None

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the groups, and n."""
        cells, values, hidden = self.crossing(tallier.frame), self.values, None
        groups = bool(cells.steps) and self.publishes("n") and not isinstance(self.n, int)
        if len(cells.steps) == 1 and isinstance(values, list) and len(values) == cells.size:
            lists = [value if isinstance(value, list) else [value] for value in values]
            hidden = np.array([all(is_unsaid(number) for number in some) for some in lists], dtype=bool)
        shown = tallier.numbers_shown(hidden)
        table = tallier.tally("cells", cells, shown=shown, quantities=[COUNT] if groups else [])
        return [table, *([] if groups else tallier.n())]

    def findings(self, tallies: list[OutputTally], tallier: Tallier, policy: Policy) -> list[Finding]:
        """Return small groups, quantiles that are the value of a few people, and quantiles with few people beyond them."""
        values = column_numbers(self.of, tallier.fields, tallier.codes)
        return [*threshold(tallies, policy), *quantile_rules(tallies[0], values, self.points, self.decimals, policy)]


class _Box:
    """A list that stands for one entry."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner


def _box_at(given: Any, depth: int) -> Any:
    if depth == 0 or not isinstance(given, list):
        return _Box(given)
    return [_box_at(part, depth - 1) for part in given]


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 0


def _only(step: Any, group: int) -> Any:
    return step[0], np.where(step[1] == group, 0, -1).astype(np.int64)


class _Quantile:
    """One quantile of one group."""

    def __init__(
        self, name: str, values: Floats, position: int, q: float, interval: Interval, steps: list[Any], n: int | None
    ) -> None:
        self.name, self.values, self.position, self.q, self.n, self.steps = name, values, position, q, n, steps
        slack = 1e-9 * max(1.0, abs(interval.lo), abs(interval.hi))
        self.lo, self.hi = interval.lo - slack, interval.hi + slack
        self.on_grid = bool(((values >= self.lo) & (values <= self.hi)).any())
        if self.hi < values[0] or self.lo > values[-1]:
            raise InputError(f"Output '{name}': the quantile lies outside the values of its column.")

    def _split(self, part: str, groups: Any, lo: list[int], hi: list[int], frame: Frame, kept: Any) -> Output:
        group = groups.astype(np.int64)
        present = np.unique(group)
        if any(lo[k] > 0 for k in range(len(lo)) if k not in present):
            raise InputError(f"Output '{self.name}': no record could make the quantile what it is.")
        renumbered = np.searchsorted(present, group).astype(np.int64)
        low, high = (np.array([bound[k] for k in present]) for bound in (lo, hi))
        return table_of_counts(
            f"{self.name}, {part}", frame, [(self.position, renumbered), *self.steps], kept, low, high
        )

    def with_n(self, frame: Frame, kept: Any) -> list[Output]:
        """Tables of counts, exact in whole numbers."""
        assert self.n is not None
        n, values = self.n, self.values
        h = self.q * (n - 1)
        near = round(h)
        h = float(near) if abs(h - near) < 1e-9 * max(n, 1) else h
        j, last = math.floor(h), math.ceil(h)
        if self.on_grid:
            below, above = values < self.lo, values > self.hi
            return [
                self._split("below", np.where(below, 0, 1), [0, n - j], [j, n], frame, kept),
                self._split("up to", np.where(above, 1, 0), [last + 1, 0], [n, n - last - 1], frame, kept),
            ]
        if j == last:
            raise InputError(
                f"Output '{self.name}' lies between values of its column, where n = {people(n, frame.threshold)} leaves none. Check n, or the grid."
            )
        a, b = self._between(h - j, frame.threshold)
        groups = np.select([values < a, values == a, values < b, values == b], [0, 1, 2, 3], 4)
        return [
            self._split("around", groups, [0, 1, 0, 1, 0], [j, j + 1, 0, n - j - 1, n - j - 2], frame, kept),
            self._split("below", np.where(values <= a, 0, 1), [j + 1, n - j - 1], [j + 1, n - j - 1], frame, kept),
        ]

    def _between(self, share: float, threshold: int) -> tuple[float, float]:
        """The two values of the column, nearest to each other, that interpolate to the printed quantile."""
        lower, upper = self.values[self.values < self.lo], self.values[self.values > self.hi]
        at = (1.0 - share) * lower[:, None] + share * upper[None, :]
        fits = (at >= self.lo) & (at <= self.hi)
        if not fits.any():
            raise InputError(
                f"Output '{self.name}': no two values of its column interpolate to the quantile with n = {people(self.n or 0, threshold)}. Give its decimals, or check n."
            )
        apart = np.where(fits, upper[None, :] - lower[:, None], np.inf)
        a, b = np.unravel_index(int(np.argmin(apart)), apart.shape)
        return float(lower[a]), float(upper[b])

    def without_n(self, frame: Frame, kept: Any) -> list[Output]:
        """Sums of 1{x < a} - q, at most -q, and of 1{x <= b} - q, at least 1 - q: the same without n."""
        if not self.on_grid:
            raise InputError(
                f"Output '{self.name}' lies between values of its column: its n is needed to say which. Give n."
            )
        most = float(frame.rows)
        pairs: list[tuple[str, Callable[[Any], Floats], float, float]] = [
            ("below", partial(_indicator, self.values < self.lo, self.position, self.q), -most, -self.q),
            ("up to", partial(_indicator, self.values <= self.hi, self.position, self.q), 1.0 - self.q, most),
        ]
        cells = Crossing(tuple(self.steps), tuple(("0",) for _ in self.steps))
        slack = 1e-9 * most
        return [
            SumSystem(
                f"{self.name}, {part}",
                1,
                (sums_by_cell(frame, cells, [((self.position,), function)], count=False),),
                np.array([low - slack]),
                np.array([high + slack]),
                keep=kept.keep(),
            )
            for part, function, low, high in pairs
        ]


def _indicator(mask: Any, position: int, q: float, grid: Any) -> Floats:
    return mask[grid[position]].astype(float) - q


KINDS.register(Kind("quantiles", QuantileSpec, "Position", "quantiles, by groups or not"))
KINDS.register(Kind("median", QuantileSpec, "Position", "medians, by groups or not"))
