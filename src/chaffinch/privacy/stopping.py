"""The best of a random number of private runs: what it costs to keep only the best one, and how the number of runs is drawn.

A run fits a candidate privately and measures its score with noise. Best of a *fixed* number k of runs costs up to k times as much as one run. If
the number is random, of a law that is spread out, and stays secret, it costs two or three times as much, however many runs there are
(Liu and Talwar 2019, for geometric numbers; Papernot and Steinke 2022, for the law here). Both proofs are short, and hold for the
neighbour relation under which one run is private.

**Law.** With g = 1 / `one_in` and shape h > -1, P(K = k) is proportional to (1 - g)^k times the product of (l + h) / (l + 1) over 1 <= l < k, for k >= 1: the
truncated negative binomial law. h = 1 is the geometric one. f(x) = E x^K has the derivative f'(x) = E[K] (g / (g + (1 - g)(1 - x)))^(1 + h).

**Pure.** Let a run be epsilon-private, q and q' its laws on neighbours D and D', outcomes y being ordered by their noisy score, and at random where
two are equal. The best of K has P(y) = f(Q(up to y)) - f(Q(below y)) = q(y) E f'(X), X being uniform between Q(below y) and Q(up to y). Take the
same uniform number for X' of D'. 1 - X and 1 - X' are the chances of one randomised test on D and D', so that 1 - X' <= e^epsilon (1 - X), hence
f'(X) <= e^((1 + h) epsilon) f'(X'); and q(y) <= e^epsilon q'(y). So the best is (2 + h) epsilon-private. (Papernot and Steinke, Corollary 3.)

**zCDP.** Let a run be rho-zCDP: its Renyi divergences D_a are at most rho a for every order a > 1. (u, v) -> u^a v^(1-a) is convex, so that the sum
of P(y)^a P'(y)^(1-a) is at most e^((a-1) rho a) times the largest f'(x)^a f'(x')^(1-a) = f'(x) (f'(x) / f'(x'))^(a-1). f' is at most f'(1) = E[K]. p = g + (1 - g)(1
- x) and p' are chances of one test, too, so that p' <= (e^(rho b) p)^(1 - 1/b) for every b > 1, and p >= g: p' / p <= e^(rho (b-1)) g^(-1/b). With
b = sqrt(log(1/g) / rho), where that is above 1, the best has

    D_a <= rho a + (1 + h) (2 sqrt(rho log(1/g)) - rho) + log(E[K]) / (a - 1)            (Papernot and Steinke, Theorem 2)

for every a > 1, which Canonne, Kamath and Steinke (2020, Proposition 2.4) turn into an epsilon at a delta.

**What is not promised.** K and the runs that were not the best must stay secret: given K = k, the bound is that of k runs. The time that all runs take tells about K;
it stands in no result, and is not to be published.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, log1p, sqrt

import numpy as np

from .._base.errors import InputError
from .accounting import UP, _last, check_delta, check_epsilon


@dataclass(frozen=True)
class Stopping:
    """The law of a number of runs: after each, one in `one_in` stops; a shape below 1 makes few runs likelier, and the best of them cheaper.

    Examples
    --------
    >>> law = Stopping(10)  # geometric
    >>> round(law.mean, 6), round(law.pure_cost(0.2), 6), round(law.tried(5), 3)
    (10.0, 0.6, 0.714)
    """

    one_in: int
    shape: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if isinstance(self.one_in, bool) or not isinstance(self.one_in, int) or self.one_in < 2:
            raise InputError(f"one_in must be a whole number of at least 2. Got {self.one_in!r}.")
        try:
            shape = Fraction(self.shape)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"shape must be a number above -1 and at most 1. Got {self.shape!r}."
            ) from None
        if not -1 < shape <= 1:
            raise InputError(f"shape must be a number above -1 and at most 1. Got {self.shape!r}.")
        object.__setattr__(self, "shape", shape)

    @property
    def mean(self) -> float:
        """The number of runs on average."""
        g, h = 1 / self.one_in, float(self.shape)
        return (1 - g) / g / log(1 / g) if h == 0 else h * (1 - g) / (g * (1 - g**h))

    def generating(self, x: float) -> float:
        """Return f(x) = E x^K, for x between 0 and 1."""
        g, h = 1 / self.one_in, float(self.shape)
        if h == 0:
            return log1p(-(1 - g) * x) / log(g)
        return ((1 - (1 - g) * x) ** -h - 1) / (g**-h - 1)

    def tried(self, candidates: int) -> float:
        """Return the chance that any one candidate is among the runs, each run taking one of `candidates` at random."""
        return 1 - self.generating(1 - 1 / candidates)

    def pure_cost(self, epsilon: float) -> float:
        """Return the epsilon of the best of runs that are epsilon-private each: (2 + shape) epsilon, rounded up."""
        return float(2 + self.shape) * check_epsilon(epsilon) * UP

    def zcdp_cost(self, rho: float, delta: float) -> float:
        """Return the epsilon at delta of the best of runs that are rho-zCDP each, rounded up.

        Any order gives a valid bound; the best of a fine grid is within a thousandth of the best of all.
        """
        rho, delta = check_epsilon(rho, "rho"), check_delta(delta)
        h, spread = float(self.shape), log(self.one_in)
        b = max(1.0, sqrt(spread / rho))
        constant = (1 + h) * (rho * (b - 1) + spread / b) + rho
        a_less_1 = np.geomspace(1e-4, 1e6, 2_001)
        bits = log(max(self.mean, 1.0)) - log(delta)
        every = (
            rho * a_less_1
            + constant
            + (bits - np.log1p(a_less_1)) / a_less_1
            - np.log1p(1 / a_less_1)
        )
        return max(0.0, float(every.min())) * (1 + 1e-9)

    def affordable_epsilon(self, epsilon: float) -> float:
        """Return the largest epsilon of a run for which the best stays within an epsilon: the inverse of `pure_cost`, rounded down."""
        run = check_epsilon(epsilon) / float(2 + self.shape)
        while self.pure_cost(run) > epsilon:
            run /= UP
        return run

    def affordable_rho(self, epsilon: float, delta: float) -> float:
        """Return the largest rho of a run for which the best stays within an epsilon at delta: the inverse of `zcdp_cost`, rounded down."""
        low = high = 1.0
        while self.zcdp_cost(low, delta) > epsilon:
            low /= 4
            if low < 1e-290:
                raise InputError(
                    f"No run is small enough for the best of them to have epsilon {epsilon:.6g}. Ask for a larger epsilon."
                )
        while self.zcdp_cost(high, delta) <= epsilon:
            high *= 4
        return _last(lambda rho: self.zcdp_cost(rho, delta) <= epsilon, low, high)

    def draw(self, below: Callable[[int], int] = secrets.randbelow) -> int:
        """Return a number of runs; `below(n)` gives a random whole number below n, by default from the operating system.

        Exact, in whole numbers: a geometric number k is drawn, and kept with the chance of the product of (l + h) / (l + 1) over 1 <= l < k; otherwise
        another is. Both have a shape of at most 1, where each factor is a chance.
        """
        top, bottom = self.shape.numerator, self.shape.denominator
        while True:
            k = 1
            while below(self.one_in) != 0:
                k += 1
            if self.shape == 1 or all(
                below((step + 1) * bottom) < step * bottom + top for step in range(1, k)
            ):
                return k


def stopping_for(candidates: int, *, tried: float = 0.9, shape: Fraction | float = 1) -> Stopping:
    """Return the law with the fewest runs under which any one of some candidates is tried with at least a given chance.

    Examples
    --------
    >>> stopping_for(8, tried=0.8).one_in  # 1 - (1 - 1/8) g / (g + (1 - g) / 8) at g = 1/28
    28
    """
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        raise InputError(
            f"The number of candidates must be a whole number of at least 1. Got {candidates!r}."
        )
    if not 0 < tried < 1:
        raise InputError(
            f"The chance that a candidate is tried must lie between 0 and 1. Got {tried}."
        )
    high = 2
    while Stopping(high, Fraction(shape)).tried(candidates) < tried:
        high *= 2
        if high > MOST_MEAN:
            raise InputError(
                f"A law of shape {float(shape):g} needs far too many runs to try each of {candidates} candidates with a chance of {tried:g}. "
                "Use a shape nearer to 1, fewer candidates or a smaller chance."
            )
    low = max(2, ceil(high / 2))
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if Stopping(middle, Fraction(shape)).tried(candidates) >= tried
            else (middle + 1, high)
        )
    return Stopping(low, Fraction(shape))


MOST_MEAN = 1 << 24
"""The largest `one_in` that is looked at: more runs than anybody makes."""
