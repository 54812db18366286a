"""What records add to tables and systems, one record (its cell, its predictors, its multipliers) and all of them.

The compiler's cache notices changes of the file that a function stands in, and not of those that it calls: after a change here, remove the
`__pycache__` of this folder.
"""

from __future__ import annotations

import math

import numpy as np

from ...._base.compiled import compiled
from ...families import LEAST_ETA

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
