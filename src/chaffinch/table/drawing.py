"""Numbers that are drawn from the codes of a numeric column: the atom itself, or a draw from the
quantile function of a bin, moved to the digits that are common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import jit
from .._base.errors import SchemaError


@dataclass(frozen=True, eq=False)
class DigitPreference:
    """How common the classes are that numbers of a column fall into in turn: last digits, minutes,
    weekdays.

    `width`: how many units of the column are in one class; `shares`: the share of each class, from
    that of the number 0 on; `smooth`: the shares that drawn numbers have without a grain.
    """

    width: int
    shares: NDArray[np.float64]
    smooth: NDArray[np.float64]

    def __post_init__(self) -> None:
        sound = (
            self.width >= 1
            and 2 <= len(self.shares) == len(self.smooth)
            and all(
                bool(
                    np.isfinite(distribution).all()
                    and (distribution >= 0).all()
                    and abs(distribution.sum() - 1) < 1e-3
                )
                for distribution in (self.shares, self.smooth)
            )
            and bool((self.smooth > 0).all())
        )
        if not sound:
            raise SchemaError(
                "The last digits of a numeric column do not fit together. The file that holds them is damaged."
            )


class BinLayout(NamedTuple):
    """What drawing numbers from codes needs.

    `is_atom` and `position`: whether each code is that of a point mass, and its number among the
    point masses or the bins. `ranks` and `values`: the knots of all bins, one bin after the other,
    from `offsets` on. `first` and `last`: the lowest and the highest number of each bin. `avoid`:
    what no draw from a bin may hit, point masses and missing codes. Numbers are multiples of `step`
    where it is above 0, else of 1 / `scale` where that is.
    """

    is_atom: NDArray[np.bool_]
    position: NDArray[np.int64]
    point_masses: NDArray[Any]
    ranks: NDArray[np.float64]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    first: NDArray[Any]
    last: NDArray[Any]
    avoid: NDArray[Any]
    step: int = 0
    scale: float = 0.0


class ClassShares(NamedTuple):
    """Classes that numbers fall into in turn, `width` steps in one, and how numbers are moved between them.

    A number stays with the odds `stay` of its class; else it takes a class by the running shares
    `taken`. In a bin that has not all classes, one of its own is taken by the weights `wanted`.
    """

    width: int
    stay: NDArray[np.float64]
    taken: NDArray[np.float64]
    wanted: NDArray[np.float64]


MAX_CANDIDATES = 9
"""Numbers of one class that are tried, outwards from the nearest."""


@jit
def _on(value, listed):  # type: ignore[no-untyped-def]
    position = np.searchsorted(listed, value)
    return position < listed.size and listed[position] == value


@jit
def draw_numbers(out, codes, uniform, bins):  # type: ignore[no-untyped-def]
    """Fill in a number for each code: the point mass, or a draw from the bin's quantile function.

    A draw is rounded to the step or the scale of the `BinLayout`, kept between `first` and `last`
    of its bin, and moved to the nearest number of the bin that is not to be avoided.
    """
    ranks, values, avoid, step, scale = bins.ranks, bins.values, bins.avoid, bins.step, bins.scale
    for i in range(codes.size):
        code = codes[i]
        position = bins.position[code]
        if bins.is_atom[code]:
            out[i] = bins.point_masses[position]
            continue
        u = uniform[i]
        j, end = bins.offsets[position], bins.offsets[position + 1] - 1
        while end - j > 1:  # the last knot at or below the rank: of two at one rank the second
            middle = (j + end) // 2
            if ranks[middle] <= u:
                j = middle
            else:
                end = middle
        share = (u - ranks[j]) / (ranks[j + 1] - ranks[j])
        x = values[j] + share * (values[j + 1] - values[j])
        if step > 0:
            x = np.rint(x / step) * step
        elif scale > 0:
            x = np.rint(x * scale) / scale
        low, high = bins.first[position], bins.last[position]
        x = min(max(x, low), high)
        if avoid.size and _on(x, avoid):
            for reach in range(1, 2 * avoid.size + 3):
                if step > 0:
                    below, above = x - reach * step, x + reach * step
                elif scale > 0:
                    below, above = (
                        np.rint(x * scale - reach) / scale,
                        np.rint(x * scale + reach) / scale,
                    )
                else:
                    below, above = np.nextafter(x, -np.inf), np.nextafter(x, np.inf)
                if below >= low and not _on(below, avoid):
                    x = below
                    break
                if above <= high and not _on(above, avoid):
                    x = above
                    break
        out[i] = x


@jit
def _shift(position, start, end, uniform, classes):  # type: ignore[no-untyped-def]
    """Return whether a number stays in its class, and else how many classes it moves, inside the places from `start` to `end` of its bin."""
    n_classes = classes.stay.size
    if end - start + 1 < n_classes:
        total = 0.0
        for other in range(start, end + 1):
            total += classes.wanted[other % n_classes]
        rest, target = uniform * total, start
        while target < end and rest >= classes.wanted[target % n_classes]:
            rest -= classes.wanted[target % n_classes]
            target += 1
        return False, target - position
    own_class = position % n_classes
    stay = classes.stay[own_class]
    if uniform < stay:
        return True, 0
    taken = np.searchsorted(classes.taken, (uniform - stay) / (1.0 - stay), side="right")
    apart = (min(taken, n_classes - 1) - own_class) % n_classes
    if 2 * apart > n_classes:
        apart -= n_classes
    if position + apart > end:
        apart -= n_classes
    elif position + apart < start:
        apart += n_classes
    return False, apart


@jit
def move_to_classes(out, codes, uniform, bins, fixed, classes):  # type: ignore[no-untyped-def]
    """Move numbers to the nearest ones of classes that take turns, so that classes have the shares
    they are wanted with (`ClassShares`).

    Positions are numbers in steps, or in units of 1 / `scale`. Point masses, and what is `fixed`, do
    not move, and no number moves there.
    """
    step, scale = max(bins.step, 1), bins.scale
    for i in range(codes.size):
        if bins.is_atom[codes[i]] or _on(out[i], fixed):
            continue
        index = bins.position[codes[i]]
        low, high = bins.first[index], bins.last[index]
        if scale > 0:
            here = np.int64(np.rint(out[i] * scale))
            lowest = np.int64(np.ceil(low * scale - 1e-6))
            highest = np.int64(np.floor(high * scale + 1e-6))
        else:
            here = np.int64(out[i]) // step
            lowest, highest = np.int64(np.ceil(low / step)), np.int64(np.floor(high / step))
        width = classes.width
        start, end = lowest // width, highest // width
        stays, shift = _shift(here // width, start, end, uniform[i], classes)
        if stays:
            continue
        for reach in range(MAX_CANDIDATES):
            # Where it may not be, the same class a cycle away: above, below, two above.
            cycles = (reach + 1) // 2 * (1 if reach % 2 else -1)
            target = here + (shift + cycles * classes.stay.size) * width
            if reach == 0:
                target = min(max(target, lowest), highest)
            if target < lowest or target > highest:
                continue
            if scale > 0:
                number = np.float64(target) / scale
                if number >= low and number <= high and not _on(number, fixed):
                    out[i] = number
                    break
            elif not _on(target * step, fixed):
                out[i] = target * step
                break
