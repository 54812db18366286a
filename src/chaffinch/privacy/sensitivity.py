"""How far one person can move the score of a family: proven bounds, and scores on an integer grid for exact selection.

A family is a child and its parents, seen as a table of counts c with a row for each combination of parents (margin r),
a column for each level of the child (margin k) and n records. Scores are taken on counts (`counts.families`): n R, n F,
and min(n, N) I in nats with a public number of rows N; under replace-one n is public and N = n. I, F and R are those of
Zhang et al., PrivBayes (TODS 2017), section 4; natural logarithms throughout: a bound in nats for a score in bits is
1.44 times too small.

Notation of the proofs: h(t) = t log t and g(t) = h(t + 1) - h(t), with h(0) = g(0) = 0. Since g'(t) = log(1 + 1/t) is
positive and falls, g rises and is concave. A record added to the cell (y, x) of a table of n changes
n I = h(n) - sum h(r) - sum h(k) + sum h(c) by g(n) - p with p = g(r_y) + g(k_x) - g(c_yx), counts before the record.

Lemma (A). 0 <= p <= 2 g(w/2), where w = r_y + k_x - c_yx <= n records lie in row y or in column x. Since c <= r and g
rises, p >= g(k) >= 0. Taking one from c and from r leaves w and k as they are and does not lower p (g' falls and c <=
r), so that p is largest at c = 0, r + k = w; there concavity gives 2 g(w/2).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, isfinite, log, log1p, log2

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .relation import Unit

SCORES: tuple[str, ...] = ("I", "R", "F")

UP = 1 + 1e-12
"""Bounds are rounded up by this: far more than the few roundings of their formulas."""

STEPS = 22
"""A sensitivity is between 2^21 and 2^22 steps of the integer grid."""

LIMIT = 2.0**52
"""Integer scores are held within this: up to here a float holds every half step."""


@lru_cache(maxsize=4096)
def sensitivity(score: str, unit: Unit, *, rows: int, child_size: int, parent_cells: int) -> float:
    """Return the most that one person can change the score of a family, rounded up a hair.

    `rows` is public: the number n of records under replace-one with one row for each person, otherwise the N of
    min(n, N) I, declared or measured privately; R and F do not use N. `child_size` and `parent_cells` are the declared
    levels of the child and combinations of its parents. The neighbour relation is that of `unit`.

    With m > 1 rows for each person: neighbours are joined by a chain of m single additions, or, under replace-one, of m
    removals and m additions. The number of rows is then not fixed, so each link is bounded under add-remove, whose
    bounds hold at every n: m times and 2 m times that of one record.

    Examples
    --------
    >>> round(sensitivity("I", Unit("replace-one"), rows=1000, child_size=2, parent_cells=12), 3)
    7.907
    >>> round(sensitivity("R", Unit("add-remove", 3), rows=1000, child_size=5, parent_cells=12), 3)
    6.0
    """
    if score not in SCORES:
        raise unknown_name("score", score, SCORES)
    for name, value, least in (
        ("rows", rows, 0),
        ("child_size", child_size, 1),
        ("parent_cells", parent_cells, 1),
    ):
        if value < least:
            raise InputError(f"{name} must be at least {least}. Got {value}.")
    if score == "F" and child_size != 2:
        raise InputError(
            f"F is defined for a child of 2 declared levels. Got {child_size}. Use R or I."
        )
    shorter, m = min(child_size, parent_cells), unit.rows_per_person
    if unit.replaced and m == 1:
        return UP * {"I": _information_replaced, "R": _r_replaced, "F": _f}[score](rows, shorter)
    single = {"I": _information_added, "R": _r_added, "F": _f}[score](rows, shorter)
    return UP * single * m * (2 if unit.replaced else 1)


def _f(rows: int, shorter: int) -> float:
    """Return the bound of n F under either relation: 1, which is reached. Zhang et al., PrivBayes, section 4.4.

    n F is the largest of -((n/2 - K0)+ + (n/2 - K1)+) over the ways to give each combination of parents to a child
    value, Kx counting the records with value x given to x. Proof. Maxima over the same ways differ by no more than the
    most that one way does, so fix a way. A record more raises both halves by 1/2, and one K by 1 or none: each bracket
    rises or falls by at most 1/2. A record exchanged leaves the halves; if one K moves it moves by 1, and if both do,
    one rises and the other falls by 1: the brackets then move in opposite directions. The sum moves by at most 1.
    """
    return 1.0


def _r_added(rows: int, shorter: int) -> float:
    """Return the bound of n R under add-remove, for every n: 2, which is approached as n grows.

    Proof. With D and (B) of `_r_replaced`, a record added to n others changes D by n/(n+1) (e_y - a)(e_x - b), and n R
    = |D|_1 / 2 by at most half its L1 norm, n/(n+1) 2 (1 - a_y) (1 - b_x) <= 2n/(n+1) < 2. To a table of one filled
    cell, a record in another row and column adds just 2n/(n+1). Added to none, it leaves n R at 0.
    """
    return 2.0


def _information_replaced(n: int, shorter: int) -> float:
    """Return the bound of n I under replace-one (n public), where one side of the table has `shorter` cells.

    2 g((n-1)/2) = 2 log((n+1)/2) + (n-1) log((n+1)/(n-1)), or g(n-1) = log n + (n-1) log(n/(n-1)) if `shorter` is 2:
    the values of PrivBayes, lemma 4.1. Proof. Take the n - 1 records that stay, with margins r and k. The two tables
    add a record at (y, x) and at (y', x'), so that their n I differ by p(y, x) - p(y', x'), at most 2 g((n-1)/2) by
    (A). Let the child have two levels. p(y', x') >= g(k_x'), as g(r_y') >= g(c_y'x'). If x' = x, the difference is at
    most g(r_y) - g(c_yx) <= g(n-1). Otherwise g(r_y) - g(c_yx) <= g(r_y - c_yx) (concave, g(0) = 0) = g(c_yx') <=
    g(k_x'), and what is left is g(k_x) <= g(n-1). Two combinations of parents: the same with rows and columns
    exchanged.

    Tables of one record score 0, and no table of none has a neighbour: any positive number does, here that of n = 2.
    """
    others = max(n, 2) - 1
    return _g(others) if shorter <= 2 else 2 * _g(others / 2)


def _r_replaced(n: int, shorter: int) -> float:
    """Return the bound of n R under replace-one (n public): 3 (n-1)/n, or 2 (n-1)/n if one side has two cells.

    Less than the 3 + 2/n of PrivBayes, section 4.3. The 2 is reached, the 3 approached as n grows. Proof. Let a and b
    be the margins r and k of the m = n - 1 records that stay, divided by m; e_y and e_x a one in place y of a column
    and in place x of a row; D = c - r k / n, so that n R = |D|_1 / 2. One record at (y, x) more changes D of the m
    records by

        (m/n) (e_y - a) (e_x - b)      (multiply out: r and k gain e_y and e_x, and m becomes n)      (B)

    so that D of the two tables differ by m/n times e_y' e_x' - e_y e_x - (e_y' - e_y) b - a (e_x' - e_x), whose L1 norm
    is at most 2 + 2 + 2; half of it is 3. For x = x' it reads (e_y' - e_y)(e_x - b): at most 4. It is convex in b,
    hence largest at a corner of the simplex. If the child has only the levels x and x', these are b = e_x, where it
    reads (e_y' - a)(e_x' - e_x), and b = e_x', where it reads (e_y - a)(e_x' - e_x): at most 4. Half of it is 2. Two
    combinations of parents: the same with rows and columns exchanged.
    """
    n = max(n, 2)  # one record scores 0: any positive number does
    return (2 if shorter <= 2 else 3) * (n - 1) / n


def _information_added(most: int, shorter: int) -> float:
    """Return the bound of min(n, N) I under add-remove, for every n, where the shorter side of the table has K cells.

    max(g(max(N-1, 1)), N/(N+1) (Q - g(N))), where Q is the largest 2 g(qN/2) + J(q) over 0 <= q <= 1 and J(q) = q
    log(2/q) + (1-q) log((K-1)/(1-q)). For K up to 20 and N >= 100 this is g(N-1) < 1 + log N, which is reached.

    Proof. Add a record to a table of n; I becomes I'.
    (1) n < N. (n+1) I' - n I = g(n) - p lies between g(n) - 2 g(n/2) and g(n) by (A). g(n) <= g(N-1), and
    2 g(n/2) - g(n) = g(n+1) - g(1) <= g(n) as g is concave and g(0) = 0: at most g(N-1) either way.
    (2) n >= N >= 1, rising. N (I' - I) = N/(n+1) (g(n) - p - I) <= N g(n)/(n+1). The derivative of g(n)/(n+1) is
    -log(n)/(n+1)^2, so that for N >= 2 this is at most N g(N-1)/N; for N = 1 at most g(1)/2.
    (3) n >= N, falling. N (I - I') = N/(n+1) (p + I - g(n)). Let U tell whether a record lies in row y or column x, as
    a share q do. I <= H(U) + I(given U) <= H(U) + q log 2 + (1-q) log(K-1) = J(q): outside, one side has at most K - 1
    cells left; inside, whether the record lies in row y (one bit) fixes its row, or else its column. With (A) the fall
    is at most N f(n), f(n) = (2 g(qn/2) + J(q) - g(n))/(n+1). The derivative of the bracket is q log(1 + 2/(qn)) -
    log(1 + 1/n), largest at q = 1: log((n+2)/(n+1)) <= 1/(n+1). So f falls wherever its bracket is at least 1, and f(n)
    <= max(f(N), 1/(N+1)), where N/(N+1) < g(1). At n = N take the largest over q.

    Q is the maximum of a concave function: it lies below the tangent at any point, and such a tangent is returned.
    """
    most = max(most, 1)  # with N = 0 all tables score 0
    return max(_g(max(most - 1, 1)), most / (most + 1) * (_largest_fall(most, shorter) - _g(most)))


@lru_cache(maxsize=4096)
def _largest_fall(most: int, shorter: int) -> float:
    """Return Q of `_information_added`: bisection on the slope, then a tangent, which lies above a concave function."""
    if shorter == 1:
        return 0.0  # all tables score 0
    others = shorter - 1

    def slope(q: float) -> float:
        return most * log1p(2 / (q * most)) + log(2 / q) - log(others / (1 - q))

    low, high = (
        1e-9,
        1 - 1e-9,
    )  # the slope is above 0 at the left for any size below 10^17, and below 0 at the right
    for _ in range(50):
        q = (low + high) / 2
        low, high = (q, high) if slope(q) > 0 else (low, q)
    q = (low + high) / 2
    value = 2 * _g(q * most / 2) + q * log(2 / q) + (1 - q) * log(others / (1 - q))
    tilt = slope(q)
    return value + max(tilt * (1 - q), -tilt * q)


def _g(t: float) -> float:
    """Return (t + 1) log(t + 1) - t log t."""
    return log(t + 1) + (t * log1p(1 / t) if t > 0 else 0.0)


def integer_scores(
    values: NDArray[np.float64], sensitivity: float
) -> tuple[NDArray[np.int64], int]:
    """Return scores as whole steps of a grid, and the most whole steps that one person can change them.

    The grid is a power of two that depends on the (public) sensitivity alone: S is between 2^21 and 2^22 steps, so that
    what rounding loses of a score is below a millionth of S. Selection then works on integers, exactly. Under the
    neighbour relation of `sensitivity`:

    Proof. Let v and v' be the scores of neighbours in steps, |v - v'| <= S, and u, u' what was computed of them.
    Scaling by a power of two is exact and holding within +-2^52 moves no two values apart. |floor(u) - floor(u')| < |u
    - u'| + 1, and whole: at most ceil(S) if u and u' are exact, and at most ceil(S) + 1, as returned, if |u - v| + |u'
    - v'| <= 1. n R and n F come from exact integer sums with a rounding of at most 2^-52 n: below half a step, 2^-23 S
    or more, up to n = 2^28. N I comes with an error below 2^-48 N log n (`counts.families`); S >= log N, so that this
    is below half a step for N up to 10^7 and n up to 2^25.

    Examples
    --------
    >>> steps, most = integer_scores(np.array([0.0, 1.5, 3.0]), 2.0)
    >>> (steps / most).round(3).tolist()
    [0.0, 0.75, 1.5]
    """
    if not (isfinite(sensitivity) and sensitivity > 0):
        raise InputError(f"A sensitivity must be a positive number. Got {sensitivity}.")
    if not np.isfinite(values).all():
        raise InputError("Scores must be finite numbers. Leave out families without a score.")
    grid = 2.0 ** floor(STEPS - log2(sensitivity))
    steps = np.floor(np.clip(values * grid, -LIMIT, LIMIT)).astype(np.int64)
    return steps, ceil(sensitivity * grid) + 1
