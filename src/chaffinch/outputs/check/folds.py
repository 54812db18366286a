"""Who stands behind the outputs and who is held out: halves of the data, each in its turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.masking import masked_count
from ..._base.seeds import Seed, generator

FEWEST = 20
"""The fewest people on either side of a fold."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """One split of the data."""

    name: str  # "first fold", "second fold"; with several splits their number too
    original: Ints  # The rows that outputs are computed from
    holdout: Ints  # Rows that had no part in them
    compared: Ints  # As many of the original rows as there are held out ones: attribution depends on how many people there are to match

    def __repr__(self) -> str:
        return f"Fold({self.name}, original: {masked_count(len(self.original))}, holdout: {masked_count(len(self.holdout))})"


def folds(
    n_rows: int,
    *,
    holdout_share: float = 0.5,
    repeats: int = 1,
    seed: Seed = None,
    within: Fold | None = None,
) -> tuple[Fold, ...]:
    """Return two folds for each random split: their held-out people are different ones, so each half plays both parts.

    With `within`, the original rows of a fold are split in place of all the data.

    Examples
    --------
    >>> first, second = folds(100, seed=1)
    >>> sorted(first.original) == sorted(second.holdout), len(first.compared)
    (True, 50)
    """
    if not 0.0 < holdout_share <= 0.5:
        raise InputError(
            f"The holdout share must be above 0 and at most 0.5. Got {holdout_share:g}."
        )
    if repeats < 1:
        raise InputError(f"The number of splits must be at least 1. Got {repeats}.")
    rows = np.arange(n_rows) if within is None else within.original
    n_holdout = int(len(rows) * holdout_share)
    if n_holdout < FEWEST:
        raise InputError(
            f"A holdout needs at least {FEWEST} records, and a share of {holdout_share:g} of this data is fewer. "
            "Use a larger share, or more data."
        )
    rng = generator(seed)
    splits = []
    for number in range(repeats):
        order = rng.permutation(rows)
        after = f" of split {number + 1}" if repeats > 1 else ""
        after += f" of the {within.name}" if within is not None else ""
        for name, holdout in (
            ("first", order[:n_holdout]),
            ("second", order[n_holdout : 2 * n_holdout]),
        ):
            inside = np.zeros(n_rows, dtype=bool)
            inside[rows] = True
            inside[holdout] = False
            original = np.flatnonzero(inside)
            compared = (
                original
                if len(original) == n_holdout
                else np.sort(rng.choice(original, n_holdout, replace=False))
            )
            splits.append(Fold(f"{name} fold{after}", original, np.sort(holdout), compared))
    return tuple(splits)
