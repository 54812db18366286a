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

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.masking import THRESHOLD, masked_count
from .document import FORMAT, VERSION, Outputs
from .domain import MISSING, Codes, Mask, OutputColumn, OutputDomain, Scalar

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
    """The columns of a table as codes of a specification's columns, each worked out once.

    Where the table's own codes tell values apart (categories, none of them pooled), they are looked up; codes of numbers may stand for
    bins, so numbers are matched with levels.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._coded: dict[tuple[str, tuple[Scalar, ...]], NDArray[np.int32]] = {}

    @classmethod
    def from_table(cls, table: Table | TableCoder) -> TableCoder:
        """Return the coder of a table; a coder as it is."""
        return table if isinstance(table, TableCoder) else cls(table)

    def codes(self, field: OutputColumn) -> NDArray[np.int32]:
        """Return the code of each row: below 0 where it has no value, or one that is no level."""
        key = (field.name, field.levels)
        if key not in self._coded:
            gone = _missing(self.table, field.name)
            categories = self.categories(field.name)
            if categories is not None:
                matcher = _Matcher(field, gone)
                values = [*categories.levels, *[None] * categories.null, *categories.missing]
                look_up = np.array([matcher.code(value) for value in values], dtype=np.int32)
                self._coded[key] = look_up[self.table.code(field.name)]
            else:
                self._coded[key] = _codes(field, self.table.to_arrow().column(field.name), gone)
        return self._coded[key]

    def categories(self, name: str) -> ColumnDomain | None:
        """Return the domain of a column of categories, if each of its codes stands for one value."""
        from ..table.schema import LEVEL_KINDS

        column = next((column for column in self.table.schema if column.name == name), None)
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
    every = np.empty((coder.table.n_rows, len(fields)), dtype=np.int32)
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
        every[:, position] = codes
    return CodedRecords(every)


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
    by_name = {field.name: field for field in declared}
    return OutputDomain(
        tuple(
            _counted(coder, by_name.get(name) or _field(coder, name), threshold) for name in names
        )
    )


def _counted(coder: TableCoder, field: OutputColumn, threshold: int) -> OutputColumn:
    """A column with the levels that as many records as the threshold or more have, which messages may name."""
    codes = coder.codes(field)
    return (
        OutputDomain((field,))
        .with_threshold(threshold)
        .counted(codes[codes >= 0][:, None])
        .columns[0]
    )


def _check_names(names: Sequence[str], table: Table) -> None:
    for name in names:
        absent = "The data lack a column that the outputs use. "
        check_name("column", name, table.columns, prefix=absent)


def _missing(table: Table, name: str) -> tuple[Scalar, ...]:
    """The further codes that the schema declares as missing."""
    return next((tuple(column.missing) for column in table.schema if column.name == name), ())


def _field(coder: TableCoder, name: str) -> OutputColumn:
    table = coder.table
    column = next((column for column in table.schema if column.name == name), None)
    if column is not None and (
        column.kind == "boolean" or column.levels is not None or column.bounds is not None
    ):
        entry = columns_of(table.schema, names=[name])[0]
        if column.levels is not None and all(_is_number(level) for level in column.levels):
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

    column = coder.table.to_arrow().column(name)
    gone = _missing(coder.table, name)
    levels: list[Scalar]
    if _numeric(column.type):
        from ..table.types import to_numbers

        numbers, present = to_numbers(column)
        values = np.unique(numbers[present])
        values = values[
            np.isfinite(values)
            & ~np.isin(values, [float(code) for code in gone if _is_number(code)])
        ]
        _check_size(name, len(values), "bands")
        levels = (
            [int(number) for number in values]
            if (values == np.floor(values)).all()
            else values.tolist()
        )
    else:
        categories = coder.categories(name)
        occurring = (
            column.unique().to_pylist()
            if categories is None
            else _occurring(coder.table, name, categories)
        )
        words = {_word(value) for value in occurring if value is not None}
        words -= {_word(code) for code in gone}
        _check_size(name, len(words), "fewer, broader groups")
        levels = [False, True] if pa.types.is_boolean(column.type) else sorted(words)
    if not levels:
        raise InputError(
            f"Column '{name}' of the data has no values, so no levels. Leave it out of the outputs."
        )
    return tuple(levels)


def _occurring(table: Table, name: str, categories: ColumnDomain) -> list[Scalar]:
    """The levels that some record has."""
    from ..counts import MemoryCounter  # here, since it is slow to load

    counts = MemoryCounter(table).marginals([(name,)])[0].counts
    return [level for level, count in zip(categories.levels, counts, strict=False) if count]


def _check_size(name: str, size: int, instead: str) -> None:
    if size > MOST_GRID:
        raise InputError(
            f"Column '{name}' has over {MOST_GRID} different values. Recode it into {instead}, or declare a coarser grid: from, to and step."
        )


def _numeric(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _codes(
    field: OutputColumn, column: pa.ChunkedArray, gone: Sequence[Scalar]
) -> NDArray[np.int32]:
    """The code of each row: MISSING where it has no value, UNKNOWN where its value is no level."""
    import pyarrow as pa

    if field.numeric and _numeric(column.type) and not pa.types.is_dictionary(column.type):
        from ..table.types import to_numbers

        numbers, present = to_numbers(column)
        numbers = np.asarray(numbers, dtype=np.float64)
        codes = _nearest(field, numbers)
        present = present & ~np.isnan(numbers)
        for code in gone:
            if _is_number(code):
                present &= (numbers != float(code)) | (codes >= 0)
        return np.where(present, codes, np.int32(MISSING))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    values = whole.dictionary.to_pylist()
    matcher = _Matcher(field, gone)
    table = np.array([*map(matcher.code, values), MISSING], dtype=np.int32)
    return table[
        whole.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
    ]


def _nearest(field: OutputColumn, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
    values = field.values
    if len(values) > 1 and field.is_whole and values[-1] - values[0] == len(values) - 1:
        place = np.rint(np.clip(np.nan_to_num(numbers), values[0], values[-1]) - values[0]).astype(
            np.int32
        )
    else:
        right = np.clip(np.searchsorted(values, numbers), 1, max(len(values) - 1, 1))
        left = right - 1
        right = np.minimum(right, len(values) - 1)
        with np.errstate(invalid="ignore"):
            place = np.where(
                np.abs(numbers - values[left]) <= np.abs(values[right] - numbers), left, right
            ).astype(np.int32)
    with np.errstate(invalid="ignore"):
        near = np.abs(numbers - values[place]) <= _NEAR * np.maximum(1.0, np.abs(values[place]))
    return np.where(near, place, np.int32(UNKNOWN))


class _Matcher:
    """The codes of single values, whatever their type."""

    def __init__(self, field: OutputColumn, gone: Sequence[Scalar]) -> None:
        self.field, self.gone = field, {_word(code) for code in gone}
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
        return MISSING if code == UNKNOWN and _word(value) in self.gone else code

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

    return Schema(tuple(_column(one) for one in fields), public=True)


def _column(one: OutputColumn) -> Column:
    from ..table import Categories, Intervals
    from ..table.schema import Column

    if not one.numeric:
        if all(isinstance(level, bool) for level in one.levels):
            return Column(
                one.name, "boolean", type="bool", levels=one.levels, codec=Categories(one.levels)
            )
        levels = tuple(str(level) for level in one.levels)
        return Column(one.name, "categorical", levels=levels, codec=Categories(levels))
    whole = one.is_whole
    atoms = np.array([int(level) for level in one.levels]) if whole else one.values
    none = np.zeros(0, dtype=np.int64)
    codec = Intervals(atoms, atoms[:0], (), np.arange(len(atoms)), none, whole)
    bounds = (float(atoms[0]), float(atoms[-1])) if len(atoms) > 1 else None
    return Column(
        one.name,
        "integer" if whole else "float",
        type="int64" if whole else "double",
        atoms=tuple(float(level) for level in atoms),
        bins=min(len(atoms), 10_000),
        bounds=bounds,
        codec=codec,
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
