"""Conditional tables with back-off, and rows drawn from them: what is not known for all parents is asked of fewer, at last of none.

A table has a level for each number of parents, strongest parent first. A level lists the parent combinations that occur
and, for each, the child's codes that occur with their weights: memory follows the data, not the domain. The probability
at a level is

    p(x | parents) = (c(parents, x) + a p(x | fewer parents)) / (c(parents) + a)

with the smoothing a (0: none). A combination that never occurs has c = 0 and so the probability of fewer parents;
nothing ever falls back to a uniform distribution.

*Systematic sampling.* Drawn one by one, counts scatter around what is expected. With less chance a column is drawn for all rows of a batch together, by halves: its codes are
split in two, then each half again, down to single codes. At a split row i goes left with the probability p_i that its distribution
gives the left half, given what is left of it:

    row i goes left if   v + p_1 + ... + p_i   passes a whole number,     v uniform on [0, 1), new for every split

So each row goes left with probability p_i, whatever was drawn before, and each row alone has exactly the distribution of the network.
Of any rows that stand beside each other, the number that goes left is less than one from its expectation. Rows stand sorted by
their combination of parents, then by the columns drawn last, and are shuffled below that: counts with parents, counts with these columns
and the counts of the column itself all scatter less than those of rows drawn one by one. What changes is how rows hang together.

Distributions that are mixed over fewer parents (smoothing) draw at evenly spaced points instead: the j-th of n rows with the same
combination of parents at v + j a / n modulo 1, where a has no common divisor with n and a / n is near the golden ratio's fraction.

Systematic sampling with unequal probabilities: Madow, 1949. The points are a lattice of rank one (Korobov, 1959).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..._base.checks import check_at_least
from ..._base.compiled import jit
from ..._base.errors import InputError, TooLargeError
from ...counts.marginal import Marginal

LOOKUP_CELLS = 1 << 22

TIES = 2
"""How many of the columns drawn last rows with the same parents are sorted by."""

GOLDEN = 0.6180339887498949

MOST_SIZE = 1 << 16
"""Codes of a column up to which rows are sorted by it."""

Order = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Level:
    """Weights of a child's codes for each combination of some parents, at least one for each combination.

    A combination's key is its cell number: the last parent moves fastest.
    """

    sizes: tuple[int, ...]
    """Numbers of codes of the parents."""
    keys: NDArray[np.int64]
    """The combinations that occur, ascending."""
    starts: NDArray[np.int64]
    """Where each combination's entries begin; one more at the end."""
    codes: NDArray[np.uint32]
    """The child's codes that occur."""
    weights: NDArray[np.float64]
    """How often each entry occurs: positive."""

    def check(self) -> None:
        """Raise unless the parts fit together: for levels that come from a file."""
        n = len(self.keys)
        sound = (
            prod(self.sizes) < 1 << 62
            and len(self.starts) == n + 1
            and len(self.codes) == len(self.weights)
            and bool(self.starts[0] == 0 and self.starts[-1] == len(self.codes))
            and bool((np.diff(self.starts) > 0).all())
            and bool((np.diff(self.keys) > 0).all())
            and (n == 0 or (self.keys[0] >= 0 and self.keys[-1] < prod(self.sizes)))
            and bool(
                ((self.weights > 0) & (self.weights < 1e290)).all()
            )  # and so their sums are finite
            and bool(
                (
                    np.diff(np.repeat(np.arange(n), np.diff(self.starts)) << 32 | self.codes) > 0
                ).all()
            )
        )
        if not sound:
            raise InputError(
                "A conditional table does not fit together. The file that holds it is damaged."
            )

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The summed weights of each combination."""
        return np.add.reduceat(self.weights, self.starts[:-1]) if len(self.keys) else np.empty(0)

    @cached_property
    def cumulated(self) -> NDArray[np.float64]:
        """The running sums of the weights inside each combination, each from 0: a small one is not lost among large ones."""
        return np.asarray(
            _running_sums(np.asarray(self.weights, dtype=np.float64), np.asarray(self.starts))
        )

    @cached_property
    def lookup(self) -> NDArray[np.int32]:
        """For each key its row, -1 for none; empty where the domain is too large for a list."""
        if prod(self.sizes) > LOOKUP_CELLS:
            return np.empty(0, dtype=np.int32)
        rows = np.full(prod(self.sizes), -1, dtype=np.int32)
        rows[self.keys] = np.arange(len(self.keys), dtype=np.int32)
        return rows

    def rows(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of each key, -1 where the combination never occurs."""
        if len(self.lookup):
            return self.lookup[keys].astype(np.int64)
        if not len(self.keys):
            return np.full(len(keys), -1, dtype=np.int64)
        near = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[near] == keys, near, -1)


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """The distribution of a child given its parents; `levels[i]` uses the first i parents, `levels[-1]` all of them."""

    child: str
    size: int
    parents: tuple[str, ...]
    levels: tuple[Level, ...]
    smoothing: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of codes of the parents."""
        return self.levels[-1].sizes

    @property
    def total_weight(self) -> float:
        """The weights of all combinations of all parents together."""
        return float(self.levels[-1].weights.sum())

    def check(self) -> None:
        """Raise unless the levels fit together: for tables that come from a file."""
        for level in self.levels:
            level.check()
        if len(self.levels) != len(self.parents) + 1 or len(self.levels[0].keys) != 1:
            raise InputError(
                f"The table of '{self.child}' needs a level for each number of parents."
            )
        check_at_least("smoothing", self.smoothing, 0, finite=True)
        if any(len(level.codes) and int(level.codes.max()) >= self.size for level in self.levels):
            raise InputError(f"The table of '{self.child}' has a code outside the column.")

    def probabilities(
        self, codes: NDArray[np.integer], parents: Sequence[NDArray[np.integer]]
    ) -> NDArray[np.float64]:
        """Return the probability of each code given the codes of its parents."""
        out = np.zeros(len(codes))
        key = np.zeros(len(codes), dtype=np.int64)
        for i, level in enumerate(self.levels):
            if i:
                key = key * level.sizes[i - 1] + parents[i - 1]
            row = level.rows(key)
            known = row >= 0
            smoothing = self.smoothing if i else 0.0
            weight = np.zeros(len(codes))
            weight[known] = _weights_of(level, row[known], codes[known], self.size)
            total = level.totals[row[known]]
            out[known] = (weight[known] + smoothing * out[known]) / (total + smoothing)
        return out

    def largest(self, code: int) -> float:
        """Return an upper bound of P(code | parents) over all parents: level by level, the best that can be reached."""
        bound = 0.0
        for i, level in enumerate(self.levels):
            if not len(level.keys):
                continue
            entries = np.flatnonzero(level.codes == code)
            rows = np.searchsorted(level.starts, entries, side="right") - 1
            weights, totals = level.weights[entries], level.totals[rows]
            a = self.smoothing if i else 0.0
            reach = float(((weights + a * bound) / (totals + a)).max(initial=0.0))
            bound = max(bound, reach) if i else reach
        return min(bound, 1.0)


def _weights_of(
    level: Level, rows: NDArray[np.int64], codes: NDArray[np.integer], size: int
) -> NDArray[np.float64]:
    """Return the weight of a code in a row, 0 if it does not occur."""
    if not len(rows):
        return np.empty(0)
    cells = np.repeat(np.arange(len(level.keys)), np.diff(level.starts)) * size + level.codes
    wanted = rows * size + codes
    near = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    return np.where(cells[near] == wanted, level.weights[near], 0.0)


@jit
def _running_sums(weights, starts):  # type: ignore[no-untyped-def]
    """Return the running sums of weights, from 0 again at each start."""
    out = np.empty(weights.size)
    for g in range(starts.size - 1):
        total = 0.0
        for t in range(starts[g], starts[g + 1]):
            total += weights[t]
            out[t] = total
    return out


def table_from_marginal(marginal: Marginal, *, smoothing: float) -> ConditionalTable:
    """Return the conditional table of the last column given the others, strongest parent first.

    Levels of fewer parents are sums of the one marginal. A table without any record gives every code the same weight:
    there is nothing else to say.
    """
    *parents, child = marginal.columns
    size = marginal.sizes[-1]
    if prod(marginal.sizes) >= 1 << 62:  # cells are numbered in 64 bits
        raise TooLargeError(
            f"The table of '{child}' given its {len(parents)} parents has too many combinations to number. "
            "Use fewer parents, or fewer levels."
        )
    if marginal.cells is None:
        levels = [_dense_level(marginal, width) for width in range(len(parents) + 1)]
    else:
        levels = [_sparse_level(marginal, width) for width in range(len(parents) + 1)]
    if not len(levels[0].keys):
        all_codes = np.arange(size, dtype=np.uint32)
        levels[0] = Level(
            (), np.zeros(1, dtype=np.int64), np.array([0, size]), all_codes, np.ones(size)
        )
    return ConditionalTable(child, size, tuple(parents), tuple(levels), smoothing)


def _dense_level(marginal: Marginal, width: int) -> Level:
    """The level of the first `width` parents of a dense marginal: the other parents are summed out."""
    sizes, size = marginal.sizes[:width], marginal.sizes[-1]
    summed = marginal.counts.reshape(prod(sizes), -1, size).sum(axis=1).ravel()
    cells = np.flatnonzero(summed > 0)
    return _level(sizes, cells, summed[cells].astype(np.float64), size)


def _sparse_level(marginal: Marginal, width: int) -> Level:
    """The same of a sparse marginal: cells that agree on the first `width` parents and the child are added up."""
    sizes, size = marginal.sizes[:width], marginal.sizes[-1]
    cells, counts = marginal.nonzero()
    keep = counts > 0
    key = np.zeros(int(keep.sum()), dtype=np.int64)
    for axis, length in zip([*range(width), -1], [*sizes, size], strict=True):
        key = key * length + cells[keep, axis]
    cell, inverse = np.unique(key, return_inverse=True)
    summed = np.bincount(inverse, weights=counts[keep], minlength=len(cell)).astype(np.float64)
    return _level(sizes, cell, summed, size)


def _level(
    sizes: tuple[int, ...], cells: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> Level:
    """A level from its filled cells (parents and child), ascending, and their weights."""
    keys, codes = np.divmod(cells, size)
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    first = np.flatnonzero(new)
    return Level(
        sizes, keys[first], np.concatenate([first, [len(cells)]]), codes.astype(np.uint32), weights
    )


@dataclass(frozen=True, eq=False)
class Sampler:
    """A conditional table laid out for drawing: all levels one after the other."""

    table: ConditionalTable

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.generic], ...]:
        levels = self.table.levels
        keys = np.concatenate([level.keys for level in levels])
        first_key = np.cumsum([0, *(len(level.keys) for level in levels)])
        lookup = np.concatenate([level.lookup for level in levels])
        first_lookup = np.cumsum([0, *(len(level.lookup) for level in levels)])
        entries = np.cumsum([0, *(len(level.codes) for level in levels)])
        starts = np.concatenate(
            [
                level.starts[:-1] + first_entry
                for level, first_entry in zip(levels, entries[:-1], strict=True)
            ]
            + [entries[-1:]]
        )
        codes = np.concatenate([level.codes for level in levels])
        cumulated = np.concatenate([level.cumulated for level in levels])
        totals = np.concatenate([level.totals for level in levels])
        sizes = np.array([*levels[-1].sizes, 0], dtype=np.int64)
        return sizes, keys, first_key, lookup, first_lookup, starts, codes, cumulated, totals

    def draw(
        self, parents: Sequence[NDArray[np.uint32]], uniform: NDArray[np.float64]
    ) -> NDArray[np.uint32]:
        """Return a code for each row, given the codes of the parents and a uniform number for each row."""
        out = np.empty(len(uniform), dtype=np.uint32)
        given = np.stack(parents) if parents else np.empty((0, len(uniform)), dtype=np.uint32)
        _draw(out, given, uniform, float(self.table.smoothing), self._arrays)
        return out

    def draw_systematic(
        self,
        parents: Sequence[NDArray[np.uint32]],
        ties: Sequence[tuple[NDArray[np.uint32], int]],
        n_rows: int,
        rng: np.random.Generator,
    ) -> NDArray[np.uint32]:
        """Return a code for each row by systematic sampling.

        `ties`: columns, with their numbers of codes, that rows with the same parents are sorted by (see `systematic`).
        """
        given = np.stack(parents) if parents else np.empty((0, n_rows), dtype=np.uint32)
        groups = _rows(given, self._arrays) if parents else np.zeros(n_rows, dtype=np.int64)
        order, starts, numbers = rows_by_group(
            groups, len(self._arrays[1]) if parents else 1, ties, rng
        )
        if self.table.smoothing > 0:
            return self.draw(parents, systematic_uniforms(order, starts, rng.random(len(numbers))))
        uniforms = rng.random(self.table.size - 1)
        return np.asarray(systematic_codes(order, starts, numbers, uniforms, self._arrays[-4:-1]))


@jit
def _rows(parents, arrays):  # type: ignore[no-untyped-def]
    """Return where each row's distribution stands: with all its parents if they occur together, else with the first of them."""
    sizes, keys, first_key, lookup, first_lookup = arrays[:5]
    k, n = parents.shape
    out = np.zeros(n, dtype=np.int64)
    level_key = np.empty(k + 1, dtype=np.int64)
    for i in range(n):
        key = 0
        level_key[0] = 0
        for p in range(k):
            key = key * sizes[p] + parents[p, i]
            level_key[p + 1] = key
        for level in range(k, 0, -1):
            if first_lookup[level + 1] > first_lookup[level]:
                key_index = lookup[first_lookup[level] + level_key[level]]
                if key_index >= 0:
                    out[i] = first_key[level] + key_index
                    break
            else:
                low, high = first_key[level], first_key[level + 1]
                low += np.searchsorted(keys[low:high], level_key[level])
                if low < high and keys[low] == level_key[level]:
                    out[i] = low
                    break
    return out


@jit
def _draw(out, parents, uniform, smoothing, arrays):  # type: ignore[no-untyped-def]
    """Draw a code for each row; `arrays` as `Sampler` lays them out.

    From all parents to none: with probability c / (c + a) the code comes from the combination's own entries, otherwise from
    the next level; what is left of the uniform number serves again, so one number is enough for a row.
    """
    sizes, keys, first_key, lookup, first_lookup, starts, codes, cumulated, totals = arrays
    k = parents.shape[0]
    level_key = np.empty(k + 1, dtype=np.int64)
    for i in range(out.size):
        key = 0
        level_key[0] = 0
        for p in range(k):
            key = key * sizes[p] + parents[p, i]
            level_key[p + 1] = key
        u = uniform[i]
        for level in range(k, -1, -1):
            row = -1
            if first_lookup[level + 1] > first_lookup[level]:
                key_index = lookup[first_lookup[level] + level_key[level]]
                if key_index >= 0:
                    row = first_key[level] + key_index
            else:
                low, high = first_key[level], first_key[level + 1]
                low += np.searchsorted(keys[low:high], level_key[level])
                if low < high and keys[low] == level_key[level]:
                    row = low
            if row < 0:
                continue
            a = smoothing if level > 0 else 0.0
            x = u * (totals[row] + a)
            if x < totals[row] or level == 0:
                low, high = starts[row], starts[row + 1] - 1
                out[i] = codes[low + np.searchsorted(cumulated[low:high], x, side="right")]
                break
            u = min((x - totals[row]) / a, 1.0 - 1e-16)


def rows_by_group(
    groups: NDArray[np.int64],
    n_groups: int,
    ties: Sequence[tuple[NDArray[np.uint32], int]],
    rng: np.random.Generator,
) -> tuple[Order, NDArray[np.int64], NDArray[np.int64]]:
    """Return rows sorted by group, where each group begins (one more at the end), and the number of each group.

    `ties` are columns and their numbers of codes, by which rows of a group are sorted, the last first; the rest is shuffled. Only groups
    that occur are listed where there are many more than rows.
    """
    order = shuffle_rows(len(groups), rng.integers(0, 1 << 63, dtype=np.uint64))
    for codes, size in ties:
        if 1 < size <= MOST_SIZE:
            order = sorted_by(order, codes, size)[0]
    numbers = np.arange(n_groups)
    if n_groups > 4 * len(groups) + 1024:
        numbers, groups = np.unique(groups, return_inverse=True)
    order, starts = sorted_by(order, groups, len(numbers))
    return order, starts, numbers


@jit
def shuffle_rows(n, seed):  # type: ignore[no-untyped-def]
    """Return the rows in a random order: Fisher and Yates with the numbers of SplitMix64 (Steele, Lea and Flood, 2014)."""
    order = np.arange(n).astype(np.int32)
    state = np.uint64(seed)
    for i in range(n - 1, 0, -1):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = int((z >> np.uint64(11)) * (1.0 / 9007199254740992.0) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


@jit
def sorted_by(order, values, size):  # type: ignore[no-untyped-def]
    """Return rows sorted by a value from 0 to size - 1, as they stood where it is the same, and where each value begins."""
    starts = np.zeros(size + 1, dtype=np.int64)
    for i in range(values.size):
        starts[values[i] + 1] += 1
    for g in range(size):
        starts[g + 1] += starts[g]
    next_row = starts[:-1].copy()
    out = np.empty_like(order)
    for j in range(order.size):
        value = values[order[j]]
        out[next_row[value]] = order[j]
        next_row[value] += 1
    return out, starts


@jit
def step_of(n):  # type: ignore[no-untyped-def]
    """Return the whole number nearest to n times the golden ratio's fraction that has no common divisor with n.

    Examples
    --------
    >>> [step_of(n) for n in (1, 2, 5, 12, 1000)]
    [1, 1, 3, 7, 619]
    """
    middle = int(n * GOLDEN + 0.5)
    for away in range(n):
        for step in (middle + away, middle - away):
            a, b = n, step
            while b > 0:
                a, b = b, a % b
            if step > 0 and a == 1:
                return step
    return 1


@jit
def systematic_uniforms(order, starts, offsets):  # type: ignore[no-untyped-def]
    """Return the point of each row: evenly spaced in each group, an offset for each group."""
    out = np.empty(order.size)
    for g in range(starts.size - 1):
        n = starts[g + 1] - starts[g]
        if n == 0:
            continue
        step = step_of(n)
        first = int(offsets[g] * n)
        rest = offsets[g] * n - first
        for j in range(n):
            out[order[starts[g] + j]] = min(((first + j * step) % n + rest) / n, 1.0 - 1e-16)
    return out


@jit
def systematic_codes(order, starts, numbers, uniforms, arrays):  # type: ignore[no-untyped-def]
    """Return the code of each row by halves; `uniforms` has one number for each split, so one less than there are codes.

    `arrays`: the entries of all distributions (see `Sampler`); group g has the distribution `numbers[g]`.
    """
    entries, codes, cumulated = arrays
    n, size = order.size, uniforms.size + 1
    out = np.empty(n, dtype=np.uint32)
    rows, which = (
        order.copy(),
        np.empty(n, dtype=np.int32),
    )  # at each place, a row and its distribution
    for g in range(starts.size - 1):
        which[starts[g] : starts[g + 1]] = numbers[g]
    other_rows, other_which = np.empty_like(rows), np.empty_like(which)
    nodes = np.empty(
        (66, 4), dtype=np.int64
    )  # halves of halves: never more than one for each bit of a number of codes
    nodes[0] = (0, size, 0, n)
    waiting, used = 1, 0
    while waiting > 0:
        waiting -= 1
        first, last, start, end = nodes[waiting]
        if start == end:
            continue
        if last - first == 1:
            for t in range(start, end):
                out[rows[t]] = first
            continue
        middle = (first + last) // 2
        total = uniforms[used]
        used += 1
        first_end, right = start, 0
        seen, share = -1, 0.0
        for t in range(start, end):
            if which[t] != seen:
                seen = which[t]
                begin, stop = entries[seen], entries[seen + 1]
                low = begin + np.searchsorted(codes[begin:stop], first)
                high = low + np.searchsorted(codes[low:stop], last)
                cut = low + np.searchsorted(codes[low:high], middle)
                before = cumulated[low - 1] if low > begin else 0.0
                # Exactly 0 and 1 where one side has nothing: the sum then moves by a whole number, or not at all.
                width = cumulated[high - 1] - before if high > low else 0.0
                if cut == high:
                    share = 1.0
                elif (
                    cut == low or width <= 0.0
                ):  # weights so small that the sum of those before hides them
                    share = 0.0
                else:
                    share = (cumulated[cut - 1] - before) / width
            total += share
            if total >= 1.0:
                total -= 1.0
                rows[first_end], which[first_end] = rows[t], seen
                first_end += 1
            else:
                other_rows[right], other_which[right] = rows[t], seen
                right += 1
        rows[first_end:end], which[first_end:end] = other_rows[:right], other_which[:right]
        nodes[waiting] = (middle, last, first_end, end)
        nodes[waiting + 1] = (first, middle, start, first_end)
        waiting += 2
    return out
