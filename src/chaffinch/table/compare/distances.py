"""Gower's distance of records to rows, and the smallest of many distances.

The distance of two records is a sum over columns (Gower, 1971): of the difference of two numbers, scaled so that their range is 1, and at most 1; 1 for
levels that differ. A missing value is as far from a number as can be, and at 0 from another missing one. Kernels take columns first and rows second: numbers, NaN where missing, and levels as codes.
"""

from __future__ import annotations

import numpy as np

from ..._base.compiled import jit

ROWS = 2048
"""Rows whose sums are made at a time, over all columns: they stay in the nearest memory."""


@jit
def gower_sums(numbers, levels, i, row_numbers, row_levels, out):  # type: ignore[no-untyped-def]
    """Set `out` to the summed distance of record i to each row: the mean over columns times their number."""
    unit = np.float32(1.0)
    for start in range(0, out.size, ROWS):
        sums = out[start : start + ROWS]
        sums[:] = np.float32(0.0)
        for j in range(numbers.shape[0]):
            x, column = numbers[j, i], row_numbers[j, start : start + ROWS]
            if np.isnan(x):
                for r in range(sums.size):
                    sums[r] += np.float32(not np.isnan(column[r]))
            else:
                for r in range(sums.size):
                    apart = abs(x - column[r])
                    sums[r] += apart if apart < unit else unit  # a missing number is not below 1
        for j in range(levels.shape[0]):
            level, column = levels[j, i], row_levels[j, start : start + ROWS]
            for r in range(sums.size):
                sums[r] += np.float32(level != column[r])


@jit
def smallest(values, nearest):  # type: ignore[no-untyped-def]
    """Set `nearest` to the smallest values, as many as it has room for, in rising order; infinite where there are fewer."""
    nearest[:] = np.inf
    last = nearest.size - 1
    for value in values:
        if value < nearest[last]:
            k = last
            while k > 0 and nearest[k - 1] > value:
                nearest[k] = nearest[k - 1]
                k -= 1
            nearest[k] = value
