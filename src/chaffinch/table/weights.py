"""Survey weights: records that stand for many people each.

A table whose schema gives a column the role `weight` is counted by it. What is drawn of such counts stands for the people, not for the
records, so every drawn row has one and the same weight: the mean, so that totals stay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .codec import Intervals
from .codes import Codes
from .constraints import without_rules_on
from .grid import is_whole
from .note import Note
from .schema import Column
from .table import Table
from .types import parse_type, value_type

__all__ = ["effective_rows", "weight_note", "with_constant_weight", "with_weight", "without_weight"]


def with_weight(table: Table, weight: str | None) -> Table:
    """Return the table with a column of weights, checked; unchanged where none is named."""
    if weight is None:
        return table
    table.weights(weight)
    return replace(table, schema=table.schema.with_roles(weight=weight))


def effective_rows(weights: NDArray[np.float64]) -> float:
    """Return how many records of equal weight tell as much as these (Kish 1965): all of them if weights are equal, 1 if one has all.

    Examples
    --------
    >>> effective_rows(np.array([2.0, 2.0])), effective_rows(np.array([1.0, 0.0])), round(effective_rows(np.array([1.0, 3.0])), 6)
    (2.0, 1.0, 1.6)
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def with_constant_weight(table: Table) -> Table:
    """Return the table with one code for every weight, which stands for their mean; the weights themselves stay beside it.

    A table that has no weight, or one code for it already, is returned as it is.

    Raises
    ------
    InputError
        If the weights add up to nothing.
    """
    name = table.schema.only("weight")
    if name is None or not table.schema[name].modelled:
        return table
    weights = table.weights(name)
    if not weights.sum() > 0:
        raise InputError(f"Column '{name}' cannot be a weight: its values add up to 0.")
    if table.schema[name].size == 1:
        return table
    column = replace(_constant(table.schema[name], float(weights.mean())), role="weight")
    bare = without_rules_on(table.schema, name)  # one weight for all keeps no rule about weights
    schema = replace(bare, columns=tuple(column if c.name == name else c for c in table.schema))
    codes = [np.zeros(table.n_rows, dtype=np.uint8) if n == name else table.code(n) for n in schema.names]
    return replace(table, schema=schema, codes=Codes.of(codes, schema.sizes, n_rows=table.n_rows))


def _constant(column: Column, mean: float) -> Column:
    """Return a column of one number, the nearest to the mean that its type and its decimals hold."""
    kind = value_type(parse_type(column.type))
    whole = is_whole(kind)
    value = np.array([round(mean)], dtype=np.int64) if whole else np.array([mean if column.decimals is None else round(mean, column.decimals)])
    codec = Intervals(value, value[:0], (), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), whole, decimals=None if whole else column.decimals)
    return Column(column.name, "integer" if whole else "float", type=column.type, title=column.title, decimals=column.decimals, decimal=column.decimal, codec=codec)


def without_weight(table: Table) -> Table:
    """Return the table with its weights as no part of what is compared: in a table drawn by weights all are the same."""
    name = table.schema.only("weight")
    if name is None or not table.schema[name].modelled:
        return table
    columns = tuple(Column(c.name, "identifier", "weight", c.type) if c.name == name else c for c in table.schema)
    schema = replace(table.schema, columns=columns)
    return replace(table, schema=schema, codes=Codes.of([table.code(n) for n in schema.names], schema.sizes, n_rows=table.n_rows))


def weight_note(column: str) -> Note:
    """Return what is said of a table that is counted by a column."""
    return Note(
        column, "weight",
        "records are counted by it, so synthetic rows stand for the people and not for the records; each has the mean weight. Without the role "
        "it is a column like others.",
    )  # fmt: skip
