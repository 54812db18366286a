"""A table as a matrix that learners take: chosen columns as codes or indicators, and numbers as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from ..table.schema import Column
from ..table.table import Table
from ..table.types import to_numbers

Encoding = str
ENCODINGS = ("codes", "onehot")
NUMBERS = ("integer", "float", "date", "datetime")

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Encoder:
    """How tables of one schema become matrices with the same features. Make one with `Encoder.of`.

    Numbers, dates and times stand as their numbers, NaN where missing; a column that has missing numbers in any of the
    tables is followed by an indicator of them. Categories and booleans stand as their codes (the order of levels, then
    `(other)`, then missing: a code of its own) with `codes`, or as one indicator for each code with `onehot`.

    `columns`: the columns that become features. `encoding`: `codes` or `onehot`. `gaps`: the names of the numeric columns with missing
    numbers.
    """

    columns: tuple[Column, ...]
    encoding: Encoding = "codes"
    gaps: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        tables: Sequence[Table],
        columns: Sequence[str] | None = None,
        *,
        encoding: Encoding = "codes",
    ) -> Encoder:
        """Return the encoder of tables that share a schema (see `align`), for all modelled columns unless some are named.

        Examples
        --------
        >>> import pyarrow as pa, chaffinch
        >>> table = chaffinch.read(pa.table({"age": [30.5, 40.25, None] * 20, "sex": ["f", "m", "m"] * 20}))
        >>> encoder = Encoder.of([table])
        >>> encoder.owners, encoder.matrix(table)[:3].tolist()
        (('age', 'age', 'sex'), [[30.5, 0.0, 0.0], [40.25, 0.0, 1.0], [nan, 1.0, 1.0]])
        """
        if encoding not in ENCODINGS:
            raise unknown_name("encoding", encoding, ENCODINGS)
        schema = tables[0].schema
        chosen = schema.names if columns is None else tuple(columns)
        for name in chosen:
            if name not in schema.names:
                raise unknown_name("column", name, schema.names)
        if any(
            table.schema.sizes != schema.sizes or table.schema.names != schema.names
            for table in tables
        ):
            raise InputError(
                "Tables that become features together need one schema. Bring them together with align()."
            )
        features = tuple(schema[name] for name in chosen)
        gaps = {
            c.name
            for c in features
            if c.kind in NUMBERS and any(np.isnan(numbers_of(t, c.name)).any() for t in tables)
        }
        return cls(features, encoding, frozenset(gaps))

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The column that each feature comes from."""
        return tuple(column.name for column in self.columns for _ in range(self._width(column)))

    @cached_property
    def scaled(self) -> NDArray[np.bool_]:
        """Which features are to be standardised: all, or with `onehot` the numbers alone."""
        if self.encoding == "codes":
            return np.ones(len(self.owners), dtype=bool)
        first = np.array(
            [i == 0 or owner != self.owners[i - 1] for i, owner in enumerate(self.owners)],
            dtype=bool,
        )
        numbers = {column.name for column in self.columns if column.kind in NUMBERS}
        return first & np.array([owner in numbers for owner in self.owners], dtype=bool)

    def matrix(self, table: Table) -> Matrix:
        """Return the features of a table: one row for each record, one column for each of `owners`."""
        out = np.zeros((table.n_rows, len(self.owners)))
        at = 0
        for column in self.columns:
            if column.kind in NUMBERS:
                numbers = numbers_of(table, column.name)
                out[:, at] = numbers
                if column.name in self.gaps:
                    out[:, at + 1] = np.isnan(numbers)
            elif self.encoding == "codes":
                out[:, at] = table.code(column.name)
            else:
                out[np.arange(table.n_rows), at + table.code(column.name).astype(np.int64)] = 1.0
            at += self._width(column)
        return out

    def _width(self, column: Column) -> int:
        if column.kind in NUMBERS:
            return 1 + (column.name in self.gaps)
        return 1 if self.encoding == "codes" else column.size


def numbers_of(table: Table, name: str) -> Matrix:
    """Return the numbers of a numeric column, NaN where they are missing, infinite or a declared missing code."""
    column = table.schema[name]
    assert column.codec is not None
    numbers, present = to_numbers(table.data.column(name))
    known = present & (table.code(name) < column.codec.n_values) & np.isfinite(numbers)
    return np.where(known, numbers.astype(np.float64), np.nan)


def standardised(
    train: Matrix, *others: Matrix, scaled: NDArray[np.bool_] | None = None
) -> list[Matrix]:
    """Return matrices with missing numbers at the mean of the training side, then scaled to its mean 0 and variance 1.

    A feature without any number on the training side is 0 everywhere. `scaled` says which features to scale (all).

    Examples
    --------
    >>> [m.tolist() for m in standardised(np.array([[1.0], [3.0], [np.nan]]), np.array([[2.0]]))]
    [[[-1.224744871391589], [1.224744871391589], [0.0]], [[0.0]]]
    """
    from sklearn.preprocessing import StandardScaler

    absent = np.isnan(train)
    counts = np.maximum((~absent).sum(axis=0), 1)
    means = np.where(absent, 0.0, train).sum(axis=0) / counts
    filled = [np.where(np.isnan(matrix), means, matrix) for matrix in (train, *others)]
    empty = absent.all(axis=0)
    for matrix in filled:
        matrix[:, empty] = 0.0
    which = np.ones(train.shape[1], dtype=bool) if scaled is None else scaled
    if which.any():
        scaler = StandardScaler().fit(filled[0][:, which])
        for matrix in filled:
            if len(matrix):
                matrix[:, which] = scaler.transform(matrix[:, which])
    return filled
