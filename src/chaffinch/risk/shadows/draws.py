"""Designs: which records are in which shadow. Drawn once, before any fit.

`shared`: every shadow serves every target. Each target is in exactly half of the shadows (or in the share of the population that a
subset has), chosen independently of the other targets; the rest of a subset is drawn from the other records. A thousand pairs
for each of fifty targets are 100,000 fits; the same evidence is in 2,000 shared ones.

`neighbours`: for each target pairs of subsets that differ in one record: the target in one, another record in its place in the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError

Share = Literal["half", "natural"]


@dataclass(frozen=True, eq=False)
class Draws:
    """Subsets as row numbers of the population, and who is in them.

    `rows`: (shadows, rows of a subset), ascending in each subset: the place of a row tells nothing. `member`: (shadows, targets):
    whether the target is in the subset. `owner`: the target that a shadow was drawn for, in the design `neighbours`; -1 where it serves
    all.
    """

    rows: NDArray[np.int64]
    member: NDArray[np.bool_]
    owner: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, target: int) -> NDArray[np.int64]:
        """Return the shadows that serve a target."""
        return np.flatnonzero((self.owner == target) | (self.owner < 0))

    def together(self, other: Draws) -> Draws:
        """Return both sets of draws as one, the other's after ours."""
        parts = ((self.rows, other.rows), (self.member, other.member), (self.owner, other.owner))
        return Draws(*(np.concatenate(part) for part in parts))  # type: ignore[arg-type]


def check_sizes(n_population: int, n_rows: int, n_targets: int) -> None:
    """Raise unless a subset is smaller than the population and there are records enough for the targets."""
    if n_rows < 1:
        raise InputError(f"A subset must have at least one row. Got {n_rows}.")
    if n_rows >= n_population:
        raise InputError(
            f"A subset must be smaller than the population that it is drawn from. Got {n_rows:,} rows of {n_population:,}: "
            "ask for fewer rows, or give a larger population."
        )
    if not 1 <= n_targets <= n_population:
        raise InputError(
            f"There must be 1 to {n_population:,} targets, one record each. Got {n_targets:,}."
        )


def shared_draws(
    n_population: int,
    targets: NDArray[np.int64],
    *,
    rows: int,
    shadows: int,
    share: Share = "half",
    rng: np.random.Generator,
) -> Draws:
    """Return subsets that serve all targets; each target is in exactly half of them, or in its natural share.

    With many targets for the size of a subset, half of the shadows would leave no room for others: then "half" falls back to the
    natural share, `rows` over the size of the population.

    Examples
    --------
    >>> draws = shared_draws(100, np.array([3, 7]), rows=20, shadows=40, rng=np.random.default_rng(1))
    >>> draws.member.sum(axis=0).tolist(), draws.rows.shape
    ([20, 20], (40, 20))
    """
    check_sizes(n_population, rows, len(targets))
    if shadows < 2:
        raise InputError(
            f"At least 2 shadows are needed: one with a target and one without. Got {shadows}."
        )
    others = np.setdiff1d(np.arange(n_population), targets)
    crowded = len(targets) > rows or rows > len(others)
    if share == "natural" or crowded:
        return fresh_draws(n_population, targets, rows=rows, shadows=shadows, rng=rng)
    member = np.zeros((shadows, len(targets)), dtype=bool)
    for k in range(len(targets)):
        member[rng.permutation(shadows)[: shadows // 2], k] = True
    taken = np.empty((shadows, rows), dtype=np.int64)
    for s in range(shadows):
        inside = targets[member[s]]
        filled = rng.choice(others, size=rows - len(inside), replace=False)
        taken[s] = np.sort(np.concatenate([inside, filled]))
    return Draws(taken, member, np.full(shadows, -1, dtype=np.int64))


def fresh_draws(
    n_population: int,
    targets: NDArray[np.int64],
    *,
    rows: int,
    shadows: int,
    rng: np.random.Generator,
) -> Draws:
    """Return subsets drawn without replacement, targets or not: what a publisher of Sedlmeyr (2024) draws (section 3.1)."""
    check_sizes(n_population, rows, len(targets))
    taken = np.empty((shadows, rows), dtype=np.int64)
    member = np.zeros((shadows, len(targets)), dtype=bool)
    for s in range(shadows):
        taken[s] = np.sort(rng.choice(n_population, size=rows, replace=False))
        member[s] = np.isin(targets, taken[s])
    return Draws(taken, member, np.full(shadows, -1, dtype=np.int64))


def neighbour_draws(
    n_population: int,
    targets: NDArray[np.int64],
    *,
    rows: int,
    pairs: int,
    rng: np.random.Generator,
) -> Draws:
    """Return pairs of subsets for each target that differ in one record: shadow 2i has it, 2i + 1 another in its place."""
    check_sizes(n_population, rows, len(targets))
    if pairs < 1:
        raise InputError(f"At least 1 pair of shadows is needed. Got {pairs}.")
    taken = np.empty((2 * pairs * len(targets), rows), dtype=np.int64)
    owner = np.repeat(np.arange(len(targets)), 2 * pairs)
    for k, target in enumerate(targets):
        others = np.delete(np.arange(n_population), target)
        for p in range(pairs):
            drawn = rng.choice(
                others, size=rows, replace=False
            )  # the last of them is who stands in for the target
            at = 2 * (k * pairs + p)
            taken[at] = np.sort(np.append(drawn[:-1], target))
            taken[at + 1] = np.sort(drawn)
    member = np.stack([np.isin(targets, row) for row in taken])
    return Draws(taken, member, owner)
