"""What no record can be: those rules of a schema that compare columns with values, as combinations
of codes that may occur.

    age < 16 implies marital == 'never'        not (sex == 'm' and pregnant == true)        income
    == missing or age >= 15

A comparison with a missing value is neither true nor false, and a record breaks a constraint only
where it is false. Bins of numbers are cut at the numbers that constraints name, so that each bin
lies on one side of them, and so does every number drawn from it. Rules that tie columns to each
other are `table.rules.relations`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Mask
from ..._base.conditions import (
    HELP,
    TURNED,
    All,
    Among,
    AnyOf,
    Comparisons,
    Condition,
    Determines,
    Implies,
    Name,
    Not,
    Operand,
    Sum,
)
from ..._base.errors import SchemaError, join_names, unknown_name
from ..domain import Intervals, codes_by_value
from ..schema import Column, Schema
from ..schema_file import number_of
from .relations import is_relation, named_columns, parse_rule, relation_of

MOST_CELLS = 1 << 22
"""The most combinations of codes that constraints which share columns may span."""

MISSING = "missing"
_SIGNS: dict[str, Any] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
}


@dataclass(frozen=True)
class Constraint:
    """A constraint: its text, its condition, and its columns, in the order of the schema."""

    text: str
    condition: Condition
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AllowedCodes:
    """Columns that constraints tie together, and which combinations of their codes may occur (C
    order, an axis for each column).
    """

    columns: tuple[str, ...]
    allowed: Mask
    texts: tuple[str, ...]

    def holds(self, codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Return which rows have a combination that may occur."""
        return np.asarray(self.allowed[tuple(codes[name] for name in self.columns)])


def rules_of(schema: Schema) -> tuple[Constraint, ...]:
    """Return the constraints among the rules of a schema; rules about columns that it does not have
    are passed over.
    """
    names = [column.name for column in schema]
    out = []
    for number, text in enumerate(schema.rules, start=1):
        rule = parse_rule(text, f"Rule {number}")
        if (
            not is_relation(rule, names)
            and not isinstance(rule, Determines)
            and _names_are_known(rule, names)
        ):
            out.append(_rule(text, rule, schema, number))
    return tuple(out)


def _names_are_known(condition: Condition, names: Sequence[str]) -> bool:
    """Whether all that a condition names are columns, or words that stand for values."""
    return all(
        name in names or name == MISSING or name.lower() in ("true", "false")
        for name in _names(condition)
    )


def check_rules(schema: Schema) -> Schema:
    """Return the schema; SchemaError if one of its rules cannot be read, names no column, or one of
    a kind that it cannot be about.
    """
    names = [column.name for column in schema]
    for number, text in enumerate(schema.rules, start=1):
        rule = parse_rule(text, f"Rule {number}")
        if is_relation(rule, names) or isinstance(rule, Determines):
            relation_of(text, rule, schema, f"Rule {number}")
        else:
            _rule(text, rule, schema, number)
    return schema


def without_rules_on(schema: Schema, column: str) -> Schema:
    """Return the schema without the rules that name a column."""
    return replace(
        schema,
        rules=tuple(text for text in schema.rules if column not in names_in_rule(text, schema)),
    )


def names_in_rule(text: str, schema: Schema) -> set[str]:
    """Return the names that a rule uses: of columns, and of words that stand for values."""
    rule = parse_rule(text)
    return (
        set(named_columns(rule))
        if is_relation(rule, [column.name for column in schema]) or isinstance(rule, Determines)
        else set(_names(rule))
    )


def _rule(text: str, condition: Condition, schema: Schema, number: int) -> Constraint:
    what = f"Rule {number}"
    names = [column.name for column in schema]
    used = []
    for name in dict.fromkeys(_names(condition)):
        if name not in names:
            if name == MISSING or name.lower() in ("true", "false"):
                continue
            raise SchemaError(
                f"{what}: {unknown_name('column', name, names)} Words stand in quotes."
            )
        if not schema[name].modelled:
            raise SchemaError(
                f"{what} is about column '{name}', which is {schema[name].kind}: it is not modelled, and nothing holds for it."
            )
        used.append(name)
    if not used:
        raise SchemaError(f"{what} names no column. It is {HELP}")
    return Constraint(text, condition, tuple(sorted(used, key=names.index)))


def _names(condition: Condition) -> Iterator[str]:
    if isinstance(condition, Comparisons):
        for operand in condition.operands:
            if isinstance(operand, Sum):
                yield from (addend.column for addend in operand.parts)
            elif isinstance(operand, Name):
                yield operand.name
    elif isinstance(condition, Among):
        yield condition.column.name
        yield from (operand.name for operand in condition.values if isinstance(operand, Name))
    elif isinstance(condition, Not):
        yield from _names(condition.inner)
    elif isinstance(condition, Implies):
        yield from _names(condition.when)
        yield from _names(condition.then)
    else:
        for clause in condition.parts:
            yield from _names(clause)


def cut_schema(schema: Schema) -> Schema:
    """Return a fitted schema with bins cut at the numbers that its rules name; raise if no record
    could keep them.
    """
    if not schema.rules:
        return schema
    cuts: dict[str, list[float]] = {}
    for rule in rules_of(schema):
        for name, sign, value in _comparisons(rule.condition, schema):
            column = schema[name]
            if column.codec is not None and column.codec.numeric and value is not None:
                number = _as_number(column, value)
                end_of_sign = {"<": at_or_above, ">=": at_or_above, "<=": above, ">": above}
                ends = [end_of_sign[sign]] if sign in end_of_sign else [at_or_above, above]
                cuts.setdefault(name, []).extend(end(column.codec, number) for end in ends)
    columns = [
        replace(column, codec=cut_intervals(column.codec, cuts[column.name]))
        if column.name in cuts and column.codec is not None and column.codec.numeric
        else column
        for column in schema
    ]
    out = replace(schema, columns=tuple(columns))
    allowed_codes(out)
    return out


def _comparisons(condition: Condition, schema: Schema) -> Iterator[tuple[str, str, Operand | None]]:
    """Each comparison of a column with a value: None for missing."""
    if isinstance(condition, Comparisons):
        for (lhs, rhs), sign in zip(pairwise(condition.operands), condition.signs, strict=True):
            yield _column_and_value(lhs, sign, rhs, schema)
    elif isinstance(condition, Among):
        yield from (
            _column_and_value(condition.column, "==", value, schema) for value in condition.values
        )
    elif isinstance(condition, Not):
        yield from _comparisons(condition.inner, schema)
    elif isinstance(condition, Implies):
        yield from _comparisons(condition.when, schema)
        yield from _comparisons(condition.then, schema)
    else:
        for clause in condition.parts:
            yield from _comparisons(clause, schema)


def _column_and_value(
    lhs: Operand, sign: str, rhs: Operand, schema: Schema
) -> tuple[str, str, Operand | None]:
    names = [column.name for column in schema]
    columns = [isinstance(side, Name) and side.name in names for side in (lhs, rhs)]
    if columns[0] == columns[1] or isinstance(lhs, Sum) or isinstance(rhs, Sum):
        raise SchemaError(
            f"A condition must compare a column with a number, a word in quotes, true, false or missing. It is {HELP} "
            "Two columns are compared in a rule of their own, without and, or, not, implies."
        )
    column, value, sign = (lhs, rhs, sign) if columns[0] else (rhs, lhs, TURNED[sign])
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
            raise SchemaError(
                f"A constraint compares column '{column.name}' with a word that is no date. Write it as '2020-12-31'."
            ) from None
    if isinstance(value, str | bool | Name | Sum):
        raise SchemaError(
            f"A constraint compares column '{column.name}', which is {column.kind}, with a word. It needs a number."
        )
    return float(value)


def allowed_codes(schema: Schema) -> tuple[AllowedCodes, ...]:
    """Return the combinations of codes that may occur under a fitted schema, for each set of
    columns that constraints tie together.

    Raises SchemaError if nothing may occur: the constraints contradict each other, or the levels.
    """
    out = []
    for rules in _together(rules_of(schema)):
        columns = tuple(
            name for name in schema.names if any(name in rule.columns for rule in rules)
        )
        sizes = [schema[name].size for name in columns]
        if prod(sizes) > MOST_CELLS:
            raise SchemaError(
                f"Constraints tie together columns with more than {MOST_CELLS:,} combinations: {join_names(columns)}. Declare fewer bins or levels."
            )
        allowed = np.ones(sizes, dtype=bool)
        for rule in rules:
            allowed &= ~_truth(rule.condition, schema, columns)[1]
        texts = tuple(rule.text for rule in rules)
        if not allowed.any():
            few = " and ".join(f"'{text}'" for text in texts[:3]) + (
                " and others" if len(texts) > 3 else ""
            )
            raise SchemaError(
                f"No record can keep {few}: the constraints contradict each other, or the levels and bounds. Correct one."
            )
        out.append(AllowedCodes(columns, allowed, texts))
    return tuple(out)


def _together(rules: Sequence[Constraint]) -> list[list[Constraint]]:
    """Rules that share columns, directly or through others."""
    groups: list[tuple[set[str], list[Constraint]]] = []
    for rule in rules:
        touching = [group for group in groups if group[0] & set(rule.columns)]
        merged = (
            set(rule.columns).union(*(names for names, _ in touching)),
            [r for _, members in touching for r in members] + [rule],
        )
        groups = [group for group in groups if group not in touching] + [merged]
    return [members for _, members in groups]


def _truth(condition: Condition, schema: Schema, columns: tuple[str, ...]) -> tuple[Mask, Mask]:
    """Masks over the grid of codes of columns: where a condition is true, and where it is false;
    neither where a missing value leaves it open.
    """
    if isinstance(condition, Not):
        true, false = _truth(condition.inner, schema, columns)
        return false, true
    if isinstance(condition, Implies):
        return _truth(AnyOf((Not(condition.when), condition.then)), schema, columns)
    if isinstance(condition, All | AnyOf):
        parts = [_truth(clause, schema, columns) for clause in condition.parts]
    elif isinstance(condition, Among):
        parts = [
            _compare_masks(
                *_column_and_value(condition.column, "==", value, schema), schema, columns
            )
            for value in condition.values
        ]
        disjunction = AnyOf(())
        true, false = _join_masks(parts, disjunction)
        return (false, true) if condition.outside else (true, false)
    else:
        pairs = zip(pairwise(condition.operands), condition.signs, strict=True)
        parts = [
            _compare_masks(*_column_and_value(lhs, sign, rhs, schema), schema, columns)
            for (lhs, rhs), sign in pairs
        ]
        condition = All(())
    return _join_masks(parts, condition)


def _join_masks(parts: list[tuple[Mask, Mask]], condition: All | AnyOf) -> tuple[Mask, Mask]:
    true, false = parts[0]
    for more_true, more_false in parts[1:]:
        if isinstance(condition, All):
            true, false = true & more_true, false | more_false
        else:
            true, false = true | more_true, false & more_false
    return true, false


def _compare_masks(
    name: str, sign: str, value: Operand | None, schema: Schema, columns: tuple[str, ...]
) -> tuple[Mask, Mask]:
    column = schema[name]
    codec = column.fitted_codec
    true, false = np.zeros(codec.size, dtype=bool), np.zeros(codec.size, dtype=bool)
    if value is None:
        true[codec.n_values :] = True
        false = ~true
    elif codec.numeric:
        true[: codec.n_values], false[: codec.n_values] = _bins_hold(
            codec, sign, _as_number(column, value)
        )
    else:
        true[: len(codec.levels)] = [
            _level_holds(column, level, sign, value) for level in codec.levels
        ]
        false[: len(codec.levels)] = ~true[: len(codec.levels)]
        known = sign in ("==", "!=") and any(_same(level, value) for level in codec.levels)
        if codec.other and known:
            # Values in (other) are none of the levels; of any other value, and of sizes, nothing is known.
            (true if sign == "!=" else false)[len(codec.levels)] = True
        elif not codec.other and not known and sign in ("==", "!=") and column.levels is not None:
            raise SchemaError(
                f"A constraint names a level that column '{name}' does not have: {unknown_name('level', value, codec.levels)}"
            )
    if sign == "!=" and value is None:
        true, false = false, true
    shape = [codec.size if each == name else 1 for each in columns]
    return true.reshape(shape), false.reshape(shape)


def _bins_hold(codec: Intervals, sign: str, number: float) -> tuple[Mask, Mask]:
    """Where a comparison is true and where it is false of every number of a code; cuts leave no
    code between.
    """
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
        raise SchemaError(
            f"A constraint compares column '{column.name}' by size: that needs numbers. Use == or in."
        )
    return bool(_SIGNS[sign](level, value))


def _same(level: Any, value: Any) -> bool:
    return (
        bool(level == value)
        and isinstance(level, str) == isinstance(value, str)
        and isinstance(level, bool) == isinstance(value, bool)
    )


def broken_rows(schema: Schema, codes: Mapping[str, NDArray[Any]]) -> Mask:
    """Return which rows of codes break a constraint. Confidential: it says so of records."""
    groups = allowed_codes(schema)
    if not groups:
        return np.zeros(len(next(iter(codes.values()))), dtype=bool)
    return ~np.logical_and.reduce([group.holds(codes) for group in groups])


def at_or_above(codec: Intervals, number: float) -> float:
    """Return the least number that values of a column may have and that is not below a number."""
    if codec.integral:
        return float(np.ceil(number / codec.step) * codec.step)
    return (
        number
        if codec.decimals is None
        else float(
            np.round(
                np.ceil(np.round(number * 10.0**codec.decimals, 6)) / 10.0**codec.decimals,
                codec.decimals,
            )
        )
    )


def above(codec: Intervals, number: float) -> float:
    """Return the least number that values of a column may have and that is above a number.

    Examples
    --------
    >>> from chaffinch.table.schema import Column
    >>> from chaffinch.table.bins import fit_intervals
    >>> ages = fit_intervals(Column("age", "integer", bounds=(0, 99), bins=2, binning="width"), np.empty(0, np.int64), np.empty(0), integral=True)
    >>> at_or_above(ages, 15.5), above(ages, 15), above(ages, 15.5)
    (16.0, 16.0, 16.0)
    """
    if codec.integral:
        return float((np.floor(number / codec.step) + 1) * codec.step)
    if codec.decimals is None:
        return float(np.nextafter(number, np.inf))
    unit = 10.0**codec.decimals
    return float(np.round((np.floor(np.round(number * unit, 6)) + 1) / unit, codec.decimals))


def cut_intervals(codec: Intervals, cuts: Iterable[float]) -> Intervals:
    """Return the codec with a new bin from each cut on that lies inside a bin; what is drawn from
    both together is as before.

    The quantile function of a bin is cut where it passes the number. Codes are given anew, in order
    of value.
    """
    starts, knots = list(codec.starts.tolist()), list(codec.knots)
    point_masses = set(codec.atoms.tolist())
    for cut in sorted({_past(codec, cut, point_masses) for cut in cuts}):
        if starts and knots[0][1, 0] < starts[0]:  # numbers below the first start are drawn too
            starts[0] = int(np.floor(knots[0][1, 0])) if codec.integral else float(knots[0][1, 0])
        b = int(np.searchsorted(np.array(starts, dtype=np.float64), cut, side="right")) - 1
        if b < 0 or not starts[b] < cut:
            continue
        if b + 1 == len(starts) and cut > knots[b][1, -1]:
            continue  # beyond the last number that is drawn
        low, high = _halves(codec, knots[b], float(cut), first=float(starts[b]))
        knots[b : b + 1] = [low, high]
        starts.insert(b + 1, int(cut) if codec.integral else float(cut))
    if len(starts) == len(codec.starts):
        return codec
    new_starts = np.array(starts, dtype=codec.starts.dtype)
    atom_codes, bin_codes = codes_by_value(codec.atoms, knots)
    return replace(
        codec,
        starts=new_starts,
        knots=tuple(knots),
        atom_codes=atom_codes,
        bin_codes=bin_codes,
    )


def drawn_ranges(codec: Intervals) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lowest and the highest number of each value code, point masses at the ends of a
    bin left out: they are codes of their own.
    """
    low, high = (ends.copy() for ends in codec.ranges())
    point_masses = set(codec.atoms.tolist())
    for code in codec.bin_codes.tolist():
        while low[code] in point_masses and low[code] < high[code]:
            low[code] = above(codec, float(low[code]))
        while high[code] in point_masses and low[code] < high[code]:
            high[code] = (
                high[code] - codec.step if codec.integral else _before(codec, float(high[code]))
            )
    return low, high


def _before(codec: Intervals, number: float) -> float:
    return (
        float(np.nextafter(number, -np.inf))
        if codec.decimals is None
        else float(np.round(number - 10.0**-codec.decimals, codec.decimals))
    )


def _past(codec: Intervals, cut: float, point_masses: set[Any]) -> float:
    """A cut, moved past numbers that are point masses: a bin that begins with them begins after
    them.
    """
    while cut in point_masses:
        cut = above(codec, cut)
    return cut


def _halves(
    codec: Intervals, knots: NDArray[np.float64], cut: float, first: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The quantile functions below and from a cut on, each over ranks from 0 to 1."""
    ranks, values = knots
    below = (
        cut - float(codec.step)
        if codec.integral
        else cut
        if codec.decimals is None
        else cut - 10.0**-codec.decimals
    )
    k = int(np.searchsorted(values, cut))  # knots from here on are not below the cut
    if k == 0 or k == len(values):
        rank = float(ranks[0] if k == 0 else ranks[-1])
    else:
        rank = float(np.interp(cut, values[k - 1 : k + 1], ranks[k - 1 : k + 1]))
    leaps = 0 < k < len(values) and ranks[k - 1] == ranks[k]
    lower, upper = (
        (ranks[:k], np.minimum(values[:k], below)),
        (ranks[k:], np.maximum(values[k:], cut)),
    )
    if not leaps:
        lower = np.append(lower[0], rank), np.append(lower[1], max(below, first))
        upper = np.append(rank, upper[0]), np.append(cut, upper[1])
    return _stretch_quantiles(*lower, min(first, below), max(below, first)), _stretch_quantiles(
        *upper, cut, max(float(values[-1]), cut)
    )


def _stretch_quantiles(
    ranks: NDArray[Any], values: NDArray[Any], bottom: float, top: float
) -> NDArray[np.float64]:
    """A quantile function, its ranks stretched to run from 0 to 1; straight from bottom to top
    where there is nothing between.
    """
    span = float(ranks[-1] - ranks[0]) if len(ranks) else 0.0
    if not span > 1e-12:
        return np.array([[0.0, 1.0], [bottom, max(top, bottom)]])
    scaled = (ranks - ranks[0]) / span
    scaled[-1] = 1.0
    return np.stack([scaled, np.maximum.accumulate(values)])
