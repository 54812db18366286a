"""Shapes of columns and of pairs in two tables, coarse and masked: what a page draws so that one sees before one reads.

Cells of fewer people than the threshold are hidden on either side, levels that few people have go into one cell without a name, and all
other counts are rounded to multiples of the threshold before they become shares: a picture shows no more than a masked table. Bins of
numbers end at round numbers between robust quantiles, so that no extreme is drawn. Levels are values of the data all the same: a page
with shapes is confidential, and so are their plain data, which those of a result do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.arrays import Ints
from .._base.masking import THRESHOLD, masked_count
from .._base.results import PlainData
from .._base.text import display_name, number
from ..stats.intervals import Result
from ..table import Table
from ..table.domain import OTHER
from ..table.types import from_numbers, is_numeric, to_numbers
from .association import Association
from .tvd import MarginalDistance

BINS, LEVELS = 20, 8
"""The most bins of a histogram, and the most levels that have a bar of their own."""
PAIR_BINS, PAIR_LEVELS = 6, 5
"""The most bins, and the most levels, on each axis of a pair of columns."""
PAIRS = 6
"""Pairs that are drawn, the worst."""
MOST_COLUMNS = 60
"""Columns that are drawn; of more, the first so many."""
MISSING = "missing"

Shares = tuple[float | None, ...]
"""Shares of a table's rows, None where fewer people than the threshold are in a cell."""


@dataclass(frozen=True)
class ColumnShape:
    """One column in both tables, as shares of rows in the same cells."""

    name: str
    kind: Literal["histogram", "bars"]
    labels: tuple[str, ...]
    original: Shares
    synthetic: Shares


@dataclass(frozen=True)
class PairShape:
    """Two columns in both tables: a cell for each pair of labels, row by row of the first column."""

    columns: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    original: Shares
    synthetic: Shares
    value: float | None = None
    """How far the pair is off, by the measure that chose it."""


@dataclass(frozen=True)
class TableShapes(PlainData):
    """What a page draws of two tables; `n_columns` is how many columns the tables have."""

    FORMAT: ClassVar[str] = "chaffinch-shapes"
    SUBJECT: ClassVar[str] = "the shapes of columns"
    NEXT_STEP: ClassVar[str] = "Give shapes.json of chaffinch release."

    columns: tuple[ColumnShape, ...] = ()
    pairs: tuple[PairShape, ...] = ()
    n_columns: int = 0
    threshold: int = THRESHOLD


@dataclass(frozen=True)
class _Cells:
    """A column cut into few cells: their names, and the cell of each row of both tables; missing values are the last."""

    kind: Literal["histogram", "bars"]
    labels: tuple[str, ...]
    original: Ints
    synthetic: Ints


def shapes_of(
    original: Table, synthetic: Table, results: Mapping[str, Result], *, threshold: int = THRESHOLD
) -> TableShapes:
    """Return the shapes of two tables on one grid: all columns, and the pairs that results say are worst."""
    names = original.schema.names
    columns = []
    for name in names[:MOST_COLUMNS]:
        cells = _cells(name, original, synthetic, threshold, bins=BINS, levels=LEVELS)
        size = len(cells.labels)
        shares = (
            _shares(side, size, table, threshold)
            for side, table in ((cells.original, original), (cells.synthetic, synthetic))
        )
        columns.append(ColumnShape(name, cells.kind, cells.labels, *shares))
    pairs = tuple(
        _pair(pair, value, original, synthetic, threshold)
        for pair, value in worst_pairs(results)
        if set(pair) <= set(names)
    )
    return TableShapes(tuple(columns), pairs[:PAIRS], len(names), threshold)


def worst_pairs(results: Mapping[str, Result]) -> list[tuple[tuple[str, str], float]]:
    """Return the pairs that are furthest off, by the distance of 2-way tables, else by phi_k; none where neither was measured."""
    tables, phi = results.get("tvd.2"), results.get("phi_k")
    if isinstance(tables, MarginalDistance) and tables.largest:
        return [
            ((clique.columns[0], clique.columns[1]), clique.value)
            for clique in tables.largest[:PAIRS]
            if len(clique.columns) == 2
        ]
    if isinstance(phi, Association):
        return [
            (pair.columns, abs(pair.difference))
            for pair in phi.worst[:PAIRS]
            if pair.difference is not None
        ]
    return []


def _pair(
    names: tuple[str, str], value: float, original: Table, synthetic: Table, threshold: int
) -> PairShape:
    first, second = (
        _cells(name, original, synthetic, threshold, bins=PAIR_BINS, levels=PAIR_LEVELS)
        for name in names
    )
    wide = len(second.labels)
    size = len(first.labels) * wide
    shares = (
        _shares(rows * wide + columns, size, table, threshold)
        for rows, columns, table in (
            (first.original, second.original, original),
            (first.synthetic, second.synthetic, synthetic),
        )
    )
    of_original, of_synthetic = shares
    return PairShape(names, (first.labels, second.labels), of_original, of_synthetic, value)


def _people(cells: Ints, size: int, table: Table) -> Ints:
    """Return how many people are in each cell: rows, unless people have several."""
    if table.person_of is None:
        return np.bincount(cells, minlength=size)
    persons = int(table.person_of.max(initial=0)) + 1
    return np.bincount(np.unique(cells * persons + table.person_of) // persons, minlength=size)


def _shares(cells: Ints, size: int, table: Table, threshold: int) -> Shares:
    """Return the share of each cell from rounded counts; None where fewer people than the threshold are in it."""
    rows, people = np.bincount(cells, minlength=size), _people(cells, size, table)
    known = [
        masked_count(int(count), threshold) if many >= threshold else None
        for count, many in zip(rows, people, strict=True)
    ]
    total = masked_count(table.n_rows, threshold)
    if not isinstance(total, int) or not total:
        return (None,) * size
    return tuple(min(count / total, 1.0) if isinstance(count, int) else None for count in known)


def _cells(
    name: str, original: Table, synthetic: Table, threshold: int, *, bins: int, levels: int
) -> _Cells:
    column = original.schema[name]
    index = original.schema.names.index(name)
    codec = column.fitted_codec
    codes = [np.asarray(table.codes[index]).astype(np.int64) for table in (original, synthetic)]
    arrays = [table.data.column(name).combine_chunks() for table in (original, synthetic)]
    numeric = codec.numeric and all(
        is_numeric(array.type) or pa.types.is_temporal(array.type) for array in arrays
    )
    if numeric:
        numbers = [to_numbers(array)[0] for array in arrays]
        missing = [side >= codec.n_values for side in codes]
        cells = _histogram(numbers, missing, arrays[0].type, bins)
        if cells is not None:
            return cells
    return _bars(codec.names(), codec.n_values, codes, original, threshold, levels)


def _histogram(
    numbers: Sequence[NDArray[np.float64]],
    missing: Sequence[NDArray[np.bool_]],
    kind: pa.DataType,
    bins: int,
) -> _Cells | None:
    """Return bins between round numbers; None where the column has too few values for that."""
    known = numbers[0][~missing[0]]
    if not len(known):
        return None
    low, high = (float(end) for end in np.quantile(known, (0.02, 0.98)))
    integers = np.issubdtype(known.dtype, np.integer)
    edges = nice_edges(low, high, bins, integers=bool(integers))
    if len(edges) < 2:
        return None
    edge_labels = _edge_words(edges, kind)
    labels = [
        f"below {edge_labels[0]}",
        *(f"{a} to below {b}" for a, b in pairwise(edge_labels)),
        f"{edge_labels[-1]} or more",
    ]
    labels += [MISSING] if any(side.any() for side in missing) else []
    placed = [
        np.where(absent, len(edges) + 1, np.searchsorted(edges, side, side="right")).astype(
            np.int64
        )
        for side, absent in zip(numbers, missing, strict=True)
    ]
    if not any(
        (side == 0).any() for side in placed
    ):  # nobody is below the first edge in either table
        labels, placed = labels[1:], [side - 1 for side in placed]
    return _Cells("histogram", tuple(labels), *placed)


def nice_edges(low: float, high: float, max_edges: int, *, integers: bool = False) -> list[float]:
    """Return round numbers at equal distances from about `low` to about `high`, about `max_edges` at most; of `integers` no step is below 1.

    Examples
    --------
    >>> nice_edges(17.3, 72.8, 6), nice_edges(0, 0, 6)
    ([20.0, 40.0, 60.0], [])
    """
    if not high > low:
        return []
    rough = (high - low) / max(max_edges - 2, 1)
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * (1 - 1e-9))
    step = max(step, 1.0) if integers else step
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(k * step, 12) for k in range(first, last + 1)]


def _edge_words(edges: Sequence[float], kind: pa.DataType) -> list[str]:
    if pa.types.is_temporal(kind):
        present = np.ones(len(edges), dtype=bool)
        return [
            str(value)
            for value in from_numbers(np.asarray(edges).astype(np.int64), present, kind).to_pylist()
        ]
    return [number(edge) for edge in edges]


def _bars(
    names: Sequence[str],
    values: int,
    codes: Sequence[Ints],
    original: Table,
    threshold: int,
    levels: int,
) -> _Cells:
    """Return the levels that most people have as cells of their own, all others in one, and missing ones in the last."""
    people = _people(codes[0], len(names), original)
    pooled = [code for code in range(values) if names[code] == OTHER]
    common = [code for code in range(values) if people[code] >= threshold and code not in pooled]
    chosen = sorted(sorted(common, key=lambda code: -people[code])[:levels])
    rest = [code for code in range(values) if code not in chosen]
    missing = list(range(values, len(names)))
    cell_of = np.zeros(len(names), dtype=np.int64)
    labels: list[str] = []
    groups: Iterable[tuple[str, list[int]]] = (
        *((display_name(names[code], 40), [code]) for code in chosen),
        (f"{len(rest)} other" if len(rest) > 1 else "other", rest),
        (MISSING, missing),
    )
    for label, group in groups:
        if group and any(np.isin(side, group).any() for side in codes):
            cell_of[group] = len(labels)
            labels.append(label)
    return _Cells("bars", tuple(labels), cell_of[codes[0]], cell_of[codes[1]])
