"""Expressions in ACRO's commands that compare a column with a number or a word: what is True of which levels.

s.crosstab(df.wife_age > 30, df.uses)     ->     wife_age in two groups, False: up to 30, True: above
s.surv_func(df.years, df.state == "ill")  ->     the event is the level "ill" of state
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...domain import Field
from .commands import Call, referred_column
from .read import UnclearError

_SIGNS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_METHODS = {"eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_TRUE, _FALSE = ("True", "1", "1.0"), ("False", "0", "0.0")


@dataclass(frozen=True)
class ComparedColumn:
    """A column beside a constant, and the filters on its way."""

    column: str
    sign: type[ast.cmpop]
    value: Any
    filters: tuple[str, ...] = ()

    def holds(self, field: Field) -> list[bool]:
        """Return of which levels it is true; UnclearError where levels cannot be compared with the constant."""
        try:
            return [bool(_SIGNS[self.sign](level, self.value)) for level in field.levels]
        except TypeError:
            raise UnclearError(
                f"its command compares column '{field.name}' with what is no level of it: give a recipe"
            ) from None

    def groups(self, field: Field, labels: Sequence[str]) -> dict[str, list[Any]]:
        """Return the levels behind True and False, as a table calls them.

        Examples
        --------
        >>> ComparedColumn("age", ast.Gt, 30).groups(Field("age", (20, 30, 40, 50)), ["False", "True"])
        {'False': [20, 30], 'True': [40, 50]}
        """
        true = self.holds(field)
        groups: dict[str, list[Any]] = {}
        for label in labels:
            if label not in (*_TRUE, *_FALSE):
                raise UnclearError(
                    f"its command compares column '{field.name}', and its table has other labels than True and False: give a recipe"
                )
            places = [k for k, one in enumerate(true) if one == (label in _TRUE)]
            if not places:
                raise UnclearError(
                    f"no level of column '{field.name}' is where its table has people: give a recipe"
                )
            if field.numeric and places != list(range(places[0], places[-1] + 1)):
                raise UnclearError(
                    f"it tells one value of column '{field.name}' from those on both sides: give a recipe"
                )
            groups[label] = (
                [field.levels[places[0]], field.levels[places[-1]]]
                if field.numeric
                else [field.levels[k] for k in places]
            )
        return groups

    def level(self, field: Field) -> Any:
        """Return the only level of which it is true."""
        (*levels,) = (
            level for level, one in zip(field.levels, self.holds(field), strict=True) if one
        )
        if len(levels) != 1:
            raise UnclearError(
                f"its event is not one level of column '{field.name}': give a recipe"
            )
        return levels[0]


def read_comparison(node: ast.expr, call: Call) -> ComparedColumn | None:
    """Return the comparison that an expression is, as numbers or not; None where it is something else. Nothing is run.

    Examples
    --------
    >>> from .commands import read_call
    >>> call = read_call("s.crosstab((df.age > 30).astype(int), df.rich)", "crosstab")
    >>> read_comparison(call.arguments["index"], call).value
    30
    """
    node = call.looked_up(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "astype":
            return read_comparison(node.func.value, call)
        if node.func.attr in _METHODS and len(node.args) == 1 and not node.keywords:
            return _compared(node.func.value, _METHODS[node.func.attr], node.args[0], call)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _SIGNS:
        return None
    sign, right = type(node.ops[0]), node.comparators[0]
    return _compared(node.left, sign, right, call) or _compared(
        right, _MIRRORED[sign], node.left, call
    )


def _compared(
    left: ast.expr, sign: type[ast.cmpop], right: ast.expr, call: Call
) -> ComparedColumn | None:
    try:
        value = ast.literal_eval(call.looked_up(right))
        column, filters = referred_column(left, call)
    except (UnclearError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if column is None or not isinstance(value, bool | int | float | str):
        return None
    return ComparedColumn(column, sign, value, tuple(filters))
