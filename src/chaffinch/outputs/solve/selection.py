"""Which candidates become parents: rules that the paper leaves open, each with a name."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..domain import Floats

Selection = Literal["tournament", "best", "roulette", "truncation"]


def choose_parents(
    errors: Floats,
    rule: Selection,
    rng: np.random.Generator,
    *,
    tournament_size: int = 2,
    best: int = 2,
) -> NDArray[np.intp]:
    """Return the places of as many parents as there are candidates; the smaller an error, the fitter. Neighbours in the list mate.

    - `tournament`: each parent is the fittest of `tournament_size` candidates drawn with replacement, the first drawn of equal ones;
    - `best`: each is one of the `best` fittest, all alike; with 1 all children are those of the fittest;
    - `roulette`: chances by rank, falling in a straight line;
    - `truncation`: one of the fitter half, all alike.

    Examples
    --------
    >>> errors = np.array([0.3, 0.1, 0.4, 0.2])
    >>> choose_parents(errors, "best", np.random.default_rng(1), best=1)
    array([1, 1, 1, 1])
    """
    n = len(errors)
    if rule == "tournament":
        drawn = rng.integers(0, n, (n, tournament_size))
        return drawn[np.arange(n), errors[drawn].argmin(axis=1)]
    ranked = np.argsort(errors, kind="stable")
    if rule == "roulette":
        weights = np.arange(n, 0, -1.0)
        return ranked[rng.choice(n, n, p=weights / weights.sum())]
    return ranked[rng.integers(0, best if rule == "best" else max(1, n // 2), n)]
