"""Marginals of two tables: in runs that fit in memory, and their shares with and without each group of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from ..counts.tally import DENSE_CELLS
from ..stats.pair import TablePair
from ..table.groups import GROUPS

BATCH_CELLS = 1 << 23
"""Cells held at once for each table: 64 MiB."""

Clique = tuple[str, ...]
Item = TypeVar("Item")


def in_batches(
    pair: TablePair, cliques: Sequence[Clique], *, groups: int = 1
) -> Iterator[list[Clique]]:
    """Yield the cliques in runs whose marginals together stay small enough to hold, sparse ones too."""
    sizes = pair.sizes
    rows = max(table.n_rows for table in pair.tables)

    def cells_of(clique: Clique) -> int:
        cells = groups * prod(sizes[name] for name in clique)
        return cells if cells <= DENSE_CELLS else min(cells, rows * (len(clique) + 1))

    return in_runs(cliques, cells_of, BATCH_CELLS)


def in_runs(
    items: Iterable[Item], cells_of: Callable[[Item], int], max_cells: int
) -> Iterator[list[Item]]:
    """Yield items in their order, in runs of at most `max_cells` cells; an item that has more is a run of its own."""
    run: list[Item] = []
    total = 0
    for item in items:
        cells = cells_of(item)
        if run and total + cells > max_cells:
            yield run
            run, total = [], 0
        run.append(item)
        total += cells
    yield run


def too_few_records(pair: TablePair) -> str:
    """Return why there is no interval for small tables; empty if there is one."""
    return (
        f"none: a table has fewer than {GROUPS} records"
        if min(t.n_persons for t in pair.tables) < GROUPS
        else ""
    )


def shares_of_groups(
    first: NDArray[Any], second: NDArray[Any]
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return the shares of both tables' cells: of all records, and without each group in turn."""
    shares, without = [], []
    for counts in (first, second):
        total = counts.sum(axis=0)
        remaining = total - counts
        shares.append(total / (float(total.sum()) or 1.0))
        sums = remaining.sum(axis=1, keepdims=True)
        without.append(remaining / np.where(sums > 0, sums, 1))
    return (shares[0], shares[1]), (without[0], without[1])
