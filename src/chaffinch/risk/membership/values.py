"""What an outsider sees of a target in released values: exact matches, extremes, the nearest row, density and presence of levels.

Bins hide what these show: that a number nobody else has was released, or that the largest released number is large because of one record.
Features of a target are about its own columns, the most telling first, so that a feature has the same meaning for all targets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Singles
from ..._base.compiled import jit
from ..._base.errors import InputError
from ...table.compare.distances import gower_sums, smallest
from ...table.table import Table
from ..shadows.generator import value_reader
from ..shadows.values import PlainValues, ValueReader

RARE = 10
"""Records of the population below which a value of one column is rare: seeing it again says something of those who have it."""


MOST_COLUMNS = 8
"""Columns of a target with features of their own: those of its rarest values."""


SMALLEST = 1e-9
"""What is added to a density or a distance before its logarithm is taken."""


MOST_EXTREMES = 4
"""Numeric columns whose ends are looked at: those in which the target is most extreme. More would be noise to learn through."""


NEAREST = 5
"""Nearest rows by ranks that are looked at."""


EXTREMES = (
    "end on the target's side",
    "second from that end",
    "mean",
    "values beyond the target's",
    "gap to the target's",
)


ROWS = (
    "rows equal in all columns",
    "rows with a rare value of the target",
    "rows with two rare values of the target",
    "most columns equal in a row",
    "most rare values in a row",
)


NEAR = (
    "nearest",
    "second nearest",
    "nearest by ranks",
    "second nearest by ranks",
    "a row is equal",
    "nearest over second nearest",
)


DENSITY = (
    "kernel log density",
    "kernel log density, half the width",
    "nearest-neighbour log density",
)


PRESENCE = ("is released", "times released")


@dataclass(frozen=True, eq=False)
class NumberScale:
    """How numbers of a column compare: their ranks in the population, 0 to 1, and their distance in its range and in robust units."""

    values: Floats
    ranks: Floats
    range: float
    middle: float
    unit: float

    @classmethod
    def from_numbers(cls, numbers: Floats) -> NumberScale:
        """Return the scale of the population's numbers, of which some may be missing."""
        present = numbers[~np.isnan(numbers)]
        if not len(present):
            return cls(np.zeros(1), np.zeros(1), 1.0, 0.0, 1.0)
        values, counts = np.unique(present, return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
        low, middle, high = np.quantile(present, [0.25, 0.5, 0.75])
        unit = next(
            (
                size
                for size in (high - low, float(np.std(present)))
                if size > 0 and np.isfinite(size)
            ),
            1.0,
        )
        spread = (
            float(values[-1] / 2 - values[0] / 2) * 2
        )  # halves: the span of the largest floats has no end
        return cls(
            values, ranks, spread if 0 < spread < np.inf else 1.0, float(middle), float(unit)
        )

    def rank(self, numbers: Floats) -> Floats:
        """Return ranks in the population, straight between its values; NaN where missing."""
        return np.where(np.isnan(numbers), np.nan, np.interp(numbers, self.values, self.ranks))

    def robust(self, numbers: Floats) -> Floats:
        """Return distances from the median in quartile ranges, drawn together where they are large; 0 where there is no number."""
        with np.errstate(over="ignore"):
            return np.nan_to_num(np.arcsinh((numbers - self.middle) / self.unit), nan=0.0)


@dataclass(frozen=True, eq=False)
class ValueFeatures:
    """What to look for in released values: the targets, and how common each of their values is. Make one with `ValueFeatures.of`.

    `names`: what the features are, in order. `groups`: which of them belong together, by name.
    """

    reader: ValueReader = field(repr=False)
    targets: PlainValues = field(repr=False)
    scales: tuple[NumberScale, ...] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    """How many records of the population have the target's value, (targets, numeric then categorical columns)."""
    widths: Floats = field(repr=False)
    """The width of the kernel at each target: the distance of its nearest others in the population."""
    reference: Floats = field(repr=False)
    """The log densities of each target in the population, (targets, kinds of density)."""

    @classmethod
    def from_population(cls, population: Table, targets: NDArray[np.int64]) -> ValueFeatures:
        """Return the sight for targets, row numbers of the population."""
        rows = np.asarray(targets, dtype=np.int64)
        if rows.ndim != 1 or not len(rows) or rows.min() < 0 or rows.max() >= population.n_rows:
            raise InputError(
                f"targets must be numbers of rows of the population, 0 to {population.n_rows - 1:,}."
            )
        reader = value_reader(population)
        values = reader.read(population)
        target_values = PlainValues(
            np.ascontiguousarray(values.numbers[:, rows]),
            np.ascontiguousarray(values.level_codes[:, rows]),
        )
        scales = tuple(NumberScale.from_numbers(column) for column in values.numbers)
        counts = np.stack([np.bincount(codes)[codes[rows]] for codes in values.codes.T], axis=1)
        blank = np.ones(len(rows))
        bare = cls(
            reader, target_values, scales, counts, blank, np.zeros((len(rows), len(DENSITY)))
        )
        widths = np.maximum(
            bare._look(values)[1][:, 1:].mean(axis=1), 1e-3
        )  # the nearest is the target itself
        bare = cls(
            reader, target_values, scales, counts, widths, np.zeros((len(rows), len(DENSITY)))
        )
        others, near, kernels = bare._look(values)
        del others
        reference = bare._densities(kernels - 1.0, near[:, 1:], population.n_rows - 1)
        return cls(reader, target_values, scales, counts, widths, reference)

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Which features belong together."""
        out, start = {}, 0
        for name, labels in self._labels_by_group.items():
            out[name] = slice(start, start + len(labels))
            start += len(labels)
        return out

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the features are, in order: no value, and no column, since each target has its own."""
        return tuple(
            f"{group}: {word}" for group, labels in self._labels_by_group.items() for word in labels
        )

    @cached_property
    def _labels_by_group(self) -> dict[str, list[str]]:
        rare, numbers, n_words = (
            columns.shape[1] for columns in (self._rarest, self._outermost, self._levels)
        )
        # What the kernel attacker looks at follows the table, so that every attacker's features stand side by side and none are copied.
        return {
            "nearest": list(NEAR),
            "density": list(DENSITY),
            "exact": [*(f"rare value {i + 1}" for i in range(rare)), *ROWS],
            "extremes": [f"{word}, number {i + 1}" for i in range(numbers) for word in EXTREMES],
            "presence": [
                *(f"level {i + 1} {word}" for i in range(n_words) for word in PRESENCE),
                "levels not released",
            ],
        }

    def of_table(self, table: Table) -> Singles:
        """Return the features of each target in a table with the population's columns, (targets, features)."""
        return self.look(self.reader.read(table))

    def look(self, values: PlainValues) -> Singles:
        """Return the features of each target in released values, (targets, features): finite numbers."""
        n_targets = len(self.counts)
        rows, near_ranks, kernels = self._look(values)
        per_column, near, flags = rows
        out = np.zeros((n_targets, len(self.names)))
        each = np.arange(n_targets)[:, None]
        columns = self.groups["exact"]
        rare_counts = np.where(self._is_rare, per_column, 0)
        out[:, columns] = np.concatenate([rare_counts[each, self._rarest], flags], axis=1)
        out[:, self.groups["extremes"]] = self._extremes(values)
        equal = flags[:, :1] > 0
        ratio = near[:, :1] / np.maximum(near[:, 1:2], SMALLEST)
        out[:, self.groups["nearest"]] = np.concatenate(
            [near, near_ranks[:, :2], equal, np.minimum(ratio, 1.0)], axis=1
        )
        out[:, self.groups["density"]] = (
            self._densities(kernels, near_ranks, values.n_rows) - self.reference
        )
        of_levels = per_column[:, len(self.scales) :]
        pairs = np.stack([of_levels > 0, of_levels], axis=2)[each, self._levels]
        absent = (of_levels == 0).sum(axis=1, keepdims=True)
        out[:, self.groups["presence"]] = np.concatenate(
            [pairs.reshape(n_targets, -1), absent], axis=1
        )
        return out.astype(np.float32)

    def _look(self, values: PlainValues) -> tuple[tuple[Floats, Floats, Floats], Floats, Floats]:
        """What rows show: (equal values by column, nearest distances, counts of rows), nearest by ranks, sums of kernels."""
        per_column, near, flags, near_ranks, kernels = look_at_rows(
            self._as_arrays(values), self._target_arrays, self._is_rare, self.widths
        )
        return (per_column, near, flags), near_ranks, kernels

    def _as_arrays(self, values: PlainValues) -> tuple[Floats, Floats, Floats, NDArray[np.int32]]:
        """Numbers, the same over their range in the population, their ranks there, and words."""
        scaled, ranks = np.empty_like(values.numbers), np.empty_like(values.numbers)
        for j, scale in enumerate(self.scales):
            scaled[j] = values.numbers[j] / scale.range
            ranks[j] = scale.rank(values.numbers[j])
        return values.numbers, scaled, ranks, values.level_codes

    def _densities(self, kernels: Floats, near_ranks: Floats, n_rows: int) -> Floats:
        smooth = np.log(np.maximum(kernels, 0.0) / n_rows + SMALLEST)
        return np.concatenate(
            [smooth, -np.log(near_ranks.mean(axis=1, keepdims=True) + 1e-3)], axis=1
        )

    def _extremes(self, values: PlainValues) -> Floats:
        if not self.scales:
            return np.zeros((len(self.counts), 0))
        ends = outermost(values.numbers)
        ends = np.stack([scale.robust(row) for scale, row in zip(self.scales, ends, strict=True)])
        beyond, gaps = count_beyond(values.numbers, self.targets.numbers, self._upper)
        gaps = np.stack(
            [np.arcsinh(gaps[:, i] / scale.unit) for i, scale in enumerate(self.scales)], axis=1
        )
        # The largest numbers where the target is above the median, the smallest where it is below.
        extremes = np.where(self._upper.T[:, :, None], ends[None, :, :2], ends[None, :, 2:4])
        means = np.broadcast_to(ends[None, :, 4:], (*extremes.shape[:2], 1))
        seen = np.concatenate([extremes, means, beyond[:, :, None], gaps[:, :, None]], axis=2)
        return np.take_along_axis(seen, self._outermost[:, :, None], axis=1).reshape(
            len(self.counts), -1
        )

    @cached_property
    def _is_rare(self) -> NDArray[np.bool_]:
        return np.ascontiguousarray(self.counts < RARE)

    @cached_property
    def _target_arrays(self) -> tuple[Floats, Floats, Floats, NDArray[np.int32]]:
        return self._as_arrays(self.targets)

    @property
    def _target_ranks(self) -> Floats:
        return self._target_arrays[2]

    @cached_property
    def _upper(self) -> NDArray[np.bool_]:
        """Whether a target's number lies above the median, (numeric columns, targets)."""
        return np.ascontiguousarray(np.nan_to_num(self._target_ranks, nan=0.5) >= 0.5)

    @cached_property
    def _rarest(self) -> NDArray[np.int64]:
        """The columns in which a target's value is rarest, the rarest first, (targets, columns)."""
        return np.argsort(self.counts, axis=1, kind="stable")[:, :MOST_COLUMNS]

    @cached_property
    def _levels(self) -> NDArray[np.int64]:
        """The categorical columns in which a target's level is rarest, the rarest first."""
        return np.argsort(self.counts[:, len(self.scales) :], axis=1, kind="stable")[
            :, :MOST_COLUMNS
        ]

    @cached_property
    def _outermost(self) -> NDArray[np.int64]:
        """The numeric columns in which a target is most extreme, the most extreme first."""
        apart = np.abs(np.nan_to_num(self._target_ranks, nan=0.5) - 0.5).T
        size = (
            np.stack(
                [
                    np.abs(scale.robust(x))
                    for scale, x in zip(self.scales, self.targets.numbers, strict=True)
                ],
                axis=1,
            )
            if self.scales
            else apart
        )
        # By ranks; of columns in which it is equally far out, by how far that is.
        return np.lexsort((-size, -np.round(apart, 9)), axis=1)[:, :MOST_EXTREMES]


@jit
def look_at_rows(rows, targets, rare, widths):  # type: ignore[no-untyped-def]
    """Return for each target what the rows show.

    `rows`, `targets`: numbers, the same over their range, their ranks, and words; each (columns, rows). `rare`: (targets, numeric then categorical columns).
    Of equal values by column; the two nearest distances (Gower's); counts of rows
    (equal in all columns, with a rare value, with two, and the most columns and rare values that a row has equal); the nearest distances by
    ranks; and the sums of the kernels exp(-d / width), of one width and of half of it.
    """
    numbers, scaled, ranks, levels = rows
    target_numbers, target_scaled, target_ranks, target_words = targets
    n_numbers, n_words = numbers.shape[0], levels.shape[0]
    n_rows = max(numbers.shape[1], levels.shape[1])
    n_columns, n_targets = n_numbers + n_words, rare.shape[0]
    per_column = np.zeros((n_targets, n_columns))
    near = np.empty((n_targets, 2))
    flags = np.zeros((n_targets, 5))
    near_ranks = np.empty((n_targets, NEAREST))
    kernels = np.zeros((n_targets, 2))
    distances = np.empty(n_rows)
    equal, rarely = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    for t in range(n_targets):
        equal[:] = 0
        rarely[:] = 0
        for f in range(n_columns):
            is_rare, total = np.int32(rare[t, f]), np.int64(0)
            number = target_numbers[f, t] if f < n_numbers else 0.0
            word = target_words[f - n_numbers, t] if f >= n_numbers else 0
            for r in range(n_rows):
                if f >= n_numbers:
                    same = np.int32(levels[f - n_numbers, r] == word)
                elif np.isnan(number):
                    same = np.int32(np.isnan(numbers[f, r]))
                else:
                    same = np.int32(numbers[f, r] == number)
                total += same
                equal[r] += same
                rarely[r] += same * is_rare
            per_column[t, f] = total
        for r in range(n_rows):
            flags[t, 0] += equal[r] == n_columns
            flags[t, 1] += rarely[r] > 0
            flags[t, 2] += rarely[r] > 1
            flags[t, 3] = max(flags[t, 3], equal[r])
            flags[t, 4] = max(flags[t, 4], rarely[r])
        gower_sums(target_scaled, target_words, t, scaled, levels, distances)
        smallest(distances, near[t])
        gower_sums(target_ranks, target_words, t, ranks, levels, distances)
        smallest(distances, near_ranks[t])
        for r in range(n_rows):
            weight = np.exp(-distances[r] / n_columns / widths[t])
            kernels[t, 0] += weight
            kernels[t, 1] += weight * weight
    near = np.minimum(near / n_columns, 1.0)
    return per_column, near, flags, np.minimum(near_ranks / n_columns, 1.0), kernels


@jit
def outermost(numbers):  # type: ignore[no-untyped-def]
    """Return the two largest, the two smallest and the mean of each column, (columns, 5); NaN where there are none."""
    out = np.full((numbers.shape[0], 5), np.nan)
    for f in range(numbers.shape[0]):
        high, next_high, low, next_low = -np.inf, -np.inf, np.inf, np.inf
        total, present = 0.0, 0
        for r in range(numbers.shape[1]):
            x = numbers[f, r]
            if np.isnan(x):
                continue
            present += 1
            total += (
                x - total
            ) / present  # a running mean: the sum of the largest floats has no end
            if x > high:
                next_high = high
                high = x
            elif x > next_high:
                next_high = x
            if x < low:
                next_low = low
                low = x
            elif x < next_low:
                next_low = x
        if present > 0:
            out[f, 0], out[f, 2], out[f, 4] = high, low, total
            out[f, 1], out[f, 3] = (next_high, next_low) if present > 1 else (high, low)
    return out


@jit
def count_beyond(numbers, target_numbers, upper):  # type: ignore[no-untyped-def]
    """Return how many released numbers are at or beyond a target's, on its side of the median, and how far the nearest number is from it.

    Both (targets, columns). A missing number of the target counts the missing ones, and is as far from a number as 0.
    """
    n_columns, n_targets = target_numbers.shape
    beyond, gaps = np.zeros((n_targets, n_columns)), np.zeros((n_targets, n_columns))
    for f in range(n_columns):
        for t in range(n_targets):
            mine = target_numbers[f, t]
            total, gap = 0, np.inf
            if np.isnan(mine):
                for r in range(numbers.shape[1]):
                    total += np.isnan(numbers[f, r])
                gap = 0.0
            else:
                for r in range(numbers.shape[1]):
                    x = numbers[f, r]
                    total += (x >= mine) if upper[f, t] else (x <= mine)
                    gap = min(gap, abs(x - mine)) if x == x else gap
            beyond[t, f] = total
            gaps[t, f] = gap if gap < np.inf else 1e300
    return beyond, gaps
