"""Numbers of outputs: the interval that a printed number leaves, how numbers are printed, and published numbers beside those of records.

A number that stands in a file as a number is exact, unless its output says how many `decimals` were printed; a number in quotes keeps its
digits, trailing zeros included: "1.2300" is 1.22995 to 1.23005 and "3.241e+04" is 32405 to 32415. Ends belong to the interval, since
programs differ in how they round a tie. `digits` are written by an example: "0.0000" for four decimals, "0.000e+00" for four significant
digits. The interval of what is printed here holds the number.

`compare_numbers` computes every published number again from evolved records, by other code than the engines'; without statsmodels regressions are
marked as not refitted.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._base.errors import InputError, MissingExtraError
from .._base.masking import THRESHOLD
from .domain import Codes

if TYPE_CHECKING:
    from .document import Outputs
    from .domain import OutputDomain
    from .kinds.base import OutputSpec

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
WITHHELD = "x"
TOLERANCE = 1e-3
"""Standard errors by which a number that is known in full may be missed, as in the engines."""
ROUNDING = 1e-7
"""What fits and sums may be off by themselves, as a share of the number (at least 1)."""


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


def printed_interval(
    number: object, *, decimals: int | None = None, what: str = "A number"
) -> Interval:
    """Return the interval of numbers that print as this one.

    Examples
    --------
    >>> printed_interval(2.5), printed_interval(2.5, decimals=1)
    (Interval(lo=2.5, hi=2.5), Interval(lo=2.45, hi=2.55))
    >>> printed_interval("3.241e+04")
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
    max_count: int,
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
    >>> count_interval(12, max_count=100), count_interval("<10", max_count=100), count_interval(10, max_count=100, base=5)
    ((12, 12), (1, 9), (8, 12))
    >>> count_interval(None, max_count=100, threshold=5, suppressed_zeros=True)
    (0, 4)
    """
    smallest = 0 if suppressed_zeros else 1
    if isinstance(cell, str):
        cell = cell.strip()
        if cell == UNKNOWN:
            return 0, max_count
        if match := _COMPARED.fullmatch(cell):
            sign, bound = match[1], int(match[2])
            if sign[0] == "<":
                return _check_order(smallest, bound - (sign == "<"), what)
            return _check_order(bound + (sign == ">"), max_count, what)
        if match := _RANGE.fullmatch(cell):
            return _check_order(int(match[1]), int(match[2]), what)
        if cell.lower() in SUPPRESSED:
            cell = None
        elif cell.isascii() and cell.replace(",", "").isdigit():
            cell = int(cell.replace(",", ""))
    if cell is None:
        if threshold is None:
            raise InputError(
                f'{what} is suppressed: say below which count, with threshold = 10 or by writing "<10".'
            )
        return _check_order(smallest, threshold - 1, what)
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, bool) or not isinstance(cell, int) or cell < 0:
        raise InputError(
            f'{what} must be a whole number of at least 0, or words such as "<10", "5-9" or "?".'
        )
    below = {"nearest": base // 2, "down": 0, "up": base - 1, "random": base - 1}[rounding]
    above = {"nearest": base // 2, "down": base - 1, "up": 0, "random": base - 1}[rounding]
    return max(cell - below, 0), cell + above


def _check_order(low: int, high: int, what: str) -> tuple[int, int]:
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
    low, high = printed_interval(cell, decimals=decimals, what=what)
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


def format_number(value: float, style: str | int | None, decimals: int | None) -> float | str:
    """Return a number as printed: text with the digits of a style, else rounded to decimals, else as it is.

    Examples
    --------
    >>> format_number(32411.2, "0.000e+00", None), format_number(0.12345, 3, None), format_number(0.12345, None, 2), format_number(0.5, None, None)
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
    labels = {cell.strip() for cell in cells if isinstance(cell, str) and not is_withheld(cell)}
    ranges = {word: count_interval(word, max_count=2**62) for word in labels}
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

    name: str
    """The output's: random rounding is the same whenever the output is computed, and another for
    another output.
    """
    decimals: int | None = None
    """How all numbers are printed."""
    digits: Mapping[str, Any] = field(default_factory=dict)
    """How numbers are printed, by key."""
    threshold: int | None = None
    """Counts below it are withheld; None where none is."""
    suppressed_zeros: bool = False
    """Whether counts of 0 are withheld as small ones are."""
    bands: Sequence[str] = ()
    """The ranges that counts are printed as, where they are."""
    withheld: Sequence[str] = ()
    """Names of numbers that are withheld whatever they are."""
    base: int = 1
    """What counts are rounded to multiples of."""
    rounding: str = "nearest"
    """Which multiple it is: the nearest, the one below or above, or one at random."""

    @cached_property
    def _ranges(self) -> list[tuple[str, int, int]]:
        return [
            (band, *count_interval(band, max_count=2**62, suppressed_zeros=self.suppressed_zeros))
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
        return format_number(float(value), style, self.decimals)


@dataclass(frozen=True)
class Number:
    """A published number and what the records give."""

    name: str
    """Which of the output's numbers: a coefficient's name, a cell ("m|rented")."""
    lo: float
    """The lower end of the interval that was published, which belongs to it."""
    hi: float
    """The upper end; the same for a number known in full."""
    value: float
    """What the records give; nan where nothing could be computed."""
    unit: float = 0.0
    """The standard error, for numbers known in full; 0 for counts."""

    @property
    def error(self) -> float:
        """The absolute difference to the published number (the middle of its interval); 0 inside the interval of a count."""
        if not math.isfinite(self.value):
            return math.inf
        if self.unit == 0.0 and self.lo <= self.value <= self.hi:
            return 0.0
        return abs(self.value - 0.5 * (self.lo + self.hi))

    def within(self, tolerance: float = TOLERANCE) -> bool:
        """Whether the records give what was published, within its precision."""
        if not math.isfinite(self.value):
            return False
        slack = ROUNDING * max(1.0, abs(self.value))
        if self.lo == self.hi:
            slack = max(slack, tolerance * self.unit)
        return self.lo - slack <= self.value <= self.hi + slack

    def allowed(self, tolerance: float = TOLERANCE) -> float:
        """Return how far the number may be from the middle of its interval: half of what was printed, and half a record for a count."""
        if self.hi > self.lo:
            return 0.5 * (self.hi - self.lo)
        return (
            max(tolerance * self.unit, ROUNDING * max(1.0, abs(self.lo)))
            if self.unit > 0.0
            else 0.5
        )

    def in_precision(self, tolerance: float = TOLERANCE) -> float:
        """Return the error in units of the precision: up to 1 is within."""
        if self.within(tolerance) and self.unit == 0.0:
            return 0.0
        return self.error / self.allowed(tolerance)


def numbers(output: OutputSpec, fields: OutputDomain, codes: Codes) -> Iterator[Number]:
    """Give the published numbers of an output with what these records make of them, computed by other code than the engines'.

    Raises MissingExtraError for a regression without statsmodels.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")),))
    >>> spec = recipes_of([{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [1, 2]}], fields)
    >>> list(numbers(spec.outputs[0], fields, np.array([[1], [0], [0]], dtype=np.int32)))[0]
    Number(name='f', lo=1.0, hi=1.0, value=2.0, unit=0.0)
    """
    sample = output.sample(fields, codes)
    yield from output.recomputed(sample)
    if isinstance(output.n, int):
        yield Number("n", float(output.n), float(output.n), float(len(sample.inside)))


@dataclass(frozen=True)
class Compared:
    """How an output computed again compares with what was published."""

    name: str
    kind: str
    size: int
    """How many numbers it has."""
    outside: int
    """How many are not within their precision."""
    worst: float
    """The largest absolute error."""
    worst_in_precision: float
    """The largest error in units of the printed precision: up to 1 is within."""
    mean: float
    """The mean absolute error."""
    refitted: bool
    """Whether it was computed again; False without statsmodels."""
    numbers: tuple[Number, ...]

    @property
    def within(self) -> bool | None:
        """Whether all its numbers are within their precision; None where it was not refitted."""
        return self.outside == 0 if self.refitted else None


def compare_numbers(
    spec: Outputs, codes: Codes, *, tolerance: float = TOLERANCE
) -> tuple[Compared, ...]:
    """Return, for each output, how its numbers computed again compare with what was published."""
    codes = spec.fields.check(codes, may_miss=True)
    results = []
    for output in spec.outputs:
        try:
            comparisons = tuple(numbers(output, spec.fields, codes))
        except MissingExtraError:
            results.append(
                Compared(output.name, output.kind, 0, 0, math.nan, math.nan, math.nan, False, ())
            )
            continue
        errors = [number.error for number in comparisons]
        results.append(
            Compared(
                output.name,
                output.kind,
                len(comparisons),
                sum(not number.within(tolerance) for number in comparisons),
                max(errors, default=0.0),
                max((number.in_precision(tolerance) for number in comparisons), default=0.0),
                float(np.mean(errors)) if errors else 0.0,
                True,
                comparisons,
            )
        )
    return tuple(results)
