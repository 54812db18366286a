"""What may be spent and what a touch costs: a budget, and charges to it, in pure epsilon or in zCDP.

Proof sketch of the totals, for either relation. Pure: epsilons and deltas of touches add, also if each touch is chosen after seeing
the answers of the earlier ones, as long as the limit stands beforehand (basic composition; Rogers, Roth, Ullman and Vadhan 2016).
zCDP: Renyi divergences of every order add, so rhos do (Bun and Steinke 2016; with touches chosen on the way, Feldman and Zrnic
2021), and so do the deltas of approximate zCDP. delta is split beforehand: `reserved_delta` for touches that have one of their own,
and the rest turns epsilon into the total rho; together they stay within delta.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from math import fsum
from typing import Literal, get_args

from .._base.errors import BudgetError, InputError, unknown_name
from .accounting import check_delta, check_epsilon, epsilon_to_rho, pure_to_rho, rho_to_epsilon
from .samplers import gaussian_std, laplace_std

__all__ = ["HEAD", "SLACK", "Accounting", "Budget", "Charge", "charge_row", "shown"]

Accounting = Literal["pure", "zcdp"]
HEAD = ("what", "times", "each", "in all", "how", "why")
"""Names of the columns under which charges are listed."""
SLACK = 1e-9
"""Sums may exceed a total by this much, relative, from rounding. A total in rho is lowered by as much, so the promise holds."""


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
    """What may be spent: epsilon, or epsilon at delta; "pure" sums epsilons, "zcdp" sums rhos. zCDP unless there is no delta.

    Examples
    --------
    >>> Budget(1.0).total, round(Budget(1.0, 1e-9).total, 6)
    (1.0, 0.014973)
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
            object.__setattr__(self, "accounting", "pure" if self.delta is None else "zcdp")
        if self.accounting not in get_args(Accounting):
            raise unknown_name("accounting", self.accounting, get_args(Accounting))
        if self.accounting == "zcdp" and self.delta is None:
            raise InputError("zCDP accounting needs a delta. Give one, or use accounting 'pure'.")
        if isinstance(self.reserved_delta, bool) or self.reserved_delta != 0:
            object.__setattr__(self, "reserved_delta", check_delta(self.reserved_delta, "reserved_delta"))
            if self.accounting == "pure" or self.delta is None or self.reserved_delta >= self.delta:
                raise InputError(
                    "reserved_delta must be below delta, and is for zCDP accounting. Pure accounting keeps all of delta."
                )

    @property
    def kind(self) -> Accounting:
        """How charges add up: "pure" or "zcdp"."""
        assert self.accounting is not None
        return self.accounting

    @property
    def currency(self) -> str:
        """The name of what is added up: epsilon, or rho."""
        return "epsilon" if self.kind == "pure" else "rho"

    @property
    def total(self) -> float:
        """All there is to spend, in its own currency."""
        return self.epsilon if self.kind == "pure" else epsilon_to_rho(self.epsilon, self._converting) * (1 - 2 * SLACK)

    @property
    def delta_total(self) -> float:
        """The most that the deltas of charges may add up to."""
        return self.reserved_delta if self.kind == "zcdp" else self.delta or 0.0

    @property
    def _converting(self) -> float:
        """The part of delta that turns rho into epsilon."""
        assert self.delta is not None
        return self.delta - self.reserved_delta

    def amounts(self, charges: Iterable[Charge]) -> tuple[float, float]:
        """Return the sums of the costs, in the currency, and of the deltas of charges."""
        every = list(charges)
        return fsum(charge.cost(self.kind) for charge in every), fsum(charge.delta for charge in every)

    def charge(self, what: str, why: str, amount: float, *, mechanism: str, noise: str) -> Charge:
        """Return the charge of an amount in the currency."""
        epsilon, rho = (amount, None) if self.kind == "pure" else (None, amount)
        return Charge(what, why, epsilon=epsilon, rho=rho, mechanism=mechanism, noise=noise)

    def noise(self, amount: float, *, l1: float, l2: float) -> tuple[float, float]:
        """Return the parameter of the noise that an amount buys, and its standard deviation: discrete Laplace if pure, else Gaussian."""
        if self.kind == "pure":
            return (scale := l1 / amount), laplace_std(scale)
        return (sigma := l2 / (2 * amount) ** 0.5), gaussian_std(sigma)

    def noise_charge(self, what: str, why: str, amount: float, std: float) -> Charge:
        """Return the charge of an amount for noise of a standard deviation."""
        law = "discrete Laplace" if self.kind == "pure" else "discrete Gaussian"
        return self.charge(what, why, amount, mechanism=law, noise=f"standard deviation {std:.4g}")

    def promise(self, spent: float, delta: float) -> tuple[float, float]:
        """Return the (epsilon, delta) that a spent amount, and the deltas of charges, come to."""
        if self.kind == "pure" or spent == 0:
            return spent, delta
        return rho_to_epsilon(spent, self._converting), self._converting + delta

    def admit(self, asked: tuple[float, float], spent: tuple[float, float] = (0.0, 0.0)) -> None:
        """Raise BudgetError if an amount and a delta do not fit into what is left after those spent."""
        for i, (total, name) in enumerate(((self.total, self.currency), (self.delta_total, "delta"))):
            if fsum((spent[i], asked[i])) > total * (1 + SLACK):
                left = shown(max(0.0, total - spent[i]))
                raise BudgetError(
                    f"Privacy budget exceeded: {shown(asked[i])} asked, {left} left of {shown(total)}. "
                    f"These are {name}s; nothing was touched. Ask for less, or plan with a larger budget."
                )


@dataclass(frozen=True)
class Charge:
    """One touch of the data: what was touched (names of columns, no values), why, how, and what it costs.

    `rho` is worked out as epsilon^2 / 2 where it is not given; a pure ledger takes no charge without an epsilon.

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
                object.__setattr__(self, name, "".join(c if c.isprintable() else "\ufffd" for c in text))

    def cost(self, kind: Accounting) -> float:
        """Return what the charge costs in epsilon ("pure") or rho ("zcdp")."""
        if kind == "zcdp":
            return self.rho if self.rho is not None else pure_to_rho(self.epsilon or 0.0)
        if self.epsilon is None:
            raise InputError(
                "Gaussian noise has no pure epsilon. Use Laplace noise, or give a delta for zCDP accounting."
            )
        return self.epsilon


def charge_row(budget: Budget, charge: Charge, times: int, what: str) -> tuple[str, ...]:
    """Return a charge made a number of times as a row of text under `HEAD`."""
    cost, delta = charge.cost(budget.kind), charge.delta
    each, every = (
        f"{budget.currency} {cost * n:.4g}" + (f", delta {delta * n:.4g}" if delta else "") for n in (1, times)
    )
    how = ", ".join(part for part in (charge.mechanism, charge.noise) if part)
    return what, str(times), each, every, how, charge.why
