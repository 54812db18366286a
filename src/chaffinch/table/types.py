"""Names of Arrow types as they stand in schema and model files, and back.

Arrow prints types but does not parse all of what it prints; this small grammar round-trips every type that
a modelled column can have.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import pyarrow as pa

from .._base.errors import SchemaError

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of each unit of time make a second."""

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
"""Metadata of a field that its type needs, and what their values look like: how SPSS and Stata show a number, and which are missing.

All else that a file says of itself or of a column is about the original: its history, the query that it came from, comments, its number of rows.
"""

_UNITS = re.compile(
    r"(timestamp|time32|time64|duration)\[(s|ms|us|ns)(?:, tz=([A-Za-z0-9_+:/-]{1,64}))?\]"
)
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
    known = (
        is_words(inner)
        or is_numeric(inner)
        or pa.types.is_boolean(inner)
        or pa.types.is_null(inner)
    )
    return not known


def without_metadata(schema: pa.Schema, *, keep: Collection[bytes] = ()) -> pa.Schema:
    """Return an Arrow schema without its metadata and those of its fields, but for what types need (`FIELD_METADATA`) and keys to `keep`.

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
