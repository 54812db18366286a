"""A walk from the records to other records that fit what is published, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled


class WalkTables(NamedTuple):
    """The cells of tallies, by combination of levels, and which tallies a column is in.

    `cells[offsets[t] + combination]` is a cell, numbered over all tallies (-1: none). Column c is in `tallies[starts[c]:starts[c + 1]]`, and one level of
    it further is `strides` combinations further.
    """

    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    tallies: NDArray[np.int64]
    strides: NDArray[np.int64]


@compiled(inline="always")  # type: ignore[untyped-decorator]
def _outside(count: int, lo: int, hi: int) -> int:
    return max(lo - count, 0) + max(count - hi, 0)


@compiled
def walk(
    tables: WalkTables,
    levels: Any,
    at: Any,
    counts: Any,
    ends: Any,
    weights: Any,
    heat: Any,
    proposals: int,
    seed: int,
) -> Any:
    """Change records until all counts lie between their ends, and return how many proposals that took; -1 where it did not come to that.

    `levels` are by column and record, `at` the combination of each tally and record, `counts` of each cell, `ends` the least and the largest
    count of each: all but `ends` are changed in place. A proposal gives one record the level of another, or swaps the two; it is taken if counts lie no further
    outside, weighed by `weights`, or by chance, less and less as it cools from the first `heat` to the second.
    """
    cells, offsets, starts, tallies, strides = tables
    lo, hi = ends
    np.random.seed(seed)
    n_columns, n = levels.shape
    misfit = 0
    for cell in range(len(counts)):
        misfit += weights[cell] * _outside(counts[cell], lo[cell], hi[cell])
    changed, by = (
        np.empty(4 * len(offsets), dtype=np.int64),
        np.empty(4 * len(offsets), dtype=np.int64),
    )
    cooling = np.log(heat[1] / heat[0]) / proposals
    for step in range(proposals):
        if misfit == 0:
            return step
        column, one, other = (
            np.random.randint(n_columns),
            np.random.randint(n),
            np.random.randint(n),
        )
        further = levels[column, other] - levels[column, one]
        if further == 0:
            continue
        records = 2 if np.random.random() < 0.5 else 1
        size = worse = 0
        for use in range(starts[column], starts[column + 1]):
            tally = tallies[use]
            for record in range(records):
                start = offsets[tally] + at[tally, other if record else one]
                old, new = (
                    cells[start],
                    cells[start + (-further if record else further) * strides[use]],
                )
                if old == new:
                    continue
                for sign in (-1, 1):
                    cell = old if sign < 0 else new
                    if cell >= 0:
                        before = _outside(counts[cell], lo[cell], hi[cell])
                        counts[cell] += sign
                        worse += weights[cell] * (
                            _outside(counts[cell], lo[cell], hi[cell]) - before
                        )
                        changed[size], by[size] = cell, sign
                        size += 1
        if worse <= 0 or np.random.random() < np.exp(-worse / (heat[0] * np.exp(cooling * step))):
            misfit += worse
            levels[column, one] += further
            if records == 2:
                levels[column, other] -= further
            for use in range(starts[column], starts[column + 1]):
                at[tallies[use], one] += further * strides[use]
                if records == 2:
                    at[tallies[use], other] -= further * strides[use]
        else:
            for k in range(size):
                counts[changed[k]] -= by[k]
    return proposals if misfit == 0 else -1
