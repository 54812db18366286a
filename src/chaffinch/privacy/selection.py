"""Private selection: one of some candidates, each fitted privately, chosen by a score on the data, all of it charged.

Looking at the data to choose between releases costs privacy, also if each release is private by itself. Two ways are sound:

"each once"
    Every candidate is fitted once, from its own part of the budget, and counts as released; then one is chosen by `PrivateCounter.closest`, an
    exponential mechanism or permute-and-flip whose score is minus the L1 distance between the counts of the data and of the released table over a
    public workload. Costs add up: fits and choice (`ledger`). All candidates, and what is computed of them, may be seen.
"repeated"
    A random number of times a candidate is picked blindly, fitted, and its distance measured with noise; only the nearest is kept. The best of them costs
    2 + shape times a run in pure epsilon, and under zCDP what `Stopping.zcdp_cost` says, however many candidates there are. Nothing but the chosen one may be seen, and
    a candidate is tried by chance. Proofs: below.

The neighbour relation is that of the `PrivacyUnit` throughout. `plan_selection` says what either way leaves for a fit, and takes the one that leaves more; no record
is touched for it, so a preview can show it:

    plan = plan_selection(Budget(1.0, 1e-9), PrivacyUnit("add-remove"), candidates=12)
    print(plan.sentence)                                  # which way, what each fit may spend, what the choice costs
    selected = select_candidate(counter, fits, workload, plan)
    selected.position, selected.model, selected.account   # the account is of everything: all fits and the choice

`counter` counts the data under a sealed schema (`prepare`), and `fits` are functions `(budget, seed) -> Candidate`: they fit with that budget and no more, and return the
model and a table drawn from it, under the same schema. Which candidates there are, their number and the workload must be settled without the data.
Without a seed the noise, the picks and the number of runs come from the operating system, and fits are given no seed; with one everything is repeatable, and `test_only`.

**The best of a random number of runs** (`Stopping`). A run fits a candidate privately and measures its score with noise. Best of a *fixed* number k of runs costs up to k times as much as one run. If
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import ceil, log, log1p, sqrt
from typing import Any, Literal, get_args

import numpy as np

from .._base.checks import check_name, check_share, check_whole
from .._base.errors import InputError, PrivacyError
from .._base.seeds import Seed, seed_sequence
from ..counts.counter import Counter
from ..table.schema import Schema
from .accounting import UP, _last, amount_to_epsilon, check_delta, check_epsilon, rho_to_epsilon
from .counter import PrivateCounter
from .ledger import Account, Accounting, Budget, Charge, Ledger, Plan, Step
from .mechanisms import noise_of
from .relation import PrivacyUnit


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
        check_whole("one_in", self.one_in, 2)
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
        bounds = (
            rho * a_less_1
            + constant
            + (bits - np.log1p(a_less_1)) / a_less_1
            - np.log1p(1 / a_less_1)
        )
        return max(0.0, float(bounds.min())) * (1 + 1e-9)

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
    check_whole("The number of candidates", candidates, 1)
    check_share("The chance that a candidate is tried", tried)
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
    unit: PrivacyUnit
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
    unit: PrivacyUnit,
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
    >>> once, many = (plan_selection(Budget(1.0), PrivacyUnit("add-remove"), m) for m in (2, 12))
    >>> once.way, round(once.fit_cost, 3), many.way, round(many.fit_cost, 3)
    ('each once', 0.45, 'repeated', 0.3)
    """
    check_whole("The number of candidates", candidates, 1)
    check_name("way of selecting", way, WAYS, optional=True)
    check_share("choice_share", choice_share)
    if budget.reserved_delta or (budget.kind == "pure" and budget.delta is not None):
        raise InputError(
            "A selection needs a budget whose delta is not reserved: give epsilon alone, or epsilon and delta without accounting."
        )
    if way is not None:
        plan = _each_once if way == "each once" else _repetition_plan
        return plan(budget, unit, candidates, choice_share, tried, shape)
    plans = [
        plan(budget, unit, candidates, choice_share, tried, shape)
        for plan in (_each_once, _repetition_plan)
    ]
    return max(
        plans, key=lambda plan: plan.fit_cost
    )  # the first where equal: all candidates may be seen


def _each_once(
    budget: Budget,
    unit: PrivacyUnit,
    candidates: int,
    share: float,
    tried: float,
    shape: Fraction | float,
) -> SelectionPlan:
    plan_budget = budget if budget.kind == "pure" else replace(budget, accounting="zcdp")
    choice = plan_budget.total * share
    each = plan_budget.total * (1 - share) / candidates
    return SelectionPlan(
        plan_budget, unit, candidates, "each once", _fit_budget(each, budget.delta), choice
    )


def _repetition_plan(
    budget: Budget,
    unit: PrivacyUnit,
    candidates: int,
    share: float,
    tried: float,
    shape: Fraction | float,
) -> SelectionPlan:
    stopping = stopping_for(candidates, tried=tried, shape=shape)
    plan_budget = replace(
        budget, accounting="pure"
    )  # its one charge has an epsilon, and a delta where there is one
    run = (
        stopping.affordable_epsilon(budget.epsilon)
        if budget.delta is None
        else stopping.affordable_rho(budget.epsilon, budget.delta)
    )
    return SelectionPlan(
        plan_budget,
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
            candidates = []
            for fit in fits:
                ledger.charge(plan._fit_charge())
                candidates.append(
                    _check_candidate(fit(plan.fit, streams.next()), plan, release=streams.release)
                )
            position = counter.select_candidate(
                workload, [each.released for each in candidates], plan.choice, why=WHY
            )
            chosen, seen = candidates[position], tuple(candidates)
        else:
            ledger.charge(plan._best_charge(plan.stopping))
            position, chosen = _best_of_runs(data, fits, workload, plan, plan.stopping, streams)
            seen = ()
    account = ledger.account(
        test_only=noise.test_only,
        rows=chosen.released.n_rows,
        rows_how="measured" if data.schema.rows is None else "declared",
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
    below, delta = streams.below(), plan.budget.delta
    score = Budget(plan.choice) if delta is None else _budget_of(plan.choice, delta, "zcdp")
    best: tuple[int, int, Candidate] | None = None
    for _ in range(stopping.draw(below)):
        position = below(len(fits))
        candidate = _check_candidate(
            fits[position](plan.fit, streams.next()), plan, release=streams.release
        )
        run = Ledger(score, plan.unit)
        with PrivateCounter(data, run, noise_of(streams.next())) as counter:
            distance, _ = counter.workload_distance(
                workload, candidate.released, run.total, why=WHY
            )
        if best is None or distance < best[0]:
            best = distance, position, candidate
    assert best is not None  # there is at least one run
    return best[1], best[2]


def _check_candidate(candidate: Candidate, plan: SelectionPlan, *, release: bool) -> Candidate:
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
            f"A candidate was fitted for another relation ({account.unit.description}) than the selection ({plan.unit.description})."
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
