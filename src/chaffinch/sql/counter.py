"""Counting in a database: a group-by for each set of columns, a statement for many at a time. Only counts leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, SchemaError, TooLargeError
from ..counts.marginal import Marginal, SparseCounts
from ..counts.plan import COVERING_CELLS, cover
from ..counts.tally import DENSE_CELLS, resolve
from ..table.schema import Schema
from .text import CountStatement, Dialect, codes_sql, counts_sql, quoted_name

Rows = Sequence[Sequence[Any]] | NDArray[np.int64]
Query = Callable[[str], Rows]
"""Runs a statement and returns the rows of its result: numbers, and nothing where one is missing."""

MOST_ROWS = 1 << 24
"""Combinations of a statement's sets that are fetched, at most."""


def query_of(connection: Any) -> Query:
    """Return what runs statements on a connection: DuckDB's, or any of Python's database interface (PEP 249); a function is taken as it is."""
    if hasattr(
        connection, "fetchnumpy"
    ):  # DuckDB: a cursor of it would not see what the connection registered
        return lambda sql: _of_columns(
            connection.execute(f"SELECT * FROM ({sql}) LIMIT {MOST_ROWS + 1}").fetchnumpy()  # noqa: S608
        )
    if hasattr(connection, "cursor"):

        def run(sql: str) -> Rows:
            cursor = connection.cursor()
            try:
                cursor.execute(sql)
                return list(cursor.fetchmany(MOST_ROWS + 1))
            finally:
                cursor.close()

        return run
    if callable(connection):
        query: Query = connection
        return query
    raise InputError(
        f"A database connection is needed, or a function that runs SQL. Got a {type(connection).__name__}."
    )


@dataclass(frozen=True, eq=False)
class SqlCounter:
    """Counts marginals of a table in a database under a fitted schema. Rows stay there: each call runs one statement for up to 64 marginals.

    `connection`: of DuckDB or any other database of Python's interface, or a function that runs SQL. `table`: its name, or names with that of its
    schema. `coded`: a table of codes that `codes_sql` made before, if there is one: it is counted as it is, which is quicker.

    The schema comes from declarations, or from rows that were read elsewhere (`chaffinch.read(...).schema`). Databases that compare words without regard
    to case or blanks give other counts than one machine does.

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
        """The number of records, asked for once."""
        if "n" not in self._rows:
            ((n,),) = query_of(self.connection)(
                f"SELECT COUNT(*) AS n FROM {quoted_name(self.coded or self.table)}"  # noqa: S608
            )
            self._rows["n"] = int(n)
        return self._rows["n"]

    def statements(self, cliques: Sequence[Sequence[str]]) -> list[CountStatement]:
        """Return the statements that count cliques, to be read or to be run elsewhere."""
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
            for clique, k in zip(cliques, plan.of, strict=True)
        ]

    @property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.schema.names, self.schema.sizes, strict=True))

    def _check_coded(self) -> None:
        """Raise where a table of codes has some that the schema has not: it was made with another. Asked once."""
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
        """The columns of each set of a statement, the codes that occur together, and how often."""
        rows = query_of(self.connection)(statement.sql)
        if len(rows) > MOST_ROWS:
            raise TooLargeError(
                f"Marginals have more than {MOST_ROWS:,} combinations that occur. Ask for fewer columns, or use fewer bins."
            )
        cells = (
            rows
            if isinstance(rows, np.ndarray)
            else np.array([[cell or 0 for cell in row] for row in rows], dtype=np.int64)
        )
        cells = cells.reshape(len(rows), -1)
        for number, columns in enumerate(statement.sets):
            own = cells[cells[:, 0] == number] if len(cells) else np.zeros((0, 3), dtype=np.int64)
            codes = statement.codes(number, own[:, 1:-1])
            for place, name in enumerate(columns):
                if (codes[:, place] < 0).any():
                    raise SchemaError(
                        f"Column '{name}' has values that its schema does not know: levels that are not declared, values outside its bins, or missing ones. Widen "
                        'the schema, set other = true or out_of_range = "clip", or add nullable = true.'
                    )
            if int(own[:, -1].sum()) != self.n_rows:
                raise InputError(
                    "The table changed while it was counted. Count a copy, or in one transaction."
                )
            yield columns, codes, own[:, -1]

    def _marginal(
        self,
        clique: tuple[str, ...],
        columns: tuple[str, ...],
        codes: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> Marginal:
        """The marginal of a clique, from the codes and counts of a set that holds it."""
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
    """Rows of columns of numbers, 0 where one is missing."""
    return np.stack(
        [np.ma.filled(column, 0).astype(np.int64) for column in columns.values()], axis=1
    )
