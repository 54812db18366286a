"""A table: values as they came, their codes under a fitted schema, and notes on what was lost on the way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError, MissingExtraError
from .._base.html import html_table
from .._base.seeds import Seed, generator
from .codes import Codes
from .encode import decode_column
from .fit import Note
from .grid import to_numbers
from .identify import new_identifiers
from .schema import Column, Schema
from .types import is_numeric, type_name

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Origin", "Table", "weights_of"]


@dataclass(frozen=True)
class Origin:
    """What a table was made from, so that what is made of it looks the same.

    The kind of object (`pandas`, `polars`, `arrow`), the pandas dtypes of its columns, and what divides the
    cells of a text file (None where it was none). The decimal sign is told by its columns.
    """

    native: str = "arrow"
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    delimiter: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Rows under a schema. Make one with `chaffinch.read`, or from codes with `Table.from_codes`.

    Parameters
    ----------
    schema
        Fitted: every modelled column has a codec.
    data
        The values, as an Arrow table with the columns of the schema.
    codes
        The codes of the modelled columns, in the order of `schema.names`.
    notes
        What was dropped, pooled or changed, and why.
    origin
        What the table was made from.
    """

    schema: Schema
    data: pa.Table
    codes: Codes
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    @classmethod
    def from_codes(
        cls,
        schema: Schema,
        codes: Sequence[NDArray[np.integer[Any]]],
        *,
        seed: Seed = None,
        first_row: int = 0,
        like: Table | None = None,
    ) -> Table:
        """Return a table of values drawn for codes: one array for each modelled column.

        Numbers are drawn inside their bins; identifiers that the schema regenerates number the rows from `first_row` on;
        free text and dropped identifiers are left out. `like` is a table whose Arrow schema and kind to follow.
        """
        rng = generator(seed)
        coded = Codes.of(codes, schema.sizes) if len(codes) else Codes.of([], [])  # type: ignore[arg-type]
        arrays: dict[str, pa.Array] = {}
        for column in schema:
            if column.modelled:
                arrays[column.name] = decode_column(column, coded[schema.names.index(column.name)], rng)
            elif column.written:
                arrays[column.name] = new_identifiers(column, first_row, coded.n_rows)
        kept = tuple(column for column in schema if column.written)
        fields = [_field_like(like, column, arrays[column.name]) for column in kept]
        metadata = like.data.schema.metadata if like is not None else None
        data = pa.Table.from_arrays([arrays[c.name] for c in kept], schema=pa.schema(fields, metadata=metadata))
        out = cls(replace(schema, columns=kept), data, coded)
        return out if like is None else replace(out, notes=like.notes, origin=like.origin)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.data.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, modelled or not."""
        return tuple(self.data.column_names)

    def code(self, name: str) -> NDArray[np.unsignedinteger[Any]]:
        """Return the codes of one column."""
        self.schema[name]
        if name not in self.schema.names:
            raise InputError(f"Column '{name}' has no codes: it is {self.schema[name].kind}.")
        return self.codes[self.schema.names.index(name)]

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Return a table of the chosen rows, in the order given. A declared number of rows becomes theirs."""
        schema = self.schema if self.schema.rows is None else replace(self.schema, rows=len(rows))
        return replace(self, schema=schema, data=self.data.take(rows), codes=self.codes.take(rows))

    def weights(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a column to weigh records by: finite, present and not negative."""
        return weights_of(self.schema[name], self.data.column(name))

    def to_arrow(self) -> pa.Table:
        """Return the values as a pyarrow table."""
        return self.data

    def to_pandas(self) -> pd.DataFrame:
        """Return the values as a pandas table, with the dtypes it came with if it came from pandas."""
        try:
            import pandas  # noqa: F401 - a clear error if it is absent
        except ImportError:
            raise MissingExtraError("A pandas table", "pandas") from None
        frame = self.data.to_pandas()
        kept = {name: kind for name, kind in self.origin.dtypes.items() if name in frame and frame[name].dtype != kind}
        for name, kind in kept.items():
            if hasattr(kind, "__from_arrow__"):  # or whole numbers beside missing ones would have passed through floats
                frame[name] = kind.__from_arrow__(self.data.column(name))
        return frame.astype(kept) if kept else frame

    def to_polars(self) -> pl.DataFrame:
        """Return the values as a polars table."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("A polars table", "polars") from None
        frame = polars.from_arrow(self.data)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_native(self) -> Any:
        """Return the values as the kind of object that was read: pandas, polars or pyarrow."""
        return {"pandas": self.to_pandas, "polars": self.to_polars}.get(self.origin.native, self.to_arrow)()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, in the format that its name ends in; the old file stays until the new is whole."""
        from .write import write_table

        write_table(self, path)

    def __repr__(self) -> str:
        return f"Table({self.n_rows:,} rows x {len(self.columns)} columns: {', '.join(self.columns[:8])}{', ...' * (len(self.columns) > 8)})"

    def _repr_html_(self) -> str:
        rows = [(c.name, c.kind, c.role, c.size if c.codec else "", c.reason) for c in self.schema]
        return html_table(["column", "kind", "role", "levels", "why"], rows, caption=f"{self.n_rows:,} rows")


def weights_of(column: Column, values: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Return values as weights; raise unless they are numbers, present, finite and not negative."""
    if not is_numeric(values.type) or pa.types.is_temporal(values.type):
        raise InputError(f"Column '{column.name}' cannot be a weight: it holds {type_name(values.type)}, not numbers.")
    numbers, present = to_numbers(values)
    if not present.all() or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InputError(f"Column '{column.name}' cannot be a weight: it has missing, infinite or negative values.")
    return np.asarray(numbers, dtype=np.float64)


def _field_like(like: Table | None, column: Column, values: pa.Array) -> pa.Field:
    """Return the field of the table to follow where its type still holds, else a plain one."""
    if like is not None and column.name in like.data.column_names:
        field = like.data.schema.field(column.name)
        if field.type == values.type:
            return field
    return pa.field(column.name, values.type)
