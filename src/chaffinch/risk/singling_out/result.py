"""What an attack by predicate singling out returns: how often somebody is isolated, beside guessing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.results import to_plain
from ..._base.svg import Dot, dots
from ...stats.intervals import Interval
from ..shadows.world import World
from ..shown import ShadowFigures, ShadowResult, Words

HEAD = ("attributes", "success", "95 % interval", "weight", "blind attacker", "without release")


@dataclass(frozen=True)
class Isolation:
    """How often a predicate of so many attributes isolated, and what a blind attacker reaches.

    `success`, `interval`: share of releases in which exactly one record of X matched; exact 95 % interval. `weight`: mean weight of the
    predicates: the share of the population that they are true of. `blind_attacker`: what a blind attacker reaches with predicates no
    heavier (Cohen and Nissim), records drawn independently. `without_release`: what the same predicates reach when X is drawn without
    replacement and nothing is released.
    """

    attributes: int
    success: float
    interval: Interval
    weight: float
    blind_attacker: float
    without_release: float

    def words(self, more: str = "") -> list[str]:
        """Return the row of a table."""
        low, high = self.interval
        return [
            f"{self.attributes}{more}",
            f"{self.success:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{self.weight:.2g}",
            f"{self.blind_attacker:.3f}",
            f"{self.without_release:.3f}",
        ]


@dataclass(frozen=True)
class AttackerSkill:
    """The AUCs of attackers on fits that they did not learn from."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class SinglingOutFigures(ShadowFigures):
    """What plain data hold of a result."""

    isolations: tuple[Isolation, ...]
    closest: Isolation
    guess: float
    nobody: float
    releases: int
    attributes_that_suffice: float
    skill: AttackerSkill
    above: bool | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SinglingOutResult(SinglingOutFigures, ShadowResult):
    """The result of an attack by predicate singling out. Holds no record that leaves; `confidential()` does, for the steward alone.

    Parameters
    ----------
    isolations, closest
        By number of attributes, all of them last; and by the closest row alone.
    guess
        What a blind guess reaches, |X| / |D|.
    nobody
        The chance that none of the targets is in the data.
    attributes_that_suffice
        How many attributes tell a target from everybody, in the mean.
    skill
        How well attackers tell members.
    above
        Whether the attack does better than a guess, where plain data say so; else it is worked out.
    aucs, named, right, world
        Of each target its attacker's AUC; for each release the target that was named and whether that was right; the population. Absent
        where plain data were read.

    Notes
    -----
    The others are those of `ShadowFigures`.
    """

    title: ClassVar[str] = "Can somebody be singled out?"
    format: ClassVar[str] = "chaffinch-singling-out"
    what: ClassVar[str] = "the attack by singling out"
    command: ClassVar[str] = "singling-out"
    value_name: ClassVar[str] = "success"
    plain: ClassVar[type[ShadowFigures]] = SinglingOutFigures

    aucs: tuple[float, ...] = ()
    named: NDArray[np.int64] | None = None
    right: NDArray[np.bool_] | None = None
    world: World | None = None

    @property
    def success(self) -> float:
        """The share of releases from which somebody was singled out by all attributes: 0 to 1, lower is safer."""
        return self.isolations[-1].success

    @property
    def interval(self) -> Interval:
        """The exact 95 % interval of `success`."""
        return self.isolations[-1].interval

    @property
    def baseline(self) -> float:
        """The guess as it is told everywhere, to three digits: one more would tell the size of the population."""
        return round(self.guess, 3)

    @property
    def above_baseline(self) -> bool:
        """Whether the attack does better than a blind guess: the whole interval is above it."""
        return self.interval[0] > self.guess if self.above is None else self.above

    @property
    def sentence(self) -> str:
        """The result in words."""
        low, high = self.interval
        head = f"Somebody was singled out from {self.success:.1%} of {self.releases:,} releases (95 % interval {low:.1%} to {high:.1%}); "
        guess = f"a guess without any release is right in {self.baseline:.1%}: "
        if self.above_baseline:
            return f"{head}{guess}the releases tell who is in the data."
        return f"{head}{guess}no more was found than guessing gives."

    def figures(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what stands before and after the sizes of the attack."""
        after = {
            "closest_distance": to_plain(self.closest),
            "by_attributes": to_plain(self.isolations),
            "attributes_that_suffice": self.attributes_that_suffice,
            "auc_of_attackers": to_plain(self.skill),
        }
        return {"nobody_of_targets_in_data": self.nobody, "releases": self.releases}, after

    @classmethod
    def parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what plain data hold under other names than those of fields."""
        if not data.get("by_attributes"):
            raise InputError("The data are no study of singling out: 'by_attributes' is missing.")
        names = {
            "isolations": "by_attributes",
            "closest": "closest_distance",
            "guess": "baseline",
            "nobody": "nobody_of_targets_in_data",
            "skill": "auc_of_attackers",
            "above": "above_baseline",
        }
        return {name: data.get(word) for name, word in names.items()}

    def confidential(self) -> dict[str, Any]:
        """Return the predicates with their constants, and how often each was right."""
        predicates: list[dict[str, Any]] = []
        if self.world is None or self.named is None or self.right is None:
            return {"confidential": True, "predicates": predicates}
        table = self.world.table
        names = table.schema.names
        for k, row in enumerate(self.world.targets):
            record = table.data.select(list(names)).slice(int(row), 1).to_pylist()[0]
            mine = self.named == k
            predicates.append(
                {
                    "conditions": [[name, "==", _plain(record[name])] for name in names],
                    "releases_that_named_it": int(mine.sum()),
                    "of_these_right": int((mine & self.right).sum()),
                    "auc": self.aucs[k],
                }
            )
        return {"confidential": True, "predicates": predicates}

    def table(self, *, page: bool = False) -> Words:
        """Return the success by number of attributes, the closest row alone last."""
        return HEAD, [
            *(one.words() for one in self.isolations),
            self.closest.words(", closest row"),
        ]

    def __repr__(self) -> str:
        low, high = self.interval
        return f"SinglingOutResult(success {self.success:.4g} [{low:.4g}, {high:.4g}], baseline {self.baseline:.4g}, {self.releases:,} releases)"

    def plot(self) -> Markup:
        """Return the success by number of attributes, beside a guess."""
        lines = [
            (
                f"{one.attributes} attributes",
                [
                    Dot("attack", one.success, *one.interval),
                    Dot("blind attacker", one.blind_attacker),
                ],
            )
            for one in self.isolations
        ]
        words = "; ".join(f"{name}: {marks[0].value:.3f}" for name, marks in lines)
        return dots(
            "singling-out",
            "How often somebody is singled out",
            words,
            lines,
            ("attack", "blind attacker"),
            line=self.baseline,
            low=0.0,
            high=1.0,
            label="share of releases; the upright line is a guess; bars: 95 % interval",
        )


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
