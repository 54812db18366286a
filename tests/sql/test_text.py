"""SQL of codes gives the codes of `encode_column`, and statements of sets have every set once."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.sql import counter as module
from chaffinch.sql.counter import codes_sql, counts_sql, literal, quoted_name
from chaffinch.table import Table


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
    assert all(len(statement.sets) <= module.MOST_SETS for statement in statements)


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
    monkeypatch.setattr(module, "MOST_LEVELS", 1)
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
