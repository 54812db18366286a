"""Regression formulas over the columns of a schema, and how one is laid out for a table.

The grammar is that of `_base/formula.py`, with these factors.

    formula  =  factor "~" sum                                 0 and 1 stand outside parentheses and
    products, powers are 1 to 8 factor   =  name | "C(" name ")" | "log(" name ")"         names
    with spaces or signs stand in backquotes

Nothing else is read, and nothing is executed. `C(x)` takes the codes of a numeric column (its atoms
and bins) as levels. Laid out, each factor is codes and what they stand for (`design`), and
`_base/design.py` makes columns of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, UnknownNameError, unknown_name
from .._base.formula import Expression, Grammar, Part, parts_of
from .._base.tokens import Reader, Token
from .codes import narrowest
from .schema import NUMERIC_KINDS, Column, Schema
from .table import Table
from .types import to_numbers

MAX_TERMS = 500
MAX_ORDER = 8
_BARE = re.compile(r"[^\W\d][\w.]*")
_SHAPE = (
    "Formulas read like 'y ~ a + b + a:b + a*b + C(a) + log(x)', with 0 or -1 for no intercept."
)
_QUOTING = "Names with spaces or signs stand in backquotes."
MAX_COEFFICIENTS = 1_000


@dataclass(frozen=True, order=True)
class ColumnFactor:
    """A column in a formula, as it is or through a function: `C` makes levels of numbers, `log` is
    natural.
    """

    column: str
    function: Literal["", "C", "log"] = ""

    @property
    def label(self) -> str:
        """The factor as a reader sees it."""
        return f"{self.function}({self.column})" if self.function else self.column

    def __str__(self) -> str:
        name = (
            self.column
            if _BARE.fullmatch(self.column)
            else "`" + self.column.replace("`", "``") + "`"
        )
        return f"{self.function}({name})" if self.function else name


Term = tuple[ColumnFactor, ...]
"""Factors that are multiplied, in the order of the schema's columns."""


@dataclass(frozen=True)
class RegressionFormula:
    """A response, terms from low order to high, and whether there is an intercept; `str` gives it
    as text again.
    """

    response: ColumnFactor
    terms: tuple[Term, ...]
    intercept: bool = True

    @property
    def factors(self) -> tuple[ColumnFactor, ...]:
        """The distinct factors of the terms, in order of appearance."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    def __str__(self) -> str:
        head = ["0"] if not self.intercept else [] if self.terms else ["1"]
        return f"{self.response} ~ {' + '.join([*head, *(':'.join(map(str, term)) for term in self.terms)])}"


def formula_of(text: str, schema: Schema) -> RegressionFormula:
    """Return the formula that a text spells, with columns of a schema.

    Raises
    ------
    InputError
        If the text does not follow the grammar (position and rule are named), or names what the
        schema lacks.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from chaffinch.table import read
    >>> schema = read(pa.table({"y": [1.5, 2.5] * 9, "a": ["u", "v"] * 9, "b c": ["u", "v"] * 9})).schema
    >>> print(formula_of("y~a*`b c` - 1", schema))
    y ~ 0 + a + `b c` + a:`b c`
    """
    return _Parser(text, schema).formula()


class _FormulaReader(Reader):
    """Names may have dots here, and there are few signs."""

    pattern = re.compile(
        rf"\s*(?:(?P<name>{_BARE.pattern})|(?P<quoted>`(?:[^`]|``)+`)|(?P<number>[0-9]+)|(?P<sign>\*\*|[~+\-*:()])|(?P<bad>\S))"
    )
    longest = 10_000
    deepest = 30

    def fault(self, rule: str, token: Token | None = None) -> InputError:
        token = token or self.next
        got = "the end of the formula" if token.kind == "end" else f"'{token.text[:40]}'"
        return InputError(f"Formula, position {token.position}: {rule}. Got {got}. {_SHAPE}")

    def too_long(self, text: str) -> InputError:
        return InputError(f"A formula has at most {self.longest:,} characters. Got {len(text):,}.")

    def unknown_sign(self, token: Token) -> InputError:
        what = (
            "a backquote opens a name that no backquote closes"
            if token.text == "`"
            else "unknown sign"
        )
        return InputError(
            f"Formula, position {token.position}: {what}, '{token.text}'. {_QUOTING} {_SHAPE}"
        )

    def too_deep(self) -> InputError:
        return self.fault(f"parentheses nest at most {self.deepest} deep")


class _Parser(Grammar[ColumnFactor]):
    """The grammar with columns of a schema as factors; what breaks it is named with its place."""

    chained_powers = False
    reader: _FormulaReader

    def __init__(self, text: str, schema: Schema) -> None:
        super().__init__(_FormulaReader(text, what="Formula"))
        self.schema = schema
        self.order = {column.name: i for i, column in enumerate(schema)}

    def formula(self) -> RegressionFormula:
        response = self.factor("the response, a column name, must stand here")
        if not self.reader.accept("~"):
            raise self.reader.fault(
                "'~' must follow the response, which is one column, C(column) or log(column)"
            )
        right = self.sum()
        if self.reader.next.kind != "end":
            raise self.reader.fault("'+', '-', '*', ':', '**' or the end must follow")
        if any(factor.column == response.column for term in right.terms for factor in term):
            raise InputError(
                f"Column '{response.column}' stands on both sides of the formula. Keep it on one."
            )
        if not right.terms and not right.has_intercept:
            raise InputError(
                f"The formula leaves nothing to fit: no term and no intercept. {_SHAPE}"
            )
        terms = [
            tuple(sorted(term, key=lambda f: (self.order[f.column], f.function)))
            for term in right.terms
        ]
        return RegressionFormula(response, tuple(sorted(terms, key=len)), right.has_intercept)

    def item(self) -> Expression[ColumnFactor]:
        if self.reader.next.kind != "number" or self.reader.depth:
            return self.product()
        if self.reader.next.text not in ("0", "1"):
            raise self.reader.fault("the only numbers in a sum are 0 and 1, for the intercept")
        return Expression.of_number(self.reader.take().text)

    def negative(self, first: Expression[ColumnFactor]) -> Expression[ColumnFactor]:
        return Expression([])

    def exponent(self, base: Expression[ColumnFactor]) -> int:
        if self.reader.next.text not in list("12345678"):
            raise self.reader.fault("after '**' a whole number from 1 to 8 must stand")
        return int(self.reader.next.text)

    def close(self) -> None:
        if not self.reader.accept(")"):
            raise self.reader.fault("')' must close the parenthesis")

    def factor(
        self, rule: str = "a column name, C(name), log(name) or '(' must stand here"
    ) -> ColumnFactor:
        token = self.name(rule)
        if token.quoted or not self.reader.accept("("):
            return ColumnFactor(self.column(token).name)
        if token.text not in ("C", "log"):
            raise _error_at(unknown_name("function", token.text[:40], ("C", "log")), token)
        column = self.column(
            self.name("a column name must stand between the parentheses of a function")
        )
        if not self.reader.accept(")"):
            raise self.reader.fault("')' must close the function, which takes one column")
        if token.text == "C":
            return ColumnFactor(column.name, "C" if column.kind in NUMERIC_KINDS else "")
        if column.kind not in ("integer", "float"):
            raise InputError(
                f"Formula, position {token.position}: log needs a column of numbers. Column '{column.name}' is "
                f"{column.kind}. Name it without log, or declare it integer or float in the schema."
            )
        return ColumnFactor(column.name, "log")

    def name(self, rule: str) -> Token:
        kind = self.reader.next.kind
        if kind != "name":
            raise self.reader.fault(
                "0 and 1 stand outside parentheses and products" if kind == "number" else rule
            )
        return self.reader.take()

    def column(self, token: Token) -> Column:
        if token.value not in self.order:
            raise _error_at(unknown_name("column", token.value[:80], self.order), token)
        column = self.schema[token.value]
        if not column.modelled:
            raise InputError(
                f"Formula, position {token.position}: column '{column.name}' has no levels and no numbers to fit, it is "
                f"{column.kind}. Name another."
            )
        return column

    def crossed(
        self, first: Expression[ColumnFactor], second: Expression[ColumnFactor]
    ) -> Expression[ColumnFactor]:
        if len(first.terms) * len(second.terms) > 40 * MAX_TERMS:
            raise self.reader.fault(f"a formula has at most {MAX_TERMS} terms")
        return super().crossed(first, second)

    def joined(self, *parts: list[Term]) -> list[Term]:
        terms = super().joined(*parts)
        if len(terms) > MAX_TERMS:
            raise self.reader.fault(f"a formula has at most {MAX_TERMS} terms")
        if any(len(term) > MAX_ORDER for term in terms):
            raise self.reader.fault(f"an interaction has at most {MAX_ORDER} columns")
        return terms


def _error_at(error: UnknownNameError, token: Token) -> UnknownNameError:
    return UnknownNameError(f"Formula, position {token.position}: {error} {_QUOTING}")


Coefficient = tuple[tuple[ColumnFactor, int | None], ...]
"""The factors of one column of a design, each with its level, None for numbers; empty for the
intercept.
"""


@dataclass(frozen=True, eq=False)
class Coded:
    """A factor of a table: a code for each complete record, and what each code stands for.

    `levels` names those of a categorical factor, `reference` being the one that others are compared
    with; `values` are the numbers, rising, of any other. The one that does not apply is empty.
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
    """The complete records of a table under a formula: the response and the factors, coded, and the
    coefficients.
    """

    formula: RegressionFormula
    response: Coded
    factors: Mapping[ColumnFactor, Coded]
    parts: tuple[Part[ColumnFactor], ...]
    n_rows: int
    n_left_out: int = 0

    @cached_property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The columns of the design."""
        return tuple(coefficient for block in self.parts for coefficient in block.coefficients())

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
        """Return the dense design matrix: a row for each complete record, a column for each
        coefficient.
        """
        out = np.zeros((self.n_rows, len(self.coefficients)), order="F")
        first = 0
        for block in self.parts:
            codes, numbers = (
                (lambda f: self.factors[f].codes),
                (lambda f: self.factors[f].numbers()),
            )
            inside, column, value = block.entries(self.n_rows, codes, numbers)
            out[inside, first + column[inside]] = value[inside]
            first += block.size
        return out


def design(
    formula: RegressionFormula,
    table: Table,
    *,
    references: Mapping[ColumnFactor, int] | None = None,
) -> Design:
    """Return a formula laid out for a table: records with a missing value in a column of the
    formula are left out.

    The reference of a categorical column is its first level, unless `references` says otherwise.
    All levels of the schema have a coefficient, also those that no record has.

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
        factor: _code_factor(table, factor, present, (references or {}).get(factor, 0))
        for factor in wanted
    }
    response = coded.pop(formula.response)
    n_rows = int(present.sum())
    return Design(formula, response, coded, _parts(formula, coded), n_rows, table.n_rows - n_rows)


def _is_number(table: Table, factor: ColumnFactor) -> bool:
    return factor.function == "log" or (
        not factor.function and table.schema[factor.column].kind in NUMERIC_KINDS
    )


def _present(table: Table, factor: ColumnFactor) -> NDArray[np.bool_]:
    """Return which records have a value: null and missing codes are none, (other) is one."""
    present: NDArray[np.bool_] = (
        table.code(factor.column) < table.schema[factor.column].fitted_codec.n_values
    )
    if _is_number(table, factor):
        numbers, valid = to_numbers(table.data.column(factor.column))
        present = present & valid & np.isfinite(numbers)
    return present


def _code_factor(
    table: Table, factor: ColumnFactor, present: NDArray[np.bool_], reference: int
) -> Coded:
    if not _is_number(table, factor):
        codec = table.schema[factor.column].fitted_codec
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
    for block in parts_of([(), *formula.terms] if formula.intercept else formula.terms, coding):
        parts.append(block)
        size += block.size
        if size > MAX_COEFFICIENTS:
            raise InputError(
                f"The formula has more than {MAX_COEFFICIENTS:,} coefficients. Leave out interactions, or columns with many levels."
            )
    return tuple(parts)
