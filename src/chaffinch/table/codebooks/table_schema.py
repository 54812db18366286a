"""Reading JSON Table Schema (Frictionless), alone or in a data package: types, lists of allowed values, ranges, missing values, keys.

Specification: datapackage.org/standard/table-schema, versions 1 and 2.
"""

from __future__ import annotations

from typing import Any

from ..._base.errors import SchemaError, listed
from ..schema import Column, Kind, Schema
from .building import bounds_of, codes_of, declared_column, first_name, words_in
from .codebook import CODEBOOKS, Codebook, Header

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


def schema_from_table_schema(data: Any, *, name: str = "schema", header: Header = None) -> Schema:
    """Return the schema that a Table Schema says; strings without a list of values are categories whose levels are open."""
    schema = _schema(data, name)
    fields = schema.get("fields")
    if (
        not isinstance(fields, list)
        or not fields
        or not all(isinstance(field, dict) for field in fields)
    ):
        raise SchemaError(f"'{name}' lists no fields.")
    missing = schema.get("missingValues", [""])
    keys = words_in(schema.get("primaryKey"))
    return Schema(
        tuple(
            _column(field, keys, missing, header, number)
            for number, field in enumerate(fields, start=1)
        )
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
        names = listed(str(each.get("name", "?")) for each in tables) or "none"
        raise SchemaError(f"'{name}' must describe one table. It describes: {names}.")
    schema: dict[str, Any] = tables[0]["schema"]
    return schema


def _column(
    field: dict[str, Any], keys: list[str], missing: Any, header: Header, number: int
) -> Column:
    name = first_name([field.get("name")], header, number)
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
    own = field.get("missingValues", missing)
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
        missing=codes_of(own, kind, levels),
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
    words = [field.get(key) for key in ("trueValues", "falseValues")]
    plain = all(
        isinstance(word, list) and word and isinstance(word[0], str) and "/" not in word[0]
        for word in words
    )
    return "/".join(word[0] for word in words if word) if plain else ""


def _describes(data: Any) -> bool:
    return isinstance(data.get("fields"), list) or isinstance(data.get("resources"), list)


def _read(data: Any, name: str, header: Header) -> Schema:
    return schema_from_table_schema(data, name=name, header=header)


CODEBOOKS.register(Codebook("table-schema", "JSON Table Schema", _describes, _read))
