"""The line of source that made an output, parsed into arguments, columns and filters. It is never run.

    s.logitr('TENURE ~ AGE', df[(df.AGE > 18) & df.SEX.isin([1, 2])])     ->     formula, and the filter AGE > 18 and SEX in [1, 2]

What is not understood is said, so that the output is left to a recipe instead of being read as something that it is not.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .conditions import NO_FILTER, UnclearError, condition_text

__all__ = ["Call", "filters_of", "read_call", "referred_column"]

LONGEST = 20_000

_TABLE = "index columns values rownames colnames aggfunc margins margins_name dropna normalize show_suppressed"
_PIVOT = "data values index columns aggfunc fill_value margins dropna margins_name observed sort"
_ARRAYS, _FORMULA = "endog exog missing check_rank", "formula data subset drop_cols"
PARAMETERS: dict[str, tuple[str, ...]] = {
    method: tuple(names.split())
    for method, names in {
        "crosstab": _TABLE,
        "pivot_table": _PIVOT,
        "ols": "endog exog missing hasconst",
        "logit": _ARRAYS,
        "probit": _ARRAYS,
        "olsr": _FORMULA,
        "logitr": _FORMULA,
        "probitr": _FORMULA,
        "surv_func": "time status output entry title freq_weights exog bw_factor filename",
    }.items()
}
"""The parameters of ACRO's functions, in order."""

_BANDS = ("cut", "qcut")
_SAME_RECORDS = ("copy", "reset_index", "add_constant")


@dataclass(frozen=True)
class Call:
    """A call of one of ACRO's functions: its arguments by name, and what names were given values in the same line."""

    method: str
    arguments: Mapping[str, ast.expr]
    names: Mapping[str, ast.expr] = field(default_factory=dict)

    def argument(self, name: str) -> ast.expr | None:
        """Return an argument, looked up if it is a name that the line sets; None if absent."""
        found = self.arguments.get(name)
        return None if found is None else self.looked_up(found)

    def looked_up(self, node: ast.expr) -> ast.expr:
        """Return what a name stands for, if the line says it."""
        for _ in range(10):
            if not (isinstance(node, ast.Name) and node.id in self.names):
                break
            node = self.names[node.id]
        return node

    def constant(self, name: str) -> object:
        """Return an argument that is a constant; None if it is absent or anything else."""
        found = self.argument(name)
        try:
            return None if found is None else ast.literal_eval(found)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None


def read_call(command: str, method: str) -> Call | None:
    """Return the call of a function in a line of source; None if the line is cut off, or calls it never or twice.

    Examples
    --------
    >>> call = read_call("t = s.crosstab(df.sex, df.rich, margins=True)", "crosstab")
    >>> list(call.arguments), call.constant("margins")
    (['index', 'columns', 'margins'], True)
    >>> read_call("t = s.crosstab(", "crosstab") is None
    True
    """
    if len(command) > LONGEST or method not in PARAMETERS:
        return None
    try:
        tree = ast.parse(command.strip())
        every = list(ast.walk(tree))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    calls = [
        node
        for node in every
        if isinstance(node, ast.Call)
        and (getattr(node.func, "attr", None) == method or getattr(node.func, "id", None) == method)
    ]
    if len(calls) != 1:
        return None
    (call,) = calls
    names = PARAMETERS[method]
    if (
        any(isinstance(argument, ast.Starred) for argument in call.args)
        or any(keyword.arg is None for keyword in call.keywords)
        or len(call.args) > len(names)
    ):
        return None
    arguments = dict(zip(names, call.args, strict=False)) | {str(word.arg): word.value for word in call.keywords}
    arguments = {
        name: node for name, node in arguments.items() if not (isinstance(node, ast.Constant) and node.value is None)
    }
    set_before = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if call not in set(ast.walk(node))
    }
    return Call(method, arguments, set_before)


def referred_column(node: ast.expr, call: Call) -> tuple[str | None, list[str]]:
    """Return the column that an expression means, None for a variable of unknown make; and the filters on its way.

    Examples
    --------
    >>> call = read_call("s.crosstab(df[df.age > 18].sex, df['rich'])", "crosstab")
    >>> [referred_column(call.arguments[name], call) for name in ("index", "columns")]
    [('sex', ['age > 18']), ('rich', [])]
    """
    node = call.looked_up(node)
    if isinstance(node, ast.Name):
        return None, []
    if isinstance(node, ast.Attribute):
        return node.attr, _frame(node.value, call)
    if isinstance(node, ast.Subscript):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value, _frame(node.value, call)
        if isinstance(node.value, ast.Attribute) and node.value.attr == "loc":
            if (
                isinstance(key, ast.Tuple)
                and len(key.elts) == 2
                and isinstance(key.elts[1], ast.Constant)
                and isinstance(key.elts[1].value, str)
            ):
                return key.elts[1].value, _frame(node.value.value, call) + _chosen(key.elts[0], call)
            column, filters = referred_column(node.value.value, call)
            return column, filters + _chosen(key, call)
        column, filters = referred_column(node.value, call)
        return column, filters + _chosen(key, call)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _SAME_RECORDS:
            return referred_column(node.func.value, call)
        if node.func.attr in _BANDS and node.args and "labels" not in {word.arg for word in node.keywords}:
            return referred_column(node.args[0], call)  # the bands are their own labels
    raise UnclearError("it is made of an expression, not of a column")


def filters_of(nodes: Sequence[ast.expr], call: Call) -> list[str]:
    """Return the filters in expressions that stand for data: tables, columns, or lists of columns."""
    found: list[str] = []
    for node in nodes:
        node = call.looked_up(node)
        if isinstance(node, ast.List | ast.Tuple):
            found += filters_of(node.elts, call)
        else:
            found += _frame(node, call)
    return list(dict.fromkeys(found))


def _frame(node: ast.expr, call: Call) -> list[str]:
    """The filters on the way to a table."""
    node = call.looked_up(node)
    if isinstance(node, ast.Name):
        return []
    if isinstance(node, ast.Attribute):
        return _frame(node.value, call)
    if isinstance(node, ast.Subscript):
        inner = node.value
        if isinstance(inner, ast.Attribute) and inner.attr == "loc":
            key = node.slice
            rows = key.elts[0] if isinstance(key, ast.Tuple) and len(key.elts) == 2 else key
            return _frame(inner.value, call) + _chosen(rows, call)
        return _frame(inner, call) + _chosen(node.slice, call)
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "query":
            return _frame(func.value, call) + _queried(node)
        called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if called == "add_constant" and node.args:
            return _frame(node.args[0], call)
        if called in _SAME_RECORDS and isinstance(func, ast.Attribute) and not node.args:
            return _frame(func.value, call)
    raise UnclearError(NO_FILTER)


def _chosen(key: ast.expr, call: Call) -> list[str]:
    """The filter in brackets; none for columns by name."""
    key = call.looked_up(key)
    names = key.elts if isinstance(key, ast.List) else [key]
    if names and all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in names):
        return []
    if isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None:
        return []
    text = condition_text(key, lambda node: _own_column(node, call), call.looked_up)
    return [] if text is None else [text]


def _own_column(node: ast.expr, call: Call) -> str | None:
    """The column of a condition; None for what is no column."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and isinstance(node.value, ast.Name)
    ):
        return node.slice.value
    return None


def _queried(node: ast.Call) -> list[str]:
    if (
        len(node.args) != 1
        or node.keywords
        or not isinstance(node.args[0], ast.Constant)
        or not isinstance(node.args[0].value, str)
        or len(node.args[0].value) > LONGEST
    ):
        raise UnclearError(NO_FILTER)
    try:
        tree = ast.parse(node.args[0].value.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UnclearError(NO_FILTER) from None
    text = condition_text(tree.body, lambda part: part.id if isinstance(part, ast.Name) else None, lambda part: part)
    return [] if text is None else [text]
