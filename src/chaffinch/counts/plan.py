"""A plan of which tables to count for the cliques asked for: fewer and wider ones, from which the
others are summed.

Counting a table of three columns takes hardly longer than one of two, so three pairs are had for
the price of one. No data and no engine here: positions of columns and their numbers of levels go
in, and a plan comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = tuple[int, ...]
"""Positions of columns among the modelled ones, ascending."""

COVERING_CELLS = 1 << 16
"""Cells of a table that is counted for the sake of smaller ones: more would be out of the
processor's near memory.
"""

SMALL_CELLS = 1 << 14
"""Cells of a table of four columns or more that is counted for the sake of pairs."""

ROWS_A_CELL = 8
"""Rows for each cell from which summing over a wider table is worth it."""

COVERED_FROM = 200_000
"""Rows from which a plan is quicker found than counted without."""

MAX_COVER_COLUMNS = 6
"""Columns of a covering table at most: each has two to that power parts."""


@dataclass(frozen=True)
class Cover:
    """`counted`: the sets of columns that are counted, ascending. `sources`: for each clique asked
    for, which of these it is summed from.
    """

    counted: tuple[Columns, ...]
    sources: tuple[int, ...]


def cover(
    cliques: Sequence[Sequence[int]],
    sizes: Sequence[int],
    *,
    n_rows: int,
    small_cells: int = SMALL_CELLS,
) -> Cover:
    """Return which sets of columns to count for the cliques asked for, given each column's number
    of levels and about how many rows there are.

    Cliques within a wider one that is asked for anyway, and all pairs, by sets of three and more,
    are summed from what is counted. A wider table is used for its parts only if it has few cells,
    in itself and for the rows: `small_cells` where it has four columns or more.

    Examples
    --------
    >>> cover([(0, 1), (0, 2), (2, 1), (0,)], [4, 5, 6], n_rows=1_000_000)
    Cover(counted=((0, 1, 2),), sources=(0, 0, 0, 0))
    >>> cover([(0, 1), (0, 2), (2, 1), (0,)], [4, 5, 6], n_rows=100)
    Cover(counted=((0, 1), (0, 2), (1, 2), (0,)), sources=(0, 1, 2, 3))
    """
    sorted_cliques = [tuple(sorted(clique)) for clique in cliques]
    distinct = list(dict.fromkeys(sorted_cliques))
    over: dict[Columns, Columns] = {}
    if n_rows >= COVERED_FROM:
        max_cells = min(COVERING_CELLS, n_rows // ROWS_A_CELL)
        covering = _wider(
            {columns for columns in distinct if len(columns) == 2}, sizes, max_cells, small_cells
        )
        over = _within(
            [
                *covering,
                *(columns for columns in distinct if prod(sizes[c] for c in columns) <= max_cells),
            ]
        )
    counted: dict[Columns, int] = {}
    places: dict[Columns, int] = {}
    for columns in distinct:
        wider = columns
        while wider in over:  # what covers another may itself lie within a third
            wider = over[wider]
        places[columns] = counted.setdefault(wider, len(counted))
    return Cover(tuple(counted), tuple(places[columns] for columns in sorted_cliques))


def _within(covering: Sequence[Columns]) -> dict[Columns, Columns]:
    """Return for each subset of a covering set the covering set with the fewest columns that
    contains it and is larger.
    """
    over: dict[Columns, Columns] = {}
    for wider in sorted(set(covering), key=len):
        if len(wider) > MAX_COVER_COLUMNS:
            continue
        for mask in range(1 << len(wider)):
            subset = tuple(column for i, column in enumerate(wider) if mask >> i & 1)
            if len(subset) < len(wider):
                over.setdefault(subset, wider)
    return over


def _wider(
    pairs: set[Columns], sizes: Sequence[int], max_cells: int, small_cells: int
) -> list[Columns]:
    """Return sets of three columns or more that cover pairs: each time the column that covers most
    pairs not covered yet, of these the one with fewest levels.

    A fourth column and more join where they cover two pairs or more, and the table stays small.
    """
    places = sorted({column for pair in pairs for column in pair})
    number = {column: i for i, column in enumerate(places)}
    levels = np.array([sizes[column] for column in places], dtype=np.float64)
    uncovered: NDArray[np.int64] = np.zeros((len(places), len(places)), dtype=np.int64)
    for a, b in pairs:
        uncovered[number[a], number[b]] = uncovered[number[b], number[a]] = 1
    out: list[Columns] = []
    # The largest tables first, while there is a choice of small columns to go with them.
    for a, b in sorted(pairs, key=lambda pair: (-sizes[pair[0]] * sizes[pair[1]], pair)):
        i, j = number[a], number[b]
        if not uncovered[i, j]:
            continue
        inside = [i, j]
        while len(inside) < MAX_COVER_COLUMNS:
            gain = uncovered[inside].sum(axis=0).astype(np.float64)
            gain[inside] = 0
            gain[
                levels * levels[inside].prod()
                > (max_cells if len(inside) == 2 else min(max_cells, small_cells))
            ] = 0
            best = int(np.argmax(gain - levels / (levels.max() + 1)))
            if gain[best] < (1 if len(inside) == 2 else 2):
                break
            inside.append(best)
        if len(inside) > 2:
            uncovered[np.ix_(inside, inside)] = 0
            out.append(tuple(sorted(places[x] for x in inside)))
    return out


def project(counts: NDArray[Any], columns: Columns, clique: Sequence[int]) -> NDArray[Any]:
    """Return the counts of a clique, an axis for each of its columns in its order, from the counts
    of a set that contains it (axes ascending).

    Examples
    --------
    >>> project(np.array([[1, 2], [3, 4]]), (0, 5), (5,)).tolist()
    [4, 6]
    """
    summed_axes = tuple(axis for axis, column in enumerate(columns) if column not in clique)
    summed = counts.sum(axis=summed_axes) if summed_axes else counts
    rank = {column: i for i, column in enumerate(sorted(clique))}
    return np.asarray(np.transpose(summed, [rank[column] for column in clique]), order="C")


def runs_of(cells: Sequence[int], max_cells: int) -> Iterator[list[int]]:
    """Yield runs of positions whose tables together have at most `max_cells` cells, at least one in
    each run.

    Examples
    --------
    >>> list(runs_of([3, 3, 3, 9, 1], 6))
    [[0, 1], [2], [3], [4]]
    """
    run: list[int] = []
    total = 0
    for index, size in enumerate(cells):
        if run and total + size > max_cells:
            yield run
            run, total = [], 0
        run.append(index)
        total += size
    if run:
        yield run
