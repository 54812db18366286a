"""What an attack by predicate singling out returns: how often somebody is isolated, beside guessing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.html import html_page, html_table
from ..._base.plain import check_format, from_plain, to_plain
from ..._base.safe_files import write_text
from ..._base.svg import Dot, dots
from ..._base.text import text_table
from ...stats.intervals import Interval
from ..shadows.world import World

__all__ = ["AttackerSkill", "Isolation", "SinglingOutResult"]

FORMAT, VERSION = "chaffinch-singling-out", 1
HEAD = ("attributes", "success", "95 % interval", "weight", "blind attacker", "without release")


@dataclass(frozen=True)
class Isolation:
    """How often a predicate of so many attributes isolated, and what a blind attacker reaches.

    Parameters
    ----------
    success, interval
        Share of releases in which exactly one record of X matched; exact 95 % interval.
    weight
        Mean weight of the predicates: the share of the population that they are true of.
    blind_attacker
        What a blind attacker reaches with predicates no heavier (Cohen and Nissim), records drawn independently.
    without_release
        What the same predicates reach when X is drawn without replacement and nothing is released.
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
            f"{self.attributes}{more}", f"{self.success:.3f}", f"{low:.3f} to {high:.3f}", f"{self.weight:.2g}",
            f"{self.blind_attacker:.3f}", f"{self.without_release:.3f}",
        ]  # fmt: skip


@dataclass(frozen=True)
class AttackerSkill:
    """The AUCs of attackers on fits that they did not learn from."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """What plain data hold of a result."""

    isolations: tuple[Isolation, ...]
    closest: Isolation
    guess: float
    nobody: float
    releases: int
    attributes_that_suffice: float
    skill: AttackerSkill
    targets: int
    rows: int
    population: int | str
    duplicates: int | str
    settings: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    above: bool | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SinglingOutResult(_Figures):
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
    """

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

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data that may leave: `chaffinch-singling-out`, version 1."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **({"about": dict(self.about)} if self.about else {}),
            "success": self.success,
            "interval": list(self.interval),
            "direction": "lower is safer",
            "baseline": self.baseline,
            "above_baseline": self.above_baseline,
            "nobody_of_targets_in_data": self.nobody,
            "releases": self.releases,
            "targets": self.targets,
            "rows": self.rows,
            "population": self.population,
            "duplicates_left_out": self.duplicates,
            "closest_distance": to_plain(self.closest),
            "by_attributes": to_plain(self.isolations),
            "attributes_that_suffice": self.attributes_that_suffice,
            "auc_of_attackers": to_plain(self.skill),
            "settings": dict(self.settings),
            **({} if self.policy is None else {"policy": dict(self.policy)}),
            "run": dict(self.run),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SinglingOutResult:
        """Return the result that plain data hold."""
        check_format(data, FORMAT, VERSION, "Give the JSON of chaffinch attack singling-out.")
        if not data.get("by_attributes"):
            raise InputError("The data are no study of singling out: 'by_attributes' is missing.")
        names = {
            "isolations": "by_attributes", "closest": "closest_distance", "guess": "baseline", "nobody": "nobody_of_targets_in_data",
            "skill": "auc_of_attackers", "duplicates": "duplicates_left_out", "above": "above_baseline",
        }  # fmt: skip
        fields = {name: data.get(word) for name, word in names.items()}
        typed = from_plain(_Figures, {**data, **fields}, what="the attack by singling out")
        return cls(**vars(typed))

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

    def table_rows(self) -> list[list[str]]:
        """Return the rows of a table, as `HEAD` names them; the closest row alone last."""
        return [*(one.words() for one in self.isolations), self.closest.words(", closest row")]

    def show(self) -> None:
        """Print the success by number of attributes, and the result in words."""
        print(text_table(HEAD, self.table_rows()))
        print(self.sentence)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the table and the picture as one HTML file, and write it to a path if one is given."""
        page = html_page("Can somebody be singled out?", self._repr_html_())
        if path is not None:
            write_text(path, page)
        return page

    def __repr__(self) -> str:
        low, high = self.interval
        return f"SinglingOutResult(success {self.success:.4g} [{low:.4g}, {high:.4g}], baseline {self.baseline:.4g}, {self.releases:,} releases)"

    def _repr_html_(self) -> str:
        lines = [
            (f"{one.attributes} attributes", [Dot("attack", one.success, *one.interval), Dot("blind attacker", one.blind_attacker)])
            for one in self.isolations
        ]  # fmt: skip
        words = "; ".join(f"{name}: {marks[0].value:.3f}" for name, marks in lines)
        plot = dots(
            "singling-out", "How often somebody is singled out", words, lines, ("attack", "blind attacker"), line=self.baseline, low=0.0,
            high=1.0, label="share of releases; the upright line is a guess; bars: 95 % interval",
        )  # fmt: skip
        return f"{html_table(HEAD, self.table_rows(), caption=self.sentence)}{plot}"


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
