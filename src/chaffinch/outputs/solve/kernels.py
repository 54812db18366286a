"""The compiled kernels of the incremental search: sums from scratch, what a move changes, and the search itself.

A move changes one or two records in one or two columns. What it does to the objective is worked out from the touched terms alone:
cells of tables are bumped (and bumped back when the move is refused); the change d of a system's sums S, a few entries, changes its
quadratic Q by d'g + d'Ad, where A is the weight matrix and g = 2A(S - aim). Numbers that drift by rounding are summed afresh
between blocks (`sums_from_scratch`).

One file, because the compiler's cache only notices changes of the file that a function stands in.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from ..families import LEAST_ETA

__all__ = ["candidates", "gram", "search", "square_sums", "sums_from_scratch"]

# Places in a row of `Program.system`.
FAMILY, PART, WIDTH, EQUATIONS, FIRST_SUM, FIRST_WEIGHT, DIAGONAL = range(7)
TERMS, TERMS_END, KEEP, KEEP_END, ETA, ETA_END, LABEL, FIRST_MULTIPLIER, PREDICTORS = range(7, 16)

# Kinds of moves.
CHANGE, STEP, SWAP, NEAR_SWAP, COPY, COPY_TWO, REPAIR = range(7)

NEAR = 16

SCORE, WEIGHT, LOGLIK, PEARSON = range(4)
MULTINOMIAL = 11
TINY = 1e-12
HALF_LOG_TWO_PI = 0.9189385332046727

_njit = numba.njit(nogil=True, cache=True)


@_njit
def _next(rng):  # type: ignore[no-untyped-def]
    """64 random bits: xoroshiro128+ (Blackman and Vigna 2018); its lowest bits, the weak ones, are not used."""
    one, two = rng[0], rng[1]
    result = one + two
    two ^= one
    rng[0] = ((one << np.uint64(24)) | (one >> np.uint64(40))) ^ two ^ (two << np.uint64(16))
    rng[1] = (two << np.uint64(37)) | (two >> np.uint64(27))
    return result


@_njit
def _below(rng, n):  # type: ignore[no-untyped-def]
    """A whole number from 0 to n - 1, n < 2^31."""
    return np.int64(((_next(rng) >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@_njit
def _uniform(rng):  # type: ignore[no-untyped-def]
    return np.float64(_next(rng) >> np.uint64(11)) * 1.1102230246251565e-16


@_njit
def _moments(family, eta, parameter):  # type: ignore[no-untyped-def]
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


@_njit
def _xlogy(x, y):  # type: ignore[no-untyped-def]
    return 0.0 if x == 0.0 else x * math.log(y)


@_njit
def _loglik(family, y, mu, parameter):  # type: ignore[no-untyped-def]
    """The log-density of a label: the twin of `families._loglik`."""
    if family == 1:
        return -0.5 * (y - mu) ** 2 / parameter - HALF_LOG_TWO_PI - 0.5 * math.log(parameter)
    if family <= 4:
        return _xlogy(y, mu) + _xlogy(1.0 - y, 1.0 - mu)
    if family == 5:
        return _xlogy(y, mu) - mu - math.lgamma(y + 1.0)
    if family == 6:
        size = 1.0 / parameter
        bare = math.lgamma(y + size) - math.lgamma(size) - math.lgamma(y + 1.0)
        return bare + size * math.log(size / (size + mu)) + _xlogy(y, mu / (size + mu))
    if family <= 8:
        shape = 1.0 / parameter
        return shape * math.log(shape * y / mu) - shape * y / mu - math.log(y) - math.lgamma(shape)
    return -0.5 * (y - mu) ** 2 / (parameter * mu * mu * y) - HALF_LOG_TWO_PI - 0.5 * math.log(parameter * y**3)


@_njit
def _one_multiplier(family, part, eta, y, parameter):  # type: ignore[no-untyped-def]
    mu, slope, variance = _moments(family, eta, parameter)
    if part == SCORE:
        if family in (1, 2, 5):  # canonical links: the slope is the variance
            return y - mu
        return (y - mu) * slope / variance
    if part == WEIGHT:
        return slope * slope / variance
    if part == PEARSON:
        return (y - mu) ** 2 / variance
    return _loglik(family, y, mu, parameter)


@_njit
def _key(p, look, rows, r):  # type: ignore[no-untyped-def]
    key = 0
    for j in range(p.ints[p.lookup + 4 * look], p.ints[p.lookup + 4 * look + 1]):
        key += rows[r, p.ints[p.lookup_columns + 2 * j]] * p.ints[p.lookup_columns + 2 * j + 1]
    return key


@_njit
def _kept(p, s, rows, r):  # type: ignore[no-untyped-def]
    weight = 1.0
    for look in range(p.ints[p.system + 16 * s + KEEP], p.ints[p.system + 16 * s + KEEP_END]):
        weight *= p.floats[p.ints[p.lookup + 4 * look + 2] + _key(p, look, rows, r)]
    return weight


@_njit
def _predictors(p, s, rows, r, eta):  # type: ignore[no-untyped-def]
    """Fill `eta` with the linear predictors of a record and return its label."""
    n = p.ints[p.system + 16 * s + PREDICTORS]
    for k in range(n):
        eta[k] = 0.0
    for look in range(p.ints[p.system + 16 * s + ETA], p.ints[p.system + 16 * s + ETA_END]):
        at = p.ints[p.lookup + 4 * look + 2] + _key(p, look, rows, r) * n
        for k in range(n):
            eta[k] += p.floats[at + k]
    label = p.ints[p.system + 16 * s + LABEL]
    return p.floats[p.ints[p.lookup + 4 * label + 2] + _key(p, label, rows, r)]


@_njit
def _most_predictors(p):  # type: ignore[no-untyped-def]
    most = 1
    for s in range(p.n_systems):
        most = max(most, p.ints[p.system + 16 * s + PREDICTORS])
    return most


@_njit
def _softmax(eta, n):  # type: ignore[no-untyped-def]
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


@_njit
def _multipliers(p, s, rows, r, eta, out, line, at):  # type: ignore[no-untyped-def]
    """Write the multipliers of a record from `out[line, at]` on; `eta` is scratch."""
    weight = _kept(p, s, rows, r)
    width = p.ints[p.system + 16 * s + WIDTH]
    family = p.ints[p.system + 16 * s + FAMILY]
    if weight == 0.0 or family == 0:
        for k in range(width):
            out[line, at + k] = weight
        return
    y = _predictors(p, s, rows, r, eta)
    part = p.ints[p.system + 16 * s + PART]
    if family != MULTINOMIAL:
        out[line, at] = weight * _one_multiplier(family, part, eta[0], y, p.floats[p.parameter + s])
        return
    base = _softmax(eta, p.ints[p.system + 16 * s + PREDICTORS])
    if part == LOGLIK:
        out[line, at] = weight * math.log(base if y == 0.0 else eta[np.int64(y) - 1])
        return
    for k in range(width):
        out[line, at + k] = weight * ((1.0 if y == k + 1.0 else 0.0) - eta[k])


@_njit
def _cell(p, t, rows, r):  # type: ignore[no-untyped-def]
    """The cell of a record in a table, -1 if it is filtered out."""
    cell = p.ints[p.table + 3 * t + 2]
    for j in range(p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]):
        step = p.ints[p.ints[p.table_columns + 4 * j + 1] + rows[r, p.ints[p.table_columns + 4 * j]]]
        if step < 0:
            return -1
        cell += step
    return cell


@_njit
def _outside(count, lo, hi):  # type: ignore[no-untyped-def]
    if count < lo:
        return float(lo - count)
    if count > hi:
        return float(count - hi)
    return 0.0


@_njit
def _bump(p, counts, cell, by):  # type: ignore[no-untyped-def]
    """Change a count by one; return what that adds to the objective."""
    before = _outside(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    counts[cell] += by
    after = _outside(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    return (after * after - before * before) * p.floats[p.cell_weight + cell]


@_njit
def sums_from_scratch(p, codes, counts, multipliers, sums):  # type: ignore[no-untyped-def]
    """Fill the counts, the multipliers of every record and the sums from the codes alone."""
    counts[:] = 0
    sums[:] = 0.0
    eta = np.empty(_most_predictors(p))
    for i in range(codes.shape[0]):
        for t in range(p.n_tables):
            cell = _cell(p, t, codes, i)
            if cell >= 0:
                counts[cell] += 1
        for s in range(p.n_systems):
            at = p.ints[p.system + 16 * s + FIRST_MULTIPLIER]
            _multipliers(p, s, codes, i, eta, multipliers, i, at)
            first, n, width = (
                p.ints[p.system + 16 * s + FIRST_SUM],
                p.ints[p.system + 16 * s + EQUATIONS],
                p.ints[p.system + 16 * s + WIDTH],
            )
            for look in range(p.ints[p.system + 16 * s + TERMS], p.ints[p.system + 16 * s + TERMS_END]):
                row = p.ints[p.lookup + 4 * look + 2] + _key(p, look, codes, i)
                for j in range(p.ints[row], p.ints[row + 1]):
                    for k in range(width):
                        sums[first + k * n + p.ints[p.row_equations + j]] += (
                            multipliers[i, at + k] * p.floats[p.row_values + j]
                        )


@_njit
def _gather(p, s, codes, i, equations, x, seen):  # type: ignore[no-untyped-def]
    """Write a record's terms, those of the same equation added up; return how many equations. `seen` tells records apart."""
    m = 0
    for look in range(p.ints[p.system + 16 * s + TERMS], p.ints[p.system + 16 * s + TERMS_END]):
        row = p.ints[p.lookup + 4 * look + 2] + _key(p, look, codes, i)
        for j in range(p.ints[row], p.ints[row + 1]):
            e = p.ints[p.row_equations + j]
            if seen[e] != i:
                seen[e] = i
                x[e] = 0.0
                equations[m] = e
                m += 1
            x[e] += p.floats[p.row_values + j]
    return m


@_njit
def gram(p, s, codes, multipliers, kind, every, out):  # type: ignore[no-untyped-def]
    """Write into `out` (p, p), all zero, a system's sum of w x x' over records.

    kind 0: w = product of multipliers (the covariance of the sums, about zero). kind 1: expected information. kind 2: observed,
    minus the derivative of the multiplier by eta. Return the sums of the squared multipliers and of w, for the dispersion.
    """
    n, width, at = (
        p.ints[p.system + 16 * s + EQUATIONS],
        p.ints[p.system + 16 * s + WIDTH],
        p.ints[p.system + 16 * s + FIRST_MULTIPLIER],
    )
    family, parameter = p.ints[p.system + 16 * s + FAMILY], p.floats[p.parameter + s]
    equations = np.empty(n, dtype=np.int64)
    x = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int64)
    eta = np.empty(p.ints[p.system + 16 * s + PREDICTORS])
    weights = np.empty((width, width))
    squares = 0.0
    total = 0.0
    for i in range(0, codes.shape[0], every):
        kept = _kept(p, s, codes, i)
        if kept == 0.0:
            continue
        if kind == 0:
            for k in range(width):
                for m in range(width):
                    weights[k, m] = multipliers[i, at + k] * multipliers[i, at + m]
        else:
            y = _predictors(p, s, codes, i, eta)
            if family == MULTINOMIAL:
                _softmax(eta, width)
                for k in range(width):
                    for m in range(width):
                        weights[k, m] = kept * eta[k] * ((1.0 if k == m else 0.0) - eta[m])
            elif kind == 1:
                weights[0, 0] = kept * _one_multiplier(family, WEIGHT, eta[0], y, parameter)
            else:
                h = 1e-5 * max(1.0, abs(eta[0]))
                high = _one_multiplier(family, SCORE, eta[0] + h, y, parameter)
                low = _one_multiplier(family, SCORE, eta[0] - h, y, parameter)
                weights[0, 0] = kept * (low - high) / (2.0 * h)
        squares += multipliers[i, at] ** 2
        total += weights[0, 0]
        m = _gather(p, s, codes, i, equations, x, seen)
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


@_njit
def square_sums(p, s, codes, multipliers, out):  # type: ignore[no-untyped-def]
    """Add to `out` (p,) a system's sum of squared contributions: the diagonal of `gram` of kind 0, without the matrix."""
    n, width, at = (
        p.ints[p.system + 16 * s + EQUATIONS],
        p.ints[p.system + 16 * s + WIDTH],
        p.ints[p.system + 16 * s + FIRST_MULTIPLIER],
    )
    equations = np.empty(n, dtype=np.int64)
    x = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int64)
    for i in range(codes.shape[0]):
        m = _gather(p, s, codes, i, equations, x, seen)
        for a in range(m):
            for k in range(width):
                out[k * n + equations[a]] += (multipliers[i, at + k] * x[equations[a]]) ** 2


@_njit
def _draw_level(rng, size, cdf, first):  # type: ignore[no-untyped-def]
    """A level of a column: uniform where `first` is -1, else by the cumulative chances from `cdf[first]` on."""
    if first < 0:
        return _below(rng, size)
    u = _uniform(rng)
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if cdf[first + middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@_njit
def _draw_move(rng, kind, column, codes, sizes, cdf, cdf_first, free, order, places, rows, records, columns):  # type: ignore[no-untyped-def]
    """Fill `rows` (old 0, 1; new 2, 3), `records` and `columns`; return how many of each, 0 for a move that changes nothing."""
    n, width = codes.shape
    i = _below(rng, n)
    if kind in (CHANGE, STEP):
        old = codes[i, column]
        if kind == CHANGE:
            new = _draw_level(rng, sizes[column], cdf, cdf_first[column])
        else:
            reach = 1
            while reach * 8 < sizes[column] and _next(rng) >> np.uint64(63):
                reach *= 2
            by = 1 + _below(rng, reach)
            new = old + by if _next(rng) >> np.uint64(63) else old - by
            if new < 0 or new >= sizes[column]:
                return 0, 0
        if new == old:
            return 0, 0
        for c in range(width):
            rows[0, c] = codes[i, c]
            rows[2, c] = codes[i, c]
        rows[2, column] = new
        records[0], columns[0] = i, column
        return 1, 1
    k = order[column, (places[column, i] + 1 + _below(rng, NEAR)) % n] if kind == NEAR_SWAP else _below(rng, n)
    if kind in (SWAP, NEAR_SWAP):
        if codes[i, column] == codes[k, column]:
            return 0, 0
        for c in range(width):
            rows[0, c] = codes[i, c]
            rows[2, c] = codes[i, c]
            rows[1, c] = codes[k, c]
            rows[3, c] = codes[k, c]
        rows[2, column], rows[3, column] = codes[k, column], codes[i, column]
        records[0], records[1], columns[0] = i, k, column
        return 2, 1
    other = column
    if kind == COPY_TWO:
        other = free[_below(rng, free.size)]
    m = 0
    for c in range(width):
        rows[0, c] = codes[i, c]
        rows[2, c] = codes[i, c]
    if codes[k, column] != codes[i, column]:
        rows[2, column] = codes[k, column]
        columns[m] = column
        m += 1
    if other != column and codes[k, other] != codes[i, other]:
        rows[2, other] = codes[k, other]
        columns[m] = other
        m += 1
    records[0] = i
    return (1, m) if m else (0, 0)


@_njit
def _draw_repair(rng, p, codes, movable, wrong, n_over, n_under, rows, records, columns):  # type: ignore[no-untyped-def]
    """As `_draw_move`, towards a table: a record of a cell that has too many moves to one of the same table that has too few.

    `wrong` holds (table, cell) pairs as of the start of the block, too full ones first; stale ones make useless moves, not wrong ones.
    """
    n, width = codes.shape
    i = _below(rng, n)
    pick = _below(rng, n_over + n_under)
    t = wrong[pick, 0]
    first, last = p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]
    if pick < n_over:
        for _ in range(n):
            if _cell(p, t, codes, i) == wrong[pick, 1]:
                break
            i += 1
            if i == n:
                i = 0
    goal = -1
    if n_under > 0:
        k = _below(rng, n_under)
        for _ in range(n_under):
            if wrong[n_over + k, 0] == t:
                goal = wrong[n_over + k, 1]
                break
            k += 1
            if k == n_under:
                k = 0
    for c in range(width):
        rows[0, c] = codes[i, c]
        rows[2, c] = codes[i, c]
    records[0] = i
    m = 0
    if first == last:
        return 0, 0
    if goal < 0:  # nowhere has too few: out of the cell, or out of the table, will do
        j = first + _below(rng, last - first)
        column = p.ints[p.table_columns + 4 * j]
        level = _below(rng, p.ints[p.table_columns + 4 * j + 2])
        if level == codes[i, column] or not movable[column]:
            return 0, 0
        rows[2, column] = level
        columns[0] = column
        return 1, 1
    rest = goal - p.ints[p.table + 3 * t + 2]
    for j in range(first, last):
        column, start = p.ints[p.table_columns + 4 * j], p.ints[p.table_columns + 4 * j + 1]
        size = p.ints[p.table_columns + 4 * j + 2]
        stride = p.ints[p.table_columns + 4 * j + 3]
        step = rest // stride * stride
        rest -= step
        if p.ints[start + codes[i, column]] == step:
            continue
        if not movable[column]:
            return 0, 0
        level = _below(rng, size)
        for _ in range(size):
            if p.ints[start + level] == step:
                break
            level += 1
            if level == size:
                level = 0
        rows[2, column] = level
        columns[m] = column
        m += 1
    return (1, m) if m else (0, 0)


@_njit
def search(  # type: ignore[no-untyped-def]
    p, codes, counts, multipliers, sums, gradient, weights, table_error, system_error,
    sizes, cdf, cdf_first, free, movable, order, places, wrong, n_over, n_under,
    kinds, columns_of, chances, tries, gains, rng, n_proposals, temperature,
):  # fmt: skip
    """Propose moves and keep those that help (or, above temperature 0, harm little); return both errors and how many were kept.

    Changes codes, counts, multipliers, sums and gradient in place. `chances` are cumulative, one for each arm (a kind of move in a
    column); `tries` and `gains` are added to.
    """
    n_tables, n_systems, n_sums = p.n_tables, p.n_systems, sums.size
    rows = np.empty((4, codes.shape[1]), dtype=np.int64)
    records = np.empty(2, dtype=np.int64)
    columns = np.empty(codes.shape[1], dtype=np.int64)
    touched_cells = np.empty(4 * n_tables, dtype=np.int64)
    touched_by = np.empty(4 * n_tables, dtype=np.int64)
    table_seen = np.full(n_tables, -1, dtype=np.int64)
    system_seen = np.full(n_systems, -1, dtype=np.int64)
    systems = np.empty(n_systems, dtype=np.int64)
    ends = np.empty(n_systems + 1, dtype=np.int64)
    touched = np.empty(n_sums, dtype=np.int64)
    sum_seen = np.full(n_sums, -1, dtype=np.int64)
    change = np.zeros(n_sums)
    fresh = np.empty((2, multipliers.shape[1]))
    eta = np.empty(_most_predictors(p))
    accepted = 0
    for proposal in range(n_proposals):
        u = _uniform(rng)
        arm = 0
        while chances[arm] <= u:
            arm += 1
        tries[arm] += 1
        if kinds[arm] == REPAIR:
            if n_over + n_under == 0:
                continue
            n_records, n_columns = _draw_repair(rng, p, codes, movable, wrong, n_over, n_under, rows, records, columns)
        else:
            n_records, n_columns = _draw_move(
                rng,
                kinds[arm],
                columns_of[arm],
                codes,
                sizes,
                cdf,
                cdf_first,
                free,
                order,
                places,
                rows,
                records,
                columns,
            )
        if n_records == 0:
            continue
        bound = -temperature * math.log(1.0 - _uniform(rng)) if temperature > 0.0 else 0.0

        # Tables first: integers are cheap, and sums can win back no more than what they still lack.
        by_tables = 0.0
        n_cells = 0
        for a in range(n_columns):
            for b in range(p.ints[p.tables_of_starts + columns[a]], p.ints[p.tables_of_starts + columns[a] + 1]):
                t = p.ints[p.tables_of + b]
                if table_seen[t] == proposal:
                    continue
                table_seen[t] = proposal
                for r in range(n_records):
                    old = _cell(p, t, rows, r)
                    new = _cell(p, t, rows, r + 2)
                    if old == new:
                        continue
                    if old >= 0:
                        by_tables += _bump(p, counts, old, -1)
                        touched_cells[n_cells] = old
                        touched_by[n_cells] = 1
                        n_cells += 1
                    if new >= 0:
                        by_tables += _bump(p, counts, new, 1)
                        touched_cells[n_cells] = new
                        touched_by[n_cells] = -1
                        n_cells += 1
        by_systems = 0.0
        refused = by_tables > bound + system_error
        n_touched_systems = 0
        n_touched = 0
        if not refused:
            ends[0] = 0
            for a in range(n_columns):
                for b in range(p.ints[p.systems_of_starts + columns[a]], p.ints[p.systems_of_starts + columns[a] + 1]):
                    s = p.ints[p.systems_of + b]
                    if system_seen[s] == proposal:
                        continue
                    system_seen[s] = proposal
                    at, first = p.ints[p.system + 16 * s + FIRST_MULTIPLIER], p.ints[p.system + 16 * s + FIRST_SUM]
                    n, width = p.ints[p.system + 16 * s + EQUATIONS], p.ints[p.system + 16 * s + WIDTH]
                    begin = n_touched
                    for r in range(n_records):
                        _multipliers(p, s, rows, r + 2, eta, fresh, r, at)
                        for side in range(2):
                            row_of = r + 2 * side
                            for look in range(p.ints[p.system + 16 * s + TERMS], p.ints[p.system + 16 * s + TERMS_END]):
                                row = p.ints[p.lookup + 4 * look + 2] + _key(p, look, rows, row_of)
                                for j in range(p.ints[row], p.ints[row + 1]):
                                    for k in range(width):
                                        e = first + k * n + p.ints[p.row_equations + j]
                                        if sum_seen[e] != proposal:
                                            sum_seen[e] = proposal
                                            change[e] = 0.0
                                            touched[n_touched] = e
                                            n_touched += 1
                                        if side:
                                            change[e] += fresh[r, at + k] * p.floats[p.row_values + j]
                                        else:
                                            change[e] -= multipliers[records[r], at + k] * p.floats[p.row_values + j]
                    at = p.ints[p.system + 16 * s + FIRST_WEIGHT]
                    if p.ints[p.system + 16 * s + DIAGONAL]:
                        for j in range(begin, n_touched):
                            e = touched[j]
                            by_systems += change[e] * (gradient[e] + change[e] * weights[at + e - first])
                    else:
                        size = n * width
                        for j in range(begin, n_touched):
                            e = touched[j]
                            line = at + (e - first) * size - first
                            inner = 0.5 * change[e] * weights[line + e]
                            for q in range(begin, j):
                                inner += change[touched[q]] * weights[line + touched[q]]
                            by_systems += change[e] * (gradient[e] + 2.0 * inner)
                    systems[n_touched_systems] = s
                    n_touched_systems += 1
                    ends[n_touched_systems] = n_touched
            refused = not by_tables + by_systems <= bound  # also where a look-up led to no number
        if refused:
            for j in range(n_cells - 1, -1, -1):
                counts[touched_cells[j]] += touched_by[j]
            continue
        accepted += 1
        if by_tables + by_systems < 0.0:
            gains[arm] -= by_tables + by_systems
        table_error += by_tables
        system_error = max(0.0, system_error + by_systems)
        for r in range(n_records):
            for a in range(n_columns):
                codes[records[r], columns[a]] = rows[r + 2, columns[a]]
        for m in range(n_touched_systems):
            s = systems[m]
            at, first = p.ints[p.system + 16 * s + FIRST_MULTIPLIER], p.ints[p.system + 16 * s + FIRST_SUM]
            size = p.ints[p.system + 16 * s + EQUATIONS] * p.ints[p.system + 16 * s + WIDTH]
            for r in range(n_records):
                for k in range(p.ints[p.system + 16 * s + WIDTH]):
                    multipliers[records[r], at + k] = fresh[r, at + k]
            at = p.ints[p.system + 16 * s + FIRST_WEIGHT]
            for j in range(ends[m], ends[m + 1]):
                e = touched[j]
                sums[e] += change[e]
                if p.ints[p.system + 16 * s + DIAGONAL]:
                    gradient[e] += 2.0 * weights[at + e - first] * change[e]
                else:
                    line = at + (e - first) * size
                    twice = 2.0 * change[e]
                    for q in range(size):
                        gradient[first + q] += twice * weights[line + q]
    return table_error, system_error, accepted


@_njit
def candidates(  # type: ignore[no-untyped-def]
    p, codes, counts, multipliers, sizes, cdf, cdf_first, free, order, places,
    kinds, columns_of, chances, rng, n_draws, moved, changes,
):  # fmt: skip
    """Draw moves of one column that put no count outside its interval; return how many were found among `n_draws`.

    Rows of `moved`: record, the record it swaps with or -1, column, new level. Rows of `changes`: what the move adds to every sum.
    Nothing else is changed. Arms must be of kinds that change a single column.
    """
    rows = np.empty((4, codes.shape[1]), dtype=np.int64)
    records = np.empty(2, dtype=np.int64)
    columns = np.empty(codes.shape[1], dtype=np.int64)
    fresh = np.empty((1, multipliers.shape[1]))
    eta = np.empty(_most_predictors(p))
    found = 0
    for _draw in range(n_draws):
        if found == moved.shape[0]:
            break
        u = _uniform(rng)
        arm = 0
        while chances[arm] <= u:
            arm += 1
        n_records, _ = _draw_move(
            rng, kinds[arm], columns_of[arm], codes, sizes, cdf, cdf_first, free, order, places, rows, records, columns
        )  # fmt: skip
        if n_records == 0:
            continue
        column = columns[0]
        stays = True
        for b in range(p.ints[p.tables_of_starts + column], p.ints[p.tables_of_starts + column + 1]):
            t = p.ints[p.tables_of + b]
            old, new = _cell(p, t, rows, 0), _cell(p, t, rows, 2)
            if old == new:
                continue
            if n_records == 2:  # the swap must leave the two cells as they are
                stays = stays and old == _cell(p, t, rows, 3) and new == _cell(p, t, rows, 1)
            else:  # both cells must have room in their intervals
                stays = stays and (old < 0 or counts[old] > p.ints[p.cell_lo + old])
                stays = stays and (new < 0 or counts[new] < p.ints[p.cell_hi + new])
        if not stays:
            continue
        changes[found, :] = 0.0
        for b in range(p.ints[p.systems_of_starts + column], p.ints[p.systems_of_starts + column + 1]):
            s = p.ints[p.systems_of + b]
            at, first = p.ints[p.system + 16 * s + FIRST_MULTIPLIER], p.ints[p.system + 16 * s + FIRST_SUM]
            n, width = p.ints[p.system + 16 * s + EQUATIONS], p.ints[p.system + 16 * s + WIDTH]
            for r in range(n_records):
                _multipliers(p, s, rows, r + 2, eta, fresh, 0, at)
                for look in range(p.ints[p.system + 16 * s + TERMS], p.ints[p.system + 16 * s + TERMS_END]):
                    base = p.ints[p.lookup + 4 * look + 2]
                    old, new = base + _key(p, look, rows, r), base + _key(p, look, rows, r + 2)
                    for k in range(width):
                        for j in range(p.ints[old], p.ints[old + 1]):
                            by = multipliers[records[r], at + k] * p.floats[p.row_values + j]
                            changes[found, first + k * n + p.ints[p.row_equations + j]] -= by
                        for j in range(p.ints[new], p.ints[new + 1]):
                            by = fresh[0, at + k] * p.floats[p.row_values + j]
                            changes[found, first + k * n + p.ints[p.row_equations + j]] += by
        moved[found, 0], moved[found, 1] = records[0], records[1] if n_records == 2 else -1
        moved[found, 2], moved[found, 3] = column, rows[2, column]
        found += 1
    return found
