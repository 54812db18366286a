"""The rules by which settings are on the front, keep to limits, are chosen and are confirmed: each stated once, and used everywhere.

A setting *qualifies* in the search if the estimate of its largest excess is within the limit with room for doubt: as far below it as the estimate is above its own lower
bound. Of those that qualify the most useful is chosen, or, among those within a standard error of its worth, the one that gives least away (the rule of one
standard error; Breiman, Friedman, Olshen and Stone 1984, section 3.4.3): what is most useful by a hair is so by luck.

A setting *keeps* its limit on people it was not chosen on unless the simultaneous 95 % lower bound of some excess is above it, which is what
`--max-excess` of every command means. That is a test, and a test of few people passes much: so three words are told apart ("kept", "not refuted",
"broken"), and the smallest excess that would have been seen is said beside them. If the first choice is broken, the next is tried on the same people, whom
one look has been spent on: its estimate has to be within the limit there. After three there is no further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base.errors import InputError
from .._base.words import number

if TYPE_CHECKING:
    from .frontier_result import Evaluation, RiskFigure

__all__ = ["ATTEMPTS", "BROKEN", "KEPT", "NOT_REFUTED", "Limits", "nearest", "no_candidate", "pareto", "passes", "pick", "qualifies", "ranked", "verdict_of"]

ATTEMPTS = 3
"""The most settings that are measured on the people who were set aside."""

KEPT, NOT_REFUTED, BROKEN = "kept", "not refuted", "broken"


@dataclass(frozen=True)
class Limits:
    """The excess and the membership AUC that are allowed; None where nothing is said."""

    max_excess: float | None = None
    max_auc: float | None = None

    def __post_init__(self) -> None:
        if self.max_excess is not None and not 0 <= self.max_excess <= 1:
            raise InputError(f"max_excess must lie between 0 and 1. Got {self.max_excess:g}.")
        if self.max_auc is not None and not 0.5 <= self.max_auc <= 1:
            raise InputError(f"max_auc must lie between 0.5, which is guessing, and 1. Got {self.max_auc:g}.")

    def __bool__(self) -> bool:
        return self.max_excess is not None or self.max_auc is not None

    @property
    def words(self) -> str:
        """The limits in words."""
        said = [f"an excess of at most {number(self.max_excess)}"] if self.max_excess is not None else []
        said += [f"a membership AUC of at most {number(self.max_auc)}"] if self.max_auc is not None else []
        return " and ".join(said) or "no limit"


def pareto(evaluations: Sequence[Evaluation], worth: str) -> tuple[Evaluation, ...]:
    """Return the settings that no others beat on both sides, the safest first; of equal ones the first tried."""
    known = [one for one in evaluations if one.risk.estimate is not None and one.worth_of(worth).rank is not None]
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


def verdict_of(risk: RiskFigure, limits: Limits) -> str:
    """Return what bounds say of limits: "kept" where all are below, "broken" where one is above, else "not refuted"."""
    low_auc, high_auc = risk.auc_interval or (None, None)
    pairs = [(risk.lower, risk.upper, limits.max_excess), (low_auc, high_auc, limits.max_auc)]
    asked = [(low, high, limit) for low, high, limit in pairs if limit is not None]
    if any(low is not None and low > limit for low, _, limit in asked):
        return BROKEN
    return KEPT if all(high is not None and high <= limit for _, high, limit in asked) else NOT_REFUTED


def passes(risk: RiskFigure, limits: Limits, attempt: int) -> bool:
    """Return whether a confirmation is enough: the first unless it is broken, a later one if its estimate is within the limit too. Unknown risk is not."""
    if limits.max_excess is not None and risk.lower is None:
        return False
    if limits.max_auc is not None and risk.auc is None:
        return False
    if verdict_of(risk, limits) == BROKEN:
        return False
    return attempt == 1 or limits.max_excess is None or (risk.estimate is not None and risk.estimate <= limits.max_excess)


def ranked(evaluations: Sequence[Evaluation], limits: Limits, worth: str) -> list[Evaluation]:
    """Return the settings that qualify, in the order in which they are chosen: by the rule of one standard error, and then of what is safer the same."""
    left = [one for one in evaluations if qualifies(one.risk, limits) and one.worth_of(worth).rank is not None]
    out: list[Evaluation] = []
    while left:
        top = max(left, key=lambda e: _worth(e, worth))
        near = [one for one in left if _worth(one, worth) >= _worth(top, worth) - top.worth_of(worth).error]
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
        above = max(0.0, (one.risk.ceiling or 0.0) - limits.max_excess) if limits.max_excess is not None else 0.0
        return above + (max(0.0, (one.risk.auc or 1.0) - limits.max_auc) if limits.max_auc is not None else 0.0)

    known = [one for one in evaluations if one.risk.estimate is not None]
    return min(known, key=over, default=None)


def no_candidate(evaluations: Sequence[Evaluation], limits: Limits) -> InputError:
    """Return the error that nothing keeps to limits, with what comes nearest."""
    close = nearest(evaluations, limits)
    if close is None:
        return InputError(f"None of {len(evaluations)} settings could be attacked, so none is known to keep to {limits.words}. Name other keys, or more people.")
    auc = "" if limits.max_auc is None or close.risk.auc is None else f" and a membership AUC of {number(close.risk.auc)}"
    return InputError(
        f"None of {len(evaluations)} settings keeps to {limits.words}. Nearest: {close.words}, with an excess of {number(close.risk.estimate)}, {number(close.risk.ceiling)} with room for doubt{auc}. "
        "Allow more, search longer (--budget, --evaluations), or give more people: an excess is known more closely then."
    )


def _risk(one: Evaluation) -> float:
    return float("inf") if one.risk.estimate is None else one.risk.estimate


def _worth(one: Evaluation, worth: str) -> float:
    rank = one.worth_of(worth).rank
    return float("-inf") if rank is None else rank
