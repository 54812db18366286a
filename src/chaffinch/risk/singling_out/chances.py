"""What an attacker reaches who has not looked: chances to isolate one record, in closed form.

A predicate isolates if it is true of exactly one record of the data (Cohen and Nissim). Its weight is the chance that it is true of a
record drawn from the population. Isolation by a light predicate is a finding; with weight 1/n it succeeds in 37 of 100 cases blindly.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p

from ..._base.errors import InputError


def baseline(n_rows: int, n_population: int) -> float:
    """Return the chance that one record of the population is in the data: |X| / |D| (Sedlmeyr 2024, equation 1).

    Examples
    --------
    >>> baseline(1000, 5000)
    0.2
    """
    _check(n_rows, n_population)
    return n_rows / n_population


def nobody_in(n_rows: int, n_population: int, targets: int) -> float:
    """Return the chance that none of several records of the population is in the data (Sedlmeyr 2024, equation 2, figure 5).

    The product of (|D| - |X| - i) / (|D| - i) for i below the number of targets.

    Examples
    --------
    >>> round(nobody_in(1000, 5000, 30), 4)
    0.0012
    """
    _check(n_rows, n_population)
    if not 0 <= targets <= n_population:
        raise InputError(f"There must be 0 to {n_population:,} targets. Got {targets:,}.")
    if targets > n_population - n_rows:
        return 0.0
    return exp(_log_choose(n_population - targets, n_rows) - _log_choose(n_population, n_rows))


def blind_chance(weight: float, n_rows: int) -> float:
    """Return the chance that a predicate of this weight isolates in n independent records: n w (1 - w)^(n - 1).

    Examples
    --------
    >>> round(blind_chance(1 / 1000, 1000), 3)
    0.368
    """
    if not 0 <= weight <= 1:
        raise InputError(f"A weight is a chance, 0 to 1. Got {weight:g}.")
    if weight in (0.0, 1.0):
        return float(weight == 1.0 and n_rows == 1)
    return exp(log(n_rows) + log(weight) + (n_rows - 1) * log1p(-weight))


def blind_chance_at_most(weight: float, n_rows: int) -> float:
    """Return the best chance of a blind attacker whose predicate may weigh at most this: that of `weight`, or of 1/n if that is less."""
    return blind_chance(min(weight, 1 / n_rows), n_rows)


def drawn_chance(matches: int, n_rows: int, n_population: int) -> float:
    """Return the chance that exactly one of `matches` records of the population is in a subset drawn without replacement.

    Examples
    --------
    >>> round(drawn_chance(1, 1000, 5000), 6)
    0.2
    """
    _check(n_rows, n_population)
    if not 0 <= matches <= n_population:
        raise InputError(f"There are 0 to {n_population:,} records to match. Got {matches:,}.")
    if matches == 0 or n_rows - 1 > n_population - matches:
        return 0.0
    return exp(
        log(matches)
        + _log_choose(n_population - matches, n_rows - 1)
        - _log_choose(n_population, n_rows)
    )


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _check(n_rows: int, n_population: int) -> None:
    if not 1 <= n_rows <= n_population:
        raise InputError(
            f"The data must have 1 to {n_population:,} records of the population. Got {n_rows:,}."
        )
