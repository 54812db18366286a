"""Drawing rows given values of any columns, exactly.

Columns with a given value are set; the others are drawn in order. A row is then accepted with probability

    product over given columns of  P(value | its parents) / max over parents of P(value | parents)

which is rejection sampling from the network's own conditional distribution: what is accepted has exactly that distribution.
Values of columns without parents cost nothing; the rarer the given values are under what precedes them, the more
rows are drawn for one that stays. Where rows are rejected they are drawn one by one: among rows that hang together, the first accepted
ones would not have exactly that distribution.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, SchemaError, unknown_name
from ...table.codec import Categories, Intervals
from ...table.encode import encode_column
from ...table.schema import Column
from ...table.table import Table
from ...table.text import Spelling, parse_words
from ...table.types import is_numeric, parse_type

if TYPE_CHECKING:
    from .model import BayesNetModel


MOST_DRAWS = 5_000_000


@dataclass(frozen=True, eq=False)
class Evidence:
    """Given codes and values of some columns of a model, and the largest probability that each can have."""

    model: BayesNetModel
    codes: Mapping[str, int]
    bounds: Mapping[str, float]
    values: Mapping[str, pa.Scalar]

    @classmethod
    def of(cls, model: BayesNetModel, given: Mapping[str, Any]) -> Evidence:
        """Return the evidence that values amount to; raise where one cannot occur."""
        codes, bounds, values = {}, {}, {}
        for name, value in given.items():
            if name not in model.schema.names:
                raise unknown_name("column", name, model.schema.names)
            codes[name], values[name] = _code(model.schema[name], value)
            table = model.tables[model.network.order.index(name)]
            bounds[name] = table.largest(codes[name])
            if bounds[name] <= 0:
                raise InputError(
                    f"The value given for '{name}' cannot occur in this model. Give another, or leave it out."
                )
        return cls(model, codes, bounds, values)

    def draw(self, n_rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.uint32]]:
        """Return codes of rows that have the given values."""
        names = self.model.schema.names
        accepted: list[dict[str, NDArray[np.uint32]]] = []
        have, drawn, size = 0, 0, max(n_rows, 1024)
        while have < n_rows:
            if drawn > MOST_DRAWS and have * 1_000_000 < drawn:
                raise InputError(
                    "The given values occur together less than once in a million rows of this model, or never. "
                    "Give fewer, or others."
                )
            fixed = {
                name: np.full(size, code, dtype=np.uint32) for name, code in self.codes.items()
            }
            codes = self.model.draw_codes(
                size, rng, fixed, draw="independent" if self._rejects else None
            )
            stay = rng.random(size) < self._share(codes)
            accepted.append({name: codes[name][stay] for name in names})
            have, drawn = have + int(stay.sum()), drawn + size
            rate = max(have / drawn, 1e-5)
            size = int(min(max((n_rows - have) / rate * 1.1, 1024), 1 << 20))
        return {
            name: np.concatenate([part[name] for part in accepted] or [np.empty(0, np.uint32)])[
                :n_rows
            ]
            for name in names
        }

    def stamped(self, table: Table) -> Table:
        """Return the table with the given numbers themselves where a bin was drawn from."""
        data = table.data
        for name, value in self.values.items():
            if value.is_valid and isinstance(self.model.schema[name].codec, Intervals):
                at = data.column_names.index(name)
                data = data.set_column(at, data.schema.field(name), pa.repeat(value, table.n_rows))
        return replace(table, data=data)

    @property
    def _rejects(self) -> bool:
        """Whether some rows may not stay: a given column has parents."""
        return any(self.model.network[name] for name in self.codes)

    def _share(self, codes: Mapping[str, NDArray[np.uint32]]) -> NDArray[np.float64]:
        out = np.ones(len(next(iter(codes.values()))))
        for name, bound in self.bounds.items():
            table = self.model.tables[self.model.network.order.index(name)]
            if table.parents:
                out *= table.probabilities(codes[name], [codes[p] for p in table.parents]) / bound
        return out


def _code(column: Column, value: Any) -> tuple[int, pa.Scalar]:
    """Return the code of a value as a person writes it (itself, a word that reads as one, None for missing), and the value."""
    kind = parse_type(column.type)
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    codec = column.codec
    assert codec is not None
    if (
        isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and value in codec.missing
    ):
        return codec.n_values + codec.null + codec.missing.index(value), pa.scalar(None, inner)
    try:
        array = (
            _spelled(column, value, inner)
            if isinstance(value, str)
            else pa.array([value]).cast(inner)
        )
        if isinstance(codec, Categories) and array[0].as_py() not in (
            None,
            *codec.levels,
            "(other)",
        ):
            raise SchemaError
        if pa.types.is_floating(inner) and array.null_count == 0 and np.isinf(array[0].as_py()):
            raise SchemaError
        return int(encode_column(column, array)[0]), array[0]
    except (pa.ArrowException, SchemaError, TypeError, ValueError, OverflowError):
        raise InputError(
            f"The value given for '{column.name}' cannot occur: it is no {column.kind} value of this column. "
            f"{'Its numbers have a decimal comma. ' if column.decimal == ',' else ''}"
            "`chaffinch describe` shows its common levels."
        ) from None


def _spelled(column: Column, word: str, kind: pa.DataType) -> pa.Array:
    """Return the value that a word spells as the column's file does, or plainly: dates and times as ISO 8601."""
    cells = pa.array([word])
    if not is_numeric(kind):
        return cells.cast(kind)
    spelling = Spelling(kind, column.format, decimal=column.decimal, thousands=column.thousands)
    with contextlib.suppress(SchemaError):
        return parse_words(cells, spelling, name=column.name)[0]
    return parse_words(cells, replace(spelling, format=""), name=column.name)[0]
