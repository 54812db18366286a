"""The compiled loop over distances between people and rows: nothing is stored but what is nearest and how many rows are near."""

from __future__ import annotations

import numpy as np

from ..._base.compiled import compiled

ROWS = 2048
"""Rows whose sums are made at a time, over all columns: they stay in the nearest memory."""


@compiled
def _to_rows(numbers, levels, i, row_numbers, row_levels, out):  # type: ignore[no-untyped-def]
    """Set `out` to the summed distance of person i to each row: a number's difference, at most 1; 1 for another level."""
    for start in range(0, out.size, ROWS):
        sums = out[start : start + ROWS]
        sums[:] = np.float32(0.0)
        for j in range(numbers.shape[0]):
            x, column = numbers[j, i], row_numbers[j, start : start + ROWS]
            for r in range(sums.size):
                sums[r] += min(abs(x - column[r]), np.float32(1.0))
        for j in range(levels.shape[0]):
            level, column = levels[j, i], row_levels[j, start : start + ROWS]
            for r in range(sums.size):
                sums[r] += np.float32(level != column[r])


@compiled
def all_distances(numbers, levels, row_numbers, row_levels, own, out):  # type: ignore[no-untyped-def]
    """Set `out` to the distances of each person to each row, infinite to row `own[i]`: for few people."""
    for i in range(out.shape[0]):
        _to_rows(numbers, levels, i, row_numbers, row_levels, out[i])
        if own[i] >= 0:
            out[i, own[i]] = np.inf


@compiled
def neighbours(  # type: ignore[no-untyped-def]
    numbers, levels, row_numbers, row_levels, own, kernel, step, nearest, second, density
):
    """Set for each person the distances to the nearest two rows, and the sum over rows of `kernel[distance / step]` (0 beyond its end).

    Row `own[i]` is the person's own, and left out; -1 for none.
    """
    m = row_numbers.shape[1] if row_numbers.shape[0] else row_levels.shape[1]
    distances = np.empty(m, dtype=np.float32)
    reach = np.float32(step * (kernel.size - 1))
    per_step = np.float32(1.0 / step)
    for i in range(nearest.size):
        _to_rows(numbers, levels, i, row_numbers, row_levels, distances)
        if own[i] >= 0:
            distances[own[i]] = np.float32(np.inf)
        first, next_one = np.float32(np.inf), np.float32(np.inf)
        near = 0.0
        for r in range(m):
            d = distances[r]
            if d < reach:
                near += kernel[np.int64(d * per_step)]
            if d < next_one:
                if d < first:
                    first, next_one = d, first
                else:
                    next_one = d
        nearest[i], second[i], density[i] = first, next_one, near
