"""The one place where a stored cell becomes a value of its declared type, for private fits: no cell stops it or changes another's.

Each value is a function of its own cell and of the declaration. Values of the declared family (numbers, dates and times, times of
day, spans, truth, words) are converted as arrays; all others are spelled (`spell`) and read as words are. Both ways agree, since one odd cell
decides how pandas stores its column. What cannot be read is null, and `place` sends nulls where the declaration says.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..table.schema import Column
from ..table.spell import is_bytes, spell_values, words_of
from ..table.times import parse_times
from ..table.types import (
    LARGEST,
    PER_SECOND,
    clock_shift,
    from_numbers,
    is_words,
    parse_type,
    value_type,
)
from .domain import numbers_of, with_usual_type

MOST_BYTES = 2**31 - 1
"""The most bytes of words that an array with offsets of 32 bits can hold."""

DAY = 86_400
_FRACTION = re.compile(r"[.,]([0-9]{7,})")
_SPAN = re.compile(r"-?[0-9]{1,30} ns")


def declared_values(
    column: Column, values: pa.Array, *, beside: pa.Array | None = None, blank: bool = False
) -> tuple[pa.Array, NDArray[np.int16] | None]:
    """Return cells as values of the column's declared type, null where they are none, and which missing code stood there.

    Cells may be of any type but a dictionary; `beside` are the missing codes that stood beside nulls, where they are stored apart.
    `blank`: cells without a letter are empty ones, as in a text file, and wherever words stand for something else.
    Words have offsets of 64 bits and no dictionary: `in_type` gives them those that are declared.
    """
    column = with_usual_type(column)
    kind, words = (
        value_type(parse_type(column.type)),
        is_words(values.type) or is_bytes(values.type),
    )
    tokens = None if beside is None else _tokens(column, beside.dictionary_encode())
    same = not words and _family(values.type) == _family(kind) != "none"
    if same and (tokens is not None or not _codes_are_values(column, kind)):
        return _whole_days(_converted(column, values, kind)), tokens
    cells = values if words else spell_values(values)
    if not words:  # our own spelling has a point, whatever sign the column's file has
        column = replace(column, decimal=".", thousands="")
    typed, spelled = _read(column, cells, kind, blank=blank or not is_words(kind))
    return _whole_days(typed), spelled if tokens is None else tokens


def in_type(values: pa.Array, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return declared values in the declared type to the bit, whatever words there are: dictionaries have indices of 32 bits."""
    inner = value_type(kind)
    narrow = _narrow(values, inner) if is_words(inner) else values
    return narrow.dictionary_encode() if pa.types.is_dictionary(kind) else narrow


def _family(kind: pa.DataType) -> str:
    """What values are: families differ in what a value means, types of one family in how it is held."""
    if is_words(kind) or is_bytes(kind):
        return "words"
    families = {
        "number": lambda k: (
            pa.types.is_integer(k) or pa.types.is_floating(k) or pa.types.is_decimal(k)
        ),
        "moment": lambda k: pa.types.is_date(k) or pa.types.is_timestamp(k),
        "time": pa.types.is_time,
        "span": pa.types.is_duration,
        "truth": pa.types.is_boolean,
    }
    return next((name for name, test in families.items() if test(kind)), "none")


def _codes_are_values(column: Column, kind: pa.DataType) -> bool:
    """Whether a missing code that is a word reads as a value: then cells are words first, as they are in a text file."""
    words = [code for code in column.missing if isinstance(code, str)]
    return bool(words) and _parsed(column, words, kind).null_count < len(words)


def _read(
    column: Column, values: pa.Array, kind: pa.DataType, *, blank: bool
) -> tuple[pa.Array, NDArray[np.int16] | None]:
    """Return words as values of a type, and which of them are missing codes."""
    coded = values.dictionary_encode()
    words = words_of(coded.dictionary)
    tokens = None
    if blank:
        tokens = _tokens(column, coded)
        words = [
            None if word is None or not word.strip() or word in column.missing else word
            for word in words
        ]
    parsed = (
        pa.array(words, type=pa.large_string()) if is_words(kind) else _parsed(column, words, kind)
    )
    return parsed.take(coded.indices.cast(pa.int64())), tokens


def _tokens(column: Column, coded: pa.DictionaryArray) -> NDArray[np.int16] | None:
    if not any(isinstance(code, str) for code in column.missing):
        return None
    position = {code: i for i, code in enumerate(column.missing) if isinstance(code, str)}
    table = np.array(
        [*(position.get(word or "", -1) for word in words_of(coded.dictionary)), -1], dtype=np.int16
    )
    return np.asarray(
        table[
            coded.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
        ]
    )


def _narrow(words: pa.Array, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return words in a type that may have offsets of 32 bits: in as many pieces as they need, null for a word that is too long."""
    if pa.types.is_large_string(kind):
        return words
    lengths = np.asarray(
        pc.fill_null(pc.binary_length(words), 0).to_numpy(zero_copy_only=False), dtype=np.int64
    )
    if int(lengths.sum()) <= MOST_BYTES:
        return words.cast(kind)
    long = lengths > MOST_BYTES
    words = pc.if_else(pa.array(long), pa.scalar(None, words.type), words)
    pieces, start, n_bytes = [], 0, 0
    for row, length in enumerate(np.where(long, 0, lengths).tolist()):
        if n_bytes + length > MOST_BYTES:
            pieces.append(words.slice(start, row - start).cast(kind))
            start, n_bytes = row, 0
        n_bytes += length
    return pa.chunked_array([*pieces, words.slice(start).cast(kind)], type=kind)


def _parsed(column: Column, words: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """Return words as values of a type, null where they read as none."""
    bare = [None if word is None else word.strip() for word in words]
    family = _family(kind)
    if family == "truth":
        return pa.array(
            [None if word is None else _truth(column, word) for word in bare], pa.bool_()
        )
    if family == "number":
        return _numbers(
            column,
            [
                None if word is None else _number(word, column.decimal, column.thousands)
                for word in bare
            ],
            kind,
        )
    if family in ("moment", "time"):
        read = _instant if family == "moment" else _time
        instants = [None if word is None else read(word) for word in bare]
        if column.format.startswith("%"):
            unit = pa.time64("us") if family == "time" else pa.timestamp("us", tz="UTC")
            formatted = (
                parse_times(pa.array(bare, pa.large_string()), column.format, unit)
                .cast(pa.int64())
                .to_pylist()
            )
            # A plain date or time stands for itself under any format: so an object that is one is spelled.
            instants = [
                plain if tick is None else tick * 1000
                for tick, plain in zip(formatted, instants, strict=True)
            ]
    elif family == "span":
        instants = [
            int(word[:-3]) if word is not None and _SPAN.fullmatch(word) else None for word in bare
        ]
    else:
        return pa.nulls(len(bare), kind)
    per_unit = DAY * 10**9 if kind == pa.date32() else 10**9 // _units(kind)
    shift = clock_shift(kind)
    units = [
        0 if n is None else min(max(n // per_unit + shift, -LARGEST), LARGEST) for n in instants
    ]
    return from_numbers(
        np.array(units, dtype=np.int64),
        np.array([n is not None for n in instants], dtype=bool),
        kind,
    )


def _truth(column: Column, word: str) -> bool | None:
    true, _, false = (column.format if "/" in column.format else "true/false").partition("/")
    meaning = {"true": True, "false": False, true: True, false: False}.get(word)
    if meaning is None:
        number = _number(word)
        return bool(number) if number in (0, 1) else None
    return meaning


def _numbers(column: Column, numbers: list[int | float | None], kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(
        kind
    ):  # cell by cell: a fraction in one must not cost another its last digits
        numbers = [
            None if n is None else _whole(n, exact=column.kind == "categorical") for n in numbers
        ]
    else:
        numbers = [None if n is None else _real(n) for n in numbers]
    present = np.array([n is not None for n in numbers], dtype=bool)
    dtype = np.int64 if pa.types.is_integer(kind) else np.float64
    return from_numbers(np.array([n or 0 for n in numbers], dtype=dtype), present, kind)


def _number(word: str, decimal: str = ".", thousands: str = "") -> int | float | None:
    """Return the number that a word spells, whole ones exactly; None for NaN and for what is no number.

    Examples
    --------
    >>> [_number(word) for word in ("007", "1e3", "-inf", "true", "nan", "1_0", "x")]
    [7, 1000.0, -inf, 1, None, None, None]
    >>> [_number(word, ",") for word in ("7,5", "7.5")]
    [7.5, None]
    >>> [_number(word, ",", ".") for word in ("1.234,5", "1234,5", "12.34")]
    [1234.5, 1234.5, None]
    """
    if thousands and thousands in word:
        if not re.fullmatch(
            rf"[+-]?[1-9][0-9]{{0,2}}({re.escape(thousands)}[0-9]{{3}})+({re.escape(decimal)}[0-9]*)?",
            word,
        ):
            return None
        word = word.replace(thousands, "")
    if "_" in word or (decimal == "," and "." in word):
        return None
    word = word.replace(decimal, ".")
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


def _real(number: int | float) -> float:
    """Return a number as a float; beyond all floats it is infinite, as 1e400 is."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _whole(number: int | float, *, exact: bool) -> int | None:
    """Return a number as one that int64 holds: the nearest, or None where `exact` is asked and it is none."""
    if isinstance(number, int):
        return min(max(number, -(2**63)), 2**63 - 1)
    if exact and not number.is_integer():
        return None
    return round(min(max(number, -LARGEST), LARGEST))


def _instant(word: str) -> int | None:
    """Return the nanoseconds since 1970 of a date or time in its plain spelling (ISO 8601), None for what is none."""
    try:
        moment = datetime.datetime.fromisoformat(word)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (
        (since.days * DAY + since.seconds) * 10**6 + since.microseconds
    ) * 1000 + _beyond_micros(word)


def _time(word: str) -> int | None:
    """Return the nanoseconds since midnight of a time of day in its plain spelling, None for what is none."""
    try:
        time = datetime.time.fromisoformat(word).replace(tzinfo=None)
    except ValueError:
        return None
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return (seconds * 10**6 + time.microsecond) * 1000 + _beyond_micros(word)


def _beyond_micros(word: str) -> int:
    """The nanoseconds of a fraction of a second that Python cuts off."""
    fraction = _FRACTION.search(word)
    return int(fraction[1][6:9].ljust(3, "0")) if fraction else 0


def _converted(column: Column, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values as those of another type of the same family."""
    stored = values.type
    if stored == kind:
        return values
    numbers, present = numbers_of(values)
    if _family(kind) != "number":
        return _rescaled(numbers, stored, present, kind)
    if pa.types.is_integer(kind) and numbers.dtype == np.float64:
        if column.kind == "categorical":
            present = present & (numbers == np.rint(numbers)) & np.isfinite(numbers)
        numbers = np.rint(np.clip(np.where(present, numbers, 0.0), -LARGEST, LARGEST)).astype(
            np.int64
        )
    return from_numbers(numbers, present, kind)


def _rescaled(
    numbers: NDArray[Any], stored: pa.DataType, present: NDArray[np.bool_], kind: pa.DataType
) -> pa.Array:
    """Return moments, times or spans that are counted in units of one type as those of another; none overflows."""
    # Days are the coarsest unit: as fractions of a second, both ways are whole numbers of each other.
    if _is_zoned(stored) and _is_zoned(kind):  # from the clock of one zone to that of the other
        numbers = (
            np.clip(numbers, -(2**62), 2**62)
            - clock_shift(stored)
            + clock_shift(pa.timestamp(stored.unit, tz=kind.tz))
        )
    stored_units, wanted = (1 if k == pa.date32() else DAY * _units(k) for k in (stored, kind))
    if wanted >= stored_units:
        factor = wanted // stored_units
        most = LARGEST // factor
        return from_numbers(np.clip(numbers, -most, most) * factor, present, kind)
    return from_numbers(numbers // (stored_units // wanted), present, kind)


def _is_zoned(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz)


def _whole_days(values: pa.Array) -> pa.Array:
    """Return days that are counted in milliseconds (date64) without the part of a day, which Arrow takes for damage."""
    if values.type != pa.date64():
        return values
    numbers, present = numbers_of(values)
    day = 1000 * DAY
    return from_numbers(numbers // day * day, present, values.type)


def _units(kind: pa.DataType) -> int:
    """How many units of a time make a second; not for days."""
    return 1000 if kind == pa.date64() else PER_SECOND[kind.unit]
