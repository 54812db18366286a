"""A table: values as they came, their codes under a fitted schema, and notes on what was lost on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import InputError, MissingExtraError
from .._base.results import html_table
from .._base.seeds import Seed, generator
from .._base.text import text_table
from .codes import Codes
from .domain import decode_column
from .formats.layout import FileLayout
from .personal.fake import fake_values
from .schema import Column, Note, Schema
from .types import (
    is_numeric,
    is_words,
    parse_type,
    to_numbers,
    type_name,
    value_type,
    without_metadata,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from .rows import CodedBatch, Draw, Rows, Step, Task

T = TypeVar("T")

DIGITS = 9
"""Of new identifiers that are words."""


@dataclass(frozen=True)
class Origin:
    """What a table was made from, so that what is made of it looks the same. It holds no row and no value.

    The kind of object (`pandas`, `polars`, `arrow`), the dtypes of its columns where Arrow alone would not restore them, which of them were its index, how it lay in its file, if it came from one, and
    the Arrow fields where they are known, without metadata but what their types need (`Table.look`). The decimal sign is told by its columns.
    """

    native: str = "arrow"
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    layout: FileLayout = field(default_factory=FileLayout)
    fields: pa.Schema | None = None
    index: tuple[str, ...] = ()

    notes: ClassVar[tuple[Note, ...]] = ()

    @property
    def look(self) -> Origin:
        """The origin itself, where a table may be given in its place."""
        return self


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
    shown
        Whether a notebook or `print` shows the rows. Only what `head` returns does: a table that stands at the end of a cell, or in
        a log, shows its schema and no record.
    person_of
        A number for each row that says whose it is, where people have several; None: every row is a person of its own.
    first_row
        The number of its first row in the table that it is a chunk of.

    Examples
    --------
    >>> from chaffinch.table.read import read
    >>> table = read(pa.table({"sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20}))
    >>> len(table), table.columns, table[["ill"]], table[:10]["sex"][0].as_py()
    (60, ('sex', 'ill'), Table(60 rows x 1 columns: ill), 'f')
    >>> table.head(2)
    sex  ill
    f    no
    m    no
    """

    schema: Schema
    data: pa.Table
    codes: Codes
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)
    shown: bool = False
    person_of: NDArray[np.int64] | None = field(default=None, repr=False)
    first_row: int = field(default=0, repr=False)

    local: ClassVar[bool] = True
    in_memory: ClassVar[bool] = True
    text: ClassVar[bool] = False
    name: ClassVar[str] = ""

    @classmethod
    def from_codes(
        cls,
        schema: Schema,
        codes: Sequence[NDArray[np.integer[Any]]],
        *,
        seed: Seed = None,
        first_row: int = 0,
        like: Table | Origin | None = None,
        key: int = 0,
    ) -> Table:
        """Return a table of values drawn for codes: one array for each modelled column.

        Numbers are drawn inside their bins; identifiers that the schema regenerates number the rows from `first_row` on;
        those that are to be made up differ between rows of one `key`; free text and dropped identifiers are left out. `like` is a table, or its `look`, whose Arrow schema and kind to follow.
        """
        rng = generator(seed)
        coded = (
            Codes.from_columns(codes, schema.sizes) if len(codes) else Codes.from_columns([], [])
        )
        arrays: dict[str, pa.Array] = {}
        for column in schema:
            if column.modelled:
                arrays[column.name] = decode_column(column, coded[schema.places[column.name]], rng)
            elif column.written:
                arrays[column.name] = _new_values(column, first_row, coded.n_rows, key, rng)
        return cls.from_arrays(schema, arrays, coded, like=like)

    @classmethod
    def from_arrays(
        cls,
        schema: Schema,
        arrays: Mapping[str, pa.Array],
        codes: Codes,
        *,
        like: Table | Origin | None = None,
    ) -> Table:
        """Return a table of values that were made for a schema, with their codes; `like` as in `from_codes`."""
        look = Origin() if like is None else like.look
        written = tuple(column for column in schema if column.written)
        fields = [_field_like(look.fields, column, arrays[column.name]) for column in written]
        data = pa.Table.from_arrays(
            [arrays[c.name] for c in written], schema=without_metadata(pa.schema(fields))
        )
        notes = () if like is None else like.notes
        return cls(replace(schema, columns=written), data, codes, notes, replace(look, fields=None))

    @property
    def n_rows(self) -> int:
        """The number of rows; a chunk of codes alone has no values."""
        return int(self.data.num_rows) if self.data.num_columns else self.codes.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, modelled or not."""
        return tuple(self.data.column_names)

    @property
    def look(self) -> Origin:
        """The kind of object and the Arrow fields, for tables that are to look the same."""
        return replace(self.origin, fields=self.data.schema)

    def __len__(self) -> int:
        return self.n_rows

    def __bool__(self) -> bool:
        return True  # `if holdout:` asks whether there is one, not whether it has rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: list[str] | slice) -> Table: ...
    def __getitem__(self, key: str | list[str] | slice) -> Any:
        """Return the values of a column in the kind of object that was read; for a list of names or a slice of rows a table."""
        if isinstance(key, slice):
            return self.take(np.arange(self.n_rows, dtype=np.int64)[key])
        names = [key] if isinstance(key, str) else key
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"A table is asked for a column by its name, for a table by a list of names, or for rows by a slice. "
                f"Got {type(key).__name__}."
            )
        columns = tuple(self.schema[name] for name in names)
        modelled = [column.name for column in columns if column.modelled]
        schema = replace(self.schema, columns=columns)
        codes = Codes.from_columns([self.code(name) for name in modelled], schema.sizes)
        table = replace(
            self, schema=schema, data=self.data.select(list(names)), codes=codes, shown=False
        )
        if not isinstance(key, str):
            return table
        return table.to_native()[key]

    def head(self, n: int = 5) -> Table:
        """Return the first rows as a table that shows them: these are records."""
        return replace(self[: max(n, 0)], shown=True)

    def code(self, name: str) -> NDArray[np.unsignedinteger[Any]]:
        """Return the codes of one column."""
        self.schema[name]
        if name not in self.schema.places:
            raise InputError(f"Column '{name}' has no codes: it is {self.schema[name].kind}.")
        return self.codes[self.schema.places[name]]

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Return a table of the chosen rows, in the order given. A declared number of rows becomes theirs."""
        schema = self.schema if self.schema.rows is None else replace(self.schema, rows=len(rows))
        whose = None if self.person_of is None else self.person_of[rows]
        return replace(
            self,
            schema=schema,
            data=self.data.take(rows),
            codes=self.codes.take(rows),
            shown=False,
            person_of=whose,
        )

    @property
    def empty(self) -> Table:
        """A table of the same columns without a row, which drawn tables look like."""
        return self.take(np.empty(0, dtype=np.int64))

    def reduce(self, task: Task[T]) -> T:
        """Return what a task makes of the rows, which are one chunk (`table.rows`)."""
        return task.result(iter([task.summary(iter([self]))]))

    def batches(
        self, *, columns: Collection[str] | None = None, weight: str | None = None
    ) -> Iterator[CodedBatch]:
        """Return the codes of all rows in one batch, as counters take them, and their weights."""
        from .rows import CodedBatch

        yield CodedBatch(self.codes, None if weight is None else self.weights(weight))

    def map(
        self, step: Step, schema: Schema, *, n_rows: int | None = None, notes: tuple[Note, ...] = ()
    ) -> Table:
        """Return the table that a step makes of this one."""
        return replace(step(self), notes=notes)

    def draw_rows(self, draw: Draw, schema: Schema, n_rows: int) -> Table:
        """Return a table of rows that are drawn without reading any."""
        from .rows import join_tables

        return join_tables(
            [draw(number) for number in range(max(1, -(-n_rows // draw.chunk_rows)))]
        )

    def cached(self) -> AbstractContextManager[Table]:
        """Give the table itself: its codes are in memory."""
        return nullcontext(self)

    def once(self, name: str, work: Callable[[ExitStack], T]) -> T:
        """Work out what is asked: a table remembers nothing."""
        with ExitStack() as stack:
            return work(stack)

    def table(self, limit: float = inf) -> Table:
        """Return the table itself."""
        return self

    def open(self, other: Any) -> Rows:
        """Return another table to be compared with this one, in memory."""
        from .rows import as_it_came

        return as_it_came(other).loaded()

    def loaded(self) -> Table:
        """Return the table itself."""
        return self

    def raw(self) -> Table:
        """Return the table itself: its values are as they came."""
        return self

    def comparable(self) -> Table:
        """Return the table as it is compared with others: weights are counted by, so that one code holds them all."""
        from .weights import with_constant_weight

        return with_constant_weight(self)

    def counter(self, dense_cells: int) -> None:
        """Return nothing: whoever counts goes through its codes."""

    @property
    def n_persons(self) -> int:
        """The number of persons: of rows, where every row is one of its own."""
        return self.n_rows if self.person_of is None else len(np.unique(self.person_of))

    def with_new_identifiers(self, first_row: int, key: int, rng: np.random.Generator) -> Table:
        """Return the table with the row numbers and made-up values of its rows in their order, from `first_row` on; see `from_codes`."""
        data = self.data
        for index, name in enumerate(self.columns):
            column = self.schema[name]
            if not column.modelled and column.written:
                data = data.set_column(
                    index,
                    data.schema.field(index),
                    _new_values(column, first_row, self.n_rows, key, rng),
                )
        return self if data is self.data else replace(self, data=data)

    def weights(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a column to weigh records by: finite, present and not negative."""
        return weights_of(self.schema[name], self.data.column(name))

    def to_arrow(self) -> pa.Table:
        """Return the values as a pyarrow table."""
        return self.data

    def to_pandas(self) -> pd.DataFrame:
        """Return the values as a pandas table, with the dtypes and the index it came with if it came from pandas.

        A column of whole numbers or truth values that now has missing ones (rare levels that were pooled) gets pandas' nullable dtype.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("A pandas table", "pandas") from None
        frame = self.data.to_pandas()
        known = self.origin.dtypes if self.origin.native == "pandas" else {}
        dtypes = {n: kind for n, kind in known.items() if n in frame and frame[n].dtype != kind}
        for name, kind in dtypes.items():
            if (
                isinstance(kind, np.dtype)
                and kind.kind in "iub"
                and self.data.column(name).null_count
            ):
                nullable = {"i": "Int", "u": "UInt"}.get(kind.kind, "boolean")
                dtypes[name] = pandas.api.types.pandas_dtype(
                    nullable + (str(8 * kind.itemsize) if kind.kind != "b" else "")
                )
        for name, kind in dtypes.items():
            if hasattr(
                kind, "__from_arrow__"
            ):  # or whole numbers beside missing ones would have passed through floats
                frame[name] = kind.__from_arrow__(self.data.column(name))
        frame = frame.astype(dtypes) if dtypes else frame
        index = [name for name in self.origin.index if name in frame]
        return frame.set_index(index) if index and len(index) < frame.shape[1] else frame

    def to_polars(self) -> pl.DataFrame:
        """Return the values as a polars table; what came as an `Enum` has the levels of the table."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("A polars table", "polars") from None
        frame = polars.from_arrow(self.data)
        assert isinstance(frame, polars.DataFrame)
        enums = [
            name
            for name in self.origin.dtypes
            if self.origin.native == "polars"
            and name in frame.columns
            and frame[name].dtype == polars.Categorical
        ]
        levels = {
            name: self.data.column(name).unify_dictionaries().chunk(0).dictionary.to_pylist()
            for name in enums
            if self.n_rows
        }
        return frame.with_columns(
            polars.col(name).cast(polars.Enum(values)) for name, values in levels.items()
        )

    def to_native(self) -> Any:
        """Return the values as the kind of object that was read: pandas, polars or pyarrow."""
        from .formats import OBJECTS

        return OBJECTS[self.origin.native].give_back(self)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the table to a file, in the format that its name ends in; a file that is there is refused unless `overwrite`."""
        from .write import write_table

        write_table(self, path, overwrite=overwrite)

    def _cells(self) -> list[list[str]]:
        """The rows as words, for those that are shown."""
        return [
            ["" if cell is None else str(cell) for cell in row.values()]
            for row in self.data.to_pylist()
        ]

    def __repr__(self) -> str:
        if self.shown:
            return text_table(self.columns, self._cells())
        return f"Table({self.n_rows:,} rows x {len(self.columns)} columns: {', '.join(self.columns[:8])}{', ...' * (len(self.columns) > 8)})"

    def _repr_html_(self) -> str:
        if self.shown:
            return html_table(self.columns, self._cells())
        rows = [(c.name, c.kind, c.role, c.size if c.codec else "", c.reason) for c in self.schema]
        return html_table(
            ["column", "kind", "role", "levels", "why"], rows, caption=f"{self.n_rows:,} rows"
        )


def weights_of(column: Column, values: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Return values as weights; raise unless they are numbers, present, finite and not negative."""
    if not is_numeric(values.type) or pa.types.is_temporal(values.type):
        raise InputError(
            f"Column '{column.name}' cannot be a weight: it holds {type_name(value_type(values.type))}, not numbers."
        )
    numbers, present = to_numbers(values)
    if not present.all() or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InputError(
            f"Column '{column.name}' cannot be a weight: it has missing, infinite or negative values."
        )
    return np.asarray(numbers, dtype=np.float64)


def _field_like(fields: pa.Schema | None, column: Column, values: pa.Array) -> pa.Field:
    """Return the field to follow where its type still holds, else a plain one."""
    if fields is not None and column.name in fields.names:
        field = fields.field(column.name)
        if field.type == values.type:
            return field
    return pa.field(column.name, values.type)


def _new_values(
    column: Column, first_row: int, n_rows: int, key: int, rng: np.random.Generator
) -> pa.Array:
    if column.output == "fake":
        return fake_values(column, first_row, n_rows, key=key, rng=rng)
    return new_identifiers(column, first_row, n_rows)


def new_identifiers(column: Column, first_row: int, n_rows: int) -> pa.Array:
    """Return new identifiers for synthetic rows, with nothing of the old ones: numbers from `first_row` + 1 on, for text words of nine digits.

    Examples
    --------
    >>> new_identifiers(Column("id", "identifier", output="regenerate"), 0, 2).to_pylist()
    ['000000001', '000000002']
    """
    numbers = pa.array(np.arange(first_row + 1, first_row + n_rows + 1, dtype=np.int64))
    kind = value_type(parse_type(column.type))
    if is_words(kind):
        return pc.utf8_lpad(numbers.cast(pa.string()), width=DIGITS, padding="0").cast(kind)
    if pa.types.is_integer(kind) and n_rows + first_row < 2 ** (kind.bit_width - 1):
        return numbers.cast(kind)
    return numbers
