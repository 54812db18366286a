"""What a column's values allow of its means, sums, spreads and correlations: a number beyond that is of no dataset.

For n numbers between a and b, of which half lie at each end at most, sum (x - mean)^2 is at most (b - a)^2 floor(n/2) ceil(n/2) / n
(Popoviciu 1935, for whole n); if their mean is m, at most n (m - a)(b - m) (Bhatia and Davis 2000, The American Mathematical Monthly
107). The least that is not 0 has one number a step away from all others. Where n is not known the bound is that of the n which allows most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cells import Frame
from .domain import Floats

if TYPE_CHECKING:
    from .kinds.base import OutputSpec


SLACK = 1e-7
"""What a number may lie beyond a bound, as a share of it (at least 1): numbers and bounds are rounded."""


def most_variance(width: float, n: int | None, *, ddof: int, most: int) -> float:
    """Return the largest variance of `n` numbers on a range of some width; of at most `most` numbers where `n` is None.

    Examples
    --------
    >>> most_variance(20.0, 2, ddof=0, most=2), most_variance(20.0, 2, ddof=1, most=2)
    (100.0, 200.0)
    """
    # Even and odd n fall (ddof 1) or stay and rise (ddof 0) on their own, so the first and the last two hold the largest.
    tried = [n] if n is not None else [ddof + 1, ddof + 2, most - 1, most]
    shares = [
        (k // 2) * ((k + 1) // 2) / (k * (k - ddof))
        for k in tried
        if ddof < k <= (most if n is None else k)
    ]
    return width**2 * max(shares, default=0.0)


def least_variance(gap: float, n: int, *, ddof: int) -> float:
    """Return the smallest variance above 0 of `n` numbers that differ by `gap` if they differ.

    Examples
    --------
    >>> least_variance(1.0, 4, ddof=0)
    0.1875
    """
    return gap**2 * (n - 1) / (n * (n - ddof)) if n > ddof else 0.0


def room(number: float) -> float:
    """Return what a number may lie beyond a bound."""
    return SLACK * max(1.0, abs(number))


def bound_in_words(bound: float, n: int | None, threshold: int) -> str:
    """Return a bound as a message shows it, and a comma; nothing where a small number of records could be worked out from it."""
    return f"{bound:.6g}, " if n is None or n >= threshold else ""


def left_values(of: str, output: OutputSpec, frame: Frame) -> Floats:
    """Return the values of a column that an output's filter leaves."""
    return frame.fields[of].values[output.filter(frame).levels(frame.fields.position(of))]
