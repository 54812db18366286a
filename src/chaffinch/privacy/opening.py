"""Opening data for a private fit: a sealed schema, a ledger, a source of noise, and a public number of rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from .._base.errors import PrivacyError
from .._base.seeds import Seed
from ..counts.counter import Counter
from ..counts.memory import MemoryCounter
from ..table.read import as_schema
from ..table.schema import Schema
from ..table.table import Table
from .accounting import pure_to_rho
from .budget import Budget, Charge
from .counter import PrivateCounter
from .discover import discover, wanted_columns
from .domain import check_declared, declared_schema, undeclared
from .ledger import Ledger, Step
from .noise import noise_of
from .prepare import Cells, open_cells, with_person
from .prepare import prepare as prepare_declared
from .relation import Unit

__all__ = ["DISCOVERY_SHARE", "ROWS_SHARE", "Undiscovered", "open_private", "planned_opening", "prepare", "public_rows"]

ROWS_SHARE = 0.02
"""The share of the budget for the number of rows, where it is not declared and the relation keeps it private."""

DISCOVERY_SHARE = 0.1
"""The share of the budget for levels, bounds and quantiles that are to be discovered."""

RowsHow = Literal["declared", "measured"]


@dataclass(frozen=True, eq=False)
class Undiscovered:
    """Data whose domain is not all declared: the rest is discovered by the fit, and paid from its budget."""

    cells: Cells
    schema: Schema

    def under(self, schema: Schema) -> Table:
        """Return the table under a schema in which everything has been found, such as that of the fitted model."""
        return prepare_declared(self.cells, schema)

    def __repr__(self) -> str:
        return f"Undiscovered({', '.join(column.name for column in wanted_columns(self.schema))})"


def prepare(
    source: Any,
    schema: Schema | str | os.PathLike[str] | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Table | Undiscovered:
    """Return data ready for a private fit: coded under a declared schema, so that no message or shape depends on a record.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow), a pandas, polars or Arrow object, or a `Table`. Any number of rows, also none.
    schema
        Public (`public = true`) and with a domain for every column, declared or with `discover = true`; or the path of its file.
    person, rows_per_person
        The column that tells persons apart, if they may have several rows, and how many rows of each are kept.
    """
    declared = as_schema(schema if schema is not None or not isinstance(source, Table) else source.schema)
    named = str(source) if isinstance(source, str | os.PathLike) else "DATA"
    if declared is None:
        raise undeclared(named)
    options: dict[str, Any] = {"person": person, "rows_per_person": rows_per_person, "encoding": encoding}
    check_declared(declared, source=named)
    declared = with_person(declared, person)
    if not wanted_columns(declared):
        return prepare_declared(source, declared, delimiter=delimiter, **options)
    return Undiscovered(open_cells(source, declared, delimiter=delimiter, **options), declared)


def open_private(
    data: Table | Counter | Undiscovered, budget: Budget, unit: Unit, *, seed: Seed = None
) -> PrivateCounter:
    """Return the one handle on the data; everything read through it is charged to a ledger of its own.

    What the schema leaves to be discovered is discovered first, from the same budget.
    """
    noise = noise_of(seed)
    if isinstance(data, Undiscovered):
        ledger = Ledger(budget, unit, reserved_delta=_reserved(data.schema, budget))
        _check_persons(data.cells.persons, unit)
        epsilon = _discovery_epsilon(data.schema, budget, ledger.total)

        def charge(what: str, epsilon: float, delta: float, why: str, mechanism: str) -> None:
            ledger.charge(Charge(what, why, epsilon=epsilon, delta=delta, mechanism=mechanism, noise=""))

        found = discover(data.cells, data.schema, noise, unit, charge, epsilon=epsilon, delta=ledger.budget.delta_total)
        return PrivateCounter(MemoryCounter(data.under(found)), ledger, noise)
    if isinstance(data, Table):
        data = MemoryCounter(data if data.schema.sealed else prepare_declared(data))
    _check_persons(data.schema.persons, unit)
    return PrivateCounter(data, Ledger(budget, unit), noise)


def public_rows(counter: PrivateCounter) -> tuple[int, RowsHow]:
    """Return the number of rows that may be known, and how it came: declared, or measured for a small share of the budget."""
    declared = counter.schema.rows
    if _rows_public(counter.unit):
        if declared is None:
            raise PrivacyError(
                "Under replace-one the number of rows is public, and must be declared: write rows = N at the top of the schema, "
                "or choose neighbours = 'add-remove', where it is measured with noise."
            )
        counter.check_rows(declared)
        return declared, "declared"
    if declared is not None:
        return declared, "declared"
    return counter.rows(ROWS_SHARE * counter.ledger.total, why="number of rows"), "measured"


def planned_opening(schema: Schema, budget: Budget, unit: Unit) -> tuple[Schema, list[Step], float]:
    """Return the sealed schema, the steps of opening the data (none where all is declared), and what is left after them."""
    if wanted := wanted_columns(schema):
        names = ", ".join(column.name for column in wanted)
        raise PrivacyError(
            f"A preview needs a declared domain: how many tables there are and how noisy depends on it. To be discovered: {names}."
        )
    sealed = declared_schema(schema)
    if sealed.rows is None:
        raise PrivacyError(
            "A preview needs a declared number of rows: write rows = N at the top of the schema (roughly is enough under "
            "add-remove)."
        )
    return sealed, [], budget.total


def _rows_public(unit: Unit) -> bool:
    return unit.replaced and unit.rows_per_person == 1


def _check_persons(persons: int, unit: Unit) -> None:
    """Raise if a table keeps more rows of a person than the promise speaks of."""
    if persons > unit.rows_per_person:
        raise PrivacyError(
            f"The table was prepared with up to {persons} rows of a person, but the settings protect {unit.rows_per_person}. Pass "
            f"rows_per_person = {persons} to both."
        )
    if persons == 1 and unit.replaced:
        raise PrivacyError(
            "With a person's identifier the number of rows is private: use neighbours = 'add-remove' where one row is kept of each."
        )


def _reserved(schema: Schema, budget: Budget) -> float:
    """Half of delta for words that are to be discovered under zCDP; pure accounting keeps all of it for them."""
    words = any(column.kind == "categorical" for column in wanted_columns(schema))
    return budget.delta / 2 if words and budget.kind == "zcdp" and budget.delta is not None else 0.0


def _discovery_epsilon(schema: Schema, budget: Budget, total: float) -> float:
    """The epsilon of all discoveries together; under zCDP each column's part e costs e^2 / 2."""
    if budget.kind == "pure":
        return DISCOVERY_SHARE * budget.epsilon
    many = len(wanted_columns(schema))
    return (DISCOVERY_SHARE * total / many / pure_to_rho(1.0)) ** 0.5 * many
