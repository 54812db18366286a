"""What a plan reckons with where levels and bounds are still to be discovered: a likely domain, and what discovery leaves of the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..privacy.domain import declared_schema
from ..privacy.kinds import as_words
from ..privacy.opening import Opening
from ..privacy.price import DiscoveryPrice
from ..synth import Settings
from ..table import Column, Schema

MOST_LEVELS = 10
"""Levels that a column of words is reckoned with, if there are records enough for each to be found."""


def assumed_schema(schema: Schema, price: DiscoveryPrice, rows: int) -> Schema:
    """Return a schema that declares what is to be discovered as it is likely to come out: sealed, and of the same columns.

    Words have ten levels, or as many as records can be for each to reach its threshold, and `(other)`; numbers have all their bins.
    """
    records = {column.column: column.records for column in price.columns}
    columns = [
        _assumed(column, records.get(column.name), rows) if column.name in records else column
        for column in as_words(schema)
    ]
    return declared_schema(replace(schema, columns=tuple(columns), rules=()))


def _assumed(column: Column, records: int | None, rows: int) -> Column:
    if column.kind != "categorical":
        # Bins of one unit, so that whole numbers have as many.
        return replace(
            column,
            type="string",
            bounds=(0.0, float(column.bins * column.step)),
            binning="width",
            edges=None,
            discover=False,
        )
    many = max(1, min(MOST_LEVELS, rows // max(records or 1, 1)))
    return replace(
        column,
        type="string",
        levels=tuple(f"level {i}" for i in range(1, many + 1)),
        other=True,
        discover=False,
    )


def with_what_is_left(settings: Settings, opening: Opening) -> Settings:
    """Return the settings with the epsilon that discovery leaves: the most whose budget is what is left of the whole one."""
    low, high = 0.0, opening.budget.epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if replace(opening.budget, epsilon=middle).total <= opening.left
            else (low, middle)
        )
    promise: dict[str, Any] = {"epsilon": low}
    return settings.set_params(**promise)
