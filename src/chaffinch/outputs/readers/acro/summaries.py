"""statsmodels' summary tables, as ACRO stores them: coefficients with the digits they were printed with, n by its label.

ACRO prints the summary, reads the text again as numbers and writes these, so that trailing zeros are gone: -0.3240 stands there as
-0.324 and 3.241e+04 as 32410.0. How many digits there were follows from statsmodels' own rule (`statsmodels.iolib.summary.forg`): a coefficient
has 4 decimals, a standard error 3; below 0.0001 and from 10,000 on they have 4 and 3 significant digits. A log-likelihood has 5
significant digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...._base.errors import InputError

Rows = Sequence[Sequence[str]]

_NOISE = 1e-12
"""Numbers this small are what arithmetic leaves of a zero."""


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
