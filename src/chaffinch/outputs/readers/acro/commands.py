"""The line of source that made an output, parsed into arguments, columns, filters and comparisons. It is never run.

    s.logitr('TENURE ~ AGE', df[(df.AGE > 18) & df.SEX.isin([1, 2])])     ->     formula, and the filter (AGE > 18) and (SEX in [1, 2])
    s.crosstab(df.wife_age > 30, df.uses)                                 ->     wife_age in two groups, False: up to 30, True: above
    s.surv_func(df.years, df.state == "ill")                              ->     the event is the level "ill" of state

What is not understood is said, so that the output is left to a recipe instead of being read as something that it is not.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...domain import OutputColumn
from .read import UnclearError, check_clear

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

_SAME_VALUES = ("astype", "rename", "to_numpy")
"""Methods of a column after which it has the same levels, in other clothes."""

NO_FILTER = "filter not understood: give a recipe"

Column = Callable[[ast.expr], str | None]
LookUp = Callable[[ast.expr], ast.expr]

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_METHODS = {"eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE}
_BETWEEN = {"both": ("<=", "<="), "neither": ("<", "<"), "left": ("<=", "<"), "right": ("<", "<=")}
_WORDS = ("and", "or", "not", "in", "True", "False", "true", "false")


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
class Call:
    """A call of one of ACRO's functions: its arguments by name, and what names were given values in the same line."""

    method: str
    arguments: Mapping[str, ast.expr]
    names: Mapping[str, ast.expr] = field(default_factory=dict)

    def argument(self, name: str) -> ast.expr | None:
        """Return an argument, looked up if it is a name that the line sets; None if absent."""
        node = self.arguments.get(name)
        return None if node is None else self.looked_up(node)

    def looked_up(self, node: ast.expr) -> ast.expr:
        """Return what a name stands for, if the line says it."""
        for _ in range(10):
            if not (isinstance(node, ast.Name) and node.id in self.names):
                break
            node = self.names[node.id]
        return node

    def constant(self, name: str) -> object:
        """Return an argument that is a constant; None if it is absent or anything else."""
        node = self.argument(name)
        try:
            return None if node is None else ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None


def _parse_code(text: str, mode: Literal["exec", "eval"]) -> ast.AST | None:
    try:
        return ast.parse(text.strip(), mode=mode) if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _string(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


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
    tree = _parse_code(command, "exec")
    if not isinstance(tree, ast.Module) or method not in PARAMETERS:
        return None
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and method in (getattr(node.func, "attr", None), getattr(node.func, "id", None))
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
    arguments = dict(zip(names, call.args, strict=False)) | {
        str(word.arg): word.value for word in call.keywords
    }
    arguments = {
        name: node
        for name, node in arguments.items()
        if not (isinstance(node, ast.Constant) and node.value is None)
    }
    set_before = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
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
        if (name := _string(node.slice)) is not None:
            return name, _frame(node.value, call)
        inner, rows, marks = _split_index(node)
        if marks is not None and (name := _string(marks)) is not None:
            return name, _frame(inner, call) + _index_filter(rows, call)
        column, filters = referred_column(inner, call)
        return column, filters + _index_filter(node.slice, call)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in (*_SAME_RECORDS, *_SAME_VALUES):
            return referred_column(node.func.value, call)
        if (
            node.func.attr in _BANDS
            and node.args
            and "labels" not in {word.arg for word in node.keywords}
        ):
            return referred_column(node.args[0], call)  # the bands are their own labels
    raise UnclearError("it is made of an expression, not of a column")


def _split_index(node: ast.Subscript) -> tuple[ast.expr, ast.expr, ast.expr | None]:
    """What is in front of brackets, the rows in them, and the columns beside these."""
    inner, key = node.value, node.slice
    if not (isinstance(inner, ast.Attribute) and inner.attr == "loc"):
        return inner, key, None
    if isinstance(key, ast.Tuple) and len(key.elts) == 2:
        return inner.value, key.elts[0], key.elts[1]
    return inner.value, key, None


def filters_of(nodes: Sequence[ast.expr], call: Call) -> list[str]:
    """Return the filters in expressions that stand for data: tables, columns, or lists of columns."""
    filters: list[str] = []
    for node in map(call.looked_up, nodes):
        filters += (
            filters_of(node.elts, call)
            if isinstance(node, ast.List | ast.Tuple)
            else _frame(node, call)
        )
    return list(dict.fromkeys(filters))


def where_of(filters: Sequence[str]) -> dict[str, str]:
    """Return the key of an entry that has all of some filters: none without any."""
    text = _with_word(list(dict.fromkeys(filters)), "and")
    return {} if text is None else {"where": text}


def _frame(node: ast.expr, call: Call) -> list[str]:
    """The filters on the way to a table."""
    node = call.looked_up(node)
    if isinstance(node, ast.Name):
        return []
    if isinstance(node, ast.Attribute):
        return _frame(node.value, call)
    if isinstance(node, ast.Subscript):
        inner, rows, _ = _split_index(node)
        return _frame(inner, call) + _index_filter(rows, call)
    if isinstance(node, ast.Call):
        func = node.func
        called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if called == "add_constant" and node.args:
            return _frame(node.args[0], call)
        if isinstance(func, ast.Attribute) and called == "query":
            return _frame(func.value, call) + _query_filter(node)
        if isinstance(func, ast.Attribute) and called in _SAME_RECORDS and not node.args:
            return _frame(func.value, call)
    raise UnclearError(NO_FILTER)


def _index_filter(key: ast.expr, call: Call) -> list[str]:
    """The filter in brackets; none for columns by name."""
    key = call.looked_up(key)
    names = key.elts if isinstance(key, ast.List) else [key]
    if names and all(_string(element) is not None for element in names):
        return []
    if isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None:
        return []
    text = condition_text(key, _own_column, call.looked_up)
    return [] if text is None else [text]


def _own_column(node: ast.expr) -> str | None:
    """The column of a condition; None for what is no column."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr
    return (
        _string(node.slice)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
        else None
    )


def _query_filter(node: ast.Call) -> list[str]:
    query = _string(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    tree = None if query is None else _parse_code(query, "eval")
    if not isinstance(tree, ast.Expression):
        raise UnclearError(NO_FILTER)
    text = condition_text(tree.body, lambda word: getattr(word, "id", None), lambda word: word)
    return [] if text is None else [text]


def column_text(name: str) -> str:
    """Return a column's name as a filter writes it, in backticks where it is no word."""
    if re.fullmatch(r"[^\W\d]\w*", name) and name not in _WORDS:
        return name
    if "`" in name:
        raise UnclearError(f"the name of column '{name}' cannot stand in a filter")
    return f"`{name}`"


def condition_text(node: ast.expr, column: Column, looked_up: LookUp) -> str | None:
    """Return a condition in the words of our filters; None where it keeps all records without missing values."""
    node = looked_up(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        return _join_conditions(
            [node.left, node.right], isinstance(node.op, ast.BitAnd), column, looked_up
        )
    if isinstance(node, ast.BoolOp):
        return _join_conditions(node.values, isinstance(node.op, ast.And), column, looked_up)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        inner = condition_text(node.operand, column, looked_up)
        if inner is not None:
            return f"not ({inner})"
    if isinstance(node, ast.Compare) and all(type(sign) in _SIGNS for sign in node.ops):
        operands = [
            _value(side) if (name := column(side)) is None else column_text(name)
            for side in (node.left, *node.comparators)
        ]
        pieces = [
            f" {_SIGNS[type(sign)]} {side}"
            for sign, side in zip(node.ops, operands[1:], strict=True)
        ]
        if not any(isinstance(sign, ast.In | ast.NotIn) for sign in node.ops) or len(node.ops) == 1:
            return operands[0] + "".join(pieces)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = column(node.func.value)
        if name is not None:
            return _method(node, column_text(name), node.func.attr)
    raise UnclearError(NO_FILTER)


def _join_conditions(
    parts: Sequence[ast.expr], both: bool, column: Column, looked_up: LookUp
) -> str | None:
    texts = [condition_text(condition, column, looked_up) for condition in parts]
    if None in texts and not both:
        raise UnclearError(NO_FILTER)
    return _with_word([text for text in texts if text is not None], "and" if both else "or")


def _with_word(filters: Sequence[str], word: str) -> str | None:
    return (
        f" {word} ".join(f"({text})" for text in filters)
        if len(filters) > 1
        else next(iter(filters), None)
    )


def _method(node: ast.Call, name: str, method: str) -> str | None:
    """A condition written as a method of a column."""
    keywords = {str(word.arg): word.value for word in node.keywords}
    if method in ("notna", "notnull") and not node.args and not keywords:
        return None
    if (
        method == "isin"
        and len(node.args) == 1
        and not keywords
        and isinstance(node.args[0], ast.List | ast.Tuple)
    ):
        return f"{name} in {_value(node.args[0])}"
    if method in _METHODS and len(node.args) == 1 and not keywords:
        return f"{name} {_SIGNS[_METHODS[method]]} {_value(node.args[0])}"
    if method == "between":
        ends = dict(zip(("left", "right", "inclusive"), node.args, strict=False)) | keywords
        kind = ends.pop("inclusive", ast.Constant("both"))
        if (
            set(ends) == {"left", "right"}
            and isinstance(kind, ast.Constant)
            and kind.value in _BETWEEN
        ):
            low, high = _BETWEEN[str(kind.value)]
            return f"{_value(ends['left'])} {low} {name} {high} {_value(ends['right'])}"
    raise UnclearError(NO_FILTER)


def _value(node: ast.expr) -> str:
    """A constant as our filters write it."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        return f"[{', '.join(_value(element) for element in node.elts)}]"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number: Any = getattr(node.operand, "value", None)
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if is_number and abs(number) < 1e300:
            return f"-{number!r}"
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if isinstance(value, int | float) and abs(value) < 1e300:
        return repr(value)
    raise UnclearError(NO_FILTER)


@dataclass(frozen=True)
class ComparedColumn:
    """A column beside a constant, and the filters on its way."""

    column: str
    sign: type[ast.cmpop]
    value: Any
    filters: tuple[str, ...] = ()

    def holds(self, field: OutputColumn) -> list[bool]:
        """Return of which levels it is true; UnclearError where levels cannot be compared with the constant."""
        try:
            return [bool(_OPERATORS[self.sign](level, self.value)) for level in field.levels]
        except TypeError:
            raise UnclearError(
                f"its command compares column '{field.name}' with what is no level of it: give a recipe"
            ) from None

    def groups(self, field: OutputColumn, labels: Sequence[str]) -> dict[str, list[Any]]:
        """Return the levels behind True and False, as a table calls them.

        Examples
        --------
        >>> ComparedColumn("age", ast.Gt, 30).groups(OutputColumn("age", (20, 30, 40, 50)), ["False", "True"])
        {'False': [20, 30], 'True': [40, 50]}
        """
        true = self.holds(field)
        groups: dict[str, list[Any]] = {}
        for label in labels:
            places = [k for k, is_true in enumerate(true) if is_true == (label in _TRUE)]
            first, last = (places[0], places[-1]) if places else (0, -1)
            check_clear(
                (
                    label not in (*_TRUE, *_FALSE),
                    f"its command compares column '{field.name}', and its table has other labels than True and False: give a recipe",
                ),
                (
                    not places,
                    f"no level of column '{field.name}' is where its table has people: give a recipe",
                ),
                (
                    field.numeric and places != list(range(first, last + 1)),
                    f"it tells one value of column '{field.name}' from those on both sides: give a recipe",
                ),
            )
            inside = [first, last] if field.numeric else places
            groups[label] = [field.levels[k] for k in inside]
        return groups

    def level(self, field: OutputColumn) -> Any:
        """Return the only level of which it is true."""
        (*levels,) = (
            level for level, is_held in zip(field.levels, self.holds(field), strict=True) if is_held
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
            return _comparison(node.func.value, _METHODS[node.func.attr], node.args[0], call)
    if (
        not isinstance(node, ast.Compare)
        or len(node.ops) != 1
        or type(node.ops[0]) not in _OPERATORS
    ):
        return None
    sign, right = type(node.ops[0]), node.comparators[0]
    return _comparison(node.left, sign, right, call) or _comparison(
        right, _MIRRORED[sign], node.left, call
    )


def _comparison(
    operand: ast.expr, sign: type[ast.cmpop], right: ast.expr, call: Call
) -> ComparedColumn | None:
    try:
        value = ast.literal_eval(call.looked_up(right))
        column, filters = referred_column(operand, call)
    except (UnclearError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if column is None or not isinstance(value, bool | int | float | str):
        return None
    return ComparedColumn(column, sign, value, tuple(filters))
