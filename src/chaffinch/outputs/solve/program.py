"""A problem laid out flat for the compiled kernels, and the kernels that say what records add to its tables and systems.

`compile_problem` lays look-ups end to end, with which outputs a change of a column touches: the one layout that every engine takes. The kernels read one
record (its cell, its predictors, its multipliers) and all of them.

The compiler's cache notices changes of the file that a function stands in, and not of those that it calls: after a change here, remove the
`__pycache__` of this folder.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.arrays import Floats, Ints
from ..._base.compiled import jit
from ..domain import Codes, OutputDomain
from ..equations import CountTable, Lookup, Problem, SumSystem, Terms
from ..families import FAMILIES, LEAST_ETA, PARTS

_Look = TypeVar("_Look", Lookup, Terms)

# Places in a row of `Program.system`, which has `SYSTEM` of them, and in a row of `Program.block`, which has `BLOCK`.
FAMILY, PART, WIDTH, EQUATIONS, FIRST_SUM, FIRST_WEIGHT, DIAGONAL = range(7)
BLOCKS, BLOCKS_END, FIRST_MULTIPLIER, PREDICTORS, SYSTEM = range(7, 12)
COLUMNS, COLUMNS_END, ETA, KEEP, LABEL, TERMS, BLOCK = range(7)

SCORE, WEIGHT, LOGLIK, PEARSON = range(4)
MULTINOMIAL = 11
TINY = 1e-12
HALF_LOG_TWO_PI = 0.9189385332046727


class Program(NamedTuple):
    """The flat problem, two arrays and where each part starts in them; kernels take it whole, and two arrays are quick to pass.

    All that a system reads by the same columns is one block: its part of the linear predictor, its filter, its label and its terms, side by side, so that a
    record costs one look-up for each set of columns. Tables and systems are numbered in the order of the problem's outputs. Parts of `ints`:

    - `tables_of_starts`, `tables_of`, `systems_of_starts`, `systems_of`: which outputs read a column, in compressed rows;
    - `table`, rows of 3: first and last of its `table_columns` (column, where its map from level to cell starts,
      number of levels, cells between one group and the next), first of its cells;
    - `cell_lo`, `cell_hi`: bounds of each cell;
    - `system`, rows of `SYSTEM`: see the names of its places, `FAMILY` and on;
    - `block`, rows of `BLOCK`: first and last of its `block_columns` (column, stride); where its predictors, filters and labels start in `floats` and its
      rows of terms in `ints`, -1 where it has none;
    - `row_equations`: the equations of terms, whose values are `row_values`.
    """

    ints: Ints
    floats: Floats
    n_tables: int
    n_cells: int
    n_systems: int
    n_sums: int
    n_multipliers: int
    max_blocks: int
    max_predictors: int
    tables_of_starts: int
    tables_of: int
    systems_of_starts: int
    systems_of: int
    table: int
    table_columns: int
    cell_lo: int
    cell_hi: int
    system: int
    block: int
    block_columns: int
    row_equations: int
    cell_weight: int
    parameter: int
    row_values: int


class RecordSums(NamedTuple):
    """Records with what kernels keep up to date beside them: counts, multipliers and sums; and the quadratics that sums are weighed by."""

    codes: Codes
    counts: Ints
    multipliers: Floats
    sums: Floats
    gradient: Floats
    weights: Floats


class _Heap:
    """Arrays laid end to end as they come."""

    def __init__(self, dtype: type) -> None:
        self._arrays: list[NDArray[Any]] = []
        self._dtype = dtype
        self.size = 0

    def add(self, array: ArrayLike) -> int:
        """Lay an array down; return where it starts."""
        self._arrays.append(np.asarray(array, dtype=self._dtype).ravel())
        self.size += self._arrays[-1].size
        return self.size - self._arrays[-1].size

    def joined(self) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, dtype=self._dtype), *self._arrays])


class _Layout:
    """Blocks as they are laid down, one after the other."""

    def __init__(self) -> None:
        self.ints, self.floats = _Heap(np.int64), _Heap(np.float64)
        self.equations, self.row_values = _Heap(np.int64), _Heap(np.float64)
        self.blocks: list[tuple[int, ...]] = []
        self.columns: list[tuple[int, int]] = []

    def add_system(self, system: SumSystem) -> tuple[int, int]:
        """Lay down all that a system reads; return the first of its blocks, and the first after them."""
        first, model = len(self.blocks), system.model
        for columns, sizes in dict.fromkeys((look.columns, look.sizes) for look in system.lookups):

            def of_columns(looks: Iterable[_Look], read: Any = (columns, sizes)) -> list[_Look]:
                return [look for look in looks if (look.columns, look.sizes) == read]

            strides = [int(np.prod(sizes[k + 1 :], dtype=np.int64)) for k in range(len(sizes))]
            first_column = len(self.columns)
            self.columns += zip(columns, strides, strict=True)
            self.blocks.append(
                (
                    first_column,
                    len(self.columns),
                    self._add_values(of_columns(model.eta if model else ()), np.add),
                    self._add_values(of_columns(system.keep), np.multiply),
                    self._add_values(of_columns([model.label] if model else []), np.add),
                    self._add_terms(of_columns(system.terms)),
                )
            )
        return first, len(self.blocks)

    def _add_values(self, looks: list[Lookup], joined: np.ufunc) -> int:
        """Lay down look-ups of the same columns as one; return where its numbers start, -1 if there are none."""
        return self.floats.add(joined.reduce([look.values for look in looks])) if looks else -1

    def _add_terms(self, terms: list[Terms]) -> int:
        """Lay down terms of the same columns as one; return where their rows start, -1 if there are none."""
        if not terms:
            return -1
        rows = [np.repeat(np.arange(len(t.starts) - 1), np.diff(t.starts)) for t in terms]
        joined = Terms.sparse(
            terms[0].columns,
            terms[0].sizes,
            np.concatenate(rows),
            np.concatenate([t.equations for t in terms]),
            np.concatenate([t.values for t in terms]),
        )
        start = self.ints.add(joined.starts + self.equations.size)
        self.equations.add(joined.equations)
        self.row_values.add(joined.values)
        return start


def compile_problem(problem: Problem) -> Program:
    """Return the problem laid out flat."""
    tables = [output for output in problem.outputs if isinstance(output, CountTable)]
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    layout = _Layout()
    rows, first_sum, first_weight, first_multiplier = [], 0, 0, 0
    for s in systems:
        model, width = s.model, s.model.width if s.model else 1
        row = [FAMILIES[model.family].code, PARTS.index(model.quantity)] if model else [0, 0]
        row += [width, s.size // width, first_sum, first_weight, int(s.diagonal)]
        row += [*layout.add_system(s), first_multiplier, model.n_predictors if model else 1]
        rows.append(row)
        first_sum += s.size
        first_weight += s.size if s.diagonal else s.size**2
        first_multiplier += width
    ints, floats = layout.ints, layout.floats
    table, table_columns = _table_rows(tables, ints)
    tables_of = _readers(problem.domain, [t.columns for t in tables])
    systems_of = _readers(problem.domain, [s.columns for s in systems])
    starts = {
        "tables_of_starts": ints.add(tables_of[0]),
        "tables_of": ints.add(tables_of[1]),
        "systems_of_starts": ints.add(systems_of[0]),
        "systems_of": ints.add(systems_of[1]),
        "table": ints.add(table),
        "table_columns": ints.add(table_columns),
        "cell_lo": ints.add([low for t in tables for low in t.lo]),
        "cell_hi": ints.add([high for t in tables for high in t.hi]),
        "system": ints.add(rows),
        "block": ints.add(layout.blocks),
        "block_columns": ints.add(layout.columns),
        "row_equations": ints.add(layout.equations.joined()),
        "cell_weight": floats.add([weight for t in tables for weight in t.weights]),
        "parameter": floats.add([s.model.parameter if s.model else 1.0 for s in systems]),
        "row_values": floats.add(layout.row_values.joined()),
    }
    return Program(
        ints.joined(),
        floats.joined(),
        len(tables),
        sum(len(t.lo) for t in tables),
        len(systems),
        first_sum,
        first_multiplier,
        max((row[BLOCKS_END] - row[BLOCKS] for row in rows), default=1),
        max((row[PREDICTORS] for row in rows), default=1),
        **starts,
    )


def _readers(columns: OutputDomain, reads: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """For each column the numbers of the outputs that read it, in compressed rows."""
    readers = [[k for k, read in enumerate(reads) if c in read] for c in range(len(columns))]
    starts = [sum(map(len, readers[:c])) for c in range(len(readers) + 1)]
    return starts, [k for numbers in readers for k in numbers]


def _table_rows(
    tables: list[CountTable], ints: _Heap
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int, int]]]:
    """Lay down the maps from levels to cells; return the rows of tables and of their columns."""
    rows: list[tuple[int, int, int]] = []
    columns: list[tuple[int, int, int, int]] = []
    n_cells = 0
    for t in tables:
        first = len(columns)
        for k, (column, group) in enumerate(t.groups):
            stride = int(np.prod(t.shape[k + 1 :], dtype=np.int64))
            columns.append(
                (column, ints.add(np.where(group < 0, -1, group * stride)), len(group), stride)
            )
        rows.append((first, len(columns), n_cells))
        n_cells += len(t.lo)
    return rows, columns


@jit
def family_moments(family, eta, parameter):  # type: ignore[no-untyped-def]
    """Mean, its derivative by eta, and the variance function: the twin of `families.moments`."""
    if family == 1:
        return eta, 1.0, 1.0
    if family == 2:
        mu = 1.0 / (1.0 + math.exp(-eta))
        return mu, mu * (1.0 - mu), mu * (1.0 - mu)
    if family == 3:
        mu = min(max(0.5 * math.erfc(-eta * 0.7071067811865476), TINY), 1.0 - TINY)
        return mu, math.exp(-0.5 * eta * eta - HALF_LOG_TWO_PI), mu * (1.0 - mu)
    if family == 4:
        hazard = math.exp(eta)
        mu = min(max(-math.expm1(-hazard), TINY), 1.0 - TINY)
        return mu, hazard * math.exp(-hazard), mu * (1.0 - mu)
    if family == 8:
        mu = 1.0 / max(eta, LEAST_ETA)
        return mu, -mu * mu, mu * mu
    if family == 10:
        mu = 1.0 / math.sqrt(max(eta, LEAST_ETA))
        return mu, -0.5 * mu**3, mu**3
    mu = math.exp(eta)
    if family == 5:
        return mu, mu, mu
    if family == 6:
        return mu, mu, mu + parameter * mu * mu
    if family == 7:
        return mu, mu, mu * mu
    return mu, mu, mu**3


@jit
def xlogy(x, y):  # type: ignore[no-untyped-def]
    return 0.0 if x == 0.0 else x * math.log(y)


@jit
def log_likelihood(family, y, mu, parameter):  # type: ignore[no-untyped-def]
    """The log-density of a label: the twin of `families._loglik`."""
    if family == 1:
        return -0.5 * (y - mu) ** 2 / parameter - HALF_LOG_TWO_PI - 0.5 * math.log(parameter)
    if family <= 4:
        return xlogy(y, mu) + xlogy(1.0 - y, 1.0 - mu)
    if family == 5:
        return xlogy(y, mu) - mu - math.lgamma(y + 1.0)
    if family == 6:
        size = 1.0 / parameter
        bare = math.lgamma(y + size) - math.lgamma(size) - math.lgamma(y + 1.0)
        return bare + size * math.log(size / (size + mu)) + xlogy(y, mu / (size + mu))
    if family <= 8:
        shape = 1.0 / parameter
        return shape * math.log(shape * y / mu) - shape * y / mu - math.log(y) - math.lgamma(shape)
    return (
        -0.5 * (y - mu) ** 2 / (parameter * mu * mu * y)
        - HALF_LOG_TWO_PI
        - 0.5 * math.log(parameter * y**3)
    )


@jit
def multiplier(family, quantity, eta, y, parameter):  # type: ignore[no-untyped-def]
    mu, slope, variance = family_moments(family, eta, parameter)
    if quantity == SCORE:
        if family in (1, 2, 5):  # canonical links: the slope is the variance
            return y - mu
        return (y - mu) * slope / variance
    if quantity == WEIGHT:
        return slope * slope / variance
    if quantity == PEARSON:
        return (y - mu) ** 2 / variance
    return log_likelihood(family, y, mu, parameter)


@jit
def fill_keys(p, s, rows, r, keys, line):  # type: ignore[no-untyped-def]
    """Write which combination of levels a record has in each block of a system."""
    first = p.ints[p.system + SYSTEM * s + BLOCKS]
    for b in range(first, p.ints[p.system + SYSTEM * s + BLOCKS_END]):
        key, row = 0, p.block + BLOCK * b
        for j in range(p.ints[row + COLUMNS], p.ints[row + COLUMNS_END]):
            entry = p.block_columns + 2 * j
            key += rows[r, p.ints[entry]] * p.ints[entry + 1]
        keys[line, b - first] = key


@jit
def fill_predictors(p, s, keys, line, eta):  # type: ignore[no-untyped-def]
    """Fill `eta` with the linear predictors of a record; return what it counts for, and its label."""
    first, n = p.ints[p.system + SYSTEM * s + BLOCKS], p.ints[p.system + SYSTEM * s + PREDICTORS]
    weight, y = 1.0, 0.0
    for k in range(n):
        eta[k] = 0.0
    for b in range(first, p.ints[p.system + SYSTEM * s + BLOCKS_END]):
        row, key = p.block + BLOCK * b, keys[line, b - first]
        if p.ints[row + ETA] >= 0:
            for k in range(n):
                eta[k] += p.floats[p.ints[row + ETA] + key * n + k]
        if p.ints[row + KEEP] >= 0:
            weight *= p.floats[p.ints[row + KEEP] + key]
        if p.ints[row + LABEL] >= 0:
            y = p.floats[p.ints[row + LABEL] + key]
    return weight, y


@jit
def softmax(eta, n):  # type: ignore[no-untyped-def]
    """Turn predictors into the chances of classes 1 to n; return the chance of class 0."""
    top = 0.0
    for k in range(n):
        top = max(top, eta[k])
    total = math.exp(-top)
    base = total
    for k in range(n):
        eta[k] = math.exp(eta[k] - top)
        total += eta[k]
    for k in range(n):
        eta[k] /= total
    return base / total


@jit
def fill_multipliers(p, s, keys, line, eta, out, r, start):  # type: ignore[no-untyped-def]
    """Write the multipliers of a record from `out[r, start]` on; `eta` is scratch."""
    weight, y = fill_predictors(p, s, keys, line, eta)
    width = p.ints[p.system + SYSTEM * s + WIDTH]
    family = p.ints[p.system + SYSTEM * s + FAMILY]
    if weight == 0.0 or family == 0:
        for k in range(width):
            out[r, start + k] = weight
        return
    quantity = p.ints[p.system + SYSTEM * s + PART]
    if family != MULTINOMIAL:
        out[r, start] = weight * multiplier(family, quantity, eta[0], y, p.floats[p.parameter + s])
        return
    base = softmax(eta, p.ints[p.system + SYSTEM * s + PREDICTORS])
    if quantity == LOGLIK:
        out[r, start] = weight * math.log(base if y == 0.0 else eta[np.int64(y) - 1])
        return
    for k in range(width):
        out[r, start + k] = weight * ((1.0 if y == k + 1.0 else 0.0) - eta[k])


@jit
def add_terms(p, s, keys, line, multipliers, r, offset, sign, sums):  # type: ignore[no-untyped-def]
    """Add to sums, or with the sign -1 take away, what a record with some multipliers, from `multipliers[r, offset]` on, adds to those of a system."""
    row = p.system + SYSTEM * s
    begin, n, width = p.ints[row + BLOCKS], p.ints[row + EQUATIONS], p.ints[row + WIDTH]
    for b in range(begin, p.ints[row + BLOCKS_END]):
        start = p.ints[p.block + BLOCK * b + TERMS]
        if start < 0:
            continue
        start += keys[line, b - begin]
        for k in range(width):
            by = sign * multipliers[r, offset + k]
            first = p.ints[row + FIRST_SUM] + k * n
            for j in range(p.ints[start], p.ints[start + 1]):
                sums[first + p.ints[p.row_equations + j]] += by * p.floats[p.row_values + j]


@jit
def cell_of(p, t, rows, r):  # type: ignore[no-untyped-def]
    """The cell of a record in a table, -1 if it is filtered out."""
    cell = p.ints[p.table + 3 * t + 2]
    for j in range(p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]):
        step = p.ints[
            p.ints[p.table_columns + 4 * j + 1] + rows[r, p.ints[p.table_columns + 4 * j]]
        ]
        if step < 0:
            return -1
        cell += step
    return cell


@jit
def outside_by(count, lo, hi):  # type: ignore[no-untyped-def]
    if count < lo:
        return float(lo - count)
    if count > hi:
        return float(count - hi)
    return 0.0


@jit
def bump(p, counts, cell, by):  # type: ignore[no-untyped-def]
    """Change a count by one; return what that adds to the objective."""
    before = outside_by(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    counts[cell] += by
    after = outside_by(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    return (after * after - before * before) * p.floats[p.cell_weight + cell]


@jit
def sums_from_scratch(p, codes, counts, multipliers, sums):  # type: ignore[no-untyped-def]
    """Fill the counts, the multipliers of every record and the sums from the codes alone."""
    counts[:] = 0
    sums[:] = 0.0
    eta, keys = np.empty(p.max_predictors), np.empty((1, p.max_blocks), dtype=np.int64)
    for i in range(codes.shape[0]):
        for t in range(p.n_tables):
            cell = cell_of(p, t, codes, i)
            if cell >= 0:
                counts[cell] += 1
        for s in range(p.n_systems):
            start = p.ints[p.system + SYSTEM * s + FIRST_MULTIPLIER]
            fill_keys(p, s, codes, i, keys, 0)
            fill_multipliers(p, s, keys, 0, eta, multipliers, i, start)
            add_terms(p, s, keys, 0, multipliers, i, start, 1.0, sums)


@jit
def gather_entries(p, s, keys, i, equations, x, seen):  # type: ignore[no-untyped-def]
    """Write a record's terms, those of the same equation added up; return how many equations. `seen` distinguishes records."""
    m = 0
    first = p.ints[p.system + SYSTEM * s + BLOCKS]
    for b in range(first, p.ints[p.system + SYSTEM * s + BLOCKS_END]):
        start = p.ints[p.block + BLOCK * b + TERMS]
        if start < 0:
            continue
        start += keys[0, b - first]
        for j in range(p.ints[start], p.ints[start + 1]):
            e = p.ints[p.row_equations + j]
            if seen[e] != i:
                seen[e] = i
                x[e] = 0.0
                equations[m] = e
                m += 1
            x[e] += p.floats[p.row_values + j]
    return m


@jit
def gram(p, s, codes, multipliers, kind, step, out):  # type: ignore[no-untyped-def]
    """Write into `out` (p, p), all zero, a system's sum of w x x' over records.

    kind 0: w = product of multipliers (the covariance of the sums, about zero). kind 1: expected information. kind 2: observed,
    minus the derivative of the multiplier by eta. Return the sums of the squared multipliers and of w, for the dispersion.
    """
    row = p.system + SYSTEM * s
    n, width, start = p.ints[row + EQUATIONS], p.ints[row + WIDTH], p.ints[row + FIRST_MULTIPLIER]
    family, parameter = p.ints[row + FAMILY], p.floats[p.parameter + s]
    equations = np.empty(n, dtype=np.int64)
    x = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int64)
    eta, keys = np.empty(p.max_predictors), np.empty((1, p.max_blocks), dtype=np.int64)
    weights = np.empty((width, width))
    squares = 0.0
    total = 0.0
    for i in range(0, codes.shape[0], step):
        fill_keys(p, s, codes, i, keys, 0)
        weight, y = fill_predictors(p, s, keys, 0, eta)
        if weight == 0.0:
            continue
        if kind == 0:
            for k in range(width):
                for m in range(width):
                    weights[k, m] = multipliers[i, start + k] * multipliers[i, start + m]
        else:
            if family == MULTINOMIAL:
                softmax(eta, width)
                for k in range(width):
                    for m in range(width):
                        weights[k, m] = weight * eta[k] * ((1.0 if k == m else 0.0) - eta[m])
            elif kind == 1:
                weights[0, 0] = weight * multiplier(family, WEIGHT, eta[0], y, parameter)
            else:
                h = 1e-5 * max(1.0, abs(eta[0]))
                high = multiplier(family, SCORE, eta[0] + h, y, parameter)
                low = multiplier(family, SCORE, eta[0] - h, y, parameter)
                weights[0, 0] = weight * (low - high) / (2.0 * h)
        squares += multipliers[i, start] ** 2
        total += weights[0, 0]
        m = gather_entries(p, s, keys, i, equations, x, seen)
        for a in range(m):
            if width == 1:  # half of the entries, the other half by symmetry
                here = weights[0, 0] * x[equations[a]]
                for b in range(a + 1):
                    out[equations[a], equations[b]] += here * x[equations[b]]
                continue
            for b in range(m):
                product = x[equations[a]] * x[equations[b]]
                for k in range(width):
                    for q in range(width):
                        out[k * n + equations[a], q * n + equations[b]] += weights[k, q] * product
    if width == 1:
        for a in range(n):
            for b in range(a):
                both = out[a, b] + out[b, a]
                out[a, b] = both
                out[b, a] = both
    return squares, total


@jit
def square_sums(p, s, codes, multipliers, out):  # type: ignore[no-untyped-def]
    """Add to `out` (p,) a system's sum of squared contributions: the diagonal of `gram` of kind 0, without the matrix."""
    row = p.system + SYSTEM * s
    n, width, start = p.ints[row + EQUATIONS], p.ints[row + WIDTH], p.ints[row + FIRST_MULTIPLIER]
    equations = np.empty(n, dtype=np.int64)
    x = np.zeros(n)
    seen, keys = np.full(n, -1, dtype=np.int64), np.empty((1, p.max_blocks), dtype=np.int64)
    for i in range(codes.shape[0]):
        fill_keys(p, s, codes, i, keys, 0)
        m = gather_entries(p, s, keys, i, equations, x, seen)
        for a in range(m):
            for k in range(width):
                out[k * n + equations[a]] += (multipliers[i, start + k] * x[equations[a]]) ** 2
