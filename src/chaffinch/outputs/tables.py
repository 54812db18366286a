"""Between the columns of a specification and the columns of a table: evolved codes as a `Table`, and a schema as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.errors import InputError
from .columns import Codes
from .fields import Field, Fields

if TYPE_CHECKING:
    from ..table import Schema, Table
    from ..table.schema import Column


MOST_GRID = 100_000


def schema_of(fields: Fields) -> Schema:
    """Return the schema of a specification's columns, fitted: codes are the specification's own."""
    from ..table import Schema

    return Schema(tuple(_column(one) for one in fields), public=True)


def _column(one: Field) -> Column:
    from ..table import Categories, Intervals
    from ..table.schema import Column

    if not one.numeric:
        if all(isinstance(level, bool) for level in one.levels):
            return Column(
                one.name, "boolean", type="bool", levels=one.levels, codec=Categories(one.levels)
            )
        levels = tuple(str(level) for level in one.levels)
        return Column(one.name, "categorical", levels=levels, codec=Categories(levels))
    whole = one.whole
    atoms = np.array([int(level) for level in one.levels]) if whole else one.values
    none = np.zeros(0, dtype=np.int64)
    codec = Intervals(atoms, atoms[:0], (), np.arange(len(atoms)), none, whole)
    bounds = (float(atoms[0]), float(atoms[-1])) if len(atoms) > 1 else None
    return Column(
        one.name,
        "integer" if whole else "float",
        type="int64" if whole else "double",
        atoms=tuple(float(level) for level in atoms),
        bins=min(len(atoms), 10_000),
        bounds=bounds,
        codec=codec,
    )


def table_of_codes(fields: Fields, codes: Codes) -> Table:
    """Return evolved codes as a table with the words and numbers of the columns.

    Examples
    --------
    >>> fields = Fields((Field("sex", ("f", "m")), Field("age", (0, 5, 10))))
    >>> table_of_codes(fields, np.array([[1, 2], [0, 0]], dtype=np.int32)).to_arrow().to_pylist()
    [{'sex': 'm', 'age': 10}, {'sex': 'f', 'age': 0}]
    """
    from ..table import Table

    return Table.from_codes(schema_of(fields), [codes[:, k] for k in range(len(fields))], seed=0)


def columns_of(
    schema: Schema, *, names: Sequence[str] | None = None, data: Table | None = None
) -> list[dict[str, Any]]:
    """Return the columns of a specification from what a schema declares: levels, or bounds and step.

    Nothing is taken from records: a column that declares neither is an error, unless a table is passed as `data` by name, whose values
    then are the levels of such columns.

    Examples
    --------
    >>> from chaffinch.table import Column, Schema
    >>> columns_of(Schema((Column("sex", "categorical", levels=("f", "m")), Column("age", "integer", bounds=(0, 95)))))
    [{'name': 'sex', 'levels': ['f', 'm']}, {'name': 'age', 'from': 0, 'to': 95, 'step': 1}]
    """
    chosen = [schema[name] for name in names] if names is not None else list(schema.modelled)
    return [_entry(column, data) for column in chosen]


def _entry(column: Column, data: Table | None) -> dict[str, Any]:
    if column.levels is not None:
        return {"name": column.name, "levels": list(column.levels)}
    if column.kind == "boolean":
        return {"name": column.name, "levels": [False, True]}
    if column.kind in ("integer", "float") and column.bounds is not None:
        low, high = column.bounds
        step = float(column.step) if column.kind == "integer" else 10.0 ** -(column.decimals or 0)
        if (high - low) / step > MOST_GRID:
            raise InputError(
                f"Column '{column.name}' would have over {MOST_GRID} levels. Give it fewer decimals, or a larger step."
            )
        if column.kind == "integer":
            return {"name": column.name, "from": int(low), "to": int(high), "step": int(step)}
        return {"name": column.name, "from": low, "to": high, "step": step}
    if data is None:
        raise InputError(
            f"Column '{column.name}' declares no levels and no bounds. Declare them in the schema, or pass the table as data to take "
            "them from its records, which then are known to whoever gets the specification."
        )
    values = data.to_arrow().column(column.name).unique().drop_null().to_pylist()
    return {
        "name": column.name,
        "levels": sorted(values) if column.kind != "categorical" else sorted(map(str, values)),
    }
