"""One spelling for each value, whatever it is stored as: what a cell says must not depend on the
cells beside it.

One odd cell makes pandas store a whole column as Python objects, or whole numbers as floats. So a
value is spelled the same as an Arrow value and as a Python object, and two values of one type have
two spellings: identifiers stay apart.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .types import is_bytes, is_words

EXACT = 2.0**53
"""Whole floats below this are spelled as whole numbers are."""

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def spell(cell: Any) -> str | None:
    """Return the spelling of a Python object; None for None, NaN and the like, and where an object
    refuses to be spelled.

    Examples
    --------
    >>> [spell(cell) for cell in (True, 1, 1.0, 0.5, b"baker", datetime.date(2020, 1, 2), None)]
    ['true', '1', '1', '0.5', 'baker', '2020-01-02', None]
    """
    raw = spell_bytes(cell)
    return None if raw is None else raw.decode("utf-8", "replace")


def spell_bytes(cell: Any) -> bytes | None:
    """Return the spelling of a Python object as bytes, also where it is no text: two words that
    differ in that alone stay apart.

    Examples
    --------
    >>> spell_bytes("baker"), spell_bytes(b"\\xff"), spell_bytes("\\ud800")
    (b'baker', b'\\xff', b'\\xed\\xa0\\x80')
    """
    try:
        if _is_missing(cell):
            return None
        if isinstance(cell, bytes | bytearray | memoryview):
            return bytes(cell)
        word = _spell(cell)
        return None if word is None else word.encode("utf-8", "surrogatepass")
    except Exception:  # whatever the spelling of a stranger's object raises
        return None


def _is_missing(cell: Any) -> bool:
    """Whether an object stands for none. Not by comparison with itself: a Decimal may raise at
    that.
    """
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return cell is None or type(cell).__name__ in (
        "NAType",
        "NaTType",
    )  # those of pandas, which may be absent


def _spell(cell: Any) -> str | None:
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, int | np.integer):
        return str(Decimal(int(cell)))  # str of a whole number refuses more than 4,300 digits
    if isinstance(cell, float | np.floating):
        return _spell_float(float(cell))
    if (
        isinstance(cell, complex | np.complexfloating) and not cell.imag
    ):  # one complex number makes pandas store all as such
        return _spell_float(float(cell.real))
    if isinstance(cell, datetime.timedelta):
        micros = (cell.days * 86_400 + cell.seconds) * 10**6 + cell.microseconds
        return f"{micros * 1000 + getattr(cell, 'nanoseconds', 0)} ns"
    if isinstance(cell, datetime.datetime):
        if cell.tzinfo is None:
            return _short(str(cell))
        return f"{_short(str(cell.astimezone(datetime.UTC).replace(tzinfo=None)))}Z"
    if isinstance(cell, datetime.time):
        return _short(str(cell)) if cell.tzinfo is None else str(cell)
    return str(cell)


def _spell_float(number: float | None) -> str | None:
    if number is None or number != number:  # NaN is missing
        return None
    return str(int(number)) if abs(number) < EXACT and number == int(number) else repr(number)


def _short(moment: str) -> str:
    """Leave out the zeros that end the fraction of a second: how many there are is a matter of the
    stored type.
    """
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def spell_values(values: pa.Array) -> pa.Array:
    """Return the spelling of each value of an Arrow array (large_string); null for null and NaN,
    and for types that have none.

    Examples
    --------
    >>> spell_values(pa.array([True, None])).to_pylist(), spell_values(pa.array([1.0, 2.5])).to_pylist()
    (['true', None], ['1', '2.5'])
    """
    kind, plain = values.type, pa.large_string()
    if is_words(kind) or is_bytes(kind):
        coded = values.dictionary_encode()
        return pa.array(words_of(coded.dictionary), plain).take(coded.indices)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind):
        return values.cast(plain)
    if pa.types.is_floating(kind):
        coded = values.cast(pa.float64()).dictionary_encode()
        return pa.array(
            [_spell_float(number) for number in coded.dictionary.to_pylist()], plain
        ).take(coded.indices)
    if pa.types.is_timestamp(kind):
        bare = _drop_trailing_zeros(values.cast(pa.int64()).cast(pa.timestamp(kind.unit)))
        return (
            bare
            if kind.tz is None
            else pc.binary_join_element_wise(bare, pa.scalar("Z", plain), pa.scalar("", plain))
        )
    if pa.types.is_time(kind):
        return _drop_trailing_zeros(values)
    if pa.types.is_duration(kind):
        factor = _NANOSECONDS[kind.unit]
        return pa.array(
            [
                None if n is None else f"{n * factor} ns"
                for n in values.cast(pa.int64()).to_pylist()
            ],
            plain,
        )
    if pa.types.is_decimal(kind):
        return pa.array(
            [None if number is None else str(number) for number in values.to_pylist()], plain
        )
    return pa.nulls(len(values), plain)


def _drop_trailing_zeros(values: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(
        values.cast(pa.large_string()), r"(\.[0-9]*[1-9])0+$|\.0+$", r"\1"
    )


def words_of(values: pa.Array) -> list[str | None]:
    """Return words or bytes as text, U+FFFD where bytes are none; null stays None."""
    raw = values.cast(pa.large_binary()) if is_words(values.type) else values
    return [None if word is None else word.decode("utf-8", "replace") for word in raw.to_pylist()]
