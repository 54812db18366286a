"""Where people stand among the released rows, and among each other: nearest rows and densities by Gower's distance.

The distance of two rows is the mean over columns of: the difference of two numbers over the range of the people's (at most 1), 0 or 1 for equal or
different levels; a missing value is as far from any other as can be (Gower, 1971). The range is that of all people together, members
or not. Densities are kernel estimates with exp(-(d / h)^2 / 2); h is half the median distance of people to their second nearest among people: wider ones see
less of copies, narrower ones less of what a model learns too closely (tried at 1/4 to 2 times the distance on four tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._base.masking import masked_count
from ..._base.runtime import thread_map
from ...stats.scores import Scores
from ...stats.splits import child
from .values import ColumnValues

if TYPE_CHECKING:
    from .protocol import ReleaseCase


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = tuple[NDArray[np.float32], NDArray[np.int32]]
"""Numbers and levels, one row for each column."""

PILOT = 200
"""People by whom the bandwidth is chosen."""
CELLS = 4096
"""Steps in which the kernel is tabulated."""
REACH = 6.0
"""Bandwidths beyond which the kernel is 0."""
BLOCK = 256
"""People whom a thread takes at a time."""
ABSENT = 3.0
"""The number of a missing value: further from any scaled one than 1, which is the most that counts."""


@dataclass(frozen=True, eq=False, repr=False)
class Distances:
    """People's places; it holds figures of records, and stays inside.

    `people`: who was looked at, by number; all where there are not too many. `nearest`, `second`: the distances to the nearest two released rows, 0 to
    1. `released_density`, `people_density`: mean kernel weight of the released rows, and of other people, who may be members or not;
    nobody is in the density that they are held against.
    """

    people: Ints
    n_people: int
    nearest: Floats
    second: Floats
    released_density: Floats
    people_density: Floats

    @classmethod
    def of(cls, case: ReleaseCase, *, most_people: int, most_rows: int) -> Distances:
        """Return the places of people, at most so many, among rows and other people, at most so many; the rest is left out at random."""
        rng = np.random.default_rng(child(case.seed, 0))
        people = some(case.n_people, most_people, rng)
        rows, others = some(case.n_released, most_rows, rng), some(case.n_people, most_rows, rng)
        released, everybody = scaled(case.columns)
        near, reference, looked_at = (
            _take(released, rows),
            _take(everybody, others),
            _take(everybody, people),
        )
        own = np.full(case.n_people, -1, dtype=np.int64)
        own[others] = np.arange(len(others))
        width = _bandwidth(looked_at, reference, own[people])
        nobody = np.full(len(people), -1, dtype=np.int64)
        nearest, second, density = _among(looked_at, near, nobody, width, case.threads)
        _, _, background = _among(looked_at, reference, own[people], width, case.threads)
        n_columns = len(case.columns)
        compared = len(others) - (own[people] >= 0)
        return cls(
            people,
            case.n_people,
            nearest / n_columns,
            second / n_columns,
            density / max(len(rows), 1),
            background / np.maximum(compared, 1),
        )

    def scores(self, numbers: Floats) -> Scores:
        """Return numbers from 0 to 1 of the people looked at as scores of all: the others have no weight."""
        numerator, weight = np.zeros(self.n_people), np.zeros(self.n_people)
        numerator[self.people], weight[self.people] = numbers, 1.0
        return Scores(numerator, weight)

    def __repr__(self) -> str:
        return (
            f"Distances(people: {masked_count(len(self.people))} of {masked_count(self.n_people)})"
        )


def some(n: int, most: int, rng: np.random.Generator) -> Ints:
    """Return all numbers below n, or so many of them at random, in rising order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def scaled(columns: Sequence[ColumnValues]) -> tuple[Rows, Rows]:
    """Return the released rows and the people with numbers divided by their range among people; levels as they are."""
    sides = []
    for side in ("released", "people"):
        numbers = [_scaled(column, getattr(column, side)) for column in columns if column.numeric]
        levels = [
            getattr(column, side).astype(np.int32) for column in columns if not column.numeric
        ]
        n = len(getattr(columns[0], side))
        sides.append((_matrix(numbers, n, np.float32), _matrix(levels, n, np.int32)))
    return sides[0], sides[1]


def _scaled(column: ColumnValues, codes: Ints) -> NDArray[np.float32]:
    assert column.numbers is not None
    people = column.numbers[column.people]
    low, high = (np.nanmin(people), np.nanmax(people)) if not np.isnan(people).all() else (0.0, 1.0)
    values = (column.numbers - low) / ((high - low) or 1.0)
    return np.where(np.isnan(values), ABSENT, np.clip(values, -1.0, 2.0 - 1e-3))[codes].astype(
        np.float32
    )


def _matrix(rows: Sequence[NDArray[Any]], n: int, kind: Any) -> NDArray[Any]:
    return np.ascontiguousarray(np.stack(rows)) if rows else np.zeros((0, n), dtype=kind)


def _take(rows: Rows, which: Ints) -> Rows:
    return np.ascontiguousarray(rows[0][:, which]), np.ascontiguousarray(rows[1][:, which])


def _bandwidth(people: Rows, reference: Rows, own: Ints) -> float:
    """Return half the median distance to the second nearest other person, over the first people; a small number where that is 0."""
    from .distance_kernels import all_distances

    n = min(PILOT, people[0].shape[1])
    out = np.empty((n, reference[0].shape[1]), dtype=np.float32)
    all_distances(*_take(people, np.arange(n)), *reference, own[:n], out)
    if out.shape[1] < 3 or n == 0:
        return 1.0
    width = 0.5 * float(np.median(np.partition(out, 1, axis=1)[:, 1]))
    return width if width > 1e-6 else 0.5  # many equal rows: half of one different level


def _among(
    people: Rows, rows: Rows, own: Ints, width: float, threads: int | None
) -> tuple[Floats, Floats, Floats]:
    from .distance_kernels import neighbours

    n = people[0].shape[1]
    step = REACH * width / CELLS
    kernel = np.exp(-0.5 * ((np.arange(CELLS) + 0.5) * step / width) ** 2)
    kernel = np.append(kernel, 0.0)
    nearest, second = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    density = np.empty(n)

    def block(start: int) -> None:
        part = slice(start, min(start + BLOCK, n))
        some_people = _take(people, np.arange(n)[part])
        neighbours(
            *some_people, *rows, own[part], kernel, step, nearest[part], second[part], density[part]
        )

    thread_map(block, list(range(0, n, BLOCK)), threads=threads)
    return nearest.astype(np.float64), second.astype(np.float64), density
