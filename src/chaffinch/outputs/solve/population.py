"""A population of whole datasets with the counts and sums of each, and the compiled kernels that breed it.

Datasets lie in slots, `codes[slot, record, column]`, of as few bytes a cell as the levels need, so that copies are cheap. There are twice as
many slots as candidates, so that children are written where no survivor lives and nothing is moved afterwards. A child is a copy of its parent
with some records changed; its counts and sums are the parent's, but for what these records add. Sums are floats that drift by rounding: they
are added up afresh now and then.

The layout of `program.py` serves moves that touch a column or two. Where a record is replaced, all that reads it is read, so `Blocks` has
the part of the linear predictor, the filter, the label and the terms of one combination of columns side by side: a record costs
one look-up for each of its columns and not one for each of them and each use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled
from ..domain import Codes, Columns, Floats
from ..equations import Lookup, Problem, SumSystem, Terms
from ..families import FAMILIES, PARTS
from .moves import cumulative_chances, draw_level, draw_uniform
from .program import (
    LOGLIK,
    MULTINOMIAL,
    Heap,
    Program,
    cell_of,
    compile_problem,
    one_multiplier,
    softmax,
)

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

        slots = len(self._codes)
        self._blocks = blocks
        self._counts, self._sums = (
            np.zeros((slots, blocks.tables.n_cells), dtype=np.int64),
            np.zeros((slots, blocks.n_sums)),
        )
        add_up(blocks, self._codes, np.roll(self._alive, -nearest), self._counts, self._sums)

    def breed(self, parents: NDArray[np.intp], rates: BreedingRates) -> None:
        """Make a child of each parent; they are numbered from `len(self)` on until some of them survive."""

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


class Blocks(NamedTuple):
    """The flat problem; kernels take it whole.

    - `tables`: the layout that cells of tables are read by;
    - `systems`, rows of 8: family, part, multipliers of a record, linear predictors, equations of a multiplier, first sum, first block, the block
      after the last; `parameters`, one for each system;
    - `blocks`, rows of 6: first of its `columns` (column, stride) and the one after the last; where its predictors, filters and labels start in
      `numbers` and its rows of terms in `starts`, -1 where it has none;
    - `equations`, `values`: the terms.
    """

    tables: Program
    systems: Ints
    parameters: Floats
    blocks: Ints
    columns: Ints
    numbers: Floats
    starts: Ints
    equations: Ints
    values: Floats
    n_sums: int
    most_blocks: int
    most_predictors: int


def blocks_of(problem: Problem) -> Blocks:
    """Return the problem laid out by blocks."""
    layout, rows, first_sum = _Layout(), [], 0
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    for system in systems:
        model, first = system.model, len(layout.blocks)
        for columns, sizes in dict.fromkeys((look.columns, look.sizes) for look in system.lookups):
            layout.add(system, columns, sizes)
        family, part = (FAMILIES[model.family].code, PARTS.index(model.part)) if model else (0, 0)
        width, predictors = (model.width, model.n_predictors) if model else (1, 1)
        rows.append(
            [
                family,
                part,
                width,
                predictors,
                system.size // width,
                first_sum,
                first,
                len(layout.blocks),
            ]
        )
        first_sum += system.size
    table = np.array(rows, dtype=np.int64).reshape(-1, 8)
    return Blocks(
        tables=compile_problem(problem),
        systems=table,
        parameters=np.array(
            [system.model.parameter if system.model else 1.0 for system in systems]
        ),
        blocks=np.array(layout.blocks, dtype=np.int64).reshape(-1, 6),
        columns=np.array(layout.columns, dtype=np.int64).reshape(-1, 2),
        numbers=layout.numbers.whole(),
        starts=layout.starts.whole(),
        equations=layout.equations.whole(),
        values=layout.values.whole(),
        n_sums=first_sum,
        most_blocks=int((table[:, 7] - table[:, 6]).max(initial=1)),
        most_predictors=int(table[:, 3].max(initial=1)),
    )


class _Layout:
    """Blocks as they are laid down, one after the other."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, ...]] = []
        self.columns: list[tuple[int, int]] = []
        self.numbers, self.values = Heap(np.float64), Heap(np.float64)
        self.starts, self.equations = Heap(np.int64), Heap(np.int64)

    def add(self, system: SumSystem, columns: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        """Lay down all that a system reads by some columns."""

        def values(looks: Iterable[Lookup]) -> list[Floats]:
            return [look.values for look in looks if (look.columns, look.sizes) == (columns, sizes)]

        model, first = system.model, len(self.columns)
        strides = [int(np.prod(sizes[k + 1 :], dtype=np.int64)) for k in range(len(sizes))]
        self.columns += zip(columns, strides, strict=True)
        self.blocks.append(
            (
                first,
                len(self.columns),
                self._add_numbers(values(model.eta if model else ()), np.add),
                self._add_numbers(values(system.keep), np.multiply),
                self._add_numbers(values([model.label] if model else []), np.add),
                self._add_terms(
                    [one for one in system.terms if (one.columns, one.sizes) == (columns, sizes)]
                ),
            )
        )

    def _add_numbers(self, parts: list[Floats], joined: np.ufunc) -> int:
        """Lay down numbers, several as one; return where they start, -1 if there are none."""
        return self.numbers.add(joined.reduce(parts, axis=0)) if parts else -1

    def _add_terms(self, every: list[Terms]) -> int:
        """Lay down terms, several as one; return where their rows start, -1 if there are none."""
        if not every:
            return -1
        rows = np.concatenate(
            [np.repeat(np.arange(len(t.starts) - 1), np.diff(t.starts)) for t in every]
        )
        equations, values = (
            np.concatenate([getattr(t, name) for t in every]) for name in ("equations", "values")
        )
        one = Terms.sparse(every[0].columns, every[0].sizes, rows, equations, values)
        start = self.starts.add(one.starts + self.equations.size)
        self.equations.add(one.equations)
        self.values.add(one.values)
        return start


@compiled
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
            one, two, m = codes[children[k]], codes[children[k + 1]], 0
            i = next_place(bits, -1, stay)
            while i < n:
                differs = False
                for c in range(codes.shape[2]):
                    if one[i, c] != two[i, c]:
                        one[i, c], two[i, c] = two[i, c], one[i, c]
                        differs = True
                if differs:
                    touched[k, m] = i
                    touched[k + 1, m] = i
                    m += 1
                i = next_place(bits, i, stay)
            n_touched[k] = m
            n_touched[k + 1] = m
    if rates.mutation > 0.0:
        stay = log_of_staying(rates.mutation)
        for k in range(children.size):
            child, m, stamp = codes[children[k]], n_touched[k], stamps[0]
            for j in range(m):
                stamp[touched[k, j]] = k
            for c in levels.free:
                i = next_place(bits, -1, stay)
                while i < n:
                    level = draw_level(bits, levels.sizes[c], levels.cdf, levels.cdf_first[c])
                    if level != child[i, c]:
                        child[i, c] = level
                        m = touch(touched[k], m, stamp, k, i)
                    i = next_place(bits, i, stay)
            n_touched[k] = m


@compiled
def follow(b, codes, parents, children, touched, n_touched, counts, sums):  # type: ignore[no-untyped-def]
    """Fill the counts and sums of children from those of their parents and the records that were touched."""
    for k in range(children.size):
        parent, child = parents[k], children[k]
        counts[child] = counts[parent]
        sums[child] = sums[parent]
        replace_records(
            b,
            codes[parent],
            codes[child],
            touched[k],
            n_touched[k],
            True,
            counts[child],
            sums[child],
        )


@compiled
def add_up(b, codes, slots, counts, sums):  # type: ignore[no-untyped-def]
    """Fill the counts and sums of datasets from their records: of the first from all, of another from where it differs from that, if that is less work."""
    n, first = codes.shape[1], slots[0]
    records = np.empty(n, dtype=np.int32)
    every = np.arange(n).astype(np.int32)
    for k in range(slots.size):
        slot = slots[k]
        m = differing(codes[first], codes[slot], records)
        if k > 0 and 2 * m < n:
            counts[slot] = counts[first]
            sums[slot] = sums[first]
            replace_records(
                b, codes[first], codes[slot], records, m, True, counts[slot], sums[slot]
            )
        else:
            counts[slot] = 0
            sums[slot] = 0.0
            replace_records(b, codes[slot], codes[slot], every, n, False, counts[slot], sums[slot])


@compiled
def replace_records(b, before, after, records, n_records, instead, counts, sums):  # type: ignore[no-untyped-def]
    """Take away what some records of one dataset count for, if they count, and add what those of another do in their place.

    Arrays are taken out of `b` once: each time that this is done costs as much as a look-up.
    """
    tables, systems, parameters, blocks, columns = (
        b.tables,
        b.systems,
        b.parameters,
        b.blocks,
        b.columns,
    )
    numbers, starts, equations, values = b.numbers, b.starts, b.equations, b.values
    rows = np.empty((2, before.shape[1]), dtype=np.int64)
    eta = np.empty(b.most_predictors)
    old_keys, new_keys = (
        np.empty(b.most_blocks, dtype=np.int64),
        np.empty(b.most_blocks, dtype=np.int64),
    )
    old_by, new_by = np.zeros(b.most_predictors), np.empty(b.most_predictors)
    for r in range(n_records):
        i = records[r]
        for c in range(before.shape[1]):
            rows[0, c], rows[1, c] = before[i, c], after[i, c]
        for t in range(tables.n_tables):
            old = cell_of(tables, t, rows, 0) if instead else -1
            new = cell_of(tables, t, rows, 1)
            if old >= 0:
                counts[old] -= 1
            if new >= 0:
                counts[new] += 1
        for s in range(systems.shape[0]):
            first_block, n_blocks = systems[s, 6], systems[s, 7] - systems[s, 6]
            same = instead
            for j in range(n_blocks):
                old, new = 0, 0
                for q in range(blocks[first_block + j, 0], blocks[first_block + j, 1]):
                    old += rows[0, columns[q, 0]] * columns[q, 1]
                    new += rows[1, columns[q, 0]] * columns[q, 1]
                old_keys[j], new_keys[j] = (old, new) if instead else (new, new)
                same = same and old == new
            if same:
                continue
            width, n, first = systems[s, 2], systems[s, 4], systems[s, 5]
            record_multipliers(systems, s, parameters[s], blocks, numbers, new_keys, eta, new_by)
            if instead:
                record_multipliers(
                    systems, s, parameters[s], blocks, numbers, old_keys, eta, old_by
                )
            for j in range(n_blocks):
                at, old, new = blocks[first_block + j, 5], old_keys[j], new_keys[j]
                if at < 0:
                    continue
                for k in range(width):
                    place = first + k * n
                    if old == new:
                        change = new_by[k] - old_by[k]
                        for q in range(starts[at + new], starts[at + new + 1]):
                            sums[place + equations[q]] += change * values[q]
                    else:
                        for q in range(starts[at + old], starts[at + old + 1]):
                            sums[place + equations[q]] -= old_by[k] * values[q]
                        for q in range(starts[at + new], starts[at + new + 1]):
                            sums[place + equations[q]] += new_by[k] * values[q]


@compiled
def record_multipliers(systems, s, parameter, blocks, numbers, keys, eta, out):  # type: ignore[no-untyped-def]
    """Write the multipliers of a record of a system from the keys of its blocks."""
    family, part, width, n, first = (
        systems[s, 0],
        systems[s, 1],
        systems[s, 2],
        systems[s, 3],
        systems[s, 6],
    )
    weight, y = 1.0, 0.0
    for k in range(n):
        eta[k] = 0.0
    for j in range(systems[s, 7] - first):
        block, key = first + j, keys[j]
        if blocks[block, 2] >= 0:
            for k in range(n):
                eta[k] += numbers[blocks[block, 2] + key * n + k]
        if blocks[block, 3] >= 0:
            weight *= numbers[blocks[block, 3] + key]
        if blocks[block, 4] >= 0:
            y = numbers[blocks[block, 4] + key]
    if weight == 0.0 or family == 0:
        for k in range(width):
            out[k] = weight
    elif family != MULTINOMIAL:
        out[0] = weight * one_multiplier(family, part, eta[0], y, parameter)
    else:
        base = softmax(eta, n)
        if part == LOGLIK:
            out[0] = weight * math.log(base if y == 0.0 else eta[np.int64(y) - 1])
        else:
            for k in range(width):
                out[k] = weight * ((1.0 if y == k + 1.0 else 0.0) - eta[k])


@compiled
def next_place(bits, place, log_stay):  # type: ignore[no-untyped-def]
    """The next place after `place` that is hit, each on its own with the chance 1 - exp(log_stay): gaps are geometric, so that others cost nothing."""
    gap = math.log(1.0 - draw_uniform(bits)) / log_stay
    return place + 1 + np.int64(gap) if gap < 1e15 else np.int64(10**15)


@compiled
def log_of_staying(rate):  # type: ignore[no-untyped-def]
    """The logarithm of 1 - rate, minus infinity for 1."""
    return math.log1p(-rate) if rate < 1.0 else -np.inf


@compiled
def touch(records, n_records, stamps, stamp, i):  # type: ignore[no-untyped-def]
    """Write a record down, once; return how many there are."""
    if stamps[i] != stamp:
        stamps[i] = stamp
        records[n_records] = i
        n_records += 1
    return n_records


@compiled
def copy_flat(source, target):  # type: ignore[no-untyped-def]
    """Copy an array; assigned as a matrix it would be copied cell by cell."""
    for j in range(source.size):
        target[j] = source[j]


@compiled
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
