"""Numbers of privacy turned into one another: epsilon, delta, rho of zero-concentrated privacy (zCDP) and mu of Gaussian privacy.

Every function here is about numbers alone. A promise keeps the neighbour relation that it had before it was converted, whichever
that is; `relation.PrivacyUnit` states it. Where a result is rounded, it is rounded to the safe side: an epsilon up, a rho down.

The conversions are those of Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020), Proposition 2.4;
zCDP is of Bun and Steinke (2016), bounded range of Durfee and Rogers (2019) and Cesar and Rogers (2020).

**Gaussian privacy**: how charges add up exactly where noise is Gaussian, and what whole-numbered noise and choices cost in it. A mechanism is mu-GDP if no test tells its outputs on two neighbours apart better than one draw of N(0, 1) from one of N(mu, 1) (Dong, Roth
and Su 2022). Amounts here are mu^2 / 2: what normal noise costs as the rho of zCDP, and like it they add up. The conversions keep the
neighbour relation that a promise had; an epsilon and a delta are rounded up, an amount of noise that may be spent down.

**Sum.** Steps, each chosen after seeing the answers of the earlier ones, whose amounts never pass a total A that stands beforehand, are
sqrt(2A)-GDP together (also Smith and Thakurta 2022). Proof, for a pair of neighbours D, D'. A step that is mu_i-GDP is, by Blackwell's theorem, a
randomised function of one draw from N(0, 1) on D' and N(mu_i, 1) on D, so let its observer have that draw, and after the last step one
more that fills the total up: more to see is never safer. Given the past, the step's logarithm of the likelihood ratio is
mu_i z - mu_i^2 / 2 with z ~ N(0, 1) on D'. Let U be the sum of mu_i z over all steps. E exp(i t U + t^2 sum mu_i^2 / 2) = 1, step by step from the last; as
the sum of mu_i^2 is 2A whatever was seen, U is exactly N(0, 2A), and on D, where each z has mean mu_i, N(2A, 2A). The likelihood ratio
of everything that was seen is that of this one draw, so nothing tells D from D' better than it.

**From amounts to epsilon.** delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018, Theorem 8).

**Whole-numbered noise.** Discrete Gaussian noise is not exactly mu-GDP. Up to a factor close to 1 it is normal noise, rounded at random
without a look at data (the convolution of Peikert 2010, Theorem 3.1, with its factor worked out). Let x be whole, y ~ N(x, s^2), and round y to k
with probability exp(-(k - y)^2 / 2t^2) / theta(y), where theta(y) is the sum over all k. Multiplying the two normal densities, k has
probability proportional to exp(-(k - x)^2 / 2(s^2 + t^2)) E[1 / theta(Y)], with Y normal around a point between x and k, of variance v = s^2 t^2 /
(s^2 + t^2). By Poisson summation theta is a constant times 1 + w, w(y) = 2 sum q^(m^2) cos(2 pi m y) over m >= 1, q = exp(-2 pi^2 t^2). With
W = 2q / (1 - q) >= sum |coefficients of w|, those of 1 / (1 + w) other than the mean sum up to at most W / (1 - W), the mean is at
least 1 (Jensen), and the expectation multiplies the m-th by exp(-2 pi^2 v m^2) <= r = exp(-2 pi^2 v). So E[1 / theta(Y)] is a constant times
1 + e, |e| <= h = r W / (1 - W), and each probability differs from that of the discrete Gaussian with sigma^2 = s^2 + t^2 by a factor
within (1 + h) / (1 - h), up or down: `rounding_variance` gives the t^2 that keeps its logarithm to `loss`.

Cells in which neighbours agree have the same law on both and tell nothing, so only the cells M that a person can change count.
If the logarithms add up to at most l over all steps, P(S) <= e^l P~(S) <= e^l (e^eps Q~(S) + delta) <= e^(eps + 2l) Q(S) + e^l delta.

**Choices.** The losses of an exponential mechanism that is w-private lie in an interval of length w (Durfee and Rogers 2019), those of
any epsilon-private mechanism in one of length 2 epsilon. P/Q has mean 1 under Q, so among losses in [c - w, c] two outcomes at the ends are
the easiest to tell apart: convex functions of P/Q, which all delta(epsilon) are, are largest there. Two outcomes with probabilities p and q
have odds e^w apart, logit p - logit q = w, and a trade-off of errors of two straight lines, above the convex one of mu-GDP if their corner is:
Phi^-1(p) - Phi^-1(q) <= mu. The derivative of Phi^-1 by the logit is p (1 - p) / phi(Phi^-1(p)): largest at 1/2, where it is sqrt(2 pi) / 4, and
falling to both sides, so the worst window is the middle one, p = 1 - q, and mu = 2 Phi^-1(1 / (1 + e^(-w/2))) <= w sqrt(2 pi) / 4.
A choice so costs up to pi / 2 times its rho of w^2 / 8: by itself, or if it comes last.

**Choices with something left.** Followed by steps that may cost up to r, whatever they are, a choice of width w costs no more than
a = (w^2 / 8) / (1 - w^2 / 8r), about its rho if r is large. Proof. Let F(x, r) be delta(epsilon - x) of an amount r: what can be reached with
r left if the loss so far is x. Steps of noise keep it (E F(x + loss, r - a) = F(x, r)), and stopping early is no better, so it is enough that for
all x the choice does not raise it: E F(x + loss, r) <= F(x, r + a). That says that the likelihood ratio X of the choice and of a normal draw
with m^2 = 2r together is below Y, that of a normal draw with n^2 = 2(r + a), in the convex order, both under Q and so with mean 1. Of
the choice it may have two outcomes at the ends of its interval. log X is then a mixture of two normal laws of variance m^2, w apart, and log Y is
normal with variance n^2. The logarithm of the ratio of their densities is a parabola with second derivative 1/n^2 - 1/m^2 plus the logarithm
of a sum of two exponentials with rates w/m^2 apart, whose second derivative is at most (w/m^2)^2 / 4: it is concave if w^2 / 4m^4 <= 1/m^2 -
1/n^2, which is the price above. Then the densities cross at most twice, X lies below Y in both tails, and equal means make it the convex order
(Shaked and Shanthikumar 2007, Theorem 3.A.44). Solved for the width, with R = r + a left before the choice: w^2 / 8 = a (1 - a / R).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, expm1, inf, isfinite, log, log1p, pi, sqrt

from .._base.errors import InputError

STEPS = 80
"""Halvings of a bracket: more than a double can distinguish."""
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
            f"{name} must be a finite number above 0. Got {_show_value(value)}. To go without a promise of privacy, leave it out."
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
            f"{name} must be above 0 and below 1, and far below one over the number of records. Got {_show_value(value)}."
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


def _show_value(value: object) -> str:
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


SMALL = 1e-3
"""The mu below which two values of erfcx are not subtracted, since they share too many digits."""
CAREFUL = 1e-9
"""More than the rounding errors of the special functions here, relative."""
LEAST_VARIANCE = 0.1
"""The smallest variance for rounding that is looked at: W of the proof is well below 1 from here on."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta at epsilon of mu-GDP (Balle and Wang 2018, Theorem 8), rounded up.

    Both terms have the factor exp(-u^2 / 2), u = epsilon / mu - mu / 2: delta is that times half of erfcx(u / sqrt 2) - erfcx(v / sqrt 2), v = u + mu.
    For a small mu the difference is minus the integral of the derivative, which is convex: a trapezium lies above.

    Examples
    --------
    >>> f"{gaussian_delta(1.0, 1.0):.6f}"  # Phi(-1/2) - e Phi(-3/2)
    '0.126937'
    """
    from scipy.special import erfcx, log_ndtr, ndtr

    u, v = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if mu < SMALL:
        heights = [2 / sqrt(pi) - sqrt(2) * x * float(erfcx(x / sqrt(2))) for x in (u, v)]
        delta = exp(-u * u / 2) / 2 * mu / sqrt(2) * max(0.0, sum(heights) / 2 + 1e-15)
    elif u < 0:
        delta = float(ndtr(-u)) - exp(epsilon + float(log_ndtr(-v)))
    else:
        delta = exp(-u * u / 2) / 2 * float(erfcx(u / sqrt(2)) - erfcx(v / sqrt(2)))
    return min(1.0, max(0.0, delta) * (1 + CAREFUL))


def amount_to_epsilon(amount: float, delta: float) -> float:
    """Return the smallest epsilon at delta of an amount of Gaussian privacy, rounded up; 0 for an amount of 0.

    Examples
    --------
    >>> round(amount_to_epsilon(0.5, 1e-6), 4)  # 5.2215 by zCDP
    4.8866
    """
    delta = check_delta(delta)
    if amount == 0:
        return 0.0
    mu = sqrt(2 * check_epsilon(amount, "amount"))
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = (
        0.0,
        rho_to_epsilon(amount, delta),
    )  # what holds for every mechanism with this rho holds for the normal one
    while gaussian_delta(mu, high) > delta:  # by rounding alone
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high * UP


@lru_cache(maxsize=4096)
def epsilon_to_amount(epsilon: float, delta: float) -> float:
    """Return the largest amount of Gaussian privacy that implies (epsilon, delta)-privacy, rounded down.

    `amount_to_epsilon(epsilon_to_amount(epsilon, delta), delta) <= epsilon` holds as computed, without a tolerance.

    Examples
    --------
    >>> round(epsilon_to_amount(1.0, 1e-9), 6)  # 0.014973 by zCDP
    0.016557
    """
    low = epsilon_to_rho(epsilon, delta)
    inside = epsilon / UP / UP  # `amount_to_epsilon` ends with a factor of UP

    def holds(amount: float) -> bool:
        return gaussian_delta(sqrt(2 * amount), inside) <= delta

    while not holds(low):
        low /= 2
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    amount = _last(holds, low, high)
    while amount_to_epsilon(amount, delta) > epsilon:  # by rounding alone
        amount /= UP
    return amount


def width_to_amount(width: float) -> float:
    """Return the amount of a mechanism whose losses lie in an interval of a width, rounded up.

    The width is epsilon for an exponential mechanism, 2 epsilon for any other that is epsilon-private.

    Examples
    --------
    >>> round(width_to_amount(0.1), 8), round(0.1**2 / 8, 8)  # pi / 2 times the rho
    (0.00196332, 0.00125)
    """
    from scipy.special import ndtri_exp

    width = check_epsilon(width, "width")
    exact = -2 * float(ndtri_exp(-width / 2 - log1p(exp(-width / 2)))) * (1 + CAREFUL)
    mu = min(exact, width * sqrt(2 * pi) / 4) if exact > 0 else width * sqrt(2 * pi) / 4
    return mu * mu / 2 * UP


def amount_to_width(amount: float, *, after: float = 0.0) -> float:
    """Return the largest width of losses that an amount pays for if so much is left `after` it, rounded down.

    With nothing left it is the inverse of `width_to_amount`; with much left the width w with w^2 / 8 = amount, as in zCDP.

    Examples
    --------
    >>> round(amount_to_width(width_to_amount(0.1)), 6)
    0.1
    >>> round(amount_to_width(0.1**2 / 8, after=1.0), 4)
    0.0999
    """
    from scipy.special import log_ndtr

    mu = sqrt(2 * check_epsilon(amount, "amount")) / UP
    exact = 2 * float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)) * (1 - CAREFUL)
    width = max(exact, 4 * mu / sqrt(2 * pi) / UP)
    while width_to_amount(width) > amount:
        width *= 1 - CAREFUL
    return (
        max(width, sqrt(8 * amount * (after / (amount + after))) * (1 - CAREFUL))
        if after > 0
        else width
    )


@lru_cache(maxsize=4096)
def rounding_variance(variance: float, loss: float) -> float:
    """Return the variance t^2 of rounding, so that noise of variance s^2 + t^2 is rounded normal noise of s^2 up to a factor of exp(loss).

    Rounded up, and at least 0.1. What is meant and why: the head of the module.

    Examples
    --------
    >>> round(rounding_variance(2500.0, 1e-7), 3)
    0.443
    """
    target = (
        expm1(loss) / (exp(loss) + 1) if loss < 1 else 0.46
    )  # h, from loss = log((1 + h) / (1 - h))

    def fits(square: float) -> bool:
        q = exp(-2 * pi**2 * square)
        w = 2 * q / (1 - q)
        v = square * (variance / (variance + square)) if variance < inf else square
        return exp(-2 * pi**2 * v) * w / (1 - w) <= target

    high = LEAST_VARIANCE
    if fits(high):
        return high
    while not fits(high):
        high *= 2
    return _last(lambda x: not fits(x), high / 2, high) * UP
