"""Counting in a database: a group-by for each column set, many in one statement. Only counts leave
the database.

The SQL is text that codes the rows of a table and counts combinations of codes. A code is a CASE
over the values of its column, as `encode_column` has them; -1 stands for a value that the schema
does not know. Many sets of columns are counted by one statement, in which each has a number and a
group-by of its own, over a key of its columns: the codes plus one as digits, the last column's
counting fastest. GROUPING SETS over the columns themselves take DuckDB 2.6 times and PostgreSQL 1.9
times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.errors import InputError, SchemaError, TooLargeError
from ..counts.marginal import Marginal, SparseCounts, packed_spans
from ..counts.plan import COVERING_CELLS, cover
from ..counts.tally import DENSE_CELLS, resolve
from ..table.domain import OTHER, Intervals, Scalar
from ..table.schema import Column, Schema
from ..table.types import is_words, parse_type, value_type

Rows = Sequence[Sequence[Any]] | NDArray[np.int64]

Query = Callable[[str], Rows]
"""Runs a statement and returns the rows of its result: numbers, and nothing where one is
missing.
"""


def query_of(connection: Any) -> Query:
    """Return the function that runs statements on a connection: DuckDB's, or one of Python's
    database interface (PEP 249); a function is returned unchanged.
    """
    if hasattr(
        connection, "fetchnumpy"
    ):  # DuckDB: a cursor of it would not see what the connection registered
        return lambda sql: _of_columns(
            connection.execute(f"SELECT * FROM ({sql}) LIMIT {MAX_ROWS + 1}").fetchnumpy()  # noqa: S608
        )
    if hasattr(connection, "cursor"):

        def run(sql: str) -> Rows:
            cursor = connection.cursor()
            try:
                cursor.execute(sql)
                return list(cursor.fetchmany(MAX_ROWS + 1))
            finally:
                cursor.close()

        return run
    if callable(connection):
        query: Query = connection
        return query
    raise InputError(
        f"A database connection is needed, or a function that runs SQL. Got a {type(connection).__name__}."
    )


MAX_ROWS = 1 << 24
"""Combinations of a statement's sets that are fetched, at most."""


@dataclass(frozen=True, eq=False)
class SqlCounter:
    """Counts marginals of a table in a database under a fitted schema. Rows stay there: one
    statement counts up to 64 marginals.

    `connection`: of DuckDB or any other database of Python's interface, or a function that runs
    SQL. `table`: its name, or names with that of its schema. `coded`: a table of codes that
    `codes_sql` made before, if there is one: it is counted as it is, which is quicker.

    The schema comes from declarations, or from rows that were read elsewhere
    (`chaffinch.read(...).schema`). Databases that compare words without regard to case or blanks
    give other counts than one machine does.

    Examples
    --------
    >>> import duckdb, pyarrow as pa, chaffinch
    >>> people = pa.table({"sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20})
    >>> connection = duckdb.connect().register("people", people)
    >>> counter = SqlCounter(connection, "people", chaffinch.read(people).schema)
    >>> counter.marginals([("sex", "ill")])[0].counts.tolist()
    [[20, 10], [20, 10]]
    """

    connection: Any
    table: str | Sequence[str]
    schema: Schema
    dialect: Dialect = "duckdb"
    dense_cells: int = DENSE_CELLS
    coded: str | Sequence[str] | None = None
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.schema.fitted:
            raise InputError(
                "Counting in SQL needs a fitted schema: that of a table that was read, or declared levels and bins."
            )
        codes_sql(
            self.schema, self.table, dialect=self.dialect
        )  # raises for columns that SQL cannot code

    @property
    def n_rows(self) -> int:
        """The number of records, queried once."""
        if "n" not in self._rows:
            ((n,),) = query_of(self.connection)(
                f"SELECT COUNT(*) AS n FROM {quoted_name(self.coded or self.table)}"  # noqa: S608
            )
            self._rows["n"] = int(n)
        return self._rows["n"]

    def statements(self, cliques: Sequence[Sequence[str]]) -> list[CountStatement]:
        """Return the statements that count cliques, to be read or run elsewhere."""
        for clique in cliques:
            resolve(self.schema, clique)
        coded = (
            codes_sql(self.schema, self.table, dialect=self.dialect)
            if self.coded is None
            else quoted_name(self.coded)
        )
        return list(counts_sql(cliques, self._sizes, coded, dialect=self.dialect))

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique, in the order given."""
        places = [resolve(self.schema, clique) for clique in cliques]
        if not cliques:
            return []
        plan, names = (
            cover(places, self.schema.sizes, n_rows=self.n_rows, small_cells=COVERING_CELLS),
            self.schema.names,
        )
        if self.coded is not None:
            self._check_coded()
        counted: list[tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]] = []
        for statement in self.statements([[names[j] for j in columns] for columns in plan.counted]):
            counted += self._counted(statement)
        by_set = {
            frozenset(columns): (columns, codes, counts) for columns, codes, counts in counted
        }
        wider = [by_set[frozenset(names[j] for j in columns)] for columns in plan.counted]
        return [
            self._marginal(tuple(clique), *wider[k])
            for clique, k in zip(cliques, plan.sources, strict=True)
        ]

    @property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.schema.names, self.schema.sizes, strict=True))

    def _check_coded(self) -> None:
        """Raise if a table of codes has codes that the schema does not have. Checked once."""
        if "coded" in self._rows or not self.n_rows:
            return
        columns = ", ".join(
            f"MAX({quoted_name(name)}) AS {quoted_name(name)}" for name in self.schema.names
        )
        (largest,) = query_of(self.connection)(
            f"SELECT {columns} FROM {quoted_name(self.coded or self.table)}"  # noqa: S608
        )
        for name, code in zip(self.schema.names, largest, strict=True):
            if code is not None and int(code) >= self._sizes[name]:
                raise SchemaError(
                    f"The table of codes has codes of column '{name}' that this schema has not: it was made with another. Make it again with `codes_sql`."
                )
        self._rows["coded"] = 1

    def _counted(
        self, statement: CountStatement
    ) -> Iterator[tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the columns of each set of a statement, the combinations of codes that occur, and
        their counts.
        """
        rows = query_of(self.connection)(statement.sql)
        if len(rows) > MAX_ROWS:
            raise TooLargeError(
                f"Marginals have more than {MAX_ROWS:,} combinations that occur. Ask for fewer columns, or use fewer bins."
            )
        cells = (
            rows
            if isinstance(rows, np.ndarray)
            else np.array([[cell or 0 for cell in row] for row in rows], dtype=np.int64)
        )
        cells = cells.reshape(len(rows), -1)
        for number, columns in enumerate(statement.sets):
            set_cells = (
                cells[cells[:, 0] == number] if len(cells) else np.zeros((0, 3), dtype=np.int64)
            )
            codes = statement.codes(number, set_cells[:, 1:-1])
            for index, name in enumerate(columns):
                if (codes[:, index] < 0).any():
                    raise SchemaError(
                        f"Column '{name}' has values that its schema does not know: levels that are not declared, values outside its bins, or missing ones. Widen "
                        'the schema, set other = true or out_of_range = "clip", or add nullable = true.'
                    )
            if int(set_cells[:, -1].sum()) != self.n_rows:
                raise InputError(
                    "The table changed while it was counted. Count a copy, or in one transaction."
                )
            yield columns, codes, set_cells[:, -1]

    def _marginal(
        self,
        clique: tuple[str, ...],
        columns: tuple[str, ...],
        codes: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> Marginal:
        """Return the marginal of a clique from the codes and counts of a set that contains it."""
        sizes = tuple(self._sizes[name] for name in clique)
        if not clique:
            return Marginal((), (), np.array(int(counts.sum()), dtype=np.int64))
        tally = SparseCounts(sizes)
        tally.add([codes[:, columns.index(name)].astype(np.uint32) for name in clique], counts)
        marginal = tally.marginal(clique)
        return (
            marginal
            if marginal.n_cells > self.dense_cells or marginal.cells is None
            else Marginal(clique, sizes, marginal.dense())
        )


def _of_columns(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return rows from columns of numbers, with 0 for missing ones."""
    return np.stack(
        [np.ma.filled(column, 0).astype(np.int64) for column in columns.values()], axis=1
    )


Dialect = Literal["duckdb", "postgresql", "standard"]

MAX_LEVELS = 2000
"""Levels of a column that SQL codes, at most: a CASE has a line for each."""

MAX_SETS = 64
"""Sets of a statement."""

UNKNOWN_CODE = -1

_ONCE = {"duckdb": "MATERIALIZED ", "postgresql": "MATERIALIZED ", "standard": ""}

_NAN = {"duckdb": "isnan({x})", "postgresql": "{x} = 'NaN'", "standard": "{x} <> {x}"}

_DAYS = {
    "duckdb": "({x} - DATE '1970-01-01')",
    "postgresql": "({x} - DATE '1970-01-01')",
    "standard": "CAST(({x} - DATE '1970-01-01') DAY AS BIGINT)",
}


@dataclass(frozen=True)
class CountStatement:
    """A statement that counts some column sets. A row of its result has the number of a set, one
    key or several, and a count.

    `sets`: the columns of each set. `sizes`: how many codes each of these has.
    """

    sql: str
    sets: tuple[tuple[str, ...], ...]
    sizes: tuple[tuple[int, ...], ...]

    def codes(self, number: int, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes of a set's columns, one column each, from rows of its keys; -1 for
        values that the schema does not know.

        Examples
        --------
        >>> statement, = counts_sql([("sex", "ill")], {"sex": 2, "ill": 3}, '"coded"')
        >>> statement.codes(0, np.array([[1 * 4 + 3], [2 * 4 + 0]])).tolist()
        [[0, 2], [1, -1]]
        """
        sizes = self.sizes[number]
        out: NDArray[np.int64] = np.zeros((len(keys), len(sizes)), dtype=np.int64)
        for index, span in enumerate(key_spans(sizes)):
            rest = keys[:, index]
            for j in reversed(span):
                rest, digit = np.divmod(rest, sizes[j] + 1)
                out[:, j] = digit - 1
        return out


def key_spans(sizes: Sequence[int]) -> list[list[int]]:
    """Return runs of columns whose codes fit into a key of 63 bits.

    Examples
    --------
    >>> key_spans([9, 9]), key_spans([2**40, 2**40])
    ([[0, 1]], [[0], [1]])
    """
    return packed_spans([size + 1 for size in sizes])


def quoted_name(name: str | Sequence[str]) -> str:
    """Return a quoted SQL identifier; several parts are joined as schema and table.

    Examples
    --------
    >>> quoted_name(("public", 'odd"name'))
    '"public"."odd""name"'
    """
    parts = [name] if isinstance(name, str) else list(name)
    return ".".join('"' + identifier.replace('"', '""') + '"' for identifier in parts)


def codes_sql(schema: Schema, table: str | Sequence[str], *, dialect: Dialect = "duckdb") -> str:
    """Return the SELECT of the codes of all modelled columns, named as the columns."""
    check_name("dialect", dialect, get_args(Dialect))
    lines = [
        f"  CAST({_code(column, dialect)} AS {'SMALLINT' if column.size < 1 << 15 else 'INTEGER'}) AS {quoted_name(column.name)}"
        for column in schema.modelled
    ]
    return "SELECT\n" + ",\n".join(lines) + f"\nFROM {quoted_name(table)}"


def counts_sql(
    sets: Sequence[Sequence[str]],
    sizes: Mapping[str, int],
    coded: str,
    *,
    dialect: Dialect = "duckdb",
) -> Iterator[CountStatement]:
    """Yield statements that count column sets, each once, up to 64 in one; `sizes`: the number of
    codes of each column.

    `coded`: the table of codes as SQL names it, or the SELECT that makes it, which is then run once
    for each statement.
    """
    distinct = {frozenset(columns): tuple(columns) for columns in reversed(sets)}
    distinct_sets = tuple(reversed(distinct.values()))
    for start in range(0, len(distinct_sets), MAX_SETS):
        yield _statement(distinct_sets[start : start + MAX_SETS], sizes, coded, dialect)


def _statement(
    sets: tuple[tuple[str, ...], ...], sizes: Mapping[str, int], coded: str, dialect: Dialect
) -> CountStatement:
    is_select = coded.startswith("SELECT")
    source = "coded" if is_select else coded
    set_sizes = tuple(tuple(sizes[name] for name in columns) for columns in sets)
    n_keys = max(1, *(len(key_spans(column_sizes)) for column_sizes in set_sizes))
    keys = [f"chaffinch_key{i or ''}" for i in range(n_keys)]
    lines = []
    for number, (columns, column_sizes) in enumerate(zip(sets, set_sizes, strict=True)):
        spans = key_spans(column_sizes)
        values = [
            _key([columns[j] for j in span], [column_sizes[j] for j in span]) for span in spans
        ] + ["0"] * (n_keys - len(spans))
        inner = ", ".join(f"{value} AS {key}" for value, key in zip(values, keys, strict=True))
        groups = f" GROUP BY {', '.join(keys[: len(spans)])}" if spans else ""
        names = [*keys[: len(spans)], *(f"0 AS {key}" for key in keys[len(spans) :])]
        selected = ", ".join([f"{number} AS chaffinch_set", *names, "COUNT(*) AS chaffinch_count"])
        lines.append(f"SELECT {selected} FROM (SELECT {inner} FROM {source}) AS keyed{groups}")  # noqa: S608 - names are quoted
    head = f"WITH coded AS {_ONCE[dialect]}(\n{coded}\n)\n" if is_select else ""
    return CountStatement(head + "\nUNION ALL ".join(lines), sets, set_sizes)


def _key(columns: Sequence[str], sizes: Sequence[int]) -> str:
    """Return the key expression of some columns: their codes plus one as digits, so that no code
    differs from the first code.
    """
    strides = [prod(size + 1 for size in sizes[j + 1 :]) for j in range(len(sizes))]
    wide = prod(size + 1 for size in sizes) >= 1 << 31
    names = [f"CAST({quoted_name(name)} AS {'BIGINT' if wide else 'INTEGER'})" for name in columns]
    return " + ".join(
        [
            *(
                name if stride == 1 else f"{name} * {stride}"
                for name, stride in zip(names, strides, strict=True)
            ),
            str(sum(strides)),
        ]
    )


def _code(column: Column, dialect: Dialect) -> str:
    codec, kind = column.fitted_codec, value_type(parse_type(column.type))
    if column.spelled and codec.missing:
        raise InputError(
            f"Column '{column.name}' has missing codes that a file spelled beside its values: a database has no such cells."
        )
    x = _number(column, kind, dialect)
    cases: list[tuple[str, int]] = []
    absent = [f"{x} IS NULL"]
    if pa.types.is_floating(kind):
        absent.append(_NAN[dialect].format(x=x))
    null = codec.null_code(kind)
    nothing = UNKNOWN_CODE if null == codec.size else null
    cases += [(condition, nothing) for condition in absent]
    cases += [
        (f"{x} = {literal(code)}", codec.missing_start + i)
        for i, code in enumerate(codec.missing)
        if _comparable(code, kind)
    ]
    last = UNKNOWN_CODE
    if codec.numeric:
        interval_cases, last = _interval_cases(column, codec, x)
        cases += interval_cases
    elif not codec.n_values and codec.null and not is_words(kind):
        last = codec.n_values  # too few numbers to keep: made missing
    else:
        if len(codec.levels) > MAX_LEVELS:
            raise InputError(
                f"Column '{column.name}' has {len(codec.levels):,} levels, and SQL codes at most {MAX_LEVELS:,}. Pool rare ones, or declare fewer."
            )
        cases += [
            (f"{x} = {literal(level)}", code)
            for code, level in enumerate(codec.levels)
            if _comparable(level, kind)
        ]
        if codec.other:
            last = len(codec.levels)
            cases += [(f"{x} = {literal(OTHER)}", last)] if is_words(kind) else []
    return f"CASE {' '.join(f'WHEN {condition} THEN {code}' for condition, code in cases)} ELSE {last} END"


def _number(column: Column, kind: pa.DataType, dialect: Dialect) -> str:
    """Return the SQL expression of a column's values; dates as days."""
    name = quoted_name(column.name)
    if pa.types.is_date32(kind):
        return _DAYS[dialect].format(x=name)
    if pa.types.is_temporal(kind):
        raise InputError(
            f"Column '{column.name}' has moments or times ({column.type}), which are not coded in SQL. Make a date or a number of it in a view."
        )
    return f"CAST({name} AS DOUBLE PRECISION)" if pa.types.is_decimal(kind) else name


def _interval_cases(column: Column, codec: Intervals, x: str) -> tuple[list[tuple[str, int]], int]:
    """Return the cases of point masses and bins, and the code of values beyond them."""
    cases: list[tuple[str, int]] = []
    bounds = codec.bounds or ((column.edges[0], column.edges[-1]) if column.edges else None)
    if bounds is not None:
        low, high = (int(bound) if codec.integral else float(bound) for bound in bounds)
        if column.out_of_range == "error":
            cases.append((f"{x} < {literal(low)} OR {x} > {literal(high)}", UNKNOWN_CODE))
        else:
            ends = codec.encode(
                np.array([low, high], dtype=np.int64 if codec.integral else np.float64)
            ).tolist()
            cases += [(f"{x} < {literal(low)}", ends[0]), (f"{x} > {literal(high)}", ends[1])]
    if not len(codec.starts):
        if not len(codec.atoms):
            return cases, 0
        middles = ((codec.atoms[:-1].astype(np.float64) + codec.atoms[1:]) / 2).tolist()
        cases += [
            (f"{x} < {literal(middle)}", int(code))
            for middle, code in zip(middles, codec.atom_codes[:-1], strict=True)
        ]
        return cases, int(codec.atom_codes[-1])
    cases += [
        (f"{x} = {literal(atom)}", int(code))
        for atom, code in zip(codec.atoms.tolist(), codec.atom_codes, strict=True)
    ]
    cases += [
        (f"{x} < {literal(start)}", int(code))
        for start, code in zip(codec.starts[1:].tolist(), codec.bin_codes[:-1], strict=True)
    ]
    return cases, int(codec.bin_codes[-1])


def _comparable(value: Scalar, kind: pa.DataType) -> bool:
    """Return whether a level or a missing code can occur in a column of this type."""
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    return isinstance(value, str) if is_words(kind) else not isinstance(value, str | bool)


def literal(value: Scalar) -> str:
    """Return a value as an SQL literal: text in quotes, fractions as floating point numbers.

    Examples
    --------
    >>> literal("it's"), literal(0.1), literal(3), literal(True)
    ("'it''s'", '0.1e0', '3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        if "\x00" in value:
            raise InputError(
                "A level holds a character that no SQL text can (a zero byte). Leave the column out, or clean it in a view."
            )
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    return str(int(value))
