"""The SQL of codes and counts; counts of a database are those of memory, and nothing else leaves it."""

from __future__ import annotations

import sqlite3
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import plan
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.errors import InputError, SchemaError, TooLargeError, UnknownNameError
from chaffinch.sql import SqlCounter, codes_sql, counts_sql
from chaffinch.sql import counter as module
from chaffinch.sql.counter import literal, quoted_name
from chaffinch.synth.model_file import model_to_bytes
from chaffinch.table import Table

from ..counts.test_counter import odd_tables


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
    monkeypatch.setattr(module, "MAX_ROWS", 1)
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


def odd_table(n_rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(6)
    gone = rng.random(n_rows) < 0.1
    real = np.round(rng.lognormal(3, 1, n_rows), 2)
    real[:20] = np.nan
    return pa.table(
        {
            "word": pa.array(rng.choice(["it's", 'a "b"', "ü; --", " "], n_rows), mask=gone),
            "rare": pa.array([*rng.choice(["x", "y"], n_rows - 2), "once", "twice"]),
            "whole": pa.array(rng.integers(-50, 9000, n_rows), mask=gone),
            "few": pa.array(rng.integers(0, 5, n_rows)),
            "real": pa.array(real, mask=gone),
            "full": pa.array(rng.normal(size=n_rows)),
            "flag": pa.array(rng.random(n_rows) < 0.5, mask=gone),
            "day": pa.array(rng.integers(0, 10_000, n_rows).astype("datetime64[D]"), mask=gone),
            'odd "name".x': pa.array(rng.choice(["p", "q"], n_rows)),
            "empty": pa.nulls(n_rows, pa.string()),
        }
    )


def coded(table: Table, rows: pa.Table) -> pa.Table:
    connection = duckdb.connect()
    connection.register("people", rows)
    answer = connection.execute(codes_sql(table.schema, "people"))
    names = [entry[0] for entry in answer.description]
    return pa.table(dict(zip(names, map(list, zip(*answer.fetchall(), strict=True)), strict=True)))


@pytest.mark.parametrize("schema", [None, {"few": "categorical"}], ids=["inferred", "levels"])
def test_codes_are_those_of_one_machine(schema):
    rows = odd_table()
    table = chaffinch.read(rows, schema)
    found = coded(table, rows)
    assert tuple(found.column_names) == tuple(table.schema.names)
    for name in table.schema.names:
        assert found.column(name).to_pylist() == table.code(name).tolist(), name


@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float), min_size=2, max_size=60))
def test_numbers_have_their_codes(values):
    rows = pa.table(
        {
            "x": pa.array(values, pa.float64()),
            "y": ["a", "b"] * (len(values) // 2) + ["a"] * (len(values) % 2),
        }
    )
    table = chaffinch.read(rows, {"x": "float"})
    assert coded(table, rows).column("x").to_pylist() == table.code("x").tolist()


@pytest.mark.parametrize("name", ["adult_train.parquet", "diabetes.csv", "cmc.csv"])
def test_bundled_tables_have_their_codes(name, data):
    table = chaffinch.read(data / name)
    found = coded(table, table.data)
    for column in table.schema.names:
        assert found.column(column).to_pylist() == table.code(column).tolist(), column


def test_declared_bins_and_missing_codes(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns.a]\nkind = "integer"\nedges = [0, 5, 10]\nout_of_range = "clip"\nmissing = [-8, -9]\n'
        '[columns.b]\nkind = "categorical"\nlevels = ["x", "y"]\nother = true\nnullable = true\n'
    )
    rows = pa.table(
        {"a": [-8, -9, -3, 0, 4, 5, 10, 77], "b": ["x", "y", "z", None, "(other)", "x", "y", "y"]}
    )
    table = chaffinch.read(rows, path)
    found = coded(table, rows)
    for name in ("a", "b"):
        assert found.column(name).to_pylist() == table.code(name).tolist()


def test_values_that_the_schema_does_not_know_have_no_code():
    table = chaffinch.read(pa.table({"a": ["x", "y"] * 20, "b": [1.5, 2.5] * 20}))
    rows = pa.table({"a": ["x", "new", None], "b": [1.5, None, float("nan")]})
    found = coded(table, rows)
    assert found.column("a").to_pylist() == [0, -1, -1]
    assert found.column("b").to_pylist()[1:] == [-1, -1]


@given(st.lists(st.sets(st.integers(0, 40), max_size=4), min_size=1, max_size=150))
def test_every_set_is_in_one_statement(sets):
    cliques = [[f"c{j}" for j in columns] for columns in sets]
    statements = list(counts_sql(cliques, {f"c{j}": 3 for j in range(41)}, '"t"'))
    counted = [frozenset(columns) for statement in statements for columns in statement.sets]
    assert set(counted) == {frozenset(clique) for clique in cliques}
    assert len(counted) == len(set(counted))
    assert all(len(statement.sets) <= module.MAX_SETS for statement in statements)


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=6), st.data())
def test_keys_give_back_their_codes(sizes, data):
    """The database's arithmetic makes keys of any codes, -1 among them, and they come back."""
    codes = [data.draw(st.integers(-1, size - 1)) for size in sizes]
    names = [f"c{j}" for j in range(len(sizes))]
    (statement,) = counts_sql([names], dict(zip(names, sizes, strict=True)), '"t"')
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT "
        + ", ".join(f"{code}::BIGINT AS {name}" for name, code in zip(names, codes, strict=True))
    )
    ((number, *keys, count),) = connection.execute(statement.sql).fetchall()
    assert (number, count) == (0, 1)
    assert statement.codes(0, np.array([keys])).tolist() == [codes]


def test_missing_codes_that_a_file_spelled_are_no_cells_of_a_database(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\nunknown,y\n3,x\n" * 20)
    schema = chaffinch.read(
        tmp_path / "t.csv", {"a": {"kind": "integer", "missing": ["unknown"]}}
    ).schema
    with pytest.raises(InputError, match="Column 'a' has missing codes that a file spelled"):
        codes_sql(schema, "people")


def test_what_sql_cannot_code_is_named(monkeypatch):
    when = chaffinch.read(
        pa.table({"t": pa.array(np.arange(50) * 10**9, pa.timestamp("us")), "x": ["a", "b"] * 25})
    ).schema
    with pytest.raises(InputError, match="Column 't' has moments or times"):
        codes_sql(when, "people")
    words = chaffinch.read(pa.table({"w": ["a", "b"] * 25, "x": ["a", "b"] * 25})).schema
    monkeypatch.setattr(module, "MAX_LEVELS", 1)
    with pytest.raises(InputError, match="'w' has 2 levels, and SQL codes at most 1"):
        codes_sql(words, "people")
    with pytest.raises(UnknownNameError, match="dialect 'mysql'"):
        codes_sql(words, "people", dialect="mysql")
    with pytest.raises(InputError, match="zero byte"):
        literal("a\x00b")


@given(
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**62), 2**62),
)
def test_literals_and_names_come_back(word, real, whole):
    connection = duckdb.connect()
    sql = f"SELECT {literal(word)} AS {quoted_name('n' + word)}, {literal(real)}, {literal(whole)}"
    row = connection.execute(sql)
    assert row.description[0][0] == "n" + word
    assert row.fetchone() == (word, real, whole)


def test_other_dialects_are_text():
    schema = chaffinch.read(
        pa.table({"x": [0.5, 1.5] * 20, "d": pa.array([0, 1] * 20, pa.date32())})
    ).schema
    assert "\"x\" = 'NaN'" in codes_sql(schema, ("public", "t"), dialect="postgresql")
    assert '"x" <> "x"' in codes_sql(schema, "t", dialect="standard")
