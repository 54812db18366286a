"""The rules by which settings are on the front, keep to limits, are chosen and are confirmed: each stated once, and used everywhere.

A setting *qualifies* in the search if the estimate of its largest excess is within the limit with room for doubt: as far below it as the estimate is above its own lower
bound. Of those that qualify the most useful is chosen, or, among those within a standard error of its worth, the one that gives least away (the rule of one
standard error; Breiman, Friedman, Olshen and Stone 1984, section 3.4.3): what is most useful by a hair is so by luck.

What is known of a limit on people whom a setting was not chosen on is one of three states, as for `--max-excess` of every command: it *exceeds* the limit where the simultaneous 95 %
lower bound of some excess is above it, it is *shown to keep* it where the upper bounds of all are not, and it is *undecided* else, with both bounds and the smallest excess that would have been seen
beside it. What exceeds is not released. If the first choice exceeds, the next is tried on the same people, whom one look has been spent on: its estimate has to be within the limit there. After three
there is no further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base.errors import InputError
from .._base.text import count_noun, number
from ..stats.intervals import LimitState, limit_state

if TYPE_CHECKING:
    from .frontier_result import Evaluation, RiskFigure


ATTEMPTS = 3
"""The most settings that are measured on the people who were set aside."""


@dataclass(frozen=True)
class Limits:
    """The excess and the membership AUC that are allowed; None where nothing is said."""

    max_excess: float | None = None
    max_auc: float | None = None

    def __post_init__(self) -> None:
        if self.max_excess is not None and not 0 <= self.max_excess <= 1:
            raise InputError(f"max_excess must lie between 0 and 1. Got {self.max_excess:g}.")
        if self.max_auc is not None and not 0.5 <= self.max_auc <= 1:
            raise InputError(
                f"max_auc must lie between 0.5, which is guessing, and 1. Got {self.max_auc:g}."
            )

    def __bool__(self) -> bool:
        return self.max_excess is not None or self.max_auc is not None

    @property
    def words(self) -> str:
        """The limits in words."""
        said = (
            [f"an excess of at most {number(self.max_excess)}"]
            if self.max_excess is not None
            else []
        )
        said += (
            [f"a membership AUC of at most {number(self.max_auc)}"]
            if self.max_auc is not None
            else []
        )
        return " and ".join(said) or "no limit"


def pareto(evaluations: Sequence[Evaluation], worth: str) -> tuple[Evaluation, ...]:
    """Return the settings that no others beat on both sides, the safest first; of equal ones the first tried."""
    known = [
        one
        for one in evaluations
        if one.risk.estimate is not None and one.worth_of(worth).rank is not None
    ]
    out: list[Evaluation] = []
    for one in sorted(known, key=lambda e: (_risk(e), -_worth(e, worth))):
        if not out or _worth(one, worth) > _worth(out[-1], worth):
            out.append(one)
    return tuple(out)


def qualifies(risk: RiskFigure, limits: Limits) -> bool:
    """Return whether a setting is within the limits with room for doubt; one whose risk is not known is not."""
    if limits.max_excess is not None and (risk.ceiling is None or risk.ceiling > limits.max_excess):
        return False
    return limits.max_auc is None or (risk.auc is not None and risk.auc <= limits.max_auc)


def verdict_of(risk: RiskFigure, limits: Limits) -> LimitState:
    """Return what bounds say of limits: one that is exceeded decides, and all of them have to be shown to be kept. Without a limit nothing is shown."""
    low_auc, high_auc = risk.auc_interval or (None, None)
    upper = None if risk.not_shown else risk.upper
    pairs = [(risk.lower, upper, limits.max_excess), (low_auc, high_auc, limits.max_auc)]
    return together(
        [limit_state(low, high, limit) for low, high, limit in pairs if limit is not None]
    )


def together(states: Sequence[LimitState]) -> LimitState:
    """Return the state of several findings: exceeded where one is, shown to be kept where all are."""
    if LimitState.EXCEEDS in states:
        return LimitState.EXCEEDS
    return (
        LimitState.SHOWN
        if states and all(state is LimitState.SHOWN for state in states)
        else LimitState.UNDECIDED
    )


def passes(risk: RiskFigure, limits: Limits, attempt: int) -> bool:
    """Return whether a confirmation is enough: the first unless it exceeds a limit, a later one if its estimate is within the limit too. Unknown risk is not."""
    if limits.max_excess is not None and risk.lower is None:
        return False
    if limits.max_auc is not None and risk.auc is None:
        return False
    if verdict_of(risk, limits) is LimitState.EXCEEDS:
        return False
    return (
        attempt == 1
        or limits.max_excess is None
        or (risk.estimate is not None and risk.estimate <= limits.max_excess)
    )


def ranked(evaluations: Sequence[Evaluation], limits: Limits, worth: str) -> list[Evaluation]:
    """Return the settings that qualify, in the order in which they are chosen: by the rule of one standard error, and then of what is safer the same."""
    left = [
        one
        for one in evaluations
        if qualifies(one.risk, limits) and one.worth_of(worth).rank is not None
    ]
    out: list[Evaluation] = []
    while left:
        top = max(left, key=lambda e: _worth(e, worth))
        near = [
            one
            for one in left
            if _worth(one, worth) >= _worth(top, worth) - top.worth_of(worth).error
        ]
        chosen = min(near, key=lambda e: (_risk(e), -_worth(e, worth)))
        out.append(chosen)
        left = [one for one in left if _risk(one) < _risk(chosen)]
    return out


def pick(evaluations: Sequence[Evaluation], limits: Limits, worth: str) -> Evaluation:
    """Return the settings to choose; raise, with the nearest, where none keep to the limits."""
    some = ranked(evaluations, limits, worth)
    if not some:
        raise no_candidate(evaluations, limits)
    return some[0]


def nearest(evaluations: Sequence[Evaluation], limits: Limits) -> Evaluation | None:
    """Return the settings that come nearest to limits: the least above them."""

    def over(one: Evaluation) -> float:
        above = (
            max(0.0, (one.risk.ceiling or 0.0) - limits.max_excess)
            if limits.max_excess is not None
            else 0.0
        )
        return above + (
            max(0.0, (one.risk.auc or 1.0) - limits.max_auc) if limits.max_auc is not None else 0.0
        )

    known = [one for one in evaluations if one.risk.estimate is not None]
    return min(known, key=over, default=None)


def no_candidate(evaluations: Sequence[Evaluation], limits: Limits) -> InputError:
    """Return the error that nothing is within limits, with what comes nearest."""
    close = nearest(evaluations, limits)
    if close is None:
        return InputError(
            f"None of {count_noun(len(evaluations), 'setting')} could be attacked, so none is known to keep to {limits.words}. Name other keys, or more people."
        )
    auc = (
        ""
        if limits.max_auc is None or close.risk.auc is None
        else f" and a membership AUC of {number(close.risk.auc)}"
    )
    return InputError(
        f"None of {count_noun(len(evaluations), 'setting')} is within {limits.words}, with room for doubt. Nearest: {close.words}, with an excess of {number(close.risk.estimate)}, {number(close.risk.ceiling)} with room for doubt{auc}. "
        "Allow more, search longer (--budget, --evaluations), or give more people: an excess is known more closely then."
    )


def _risk(one: Evaluation) -> float:
    return float("inf") if one.risk.estimate is None else one.risk.estimate


def _worth(one: Evaluation, worth: str) -> float:
    rank = one.worth_of(worth).rank
    return float("-inf") if rank is None else rank
