"""A population of whole datasets with the counts and sums of each, and the compiled kernels that breed it.

Datasets lie in slots, `codes[slot, record, column]`, of as few bytes a cell as the levels need, so that copies are cheap. There are twice as
many slots as candidates, so that children are written where no survivor lives and nothing is moved afterwards. A child is a copy of its parent
with some records changed; its counts and sums are the parent's, but for what these records add. Sums are floats that drift by rounding: they
are added up afresh now and then.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.compiled import jit
from ..domain import Codes, OutputDomain
from .moves import cumulative_chances, draw_level, draw_uniform
from .program import (
    BLOCKS,
    BLOCKS_END,
    SYSTEM,
    Program,
    add_terms,
    cell_of,
    fill_keys,
    fill_multipliers,
)


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

    def __init__(
        self, columns: OutputDomain, first: Codes, size: int, rng: np.random.Generator
    ) -> None:
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
        self._program: Program | None = None
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

    def add_up(self, program: Program, nearest: int) -> None:
        """Keep the counts and sums of a problem from now on, added up afresh; quick if most candidates share most records with `nearest`."""
        slots = len(self._codes)
        self._program = program
        self._counts = np.zeros((slots, program.n_cells), dtype=np.int64)
        self._sums = np.zeros((slots, program.n_sums))
        add_up(program, self._codes, np.roll(self._alive, -nearest), self._counts, self._sums)

    def breed(self, parents: NDArray[np.intp], rates: BreedingRates) -> None:
        """Make a child of each parent; they are numbered from `len(self)` on until some of them survive."""
        chosen, touched = self._alive[parents], (self._touched, self._n_touched)
        breed(self._codes, chosen, self._spare, rates, self._levels, *touched)
        if self._program is not None:
            derive_children(
                self._program, self._codes, chosen, self._spare, *touched, self._counts, self._sums
            )

    def survive(self, survivors: NDArray[np.intp]) -> None:
        """Let the candidates and children of some numbers live on, as many as there were; they are numbered anew in this order."""
        slots = self._slots
        is_free = np.ones(len(slots), dtype=bool)
        is_free[survivors] = False
        self._alive, self._spare = slots[survivors], slots[is_free]


@jit
def breed(codes, parents, children, rates, levels, touched, n_touched):  # type: ignore[no-untyped-def]
    """Write each parent's child into its slot: neighbours exchange records, then cells are drawn anew.

    `rates`: that neighbours are crossed, that a record is exchanged, that a cell is drawn. `touched[k]` gets the `n_touched[k]` records
    in which child k may differ from its parent.
    """
    n, bits = codes.shape[1], levels.bits
    stamps = np.full((2, n), -1, dtype=np.int32)
    n_touched[:] = 0
    for k in range(children.size):
        copy_flat(codes[parents[k]].reshape(-1), codes[children[k]].reshape(-1))
    if rates.per_record > 0.0:
        stay = log_of_staying(rates.per_record)
        for k in range(0, children.size - 1, 2):
            if draw_uniform(bits) >= rates.crossover:
                continue
            first, two, m = codes[children[k]], codes[children[k + 1]], 0
            i = next_index(bits, -1, stay)
            while i < n:
                differs = False
                for c in range(codes.shape[2]):
                    if first[i, c] != two[i, c]:
                        first[i, c], two[i, c] = two[i, c], first[i, c]
                        differs = True
                if differs:
                    touched[k, m] = i
                    touched[k + 1, m] = i
                    m += 1
                i = next_index(bits, i, stay)
            n_touched[k] = m
            n_touched[k + 1] = m
    if rates.mutation > 0.0:
        stay = log_of_staying(rates.mutation)
        for k in range(children.size):
            child, m, stamp = codes[children[k]], n_touched[k], stamps[0]
            for j in range(m):
                stamp[touched[k, j]] = k
            for c in levels.free:
                i = next_index(bits, -1, stay)
                while i < n:
                    level = draw_level(bits, levels.sizes[c], levels.cdf, levels.cdf_first[c])
                    if level != child[i, c]:
                        child[i, c] = level
                        m = touch(touched[k], m, stamp, k, i)
                    i = next_index(bits, i, stay)
            n_touched[k] = m


@jit
def derive_children(p, codes, parents, children, touched, n_touched, counts, sums):  # type: ignore[no-untyped-def]
    """Fill the counts and sums of children from those of their parents and the records that were touched."""
    for k in range(children.size):
        parent, child = parents[k], children[k]
        counts[child] = counts[parent]
        sums[child] = sums[parent]
        replace_records(
            p,
            codes[parent],
            codes[child],
            touched[k],
            n_touched[k],
            True,
            counts[child],
            sums[child],
        )


@jit
def add_up(p, codes, slots, counts, sums):  # type: ignore[no-untyped-def]
    """Fill the counts and sums of datasets from their records: of the first from all, of another from where it differs from that, if that is less work."""
    n, first = codes.shape[1], slots[0]
    records = np.empty(n, dtype=np.int32)
    all_records = np.arange(n).astype(np.int32)
    for k in range(slots.size):
        slot = slots[k]
        m = differing(codes[first], codes[slot], records)
        if k > 0 and 2 * m < n:
            counts[slot] = counts[first]
            sums[slot] = sums[first]
            replace_records(
                p, codes[first], codes[slot], records, m, True, counts[slot], sums[slot]
            )
        else:
            counts[slot] = 0
            sums[slot] = 0.0
            replace_records(
                p, codes[slot], codes[slot], all_records, n, False, counts[slot], sums[slot]
            )


@jit
def replace_records(p, before, after, records, n_records, instead, counts, sums):  # type: ignore[no-untyped-def]
    """Take away what some records of one dataset count for, if they count, and add what those of another do in their place."""
    rows = np.empty((2, before.shape[1]), dtype=np.int64)
    eta, keys = np.empty(p.max_predictors), np.empty((2, p.max_blocks), dtype=np.int64)
    by = np.empty((2, p.max_predictors))
    for r in range(n_records):
        i = records[r]
        for c in range(before.shape[1]):
            rows[0, c], rows[1, c] = before[i, c], after[i, c]
        for t in range(p.n_tables):
            old = cell_of(p, t, rows, 0) if instead else -1
            new = cell_of(p, t, rows, 1)
            if old >= 0:
                counts[old] -= 1
            if new >= 0:
                counts[new] += 1
        for s in range(p.n_systems):
            fill_keys(p, s, rows, 1, keys, 1)
            if instead:
                fill_keys(p, s, rows, 0, keys, 0)
                if same_keys(p, s, keys):
                    continue
                fill_multipliers(p, s, keys, 0, eta, by, 0, 0)
                add_terms(p, s, keys, 0, by, 0, 0, -1.0, sums)
            fill_multipliers(p, s, keys, 1, eta, by, 1, 0)
            add_terms(p, s, keys, 1, by, 1, 0, 1.0, sums)


@jit
def same_keys(p, s, keys):  # type: ignore[no-untyped-def]
    """Whether two records are the same to a system."""
    for b in range(
        p.ints[p.system + SYSTEM * s + BLOCKS_END] - p.ints[p.system + SYSTEM * s + BLOCKS]
    ):
        if keys[0, b] != keys[1, b]:
            return False
    return True


@jit
def next_index(bits, index, log_stay):  # type: ignore[no-untyped-def]
    """The next index after `index` that is hit, each on its own with the chance 1 - exp(log_stay): gaps are geometric, so that others cost nothing."""
    gap = math.log(1.0 - draw_uniform(bits)) / log_stay
    return index + 1 + np.int64(gap) if gap < 1e15 else np.int64(10**15)


@jit
def log_of_staying(rate):  # type: ignore[no-untyped-def]
    """The logarithm of 1 - rate, minus infinity for 1."""
    return math.log1p(-rate) if rate < 1.0 else -np.inf


@jit
def touch(records, n_records, stamps, stamp, i):  # type: ignore[no-untyped-def]
    """Write a record down, once; return how many there are."""
    if stamps[i] != stamp:
        stamps[i] = stamp
        records[n_records] = i
        n_records += 1
    return n_records


@jit
def copy_flat(source, target):  # type: ignore[no-untyped-def]
    """Copy an array; assigned as a matrix it would be copied cell by cell."""
    for j in range(source.size):
        target[j] = source[j]


@jit
def differing(before, after, records):  # type: ignore[no-untyped-def]
    """Write down the records in which two datasets differ; return how many."""
    m = 0
    for i in range(before.shape[0]):
        for c in range(before.shape[1]):
            if before[i, c] != after[i, c]:
                records[m] = i
                m += 1
                break
    return m
