"""The decimal sign of a text file, a point or a comma: given, or found from all of its numbers where they leave no doubt.

Half of the world writes 79,04 and divides cells by semicolons. A column of such cells is numbers, and a file that came with
decimal commas leaves with them. Thousands separators are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from .._base.errors import InputError, SchemaError, listed
from .schema import UNKNOWN, Column, Schema
from .types import parse_type, value_type

__all__ = [
    "COMMA", "GROUPED", "POINT", "DecimalSign", "SignCount", "check_sign", "file_sign", "has_decimals",
    "is_decimal_type", "is_doubtful", "other_sign", "with_point", "with_sign",
]  # fmt: skip

DecimalSign = Literal[".", ","]
_NAMES = {".": "point", ",": "comma"}

POINT = r"^[+-]?((0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\.?)([eE][+-]?[0-9]{1,3})?$"
"""Numbers with a decimal point, and whole ones."""

COMMA = r"^[+-]?(0|[1-9][0-9]*)?,[0-9]+([eE][+-]?[0-9]{1,3})?$"
"""Numbers with a decimal comma."""

GROUPED = (
    r"^[+-]?[1-9][0-9]{0,2}("
    r"(\.[0-9]{3})+,[0-9]*|(,[0-9]{3})+\.[0-9]*|(\.[0-9]{3}){2,}|(,[0-9]{3}){2,}|([ '\x{2019}\x{a0}\x{202f}][0-9]{3})+[.,][0-9]+)$"
)
"""Numbers with thousands separators that cannot be read in another way."""

_DOUBTFUL = r"^[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}$"


@dataclass(frozen=True)
class SignCount:
    """What the cells of a column that holds numbers only say of the decimal sign.

    `point` and `comma`: whether a cell has that sign. `sure`: whether a comma stands where no thousands separator could.
    """

    point: bool = False
    comma: bool = False
    sure: bool = False


def check_sign(decimal: str | None) -> DecimalSign | None:
    """Return a decimal sign that was given, or raise."""
    if decimal is None or decimal in get_args(DecimalSign):
        return decimal  # type: ignore[return-value]
    raise InputError(f"decimal must be '.' or ','. Got {decimal!r}.")


def file_sign(columns: Mapping[str, SignCount], name: str) -> DecimalSign:
    """Return the decimal sign of a text file from its columns of numbers; raise where they leave a doubt.

    A point unless a column has commas. A comma if no column has points, and a comma stands somewhere where no thousands
    separator could: not before three digits and nothing more, as in 1,234.

    Examples
    --------
    >>> file_sign({"pay": SignCount(comma=True, sure=True), "age": SignCount()}, "a.csv")
    ','
    """
    commas = [column for column, signs in columns.items() if signs.comma]
    points = [column for column, signs in columns.items() if signs.point]
    if not commas:
        return "."
    if points:
        raise InputError(
            f"'{name}' has numbers with a comma (columns {listed(commas)}) and numbers with a point (columns {listed(points)}). Say "
            'which is the decimal sign: --decimal , or --decimal . (decimal="," in Python). Columns with the other sign stay text.'
        )
    if not any(columns[column].sure for column in commas):
        raise InputError(
            f"'{name}' has numbers with a comma before three digits (columns {listed(commas)}): decimals or thousands? If it is the "
            'decimal sign pass --decimal , (decimal="," in Python). Thousands separators are not read: take them out, or pass '
            "--decimal . to keep these columns as text."
        )
    return ","


def is_doubtful(words: pa.Array) -> bool:
    """Return whether every sign in words may separate thousands as well as decimals.

    Examples
    --------
    >>> is_doubtful(pa.array(["1,234", "17", None])), is_doubtful(pa.array(["1,234", "0,5"]))
    (True, False)
    """
    signed = words.filter(pc.match_substring_regex(words, "[.,]"))
    return pc.all(pc.match_substring_regex(signed, _DOUBTFUL)).as_py() is not False


def with_point(words: pa.Array, decimal: str) -> pa.Array:
    """Return numbers with the given decimal sign as numbers with a point; null where a word has the other sign.

    Examples
    --------
    >>> with_point(pa.array(["79,04", "7.904"]), ",").to_pylist()
    ['79.04', None]
    """
    other = "." if decimal == "," else ","
    words = pc.if_else(pc.match_substring(words, other), pa.scalar(None, words.type), words)
    return words if decimal == "." else pc.replace_substring(words, ",", ".")


def with_sign(schema: Schema, decimal: str | None) -> Schema:
    """Return the schema with a decimal sign that was given for the numbers of a file; itself if none was."""
    sign = check_sign(decimal)
    if sign is None:
        return schema
    numbers = ("integer", "float", UNKNOWN)
    columns = (replace(c, decimal=sign) if c.kind in numbers or has_decimals(c) else c for c in schema)
    return replace(schema, columns=tuple(columns))


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
