"""Arrow types: their names as they stand in schema and model files, and back; and values as numbers
on a line, and back.

Arrow prints types but does not parse all of what it prints; this small grammar round-trips every
type that a modelled column can have.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import SchemaError

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of each unit of time make a second."""

DAY = 86_400
"""Seconds of a day."""

_PLAIN: dict[str, pa.DataType] = {
    **{
        f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")()
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "halffloat": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "null": pa.null(),
}

_NAMES = {kind: name for name, kind in _PLAIN.items()}
FIELD_METADATA = {
    b"spss.format": re.compile(
        rb"(A(HEX)?|COMMA|DOLLAR|DOT|PCT|CC[A-E]|[EFNPZ]|IB|PIB(HEX)?|PK|RB(HEX)?|[AEJS]?DATE|D?TIME|DATETIME|MTIME|YMDHMS|WKDAY|MONTH|MOYR|QYR|WKYR)"
        rb"[0-9]{1,5}(\.[0-9]{1,2})?"
    ),
    b"spss.measure": re.compile(rb"nominal|ordinal|scale|unknown"),
    b"spss.width": re.compile(rb"[0-9]{1,3}"),
    b"spss.missing": re.compile(
        rb'\[(\[[^"\[\]]{0,60}\]|\["[^"]{0,48}", "[^"]{0,48}"\]|, ){1,5}\]'
    ),
    b"stata.format": re.compile(
        rb"%[-~]?0?([0-9]{1,4}([.,][0-9]{1,2})?)?(gc?|fc?|e|s|x|[HL])"
        rb"|%-?(d|t[dcCwmqhybg])(CC|cc|YY|yy|JJJ|jjj|[Mm]onth|[Mm]on|NN|nn|DD|dd|[Dd]ayname|[Dd]ay|[Dd]a|[hHqQ]|WW|ww|HH|Hh|hH|hh|MM|mm|SS|ss|\.s{1,3}|[ap]\.?m\.?|[-/:., _+])*"
    ),
}
"""Metadata of a field that its type needs, and what their values look like: how SPSS and Stata show
a number, and which are missing.

All else that a file says of itself or of a column is about the original: its history, the query
that it came from, comments, its number of rows.
"""

_UNITS = re.compile(
    r"(timestamp|time32|time64|duration)\[(s|ms|us|ns)(?:, tz=([A-Za-z0-9_+:/-]{1,64}))?\]"
)

_DECIMAL = re.compile(r"decimal(128|256)\((\d{1,2}), (-?\d{1,2})\)")
_DICTIONARY = re.compile(r"(ordered )?dictionary<(u?int(?:8|16|32|64)), (.+)>")
Numbers = NDArray[Any]
_OFFSET = re.compile("([+-])([0-9]{2}):?([0-9]{2})")
LARGEST = 2**63 - 1024
"""The largest whole number that both int64 and float64 hold."""


def type_name(kind: pa.DataType) -> str:
    """Return the name of an Arrow type; `parse_type` undoes it.

    Examples
    --------
    >>> type_name(pa.timestamp("us", "UTC"))
    'timestamp[us, tz=UTC]'
    """
    if kind in _NAMES:
        return _NAMES[kind]
    if pa.types.is_dictionary(kind):
        ordered = "ordered " if kind.ordered else ""
        return f"{ordered}dictionary<{type_name(kind.index_type)}, {type_name(kind.value_type)}>"
    return str(kind)


def parse_type(name: str) -> pa.DataType:
    """Return the Arrow type of a name, or raise."""
    if name in _PLAIN:
        return _PLAIN[name]
    try:
        if match := _DICTIONARY.fullmatch(name):
            return pa.dictionary(_PLAIN[match[2]], parse_type(match[3]), ordered=bool(match[1]))
        if match := _UNITS.fullmatch(name):
            make = getattr(pa, match[1])
            return make(match[2], tz=match[3]) if match[3] else make(match[2])
        if match := _DECIMAL.fullmatch(name):
            return getattr(pa, f"decimal{match[1]}")(int(match[2]), int(match[3]))
    except (ValueError, TypeError, pa.ArrowException):
        pass
    raise SchemaError(
        f"Unknown type '{name[:80]}'. Types are Arrow's: int64, double, string, bool, date32, timestamp[us] ..."
    )


def whole_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values: that of its dictionary for a dictionary type, itself
    otherwise.
    """
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_words(kind: pa.DataType) -> bool:
    """Return whether values of this type are text."""
    kind = value_type(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether values of this type are bytes, of any layout."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or kind == pa.binary_view()
    )


def is_decimal_type(kind: pa.DataType) -> bool:
    """Return whether values of a type may have decimals."""
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def type_family(kind: pa.DataType) -> str:
    """Return what values of a type are: families differ in what a value means, types of one family
    in how it is held.
    """
    if is_words(kind) or is_bytes(kind):
        return "words"
    families = {
        "number": lambda k: pa.types.is_integer(k) or is_decimal_type(k),
        "moment": lambda k: pa.types.is_date(k) or pa.types.is_timestamp(k),
        "time": pa.types.is_time,
        "span": pa.types.is_duration,
        "truth": pa.types.is_boolean,
    }
    return next((name for name, test in families.items() if test(kind)), "none")


def units_per_second(kind: pa.DataType) -> int:
    """Return how many units of a time make a second; not for days."""
    return 1000 if kind == pa.date64() else PER_SECOND[kind.unit]


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether values of this type lie on a line: numbers, dates, times."""
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind)
    ) and not pa.types.is_interval(kind)


def is_nested(kind: pa.DataType) -> bool:
    """Return whether the type is none that a column can be modelled by: lists, structs, bytes and
    the like.
    """
    inner = value_type(kind)
    known = (
        is_words(inner)
        or is_numeric(inner)
        or pa.types.is_boolean(inner)
        or pa.types.is_null(inner)
    )
    return not known


def without_metadata(schema: pa.Schema, *, keep: Collection[bytes] = ()) -> pa.Schema:
    """Return an Arrow schema without its metadata and those of its fields, but for what types need
    (`FIELD_METADATA`) and keys to `keep`.

    Examples
    --------
    >>> field = pa.field("age", pa.int64(), metadata={"comment": "patient 4711 corrected", "spss.measure": "scale"})
    >>> bare = without_metadata(pa.schema([field], metadata={"history": "dropped patient 4711"}))
    >>> bare.metadata, bare.field("age").metadata
    (None, {b'spss.measure': b'scale'})
    """
    fields = [
        field.with_metadata(
            {
                key: value
                for key, value in (field.metadata or {}).items()
                if key in FIELD_METADATA and FIELD_METADATA[key].fullmatch(value)
            }
            or None
        )
        for field in schema
    ]
    return pa.schema(
        fields,
        metadata={key: value for key, value in (schema.metadata or {}).items() if key in keep}
        or None,
    )


def is_whole(kind: pa.DataType) -> bool:
    """Return whether values of a type are whole numbers of some unit: integers, dates and times."""
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def to_numbers(values: pa.Array) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the numbers of an Arrow array (int64 or float64) and which of them are not null.

    Dates and times become whole units of their type; moments with a fixed offset from UTC those of
    its clock, on which whole hours and days fall. Where an entry is null, the number is 0.
    """
    values = whole_array(values)
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())  # Arrow 17 cannot fill the nulls of halves
    present = np.ones(len(values), dtype=bool)
    if values.null_count:
        present = values.is_valid().to_numpy(zero_copy_only=False)
        values = values.fill_null(_zero(values.type))
    if pa.types.is_integer(values.type) or pa.types.is_temporal(values.type):
        if values.type.bit_width == 32 and pa.types.is_temporal(values.type):
            values = values.cast(pa.int32())
        numbers = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        if shift := clock_shift(values.type):
            numbers = numbers + shift
    else:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if pa.types.is_decimal(values.type):
            numbers = np.round(numbers, values.type.scale)  # the cast is not to the nearest float
    return numbers, present


def clock_shift(kind: pa.DataType) -> int:
    """Return the units between the clock of a type with a fixed offset from UTC and UTC itself; 0
    for all other types.
    """
    fixed = _OFFSET.fullmatch(kind.tz) if pa.types.is_timestamp(kind) and kind.tz else None
    if fixed is None:
        return 0
    minutes = int(fixed[2]) * 60 + int(fixed[3])
    return (-minutes if fixed[1] == "-" else minutes) * 60 * PER_SECOND[kind.unit]


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(0), type=kind)
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.scalar(0, type=narrow).cast(kind)
    return (
        pa.scalar(0, type=kind)
        if not pa.types.is_float16(kind)
        else pa.scalar(np.float16(0), type=kind)
    )


def from_numbers(numbers: Numbers, present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return numbers as an Arrow array of a type, null where they are not present; what the type
    cannot hold is the nearest that it can.
    """
    mask = None if present.all() else ~present
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _whole_numbers(np.asarray(numbers) - clock_shift(kind), mask, narrow).cast(kind)
    if pa.types.is_decimal(kind):
        return _decimals(np.where(present, numbers, 0.0), mask, kind)
    if pa.types.is_integer(kind):
        return _whole_numbers(numbers, mask, kind)
    dtype: Any = (
        np.float16
        if pa.types.is_float16(kind)
        else np.float32
        if pa.types.is_float32(kind)
        else np.float64
    )
    with np.errstate(over="ignore"):  # too large for a narrow float: infinite
        out = pa.array(np.asarray(numbers).astype(dtype), mask=mask)
    return out.cast(kind) if is_words(kind) else out


def _whole_numbers(numbers: Numbers, mask: NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    info = np.iinfo(str(kind))
    if np.asarray(numbers).dtype.kind == "f":
        numbers = np.clip(numbers, -LARGEST, LARGEST)
    integers = np.clip(
        np.asarray(numbers).astype(np.int64), max(info.min, -(2**63)), min(info.max, 2**63 - 1)
    )
    return pa.array(integers, mask=mask).cast(kind)


def _decimals(numbers: Numbers, mask: NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    """Return numbers as decimals, made of whole units of the last digit: a cast from float cuts
    instead of rounding.

    A float is some 53 bits and a power of two, so it is split into words of 64 bits without error.
    """
    largest = np.nextafter(10.0**kind.precision, 0.0)
    with np.errstate(over="ignore"):
        units = np.clip(
            np.rint(np.asarray(numbers, dtype=np.float64) * 10.0**kind.scale), -largest, largest
        )
    rest, limbs = np.abs(units), []
    for _ in range(kind.bit_width // 64):
        limbs.append(np.fmod(rest, 2.0**64).astype(np.uint64))
        rest = np.floor(rest / 2.0**64)
    bits = np.stack(limbs, axis=1)
    bits[units < 0] = ~bits[units < 0]  # two's complement: all bits turned, and one added
    carry = units < 0
    for limb in range(bits.shape[1]):
        bits[carry, limb] += np.uint64(1)
        carry = carry & (bits[:, limb] == 0)
    decimals = pa.Array.from_buffers(
        kind, len(units), [None, pa.py_buffer(bits.astype("<u8").tobytes())]
    )
    return decimals if mask is None else pc.if_else(pa.array(mask), pa.scalar(None, kind), decimals)
