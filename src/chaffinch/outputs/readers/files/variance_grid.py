"""One-way analyses of variance, in a sheet or in text: degrees of freedom, sums of squares, mean squares and F by source of variance."""

from __future__ import annotations

import re
from typing import Any

from .numbers import PrintedText, number_text, parse_count, same_position
from .parsed import ParsedTest
from .printed_grid import TOTALS, PrintedGrid, decimal_sign
from .protocol import Annotation, LineError, OpenQuestionError

_COLUMNS = {
    "df": "dof",
    "sum sq": "ss",
    "sumsq": "ss",
    "sum_sq": "ss",
    "sum of squares": "ss",
    "ss": "ss",
    "mean sq": "ms",
    "meansq": "ms",
    "mean_sq": "ms",
    "mean square": "ms",
    "ms": "ms",
    "f value": "statistic",
    "f": "statistic",
    "statistic": "statistic",
    "pr(>f)": "p_value",
    "p.value": "p_value",
    "sig.": "p_value",
    "prob > f": "p_value",
}
"""What the columns of a table of variance are called, in small letters, and what they hold."""
_WITHIN = ("residuals", "residual", "within groups")
_BETWEEN = "between groups"
_INTERCEPTS = ("intercept", "(intercept)")
_FACTOR = re.compile(r"(?:as\.factor|factor|ordered|C)\(\s*([^\W\d][\w.]*)\s*(?:,.*)?\)")
_ABSENT = ("", "nan", "na")


def is_variance_table(grid: PrintedGrid) -> bool:
    """Return whether a table has degrees of freedom, sums of squares and F, with a row of residuals."""
    names = {_COLUMNS.get(name.lower()) for name in grid.columns}
    has_residuals = any(row.lower() in _WITHIN for row in grid.rows)
    return has_residuals and {"dof", "ss", "statistic"} <= names


def parse_variance(
    grid: PrintedGrid, annotation: Annotation, *, variable: str | None = None, by: str | None = None
) -> ParsedTest:
    """Return the analysis of the column `of` between groups of `by`, where the program says these; OpenQuestionError for one of several terms."""
    understood = "an analysis of variance"
    sign = decimal_sign(grid.all_cells, annotation, f"{understood}.")
    names = [_COLUMNS.get(name.lower(), "") for name in grid.columns]
    rows = {
        label: dict(zip(names, cells, strict=True))
        for label, cells in zip(grid.rows, grid.cells, strict=True)
        if label.lower() not in (*TOTALS, *_INTERCEPTS, "corrected total")
    }
    within = next((row for label, row in rows.items() if label.lower() in _WITHIN), None)
    terms = [label for label in rows if label.lower() not in _WITHIN]
    if len(terms) != 1 or within is None:
        raise OpenQuestionError(
            f"{understood} of {len(terms)} terms.",
            "Those of one factor are read: describe it in a file of outputs.",
        )
    (term,), between = terms, rows[terms[0]]
    numbers: dict[str, Any] = {}
    for group, row in (("between", between), ("within", within)):
        numbers[f"dof_{group}"] = parse_count(_number(row["dof"], sign))
        for key in ("ss", "ms"):
            if row.get(key, "").lower() not in _ABSENT:
                numbers[f"{key}_{group}"] = _number(row[key], sign)
    numbers["statistic"] = _number(between["statistic"], sign)
    if between.get("p_value", "").lower() not in _ABSENT:
        numbers["p_value"] = _p_value(between["p_value"], sign)
    column = _factor(term, numbers["dof_between"], annotation) or by
    groups = annotation.by or ([annotation.columns.get(column, column)] if column else [])
    label = annotation.variable or (
        None if variable is None else annotation.columns.get(variable, variable)
    )
    n = annotation.n or numbers["dof_between"] + numbers["dof_within"] + 1
    title = "one-way analysis of variance"
    return ParsedTest("anova", title, numbers, tuple(groups), label, n, annotation.where)


def _number(cell: PrintedText, sign: str) -> str:
    number = number_text(cell, sign)
    if number is None:
        raise LineError(cell.position.line, "a cell of the analysis of variance is no number.")
    return number


def _p_value(cell: PrintedText, sign: str) -> str:
    """A p-value as printed, or the bound below which it lies."""
    bound = cell.startswith("<")
    number = _number(PrintedText(cell.lstrip("< "), *cell.position), sign)
    return same_position(cell, f"<{number}") if bound else number


def _factor(term: str, dof: int, annotation: Annotation) -> str | None:
    """The column of a term; None where the program calls it groups alone, OpenQuestionError where it may be a number."""
    if term.lower() == _BETWEEN:
        return None
    if match := _FACTOR.fullmatch(term):
        return match[1]
    is_column = re.fullmatch(r"[^\W\d][\w.]*", term)
    if not is_column or term.lower() == "regression":
        raise OpenQuestionError(
            "an analysis of variance of a term that is no factor.",
            "Those of one factor are read: describe it in a file of outputs.",
        )
    if dof == 1 and annotation.kind is None:
        raise OpenQuestionError(
            "an analysis of variance with one degree of freedom between groups.",
            "Is its term a factor of two levels, or a number?",
            {"kind": "anova", "by": [term]},
        )
    return term
