"""Attacks on the same two groups of people, ready to be permuted and resampled all together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.errors import InputError
from .._base.runtime import thread_map
from .rates import Counted, Group, Ratio, Statistic, Totals
from .resampling import BULK, alike, block_sizes, permute, resample
from .splits import child

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Pair = tuple[ArrayLike, ArrayLike]

CELLS = 256
"""Cells that the scores of a single attack are gathered into for draws when there are more distinct ones than twice this."""

NEAR = 8
"""Draws that attacks of classes go through together."""


@dataclass(frozen=True, eq=False)
class PanelSide:
    """Attacks over units of people who are alike under all of them: the attacks' values from counts of the units.

    `statistics`, `scores`: for each attack, what it scores a group by and its two numbers for each unit. `counts`: how many people a
    unit has; the first `bulk` units have many.
    """

    statistics: tuple[Statistic, ...]
    scores: tuple[Group, ...]
    counts: Counts
    bulk: int

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.counts.sum())

    def only(self, counts: Counts) -> PanelSide:
        """Return the side of the units that have people by other counts."""
        here = np.flatnonzero(counts)
        scores = tuple((first[here], second[here]) for first, second in self.scores)
        return PanelSide(
            self.statistics, scores, counts[here], int(np.count_nonzero(here < self.bulk))
        )

    def sums(self, counts: Counted) -> Counted:
        """Return the sums that ratios are made of: numerators, then weights that are not all 1."""
        return counts @ self._ratios[1]

    def values(self, counts: Counted, sums: Counted, people: int, common: int) -> Floats:
        """Return the value of each attack for each row of counts; NaN where it has none."""
        out = np.full((len(counts), len(self.statistics)), np.nan)
        at, _, weighted = self._ratios
        below = np.full((len(counts), len(at)), float(people))
        below[:, weighted] = sums[:, len(at) :]
        out[:, at] = _divided(sums[:, : len(at)].astype(np.float64), below)
        for at_row in range(0, len(counts), NEAR) if self._classes else ():
            rows = slice(
                at_row, at_row + NEAR
            )  # all attacks on a few draws, which stay near the processor
            for j, totals in self._classes:
                out[rows, j] = _divided(*totals(counts[rows], people, common))
        return out

    def resampled(self, draws: int, common: int, rng: np.random.Generator) -> Floats:
        """Return the values for people drawn with replacement, one row a draw."""
        counts = resample(self.counts, draws, rng, bulk=self.bulk, dtype=self.dtype)
        return self.values(counts, self.sums(counts), self.people, common)

    @cached_property
    def dtype(self) -> type[np.floating[Any]]:
        """The type in which sums are exact: single precision holds votes, 0 or 1, of 16 million people."""
        matrix = self._ratios[1]
        whole = matrix.dtype == np.float32
        return np.float32 if whole else np.float64

    @cached_property
    def _ratios(self) -> tuple[list[int], Counted, list[int]]:
        """The columns of attacks that are ratios, their sums as one matrix, and which of them have weights of their own."""
        at = [j for j, statistic in enumerate(self.statistics) if isinstance(statistic, Ratio)]
        weighted = [k for k, j in enumerate(at) if not bool(np.all(self.scores[j][1] == 1.0))]
        columns = [self.scores[j][0] for j in at] + [self.scores[at[k]][1] for k in weighted]
        votes = self.people < 1 << 24 and all(
            bool(np.all((column == 0) | (column == 1))) for column in columns
        )
        kind = np.float32 if votes else np.float64
        matrix: Counted = np.empty((len(self.counts), len(columns)), dtype=kind)
        for k, column in enumerate(columns):
            matrix[:, k] = column
        return at, matrix, weighted

    @cached_property
    def _classes(self) -> list[tuple[int, Totals]]:
        pairs = zip(self.statistics, self.scores, strict=True)
        return [
            (j, s.totals(scores)) for j, (s, scores) in enumerate(pairs) if not isinstance(s, Ratio)
        ]


@dataclass(frozen=True, eq=False)
class AttackPanel:
    """Attacks on members and on others."""

    pool: PanelSide
    members: PanelSide
    others: PanelSide
    n_members_of: Counts

    @classmethod
    def of(
        cls, members: Sequence[Group], others: Sequence[Group], statistics: Sequence[Statistic]
    ) -> AttackPanel:
        """Return the panel of some attacks (at least one); groups are checked arrays, one pair for each attack."""
        joined = [_joined(m, o) for m, o in zip(members, others, strict=True)]
        n_members, people = len(members[0][0]), len(joined[0][0])
        units = _large_first(_units(joined, statistics))
        size = int(units.max()) + 1
        first, second = (
            np.bincount(part, minlength=size) for part in (units[:n_members], units[n_members:])
        )
        counts = first + second
        bits = min(30, 52 - people.bit_length())
        scores = tuple(
            (_grid(_unit_means(a, units, counts), bits), _grid(_unit_means(b, units, counts), bits))
            for a, b in joined
        )
        pool = PanelSide(tuple(statistics), scores, counts, int(np.count_nonzero(counts >= BULK)))
        return cls(pool, pool.only(first), pool.only(second), first)

    @property
    def common(self) -> int:
        """The size at which both groups are compared: that of the smaller; of one group alone, its own."""
        return min(self.members.people, self.others.people) or self.pool.people

    def observed(self) -> Floats:
        """Return the difference of each attack as it is."""
        return self._split(self.n_members_of[None, :].astype(self.pool.dtype))[0]

    def permuted(
        self, draws: int, root: np.random.SeedSequence, *, threads: int | None = None
    ) -> Floats:
        """Return value(members) - value(others) when members are chosen at random, one row a draw; 0 without a value."""
        pool, n_members = self.pool, self.members.people

        def block(size: int, rng: np.random.Generator) -> Floats:
            return self._split(
                permute(pool.counts, n_members, size, rng, bulk=pool.bulk, dtype=pool.dtype)
            )

        return _in_blocks(block, draws, pool.people, root, threads)

    def resampled(
        self, draws: int, root: np.random.SeedSequence, *, threads: int | None = None
    ) -> Floats:
        """Return the differences when people are drawn with replacement within each group, one row a draw."""

        def block(size: int, rng: np.random.Generator) -> Floats:
            ours, theirs = (
                side.resampled(size, self.common, rng) for side in (self.members, self.others)
            )
            return _known(ours - theirs)

        return _in_blocks(block, draws, self.pool.people, root, threads)

    def resampled_members(self, draws: int, root: np.random.SeedSequence) -> Floats:
        """Return the values of the members alone, drawn with replacement; NaN where a draw has none."""

        def block(size: int, rng: np.random.Generator) -> Floats:
            return self.members.resampled(size, self.common, rng)

        return _in_blocks(block, draws, self.pool.people, root, 1)

    def _split(self, members: Counted) -> Floats:
        """Return the differences when these are the members' counts and the rest of the pool are others."""
        pool = self.pool
        ours = pool.sums(members)
        # Sums of the rest by subtraction, exact on the grid; its counts only where a mean over classes needs them.
        theirs = self._pool_sums - ours
        rest = pool.counts.astype(members.dtype) - members if pool._classes else members
        first = pool.values(members, ours, self.members.people, self.common)
        return _known(first - pool.values(rest, theirs, self.others.people, self.common))

    @cached_property
    def _pool_sums(self) -> Counted:
        return self.pool.sums(self.pool.counts[None, :].astype(self.pool.dtype))


def checked(members: Pair, others: Pair, statistic: Statistic) -> tuple[Group, Group, str]:
    """Return both groups, checked, and why they cannot be compared (empty where they can)."""
    first, second = statistic.check(members), statistic.check(others)
    for group, who in ((first, "the original"), (second, "the holdout")):
        if not len(group[0]):
            return first, second, f"{who} has no people."
        if not statistic.counted(group) > 0:
            return first, second, f"the measure counts no person of {who}."
    return first, second, ""


def check_draws(resamples: int, level: float) -> None:
    """Raise InputError for a number of draws or a level that give no interval."""
    if resamples < 2:
        raise InputError(f"resamples must be at least 2. Got {resamples}.")
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1. Got {level}.")


def _in_blocks(
    block: Callable[[int, np.random.Generator], Floats],
    draws: int,
    people: int,
    root: np.random.SeedSequence,
    threads: int | None,
) -> Floats:
    """Return the rows of all blocks; each block has a stream of its own, so threads change nothing."""
    work = [(size, child(root, number)) for number, size in enumerate(block_sizes(draws, people))]
    if len(work) == 1:
        return block(draws, np.random.default_rng(work[0][1]))
    from .._base.runtime import one_blas_thread

    # Blocks are the threads: products that spawn threads of their own wait for each other on a busy machine.
    with one_blas_thread():
        rows = thread_map(
            lambda item: block(item[0], np.random.default_rng(item[1])), work, threads=threads
        )
    return np.concatenate(rows)


def _joined(members: Group, others: Group) -> Group:
    return np.concatenate([members[0], others[0]]), np.concatenate([members[1], others[1]])


def _known(differences: Floats) -> Floats:
    return np.where(np.isnan(differences), 0.0, differences)


def _divided(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _units(joined: Sequence[Group], statistics: Sequence[Statistic]) -> Counts:
    """Return each person's unit: people alike under all attacks; for one ratio with many scores, nearly alike."""
    people = len(joined[0][0])
    single = len(joined) == 1 and isinstance(statistics[0], Ratio)
    most = 2 * CELLS if single else people // 4
    units = alike([column for pair in joined for column in pair], most=most)
    if units is None:
        units = _gathered(*joined[0]) if single else np.arange(people)
    return units


def _large_first(units: Counts) -> Counts:
    """Return units renumbered, those of many people first."""
    sizes = np.bincount(units)
    if sizes.max() == 1:
        return units
    number = np.empty_like(sizes)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return number[units]


def _unit_means(column: Floats, units: Counts, counts: Counts) -> Floats:
    if len(counts) == len(column):
        out = np.empty(len(column))
        out[units] = column
        return out
    return np.bincount(units, weights=column, minlength=len(counts)) / counts


def _grid(numbers: Floats, bits: int) -> Floats:
    """Return numbers rounded to multiples of 2^-bits: sums are then exact, in any order and on any number of threads."""
    return np.rint(numbers * 2.0**bits) / 2.0**bits


def _gathered(numerator: Floats, weight: Floats) -> Counts:
    """Return a cell for each person: people of nearly equal scores, by their rank and place among all people.

    Cells are the same whoever is a member, so a permutation test on their means is exact still; the spread of what is drawn
    is scaled to the known variance afterwards, so nothing is lost but the shape inside a cell.
    """
    residual = numerator - float(numerator.sum()) / float(weight.sum()) * weight
    kinds, kind = np.unique(weight, return_inverse=True)
    if len(kinds) > 8:
        kind = np.zeros_like(kind)
    values, tie = np.unique(residual, return_inverse=True)
    below = np.cumsum(np.bincount(tie)) / len(residual)
    place = below + (values - values[0]) / ((values[-1] - values[0]) or 1.0)
    cell = np.minimum((place / 2.0 * CELLS).astype(np.int64), CELLS - 1)[tie]
    gathered: Counts = np.unique(kind * CELLS + cell, return_inverse=True)[1]
    return gathered
