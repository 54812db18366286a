"""Numbers that are formulas of sums over records, with derivatives that need no formulas of their own.

A formula that is written for complex numbers gives its derivative by any sum to the last digit: the imaginary part at S + i h, divided by h
(Squire and Trapp 1998, SIAM Review 40: "Using complex variables to estimate derivatives of real functions"). Numbers that no such formula
has, p-values and the ends of intervals, are derived from others by differences.

Searches make numbers linear in the sums. A p-value is far from that, and so is an odds ratio: equations have the normal quantile that half of a p-value lies
beyond, which is nearly the size of the statistic, and the logarithm of an odds ratio. A two-sided p-value does not say on which side the statistic
lies; where another number does, the quantile is below 0 on the other side, so that a search does not stay there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats
from ..numbers import Interval

Alternative = Literal["two-sided", "less", "greater"]
STEP = 1e-30
"""The imaginary step. Nothing is subtracted, so that it may be as small as it likes."""
LEAST_P = 1e-300
"""The smallest p-value that equations distinguish."""
LEAST_ODDS = 1e-9
"""The smallest odds ratio that equations distinguish."""


def scale_number(key: str, value: float) -> tuple[float, float]:
    """Return a number as equations have it, and how that changes with the number: p-values and odds ratios on a scale of their own.

    Examples
    --------
    >>> scale_number("p_value", 1.0), scale_number("statistic", 2.5)
    ((0.0, -1.2533141373155001), (2.5, 1.0))
    """
    if key == "p_value":
        from scipy.special import ndtri

        z = -float(ndtri(0.5 * min(max(value, LEAST_P), 1.0))) + 0.0
        return z, -0.5 * math.sqrt(2.0 * math.pi) * math.exp(0.5 * z * z)
    if key == "odds_ratio":
        return math.log(max(value, LEAST_ODDS)), 1.0 / max(value, LEAST_ODDS)
    return value, 1.0


def scale_interval(key: str, interval: Interval) -> Interval:
    """Return the interval of a number as equations have it."""
    ends = scale_number(key, interval.lo)[0], scale_number(key, interval.hi)[0]
    return Interval(min(ends), max(ends))


def at_least(numbers: NDArray[Any], bound: float) -> NDArray[Any]:
    """Return numbers, complex or not, with those below a bound raised to it, where they no longer change."""
    return np.where(numbers.real < bound, bound, numbers)


def raise_to(numbers: NDArray[Any], bound: Any) -> NDArray[Any]:
    """Return numbers with those below a bound raised to it, their derivatives kept.

    Examples
    --------
    >>> raise_to(np.array([1.0 + 2.0j, 5.0]), 3.0)
    array([3.+2.j, 5.+0.j])
    """
    shifted: NDArray[Any] = numbers + np.maximum(bound - numbers.real, 0.0)
    return shifted


def tail(alternative: Alternative, statistic: float) -> tuple[float, float]:
    """Return how many tails a p-value has, and the sign with which a symmetric statistic counts in its distribution function."""
    two_sided = (2.0, -math.copysign(1.0, statistic))
    return {"less": (1.0, 1.0), "greater": (1.0, -1.0), "two-sided": two_sided}[alternative]


class Derived(NamedTuple):
    """A number that follows from others, with its derivatives by these."""

    value: float
    slopes: Mapping[str, float]

    @classmethod
    def from_function(cls, function: Callable[..., float], **numbers: float) -> Derived:
        """Return a function of numbers by name, with its derivatives by central differences.

        Examples
        --------
        >>> square = Derived.from_function(lambda side: side**2, side=3.0)
        >>> square.value, round(square.slopes["side"], 6)
        (9.0, 6.0)
        """
        slopes = {}
        for key, number in numbers.items():
            step = 1e-5 * max(abs(number), 1.0)
            above, below = (
                function(**{**numbers, key: number + sign * step}) for sign in (1.0, -1.0)
            )
            slopes[key] = float(above - below) / (2.0 * step)
        return cls(float(function(**numbers)), slopes)


class Formulas(ABC):
    """Some of the numbers that are formulas of sums: a reading as a `SumSystem` takes it. `toward` are all that are published."""

    def __init__(self, keys: Sequence[str], toward: Mapping[str, float] | None = None) -> None:
        self.keys, self.toward = tuple(keys), dict(toward or {})

    @abstractmethod
    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return numbers by key out of sums (..., p), real or complex."""

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        """Return numbers that follow from those of the formulas; none unless said."""
        return {}

    def has_wrong_sign(self, numbers: Mapping[str, float]) -> bool:
        """Return whether the statistic lies on another side than the published one; False where that is not known."""
        return False

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether records with such sums have no numbers of this kind."""
        return False

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers the records do not have: all or none."""
        return np.full(len(self.keys), self.is_undefined(sums))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by all sums."""
        moved = np.vstack([sums, sums + 1j * STEP * np.eye(len(sums))])
        formulas = self.formulas(moved)
        numbers = {key: float(number[0].real) for key, number in formulas.items()}
        slopes = {key: number[1:].imag / STEP for key, number in formulas.items()}
        for key, derived in self.derive(numbers).items():
            numbers[key] = derived.value
            slopes[key] = sum(
                (slope * slopes[other] for other, slope in derived.slopes.items()),
                np.zeros(len(sums)),
            )
        scales = [scale_number(key, numbers[key]) for key in self.keys]
        if "p_value" in self.keys and self.has_wrong_sign(numbers):
            scales = [
                (-z, -by) if key == "p_value" else (z, by)
                for key, (z, by) in zip(self.keys, scales, strict=True)
            ]
        slope = np.stack([slopes[key] * by for key, (_, by) in zip(self.keys, scales, strict=True)])
        return np.array([value for value, _ in scales]), slope


class GroupFormulas(ABC):
    """One number for each of some groups, out of `width` sums of that group alone: a reading with derivatives as above."""

    def __init__(self, groups: Sequence[int], width: int) -> None:
        self.groups, self.width = np.array(groups, dtype=np.int64), width

    @abstractmethod
    def formula(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the number of each group out of sums (..., groups, width), real or complex."""

    @abstractmethod
    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which groups have no number, out of sums (groups, width)."""

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers the records do not have."""
        return self.is_undefined(sums.reshape(-1, self.width)[self.groups])

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the numbers of the published groups, and their derivatives by all sums."""
        sums_of_groups = sums.reshape(-1, self.width)[self.groups]
        moved = sums_of_groups + 1j * STEP * np.eye(self.width + 1, self.width, -1)[:, None, :]
        numbers, slope = self.formula(moved), np.zeros((len(self.groups), len(sums)))
        columns = self.groups[:, None] * self.width + np.arange(self.width)
        np.put_along_axis(slope, columns, numbers[1:].imag.T / STEP, axis=1)
        return numbers[0].real, slope
