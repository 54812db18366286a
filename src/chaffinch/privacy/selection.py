"""Private selection: one of some candidates, each fitted privately, chosen by a score on the data, all of it charged.

Looking at the data to choose between releases costs privacy, also if each release is private by itself. Two ways are sound:

"each once"
    Every candidate is fitted once, from its own part of the budget, and counts as released; then one is chosen by `PrivateCounter.closest`, an
    exponential mechanism or permute-and-flip whose score is minus the L1 distance between the counts of the data and of the released table over a
    public workload. Costs add up: fits and choice (`budget`). All candidates, and what is computed of them, may be seen.
"repeated"
    A random number of times a candidate is picked blindly, fitted, and its distance measured with noise; only the nearest is kept. The best of them costs
    2 + shape times a run in pure epsilon, and under zCDP what `Stopping.zcdp_cost` says, however many candidates there are. Nothing but the chosen one may be seen, and
    a candidate is tried by chance. Proofs: `stopping`.

The neighbour relation is that of the `Unit` throughout. `plan_selection` says what either way leaves for a fit, and takes the one that leaves more; no record
is touched for it, so a preview can show it:

    plan = plan_selection(Budget(1.0, 1e-9), Unit("add-remove"), candidates=12)
    print(plan.sentence)                                  # which way, what each fit may spend, what the choice costs
    selected = select_candidate(counter, fits, workload, plan)
    selected.position, selected.model, selected.account   # the account is of everything: all fits and the choice

`counter` counts the data under a sealed schema (`prepare`), and `fits` are functions `(budget, seed) -> Candidate`: they fit with that budget and no more, and return the
model and a table drawn from it, under the same schema. Which candidates there are, their number and the workload must be settled without the data.
Without a seed the noise, the picks and the number of runs come from the operating system, and fits are given no seed; with one everything is repeatable, and `test_only`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Any, Literal, get_args

import numpy as np

from .._base.errors import InputError, PrivacyError, unknown_name
from .._base.seeds import Seed, seed_sequence
from ..counts.counter import Counter
from ..table.schema import Schema
from .account import Account
from .accounting import rho_to_epsilon
from .budget import Accounting, Budget, Charge
from .counter import PrivateCounter
from .gaussian import amount_to_epsilon
from .ledger import Ledger, Plan, Step
from .noise import noise_of
from .relation import Unit
from .stopping import Stopping, stopping_for

Way = Literal["each once", "repeated"]
WAYS: tuple[str, ...] = get_args(Way)

CHOICE_SHARE = 0.1
"""The share of the budget, or of a run's, that goes to scores: distances of thousands of records stand out from little noise."""

TRIED = 0.9
"""The chance with which a repeated selection tries any one candidate."""

WHY = "choose a candidate"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A private model, a table drawn from it (counted under the schema of the data, with about as many rows), and the account of its fit."""

    model: Any
    released: Counter
    privacy: Account


Fit = Callable[[Budget, Seed], Candidate]
"""Fits a candidate with a budget and no more; the seed is None for a release."""


@dataclass(frozen=True)
class SelectionPlan:
    """How one of some candidates will be chosen and what it costs: settled by public numbers, before a record is touched.

    `fit` is what each fit may spend; `choice` what choosing costs, or under "repeated" the noisy score of one run, in the currency of `currency`.
    """

    budget: Budget
    unit: Unit
    candidates: int
    way: Way
    fit: Budget
    choice: float
    stopping: Stopping | None = None

    @property
    def pure(self) -> bool:
        """Whether amounts are epsilons; otherwise they are rhos."""
        return self.budget.delta is None

    @property
    def currency(self) -> str:
        """The name of what fits and choice cost."""
        return "epsilon" if self.pure else "rho"

    @property
    def fit_cost(self) -> float:
        """What one fit costs in the currency: every touch of a fit under Gaussian accounting has its amount as rho of zCDP, too."""
        return self.fit.total

    @property
    def pure_fit(self) -> Budget:
        """What a fit may spend that promises pure epsilon: all of epsilon, or the epsilon with epsilon^2 / 2 within rho."""
        return self.fit if self.pure else Budget(sqrt(2 * self.fit_cost) * (1 - 1e-12))

    @property
    def tried(self) -> float:
        """The chance that any one candidate is tried."""
        return 1.0 if self.stopping is None else self.stopping.tried(self.candidates)

    @property
    def runs(self) -> float:
        """The number of fits, on average where it is random."""
        return float(self.candidates) if self.stopping is None else self.stopping.mean

    def preview(self) -> Plan:
        """Return what will be charged."""
        if self.stopping is None:
            return Plan(
                self.budget,
                self.unit,
                (Step(self._fit_charge(), self.candidates), Step(self._choice_charge())),
            )
        return Plan(self.budget, self.unit, (Step(self._best_charge(self.stopping)),))

    @property
    def sentence(self) -> str:
        """The plan in a sentence."""
        each = f"{self.currency} {self.fit_cost:.4g}"
        if self.stopping is None:
            return (
                f"Each of {self.candidates:,} candidates is fitted once with {each}, and the choice between them costs {self.currency} {self.choice:.4g}: "
                "all of them may be seen."
            )
        return (
            f"Candidates are picked blindly and fitted with {each} each, {self.runs:,.0f} times on average, any one with a chance of {self.tried:.0%}; "
            f"the score of each costs {self.currency} {self.choice:.4g}. Only the best is kept: nothing else may be seen, nor how many there were."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        stopping = (
            None
            if self.stopping is None
            else {
                "one_in": self.stopping.one_in,
                "shape": float(self.stopping.shape),
                "mean": self.stopping.mean,
            }
        )
        return {
            "way": self.way,
            "candidates": self.candidates,
            "currency": self.currency,
            "fit": self.fit_cost,
            "fit_epsilon": self.fit.epsilon,
            "fit_delta": self.fit.delta,
            "choice": self.choice,
            "tried": self.tried,
            "stopping": stopping,
            "sentence": self.sentence,
            "plan": self.preview().to_dict(),
        }

    def _fit_charge(self) -> Charge:
        return self.budget.charge(
            f"fit of one of {self.candidates:,} candidates",
            WHY,
            self.fit_cost,
            mechanism="",
            noise="",
        )

    def _choice_charge(self) -> Charge:
        mechanism = "permute-and-flip" if self.pure else "exponential"
        what = f"choice of one of {self.candidates:,} released tables"
        return self.budget.charge(what, WHY, self.choice, mechanism=mechanism, noise="")

    def _best_charge(self, stopping: Stopping) -> Charge:
        run = self.fit_cost + self.choice
        epsilon = (
            stopping.pure_cost(run)
            if self.budget.delta is None
            else stopping.zcdp_cost(run, self.budget.delta)
        )
        return Charge(
            f"best of a random number of fits of {self.candidates:,} candidates",
            WHY,
            epsilon=min(epsilon, self.budget.epsilon),
            delta=self.budget.delta or 0.0,
            mechanism="best of a random number of runs",
            noise=f"{self.currency} {run:.4g} each, {self.runs:.4g} on average",
        )


@dataclass(frozen=True, eq=False)
class Selected:
    """The chosen candidate: its position, its model, what was planned, and the account of everything that was spent for it.

    `candidates` are all of them where each was fitted once: they may be seen. Under "repeated" they are gone.
    """

    position: int
    model: Any
    plan: SelectionPlan
    account: Account
    candidates: tuple[Candidate, ...] = ()

    @property
    def test_only(self) -> bool:
        """Whether anything was drawn from a seed, and so protects nobody."""
        return self.account.test_only


def plan_selection(
    budget: Budget,
    unit: Unit,
    candidates: int,
    *,
    way: Way | None = None,
    choice_share: float = CHOICE_SHARE,
    tried: float = TRIED,
    shape: Fraction | float = 1,
) -> SelectionPlan:
    """Return how one of some candidates will be chosen from a budget; of the two ways, unless named, the one that leaves more for a fit.

    Under zCDP rhos are added, also for fits that account for Gaussian noise exactly. All of the budget's delta goes to turning them into epsilon: fits
    that discover words, and so need a delta of their own, are refused by `select_candidate`.

    Examples
    --------
    >>> once, many = (plan_selection(Budget(1.0), Unit("add-remove"), m) for m in (2, 12))
    >>> once.way, round(once.fit_cost, 3), many.way, round(many.fit_cost, 3)
    ('each once', 0.45, 'repeated', 0.3)
    """
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        raise InputError(
            f"The number of candidates must be a whole number of at least 1. Got {candidates!r}."
        )
    if way is not None and way not in WAYS:
        raise unknown_name("way of selecting", way, WAYS)
    if not 0 < choice_share < 1:
        raise InputError(f"choice_share must lie between 0 and 1. Got {choice_share}.")
    if budget.reserved_delta or (budget.kind == "pure" and budget.delta is not None):
        raise InputError(
            "A selection needs a budget whose delta is not reserved: give epsilon alone, or epsilon and delta without accounting."
        )
    if way is not None:
        plan = _each_once if way == "each once" else _repeated
        return plan(budget, unit, candidates, choice_share, tried, shape)
    plans = [
        plan(budget, unit, candidates, choice_share, tried, shape)
        for plan in (_each_once, _repeated)
    ]
    return max(
        plans, key=lambda plan: plan.fit_cost
    )  # the first where equal: all candidates may be seen


def _each_once(
    budget: Budget, unit: Unit, candidates: int, share: float, tried: float, shape: Fraction | float
) -> SelectionPlan:
    whole = budget if budget.kind == "pure" else replace(budget, accounting="zcdp")
    choice = whole.total * share
    each = whole.total * (1 - share) / candidates
    return SelectionPlan(
        whole, unit, candidates, "each once", _fit_budget(each, budget.delta), choice
    )


def _repeated(
    budget: Budget, unit: Unit, candidates: int, share: float, tried: float, shape: Fraction | float
) -> SelectionPlan:
    stopping = stopping_for(candidates, tried=tried, shape=shape)
    whole = replace(
        budget, accounting="pure"
    )  # its one charge has an epsilon, and a delta where there is one
    run = (
        stopping.affordable_epsilon(budget.epsilon)
        if budget.delta is None
        else stopping.affordable_rho(budget.epsilon, budget.delta)
    )
    return SelectionPlan(
        whole,
        unit,
        candidates,
        "repeated",
        _fit_budget(run * (1 - share), budget.delta),
        run * share * (1 - 1e-12),
        stopping,
    )


def _fit_budget(amount: float, delta: float | None) -> Budget:
    """Return the budget of a fit that costs an amount and no more: an epsilon, or with a delta a rho."""
    return Budget(amount) if delta is None else _budget_of(amount, delta)


def _budget_of(amount: float, delta: float, accounting: Accounting | None = None) -> Budget:
    """Return a budget at delta whose total is a rho, or a hair less."""
    for invert in (
        rho_to_epsilon,
        amount_to_epsilon,
    ):  # the first where rhos are added, the second where Gaussian noise is accounted for exactly
        if (epsilon := invert(amount, delta)) > 0:
            for less in (0.0, 1e-9, 1e-6, 1e-4):
                budget = Budget(epsilon * (1 - less), delta, accounting)
                if budget.total <= amount:
                    return budget
    raise InputError(
        "The budget is too small to be shared by so many candidates. Take fewer, or a larger epsilon."
    )


def pairs_workload(
    schema: Schema, columns: Sequence[str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return all pairs of some columns, of all that are modelled unless named: a workload to compare tables by. One column is its own."""
    names = tuple(schema.names if columns is None else columns)
    return tuple(combinations(names, 2)) if len(names) > 1 else (names,)


def select_candidate(
    data: Counter,
    fits: Sequence[Fit],
    workload: Sequence[Sequence[str]],
    plan: SelectionPlan,
    *,
    seed: Seed = None,
) -> Selected:
    """Return one of some candidates, fitted and chosen as planned; every touch of the data is charged before it happens.

    Raises before anything is charged if the fits are not as many as planned, or the budget of a fit has been changed. A fit that raises leaves its
    charge made, and under "repeated" the charge for all.
    """
    if len(fits) != plan.candidates:
        raise InputError(f"The plan is for {plan.candidates:,} candidates. Got {len(fits):,} fits.")
    plan.preview()  # raises unless it fits into the budget
    streams = _Streams(seed)
    plan = replace(plan, unit=plan.unit.for_persons(data.schema.persons))
    ledger = Ledger(plan.budget, plan.unit)
    noise = noise_of(streams.next())
    with PrivateCounter(data, ledger, noise) as counter:
        if plan.stopping is None:
            every = []
            for fit in fits:
                ledger.charge(plan._fit_charge())
                every.append(_checked(fit(plan.fit, streams.next()), plan, release=streams.release))
            position = counter.closest(
                workload, [each.released for each in every], plan.choice, why=WHY
            )
            chosen, seen = every[position], tuple(every)
        else:
            ledger.charge(plan._best_charge(plan.stopping))
            position, chosen = _best_of_runs(data, fits, workload, plan, plan.stopping, streams)
            seen = ()
    account = ledger.account(
        test_only=noise.test_only, rows=chosen.released.n_rows, rows_how=_rows_how(data.schema)
    )
    return Selected(position, chosen.model, plan, account, seen)


def _best_of_runs(
    data: Counter,
    fits: Sequence[Fit],
    workload: Sequence[Sequence[str]],
    plan: SelectionPlan,
    stopping: Stopping,
    streams: _Streams,
) -> tuple[int, Candidate]:
    """Return the nearest of a random number of runs; of equal ones the first, which is any of them, as runs are alike.

    Each run has a ledger of its own, of its score alone: it cannot spend more than the plan's one charge reckons with.
    """
    below, score = streams.below(), _score_budget(plan)
    best: tuple[int, int, Candidate] | None = None
    for _ in range(stopping.draw(below)):
        at = below(len(fits))
        candidate = _checked(fits[at](plan.fit, streams.next()), plan, release=streams.release)
        run = Ledger(score, plan.unit)
        with PrivateCounter(data, run, noise_of(streams.next())) as counter:
            distance, _ = counter.workload_distance(
                workload, candidate.released, run.total, why=WHY
            )
        if best is None or distance < best[0]:
            best = distance, at, candidate
    assert best is not None  # there is at least one run
    return best[1], best[2]


def _score_budget(plan: SelectionPlan) -> Budget:
    """Return the budget of one noisy score, of `plan.choice` at most."""
    return (
        Budget(plan.choice)
        if plan.budget.delta is None
        else _budget_of(plan.choice, plan.budget.delta, "zcdp")
    )


def _checked(candidate: Candidate, plan: SelectionPlan, *, release: bool) -> Candidate:
    """Return a candidate; raise if the account of its fit does not keep to the plan."""
    account = candidate.privacy
    if not isinstance(account, Account):
        raise PrivacyError(
            "A candidate has no account of a private fit: a selection is as private as what it chooses from. Fit with the budget given."
        )
    if release and account.test_only:
        raise PrivacyError(
            "A candidate was fitted with a seed, which protects nobody. Fit without one, or select with a seed, for a test."
        )
    if account.unit != plan.unit:
        raise PrivacyError(
            f"A candidate was fitted for another relation ({account.unit.words}) than the selection ({plan.unit.words})."
        )
    if account.budget.delta_total:
        raise PrivacyError(
            "A candidate has a delta of its own, for words that it discovered. Declare the levels, or choose without the data."
        )
    pure = account.budget.kind == "pure"
    cost = account.budget.epsilon**2 / 2 if pure and not plan.pure else account.budget.total
    if (plan.pure and not pure) or cost > plan.fit_cost * (1 + 1e-9):
        raise PrivacyError(
            "A candidate was fitted with more than the plan gives each fit. Pass the budget that the fit is given on to it."
        )
    return candidate


def _rows_how(schema: Schema) -> Literal["declared", "measured"]:
    return "measured" if schema.rows is None else "declared"


class _Streams:
    """Seeds of fits and noise: independent ones of a seed, None without."""

    def __init__(self, seed: Seed) -> None:
        self._parent = None if seed is None else seed_sequence(seed)

    @property
    def release(self) -> bool:
        return self._parent is None

    def next(self) -> np.random.SeedSequence | None:
        return None if self._parent is None else self._parent.spawn(1)[0]

    def below(self) -> Callable[[int], int]:
        """Return a function that gives random whole numbers below its argument."""
        if (stream := self.next()) is None:
            return secrets.randbelow
        rng = np.random.default_rng(stream)
        return lambda n: int(rng.integers(n))
