"""Whole numbers that look as if each had been given to one person: almost all differ, and not as a measure's do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..profile import Profile

ODDS = 1e-4
"""The chance with which numbers of independent records are taken for ones that were given out once."""

FEWEST = 20
"""Records from which numbers are looked at."""

FEWEST_FLAT = 50
"""Records from which an even spread says something."""

FLAT = 6
"""Digits from which numbers that spread evenly are taken for personal ones."""

LONG = 9
"""Digits from which whole numbers that are all of one length and almost all different are taken for personal ones."""

ALMOST_ALL = 0.95


def given_out_once(profile: Profile) -> bool:
    """Return whether whole numbers look as if each was given to one person: almost all differ, and not as a measure's do.

    Three signs, each of them enough. *Fewer equals than neighbours*: of two independent records of a measure, both have the same number about as
    often as the second has the one a step above the first's, since a smooth density has no holes beside its values and people round to
    the same numbers; numbers that were given out once have neighbours and no equals. *Long*: nine digits or more, nearly all of one length.
    *Flat*: all different, all of one length of six digits or more, as often near one end of their range as near any other place, and not
    rounded: amounts of money and numbers of people are skewed, and end in zeros.
    """
    values, counts = profile.numbers.result()
    n = float(counts.sum())
    if not profile.numbers.exact or n < FEWEST or len(values) < ALMOST_ALL * n or _is_grid(values):
        return False
    whole = values.astype(np.int64)
    if (
        _poisson_below(float((counts * (counts - 1) / 2).sum()), _expected_equals(whole, counts))
        < ODDS
    ):
        return True
    lengths = 1 + np.searchsorted(10 ** np.arange(1, 19), np.abs(whole), side="right")
    most = int(np.bincount(lengths, weights=counts).argmax())
    if most >= LONG:
        return bool(counts[lengths == most].sum() >= 0.85 * n)
    return bool(most >= FLAT and (lengths == most).all() and len(values) == n and _is_flat(whole))


def _is_grid(values: NDArray[np.int64]) -> bool:
    """Whether sorted numbers go by one step of two or more, as years of a series do and numbers that were given out do not."""
    gaps = np.diff(values)
    return bool(gaps.min() == gaps.max() and gaps[0] > 1)


def _expected_equals(values: NDArray[np.int64], counts: NDArray[np.float64]) -> float:
    """How many pairs of records should be equal if all were drawn by themselves: by the pairs that are a few steps apart."""
    gaps = np.diff(values)
    step = int(np.gcd.reduce(gaps))
    reach = max(step, int(np.median(gaps)) // step * step)
    last = np.searchsorted(values, values + reach, side="right")
    below = np.concatenate([[0.0], np.cumsum(counts)])
    near = float((counts * (below[last] - below[np.arange(len(values)) + 1])).sum())
    return near / (2 * reach / step)


def _is_flat(values: NDArray[np.int64]) -> bool:
    """Whether sorted numbers spread evenly over their range (Kolmogorov and Smirnov's distance, at 1 %) and are not rounded."""
    n = len(values)
    if n < FEWEST_FLAT or (values % 10 == 0).mean() > 0.2:
        return False
    place = (values[1:-1] - values[0]) / (values[-1] - values[0])
    rank = np.arange(1, n - 1) / (n - 2)
    distance = max(float((rank - place).max()), float((place - rank + 1 / (n - 2)).max()))
    return bool(distance * np.sqrt(n - 2) < 1.63)


def _poisson_below(seen: float, expected: float) -> float:
    """The chance that a Poisson count is at most as large as what was seen."""
    if expected <= 0:
        return 1.0
    steps = np.log(
        expected / np.arange(1, int(seen) + 1)
    )  # from the logarithm of one term to that of the next
    return float(np.exp(np.concatenate([[0.0], np.cumsum(steps)]) - expected).sum())


def given_out_in_order(profile: Profile) -> bool:
    """Return whether whole numbers rise from each row to the next, by steps that differ: as numbers do that were given out as people came.

    Tables may be sorted by a measure, but measures have equals; and by time, but years and days of a series go by one step.
    """
    values, counts = profile.numbers.result()
    if not profile.rising or len(values) < FEWEST or profile.n_present < profile.n_rows:
        return False
    steps = np.diff(values)
    return bool(counts.max() == 1 and steps.min() < steps.max())
