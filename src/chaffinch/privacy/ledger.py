"""The ledger: a budget in pure epsilon, Gaussian privacy or zCDP, the charges to it, their plan beforehand and their account afterwards.

A ledger refuses what there is no budget for: every touch of the data is charged before it happens. Ledger, plan and account name the neighbour
relation through their `PrivacyUnit`; none holds a value or a count of the data.

Proof sketch of the totals, for either relation. Pure: epsilons and deltas of touches add, also if each touch is chosen after seeing
the answers of the earlier ones, as long as the limit stands beforehand (basic composition; Rogers, Roth, Ullman and Vadhan 2016).
zCDP: Renyi divergences of every order add, so rhos do (Bun and Steinke 2016; with touches chosen on the way, Feldman and Zrnic
2021), and so do the deltas of approximate zCDP. Gaussian: amounts mu^2 / 2 add, which for Gaussian noise are the same rho, and turn into
epsilon exactly (`accounting`). delta is split beforehand: `reserved_delta` for touches that have one of their own, and the rest turns
epsilon into the total; together they stay within delta.

Why deltas of touches add to that of the rest. Touch i releases, by a chance of p_i on D and q_i on D', something that the other table
cannot release, and behaves otherwise like a touch that has no delta; max(p_i, q_i) <= delta_i. Let P' and Q' be the parts of the laws of everything
seen in which each such touch has not done so, each weighted down to a chance of 1 - max(p_i, q_i): P <= P' + the rest, whose mass
is at most the sum of delta_i, and Q' <= Q. P' and Q' share these factors and else are laws of touches without a delta.

Under Gaussian accounting whole-numbered noise differs from rounded normal noise by factors whose logarithms are kept to `ROUNDING`
epsilon / 2 in all, each touch having a part of it in proportion to its cost: so the amounts have to hold (1 - `ROUNDING`) epsilon.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields, replace
from itertools import repeat
from math import ceil, exp, floor, fsum, isclose, isfinite, log10, nextafter, pi, sqrt
from typing import Any, Literal, get_args

from .._base.checks import check_name, check_whole
from .._base.errors import (
    BudgetError,
    ChaffinchError,
    ClosedError,
    InputError,
    join_names,
)
from .._base.results import html_table
from .accounting import (
    amount_to_epsilon,
    amount_to_width,
    check_delta,
    check_epsilon,
    epsilon_to_amount,
    epsilon_to_rho,
    pure_to_rho,
    rho_to_epsilon,
    rounding_variance,
    width_to_amount,
)
from .mechanisms import gaussian_std, laplace_std
from .relation import PrivacyUnit

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


def six_digits(value: float) -> str:
    """Return a number of privacy in six digits, always with a point or an exponent.

    Examples
    --------
    >>> six_digits(1), six_digits(0.1 + 0.2), six_digits(1e-9)
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
        check_name("accounting", self.accounting, get_args(Accounting))
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
        all_charges = list(charges)
        return fsum(charge.cost(self.kind) for charge in all_charges), fsum(
            charge.delta for charge in all_charges
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

    def guarantee(self, spent: float, delta: float) -> tuple[float, float]:
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
                remaining = six_digits(max(0.0, total - spent[i]))
                raise BudgetError(
                    f"Privacy budget exceeded: {six_digits(asked[i])} asked, {remaining} left of {six_digits(total)}. "
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


def charge_row(budget: Budget, charge: Charge, times: int = 1) -> tuple[str, ...]:
    """Return a charge made a number of times as a row of text under `HEAD`."""
    cost, delta = charge.cost(budget.kind), charge.delta
    each, total = (
        f"{budget.currency} {cost * n:.4g}" + (f", delta {delta * n:.4g}" if delta else "")
        for n in (1, times)
    )
    how = ", ".join(phrase for phrase in (charge.mechanism, charge.noise) if phrase)
    return charge.what, str(times), each, total, how, charge.why


DISCOVERED = "discover = true"
"""Why a charge is made for what the schema leaves to be discovered."""


class Ledger:
    """A budget and the charges to it. Charge before touching: a charge that does not fit raises, and nothing is recorded.

    Examples
    --------
    >>> ledger = Ledger(Budget(1.0), PrivacyUnit("add-remove"))
    >>> ledger.charge(Charge("table of age", "measure", epsilon=0.9, mechanism="discrete Laplace", noise="scale 1.11"))
    >>> round(ledger.remaining, 6)
    0.1
    """

    def __init__(self, budget: Budget, unit: PrivacyUnit, reserved_delta: float = 0.0) -> None:
        self.budget = replace(budget, reserved_delta=reserved_delta) if reserved_delta else budget
        self.unit = unit
        self.total = self.budget.total
        self._charges: list[Charge] = []
        self._closed = False
        self._lock = threading.Lock()

    def charge(self, charge: Charge) -> None:
        """Record a charge; raise BudgetError if it would exceed the budget, ClosedError after `close`."""
        asked = self.budget.amounts([charge])
        with self._lock:
            if self._closed:
                raise ClosedError(
                    "The privacy ledger is closed: data may not be touched after the last charge. Fit anew."
                )
            self.budget.admit(asked, self.budget.amounts(self._charges))
            self._charges.append(charge)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The charges so far."""
        with self._lock:
            return tuple(self._charges)

    @property
    def spent(self) -> float:
        """What has been spent, in the currency of the budget."""
        return self.budget.amounts(self.charges)[0]

    @property
    def remaining(self) -> float:
        """What is left to spend, in the currency of the budget."""
        return max(0.0, self.total - self.spent)

    def shares(self, parts: Sequence[float]) -> tuple[float, ...]:
        """Return what is left, split in proportion to `parts`; the shares never add up to more than it."""
        weights = [check_epsilon(weight, "a part") for weight in parts]
        remaining, total_weight = self.remaining, fsum(weights)
        amounts = [remaining * weight / total_weight for weight in weights]
        while fsum(amounts) > remaining:  # by one rounding at most
            amounts = [nextafter(share, 0) for share in amounts]
        return tuple(amounts)

    def close(self) -> None:
        """Refuse every later charge."""
        with self._lock:
            self._closed = True

    def account(
        self, *, test_only: bool, rows: int, rows_how: Literal["declared", "measured"]
    ) -> Account:
        """Close the ledger and return its account."""
        self.close()
        return Account(
            self.budget, self.unit, self.charges, test_only=test_only, rows=rows, rows_how=rows_how
        )


@dataclass(frozen=True)
class Step:
    """A planned charge and how many times it will be made; `charge.what` says in general what each touches."""

    charge: Charge
    times: int = 1

    def __post_init__(self) -> None:
        check_whole("times of a planned charge", self.times, 1)

    def on(self, what: str) -> Charge:
        """Return the charge for one touch, naming what it touches."""
        return replace(self.charge, what=what)


@dataclass(frozen=True)
class Plan:
    """What will be charged, settled before data are touched; raises BudgetError unless it fits.

    A fit charges no more: what a step turns out not to need goes to the last one.
    """

    budget: Budget
    unit: PrivacyUnit
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        self.budget.admit(self.budget.amounts(self.charges()))

    def charges(self) -> Iterator[Charge]:
        """Yield each planned charge, as often as it will be made."""
        for step in self.steps:
            yield from repeat(step.charge, step.times)

    @property
    def total(self) -> float:
        """What the planned charges add up to, in the currency of the budget."""
        return self.budget.amounts(self.charges())[0]

    def ledger(self) -> Ledger:
        """Return a new ledger with the plan's budget."""
        return Ledger(self.budget, self.unit)

    def rows_table(self) -> list[tuple[str, ...]]:
        """Return a row of text for each step, under `HEAD`; discoveries of one kind share a row."""
        discoveries = [step.charge for step in self.steps if step.charge.why == DISCOVERED]
        others = (step for step in self.steps if step.charge.why != DISCOVERED)
        return [
            *grouped_rows(self.budget, discoveries),
            *(charge_row(self.budget, step.charge, step.times) for step in others),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            **asdict(self.budget),
            **asdict(self.unit),
            "relation": self.unit.description,
            "currency": self.budget.currency,
            "budget": self.budget.total,
            "total": self.total,
            "steps": [
                {
                    **asdict(s.charge),
                    "times": s.times,
                    "each": (cost := s.charge.cost(self.budget.kind)),
                    "total": cost * s.times,
                }
                for s in self.steps
            ],
        }


@dataclass(frozen=True)
class Account:
    """What was promised and what was spent: kept with a model, printed with every result. Numbers and names of columns only."""

    budget: Budget
    unit: PrivacyUnit
    charges: tuple[Charge, ...]
    _: KW_ONLY
    test_only: bool
    rows: int
    rows_how: Literal["declared", "measured"]

    def __post_init__(self) -> None:
        if not isinstance(self.test_only, bool):
            raise InputError("test_only of an account must be true or false.")
        if (
            isinstance(self.rows, bool)
            or not isinstance(self.rows, int)
            or not 0 <= self.rows < 2**63
        ):
            raise InputError("rows of an account must be a whole number of at least 0.")
        check_name("way to know the rows", self.rows_how, ("declared", "measured"))
        self.budget.admit(self.budget.amounts(self.charges))

    @property
    def epsilon(self) -> float:
        """The epsilon that was promised."""
        return self.budget.epsilon

    @property
    def delta(self) -> float | None:
        """The delta that was promised; None for none."""
        return self.budget.delta

    @property
    def rho(self) -> float | None:
        """All the rho there was (under Gaussian accounting mu^2 / 2); None with pure accounting."""
        return None if self.budget.kind == "pure" else self.budget.total

    @property
    def spent(self) -> float:
        """What was spent, in the currency of the budget."""
        return self.budget.amounts(self.charges)[0]

    @property
    def unspent(self) -> float:
        """What was left, in the currency of the budget."""
        return max(0.0, self.budget.total - self.spent)

    @property
    def spent_guarantee(self) -> tuple[float, float]:
        """The (epsilon, delta) that what was really spent amounts to."""
        spent, delta = self.budget.amounts(self.charges)
        if self.budget.kind == "gaussian":
            # A choice was cheap because of what was left after it. If that was not spent, its own price holds, up to pi / 2 times as much.
            choices = fsum(
                charge.cost("gaussian") for charge in self.charges if charge.mechanism in CHOICES
            )
            spent = min(max(spent, self.budget.total), spent + (pi / 2 - 1) * choices)
        return self.budget.guarantee(spent, delta)

    @property
    def noise_source(self) -> str:
        """Where the noise came from."""
        return (
            "seeded: TEST ONLY, no privacy"
            if self.test_only
            else "exact samplers, operating-system entropy"
        )

    @property
    def conversion(self) -> str:
        """How the charges add up to the promise, in a sentence."""
        budget = self.budget
        if budget.kind == "pure":
            return "Epsilons add up, and deltas too (basic composition)."
        reserve = (
            f" A delta of {budget.reserved_delta:.6g} is kept for charges with one."
            if budget.reserved_delta
            else ""
        )
        implied = f"implies an epsilon of {budget.epsilon:.6g} at a delta of {budget.converting_delta:.6g}"
        if budget.kind == "gaussian":
            return (
                f"Exact Gaussian accounting: rhos, here mu^2 / 2 of Gaussian privacy, add up; a rho of {budget.total:.6g} {implied} "
                f"(Dong, Roth and Su 2022; Balle and Wang 2018).{reserve}"
            )
        return f"Rhos of zCDP add up; a rho of {budget.total:.6g} {implied} (Canonne, Kamath and Steinke 2020).{reserve}"

    @property
    def sentence(self) -> str:
        """The promise in one plain sentence."""
        if self.test_only:
            return (
                "TEST ONLY: the noise was drawn from a seed, so this carries no promise of privacy."
            )
        epsilon, delta = self.epsilon, self.delta
        times = _rounded_up(exp(epsilon)) if epsilon < 10 else f"e^{epsilon:.6g}"
        name, more = (
            (f"epsilon {epsilon:.6g}", "")
            if delta is None
            else (f"epsilon {epsilon:.6g}, delta {delta:.6g}", f", plus a chance of {delta:.6g}")
        )
        return (
            f"Differentially private ({name}; {self.unit.description}): no outcome is more than {times} times as likely "
            f"with the one table as with the other{more}."
        )

    @property
    def short(self) -> str:
        """The promise in a few words, for places where it stands beside other things."""
        if self.test_only:
            return "TEST ONLY, no privacy: seeded noise"
        delta = "" if self.delta is None else f", delta {self.delta:.6g}"
        return f"epsilon {self.epsilon:.6g}{delta}, {self.unit.description}"

    def rows_table(self) -> list[tuple[str, ...]]:
        """Return a few rows of text under `HEAD`: charges of one kind, reason and mechanism share a row. All are in `to_dict`."""
        return grouped_rows(self.budget, self.charges)

    def _repr_html_(self) -> str:
        return html_table(HEAD, self.rows_table(), caption=self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain data, ready for JSON."""
        epsilon, delta = self.spent_guarantee
        return {
            **asdict(self.budget),
            **asdict(self.unit),
            "relation": self.unit.description,
            "rho": self.rho,
            "charges": [asdict(charge) for charge in self.charges],
            "spent": self.spent,
            "unspent": self.unspent,
            "spent_epsilon": epsilon,
            "spent_delta": delta,
            "conversion": self.conversion,
            "sentence": self.sentence,
            "test_only": self.test_only,
            "noise_source": self.noise_source,
            "rows": self.rows,
            "rows_how": self.rows_how,
        }


_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
_OF_COLUMNS = ("table", "kind", "levels", "levels or bounds", "bounds", "quantiles")
_COUNTED = ("choice", "distances")
_MOST_NAMED = 4


def grouped_rows(budget: Budget, charges: Iterable[Charge]) -> list[tuple[str, ...]]:
    """Return a few rows of text under `HEAD`: charges of one kind, reason and mechanism share a row."""
    groups: dict[tuple[str, str, str], list[Charge]] = {}
    for charge in charges:
        groups.setdefault((charge.why, charge.mechanism, _kind(charge.what)), []).append(charge)
    return [_group_row(budget, kind, group) for (_, _, kind), group in groups.items()]


def _kind(what: str) -> str:
    """The kind of thing that a charge touches: its first word, where others of that word may share its row."""
    first, _, rest = what.partition(" of ")
    return first if rest and first in (*_OF_COLUMNS, *_COUNTED) else ""


def _group_row(budget: Budget, kind: str, charges: Sequence[Charge]) -> tuple[str, ...]:
    """Charges of one kind as a row under `HEAD`; one charge alone says all that it says."""
    if len(charges) == 1:
        return charge_row(budget, charges[0])
    costs = [charge.cost(budget.kind) for charge in charges]
    deltas = [charge.delta for charge in charges]
    has_delta = any(deltas)
    each = f"{budget.currency} {_between(costs)}" + (
        f", delta {_between(deltas)}" if has_delta else ""
    )
    total = f"{budget.currency} {fsum(costs):.4g}" + (
        f", delta {fsum(deltas):.4g}" if has_delta else ""
    )
    noise = _merge_texts([charge.noise for charge in charges])
    how = ", ".join(phrase for phrase in (charges[0].mechanism, noise) if phrase)
    return _query_names(kind, charges), str(len(charges)), each, total, how, charges[0].why


def _query_names(kind: str, charges: Sequence[Charge]) -> str:
    """What charges of one kind touch, in words: how many, and the first few by name."""
    whats = [charge.what for charge in charges]
    if kind in _COUNTED and (merged := _merge_texts(whats, "and" if len(whats) == 2 else "to")):
        return merged
    named = list(
        dict.fromkeys(what.partition(" of ")[2] if kind in _OF_COLUMNS else what for what in whats)
    )
    if kind == "table":
        single = " of single columns" if charges[0].why == "single columns" else ""
        crossed = [name if single else name.replace(", ", " \u00d7 ") for name in named]
        return f"{len(whats)} tables{single}: {join_names(crossed, max_names=_MOST_NAMED)}"
    names = join_names(named, max_names=_MOST_NAMED)
    return f"{kind} of {names}" if kind in _OF_COLUMNS else names


def _between(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    if f"{low:.4g}" == f"{high:.4g}":
        return f"{low:.4g}"
    return f"{low:.3g} to {high:.3g}"


def _merge_texts(texts: Sequence[str], joined: str = "to") -> str:
    """Texts that differ in numbers alone as one, a range where numbers differ; "" for texts that differ in words.

    Examples
    --------
    >>> _merge_texts(["standard deviation 17.13", "standard deviation 9", "standard deviation 12"])
    'standard deviation 9 to 17.13'
    >>> _merge_texts(["a 3", "b 3"])
    ''
    """
    if len({_NUMBER.sub("#", text) for text in texts}) > 1:
        return ""
    columns = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    ranges = iter([_range(numbers, joined) for numbers in columns])
    return _NUMBER.sub(lambda _: next(ranges), texts[0])


def _range(texts: Sequence[str], joined: str) -> str:
    """Numbers as they were written: the one, or the smallest and the largest."""
    distinct = sorted(set(texts), key=lambda text: float(text.replace(",", "")))
    return distinct[0] if len(distinct) == 1 else f"{distinct[0]} {joined} {distinct[-1]}"


def _rounded_up(value: float) -> str:
    """A number in three digits, never below it."""
    step = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / step - 1e-9) * step:.6g}"


def account_from_dict(data: object) -> Account:
    """Return the account that `Account.to_dict` described; raise InputError for anything else, also if its sums are wrong."""
    try:
        return _account(data)
    except (
        InputError,
        RecursionError,
        OverflowError,
        TypeError,
        KeyError,
        AttributeError,
        ChaffinchError,
    ) as error:
        why = f" {error}" if isinstance(error, InputError) else ""
        raise InputError(
            f"The account of privacy is damaged: it is not as Chaffinch writes it.{why}"
        ) from None


def _account(data: Any) -> Account:
    budget = Budget(**_pick_fields(data, Budget))
    unit = PrivacyUnit(**_pick_fields(data, PrivacyUnit))
    charges = data["charges"]
    if not isinstance(charges, list) or not all(
        isinstance(c, dict) and set(c) == _names(Charge) for c in charges
    ):
        raise InputError("Its charges are not a list of charges.")
    account = Account(
        budget,
        unit,
        tuple(Charge(**charge) for charge in charges),
        test_only=data["test_only"],
        rows=data["rows"],
        rows_how=data["rows_how"],
    )
    plain = account.to_dict()
    if set(plain) != set(data):
        raise InputError("It has other fields.")
    for name in ("accounting", "relation", "conversion", "sentence", "noise_source"):
        if not isinstance(data[name], str):
            raise InputError(f"Its '{name}' is not text.")
    for name in ("rho", "spent", "unspent", "spent_epsilon", "spent_delta"):
        mine, other = plain[name], data[name]
        if mine is None or other is None:
            same = mine is other
        else:
            number = (
                isinstance(other, int | float) and not isinstance(other, bool) and isfinite(other)
            )
            # The words may change with a release; the numbers may not, but for their last digits.
            same = number and isclose(mine, other, rel_tol=1e-6, abs_tol=1e-9 * budget.total)
        if not same:
            raise InputError(f"Its '{name}' does not follow from its charges.")
    return account


def _names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def _pick_fields(data: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputError("It is not an object.")
    return {name: data[name] for name in _names(kind)}
