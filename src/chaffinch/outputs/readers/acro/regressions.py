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
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ...._base.errors import InputError
from ...domain import OutputDomain
from ...filters import read_filter
from ..coefficient_names import column_term, labelled_formula
from ..files.parsed import UNCONVERGED, ParsedFit
from ..placing import Placement, place_candidates
from .commands import Call, filters_of, referred_column, where_of
from .read import AcroResult, UnclearError

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
    result: AcroResult,
    fields: OutputDomain,
    call: Call | None,
    check: Callable[[dict[str, Any]], None],
) -> list[Placement]:
    """Return the output in a regression; UnclearError, with the reason, where it cannot be told."""
    try:
        fit = read_summary(KINDS[result.method], [file.rows or () for file in result.tables])
    except InputError as error:
        raise UnclearError(str(error)) from None
    written = call.constant("formula") if call is not None else None
    formula = written if isinstance(written, str) else None
    where = where_of([] if call is None else _filters(call))
    read_filter(where.get("where"), fields, output=result.uid)
    if fit.unresolved_reason:
        return [
            _unconverged_placement(
                {"name": result.uid, "kind": fit.kind, **where}, fit, formula, fields
            )
        ]
    notes: list[str] = []
    if fit.kind == "probit":
        notes.append("its standard errors, from the observed information, are not used")
    elif fit.robust:
        notes.append("its robust standard errors are not used")
    label = _label(fit, call, fields)
    if label is None and formula is None:
        raise UnclearError("its dependent variable has no name: give a recipe")
    robust, subset = bool(notes), where.get("where")
    fit = replace(fit, label=label, formula=formula, robust=robust, where=subset)

    def check_first(entries: list[dict[str, Any]]) -> dict[str, Any]:
        check(entries[0])
        return entries[0]

    entry = place_candidates(fit.entries(result.uid, fields), check_first)
    if formula is None or entry["formula"] != labelled_formula(formula, None):
        notes.append("its formula is put together from the names of its coefficients")
    return [Placement(entry, tuple(notes), fit.n)]


def _unconverged_placement(
    shared: dict[str, Any], fit: ParsedFit, formula: str | None, fields: OutputDomain
) -> Placement:
    """A fit that did not converge: what it is a fit of, which the rules can be asked about, without its numbers.

    Its formula must be written in its command: coefficients that are no numbers have no names here, and a design without them is a smaller one.
    """
    from ...document import recipes_of

    entry = {**shared, "formula": formula, **({} if fit.n is None else {"n": True})}
    try:
        recipes_of([entry], fields)
    except InputError:
        raise UnclearError(f"{UNCONVERGED}: give a recipe") from None
    return Placement(entry, (), fit.n, UNCONVERGED)


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


def _label(fit: ParsedFit, call: Call | None, fields: OutputDomain) -> str | None:
    """The label as a formula writes it."""
    name, node = fit.label, None if call is None else call.argument("endog")
    if name not in fields.names and call is not None and node is not None:
        name = referred_column(node, call)[0] or name
    return column_term(name) if name and name in fields.names else name or None


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


def read_summary(kind: str, tables: Sequence[Rows]) -> ParsedFit:
    """Return the fit in the tables of a summary; InputError where the coefficients cannot be found.

    The label is `y` where it had no name. Linear regressions do not say whether they converged: they did.

    Examples
    --------
    >>> head = [["Dep. Variable:", "y", "No. Observations:", "30"], ["Model:", "OLS", "Log-Likelihood:", "-12.5"]]
    >>> fit = read_summary("ols", [head, [["", "coef", "std err", "t"], ["x", "0.5", "0.1", "5.0"]]])
    >>> fit.n, fit.coefficients, fit.standard_errors, fit.loglik
    (30, {'x': '0.5000'}, {'x': '0.100'}, '-1.2500e+01')
    """
    numbers = next(
        (rows for rows in tables if rows and list(rows[0][1:3]) == ["coef", "std err"]), None
    )
    if numbers is None:
        raise InputError("no table with the columns coef and std err is among its files")
    # Labels end with a colon, wherever they stand: each kind of model has its own layout.
    facts = {
        cell.strip(): after.strip()
        for rows in tables
        if rows is not numbers
        for row in rows
        for cell, after in pairwise(row)
        if cell.endswith(":")
    }
    names = [row[0] for row in numbers[1:]]
    if not all(names) or len(set(names)) < len(names):
        raise InputError("its coefficients have no names, or two the same")
    estimates, errors = (
        {row[0]: number for row in numbers[1:] if (number := _number(row[k])) is not None}
        for k in (1, 2)
    )
    if len(estimates) < len(names):
        raise InputError("some of its coefficients are no numbers")
    n, loglik = _number(facts.get("No. Observations:")), _number(facts.get("Log-Likelihood:"))
    return ParsedFit(
        kind,
        facts.get("Dep. Variable:", ""),
        coefficients={name: coefficient_text(number) for name, number in estimates.items()},
        standard_errors={name: error_text(number) for name, number in errors.items()},
        n=None if n is None else round(n),
        loglik=None if loglik is None else likelihood_text(loglik),
        robust=facts.get("Covariance Type:", "nonrobust") != "nonrobust",
        unresolved_reason=UNCONVERGED if facts.get("converged:", "True") != "True" else "",
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
