"""How the words of a text file become values, and how values become words again.

There is one reader. Before all else words that mean missing and blank cells are set apart (`present_words`). Then words are read in one of three ways:

- `parse_words`: all in the spelling of their column, or an error that names the column, for tables that are read as they are;
- `parse_other_spelling`: where that fails in the spelling that another program gives the same values, for tables that are compared;
- `parse_each_word`: each word by itself as the nearest value that the type holds, or null. No word stops it or changes what another is read as, for
  tables under a privacy guarantee.

A file that came with decimal commas, or with its thousands apart, leaves so.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import InputError, SchemaError
from .domain import Scalar
from .schema import UNKNOWN, Column, Schema
from .spell import words_of
from .times import TimeGuess, format_times, parse_times
from .types import (
    DAY,
    LARGEST,
    clock_shift,
    from_numbers,
    is_decimal_type,
    is_words,
    parse_type,
    type_family,
    units_per_second,
    value_type,
    whole_array,
)

DecimalSign = Literal[".", ","]
DECIMAL_NAMES = {".": "point", ",": "comma"}
POINT = r"^[+-]?((0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\.?)([eE][+-]?[0-9]{1,3})?$"
"""Numbers with a decimal point, and whole ones."""

COMMA = r"^[+-]?(0|[1-9][0-9]*)?,[0-9]+([eE][+-]?[0-9]{1,3})?$"
"""Numbers with a decimal comma."""

DOUBTFUL = r"^[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}$"
_WHOLE_PART = re.compile(r"^([+-]?)([0-9]{4,})(?=$|[.,])")
NULL_WORDS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", ".")
"""Words that mean missing in a text file, besides an empty cell. Each stays a code of its own."""

LEVEL_WORDS = ("None",)
"""Words among `NULL_WORDS` that are an answer among other words (pain: None, Mild, Severe), and mean missing among numbers, dates and truth values alone."""

INTEGER = r"^[+-]?(0|[1-9][0-9]{0,17})$"


@dataclass(frozen=True)
class Spelling:
    """How a text column is to be read: its Arrow type, its format, the words that mean missing, its decimal sign and what sets thousands apart."""

    type: pa.DataType
    format: str = ""
    missing: tuple[Scalar, ...] = ()
    why: str = ""
    decimal: DecimalSign = "."
    thousands: str = ""


WordValues = tuple[pa.Array, NDArray[np.int16] | None]
"""Typed values, null where missing, and which of the missing codes stood there (-1: none); None where no code is a word."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FRACTION = re.compile(r"[.,]([0-9]{7,})")
_SPAN = re.compile(r"-?[0-9]{1,30} ns")


def spelling_of(column: Column) -> Spelling:
    """Return how the words of a text column with this schema are to be read."""
    kind = value_type(parse_type(column.type))
    return Spelling(
        kind, column.format, column.missing, decimal=column.decimal, thousands=column.thousands
    )


def word_tokens(cells: pa.Array, missing: tuple[Scalar, ...]) -> NDArray[np.int16] | None:
    """Return which of the missing codes each cell is (-1: none); None where no code is a word, whatever the cells are.

    Examples
    --------
    >>> word_tokens(pa.array(["7", "NA", None]), (-8, "NA")).tolist()
    [-1, 1, -1]
    """
    spelled_codes = [code for code in missing if isinstance(code, str)]
    if not spelled_codes:
        return None
    index = pc.index_in(cells, value_set=pa.array(spelled_codes, type=cells.type))
    positions = np.array([*(missing.index(word) for word in spelled_codes), -1], dtype=np.int16)
    tokens: NDArray[np.int16] = positions[index.fill_null(-1).to_numpy(zero_copy_only=False)]
    return tokens


def present_words(cells: pa.Array, missing: tuple[Scalar, ...]) -> WordValues:
    """Return cells with null for missing codes and blank cells, and which missing codes stood there."""
    tokens = word_tokens(cells, missing)
    absent = pc.equal(pc.utf8_trim_whitespace(cells), "")
    if tokens is not None and (tokens >= 0).any():
        absent = pc.or_(absent, pa.array(tokens >= 0))
    return pc.if_else(absent, pa.scalar(None, cells.type), cells), tokens


def parse_words(cells: pa.Array, spelling: Spelling, *, name: str) -> WordValues:
    """Return typed values of text cells, null where missing, and which missing code stood there; SchemaError where a word is not in the spelling."""
    present, tokens = present_words(whole_array(cells), spelling.missing)
    values = _in_spelling(present, spelling)
    if values is not None:
        return values, tokens
    kind, spelled, decimal = spelling.type, spelling.format, spelling.decimal
    if _has_other_sign(present, kind, decimal):
        other = "," if decimal == "." else "."
        raise SchemaError(
            f"Column '{name}' has numbers with a decimal {DECIMAL_NAMES[other]}, and is read with a {DECIMAL_NAMES[decimal]}. Pass --decimal {other} "
            f'(decimal="{other}" in Python), or write decimal = "{other}" for it in the schema.'
        )
    spelled_as = f" spelled {spelled}" if spelled else ""
    raise SchemaError(
        f"Column '{name}' is read as {kind}{spelled_as}, but some cells are not. Declare another type or format in a "
        f"schema, or list the words that mean missing."
    )


def _in_spelling(cells: pa.Array, spelling: Spelling) -> pa.Array | None:
    """Return words as values, null for null; None where a word is not in the spelling."""
    kind, spelled, thousands = spelling.type, spelling.format, spelling.thousands
    if kind == pa.string():
        return cells
    cells = pc.utf8_trim_whitespace(cells)
    if (is_decimal_type(kind) or pa.types.is_integer(kind)) and pc.any(
        pc.starts_with(cells, "+")
    ).as_py():
        cells = pc.replace_substring_regex(
            cells, r"^\+([0-9.,]|(?i:inf))", r"\1"
        )  # Arrow reads no plus sign
    try:
        if pa.types.is_boolean(kind):
            true, _, false = (spelled or "true/false").partition("/")
            values = pc.equal(cells, true)
            values = pc.if_else(
                pc.or_(values, pc.equal(cells, false)), values, pa.scalar(None, pa.bool_())
            )
        elif (
            pa.types.is_temporal(kind) and spelled
        ):  # without a format: Arrow's plain spelling, by the cast below
            values = parse_times(cells, spelled, kind)
        elif is_decimal_type(kind) or (thousands and pa.types.is_integer(kind)):
            values = plain_numbers(cells, spelling.decimal, thousands).cast(kind)
        else:
            values = cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return None if values.null_count > cells.null_count else values


def parse_other_spelling(
    cells: pa.Array, spelling: Spelling, levels: tuple[Scalar, ...], *, name: str
) -> WordValues:
    """Return typed values of cells that another program may have written, and which missing code stood there.

    Words that commonly mean missing do so here unless they are levels.
    """
    cells = whole_array(cells)
    answers = (*levels, *(LEVEL_WORDS if pa.types.is_string(spelling.type) else ()))
    common = tuple(word for word in NULL_WORDS if word not in (*spelling.missing, *answers))
    wide = replace(spelling, missing=(*spelling.missing, *common))
    try:
        values, tokens = parse_words(cells, wide, name=name)
    except SchemaError:
        present, tokens = present_words(cells, wide.missing)
        readings = (_in_spelling(present, other) for other in _other_spellings(present, spelling))
        values = next((reading for reading in readings if reading is not None), None)
        if values is None:
            raise
    if tokens is not None:
        tokens = np.where(tokens >= len(spelling.missing), np.int16(-1), tokens)
    return values, tokens


def _other_spellings(cells: pa.Array, spelling: Spelling) -> list[Spelling]:
    """Return how another program may have spelled the values of a column that cannot be read as the original spells them."""
    cells = pc.utf8_trim_whitespace(cells)
    if pa.types.is_temporal(spelling.type):
        guess = TimeGuess()
        guess.add(cells.drop_null().unique())
        return [
            replace(spelling, format=guess.plain_format(spelling.type))
        ]  # 14:30:00 where the original has 14:30
    if not (pa.types.is_integer(spelling.type) or is_decimal_type(spelling.type)):
        return []
    kind = pa.float64() if pa.types.is_integer(spelling.type) else spelling.type
    same = replace(spelling, type=kind, format="")  # 12.0, as programs spell 12 beside missing ones
    if is_doubtful(cells):
        return [same]  # 1.234 where the original has decimal commas may be as many thousands
    return [same, replace(same, decimal="." if spelling.decimal == "," else ",", thousands="")]


def parse_each_word(cells: pa.Array, spelling: Spelling, *, exact: bool = False) -> WordValues:
    """Return each word or text in bytes as the nearest value of the type, null where it is none, and which missing code stood there.

    Each value is a function of its own cell and of the spelling. Fractions of whole numbers are rounded; with `exact` they are no value. Words have offsets of 64 bits.
    """
    coded = cells.dictionary_encode()
    distinct = pa.array(words_of(coded.dictionary), pa.large_string())
    present, tokens = present_words(distinct, spelling.missing)
    places = coded.indices.cast(pa.int64())
    values = each_value(present, spelling, exact=exact).take(places)
    if tokens is None:
        return values, None
    rows = places.fill_null(len(tokens)).to_numpy(zero_copy_only=False)
    return values, np.append(tokens, np.int16(-1))[rows]


def each_value(cells: pa.Array, spelling: Spelling, *, exact: bool = False) -> pa.Array:
    """Return each of some words, none of them missing codes, as `parse_each_word` does."""
    kind, family = spelling.type, type_family(spelling.type)
    if is_words(kind):
        return cells
    cells = pc.utf8_trim_whitespace(cells)
    if family == "number":
        plain = plain_numbers(cells, spelling.decimal, spelling.thousands)
        return _numbers(map(_number, plain.to_pylist()), kind, exact=exact)
    bare = cells.to_pylist()
    if family == "truth":
        return pa.array([_truth(word, spelling.format) for word in bare], pa.bool_())
    if family == "span":
        instants = [int(w[:-3]) if w is not None and _SPAN.fullmatch(w) else None for w in bare]
    elif family in ("moment", "time"):
        instants = [None if w is None else _instant(w, family) for w in bare]
        if spelling.format.startswith("%"):
            unit = pa.time64("us") if family == "time" else pa.timestamp("us", tz="UTC")
            ticks = parse_times(cells, spelling.format, unit).cast(pa.int64()).to_pylist()
            # A plain date or time stands for itself under any format: so an object that is one is spelled.
            instants = [
                plain if tick is None else tick * 1000
                for tick, plain in zip(ticks, instants, strict=True)
            ]
    else:
        return pa.nulls(len(bare), kind)
    per_unit = DAY * 10**9 if kind == pa.date32() else 10**9 // units_per_second(kind)
    shift = clock_shift(kind)
    units = [
        0 if n is None else min(max(n // per_unit + shift, -LARGEST), LARGEST) for n in instants
    ]
    present = np.array([n is not None for n in instants], dtype=bool)
    return from_numbers(np.array(units, dtype=np.int64), present, kind)


def _truth(word: str | None, spelled: str) -> bool | None:
    true, _, false = (spelled if "/" in spelled else "true/false").partition("/")
    meaning = {"true": True, "false": False, true: True, false: False}.get(word or "")
    if meaning is not None:
        return meaning
    number = _number(word)
    return bool(number) if number in (0, 1) else None


def _number(word: str | None) -> int | float | None:
    """Return the number that a word spells with a decimal point, whole ones exactly; None for NaN and for what is no number.

    Examples
    --------
    >>> [_number(word) for word in ("007", "1e3", "-inf", "true", "nan", "1_0", "x")]
    [7, 1000.0, -inf, 1, None, None, None]
    """
    if word is None or "_" in word:
        return None
    if word.lower() in ("true", "false"):
        return int(word.lower() == "true")
    try:
        return int(word)
    except ValueError:  # no whole number, or one of more digits than Python reads
        pass
    try:
        number = float(word)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _numbers(numbers: Iterable[int | float | None], kind: pa.DataType, *, exact: bool) -> pa.Array:
    integral = pa.types.is_integer(
        kind
    )  # cell by cell: a fraction in one must not cost another its last digits
    nearest = [
        None if n is None else _integer(n, exact=exact) if integral else _real(n) for n in numbers
    ]
    present = np.array([n is not None for n in nearest], dtype=bool)
    dtype = np.int64 if integral else np.float64
    return from_numbers(np.array([n or 0 for n in nearest], dtype=dtype), present, kind)


def _real(number: int | float) -> float:
    """Return a number as a float; beyond all floats it is infinite, as 1e400 is."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _integer(number: int | float, *, exact: bool) -> int | None:
    """Return a number as one that int64 holds: the nearest, or None where `exact` is asked and it is none."""
    if isinstance(number, int):
        return min(max(number, -(2**63)), 2**63 - 1)
    if exact and not number.is_integer():
        return None
    return round(min(max(number, -LARGEST), LARGEST))


def _instant(word: str, family: str) -> int | None:
    """Return the nanoseconds since 1970, or of a time of day since midnight, of a plain spelling (ISO 8601); None for what is none."""
    try:
        if family == "time":
            time = datetime.time.fromisoformat(word)
            moment = datetime.datetime.combine(_EPOCH, time, tzinfo=datetime.UTC)
        else:
            moment = datetime.datetime.fromisoformat(word)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    fraction = _FRACTION.search(word)  # Python cuts off all beyond six digits
    return micros * 1000 + (int(fraction[1][6:9].ljust(3, "0")) if fraction else 0)


def format_values(
    values: pa.Array, spelled: str, decimal: str = ".", thousands: str = ""
) -> pa.Array:
    """Return values as the words of a text file; null stays null."""
    cells = _format_values(values, spelled)
    inner = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if decimal != "." and is_decimal_type(inner):
        cells = pc.replace_substring(cells, ".", decimal)
    return (
        group_thousands(cells, thousands)
        if thousands and (is_decimal_type(inner) or pa.types.is_integer(inner))
        else cells
    )


def grouped_pattern(thousands: str, decimal: str, min_groups: int = 1) -> str:
    """Return the pattern of numbers with at least so many groups of thousands set apart."""
    groups = f"({re.escape(thousands)}[0-9]{{3}}){{{min_groups},}}"
    return rf"^[+-]?[1-9][0-9]{{0,2}}{groups}({re.escape(decimal)}[0-9]*)?$"


def check_sign(decimal: str | None) -> DecimalSign | None:
    """Return a decimal sign that was given, or raise."""
    if decimal is None or decimal in get_args(DecimalSign):
        return decimal  # type: ignore[return-value]
    raise InputError(f"decimal must be '.' or ','. Got {decimal!r}.")


def is_doubtful(cells: pa.Array) -> bool:
    """Return whether every sign in words may separate thousands as well as decimals.

    Examples
    --------
    >>> is_doubtful(pa.array(["1,234", "17", None])), is_doubtful(pa.array(["1,234", "0,5"]))
    (True, False)
    """
    signed = cells.filter(pc.match_substring_regex(cells, "[.,]"))
    return pc.all(pc.match_substring_regex(signed, DOUBTFUL)).as_py() is not False


def plain_numbers(cells: pa.Array, decimal: str, thousands: str = "") -> pa.Array:
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
            pc.match_substring(cells, thousands),
            pc.invert(pc.match_substring_regex(cells, grouped_pattern(thousands, decimal))),
        )
        cells = pc.replace_substring(
            pc.if_else(wrong, pa.scalar(None, cells.type), cells), thousands, ""
        )
    other = "." if decimal == "," else ","
    cells = pc.if_else(pc.match_substring(cells, other), pa.scalar(None, cells.type), cells)
    return cells if decimal == "." else pc.replace_substring(cells, ",", ".")


def group_thousands(cells: pa.Array, thousands: str) -> pa.Array:
    """Return numbers with a sign between their thousands.

    Examples
    --------
    >>> group_thousands(pa.array(["1234,5", "-1234567", "99"]), ".").to_pylist()
    ['1.234,5', '-1.234.567', '99']
    """
    coded = cells.dictionary_encode()
    apart = [
        None
        if word is None
        else _WHOLE_PART.sub(
            lambda match: match[1] + f"{int(match[2]):,}".replace(",", thousands), word
        )
        for word in coded.dictionary.to_pylist()
    ]
    return pa.array(apart, pa.string()).take(coded.indices)


def with_sign(schema: Schema, decimal: str | None) -> Schema:
    """Return the schema with a decimal sign that was given for the numbers of a file; itself if none was."""
    sign = check_sign(decimal)
    if sign is None:
        return schema
    numbers = ("integer", "float", UNKNOWN)
    columns = (
        replace(c, decimal=sign, thousands="" if c.thousands == sign else c.thousands)
        if c.kind in numbers or has_decimals(c)
        else c
        for c in schema
    )
    return replace(schema, columns=tuple(columns))


def has_decimals(column: Column) -> bool:
    """Return whether the values of a column may have decimals, by its type."""
    return is_decimal_type(value_type(parse_type(column.type)))


def _has_other_sign(cells: pa.Array, kind: pa.DataType, decimal: str) -> bool:
    """Return whether words are numbers all right, but with the other decimal sign."""
    if not is_decimal_type(kind):
        return False
    pattern = COMMA if decimal == "." else POINT
    cells = pc.utf8_trim_whitespace(cells.drop_null())
    return bool((matches(cells, pattern) | matches(cells, INTEGER)).all())


def _format_values(values: pa.Array, spelled: str) -> pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if pa.types.is_boolean(kind):
        true, _, false = (
            spelled if "/" in spelled and "%" not in spelled else "true/false"
        ).partition("/")
        return pc.if_else(values, true, false)
    if pa.types.is_floating(kind) and spelled.startswith("fixed "):
        return _fixed_decimals(values, int(spelled.split()[1]))
    if pa.types.is_floating(kind) and spelled.startswith("least "):
        return _at_least(values, int(spelled.split()[1]))
    if spelled.startswith("%") and (
        pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    ):
        return format_times(values, spelled)
    return values.cast(pa.string())


def _fixed_decimals(values: pa.Array, decimals: int) -> pa.Array:
    """Return floats with a fixed number of decimals, by whole-number arithmetic."""
    numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    if len(numbers) and np.abs(numbers).max() * 10.0**decimals >= 2.0**53:
        cells = pa.array([f"{x:.{decimals}f}" for x in numbers], type=pa.string())
    else:
        scaled = np.rint(np.abs(numbers) * 10.0**decimals).astype(np.int64)
        units, rest = np.divmod(scaled, 10**decimals)
        tail = pc.utf8_lpad(pa.array(rest).cast(pa.string()), width=decimals, padding="0")
        sign = pc.if_else(pa.array((numbers < 0) & (scaled > 0)), "-", "")
        cells = pc.binary_join_element_wise(sign, pa.array(units).cast(pa.string()), "")
        cells = pc.binary_join_element_wise(cells, tail, ".")
    return pc.if_else(values.is_valid(), cells, pa.scalar(None, pa.string()))


def _at_least(values: pa.Array, decimals: int) -> pa.Array:
    """Return floats as they are, but with no fewer decimals than that: 0.0 and 0.25, and not 0."""
    cells = values.cast(pa.float64()).cast(pa.string())
    coded = cells.dictionary_encode()
    padded = [_pad_decimals(word, decimals) for word in coded.dictionary.to_pylist()]
    return pa.array(padded, pa.string()).take(coded.indices)


def _pad_decimals(word: str, decimals: int) -> str:
    if not word.lstrip("+-")[:1].isdigit() or "e" in word.lower():
        return word
    integer, _, fraction = word.partition(".")
    return f"{integer}.{fraction.ljust(decimals, '0')}"


def matches(cells: pa.Array, pattern: str) -> NDArray[np.bool_]:
    """Return which words a pattern is found in."""
    hits: NDArray[np.bool_] = pc.match_substring_regex(cells, pattern).to_numpy(
        zero_copy_only=False
    )
    return hits
