"""Released tables as an outsider has them: numbers as numbers and categories as words, in the units of the population, no bins between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...table.compare.values import missing_tokens
from ...table.domain import OTHER, encode_column
from ...table.schema import Column
from ...table.table import Table
from ...table.types import is_words, parse_type, to_numbers, whole_array

UNSEEN = -1
"""The code of a word that the population does not have: it equals no record's."""
NULL = 0
"""The code of a missing value among the words."""


@dataclass(frozen=True, eq=False)
class PlainValues:
    """The values of a table: `numbers` (numeric columns, rows), NaN where missing; `words` (other columns, rows), as codes of a reader."""

    numbers: NDArray[np.float64]
    words: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.numbers.shape[1])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """A code for each distinct value of a column, numeric columns first, (rows, columns): rows are equal where their values are."""
        columns = [*self.numbers, *self.words]
        out = np.zeros((self.n_rows, len(columns)), dtype=np.int64)
        for j, column in enumerate(columns):
            out[:, j] = np.unique(column, return_inverse=True, equal_nan=True)[1].reshape(-1)
        return out


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of one column: a code for each that the population has, and what the population's grid makes of each."""

    codes: Mapping[Any, int]
    grid: NDArray[np.int64]
    missing: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ValueReader:
    """Reads tables into `PlainValues` and into codes of the population's grid. Make one with `ValueReader.of`.

    `numeric`, `categorical`: which of the modelled columns are which. A word that the population's grid pooled has a code of its own here.
    """

    columns: tuple[Column, ...]
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    words: Mapping[int, _Words] = field(repr=False)
    unknown: int

    @classmethod
    def of(cls, population: Table, unknown: int) -> ValueReader:
        """Return the reader of tables like a population; `unknown` is the grid code of a value that the population lacks."""
        columns = population.schema.modelled
        numeric = tuple(j for j, column in enumerate(columns) if column.is_numeric)
        categorical = tuple(j for j in range(len(columns)) if j not in numeric)
        words = {j: _words_of(columns[j], population, unknown) for j in categorical}
        return cls(
            tuple(_roomy(column) for column in columns), numeric, categorical, words, unknown
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def reads(self, table: Table) -> bool:
        """Whether a table has the population's columns in the population's types. A column that its own reading left out is absent."""
        for column in self.columns:
            if column.name not in table.data.column_names:
                if column.name in {one.name for one in table.schema if one.modelled}:
                    return False
            elif table.data.schema.field(column.name).type != parse_type(column.type):
                return False
        return True

    def read(self, table: Table) -> PlainValues:
        """Return the values of a table that `reads` accepts. A column that it lacks is missing throughout."""
        numbers = np.full((len(self.numeric), table.n_rows), np.nan)
        words = np.full((len(self.categorical), table.n_rows), UNSEEN, dtype=np.int32)
        for at, j in enumerate(self.numeric):
            if self.columns[j].name in table.data.column_names:
                numbers[at] = self._numbers(self.columns[j], table)
        for at, j in enumerate(self.categorical):
            if self.columns[j].name in table.data.column_names:
                words[at] = self._words(j, table)
        return PlainValues(numbers, words)

    def grid_codes(self, table: Table, values: PlainValues | None, dtype: Any) -> NDArray[Any]:
        """Return the codes of a table on the population's levels and bins, (rows, columns); what these lack has the unknown code.

        `values`: what `read` returned of it.
        """
        values = self.read(table) if values is None else values
        out = np.full((table.n_rows, len(self.columns)), self.unknown, dtype=dtype)
        for at, j in enumerate(self.categorical):
            out[:, j] = self.words[j].grid[values.words[at]]
        for j in self.numeric:
            column = self.columns[j]
            if column.name not in table.data.column_names:
                continue
            codec = column.fitted_codec
            codes = encode_column(
                column, table.data.column(column.name), missing_tokens(table, column)
            ).astype(np.int64)
            if (
                not column.nullable
            ):  # room for missing values was made here: the population has none
                codes = np.where(
                    codes == codec.n_values, self.unknown, codes - (codes > codec.n_values)
                )
            out[:, j] = codes
        return out

    def _numbers(self, column: Column, table: Table) -> NDArray[np.float64]:
        numbers, present = to_numbers(table.data.column(column.name))
        out = np.where(present, numbers, np.nan).astype(np.float64)
        for code in column.missing:
            if isinstance(code, int | float) and not isinstance(code, bool):
                out[out == code] = np.nan
        out[np.isinf(out)] = np.nan
        return out

    def _words(self, j: int, table: Table) -> NDArray[np.int32]:
        words = self.words[j]
        distinct, indices = _dictionary(table.data.column(self.columns[j].name))
        codes = np.array(
            [*(words.codes.get(_key(word), UNSEEN) for word in distinct), NULL], dtype=np.int32
        )
        out = codes[indices]
        tokens = missing_tokens(table, self.columns[j])
        if tokens is not None and (tokens >= 0).any():
            of_tokens = np.array(
                [words.codes[("missing", code)] for code in words.missing], dtype=np.int32
            )
            out = np.where((out == NULL) & (tokens >= 0), of_tokens[tokens], out)
        return out


def _roomy(column: Column) -> Column:
    """The column with room for missing values and no bounds, where it is numeric: a release may hold both."""
    codec = column.fitted_codec
    if not codec.numeric:
        return column
    return replace(
        column,
        codec=codec.widened(parse_type(column.type), fractions=False),
        nullable=codec.null,
        out_of_range="clip",
        edges=None,
        binning="quantile",
        bounds=None,
    )


def _words_of(column: Column, population: Table, unknown: int) -> _Words:
    """The words of a column of the population, and the code of each on the population's grid."""
    codec = column.fitted_codec
    of_grid = population.code(column.name).astype(np.int64)
    keys: dict[Any, int] = {None: NULL}
    pooled = codec.n_values - 1 if codec.other else unknown
    as_null = codec.other and not is_words(
        parse_type(column.type)
    )  # such a pooled level is written as null
    grid = [codec.n_values if codec.null else pooled if as_null else unknown]

    def add(key: Any, code: int) -> None:
        if key not in keys:
            keys[key] = len(grid)
            grid.append(code)

    for level, word in enumerate(codec.levels):
        add(_key(word), level)
    for i, code in enumerate(codec.missing):
        at = codec.n_values + codec.null + i
        add(("missing", code), at)
        if not column.spelled:
            keys.setdefault(_key(code), keys[("missing", code)])
    add(OTHER, pooled)
    distinct, indices = _dictionary(population.data.column(column.name))
    first = np.full(len(distinct) + 1, -1, dtype=np.int64)
    first[indices[::-1]] = of_grid[::-1]
    for word, grid_code in zip(distinct, first.tolist(), strict=False):
        if grid_code >= 0:
            add(_key(word), grid_code)
    return _Words(keys, np.array([*grid, unknown], dtype=np.int64), codec.missing)


def _dictionary(values: pa.ChunkedArray) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct values of a column, and which of them each row has; one beyond the last for null."""
    array = whole_array(values)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    distinct = array.dictionary.to_pylist()
    indices = array.indices.cast(pa.int64())
    if indices.null_count:
        indices = indices.fill_null(len(distinct))
    return distinct, np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _key(word: Any) -> Any:
    """One key for a value however its type stores it: 3 and 3.0 are the same level; not a number is missing."""
    if isinstance(word, bool) or word is None:
        return word if word is None else str(word)
    if isinstance(word, str):
        return word
    try:
        number = float(word)
    except (TypeError, ValueError):
        return str(word)
    return None if number != number else number
