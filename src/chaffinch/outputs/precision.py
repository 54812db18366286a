"""From a printed number to the interval that it leaves: decimals, rounding to a base, suppression, percentages.

A number that stands in a file as a number is exact, unless its output says how many `decimals` were printed; a number in quotes keeps its
digits, trailing zeros included: "1.2300" is 1.22995 to 1.23005 and "3.241e+04" is 32405 to 32415. Ends belong to the interval, since
programs differ in how they round a tie.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from .._base.errors import InputError
from .._base.masking import THRESHOLD

Rounding = Literal["nearest", "down", "up", "random"]
ROUNDINGS = ("nearest", "down", "up", "random")

SUPPRESSED = ("", "*", "x", "c", "s", ":", "..", "suppressed")
"""How tables mark a cell that is withheld."""
UNKNOWN = "?"
UNSAID = (None, "", "x", "*", "?", "..")
"""How a number that is no count is withheld."""

_SLACK = 1e-9
_COMPARED = re.compile(r"(<=|>=|<|>)\s*(\d+)")
_RANGE = re.compile(r"(\d+)\s*(?:-|\.\.|to)\s*(\d+)")


class Interval(NamedTuple):
    """Two ends, both included."""

    lo: float
    hi: float

    @property
    def middle(self) -> float:
        """The number half way: the one that was printed."""
        return 0.5 * (self.lo + self.hi)

    @property
    def half(self) -> float:
        """Half the width."""
        return 0.5 * (self.hi - self.lo)


def people(count: int, threshold: int) -> str:
    """Return a number of records as messages may show it: not the small ones.

    Examples
    --------
    >>> people(12, 10), people(3, 10)
    ('12', 'fewer than 10')
    """
    return str(count) if count >= threshold else f"fewer than {threshold}"


def printed(number: object, *, decimals: int | None = None, what: str = "A number") -> Interval:
    """Return the interval of numbers that print as this one.

    Examples
    --------
    >>> printed(2.5), printed(2.5, decimals=1)
    (Interval(lo=2.5, hi=2.5), Interval(lo=2.45, hi=2.55))
    >>> printed("3.241e+04")
    Interval(lo=32405.0, hi=32415.0)
    """
    if isinstance(number, str):
        try:
            exact = Decimal(number.strip().replace("\u2212", "-"))
        except InvalidOperation:
            raise InputError(
                f"{what} must be a number, or one in quotes with its digits. Got other words."
            ) from None
        exponent = exact.as_tuple().exponent
        if not isinstance(exponent, int) or exponent < -2000 or exact.adjusted() > 300:
            raise InputError(f"{what} must be finite.")
        half = Decimal(5).scaleb(exponent - 1)
        return Interval(float(exact - half), float(exact + half))
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InputError(f"{what} must be a number, or one in quotes with its digits.")
    if not math.isfinite(number):
        raise InputError(f"{what} must be finite.")
    if decimals is None:
        return Interval(float(number), float(number))
    exact, half = Decimal(repr(number)), Decimal(5).scaleb(-decimals - 1)
    return Interval(float(exact - half), float(exact + half))


def count_interval(
    cell: object,
    *,
    most: int,
    threshold: int | None = None,
    suppressed_zeros: bool = False,
    base: int = 1,
    rounding: Rounding = "nearest",
    what: str = "A count",
) -> tuple[int, int]:
    """Return the least and the largest count that a table's cell leaves.

    Parameters
    ----------
    cell
        A count; "<10", "<=9", ">=20" or "5-9"; None or one of the usual signs for a suppressed cell; "?" for one that says nothing.
    most
        The number of records: no count is larger.
    threshold
        Suppressed cells have 1 to threshold - 1 records; from 0 with `suppressed_zeros`.
    base, rounding
        What counts were rounded to. `nearest` leaves half a base on either side, `down` and `up` less than a base on one,
        `random` less than a base on both.

    Examples
    --------
    >>> count_interval(12, most=100), count_interval("<10", most=100), count_interval(10, most=100, base=5)
    ((12, 12), (1, 9), (8, 12))
    >>> count_interval(None, most=100, threshold=5, suppressed_zeros=True)
    (0, 4)
    """
    least = 0 if suppressed_zeros else 1
    if isinstance(cell, str):
        cell = cell.strip()
        if cell == UNKNOWN:
            return 0, most
        if match := _COMPARED.fullmatch(cell):
            sign, bound = match[1], int(match[2])
            if sign[0] == "<":
                return _ordered(least, bound - (sign == "<"), what)
            return _ordered(bound + (sign == ">"), most, what)
        if match := _RANGE.fullmatch(cell):
            return _ordered(int(match[1]), int(match[2]), what)
        if cell.lower() in SUPPRESSED:
            cell = None
        elif cell.isascii() and cell.replace(",", "").isdigit():
            cell = int(cell.replace(",", ""))
    if cell is None:
        if threshold is None:
            raise InputError(
                f'{what} is suppressed: say below which count, with threshold = 10 or by writing "<10".'
            )
        return _ordered(least, threshold - 1, what)
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, bool) or not isinstance(cell, int) or cell < 0:
        raise InputError(
            f'{what} must be a whole number of at least 0, or words such as "<10", "5-9" or "?".'
        )
    below = {"nearest": base // 2, "down": 0, "up": base - 1, "random": base - 1}[rounding]
    above = {"nearest": base // 2, "down": base - 1, "up": 0, "random": base - 1}[rounding]
    return max(cell - below, 0), cell + above


def _ordered(low: int, high: int, what: str) -> tuple[int, int]:
    if low > high:
        raise InputError(
            f"{what} leaves no count: its threshold is too small, or its ends are in the wrong order."
        )
    return low, high


def share_interval(
    cell: object, *, decimals: int | None, what: str = "A percentage"
) -> Interval | None:
    """Return the interval of shares, 0 to 1, behind a printed percentage; None where it is suppressed or unknown.

    Examples
    --------
    >>> share_interval(50, decimals=0)
    Interval(lo=0.495, hi=0.505)
    """
    if cell is None or (
        isinstance(cell, str) and (cell.strip() == UNKNOWN or cell.strip().lower() in SUPPRESSED)
    ):
        return None
    low, high = printed(cell, decimals=decimals, what=what)
    if low > 100.0 or high < 0.0:
        raise InputError(f"{what} must lie between 0 and 100.")
    return Interval(max(low, 0.0) / 100.0, min(high, 100.0) / 100.0)


def within_share(
    share: Interval, total: int, *, what: str = "A percentage", threshold: int = THRESHOLD
) -> tuple[int, int]:
    """Return the least and the largest count that make up a share of a total; InputError where no count does.

    Examples
    --------
    >>> within_share(Interval(0.3325, 0.3335), 300)
    (100, 100)
    """
    slack = _SLACK * max(total, 1)
    low, high = math.ceil(share.lo * total - slack), math.floor(share.hi * total + slack)
    if low > high:
        raise InputError(
            f"{what}: no count out of its total of {people(total, threshold)} records prints as this. Give its decimals, or check n."
        )
    return max(low, 0), min(high, total)
