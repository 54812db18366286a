"""Attacks on the same two groups of people, ready to be permuted and resampled all together.

**Random people in bulk**: who is called a member (permutation) and who is drawn how often
(resampling). People who are alike in all that is measured form a unit. A unit of many people costs
one hypergeometric or binomial draw; the people of small units are labelled by random bytes, or
drawn one by one. Neither shuffles rows, and both are exact: every choice of members, and every draw
of people, has the same chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._base.arrays import Floats
from .._base.checks import check_at_least, check_share
from .._base.runtime import thread_map
from .._base.seeds import child
from .rates import Counted, Group, Ratio, Statistic, Totals

Counts = NDArray[np.int64]
Pair = tuple[ArrayLike, ArrayLike]

CELLS = 256
"""Cells that the scores of a single attack are gathered into for draws when there are more distinct
ones than twice this.
"""

NEAR = 8
"""Draws that attacks of classes go through together."""


@dataclass(frozen=True, eq=False)
class PanelSide:
    """Attacks on units of people with equal scores under all of them: the attacks' values from
    counts of the units.

    `statistics`, `scores`: for each attack, what it scores a group by and its two numbers for each
    unit. `counts`: how many people a unit has; the first `bulk` units have many.
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
        """Return the side with other counts of people, without empty units."""
        here = np.flatnonzero(counts)
        scores = tuple((first[here], second[here]) for first, second in self.scores)
        return PanelSide(
            self.statistics, scores, counts[here], int(np.count_nonzero(here < self.bulk))
        )

    def sums(self, counts: Counted) -> Counted:
        """Return the sums for ratios: numerators, then weights that are not all 1."""
        return counts @ self._ratios[1]

    def values(self, counts: Counted, sums: Counted, people: int, common: int) -> Floats:
        """Return the value of each attack for each row of counts; NaN where it has none."""
        out = np.full((len(counts), len(self.statistics)), np.nan)
        columns, _, weighted = self._ratios
        below = np.full((len(counts), len(columns)), float(people))
        below[:, weighted] = sums[:, len(columns) :]
        out[:, columns] = _divide(sums[:, : len(columns)].astype(np.float64), below)
        for at_row in range(0, len(counts), NEAR) if self._classes else ():
            rows = slice(
                at_row, at_row + NEAR
            )  # all attacks on a few draws, which stay near the processor
            for j, totals in self._classes:
                out[rows, j] = _divide(*totals(counts[rows], people, common))
        return out

    def resampled(self, draws: int, common: int, rng: np.random.Generator) -> Floats:
        """Return the values for people drawn with replacement, one row a draw."""
        counts = resample(self.counts, draws, rng, bulk=self.bulk, dtype=self.dtype)
        return self.values(counts, self.sums(counts), self.people, common)

    @cached_property
    def dtype(self) -> type[np.floating[Any]]:
        """The type in which sums are exact: single precision holds votes, 0 or 1, of 16 million
        people.
        """
        matrix = self._ratios[1]
        is_single = matrix.dtype == np.float32
        return np.float32 if is_single else np.float64

    @cached_property
    def _ratios(self) -> tuple[list[int], Counted, list[int]]:
        """The columns of attacks that are ratios, the matrix of their numerators and weights, and
        which of them have weights other than 1.
        """
        columns = [j for j, statistic in enumerate(self.statistics) if isinstance(statistic, Ratio)]
        weighted = [k for k, j in enumerate(columns) if not bool(np.all(self.scores[j][1] == 1.0))]
        sums = [self.scores[j][0] for j in columns] + [self.scores[columns[k]][1] for k in weighted]
        votes = self.people < 1 << 24 and all(
            bool(np.all((column == 0) | (column == 1))) for column in sums
        )
        kind = np.float32 if votes else np.float64
        matrix: Counted = np.empty((len(self.counts), len(sums)), dtype=kind)
        for k, column in enumerate(sums):
            matrix[:, k] = column
        return columns, matrix, weighted

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
    def from_groups(
        cls, members: Sequence[Group], others: Sequence[Group], statistics: Sequence[Statistic]
    ) -> AttackPanel:
        """Return the panel of some attacks (at least one); groups are checked arrays, one pair for
        each attack.
        """
        joined = [
            (np.concatenate([m[0], o[0]]), np.concatenate([m[1], o[1]]))
            for m, o in zip(members, others, strict=True)
        ]
        n_members, people = len(members[0][0]), len(joined[0][0])
        units = _large_first(_units(joined, statistics))
        size = int(units.max()) + 1
        first, second = (
            np.bincount(group_units, minlength=size)
            for group_units in (units[:n_members], units[n_members:])
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
        """The size at which both groups are compared: that of the smaller group, or of the only
        one.
        """
        return min(self.members.people, self.others.people) or self.pool.people

    def observed(self) -> Floats:
        """Return the observed difference of each attack."""
        return self._split(self.n_members_of[None, :].astype(self.pool.dtype))[0]

    def permuted(
        self, draws: int, root: np.random.SeedSequence, *, threads: int | None = None
    ) -> Floats:
        """Return value(members) - value(others) when members are chosen at random, one row a draw;
        0 without a value.
        """
        pool, n_members = self.pool, self.members.people

        def block(size: int, rng: np.random.Generator) -> Floats:
            return self._split(
                permute(pool.counts, n_members, size, rng, bulk=pool.bulk, dtype=pool.dtype)
            )

        return _in_blocks(block, draws, pool.people, root, threads)

    def resampled(
        self, draws: int, root: np.random.SeedSequence, *, threads: int | None = None
    ) -> Floats:
        """Return the differences when people are drawn with replacement within each group, one row
        a draw.
        """

        def block(size: int, rng: np.random.Generator) -> Floats:
            ours, theirs = (
                side.resampled(size, self.common, rng) for side in (self.members, self.others)
            )
            return _known_differences(ours - theirs)

        return _in_blocks(block, draws, self.pool.people, root, threads)

    def resampled_members(self, draws: int, root: np.random.SeedSequence) -> Floats:
        """Return the values of the members alone, drawn with replacement; NaN where a draw has
        none.
        """

        def block(size: int, rng: np.random.Generator) -> Floats:
            return self.members.resampled(size, self.common, rng)

        return _in_blocks(block, draws, self.pool.people, root, 1)

    def _split(self, members: Counted) -> Floats:
        """Return the differences for these counts of members, the rest of the pool being others."""
        pool = self.pool
        ours = pool.sums(members)
        # Sums of the rest by subtraction, exact on the grid; its counts only where a mean over classes needs them.
        theirs = self._pool_sums - ours
        rest = pool.counts.astype(members.dtype) - members if pool._classes else members
        first = pool.values(members, ours, self.members.people, self.common)
        return _known_differences(
            first - pool.values(rest, theirs, self.others.people, self.common)
        )

    @cached_property
    def _pool_sums(self) -> Counted:
        return self.pool.sums(self.pool.counts[None, :].astype(self.pool.dtype))


def check_groups(members: Pair, others: Pair, statistic: Statistic) -> tuple[Group, Group, str]:
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
    check_at_least("resamples", resamples, 2)
    check_share("level", level)


def _in_blocks(
    block: Callable[[int, np.random.Generator], Floats],
    draws: int,
    people: int,
    root: np.random.SeedSequence,
    threads: int | None,
) -> Floats:
    """Return the rows of all blocks; each block has a stream of its own, so threads change
    nothing.
    """
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


def _known_differences(differences: Floats) -> Floats:
    return np.where(np.isnan(differences), 0.0, differences)


def _divide(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _units(joined: Sequence[Group], statistics: Sequence[Statistic]) -> Counts:
    """Return each person's unit: people with equal scores under all attacks; nearly equal for one
    ratio with many scores.
    """
    people = len(joined[0][0])
    single = len(joined) == 1 and isinstance(statistics[0], Ratio)
    max_units = 2 * CELLS if single else people // 4
    units = alike([column for pair in joined for column in pair], max_units=max_units)
    if units is None:
        units = _gather_people(*joined[0]) if single else np.arange(people)
    return units


def _large_first(units: Counts) -> Counts:
    """Return units renumbered by size, largest first."""
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
    """Return numbers rounded to multiples of 2^-bits: sums are then exact, in any order and on any
    number of threads.
    """
    return np.rint(numbers * 2.0**bits) / 2.0**bits


def _gather_people(numerator: Floats, weight: Floats) -> Counts:
    """Return a cell for each person: people of nearly equal scores, by their rank and score.

    Cells are the same whoever is a member, so a permutation test on their means is exact still; the
    spread of what is drawn is scaled to the known variance afterwards, so nothing is lost but the
    shape inside a cell.
    """
    residual = numerator - float(numerator.sum()) / float(weight.sum()) * weight
    kinds, kind = np.unique(weight, return_inverse=True)
    if len(kinds) > 8:
        kind = np.zeros_like(kind)
    values, tie = np.unique(residual, return_inverse=True)
    below = np.cumsum(np.bincount(tie)) / len(residual)
    position = below + (values - values[0]) / ((values[-1] - values[0]) or 1.0)
    cell = np.minimum((position / 2.0 * CELLS).astype(np.int64), CELLS - 1)[tie]
    gathered: Counts = np.unique(kind * CELLS + cell, return_inverse=True)[1]
    return gathered


Drawn = NDArray[np.floating[Any]]

BULK = 64
"""People of a unit from which one draw for the unit is cheaper than one for each of them."""

SHUFFLED = 1024
"""People up to whom shuffling labels is quicker than mending the count of random bytes."""

FEW = 1 << 16
"""People that are drawn in one go."""

BLOCK_CELLS = 1 << 20
"""Numbers of one block of draws: 8 MB."""


def alike(columns: Sequence[NDArray[Any]], *, max_units: int) -> Counts | None:
    """Return each person's unit number, equal for people equal in all columns; None for more than
    `max_units` units.

    Examples
    --------
    >>> alike([np.array([1.0, 0.0, 1.0, 1.0]), np.array([1, 1, 1, 0])], max_units=4)
    array([2, 0, 2, 1])
    """
    units = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > max_units:
            return None
        distinct, units = np.unique(units * len(values) + codes, return_inverse=True)
        if len(distinct) > max_units:
            return None
    return units


def block_sizes(draws: int, people: int) -> list[int]:
    """Return the number of draws of each block: what fits in memory, independent of the number of
    threads.
    """
    size = int(np.clip(BLOCK_CELLS // max(people, 1), 1, draws))
    return [min(size, draws - start) for start in range(0, draws, size)]


def permute(
    pool: Counts,
    n_members: int,
    draws: int,
    rng: np.random.Generator,
    *,
    bulk: int = 0,
    dtype: DTypeLike = np.float64,
) -> Drawn:
    """Return how many of each unit's people are called members when `n_members` of all people are,
    one row a draw.

    The first `bulk` units are drawn whole, the people of the others one by one.

    Examples
    --------
    >>> permute(np.array([500, 1, 1]), 300, 4, np.random.default_rng(0), bulk=1).sum(axis=1)
    array([300., 300., 300., 300.])
    """
    rest = pool[bulk:]
    groups = np.append(pool[:bulk], rest.sum())
    head = rng.multivariate_hypergeometric(groups, n_members, size=draws, method="marginals")
    labels = subsets(int(rest.sum()), head[:, -1], rng)
    out: Drawn = np.empty((draws, len(pool)), dtype=dtype)
    out[:, :bulk], out[:, bulk:] = head[:, :-1], _by_unit(labels, rest)
    return out


def resample(
    counts: Counts,
    draws: int,
    rng: np.random.Generator,
    *,
    bulk: int = 0,
    dtype: DTypeLike = np.float64,
) -> Drawn:
    """Return how often people of each unit are drawn, for as many draws with replacement as there
    are people.

    Examples
    --------
    >>> resample(np.array([500, 1, 0]), 3, np.random.default_rng(0), bulk=1).sum(axis=1)
    array([501., 501., 501.])
    """
    total, rest = int(counts.sum()), counts[bulk:]
    shares = np.append(counts[:bulk], rest.sum()) / max(total, 1)
    head = rng.multinomial(total, shares, size=draws)
    unit_of = np.repeat(np.arange(bulk, len(counts)), rest)
    out: Drawn = np.empty((draws, len(counts)), dtype=dtype)
    step = max(1, FEW // max(len(unit_of), 1))  # small groups: many draws in one go
    for start in range(0, draws, step):
        times = head[start : start + step, -1]
        units = unit_of[rng.integers(len(unit_of), size=times.sum())] if len(unit_of) else unit_of
        if len(times) > 1:
            units += np.repeat(np.arange(len(times)) * len(counts), times)
        out[start : start + step] = np.bincount(units, minlength=len(times) * len(counts)).reshape(
            -1, len(counts)
        )
    out[:, :bulk] = head[:, :-1]
    return out


def subsets(n_people: int, sizes: Counts, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return random choices of people, one row for each size, uniform over the choices of that
    size.

    Few people are shuffled. Of many, each is chosen by a random byte, so all choices of the size
    that came out have the same chance; people chosen too many are dropped, or too few added, at
    random, which keeps it so.

    Examples
    --------
    >>> subsets(1000, np.array([10, 700]), np.random.default_rng(0)).sum(axis=1)
    array([ 10, 700])
    """
    if n_people <= SHUFFLED:
        return rng.permuted(np.arange(n_people) < sizes[:, None], axis=1)
    random_words = rng.integers(
        0, 2**64 - 1, size=(len(sizes), -(-n_people // 8)), dtype=np.uint64, endpoint=True
    )
    below = np.clip(np.rint(256 * sizes / max(n_people, 1)), 0, 255).astype(np.uint8)
    chosen: NDArray[np.bool_] = random_words.view(np.uint8)[:, :n_people] < below[:, None]
    for row, size in zip(chosen, sizes, strict=True):
        surplus = int(np.count_nonzero(row)) - int(size)
        if surplus:
            spots = np.flatnonzero(row if surplus > 0 else ~row)
            row[rng.choice(spots, abs(surplus), replace=False, shuffle=False)] = surplus < 0
    return chosen


def _by_unit(labels: NDArray[np.bool_], sizes: Counts) -> NDArray[Any]:
    """Return how many people of each unit have the label; people stand in the order of their
    units.
    """
    if len(sizes) == labels.shape[1]:
        return labels
    # Differences of running sums: several times faster than reduceat for units of a few people.
    running = np.cumsum(labels, axis=1, dtype=np.int32)
    ends = running[:, np.cumsum(sizes) - 1]
    ends[:, 1:] -= ends[:, :-1].copy()
    return ends
