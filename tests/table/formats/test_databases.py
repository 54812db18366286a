"""Tables of SQLite and DuckDB files: by name, read-only, and reaching nothing else."""

from __future__ import annotations

import sqlite3
import sys

import duckdb
import pytest

import chaffinch
from chaffinch.errors import ChaffinchError, FileError, InputError, MissingExtraError

from ..conftest import n_refused

ROWS = [
    (20 + i % 9, "fm"[i % 2], i % 4 + 0.5, f"2020-01-{i % 28 + 1:02d}", None if i % 5 else "x")
    for i in range(60)
]


@pytest.fixture
def lite(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute(
        'CREATE TABLE "the people" (age INTEGER, sex TEXT, x REAL, day DATE, word TEXT)'
    )
    connection.executemany('INSERT INTO "the people" VALUES (?, ?, ?, ?, ?)', ROWS)
    connection.commit()
    connection.close()
    return tmp_path / "t.db"


def test_sqlite(lite):
    table = chaffinch.read(lite)
    assert table.data.select(["age", "sex", "x"]).to_pylist() == [
        {"age": a, "sex": s, "x": x} for a, s, x, *_ in ROWS
    ]
    assert table.schema["day"].kind == "date"
    assert table.data["word"].null_count == 48
    assert table.origin.layout.table == "the people"
    assert chaffinch.scan(f"{lite}::the people").n_rows == 60
    before = lite.read_bytes()
    assert chaffinch.read(lite, table="the people").n_rows == 60
    assert lite.read_bytes() == before
    assert [path.name for path in lite.parent.iterdir()] == ["t.db"]


def test_several_tables_views_and_bytes(lite):
    connection = sqlite3.connect(lite)
    connection.execute("CREATE VIEW women AS SELECT * FROM \"the people\" WHERE sex = 'f'")
    connection.execute("CREATE TABLE pictures (sex TEXT, ill TEXT, face BLOB)")
    connection.executemany(
        "INSERT INTO pictures VALUES (?, ?, ?)", [("f", "no", b"\x89"), ("m", "yes", b"\x00")] * 10
    )
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="several tables: pictures, the people, women"):
        chaffinch.read(lite)
    assert chaffinch.read(lite, table="women").n_rows == 30
    table = chaffinch.read(lite, table="pictures")
    assert table.columns == ("sex", "ill")
    assert "left out: face" in str(table.notes[0])
    with pytest.raises(ChaffinchError, match="Unknown table"):
        chaffinch.read(lite, table='x"; DROP TABLE pictures; --')
    assert chaffinch.read(lite, table="pictures").n_rows == 20


def test_fuzzed_sqlite_files(lite, tmp_path):
    assert n_refused(tmp_path / "bad.db", lite.read_bytes(), 100, 2, table="the people") > 20


@pytest.fixture
def duck(tmp_path):
    connection = duckdb.connect(str(tmp_path / "t.duckdb"))
    connection.execute(
        "CREATE TABLE people AS SELECT 20 + i % 9 AS age, ['f', 'm'][i % 2 + 1] AS sex, DATE '2020-01-01' + (i % 28)::INT AS day FROM range(60) t(i)"
    )
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    connection.execute(
        f"CREATE VIEW outside AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')"
    )
    connection.close()
    return tmp_path / "t.duckdb"


def test_duckdb(duck):
    table = chaffinch.read(duck, table="people")
    assert table.data["age"].to_pylist() == [20 + i % 9 for i in range(60)]
    assert table.schema["day"].kind == "date"
    assert chaffinch.scan(f"{duck}::people").n_rows == 60
    with pytest.raises(InputError, match="several tables: outside, people"):
        chaffinch.read(duck)


def test_a_view_of_another_file_is_not_followed(duck):
    with pytest.raises(FileError):
        chaffinch.read(duck, table="outside")


def test_damaged_duckdb_and_advice_without_the_extra(duck, tmp_path, monkeypatch):
    content = duck.read_bytes()
    (tmp_path / "cut.duckdb").write_bytes(content[: len(content) // 3])
    with pytest.raises(FileError, match="EXPORT DATABASE"):
        chaffinch.read(tmp_path / "cut.duckdb", table="people")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"chaffinch\[duckdb\]"):
        chaffinch.read(duck, table="people")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:secret@host/db",
        "duckdb:///x.db",
        "https://example.org/t.csv",
        "s3://bucket/t.parquet",
    ],
)
def test_addresses_are_refused_without_saying_what_is_in_them(address):
    with pytest.raises(FileError, match="opens no network connection") as caught:
        chaffinch.read(address)
    assert "secret" not in str(caught.value)
    assert "host" not in str(caught.value)
