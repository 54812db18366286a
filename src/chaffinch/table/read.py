"""Reading a table: the front door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from .._base.errors import InputError
from .._base.options import takes
from .._base.runtime import Progress, silent, thread_map
from .codes import Codes
from .domain import encode_column
from .fit_schema import CellValues, FittedSchema, fit_schema, parse_columns
from .formats import Source
from .personal.detect import warn_of
from .persons import table_of_persons
from .rules.keep import with_found_rules, with_rules
from .schema import Schema
from .settings import Reading
from .sources import open_source
from .table import Origin, Table
from .text import spelling_of
from .types import without_metadata

if TYPE_CHECKING:
    from ..keywords import ReadingOptions
    from .schema_file import SchemaLike


@takes(Reading)
def read(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    person: str | None = None,
    order: str | None = None,
    settings: Reading | None = None,
    progress: Progress = silent,
    **options: Unpack[ReadingOptions],
) -> Table:
    """Return a table from a file or from a pandas, polars, pyarrow or other Arrow-speaking object.

    Parameters
    ----------
    source
        A path (text, Parquet, Arrow, workbooks, databases, files of SPSS, Stata, SAS and R) or an
        object. `FILE::TABLE` names a sheet, a table of a database or a file in an archive.
    schema
        What columns are: a `Schema`, the path of a schema file (TOML, or a codebook in JSON), or what it says of single columns, as
        {"sex": "key", "name": "drop", "age": {"kind": "integer", "bounds": [0, 110]}}. What is declared wins over inference and is
        checked against the data; all else is inferred from all rows, rules between columns too unless the schema states `rules`.
        The fitted schema of another table (`table.schema`) is used as it is: same levels, same bins.
    person, order
        Where people have several rows: the column that says whose row it is, and the column that orders a person's rows (without one they
        are in the order of the source). Levels and bins then count persons, not rows. A schema says the same with roles.
    settings
        All options at once, in place of those below.

    Warns
    -----
    PersonalDataWarning
        If columns that are modelled look as if they said who somebody is. Fits of them stop: see `PersonalDataError`.

    Examples
    --------
    >>> table = read(pa.table({"sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20}))
    >>> table
    Table(60 rows x 2 columns: sex, ill)
    >>> table.code("ill")[:3]
    array([0, 0, 1], dtype=uint8)
    """
    if is_model(source):
        raise InputError(
            "This is a model, and data are needed: give a table, or draw one with model.sample()."
        )
    reading = Reading.chosen(settings, options if schema is None else {"schema": schema, **options})
    opened = in_memory(open_source(source, **reading.file))
    declared = reading.declared
    batches: list[CellValues] = []
    fitted = fit_schema(
        opened,
        declared,
        rare=reading.rare,
        threshold=reading.threshold,
        progress=progress,
        watch=lambda _, cells: batches.append(cells),
    )
    warn_of(fitted.notes)
    table = encode_source(opened, fitted.schema, fitted.notes, _parsed_cells(fitted, batches))
    table = table_of_persons(table, person, order, refit=declared is None or not declared.fitted)
    if declared is None or declared.leaves_rules_open:
        progress("looking for rules", -1)
        return with_found_rules(table, reading.threshold)
    return table if declared.fitted else with_rules(table, reading.threshold)


def is_model(thing: object) -> bool:
    """Return whether something is a model, by its class alone: asking an object for its properties may run anything."""
    return all(hasattr(type(thing), name) for name in ("sample", "batches", "describe", "save"))


def in_memory(source: Source) -> Source:
    """Return the source with its rows held, so that passes over them do not read the file again."""
    table = source.table()

    def batches(columns: Any) -> Any:
        chosen = table if columns is None else table.select(list(columns))
        combined = chosen.combine_chunks()
        yield from combined.to_batches() or [pa.RecordBatch.from_pylist([], schema=chosen.schema)]

    return replace(source, schema=table.schema, read=batches, files=())


def _parsed_cells(fitted: FittedSchema, batches: Sequence[CellValues]) -> CellValues:
    """The cells of columns that were read for the profile as the fitted schema has them read: in memory all rows are one batch."""
    if fitted.profiles is None or len(batches) != 1:
        return {}
    spellings, (cells,) = fitted.profiles.spellings, batches
    return {
        column.name: cells[column.name]
        for column in fitted.schema
        if replace(spellings[column.name], why="") == spelling_of(column)
    }


def encode_source(
    source: Source, schema: Schema, notes: Any, cells: CellValues | None = None
) -> Table:
    """Return the rows of a source as a table under a fitted schema; `cells` are those that were parsed before."""
    table, cells = source.table(), cells or {}
    unread = {column.name: spelling_of(column) for column in schema if column.name not in cells}
    values = cells | parse_columns(table, unread, text=source.text)
    arrays = thread_map(lambda column: encode_column(column, *values[column.name]), schema.modelled)
    fields = [table.schema.field(c.name).with_type(values[c.name][0].type) for c in schema]
    data = pa.Table.from_arrays(
        [values[c.name][0] for c in schema], schema=without_metadata(pa.schema(fields))
    )
    origin = Origin(source.native, source.dtypes, source.layout, index=source.index)
    return Table(
        schema,
        data,
        Codes.from_columns(arrays, schema.sizes, n_rows=data.num_rows),
        tuple(notes),
        origin,
    )
