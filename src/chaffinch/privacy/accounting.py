"""Numbers of privacy turned into one another: epsilon, rho of zero-concentrated privacy (zCDP), and delta.

Every function here is about numbers alone. A promise keeps the neighbour relation that it had before it was converted, whichever
that is; `relation.Unit` states it. Where a result is rounded, it is rounded to the safe side: an epsilon up, a rho down.

The conversions are those of Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020), Proposition 2.4;
zCDP is of Bun and Steinke (2016), bounded range of Durfee and Rogers (2019) and Cesar and Rogers (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, expm1, inf, isfinite, log, log1p, sqrt

from .._base.errors import InputError

STEPS = 80
"""Halvings of a bracket: more than a double can tell apart."""
UP = 1 + 1e-12
"""More than the rounding errors of one conversion, relative."""


def check_epsilon(value: object, name: str = "epsilon") -> float:
    """Return an epsilon (or a rho) as a float; raise unless it is a finite number above 0.

    Nothing but None, which callers handle, means "no privacy": 0 would promise that nothing can be learnt, and infinity nothing.

    Examples
    --------
    >>> check_epsilon(1)
    1.0
    """
    number = _number(value)
    if number is None or not isfinite(number) or number <= 0:
        raise InputError(
            f"{name} must be a finite number above 0. Got {_shown(value)}. To go without a promise of privacy, leave it out."
        )
    return number


def check_delta(value: object, name: str = "delta") -> float:
    """Return a delta as a float; raise unless it lies between 0 and 1, both excluded.

    Examples
    --------
    >>> check_delta(1e-9)
    1e-09
    """
    number = _number(value)
    if number is None or not 0 < number < 1:
        raise InputError(
            f"{name} must be above 0 and below 1, and far below one over the number of records. Got {_shown(value)}."
        )
    return number


def _number(value: object) -> float | None:
    """Return a plain number as a float, None for anything else: True, text, and arrays are no numbers here."""
    import numpy as np

    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        return None
    try:
        return float(value)
    except OverflowError:
        return inf


def _shown(value: object) -> str:
    return repr(value)[:40]


def pure_to_rho(epsilon: float) -> float:
    """Return the rho that every epsilon-private mechanism has: epsilon^2 / 2 (Bun and Steinke 2016, Proposition 1.4).

    Proof sketch, for either relation. Let P and Q be the laws of the output on two neighbours, Z = log(P/Q), and
    K(a) = log E_Q[exp(a Z)], so that (a - 1) times the Renyi divergence of order a is K(a). K(0) = K(1) = 0. Its second
    derivative is the variance of Z under a tilted law. If Z lies in an interval of length r, that is at most r^2 / 4, so
    K(a) - (r^2 / 8) a (a - 1) is concave in a, and 0 at 0 and at 1, hence at most 0 beyond 1: the divergence of every order a is
    at most (r^2 / 8) a, which is zCDP with rho = r^2 / 8. Pure privacy confines Z to [-epsilon, epsilon]: r = 2 epsilon.

    Examples
    --------
    >>> pure_to_rho(0.5)
    0.125
    """
    return check_epsilon(epsilon) ** 2 / 2


def selection_to_rho(epsilon: float) -> float:
    """Return the rho of an exponential mechanism that is epsilon-private: epsilon^2 / 8 (Cesar and Rogers 2020).

    It holds for the exponential mechanism, not for permute-and-flip, whose range is not bounded so: take `pure_to_rho` there.

    Proof sketch, for either relation: the lemma in `pure_to_rho` with r = epsilon. With scores of sensitivity D and scale
    2 D / epsilon, neighbours change the exponent of each candidate by at most epsilon / 2 either way, and the normaliser by one
    factor common to all candidates. So Z lies in some interval of length epsilon (bounded range, Durfee and Rogers 2019).

    Examples
    --------
    >>> selection_to_rho(1.0)
    0.125
    """
    return check_epsilon(epsilon) ** 2 / 8


def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return the smallest epsilon for which rho-zCDP is known to imply (epsilon, delta)-privacy, rounded up; 0 for a rho of 0.

    Proof sketch, for either relation. Canonne, Kamath and Steinke (2020, Proposition 2.4) show for every a > 1 that
    delta = exp((a-1)(a rho - epsilon)) / (a-1) * (1 - 1/a)^a will do. Solved for epsilon, with b = a - 1 and L = log(1/delta):
    epsilon = rho (1+b) + (L - log(1+b)) / b - log(1 + 1/b). Its derivative has the sign of rho b^2 + log(1+b) - L, which grows
    with b, so its one root gives the least epsilon. Any other b would be valid too: an inexact root costs tightness, not truth.

    Examples
    --------
    >>> round(rho_to_epsilon(0.5, 1e-6), 4)
    5.2215
    """
    bits = -log(check_delta(delta))
    if rho == 0:
        return 0.0
    rho = check_epsilon(rho, "rho")

    def slope(b: float) -> float:
        return rho * b * b + log1p(b) - bits

    # Either term alone reaches `bits` at the upper end; neither has passed half of it at the lower.
    low, high = min(sqrt(bits / rho / 2), expm1(bits / 2)), min(sqrt(bits / rho), expm1(bits))
    b = _root(slope, low, high)
    return max(0.0, rho * (1 + b) + (bits - log1p(b)) / b - log1p(1 / b)) * UP


def rho_to_delta(rho: float, epsilon: float) -> float:
    """Return the smallest delta for which rho-zCDP is known to imply (epsilon, delta)-privacy: at most 1; 0 for a rho of 0.

    The same bound as in `rho_to_epsilon`. The logarithm of delta is convex in b = a - 1, with the derivative
    (2b+1) rho - epsilon - log(1 + 1/b).

    Examples
    --------
    >>> f"{rho_to_delta(0.5, 5.22153):.4g}"
    '1e-06'
    """
    epsilon = check_epsilon(epsilon)
    if rho == 0:
        return 0.0
    rho = check_epsilon(rho, "rho")

    def slope(u: float) -> float:
        return (2 * exp(u) + 1) * rho - epsilon - log1p(exp(-u))

    b = exp(_root(slope, -700.0, log(max(1.0, (epsilon + 1) / (2 * rho)))))
    return min(1.0, exp(min(0.0, b * ((1 + b) * rho - epsilon - log1p(1 / b)) - log1p(b))) * UP)


@lru_cache(maxsize=4096)
def epsilon_to_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho whose zCDP implies (epsilon, delta)-privacy, rounded down: spending it never overspends.

    `rho_to_epsilon(epsilon_to_rho(epsilon, delta), delta) <= epsilon` holds as computed, without a tolerance.

    Examples
    --------
    >>> round(epsilon_to_rho(1.0, 1e-9), 6)
    0.014973
    """
    epsilon, bits = check_epsilon(epsilon), -log(check_delta(delta))
    # The older bound epsilon = rho + 2 sqrt(rho L) is never tighter, so the rho it allows starts the search.
    low = (epsilon / (sqrt(epsilon + bits) + sqrt(bits))) ** 2
    while rho_to_epsilon(low, delta) > epsilon:
        low /= 2
    high = 2 * low
    while rho_to_epsilon(high, delta) <= epsilon:
        low, high = high, 2 * high
    return _last(lambda rho: rho_to_epsilon(rho, delta) <= epsilon, low, high)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return about where a rising function crosses 0, by halving."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the last number for which `holds`, which holds at `low` and not at `high`."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
