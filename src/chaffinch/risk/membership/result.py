"""What a membership attack returns: how well members are told from others, beside the closest row, and every target's AUC."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from ..._base.html import html_page, html_table
from ..._base.plain import check_format, from_plain
from ..._base.safe_files import write_text
from ..._base.svg import Dot, dots
from ..._base.text import text_table
from ...stats.intervals import Interval
from ..shadows.world import World
from .rates import Rates

__all__ = ["MembershipResult"]

FORMAT, VERSION = "chaffinch-membership", 1


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """What plain data hold of a result."""

    pooled: Rates
    closest: Rates
    worst: Rates
    target_aucs: tuple[float, ...]
    targets: int
    rows: int
    population: int | str
    duplicates: int | str
    settings: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] | None = None
    run: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MembershipResult(_Figures):
    """How well membership can be told from what is released. Holds no record that leaves; `confidential()` does, for the steward alone.

    Parameters
    ----------
    pooled, closest, worst
        All targets together, by the attackers and by the closest row alone; and the target that is told best.
    target_aucs
        The AUC of every target, the highest first.
    targets, rows, population, duplicates
        How many people were attacked, the size of subsets, and of the population and of what was left out of it, small numbers masked.
    settings, about, policy, run
        How attackers learnt; what a command adds: names of files, what was allowed, how it ran.
    each, world
        Every target's rates in the order of their vulnerability, and the population; absent where plain data were read.
    """

    each: tuple[Rates, ...] = ()
    world: World | None = None

    @property
    def auc(self) -> float:
        """The chance that a member scores above another, all targets together: 0.5 is a guess, lower is safer."""
        return self.pooled.auc

    @property
    def interval(self) -> Interval:
        """The 95 % interval of `auc`."""
        return self.pooled.auc_interval

    @property
    def above_baseline(self) -> bool:
        """Whether membership can be told better than by a guess: the whole interval of the AUC is above one half."""
        return self.interval[0] > 0.5

    @property
    def sentence(self) -> str:
        """The result in words."""
        low, high = self.interval
        head = f"Members and others are told apart with AUC {self.auc:.3f} (95 % interval {low:.3f} to {high:.3f}); "
        near = f"by the closest row alone {self.closest.auc:.3f}. "
        if self.above_baseline:
            return head + near + "What is released tells who is in the data."
        return head + near + "A guess has 0.5: no more was found than guessing gives."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data that may leave: `chaffinch-membership`, version 1."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **({"about": dict(self.about)} if self.about else {}),
            "auc": self.auc,
            "interval": list(self.interval),
            "direction": "lower is safer",
            "baseline": 0.5,
            "above_baseline": self.above_baseline,
            "pooled": self.pooled.to_dict(),
            "closest_distance": self.closest.to_dict(),
            "worst_target": {k: v for k, v in self.worst.to_dict().items() if k != "roc"},
            "auc_of_targets": list(self.target_aucs),
            "targets": self.targets,
            "rows": self.rows,
            "population": self.population,
            "duplicates_left_out": self.duplicates,
            "settings": dict(self.settings),
            **({} if self.policy is None else {"policy": dict(self.policy)}),
            "run": dict(self.run),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MembershipResult:
        """Return the result that plain data hold."""
        check_format(data, FORMAT, VERSION, "Give the JSON of chaffinch attack membership.")
        sides = {"pooled": "pooled", "closest": "closest_distance", "worst": "worst_target"}
        parts = {side: Rates.from_dict(data.get(word) or {}) for side, word in sides.items()}
        words = {"target_aucs": data.get("auc_of_targets"), "duplicates": data.get("duplicates_left_out", 0)}
        return cls(**vars(from_plain(_Figures, {**data, **parts, **words}, what="the membership attack")))

    def confidential(self) -> dict[str, Any]:
        """Return the targets' records with how well each is told."""
        if self.world is None:
            return {"confidential": True, "targets": []}
        records = self.world.table.data.take(self.world.targets).to_pylist()
        targets = [
            {"record": {name: None if value is None else str(value) for name, value in record.items()}, "auc": one.auc}
            for record, one in zip(records, self.each, strict=True)
        ]
        return {"confidential": True, "targets": targets}

    def rows_of_words(self, near: str, best: str, few: str = "") -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of a table: all targets, the closest row alone, and the target told best."""
        head = ["", "AUC", "95 % interval", "advantage", *(f"true positives at {100 * at.level:g} % false" for at in self.pooled.at)]  # fmt: skip
        rows = []
        for name, one in (("attackers", self.pooled), (near, self.closest), (best, self.worst)):
            low, high = one.auc_interval
            rates = [
                few if at.tpr is None or at.tpr_interval is None
                else f"{at.tpr:.3f} ({at.tpr_interval[0]:.3f} to {at.tpr_interval[1]:.3f})"
                for at in one.at
            ]  # fmt: skip
            rows.append([name, f"{one.auc:.3f}", f"{low:.3f} to {high:.3f}", f"{one.advantage:.3f}", *rates])
        return head, rows

    def show(self) -> None:
        """Print the rates and the result in words."""
        print(text_table(*self.rows_of_words("closest row", "worst target", "too few trials")))
        print(self.sentence)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the table and the picture as one HTML file, and write it to a path if one is given."""
        page = html_page("Was this person in the data?", self._repr_html_())
        if path is not None:
            write_text(path, page)
        return page

    def __repr__(self) -> str:
        low, high = self.interval
        return f"MembershipResult(AUC {self.auc:.4g} [{low:.4g}, {high:.4g}], {self.targets} targets, closest row {self.closest.auc:.4g})"

    def _repr_html_(self) -> str:
        table = html_table(*self.rows_of_words("closest row alone", "target told best"), caption=self.sentence)
        return f"{table}{self._plot()}"

    def _plot(self) -> Markup:
        sides = (("attackers", self.pooled), ("closest row", self.closest), ("worst target", self.worst))
        lines = [(name, [Dot("AUC", one.auc, *one.auc_interval)]) for name, one in sides]
        words = "; ".join(f"{name}: {one.auc:.3f}" for name, one in sides)
        low = min(0.4, *(one.auc_interval[0] for _, one in sides))
        return dots(
            "membership-auc", "How well members are told from others", words, lines, ("AUC",), line=0.5, low=low, high=1.0,
            label="AUC; the upright line is a guess, 0.5; bars: 95 % interval",
        )  # fmt: skip
