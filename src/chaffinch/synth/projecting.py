"""A model brought onto its constraints without moving its single columns: weights for the combinations that constraints are about.

Zeros alone move columns: where a model holds age and marital status for independent, leaving out married children leaves out children. The
distribution nearest to the model's, in Kullback and Leibler's sense, that has the zeros and the model's own single columns is the model's
times a weight for each combination (Csiszár 1975), found by fitting the columns in turn. Rows drawn from the model are accepted in
proportion to their weight, so all that depends on these columns in the model does so still. Released numbers alone are used: nothing is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..table.rules.constraints import AllowedCodes

PILOT_ROWS = 1 << 17
"""Rows drawn, from a fixed stream, to see how a model spreads over the combinations."""

FEW_BROKEN = 0.005
"""The share of rows that break constraints below which they are drawn again and no weights are needed: nothing moves by more."""

MOST_WEIGHT = 20.0
"""The largest weight: rows drawn for one that is accepted."""

_ROUNDS = 100

Codes = Mapping[str, NDArray[np.uint32]]
Draw = Callable[[int, np.random.Generator], Codes]


@dataclass(frozen=True, eq=False)
class Projection:
    """For each set of columns that constraints tie together, the weight of each combination of codes: 0 where it may not occur."""

    groups: tuple[AllowedCodes, ...]
    weights: tuple[NDArray[np.float64], ...]

    @property
    def largest(self) -> float:
        """The largest weight that a row can have."""
        return float(np.prod([weights.max() for weights in self.weights]))

    def of(self, codes: Codes) -> NDArray[np.float64]:
        """Return the weight of each row."""
        return np.asarray(
            np.prod(
                [
                    w[tuple(codes[name] for name in g.columns)]
                    for g, w in zip(self.groups, self.weights, strict=True)
                ],
                axis=0,
            )
        )


def projection_of(groups: Sequence[AllowedCodes], draw: Draw) -> Projection | None:
    """Return the weights that bring a model onto constraints; None where so few rows break them that drawing those again will do."""
    rng = np.random.default_rng(0)
    pilot = [draw(PILOT_ROWS // 2, rng) for _ in range(2)]
    weights = []
    broken = 0.0
    for group in groups:
        sizes = group.allowed.shape
        shares = np.zeros(sizes)
        for codes in pilot:
            cells = np.ravel_multi_index(
                [codes[name].astype(np.int64) for name in group.columns], sizes
            )
            shares += np.bincount(cells, minlength=shares.size).reshape(sizes)
        shares /= shares.sum()
        broken = max(broken, float(shares[~group.allowed].sum()))
        weights.append(fitted_weights(shares, group.allowed))
    return None if broken <= FEW_BROKEN else Projection(tuple(groups), tuple(weights))


def fitted_weights(shares: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return for each cell what its share is multiplied with, so that forbidden cells have none and single columns keep theirs.

    Columns are fitted in turn (Deming and Stephan 1940). Where zeros make that impossible they come as near as weights of up to 20 allow.
    Cells without a share that are allowed have the weight 1.

    Examples
    --------
    Age by marital status, independent, and no married child: children keep their share, and so do the married.

    >>> weights = fitted_weights(np.array([[0.1, 0.1], [0.4, 0.4]]), np.array([[True, False], [True, True]]))
    >>> (np.array([[0.1, 0.1], [0.4, 0.4]]) * weights).round(3).tolist()
    [[0.2, 0.0], [0.3, 0.5]]
    """
    fitted = shares * allowed
    n = shares.ndim
    others = [tuple(axis for axis in range(n) if axis != column) for column in range(n)]
    targets = [shares.sum(axis=other) for other in others]
    for _ in range(_ROUNDS):
        for column, (target, other) in enumerate(zip(targets, others, strict=True)):
            sums = fitted.sum(axis=other)
            factor = np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
            fitted = fitted * factor.reshape([-1 if axis == column else 1 for axis in range(n)])
    weights = np.divide(fitted, shares, out=np.ones_like(shares), where=shares > 0)
    return np.asarray(np.where(allowed, np.minimum(weights, MOST_WEIGHT), 0.0))


def projected_rows(
    projection: Projection, codes: Codes, n_rows: int, rng: np.random.Generator, draw: Draw
) -> Codes:
    """Return rows of which each is accepted in proportion to its weight; `codes` are the first ones drawn."""
    largest = projection.largest
    parts, have = [], 0
    for _ in range(round(100 * largest)):
        accepted = rng.random(len(next(iter(codes.values())))) * largest < projection.of(codes)
        parts.append({name: column[accepted] for name, column in codes.items()})
        have += int(accepted.sum())
        if have >= n_rows:
            break
        wanted = int((n_rows - have) * largest * 1.05) + 16
        codes = draw(min(wanted, 1 << 16), rng)
    joined = {name: np.concatenate([part[name] for part in parts])[:n_rows] for name in codes}
    if have < n_rows:  # nothing is accepted: whatever is drawn is put right afterwards
        rest = draw(n_rows - have, rng)
        joined = {name: np.concatenate([joined[name], rest[name]]) for name in codes}
    return joined
