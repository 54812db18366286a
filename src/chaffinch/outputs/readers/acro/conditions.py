"""Conditions of pandas as our filters write them: `(df.AGE > 18) & df.SEX.isin([1, 2])` is (AGE > 18) and (SEX in [1, 2])."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from ...._base.errors import InputError

__all__ = ["UnclearError", "column_text", "condition_text"]

NO_FILTER = "filter not understood: give a recipe"

Column = Callable[[ast.expr], str | None]
LookUp = Callable[[ast.expr], ast.expr]

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_METHODS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BETWEEN = {"both": ("<=", "<="), "neither": ("<", "<"), "left": ("<=", "<"), "right": ("<", "<=")}
_WORDS = ("and", "or", "not", "in", "True", "False", "true", "false")


class UnclearError(InputError):
    """Something of an output that cannot be told from its files."""


def column_text(name: str) -> str:
    """Return a column's name as a filter writes it.

    Examples
    --------
    >>> column_text("AGE"), column_text("age at death")
    ('AGE', '`age at death`')
    """
    if re.fullmatch(r"[^\W\d]\w*", name) and name not in _WORDS:
        return name
    if "`" in name:
        raise UnclearError(f"the name of column '{name}' cannot stand in a filter")
    return f"`{name}`"


def condition_text(node: ast.expr, column: Column, looked_up: LookUp) -> str | None:
    """Return a condition in the words of our filters; None where it keeps all records without missing values."""
    node = looked_up(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        return _joined([node.left, node.right], isinstance(node.op, ast.BitAnd), column, looked_up)
    if isinstance(node, ast.BoolOp):
        return _joined(node.values, isinstance(node.op, ast.And), column, looked_up)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        inner = condition_text(node.operand, column, looked_up)
        if inner is not None:
            return f"not ({inner})"
    if isinstance(node, ast.Compare) and all(type(sign) in _SIGNS for sign in node.ops):
        sides = [_side(side, column) for side in (node.left, *node.comparators)]
        pieces = [f" {_SIGNS[type(sign)]} {side}" for sign, side in zip(node.ops, sides[1:], strict=True)]
        if not any(isinstance(sign, ast.In | ast.NotIn) for sign in node.ops) or len(node.ops) == 1:
            return sides[0] + "".join(pieces)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = column(node.func.value)
        if name is not None:
            return _method(node, column_text(name), node.func.attr)
    raise UnclearError(NO_FILTER)


def _joined(parts: Sequence[ast.expr], both: bool, column: Column, looked_up: LookUp) -> str | None:
    texts = [condition_text(part, column, looked_up) for part in parts]
    if None in texts and not both:
        raise UnclearError(NO_FILTER)
    kept = [text for text in texts if text is not None]
    if len(kept) < 2:
        return kept[0] if kept else None
    return f" {'and' if both else 'or'} ".join(f"({text})" for text in kept)


def _method(node: ast.Call, name: str, method: str) -> str | None:
    """A condition written as a method of a column."""
    words = {str(word.arg): word.value for word in node.keywords}
    if method in ("notna", "notnull") and not node.args and not words:
        return None
    if method == "isin" and len(node.args) == 1 and not words and isinstance(node.args[0], ast.List | ast.Tuple):
        return f"{name} in {_value(node.args[0])}"
    if method in _METHODS and len(node.args) == 1 and not words:
        return f"{name} {_METHODS[method]} {_value(node.args[0])}"
    if method == "between":
        ends = dict(zip(("left", "right", "inclusive"), node.args, strict=False)) | words
        kind = ends.pop("inclusive", ast.Constant("both"))
        if set(ends) == {"left", "right"} and isinstance(kind, ast.Constant) and kind.value in _BETWEEN:
            low, high = _BETWEEN[str(kind.value)]
            return f"{_value(ends['left'])} {low} {name} {high} {_value(ends['right'])}"
    raise UnclearError(NO_FILTER)


def _side(node: ast.expr, column: Column) -> str:
    name = column(node)
    return _value(node) if name is None else column_text(name)


def _value(node: ast.expr) -> str:
    """A constant as our filters write it."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        return f"[{', '.join(_value(part) for part in node.elts)}]"
    sign = ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = "-", node.operand
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str) and not sign:
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        if isinstance(value, bool) and not sign:
            return str(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            return f"{sign}{value!r}"
    raise UnclearError(NO_FILTER)
