"""A ledger refuses what there is no budget for: every touch of the data is charged before it happens. A plan says it beforehand.

Both name the neighbour relation through their `Unit`; neither holds a value or a count of the data. Why totals add up: `budget`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from math import fsum, nextafter
from typing import Any, Literal

from .._base.errors import ClosedError, InputError
from .account import Account, grouped_rows
from .accounting import check_epsilon
from .budget import Budget, Charge, charge_row
from .relation import Unit

DISCOVERED = "discover = true"
"""Why a charge is made for what the schema leaves to be discovered."""


class Ledger:
    """A budget and the charges to it. Charge before touching: a charge that does not fit raises, and nothing is recorded.

    Examples
    --------
    >>> ledger = Ledger(Budget(1.0), Unit("add-remove"))
    >>> ledger.charge(Charge("table of age", "measure", epsilon=0.9, mechanism="discrete Laplace", noise="scale 1.11"))
    >>> round(ledger.left, 6)
    0.1
    """

    def __init__(self, budget: Budget, unit: Unit, reserved_delta: float = 0.0) -> None:
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
    def left(self) -> float:
        """What is left to spend, in the currency of the budget."""
        return max(0.0, self.total - self.spent)

    def shares(self, parts: Sequence[float]) -> tuple[float, ...]:
        """Return what is left, split in proportion to `parts`; the shares never add up to more than it."""
        weights = [check_epsilon(part, "a part") for part in parts]
        left, whole = self.left, fsum(weights)
        amounts = [left * weight / whole for weight in weights]
        while fsum(amounts) > left:  # by one rounding at most
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
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise InputError(
                f"times of a planned charge must be a whole number of at least 1. Got {self.times!r}."
            )

    def on(self, what: str) -> Charge:
        """Return the charge for one touch, naming what it touches."""
        return replace(self.charge, what=what)


@dataclass(frozen=True)
class Plan:
    """What will be charged, settled before data are touched; raises BudgetError unless it fits.

    A fit charges no more: what a step turns out not to need goes to the last one.
    """

    budget: Budget
    unit: Unit
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
            *(
                charge_row(self.budget, step.charge, step.times, step.charge.what)
                for step in others
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            **asdict(self.budget),
            **asdict(self.unit),
            "relation": self.unit.words,
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
