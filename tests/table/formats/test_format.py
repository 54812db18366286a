"""A file format is one place: a toy one, registered, is read, written, listed in help and refused where it must be."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import chaffinch
from chaffinch._base.errors import FileError, InputError
from chaffinch.cli.app import app
from chaffinch.table import FORMATS, Format, ReadOptions, Source
from chaffinch.table.formats import OBJECTS, ObjectKind
from chaffinch.table.formats.objects import table_source
from chaffinch.table.sources import expected_shape, open_source, recognise
from chaffinch.table.write import file_format, write_table

ROWS = {"sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20}
MAGIC = b"%TOY\n"


def open_toy(path: Path, options: ReadOptions) -> Source:
    columns = json.loads(path.read_bytes().removeprefix(MAGIC))
    return Source(
        str(path),
        pa.table(columns).schema,
        lambda names: iter(pa.table(columns).select(names or list(columns)).to_batches()),
    )


@contextlib.contextmanager
def write_toy(part: Path, target: Path):
    yield lambda table: part.write_bytes(MAGIC + json.dumps(table.data.to_pydict()).encode())


@pytest.fixture
def toy():
    yield FORMATS.register(
        Format("toy", "Toy .toy", (".toy",), (MAGIC,), open=open_toy, writer=write_toy)
    )
    FORMATS.remove("toy")


def test_a_registered_format_is_read_and_written(toy, tmp_path):
    table = chaffinch.read(pa.table(ROWS))
    table.write(tmp_path / "t.toy")
    assert (tmp_path / "t.toy").read_bytes().startswith(MAGIC)
    again = chaffinch.read(tmp_path / "t.toy")
    assert again.data.to_pydict() == ROWS
    (tmp_path / "t.toy").rename(tmp_path / "t.csv")  # known by its first bytes, whatever its name
    assert recognise(tmp_path / "t.csv") is toy
    assert file_format("x.TOY") == "toy"


def test_a_registered_format_is_in_the_help_of_a_command(toy):
    words = " ".join(
        CliRunner().invoke(app, ["describe", "--help"], env={"COLUMNS": "200"}).output.split()
    )
    assert "a text file in a .zip, Toy .toy" in words


def test_a_format_that_is_gone_is_not_listed():
    words = " ".join(
        CliRunner().invoke(app, ["release", "--help"], env={"COLUMNS": "200"}).output.split()
    )
    for piece in (
        "CSV, TSV (both also .gz, .zst, .bz2), Parquet,",
        "SPSS .sav, Stata .dta, SAS .sas7bdat,",
        "a text file in a .zip;",
    ):
        assert piece in words


def test_the_wrong_file_under_the_name_of_a_format(toy, tmp_path):
    (tmp_path / "t.toy").write_text("sex,ill\nf,no\n")
    with pytest.raises(FileError, match=r"is named as toy but does not start as such a file does"):
        chaffinch.read(tmp_path / "t.toy")
    with pytest.raises(FileError, match=r"End it in one of \.csv.*\.toy\."):
        file_format("t.xyz")


def test_a_private_fit_reads_no_format_that_does_not_claim_to_be_private(toy, tmp_path):
    from chaffinch.privacy.prepare import open_header

    chaffinch.read(pa.table(ROWS)).write(tmp_path / "t.toy")
    with pytest.raises(
        FileError,
        match=r"A private fit does not read .* a toy file: its reader may stop at a value",
    ):
        open_header(tmp_path / "t.toy")


def test_a_text_format_is_known_by_its_ending_alone(tmp_path):
    FORMATS.register(
        Format("lines", endings=(".lines",), open=lambda path, options: open_source(pa.table(ROWS)))
    )
    try:
        (tmp_path / "t.lines").write_text("a,b\n1,2\n")
        (tmp_path / "t.txt").write_text("a,b\n1,2\n")
        assert recognise(tmp_path / "t.lines").name == "lines"
        assert recognise(tmp_path / "t.txt").name == "csv"
        assert expected_shape(tmp_path / "t.lines") is None
        with pytest.raises(FileError, match="Cannot tell the format"):
            file_format("t.lines")  # it is read, not written
    finally:
        FORMATS.remove("lines")


def test_a_name_is_taken_once(toy):
    with pytest.raises(InputError, match="There is a format 'toy' already"):
        FORMATS.register(toy)


def test_a_registered_kind_of_object_is_read_and_given_back():
    kind = ObjectKind(
        "records",
        lambda source: isinstance(source, list),
        lambda source, tolerant: table_source(pa.Table.from_pylist(source), "records"),
        lambda table: table.data.to_pylist(),
    )
    rows = pa.table(ROWS).to_pylist()
    with pytest.raises(InputError, match="Cannot read a list"):
        chaffinch.read(rows)
    OBJECTS.register(kind)
    try:
        assert chaffinch.read(rows).to_native() == rows
    finally:
        OBJECTS.remove("records")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.arrow", "a.xlsx", "a.jsonl"])
@pytest.mark.parametrize("n_rows", [1, 7, 40, 100])
def test_first_rows_are_those_of_the_whole(tmp_path: Path, name: str, n_rows: int) -> None:
    table = chaffinch.read(
        pa.table({"x": [i % 9 for i in range(40)], "y": [f"w{i % 3}" for i in range(40)]})
    )
    write_table(table, tmp_path / name)
    source = open_source(tmp_path / name)
    first = source.first_rows(n_rows)
    rows = [row for batch in first.batches() for row in batch.to_pylist()]
    assert (
        rows
        == [row for batch in source.batches(source.schema.names) for row in batch.to_pylist()][
            :n_rows
        ]
    )
    assert first.n_rows == len(rows) == min(n_rows, 40)
    assert [batch.schema.names for batch in first.batches(["y"])] == [["y"]] * len(
        list(first.batches())
    )
