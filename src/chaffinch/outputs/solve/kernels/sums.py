"""Counts and sums of all records: from scratch, and the products that weight matrices are made of."""

from __future__ import annotations

import numpy as np

from .records import (
    EQUATIONS,
    FAMILY,
    FIRST_MULTIPLIER,
    FIRST_SUM,
    MULTINOMIAL,
    PREDICTORS,
    SCORE,
    TERMS,
    TERMS_END,
    WEIGHT,
    WIDTH,
    cell_of,
    counts_in,
    fill_multipliers,
    fill_predictors,
    look_up_key,
    most_predictors,
    njit,
    one_multiplier,
    softmax,
)


@njit
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


@njit
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


@njit
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


@njit
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
