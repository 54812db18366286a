"""What ties columns of a record to each other: relations among the rules of a schema, read and put
to values.

    change = after - before      total = a + b + c      kg = lb / 2.2046      year = year(seen)
    an equality: one column is computed start <= end                 low <= open <= high    start +
    30 < end                               orders education determines education_num
    a function of one column missing(a) == missing(b)
    missing together

A relation says something of the records in which all its columns are present, and nothing of
others. Dates count in days, moments and times of day in seconds. An equality holds where the left
side is the right side rounded to its own digits; where a factor is no whole number, the columns on
the right may have been rounded too. Nothing is evaluated as Python: see `_base.conditions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.arrays import Mask
from ..._base.conditions import (
    TURNED,
    Addend,
    Comparisons,
    Determines,
    Name,
    Operand,
    Rule,
    Sum,
    add_sums,
    read_rule,
    scale_sum,
)
from ..._base.errors import InputError, SchemaError, unknown_name
from ..._base.tokens import Reader
from ..schema import NUMERIC_KINDS, Column, Schema
from ..schema_file import usual_type
from ..types import PER_SECOND, is_numeric, parse_type, to_numbers, value_type, whole_array

if TYPE_CHECKING:
    from ..table import Table


EXACT = 1e-9
"""The share of its size by which a computed number may differ where a column has no digits of its
own: what floats lose in a sum.
"""

NARROW = 1e-5
"""Share of the sum by which both sides of a rule may differ where a column is stored in floats of 32 bits or fewer."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column as numbers (of words: their codes), which of them are there, which are
    not missing, and which were pooled.

    A pooled word is there, but determines nothing: `(other)` stands for several. A pooled number is
    there if it is still known.
    """

    numbers: NDArray[np.float64]
    present: Mask
    filled: Mask
    pooled: Mask

    def take(self, rows: Any) -> Values:
        """Return the values of some rows."""
        return Values(self.numbers[rows], self.present[rows], self.filled[rows], self.pooled[rows])


@dataclass(frozen=True)
class Equality:
    """A column that is a sum of others, rounded to its own digits. `units` are the steps of the
    left side and of each part.
    """

    text: str
    result: str
    terms: Sum
    units: tuple[float, ...]
    narrow: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, the left side first."""
        return (self.result, *(addend.column for addend in self.terms.parts))

    @property
    def has_integer_factors(self) -> bool:
        """Whether all factors are whole numbers: what is on the digits of the right side is then on
        those of the left.
        """
        return all(float(addend.factor).is_integer() for addend in self.terms.parts)

    @property
    def slack(self) -> float:
        """How far both sides may be apart by rounding."""
        others = (
            0.0
            if self.has_integer_factors
            else sum(
                abs(p.factor) * u for p, u in zip(self.terms.parts, self.units[1:], strict=True)
            )
        )
        return (self.units[0] + others) / 2

    def gap(
        self, values: Mapping[str, NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return right side minus left side of each row, and by how much they may differ."""
        total, size = row_sums(self.terms, values)
        results = values[self.result]
        room = self.slack * (1 + 1e-6) + (NARROW if self.narrow else EXACT) * np.maximum(
            size, np.abs(results)
        )
        return total - results, room


@dataclass(frozen=True)
class Order:
    """A sum of columns that is at least 0 in every record, or above 0 (`strict`)."""

    text: str
    difference: Sum
    strict: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the rule."""
        return tuple(addend.column for addend in self.difference.parts)


@dataclass(frozen=True)
class Function:
    """A column whose value tells that of another."""

    text: str
    determinant: str
    dependent: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that determines, and the one that is determined."""
        return (self.determinant, self.dependent)


@dataclass(frozen=True)
class MissingTogether:
    """Columns that are missing in the same records."""

    text: str
    columns: tuple[str, ...]


Relation = Equality | Order | Function | MissingTogether


def quote_name(name: str) -> str:
    """Return a column's name as a rule has it: in backticks where it would be read as something
    else.
    """
    keywords = ("missing", "and", "or", "not", "in", "implies", "determines", "true", "false")
    plain = (
        name.isidentifier()
        and re.fullmatch(r"\w+", name) is not None
        and name.lower() not in keywords
    )
    return name if plain else "`" + name.replace("`", "``") + "`"


@lru_cache(maxsize=4096)
def parse_rule(text: str, what: str = "A rule") -> Rule:
    """Return the parsed rule of a text; SchemaError where it does not parse."""
    try:
        return read_rule(Reader(text, what=what))
    except InputError as error:
        raise SchemaError(str(error)) from None


def is_relation(rule: Rule, names: Sequence[str]) -> bool:
    """Return whether a rule ties columns to each other: what compares columns with values alone is
    a constraint.
    """
    if isinstance(rule, Determines):
        return True
    if not isinstance(rule, Comparisons):
        return False
    columns = sum(isinstance(side, Name) and side.name in names for side in rule.operands)
    return columns > 1 or any(isinstance(side, Sum) for side in rule.operands)


def relations_of(schema: Schema) -> tuple[Relation, ...]:
    """Return the relations that a schema states of columns that it models; rules about columns that
    it lacks are passed over.
    """
    names, modelled = [column.name for column in schema], set(schema.names)
    out: list[Relation] = []
    for number, text in enumerate(schema.rules, start=1):
        rule = parse_rule(text, f"Rule {number}")
        if is_relation(rule, names) and named_columns(rule) <= modelled:
            out += relation_of(text, rule, schema, f"Rule {number}")
    return tuple(out)


def named_columns(rule: Rule) -> set[str]:
    """Return the columns that a relation names."""
    if isinstance(rule, Determines):
        return {rule.determinant, rule.dependent}
    assert isinstance(rule, Comparisons)
    return {
        addend.column
        for side in rule.operands
        if isinstance(side, Sum | Name)
        for addend in _sum(side).parts
    }


def relation_of(text: str, rule: Rule, schema: Schema, what: str) -> tuple[Relation, ...]:
    """Return the relations of one rule, one for each sign; SchemaError for unknown columns and for
    types that do not go together.
    """
    names = [column.name for column in schema]
    for name in named_columns(rule):
        if name not in names:
            raise SchemaError(
                f"{what}: {unknown_name('column', name, names)} Words stand in quotes."
            )
    if isinstance(rule, Determines):
        if rule.determinant == rule.dependent:
            raise SchemaError(
                f"{what}: column '{rule.determinant}' determines itself. Name two columns."
            )
        return (Function(text, rule.determinant, rule.dependent),)
    assert isinstance(rule, Comparisons)
    asked = [_missing_column(side) for side in rule.operands]
    if any(asked):
        if not all(asked) or set(rule.signs) != {"=="} or len(set(asked)) < 2:
            raise SchemaError(
                f"{what}: missing(a) is compared with missing(b) by ==, and with nothing else. For a value write a == missing."
            )
        return (MissingTogether(text, tuple(dict.fromkeys(name for name in asked if name))),)
    return tuple(
        _pair(text, lhs, sign, rhs, schema, what)
        for (lhs, rhs), sign in zip(pairwise(rule.operands), rule.signs, strict=True)
    )


def _missing_column(side: Operand) -> str:
    if not isinstance(side, Sum) or not any(addend.function == "missing" for addend in side.parts):
        return ""
    (first, *more) = side.parts
    return first.column if not more and not side.constant and first.factor == 1 else "\0"


def _sum(side: Operand) -> Sum:
    if isinstance(side, Sum):
        return side
    if isinstance(side, Name):
        return Sum((Addend(side.name),))
    return Sum((), float(side)) if not isinstance(side, str) else Sum(())


def _pair(text: str, lhs: Operand, sign: str, rhs: Operand, schema: Schema, what: str) -> Relation:
    if isinstance(lhs, str) or isinstance(rhs, str):
        raise SchemaError(
            f"{what} compares a sum of columns with a word. It needs columns and numbers."
        )
    if sign == "!=":
        raise SchemaError(
            f"{what}: two columns are compared by =, <, <=, > or >=. != says next to nothing of numbers."
        )
    if sign == "==":
        if not isinstance(lhs, Name):
            lhs, rhs = rhs, lhs
        if not isinstance(lhs, Name):
            raise SchemaError(
                f"{what}: one side of an equality must be one column alone, which the other side gives. Solve it for one column."
            )
        total = _in_days(_sum(rhs), schema)
        if lhs.name in (addend.column for addend in total.parts):
            raise SchemaError(
                f"{what}: column '{lhs.name}' stands on both sides. Solve it for one column."
            )
        columns = [schema[lhs.name], *(schema[addend.column] for addend in total.parts)]
        functions = ["", *(addend.function for addend in total.parts)]
        _check_types([Addend(lhs.name, -1.0), *total.parts], schema, what)
        units = tuple(
            1.0 if function else unit_of(column)
            for column, function in zip(columns, functions, strict=True)
        )
        return Equality(
            text,
            lhs.name,
            total,
            units,
            any(column.type in ("float", "halffloat") for column in columns),
        )
    if sign in (">", ">="):
        lhs, rhs, sign = rhs, lhs, TURNED[sign]
    difference = _in_days(add_sums(_sum(rhs), scale_sum(_sum(lhs), -1.0)), schema)
    if not difference.parts:
        raise SchemaError(f"{what}: its sides cancel out, and nothing is left to compare.")
    _check_types(difference.parts, schema, what)
    return Order(text, difference, sign == "<")


def _in_days(total: Sum, schema: Schema) -> Sum:
    """A sum whose functions of moments, which count in seconds, say so."""
    return Sum(
        tuple(
            replace(p, function=f"{p.function} of seconds")
            if p.function and schema[p.column].kind == "datetime"
            else p
            for p in total.parts
        ),
        total.constant,
    )


def _check_types(addends: Sequence[Addend], schema: Schema, what: str) -> None:
    moments: dict[str, float] = {}
    for addend in addends:
        column = schema[addend.column]
        temporal = pa.types.is_date(kind := stored_type(column)) or pa.types.is_timestamp(kind)
        if addend.function and not temporal:
            raise SchemaError(
                f"{what}: {addend.function.split()[0]}({addend.column}) needs dates. Column '{addend.column}' is {column.kind}."
            )
        if (
            not column.modelled
            or not is_numeric(kind)
            or pa.types.is_dictionary(parse_type(column.type))
        ):
            raise SchemaError(
                f"{what} does arithmetic with column '{addend.column}', which is {column.kind} ({column.type}): it needs numbers or dates. "
                "For words write a == 'word', or a determines b."
            )
        if temporal and not addend.function:
            form = "dates" if pa.types.is_date(kind) else "moments"
            moments[form] = moments.get(form, 0.0) + addend.factor
    if len(moments) > 1 or any(abs(total) > EXACT for total in moments.values()):
        raise SchemaError(
            f"{what} mixes dates or moments with numbers. Compare or subtract two columns of one kind; the difference of dates is in days."
        )


def stored_type(column: Column) -> pa.DataType:
    """Return the type of a column's values; that usual for its kind where a schema leaves it
    open.
    """
    kind = value_type(parse_type(column.type))
    return (
        kind
        if column.kind not in NUMERIC_KINDS or is_numeric(kind)
        else parse_type(usual_type(column.kind))
    )


def per_unit(column: Column) -> float:
    """Return how many steps of its stored type make one in rules: a day of dates, a second of
    moments and times, else 1.
    """
    kind = stored_type(column)
    if pa.types.is_date64(kind):
        return 86_400_000.0
    timed = pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind)
    return float(PER_SECOND[kind.unit]) if timed else 1.0


def unit_of(column: Column) -> float:
    """Return the distance of neighbouring values of a column of numbers; 0 where it has any
    digits.
    """
    if column.kind == "float":
        return 0.0 if column.decimals is None else 10.0**-column.decimals
    integral = not pa.types.is_floating(stored_type(column)) or column.kind == "integer"
    return column.step / per_unit(column) if integral else 0.0


def values_of(column: Column, values: Any, codes: NDArray[Any]) -> Values:
    """Return the values of a column, with its codes, as rules see them: what has a missing code is
    not there.
    """
    codec = column.fitted_codec
    filled = np.asarray(codes < codec.n_values)
    pooled = codec.is_other(codes)
    kind = stored_type(column)
    if not is_numeric(kind) or pa.types.is_dictionary(parse_type(column.type)):
        return Values(codes.astype(np.float64), filled, filled, pooled)
    numbers, valid = to_numbers(whole_array(values))
    numbers = numbers.astype(np.float64)
    scale = per_unit(column)
    return Values(
        numbers if scale == 1 else numbers / scale,
        filled & valid & np.isfinite(numbers),
        filled,
        pooled,
    )


def row_sums(
    total: Sum, values: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a sum of columns in each row, and the largest size of what was added."""
    out = size = np.zeros(())
    for addend in total.parts:
        each = part_of(values[addend.column], addend.function) * addend.factor
        out, size = out + each, np.maximum(size, np.abs(each))
    return out + total.constant, np.maximum(size, abs(total.constant))


def part_of(numbers: NDArray[np.float64], function: str) -> NDArray[np.float64]:
    """Return a part of dates in days, or of moments in seconds where the function says so; without
    one the numbers as they are.
    """
    if not function:
        return numbers
    function, _, seconds = function.partition(" ")
    days = np.floor(numbers / 86_400 if seconds else numbers).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    if function == "year":
        return np.asarray(days.astype("datetime64[Y]").astype(np.int64) + 1970.0)
    if function == "month":
        return np.asarray(months.astype(np.int64) % 12 + 1.0)
    return np.asarray((days - months.astype("datetime64[D]")).astype(np.int64) + 1.0)


def rows_breaking(relation: Relation, values: Mapping[str, Values]) -> Mask:
    """Return the rows that break a relation. Of a function: the rows with another value than most
    that have the same on the left.
    """
    present = np.logical_and.reduce([values[name].present for name in relation.columns])
    if isinstance(relation, MissingTogether):
        filled = [values[name].filled for name in relation.columns]
        return np.asarray(np.logical_or.reduce(filled) & ~np.logical_and.reduce(filled))
    if isinstance(relation, Function):
        out = np.zeros(len(present), dtype=bool)
        present = present & ~values[relation.determinant].pooled
        out[present] = _exceptions(
            values[relation.determinant].numbers[present],
            values[relation.dependent].numbers[present],
        )
        return out
    numbers = {name: values[name].numbers for name in relation.columns}
    if isinstance(relation, Equality):
        gap, room = relation.gap(numbers)
        return np.asarray(present & ~(np.abs(gap) <= room))
    difference, size = row_sums(relation.difference, numbers)
    low = EXACT * size  # floats that are equal on paper
    return np.asarray(present & ~((difference > low) if relation.strict else (difference >= -low)))


def _exceptions(determinants: NDArray[np.float64], dependents: NDArray[np.float64]) -> Mask:
    if not len(determinants):
        return np.zeros(0, dtype=bool)
    firsts, ours = np.unique(determinants, return_inverse=True)
    seconds, theirs = np.unique(dependents, return_inverse=True)
    pairs, where, counts = np.unique(
        ours * len(seconds) + theirs, return_inverse=True, return_counts=True
    )
    max_counts = np.zeros(len(firsts), dtype=np.int64)
    np.maximum.at(max_counts, pairs // len(seconds), counts)
    usual = np.full(len(firsts), -1, dtype=np.int64)
    best = counts == max_counts[pairs // len(seconds)]
    usual[(pairs // len(seconds))[best][::-1]] = np.flatnonzero(best)[::-1]
    return np.asarray(usual[ours] != where)


def table_values(table: Table, names: Iterable[str]) -> dict[str, Values]:
    """Return the values of columns of a table, as rules see them."""
    return {
        name: values_of(table.schema[name], table.data.column(name), table.code(name))
        for name in names
    }
