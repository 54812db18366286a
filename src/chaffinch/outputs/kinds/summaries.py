"""Summaries of numbers: means, sums, standard deviations and variances by groups, and correlations."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.errors import InputError
from ..columns import Floats
from ..equations import Output, SumSystem
from ..precision import Interval
from .base import Cells, Frame, OutputSpec, crossed, shaped, sums_by_cell

__all__ = ["UNSAID", "CorrelationSpec", "Correlations", "MomentSpec", "Moments"]

UNSAID = (None, "", "x", "*", "?", "..")
"""How a number that is withheld is written."""


class _Grouped(OutputSpec):
    """What summaries share: groups, and a value for each."""

    by: list[str] = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)
    value: Any = None
    values: list[Any] | dict[str, Any] | None = None

    def crossing(self, frame: Frame) -> Cells:
        """Return the groups."""
        return crossed(self.by, self.groups, frame.fields, output=self.name)

    def intervals(self, cells: Cells) -> dict[int, Interval]:
        """Return the interval of each group's number, by the group's position; withheld ones are absent."""
        if (self.value is None) == (self.values is None) or (self.by and self.values is None):
            raise InputError(f"Output '{self.name}' must have a value, or values for the groups of its `by`.")
        given = shaped(
            self.value if self.values is None else self.values, cells, what=f"Output '{self.name}'", absent=""
        )
        found = {k: self.printed(number, "a value") for k, number in enumerate(given.ravel()) if number not in UNSAID}
        if not found:
            raise InputError(f"Output '{self.name}' has no value that is not withheld.")
        return found


def _power(values: Floats, position: int, power: int, grid: Any) -> Floats:
    return values[grid[position]] ** power


def _cross(left: Floats, right: Floats, a: int, b: int, grid: Any) -> Floats:
    return left[grid[a]] * right[grid[b]]


def _shift(values: Floats) -> float:
    """A round number in the middle: sums of squares around it lose no digits."""
    return float(np.round(values.mean()))


def _step(values: Floats) -> float:
    """The smallest difference of two values; 1 where there is one value only."""
    return float(np.diff(values).min(initial=np.inf)) if len(values) > 1 else 1.0


class Moments:
    """Means, sums, variances or standard deviations of groups, out of each group's count, sum and sum of squares.

    `step` is the smallest difference of two values: a standard deviation has no derivative at 0, and takes there the one that it has
    where one record lies a step away from the others.
    """

    def __init__(self, kind: str, groups: list[int], *, shift: float, ddof: int, step: float = 1.0) -> None:
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


class MomentSpec(_Grouped):
    """Means, sums, standard deviations or variances of a number, for all records or by groups.

    Parameters
    ----------
    of
        The column.
    by, groups
        Columns whose cross makes the groups, and bands of them.
    value, values
        The number, or one for each group (nested lists, or by names such as "m|rented"); "x" for a withheld one.
    ddof
        What is taken off n in variances: 1 by default, as in pandas and R.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("mean", "sum", "sd", "variance")

    kind: Literal["mean", "sum", "sd", "variance"]
    of: str
    ddof: Annotated[int, Key(ge=0, le=1)] = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The number, and the columns that make groups."""
        return (self.of, *self.by)

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return one system of sums."""
        position, cells = frame.fields.position(self.of), self.crossing(frame)
        values = frame.fields.every[position].values
        shift = 0.0 if self.kind == "sum" else _shift(values)
        found = self.intervals(cells)
        powers = (1,) if self.kind in ("mean", "sum") else (1, 2)
        numbers = [((position,), partial(_power, values - shift, position, power)) for power in powers]
        terms = sums_by_cell(frame, cells, numbers)
        reading = Moments(self.kind, list(found), shift=shift, ddof=self.ddof, step=_step(values))
        bounds = np.array(list(found.values()))
        size = cells.size * (1 + len(powers))
        system = SumSystem(
            self.name, size, (terms,), bounds[:, 0], bounds[:, 1], keep=self.filter(frame).keep(), reported=reading
        )
        return (system, *self.n_equations(frame))


class Correlations:
    """Pearson correlations of pairs, out of count, sums, squares and products of one group of records.

    `steps` are the smallest differences of two values of each column. Where all records agree in a column it has no correlation: it then
    counts as if one record were a step away.
    """

    def __init__(self, pairs: list[tuple[int, int]], steps: Floats) -> None:
        self.pairs, self.columns, self.steps = pairs, len(steps), steps

    def _spread(self, sums: Floats) -> Floats:
        k, n = self.columns, max(float(sums[0]), 1.0)
        spread: Floats = sums[1 + k : 1 + 2 * k] - sums[1 : 1 + k] ** 2 / n
        return spread

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which pairs have no correlation: all records agree in one of the columns."""
        flat = self._spread(sums) < 0.25 * self.steps**2
        return np.array([flat[a] or flat[b] for a, b in self.pairs], dtype=bool)

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the correlations and their derivatives. Sums: n, then x_i, then x_i squared, then the products of the pairs."""
        k, n = self.columns, max(float(sums[0]), 1.0)
        first, cross = sums[1 : 1 + k], sums[1 + 2 * k :]
        spread = np.maximum(self._spread(sums), 0.25 * self.steps**2)
        values, slope = np.zeros(len(self.pairs)), np.zeros((len(self.pairs), len(sums)))
        for row, (a, b) in enumerate(self.pairs):
            root = math.sqrt(spread[a] * spread[b])
            values[row] = r = (cross[row] - first[a] * first[b] / n) / root
            slope[row, 0] = first[a] * first[b] / n**2 / root - 0.5 * r * (
                first[a] ** 2 / n**2 / spread[a] + first[b] ** 2 / n**2 / spread[b]
            )
            slope[row, 1 + a] = -first[b] / n / root + r * first[a] / n / spread[a]
            slope[row, 1 + b] = -first[a] / n / root + r * first[b] / n / spread[b]
            slope[row, 1 + k + a] = -0.5 * r / spread[a]
            slope[row, 1 + k + b] = -0.5 * r / spread[b]
            slope[row, 1 + 2 * k + row] = 1.0 / root
        return values, slope


class CorrelationSpec(OutputSpec):
    """The Pearson correlation of two numbers, or the matrix of several.

    Parameters
    ----------
    of
        The columns: two or more.
    value, values
        The correlation of two; or the matrix, both halves of which must agree where both are given ("x" for what is not).
    """

    KINDS: ClassVar[tuple[str, ...]] = ("correlation",)

    kind: Literal["correlation"] = "correlation"
    of: Annotated[list[str], Key(min_length=2)]
    value: Any = None
    values: list[list[Any]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.of)

    def intervals(self) -> dict[tuple[int, int], Interval]:
        """Return the interval of each pair's correlation."""
        k = len(self.of)
        if (self.value is None) == (self.values is None) or (self.value is not None and k != 2):
            raise InputError(
                f"Output '{self.name}' must have a value for two columns, or values: a matrix of correlations."
            )
        if self.values is None:
            return {(0, 1): self._one(self.value)}
        if len(self.values) != k or any(len(row) != k for row in self.values):
            raise InputError(f"Output '{self.name}': the matrix must have {k} rows of {k} correlations.")
        found = {}
        for a, b in combinations(range(k), 2):
            both = [self._one(self.values[i][j]) for i, j in ((a, b), (b, a)) if self.values[i][j] not in UNSAID]
            if len(both) == 2 and both[0] != both[1]:
                raise InputError(f"Output '{self.name}': the matrix of correlations must be symmetric.")
            if both:
                found[a, b] = both[0]
        if not found:
            raise InputError(f"Output '{self.name}' has no correlation.")
        return found

    def _one(self, number: Any) -> Interval:
        interval = self.printed(number, "a correlation")
        if interval.lo > 1 or interval.hi < -1:
            raise InputError(f"Output '{self.name}': correlations must lie between -1 and 1.")
        return interval

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return one system of sums."""
        cells = crossed(self.of, {}, frame.fields, output=self.name)  # checks names
        found, positions = self.intervals(), cells.positions
        fields = [frame.fields.every[p] for p in positions]
        shifted = [field.values - _shift(field.values) for field in fields]
        constant = Cells((), ())
        k, size = len(positions), 1 + 2 * len(positions) + len(found)
        terms = [_placed(sums_by_cell(frame, constant, ()), [0])]
        for i, p in enumerate(positions):
            powers = [((p,), partial(_power, shifted[i], p, power)) for power in (1, 2)]
            terms.append(_placed(sums_by_cell(frame, constant, powers, count=False), [1 + i, 1 + k + i]))
        for row, (a, b) in enumerate(found):
            columns = (positions[a], positions[b])
            times = [(columns, partial(_cross, shifted[a], shifted[b], *columns))]
            terms.append(_placed(sums_by_cell(frame, constant, times, count=False), [1 + 2 * k + row]))
        bounds = np.array(list(found.values()))
        system = SumSystem(
            self.name,
            size,
            tuple(terms),
            bounds[:, 0],
            bounds[:, 1],
            keep=self.filter(frame).keep(),
            reported=Correlations(list(found), np.array([_step(field.values) for field in fields])),
        )
        return (system, *self.n_equations(frame))


def _placed(terms: Any, equations: list[int]) -> Any:
    """Terms with their equations 0, 1, ... put elsewhere."""
    from dataclasses import replace

    return replace(terms, equations=np.array(equations, dtype=np.int64)[terms.equations])
