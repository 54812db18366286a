"""Tests by distance: how near the nearest released row is to a person (DCR, NNDR), and how dense released rows are around one.

DCR and NNDR are what people ask for. A copy, exact or not, makes the released rows dense where people are not. All are held against people who are not in the
data, by Gower's distance.

The distance of two rows is the mean over columns of: the difference of two numbers over the range of the people's (at most 1), 0 or 1 for equal or
different levels; a missing value is as far from any other as can be (Gower, 1971). The range is that of all people together, members
or not. Densities are kernel estimates with exp(-(d / h)^2 / 2); h is half the median distance of people to their second nearest among people: wider ones see
less of copies, narrower ones less of what a model learns too closely (tried at 1/4 to 2 times the distance on four tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.compiled import jit
from ..._base.runtime import thread_map
from ..._base.seeds import child
from ...stats.rates import Scores
from ...table.compare.distances import gower_sums, smallest
from ..attacker import ATTACKERS, Attacker
from .protocol import (
    MOST_ROWS,
    ColumnValues,
    ReleaseCase,
    draw_at_most,
)


def density_ratio(case: ReleaseCase) -> Scores:
    """Return for each person p / (p + q), with p the density of released rows and q that of other people, at the person's place.

    It is the logistic function of log p - log q, and 1/2 where both are 0. The density of people is of all others, members or not: with
    the holdout's alone, members and others would be held against different references, and could not be exchanged.
    """
    places = distances_of(case)
    released, people = places.released_density, places.people_density
    total = released + people
    return places.scores(np.where(total > 0, released / np.where(total > 0, total, 1.0), 0.5))


ATTACKERS.register(
    Attacker(
        name="density_ratio",
        score=density_ratio,
        title="Density ratio",
        definition=(
            "Mean over people of p / (p + q): p is the density of released rows at the person's place, q that of other people. 1/2 where the "
            "released rows are as dense as people are."
        ),
        sentence=(
            "Released rows around a person are at {value} of the two densities for the people in the data, and at {holdout} for people who are not "
            "(50 % is as dense as people are)"
        ),
        blindness="A mean over people hides a few who are copied among many who are not, and distances over many columns are all alike.",
        reference="After van Breugel, Sun, Qian and van der Schaar (2023), DOMIAS, with a kernel estimate and a reference of all people",
    )
)


NO_EVIDENCE = (
    "Tables that pass it are broken by membership attacks all the same: it sees copies and near copies, not what a model gives away by the shares of "
    "its rows (Ganev and De Cristofaro, 2023; Yao and others, 2025). It is no evidence of privacy."
)


def nearest_distances(case: ReleaseCase) -> Scores:
    """Return the distance of each person to the nearest released row, 0 to 1."""
    places = distances_of(case)
    return places.scores(np.minimum(places.nearest, 1.0))


def distance_ratios(case: ReleaseCase) -> Scores:
    """Return the distance to the nearest released row over that to the second nearest, 0 to 1; 1 where both are 0."""
    places = distances_of(case)
    first, second = places.nearest, places.second
    known = np.isfinite(second) & (second > 0)
    return places.scores(np.where(known, first / np.where(known, second, 1.0), 1.0))


ATTACKERS.register(
    Attacker(
        name="dcr",
        score=nearest_distances,
        title="Distance to the closest record (DCR)",
        short="DCR",
        definition=(
            "Mean over people of Gower's distance to the nearest released row: numbers over the range of all people, 0 or 1 for levels, the mean over "
            "columns."
        ),
        sentence=(
            "The nearest released row is at a mean distance of {value} of the people in the data, and at {holdout} of people who are not"
        ),
        blindness=NO_EVIDENCE,
        reference="Park and others (2018); held against a holdout as in Platzer and Reutterer (2021)",
        direction="higher is safer",
        share=False,
    )
)


ATTACKERS.register(
    Attacker(
        name="nndr",
        score=distance_ratios,
        title="Nearest-neighbour distance ratio (NNDR)",
        short="NNDR",
        definition="Mean over people of the distance to the nearest released row over the distance to the second nearest; 1 where both are 0.",
        sentence=(
            "The nearest released row is at a mean of {value} of the distance of the second nearest for the people in the data, and at {holdout} for "
            "people who are not"
        ),
        blindness=f"A person who is copied twice looks safe. {NO_EVIDENCE}",
        reference="Lowe (2004); for synthetic data Zhao and others (2021)",
        direction="higher is safer",
        share=False,
    )
)


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


MOST_PEOPLE = 20_000
"""People whom tests by distance score; of more, so many are drawn at random, whoever is a member."""


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
    def from_case(cls, case: ReleaseCase, *, most_people: int, most_rows: int) -> Distances:
        """Return the places of people, at most so many, among rows and other people, at most so many; the rest is left out at random."""
        rng = np.random.default_rng(child(case.seed, 0))
        people = draw_at_most(case.n_people, most_people, rng)
        rows, others = (
            draw_at_most(case.n_released, most_rows, rng),
            draw_at_most(case.n_people, most_rows, rng),
        )
        released, everybody = scale_values(case.columns)
        near, reference, looked_at = (
            _take(released, rows),
            _take(everybody, others),
            _take(everybody, people),
        )
        same_row = np.full(case.n_people, -1, dtype=np.int64)
        same_row[others] = np.arange(len(others))
        width = _bandwidth(looked_at, reference, same_row[people])
        nobody = np.full(len(people), -1, dtype=np.int64)
        nearest, density = _among(looked_at, near, nobody, width, case.threads)
        _, background = _among(looked_at, reference, same_row[people], width, case.threads)
        nearest /= len(case.columns)
        compared = len(others) - (same_row[people] >= 0)
        return cls(
            people,
            case.n_people,
            nearest[:, 0],
            nearest[:, 1],
            density / max(len(rows), 1),
            background / np.maximum(compared, 1),
        )

    def scores(self, numbers: Floats) -> Scores:
        """Return numbers from 0 to 1 of the people looked at as scores of all: the others have no weight."""
        numerator, weight = np.zeros(self.n_people), np.zeros(self.n_people)
        numerator[self.people], weight[self.people] = numbers, 1.0
        return Scores(numerator, weight)


def distances_of(case: ReleaseCase) -> Distances:
    """Return where people stand among the released rows, and among each other: worked out once for all tests by distance."""
    return case.once(
        "distances", lambda: Distances.from_case(case, most_people=MOST_PEOPLE, most_rows=MOST_ROWS)
    )


def scale_values(columns: Sequence[ColumnValues]) -> tuple[Rows, Rows]:
    """Return the released rows and the people with numbers divided by their range among people; levels as they are."""
    ranges = [column.number_range(column.people) for column in columns]
    released, people = (
        scaled_rows(columns, [getattr(column, side) for column in columns], ranges, np.float32)
        for side in ("released", "people")
    )
    return released, people


def scaled_rows(
    columns: Sequence[ColumnValues],
    codes: Sequence[NDArray[np.integer]],
    ranges: Sequence[tuple[float, float]],
    dtype: Any,
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return numbers over their range, from its lower end on, and levels of rows of codes: columns first, rows second."""
    n_rows, n_numbers = len(codes[0]), sum(column.numeric for column in columns)
    numbers = np.empty((n_numbers, n_rows), dtype=dtype)
    levels = np.empty((len(columns) - n_numbers, n_rows), dtype=np.int32)
    numeric, categorical = iter(numbers), iter(levels)
    for column, rows, (low, width) in zip(columns, codes, ranges, strict=True):
        if column.numbers is None:
            next(categorical)[:] = rows
        else:
            next(numeric)[:] = ((column.numbers - low) / width)[rows]
    return numbers, levels


def _take(rows: Rows, which: Ints) -> Rows:
    return np.ascontiguousarray(rows[0][:, which]), np.ascontiguousarray(rows[1][:, which])


def _bandwidth(people: Rows, reference: Rows, same_row: Ints) -> float:
    """Return half the median distance to the second nearest other person, over the first people; a small number where that is 0."""
    n = min(PILOT, people[0].shape[1])
    if reference[0].shape[1] < 3 or n == 0:
        return 1.0
    nearest, density = np.empty((n, 2), dtype=np.float32), np.empty(n)
    first = _take(people, np.arange(n))
    neighbours(*first, *reference, same_row[:n], np.zeros(1), 1.0, nearest, density)
    width = 0.5 * float(np.median(nearest[:, 1]))
    return width if width > 1e-6 else 0.5  # many equal rows: half of one different level


def _among(
    people: Rows, rows: Rows, same_row: Ints, width: float, threads: int | None
) -> tuple[Floats, Floats]:
    n = people[0].shape[1]
    step = REACH * width / CELLS
    kernel = np.exp(-0.5 * ((np.arange(CELLS) + 0.5) * step / width) ** 2)
    kernel = np.append(kernel, 0.0)
    nearest, density = np.empty((n, 2), dtype=np.float32), np.empty(n)

    def block(start: int) -> None:
        rows_of_block = slice(start, min(start + BLOCK, n))
        some_people = _take(people, np.arange(n)[rows_of_block])
        neighbours(
            *some_people,
            *rows,
            same_row[rows_of_block],
            kernel,
            step,
            nearest[rows_of_block],
            density[rows_of_block],
        )

    thread_map(block, list(range(0, n, BLOCK)), threads=threads)
    return nearest.astype(np.float64), density


@jit
def neighbours(  # type: ignore[no-untyped-def]
    numbers, levels, row_numbers, row_levels, same_row, kernel, step, nearest, density
):
    """Set for each person the distances to the nearest rows, and the sum over rows of `kernel[distance / step]` (0 beyond its end).

    Row `own[i]` is the person's own, and left out; -1 for none.
    """
    m = row_numbers.shape[1] if row_numbers.shape[0] else row_levels.shape[1]
    distances = np.empty(m, dtype=np.float32)
    reach = np.float32(step * (kernel.size - 1))
    per_step = np.float32(1.0 / step)
    for i in range(density.size):
        gower_sums(numbers, levels, i, row_numbers, row_levels, distances)
        if same_row[i] >= 0:
            distances[same_row[i]] = np.float32(np.inf)
        smallest(distances, nearest[i])
        total = 0.0
        for distance in distances:
            if distance < reach:
                total += kernel[np.int64(distance * per_step)]
        density[i] = total
