"""What is known of single columns: how often each level occurs, as a file says it, as outputs publish it, or as records have it.

Searches draw their first records, and new levels, from these univariate margins. What no output says stays as it began, so an attacker who knows how
common each level is has datasets that look like the people in question; one who does not has as many people of 95 as of 30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._base.arrays import Floats
from .domain import Codes
from .equations import CountTable

if TYPE_CHECKING:
    from .document import Outputs


UNKNOWN = 0.1
"""The largest share of records that withheld and rounded cells may leave open for a margin to count as published."""


@dataclass(frozen=True, eq=False)
class Margin:
    """How often each level of a column occurs, in any unit; `complete` where each level is told by itself, not in groups."""

    weights: Floats
    complete: bool


@dataclass(frozen=True)
class KnownMargins:
    """The columns whose margins a start uses, by how they are known."""

    declared: tuple[str, ...] = ()
    """Columns whose margins are declared, as `weights` in their description."""
    published: tuple[str, ...] = ()
    """Columns whose margins the outputs publish."""
    assumed: tuple[str, ...] = ()
    """Columns whose margins were taken from records: an attacker was assumed to know them."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.declared, *self.published, *self.assumed)


def published_margins(spec: Outputs) -> dict[str, Margin]:
    """Return the margins that outputs with numbers give, by column: of tables of counts without a filter, the most detailed for each.

    Levels that are told in groups share their group's count alike.

    Examples
    --------
    >>> from chaffinch.outputs.document import Outputs
    >>> spec = Outputs.from_dict({
    ...     "format": "chaffinch-outputs", "version": 1, "rows": 6,
    ...     "columns": [{"name": "sex", "levels": ["f", "m"]}, {"name": "age", "levels": [1, 2, 3]}],
    ...     "outputs": [{"name": "t", "kind": "table", "by": ["sex", "age"], "counts": [[1, 1, 0], [1, 2, 1]]}],
    ... })
    >>> {name: margin.weights.tolist() for name, margin in published_margins(spec).items()}
    {'sex': [2.0, 4.0], 'age': [2.0, 3.0, 1.0]}
    """
    margins: dict[str, tuple[tuple[int, float], Margin]] = {}
    tables = [
        equation
        for compiled_output in spec.compiled()
        for equation in compiled_output.equations
        if isinstance(equation, CountTable)
    ]
    for table in tables:
        for position, order, margin in _margins_of(table, spec.n_rows()):
            name = spec.fields.names[position]
            if name not in margins or order > margins[name][0]:
                margins[name] = order, margin
    return {name: margins[name][1] for name in spec.fields.names if name in margins}


def _margins_of(table: CountTable, rows: int) -> Iterator[tuple[int, tuple[int, float], Margin]]:
    """The margins of a table that all records are in: column, detail and precision by which margins are compared, and the margin."""
    if any((group < 0).any() for _, group in table.groups):
        return
    lo, hi = (
        np.clip(ends, 0, rows).astype(float).reshape(table.shape) for ends in (table.lo, table.hi)
    )
    unknown = float((hi - lo).sum()) / 2.0
    if unknown > UNKNOWN * rows:
        return
    for axis, (position, group) in enumerate(table.groups):
        others = tuple(k for k in range(len(table.groups)) if k != axis)
        counts = 0.5 * (lo + hi).sum(axis=others)
        sizes = np.bincount(group, minlength=len(counts))
        if counts.sum() > 0.0 and len(counts) > 1:
            weights = (counts / np.maximum(sizes, 1))[group]
            yield position, (len(counts), -unknown), Margin(weights, bool((sizes == 1).all()))


def counted_margins(spec: Outputs, codes: Codes) -> dict[str, Margin]:
    """Return the margins of records, by column."""
    from ..counts.tally import (
        count_cells,
    )  # here, since engines read this module and must not load counts

    return {
        field.name: Margin(count_cells([column], [len(field.levels)]).astype(float), True)
        for field, column in zip(spec.fields, codes.T, strict=True)
    }


def with_margins(spec: Outputs, margins: Mapping[str, Margin]) -> Outputs:
    """Return the outputs over columns with these margins, where they declare none of their own."""
    bare = [field.name for field in spec.fields if field.weights is None and field.name in margins]
    return spec.weighted({name: margins[name].weights.tolist() for name in bare}) if bare else spec


def without_margins(spec: Outputs) -> Outputs:
    """Return the outputs over columns of which nothing is known but their levels."""
    return spec.weighted({field.name: None for field in spec.fields if field.weights is not None})


def known_margins(spec: Outputs, *, assumed: bool = False) -> KnownMargins:
    """Return how the margins of a specification's columns are known; with `assumed`, all others were taken from records."""
    declared = tuple(field.name for field in spec.fields if field.weights is not None)
    published = tuple(
        name
        for name, margin in published_margins(spec).items()
        if name not in declared and (margin.complete or not assumed)
    )
    rest = tuple(name for name in spec.fields.names if name not in {*declared, *published})
    return KnownMargins(declared, published, rest if assumed else ())
