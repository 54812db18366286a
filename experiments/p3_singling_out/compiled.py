"""The paper's two generators, compiled: one fit in milliseconds, since its attack needs some 10,000 of them for each point of a figure.

They are `PrivBayes(epsilon, variant="dpart" or "sdg", draw="independent")` written a second time: families chosen by the exponential mechanism, tables
with discrete Laplace noise, counts cut at 0, empty rows filled evenly, rows drawn one by one. `tests/test_p3_experiments.py` holds the two against each other. Levels are
declared, those of the population; or read from the records that are fitted, as both packages do: no promise holds then. Noise that no draw asks for is not made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from chaffinch.risk.shadows.generator import Generator, Released

Levels = Literal["declared", "data"]


@numba.njit(nogil=True, cache=True)
def _seed(number):  # type: ignore[no-untyped-def]
    np.random.seed(number)


@numba.njit(nogil=True, cache=True)
def _close_up(codes, sizes, back):  # type: ignore[no-untyped-def]
    """Number the levels of each column that occur, in their order; write how many they are, and what each was."""
    new = np.empty(back.shape[1], np.int32)
    for j in range(len(sizes)):
        new[:] = -1
        for code in codes[j]:
            new[code] = 0
        size = 0
        for code in range(sizes[j]):
            if new[code] == 0:
                new[code], back[j, size] = size, code
                size += 1
        for i in range(codes.shape[1]):
            codes[j, i] = new[codes[j, i]]
        sizes[j] = size


@numba.njit(nogil=True, cache=True)
def _growth(t):  # type: ignore[no-untyped-def]
    """(t + 1) log(t + 1) - t log t, of which the sensitivity of mutual information is made."""
    return np.log(t + 1.0) + (t * np.log1p(1.0 / t) if t > 0 else 0.0)


@numba.njit(nogil=True, cache=True)
def _sensitivity(dpart, n, shorter):  # type: ignore[no-untyped-def]
    if dpart:
        return _growth(n - 1.0) if shorter <= 2 else 2 * _growth((n - 1.0) / 2)
    return (2.0 if shorter <= 2 else 3.0) * (n - 1.0) / n


@numba.njit(nogil=True, cache=True)
def _keys(codes, sizes, mask, out):  # type: ignore[no-untyped-def]
    """Write the number of each record's combination of the columns of a mask; return how many combinations there are."""
    n = codes.shape[1]
    cells = 1
    out[:n] = 0
    for j in range(codes.shape[0]):
        if mask >> j & 1:
            size = sizes[j]
            for i in range(n):
                out[i] = out[i] * size + codes[j, i]
            cells *= size
    return cells


@numba.njit(nogil=True, cache=True)
def _sum_of_logs(keys, n, logs, counts):  # type: ignore[no-untyped-def]
    """The sum of c log c over the cells that occur: n log n less n times the entropy. `counts` is all 0 before and after."""
    for i in range(n):
        counts[keys[i]] += 1
    total = 0.0
    for i in range(n):
        total += logs[counts[keys[i]]]
        counts[keys[i]] = 0
    return total


@numba.njit(nogil=True, cache=True)
def _distance(keys, column, size, margin, n, of_parents, of_both):  # type: ignore[no-untyped-def]
    """n R: half the sum over cells of |count - count expected from the margins|."""
    for i in range(n):
        of_parents[keys[i]] += 1
        of_both[keys[i] * size + column[i]] += 1
    apart, expected = 0.0, 0.0
    for i in range(n):
        cell = keys[i] * size + column[i]
        count = of_both[cell]
        if count > 0:
            even = of_parents[keys[i]] * margin[column[i]] / n
            apart += abs(count - even)
            expected += even
            of_both[cell] = 0
    for i in range(n):
        of_parents[keys[i]] = 0
    return 0.5 * (apart + n - expected)


@numba.njit(nogil=True, cache=True)
def _network(codes, sizes, dpart, epsilon):  # type: ignore[no-untyped-def]
    """Return columns in their order, the parents of each as a mask, and what is left of epsilon for the tables."""
    d, n = codes.shape
    beta = 0.5 if dpart else 0.3
    room = min(n * (1 - beta) * epsilon / (8.0 * d), (1 << 22) / d)
    order, parents = np.arange(d), np.zeros(d, np.int64)
    ranked = np.sort(sizes)
    if not dpart and ranked[0] * ranked[1] > room:
        return order, parents, epsilon
    each = beta * epsilon / (d - 1)
    left_over = epsilon
    product = np.ones(1 << d)
    for mask in range(1, 1 << d):
        j = 0
        while not mask >> j & 1:
            j += 1
        product[mask] = product[mask & (mask - 1)] * sizes[j]
    widest = (
        float(ranked[-1] * ranked[-2] * ranked[-3]) if dpart else max(room, float(ranked[-1])) + 1
    )
    counts, more = np.zeros(int(widest) + 1, np.int32), np.zeros(int(widest) + 1, np.int32)
    logs = np.zeros(n + 1)
    for c in range(1, n + 1):
        logs[c] = c * np.log(c)
    keys = np.empty(n, np.int64)
    margins = np.zeros((d, ranked[-1]))
    for j in range(d):
        for i in range(n):
            margins[j, codes[j, i]] += 1
    sums = np.full(1 << d, -1.0)
    sums[0] = n * np.log(n)
    apart = np.full((d, 1 << d) if not dpart else (1, 1), -1.0)
    placed = 0
    first = np.random.randint(d)
    order[0] = first
    placed |= 1 << first
    masks = np.empty(1 << d, np.int64)
    for step in range(1, d):
        best, best_child, best_mask = -np.inf, -1, 0
        n_families, some_parent, shared = 0, False, 0.0
        # Two passes: the sensitivity of a round is the largest of its families'.
        for scoring in range(2):
            blindly = scoring == 1 and (n_families == 1 or not some_parent)
            pick = np.random.randint(n_families) if blindly else -1
            at = 0
            for child_column in range(d):
                if placed >> child_column & 1:
                    continue
                n_masks = 0
                limit = room / sizes[child_column]
                wanted = min(2, step)
                mask = placed
                while True:
                    if dpart:
                        bits = 0
                        rest = mask
                        while rest:
                            rest &= rest - 1
                            bits += 1
                        fits = bits == wanted
                    else:
                        fits = product[mask] <= limit or mask == 0
                        if fits:
                            for j in range(d):
                                if (
                                    placed >> j & 1
                                    and not mask >> j & 1
                                    and product[mask] * sizes[j] <= limit
                                ):
                                    fits = False
                                    break
                    if fits:
                        masks[n_masks] = mask
                        n_masks += 1
                    if mask == 0:
                        break
                    mask = (mask - 1) & placed
                for m in range(n_masks):
                    mask = masks[m]
                    if scoring == 0:
                        n_families += 1
                        some_parent = some_parent or mask != 0
                        shared = max(
                            shared,
                            _sensitivity(dpart, n, min(float(sizes[child_column]), product[mask])),
                        )
                    elif pick >= 0:
                        if at == pick:
                            best_child, best_mask = child_column, mask
                    else:
                        if dpart:
                            both = mask | 1 << child_column
                            for one in (mask, both, 1 << child_column):
                                if sums[one] < 0:
                                    _keys(codes, sizes, one, keys)
                                    sums[one] = _sum_of_logs(keys, n, logs, counts)
                            score = sums[0] - sums[mask] - sums[1 << child_column] + sums[both]
                        else:
                            if apart[child_column, mask] < 0:
                                _keys(codes, sizes, mask, keys)
                                apart[child_column, mask] = _distance(
                                    keys,
                                    codes[child_column],
                                    sizes[child_column],
                                    margins[child_column],
                                    n,
                                    counts,
                                    more,
                                )
                            score = apart[child_column, mask]
                        value = score * each / (2 * shared) - np.log(
                            -np.log(1.0 - np.random.random())
                        )
                        if value > best:
                            best, best_child, best_mask = value, child_column, mask
                    at += 1
            if scoring == 1 and pick < 0:
                left_over -= each
        order[step], parents[step] = best_child, best_mask
        placed |= 1 << best_child
    return order, parents, left_over


@numba.njit(nogil=True, cache=True)
def _tables(codes, sizes, order, parents):  # type: ignore[no-untyped-def]
    """Return the counts of every family one after the other, where each starts, and where the rows of each start."""
    d, n = codes.shape
    starts, rows = np.zeros(d + 1, np.int64), np.zeros(d + 1, np.int64)
    for k in range(d):
        cells = 1
        for j in range(d):
            if parents[k] >> j & 1:
                cells *= sizes[j]
        rows[k + 1] = rows[k] + cells
        starts[k + 1] = starts[k] + cells * sizes[order[k]]
    counts = np.zeros(starts[d], np.float32)
    keys = np.empty(n, np.int64)
    for k in range(d):
        _keys(codes, sizes, parents[k], keys)
        for i in range(n):
            counts[starts[k] + keys[i] * sizes[order[k]] + codes[order[k], i]] += 1
    return counts, starts, rows


@numba.njit(nogil=True, cache=True)
def _make_row(cells, scale):  # type: ignore[no-untyped-def]
    """Turn the counts of a row into running sums of what noise leaves of them; an empty row is filled evenly."""
    total = np.float32(0)
    for c in range(len(cells)):
        # A discrete Laplace number is the difference of two geometric ones.
        up = np.floor(-scale * np.log(1.0 - np.random.random()))
        down = np.floor(-scale * np.log(1.0 - np.random.random()))
        total += np.float32(max(cells[c] + up - down, 0.0))
        cells[c] = total
    if total <= 0:
        for c in range(len(cells)):
            cells[c] = c + 1


@numba.njit(nogil=True, cache=True)
def _draw(cells, starts, rows, made, sizes, order, parents, scale, back, out):  # type: ignore[no-untyped-def]
    d = len(order)
    record = np.empty(d, np.int64)
    for i in range(out.shape[0]):
        for k in range(d):
            column = order[k]
            size = sizes[column]
            key = 0
            for j in range(d):
                if parents[k] >> j & 1:
                    key = key * sizes[j] + record[j]
            at = starts[k] + key * size
            row = cells[at : at + size]
            if not made[rows[k] + key]:
                _make_row(row, scale)
                made[rows[k] + key] = True
            mark = np.random.random() * row[size - 1]
            low, high = 0, size - 1
            while low < high:  # the first running sum above the mark
                middle = (low + high) // 2
                if row[middle] > mark:
                    high = middle
                else:
                    low = middle + 1
            record[column] = low
            out[i, column] = back[column, low]


@numba.njit(nogil=True, cache=True)
def _make_all(cells, starts, rows, made, sizes, order, scale):  # type: ignore[no-untyped-def]
    for k in range(len(order)):
        size = sizes[order[k]]
        for key in range(rows[k + 1] - rows[k]):
            if not made[rows[k] + key]:
                _make_row(cells[starts[k] + key * size : starts[k] + (key + 1) * size], scale)
                made[rows[k] + key] = True


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """A fitted network: columns in their order, parents as masks of columns, and tables whose noise is made when it is asked for.

    `back`: the population's code of each level, (columns, levels). `sizes`: the levels of each column that the fit knows.
    """

    order: NDArray[np.int64]
    parents: NDArray[np.int64]
    sizes: NDArray[np.int64]
    back: NDArray[np.int32]
    scale: float
    cells: NDArray[np.float32] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    made: NDArray[np.bool_] = field(repr=False)

    def draw(self, rows: int, seed: int, dtype: Any) -> NDArray[Any]:
        """Return the population's codes of drawn rows, (rows, columns)."""
        out = np.empty((rows, len(self.order)), dtype=dtype)
        _seed(seed)
        _draw(
            self.cells,
            self.starts,
            self.rows,
            self.made,
            self.sizes,
            self.order,
            self.parents,
            self.scale,
            self.back,
            out,
        )
        return out

    def make_noise(self) -> None:
        """Make all noise now, not when a draw asks for it."""
        _make_all(self.cells, self.starts, self.rows, self.made, self.sizes, self.order, self.scale)

    def chances(self, place: int) -> NDArray[np.float64]:
        """Return the table of the column at a place of the order: the chances of its levels for each combination of its parents, a row each."""
        self.make_noise()
        sums = self.cells[self.starts[place] : self.starts[place + 1]].reshape(
            -1, self.sizes[self.order[place]]
        )
        return np.diff(sums.astype(np.float64), axis=1, prepend=0.0) / sums[:, -1:]


@dataclass(frozen=True)
class PackagePrivBayes:
    """What to fit: a package's variant of PrivBayes, its epsilon, and where levels come from.

    `noise`: "independent", or "same seed": the paper's code sets numpy's seed to 42 before every fit and draws tables from the same stream. `dpart` takes
    all its randomness from there; `sdg` has noise and choices from the operating system, and only its rows are drawn from there.
    """

    variant: Literal["dpart", "sdg"]
    epsilon: float
    levels: Levels = "data"
    noise: Literal["independent", "same seed"] = "independent"

    def fit(self, data: Any, *, seed: Any = None) -> CompiledModel:
        """Return the model of a coded table."""
        codes = np.stack([data.codes[j] for j in range(len(data.schema.names))])
        return fitted(
            self,
            np.ascontiguousarray(codes, dtype=np.int32),
            np.array(data.schema.sizes),
            int(seed or 0),
        )


def fitted(
    settings: PackagePrivBayes, codes: NDArray[np.int32], sizes: NDArray[np.int64], seed: int
) -> CompiledModel:
    """Return the model of codes, (columns, records)."""
    back = np.empty((len(sizes), int(sizes.max())), dtype=np.int32)
    back[:] = np.arange(back.shape[1])
    if settings.levels == "data":
        codes, sizes = codes.copy(), sizes.copy()
        _close_up(codes, sizes, back)
    _seed(seed)
    order, parents, left = _network(
        codes, sizes, settings.variant == "dpart", float(settings.epsilon)
    )
    cells, starts, rows = _tables(codes, sizes, order, parents)
    # One replaced record moves two counts of each table by one.
    return CompiledModel(
        order,
        parents,
        sizes,
        back,
        2.0 * len(order) / left,
        cells,
        starts,
        rows,
        np.zeros(int(rows[-1]), dtype=bool),
    )


@dataclass(frozen=True, eq=False)
class CompiledGenerator(Generator):
    """Shadows of a `PackagePrivBayes`: records go in as codes and rows come out as codes."""

    def subset(self, rows: NDArray[np.int64]) -> Any:
        """Return the codes of rows of the population, (columns, rows)."""
        return np.ascontiguousarray(self._columns[:, rows])

    def release(
        self, table: Any, *, tables: int, rows: int, seed: np.random.SeedSequence, sight: Any = None
    ) -> Released:
        """Return what a fit on codes releases."""
        numbers = [int(number) for number in seed.generate_state(tables + 1)]
        settings: PackagePrivBayes = self.maker
        sizes = np.array(self.base.schema.sizes)
        if settings.noise == "same seed":
            numbers = [
                42 if settings.variant == "dpart" else numbers[0],
                *(42 + 1 + number for number in range(tables)),
            ]
        model = fitted(settings, table, sizes, numbers[0])
        if settings.noise == "same seed":
            model.make_noise()  # before any row is drawn, so that draws of all fits keep step
        return Released(
            np.stack([model.draw(rows, number, self._dtype) for number in numbers[1:]]), model
        )

    @cached_property
    def _columns(self) -> NDArray[np.int32]:
        names = self.base.schema.names
        return np.stack([np.asarray(self.base.code(name), dtype=np.int32) for name in names])
