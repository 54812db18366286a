"""Tables of a folder of Parquet files as codes, by one rule for all of them that reads no more of the records than a codebook would say.

A column with few different values has each of them as a level. A number with more has even bins between its least and its largest
value, which stand for declared bounds. Words with more have their levels, in alphabetical order, in groups of even size. Missing is a
level of its own. The number of bins and groups depends on the number of rows alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.private.coarse import TABLES, Coarse

TUNING = ("islp_wage", "islp_college", "lm_wage_panel", "sm_fair", "lm_fringe", "adult")
"""Tables that may be looked at while settings are chosen."""

JUDGING = (
    "sm_randhie",
    "nyc_flights",
    "lm_meps",
    "islp_bikeshare",
    "islp_caravan",
    "nyc_planes",
    "lm_card",
    "sk_digits",
    "sm_anes96",
    "lm_jobtraining",
)
"""Tables that nothing is chosen on."""

SETS = {"tuning": TUNING, "judging": JUDGING}
SMALL_BINS, LARGE_BINS, LARGE = 16, 32, 10_000
"""Bins of a number and groups of words, below LARGE rows and from it."""

MOST_ROWS = 100_000


def folder_table(folder: Path, name: str) -> Coarse:
    """Return a table of a folder by its name without the ending, or one of the project's own."""
    path = folder / f"{name}.parquet"
    if name in TABLES:
        return TABLES[name]()
    if not path.exists():
        known = sorted([*TABLES, *(file.stem for file in folder.glob("*.parquet"))])
        raise SystemExit(f"There is no table '{name}' in the folder. Tables: {', '.join(known)}.")
    return coarsened(pq.read_table(path).slice(0, MOST_ROWS))


def coarsened(table: pa.Table) -> Coarse:
    """Return a table as codes; columns that have one value only are left out: they are right whatever is done.

    Examples
    --------
    >>> coarse = coarsened(pa.table({"a": [*range(60)], "b": ["x", "y", None] * 20}))
    >>> coarse.sizes, coarse.codes[[0, 1, 2, 59]].tolist()
    ((16, 3), [[0, 0], [0, 1], [0, 2], [15, 2]])
    """
    bins = SMALL_BINS if table.num_rows < LARGE else LARGE_BINS
    columns = {
        name: _codes(table.column(name).combine_chunks(), bins) for name in table.column_names
    }
    columns = {name: (codes, size) for name, (codes, size) in columns.items() if size > 1}
    codes = np.stack([codes for codes, _ in columns.values()], axis=1)
    return Coarse(tuple(columns), tuple(size for _, size in columns.values()), codes)


def _codes(values: pa.Array, bins: int) -> tuple[NDArray[np.int64], int]:
    """Return the codes of a column and how many it can have."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_finite(values), values, None)
    levels = values.drop_null().unique()
    levels = levels.take(pc.sort_indices(levels))
    null = int(values.null_count > 0)
    if len(levels) <= bins:
        at, size = pc.index_in(values, levels), len(levels)
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        edges = np.linspace(levels[0].as_py(), levels[-1].as_py(), bins + 1)
        inner = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, bins - 1)
        at, size = pa.array(inner, mask=np.isnan(numbers)), bins
    else:
        groups = np.arange(len(levels)) * bins // len(levels)
        at, size = pa.array(groups).take(pc.index_in(values, levels)), bins
    return np.asarray(pc.fill_null(at, size), dtype=np.int64), size + null
