"""A formula laid out for a table: each factor as codes and what they stand for, and the columns that `_base/formula.py` makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.formula import Part, parts_of
from .codec import Codec
from .codes import narrowest
from .formula import ColumnFactor, RegressionFormula
from .grid import to_numbers
from .schema import NUMERIC_KINDS
from .table import Table

MAX_COEFFICIENTS = 1_000

Coefficient = tuple[tuple[ColumnFactor, int | None], ...]
"""The factors of one column of a design, each with its level, None for numbers; empty for the intercept."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A factor of a table: a code for each complete record, and what each code stands for.

    `levels` names those of a categorical factor, `reference` being the one that others are compared with; `values` are the numbers, rising,
    of any other. The one that does not apply is empty.
    """

    factor: ColumnFactor
    codes: NDArray[np.unsignedinteger]
    levels: tuple[str, ...]
    values: NDArray[np.float64]
    reference: int = 0

    def numbers(self) -> NDArray[np.float64]:
        """Return the number of each record."""
        return self.values[self.codes]


@dataclass(frozen=True, eq=False)
class Design:
    """The complete records of a table under a formula: the response and the factors, coded, and the coefficients."""

    formula: RegressionFormula
    response: Coded
    factors: Mapping[ColumnFactor, Coded]
    parts: tuple[Part[ColumnFactor], ...]
    n_rows: int
    n_left_out: int = 0

    @cached_property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The columns of the design."""
        return tuple(coefficient for part in self.parts for coefficient in part.coefficients())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients, as `Intercept`, `age`, `sex[Male]`, `sex[Male]:age`."""
        return tuple(self.name(coefficient) for coefficient in self.coefficients)

    def name(self, coefficient: Coefficient) -> str:
        """Return the name of a coefficient."""
        parts = (
            f.label if i is None else f"{f.label}[{self.factors[f].levels[i]}]"
            for f, i in coefficient
        )
        return ":".join(parts) or "Intercept"

    def matrix(self) -> NDArray[np.float64]:
        """Return the dense design matrix: a row for each complete record, a column for each coefficient."""
        out = np.zeros((self.n_rows, len(self.coefficients)), order="F")
        first = 0
        for part in self.parts:
            codes, numbers = (
                (lambda f: self.factors[f].codes),
                (lambda f: self.factors[f].numbers()),
            )
            inside, column, value = part.entries(self.n_rows, codes, numbers)
            out[inside, first + column[inside]] = value[inside]
            first += part.size
        return out


def design(
    formula: RegressionFormula,
    table: Table,
    *,
    references: Mapping[ColumnFactor, int] | None = None,
) -> Design:
    """Return a formula laid out for a table: records with a missing value in a column of the formula are left out.

    The reference of a categorical column is its first level, unless `references` says otherwise. All levels of the
    schema have a coefficient, also those that no record has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from chaffinch.table import read
    >>> from chaffinch.table.formula import formula_of
    >>> table = read(pa.table({"y": [1.5, 2.5, 3.5] * 9, "a": ["u", "v", "w"] * 9}))
    >>> design(formula_of("y ~ a", table.schema), table).names
    ('Intercept', 'a[v]', 'a[w]')
    >>> design(formula_of("y ~ 0 + a", table.schema), table).names
    ('a[u]', 'a[v]', 'a[w]')
    """
    wanted = (formula.response, *formula.factors)
    present = np.ones(table.n_rows, dtype=bool)
    for factor in wanted:
        present &= _present(table, factor)
    coded = {
        factor: _coded(table, factor, present, (references or {}).get(factor, 0))
        for factor in wanted
    }
    response = coded.pop(formula.response)
    n_rows = int(present.sum())
    return Design(formula, response, coded, _parts(formula, coded), n_rows, table.n_rows - n_rows)


def _is_number(table: Table, factor: ColumnFactor) -> bool:
    return factor.function == "log" or (
        not factor.function and table.schema[factor.column].kind in NUMERIC_KINDS
    )


def _codec(table: Table, factor: ColumnFactor) -> Codec:
    codec = table.schema[factor.column].codec
    assert codec is not None  # a table's schema is fitted
    return codec


def _present(table: Table, factor: ColumnFactor) -> NDArray[np.bool_]:
    """Return which records have a value: null and missing codes are none, (other) is one."""
    present: NDArray[np.bool_] = table.code(factor.column) < _codec(table, factor).n_values
    if _is_number(table, factor):
        numbers, valid = to_numbers(table.data.column(factor.column))
        present = present & valid & np.isfinite(numbers)
    return present


def _coded(table: Table, factor: ColumnFactor, present: NDArray[np.bool_], reference: int) -> Coded:
    if not _is_number(table, factor):
        codec = _codec(table, factor)
        levels = tuple(codec.names()[: codec.n_values])
        return Coded(factor, table.code(factor.column)[present], levels, np.empty(0), reference)
    numbers = to_numbers(table.data.column(factor.column))[0][present].astype(np.float64)
    if factor.function == "log":
        if (numbers <= 0).any():
            raise InputError(
                f"{factor.label} needs numbers above 0, and column '{factor.column}' has others. Name it without log."
            )
        numbers = np.log(numbers)
    values, codes = np.unique(numbers, return_inverse=True)
    return Coded(factor, codes.astype(narrowest(len(values))), (), values)


def _parts(
    formula: RegressionFormula, coded: Mapping[ColumnFactor, Coded]
) -> tuple[Part[ColumnFactor], ...]:
    def coding(factor: ColumnFactor) -> tuple[Sequence[int], int] | None:
        levels = coded[factor].levels
        return (range(len(levels)), coded[factor].reference) if levels else None

    parts, size = list[Part[ColumnFactor]](), 0
    for part in parts_of([(), *formula.terms] if formula.intercept else formula.terms, coding):
        parts.append(part)
        size += part.size
        if size > MAX_COEFFICIENTS:
            raise InputError(
                f"The formula has more than {MAX_COEFFICIENTS:,} coefficients. Leave out interactions, or columns with many levels."
            )
    return tuple(parts)
