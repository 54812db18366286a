"""Two columns of a synthetic table crossed: what a link of the network looks like, cells of few rows hidden."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.masking import masked_count
from ...counts import MemoryCounter
from ...table import read
from ...table.encode import level_labels
from ...table.formats import Source
from ...table.sources import open_source

MOST_ROWS = 200_000
MOST_LEVELS = 8


@dataclass(frozen=True)
class CrossedColumns:
    """Rows of one column by the columns of another, as shares of each row that may be shown; `rows` have their names first."""

    column: str
    by: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    counted: int


def crossed(path: Path, column: str, by: str) -> CrossedColumns:
    """Return how a column spreads for each level of another in a synthetic table, or its first rows: counts rounded, small ones hidden."""
    source = open_source(path)
    table = (
        read(path) if source.text else read(_first_rows(source, [column, by]))
    )  # of words in a text file kinds are found, all rows read
    schema = table.schema
    counts = MemoryCounter(table).marginals([(by, column)])[0].dense()
    across, down = (_largest(counts.sum(axis=axis)) for axis in (0, 1))
    names = {name: level_labels(schema[name]) for name in (by, column)}
    cells = counts[np.ix_(down, across)]
    rows = tuple(
        (names[by][i], *(str(masked_count(cell)) for cell in line))
        for i, line in zip(down, cells, strict=True)
    )
    return CrossedColumns(column, by, tuple(names[column][j] for j in across), rows, table.n_rows)


def _first_rows(source: Source, columns: list[str]) -> pa.Table:
    batches, seen = [], 0
    for batch in source.batches(columns):
        batches.append(batch.slice(0, MOST_ROWS - seen))
        seen += len(batches[-1])
        if seen >= MOST_ROWS:
            break
    return pa.Table.from_batches(batches, schema=batches[0].schema)


def _largest(totals: NDArray[Any]) -> list[int]:
    """The levels with the most rows, in their order, none with fewer than are shown."""
    ranked = [int(i) for i in np.argsort(-totals, kind="stable")[:MOST_LEVELS] if totals[i] >= 10]
    return sorted(ranked)
