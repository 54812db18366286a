"""A population of whole datasets, with the counts and sums of each beside it.

Datasets lie in twice as many slots as there are candidates, so that children are written where no survivor lives and nothing is moved
afterwards. A child is a copy of its parent, a few bytes a record, with some records changed; its counts and sums are the parent's, but for what these
records add. Sums are floats that drift by rounding: they are added up afresh now and then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import Codes, Columns, Floats
from .blocks import Blocks
from .moves import cumulative_chances

Ints = NDArray[np.int64]


class BreedingRates(NamedTuple):
    """Chances: that two neighbours are crossed, that a record of theirs is exchanged, and that a cell is drawn anew."""

    crossover: float
    per_record: float
    mutation: float


class _Levels(NamedTuple):
    """What cells are drawn from, as kernels want it: sizes, cumulative chances and where each column's start (-1: all alike), free columns, bits."""

    sizes: Ints
    cdf: Floats
    cdf_first: Ints
    free: Ints
    bits: NDArray[np.uint64]


class Population:
    """Candidates, numbered from 0; the first is given, the others are drawn, but for fixed columns."""

    def __init__(self, columns: Columns, first: Codes, size: int, rng: np.random.Generator) -> None:
        n_rows, n_columns = first.shape
        dtype = np.min_scalar_type(max(columns.sizes) - 1)
        self._codes = np.empty((2 * size, n_rows, n_columns), dtype=dtype)
        self._codes[0] = first
        for slot in range(1, size):
            self._codes[slot] = columns.start(n_rows, seed=rng)
        fixed = [c for c, column in enumerate(columns) if column.fixed]
        self._codes[:size, :, fixed] = first[:, fixed]
        self._alive, self._spare = np.arange(size), np.arange(size, 2 * size)
        cdf, cdf_first = cumulative_chances(columns)
        free = np.array([c for c, column in enumerate(columns) if not column.fixed], dtype=np.int64)
        bits = rng.integers(1, 2**63, 2).astype(np.uint64)
        self._levels = _Levels(np.array(columns.sizes, dtype=np.int64), cdf, cdf_first, free, bits)
        self._touched = np.empty((size, n_rows), dtype=np.int32)
        self._n_touched = np.zeros(size, dtype=np.int64)
        self._blocks: Blocks | None = None
        self._counts, self._sums = np.zeros((2 * size, 0), dtype=np.int64), np.zeros((2 * size, 0))

    def __len__(self) -> int:
        return len(self._alive)

    def dataset(self, candidate: int) -> Codes:
        """Return a copy of a candidate, or from `len(self)` on of a child, as codes."""
        return self._codes[self._slots[candidate]].astype(np.int32)

    @property
    def counts(self) -> Ints:
        """The counts of all candidates and then of all children, (2 x size, cells); nothing before `add_up`."""
        return self._counts[self._slots]

    @property
    def sums(self) -> Floats:
        """The sums of all candidates and then of all children, (2 x size, sums); nothing before `add_up`."""
        return self._sums[self._slots]

    @property
    def _slots(self) -> NDArray[np.intp]:
        return np.concatenate([self._alive, self._spare])

    def add_up(self, blocks: Blocks, nearest: int) -> None:
        """Keep the counts and sums of a problem from now on, added up afresh; quick if most candidates share most records with `nearest`."""
        from .kernels.children import add_up

        slots = len(self._codes)
        self._blocks = blocks
        self._counts, self._sums = (
            np.zeros((slots, blocks.tables.n_cells), dtype=np.int64),
            np.zeros((slots, blocks.n_sums)),
        )
        add_up(blocks, self._codes, np.roll(self._alive, -nearest), self._counts, self._sums)

    def breed(self, parents: NDArray[np.intp], rates: BreedingRates) -> None:
        """Make a child of each parent; they are numbered from `len(self)` on until some of them survive."""
        from .kernels.children import breed, follow

        chosen, touched = self._alive[parents], (self._touched, self._n_touched)
        breed(self._codes, chosen, self._spare, rates, self._levels, *touched)
        if self._blocks is not None:
            follow(
                self._blocks, self._codes, chosen, self._spare, *touched, self._counts, self._sums
            )

    def survive(self, kept: NDArray[np.intp]) -> None:
        """Let the candidates and children of some numbers live on, as many as there were; they are numbered anew in this order."""
        slots = self._slots
        gone = np.ones(len(slots), dtype=bool)
        gone[kept] = False
        self._alive, self._spare = slots[kept], slots[gone]
