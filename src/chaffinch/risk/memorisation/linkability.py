"""Do two parts of a person's record meet in one released row? Linkability between two sets of columns.

Somebody has two files about the same people, one with columns A, one with columns B, and nothing that both have. The released table links a
person's two parts if one of its rows is among the k nearest to each (Giomi and others, 2023). Of rows that are equally near, as many as have room
are drawn, for each part by itself: the score of a person is the chance of a link. A fixed order of tied rows would link parts that tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.checks import check_at_least
from ..._base.compiled import jit
from ..._base.errors import InputError
from ..._base.runtime import thread_count, thread_map
from ...stats.rates import Scores
from ...table.compare.distances import gower_sums, smallest
from ..attacker import ATTACKERS, Attacker
from ..settings import Parts
from .distances import scaled_rows
from .protocol import (
    ColumnValues,
    NotApplicableError,
    ReleaseCase,
)

NEAREST = (1, 5)
"""Nearest rows of the registered tests."""


MOST_PAIRS = 100_000_000
"""Pairs of a person and a released row that are looked at: of more people, so many are asked about, whoever is a member."""


COUNTS = 8
"""Numbers that are counted for each person: see `shared_neighbours`."""


SAME = 1e-9
"""Distances this near each other are equal: sums of shares of ranges, rounded."""


def linkability(
    case: ReleaseCase, k: int = 1, parts: tuple[Sequence[str], Sequence[str]] | None = None
) -> Scores:
    """Return for each person the chance that the two parts of the record are linked by one released row.

    `parts`: the two sets of columns; unless given those of the case, or its keys and all other columns. Distances are Gower's: the
    difference of two numbers over the column's range in all tables, 1 for levels that differ, 1 for a value that is missing on one side.
    """
    first, second = _parts(case, parts)
    check_at_least("Neighbours", k, 1)
    if case.n_released < 2 * k:
        raise NotApplicableError(f"The released table has too few rows to look for {k} nearest.")
    asked = min(case.n_people, max(1000, MOST_PAIRS // case.n_released))
    counts = _counts(case, first, second, k, asked)
    weight = np.zeros(case.n_people)
    weight[:asked] = 1.0  # people come in random order
    chances = np.zeros(case.n_people)
    chances[:asked] = chance_of_link(counts, k)
    return Scores(chances, weight)


def link_by_chance(n_rows: int, k: int) -> float:
    """Return the chance that k rows drawn for one part and k for the other have one in common: who looks at nothing links so often.

    Examples
    --------
    >>> round(link_by_chance(10, 2), 4)  # 1 - C(8, 2) / C(10, 2)
    0.3778
    """
    return 1.0 - comb(max(n_rows - k, 0), k) / comb(n_rows, k)


def chance_of_link(counts: Ints, k: int) -> Floats:
    """Return the chance that k nearest rows of both parts have one in common, tied rows drawn for each part by itself.

    `counts`: those of `shared_neighbours`. With s nearer rows, t tied and m = k - s places for them: there is none in common if no row is
    nearer in both, the m drawn in a are none of those nearer in b, and the m drawn in b none of those nearer in a or drawn in a; summed over
    how many of the rows tied in both are drawn in a.

    Examples
    --------
    >>> chance_of_link(np.array([[0, 2, 0, 3, 0, 0, 0, 1]]), 1).round(4).tolist()  # one row of 2 and of 3: 1/2 * 1/3
    [0.1667]
    """
    from scipy.special import gammaln

    near_a, tied_a, near_b, tied_b, near_both, tied_near, near_tied, tied_both = counts.astype(
        np.float64
    ).T
    room_a, room_b = k - near_a, k - near_b

    def ways(n: Floats, m: Floats) -> Floats:
        """The log of n choose m; minus infinity where there is no way."""
        valid = (m >= 0) & (n >= m)
        n, m = np.where(valid, n, 0.0), np.where(valid, m, 0.0)
        return np.where(valid, gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1), -np.inf)

    apart = np.zeros(len(counts))
    for both in range(k + 1):
        j = np.full(len(counts), float(both))
        log = (
            ways(tied_both, j)
            + ways(tied_a - tied_near - tied_both, room_a - j)
            - ways(tied_a, room_a)
        )
        log = log + ways(tied_b - near_tied - j, room_b) - ways(tied_b, room_b)
        apart += np.exp(log)
    chance: Floats = np.where(near_both > 0, 1.0, np.clip(1.0 - apart, 0.0, 1.0))
    return np.where(chance < 1e-12, 0.0, chance)


def _parts(case: ReleaseCase, parts: tuple[Sequence[str], Sequence[str]] | None) -> Parts:
    if parts is None and case.parts is not None:
        parts = case.parts
    if parts is None:
        parts = (
            case.keys,
            tuple(column.name for column in case.columns if column.name not in case.keys),
        )
    first, second = (tuple(columns) for columns in parts)
    if set(first) & set(second):
        raise InputError(
            "Linkability is between two sets of columns that have none in common. Some column is in both."
        )
    if not first or not second:
        raise NotApplicableError(
            "It is between two sets of columns. One of them is empty: name fewer columns as keys."
        )
    return first, second


def _counts(
    case: ReleaseCase, first: Sequence[str], second: Sequence[str], k: int, asked: int
) -> Ints:
    """Return the counts of `shared_neighbours`; those of the registered tests are worked out together, since distances are most of the work."""
    together = k in NEAREST and case.n_released >= 2 * max(NEAREST)
    ks = NEAREST if together else (k,)
    counts = case.once(
        f"linkability {(ks, tuple(first), tuple(second))}",
        lambda: _counts_of(case, first, second, ks, asked),
    )
    return counts[ks.index(k)]


def _counts_of(
    case: ReleaseCase, first: Sequence[str], second: Sequence[str], ks: Sequence[int], asked: int
) -> Ints:
    parts = [_arrays(case.named(names), asked) for names in (first, second)]
    out = np.zeros((len(ks), asked, COUNTS), dtype=np.int64)
    size = -(-asked // (4 * thread_count(case.threads)))
    numbers = np.array(ks, dtype=np.int64)

    def block(start: int) -> None:
        shared_neighbours(*parts, numbers, start, min(start + size, asked), out)

    thread_map(block, range(0, asked, size), threads=case.threads)
    return out


def _arrays(columns: Sequence[ColumnValues], asked: int) -> tuple[NDArray[Any], ...]:
    """Return numbers and levels of the released rows, and of the people who are asked about."""
    ranges = [c.number_range(np.concatenate([c.released, c.people])) for c in columns]
    released = scaled_rows(columns, [c.released for c in columns], ranges, np.float64)
    people = scaled_rows(columns, [c.people[:asked] for c in columns], ranges, np.float64)
    return *released, *people


def _register(k: int) -> None:
    nearest = "nearest row is the same" if k == 1 else f"{k} nearest rows have one in common"
    ATTACKERS.register(
        Attacker(
            name="linkability" if k == 1 else f"linkability_{k}",
            score=lambda case: linkability(case, k),
            title="Linkability" if k == 1 else f"Linkability, {k} nearest",
            short="Linkability" if k == 1 else f"Linkability ({k})",
            definition=(
                f"Share of people for whom the released rows nearest to their keys and the rows nearest to their other columns meet: the {nearest}. "
                "Rows that are equally near are drawn for each part by itself."
            ),
            sentence=(
                "The released table links the keys of {value} of the people in the data with the rest of their records, and {holdout} of people "
                "who are not"
            ),
            blindness=(
                "It needs rows that are near in both parts; a table that tells one part from the other without a row that is near to both is not "
                "seen, and where many rows are equally near a link is left to chance."
            ),
            reference="Giomi, Boenisch, Wehmeyer and Tasnádi (2023), A unified framework for quantifying privacy risk in synthetic data",
            needs=("keys", "parts"),
            baseline=lambda case: (
                link_by_chance(case.n_released, k) if case.n_released >= 2 * k else None
            ),
        )
    )


for _k in NEAREST:
    _register(_k)


@jit
def shared_neighbours(first_part, second_part, ks, start, stop, out):  # type: ignore[no-untyped-def]
    """Count for people `start` to `stop` the released rows by where they stand in the two sets of columns, a and b, for each number of nearest rows.

    A part is (numbers, levels, people's numbers, people's levels); columns come first, rows second. A row is nearer than the k-th nearest, or tied with it, or neither. `out[n, i]`, for `ks[n]` nearest: rows nearer in a; tied in
    a; nearer in b; tied in b; nearer in both; tied in a and nearer in b; nearer in a and tied in b; tied in both.
    """
    numbers_a, levels_a, people_numbers_a, people_levels_a = first_part
    numbers_b, levels_b, people_numbers_b, people_levels_b = second_part
    n_rows = max(numbers_a.shape[1], levels_a.shape[1])
    first, second = np.empty(n_rows), np.empty(n_rows)
    nearest_a, nearest_b = np.empty(ks.max()), np.empty(ks.max())
    for i in range(start, stop):
        gower_sums(people_numbers_a, people_levels_a, i, numbers_a, levels_a, first)
        gower_sums(people_numbers_b, people_levels_b, i, numbers_b, levels_b, second)
        smallest(first, nearest_a)
        smallest(second, nearest_b)
        for n in range(ks.size):
            reach_a, reach_b, counts = nearest_a[ks[n] - 1], nearest_b[ks[n] - 1], out[n, i]
            for row in range(n_rows):
                if first[row] > reach_a + SAME and second[row] > reach_b + SAME:
                    continue
                near_a, near_b = first[row] < reach_a - SAME, second[row] < reach_b - SAME
                tied_a = not near_a and first[row] <= reach_a + SAME
                tied_b = not near_b and second[row] <= reach_b + SAME
                counts[0] += near_a
                counts[1] += tied_a
                counts[2] += near_b
                counts[3] += tied_b
                counts[4] += near_a and near_b
                counts[5] += tied_a and near_b
                counts[6] += near_a and tied_b
                counts[7] += tied_a and tied_b
