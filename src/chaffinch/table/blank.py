"""Schemas to fill in, a line for each column: from names and stored types alone, so that no record has a say in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from .decimal_sign import DecimalSign
from .personal.names import name_sign
from .schema import NUMERIC_KINDS, UNKNOWN, Column, Kind, Schema
from .schema_file import FORMAT, PUBLIC, VERSION, toml_key, toml_value, usual_type
from .types import type_name

CASES = (
    (
        '{ kind = "integer", bounds = [0, 110] }',
        "numbers (integer, float): their range, cut into bins = 20 of equal width",
    ),
    ('{ kind = "float", edges = [0, 18.5, 25, 60] }', "numbers in bins of your own"),
    ('{ kind = "date", bounds = [2000-01-01, 2029-12-31] }', "dates; with times of day: datetime"),
    (
        '{ levels = ["a", "b"], other = true }',
        "categories: every value that may occur; all else goes to (other)",
    ),
    (
        '{ kind = "boolean", nullable = true }',
        "yes and no; nullable wherever values may be missing",
    ),
    (
        '"drop"',
        'says who somebody is, or is free text: left out; "fake" makes values up, "keep" has it modelled',
    ),
    (
        '{ kind = "categorical", discover = true }',
        "a private fit spends budget to find its levels, or bounds",
    ),
)
"""The common cases of a column, and what each is for."""

EPOCH = datetime(1970, 1, 1)

_KEYS = (
    "title",
    "nullable",
    "missing",
    "levels",
    "other",
    "ordered",
    "edges",
    "bounds",
    "decimals",
    "decimal",
    "format",
)
_ROW_NUMBERS = re.compile(
    r"id|uuid|guid|index|(row|record|case)[_ ]?(id|no|nr|number|index)", re.IGNORECASE
)


def blank_text(
    types: Mapping[str, pa.DataType | None],
    *,
    source: str = "",
    decimal: DecimalSign | None = None,
    codebook: Schema | None = None,
) -> str:
    """Return a schema to fill in, from the names of columns and their stored types (None: words of a text file).

    `decimal` is the decimal sign of a text file where it was given, `codebook` what is declared of columns elsewhere. A kind is proposed where the stored type settles it, or where the
    name says that the column tells who somebody is. `public = true` stands in a comment: it is the word of whoever fills it in.

    Examples
    --------
    >>> print(blank_text({"age": pa.int64(), "job": None, "surname": None}).partition("[columns]")[2])
    <BLANKLINE>
    age = { kind = "integer" }  # needs bounds; its type is int64
    job = {}  # needs a kind, or levels
    surname = { kind = "identifier" }  # by its name
    <BLANKLINE>
    """
    of = f" of {source}" if source else ""
    declared = {} if codebook is None else {column.name: column for column in codebook}
    known = "names and types" if codebook is None else "names, types and a codebook"
    width = max(len(case) for case, _ in CASES)
    lines = [
        f"# Schema{of}, to fill in from what is known of the field, not from the data. Nothing was read but {known}.",
        "# A line for each column. The common cases:",
        *(f"#   {case:{width}}  {words}" for case, words in CASES),
        "",
        f'format = "{FORMAT}"',
        f"version = {VERSION}",
        f"# public = true  # take the first # away if {PUBLIC}",
        "# rows = 1000  # the number of records, if that may be known",
        '# discover = "all"  # a private fit spends budget to find all that is left open here; --dry-run shows the price',
        "",
        "[columns]",
    ]
    for name, stored in types.items():
        line = _declared(declared[name]) if name in declared else _line(name, stored, decimal)
        lines.append(f"{toml_key(name)} = {line}")
    return "\n".join(lines) + "\n"


def _line(name: str, stored: pa.DataType | None, decimal: DecimalSign | None) -> str:
    """The entry of a column, and in a comment what it needs and why it is as it is."""
    kind = None if stored is None else kind_of(stored)
    by_name = kind_by_name(name)
    keys: dict[str, Any] = {}
    if by_name or kind:
        keys["kind"] = by_name or kind
    if stored is None and decimal is not None and not by_name:
        keys["decimal"] = str(decimal)
    inner = ", ".join(f"{key} = {toml_value(value)}" for key, value in keys.items())
    return (
        f"{{ {inner} }}  # {_comment(by_name, kind, stored)}"
        if inner
        else f"{{}}  # {_comment(by_name, kind, stored)}"
    )


def _declared(column: Column) -> str:
    """The entry of a column that a codebook declares, and in a comment what it still needs."""
    plain = Column(column.name, column.kind, column.role, column.type)
    keys = {key: value for key in _KEYS if (value := getattr(column, key)) != getattr(plain, key)}
    if column.kind == "boolean":
        keys.pop("levels", None)
    if column.kind != UNKNOWN and (column.kind != "categorical" or not column.levels):
        keys = {"kind": column.kind, **keys}
    if column.bounds is not None and column.kind in ("date", "datetime"):
        keys["bounds"] = _Moments(tuple(_moment(end, column.kind) for end in column.bounds))
    inner = [
        f"{key} = {value if isinstance(value, _Moments) else toml_value(value)}"
        for key, value in keys.items()
    ]
    if column.labels:
        pairs = ", ".join(
            f"{toml_value(str(code))} = {toml_value(label)}" for code, label in column.labels
        )
        inner.append(f"labels = {{ {pairs} }}")
    needs = {
        "kind": "needs a kind, or levels",
        "levels": "needs levels",
        "bounds": "needs bounds",
    }.get(column.lacks)
    comment = "; ".join(part for part in (needs, column.reason) if part)
    return f"{{ {', '.join(inner)} }}  # {comment}" if inner else f"{{}}  # {comment}"


class _Moments(tuple[str, ...]):
    """Dates and times, which TOML has without quotes."""

    def __str__(self) -> str:
        return f"[{', '.join(self)}]"


def _moment(end: float, kind: Kind) -> str:
    day = EPOCH + (timedelta(days=end) if kind == "date" else timedelta(seconds=end))
    return day.strftime("%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M:%S")


def _comment(by_name: Kind | None, kind: Kind | None, stored: pa.DataType | None) -> str:
    if by_name:
        return "by its name"
    if kind is None or stored is None:
        return "needs a kind, or levels"
    word, usual = type_name(stored), usual_type(kind)
    needs = "needs bounds; " if kind in NUMERIC_KINDS else ""
    return f"{needs}its type is {word}" + (
        "" if word == usual else f"; type = {toml_value(word)} keeps it, else {usual}"
    )


def kind_by_name(name: str) -> Kind | None:
    """Return "identifier" for a name that says who somebody is, or that numbers rows; None for all others.

    Examples
    --------
    >>> [kind_by_name(name) for name in ("surname", "record_id", "ID", "age", "paid")]
    ['identifier', 'identifier', 'identifier', None, None]
    """
    sign = name_sign(name)
    personal = sign is not None and sign.form not in (
        "latitude",
        "longitude",
    )  # these are numbers, and may be coarse
    return "identifier" if personal or _ROW_NUMBERS.fullmatch(name.strip()) else None


def kind_of(kind: pa.DataType) -> Kind | None:
    """Return the kind that a stored type settles; None for words and for what cannot be modelled."""
    of: list[tuple[Any, Kind]] = [
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "float"),
        (pa.types.is_decimal, "float"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "datetime"),
    ]
    return next((name for test, name in of if test(kind)), None)
