"""A PostgreSQL server of the tests' own: a cluster in a temporary folder that answers on a socket in it, and nowhere else."""

from __future__ import annotations

import csv
import io
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest


def program(name: str) -> str | None:
    """Return a program of PostgreSQL, which distributions keep off the path."""
    return next(
        (
            str(path)
            for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
        ),
        shutil.which(name),
    )


class Postgres:
    """A server, asked through its own client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, sql: str, *, input: bytes | None = None) -> bytes:
        client = program("psql")
        assert client is not None
        command = [
            client,
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            str(self.folder),
            "-U",
            "tests",
            "-d",
            "postgres",
            "-c",
            sql,
        ]
        done = subprocess.run(
            command,
            input=input,
            capture_output=True,
            env={**os.environ, "PGCLIENTENCODING": "UTF8"},
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def __call__(self, sql: str) -> Sequence[Sequence[int | None]]:
        """Run a query whose result is whole numbers and nulls, as a function that `SqlCounter` takes."""
        text = self.run(f"COPY ({sql}) TO STDOUT (FORMAT csv)").decode()
        return [
            [None if cell == "" else int(cell) for cell in row]
            for row in csv.reader(io.StringIO(text))
        ]

    def load(self, name: str, rows: pa.Table) -> None:
        """Make a table of rows."""
        kinds = {
            "string": "text",
            "int64": "bigint",
            "double": "double precision",
            "bool": "boolean",
            "date32[day]": "date",
        }
        columns = ", ".join(
            '"' + field.name.replace('"', '""') + '" ' + kinds[str(field.type)]
            for field in rows.schema
        )
        self.run(f'CREATE TABLE "{name}" ({columns})')
        sink = io.BytesIO()
        pa_csv.write_csv(
            rows, sink, pa_csv.WriteOptions(include_header=False, quoting_style="needed")
        )
        self.run(f'COPY "{name}" FROM STDIN (FORMAT csv)', input=sink.getvalue())


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A server, started and stopped by an unprivileged user."""
    initdb, server = program("initdb"), program("pg_ctl")
    if initdb is None or server is None or program("psql") is None:
        pytest.skip("PostgreSQL is not installed (Debian and Ubuntu: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    who: dict[str, object] = {}
    if os.getuid() == 0:  # the server refuses to run as root
        nobody = next(
            (
                name
                for name in ("postgres", "nobody")
                if name in {entry.pw_name for entry in pwd.getpwall()}
            ),
            None,
        )
        if nobody is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user")
        os.chown(folder, pwd.getpwnam(nobody).pw_uid, pwd.getpwnam(nobody).pw_gid)
        who = {"user": nobody, "group": pwd.getpwnam(nobody).pw_gid, "extra_groups": []}
    data = folder / "data"
    try:
        subprocess.run(
            [
                initdb,
                "-D",
                data,
                "-U",
                "tests",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ],
            check=True,
            capture_output=True,
            cwd=folder,
            **who,
        )  # type: ignore[call-overload]
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        subprocess.run(
            [server, "-D", data, "-o", options, "-l", folder / "log", "-w", "start"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **who,
        )  # type: ignore[call-overload]
        try:
            yield Postgres(folder)
        finally:
            subprocess.run(
                [server, "-D", data, "-m", "immediate", "-w", "stop"],
                check=False,
                stdout=subprocess.DEVNULL,
                cwd=folder,
                **who,
            )  # type: ignore[call-overload]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
