"""What stands in a released table and in the records of people, as whole numbers: equal values have equal codes.

Values are compared as they stand in the files: rare levels by themselves, whatever a schema pools, and numbers as numbers, or as multiples of a
tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..._base.masking import masked_count
from ...table.compare.values import numbers_of
from ...table.schema import NUMERIC_KINDS
from ...table.table import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ColumnValues:
    """One column of the released rows and of people, numbered together; it holds records, and stays inside.

    `released`, `people`: a code for each row, 0 to `size` - 1; kinds of missing values have those from `n_values` on. `numbers`: the number
    that each code stands for, NaN where it is missing; None for categories.
    """

    name: str
    released: Ints
    people: Ints
    size: int
    n_values: int
    numbers: Floats | None = None

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers, which have a distance."""
        return self.numbers is not None

    def take(self, people: Ints) -> ColumnValues:
        """Return the column with people in another order, or some of them."""
        return ColumnValues(
            self.name, self.released, self.people[people], self.size, self.n_values, self.numbers
        )

    def __repr__(self) -> str:
        return f"ColumnValues({self.name}, released: {masked_count(len(self.released))}, people: {masked_count(len(self.people))})"


def column_values(
    released: Table, people: Sequence[Table], tolerance: Mapping[str, float] | None = None
) -> tuple[ColumnValues, ...]:
    """Return the modelled columns of tables under one schema (see `align`); people are those of all their tables, one after the other.

    `tolerance`: widths by column: numbers are rounded to multiples of the width first, and then equal or not.

    Examples
    --------
    >>> from chaffinch.table.align import align
    >>> from chaffinch.table.read import read
    >>> members = read(pa.table({"a": ["x", "y"] * 20, "b": [i / 2 for i in range(40)]}))
    >>> a, b = column_values(align(members, pa.table({"a": ["y", "z"], "b": [1.5, 99.0]}))[1], [members])
    >>> a.people[:2].tolist(), a.released.tolist(), b.numbers[b.released].tolist()
    ([2, 0], [0, 1], [1.5, 99.0])
    """
    widths = dict(tolerance or {})
    return tuple(
        _column([released, *people], name, widths.get(name)) for name in released.schema.names
    )


def joint_codes(columns: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Return one code for each row of several columns, equal where all columns are, and the number of codes.

    Examples
    --------
    >>> joint_codes([np.array([0, 1, 0]), np.array([5, 5, 5])], [2, 6])[0].tolist()
    [0, 1, 0]
    """
    out, size = np.asarray(columns[0], dtype=np.int64), max(int(sizes[0]), 1)
    for column, width in zip(columns[1:], sizes[1:], strict=True):
        if size * max(width, 1) >= 1 << 62:  # renumbered before it would not fit
            distinct, out = np.unique(out, return_inverse=True)
            size = len(distinct)
        out, size = out * max(width, 1) + column, size * max(width, 1)
    distinct, dense = np.unique(out, return_inverse=True)
    return dense.astype(np.int64), len(distinct)


def _column(tables: Sequence[Table], name: str, width: float | None) -> ColumnValues:
    column = tables[0].schema[name]
    codec = column.fitted_codec
    # Kinds of missing values (empty, declared codes) as the schema tells them apart; a pooled level written as null is the first kind.
    kinds = [np.maximum(table.code(name).astype(np.int64) - codec.n_values, 0) for table in tables]
    if column.kind in NUMERIC_KINDS:
        numbers = [numbers_of(table, name) for table in tables]
        if width is not None:
            numbers = [np.round(values / width) * width for values in numbers]
        every = np.unique(np.concatenate([values[~np.isnan(values)] for values in numbers]))
        codes = [
            np.where(
                np.isnan(values), len(every) + kind, np.searchsorted(every, np.nan_to_num(values))
            )
            for values, kind in zip(numbers, kinds, strict=True)
        ]
        n_values = len(every)
        size = _size(codes, n_values)
        stands_for: Floats | None = np.concatenate([every, np.full(size - n_values, np.nan)])
    else:
        words, n_values = _levels([table.data.column(name) for table in tables])
        codes = [
            np.where(word < 0, n_values + kind, word)
            for word, kind in zip(words, kinds, strict=True)
        ]
        size, stands_for = _size(codes, n_values), None
    released, *people = codes
    return ColumnValues(
        name,
        released.astype(np.int64),
        np.concatenate(people).astype(np.int64),
        size,
        n_values,
        stands_for,
    )


def _size(codes: Sequence[NDArray[Any]], n_values: int) -> int:
    """Return the number of codes: of values, and of the kinds of missing values that occur."""
    return max(n_values, 1 + max((int(one.max()) for one in codes if len(one)), default=0))


def _levels(columns: Sequence[Any]) -> tuple[list[Ints], int]:
    """Return the codes of words, truth values or numbers that are levels, over all columns together; -1 where null."""
    plain = [_plain(column) for column in columns]
    if len({array.type for array in plain}) > 1:
        plain = [_words(array) for array in plain]
    coded = pa.chunked_array(plain).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    every = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.cumsum([len(array) for array in plain])
    return [np.asarray(part) for part in np.split(every, ends[:-1])], len(coded.dictionary)


def _plain(column: Any) -> Any:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_null(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.string())
    if pa.types.is_integer(kind):
        return array.cast(pa.float64(), safe=False)  # 1 and 1.0 are one level
    return pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(kind) else array


def _words(array: Any) -> Any:
    """Return levels of different types as words; whole numbers are written without a fraction."""
    if pa.types.is_floating(array.type):
        return pa.array(
            [
                None if x is None else str(int(x)) if x == int(x) else str(x)
                for x in array.to_pylist()
            ],
            pa.string(),
        )
    return array.cast(pa.string())
