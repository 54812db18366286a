"""Opening data for a private fit: what it may spend, a sealed schema, a ledger, a source of noise, and a public number of rows.

`opening_of` alone decides what is spent and under which relation: a preview shows it, a project ledger books it, and the ledger of
the fit is made of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

from .._base.errors import PrivacyError
from .._base.seeds import Seed
from ..counts.counter import Counter, MemoryCounter
from ..table.fit_schema import check_columns
from ..table.formats import Source
from ..table.formats.format import FileOptions
from ..table.personal.detect import personal_note, warn_of, with_evidence
from ..table.schema import Schema
from ..table.schema_file import SchemaLike
from ..table.table import Table
from ..table.text import with_sign
from .budget import Budget, Charge
from .counter import PrivateCounter
from .discover import Discovery, planned_discoveries, wanted_columns
from .discover import discover as discover_domain
from .domain import ROWS_NEEDED, check_declared, declared_columns, declared_schema, lacks
from .kinds import as_words, discover_kinds, planned_kinds, with_decimals
from .ledger import Ledger, Plan, Step
from .noise import noise_of
from .parsed import warn_if_parsed
from .prepare import (
    CellParts,
    declared_of,
    discovering_schema,
    open_cells,
    open_header,
    shown_source,
    with_person,
)
from .prepare import prepare as prepare_declared
from .relation import Unit

ROWS_SHARE = 0.02
"""The share of the budget for the number of rows, where it is not declared and the relation keeps it private."""

DISCOVERY_SHARE = 0.2
"""The share of the budget for levels, bounds and quantiles that are to be discovered."""

DELTA_SHARE = 0.1
"""The share of delta for words that are to be discovered: a threshold grows with the square root of its logarithm, a budget shrinks with that."""

RowsHow = Literal["declared", "measured"]


@dataclass(frozen=True)
class Opening:
    """What a private fit under a schema may spend, and what of it opening the data takes; settled before they are touched.

    The schema has codecs for what is declared, and is sealed if nothing is to be discovered. In the budget the part of delta is set
    apart that discovering words takes; a delta that nothing could be spent of is not in it. `kinds` are the charges for kinds that are open:
    `discoveries` then reckon with words for these columns, and are settled when the kinds are known. `rows` is the charge for the number
    of rows; None where it is declared.
    """

    schema: Schema
    budget: Budget
    unit: Unit
    discoveries: tuple[Discovery, ...] = ()
    rows: Charge | None = None
    kinds: tuple[Charge, ...] = ()

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The charges of opening, in the order in which they are made."""
        every = [
            *self.kinds,
            *(charge for discovery in self.discoveries for charge in discovery.charges),
        ]
        return (*every, self.rows) if self.rows is not None else tuple(every)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The columns whose kind is to be discovered, in order."""
        return tuple(column.name for column in self.schema if column.lacks == "kind")

    @property
    def settled(self) -> bool:
        """Whether the sizes of all tables and the number of rows are known before data are touched."""
        return not self.charges

    @property
    def left(self) -> float:
        """What is left for the method, in the currency of the budget."""
        return self.budget.total - self.budget.amounts(self.charges)[0]

    def plan(self, steps: Sequence[Step]) -> Plan:
        """Return the plan of opening the data, and of a method's own steps after it."""
        return Plan(self.budget, self.unit, (*(Step(charge) for charge in self.charges), *steps))

    def plan_unsettled(self, what: str) -> Plan:
        """Return the plan of opening the data, and of all that is left as one step: its parts depend on what is found."""
        why = (
            "split once the domain is found"
            if self.discoveries
            else "split once the number of rows is measured"
        )
        cost = self.left * (1 - 1e-12)
        return self.plan([Step(self.budget.charge(what, why, cost, mechanism="", noise=""))])


def opening_of(schema: Schema, budget: Budget, unit: Unit) -> Opening:
    """Return what a fit under a schema may spend, and what opening its data takes.

    Raises PrivacyError, before anything is touched or spent, if a fit could not follow the schema under this promise.
    """
    _check_persons(schema.persons, unit)
    unit = unit.for_persons(schema.persons)
    if not schema.sealed:
        check_declared(schema, delta=budget.delta or 0.0, rows_public=_rows_public(unit))
        schema = _declared_part(schema) if wanted_columns(schema) else declared_schema(schema)
    if _rows_public(unit) and schema.rows is None:
        raise PrivacyError(
            f"A private fit needs a declared domain, and the schema lacks: {ROWS_NEEDED}."
        )
    reckoned = as_words(schema)
    whole = _spendable(reckoned, budget)
    discoveries = tuple(
        _either(each) if schema[each.column.name].lacks == "kind" else each
        for each in _discoveries(reckoned, whole)
    )
    rows = None if schema.rows is not None else _rows_charge(whole, unit)
    return Opening(schema, whole, unit, discoveries, rows, planned_kinds(schema, whole, unit))


def _either(discovery: Discovery) -> Discovery:
    """Return the discovery of a column whose kind is open under a name that says so."""
    assert discovery.levels is not None
    return replace(
        discovery,
        levels=replace(discovery.levels, what=f"levels or bounds of '{discovery.column.name}'"),
    )


def _discoveries(schema: Schema, budget: Budget) -> tuple[Discovery, ...]:
    """What is to be discovered of columns whose kind is known, and at what cost."""
    if not wanted_columns(schema):
        return ()
    return planned_discoveries(schema, budget, DISCOVERY_SHARE * budget.total)


@dataclass(frozen=True, eq=False)
class Undiscovered:
    """Data whose domain is not all declared: the rest is discovered by the fit, and paid from its budget."""

    cells: CellParts
    schema: Schema

    def under(self, schema: Schema) -> Table:
        """Return the table under a schema in which everything has been found, such as that of the fitted model."""
        return prepare_declared(self.cells, schema)

    def counter(self, schema: Schema) -> Counter:
        """Return a counter of the records under a schema in which everything has been found."""
        return MemoryCounter(self.under(schema))

    def __repr__(self) -> str:
        return f"Undiscovered({', '.join(column.name for column in wanted_columns(self.schema))})"


def prepare(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    discover: Literal["all"] | None = None,
    **options: Unpack[FileOptions],
) -> Table | Undiscovered:
    """Return data ready for a private fit: coded under a declared schema, so that no message or shape depends on a record.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow), a pandas, polars or Arrow object, or a `Table`. Any number of rows, also none.
    schema
        Public (`public = true`) and with a domain for every column, declared or with `discover = true`; or the path of its file.
    person, rows_per_person
        The column that tells persons apart, if they may have several rows (the schema's role `person` unless named), and how many rows
        of each are kept.
    discover
        "all": what the schema leaves open is discovered by the fit, at a cost; without a schema, everything but the names of columns.
    options
        What the file is like (`FileOptions`: encoding, delimiter, decimal, header, comment). No record is asked: what is not given is UTF-8, names in
        the first line, no comments, and the decimal sign of the schema, a point where that says nothing.
    """
    if discover is not None:
        schema = discovering_schema(source, schema, discover, **options)
    declared = _promised(source, schema, person, rows_per_person, options.get("decimal"))
    notes = personal_note(with_evidence(declared))  # by names and declarations: no record is asked
    warn_of(notes)
    if wanted_columns(declared):
        cells = open_cells(
            source, declared, person=person, rows_per_person=rows_per_person, **options
        )
        return Undiscovered(cells, declared)
    prepared = prepare_declared(
        source, declared, person=person, rows_per_person=rows_per_person, **options
    )
    return replace(prepared, notes=tuple(notes))


def _promised(
    source: Any,
    schema: SchemaLike | None,
    person: str | None,
    rows_per_person: int,
    decimal: str | None,
    budget: Budget | None = None,
    unit: Unit | None = None,
) -> Schema:
    """Return the schema that a private fit follows; raise unless it declares what a fit may not read from the data.

    With a budget and a unit, what these ask for is named in the same error.
    """
    declared = declared_of(source, schema)
    promised = promised_schema(declared, person=person, rows_per_person=rows_per_person)
    delta = None if budget is None else budget.delta or 0.0
    rows_public = unit is not None and _rows_public(unit)
    check_declared(promised, delta=delta, rows_public=rows_public, source=shown_source(source))
    warn_if_parsed(source, declared, person)
    return with_sign(promised, decimal)


@dataclass(frozen=True, eq=False)
class Unread:
    """A file of which the header was read and no record: its columns are those that the schema declares."""

    source: Source
    schema: Schema
    person: str | None = None
    rows_per_person: int = 1

    def read(self) -> Table | Undiscovered:
        """Read the records; see `prepare`."""
        return prepare(
            self.source, self.schema, person=self.person, rows_per_person=self.rows_per_person
        )


def open_unread(
    path: str | os.PathLike[str],
    schema: SchemaLike | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    budget: Budget | None = None,
    unit: Unit | None = None,
    **options: Unpack[FileOptions],
) -> Unread:
    """Return a file ready to be read for a private fit; raise if its header and the schema do not fit. No record is read.

    What is wrong up to here costs nothing. What comes after is to be paid for, also if it fails: spend from a project ledger
    before `read`. `budget` and `unit` are those of the fit, if they are settled: what they need of the schema is checked with the rest.
    """
    declared = _promised(
        path, schema, person, rows_per_person, options.get("decimal"), budget, unit
    )
    source = open_header(path, declared, **options)
    check_columns(source.name, source.schema.names, declared)
    return Unread(source, declared, person, rows_per_person)


def promised_schema(schema: Schema, *, person: str | None, rows_per_person: int) -> Schema:
    """Return the schema of a table of which `rows_per_person` rows of each person are kept: their column is an identifier."""
    promised = with_person(schema, person)
    return schema if promised.only("person") is None else replace(promised, persons=rows_per_person)


def open_private(
    data: Table | Counter | Undiscovered, budget: Budget, unit: Unit, *, seed: Seed = None
) -> PrivateCounter:
    """Return the one handle on the data; everything read through it is charged to a ledger of its own.

    What the schema leaves to be discovered is discovered first, from the same budget.
    """
    if isinstance(data, Table):
        data = MemoryCounter(data if data.schema.sealed else prepare_declared(data))
    opening = opening_of(data.schema, budget, unit)
    unit = opening.unit
    ledger, noise = Ledger(opening.budget, unit), noise_of(seed)
    if isinstance(data, Undiscovered):
        schema, discoveries = data.schema, opening.discoveries
        if opening.kinds:
            schema = discover_kinds(
                data.cells, schema, opening.kinds, noise, opening.budget, unit, ledger.charge
            )
            discoveries = _discoveries(schema, opening.budget)
        discovered = discover_domain(
            data.cells, schema, discoveries, noise, opening.budget, unit, ledger.charge
        )
        data = data.counter(with_decimals(discovered, opening.unknown))
    return PrivateCounter(data, ledger, noise)


def public_rows(counter: PrivateCounter) -> tuple[int, RowsHow]:
    """Return the number of rows that may be known, and how it came: declared, or measured for a small share of the budget."""
    declared = counter.schema.rows
    if declared is None:
        return counter.rows(ROWS_SHARE * counter.ledger.total, why="number of rows"), "measured"
    if _rows_public(counter.unit):
        counter.check_rows(declared)
    return declared, "declared"


def _declared_part(schema: Schema) -> Schema:
    """Return the schema with codecs for what is declared; the rest is to be discovered."""
    waiting = {column.name for column in wanted_columns(schema)}
    ready = {
        column.name: column
        for column in declared_columns(c for c in schema if c.name not in waiting)
    }
    return replace(schema, columns=tuple(ready.get(column.name, column) for column in schema))


def _rows_charge(budget: Budget, unit: Unit) -> Charge:
    """What `PrivateCounter.rows` charges for the number of rows."""
    amount, person = ROWS_SHARE * budget.total, unit.rows_per_person
    _, std = budget.noise(amount, l1=person, l2=float(person))
    return budget.noise_charge("number of rows", "number of rows", amount, std)


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


def _spendable(schema: Schema, budget: Budget) -> Budget:
    """Return what can be spent of a budget: in rho a part of delta is kept for words, under pure accounting it is for nothing else."""
    words = any(lacks(column) == "levels" for column in wanted_columns(schema))
    if budget.kind == "pure":
        return budget if words else replace(budget, delta=None)
    return (
        replace(budget, reserved_delta=budget.delta * DELTA_SHARE)
        if words and budget.delta is not None
        else budget
    )
