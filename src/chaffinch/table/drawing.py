"""The compiled loop that draws numbers for codes of a numeric column."""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["draw_numbers"]


@numba.njit(nogil=True, cache=True)
def _on(value, listed):  # type: ignore[no-untyped-def]
    at = np.searchsorted(listed, value)
    return at < listed.size and listed[at] == value


@numba.njit(nogil=True, cache=True)
def draw_numbers(out, codes, uniform, is_atom, index, atoms, ranks, values, offsets, first, last, avoid, step, scale):  # type: ignore[no-untyped-def]
    """Fill in a number for each code: the atom, or a draw from the bin's quantile function.

    A draw is rounded to a multiple of `step` (above 0), or else to 1 / `scale` (above 0), kept between `first` and
    `last` of its bin, and moved to the nearest number of the bin that is not to be avoided (atoms, missing codes).
    """
    for i in range(codes.size):
        code = codes[i]
        at = index[code]
        if is_atom[code]:
            out[i] = atoms[at]
            continue
        u = uniform[i]
        j, end = offsets[at], offsets[at + 1] - 1
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
        low, high = first[at], last[at]
        x = min(max(x, low), high)
        if avoid.size and _on(x, avoid):
            for reach in range(1, 2 * avoid.size + 3):
                if step > 0:
                    below, above = x - reach * step, x + reach * step
                elif scale > 0:
                    below, above = np.rint(x * scale - reach) / scale, np.rint(x * scale + reach) / scale
                else:
                    below, above = np.nextafter(x, -np.inf), np.nextafter(x, np.inf)
                if below >= low and not _on(below, avoid):
                    x = below
                    break
                if above <= high and not _on(above, avoid):
                    x = above
                    break
        out[i] = x
