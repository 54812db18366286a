"""Between a table of records and the columns of a specification: codes of its records, columns where none are declared, and codes as a table.

Values are matched with levels by what they mean: 1, 1.0 and "1" are the same level, true and True, too. A value that is no level is an
error, which says in how many records, as far as that may be told, and never which value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Mask
from .._base.checks import check_name
from .._base.errors import InputError
from .._base.masking import THRESHOLD, masked_count
from .document import FORMAT, VERSION, Outputs
from .domain import MISSING, Codes, OutputColumn, OutputDomain, Scalar

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table import Schema, Table
    from ..table.domain import ColumnDomain
    from ..table.schema import Column

UNKNOWN = -2
_NEAR = 1e-9
"""Numbers this near to a level, as a share of it (at least of 1), are that level: 0.1 added up three times is 0.3."""
MOST_GRID = 100_000


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """The codes of a table's records, all of them in the table's order; `MISSING` where a record has no value."""

    codes: Codes

    def __repr__(self) -> str:
        return f"CodedRecords({self.codes.shape[1]} columns)"

    @property
    def complete(self) -> Mask:
        """Which records have a value in every column."""
        return np.all(self.codes >= 0, axis=1)


class TableCoder:
    """The columns of a table as codes of a domain's columns, each worked out once.

    Where the table's own codes distinguish values (categories, none of them pooled), they are looked up; codes of numbers may stand for
    bins, so numbers are matched with levels.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._coded: dict[tuple[str, tuple[Scalar, ...]], NDArray[np.int32]] = {}

    @classmethod
    def from_table(cls, table: Table | TableCoder) -> TableCoder:
        """Return the coder of a table; a coder as it is."""
        return table if isinstance(table, TableCoder) else cls(table)

    def codes(self, column: OutputColumn) -> NDArray[np.int32]:
        """Return the code of each row: `MISSING` where it has no value, `UNKNOWN` where its value is no level."""
        key = (column.name, column.levels)
        if key not in self._coded:
            self._coded[key] = self._code(column)
        return self._coded[key]

    def _code(self, column: OutputColumn) -> NDArray[np.int32]:
        import pyarrow as pa

        from ..table.types import to_numbers

        name, missing = column.name, self.missing(column.name)
        kind = self.cells(name).type
        has_numbers = _is_numeric(kind) and not pa.types.is_dictionary(kind)
        if not column.numeric or not has_numbers or self.categories(name) is not None:
            matcher = _Matcher(column, missing)
            values, index = self.distinct_values(name)
            return np.array([matcher.code(value) for value in values], dtype=np.int32)[index]
        numbers, present = to_numbers(self.cells(name))
        numbers = np.asarray(numbers, dtype=np.float64)
        codes = _nearest(column, numbers)
        present = present & ~np.isnan(numbers)
        for number in filter(_is_number, missing):
            present &= (numbers != float(number)) | (codes >= 0)
        return np.where(present, codes, np.int32(MISSING))

    def cells(self, name: str) -> pa.ChunkedArray:
        """Return the values of a column as they came."""
        return self.table.to_arrow().column(name)

    def distinct_values(self, name: str) -> tuple[list[Any], NDArray[np.integer]]:
        """Return the different values that a column may have, None for a missing one, and which of them each row has."""
        import pyarrow as pa

        categories = self.categories(name)
        if categories is not None:
            values = [*categories.levels, *[None] * categories.null, *categories.missing]
            return values, self.table.code(name)
        cells = self.cells(name)
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        array = cells.unify_dictionaries().combine_chunks()
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        values = array.dictionary.to_pylist()
        index = array.indices.cast(pa.int64()).fill_null(len(values))
        return [*values, None], index.to_numpy(zero_copy_only=False)

    def column(self, name: str) -> Column | None:
        """Return what the schema says of a column; None where it does not know it."""
        return next((column for column in self.table.schema if column.name == name), None)

    def missing(self, name: str) -> tuple[Scalar, ...]:
        """Return the further codes that the schema declares as missing."""
        column = self.column(name)
        return () if column is None else tuple(column.missing)

    def categories(self, name: str) -> ColumnDomain | None:
        """Return the domain of a column of categories, if each of its codes stands for one value."""
        from ..table.schema import LEVEL_KINDS

        column = self.column(name)
        if column is None or column.kind not in LEVEL_KINDS:
            return None
        codec = column.codec
        return codec if codec is not None and codec.levels and not codec.other else None


def codes_of_table(table: Table | TableCoder, fields: OutputDomain) -> CodedRecords:
    """Return the records of a table as codes of columns: below 0 where a value is missing. Which of them an output is of, the output says.

    InputError for a column that the table does not have, and for values that are none of a column's levels.

    Examples
    --------
    >>> import pandas as pd
    >>> from chaffinch.table import read
    >>> table = read(pd.DataFrame({"sex": ["m", "f", None], "age": [2.0, 0.0, 1.0]}))
    >>> records = codes_of_table(table, OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2)))))
    >>> records.codes.tolist(), records.complete.tolist()
    ([[1, 2], [0, 0], [-1, 1]], [True, True, False])
    """
    coder = TableCoder.from_table(table)
    _check_names(fields.names, coder.table)
    threshold = fields.threshold
    records = np.empty((coder.table.n_rows, len(fields)), dtype=np.int32)
    for position, field in enumerate(fields):
        codes = coder.codes(field)
        if unknown := int((codes == UNKNOWN).sum()):
            what = (
                f"numbers outside its grid of {len(field.levels)} values"
                if field.numeric
                else "other words"
            )
            raise InputError(
                f"Column '{field.name}' of the data has values that are none of its levels ({what}), in {masked_count(unknown, threshold)} of "
                f"{masked_count(len(codes), threshold)} records. Declare all its levels, recode the data, or leave the column's levels out of the file."
            )
        records[:, position] = codes
    return CodedRecords(records)


def fields_of_table(
    table: Table | TableCoder,
    names: Sequence[str],
    *,
    declared: Sequence[OutputColumn] = (),
    threshold: int = THRESHOLD,
) -> OutputDomain:
    """Return columns by name: as declared, else as the table's schema declares them, else with the values of the records as levels.

    Levels that come from records are in the order of the alphabet, numbers ascending.

    Examples
    --------
    >>> import pandas as pd
    >>> from chaffinch.table import read
    >>> table = read(pd.DataFrame({"sex": ["m", "f", None], "age": [2.5, 0.0, 1.0]}))
    >>> [field.levels for field in fields_of_table(table, ["age", "sex"])]
    [(0.0, 1.0, 2.5), ('f', 'm')]
    """
    coder = TableCoder.from_table(table)
    _check_names(names, coder.table)
    by_name = {column.name: column for column in declared}
    columns = tuple(by_name.get(name) or _output_column(coder, name) for name in names)
    domain = OutputDomain(columns).with_threshold(threshold)
    return domain.counted(np.stack([coder.codes(column) for column in domain]).T)


def _check_names(names: Sequence[str], table: Table) -> None:
    for name in names:
        absent = "The data lack a column that the outputs use. "
        check_name("column", name, table.columns, prefix=absent)


def _output_column(coder: TableCoder, name: str) -> OutputColumn:
    column = coder.column(name)
    if column is not None and (
        column.kind == "boolean" or column.levels is not None or column.bounds is not None
    ):
        entry = columns_of(coder.table.schema, names=[name])[0]
        if column.levels is not None and all(map(_is_number, column.levels)):
            entry["levels"] = sorted(entry["levels"])
        elif column.levels is not None and column.kind != "boolean":
            entry["levels"] = [str(level) for level in column.levels]
        return Outputs.from_dict({"format": FORMAT, "version": VERSION, "columns": [entry]}).fields[
            name
        ]
    return OutputColumn(name, _values(coder, name))


def _is_number(level: Any) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def _values(coder: TableCoder, name: str) -> tuple[Scalar, ...]:
    """The values of a column in order, without missing ones."""
    import pyarrow as pa

    from ..counts.tally import count_cells
    from ..table.types import to_numbers

    kind, missing = coder.cells(name).type, coder.missing(name)
    levels: list[Scalar]
    if _is_numeric(kind):
        numbers, present = to_numbers(coder.cells(name))
        values = np.unique(numbers[present])
        codes = [float(code) for code in missing if _is_number(code)]
        values = values[np.isfinite(values) & ~np.isin(values, codes)]
        _check_size(name, len(values), "bands")
        is_whole = (values == np.floor(values)).all()
        levels = [int(number) for number in values] if is_whole else values.tolist()
    else:
        distinct, index = coder.distinct_values(name)
        counts = count_cells([index], [len(distinct)])
        occurring = (value for value, n in zip(distinct, counts, strict=True) if n)
        labels = {_word(value) for value in occurring if value is not None}
        labels -= {_word(code) for code in missing}
        _check_size(name, len(labels), "fewer, broader groups")
        levels = [False, True] if pa.types.is_boolean(kind) else sorted(labels)
    if not levels:
        raise InputError(
            f"Column '{name}' of the data has no values, so no levels. Leave it out of the outputs."
        )
    return tuple(levels)


def _check_size(name: str, size: int, instead: str) -> None:
    if size > MOST_GRID:
        raise InputError(
            f"Column '{name}' has over {MOST_GRID} different values. Recode it into {instead}, or declare a coarser grid: from, to and step."
        )


def _is_numeric(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _nearest(field: OutputColumn, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
    values = field.values
    if len(values) > 1 and field.is_whole and values[-1] - values[0] == len(values) - 1:
        shifted = np.clip(np.nan_to_num(numbers), values[0], values[-1]) - values[0]
        nearest = np.rint(shifted).astype(np.int32)
    else:
        above = np.clip(np.searchsorted(values, numbers), 1, max(len(values) - 1, 1))
        below = above - 1
        above = np.minimum(above, len(values) - 1)
        with np.errstate(invalid="ignore"):
            is_below = np.abs(numbers - values[below]) <= np.abs(values[above] - numbers)
        nearest = np.where(is_below, below, above).astype(np.int32)
    with np.errstate(invalid="ignore"):
        slack = _NEAR * np.maximum(1.0, np.abs(values[nearest]))
        is_near = np.abs(numbers - values[nearest]) <= slack
    return np.where(is_near, nearest, np.int32(UNKNOWN))


class _Matcher:
    """The codes of single values, whatever their type."""

    def __init__(self, field: OutputColumn, missing: Sequence[Scalar]) -> None:
        self.field, self.missing = field, {_word(code) for code in missing}
        self.known = {label: code for code, label in enumerate(field.labels)}
        self.truths = {
            label.lower(): code
            for label, code in self.known.items()
            if label.lower() in ("true", "false")
        }
        # A code book may say "01" or "1.0" where the data say 1; levels that would then be the same are not matched so.
        self.plain: dict[str, int] = {}
        for label, code in self.known.items():
            word = _word(_as_number(label))
            self.plain[word] = UNKNOWN if word in self.plain else code

    def code(self, value: Any) -> int:
        """Return the code of a value, MISSING or UNKNOWN."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return MISSING
        code = self._number(value) if self.field.numeric else self._word(value)
        return MISSING if code == UNKNOWN and _word(value) in self.missing else code

    def _number(self, value: Any) -> int:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return UNKNOWN
        return int(_nearest(self.field, np.array([number]))[0])

    def _word(self, value: Any) -> int:
        word = _word(value)
        if word in self.known:
            return self.known[word]
        if len(self.truths) == len(self.known):
            return self.truths.get({"1": "true", "0": "false"}.get(word, word.lower()), UNKNOWN)
        if isinstance(value, bool):
            return self.truths.get(word.lower(), self.plain.get(str(int(value)), UNKNOWN))
        return self.plain.get(_word(_as_number(word)), UNKNOWN)


def _as_number(word: str) -> Any:
    try:
        return float(word)
    except ValueError:
        return word


def _word(value: Any) -> str:
    """A value as a word: whole numbers without their decimals."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def schema_of(fields: OutputDomain) -> Schema:
    """Return the schema of a specification's columns, fitted: codes are the specification's own."""
    from ..table import Schema

    return Schema(tuple(map(_schema_column, fields)), public=True)


def _schema_column(column: OutputColumn) -> Column:
    from ..table import Categories, Intervals
    from ..table.schema import Column

    if not column.numeric:
        if all(isinstance(level, bool) for level in column.levels):
            codec = Categories(column.levels)
            return Column(column.name, "boolean", type="bool", levels=column.levels, codec=codec)
        codec = Categories(column.labels)
        return Column(column.name, "categorical", levels=column.labels, codec=codec)
    is_whole, values = column.is_whole, column.values
    atoms = np.array([int(level) for level in column.levels]) if is_whole else values
    empty = np.zeros(0, dtype=np.int64)
    return Column(
        column.name,
        "integer" if is_whole else "float",
        type="int64" if is_whole else "double",
        atoms=tuple(values.tolist()),
        bins=min(len(atoms), 10_000),
        bounds=(float(atoms[0]), float(atoms[-1])) if len(atoms) > 1 else None,
        codec=Intervals(atoms, atoms[:0], (), np.arange(len(atoms)), empty, is_whole),
    )


def table_of_codes(fields: OutputDomain, codes: Codes) -> Table:
    """Return evolved codes as a table with the words and numbers of the columns.

    Examples
    --------
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 5, 10))))
    >>> table_of_codes(fields, np.array([[1, 2], [0, 0]], dtype=np.int32)).to_arrow().to_pylist()
    [{'sex': 'm', 'age': 10}, {'sex': 'f', 'age': 0}]
    """
    from ..table import Table

    return Table.from_codes(schema_of(fields), [codes[:, k] for k in range(len(fields))], seed=0)


def columns_of(
    schema: Schema, *, names: Sequence[str] | None = None, data: Table | None = None
) -> list[dict[str, Any]]:
    """Return the columns of a specification from what a schema declares: levels, or bounds and step.

    Nothing is taken from records: a column that declares neither is an error, unless a table is passed as `data` by name, whose values
    then are the levels of such columns.

    Examples
    --------
    >>> from chaffinch.table import Column, Schema
    >>> columns_of(Schema((Column("sex", "categorical", levels=("f", "m")), Column("age", "integer", bounds=(0, 95)))))
    [{'name': 'sex', 'levels': ['f', 'm']}, {'name': 'age', 'from': 0, 'to': 95, 'step': 1}]
    """
    chosen = [schema[name] for name in names] if names is not None else list(schema.modelled)
    return [_entry(column, data) for column in chosen]


def _entry(column: Column, data: Table | None) -> dict[str, Any]:
    if column.levels is not None:
        return {"name": column.name, "levels": list(column.levels)}
    if column.kind == "boolean":
        return {"name": column.name, "levels": [False, True]}
    if column.kind in ("integer", "float") and column.bounds is not None:
        low, high = column.bounds
        step = float(column.step) if column.kind == "integer" else 10.0 ** -(column.decimals or 0)
        if (high - low) / step > MOST_GRID:
            raise InputError(
                f"Column '{column.name}' would have over {MOST_GRID} levels. Give it fewer decimals, or a larger step."
            )
        if column.kind == "integer":
            return {"name": column.name, "from": int(low), "to": int(high), "step": int(step)}
        return {"name": column.name, "from": low, "to": high, "step": step}
    if data is None:
        raise InputError(
            f"Column '{column.name}' declares no levels and no bounds. Declare them in the schema, or pass the table as data to take "
            "them from its records, which then are known to whoever gets the specification."
        )
    values = data.to_arrow().column(column.name).unique().drop_null().to_pylist()
    return {
        "name": column.name,
        "levels": sorted(values) if column.kind != "categorical" else sorted(map(str, values)),
    }
