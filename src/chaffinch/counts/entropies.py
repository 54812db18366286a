"""Joint entropies of many sets of columns at once: what searches for structure feed on.

I(child; parents) = H(child) + H(parents) - H(parents and child), so a search over a thousand families needs the
entropies of the sets, each once. In memory, sets that begin alike share their work and no table is built; on other
engines the marginals are counted, a bounded number of cells at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.threads import thread_count, thread_map
from .counter import Counter
from .memory import MemoryCounter
from .scores import entropy

__all__ = ["Columns", "JointEntropies", "joint_entropies"]

Columns = tuple[int, ...]
"""Positions of columns among the modelled ones, ascending."""

SCRATCH_CELLS = 1 << 26
MOST_CELLS = 1 << 25


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

    def ask(self, sets: Iterable[Columns]) -> None:
        """Count all of these sets that are not known yet, together."""
        new = sorted({columns for columns in sets if columns not in self._known})
        if new:
            for columns, value, filled in zip(new, *joint_entropies(self.counter, new), strict=True):
                self._known[columns] = (float(value), int(filled))

    def entropy(self, columns: Columns) -> float:
        """Return the joint entropy of a set of columns."""
        if columns not in self._known:
            self.ask([columns])
        return self._known[columns][0]

    def filled(self, columns: Columns) -> int:
        """Return how many combinations of a set of columns occur."""
        if columns not in self._known:
            self.ask([columns])
        return self._known[columns][1]

    def information(self, child: int, parents: Columns) -> float:
        """Return I(child; parents): 0 if the parents tell nothing of the child."""
        both = tuple(sorted((*parents, child)))
        return max(0.0, self.entropy((child,)) + self.entropy(parents) - self.entropy(both))


def joint_entropies(counter: Counter, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each set (sorted, none empty)."""
    if isinstance(counter, MemoryCounter) and counter.weight is None and counter.n_rows:
        return _in_memory(counter, sets)
    return _from_marginals(counter, sets)


def _from_marginals(counter: Counter, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    names, sizes = counter.schema.names, counter.schema.sizes
    values, filled = np.zeros(len(sets)), np.zeros(len(sets), dtype=np.int64)
    for batch in _batches([prod(sizes[c] for c in columns) for columns in sets]):
        marginals = counter.marginals([[names[c] for c in sets[q]] for q in batch])
        for q, marginal in zip(batch, marginals, strict=True):
            values[q], filled[q] = entropy(marginal), int(np.count_nonzero(marginal.counts))
    return values, filled


def _batches(cells: list[int]) -> Iterator[list[int]]:
    """Return positions in runs whose tables together stay small enough to hold."""
    run: list[int] = []
    held = 0
    for q, size in enumerate(cells):
        size = min(size, MOST_CELLS // 8)
        if run and held + size > MOST_CELLS:
            yield run
            run, held = [], 0
        run.append(q)
        held += size
    if run:
        yield run


def _in_memory(counter: MemoryCounter, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from . import kernels

    codes, n_rows = counter.table.codes, counter.n_rows
    width = max(len(columns) for columns in sets)
    padded = np.full((len(sets), width), -1, dtype=np.int64)
    for q, columns in enumerate(sets):
        padded[q, : len(columns)] = columns
    widths = (padded >= 0).sum(axis=1)
    sizes = np.array(codes.sizes, dtype=np.int64)
    counts = np.arange(n_rows + 2, dtype=np.float64)
    c_log_c = counts * np.log(np.maximum(counts, 1.0))
    spread, filled = np.zeros(len(sets)), np.zeros(len(sets), dtype=np.int64)
    most = int(min(SCRATCH_CELLS, n_rows * int(sizes.max(initial=1)), prod(sorted(codes.sizes)[-width:])))

    def work(part: slice) -> None:
        ids = np.zeros((width, n_rows), dtype=np.uint32)
        cells = np.zeros(most, dtype=np.uint32)
        where = (codes.groups, codes.rows, sizes, *codes.matrices)
        kernels.entropies(padded[part], widths[part], *where, ids, cells, c_log_c, spread[part], filled[part])

    threads = 1 if n_rows * len(sets) < 2_000_000 else thread_count(counter.threads)
    thread_map(work, _parts(len(sets), 4 * threads if threads > 1 else 1), threads=threads)
    values = np.log(n_rows) - spread / n_rows
    if (filled < 0).any():  # combinations of too many levels for the scratch: count them sparsely
        left = np.flatnonzero(filled < 0)
        values[left], filled[left] = _from_marginals(counter, [sets[q] for q in left])
    return np.maximum(values, 0.0), filled


def _parts(n: int, parts: int) -> list[slice]:
    edges = np.linspace(0, n, min(parts, n) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges) if b > a]
