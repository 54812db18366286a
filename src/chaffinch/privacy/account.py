"""The account: what was promised and what was spent, as it is kept with a model and printed with every result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields
from math import ceil, exp, floor, fsum, isclose, isfinite, log10, pi
from typing import Any, Literal

from .._base.errors import ChaffinchError, InputError, listed, unknown_name
from .._base.results import html_table
from .budget import CHOICES, HEAD, Budget, Charge, charge_row
from .relation import Unit


@dataclass(frozen=True)
class Account:
    """What was promised and what was spent: kept with a model, printed with every result. Numbers and names of columns only."""

    budget: Budget
    unit: Unit
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
        if self.rows_how not in ("declared", "measured"):
            raise unknown_name("way to know the rows", self.rows_how, ("declared", "measured"))
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
    def spent_promise(self) -> tuple[float, float]:
        """The (epsilon, delta) that what was really spent amounts to."""
        spent, delta = self.budget.amounts(self.charges)
        if self.budget.kind == "gaussian":
            # A choice was cheap because of what was left after it. If that was not spent, its own price holds, up to pi / 2 times as much.
            choices = fsum(
                charge.cost("gaussian") for charge in self.charges if charge.mechanism in CHOICES
            )
            spent = min(max(spent, self.budget.total), spent + (pi / 2 - 1) * choices)
        return self.budget.promise(spent, delta)

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
            f"Differentially private ({name}; {self.unit.words}): no outcome is more than {times} times as likely "
            f"with the one table as with the other{more}."
        )

    @property
    def short(self) -> str:
        """The promise in a few words, for places where it stands beside other things."""
        if self.test_only:
            return "TEST ONLY, no privacy: seeded noise"
        delta = "" if self.delta is None else f", delta {self.delta:.6g}"
        return f"epsilon {self.epsilon:.6g}{delta}, {self.unit.words}"

    def rows_table(self) -> list[tuple[str, ...]]:
        """Return a few rows of text under `HEAD`: charges of one kind, reason and mechanism share a row. All are in `to_dict`."""
        return grouped_rows(self.budget, self.charges)

    def _repr_html_(self) -> str:
        return html_table(HEAD, self.rows_table(), caption=self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain data, ready for JSON."""
        epsilon, delta = self.spent_promise
        return {
            **asdict(self.budget),
            **asdict(self.unit),
            "relation": self.unit.words,
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
    return [_group_row(budget, kind, every) for (_, _, kind), every in groups.items()]


def _kind(what: str) -> str:
    """The kind of thing that a charge touches: its first word, where others of that word may share its row."""
    first, _, rest = what.partition(" of ")
    return first if rest and first in (*_OF_COLUMNS, *_COUNTED) else ""


def _group_row(budget: Budget, kind: str, charges: Sequence[Charge]) -> tuple[str, ...]:
    """Charges of one kind as a row under `HEAD`; one charge alone says all that it says."""
    if len(charges) == 1:
        return charge_row(budget, charges[0], 1, charges[0].what)
    costs = [charge.cost(budget.kind) for charge in charges]
    deltas = [charge.delta for charge in charges]
    has_delta = any(deltas)
    each = f"{budget.currency} {_between(costs)}" + (
        f", delta {_between(deltas)}" if has_delta else ""
    )
    every = f"{budget.currency} {fsum(costs):.4g}" + (
        f", delta {fsum(deltas):.4g}" if has_delta else ""
    )
    noise = _merged([charge.noise for charge in charges])
    how = ", ".join(part for part in (charges[0].mechanism, noise) if part)
    return _touched(kind, charges), str(len(charges)), each, every, how, charges[0].why


def _touched(kind: str, charges: Sequence[Charge]) -> str:
    """What charges of one kind touch, in words: how many, and the first few by name."""
    whats = [charge.what for charge in charges]
    if kind in _COUNTED and (merged := _merged(whats, "and" if len(whats) == 2 else "to")):
        return merged
    named = list(
        dict.fromkeys(what.partition(" of ")[2] if kind in _OF_COLUMNS else what for what in whats)
    )
    if kind == "table":
        single = " of single columns" if charges[0].why == "single columns" else ""
        crossed = [name if single else name.replace(", ", " \u00d7 ") for name in named]
        return f"{len(whats)} tables{single}: {listed(crossed, most=_MOST_NAMED)}"
    names = listed(named, most=_MOST_NAMED)
    return f"{kind} of {names}" if kind in _OF_COLUMNS else names


def _between(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    if f"{low:.4g}" == f"{high:.4g}":
        return f"{low:.4g}"
    return f"{low:.3g} to {high:.3g}"


def _merged(texts: Sequence[str], joined: str = "to") -> str:
    """Texts that differ in numbers alone as one, a range where numbers differ; "" for texts that differ in words.

    Examples
    --------
    >>> _merged(["standard deviation 17.13", "standard deviation 9", "standard deviation 12"])
    'standard deviation 9 to 17.13'
    >>> _merged(["a 3", "b 3"])
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
    budget = Budget(**_picked(data, Budget))
    unit = Unit(**_picked(data, Unit))
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


def _picked(data: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputError("It is not an object.")
    return {name: data[name] for name in _names(kind)}
