"""A table fitted anew: with its numbers cut finer, or a subset of its rows as a file of these rows
alone would be read.

Tables of counts need few levels; trees split where it matters, so that more cost them little, and
what is drawn keeps the grain of the data: values that ten records share stay themselves, and what
lies inside a narrow bin hangs on the same narrow bins of other columns. No level stands for fewer
than ten records (`bins.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.runtime import Progress, silent
from .codes import Codes
from .domain import encode_column, same_codes
from .fit_schema import TableProfile, fit_column
from .formats import Labels
from .infer import infer_column
from .profile import Profile
from .rules.constraints import cut_schema
from .rules.keep import fitted_functions, functions_of_batches, with_found_rules
from .scan import Scan
from .schema import Column, Schema
from .table import Table
from .text import Spelling, spelling_of
from .types import whole_array

FINE = 150
"""Levels of a numeric column at most."""

Tokens = NDArray[np.int16] | None


def is_coarse(column: Column) -> bool:
    """Return whether a column's levels are what inference cuts by default, so that nobody asked for
    just these.
    """
    usual = (
        column.binning == "quantile"
        and column.bins == Column.bins
        and column.atoms is None
        and column.edges is None
    )
    return usual and column.modelled and column.role != "weight" and column.is_numeric


def rebin_finely(table: Table) -> Table:
    """Return a table with its numbers cut finer.

    Examples
    --------
    >>> import chaffinch, pyarrow as pa
    >>> table = chaffinch.read(pa.table({"age": list(range(20, 60)) * 12, "sex": ["f", "m"] * 240}))
    >>> table.schema["age"].size, rebin_finely(table).schema["age"].size
    (20, 40)
    """
    schema = table.schema
    if not any(is_coarse(column) for column in schema):
        return table
    columns, arrays = list[Column](), []
    for column in schema:
        if is_coarse(column):
            values, tokens = cells_of(table, column)
            column = _rebin_column_finely(
                column, profile_of(column, values, tokens), schema.rare_below
            )
            arrays.append(encode_column(column, values, tokens))
        elif column.modelled:
            arrays.append(table.code(column.name))
        columns.append(column)
    fine = cut_schema(replace(schema, columns=tuple(columns), sealed=False))
    out = replace(
        table, schema=fine, codes=Codes.from_columns(arrays, fine.sizes, n_rows=table.n_rows)
    )
    return replace(out, schema=replace(fine, functions=fitted_functions(out, THRESHOLD)))


def rebin_scan_finely(scanned: Scan, *, progress: Progress = silent) -> Scan:
    """Return a scan of the same file with its numbers cut finer, from the profiles of the pass that
    fitted its schema, or one more pass.
    """
    schema = rebin_schema_finely(scanned, progress=progress)
    if schema is scanned.schema:
        return scanned
    out = replace(scanned, schema=schema)
    return replace(
        out,
        schema=replace(schema, functions=functions_of_batches(schema, out.row_batches, THRESHOLD)),
    )


def rebin_schema_finely(
    scanned: Scan, columns: Sequence[Column] | None = None, *, progress: Progress = silent
) -> Schema:
    """Return the schema of a scan with its numbers cut finer; functions among its rules are still
    those of the coarse one.

    `columns`: what `rebin_columns_finely` gave for the same columns under other rules, where that
    is known.
    """
    schema = scanned.schema
    if not any(is_coarse(column) for column in schema):
        return schema
    fine = tuple(columns or rebin_columns_finely(scanned, progress=progress))
    return cut_schema(replace(schema, columns=fine, sealed=False))


def rebin_columns_finely(scanned: Scan, *, progress: Progress = silent) -> tuple[Column, ...]:
    """Return the columns of a scan with their numbers cut finer, not yet at the numbers that rules
    name.
    """
    schema = scanned.schema
    coarse = [column for column in schema if is_coarse(column)]
    profiles = {} if scanned.profiles is None else scanned.profiles.columns
    if any(
        column.name not in profiles or profiles[column.name].missing != column.missing
        for column in coarse
    ):
        spellings = {column.name: spelling_of(column) for column in coarse}
        fresh = TableProfile.from_spellings(spellings)
        for batch in scanned.source.batches(list(spellings)):
            fresh.add(batch, text=scanned.source.text)
            progress("reading", -1)
        profiles = fresh.columns
    return tuple(
        _rebin_column_finely(column, profiles[column.name], schema.rare_below)
        if is_coarse(column)
        else column
        for column in schema
    )


def _rebin_column_finely(column: Column, profile: Profile, rare_below: int) -> Column:
    fitted, _ = fit_column(replace(column, bins=FINE, codec=None), profile, rare_below=rare_below)
    return replace(column, codec=fitted.codec)


def on_codes_of(table: Table, schema: Schema, names: Collection[str]) -> Table:
    """Return a table with some numeric columns on the codes of another schema of the same columns;
    all others must have them already.
    """
    arrays, columns, wanted = [], list[Column](), set(names)
    for column in table.schema:
        if (
            column.modelled
            and column.name in wanted
            and not same_codes(column.codec, schema[column.name].codec)
        ):
            if not (column.is_numeric and schema[column.name].is_numeric):
                raise InputError(
                    f"Column '{column.name}' has other codes in this table than in the model. Read it with the model's schema: "
                    "chaffinch.read(data, schema=model.schema)."
                )
            values, tokens = cells_of(table, column)
            column = schema[column.name]
            arrays.append(encode_column(column, values, tokens))
        elif column.modelled:
            arrays.append(table.code(column.name))
        columns.append(column)
    if columns == list(table.schema.columns) and all(
        a.codec is b.codec for a, b in zip(columns, table.schema, strict=True)
    ):
        return table
    merged = replace(table.schema, columns=tuple(columns))
    return replace(
        table, schema=merged, codes=Codes.from_columns(arrays, merged.sizes, n_rows=table.n_rows)
    )


@dataclass(frozen=True, eq=False)
class SubsetReader:
    """Reads subsets of a table anew. Make one with `SubsetReader.from_table`.

    What was declared of a column stays: kinds, levels, bounds, edges, missing codes, roles. A
    column of which nothing was declared is inferred again from the subset, but stays in: settings
    may name it. Columns that the whole table does not model stay out.

    `table`: the whole table. `inferred`: the columns that are what inference makes of the whole
    table, so that nothing was declared of them.

    Examples
    --------
    >>> import chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 20 + ["z"] * 3, "b": ["u", "v", "w"] * 14 + ["u"]}))
    >>> subset = SubsetReader.from_table(table).read(np.arange(20))
    >>> table.schema["a"].codec.levels, subset.schema["a"].codec.levels
    (('x', 'y', 'z'), ('x', 'y'))
    """

    table: Table = field(repr=False)
    inferred: frozenset[str]

    @classmethod
    def from_table(cls, table: Table) -> SubsetReader:
        """Return the reader of a table's subsets."""
        combined = replace(table, data=table.data.combine_chunks())
        inferred = set()
        for column in combined.schema.modelled:
            values, tokens = cells_of(combined, column)
            again = _infer_column(
                column, profile_of(column, values, tokens), combined.schema.rare_below
            )
            if again == column:
                inferred.add(column.name)
        return cls(combined, frozenset(inferred))

    def read(self, rows: NDArray[np.int64]) -> Table:
        """Return the chosen rows as a table of their own, in the order given."""
        table = self.table
        data = table.data.take(rows)
        columns: list[Column] = []
        cells: list[tuple[str, pa.Array, Tokens]] = []
        for column in table.schema:
            if not column.modelled:
                columns.append(column)
                continue
            values, tokens = cells_of(replace(table, data=data), column, rows)
            profile = profile_of(column, values, tokens)
            again = (
                _infer_column(column, profile, table.schema.rare_below)
                if column.name in self.inferred
                else None
            )
            plain = again if again is not None and again.modelled else replace(column, codec=None)
            fitted, _ = fit_column(plain, profile, rare_below=table.schema.rare_below)
            columns.append(fitted)
            cells.append((fitted.name, values, tokens))
        size = None if table.schema.rows is None else len(rows)
        schema = cut_schema(replace(table.schema, columns=tuple(columns), rows=size, sealed=False))
        codes = [encode_column(schema[name], values, tokens) for name, values, tokens in cells]
        subset = Table(
            schema,
            data,
            Codes.from_columns(codes, schema.sizes, n_rows=len(rows)),
            table.notes,
            table.origin,
        )
        if schema.searched:  # a file of these rows would be searched for its own
            bare = replace(schema, rules=(), found_rules=(), suggested=(), functions=())
            return with_found_rules(replace(subset, schema=bare), THRESHOLD)
        return (
            subset
            if not schema.rules
            else replace(
                subset, schema=replace(schema, functions=fitted_functions(subset, THRESHOLD))
            )
        )


def profile_of(column: Column, values: pa.Array, tokens: Tokens) -> Profile:
    """Return the profile of a column's values."""
    profile = Profile(values.type, column.missing)
    profile.add(values, tokens)
    return profile


def _infer_column(column: Column, profile: Profile, rare_below: int) -> Column:
    """The column that is inferred from values, in its given role."""
    spelling = Spelling(
        profile.kind,
        "" if column.format == "nan" else column.format,
        column.missing,
        decimal=column.decimal,
        thousands=column.thousands,
    )
    labels = Labels(title=column.title, values=dict(column.labels), missing=column.missing)
    again = infer_column(
        column.name, profile, spelling, labels, rare_below=rare_below, keep=column.output == "keep"
    )
    return replace(
        again,
        role=column.role,
        rare=column.rare,
        ordered=column.ordered or again.ordered,
        spelled=column.spelled,
        decimal=column.decimal,
        thousands=column.thousands,
        discover=column.discover,
        output=column.output,
        evidence=column.evidence,
    )


def cells_of(
    table: Table, column: Column, rows: NDArray[np.int64] | None = None
) -> tuple[pa.Array, Tokens]:
    """Return the values of a column, and which missing code a file spelled in place of each (-1:
    none), where values are null and only codes still say.

    `rows`: of which of the codes the values are, where not of all.
    """
    values, codec = whole_array(table.data.column(column.name)), column.fitted_codec
    if not column.spelled or not codec.missing:
        return values, None
    codes = table.code(column.name)
    spelled = codec.missing_index(codes if rows is None else codes[rows])
    return values, np.where(np.asarray(values.is_null()), spelled, np.int16(-1))
