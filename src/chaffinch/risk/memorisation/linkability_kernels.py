"""The compiled loop over released rows: which of them are nearest to a person in two sets of columns at once."""

from __future__ import annotations

import numpy as np

from ..._base.compiled import compiled

COUNTS = 8
"""Numbers that are counted for each person: see `shared_neighbours`."""

SAME = 1e-9
"""Distances this near each other are equal: sums of shares of ranges, rounded."""


@compiled
def _distances(numbers, levels, person_numbers, person_levels, i, out):  # type: ignore[no-untyped-def]
    """Write Gower's distance of person i to each released row: scaled differences of numbers, 1 for each level that differs."""
    out[:] = 0.0
    for j in range(numbers.shape[0]):
        own = person_numbers[j, i]
        if np.isnan(own):
            for row in range(out.size):
                out[row] += 0.0 if np.isnan(numbers[j, row]) else 1.0
        else:
            for row in range(out.size):
                apart = abs(numbers[j, row] - own)
                out[row] += 1.0 if np.isnan(apart) else apart
    for j in range(levels.shape[0]):
        level = person_levels[j, i]
        for row in range(out.size):
            out[row] += 0.0 if levels[j, row] == level else 1.0


@compiled
def _smallest(values, nearest):  # type: ignore[no-untyped-def]
    """Write the smallest values to `nearest`, as many as it has room for, in rising order."""
    nearest[:] = np.inf
    last = nearest.size - 1
    for value in values:
        if value < nearest[last]:
            at = last
            while at > 0 and nearest[at - 1] > value:
                nearest[at] = nearest[at - 1]
                at -= 1
            nearest[at] = value


@compiled
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
        _distances(numbers_a, levels_a, people_numbers_a, people_levels_a, i, first)
        _distances(numbers_b, levels_b, people_numbers_b, people_levels_b, i, second)
        _smallest(first, nearest_a)
        _smallest(second, nearest_b)
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
