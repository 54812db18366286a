"""How outputs that were held back can be published with less in them: what is done, what is lost, and how rules and measured risk stand before and after.

Plain data: nothing here holds a level, a cell or a count under the threshold. The search that makes it is in `outputs.mitigate`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._base.results import Number, PlainData, finite, plain_form
from ..._base.text import count_noun
from ..rules.findings import Status

DESCRIPTION = plain_form(key="words")
"""Metadata of what was done, in words."""
ROUNDED = plain_form(write=lambda loss, share: round(share, 4))
"""Metadata of shares that are written with four decimals."""
FINITE = plain_form(write=lambda plan, value: finite(value))
"""Metadata of numbers that are absent where they are not finite."""


@dataclass(frozen=True)
class Loss(PlainData):
    """What is lost of an output: `share` of everything, 0 to 1; how many numbers it had and has; how far one that is left may be off, relative to itself.

    Examples
    --------
    >>> Loss(0.25, 12, 12, withheld=3, records_covered=0.95).description
    '3 of 12 numbers withheld; at least 95% of records covered'
    """

    share: float = field(metadata=ROUNDED)
    numbers_before: int
    numbers_after: int
    withheld: int = 0
    records_covered: float | None = None
    """The share of records behind what is shown, rounded down; None where numbers are not of cells.
    """
    largest_error: float = field(default=0.0, metadata=ROUNDED)
    decimals: int | None = None
    """Decimals that are printed now, where they are fewer."""

    @property
    def description(self) -> str:
        """The loss in words."""
        if self.numbers_after == 0:
            return "everything"
        parts = []
        if self.withheld:
            parts.append(f"{self.withheld} of {count_noun(self.numbers_before, 'number')} withheld")
        if (fewer := self.numbers_before - self.numbers_after) > 0:
            parts.append(
                f"{count_noun(self.numbers_after, 'number')} instead of {self.numbers_before}"
            )
        elif fewer < 0:
            parts.append(
                f"{count_noun(self.numbers_after, 'number')} instead of {self.numbers_before}, coarser ones"
            )
        if self.records_covered is not None and self.withheld:
            parts.append(f"at least {self.records_covered:.0%} of records covered")
        if self.largest_error:
            parts.append(
                f"a number may be off by up to {min(self.largest_error, 1.0):.1%} of itself"
            )
        return "; ".join(parts) or "next to nothing"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**super().to_dict(), "words": self.description}


@dataclass(frozen=True)
class MitigationOption(PlainData):
    """A way to publish an output with less in it that breaks no rule, and what is lost; `taken`: it is part of the plan.

    `status` is what the rules say of the output then: beside the others where it was tried for rules between outputs, else by itself.
    """

    output: str
    mitigation: str
    description: str = field(metadata=DESCRIPTION)
    status: Status
    loss: Loss
    taken: bool = False


@dataclass(frozen=True)
class MitigationStep(PlainData):
    """What is done to one output, one thing after the other, and what is lost of it in all; `dropped` where it is not published."""

    output: str
    actions: tuple[str, ...] = field(metadata=DESCRIPTION)
    before: Status
    after: Status | None
    loss: Loss
    dropped: bool = False


@dataclass(frozen=True)
class AssessedPlan(PlainData):
    """One measurement of the marginal risk of outputs: what was done to them, the verdict and the largest marginal risk with its interval."""

    description: str = field(metadata=DESCRIPTION)
    verdict: str
    risk: Number = field(metadata=FINITE)
    low: Number = field(metadata=FINITE)
    high: Number = field(metadata=FINITE)


@dataclass(frozen=True)
class MitigationPlan:
    """What is done to outputs so that they pass, with the least loss that was found; they were checked anew, as a whole, by the same rules.

    `steps` are what is done, `options` what else would mend each output, least loss first; `not_mended` has, by output, why nothing helps. `after` is the text of
    the check of the mitigated outputs, `passed` its outcome; None and False where nothing is left to publish, or nothing was done. `assessed` are measurements
    of the marginal risk, that of the outputs as they came first. `asked` is how often the rules were asked, `complete` whether that was often enough.
    """

    steps: tuple[MitigationStep, ...]
    options: tuple[MitigationOption, ...]
    not_mended: dict[str, str]
    rules_before: Status
    rules_after: Status | None
    passed: bool
    after: str | None
    asked: int
    complete: bool
    assessed: tuple[AssessedPlan, ...] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        """The outputs that are not published."""
        return tuple(step.output for step in self.steps if step.dropped)

    @property
    def sentence(self) -> str:
        """The outcome in a sentence."""
        if not self.steps:
            return "Nothing could be mended." if self.not_mended else "Nothing had to be mended."
        done = f"{len(self.steps)} output{'' if len(self.steps) == 1 else 's'} changed" + (
            f", {len(self.dropped)} of them dropped" if self.dropped else ""
        )
        if self.after is None:
            return f"{done}: nothing is left to publish."
        verdict = (
            "Checked anew as a whole, by the same rules"
            if self.passed
            else "That is not enough. Checked anew as a whole"
        )
        limit = "" if self.complete else " Not everything was tried: the limit of work was reached."
        return f"{done}. {verdict}: {self.after}{limit}"

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave: no level, no cell, no count under the threshold."""
        return {
            "passed": self.passed,
            "sentence": self.sentence,
            "rules_before": self.rules_before,
            "rules_after": self.rules_after,
            "after": self.after,
            "steps": [step.to_dict() for step in self.steps],
            "options": [option.to_dict() for option in self.options],
            "not_mended": dict(self.not_mended),
            "assessed": [plan.to_dict() for plan in self.assessed],
            "asked": self.asked,
            "complete": self.complete,
        }
