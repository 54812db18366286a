"""Released tables as an outsider has them: numbers as numbers and categories as words, in the units of the population, no bins between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...table.align import widen_column
from ...table.codes import Codes
from ...table.compare.values import UNSEEN, ColumnCoder, column_coder, missing_tokens, numbers_of
from ...table.domain import ColumnDomain, encode_column
from ...table.schema import Schema
from ...table.table import Table
from ...table.types import parse_type


@dataclass(frozen=True, eq=False)
class PlainValues:
    """The values of a table: `numbers` (numeric columns, rows), NaN where missing; `level_codes` (other columns, rows), as codes of a reader.

    `table`: the table that was read, on the reader's grid.
    """

    numbers: NDArray[np.float64]
    level_codes: NDArray[np.int32]
    table: Table | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.numbers.shape[1])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """A code for each distinct value of a column, numeric columns first, (rows, columns): rows are equal where their values are."""
        columns = [*self.numbers, *self.level_codes]
        out = np.zeros((self.n_rows, len(columns)), dtype=np.int64)
        for j, column in enumerate(columns):
            out[:, j] = np.unique(column, return_inverse=True, equal_nan=True)[1].reshape(-1)
        return out


@dataclass(frozen=True, eq=False)
class ValueReader:
    """Reads tables into `PlainValues` and into codes of the population's grid. Make one with `ValueReader.from_population`.

    `schema`: the population's. `widened`: the same with codes for missing values and for levels that the population lacks: a release may hold both.
    `numeric`, `categorical`: which of the modelled columns are which. `coders`: the codes of words; one that the population's grid pooled has a code of
    its own.
    """

    schema: Schema
    widened: Schema
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    coders: Mapping[str, ColumnCoder] = field(repr=False)
    unknown: int

    @classmethod
    def from_population(cls, population: Table, unknown: int) -> ValueReader:
        """Return the reader of tables like a population; `unknown` is the grid code of a value that the population lacks."""
        columns = population.schema.modelled
        widened = Schema(tuple(widen_column(column, fractions=False) for column in columns))
        numeric = tuple(j for j, column in enumerate(columns) if column.is_numeric)
        categorical = tuple(j for j in range(len(columns)) if j not in numeric)
        table = _on_grid(population, widened)
        coders = {
            columns[j].name: column_coder([table], columns[j].name, unseen=True)
            for j in categorical
        }
        return cls(population.schema, widened, numeric, categorical, coders, unknown)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.widened.names

    def reads(self, table: Table) -> bool:
        """Whether a table has the population's columns in the population's types. A column that its own reading left out is absent."""
        for column in self.widened:
            if column.name not in table.data.column_names:
                if column.name in table.schema.names:
                    return False
            elif table.data.schema.field(column.name).type != parse_type(column.type):
                return False
        return True

    def read(self, table: Table) -> PlainValues:
        """Return the values of a table that `reads` accepts. A column that it lacks is missing throughout."""
        rows = _on_grid(table, self.widened)
        numbers = np.full((len(self.numeric), table.n_rows), np.nan)
        level_codes = np.full((len(self.categorical), table.n_rows), UNSEEN, dtype=np.int32)
        for number, name in zip(numbers, (self.names[j] for j in self.numeric), strict=True):
            if name in rows.schema.names:
                number[:] = numbers_of(rows, name)
        for word, name in zip(level_codes, (self.names[j] for j in self.categorical), strict=True):
            if name in rows.schema.names:
                word[:] = self.coders[name].code(rows)
        return PlainValues(numbers, level_codes, rows)

    def grid_codes(self, values: PlainValues, dtype: Any) -> NDArray[Any]:
        """Return the codes of a table that was read on the population's levels and bins, (rows, columns); what these lack has the unknown code."""
        assert values.table is not None
        out = np.full((values.n_rows, len(self.names)), self.unknown, dtype=dtype)
        for j, name in enumerate(self.names):
            if name in values.table.schema.names:
                codecs = self.schema[name].fitted_codec, self.widened[name].fitted_codec
                out[:, j] = _back(*codecs, self.unknown)[values.table.code(name)]
        for word, j in zip(values.level_codes, self.categorical, strict=True):
            out[word == UNSEEN, j] = self.unknown
        return out


def _on_grid(table: Table, widened: Schema) -> Table:
    """Return a table under a schema with room for all its values, without the columns that it lacks."""
    schema = replace(
        widened, columns=tuple(c for c in widened.columns if c.name in table.data.column_names)
    )
    codes = [
        encode_column(column, table.data.column(column.name), missing_tokens(table, column))
        for column in schema.columns
    ]
    return Table(schema, table.data, Codes.from_columns(codes, schema.sizes, n_rows=table.n_rows))


def _back(codec: ColumnDomain, wide: ColumnDomain, unknown: int) -> NDArray[np.int64]:
    """Return the code of a codec for each code of the same with more room: levels, (other), null, missing codes."""
    n_levels = wide.n_values - wide.other
    return np.array(
        [
            *range(n_levels),
            *[n_levels if codec.other else unknown] * wide.other,
            *[codec.n_values if codec.null else unknown] * wide.null,
            *range(codec.n_values + codec.null, codec.size),
        ],
        dtype=np.int64,
    )
