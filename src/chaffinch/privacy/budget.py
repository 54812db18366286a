"""What may be spent and what a touch costs: a budget, and charges to it, in pure epsilon, in Gaussian privacy or in zCDP.

Proof sketch of the totals, for either relation. Pure: epsilons and deltas of touches add, also if each touch is chosen after seeing
the answers of the earlier ones, as long as the limit stands beforehand (basic composition; Rogers, Roth, Ullman and Vadhan 2016).
zCDP: Renyi divergences of every order add, so rhos do (Bun and Steinke 2016; with touches chosen on the way, Feldman and Zrnic
2021), and so do the deltas of approximate zCDP. Gaussian: amounts mu^2 / 2 add, which for Gaussian noise are the same rho, and turn into
epsilon exactly (`gaussian`). delta is split beforehand: `reserved_delta` for touches that have one of their own, and the rest turns
epsilon into the total; together they stay within delta.

Why deltas of touches add to that of the rest. Touch i releases, by a chance of p_i on D and q_i on D', something that the other table
cannot release, and behaves otherwise like a touch that has no delta; max(p_i, q_i) <= delta_i. Let P' and Q' be the parts of the laws of everything
seen in which each such touch has not done so, each weighted down to a chance of 1 - max(p_i, q_i): P <= P' + the rest, whose mass
is at most the sum of delta_i, and Q' <= Q. P' and Q' share these factors and else are laws of touches without a delta.

Under Gaussian accounting whole-numbered noise differs from rounded normal noise by factors whose logarithms are kept to `ROUNDING`
epsilon / 2 in all, each touch having a part of it in proportion to its cost: so the amounts have to hold (1 - `ROUNDING`) epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from math import exp, fsum, sqrt
from typing import Literal, get_args

from .._base.errors import BudgetError, InputError, unknown_name
from .accounting import check_delta, check_epsilon, epsilon_to_rho, pure_to_rho, rho_to_epsilon
from .gaussian import (
    amount_to_epsilon,
    amount_to_width,
    epsilon_to_amount,
    rounding_variance,
    width_to_amount,
)
from .samplers import gaussian_std, laplace_std

Accounting = Literal["pure", "gaussian", "zcdp"]
CHOICES = ("exponential", "permute-and-flip")
"""Mechanisms that choose one of some candidates, as charges name them."""
_TITLES = {"pure": "pure", "gaussian": "Gaussian", "zcdp": "zCDP"}
HEAD = ("what", "times", "each", "in all", "how", "why")
"""Names of the columns under which charges are listed."""
SLACK = 1e-9
"""Sums may exceed a total by this much, relative, from rounding. A total in rho is lowered by as much, so the promise holds."""
ROUNDING = 1e-4
"""The part of epsilon under Gaussian accounting that pays for noise being whole-numbered."""
MOST_EXACT = 2.0
"""The largest total in rho that is accounted for as Gaussian unless asked: beyond, noise is so small that rounding adds more than is won."""


def shown(value: float) -> str:
    """Return a number of privacy in six digits, always with a point or an exponent.

    Examples
    --------
    >>> shown(1), shown(0.1 + 0.2), shown(1e-9)
    ('1.0', '0.3', '1e-09')
    """
    return str(float(f"{value:.6g}"))


@dataclass(frozen=True)
class Budget:
    """What may be spent: epsilon, or epsilon at delta. "pure" sums epsilons, "gaussian" and "zcdp" sum rhos.

    Unless asked otherwise it is pure without a delta, and Gaussian with one; zCDP where epsilon is so large that noise is about 1.

    Examples
    --------
    >>> Budget(1.0).total, round(Budget(1.0, 1e-9).total, 6), round(Budget(1.0, 1e-9, "zcdp").total, 6)
    (1.0, 0.016554, 0.014973)
    """

    epsilon: float
    delta: float | None = None
    accounting: Accounting | None = None
    reserved_delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta(self.delta))
        if self.accounting is None:
            object.__setattr__(self, "accounting", _usual(self.epsilon, self.delta))
        if self.accounting not in get_args(Accounting):
            raise unknown_name("accounting", self.accounting, get_args(Accounting))
        if self.accounting != "pure" and self.delta is None:
            raise InputError(
                f"{self.title} accounting needs a delta. Give one, or use accounting 'pure'."
            )
        if isinstance(self.reserved_delta, bool) or self.reserved_delta != 0:
            object.__setattr__(
                self, "reserved_delta", check_delta(self.reserved_delta, "reserved_delta")
            )
            if self.accounting == "pure" or self.delta is None or self.reserved_delta >= self.delta:
                raise InputError(
                    "reserved_delta must be below delta, and is for accounting in rho. Pure accounting keeps all of delta."
                )

    @property
    def kind(self) -> Accounting:
        """How charges add up: "pure", "gaussian" or "zcdp"."""
        assert self.accounting is not None
        return self.accounting

    @property
    def title(self) -> str:
        """How charges add up, as it is printed."""
        return _TITLES[self.kind]

    @property
    def currency(self) -> str:
        """The name of what is added up: epsilon, or rho."""
        return "epsilon" if self.kind == "pure" else "rho"

    @property
    def total(self) -> float:
        """All there is to spend, in its own currency."""
        if self.kind == "pure":
            return self.epsilon
        if self.kind == "zcdp":
            return epsilon_to_rho(self.epsilon, self.converting_delta) * (1 - 2 * SLACK)
        return epsilon_to_amount(self.epsilon * (1 - ROUNDING), self._exact_delta) * (1 - 2 * SLACK)

    @property
    def delta_total(self) -> float:
        """The most that the deltas of charges may add up to."""
        return self.delta or 0.0 if self.kind == "pure" else self.reserved_delta

    @property
    def converting_delta(self) -> float:
        """The part of delta that turns rho into epsilon."""
        assert self.delta is not None
        return self.delta - self.reserved_delta

    @property
    def _exact_delta(self) -> float:
        """The delta that amounts of Gaussian privacy must keep to: times exp(ROUNDING epsilon / 2) it is the converting one."""
        return self.converting_delta * exp(-ROUNDING * self.epsilon / 2)

    def amounts(self, charges: Iterable[Charge]) -> tuple[float, float]:
        """Return the sums of the costs, in the currency, and of the deltas of charges."""
        every = list(charges)
        return fsum(charge.cost(self.kind) for charge in every), fsum(
            charge.delta for charge in every
        )

    def charge(self, what: str, why: str, amount: float, *, mechanism: str, noise: str) -> Charge:
        """Return the charge of an amount in the currency."""
        epsilon, rho = (amount, None) if self.kind == "pure" else (None, amount)
        return Charge(what, why, epsilon=epsilon, rho=rho, mechanism=mechanism, noise=noise)

    def noise(self, amount: float, *, l1: float, l2: float) -> tuple[float, float]:
        """Return the parameter of the noise that an amount buys, and its standard deviation: discrete Laplace if pure, else Gaussian.

        Values are whole, so neighbours that are `l1` apart differ in at most so many cells: these have to share what rounding may lose.
        """
        if self.kind == "pure":
            return (scale := l1 / amount), laplace_std(scale)
        variance = l2 / (2 * amount) * l2
        if self.kind == "gaussian":
            loss = ROUNDING * self.epsilon / 2 * min(1.0, amount / self.total) / max(l1, 1.0)
            variance += rounding_variance(variance, loss)
        return (sigma := sqrt(variance)), gaussian_std(sigma)

    def choice_epsilon(
        self, amount: float, mechanism: str = "exponential", *, after: float = 0.0
    ) -> float:
        """Return the epsilon of a choice that an amount buys; `mechanism` "exponential" has losses of bounded range, others have not.

        `after`: what is left for whatever comes later, once the choice is charged. Under Gaussian accounting more of it buys more.
        """
        if self.kind == "pure":
            return amount
        width = sqrt(8 * amount) if self.kind == "zcdp" else amount_to_width(amount, after=after)
        return width if mechanism == "exponential" else width / 2

    def noise_charge(self, what: str, why: str, amount: float, std: float) -> Charge:
        """Return the charge of an amount for noise of a standard deviation."""
        law = "discrete Laplace" if self.kind == "pure" else "discrete Gaussian"
        return self.charge(what, why, amount, mechanism=law, noise=f"standard deviation {std:.4g}")

    def promise(self, spent: float, delta: float) -> tuple[float, float]:
        """Return the (epsilon, delta) that a spent amount, and the deltas of charges, come to."""
        if self.kind == "pure" or spent == 0:
            return spent, delta
        if self.kind == "zcdp":
            epsilon = rho_to_epsilon(spent, self.converting_delta)
        else:
            epsilon = amount_to_epsilon(spent, self._exact_delta) + ROUNDING * self.epsilon * min(
                1.0, spent / self.total
            )
        return epsilon, self.converting_delta + delta

    def admit(self, asked: tuple[float, float], spent: tuple[float, float] = (0.0, 0.0)) -> None:
        """Raise BudgetError if an amount and a delta do not fit into what is left after those spent."""
        for i, (total, name) in enumerate(
            ((self.total, self.currency), (self.delta_total, "delta"))
        ):
            if fsum((spent[i], asked[i])) > total * (1 + SLACK):
                left = shown(max(0.0, total - spent[i]))
                raise BudgetError(
                    f"Privacy budget exceeded: {shown(asked[i])} asked, {left} left of {shown(total)}. "
                    f"These are {name}s; nothing was touched. Ask for less, or plan with a larger budget."
                )


def _usual(epsilon: float, delta: float | None) -> Accounting:
    """How charges add up where nobody asks: settled by public numbers, before data are touched."""
    if delta is None:
        return "pure"
    return "gaussian" if epsilon_to_rho(epsilon, delta) <= MOST_EXACT else "zcdp"


@dataclass(frozen=True)
class Charge:
    """One touch of the data: what was touched (names of columns, no values), why, how, and what it costs.

    A pure ledger takes no charge without an epsilon. Under zCDP a charge without a rho costs epsilon^2 / 2. Under Gaussian accounting `rho`
    is mu^2 / 2, and a charge with an epsilon costs at least what any mechanism of that epsilon does.

    Examples
    --------
    >>> Charge("table of age, sex", "measure", epsilon=0.5, mechanism="discrete Laplace", noise="scale 2").cost("zcdp")
    0.125
    """

    what: str
    why: str
    _: KW_ONLY
    epsilon: float | None = None
    rho: float | None = None
    delta: float = 0.0
    mechanism: str
    noise: str

    def __post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            raise InputError("A charge needs an epsilon or a rho: no touch of the data is free.")
        for name in ("epsilon", "rho"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_epsilon(value, f"{name} of a charge"))
        if isinstance(self.delta, bool) or self.delta != 0:
            object.__setattr__(self, "delta", check_delta(self.delta, "delta of a charge"))
        for name in ("what", "why", "mechanism", "noise"):
            if not isinstance(text := getattr(self, name), str):
                raise InputError(f"'{name}' of a charge must be text.")
            # Names of columns reach terminals from here: no control characters.
            if not text.isprintable():
                object.__setattr__(
                    self, name, "".join(c if c.isprintable() else "\ufffd" for c in text)
                )

    def cost(self, kind: Accounting) -> float:
        """Return what the charge costs in epsilon ("pure") or rho ("gaussian", "zcdp")."""
        if kind == "gaussian":
            return max(
                width_to_amount(2 * self.epsilon) if self.epsilon is not None else 0.0,
                self.rho or 0.0,
            )
        if kind == "zcdp":
            return self.rho if self.rho is not None else pure_to_rho(self.epsilon or 0.0)
        if self.epsilon is None:
            raise InputError(
                "Gaussian noise has no pure epsilon. Use Laplace noise, or give a delta and no accounting 'pure'."
            )
        return self.epsilon


def charge_row(budget: Budget, charge: Charge, times: int, what: str) -> tuple[str, ...]:
    """Return a charge made a number of times as a row of text under `HEAD`."""
    cost, delta = charge.cost(budget.kind), charge.delta
    each, every = (
        f"{budget.currency} {cost * n:.4g}" + (f", delta {delta * n:.4g}" if delta else "")
        for n in (1, times)
    )
    how = ", ".join(part for part in (charge.mechanism, charge.noise) if part)
    return what, str(times), each, every, how, charge.why
