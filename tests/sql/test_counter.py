"""Counts of a database are those of memory, and nothing else leaves it."""

from __future__ import annotations

import sqlite3
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.counts import plan
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.errors import InputError, SchemaError, TooLargeError, UnknownNameError
from chaffinch.sql import SqlCounter, codes_sql
from chaffinch.sql import counter as module
from chaffinch.synth.model_file import model_to_bytes

from ..counts.test_counter import odd_tables
from .test_text import odd_table


def in_duckdb(rows: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("people", rows)
    return connection


@pytest.mark.parametrize("dense_cells", [1 << 22, 0])
@pytest.mark.parametrize(
    "case", ["empty table", "one row", "one level", "unseen levels", "one column", "many rows"]
)
def test_odd_cases_equal_the_reference(case, dense_cells, coded):
    table = odd_tables(coded)[case]
    names = table.schema.names
    cliques = [c for width in range(min(len(names), 3) + 1) for c in combinations(names, width)]
    cliques += [clique[::-1] for clique in cliques if len(clique) > 1]
    got = SqlCounter(
        in_duckdb(table.data), "people", table.schema, dense_cells=dense_cells
    ).marginals(cliques)
    for clique, ours, want in zip(
        cliques, got, ReferenceCounter(table).marginals(cliques), strict=True
    ):
        assert ours.columns == clique
        assert ours.same(want)
        assert ours.counts.dtype == np.int64
        assert not clique or (ours.cells is None) == (dense_cells > 0)


def test_counts_of_odd_columns_and_of_a_table_of_codes_are_those_of_memory():
    rows = odd_table()
    table = chaffinch.read(rows)
    cliques = list(combinations(table.schema.names, 2))
    want = chaffinch.MemoryCounter(table).marginals(cliques)
    connection = in_duckdb(rows)
    connection.execute(f"CREATE TABLE codes AS {codes_sql(table.schema, 'people')}")
    for counter in (
        SqlCounter(connection, "people", table.schema),
        SqlCounter(connection, "people", table.schema, coded="codes"),
    ):
        assert counter.n_rows == table.n_rows
        assert all(
            ours.same(theirs) for ours, theirs in zip(counter.marginals(cliques), want, strict=True)
        )


def test_a_network_is_that_of_memory():
    rows = odd_table()
    table = chaffinch.read(rows)
    settings = chaffinch.BayesNet(parents=2, conditionals="tables")
    ours = settings.fit(SqlCounter(in_duckdb(rows), "people", table.schema), seed=3)
    assert model_to_bytes(ours) == model_to_bytes(
        settings.fit(chaffinch.MemoryCounter(table), seed=3)
    )


def test_only_counts_are_asked_for():
    rows = odd_table(300)
    table, asked = chaffinch.read(rows), []
    connection = in_duckdb(rows)

    def query(sql):
        asked.append(sql)
        return connection.execute(sql).fetchall()

    SqlCounter(query, "people", table.schema).marginals([("word", "flag"), ("few",)])
    assert len(asked) == 2
    assert all("COUNT(*)" in sql for sql in asked)


def test_unknown_values_and_changing_tables_are_refused_without_a_value():
    table = chaffinch.read(pa.table({"a": ["x", "y"] * 20, "b": ["p", "q"] * 20}))
    with pytest.raises(
        SchemaError, match="Column 'a' has values that its schema does not know"
    ) as found:
        SqlCounter(
            in_duckdb(pa.table({"a": ["x", "secret"], "b": ["p", "q"]})), "people", table.schema
        ).marginals([("b", "a")])
    assert "secret" not in str(found.value)
    counter = SqlCounter(in_duckdb(table.data), "people", table.schema)
    counter._rows["n"] = 39
    with pytest.raises(InputError, match="changed while it was counted"):
        counter.marginals([("a",)])


def test_bad_use_is_named(monkeypatch):
    table = chaffinch.read(pa.table({"a": ["x", "y"] * 20, "b": ["p", "q"] * 20}))
    counter = SqlCounter(in_duckdb(table.data), "people", table.schema)
    assert counter.marginals([]) == []
    with pytest.raises(UnknownNameError, match="'c'"):
        counter.marginals([("c",)])
    with pytest.raises(
        InputError,
        match="A database connection is needed, or a function that runs SQL. Got a int".replace(
            ".", r"\."
        ),
    ):
        SqlCounter(5, "people", table.schema).marginals([("a",)])
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    with pytest.raises(TooLargeError, match="more than 1 combinations"):
        counter.marginals([("a", "b")])


def test_any_connection_of_python_will_do():
    """SQLite, which has no GROUPING SETS, counts as memory does."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE people (a TEXT, b TEXT)")
    connection.executemany(
        "INSERT INTO people VALUES (?, ?)", [("x", "p"), ("y", "q"), ("y", "p")] * 20
    )
    table = chaffinch.read(pa.table({"a": ["x", "y", "y"] * 20, "b": ["p", "q", "p"] * 20}))
    cliques = [(), ("a",), ("b", "a")]
    got = SqlCounter(connection, "people", table.schema, dialect="standard").marginals(cliques)
    assert all(
        ours.same(want)
        for ours, want in zip(got, chaffinch.MemoryCounter(table).marginals(cliques), strict=True)
    )


def test_marginals_of_many_columns_have_several_keys():
    """Thirty columns of nine levels: more combinations than a key of 63 bits numbers."""
    rng = np.random.default_rng(0)
    rows = pa.table({f"c{j}": rng.choice(list("abcdefghi"), 400) for j in range(30)})
    table = chaffinch.read(rows)
    cliques = [tuple(table.schema.names), tuple(table.schema.names[:2])]
    got = SqlCounter(in_duckdb(rows), "people", table.schema).marginals(cliques)
    assert all(
        ours.same(want)
        for ours, want in zip(got, chaffinch.MemoryCounter(table).marginals(cliques), strict=True)
    )


def test_counts_summed_from_wider_tables_are_those_of_memory(monkeypatch):
    monkeypatch.setattr(plan, "COVERED_FROM", 100)
    rows = odd_table()
    table = chaffinch.read(rows)
    cliques = [c for width in (0, 1, 2) for c in combinations(table.schema.names, width)]
    asked, connection = [], in_duckdb(rows)

    def query(sql):
        asked.append(sql)
        return connection.execute(sql).fetchall()

    got = SqlCounter(query, "people", table.schema).marginals(cliques)
    assert all(
        ours.same(want)
        for ours, want in zip(got, chaffinch.MemoryCounter(table).marginals(cliques), strict=True)
    )
    assert asked[-1].count("GROUP BY") < len(cliques) / 2


def test_a_table_of_codes_of_another_schema_is_refused():
    rows = pa.table({"a": ["x", "y", "z"] * 20, "b": ["p", "q", "p"] * 20})
    connection = in_duckdb(rows)
    connection.execute(f"CREATE TABLE codes AS {codes_sql(chaffinch.read(rows).schema, 'people')}")
    other = chaffinch.read(pa.table({"a": ["x", "y"] * 20, "b": ["p", "q"] * 20})).schema
    with pytest.raises(SchemaError, match="codes of column 'a' that this schema has not"):
        SqlCounter(connection, "people", other, coded="codes").marginals([("b",)])


@pytest.mark.slow
def test_postgresql_gives_the_counts_and_the_network_of_memory(postgres):
    """From rows, and from a table of codes; with words in quotes, NaN, missing cells, days and names that have to be quoted."""
    rows = odd_table()
    table = chaffinch.read(rows)
    postgres.load("people", rows)
    postgres.run(f"CREATE TABLE codes AS {codes_sql(table.schema, 'people', dialect='postgresql')}")
    cliques = [c for width in (0, 1, 2) for c in combinations(table.schema.names, width)] + [
        table.schema.names[:4]
    ]
    want = chaffinch.MemoryCounter(table).marginals(cliques)
    settings = chaffinch.BayesNet(parents=2, conditionals="tables")
    network = settings.fit(chaffinch.MemoryCounter(table), seed=3)
    for coded in (None, "codes"):
        counter = SqlCounter(
            postgres, ("public", "people"), table.schema, dialect="postgresql", coded=coded
        )
        assert counter.n_rows == table.n_rows
        assert all(
            ours.same(theirs) for ours, theirs in zip(counter.marginals(cliques), want, strict=True)
        )
    assert model_to_bytes(settings.fit(counter, seed=3)) == model_to_bytes(network)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["empty table", "one row", "one level", "unseen levels", "one column", "many rows"]
)
def test_odd_cases_in_postgresql_equal_the_reference(case, coded, postgres):
    table = odd_tables(coded)[case]
    postgres.load(
        case, table.data.cast(pa.schema([(name, pa.string()) for name in table.data.column_names]))
    )
    names = table.schema.names
    cliques = [c for width in range(min(len(names), 3) + 1) for c in combinations(names, width)]
    got = SqlCounter(postgres, case, table.schema, dialect="postgresql").marginals(cliques)
    assert all(
        ours.same(want)
        for ours, want in zip(got, ReferenceCounter(table).marginals(cliques), strict=True)
    )
