"""From a table of several rows a person to what two networks learn from: first rows, and steps from a row to the next.

A column is one of three things within a person. *Constant*: no person's value ever changes, so it is drawn with the first row
and copied. *Stepped*: a number that moves by a few amounts only, such as an age; the amount is modelled, and added. *Free*: anything
else; it is drawn given the row before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, listed
from ..._base.masking import THRESHOLD
from ...table.codec import Intervals
from ...table.codes import Codes
from ...table.encode import encode_column
from ...table.fit_schema import fit_column
from ...table.persons import order_numbers, person_rows
from ...table.profile import Profile
from ...table.schema import Column, Kind, Schema
from ...table.table import Table
from ...table.types import is_whole, parse_type, to_numbers, type_name, value_type

LENGTH = "(rows)"
"""The column of how many rows a person has."""

MOST_STEPS = 10
"""The most amounts that a stepped column moves by; each must be shared by as many persons as any value that is shown."""


def before(name: str) -> str:
    """Return the name of the column that holds another's value in the row before."""
    return f"(before) {name}"


def step(name: str) -> str:
    """Return the name of the column that holds how far a number moved since the row before."""
    return f"(step) {name}"


@dataclass(frozen=True)
class Dynamics:
    """What columns do within a person.

    Parameters
    ----------
    order
        The column that orders rows; it is stepped, whatever its steps.
    constant, stepped, free
        The names of the other modelled columns, by what they are.
    kept
        For numbers among the free columns: how often a value stays exactly the same where its code does.
    """

    order: str | None
    constant: tuple[str, ...]
    stepped: tuple[str, ...]
    free: tuple[str, ...]
    kept: Mapping[str, float]

    @property
    def moving(self) -> tuple[str, ...]:
        """The columns that move by steps, the order first."""
        return (*([self.order] if self.order is not None else []), *self.stepped)


@dataclass(frozen=True, eq=False)
class Sequences:
    """What is learnt from: a row for each person, and a row for each step.

    Parameters
    ----------
    first
        Each person's first row, with how many rows they have. Every column is modelled; the order is a number.
    steps
        Each later row with the one before it: constant columns, `before` of the others, `step` of those that move, and the free ones. None
        where every person has one row.
    dynamics
        Which column is what.
    """

    first: Table
    steps: Table | None
    dynamics: Dynamics


def sequences_of(table: Table) -> Sequences:
    """Return the sequences of a table whose schema says whose rows they are; raise where they cannot be told."""
    schema, rows = table.schema, person_rows(table)
    order = schema.only("order")
    taken = [
        name for name in schema.names if name == LENGTH or name.startswith((before(""), step("")))
    ]
    if taken:
        raise InputError(
            f"Columns have names that a panel needs for itself: {listed(taken)}. Rename them."
        )
    columns = {name: schema[name] for name in schema.names}
    codes: dict[str, NDArray[np.integer]] = {name: table.code(name) for name in schema.names}
    if order is not None:
        columns[order], codes[order] = _as_number(schema[order], table.data.column(order))
    later, earlier = rows.steps
    whose = np.repeat(np.arange(rows.n_persons), rows.lengths - 1)
    dynamics = _dynamics(table, columns, _Steps(later, earlier, whose), order)

    length, length_codes = _fitted(Column(LENGTH, "integer", type="int64"), pa.array(rows.lengths))
    parts: dict[str, tuple[Column, NDArray[np.integer]]] = {}
    for name, column in columns.items():
        parts[name] = (column, codes[name][rows.first])
    first = _coded({**parts, LENGTH: (length, length_codes)}, rows.n_persons)
    if not len(later):
        return Sequences(first, None, dynamics)

    parts = {}
    for name in dynamics.constant:
        parts[name] = (columns[name], codes[name][earlier])
    for name in (*dynamics.moving, *dynamics.free):
        parts[before(name)] = (replace(columns[name], name=before(name)), codes[name][earlier])
    for name in dynamics.moving:
        numbers, _ = to_numbers(table.data.column(name))
        moved = pa.array(numbers[later] - numbers[earlier])
        kind: Kind = "integer" if pa.types.is_integer(moved.type) else "float"
        parts[step(name)] = _fitted(
            Column(step(name), kind, type=type_name(moved.type), decimals=columns[name].decimals),
            moved,
        )
    for name in dynamics.free:
        parts[name] = (columns[name], codes[name][later])
    return Sequences(first, _coded(parts, len(later)), dynamics)


class _Steps(NamedTuple):
    """Rows, the rows of the same persons before them, and numbers for the persons."""

    later: NDArray[np.int64]
    earlier: NDArray[np.int64]
    whose: NDArray[np.int64]


def _dynamics(
    table: Table, columns: Mapping[str, Column], steps: _Steps, order: str | None
) -> Dynamics:
    """Return what each column does from a row to the next of the same person."""
    constant: list[str] = []
    stepped: list[str] = []
    free: list[str] = []
    kept: dict[str, float] = {}
    later, earlier, whose = steps
    for name, column in columns.items():
        if name == order:
            continue
        codes = table.code(name)
        same_code = codes[later] == codes[earlier]
        numeric = isinstance(column.codec, Intervals)
        if not numeric:
            (constant if same_code.all() else free).append(name)
            continue
        assert isinstance(column.codec, Intervals)
        numbers, present = to_numbers(table.data.column(name))
        there = present & np.isfinite(numbers) & (codes < column.codec.n_values)
        same = same_code & ((numbers[later] == numbers[earlier]) | ~there[later])
        if same.all():
            constant.append(name)
        elif there.all() and _steps_are_few(numbers[later] - numbers[earlier], whose, numbers):
            stepped.append(name)
        else:
            free.append(name)
            alike = same_code & there[later]
            kept[name] = float(same[alike].mean()) if alike.sum() >= THRESHOLD else 0.0
    return Dynamics(order, tuple(constant), tuple(stepped), tuple(free), kept)


def _steps_are_few(moved: NDArray[Any], whose: NDArray[np.int64], numbers: NDArray[Any]) -> bool:
    """Return whether a number moves by a few amounts only, each of many persons, and by far fewer than it has values.

    A code of three values moves by five amounts at most: its amounts would lead out of its values.
    """
    amounts, which = np.unique(moved, return_inverse=True)
    if len(amounts) > MOST_STEPS or 3 * len(amounts) > len(np.unique(numbers)):
        return False
    persons = np.bincount(
        np.unique(which * (int(whose.max()) + 1) + whose) // (int(whose.max()) + 1)
    )
    return bool((persons >= THRESHOLD).all())


def _as_number(column: Column, values: pa.ChunkedArray) -> tuple[Column, NDArray[np.integer]]:
    """Return the order of rows as a number with codes of its own: few values of it may have been taken for categories."""
    order_numbers(column, values)
    if isinstance(column.codec, Intervals):
        return column, encode_column(column, values.combine_chunks())
    kind = value_type(parse_type(column.type))
    number: Kind = "integer" if is_whole(kind) else "float"
    plain = Column(
        column.name, number, "order", type_name(kind), decimals=column.decimals, step=column.step
    )
    return _fitted(plain, values.combine_chunks().cast(kind))


def _fitted(column: Column, values: pa.Array) -> tuple[Column, NDArray[np.integer]]:
    """Return a column of numbers with its codec, and the codes of its values."""
    profile = Profile(values.type)
    profile.add(values)
    fitted, _ = fit_column(column, profile, rare_below=0)
    return fitted, encode_column(fitted, values)


def _coded(parts: Mapping[str, tuple[Column, NDArray[np.integer]]], n_rows: int) -> Table:
    """Return a table of codes alone: nothing but counts is asked of it."""
    schema = Schema(tuple(replace(column, role="other") for column, _ in parts.values()))
    codes = Codes.of([codes for _, codes in parts.values()], schema.sizes, n_rows=n_rows)
    values = {name: pa.nulls(n_rows) for name in parts}
    return Table(schema, pa.table(values), codes)
