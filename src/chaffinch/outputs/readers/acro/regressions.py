"""ACRO's regressions as outputs: the formula from the command, or put together again from the coefficients' names.

    C(AREAP)[T.58], C(AREAP)[T.59], AGE, C(AREAP)[T.58]:AGE     ->     C(AREAP) + AGE + C(AREAP):AGE

Which level is the reference follows from the one that has no coefficient.

The numbers stand in statsmodels' summary tables. ACRO prints the summary, reads the text again as numbers and writes these, so that trailing zeros
are gone: -0.3240 stands there as -0.324 and 3.241e+04 as 32410.0. How many digits there were follows from statsmodels' own rule
(`statsmodels.iolib.summary.forg`): a coefficient has 4 decimals, a standard error 3; below 0.0001 and from 10,000 on they have 4 and 3
significant digits. A log-likelihood has 5 significant digits.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...._base.errors import InputError
from ...._base.results import without_none
from ...domain import Fields
from ...filters import read_filter
from ..coefficient_names import CONSTANT, INTERCEPT, column_term, rebuilt_formula
from ..files.parsed import UNCONVERGED
from .commands import Call, filters_of, referred_column, where_of
from .read import AcroResult, UnclearError
from .tables import ReadOutput

KINDS = {
    "ols": "ols",
    "olsr": "ols",
    "logit": "logit",
    "logitr": "logit",
    "probit": "probit",
    "probitr": "probit",
}

Rows = Sequence[Sequence[str]]

_NOISE = 1e-12
"""Numbers this small are what arithmetic leaves of a zero."""


def regression_outputs(
    result: AcroResult, fields: Fields, call: Call | None, check: Callable[[dict[str, Any]], None]
) -> list[ReadOutput]:
    """Return the output in a regression; UnclearError, with the reason, where it cannot be told."""
    try:
        summary = read_summary([file.rows or () for file in result.tables])
    except InputError as error:
        raise UnclearError(str(error)) from None
    kind = KINDS[result.method]
    where = where_of([] if call is None else _filters(call))
    subset = read_filter(where.get("where"), fields, output=result.uid)
    if not summary.converged:
        return [_unconverged({"name": result.uid, "kind": kind, **where}, summary, call, fields)]
    numbers = without_none({"n": summary.n, "loglik": summary.loglik})
    shared = {"name": result.uid, "kind": kind, **where, **numbers}
    notes: list[str] = []
    if kind == "probit":
        notes.append("its standard errors, from the observed information, are not used")
    elif not summary.plain_errors:
        notes.append("its robust standard errors are not used")
    errors = {} if notes else summary.standard_errors
    written = call.constant("formula") if call is not None else None
    faults: list[InputError] = []
    if isinstance(written, str):
        entry = _entry(shared, written, summary.coefficients, errors, {})
        try:
            check(entry)
            return [ReadOutput(entry, tuple(notes), summary.n)]
        except (
            InputError
        ) as error:  # levels in another order, or numbers that were words: their names tell
            faults.append(error)
    try:
        formula, names = rebuilt_formula(
            _label(summary, call, fields), list(summary.coefficients), fields, subset
        )
        entry = _entry(shared, formula, summary.coefficients, errors, names)
        check(entry)
    except InputError as error:
        faults.append(error)
        raise faults[0] from None
    notes.append("its formula is put together from the names of its coefficients")
    return [ReadOutput(entry, tuple(notes), summary.n)]


def _unconverged(
    shared: dict[str, Any], summary: Summary, call: Call | None, fields: Fields
) -> ReadOutput:
    """A fit that did not converge: what it is a fit of, which the rules can be asked about, without its numbers.

    Its formula must be written in its command: coefficients that are no numbers have no names here, and a design without them is a smaller one.
    """
    from ...document import recipes_of

    entry = {**shared, "formula": call.constant("formula") if call is not None else None}
    entry |= {} if summary.n is None else {"n": True}
    try:
        recipes_of([entry], fields)
    except InputError:
        raise UnclearError(f"{UNCONVERGED}: give a recipe") from None
    return ReadOutput(entry, (), summary.n, UNCONVERGED)


def _entry(
    shared: dict[str, Any],
    formula: str,
    coefficients: dict[str, str],
    errors: dict[str, str],
    names: dict[str, str],
) -> dict[str, Any]:
    names = {CONSTANT: INTERCEPT} | names
    entry = {
        **shared,
        "formula": formula,
        "coefficients": {names.get(k, k): text for k, text in coefficients.items()},
    }
    return entry | (
        {"standard_errors": {names.get(k, k): text for k, text in errors.items()}} if errors else {}
    )


def _filters(call: Call) -> list[str]:
    if call.argument("drop_cols") is not None:
        raise UnclearError("columns were dropped from its design: give a recipe")
    filters = filters_of(
        [call.arguments[key] for key in ("data", "exog") if key in call.arguments], call
    )
    label = call.argument("endog")
    if label is not None:
        filters += referred_column(label, call)[1]
    subset = call.argument("subset")
    if subset is not None:  # a condition, as one in brackets
        filters += filters_of([ast.Subscript(ast.Name("data"), subset)], call)
    return list(dict.fromkeys(filters))


def _label(summary: Summary, call: Call | None, fields: Fields) -> str:
    """The label as a formula writes it."""
    name: str | None = summary.label
    if (
        name not in fields.names
        and call is not None
        and (node := call.argument("endog")) is not None
    ):
        name = referred_column(node, call)[0] or name
    if not name:
        raise UnclearError("its dependent variable has no name: give a recipe")
    return column_term(name) if name in fields.names else name


def formula_words(formula: str) -> list[str]:
    """Return all names in a formula, those in quotes too: among them are its columns."""
    return re.findall(r"[^\W\d]\w*", formula) + [
        quoted[1] for quoted in re.findall(r"(['\"])(.+?)\1", formula)
    ]


def coefficient_text(number: float) -> str:
    """Return a coefficient with the digits that statsmodels printed.

    Examples
    --------
    >>> coefficient_text(-0.324), coefficient_text(32410.0), coefficient_text(3.67e-05)
    ('-0.3240', '3.241e+04', '3.670e-05')
    """
    return _text(number, 4)


def error_text(number: float) -> str:
    """Return a standard error with the digits that statsmodels printed.

    Examples
    --------
    >>> error_text(0.82), error_text(3221.72), error_text(20000.0)
    ('0.820', '3221.720', '2.00e+04')
    """
    return _text(number, 3)


def likelihood_text(number: float) -> str:
    """Return a log-likelihood with the digits that statsmodels printed.

    Examples
    --------
    >>> likelihood_text(-941.7), likelihood_text(-36356.0)
    ('-9.4170e+02', '-3.6356e+04')
    """
    return f"{number:.4e}"


def _text(number: float, digits: int) -> str:
    size = abs(number)
    if size < _NOISE:
        return f"{0.0:.{digits}f}"
    # 0.0001 may have been printed by either rule: decimals leave the wider interval. At 10,000 digits do.
    return f"{number:.{digits - 1}e}" if size >= 1e4 or size < 1e-4 else f"{number:.{digits}f}"


@dataclass(frozen=True)
class Summary:
    """What a summary says, numbers as texts with their digits.

    The label is `y` where it had no name. Linear regressions do not say whether they converged: they did. Standard errors that are not plain
    are robust.
    """

    label: str
    model: str
    n: int | None
    coefficients: dict[str, str]
    standard_errors: dict[str, str]
    loglik: str | None
    converged: bool
    plain_errors: bool


def read_summary(tables: Sequence[Rows]) -> Summary:
    """Return what the tables of a summary say; InputError where the coefficients cannot be found.

    Examples
    --------
    >>> head = [["Dep. Variable:", "y", "No. Observations:", "30"], ["Model:", "OLS", "Log-Likelihood:", "-12.5"]]
    >>> summary = read_summary([head, [["", "coef", "std err", "t"], ["x", "0.5", "0.1", "5.0"]]])
    >>> summary.n, summary.coefficients, summary.standard_errors, summary.loglik
    (30, {'x': '0.5000'}, {'x': '0.100'}, '-1.2500e+01')
    """
    numbers = next(
        (rows for rows in tables if rows and list(rows[0][1:3]) == ["coef", "std err"]), None
    )
    if numbers is None:
        raise InputError("no table with the columns coef and std err is among its files")
    facts: dict[str, str] = {}
    for rows in tables:
        if rows is not numbers:
            for row in rows:  # labels end with a colon, wherever they stand: each kind of model has its own layout
                facts.update(
                    {
                        cell.strip(): after.strip()
                        for cell, after in pairwise(row)
                        if cell.endswith(":")
                    }
                )
    names = [row[0] for row in numbers[1:]]
    if not all(names) or len(set(names)) < len(names):
        raise InputError("its coefficients have no names, or two the same")
    n, loglik = _number(facts.get("No. Observations:")), _number(facts.get("Log-Likelihood:"))
    coefficients = {row[0]: _number(row[1]) for row in numbers[1:]}
    errors = {row[0]: _number(row[2]) for row in numbers[1:]}
    if any(number is None for number in coefficients.values()):
        raise InputError("some of its coefficients are no numbers")
    return Summary(
        label=facts.get("Dep. Variable:", ""),
        model=facts.get("Model:", ""),
        n=None if n is None else round(n),
        coefficients={
            name: coefficient_text(number)
            for name, number in coefficients.items()
            if number is not None
        },
        standard_errors={
            name: error_text(number) for name, number in errors.items() if number is not None
        },
        loglik=None if loglik is None else likelihood_text(loglik),
        converged=facts.get("converged:", "True") == "True",
        plain_errors=facts.get("Covariance Type:", "nonrobust") == "nonrobust",
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
