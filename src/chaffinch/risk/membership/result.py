"""What a membership attack returns: how well members are told from others, beside the closest row, and every target's AUC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from markupsafe import Markup

from ..._base.results import NOT_WRITTEN, UNLESS_EMPTY, plain_form
from ..._base.svg import Dot, dots
from ..._base.text import capital, format_fixed
from ...stats.intervals import Interval
from ..finding import Finding
from ..shown import ShadowResult, Words
from .rates import Rates

GUESS = 0.5
"""The AUC of a guess."""
EXPLAINS = 0.02
"""A part explains what the attackers reach if alone it comes this close to their AUC."""


def auc_finding(attacker: str, auc: float, interval: Interval, *, targets: int) -> Finding:
    """Return how well an attacker tells members from others, beside a guess. Its bounds hold for it alone, not for several attackers at once."""
    low, high = (end - GUESS for end in interval)
    return Finding(
        attacker=attacker,
        value=auc,
        interval=interval,
        guess=GUESS,
        excess=auc - GUESS,
        excess_interval=(low, high),
        lower_bound=low,
        upper_bound=high,
        n_people=targets,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MembershipResult(ShadowResult):
    """How well membership can be told from what is released. Holds no record that leaves; `confidential()` does, for the steward alone.

    Parameters
    ----------
    pooled, closest, worst
        All targets together, by the attackers and by the closest row alone; and the target that is told best.
    target_aucs
        The AUC of every target, the highest first.
    mean_aucs
        Of each part of a combined attacker the mean of the targets' AUCs.
    each
        Every target's rates in the order of their vulnerability; absent where plain data were read.

    Notes
    -----
    The others are those of `ShadowResult`. After the first two of `findings` come those of each part of a combined attacker, the strongest first.
    """

    TITLE: ClassVar[str] = "Was this person in the data?"
    FORMAT: ClassVar[str] = "chaffinch-membership"
    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "the membership attack"
    NEXT_STEP: ClassVar[str] = "Give the JSON of chaffinch attack membership."

    pooled: Rates
    closest: Rates
    # The curve of one person's target stays.
    worst: Rates = field(
        metadata=plain_form(write=lambda result, worst: replace(worst, fpr=(), tpr=()))
    )
    target_aucs: tuple[float, ...]
    mean_aucs: Mapping[str, float] = field(default_factory=dict, metadata=UNLESS_EMPTY)
    each: tuple[Rates, ...] = field(default=(), metadata=NOT_WRITTEN)

    @property
    def auc(self) -> float:
        """The chance that a member scores above another, all targets together: 0.5 is a guess, lower is safer."""
        return self.pooled.auc

    @property
    def parts(self) -> tuple[Finding, ...]:
        """What each part of a combined attacker reaches alone, the strongest first."""
        return self.findings[2:]

    @property
    def sentence(self) -> str:
        """The result in words."""
        verdict = (
            f"{self.explanation}What is released tells who is in the data."
            if self.findings[0].excess_found
            else "No more was found than guessing gives."
        )
        low, high = map(format_fixed, self.interval)
        return (
            f"Members and others are told apart with AUC {format_fixed(self.auc)} (95 % interval {low} to {high}), by the closest row alone "
            f"{format_fixed(self.closest.auc)}; a guess has 0.5. {verdict}"
        )

    @property
    def explanation(self) -> str:
        """One part in words, where it alone comes close to all of them together and does better than a guess; else empty."""
        plain = [
            finding for finding in self.parts if finding.about.evidence and finding.excess_found
        ]
        best = max(plain, key=lambda finding: finding.rank, default=None)
        if best is None or best.value is None or best.value < self.auc - EXPLAINS:
            return ""
        return f"{capital(best.about.evidence)} alone tell them apart with AUC {format_fixed(best.value)}. "

    def confidential(self) -> dict[str, Any]:
        """Return the targets' records with how well each is told."""
        if self.world is None:
            return {"confidential": True, "targets": []}
        records = self.world.table.data.take(self.world.targets).to_pylist()
        targets = [
            {
                "record": {
                    name: None if value is None else str(value) for name, value in record.items()
                },
                "auc": target_rates.auc,
            }
            for record, target_rates in zip(records, self.each, strict=True)
        ]
        return {"confidential": True, "targets": targets}

    @property
    def groups(self) -> dict[str, Rates]:
        """The rates that are shown: all targets, the closest row alone, and the target told best."""
        return {
            "attackers": self.pooled,
            "closest row": self.closest,
            "worst target": self.worst,
        }

    def table(self, *, page: bool = False) -> Words:
        """Return the rates of all targets, of the closest row alone, and of the target told best."""
        head = [
            "",
            "AUC",
            "95 % interval",
            "advantage",
            *(f"true positives at {100 * point.level:g} % false" for point in self.pooled.at_fpr),
        ]
        rows = [
            [
                name,
                f"{rates.auc:.3f}",
                _ends(rates.auc_interval),
                f"{rates.advantage:.3f}",
                *(
                    "too few trials"
                    if point.tpr is None or point.tpr_interval is None
                    else f"{point.tpr:.3f} ({_ends(point.tpr_interval)})"
                    for point in rates.at_fpr
                ),
            ]
            for name, rates in self.groups.items()
        ]
        return head, rows

    def __repr__(self) -> str:
        low, high = self.interval
        return f"MembershipResult(AUC {self.auc:.4g} [{low:.4g}, {high:.4g}], {self.targets} targets, closest row {self.closest.auc:.4g})"

    def plot(self) -> Markup:
        """Return the AUCs beside a guess."""
        groups = self.groups
        lines = [
            (name, [Dot("AUC", rates.auc, *rates.auc_interval)]) for name, rates in groups.items()
        ]
        return dots(
            "membership-auc",
            "How well members are told from others",
            "; ".join(f"{name}: {rates.auc:.3f}" for name, rates in groups.items()),
            lines,
            ("AUC",),
            level=GUESS,
            low=min(0.4, *(rates.auc_interval[0] for rates in groups.values())),
            high=1.0,
            label="AUC; the upright line is a guess, 0.5; bars: 95 % interval",
        )


def _ends(interval: Interval) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"
