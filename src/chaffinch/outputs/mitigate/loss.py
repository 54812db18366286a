"""What is lost when an output is published with less in it: in words and as one number, from what is published alone.

The number is 0 where nothing is lost and 1 where nothing is left: of the numbers that the output had, the share that is withheld or no longer there, each
number that is printed more coarsely counted by how far it may be off, relative to itself. No count that is not published goes into it, so it can be shown.
"""

from __future__ import annotations

from math import floor, isfinite
from typing import Any

from ..._base.errors import ChaffinchError
from ..cells import TOTAL
from ..check.mitigation import Loss
from ..kinds.base import OutputSpec
from ..numbers import is_withheld
from .base import RuleTrial, plain_cells

COVERED_STEP = 0.05
"""Shares of records are rounded down to multiples of this, or of the threshold over the records, if that is more: no small count follows."""


def everything(before: OutputSpec, trial: RuleTrial) -> Loss:
    """Return the loss of an output that is dropped."""
    return Loss(1.0, max(len(_numbers(before, trial) or []), 1), 0)


def loss_of(before: OutputSpec, after: OutputSpec, trial: RuleTrial) -> Loss | None:
    """Return what is lost when one recipe is published in the place of another; None where the other cannot be computed."""
    had, has = _numbers(before, trial), _numbers(after, trial)
    if has is None:
        return None
    had = has if had is None else had
    first = len([one for one in had if not is_withheld(one)]) or 1
    shown = [one for one in has if not is_withheld(one)]
    coarser = _half_width(after) > _half_width(before)
    errors = [_error(one, _half_width(after)) if coarser else 0.0 for one in shown]
    left = sum(1.0 - error for error in errors)
    withheld = (
        max(len(has) - len(shown) - (len(had) - first), 0)
        if len(has) == len(had)
        else len(has) - len(shown)
    )
    return Loss(
        share=min(1.0, max(0.0, 1.0 - left / first)),
        numbers_before=len(had),
        numbers_after=len(has),
        withheld=withheld,
        records_covered=_covered(after, trial),
        largest_error=max(errors, default=0.0),
        decimals=after.decimals if after.decimals != before.decimals else None,
    )


def _numbers(recipe: OutputSpec, trial: RuleTrial) -> list[Any] | None:
    """All numbers that an output prints on the records."""
    try:
        output = recipe.computed(trial.outputs.fields, trial.codes)
        parts = [number for part in output.printed_numbers(trial.frame) for number in part.numbers]
    except ChaffinchError:
        return None
    return [*parts, *([output.n] if isinstance(output.n, int) else [])]


def _half_width(recipe: OutputSpec) -> float:
    """How far a printed number may be off: half a base, or half of the last decimal."""
    base = int(getattr(recipe, "base", 1)) if recipe.definition.statbarn == "Frequencies" else 1
    if base > 1:
        return base / 2
    return 0.0 if recipe.decimals is None else 0.5 * 10.0**-recipe.decimals


def _error(number: Any, half: float) -> float:
    """How far a printed number may be off, relative to itself; 1 at most."""
    try:
        size = abs(float(number))
    except (TypeError, ValueError):
        return 0.0
    return (
        min(1.0, half / size)
        if size > 0 and isfinite(size)
        else min(1.0, half)
        if half < 1
        else 1.0
    )


def _covered(recipe: OutputSpec, trial: RuleTrial) -> float | None:
    cells = plain_cells(recipe, trial)
    if cells is None or not cells.counts.sum():
        return None
    hidden = set(recipe.withheld or ())
    inner = [k for k, name in enumerate(cells.names) if TOTAL not in name.split("|")]
    every = sum(int(cells.counts[k]) for k in inner)
    shown = sum(int(cells.counts[k]) for k in inner if cells.names[k] not in hidden)
    step = max(COVERED_STEP, trial.policy.threshold / max(every, 1))
    return round(min(1.0, floor(shown / max(every, 1) / step + 1e-9) * step), 4)
