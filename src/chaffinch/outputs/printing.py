"""Numbers as an output prints them: rounded, with so many digits, withheld or banded.

`digits` are written by an example: "0.0000" for four decimals, "0.000e+00" for four significant digits. What is printed here is read
back by `precision.py`, and the interval that comes out holds the number.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np

from .._base.errors import InputError
from .precision import SUPPRESSED, UNKNOWN, count_interval

WITHHELD = "x"


def style_of(number: object) -> str | None:
    """Return the digits of a printed number by an example; None for one that is no text, and so has none of its own.

    Examples
    --------
    >>> style_of("1.2300"), style_of("3.241e+04"), style_of("-17"), style_of(1.23)
    ('0.0000', '0.000e+00', '0', None)
    """
    if not isinstance(number, str):
        return None
    text = number.strip().replace("\u2212", "-")
    try:
        exact = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exact.exponent, int):
        return None
    if "e" in text.lower():
        places = len(text.lower().partition("e")[0].partition(".")[2])
        return f"{_zeros(places)}e+00"
    return _zeros(max(-exact.exponent, 0))


def _zeros(places: int) -> str:
    return f"0.{'0' * places}" if places else "0"


def rounded(value: float, style: str | int | None, decimals: int | None) -> float | str:
    """Return a number as printed: text with the digits of a style, else rounded to decimals, else as it is.

    Examples
    --------
    >>> rounded(32411.2, "0.000e+00", None), rounded(0.12345, 3, None), rounded(0.12345, None, 2), rounded(0.5, None, None)
    ('3.241e+04', '0.123', 0.12, 0.5)
    """
    if style is None:
        return (
            value if decimals is None else round(value, decimals)
        ) + 0.0  # no minus before a zero
    if isinstance(style, int):
        return f"{value:.{style}f}"
    head, exponent, _ = style.partition("e")
    return f"{value:.{len(head.partition('.')[2])}{'e' if exponent else 'f'}}"


def is_withheld(number: object) -> bool:
    """Return whether a number is marked as withheld or not known."""
    if isinstance(number, str):
        return number.strip() == UNKNOWN or number.strip().lower() in SUPPRESSED
    return number is None


def digits_in(numbers: Iterable[object], names: Sequence[str]) -> str | dict[str, str] | None:
    """Return the style that printed numbers share, or the styles by name where they differ; None if none has one.

    Examples
    --------
    >>> digits_in(["1.20", "0.51"], ["a", "b"]), digits_in(["1.20", "3.1e+04"], ["a", "b"]), digits_in([1.2], ["a"])
    ('0.00', {'a': '0.00', 'b': '0.0e+00'}, None)
    """
    styles = {
        name: style_of(number)
        for name, number in zip(names, numbers, strict=True)
        if not is_withheld(number)
    }
    different = set(styles.values())
    if different <= {None}:
        return None
    if len(different) == 1:
        return next(iter(different))
    return {name: style for name, style in styles.items() if style is not None}


def bands_in(cells: Iterable[object]) -> list[str]:
    """Return the words that stand for ranges of counts ("<10", "5-9", ">=20"), each once, the narrowest first."""
    words = {cell.strip() for cell in cells if isinstance(cell, str) and not is_withheld(cell)}
    ranges = {word: count_interval(word, most=2**62) for word in words}
    return sorted(
        (word for word, (lo, hi) in ranges.items() if hi > lo),
        key=lambda word: (ranges[word][1] - ranges[word][0], word),
    )


@dataclass(frozen=True, eq=False)
class Printer:
    """How one output prints its numbers, and which it withholds.

    Examples
    --------
    >>> printer = Printer("t", bands=["<10"], base=5, decimals=1)
    >>> printer.counts([0, 3, 23], ["a", "b", "c"]), printer.number(1.26, "values", "a")
    ([0, '<10', 25], 1.3)
    """

    name: str  # The output's: random rounding is the same whenever the output is computed, and another for another output
    # decimals, digits: How numbers are printed: all of them, and by key
    decimals: int | None = None
    digits: Mapping[str, Any] = field(default_factory=dict)
    # threshold, suppressed_zeros, bands, base, rounding: How counts are withheld, banded and rounded
    threshold: int | None = None
    suppressed_zeros: bool = False
    bands: Sequence[str] = ()
    withheld: Sequence[str] = ()  # Names of numbers that are withheld whatever they are
    base: int = 1
    rounding: str = "nearest"

    @cached_property
    def _ranges(self) -> list[tuple[str, int, int]]:
        return [
            (band, *count_interval(band, most=2**62, suppressed_zeros=self.suppressed_zeros))
            for band in self.bands
        ]

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(
            int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")
        )

    @property
    def suppresses(self) -> bool:
        """Whether the output withholds anything, so that a number which does not exist may be withheld, too."""
        return self.threshold is not None or bool(self.withheld)

    def few(self, count: int) -> bool:
        """Return whether what so few records make up is withheld."""
        return (
            self.threshold is not None
            and (0 if self.suppressed_zeros else 1) <= count < self.threshold
        )

    def counts(self, counts: Iterable[int], names: Iterable[str]) -> list[int | str]:
        """Return counts as printed."""
        return [self._count(int(count), name) for count, name in zip(counts, names, strict=True)]

    def _count(self, count: int, name: str) -> int | str:
        if name in self.withheld:
            return UNKNOWN
        for band, low, high in self._ranges:
            if low <= count <= high:
                return band
        return WITHHELD if self.few(count) else self._based(count)

    def _based(self, count: int) -> int:
        below, rest = divmod(count, self.base)
        if rest == 0:
            return count
        up = {"nearest": 2 * rest >= self.base, "down": False, "up": True}.get(self.rounding)
        if up is None:
            up = self._rng.random() * self.base < rest
        return self.base * (below + int(up))

    def number(self, value: float, key: str, name: str) -> float | str:
        """Return one of the numbers under a key as printed."""
        if not math.isfinite(value):
            raise InputError(f"Output '{self.name}': {key} has a number that is not finite.")
        styles = self.digits.get(key)
        style = styles.get(name) if isinstance(styles, Mapping) else styles
        return rounded(float(value), style, self.decimals)
