"""What a claim says about guesses: epsilon, mu or rho, each as the share of guesses that can be right, and back.

Every run is on D or on D' by the toss of a coin, and an attacker guesses which. A claim limits how often that can be right, so an exact
bound on that share is a bound on the claimed number. One count, of right guesses, stands for both rates: a claim is tested once.

- epsilon (pure): whatever a run showed, the coin is guessed with a probability of at most e^epsilon / (1 + e^epsilon), also if one guesses
  only in the runs that tell most (Bayes' rule; Steinke, Nasr and Jagielski 2023, Theorem 5.2). With a delta, each run in addition gives its
  coin away with probability delta (Kairouz, Oh and Viswanath 2015, Theorem 2.1): as many right guesses are taken off.
- mu (Gaussian privacy): no test tells better than a draw from N(0, 1) from one from N(mu, 1); guessing in every run, Phi(mu / 2) are right
  (Dong, Roth and Su 2022). A composition of Gaussian mechanisms with a rho in all has mu = sqrt(2 rho).
- rho (zCDP): the Renyi divergence of order a is at most a rho in both directions. If a share s of all guesses is right, tossing a coin for
  what D and D' are called leaves a test that is right with s either way, and no processing makes a divergence larger, nor does
  the mixture with its mirror image exceed both: the divergence of Bernoulli(s) from Bernoulli(1 - s) is at most a rho for every a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

from ..._base.registry import Registry
from ...privacy.accounting import epsilon_to_rho, rho_to_epsilon
from ...privacy.budget import Accounting
from ...privacy.gaussian import amount_to_epsilon, epsilon_to_amount

ORDERS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Orders of the Renyi divergence that are tried; each is a valid bound, and the first, the relative entropy, is the best in most cases."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """What is claimed: `name`, how to say it, and what it says about guesses.

    `least` returns from a share of right guesses, above one half, the least amount of it that allows that; 0 up to one half. `abstains`:
    whether an attacker may guess in some of the runs only. `of_information` returns the least amount that allows a relative entropy (the mean of
    both directions); None where it says less than guesses do, and `information` is its inverse.
    """

    name: str
    definition: str
    least: Callable[[float], float]
    abstains: bool = False
    of_information: Callable[[float], float] | None = None
    information: Callable[[float], float] = float


MEASURES: Registry[Measure] = Registry("measure of privacy")


@dataclass(frozen=True)
class Claim:
    """An amount of a measure. `delta` counts where the measure is epsilon.

    `epsilon` is what the whole claim states: an amount of mu or rho is what the method's own accounting makes of it and its delta.

    Examples
    --------
    >>> round(Claim("epsilon", 1.0, 1.0).least(0.75), 6), round(Claim("mu", 1.0, 4.0).least(0.75), 6)
    (1.098612, 1.34898)
    """

    measure: str
    amount: float
    epsilon: float
    delta: float = 0.0
    accounting: Accounting = "zcdp"

    @property
    def what(self) -> Measure:
        """The measure itself."""
        return MEASURES[self.measure]

    def least(self, share: float) -> float:
        """Return the least amount that allows a share of right guesses."""
        return self.what.least(share)

    @property
    def information(self) -> float:
        """The largest relative entropy that is claimed, where the measure bounds it."""
        return self.what.information(self.amount)

    def epsilon_at(self, times: float) -> float:
        """Return the epsilon, at the delta of the claim, where noise is so many times smaller than the claim needs."""
        if self.measure == "epsilon":
            return times * self.epsilon
        if self.accounting == "gaussian":
            return amount_to_epsilon(
                times**2 * epsilon_to_amount(self.epsilon, self.delta), self.delta
            )
        return rho_to_epsilon(times**2 * epsilon_to_rho(self.epsilon, self.delta), self.delta)


def claim_of(epsilon: float, delta: float, *, accounting: Accounting, sigma: float | None) -> Claim:
    """Return what a claim of (epsilon, delta) is for a method that adds up what it spends by an accounting.

    Under Gaussian accounting it is a mu, also of choices, and whole-numbered noise is paid for.

    `sigma`, for zCDP: the least standard deviation of its noise in units of counts, if all of it is Gaussian; None if some is not.
    Whole-numbered Gaussian noise is a little easier to tell from its neighbour than a normal law, by about 1 / (24 sigma^2) in mu: one
    twentieth is allowed for, and below a sigma of 1 the claim is taken as rho, which holds for whole-numbered noise as it stands.

    Examples
    --------
    >>> claim_of(1.0, 0.0, accounting="pure", sigma=None).measure, claim_of(1.0, 1e-6, accounting="zcdp", sigma=None).measure
    ('epsilon', 'rho')
    >>> [round(claim_of(1.0, 1e-6, accounting=kind, sigma=8.0).amount, 4) for kind in ("zcdp", "gaussian")]
    [0.2209, 0.2367]
    """
    if accounting == "pure" or not delta:
        return Claim("epsilon", epsilon, epsilon, delta)
    if accounting == "gaussian":
        return Claim("mu", sqrt(2 * epsilon_to_amount(epsilon, delta)), epsilon, delta, accounting)
    rho = epsilon_to_rho(epsilon, delta)
    if sigma is None or sigma < 1:
        return Claim("rho", rho, epsilon, delta)
    return Claim("mu", sqrt(2 * rho) * (1 + 1 / (20 * sigma**2)), epsilon, delta)


def _epsilon(share: float) -> float:
    return log(share / (1 - share)) if 0.5 < share < 1 else 0.0


def _mu(share: float) -> float:
    from scipy.special import ndtri

    return 2 * float(ndtri(share)) if 0.5 < share < 1 else 0.0


def _rho(share: float) -> float:
    if not 0.5 < share < 1:
        return 0.0
    odds = log(share / (1 - share))
    best = (2 * share - 1) * odds  # order 1: the relative entropy
    for order in ORDERS[1:]:
        # log(s^a (1-s)^(1-a) + (1-s)^a s^(1-a)) = log(s e^((a-1) odds) + (1-s) e^(-(a-1) odds)), from the larger term down.
        step = (order - 1) * odds
        best = max(best, (step + log(share + (1 - share) * exp(-2 * step))) / (order - 1) / order)
    return best


MEASURES.register(
    Measure(
        name="epsilon",
        definition="Pure privacy: no probability changes by more than a factor of exp(epsilon).",
        least=_epsilon,
        abstains=True,
    )
)
MEASURES.register(
    Measure(
        name="mu",
        definition="Gaussian privacy: as hard to tell apart as two normal laws mu standard deviations apart.",
        least=_mu,
        of_information=lambda entropy: sqrt(2 * entropy),
        information=lambda mu: mu**2 / 2,
    )
)
MEASURES.register(
    Measure(
        name="rho",
        definition="Zero-concentrated privacy: the Renyi divergence of order a is at most a rho.",
        least=_rho,
        of_information=float,
    )
)
