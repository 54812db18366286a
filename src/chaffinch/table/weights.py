"""Survey weights: records that stand for many people each.

A table whose schema gives a column the role `weight` is counted by it. What is drawn of such counts
stands for the people, not for the records, so every drawn row has one and the same weight: the
mean, so that totals stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import fsum

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .codes import Codes
from .domain import Intervals
from .rules.constraints import without_rules_on
from .schema import Column, Note, Schema
from .table import Table
from .types import is_whole, parse_type, value_type

SUMMED = 1 << 16
"""Rows whose weights are summed by themselves."""


def with_weight(table: Table, weight: str | None) -> Table:
    """Return the table with a column of weights, checked; unchanged where none is named."""
    if weight is None:
        return table
    table.weights(weight)
    return replace(table, schema=table.schema.with_roles(weight=weight))


def effective_rows(weights: NDArray[np.float64]) -> float:
    """Return how many records of equal weight tell as much as these (Kish 1965): all of them if
    weights are equal, 1 if one has all.

    Examples
    --------
    >>> effective_rows(np.array([2.0, 2.0])), effective_rows(np.array([1.0, 0.0])), round(effective_rows(np.array([1.0, 3.0])), 6)
    (2.0, 1.0, 1.6)
    """
    return weight_sums([weights]).effective_rows


@dataclass(frozen=True)
class WeightSums:
    """How many weights there are, their sum and that of their squares."""

    n_rows: int
    total: float
    squares: float

    @property
    def effective_rows(self) -> float:
        """How many records of equal weight tell as much."""
        return self.total**2 / self.squares if self.squares > 0 else 0.0

    @property
    def scale(self) -> float:
        """The factor with which weights sum to the effective number of records."""
        return self.effective_rows / (self.total or 1.0)

    def mean_of(self, name: str) -> float:
        """Return the mean weight; raise, in the name of their column, where weights add up to
        nothing.
        """
        if not self.total > 0:
            raise InputError(f"Column '{name}' cannot be a weight: its values add up to 0.")
        return self.total / self.n_rows


def weight_sums(batches: Iterable[NDArray[np.float64]]) -> WeightSums:
    """Return the sums of weights that come in parts: the same to the last bit however they are cut,
    since blocks of rows are summed by themselves.

    Examples
    --------
    >>> weight_sums([np.array([1.0, 3.0]), np.array([0.5])])
    WeightSums(n_rows=3, total=4.5, squares=10.25)
    """
    totals, squares, n_rows = [], [], 0
    block, filled = np.empty(SUMMED), 0
    for weights in batches:
        n_rows += len(weights)
        start = 0
        while start < len(weights):
            n = min(SUMMED - filled, len(weights) - start)
            block[filled : filled + n] = weights[start : start + n]
            filled, start = filled + n, start + n
            if filled == SUMMED:
                totals.append(float(block.sum()))
                squares.append(float((block**2).sum()))
                filled = 0
    rest = block[:filled]
    return WeightSums(
        n_rows, fsum([*totals, float(rest.sum())]), fsum([*squares, float((rest**2).sum())])
    )


def with_constant_weight(table: Table) -> Table:
    """Return the table with one code, the mean weight, for all weights; the weights themselves are
    kept.

    A table that has no weight, or one code for it already, is returned as it is.

    Raises
    ------
    InputError
        If the weights add up to nothing.
    """
    name = table.schema.only("weight")
    if name is None or not table.schema[name].modelled:
        return table
    mean = weight_sums([table.weights(name)]).mean_of(name)
    if table.schema[name].size == 1:
        return table
    schema = constant_weight_schema(table.schema, name, mean)
    codes = [
        np.zeros(table.n_rows, dtype=np.uint8) if n == name else table.code(n) for n in schema.names
    ]
    return replace(
        table, schema=schema, codes=Codes.from_columns(codes, schema.sizes, n_rows=table.n_rows)
    )


def constant_weight_schema(schema: Schema, name: str, mean: float) -> Schema:
    """Return a schema with one code, the mean weight, for all weights."""
    column = replace(_constant(schema[name], mean), role="weight")
    bare = without_rules_on(schema, name)  # one weight for all keeps no rule about weights
    return replace(bare, columns=tuple(column if c.name == name else c for c in schema))


def _constant(column: Column, mean: float) -> Column:
    """Return a column of one number, the nearest to the mean that its type and its decimals
    hold.
    """
    kind = value_type(parse_type(column.type))
    integral = is_whole(kind)
    value = (
        np.array([round(mean)], dtype=np.int64)
        if integral
        else np.array([mean if column.decimals is None else round(mean, column.decimals)])
    )
    codec = Intervals(
        value,
        value[:0],
        (),
        np.zeros(1, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        integral,
        decimals=None if integral else column.decimals,
    )
    return Column(
        column.name,
        "integer" if integral else "float",
        type=column.type,
        title=column.title,
        decimals=column.decimals,
        decimal=column.decimal,
        codec=codec,
    )


def without_weight(table: Table) -> Table:
    """Return the table with its weights as no part of what is compared: in a table drawn by weights
    all are the same.
    """
    name = table.schema.only("weight")
    if name is None or not table.schema[name].modelled:
        return table
    columns = tuple(
        Column(c.name, "identifier", "weight", c.type) if c.name == name else c
        for c in table.schema
    )
    schema = replace(table.schema, columns=columns)
    return replace(
        table,
        schema=schema,
        codes=Codes.from_columns(
            [table.code(n) for n in schema.names], schema.sizes, n_rows=table.n_rows
        ),
    )


def weight_note(column: str) -> Note:
    """Return the note on a weighted table."""
    return Note(
        column,
        "weight",
        "records are counted by it, so synthetic rows stand for the people and not for the records; each has the mean weight. Without the role "
        "it is a column like others.",
    )
