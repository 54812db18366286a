"""Numbers that are formulas of sums over records, with derivatives that need no formulas of their own.

A formula that is written for complex numbers gives its derivative by any sum to the last digit: the imaginary part at S + i h, divided by h
(Squire and Trapp 1998, SIAM Review 40: "Using complex variables to estimate derivatives of real functions"). Numbers that no such formula
has, p-values and the ends of intervals, follow from others, and say how they change with these.

Searches make numbers linear in the sums. A p-value is far from that, and so is an odds ratio: equations have the normal quantile that half of a p-value lies
beyond, which is nearly the size of the statistic, and the logarithm of an odds ratio. A two-sided p-value does not say on which side the statistic
lies; where another number does, the quantile is below 0 on the other side, so that a search does not stay there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats
from ..precision import Interval

STEP = 1e-30
"""The imaginary step. Nothing is subtracted, so that it may be as small as it likes."""


LEAST_P = 1e-300
"""P-values below this are not told apart,"""
LEAST_ODDS = 1e-9
"""nor odds ratios below this."""


def scaled(key: str, value: float) -> tuple[float, float]:
    """Return a number as equations have it, and how that changes with the number: p-values and odds ratios on a scale of their own.

    Examples
    --------
    >>> scaled("p_value", 1.0), scaled("statistic", 2.5)
    ((0.0, -1.2533141373155001), (2.5, 1.0))
    """
    if key == "p_value":
        from scipy.special import ndtri

        z = -float(ndtri(0.5 * min(max(value, LEAST_P), 1.0))) + 0.0
        return z, -0.5 * math.sqrt(2.0 * math.pi) * math.exp(0.5 * z * z)
    if key == "odds_ratio":
        return math.log(max(value, LEAST_ODDS)), 1.0 / max(value, LEAST_ODDS)
    return value, 1.0


def scaled_interval(key: str, interval: Interval) -> Interval:
    """Return the interval of a number as equations have it."""
    ends = scaled(key, interval.lo)[0], scaled(key, interval.hi)[0]
    return Interval(min(ends), max(ends))


def at_least(numbers: NDArray[Any], least: float) -> NDArray[Any]:
    """Return numbers, complex or not, with those below a bound raised to it."""
    return np.where(numbers.real < least, least, numbers)


class Followed(NamedTuple):
    """A number that follows from others, with its derivatives by these."""

    value: float
    slopes: Mapping[str, float]


class SmoothNumbers(ABC):
    """Some of the numbers that are formulas of sums: a reading as a `SumSystem` takes it. `toward` are all that are published."""

    def __init__(self, keys: Sequence[str], toward: Mapping[str, float]) -> None:
        self.keys, self.toward = tuple(keys), dict(toward)

    @abstractmethod
    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return numbers by key out of sums (..., p), real or complex."""

    def follow(self, numbers: Mapping[str, float]) -> Mapping[str, Followed]:
        """Return numbers that follow from those of the formulas; none unless said."""
        return {}

    def opposite(self, numbers: Mapping[str, float]) -> bool:
        """Return whether the statistic lies on another side than the published one; False where that is not known."""
        return False

    def lacking(self, sums: Floats) -> bool:
        """Return whether records with such sums have no numbers of this kind."""
        return False

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers the records do not have: all or none."""
        return np.full(len(self.keys), self.lacking(sums))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by all sums."""
        moved = np.vstack([sums, sums + 1j * STEP * np.eye(len(sums))])
        formulas = self.formulas(moved)
        numbers = {key: float(some[0].real) for key, some in formulas.items()}
        slopes = {key: some[1:].imag / STEP for key, some in formulas.items()}
        for key, one in self.follow(numbers).items():
            numbers[key] = one.value
            slopes[key] = sum(
                (slope * slopes[other] for other, slope in one.slopes.items()), np.zeros(len(sums))
            )
        scales = [scaled(key, numbers[key]) for key in self.keys]
        if "p_value" in self.keys and self.opposite(numbers):
            scales = [
                (-z, -by) if key == "p_value" else (z, by)
                for key, (z, by) in zip(self.keys, scales, strict=True)
            ]
        slope = np.stack([slopes[key] * by for key, (_, by) in zip(self.keys, scales, strict=True)])
        return np.array([value for value, _ in scales]), slope
