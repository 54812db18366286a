"""Counting in a database: marginals by GROUPING SETS, a statement for many at a time. Only counts leave it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, SchemaError, TooLargeError
from ..counts.marginal import Marginal
from ..counts.sparse import SparseCounts
from ..counts.tally import DENSE_CELLS, resolve
from ..table.schema import Schema
from .text import CountStatement, Dialect, codes_sql, counts_sql, quoted_name

__all__ = ["Query", "SqlCounter", "query_of"]

Query = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement and returns the rows of its result."""

MOST_ROWS = 1 << 24
"""Combinations of a statement's sets that are fetched, at most."""


def query_of(connection: Any) -> Query:
    """Return what runs statements on a connection: DuckDB's, or any of Python's database interface (PEP 249); a function is taken as it is."""
    if hasattr(connection, "execute"):  # a cursor of DuckDB would not see what the connection registered
        return lambda sql: list(connection.execute(sql).fetchmany(MOST_ROWS + 1))
    if hasattr(connection, "cursor"):

        def run(sql: str) -> Sequence[Sequence[Any]]:
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
    raise InputError(f"A database connection is needed, or a function that runs SQL. Got a {type(connection).__name__}.")


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
            raise InputError("Counting in SQL needs a fitted schema: that of a table that was read, or declared levels and bins.")
        codes_sql(self.schema, self.table, dialect=self.dialect)  # raises for columns that SQL cannot code

    @property
    def n_rows(self) -> int:
        """The number of records, asked for once."""
        if "n" not in self._rows:
            ((n,),) = query_of(self.connection)(f"SELECT COUNT(*) FROM {quoted_name(self.coded or self.table)}")  # noqa: S608 - names are quoted
            self._rows["n"] = int(n)
        return self._rows["n"]

    def statements(self, cliques: Sequence[Sequence[str]]) -> list[CountStatement]:
        """Return the statements that count cliques, to be read or to be run elsewhere."""
        for clique in cliques:
            resolve(self.schema, clique)
        source = f"({codes_sql(self.schema, self.table, dialect=self.dialect)})" if self.coded is None else quoted_name(self.coded)
        return list(counts_sql(cliques, source))

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique, in the order given."""
        query, found = query_of(self.connection), dict[frozenset[str], tuple[tuple[str, ...], NDArray[np.int64]]]()
        for statement in self.statements(cliques):
            rows = query(statement.sql)
            if len(rows) > MOST_ROWS:
                raise TooLargeError(f"Marginals have more than {MOST_ROWS:,} combinations that occur. Ask for fewer columns, or use fewer bins.")
            width = len(statement.columns)
            cells = np.array([[-2 if cell is None else cell for cell in row] for row in rows], dtype=np.int64).reshape(-1, width + 2)
            for columns in statement.sets:
                own = cells[cells[:, width] == statement.number(columns)]
                found[columns] = (statement.columns, own)
        return [self._marginal(tuple(clique), *found[frozenset(clique)]) for clique in cliques]

    def _marginal(self, clique: tuple[str, ...], columns: tuple[str, ...], cells: NDArray[np.int64]) -> Marginal:
        places = [columns.index(name) for name in clique]
        for name, place in zip(clique, places, strict=True):
            if (cells[:, place] < 0).any():
                raise SchemaError(
                    f"Column '{name}' has values that its schema does not know: levels that are not declared, values outside its bins, or missing ones. Widen "
                    "the schema, set other = true or out_of_range = \"clip\", or add nullable = true."
                )
        counts = cells[:, -1]
        if int(counts.sum()) != self.n_rows:
            raise InputError("The table changed while it was counted. Count a copy, or in one transaction.")
        sizes = tuple(self.schema[name].size for name in clique)
        tally = SparseCounts(sizes)
        if clique:
            tally.add([cells[:, place].astype(np.uint32) for place in places], counts)
        marginal = tally.marginal(clique) if clique else Marginal((), (), np.array(int(counts.sum()), dtype=np.int64))
        return marginal if marginal.n_cells > self.dense_cells or marginal.cells is None else Marginal(clique, sizes, marginal.dense())
