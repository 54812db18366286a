"""Reading JSON Table Schema (Frictionless), alone or in a data package: types, lists of allowed
values, ranges, missing values, keys.

Specification: datapackage.org/standard/table-schema, versions 1 and 2.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

from ..._base.errors import SchemaError, join_names
from ..domain import Scalar
from ..schema import NUMERIC_KINDS, Column, Kind, Schema
from .codebook import CODEBOOKS, Codebook, declared_column

_KINDS: dict[str, Kind] = {
    "integer": "integer",
    "year": "integer",
    "number": "float",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    **dict.fromkeys(("object", "array", "list", "geopoint", "geojson"), "text"),
    "string": "categorical",
}
_PERSONAL = ("email", "uri", "uuid")


def schema_from_table_schema(data: Any, name: str = "schema") -> Schema:
    """Return the schema of a Table Schema; strings without a list of values are categories with
    open levels.
    """
    schema = _schema(data, name)
    fields = schema.get("fields")
    if (
        not isinstance(fields, list)
        or not fields
        or not all(isinstance(field, dict) for field in fields)
    ):
        raise SchemaError(f"'{name}' lists no fields.")
    missing = schema.get("missingValues", [""])
    key = schema.get("primaryKey")
    keys = key if isinstance(key, list) else [key]
    return Schema(
        tuple(_column(field, keys, missing, number) for number, field in enumerate(fields, start=1))
    )


def _schema(data: dict[str, Any], name: str) -> dict[str, Any]:
    resources = data.get("resources")
    if resources is None:
        return data
    tables = [
        each
        for each in resources
        if isinstance(each, dict) and isinstance(each.get("schema"), dict)
    ]
    if len(tables) != 1:
        names = join_names(str(each.get("name", "?")) for each in tables) or "none"
        raise SchemaError(f"'{name}' must describe one table. It describes: {names}.")
    schema: dict[str, Any] = tables[0]["schema"]
    return schema


def _column(field: dict[str, Any], keys: list[Any], missing: Any, number: int) -> Column:
    name = field.get("name")
    if not isinstance(name, str) or not name.strip():
        raise SchemaError(f"Column {number} of the codebook has no name.")
    title = field.get("title") if isinstance(field.get("title"), str) else ""
    rules = field.get("constraints") if isinstance(field.get("constraints"), dict) else {}
    assert isinstance(rules, dict)
    kind = _KINDS.get(str(field.get("type", "string")))
    form = field.get("format", "default")
    if name in keys or rules.get("unique") is True or form in _PERSONAL:
        return declared_column(name, "identifier", title=title or "", source="Table Schema")
    levels, labels = _levels(field, rules)
    if levels is not None:
        kind = "categorical"
    missing_values = field.get("missingValues", missing)
    spelled = isinstance(form, str) and "%" in form
    return declared_column(
        name,
        kind,
        title=title or "",
        levels=levels,
        labels=labels,
        ordered=field.get("categoriesOrdered") is True,
        bounds=bounds_of(
            rules.get("minimum", rules.get("exclusiveMinimum")),
            rules.get("maximum", rules.get("exclusiveMaximum")),
            kind,
            name,
        ),
        nullable=rules.get("required") is not True,
        missing=codes_of(missing_values, kind, levels),
        format=str(form) if spelled else _truth(field) if kind == "boolean" else "",
        decimal="," if field.get("decimalChar") == "," else ".",
        source="Table Schema",
    )


def _levels(
    field: dict[str, Any], rules: dict[str, Any]
) -> tuple[tuple[Any, ...] | None, tuple[tuple[Any, str], ...]]:
    """The allowed values of a field, and their labels: its enum, or its categories."""
    values = rules.get("enum", field.get("categories"))
    if not isinstance(values, list) or not values:
        return None, ()
    labels = tuple(
        (v["value"], str(v["label"]))
        for v in values
        if isinstance(v, dict) and "label" in v and "value" in v
    )
    return tuple(
        value.get("value") if isinstance(value, dict) else value for value in values
    ), labels


def _truth(field: dict[str, Any]) -> str:
    """How a boolean is spelled, true first, where that is said."""
    spellings = [field.get(key) for key in ("trueValues", "falseValues")]
    plain = all(
        isinstance(spelling, list)
        and spelling
        and isinstance(spelling[0], str)
        and "/" not in spelling[0]
        for spelling in spellings
    )
    return "/".join(spelling[0] for spelling in spellings if spelling) if plain else ""


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def codes_of(
    values: Any, kind: Kind | None, levels: Sequence[Scalar] | None = None
) -> tuple[Scalar, ...]:
    """Return missing codes as values of a column: numbers where it has numbers. Empty cells are
    null, and no code.

    Examples
    --------
    >>> codes_of(["", "NA", "-99"], "integer"), codes_of(["-99"], "categorical", ("a", "b"))
    (('NA', -99), ('-99',))
    """
    numeric = kind in NUMERIC_KINDS or any(isinstance(level, int | float) for level in levels or ())
    codes = [
        _number(value) if numeric else value
        for value in (values if isinstance(values, list) else [])
    ]
    return tuple(
        dict.fromkeys(
            code
            for code in codes
            if code != "" and isinstance(code, str | int | float) and code not in (levels or ())
        )
    )


def _number(value: Any) -> Any:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    return int(number) if number.is_integer() else number if math.isfinite(number) else value


def bounds_of(low: Any, high: Any, kind: Kind | None, name: str) -> tuple[float, float] | None:
    """Return a range that is said at both ends, in the units of the kind: days for dates, seconds
    for moments. None otherwise.

    Examples
    --------
    >>> bounds_of("0", 110, "integer", "age"), bounds_of(0, None, "float", "pay"), bounds_of("1970-01-02", "1970-01-11", "date", "d")
    ((0.0, 110.0), None, (1.0, 10.0))
    """
    if low is None or high is None or kind not in NUMERIC_KINDS:
        return None
    try:
        ends = tuple(
            _moment(end, kind) if kind in ("date", "datetime") else float(end)
            for end in (low, high)
        )
    except (TypeError, ValueError, OverflowError):
        raise SchemaError(f"Column '{name}': its minimum or maximum is no {kind}.") from None
    return (ends[0], ends[1]) if all(map(math.isfinite, ends)) and ends[0] < ends[1] else None


def _moment(value: Any, kind: Kind) -> float:
    moment = datetime.datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    seconds = (moment - EPOCH).total_seconds()
    return float(seconds // 86_400) if kind == "date" else seconds


CODEBOOKS.register(
    Codebook(
        "table-schema",
        "JSON Table Schema",
        lambda data: (
            isinstance(data.get("fields"), list) or isinstance(data.get("resources"), list)
        ),
        schema_from_table_schema,
    )
)
