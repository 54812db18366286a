"""Thresholds that are midpoints of two actual values: they tell both approximately, whatever the counts say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .summary import MidpointSummary
from .tree import Ensemble, compared


@dataclass(frozen=True)
class Midpoints:
    """How many splits with a finite threshold and records on both sides lie exactly midway between values of training records.

    `midway` lie between the largest value of the node's records that goes left and the smallest that goes right. Of these, `neighbours` have
    no other value of the whole column between the two, which are then known to lie around the threshold at the same distance; and of
    these, `lone` have a value on either side that a single record of the data has.
    """

    splits: int
    midway: int
    neighbours: int
    lone: int

    @property
    def share(self) -> float:
        """The share of splits midway between two neighbouring values of the column: 0 good, 1 all."""
        return self.neighbours / self.splits if self.splits else 0.0

    @property
    def summary(self) -> MidpointSummary:
        """What may leave: shares of splits, no threshold."""
        total = max(self.splits, 1)
        return MidpointSummary(self.splits, self.midway / total, self.share, self.lone / total)


def midpoints(model: Ensemble, columns: Sequence[NDArray[Any]]) -> Midpoints:
    """Return how many thresholds of a model are midpoints of two actual values of the training column.

    scikit-learn cuts midway between two values of the records in a node; extra trees draw
    thresholds at random, XGBoost cuts at a value itself.
    """
    x = [np.asarray(c) for c in columns]
    if len(x) != len(model.features):
        raise InputError(
            f"The model has {len(model.features)} columns, but the data have {len(x)}."
        )
    if len({len(c) for c in x}) != 1 or len(x[0]) == 0:
        raise InputError("Columns must be of one length, and have records.")
    splits = midway = neighbours = lone = 0
    seen: dict[
        tuple[int, bool], tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]
    ] = {}
    for tree in model.trees:
        rows = tree.rows(x)
        for node in np.flatnonzero(tree.left >= 0):
            key = int(tree.feature[node]), tree.single
            if key not in seen:
                numbers = compared(x[key[0]], single=tree.single)
                seen[key] = numbers, *np.unique(numbers[~np.isnan(numbers)], return_counts=True)
            numbers, values, counts = seen[key]
            here = numbers[rows[node]]
            here, cut = here[~np.isnan(here)], float(tree.threshold[node])
            below, above = here[here <= cut], here[here > cut]
            if not np.isfinite(cut) or not len(below) or not len(above):
                continue
            splits += 1
            a, b = float(below.max()), float(above.min())
            # Half of each, as the library adds them: exact up to the last bits of a double.
            if not np.isclose(a / 2 + b / 2, cut, rtol=1e-12, atol=1e-12 * (b - a)):
                continue
            midway += 1
            i, j = np.searchsorted(values, [a, b])
            if j == i + 1:
                neighbours += 1
                lone += bool(counts[i] == 1 or counts[j] == 1)
    return Midpoints(splits, midway, neighbours, lone)
