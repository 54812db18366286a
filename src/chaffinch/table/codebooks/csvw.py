"""Reading CSVW, the W3C's metadata for tabular data: datatypes, ranges, null values and keys.

Recommendation: w3.org/TR/tabular-metadata. A column is known by one of its titles or by its name.
"""

from __future__ import annotations

import re
from typing import Any

from ..._base.errors import SchemaError
from ..schema import Column, Kind, Schema
from .building import bounds_of, codes_of, declared_column, first_name, words_in
from .codebook import CODEBOOKS, Codebook, Header

_WHOLE = (
    "integer",
    "long",
    "int",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "nonPositiveInteger",
    "negativeInteger",
    "unsignedLong",
    "unsignedInt",
    "unsignedShort",
    "unsignedByte",
    "gYear",
)
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(_WHOLE, "integer"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "float"),
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("datetime", "dateTime", "dateTimeStamp"), "datetime"),
    "anyURI": "identifier",
    **dict.fromkeys(("xml", "html", "json"), "text"),
}
_LISTED = re.compile(r"\(?([^\\\[\](){}*+?^$.|]+(?:\|[^\\\[\](){}*+?^$.|]+)+)\)?")
_LEAST = {"nonNegativeInteger": 0.0, "positiveInteger": 1.0, "unsignedByte": 0.0}


def schema_from_csvw(data: Any, *, name: str = "metadata", header: Header = None) -> Schema:
    """Return the schema that CSVW metadata says. Words are levels only where their format lists them, as `north|south`."""
    table = _table(data, name)
    schema = table.get("tableSchema", data.get("tableSchema"))
    entries = schema.get("columns") if isinstance(schema, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SchemaError(f"'{name}' has no tableSchema with columns.")
    keys = words_in(schema.get("primaryKey"))
    columns = [
        _column(entry, keys, header, number)
        for number, entry in enumerate(entries, start=1)
        if not entry.get("virtual")
    ]
    if not columns:
        raise SchemaError(f"'{name}' lists no columns.")
    return Schema(tuple(columns))


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    tables = data.get("tables", [data])
    if not isinstance(tables, list) or len(tables) != 1 or not isinstance(tables[0], dict):
        raise SchemaError(f"'{name}' must describe one table.")
    return tables[0]


def _column(entry: dict[str, Any], keys: list[str], header: Header, number: int) -> Column:
    titles = entry.get("titles", [])
    if isinstance(titles, dict):
        titles = next(iter(titles.values()), [])
    name = first_name([*words_in(titles), entry.get("name")], header, number)
    datatype = entry.get("datatype", "string")
    detail = datatype if isinstance(datatype, dict) else {}
    base = detail.get("base", "string") if detail else datatype
    kind = _KINDS.get(str(base))
    form = detail.get("format")
    title = next(
        (entry[key] for key in ("dc:title", "dc:description") if isinstance(entry.get(key), str)),
        "",
    )
    if entry.get("name") in keys or entry.get("propertyUrl") == "schema:identifier":
        return declared_column(name, "identifier", title=title, source="CSVW")
    if "separator" in entry:
        return declared_column(name, "text", title=title, source="CSVW")
    levels = None
    if kind is None and isinstance(form, str) and (match := _LISTED.fullmatch(form)):
        kind, levels = "categorical", tuple(match[1].split("|"))
    low = next(
        (detail[key] for key in ("minimum", "minInclusive", "minExclusive") if key in detail),
        _LEAST.get(str(base)),
    )
    high = next(
        (detail[key] for key in ("maximum", "maxInclusive", "maxExclusive") if key in detail), None
    )
    nulls = entry.get("null", [""])
    return declared_column(
        name,
        kind,
        title=title,
        levels=levels,
        bounds=bounds_of(low, high, kind, name),
        source="CSVW",
        nullable=entry.get("required") is not True,
        missing=codes_of([nulls] if isinstance(nulls, str) else nulls, kind),
        format=form.replace("|", "/") if kind == "boolean" and isinstance(form, str) else "",
    )


def _describes(data: Any) -> bool:
    return "csvw" in str(data.get("@context", "")) or "tableSchema" in data


def _read(data: Any, name: str, header: Header) -> Schema:
    return schema_from_csvw(data, name=name, header=header)


CODEBOOKS.register(Codebook("csvw", "CSVW", _describes, _read))
