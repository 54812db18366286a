"""Which columns of a target's features belong together, and an attacker that is shown some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.arrays import Floats
from ..._base.errors import InputError
from ..._base.seeds import Seed
from ..attacker import ATTACKERS
from .attacker import Kind, Learner, OddsAttacker, TargetAttacker, learner

TABLE = "table"
"""The group of what is seen of coded tables or of the model: the settings say what. All other groups are of released values."""


@dataclass(frozen=True)
class FeatureLayout:
    """Groups of features in the order in which they stand, how many each has, and whether those of the table are counts.

    Examples
    --------
    >>> layout = FeatureLayout({"table": 4, "exact": 2, "nearest": 1})
    >>> layout.columns(["nearest", "exact"]).tolist(), layout.width
    ([4, 5, 6], 7)
    """

    sizes: Mapping[str, int]
    kind: Kind = "counts"

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(self.sizes.values())

    def columns(self, groups: Sequence[str]) -> NDArray[np.int64]:
        """Return the places of all features of some groups, in order; groups that are absent have none."""
        group = np.repeat(np.arange(len(self.sizes)), list(self.sizes.values()))
        wanted = [i for i, name in enumerate(self.sizes) if name in groups]
        return np.flatnonzero(np.isin(group, wanted))

    def selector(self, groups: Sequence[str]) -> slice | NDArray[np.int64]:
        """Return what picks the features of some groups: a slice, which copies nothing, where they stand side by side."""
        places = self.columns(groups)
        if len(places) and places[-1] - places[0] + 1 == len(places):
            return slice(int(places[0]), int(places[-1]) + 1)
        return places

    def kind_of(self, groups: Sequence[str]) -> Kind:
        """Return whether the features of some groups are all counts."""
        return self.kind if set(groups) & set(self.sizes) <= {TABLE} else "real"


@dataclass(frozen=True, eq=False)
class FocusedAttacker(OddsAttacker):
    """An attacker who looks at some columns of features."""

    width: int
    columns: slice | NDArray[np.int64] = field(repr=False)
    inner: TargetAttacker

    @property
    def checked(self) -> Floats:
        """The training shadows' log-odds out of fold."""
        return self.inner.checked

    @property
    def auc(self) -> float:
        """The AUC of `checked`."""
        return self.inner.auc

    @property
    def settings(self) -> dict[str, Any]:
        """What was chosen out of fold."""
        return self.inner.settings

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand."""
        return self.inner.log_odds(self.features_of(features)[..., self.columns])


@dataclass(frozen=True, eq=False)
class Focused:
    """A learner who looks at some groups of features."""

    layout: FeatureLayout
    groups: tuple[str, ...]
    inner: Learner

    @cached_property
    def columns(self) -> slice | NDArray[np.int64]:
        """Where these stand."""
        return self.layout.selector(self.groups)

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> Focused:
        """Return the learner with less to choose."""
        inner = [attacker.inner for attacker in attackers if isinstance(attacker, FocusedAttacker)]
        return Focused(self.layout, self.groups, self.inner.narrowed(inner))

    def fit(
        self,
        features: ArrayLike,
        member: ArrayLike,
        *,
        seed: Seed = None,
        threads: int | None = None,
    ) -> TargetAttacker:
        """Return the attacker learnt from shadows."""
        x = np.asarray(features, dtype=np.float32)
        return FocusedAttacker(
            x.shape[-1],
            self.columns,
            self.inner.fit(x[..., self.columns], member, seed=seed, threads=threads),
        )


def sees_something(name: str, layout: FeatureLayout) -> bool:
    """Return whether some features of a layout are among what an attacker looks at."""
    return bool(len(layout.columns(ATTACKERS[name].sees)))


def learner_for(name: str, layout: FeatureLayout, **options: Any) -> Learner:
    """Return a learner by its name that looks at what is its own of features with a layout."""
    attacker = ATTACKERS[name]
    if not sees_something(name, layout):
        raise InputError(
            f"The attacker '{name}' looks at {', '.join(attacker.sees)}: nothing of it is there. Released values are seen in the black box "
            "alone; use the learner linear, or the black box."
        )
    groups = tuple(group for group in layout.sizes if group in attacker.sees)
    if attacker.by_groups:
        options["layout"] = FeatureLayout(
            {group: layout.sizes[group] for group in groups}, layout.kind
        )
    return Focused(layout, groups, learner(name, kind=layout.kind_of(groups), **options))
