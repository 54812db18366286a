"""Names of Arrow types as they stand in schema and model files, and back.

Arrow prints types but does not parse all of what it prints; this small grammar round-trips every type that
a modelled column can have.
"""

from __future__ import annotations

import re

import pyarrow as pa

from .._base.errors import SchemaError

__all__ = ["PER_SECOND", "is_nested", "is_numeric", "is_words", "parse_type", "type_name", "value_type", "whole_array"]

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of each unit of time make a second."""

_PLAIN: dict[str, pa.DataType] = {
    **{f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "halffloat": pa.float16(), "float": pa.float32(), "double": pa.float64(), "bool": pa.bool_(), "string": pa.string(),
    "large_string": pa.large_string(), "string_view": pa.string_view(), "date32": pa.date32(), "date64": pa.date64(),
    "null": pa.null(),
}  # fmt: skip
_NAMES = {kind: name for name, kind in _PLAIN.items()}
_UNITS = re.compile(r"(timestamp|time32|time64|duration)\[(s|ms|us|ns)(?:, tz=([A-Za-z0-9_+:/-]{1,64}))?\]")
_DECIMAL = re.compile(r"decimal(128|256)\((\d{1,2}), (-?\d{1,2})\)")
_DICTIONARY = re.compile(r"(ordered )?dictionary<(u?int(?:8|16|32|64)), (.+)>")


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
    """Return the type of the values: that of its dictionary for a dictionary type, itself otherwise."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_words(kind: pa.DataType) -> bool:
    """Return whether values of this type are text."""
    kind = value_type(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether values of this type lie on a line: numbers, dates, times."""
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind)
    ) and not pa.types.is_interval(kind)


def is_nested(kind: pa.DataType) -> bool:
    """Return whether the type is none that a column can be modelled by: lists, structs, bytes and the like."""
    inner = value_type(kind)
    known = is_words(inner) or is_numeric(inner) or pa.types.is_boolean(inner) or pa.types.is_null(inner)
    return not known
