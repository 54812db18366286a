"""Numbers that are drawn from the codes of a numeric column: the atom itself, or a draw from the
quantile function of a bin, moved to the digits that are common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import compiled
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
    """The arrays that drawing numbers from codes needs, in the order of `draw_numbers`.

    `is_atom` and `position`: whether each code is that of a point mass, and its number among the
    point masses or the bins. `ranks` and `values`: the knots of all bins, one bin after the other,
    from `offsets` on. `first` and `last`: the lowest and the highest number of each bin. `avoid`:
    what no draw from a bin may hit, point masses and missing codes.
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


MOST_TURNS = 9
"""Numbers of one class that are tried, outwards from the nearest."""


@compiled
def _on(value, listed):  # type: ignore[no-untyped-def]
    position = np.searchsorted(listed, value)
    return position < listed.size and listed[position] == value


@compiled
def draw_numbers(  # type: ignore[no-untyped-def]
    out,
    codes,
    uniform,
    is_atom,
    index,
    point_masses,
    ranks,
    values,
    offsets,
    first,
    last,
    avoid,
    step,
    scale,
):
    """Fill in a number for each code: the point mass, or a draw from the bin's quantile function.

    A draw is rounded to a multiple of `step` (above 0), or else to 1 / `scale` (above 0), kept
    between `first` and `last` of its bin, and moved to the nearest number of the bin that is not to
    be avoided (point masses, missing codes).
    """
    for i in range(codes.size):
        code = codes[i]
        position = index[code]
        if is_atom[code]:
            out[i] = point_masses[position]
            continue
        u = uniform[i]
        j, end = offsets[position], offsets[position + 1] - 1
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
        low, high = first[position], last[position]
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


@compiled
def move_to_classes(  # type: ignore[no-untyped-def]
    out, codes, uniform, is_atom, index, first, last, fixed, width, stay, taken, wanted, step, scale
):
    """Move numbers to the nearest ones of classes that take turns, so that classes have the shares
    they are wanted with.

    Positions are numbers in steps, or in units of 1 / `scale` (above 0); `width` of them are in one
    class. A number stays with the odds `stay` of its class; else it takes a class by the running
    shares `taken`. In a bin that has not all classes, one of its own is taken by the weights
    `wanted`. Atoms, and what is `fixed`, do not move, and no number moves there.
    """
    classes = stay.size
    for i in range(codes.size):
        code = codes[i]
        if is_atom[code] or _on(out[i], fixed):
            continue
        low, high = first[index[code]], last[index[code]]
        if scale > 0:
            here = np.int64(np.rint(out[i] * scale))
            lowest, highest = (
                np.int64(np.ceil(low * scale - 1e-6)),
                np.int64(np.floor(high * scale + 1e-6)),
            )
        else:
            here = np.int64(out[i]) // step
            lowest, highest = np.int64(np.ceil(low / step)), np.int64(np.floor(high / step))
        cell, start, end = here // width, lowest // width, highest // width
        u = uniform[i]
        if end - start + 1 < classes:
            total = 0.0
            for t in range(start, end + 1):
                total += wanted[t % classes]
            u *= total
            to = start
            while to < end and u >= wanted[to % classes]:
                u -= wanted[to % classes]
                to += 1
        else:
            own_class = cell % classes
            if u < stay[own_class]:
                continue
            to = min(
                np.searchsorted(
                    taken, (u - stay[own_class]) / (1.0 - stay[own_class]), side="right"
                ),
                classes - 1,
            )
            apart = (to - own_class) % classes
            if 2 * apart > classes:
                apart -= classes
            to = cell + apart
            if to > end:
                to -= classes
            elif to < start:
                to += classes
        for reach in range(
            MOST_TURNS
        ):  # where it may not be, the same class a turn away: above, below, two above
            away = (reach + 1) // 2 * (1 if reach % 2 else -1) * classes
            target = here + (to + away - cell) * width
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
