"""What a membership attack returns: how well members are told from others, beside the closest row, and every target's AUC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from markupsafe import Markup

from ..._base.results import to_plain
from ..._base.svg import Dot, dots
from ...stats.intervals import Interval
from ..shadows.world import AttackPopulation
from ..shown import ShadowFigures, ShadowResult, Words
from .rates import Rates

EXPLAINS = 0.02
"""A part explains what the attackers reach if alone it comes this close to their AUC."""


@dataclass(frozen=True)
class PartStrength:
    """How well one part of a combined attacker does alone: the AUC over all targets with its interval, and the mean of the targets' AUCs.

    `evidence`: what it goes by, in words for a sentence; empty where that is many things.
    """

    name: str
    auc: float
    interval: Interval
    mean_auc: float
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class MembershipFigures(ShadowFigures):
    """What plain data hold of a result."""

    pooled: Rates
    closest: Rates
    worst: Rates
    target_aucs: tuple[float, ...]
    strengths: tuple[PartStrength, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MembershipResult(MembershipFigures, ShadowResult):
    """How well membership can be told from what is released. Holds no record that leaves; `confidential()` does, for the steward alone.

    Parameters
    ----------
    pooled, closest, worst
        All targets together, by the attackers and by the closest row alone; and the target that is told best.
    target_aucs
        The AUC of every target, the highest first.
    strengths
        How well each part of a combined attacker does alone, the strongest first; none for other attackers.
    each, world
        Every target's rates in the order of their vulnerability, and the population; absent where plain data were read.

    Notes
    -----
    The others are those of `ShadowFigures`.
    """

    title: ClassVar[str] = "Was this person in the data?"
    format: ClassVar[str] = "chaffinch-membership"
    what: ClassVar[str] = "the membership attack"
    command: ClassVar[str] = "membership"
    value_name: ClassVar[str] = "auc"
    plain: ClassVar[type[ShadowFigures]] = MembershipFigures

    each: tuple[Rates, ...] = ()
    world: AttackPopulation | None = None

    @property
    def auc(self) -> float:
        """The chance that a member scores above another, all targets together: 0.5 is a guess, lower is safer."""
        return self.pooled.auc

    @property
    def interval(self) -> Interval:
        """The 95 % interval of `auc`."""
        return self.pooled.auc_interval

    @property
    def baseline(self) -> float:
        """What a guess reaches."""
        return 0.5

    @property
    def sentence(self) -> str:
        """The result in words."""
        low, high = self.interval
        head = f"Members and others are told apart with AUC {self.auc:.3f} (95 % interval {low:.3f} to {high:.3f}); "
        near = f"by the closest row alone {self.closest.auc:.3f}. "
        if self.above_baseline:
            return head + near + self.explanation + "What is released tells who is in the data."
        return head + near + "A guess has 0.5: no more was found than guessing gives."

    @property
    def explanation(self) -> str:
        """One part in words, where it alone comes close to all of them together and does better than a guess; else empty."""
        plain = [
            strength
            for strength in self.strengths
            if strength.evidence and strength.interval[0] > 0.5
        ]
        best = max(plain, key=lambda strength: strength.auc, default=None)
        if best is None or best.auc < self.auc - EXPLAINS:
            return ""
        return f"{best.evidence[0].upper()}{best.evidence[1:]} alone tell them apart with AUC {best.auc:.3f}. "

    def figures(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the rates as plain data; the curve of one person's target stays."""
        rates = {
            "pooled": self.pooled.to_dict(),
            "closest_distance": self.closest.to_dict(),
            "worst_target": {k: v for k, v in self.worst.to_dict().items() if k != "roc"},
            "auc_of_targets": list(self.target_aucs),
            **({"parts": to_plain(self.strengths)} if self.strengths else {}),
        }
        return rates, {}

    @classmethod
    def parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rates that plain data hold."""
        json_keys = {"pooled": "pooled", "closest": "closest_distance", "worst": "worst_target"}
        parts = {side: Rates.from_dict(data.get(word) or {}) for side, word in json_keys.items()}
        return {
            **parts,
            "target_aucs": data.get("auc_of_targets"),
            "strengths": data.get("parts") or (),
        }

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

    def table(self, *, page: bool = False) -> Words:
        """Return the head and the rows of a table: all targets, the closest row alone, and the target told best."""
        near, best, few = (
            ("closest row alone", "target told best", "")
            if page
            else ("closest row", "worst target", "too few trials")
        )
        head = [
            "",
            "AUC",
            "95 % interval",
            "advantage",
            *(f"true positives at {100 * point.level:g} % false" for point in self.pooled.at),
        ]
        rows = []
        for name, group_rates in (
            ("attackers", self.pooled),
            (near, self.closest),
            (best, self.worst),
        ):
            low, high = group_rates.auc_interval
            rates = [
                few
                if point.tpr is None or point.tpr_interval is None
                else f"{point.tpr:.3f} ({point.tpr_interval[0]:.3f} to {point.tpr_interval[1]:.3f})"
                for point in group_rates.at
            ]
            rows.append(
                [
                    name,
                    f"{group_rates.auc:.3f}",
                    f"{low:.3f} to {high:.3f}",
                    f"{group_rates.advantage:.3f}",
                    *rates,
                ]
            )
        return head, rows

    def __repr__(self) -> str:
        low, high = self.interval
        return f"MembershipResult(AUC {self.auc:.4g} [{low:.4g}, {high:.4g}], {self.targets} targets, closest row {self.closest.auc:.4g})"

    def plot(self) -> Markup:
        """Return the AUCs beside a guess."""
        named_rates = (
            ("attackers", self.pooled),
            ("closest row", self.closest),
            ("worst target", self.worst),
        )
        lines = [
            (name, [Dot("AUC", group_rates.auc, *group_rates.auc_interval)])
            for name, group_rates in named_rates
        ]
        description = "; ".join(
            f"{name}: {group_rates.auc:.3f}" for name, group_rates in named_rates
        )
        low = min(0.4, *(group_rates.auc_interval[0] for _, group_rates in named_rates))
        return dots(
            "membership-auc",
            "How well members are told from others",
            description,
            lines,
            ("AUC",),
            line=0.5,
            low=low,
            high=1.0,
            label="AUC; the upright line is a guess, 0.5; bars: 95 % interval",
        )
