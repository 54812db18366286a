"""Files of SQLite and DuckDB: one table or view of them, by its name. They are opened read-only,
and open nothing else.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from ..._base.errors import FileError, MissingExtraError, join_names
from ..schema import Note
from .format import (
    BATCH_ROWS,
    FORMATS,
    Format,
    ReadOptions,
    Source,
    chosen_table,
    damaged_file,
    spelled_column,
)
from .layout import FileLayout

SQLITE_ROWS = 1 << 15


def _quote(name: str) -> str:
    """Return a name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that cannot write, load code or follow what a stranger's schema says beyond
    SQL.
    """
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, OverflowError):
        raise damaged_file(path) from None


def _open_sqlite(path: Path, options: ReadOptions) -> Source:
    notes = []
    if path.with_name(path.name + "-wal").exists():
        sentence = "The database has a journal beside it (-wal) that is not read: close the program that writes to it to have all rows."
        notes.append(Note("", "database", sentence))
    with _sqlite(path) as connection:
        table_names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
        table = chosen_table(path, options.table, [name for (name,) in table_names], "table")
        asked = connection.execute(f"SELECT * FROM {_quote(table)} LIMIT 0")  # noqa: S608 (quoted, and a name of the file's own)
        names = [column[0] for column in asked.description]
        blobs = [
            name
            for name in names
            if connection.execute(
                f"SELECT 1 FROM {_quote(table)} WHERE typeof({_quote(name)}) = 'blob' LIMIT 1"  # noqa: S608
            ).fetchone()
        ]
    if blobs:
        notes.append(
            Note(
                "",
                "bytes",
                f"Columns that hold bytes and no values are left out: {join_names(blobs)}.",
            )
        )
    names = [name for name in names if name not in blobs]
    schema = pa.schema([(name, pa.string()) for name in names])

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        chosen = names if columns is None else list(columns)
        with _sqlite(path) as connection:
            cursor = connection.execute(
                f"SELECT {', '.join(map(_quote, chosen))} FROM {_quote(table)}"  # noqa: S608
            )
            while rows := cursor.fetchmany(SQLITE_ROWS):
                yield pa.RecordBatch.from_arrays(
                    [spelled_column(cells) for cells in zip(*rows, strict=True)], names=chosen
                )

    return Source(
        f"{path}::{table}",
        schema,
        read,
        text=True,
        layout=FileLayout("sqlite", table),
        notes=tuple(notes),
    )


@contextlib.contextmanager
def _duckdb(path: Path) -> Iterator[Any]:
    """Give a connection that cannot write, and reaches no other file, no network and no
    extension.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("Reading DuckDB files", "duckdb") from None
    config = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "lock_configuration": "true",
    }
    try:
        connection = duckdb.connect(str(path.absolute()), read_only=True, config=config)
        try:
            yield connection
        finally:
            connection.close()
    except duckdb.Error as error:
        if isinstance(error, duckdb.PermissionException):
            raise FileError(
                f"'{path}' has a view that reads other files, which is not allowed. Make a table of it, and name that."
            ) from None
        raise FileError(
            f"Cannot read '{path}': it is damaged, in use by another program, or of another version of DuckDB. EXPORT DATABASE writes Parquet."
        ) from None


def _open_duckdb(path: Path, options: ReadOptions) -> Source:
    with _duckdb(path) as connection:
        table_names = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"
        ).fetchall()
        table = chosen_table(path, options.table, [name for (name,) in table_names], "table")
        schema = (
            connection.execute(f"SELECT * FROM {_quote(table)} LIMIT 0").to_arrow_table().schema  # noqa: S608
        )

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        chosen = schema.names if columns is None else list(columns)
        with _duckdb(path) as connection:
            asked = connection.execute(
                f"SELECT {', '.join(map(_quote, chosen))} FROM {_quote(table)}"  # noqa: S608
            )
            yield from asked.to_arrow_reader(BATCH_ROWS)

    return Source(f"{path}::{table}", schema, read, layout=FileLayout("duckdb", table))


FORMATS.register(
    Format(
        "sqlite",
        "a table of SQLite",
        read_endings=(".sqlite", ".sqlite3", ".db"),
        magic=(b"SQLite format 3\0",),
        open=_open_sqlite,
        tables=True,
        files="a database of SQLite",
    )
)
FORMATS.register(
    Format(
        "duckdb",
        "a table of DuckDB",
        read_endings=(".duckdb",),
        recognise=lambda head, name: head[8:12] == b"DUCK",
        open=_open_duckdb,
        tables=True,
        extra="duckdb",
        files="a database of DuckDB",
        written_as=".parquet",
    )
)
