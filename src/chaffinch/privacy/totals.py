"""What releases of the same data add up to, and by which rule.

Proof sketch of the sums. Epsilons and deltas of releases add (basic composition). Rhos of zCDP add (Bun and Steinke 2016, Lemma 1.7), where every
release has one: a pure one has epsilon^2 / 2, a Gaussian one its total, since each of its touches is zCDP with no more than it costs. Amounts
of Gaussian privacy add (`gaussian`); a release that has another accounting is taken by its (epsilon, delta): up to a chance of delta it is
epsilon-private (Kairouz, Oh and Viswanath 2015).

With different neighbour relations the total is stated for replace-one. To replace is to remove and then to add, so through the table in
between, P <= e^eps M + delta and M <= e^eps Q + delta give P <= e^(2 eps) Q + (1 + e^eps) delta: epsilon doubles; mu doubles too (Dong, Roth and
Su 2022), so amounts and rhos are taken four times (of zCDP, Bun and Steinke, Proposition 1.9). With different bounds on the
rows of a person, it is stated for the least, as a promise to people with many rows holds for those with few.

Which sum counts is the rule, settled when a ledger is made, so that a limit on it holds also if each budget is chosen after seeing
earlier releases (basic: Rogers, Roth, Ullman and Vadhan 2016; zCDP: Feldman and Zrnic 2021; Gaussian: the head of `gaussian`).
"gaussian" and "zcdp" take the smaller of that sum at delta and of the epsilons at a delta of 0, which pure releases have. Split
the outcomes by which of the two held at the end. Those of the one part obey e^epsilon with delta, those of the other e^epsilon with 0: together
delta. "smaller", of ledgers made before there were rules, takes the smaller of the basic sum and of zCDP, both at delta: if it
hangs on what was seen which of them that is, the same argument gives delta twice, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, fsum, inf
from typing import Any, Literal, cast, get_args

from .._base.errors import InputError, unknown_name
from .accounting import pure_to_rho, rho_to_epsilon
from .budget import ROUNDING, SLACK, Budget
from .gaussian import amount_to_epsilon, width_to_amount
from .relation import Unit

Rule = Literal["gaussian", "zcdp", "basic", "smaller"]
RULES: tuple[str, ...] = get_args(Rule)
_WORDS = {
    "gaussian": "amounts of Gaussian privacy, or epsilons while all releases are pure",
    "zcdp": "rhos of zCDP, or epsilons while all releases are pure",
    "basic": "epsilons and deltas",
    "smaller": "the smaller of the basic sum and of zCDP",
}


@dataclass(frozen=True)
class Release:
    """One release: its label, when it was written down, the whole budget it may spend, and under which relation."""

    label: str
    when: str
    budget: Budget
    unit: Unit
    test_only: bool = False

    def __post_init__(self) -> None:
        check_text(self.label, "label of a release")
        check_text(self.when, "time of a release")
        if not isinstance(self.test_only, bool):
            raise InputError("test_only of a release must be true or false.")

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain data."""
        words = {"label": self.label, "when": self.when, "test_only": self.test_only}
        return {**words, **asdict(self.budget), **asdict(self.unit)}


@dataclass(frozen=True)
class Totals:
    """What releases add up to: by the rule, and by each sum that holds by itself.

    `epsilon` is infinity where no sum of the rule keeps within the delta that was asked for. Test-only releases are not in it.
    """

    unit: Unit
    epsilon: float
    delta: float
    basic: tuple[float, float]
    zcdp: tuple[float, float, float] | None
    """rho, epsilon and delta."""
    gaussian: tuple[float, float, float] | None
    """rho (mu^2 / 2), epsilon and delta."""
    test_only: int
    rule: Rule
    limited: bool

    @property
    def counted(self) -> str:
        """What counts by the rule, in words."""
        return _WORDS[self.rule]

    @property
    def sentence(self) -> str:
        """The totals in words."""
        text = f"In all epsilon {self.epsilon:.6g}, delta {self.delta:.6g} ({self.unit.words})."
        if self.epsilon == inf:
            text = f"In all no epsilon holds at a delta of {self.delta:.6g}: the deltas of the releases add up to more."
        text += f" By basic composition epsilon {self.basic[0]:.6g}, delta {self.basic[1]:.6g}"
        for name, total in (("zCDP", self.zcdp), ("Gaussian privacy", self.gaussian)):
            if total is not None:
                text += f"; by {name} rho {total[0]:.6g}: epsilon {total[1]:.6g} at delta {total[2]:.6g}"
        text += f". What counts: {self.counted}"
        if not self.limited:
            text += "; without a limit this holds for budgets that were settled beforehand, not for those chosen after seeing a release"
        elif self.rule == "smaller":
            text += (
                f"; if budgets were chosen after seeing earlier releases, the delta that holds is {2 * self.delta:.6g}. "
                "A ledger made now settles its rule beforehand"
            )
        if self.test_only:
            text += f". TEST ONLY releases, which protect nothing and are not in the total: {self.test_only}"
        return text + "."


def add_up(
    releases: Sequence[Release],
    *,
    delta: float | None = None,
    replaced: bool = False,
    rule: Rule = "gaussian",
    limited: bool = True,
) -> Totals:
    """Return the totals of releases by a rule at `delta`; where None, at the sum of their own deltas.

    They are stated for add-remove if all releases are, unless `replaced`; for replace-one otherwise. Promises for a person and for a record add up to one
    for a person who has as many rows as each of them covers.

    Examples
    --------
    >>> once = Release("first", "2025-01-01", Budget(1.0), Unit("add-remove"))
    >>> add_up([once, Release("second", "2025-01-02", Budget(1.0), Unit("replace-one"))]).epsilon
    3.0
    """
    counted = [release for release in releases if not release.test_only]
    replaced = replaced or any(release.unit.replaced for release in counted)
    rows = min((release.unit.rows_per_person for release in counted), default=1)
    unit = Unit(
        "replace-one" if replaced else "add-remove",
        rows,
        any(release.unit.by_person for release in counted),
    )
    doubled = [replaced and not release.unit.replaced for release in counted]
    budgets = [release.budget for release in counted]
    epsilons = [
        budget.epsilon * (2 if twice else 1) for budget, twice in zip(budgets, doubled, strict=True)
    ]
    deltas = [
        (budget.delta or 0.0) * (1 + (exp(min(budget.epsilon, 700.0)) if twice else 0.0))
        for budget, twice in zip(budgets, doubled, strict=True)
    ]
    basic = fsum(epsilons), min(1.0, fsum(deltas))
    target = basic[1] if delta is None else delta
    zcdp, gaussian = _zcdp(budgets, doubled, target), _gaussian(budgets, doubled, target)
    # Beside another sum, epsilons count at a delta of 0 only: see the head of the module.
    most = target * (1 + SLACK) if rule in ("basic", "smaller") else 0.0
    promises = [basic] if basic[1] < 1 and basic[1] <= most else []
    other = {"gaussian": gaussian, "zcdp": zcdp, "smaller": zcdp, "basic": None}[rule]
    if other is not None:
        promises.append(other[1:])
    epsilon, at = min(promises, default=(inf, target))
    return Totals(
        unit, epsilon, at, basic, zcdp, gaussian, len(releases) - len(counted), rule, limited
    )


def _zcdp(
    budgets: Sequence[Budget], doubled: Sequence[bool], target: float
) -> tuple[float, float, float] | None:
    """Return the rho of releases in all, and its epsilon at delta; None where some has no rho, or too little of delta is left."""
    rhos = [_rho(budget, doubled=twice) for budget, twice in zip(budgets, doubled, strict=True)]
    rest = target - fsum(budget.reserved_delta for budget in budgets)
    if not rhos or None in rhos or not 0 < rest < 1:
        return None
    rho = fsum(rho for rho in rhos if rho is not None)
    return rho, rho_to_epsilon(rho, rest), target


def _rho(budget: Budget, *, doubled: bool) -> float | None:
    """Return the rho of a release; None where none is known (an approximate promise that is pure, or to be doubled)."""
    if budget.kind == "pure":
        rho = None if budget.delta else pure_to_rho(budget.epsilon)
    else:
        rho = None if doubled and budget.reserved_delta else budget.total * (1 + SLACK)
    return rho if rho is None or not doubled else 4 * rho


def _gaussian(
    budgets: Sequence[Budget], doubled: Sequence[bool], target: float
) -> tuple[float, float, float] | None:
    """Return the amount of releases in all, and its epsilon at delta; None where too little of delta is left, or one is to be doubled."""
    amounts, taken, rounding = [], [], []
    for budget, twice in zip(budgets, doubled, strict=True):
        exact = budget.kind == "gaussian"
        amount = budget.total * (1 + SLACK) if exact else width_to_amount(2 * budget.epsilon)
        own = budget.reserved_delta if exact else budget.delta or 0.0
        if twice and own:
            return None
        amounts.append(amount * (4 if twice else 1))
        taken.append(own)
        rounding.append(ROUNDING * budget.epsilon if exact else 0.0)
    rest, loss = target - fsum(taken), fsum(rounding)
    exact_rest = rest * exp(-loss / 2)
    if not amounts or not 0 < exact_rest < 1:
        return None
    amount = fsum(amounts)
    return amount, amount_to_epsilon(amount, exact_rest) + loss, target


def checked_rule(name: str | None) -> Rule | None:
    """Return the rule of a name; raise for one that is none."""
    for rule in get_args(Rule):
        if name == rule:
            return cast(Rule, rule)
    if name is not None:
        raise unknown_name("rule of a project ledger", name, RULES)
    return None


def check_text(value: object, name: str) -> None:
    """Raise unless a value is text that can be printed in a line."""
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > 200
        or not value.isprintable()
    ):
        raise InputError(
            f"The {name} must be text of 1 to 200 characters that can be printed, in one line."
        )
