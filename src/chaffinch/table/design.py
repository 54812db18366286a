"""A formula laid out for a table: each factor as codes and what they stand for, each coefficient as a product of look-ups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .codec import Codec
from .codes import narrowest
from .formula import ColumnFactor, RegressionFormula
from .grid import to_numbers
from .schema import NUMERIC_KINDS
from .table import Table

__all__ = ["Coded", "Coefficient", "Design", "design"]

MAX_COEFFICIENTS = 1_000

Coefficient = tuple[tuple[ColumnFactor, int | None], ...]
"""The factors of one column of a design, each with its level, None for numbers; empty for the intercept."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A factor of a table: a code for each record, and what each code stands for.

    Parameters
    ----------
    codes
        One for each complete record.
    levels
        The names of the levels of a categorical factor; empty for numbers.
    values
        The number that each code stands for, rising; empty for a categorical factor.
    reference
        The level that the others are compared with.
    """

    factor: ColumnFactor
    codes: NDArray[np.unsignedinteger]
    levels: tuple[str, ...]
    values: NDArray[np.float64]
    reference: int = 0

    def look_up(self, level: int | None) -> NDArray[np.float64]:
        """Return what each code contributes to a column of the design: its number, or 1 at a level and 0 elsewhere."""
        return self.values if level is None else (np.arange(len(self.levels)) == level).astype(np.float64)

    def numbers(self) -> NDArray[np.float64]:
        """Return the number of each record."""
        return self.values[self.codes]


@dataclass(frozen=True, eq=False)
class Design:
    """The complete records of a table under a formula: the response and the factors, coded, and the coefficients."""

    formula: RegressionFormula
    response: Coded
    factors: Mapping[ColumnFactor, Coded]
    coefficients: tuple[Coefficient, ...]
    n_rows: int
    n_left_out: int = field(default=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients, as `Intercept`, `age`, `sex[Male]`, `sex[Male]:age`."""
        return tuple(self.name(coefficient) for coefficient in self.coefficients)

    def name(self, coefficient: Coefficient) -> str:
        """Return the name of a coefficient."""
        parts = (f.label if i is None else f"{f.label}[{self.factors[f].levels[i]}]" for f, i in coefficient)
        return ":".join(parts) or "Intercept"

    def column(self, coefficient: Coefficient) -> NDArray[np.float64]:
        """Return one column of the design matrix: the product of its factors' look-ups."""
        out = np.ones(self.n_rows)
        for factor, level in coefficient:
            out *= self.factors[factor].look_up(level)[self.factors[factor].codes]
        return out

    def matrix(self) -> NDArray[np.float64]:
        """Return the dense design matrix: a row for each complete record, a column for each coefficient."""
        out = np.empty((self.n_rows, len(self.coefficients)), order="F")
        for j, coefficient in enumerate(self.coefficients):
            out[:, j] = self.column(coefficient)
        return out


def design(formula: RegressionFormula, table: Table, *, references: Mapping[ColumnFactor, int] | None = None) -> Design:
    """Return a formula laid out for a table: records with a missing value in a column of the formula are left out.

    Categorical columns are coded against a reference level, the first unless `references` says otherwise; where the
    formula lacks what a factor is marginal to, it gets all levels (the rule of R, patsy and formulaic, which keeps
    the columns independent). All levels of the schema have a coefficient, also those that no record has.

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
    coded = {factor: _coded(table, factor, present, (references or {}).get(factor, 0)) for factor in wanted}
    response = coded.pop(formula.response)
    n_rows = int(present.sum())
    return Design(formula, response, coded, _coefficients(formula, coded), n_rows, table.n_rows - n_rows)


def _is_number(table: Table, factor: ColumnFactor) -> bool:
    return factor.function == "log" or (not factor.function and table.schema[factor.column].kind in NUMERIC_KINDS)


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


def _coefficients(formula: RegressionFormula, coded: Mapping[ColumnFactor, Coded]) -> tuple[Coefficient, ...]:
    """Return the columns of a design: for each part of a term every combination of levels, the first factor fastest."""
    numeric = {factor for factor, found in coded.items() if not found.levels}
    out: list[Coefficient] = []
    for part in _parts(formula, numeric):
        levels: list[list[int | None]] = [
            [None] if full is None else [i for i in range(len(coded[f].levels)) if full or i != coded[f].reference]
            for f, full in part
        ]
        if len(out) + prod(map(len, levels)) > MAX_COEFFICIENTS:
            raise InputError(
                f"The formula has more than {MAX_COEFFICIENTS:,} coefficients. Leave out interactions, or columns with many levels."
            )
        factors = [f for f, _ in part]
        out += [tuple(zip(factors, chosen[::-1], strict=True)) for chosen in product(*levels[::-1])]
    return tuple(out)


def _parts(formula: RegressionFormula, numeric: set[ColumnFactor]) -> list[list[tuple[ColumnFactor, bool | None]]]:
    """Return how the factors of each term are coded: against a reference (False), by all levels (True), or numbers (None).

    A categorical term spans the spaces of all its margins, a:b = 1 + a- + b- + a-:b-, where a- lacks the reference.
    Margins that earlier terms with the same numbers span are left out, and what remains is joined: 1 + a- is a.
    """
    spanned: dict[frozenset[ColumnFactor], set[frozenset[tuple[ColumnFactor, bool]]]] = {}
    parts: list[list[tuple[ColumnFactor, bool | None]]] = []
    for term in [(), *formula.terms] if formula.intercept else formula.terms:
        levelled = [factor for factor in term if factor not in numeric]
        before = spanned.setdefault(frozenset(term) & numeric, set())
        margins = [
            frozenset((f, False) for f in chosen)
            for k in range(len(levelled) + 1)
            for chosen in combinations(levelled, k)
        ]
        new = [margin for margin in margins if margin not in before]
        before.update(new)
        for part in _joined(new):
            full = dict(part)
            parts.append([(f, full.get(f)) for f in term if f in numeric or f in full])
    return parts


def _joined(margins: list[frozenset[tuple[ColumnFactor, bool]]]) -> list[frozenset[tuple[ColumnFactor, bool]]]:
    """Return margins with pairs m and m:a- joined to m:a, greedily from the left, until no pair is left."""
    margins = list(margins)
    while True:
        pairs = combinations(range(len(margins)), 2)
        found = next(((i, j) for i, j in pairs if margins[i] < margins[j] and len(margins[j] - margins[i]) == 1), None)
        if found is None:
            return margins
        i, j = found
        ((factor, _),) = margins[j] - margins[i]
        margins[j] = margins[i] | {(factor, True)}
        del margins[i]
