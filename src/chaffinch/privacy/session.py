"""A private session, the opening of data for a fit: what it may spend, a sealed schema, a ledger, a source of noise, and a public number of rows.

`plan_budget` alone decides what is spent and under which relation: a preview shows it, a project ledger books it, and the ledger of
the fit is made of it.

**Parsed tables** (`warn_if_parsed`): where a library has parsed a table before it comes here, one record may have decided how all others were read. Told "01" and "02", `pandas.read_csv` gives the numbers 1 and 2; told one "foo" besides, it gives the words "01" and "02". Whatever is promised
from there on, the other records have changed by then. Whether that can happen is told from the kind of object and from declarations: no
dtype is asked, since a record may have decided it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Unpack

from .._base.errors import ParsedDataWarning, PrivacyError, join_names
from .._base.seeds import Seed
from ..counts.counter import Counter, MemoryCounter
from ..table.fit_schema import check_columns
from ..table.formats import Source
from ..table.formats.format import FileOptions
from ..table.formats.objects import OBJECTS
from ..table.personal.detect import personal_note, warn_of, with_evidence
from ..table.rows import Rows, as_rows
from ..table.schema import Column, Schema
from ..table.schema_file import SchemaLike
from ..table.spell import spell
from ..table.table import Table
from ..table.text import with_sign
from ..table.types import is_words, parse_type, value_type
from .counter import PrivateCounter
from .discover import (
    Discovery,
    as_words,
    discover_kinds,
    noise_law,
    planned_discoveries,
    planned_kinds,
    threshold,
    wanted_columns,
    with_decimals,
)
from .discover import discover as discover_domain
from .domain import (
    ROWS_NEEDED,
    check_declared,
    declared_columns,
    declared_schema,
    lacks,
    with_usual_type,
)
from .ledger import Budget, Charge, Ledger, Plan, Step
from .mechanisms import noise_of
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
from .relation import PrivacyUnit

ROWS_SHARE = 0.02
"""The share of the budget for the number of rows, where it is not declared and the relation keeps it private."""

DISCOVERY_SHARE = 0.2
"""The share of the budget for levels, bounds and quantiles that are to be discovered."""

DELTA_SHARE = 0.1
"""The share of delta for words that are to be discovered: a threshold grows with the square root of its logarithm, a budget shrinks with that."""

RowsHow = Literal["declared", "measured"]


@dataclass(frozen=True)
class BudgetPlan:
    """What a private fit under a schema may spend, and what of it opening the data takes; settled before they are touched.

    The schema has codecs for what is declared, and is sealed if nothing is to be discovered. In the budget the part of delta is set
    apart that discovering words takes; a delta that nothing could be spent of is not in it. `kinds` are the charges for kinds that are open:
    `discoveries` then reckon with words for these columns, and are settled when the kinds are known. `rows` is the charge for the number
    of rows; None where it is declared.
    """

    schema: Schema
    budget: Budget
    unit: PrivacyUnit
    discoveries: tuple[Discovery, ...] = ()
    rows: Charge | None = None
    kinds: tuple[Charge, ...] = ()

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The charges of opening, in the order in which they are made."""
        discovery_charges = [
            *self.kinds,
            *(charge for discovery in self.discoveries for charge in discovery.charges),
        ]
        return (
            (*discovery_charges, self.rows) if self.rows is not None else tuple(discovery_charges)
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """The columns whose kind is to be discovered, in order."""
        return tuple(column.name for column in self.schema if column.lacks == "kind")

    @property
    def settled(self) -> bool:
        """Whether the sizes of all tables and the number of rows are known before data are touched."""
        return not self.charges

    @property
    def remaining(self) -> float:
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
        cost = self.remaining * (1 - 1e-12)
        return self.plan([Step(self.budget.charge(what, why, cost, mechanism="", noise=""))])


def plan_budget(schema: Schema, budget: Budget, unit: PrivacyUnit) -> BudgetPlan:
    """Return what a fit under a schema may spend, and what opening its data takes.

    Raises PrivacyError, before anything is touched or spent, if a fit could not follow the schema under this promise.
    """
    _check_persons(schema.persons, unit)
    unit = unit.for_persons(schema.persons)
    if not schema.sealed:
        check_declared(schema, delta=budget.delta or 0.0, rows_public=unit.rows_public)
        schema = _declared_part(schema) if wanted_columns(schema) else declared_schema(schema)
    if unit.rows_public and schema.rows is None:
        raise PrivacyError(
            f"A private fit needs a declared domain, and the schema lacks: {ROWS_NEEDED}."
        )
    reckoned = as_words(schema)
    spendable = _spendable(reckoned, budget)
    discoveries = tuple(
        _either(each) if schema[each.column.name].lacks == "kind" else each
        for each in _discoveries(reckoned, spendable)
    )
    rows = None if schema.rows is not None else _rows_charge(spendable, unit)
    return BudgetPlan(
        schema, spendable, unit, discoveries, rows, planned_kinds(schema, spendable, unit)
    )


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
class DataWithoutDomain:
    """Data whose domain is not all declared: the rest is discovered by the fit, and paid from its budget."""

    cells: CellParts
    schema: Schema

    def under(self, schema: Schema) -> Table:
        """Return the table under a schema in which everything has been found, such as that of the fitted model."""
        return prepare_declared(self.cells, schema)

    def discovered(self, schema: Schema) -> tuple[Any, Any]:
        """Return the rows under the schema of the fitted model, and what has their codes: the table is both."""
        table = self.under(schema)
        return table, table

    def counter(self, schema: Schema) -> Counter:
        """Return a counter of the records under a schema in which everything has been found."""
        return MemoryCounter(self.under(schema))

    def __repr__(self) -> str:
        return (
            f"DataWithoutDomain({', '.join(column.name for column in wanted_columns(self.schema))})"
        )


def prepare(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    discover: Literal["all"] | None = None,
    **options: Unpack[FileOptions],
) -> Table | DataWithoutDomain:
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
    declared = _private_schema(source, schema, person, rows_per_person, options.get("decimal"))
    notes = personal_note(with_evidence(declared))  # by names and declarations: no record is asked
    warn_of(notes)
    if wanted_columns(declared):
        cells = open_cells(
            source, declared, person=person, rows_per_person=rows_per_person, **options
        )
        return DataWithoutDomain(cells, declared)
    prepared = prepare_declared(
        source, declared, person=person, rows_per_person=rows_per_person, **options
    )
    return replace(prepared, notes=tuple(notes))


def _private_schema(
    source: Any,
    schema: SchemaLike | None,
    person: str | None,
    rows_per_person: int,
    decimal: str | None,
    budget: Budget | None = None,
    unit: PrivacyUnit | None = None,
) -> Schema:
    """Return the schema that a private fit follows; raise unless it declares what a fit may not read from the data.

    With a budget and a unit, what these ask for is named in the same error.
    """
    declared = declared_of(source, schema)
    promised = promised_schema(declared, person=person, rows_per_person=rows_per_person)
    delta = None if budget is None else budget.delta or 0.0
    rows_public = unit is not None and unit.rows_public
    check_declared(promised, delta=delta, rows_public=rows_public, source=shown_source(source))
    warn_if_parsed(source, declared, person)
    return with_sign(promised, decimal)


@dataclass(frozen=True, eq=False)
class LazySource:
    """A file of which the header was read and no record: its columns are those that the schema declares."""

    source: Source
    schema: Schema
    person: str | None = None
    rows_per_person: int = 1

    def read(self) -> Table | DataWithoutDomain:
        """Read the records; see `prepare`."""
        return prepare(
            self.source, self.schema, person=self.person, rows_per_person=self.rows_per_person
        )


def open_lazy_source(
    path: str | os.PathLike[str],
    schema: SchemaLike | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    budget: Budget | None = None,
    unit: PrivacyUnit | None = None,
    **options: Unpack[FileOptions],
) -> LazySource:
    """Return a file ready to be read for a private fit; raise if its header and the schema do not fit. No record is read.

    What is wrong up to here costs nothing. What comes after is to be paid for, also if it fails: spend from a project ledger
    before `read`. `budget` and `unit` are those of the fit, if they are settled: what they need of the schema is checked with the rest.
    """
    declared = _private_schema(
        path, schema, person, rows_per_person, options.get("decimal"), budget, unit
    )
    source = open_header(path, declared, **options)
    check_columns(source.name, source.schema.names, declared)
    return LazySource(source, declared, person, rows_per_person)


def promised_schema(schema: Schema, *, person: str | None, rows_per_person: int) -> Schema:
    """Return the schema of a table of which `rows_per_person` rows of each person are kept: their column is an identifier."""
    promised = with_person(schema, person)
    return schema if promised.only("person") is None else replace(promised, persons=rows_per_person)


def start_private_session(
    data: Rows | Counter | DataWithoutDomain,
    budget: Budget,
    unit: PrivacyUnit,
    *,
    seed: Seed = None,
) -> PrivateCounter:
    """Return the one handle on the data; everything read through it is charged to a ledger of its own.

    What the schema leaves to be discovered is discovered first, from the same budget.
    """
    source: Any = data
    if (rows := as_rows(data)) is not None:
        table = rows.table()
        source = MemoryCounter(table if table.schema.sealed else prepare_declared(table))
    budget_plan = plan_budget(source.schema, budget, unit)
    unit = budget_plan.unit
    ledger, noise = Ledger(budget_plan.budget, unit), noise_of(seed)
    if isinstance(source, DataWithoutDomain):
        schema, discoveries = source.schema, budget_plan.discoveries
        if budget_plan.kinds:
            schema = discover_kinds(
                source.cells,
                schema,
                budget_plan.kinds,
                noise,
                budget_plan.budget,
                unit,
                ledger.charge,
            )
            discoveries = _discoveries(schema, budget_plan.budget)
        discovered = discover_domain(
            source.cells, schema, discoveries, noise, budget_plan.budget, unit, ledger.charge
        )
        source = source.counter(with_decimals(discovered, budget_plan.unknown))
    return PrivateCounter(source, ledger, noise)


def public_rows(counter: PrivateCounter) -> tuple[int, RowsHow]:
    """Return the number of rows that may be known, and how it came: declared, or measured for a small share of the budget."""
    declared = counter.schema.rows
    if declared is None:
        return counter.rows(ROWS_SHARE * counter.ledger.total, why="number of rows"), "measured"
    if counter.unit.rows_public:
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


def _rows_charge(budget: Budget, unit: PrivacyUnit) -> Charge:
    """What `PrivateCounter.rows` charges for the number of rows."""
    amount, person = ROWS_SHARE * budget.total, unit.rows_per_person
    _, std = budget.noise(amount, l1=person, l2=float(person))
    return budget.noise_charge("number of rows", "number of rows", amount, std)


def _check_persons(persons: int, unit: PrivacyUnit) -> None:
    """Raise if a table keeps more rows of a person than the promise speaks of."""
    if persons > unit.rows_per_person:
        raise PrivacyError(
            f"The table was prepared with up to {persons} rows of a person, but the settings protect {unit.rows_per_person}. Pass "
            f"rows_per_person = {persons} to both."
        )
    if persons == 1 and unit.bounded:
        raise PrivacyError(
            "With a person's identifier the number of rows is private: use neighbours = 'add-remove' where one row is kept of each."
        )


def _spendable(schema: Schema, budget: Budget) -> Budget:
    """Return what can be spent of a budget: in rho a part of delta is kept for words, under pure accounting it is for nothing else."""
    needs_delta = any(lacks(column) == "levels" for column in wanted_columns(schema))
    if budget.kind == "pure":
        return budget if needs_delta else replace(budget, delta=None)
    return (
        replace(budget, reserved_delta=budget.delta * DELTA_SHARE)
        if needs_delta and budget.delta is not None
        else budget
    )


PARSERS = ("pandas", "polars")
"""Kinds of objects whose libraries infer what a text file holds."""

NULLS = frozenset({"", "#n/a", "<na>", "n/a", "na", "nan", "none", "null"})
"""Words that these libraries take for missing values, in small letters."""


def reads_as_another(word: str) -> bool:
    """Return whether a word would be another after it was read as a number, or as missing.

    Examples
    --------
    >>> [reads_as_another(word) for word in ("red", "10", "01", "1.50", "1e3", "NA")]
    [False, False, True, True, True, True]
    """
    if word.strip().lower() in NULLS:
        return True
    try:
        return "_" not in word and spell(float(word)) != word
    except ValueError:
        return False


def changed_by_parsing(schema: Schema, person: str | None = None) -> list[str]:
    """Return the columns whose cells a parser of text may change: by their declarations, whatever the data hold."""
    return [column.name for column in schema if column.name == person or _may_change(column)]


def _may_change(column: Column) -> bool:
    declared = with_usual_type(column)
    if (
        declared.kind != "categorical"
        or not declared.modelled
        or not is_words(value_type(parse_type(declared.type)))
    ):
        return False
    return lacks(column) == "levels" or any(
        isinstance(word, str) and reads_as_another(word) for word in column.levels or ()
    )


def warn_if_parsed(source: Any, schema: Schema, person: str | None = None) -> None:
    """Warn of a table of pandas or polars where one record may have decided how cells of others were read."""
    if as_rows(source) is not None:
        return
    kind = next((kind.name for kind in OBJECTS if kind.recognise(source)), "")
    if kind not in PARSERS or not (columns := changed_by_parsing(schema, person)):
        return
    warnings.warn(
        f"One record may decide how {kind} reads the others from a text file, as '01' or as 1, and no promise covers that: "
        f"{join_names(columns)}. Pass the path of the file in place of the table; a table whose types were told to {kind}, or that comes from "
        "a database, is safe.",
        ParsedDataWarning,
        stacklevel=4,
    )


@dataclass(frozen=True)
class ColumnPrice:
    """What discovering one column takes: which things, what share of the budget, and for levels the records that each needs.

    `records` is the count at which a level is found more often than not; None for bounds and quantiles.
    """

    column: str
    what: tuple[str, ...]
    share: float
    records: int | None = None


@dataclass(frozen=True)
class DiscoveryPrice:
    """What all discoveries of a fit take together. Public: it depends on declarations and the promise alone."""

    share: float
    columns: tuple[ColumnPrice, ...]
    delta: float = 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The price in words: the share of the budget, then what a level needs."""
        names = f"{len(self.columns):,} column{'s' * (len(self.columns) != 1)}"
        delta = f" and a delta of {self.delta:g}" if self.delta else ""
        out = [
            f"Discovery takes {self.share:.1%} of the budget{delta}, for {names}: {join_names(c.column for c in self.columns)}."
        ]
        groups: dict[int, list[str]] = {}
        for column in self.columns:
            if column.records is not None:
                groups.setdefault(column.records, []).append(column.column)
        for records, columns in sorted(groups.items()):
            out.append(
                f"A level of {join_names(columns)} is found if about {records:,} records or more have it; rarer ones go to (other). "
                "Declared levels cost nothing, however rare."
            )
        return tuple(out)

    def to_dict(self) -> dict[str, Any]:
        """Return the price as plain data."""
        return {
            "share": self.share,
            "delta": self.delta,
            "columns": [asdict(column) for column in self.columns],
        }


def discovery_price(budget_plan: BudgetPlan) -> DiscoveryPrice | None:
    """Return what the discoveries of an opening take; None where all is declared."""
    if not budget_plan.discoveries and not budget_plan.kinds:
        return None
    budget = budget_plan.budget
    kinds = dict(zip(budget_plan.unknown, budget_plan.kinds, strict=True))
    columns = []
    for discovery in budget_plan.discoveries:
        name = discovery.column.name
        charges = [*([kinds[name]] if name in kinds else []), *discovery.charges]
        cost = sum(charge.cost(budget.kind) for charge in charges)
        columns.append(
            ColumnPrice(
                name,
                _things(discovery, name in kinds),
                cost / budget.total,
                records_needed(budget_plan, discovery),
            )
        )
    share, delta = budget.amounts(
        [*budget_plan.kinds, *(c for d in budget_plan.discoveries for c in d.charges)]
    )
    return DiscoveryPrice(share / budget.total, tuple(columns), delta)


def records_needed(budget_plan: BudgetPlan, discovery: Discovery) -> int | None:
    """Return how many records a level needs: the public threshold of its noisy count. None where no levels are discovered."""
    paid = discovery.levels
    if paid is None:
        return None
    return threshold(
        budget_plan.unit, noise_law(budget_plan.budget, budget_plan.unit, paid), delta=paid.delta
    )


def _things(discovery: Discovery, kind: bool) -> tuple[str, ...]:
    named: Sequence[tuple[str, object]] = (
        ("kind", kind),
        ("levels", discovery.levels),
        ("bounds", discovery.bounds),
        ("quantiles", discovery.quantiles),
    )
    return tuple(name for name, charge in named if charge)
