"""Schemas that leave columns open: what is declared stands, the rest is inferred from all rows."""

from __future__ import annotations

from dataclasses import fields, replace

from .schema import NUMERIC_KINDS, UNKNOWN, Column

_OWN = ("name", "kind", "type", "reason", "codec", "evidence", "spelled", "discover")
"""What a column that is inferred has by itself."""


def is_open(column: Column | None) -> bool:
    """Return whether nothing is declared of a column, or all but its kind."""
    return column is None or column.kind == UNKNOWN


def completed(declared: Column | None, inferred: Column) -> Column:
    """Return an inferred column with what is declared of it: all that is not at its default.

    Examples
    --------
    >>> declared, inferred = Column("sex", UNKNOWN, "key"), Column("sex", "categorical", nullable=True)
    >>> column = completed(declared, inferred)
    >>> column.kind, column.role, column.nullable
    ('categorical', 'key', True)
    """
    if declared is None:
        return inferred
    plain = Column(declared.name, declared.kind)
    said = {
        f.name: value
        for f in fields(Column)
        if f.name not in _OWN and (value := getattr(declared, f.name)) != getattr(plain, f.name)
    }
    ranged = bool({"bounds", "edges", "atoms", "bins", "binning"} & said.keys())
    kind = (
        "integer"
        if ranged and inferred.kind == "categorical" and inferred.type.startswith(("int", "uint"))
        else inferred.kind
    )
    if kind in NUMERIC_KINDS and "edges" in said:
        said["binning"] = "edges"
    return replace(inferred, kind=kind, **said)
