"""Reading SDV metadata (JSON) as a schema: V1 and SINGLE_TABLE_V1.

Format: docs.sdv.dev, "Metadata JSON". Facts only are taken over; nothing of SDV is needed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..._base.checks import check_name
from ..._base.errors import SchemaError, join_names
from ..schema import Column, Kind, Schema
from ..schema_file import usual_type
from .codebook import CODEBOOKS, Codebook

_KINDS: dict[str, Kind] = {
    "categorical": "categorical",
    "boolean": "boolean",
    "datetime": "datetime",
    "id": "identifier",
}
_WHOLE = re.compile(r"Int(8|16|32|64)|UInt(8|16|32|64)")


def schema_from_sdv(data: Any, name: str = "metadata") -> Schema:
    """Return the schema that SDV metadata describes.

    Types that are neither numbers, categories, booleans, dates nor ids (SDV's e-mail, phone number
    and so on) are personal and become identifiers. Missing values are allowed in every column: SDV
    does not say.
    """
    columns, key = _table(data, name)
    out = []
    for column, entry in columns.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("sdtype"), str):
            raise SchemaError(f"'{name}', column '{column}': sdtype is missing.")
        out.append(_column(str(column), entry, primary=column == key))
    if not out:
        raise SchemaError(f"'{name}' lists no columns.")
    return Schema(tuple(out))


def _table(data: Any, name: str) -> tuple[dict[str, Any], str | None]:
    version = data.get("METADATA_SPEC_VERSION") if isinstance(data, dict) else None
    table = data
    if version in ("V1", "MULTI_TABLE_V1"):
        tables = data.get("tables")
        if not isinstance(tables, dict) or len(tables) != 1:
            known = join_names(tables) if isinstance(tables, dict) and tables else "none"
            raise SchemaError(f"'{name}' must describe one table. It describes: {known}.")
        (table,) = tables.values()
    elif version != "SINGLE_TABLE_V1":
        raise SchemaError(
            f"'{name}' is JSON, but not SDV metadata of version V1 or SINGLE_TABLE_V1. Schemas are TOML: `chaffinch schema` writes one."
        )
    if not isinstance(table, dict) or not isinstance(table.get("columns"), dict):
        raise SchemaError(f"'{name}' has no columns.")
    key = table.get("primary_key")
    if isinstance(key, str):
        check_name("column", key, table["columns"])
    return table["columns"], key if isinstance(key, str) else None


def _column(name: str, entry: dict[str, Any], *, primary: bool) -> Column:
    sdtype = entry["sdtype"]
    reason = f"SDV metadata: {sdtype}"
    if primary or sdtype not in (*_KINDS, "numerical", "unknown"):
        return Column(
            name,
            "identifier",
            "identifier",
            "string",
            output="regenerate" if primary else "drop",
            reason=reason,
        )
    if sdtype == "numerical":
        kind: Kind = (
            "integer"
            if _WHOLE.fullmatch(str(entry.get("computer_representation", "")))
            else "float"
        )
        return Column(name, kind, type=usual_type(kind), nullable=True, reason=reason)
    if sdtype == "unknown":
        return Column(name, "text", reason=reason)
    kind = _KINDS[sdtype]
    if kind == "identifier":
        return Column(name, kind, "identifier", output="drop", reason=reason)
    form = entry.get("datetime_format", "") if kind == "datetime" else ""
    if not isinstance(form, str):
        raise SchemaError(f"Column '{name}': datetime_format must be text.")
    if form and not re.search("%[HIMSf]", form):
        kind = "date"
    order = entry.get("order")
    if kind == "categorical" and isinstance(order, list) and order:
        if any(not isinstance(level, str | int | float) for level in order):
            raise SchemaError(f"Column '{name}': order must list words or numbers.")
        levels = tuple(order)
        return Column(
            name,
            kind,
            type=usual_type(kind, levels),
            nullable=True,
            levels=levels,
            ordered=True,
            reason=reason,
        )
    ordered = entry.get("order_by") == "numerical_value"
    plain = Column(name, kind, type=usual_type(kind), nullable=True, reason=reason)
    return replace(
        plain, levels=(False, True) if kind == "boolean" else None, ordered=ordered, format=form
    )


CODEBOOKS.register(
    Codebook("sdv", "SDV metadata", lambda data: "METADATA_SPEC_VERSION" in data, schema_from_sdv)
)
