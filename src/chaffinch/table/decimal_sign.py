"""Decimal signs and thousands separators of a text file: given, or found from all of its numbers where they leave no doubt.

Half of the world writes 79,04 and 1.234,50 and divides cells by semicolons. A column of such cells is numbers, and a file that came with
decimal commas, or with its thousands apart, leaves so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import InputError, SchemaError, listed
from .profile import FULL_PRECISION
from .schema import THOUSANDS, UNKNOWN, Column, Schema
from .types import parse_type, value_type

DecimalSign = Literal[".", ","]
_NAMES = {".": "point", ",": "comma"}

SIGN_NAMES = {
    ".": "points",
    ",": "commas",
    " ": "spaces",
    "'": "apostrophes",
    "\u2019": "apostrophes",
    "\xa0": "spaces",
    "\u202f": "spaces",
}
"""What signs between thousands are called in sentences."""

_SPACES = tuple(sign for sign in THOUSANDS if sign and sign not in ".,")

POINT = r"^[+-]?((0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\.?)([eE][+-]?[0-9]{1,3})?$"
"""Numbers with a decimal point, and whole ones."""

COMMA = r"^[+-]?(0|[1-9][0-9]*)?,[0-9]+([eE][+-]?[0-9]{1,3})?$"
"""Numbers with a decimal comma."""

_DOUBTFUL = r"^[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}$"


def _grouped_pattern(thousands: str, decimal: str, least: int = 1) -> str:
    groups = f"({re.escape(thousands)}[0-9]{{3}}){{{least},}}"
    return rf"^[+-]?[1-9][0-9]{{0,2}}{groups}({re.escape(decimal)}[0-9]*)?$"


# What a number with separators that cannot be read in another way says: its decimal sign, and what sets its thousands apart.
_SURE = {
    (".", ","): rf"{_grouped_pattern(',', '.', 2)}|^[+-]?[1-9][0-9]{{0,2}}(,[0-9]{{3}})+\.[0-9]*$",
    (",", "."): rf"{_grouped_pattern('.', ',', 2)}|^[+-]?[1-9][0-9]{{0,2}}(\.[0-9]{{3}})+,[0-9]*$",
}


@dataclass(frozen=True)
class SignEvidence:
    """What the cells of a column that holds numbers only say of decimal signs and thousands.

    `point` and `comma`: a cell has that decimal sign for certain. `point_doubt` and `comma_doubt`: a cell has the sign where it may also set
    thousands apart, as in 1.234. `thousands`: what sets thousands apart for certain. `short` and `long`: there are whole numbers below 1,000, and
    others, without any sign.
    """

    point: bool = False
    comma: bool = False
    point_doubt: bool = False
    comma_doubt: bool = False
    thousands: frozenset[str] = frozenset()
    short: bool = False
    long: bool = False

    @property
    def needs(self) -> set[str]:
        """The decimal signs that it cannot do without: a separator of thousands is none."""
        return {
            sign
            for sign, other in ((".", ","), (",", "."))
            if (self.point if sign == "." else self.comma) or other in self.thousands
        }


@dataclass
class SignCount:
    """Collects what the numbers of a text column say of signs, batch by batch."""

    point: bool = False
    comma: bool = False
    point_doubt: bool = False
    comma_doubt: bool = False
    thousands: set[str] = field(default_factory=set)
    spaced: set[int] = field(default_factory=set)
    n_spaced: int = 0
    decimals: dict[str, NDArray[np.int64]] = field(
        default_factory=lambda: {
            sign: np.zeros(FULL_PRECISION + 1, dtype=np.int64) for sign in (".", ",")
        }
    )

    def add(
        self, words: pa.Array, counts: NDArray[np.int64], whole: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Add different words with their counts, and return which of them are numbers; `whole` says which are plain whole ones."""
        point, comma = _matches(words, POINT), _matches(words, COMMA)
        number: NDArray[np.bool_] = whole | point | comma
        signed = point & ~whole & _matches(words, r"\.")
        if signed.any() and not (self.point and self.point_doubt):
            doubtful = _matches(words, _DOUBTFUL) & signed
            self.point, self.point_doubt = (
                self.point or bool((signed & ~doubtful).any()),
                self.point_doubt or bool(doubtful.any()),
            )
        if comma.any():
            doubtful = _matches(words, _DOUBTFUL) & comma
            self.comma, self.comma_doubt = (
                self.comma or bool((comma & ~doubtful).any()),
                self.comma_doubt or bool(doubtful.any()),
            )
        if not number.all():
            number |= self._add_grouped(words, counts, ~number)
        if number.all():
            self._add_decimals(words, counts)
        return number

    def _add_grouped(
        self, words: pa.Array, counts: NDArray[np.int64], rest: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which of the other words are numbers with their thousands apart."""
        number: NDArray[np.bool_] = np.zeros(len(words), dtype=bool)
        if not (_matches(words, r"^[+-]?[1-9][0-9]{0,2}[^0-9A-Za-z][0-9]{3}") & rest).any():
            return number  # most columns of words
        for (decimal, thousands), pattern in _SURE.items():
            if (hit := _matches(words, pattern) & rest).any():
                number |= hit
                self.thousands.add(thousands)
                if _matches(words.filter(pa.array(hit)), re.escape(decimal)).any():
                    self.point, self.comma = (
                        self.point or decimal == ".",
                        self.comma or decimal == ",",
                    )
        for thousands in _SPACES:
            for decimal in (".", ","):
                if (
                    hit := _matches(words, _grouped_pattern(thousands, decimal)) & rest & ~number
                ).any():
                    number |= hit
                    self.thousands.add(thousands)
                    chosen = words.filter(pa.array(hit))
                    self.n_spaced += int(counts[hit].sum())
                    self.spaced.update(
                        np.unique(pc.utf8_length(chosen).to_numpy(zero_copy_only=False)).tolist()
                    )
                    if _matches(chosen, re.escape(decimal)).any():
                        self.point, self.comma = (
                            self.point or decimal == ".",
                            self.comma or decimal == ",",
                        )
        return number

    def add_whole(self, n_cells: int) -> None:
        """Add cells that are whole numbers without a sign."""
        for decimals in self.decimals.values():
            decimals[0] += n_cells

    def _add_decimals(self, words: pa.Array, counts: NDArray[np.int64]) -> None:
        exponent = _matches(words, "[eE]")
        for sign, decimals in self.decimals.items():
            held = _matches(words, re.escape(sign))
            if not held.any() and not exponent.any():
                decimals[0] += int(counts.sum())
                continue
            after = pc.replace_substring_regex(
                words, rf"^[^{sign}]*(\{sign}[^{sign}]*\{sign}.*|\{sign})?", ""
            )
            digits = np.where(held, pc.utf8_length(after).to_numpy(zero_copy_only=False), 0)
            digits = np.where(exponent, FULL_PRECISION, np.minimum(digits, FULL_PRECISION))
            decimals += np.bincount(digits, weights=counts, minlength=FULL_PRECISION + 1).astype(
                np.int64
            )

    def are_codes(self, n_numbers: int) -> bool:
        """Return whether so many numbers are codes: all with spaces and of one length, as numbers of members are."""
        return (
            0 < self.n_spaced == n_numbers
            and len(self.spaced) == 1
            and not (self.point or self.comma)
        )

    def evidence(self, numbers: Iterable[str]) -> SignEvidence:
        """Return what all numbers say; `numbers` are different ones among them."""
        doubt = (
            self.point_doubt or self.comma_doubt
        )  # only then does it matter which numbers have no sign
        bare = (
            [word.lstrip("+-") for word in numbers if word.lstrip("+-").isdecimal()]
            if doubt
            else []
        )
        return SignEvidence(
            self.point,
            self.comma,
            self.point_doubt,
            self.comma_doubt,
            frozenset(self.thousands),
            any(len(word) < 4 for word in bare),
            any(len(word) > 3 for word in bare),
        )


def _matches(words: pa.Array, pattern: str) -> NDArray[np.bool_]:
    matches: NDArray[np.bool_] = pc.match_substring_regex(words, pattern).to_numpy(
        zero_copy_only=False
    )
    return matches


def check_sign(decimal: str | None) -> DecimalSign | None:
    """Return a decimal sign that was given, or raise."""
    if decimal is None or decimal in get_args(DecimalSign):
        return decimal  # type: ignore[return-value]
    raise InputError(f"decimal must be '.' or ','. Got {decimal!r}.")


def check_column(name: str, evidence: SignEvidence) -> None:
    """Raise if the numbers of a column need both decimal signs, or set thousands apart in two ways."""
    if len(evidence.needs) > 1 or len(evidence.thousands) > 1:
        raise SchemaError(
            f"Column '{name}' mixes ways to write numbers: some with a decimal point and some with a comma, or thousands set apart by different "
            'signs. Write all in one way; or declare type = "string" and kind = "categorical" in a schema.'
        )


def file_sign(columns: Mapping[str, SignEvidence], name: str, delimiter: str = ",") -> DecimalSign:
    """Return the decimal sign of a text file from its columns of numbers; raise where they leave a doubt.

    A point unless a column needs a comma. Where a sign stands before three digits only, as in 1,234 or 1.234, it may set thousands apart: then
    other columns decide, and without those nobody does. Points are taken for decimals unless whole numbers below 1,000 stand beside
    them, or semicolons divide the cells.

    Examples
    --------
    >>> file_sign({"pay": SignEvidence(comma=True), "age": SignEvidence(short=True)}, "a.csv")
    ','
    """
    for column, evidence in columns.items():
        check_column(column, evidence)
    points = [column for column, evidence in columns.items() if "." in evidence.needs]
    commas = [column for column, evidence in columns.items() if "," in evidence.needs]
    if points and commas:
        raise InputError(
            f"'{name}' has numbers with a comma (columns {listed(commas)}) and numbers with a point (columns {listed(points)}). Say "
            'which is the decimal sign: --decimal , or --decimal . (decimal="," in Python). Columns with the other sign stay text.'
        )
    if points or commas:
        return "." if points else ","
    doubts = [column for column, evidence in columns.items() if evidence.comma_doubt]
    sign = "comma"
    if not doubts:
        sign = "point"
        doubts = [
            column
            for column, evidence in columns.items()
            if evidence.point_doubt
            and not evidence.long
            and (evidence.short or delimiter in (";", "\t"))
        ]
    if doubts:
        raise InputError(
            f"'{name}' has numbers with a {sign} before three digits (columns {listed(doubts)}): decimals or thousands? Say which is the decimal "
            'sign: --decimal , or --decimal . (decimal="," in Python); the other one sets thousands apart.'
        )
    return "."


def thousands_of(name: str, evidence: SignEvidence, decimal: str) -> str:
    """Return what sets the thousands of a column apart, given the decimal sign of its file; empty for nothing.

    Examples
    --------
    >>> thousands_of("pay", SignEvidence(comma_doubt=True, short=True), ".")
    ','
    """
    if evidence.thousands:
        return next(iter(evidence.thousands))
    other, doubt = (",", evidence.comma_doubt) if decimal == "." else (".", evidence.point_doubt)
    if doubt and evidence.long:
        raise SchemaError(
            f"Column '{name}' has numbers with a {_NAMES[other]} before three digits, and longer ones without: thousands that are set apart only here and there, "
            'or another decimal sign. Write all in one way; or declare type = "string" and kind = "categorical" in a schema.'
        )
    return other if doubt else ""


def is_doubtful(words: pa.Array) -> bool:
    """Return whether every sign in words may separate thousands as well as decimals.

    Examples
    --------
    >>> is_doubtful(pa.array(["1,234", "17", None])), is_doubtful(pa.array(["1,234", "0,5"]))
    (True, False)
    """
    signed = words.filter(pc.match_substring_regex(words, "[.,]"))
    return pc.all(pc.match_substring_regex(signed, _DOUBTFUL)).as_py() is not False


def plain_numbers(words: pa.Array, decimal: str, thousands: str = "") -> pa.Array:
    """Return numbers with the given signs as numbers with a point and no other sign; null where a word is not written so.

    Examples
    --------
    >>> plain_numbers(pa.array(["79,04", "7.904"]), ",").to_pylist()
    ['79.04', None]
    >>> plain_numbers(pa.array(["1.279,04", "7.9"]), ",", ".").to_pylist()
    ['1279.04', None]
    """
    if thousands:
        wrong = pc.and_(
            pc.match_substring(words, thousands),
            pc.invert(pc.match_substring_regex(words, _grouped_pattern(thousands, decimal))),
        )
        words = pc.replace_substring(
            pc.if_else(wrong, pa.scalar(None, words.type), words), thousands, ""
        )
    other = "." if decimal == "," else ","
    words = pc.if_else(pc.match_substring(words, other), pa.scalar(None, words.type), words)
    return words if decimal == "." else pc.replace_substring(words, ",", ".")


def grouped(words: pa.Array, thousands: str) -> pa.Array:
    """Return numbers with a sign between their thousands.

    Examples
    --------
    >>> grouped(pa.array(["1234,5", "-1234567", "99"]), ".").to_pylist()
    ['1.234,5', '-1.234.567', '99']
    """
    coded = words.dictionary_encode()
    apart = [
        None
        if word is None
        else _WHOLE_PART.sub(
            lambda part: part[1] + f"{int(part[2]):,}".replace(",", thousands), word
        )
        for word in coded.dictionary.to_pylist()
    ]
    return pa.array(apart, pa.string()).take(coded.indices)


_WHOLE_PART = re.compile(r"^([+-]?)([0-9]{4,})(?=$|[.,])")


def with_sign(schema: Schema, decimal: str | None) -> Schema:
    """Return the schema with a decimal sign that was given for the numbers of a file; itself if none was."""
    sign = check_sign(decimal)
    if sign is None:
        return schema
    numbers = ("integer", "float", UNKNOWN)
    columns = (_with_sign(c, sign) if c.kind in numbers or has_decimals(c) else c for c in schema)
    return replace(schema, columns=tuple(columns))


def _with_sign(column: Column, sign: DecimalSign) -> Column:
    return replace(
        column, decimal=sign, thousands="" if column.thousands == sign else column.thousands
    )


def has_decimals(column: Column) -> bool:
    """Return whether the values of a column may have decimals, by its type."""
    return is_decimal_type(value_type(parse_type(column.type)))


def is_decimal_type(kind: pa.DataType) -> bool:
    """Return whether values of a type may have decimals."""
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def other_sign(name: str, decimal: str) -> SchemaError:
    """Return the error for a column whose numbers have the other decimal sign than the one they are read with."""
    other = "," if decimal == "." else "."
    return SchemaError(
        f"Column '{name}' has numbers with a decimal {_NAMES[other]}, and is read with a {_NAMES[decimal]}. Pass --decimal {other} "
        f'(decimal="{other}" in Python), or write decimal = "{other}" for it in the schema.'
    )
