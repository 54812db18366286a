"""Several rows for one person: whose row it is, by ids as numbers, and which came first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .codes import Codes
from .domain import encode_column
from .fit_schema import fit_column
from .profile import Profile
from .schema import Column, Note, Output, Schema
from .spell import spell_values
from .table import Table
from .types import (
    is_bytes,
    is_numeric,
    is_words,
    parse_type,
    to_numbers,
    value_type,
    whole_array,
)

Rows = NDArray[np.int64]
_UNCODED: dict[str, Any] = {
    "levels": None,
    "edges": None,
    "binning": "quantile",
    "bounds": None,
    "atoms": None,
    "missing": (),
}
"""What belongs to codes, as a column without codes has it."""


@dataclass(frozen=True, eq=False)
class PersonRows:
    """The rows of a table, person after person, each person's in their order.

    Parameters
    ----------
    rows
        Positions in the table.
    starts, lengths
        Where each person's rows begin among them, and how many they are.
    """

    rows: Rows
    starts: Rows
    lengths: Rows

    @property
    def n_persons(self) -> int:
        """The number of persons."""
        return len(self.starts)

    @property
    def first(self) -> Rows:
        """The position of each person's first row in the table."""
        return self.rows[self.starts]

    @property
    def steps(self) -> tuple[Rows, Rows]:
        """The positions of every row but each person's first, and of the row of the same person
        before it.
        """
        later = np.ones(len(self.rows), dtype=bool)
        later[self.starts] = False
        positions = np.flatnonzero(later)
        return self.rows[positions], self.rows[positions - 1]


def person_rows(table: Table) -> PersonRows:
    """Return the rows of each person in their order: by the column with the role `order`, without
    one as the table has them.

    Raises
    ------
    InputError
        If no column says whose row it is, or a row has no place in the order.

    Examples
    --------
    >>> from chaffinch.table.read import read
    >>> table = read(pa.table({"who": ["b", "a"] * 15, "when": [2, 2, 1, 1, 3, 3] * 5, "ill": ["no", "yes", "no"] * 10}))
    >>> rows = person_rows(with_persons(table, "who", "when"))
    >>> rows.n_persons, rows.lengths.tolist(), rows.first.tolist()
    (2, [15, 15], [2, 3])
    """
    person, order = table.schema.only("person"), table.schema.only("order")
    if person is None:
        raise InputError(
            'No column says whose row it is. Give one the role: role = "person" in the schema, or --person COLUMN.'
        )
    persons = (
        person_numbers(table.data.column(person)) if table.person_of is None else table.person_of
    )
    when = (
        order_numbers(table.schema[order], table.data.column(order))
        if order is not None
        else np.arange(table.n_rows)
    )
    rows = np.lexsort((when, persons)).astype(np.int64)
    ordered = persons[rows]
    starts = (
        np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])).astype(np.int64)
        if len(rows)
        else rows
    )
    return PersonRows(rows, starts, np.diff(np.append(starts, len(rows))).astype(np.int64))


def order_numbers(column: Column, values: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return values as numbers that tell which row came first; raise unless they are numbers, dates
    or times, and all there.
    """
    if not is_numeric(value_type(values.type)):
        raise InputError(
            f"Column '{column.name}' cannot order rows: it holds {column.type}, not numbers, dates or times. Name another, or leave "
            "the role out: rows are then in the order of the file."
        )
    numbers, present = to_numbers(values)
    codes = [code for code in column.missing if isinstance(code, int | float)]
    if (
        not present.all()
        or not np.isfinite(numbers).all()
        or (codes and np.isin(numbers, codes).any())
    ):
        raise InputError(
            f"Column '{column.name}' cannot order rows: it has missing values. Drop these rows, or name another."
        )
    return numbers


def with_persons(table: Table, person: str | None, order: str | None = None) -> Table:
    """Return the table with a person column, and perhaps one that orders a person's rows.

    The first has no codes any more: it is drawn anew, never synthesised. Levels and bins of the
    others are fitted again where they come from the data, each person counted once for a value: a
    value that ten rows of one person share is as rare as one row's.
    """
    if person is None and order is None:
        return table
    schema = schema_with_persons(table.schema, person, order)
    if schema == table.schema:
        return table
    return counted_by_person(
        replace(
            table,
            schema=schema,
            codes=Codes.from_columns(
                [table.code(n) for n in schema.names], schema.sizes, n_rows=table.n_rows
            ),
        )
    )


def one_row_each(table: Table, rng: np.random.Generator) -> Table:
    """Return one row of each person, drawn at random: people are counted once then, and rows are
    independent of each other.
    """
    if table.person_of is None:
        return table
    shuffled = rng.permutation(table.n_rows)
    _, first = np.unique(table.person_of[shuffled], return_index=True)
    return replace(table.take(np.sort(shuffled[first])), person_of=None)


def table_of_persons(table: Table, person: str | None, order: str | None, *, refit: bool) -> Table:
    """Return a table that was read, with whose rows they are: as named here, or as its schema says;
    unchanged where nobody says it.

    Without `refit` levels and bins stay as they are: they are another table's.
    """
    named = with_persons(table, person, order)
    column = named.schema.only("person")
    if column is None or named.person_of is not None:
        return named
    if refit:
        return counted_by_person(named)
    return replace(named, person_of=person_numbers(named.data.column(column)))


def counted_by_person(table: Table) -> Table:
    """Return the table with levels and bins that count each person once for a value, however many
    rows have it.
    """
    person = table.schema.only("person")
    assert person is not None
    persons = person_numbers(table.data.column(person))
    columns, codes, notes = [], [], list(table.notes)
    for column in table.schema:
        if not column.modelled:
            columns.append(column)
            continue
        refitted, column_notes, column_codes = _refit_column(column, table, persons)
        columns.append(refitted)
        codes.append(column_codes)
        notes += [note for note in column_notes if note not in notes]
    schema = replace(
        table.schema, columns=tuple(columns), functions=()
    )  # functions are maps of the codes that were
    notes = [note for note in notes if note.column != person] + [_person_note(schema)]
    return replace(
        table,
        schema=schema,
        codes=Codes.from_columns(codes, schema.sizes, n_rows=table.n_rows),
        notes=tuple(notes),
        person_of=persons,
    )


def _person_note(schema: Schema) -> Note:
    """Return the note on a table in which people have several rows."""
    person, order = schema.only("person"), schema.only("order")
    by = f"ordered by '{order}'" if order is not None else "in the order of the source"
    sentence = f"it says whose row it is, and is made anew; a person's rows belong together, {by}, and levels and bins count persons."
    return Note(str(person), "person", sentence)


def _refit_column(
    column: Column, table: Table, persons: Rows
) -> tuple[Column, list[Note], NDArray[Any]]:
    """Return a column with a codec of values counted once a person, what is to be said of it, and
    its codes.
    """
    old, old_codes = column.fitted_codec, table.code(column.name).astype(np.int64)
    values = whole_array(table.data.column(column.name))
    present = np.flatnonzero(old_codes < old.n_values)
    shown = values.take(pa.array(present))
    which = shown.dictionary_encode() if not pa.types.is_dictionary(shown.type) else shown
    level = which.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    pairs = persons[present] * (int(level.max(initial=0)) + 1) + level
    once = np.sort(np.unique(pairs, return_index=True)[1])
    profile = Profile(values.type, column.missing)
    profile.add(shown.take(pa.array(once)))
    fitted, notes = fit_column(
        replace(column, codec=None), profile, rare_below=table.schema.rare_below
    )
    new = fitted.fitted_codec
    codes = np.empty(len(values), dtype=np.int64)
    codes[present] = encode_column(fitted, shown)
    absent = old_codes >= old.n_values
    codes[absent] = (
        old_codes[absent]
        - old.n_values
        + new.n_values
        + (int(new.null) - int(old.null)) * (old_codes[absent] - old.n_values >= old.null)
    )
    return fitted, notes, codes


def schema_with_persons(schema: Schema, person: str | None, order: str | None = None) -> Schema:
    """Return the schema with the roles `person` and `order` given to columns; whoever had them
    before is `other`.
    """
    if person is not None and person == order:
        raise InputError(
            f"Column '{person}' cannot say whose row it is and order the rows. Name two columns."
        )
    if order is not None and person is None and schema.only("person") is None:
        raise InputError(
            f"Column '{order}' orders the rows of a person: name the column that says whose row it is too."
        )
    columns = list(schema.columns)
    for i, column in enumerate(columns):
        if column.name == person:
            output: Output = "fake" if column.output == "fake" else "regenerate"
            columns[i] = replace(
                column, role="person", kind="identifier", output=output, codec=None, **_UNCODED
            )
        elif column.name == order:
            if not column.modelled or not is_numeric(value_type(parse_type(column.type))):
                raise InputError(
                    f"Column '{column.name}' cannot order rows: it is {column.kind}, of type {column.type}. Name one of numbers, dates or times."
                )
            columns[i] = replace(column, role="order")
        elif (person is not None and column.role == "person") or (
            order is not None and column.role == "order"
        ):
            columns[i] = replace(column, role="identifier" if column.role == "person" else "other")
    for name in (person, order):
        if name is not None:
            schema[name]  # raises for a column that does not exist
    return replace(schema, columns=tuple(columns))


def person_numbers(
    ids: pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any],
) -> NDArray[np.int64]:
    """Return a number for each row: the same for rows of one id, one of its own for a row without.

    Ids are compared as they are stored; words without the blanks around them.

    Examples
    --------
    >>> person_numbers(["ann", "bob", " ann", None, None]).tolist()
    [0, 1, 0, 3, 4]
    """
    coded = plain_ids(ids).dictionary_encode()
    if is_bytes(coded.dictionary.type):
        distinct = coded.dictionary.to_pylist()
        # Two spellings of one id are one person, who would otherwise keep twice as many rows.
        first: dict[bytes, int] = {}
        number = np.array(
            [first.setdefault(word.strip(), i) for i, word in enumerate(distinct)] or [0],
            dtype=np.int64,
        )
        blank = np.array([not word.strip() for word in distinct] or [False])
    else:
        many = max(len(coded.dictionary), 1)
        number, blank = np.arange(many), np.zeros(many, dtype=bool)
    present = coded.indices.is_valid().to_numpy(zero_copy_only=False)
    indices = coded.indices.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    out = number[indices]
    alone = ~present | blank[indices]
    out[alone] = len(number) + np.arange(
        int(alone.sum())
    )  # or they would count among the rows of somebody else
    return np.asarray(out)


def plain_ids(ids: pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any]) -> pa.Array:
    """Return ids so that two that are equal are one: words as bytes, still with the blanks around
    them, null where there is none.
    """
    values = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids, from_pandas=True)
    values = whole_array(values)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_words(values.type):
        values = values.cast(pa.large_binary())  # bytes that are no text are an id like any other
    if pa.types.is_decimal(values.type):  # Arrow gives no numbers to those of 32 and 64 bits
        values = spell_values(values).cast(pa.large_binary())
    if pa.types.is_floating(values.type):  # NaN is no id, and 0 is -0
        values = pa.array(values.to_numpy(zero_copy_only=False) + 0.0, from_pandas=True)
    if pa.types.is_nested(values.type):
        raise InputError(
            f"A person cannot be told by a column of type {values.type}. Name one of words or numbers."
        )
    return values
