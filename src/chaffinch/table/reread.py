"""A subset of a table as a file of these rows alone would be read: levels, bins and what is drawn inside them are the subset's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .codes import Codes
from .constraints import cut_schema
from .encode import encode_column
from .fit import fit_column
from .formats import Labels
from .infer import infer_column
from .kept_rules import fitted_functions, with_found_rules
from .profile import Profile
from .schema import Column
from .table import Table
from .text import Spelling
from .types import whole_array

Tokens = NDArray[np.int16] | None


@dataclass(frozen=True, eq=False)
class SubsetReader:
    """Reads subsets of a table anew. Make one with `SubsetReader.of`.

    What was declared of a column stays: kinds, levels, bounds, edges, missing codes, roles. A column of which nothing was declared is inferred
    again from the subset, but stays in: settings may name it. Columns that the whole table does not model stay out.

    `table`: the whole table. `inferred`: the columns that are what inference makes of the whole table, so that nothing was declared of them.

    Examples
    --------
    >>> import chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 20 + ["z"] * 3, "b": ["u", "v", "w"] * 14 + ["u"]}))
    >>> subset = SubsetReader.of(table).read(np.arange(20))
    >>> table.schema["a"].codec.levels, subset.schema["a"].codec.levels
    (('x', 'y', 'z'), ('x', 'y'))
    """

    table: Table = field(repr=False)
    inferred: frozenset[str]

    @classmethod
    def of(cls, table: Table) -> SubsetReader:
        """Return the reader of a table's subsets."""
        whole = replace(table, data=table.data.combine_chunks())
        inferred = set()
        for column in whole.schema.modelled:
            values, tokens = cells_of(whole, column)
            again = _inferred(column, profile_of(column, values, tokens), whole.schema.rare_below)
            if again == column:
                inferred.add(column.name)
        return cls(whole, frozenset(inferred))

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
                _inferred(column, profile, table.schema.rare_below)
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
            schema, data, Codes.of(codes, schema.sizes, n_rows=len(rows)), table.notes, table.origin
        )
        if schema.searched:  # a file of these rows would be searched for its own
            bare = replace(schema, rules=(), found=(), suggested=(), functions=())
            return with_found_rules(replace(subset, schema=bare), THRESHOLD)
        return (
            subset
            if not schema.rules
            else replace(
                subset, schema=replace(schema, functions=fitted_functions(subset, THRESHOLD))
            )
        )


def profile_of(column: Column, values: pa.Array, tokens: Tokens) -> Profile:
    """Return what a fit needs of a column's values."""
    profile = Profile(values.type, column.missing)
    profile.add(values, tokens)
    return profile


def _inferred(column: Column, profile: Profile, rare_below: int) -> Column:
    """What inference makes of a column's values, in the role that the column has."""
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
    """Return the values of a column, and which missing code a file spelled in place of each (-1: none), where values are null and only codes still say.

    `rows`: of which of the codes the values are, where not of all.
    """
    values, codec = whole_array(table.data.column(column.name)), column.fitted_codec
    if not column.spelled or not codec.missing:
        return values, None
    own = table.code(column.name)
    spelled = (own if rows is None else own[rows]).astype(np.int64) - (codec.n_values + codec.null)
    return values, np.where((spelled >= 0) & np.asarray(values.is_null()), spelled, -1).astype(
        np.int16
    )
