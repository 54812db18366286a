"""Joint entropies of many sets of columns at once: what searches for structure feed on.

I(child; parents) = H(child) + H(parents) - H(parents and child), so a search over a thousand families needs the
entropies of the sets, each once. In memory and in a stream of codes sets that begin alike share their work; on other
engines the marginals are counted, a bounded number of cells at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..table.code_cache import BLOCK_ROWS
from ..table.codes import Codes
from . import row_entropies
from .batch_entropies import batch_entropies
from .counter import Columns, Counter, EntropyCounter, RowCounter
from .memory import MemoryCounter
from .pair_entropies import PairEntropies, pair_entropies
from .plan import runs_of
from .row_entropies import padded
from .scores import entropy, entropy_of_counts

MOST_MASKED = 16
"""Columns up to which sets are written as bit masks: entropies then stand in an array with a place for every set."""

MANY_SETS = 100
"""Sets from which a table in memory with many rows is counted as a stream is: near memory then holds a batch, and no longer the numbers of all rows."""

MOST_CELLS = 1 << 25

PAIRS_AT_A_TIME = 1 << 18
"""Pairs that are asked for together where they are not all counted at once."""


class JointEntropies:
    """Entropies in nats, and numbers of filled cells, of sets of columns; counted when first asked for.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["x", "y"] * 30}))
    >>> known = JointEntropies(chaffinch.MemoryCounter(table))
    >>> round(known.entropy((0,)), 4), round(known.information(1, (0,)), 4)
    (0.6931, 0.6931)
    """

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self._known: dict[Columns, tuple[float, int]] = {(): (0.0, 1)}
        self._pairs: PairEntropies | None = None

    def ask_pairs(self) -> NDArray[np.float64]:
        """Count all pairs, and return their entropies in the order of words."""
        if self._pairs is None:
            self._pairs = every_pair(self.counter)
        return self._pairs.values

    def ask(self, sets: Iterable[Columns]) -> None:
        """Count all of these sets that are not known yet, together."""
        new = sorted(
            {
                columns
                for columns in sets
                if columns not in self._known and (self._pairs is None or len(columns) != 2)
            }
        )
        if new:
            for columns, value, filled in zip(
                new, *joint_entropies(self.counter, new), strict=True
            ):
                self._known[columns] = (float(value), int(filled))

    def entropy(self, columns: Columns) -> float:
        """Return the joint entropy of a set of columns."""
        return self._found(columns)[0]

    def filled(self, columns: Columns) -> int:
        """Return how many combinations of a set of columns occur."""
        return self._found(columns)[1]

    def information(self, child: int, parents: Columns) -> float:
        """Return I(child; parents): 0 if the parents tell nothing of the child."""
        both = tuple(sorted((*parents, child)))
        return max(0.0, self.entropy((child,)) + self.entropy(parents) - self.entropy(both))

    def _found(self, columns: Columns) -> tuple[float, int]:
        if self._pairs is not None and len(columns) == 2:
            place = self._pairs.place(*columns)
            return float(self._pairs.values[place]), int(self._pairs.filled[place])
        if columns not in self._known:
            self.ask([columns])
        return self._known[columns]


@lru_cache(maxsize=32)
def masks_up_to(d: int, width: int) -> NDArray[np.int64]:
    """Return the bit masks of all sets of at most `width` of `d` columns, ascending.

    Examples
    --------
    >>> masks_up_to(3, 1).tolist()
    [0, 1, 2, 4]
    """
    masks = np.arange(1 << d, dtype=np.int64)
    out: NDArray[np.int64] = masks[np.bitwise_count(masks) <= width]
    out.flags.writeable = False
    return out


def every_entropy(counter: Counter, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropies and the numbers of filled cells of all sets of at most `width` columns, by bit mask.

    For at most 16 columns. Bit j stands for column j; places of larger sets hold nan and 0.
    """
    d = len(counter.schema.names)
    values, filled = np.full(1 << d, np.nan), np.zeros(1 << d, dtype=np.int64)
    sets, rows, widths, masks = _every_set(d, min(width, d))
    if _counted_in_place(counter):
        values[masks], filled[masks] = _in_memory(counter, sets, rows, widths)  # type: ignore[arg-type]
    else:
        values[masks], filled[masks] = _elsewhere(counter, sets)
    values[0], filled[0] = 0.0, 1
    return values, filled


def every_pair(counter: Counter) -> PairEntropies:
    """Return the entropies and the numbers of filled cells of all pairs of columns, however many these are."""
    d, weight = len(counter.schema.names), getattr(counter, "weight", None)
    if isinstance(counter, RowCounter) and weight is None:
        threads = getattr(counter, "threads", None)
        pairs = pair_entropies(
            lambda: (batch.codes for batch in counter.coded()),
            counter.schema.sizes,
            counter.n_rows,
            threads=threads,
        )
    else:
        pairs = PairEntropies.nothing(d)
    left = np.flatnonzero(pairs.filled < 0)
    for start in range(0, len(left), PAIRS_AT_A_TIME):
        places = left[start : start + PAIRS_AT_A_TIME]
        pairs.values[places], pairs.filled[places] = joint_entropies(counter, pairs.pairs(places))
    return pairs


def joint_entropies(
    counter: Counter, sets: list[Columns]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each set (sorted, none empty)."""
    if _counted_in_place(counter):
        return _in_memory(counter, sets, *padded(sets))  # type: ignore[arg-type]
    return _elsewhere(counter, sets)


def _elsewhere(
    counter: Counter, sets: list[Columns]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Entropies from a counter that is no table in memory: its own where it has them, of its marginals otherwise."""
    if not isinstance(counter, EntropyCounter) or counter.n_rows == 0:
        return _from_marginals(counter, sets)
    values, filled = counter.entropies(sets)
    left = np.flatnonzero(filled < 0)
    if len(left):
        values[left], filled[left] = _from_marginals(counter, [sets[q] for q in left])
    return values, filled


def _counted_in_place(counter: Counter) -> bool:
    return isinstance(counter, MemoryCounter) and counter.weight is None and counter.n_rows > 0


@lru_cache(maxsize=32)
def _every_set(
    d: int, width: int
) -> tuple[list[Columns], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """All sets of at most `width` columns: as tuples in the order of words, padded, their widths, their masks."""
    sets = sorted(columns for w in range(1, width + 1) for columns in combinations(range(d), w))
    masks = np.array([sum(1 << c for c in columns) for columns in sets], dtype=np.int64)
    return sets, *padded(sets), masks


def _from_marginals(
    counter: Counter, sets: list[Columns]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    names, sizes = counter.schema.names, counter.schema.sizes
    values, filled = np.zeros(len(sets)), np.zeros(len(sets), dtype=np.int64)
    for batch in batches([prod(sizes[c] for c in columns) for columns in sets]):
        marginals = counter.marginals([[names[c] for c in sets[q]] for q in batch])
        for q, marginal in zip(batch, marginals, strict=True):
            counts = (
                marginal.counts[marginal.counts > 0] if marginal.counts.dtype == np.int64 else None
            )
            values[q] = (
                entropy(marginal)
                if counts is None or not len(counts)
                else entropy_of_counts(counts, counter.n_rows)
            )
            filled[q] = int(np.count_nonzero(marginal.counts))
    return values, filled


def batches(cells: list[int]) -> Iterator[list[int]]:
    """Return positions in runs whose tables together stay small enough to hold."""
    return runs_of([min(size, MOST_CELLS // 8) for size in cells], MOST_CELLS)


def _blocks(codes: Codes) -> Iterator[Codes]:
    yield from (
        codes.between(start, start + BLOCK_ROWS) for start in range(0, codes.n_rows, BLOCK_ROWS)
    )


def _in_memory(
    counter: MemoryCounter, sets: list[Columns], rows: NDArray[np.int64], widths: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if counter.n_rows < row_entropies.FEW_ROWS or len(sets) < MANY_SETS:
        return _by_rows(counter, sets, rows, widths)
    codes = counter.table.codes
    values, filled = batch_entropies(
        lambda: _blocks(codes), codes.sizes, sets, counter.n_rows, threads=counter.threads
    )
    left = np.flatnonzero(filled < 0)
    if len(left):
        values[left], filled[left] = _by_rows(
            counter, [sets[q] for q in left], rows[left], widths[left]
        )
    return values, filled


def _by_rows(
    counter: MemoryCounter, sets: list[Columns], rows: NDArray[np.int64], widths: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Entropies of sets, one after the other, each from all rows."""
    values, filled = row_entropies.row_entropies(
        counter.table.codes, sets, rows, widths, threads=counter.threads
    )
    left = np.flatnonzero(filled < 0)
    if len(left):  # combinations of too many levels for the scratch: count them sparsely
        values[left], filled[left] = _from_marginals(counter, [sets[q] for q in left])
    return values, filled
