"""What no record can be, by public knowledge: constraints of a schema as combinations of codes that may occur.

    age < 16 implies marital == 'never'        not (sex == 'm' and pregnant == true)        income == missing or age >= 15

A comparison with a missing value is neither true nor false, and a record breaks a constraint only where it is false. Bins of numbers
are cut at the numbers that constraints name, so that each bin lies on one side of them, and so does every number drawn from it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.conditions import (
    HELP,
    TURNED,
    All,
    Among,
    AnyOf,
    Comparisons,
    Condition,
    Implies,
    Name,
    Not,
    Operand,
    read_rule,
)  # fmt: skip
from .._base.errors import InputError, SchemaError, listed, unknown_name
from .._base.masking import masked_count
from .._base.tokens import Reader
from .codec import Categories, Intervals
from .cuts import above, at_or_above, cut_intervals, drawn_ranges
from .note import Note
from .schema import Column, Schema
from .schema_file import number_of

if TYPE_CHECKING:
    from .table import Table

__all__ = [
    "MOST_CELLS", "AllowedCodes", "Constraint", "allowed_codes", "broken_rows", "check_rules", "cut_schema", "rules_of", "with_broken_rows",
]  # fmt: skip

MOST_CELLS = 1 << 22
"""The most combinations of codes that constraints which share columns may span."""

MISSING = "missing"

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Constraint:
    """A constraint: its text, what it says, and the columns that it is about, in the order of the schema."""

    text: str
    condition: Condition
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AllowedCodes:
    """Columns that constraints tie together, and which combinations of their codes may occur (C order, an axis for each column)."""

    columns: tuple[str, ...]
    allowed: Mask
    texts: tuple[str, ...]

    def holds(self, codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Return which rows have a combination that may occur."""
        return np.asarray(self.allowed[tuple(codes[name] for name in self.columns)])


def rules_of(schema: Schema) -> tuple[Constraint, ...]:
    """Return the constraints of a schema, parsed; SchemaError for one that is none, or that names no column with codes."""
    return tuple(_rule(text, schema, number) for number, text in enumerate(schema.constraints, start=1))


def check_rules(schema: Schema) -> Schema:
    """Return the schema; raise if one of its constraints cannot be read."""
    rules_of(schema)
    return schema


def _rule(text: str, schema: Schema, number: int) -> Constraint:
    what = f"Constraint {number}"
    try:
        condition = read_rule(Reader(text, what=what))
    except InputError as error:
        raise SchemaError(str(error)) from None
    names = [column.name for column in schema]
    used = []
    for name in dict.fromkeys(_names(condition)):
        if name not in names:
            if name == MISSING or name.lower() in ("true", "false"):
                continue
            raise SchemaError(f"{what}: {unknown_name('column', name, names)} Words stand in quotes.")
        if not schema[name].modelled:
            raise SchemaError(f"{what} is about column '{name}', which is {schema[name].kind}: it is not modelled, and nothing holds for it.")
        used.append(name)
    if not used:
        raise SchemaError(f"{what} names no column. It is {HELP}")
    return Constraint(text, condition, tuple(sorted(used, key=names.index)))


def _names(condition: Condition) -> Iterator[str]:
    if isinstance(condition, Comparisons):
        yield from (operand.name for operand in condition.operands if isinstance(operand, Name))
    elif isinstance(condition, Among):
        yield condition.column.name
        yield from (operand.name for operand in condition.values if isinstance(operand, Name))
    elif isinstance(condition, Not):
        yield from _names(condition.part)
    elif isinstance(condition, Implies):
        yield from _names(condition.when)
        yield from _names(condition.then)
    else:
        for part in condition.parts:
            yield from _names(part)


def cut_schema(schema: Schema) -> Schema:
    """Return a fitted schema with bins cut at the numbers that its constraints name; raise if no record could keep them."""
    if not schema.constraints:
        return schema
    cuts: dict[str, list[float]] = {}
    for rule in rules_of(schema):
        for name, sign, value in _comparisons(rule.condition, schema):
            column = schema[name]
            if isinstance(column.codec, Intervals) and value is not None:
                number = _as_number(column, value)
                ends = {"<": at_or_above, ">=": at_or_above, "<=": above, ">": above}
                made = [ends[sign]] if sign in ends else [at_or_above, above]
                cuts.setdefault(name, []).extend(end(column.codec, number) for end in made)
    columns = [
        replace(column, codec=cut_intervals(column.codec, cuts[column.name]))
        if column.name in cuts and isinstance(column.codec, Intervals) else column
        for column in schema
    ]  # fmt: skip
    out = replace(schema, columns=tuple(columns))
    allowed_codes(out)
    return out


def _comparisons(condition: Condition, schema: Schema) -> Iterator[tuple[str, str, Operand | None]]:
    """Each comparison of a column with a value: None for missing."""
    if isinstance(condition, Comparisons):
        for (left, right), sign in zip(pairwise(condition.operands), condition.signs, strict=True):
            yield _sides(left, sign, right, schema)
    elif isinstance(condition, Among):
        yield from (_sides(condition.column, "==", value, schema) for value in condition.values)
    elif isinstance(condition, Not):
        yield from _comparisons(condition.part, schema)
    elif isinstance(condition, Implies):
        yield from _comparisons(condition.when, schema)
        yield from _comparisons(condition.then, schema)
    else:
        for part in condition.parts:
            yield from _comparisons(part, schema)


def _sides(left: Operand, sign: str, right: Operand, schema: Schema) -> tuple[str, str, Operand | None]:
    names = [column.name for column in schema]
    columns = [isinstance(side, Name) and side.name in names for side in (left, right)]
    if columns[0] == columns[1]:
        raise SchemaError(f"A constraint must compare a column with a number, a word in quotes, true, false or missing. It is {HELP}")
    column, value, sign = (left, right, sign) if columns[0] else (right, left, TURNED[sign])
    assert isinstance(column, Name)
    if isinstance(value, Name):
        if value.name == MISSING:
            if sign not in ("==", "!="):
                raise SchemaError("A constraint compares with missing by == or != only.")
            return column.name, sign, None
        return column.name, sign, value.name.lower() == "true"
    return column.name, sign, value


def _as_number(column: Column, value: Operand) -> float:
    if isinstance(value, str) and column.kind in ("date", "datetime"):
        try:
            return number_of(datetime.datetime.fromisoformat(value), column.type, column.name)
        except ValueError:
            raise SchemaError(f"A constraint compares column '{column.name}' with a word that is no date. Write it as '2020-12-31'.") from None
    if isinstance(value, str | bool | Name):
        raise SchemaError(f"A constraint compares column '{column.name}', which is {column.kind}, with a word. It needs a number.")
    return float(value)


def allowed_codes(schema: Schema) -> tuple[AllowedCodes, ...]:
    """Return the combinations of codes that may occur under a fitted schema, for each set of columns that constraints tie together.

    Raises SchemaError if nothing may occur: the constraints contradict each other, or the levels.
    """
    out = []
    for rules in _together(rules_of(schema)):
        columns = tuple(name for name in schema.names if any(name in rule.columns for rule in rules))
        sizes = [schema[name].size for name in columns]
        if prod(sizes) > MOST_CELLS:
            raise SchemaError(
                f"Constraints tie together columns with more than {MOST_CELLS:,} combinations: {listed(columns)}. Declare fewer bins or levels."
            )
        allowed = np.ones(sizes, dtype=bool)
        for rule in rules:
            allowed &= ~_truth(rule.condition, schema, columns)[1]
        texts = tuple(rule.text for rule in rules)
        if not allowed.any():
            few = " and ".join(f"'{text}'" for text in texts[:3]) + (" and others" if len(texts) > 3 else "")
            raise SchemaError(f"No record can keep {few}: the constraints contradict each other, or the levels and bounds. Correct one.")
        out.append(AllowedCodes(columns, allowed, texts))
    return tuple(out)


def _together(rules: Sequence[Constraint]) -> list[list[Constraint]]:
    """Rules that share columns, directly or through others."""
    groups: list[tuple[set[str], list[Constraint]]] = []
    for rule in rules:
        touching = [group for group in groups if group[0] & set(rule.columns)]
        merged = (set(rule.columns).union(*(names for names, _ in touching)), [r for _, members in touching for r in members] + [rule])
        groups = [group for group in groups if group not in touching] + [merged]
    return [members for _, members in groups]


def _truth(condition: Condition, schema: Schema, columns: tuple[str, ...]) -> tuple[Mask, Mask]:
    """Where a condition is true, and where it is false, over the grid of some columns; neither where a missing value leaves it open."""
    if isinstance(condition, Not):
        true, false = _truth(condition.part, schema, columns)
        return false, true
    if isinstance(condition, Implies):
        return _truth(AnyOf((Not(condition.when), condition.then)), schema, columns)
    if isinstance(condition, All | AnyOf):
        parts = [_truth(part, schema, columns) for part in condition.parts]
    elif isinstance(condition, Among):
        parts = [_compared(*_sides(condition.column, "==", value, schema), schema, columns) for value in condition.values]
        one = AnyOf(())
        true, false = _joined(parts, one)
        return (false, true) if condition.outside else (true, false)
    else:
        pairs = zip(pairwise(condition.operands), condition.signs, strict=True)
        parts = [_compared(*_sides(left, sign, right, schema), schema, columns) for (left, right), sign in pairs]
        condition = All(())
    return _joined(parts, condition)


def _joined(parts: list[tuple[Mask, Mask]], condition: All | AnyOf) -> tuple[Mask, Mask]:
    true, false = parts[0]
    for more_true, more_false in parts[1:]:
        if isinstance(condition, All):
            true, false = true & more_true, false | more_false
        else:
            true, false = true | more_true, false & more_false
    return true, false


def _compared(
    name: str, sign: str, value: Operand | None, schema: Schema, columns: tuple[str, ...]
) -> tuple[Mask, Mask]:
    column = schema[name]
    codec = column.fitted_codec
    true, false = np.zeros(codec.size, dtype=bool), np.zeros(codec.size, dtype=bool)
    if value is None:
        true[codec.n_values :] = True
        false = ~true
    elif isinstance(codec, Intervals):
        true[: codec.n_values], false[: codec.n_values] = _bins_hold(codec, sign, _as_number(column, value))
    else:
        true[: len(codec.levels)] = [_level_holds(column, level, sign, value) for level in codec.levels]
        false[: len(codec.levels)] = ~true[: len(codec.levels)]
        if codec.other:
            _of_other(column, codec, sign, value, true, false)
        elif sign in ("==", "!=") and not any(_same(level, value) for level in codec.levels) and column.levels is not None:
            raise SchemaError(f"A constraint names a level that column '{name}' does not have: {unknown_name('level', value, codec.levels)}")
    if sign == "!=" and value is None:
        true, false = false, true
    shape = [codec.size if each == name else 1 for each in columns]
    return true.reshape(shape), false.reshape(shape)


_SIGNS: dict[str, Any] = {
    "==": np.equal, "!=": np.not_equal, "<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater,
}  # fmt: skip


def _bins_hold(codec: Intervals, sign: str, number: float) -> tuple[Mask, Mask]:
    """Where a comparison is true and where it is false of every number of a code; cuts leave no code between."""
    low, high = drawn_ranges(codec)
    if sign in ("==", "!="):
        alone, apart = (low == number) & (high == number), (high < number) | (low > number)
        return (alone, apart) if sign == "==" else (apart, alone)
    first, last = _SIGNS[sign](low, number), _SIGNS[sign](high, number)
    return first & last, ~first & ~last


def _level_holds(column: Column, level: Any, sign: str, value: Any) -> bool:
    if sign in ("==", "!="):
        return _same(level, value) == (sign == "==")
    if isinstance(level, str | bool) or isinstance(value, str | bool):
        raise SchemaError(f"A constraint compares column '{column.name}' by size: that needs numbers. Use == or in.")
    return bool(_SIGNS[sign](level, value))


def _same(level: Any, value: Any) -> bool:
    return bool(level == value) and isinstance(level, str) == isinstance(value, str) and isinstance(level, bool) == isinstance(value, bool)


def _of_other(column: Column, codec: Categories, sign: str, value: Any, true: Mask, false: Mask) -> None:
    """Values in `(other)` are none of the levels; of any other value, and of sizes, nothing is known."""
    if sign in ("==", "!=") and any(_same(level, value) for level in codec.levels):
        (true if sign == "!=" else false)[len(codec.levels)] = True


def broken_rows(schema: Schema, codes: Mapping[str, NDArray[Any]]) -> int:
    """Return how many rows of codes break a constraint. Confidential: a count of records."""
    groups = allowed_codes(schema)
    if not groups:
        return 0
    fine = np.logical_and.reduce([group.holds(codes) for group in groups])
    return int((~fine).sum())


def with_broken_rows(table: Table, threshold: int) -> Table:
    """Return the table with a note if records break constraints: how many, if that is no small count. Never for a private fit."""
    schema = table.schema
    if not schema.constraints:
        return table
    many = broken_rows(schema, {name: table.code(name) for name in schema.names})
    if not many:
        return table
    texts = listed((f"'{text}'" for text in schema.constraints), most=3)
    sentence = f"{masked_count(many, threshold)} of its records break what the schema says of all: {texts}. Drawn rows will not."
    return replace(table, notes=(*table.notes, Note("", "constraints", sentence)))
