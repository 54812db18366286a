"""A problem laid out flat for the compiled kernels, and the kernels that say what records add to its tables and systems.

`compile_problem` lays look-ups end to end, with which outputs a change of a column touches. The kernels read one record (its cell, its
predictors, its multipliers) and all of them.

The compiler's cache notices changes of the file that a function stands in, and not of those that it calls: after a change here, remove the
`__pycache__` of this folder.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.compiled import compiled
from ..domain import Codes, Columns, Floats
from ..equations import CountTable, Lookup, Problem, SumSystem, Terms
from ..families import FAMILIES, LEAST_ETA, PARTS

Ints = NDArray[np.int64]


# Places in a row of `Program.system`.
FAMILY, PART, WIDTH, EQUATIONS, FIRST_SUM, FIRST_WEIGHT, DIAGONAL = range(7)
TERMS, TERMS_END, KEEP, KEEP_END, ETA, ETA_END, LABEL, FIRST_MULTIPLIER, PREDICTORS = range(7, 16)

SCORE, WEIGHT, LOGLIK, PEARSON = range(4)
MULTINOMIAL = 11
TINY = 1e-12
HALF_LOG_TWO_PI = 0.9189385332046727


class Program(NamedTuple):
    """The flat problem, two arrays and where each part starts in them; kernels take it whole, and two arrays are quick to pass.

    Tables and systems are numbered in the order of the problem's outputs. Parts of `ints`:

    - `tables_of_starts`, `tables_of`, `systems_of_starts`, `systems_of`: which outputs read a column, in compressed rows;
    - `table`, rows of 3: first and last of its `table_columns` (column, where its map from level to cell starts,
      number of levels, cells between one group and the next), first of its cells;
    - `cell_lo`, `cell_hi`: bounds of each cell;
    - `system`, rows of 16: see the names of its places, `FAMILY` and on;
    - `lookup`, rows of 4: first and last of its `lookup_columns` (column, stride), where its numbers start in `floats` or its rows of
      terms in `ints`, and its width;
    - `row_equations`: the equations of terms, whose values are `row_values`.
    """

    ints: Ints
    floats: Floats
    n_tables: int
    n_cells: int
    n_systems: int
    n_sums: int
    n_multipliers: int
    tables_of_starts: int
    tables_of: int
    systems_of_starts: int
    systems_of: int
    table: int
    table_columns: int
    cell_lo: int
    cell_hi: int
    system: int
    lookup: int
    lookup_columns: int
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


class Heap:
    """Arrays laid end to end as they come."""

    def __init__(self, dtype: type) -> None:
        self._parts: list[NDArray[Any]] = []
        self._dtype = dtype
        self.size = 0

    def add(self, part: ArrayLike) -> int:
        """Lay an array down; return where it starts."""
        self._parts.append(np.asarray(part, dtype=self._dtype).ravel())
        self.size += self._parts[-1].size
        return self.size - self._parts[-1].size

    def whole(self) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, dtype=self._dtype), *self._parts])


class _Layout:
    """Look-ups as they are laid down, one after the other."""

    def __init__(self) -> None:
        self.ints, self.floats = Heap(np.int64), Heap(np.float64)
        self.equations, self.row_values = Heap(np.int64), Heap(np.float64)
        self.lookup: list[tuple[int, int, int, int]] = []
        self.columns: list[tuple[int, int]] = []

    def _add(self, look: Lookup | Terms, start: int, width: int) -> int:
        first = len(self.columns)
        strides = [
            int(np.prod(look.sizes[k + 1 :], dtype=np.int64)) for k in range(len(look.sizes))
        ]
        self.columns += zip(look.columns, strides, strict=True)
        self.lookup.append((first, len(self.columns), start, width))
        return len(self.lookup) - 1

    def add_values(self, looks: Iterable[Lookup]) -> tuple[int, int]:
        """Lay down look-ups of numbers; return the first of them, and the first after them."""
        first = len(self.lookup)
        for look in looks:
            self._add(look, self.floats.add(look.values), look.values.shape[1])
        return first, len(self.lookup)

    def add_terms(self, every: Iterable[Terms]) -> tuple[int, int]:
        """Lay down terms; return the first of them, and the first after them."""
        first = len(self.lookup)
        for terms in every:
            self._add(terms, self.ints.add(terms.starts + self.equations.size), 0)
            self.equations.add(terms.equations)
            self.row_values.add(terms.values)
        return first, len(self.lookup)


def compile_problem(problem: Problem) -> Program:
    """Return the problem laid out flat."""
    tables = [output for output in problem.outputs if isinstance(output, CountTable)]
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    layout = _Layout()
    rows, first_sum, first_weight, first_multiplier = [], 0, 0, 0
    for s in systems:
        model, width = s.model, s.model.width if s.model else 1
        row = [FAMILIES[model.family].code, PARTS.index(model.part)] if model else [0, 0]
        row += [width, s.size // width, first_sum, first_weight, int(s.diagonal)]
        row += [
            *layout.add_terms(s.terms),
            *layout.add_values(s.keep),
            *layout.add_values(model.eta if model else ()),
        ]
        row += [
            layout.add_values([model.label])[0] if model else -1,
            first_multiplier,
            model.n_predictors if model else 1,
        ]
        rows.append(row)
        first_sum += s.size
        first_weight += s.size if s.diagonal else s.size**2
        first_multiplier += width
    ints, floats = layout.ints, layout.floats
    table, table_columns = _table_rows(tables, ints)
    tables_of = _readers(problem.columns, [t.columns for t in tables])
    systems_of = _readers(problem.columns, [s.columns for s in systems])
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
        "lookup": ints.add(layout.lookup),
        "lookup_columns": ints.add(layout.columns),
        "row_equations": ints.add(layout.equations.whole()),
        "cell_weight": floats.add([weight for t in tables for weight in t.weights]),
        "parameter": floats.add([s.model.parameter if s.model else 1.0 for s in systems]),
        "row_values": floats.add(layout.row_values.whole()),
    }
    n_cells = sum(len(t.lo) for t in tables)
    return Program(
        ints.whole(),
        floats.whole(),
        len(tables),
        n_cells,
        len(systems),
        first_sum,
        first_multiplier,
        **starts,
    )


def _readers(columns: Columns, reads: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """For each column the numbers of the outputs that read it, in compressed rows."""
    of = [[k for k, read in enumerate(reads) if c in read] for c in range(len(columns))]
    starts = [sum(len(some) for some in of[:c]) for c in range(len(of) + 1)]
    return starts, [k for some in of for k in some]


def _table_rows(
    tables: list[CountTable], ints: Heap
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


@compiled
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


@compiled
def xlogy(x, y):  # type: ignore[no-untyped-def]
    return 0.0 if x == 0.0 else x * math.log(y)


@compiled
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


@compiled
def one_multiplier(family, part, eta, y, parameter):  # type: ignore[no-untyped-def]
    mu, slope, variance = family_moments(family, eta, parameter)
    if part == SCORE:
        if family in (1, 2, 5):  # canonical links: the slope is the variance
            return y - mu
        return (y - mu) * slope / variance
    if part == WEIGHT:
        return slope * slope / variance
    if part == PEARSON:
        return (y - mu) ** 2 / variance
    return log_likelihood(family, y, mu, parameter)


@compiled
def look_up_key(p, look, rows, r):  # type: ignore[no-untyped-def]
    key = 0
    for j in range(p.ints[p.lookup + 4 * look], p.ints[p.lookup + 4 * look + 1]):
        key += rows[r, p.ints[p.lookup_columns + 2 * j]] * p.ints[p.lookup_columns + 2 * j + 1]
    return key


@compiled
def counts_in(p, s, rows, r):  # type: ignore[no-untyped-def]
    weight = 1.0
    for look in range(p.ints[p.system + 16 * s + KEEP], p.ints[p.system + 16 * s + KEEP_END]):
        weight *= p.floats[p.ints[p.lookup + 4 * look + 2] + look_up_key(p, look, rows, r)]
    return weight


@compiled
def fill_predictors(p, s, rows, r, eta):  # type: ignore[no-untyped-def]
    """Fill `eta` with the linear predictors of a record and return its label."""
    n = p.ints[p.system + 16 * s + PREDICTORS]
    for k in range(n):
        eta[k] = 0.0
    for look in range(p.ints[p.system + 16 * s + ETA], p.ints[p.system + 16 * s + ETA_END]):
        at = p.ints[p.lookup + 4 * look + 2] + look_up_key(p, look, rows, r) * n
        for k in range(n):
            eta[k] += p.floats[at + k]
    label = p.ints[p.system + 16 * s + LABEL]
    return p.floats[p.ints[p.lookup + 4 * label + 2] + look_up_key(p, label, rows, r)]


@compiled
def most_predictors(p):  # type: ignore[no-untyped-def]
    most = 1
    for s in range(p.n_systems):
        most = max(most, p.ints[p.system + 16 * s + PREDICTORS])
    return most


@compiled
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


@compiled
def fill_multipliers(p, s, rows, r, eta, out, line, at):  # type: ignore[no-untyped-def]
    """Write the multipliers of a record from `out[line, at]` on; `eta` is scratch."""
    weight = counts_in(p, s, rows, r)
    width = p.ints[p.system + 16 * s + WIDTH]
    family = p.ints[p.system + 16 * s + FAMILY]
    if weight == 0.0 or family == 0:
        for k in range(width):
            out[line, at + k] = weight
        return
    y = fill_predictors(p, s, rows, r, eta)
    part = p.ints[p.system + 16 * s + PART]
    if family != MULTINOMIAL:
        out[line, at] = weight * one_multiplier(family, part, eta[0], y, p.floats[p.parameter + s])
        return
    base = softmax(eta, p.ints[p.system + 16 * s + PREDICTORS])
    if part == LOGLIK:
        out[line, at] = weight * math.log(base if y == 0.0 else eta[np.int64(y) - 1])
        return
    for k in range(width):
        out[line, at + k] = weight * ((1.0 if y == k + 1.0 else 0.0) - eta[k])


@compiled
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


@compiled
def outside_by(count, lo, hi):  # type: ignore[no-untyped-def]
    if count < lo:
        return float(lo - count)
    if count > hi:
        return float(count - hi)
    return 0.0


@compiled
def bump(p, counts, cell, by):  # type: ignore[no-untyped-def]
    """Change a count by one; return what that adds to the objective."""
    before = outside_by(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    counts[cell] += by
    after = outside_by(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    return (after * after - before * before) * p.floats[p.cell_weight + cell]


@compiled
def sums_from_scratch(p, codes, counts, multipliers, sums):  # type: ignore[no-untyped-def]
    """Fill the counts, the multipliers of every record and the sums from the codes alone."""
    counts[:] = 0
    sums[:] = 0.0
    eta = np.empty(most_predictors(p))
    for i in range(codes.shape[0]):
        for t in range(p.n_tables):
            cell = cell_of(p, t, codes, i)
            if cell >= 0:
                counts[cell] += 1
        for s in range(p.n_systems):
            of = p.system + 16 * s
            at, first = p.ints[of + FIRST_MULTIPLIER], p.ints[of + FIRST_SUM]
            n, width = p.ints[of + EQUATIONS], p.ints[of + WIDTH]
            fill_multipliers(p, s, codes, i, eta, multipliers, i, at)
            for look in range(p.ints[of + TERMS], p.ints[of + TERMS_END]):
                row = p.ints[p.lookup + 4 * look + 2] + look_up_key(p, look, codes, i)
                for j in range(p.ints[row], p.ints[row + 1]):
                    for k in range(width):
                        by = multipliers[i, at + k] * p.floats[p.row_values + j]
                        sums[first + k * n + p.ints[p.row_equations + j]] += by


@compiled
def gather_entries(p, s, codes, i, equations, x, seen):  # type: ignore[no-untyped-def]
    """Write a record's terms, those of the same equation added up; return how many equations. `seen` tells records apart."""
    m = 0
    for look in range(p.ints[p.system + 16 * s + TERMS], p.ints[p.system + 16 * s + TERMS_END]):
        row = p.ints[p.lookup + 4 * look + 2] + look_up_key(p, look, codes, i)
        for j in range(p.ints[row], p.ints[row + 1]):
            e = p.ints[p.row_equations + j]
            if seen[e] != i:
                seen[e] = i
                x[e] = 0.0
                equations[m] = e
                m += 1
            x[e] += p.floats[p.row_values + j]
    return m


@compiled
def gram(p, s, codes, multipliers, kind, every, out):  # type: ignore[no-untyped-def]
    """Write into `out` (p, p), all zero, a system's sum of w x x' over records.

    kind 0: w = product of multipliers (the covariance of the sums, about zero). kind 1: expected information. kind 2: observed,
    minus the derivative of the multiplier by eta. Return the sums of the squared multipliers and of w, for the dispersion.
    """
    of = p.system + 16 * s
    n, width, at = p.ints[of + EQUATIONS], p.ints[of + WIDTH], p.ints[of + FIRST_MULTIPLIER]
    family, parameter = p.ints[of + FAMILY], p.floats[p.parameter + s]
    equations = np.empty(n, dtype=np.int64)
    x = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int64)
    eta = np.empty(p.ints[p.system + 16 * s + PREDICTORS])
    weights = np.empty((width, width))
    squares = 0.0
    total = 0.0
    for i in range(0, codes.shape[0], every):
        weight = counts_in(p, s, codes, i)
        if weight == 0.0:
            continue
        if kind == 0:
            for k in range(width):
                for m in range(width):
                    weights[k, m] = multipliers[i, at + k] * multipliers[i, at + m]
        else:
            y = fill_predictors(p, s, codes, i, eta)
            if family == MULTINOMIAL:
                softmax(eta, width)
                for k in range(width):
                    for m in range(width):
                        weights[k, m] = weight * eta[k] * ((1.0 if k == m else 0.0) - eta[m])
            elif kind == 1:
                weights[0, 0] = weight * one_multiplier(family, WEIGHT, eta[0], y, parameter)
            else:
                h = 1e-5 * max(1.0, abs(eta[0]))
                high = one_multiplier(family, SCORE, eta[0] + h, y, parameter)
                low = one_multiplier(family, SCORE, eta[0] - h, y, parameter)
                weights[0, 0] = weight * (low - high) / (2.0 * h)
        squares += multipliers[i, at] ** 2
        total += weights[0, 0]
        m = gather_entries(p, s, codes, i, equations, x, seen)
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


@compiled
def square_sums(p, s, codes, multipliers, out):  # type: ignore[no-untyped-def]
    """Add to `out` (p,) a system's sum of squared contributions: the diagonal of `gram` of kind 0, without the matrix."""
    of = p.system + 16 * s
    n, width, at = p.ints[of + EQUATIONS], p.ints[of + WIDTH], p.ints[of + FIRST_MULTIPLIER]
    equations = np.empty(n, dtype=np.int64)
    x = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int64)
    for i in range(codes.shape[0]):
        m = gather_entries(p, s, codes, i, equations, x, seen)
        for a in range(m):
            for k in range(width):
                out[k * n + equations[a]] += (multipliers[i, at + k] * x[equations[a]]) ** 2
