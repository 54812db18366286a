"""What one record adds to tables and systems: its cell, its predictors, its multipliers. Where the parts of a flat problem stand.

The compiler's cache notices changes of the file that a function stands in, and not of those that it calls: after a change here, remove the
`__pycache__` of this folder.
"""

from __future__ import annotations

import math

import numba
import numpy as np

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

njit = numba.njit(nogil=True, cache=True)


@njit
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


@njit
def xlogy(x, y):  # type: ignore[no-untyped-def]
    return 0.0 if x == 0.0 else x * math.log(y)


@njit
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
    return -0.5 * (y - mu) ** 2 / (parameter * mu * mu * y) - HALF_LOG_TWO_PI - 0.5 * math.log(parameter * y**3)


@njit
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


@njit
def look_up_key(p, look, rows, r):  # type: ignore[no-untyped-def]
    key = 0
    for j in range(p.ints[p.lookup + 4 * look], p.ints[p.lookup + 4 * look + 1]):
        key += rows[r, p.ints[p.lookup_columns + 2 * j]] * p.ints[p.lookup_columns + 2 * j + 1]
    return key


@njit
def counts_in(p, s, rows, r):  # type: ignore[no-untyped-def]
    weight = 1.0
    for look in range(p.ints[p.system + 16 * s + KEEP], p.ints[p.system + 16 * s + KEEP_END]):
        weight *= p.floats[p.ints[p.lookup + 4 * look + 2] + look_up_key(p, look, rows, r)]
    return weight


@njit
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


@njit
def most_predictors(p):  # type: ignore[no-untyped-def]
    most = 1
    for s in range(p.n_systems):
        most = max(most, p.ints[p.system + 16 * s + PREDICTORS])
    return most


@njit
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


@njit
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


@njit
def cell_of(p, t, rows, r):  # type: ignore[no-untyped-def]
    """The cell of a record in a table, -1 if it is filtered out."""
    cell = p.ints[p.table + 3 * t + 2]
    for j in range(p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]):
        step = p.ints[p.ints[p.table_columns + 4 * j + 1] + rows[r, p.ints[p.table_columns + 4 * j]]]
        if step < 0:
            return -1
        cell += step
    return cell


@njit
def outside_by(count, lo, hi):  # type: ignore[no-untyped-def]
    if count < lo:
        return float(lo - count)
    if count > hi:
        return float(count - hi)
    return 0.0


@njit
def bump(p, counts, cell, by):  # type: ignore[no-untyped-def]
    """Change a count by one; return what that adds to the objective."""
    before = outside_by(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    counts[cell] += by
    after = outside_by(counts[cell], p.ints[p.cell_lo + cell], p.ints[p.cell_hi + cell])
    return (after * after - before * before) * p.floats[p.cell_weight + cell]
