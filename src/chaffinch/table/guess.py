"""What a column of a text file means, decided from every cell.

A CSV file has only words. Guessing is done on distinct words with their counts, batch by batch, and
a type is taken only if every present word has it: `007` keeps a column text, `1.50` keeps two
decimals. Codes that mix digits and letters are text as they stand; a measure with stray words in it
is an error that says how to declare them.

Half of the world writes 79,04 and 1.234,50 and divides cells by semicolons. Decimal signs and
thousands separators are given, or found from all numbers of a file where they leave no doubt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import InputError, SchemaError, join_names
from .._base.masking import THRESHOLD
from .domain import Scalar
from .profile import FULL_PRECISION
from .schema import THOUSANDS
from .text import (
    COMMA,
    DECIMAL_NAMES,
    DOUBTFUL,
    INTEGER,
    LEVEL_WORDS,
    NULL_WORDS,
    POINT,
    DecimalSign,
    Spelling,
    grouped_pattern,
    matches,
)
from .times import TimeGuess

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
CODE_SHARE = 50
"""Numbers are codes of categories if at least one in so many of the words beside them is one that
only codes have.
"""

_CODE = r"^[\pL0-9][\pL0-9._/-]*$"
_MOST_NUMBERS = 50_000
_MOST_CODES = 1_000
_INFINITE = r"(?i)^[+-]?inf(inity)?$"


# What a number with separators that cannot be read in another way says: its decimal sign, and what sets its thousands apart.
_SURE = {
    (".", ","): rf"{grouped_pattern(',', '.', 2)}|^[+-]?[1-9][0-9]{{0,2}}(,[0-9]{{3}})+\.[0-9]*$",
    (",", "."): rf"{grouped_pattern('.', ',', 2)}|^[+-]?[1-9][0-9]{{0,2}}(\.[0-9]{{3}})+,[0-9]*$",
}


@dataclass(frozen=True)
class SignEvidence:
    """Evidence on decimal and thousands signs from the cells of a numeric column.

    `point` and `comma`: a cell has that decimal sign for certain. `point_doubt` and `comma_doubt`:
    a cell has the sign where it may also set thousands apart, as in 1.234. `thousands`: what sets
    thousands apart for certain. `short` and `long`: there are whole numbers below 1,000, and
    others, without any sign.
    """

    point: bool = False
    comma: bool = False
    point_doubt: bool = False
    comma_doubt: bool = False
    thousands: frozenset[str] = frozenset()
    short: bool = False
    long: bool = False

    def __or__(self, other: SignEvidence) -> SignEvidence:
        """The evidence of two batches together."""
        return SignEvidence(
            *(getattr(self, f.name) | getattr(other, f.name) for f in fields(SignEvidence))
        )

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
    """Collects evidence on decimal and thousands signs from a text column, batch by batch."""

    evidence: SignEvidence = SignEvidence()
    spaced: set[int] = field(default_factory=set)
    n_spaced: int = 0
    decimals: dict[str, NDArray[np.int64]] = field(
        default_factory=lambda: {
            sign: np.zeros(FULL_PRECISION + 1, dtype=np.int64) for sign in (".", ",")
        }
    )

    def add(
        self, texts: pa.Array, counts: NDArray[np.int64], integral: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Add different words with their counts, and return which of them are numbers; `integral`
        says which are plain whole ones.
        """
        point, comma = matches(texts, POINT), matches(texts, COMMA)
        number: NDArray[np.bool_] = integral | point | comma
        signed = point & ~integral & matches(texts, r"\.")
        if (signed | comma).any():
            doubtful = matches(texts, DOUBTFUL)
            self.evidence |= SignEvidence(
                bool((signed & ~doubtful).any()),
                bool((comma & ~doubtful).any()),
                bool((signed & doubtful).any()),
                bool((comma & doubtful).any()),
            )
        if not number.all():
            number |= self._add_grouped(texts, counts, ~number)
        if number.all():
            self._add_decimals(texts, counts)
        return number

    def _add_grouped(
        self, texts: pa.Array, counts: NDArray[np.int64], rest: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which of the other words are numbers with their thousands apart."""
        number: NDArray[np.bool_] = np.zeros(len(texts), dtype=bool)
        if not (matches(texts, r"^[+-]?[1-9][0-9]{0,2}[^0-9A-Za-z][0-9]{3}") & rest).any():
            return number  # most columns of words
        for (decimal, thousands), pattern in _SURE.items():
            if (hit := matches(texts, pattern) & rest).any():
                number |= hit
                self._add_signs(texts.filter(pa.array(hit)), decimal, thousands)
        for thousands, decimal in product(_SPACES, ".,"):
            pattern = grouped_pattern(thousands, decimal)
            if (hit := matches(texts, pattern) & rest & ~number).any():
                number |= hit
                chosen = texts.filter(pa.array(hit))
                self._add_signs(chosen, decimal, thousands)
                self.n_spaced += int(counts[hit].sum())
                self.spaced.update(
                    np.unique(pc.utf8_length(chosen).to_numpy(zero_copy_only=False)).tolist()
                )
        return number

    def _add_signs(self, grouped: pa.Array, decimal: str, thousands: str) -> None:
        signed = bool(matches(grouped, re.escape(decimal)).any())
        self.evidence |= SignEvidence(
            signed and decimal == ".", signed and decimal == ",", thousands=frozenset(thousands)
        )

    def add_whole(self, n_cells: int) -> None:
        """Add cells that are whole numbers without a sign."""
        for decimals in self.decimals.values():
            decimals[0] += n_cells

    def _add_decimals(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        exponent = matches(texts, "[eE]")
        for sign, decimals in self.decimals.items():
            has_sign = matches(texts, re.escape(sign))
            if not has_sign.any() and not exponent.any():
                decimals[0] += int(counts.sum())
                continue
            after = pc.replace_substring_regex(
                texts, rf"^[^{sign}]*(\{sign}[^{sign}]*\{sign}.*|\{sign})?", ""
            )
            digits = np.where(has_sign, pc.utf8_length(after).to_numpy(zero_copy_only=False), 0)
            digits = np.where(exponent, FULL_PRECISION, np.minimum(digits, FULL_PRECISION))
            decimals += np.bincount(digits, weights=counts, minlength=FULL_PRECISION + 1).astype(
                np.int64
            )

    def are_codes(self, n_numbers: int) -> bool:
        """Return whether so many numbers are codes: all with spaces and of one length, as numbers
        of members are.
        """
        return (
            0 < self.n_spaced == n_numbers
            and len(self.spaced) == 1
            and not (self.evidence.point or self.evidence.comma)
        )

    def evidence_with(self, numbers: Iterable[str]) -> SignEvidence:
        """Return the evidence of all numbers; `numbers` are distinct ones among them."""
        if not (self.evidence.point_doubt or self.evidence.comma_doubt):
            return self.evidence  # only in doubt does it matter which numbers have no sign
        bare = [word.lstrip("+-") for word in numbers if word.lstrip("+-").isdecimal()]
        short, long = any(len(word) < 4 for word in bare), any(len(word) > 3 for word in bare)
        return replace(self.evidence, short=short, long=long)


@dataclass
class TextGuess:
    """Collects what all cells of one text column agree on."""

    name: str
    declared: tuple[Scalar, ...] = ()
    threshold: int = THRESHOLD
    n_present: int = 0
    n_number: int = 0
    n_infinite: int = 0
    n_code: int = 0
    signs: SignCount = field(default_factory=SignCount)
    integer: bool = True
    numbers: dict[str, None] = field(default_factory=dict)
    codes: dict[str, None] = field(default_factory=dict)
    widths: set[int] = field(default_factory=set)
    padded: bool = False
    missing: dict[str, None] = field(default_factory=dict)
    booleans: dict[str, None] = field(default_factory=dict)
    boolean: bool = True
    times: TimeGuess = field(default_factory=TimeGuess)
    odd: dict[str, int] = field(default_factory=dict)

    def add(self, cells: pa.Array) -> None:
        """Add a batch of cells."""
        word_counts = pc.value_counts(cells.drop_null())
        texts, counts = (
            word_counts.field("values"),
            word_counts.field("counts").to_numpy(zero_copy_only=False),
        )
        trimmed = pc.utf8_trim_whitespace(texts)
        known = [*NULL_WORDS, *(code for code in self.declared if isinstance(code, str))]
        null = pc.is_in(trimmed, value_set=pa.array(known)).to_numpy(zero_copy_only=False)
        empty = pc.equal(trimmed, "").to_numpy(zero_copy_only=False)
        self.missing.update(dict.fromkeys(sorted(texts.filter(pa.array(null)).to_pylist())))
        present = ~(null | empty)
        trimmed, counts = trimmed.filter(pa.array(present)), counts[present]
        if not len(trimmed):
            return
        self.n_present += int(counts.sum())
        self._add_numbers(trimmed, counts)
        if self.boolean:
            self.booleans.update(dict.fromkeys(trimmed.slice(0, 3).to_pylist()))
            self.boolean = len(trimmed) <= 2 and _boolean_words(self.booleans) is not None
        self.times.add(trimmed)

    def _add_numbers(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        integral = matches(texts, INTEGER)
        if integral.all():  # most columns: nothing else needs to be looked for
            self.n_number += int(counts.sum())
            self.signs.add_whole(int(counts.sum()))
            _collect(self.numbers, texts, integral, _MOST_NUMBERS)
            self._add_codes(texts, counts, integral)
            return
        number = self.signs.add(texts, counts, integral)
        self.integer = self.integer and bool(integral.all())
        self.n_number += int(counts[number].sum())
        _collect(self.numbers, texts, number, _MOST_NUMBERS)
        self._add_codes(texts, counts, number)
        infinite = matches(texts, _INFINITE)
        self.n_infinite += int(counts[infinite].sum())
        if not number.all():
            rest = ~(number | infinite)
            for word, n in zip(
                texts.filter(pa.array(rest)).to_pylist()[:1000], counts[rest], strict=False
            ):
                if len(self.odd) < 1000 or word in self.odd:
                    self.odd[word] = self.odd.get(word, 0) + int(n)

    def _add_codes(
        self, texts: pa.Array, counts: NDArray[np.int64], number: NDArray[np.bool_]
    ) -> None:
        """Count the words that only codes have: digits beside letters or dashes (A17, 10-B), digits
        after a zero (00772).
        """
        code = ~number
        for pattern in (
            "[0-9]",
            _CODE,
        ):  # the second takes long to make ready: most columns need not
            if code.any():
                code &= matches(texts, pattern)
        self.n_code += int(counts[code].sum())
        _collect(self.codes, texts, code, _MOST_CODES)
        digits = matches(texts, "^[0-9]+$")
        self.padded = self.padded or bool((digits & ~number).any())
        if len(self.widths) < 2 and (number | digits).any():
            # Signs and points are no digits of a code: their width is that of no word.
            widths = np.where(digits, pc.utf8_length(texts).to_numpy(zero_copy_only=False), 0)
            self.widths.update(np.unique(widths[number | digits]).tolist())

    def _is_code(self) -> bool:
        """Return whether a column of numbers and words holds codes: categories, and not a measure
        with words in it.

        It does if its digits are padded with zeros to one width, or if words that only codes have
        are at least one in fifty of its cells and of its different words. A word without digits
        (unknown, refused) and a bound (<5, 90+) say nothing.
        """
        if self.padded and len(self.widths) == 1:
            return True
        often = CODE_SHARE * self.n_code >= self.n_present
        return often and CODE_SHARE * len(self.codes) >= len(self.codes) + len(self.numbers)

    @property
    def evidence(self) -> SignEvidence:
        """The evidence on the signs of the file: none unless the column is numeric."""
        return self.signs.evidence_with(self.numbers) if self._is_numeric() else SignEvidence()

    def _is_numeric(self) -> bool:
        only = bool(self.n_number) and self.n_number + self.n_infinite == self.n_present
        return only and not self.signs.are_codes(self.n_number)

    def spelling(self, decimal: DecimalSign = ".") -> Spelling:
        """Return the spelling of the column, from all cells added; raise if it mixes numbers and
        text.

        Numbers with another decimal sign than the file's are text.
        """
        spelling = self._spelling(tuple(self.missing), decimal)
        if not self.n_present or not pa.types.is_string(spelling.type):
            return spelling
        levels = [
            word
            for word in spelling.missing
            if str(word).strip() in LEVEL_WORDS and word not in self.declared
        ]
        return replace(
            spelling, missing=tuple(word for word in spelling.missing if word not in levels)
        )

    def _spelling(self, missing: tuple[str, ...], decimal: DecimalSign) -> Spelling:
        if not self.n_present:
            return Spelling(pa.string(), "", missing)
        if self.boolean and (spelling := _boolean_words(self.booleans)):
            return Spelling(pa.bool_(), spelling, missing)
        if self.integer:
            return Spelling(pa.int64(), "", missing)
        if self._is_numeric():
            return self._numbers(missing, decimal)
        if self.times.fitting:
            return self._times(missing)
        if self.n_number and self._is_code():
            return Spelling(pa.string(), "", missing, "numbers and words that are codes")
        if 2 * self.n_number >= self.n_present and len(self.numbers) > 20:
            raise self._mixed()
        return Spelling(pa.string(), "", missing)

    def _numbers(self, missing: tuple[str, ...], decimal: DecimalSign) -> Spelling:
        """Return how numbers are read, under the decimal sign of their file; how many decimals they
        have at least is how they are written again.
        """
        if self.evidence.needs - {decimal}:
            return Spelling(
                pa.string(), "", missing, f"numbers without the decimal sign '{decimal}'"
            )
        thousands = thousands_of(self.name, self.evidence, decimal)
        used = np.flatnonzero(self.signs.decimals[decimal])
        if thousands and used.tolist() == [0] and not self.n_infinite:
            return Spelling(pa.int64(), "", missing, decimal=decimal, thousands=thousands)
        how = "fixed" if len(used) == 1 else "least"
        form = f"{how} {used[0]}" if len(used) and 0 < used[0] < FULL_PRECISION else ""
        return Spelling(pa.float64(), form, missing, decimal=decimal, thousands=thousands)

    def _mixed(self) -> SchemaError:
        common = sorted(word for word, n in self.odd.items() if n >= self.threshold)
        shown = f" Common words in it: {join_names(common, max_names=5)}." if common else ""
        example = (
            ", ".join(json.dumps(word, ensure_ascii=False) for word in common[:3]) or '"unknown"'
        )
        return SchemaError(
            f"Column '{self.name}' mixes numbers and text.{shown} If the words mean missing, declare them in a schema, as in "
            f'missing = [{example}]; if all are codes, declare type = "string" and kind = "categorical".'
        )

    def plain_format(self, kind: pa.DataType) -> str:
        """Return how the cells spell values of a type, if plainly (ISO 8601) and all alike; else an
        empty string.
        """
        return self.times.plain_format(kind) if self.n_present else ""

    def _times(self, missing: tuple[str, ...]) -> Spelling:
        chosen, *others = self.times.fitting
        doubt = f"; {join_names(others)} would fit too" if others else ""
        return Spelling(self.times.kind, chosen, missing, f"every cell reads as {chosen}{doubt}")


def check_column(name: str, evidence: SignEvidence) -> None:
    """Raise if the numbers of a column need both decimal signs, or set thousands apart in two
    ways.
    """
    if len(evidence.needs) > 1 or len(evidence.thousands) > 1:
        raise SchemaError(
            f"Column '{name}' mixes ways to write numbers: some with a decimal point and some with a comma, or thousands set apart by different "
            'signs. Write all in one way; or declare type = "string" and kind = "categorical" in a schema.'
        )


def file_sign(columns: Mapping[str, SignEvidence], name: str, delimiter: str = ",") -> DecimalSign:
    """Return the decimal sign of a text file from its columns of numbers; raise where they leave a
    doubt.

    A point unless a column needs a comma. Where a sign stands before three digits only, as in 1,234
    or 1.234, it may set thousands apart: then other columns decide, and without those nobody does.
    Points are taken for decimals unless whole numbers below 1,000 stand beside them, or semicolons
    divide the cells.

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
            f"'{name}' has numbers with a comma (columns {join_names(commas)}) and numbers with a point (columns {join_names(points)}). Say "
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
            f"'{name}' has numbers with a {sign} before three digits (columns {join_names(doubts)}): decimals or thousands? Say which is the decimal "
            'sign: --decimal , or --decimal . (decimal="," in Python); the other one sets thousands apart.'
        )
    return "."


def thousands_of(name: str, evidence: SignEvidence, decimal: str) -> str:
    """Return the thousands separator of a column, given the decimal sign of its file; empty for
    none.

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
            f"Column '{name}' has numbers with a {DECIMAL_NAMES[other]} before three digits, and longer ones without: thousands that are set apart only here and there, "
            'or another decimal sign. Write all in one way; or declare type = "string" and kind = "categorical" in a schema.'
        )
    return other if doubt else ""


def _collect(
    into: dict[str, None], texts: pa.Array, which: NDArray[np.bool_], max_texts: int
) -> None:
    """Add the chosen words to different ones, up to a number of them."""
    if len(into) < max_texts and which.any():
        into.update(dict.fromkeys(texts.filter(pa.array(which)).slice(0, max_texts).to_pylist()))


def _boolean_words(texts: dict[str, None]) -> str | None:
    """Return "True/False" in the spelling of the words, if they are no more than that; None if
    not.
    """
    for true, false in (("true", "false"), ("True", "False"), ("TRUE", "FALSE")):
        if texts and set(texts) <= {true, false}:
            return f"{true}/{false}"
    return None
