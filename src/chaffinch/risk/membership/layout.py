"""Which columns of a target's features belong together, so that an attacker can be shown some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .attacker import Kind

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

    def part(self, groups: Sequence[str]) -> slice | NDArray[np.int64]:
        """Return what picks the features of some groups: a slice, which copies nothing, where they stand side by side."""
        places = self.columns(groups)
        if len(places) and places[-1] - places[0] + 1 == len(places):
            return slice(int(places[0]), int(places[-1]) + 1)
        return places

    def kind_of(self, groups: Sequence[str]) -> Kind:
        """Return whether the features of some groups are all counts."""
        return self.kind if set(groups) & set(self.sizes) <= {TABLE} else "real"
