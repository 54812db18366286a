"""What SPSS and Stata files can hold: their names, their lengths of text, and how they count time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...._base.errors import InputError, MissingExtraError, listed
from ...codec import Scalar

Program = Literal["sav", "dta"]

PROGRAMS: dict[Program, str] = {"sav": "SPSS", "dta": "Stata"}

Range = tuple[Scalar | None, Scalar | None]
"""The lowest and the highest of a range of missing values, None where it is open."""

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
"""Stata's missing codes besides the plain one: .a to .z."""

STATA_LONG = 2_147_483_620
"""The largest whole number that Stata stores as such; those above it stand for missing."""

_SPSS_NAME = re.compile(r"[^\W\d_][\w.$#@]*")
_SPSS_RESERVED = re.compile("ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH")
_STATA_NAME = re.compile(r"[^\W\d]\w*")
_STATA_RESERVED = re.compile(
    r"_all|_b|_coef|_cons|_n|_N|_pi|_pred|_rc|_skip|byte|double|float|if|in|int|long|strL|using|with|str\d+"
)
_LONGEST = {
    "sav": {"name": 64, "title": 256, "label": 120},
    "dta": {"name": 32, "title": 80, "label": 8_000},
}
"""Longest texts: in bytes for SPSS, in characters for Stata (whose labels have 32,000 bytes)."""


@dataclass(frozen=True)
class Moment:
    """How a program counts time: its numbers are (Arrow's number + offset) * down / up."""

    kind: pa.DataType
    offset: int
    display: str
    up: int = 1
    down: int = 1

    def incoming(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the program's numbers as Arrow's: days, or milliseconds."""
        scaled = numbers * self.up / self.down
        return np.asarray(
            (np.floor(scaled) if pa.types.is_date(self.kind) else np.rint(scaled)) - self.offset
        )

    def outgoing(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """Return Arrow's numbers as the program's."""
        return np.asarray(
            (np.asarray(numbers, dtype=np.float64) + self.offset) * self.down / self.up
        )


DATES: dict[Program, Moment] = {
    "sav": Moment(pa.date32(), 141_428, "DATE11", down=86_400),  # seconds since 14 October 1582
    "dta": Moment(pa.date32(), 3_653, "%td"),  # days since 1 January 1960
}
TIMES: dict[Program, Moment] = {
    "sav": Moment(pa.timestamp("ms"), 12_219_379_200_000, "DATETIME20", up=1000),
    "dta": Moment(pa.timestamp("ms"), 315_619_200_000, "%tc"),
}
CLOCKS: dict[Program, Moment] = {
    "sav": Moment(pa.time32("ms"), 0, "TIME8", up=1000),
    "dta": Moment(pa.time32("ms"), 0, "%tcHH:MM:SS"),
}


def moment_of(form: Program, display: str) -> Moment | None:
    """Return how a display format counts time, or None where it shows plain numbers.

    Examples
    --------
    >>> [moment_of("sav", "EDATE10") == DATES["sav"], moment_of("dta", "%tcHH:MM") == TIMES["dta"], moment_of("dta", "%9.0g")]
    [True, True, None]
    """
    if form == "dta":
        match = re.match("%-?(td|d|tc|tC)", display)
        return None if match is None else TIMES[form] if match[1] in ("tc", "tC") else DATES[form]
    word = re.sub("[^A-Z].*", "", display.upper())
    if word in ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"):
        return DATES[form]
    return TIMES[form] if word in ("DATETIME", "YMDHMS") else None


def cut(text: str, form: Program, what: str) -> str:
    """Return a title or label, shortened to what a program holds, at a whole character.

    Examples
    --------
    >>> len(cut("é" * 100, "sav", "label")), len(cut("é" * 100, "dta", "title"))
    (60, 80)
    """
    longest = _LONGEST[form][what]
    return text[:longest] if form == "dta" else text.encode()[:longest].decode("utf-8", "ignore")


def check_names(names: Sequence[str], form: Program) -> None:
    """Raise unless a program can hold columns of these names."""
    pattern, reserved = (
        (_SPSS_NAME, _SPSS_RESERVED) if form == "sav" else (_STATA_NAME, _STATA_RESERVED)
    )
    bad = [
        n
        for n in names
        if not pattern.fullmatch(n) or reserved.fullmatch(n) or n != cut(n, form, "name")
    ]
    if bad:
        also = "" if form == "dta" else ", or . $ # @"
        raise InputError(
            f"{PROGRAMS[form]} cannot hold columns named so: {listed(bad)}. A name starts with a letter, goes on with letters, "
            f"digits, _{also}, has at most {_LONGEST[form]['name']} characters and is no reserved word. Rename, or write CSV or Parquet."
        )
    folded = [name.upper() for name in names]
    if form == "sav" and (double := [name for name in names if folded.count(name.upper()) > 1]):
        raise InputError(
            f"SPSS cannot hold columns whose names differ only in case: {listed(double)}. Rename, or write CSV or Parquet."
        )


def within(numbers: NDArray[Any], ranges: Sequence[Range]) -> NDArray[np.bool_]:
    """Return which numbers lie in one of some ranges."""
    hit = np.zeros(len(numbers), dtype=bool)
    for lo, hi in ranges:
        hit |= (numbers >= (-np.inf if lo is None else lo)) & (
            numbers <= (np.inf if hi is None else hi)
        )
    return hit


def pyreadstat(doing: str) -> Any:
    """Return the package of that name; an error that names the extra where it is not installed."""
    try:
        import pyreadstat as package
    except ImportError:
        raise MissingExtraError(f"{doing} SPSS and Stata files", "pyreadstat") from None
    return package
