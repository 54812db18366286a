"""A file format is one place: a toy one, registered, is read, written, listed in help and refused where it must be; options, changed files and refused kinds are said."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import chaffinch
import chaffinch as cf
from chaffinch.cli.app import app
from chaffinch.errors import FileError, InputError
from chaffinch.table import FORMATS, Format, ReadOptions, Source
from chaffinch.table.formats import OBJECTS, ObjectKind
from chaffinch.table.formats.format import (
    TAIL,
    FileIdentity,
    check_unchanged,
    chosen_table,
    identities,
    spelled_column,
    spelled_source,
)
from chaffinch.table.formats.layout import FileLayout
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
        CliRunner().invoke(app, ["describe", "--help-all"], env={"COLUMNS": "200"}).output.split()
    )
    assert "a text file in a .zip, Toy .toy" in words


def test_a_format_that_is_gone_is_not_listed():
    words = " ".join(
        CliRunner().invoke(app, ["release", "--help-all"], env={"COLUMNS": "200"}).output.split()
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


def rewrite(path, old, new):
    """Write other bytes of the same number into a file, and set its time of writing back."""
    before = path.stat()
    content = path.read_bytes()
    assert content.count(old) == 1
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,age\n" + "f,41\n" * 3 + "m,17\n" + "f,41\n" * (2 * TAIL))
    return path


def test_a_file_is_itself(file):
    known = identities([file])
    assert len(known) == 1
    check_unchanged("people", known)
    file.read_bytes()
    check_unchanged("people", known)


@pytest.mark.skipif(os.name != "posix", reason="no time of change is told elsewhere")
def test_rows_that_are_rewritten_are_seen_though_the_time_of_writing_is_set_back(file):
    """Far from the end, whose digest stays: the system's own record of the change gives it away."""
    (known,) = identities([file])
    rewrite(file, b"m,17", b"m,99")
    again = FileIdentity.from_path(file)
    assert (again.end, again.size, again.written, again.number) == (
        known.end,
        known.size,
        known.written,
        known.number,
    )
    with pytest.raises(
        InputError,
        match=r"'people' was changed or replaced while it was read.*'people.csv' is not the file that was opened.*such as a copy",
    ):
        check_unchanged("people", [known])


def test_the_end_is_seen_whatever_the_times_say(file):
    """What a clock that ticks too slowly cannot tell."""
    (known,) = identities([file])
    file.write_bytes(file.read_bytes()[:-5] + b"m,17\n")
    again = FileIdentity.from_path(file)
    assert again.size == known.size
    assert again.end != known.end


@pytest.mark.parametrize("how", ["replaced", "longer", "gone"])
def test_other_files_are_seen(file, tmp_path, how):
    known = identities([file])
    if how == "replaced":
        (tmp_path / "new.csv").write_bytes(file.read_bytes())
        os.utime(tmp_path / "new.csv", ns=(known[0].written, known[0].written))
        (tmp_path / "new.csv").replace(file)
    elif how == "longer":
        with file.open("a") as handle:
            handle.write("m,2\n")
    else:
        file.unlink()
    with pytest.raises(InputError, match="was changed or replaced"):
        check_unchanged("people", known)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with names elsewhere")
def test_what_is_no_file_is_not_looked_at(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert identities([tmp_path / "pipe", tmp_path / "nothing", tmp_path]) == ()


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_a_source_is_the_same_in_every_pass(tmp_path, kind):
    table = pa.table({"sex": ["f", "m"] * 50, "age": list(range(100))})
    other = table.set_column(1, "age", pa.array([*range(99), 5]))
    place = tmp_path / ("people" if kind == "folder" else f"people.{kind}")
    file = place / "b.parquet" if kind == "folder" else place

    def write(rows):
        if kind == "csv":
            file.write_text(
                "sex,age\n"
                + "".join(
                    f"{sex},{age:02d}\n"
                    for sex, age in zip(*rows.to_pydict().values(), strict=True)
                )
            )
        else:
            pq.write_table(rows, file)

    if kind == "folder":
        place.mkdir()
        pq.write_table(table, place / "a.parquet")
    write(table)
    source = open_source(place)
    for _ in range(2):
        assert sum(batch.num_rows for batch in source.batches()) == (
            200 if kind == "folder" else 100
        )
    batches = source.batches(["age"])
    next(batches)
    write(other)
    with pytest.raises(InputError, match="was changed or replaced"):
        list(batches)
    with pytest.raises(InputError, match="was changed or replaced"):
        next(source.batches())
    assert sum(batch.num_rows for batch in open_source(place).batches()) == (
        200 if kind == "folder" else 100
    )


def test_a_scan_is_not_counted_from_two_versions(file):
    scan = cf.scan(file)
    counter = cf.StreamCounter(scan)
    counter.marginals([("sex",)])
    rewrite(file, b"m,17", b"f,17")
    with pytest.raises(InputError, match="was changed or replaced"):
        counter.marginals([("sex",)])


def test_spelling():
    day, time = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 59, 999_999)
    assert spelled_column([day, None]).to_pylist() == ["2020-01-02", ""]
    assert spelled_column([day, time]).to_pylist() == ["2020-01-02 00:00:00", "2020-01-02 03:05:00"]
    assert spelled_column([datetime.datetime(2020, 1, 2)]).to_pylist() == ["2020-01-02"]
    assert spelled_column([datetime.datetime.max]).to_pylist()[0].startswith("9999-12-31")
    assert spelled_column(
        [1, 2.0, 1e300, 0.1, float("nan"), True, datetime.time(3, 4)]
    ).to_pylist() == ["1", "2", "1e+300", "0.1", "nan", "TRUE", "03:04:00"]


def test_a_source_of_words_is_read_again_and_by_columns():
    source = spelled_source(
        "t", {"a": spelled_column([1, 2]), "b": spelled_column(["x", None])}, FileLayout("workbook")
    )
    assert (
        source.table().to_pydict()
        == source.table().to_pydict()
        == {"a": ["1", "2"], "b": ["x", ""]}
    )
    assert [batch.to_pydict() for batch in source.batches(["b"])] == [{"b": ["x", ""]}]


def test_choosing():
    assert chosen_table("f", None, ["a"], "sheet") == "a"
    assert chosen_table("f", "b", ["a", "b"], "sheet") == "b"
    with pytest.raises(InputError, match=r"several sheets: a, b. Name one, as 'f::a'"):
        chosen_table("f", None, ["a", "b"], "sheet")
    with pytest.raises(FileError, match="no sheet with anything in it"):
        chosen_table("f", None, [], "sheet")


FILES = {
    "a PDF file": b"%PDF-1.7 secret",
    "a web page": b"<!DOCTYPE html><p>secret",
    "an XML file": b'<?xml version="1.0"?><secret/>',
    "an HDF5 file": b"\x89HDF\r\n\x1a\nsecret",
    "a picture": b"\x89PNG\r\n\x1a\nsecret",
    "a pickle file": b"\x80\x04\x95secret",
    "an Access database": b"\x00\x01\x00\x00Standard ACE DB\0secret",
    "a tar archive": bytes(257) + b"ustar\0secret",
    "a 7z or rar archive": b"Rar!\x1a\x07secret",
    "a MATLAB file": b"MATLAB 5.0 MAT-file, secret",
    "an Avro file": b"Obj\x01secret",
    "an ORC file": b"ORCsecret",
    "a NumPy file": b"\x93NUMPYsecret",
    "an encrypted file": b"-----BEGIN PGP MESSAGE-----\nsecret",
    "a Feather file of the first version": b"FEA1secret",
    "a portable file of SPSS": b"ASCII SPSS PORT FILE" + b" " * 60 + b"secret",
    "a SAS catalog": bytes(12) + b"\xc2\xea\x81\x63secret",
}


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("name", ["t.csv", "t"])
def test_what_it_is_and_what_to_do(tmp_path, what, name):
    (tmp_path / name).write_bytes(FILES[what] + b" " * 600)
    with pytest.raises(FileError) as caught:
        chaffinch.read(tmp_path / name)
    message = str(caught.value)
    assert f"is {what}" in message
    assert "secret" not in message
    advice = message.partition("not read. ")[2]
    assert len(advice.split()) > 3


@pytest.mark.parametrize("text", ["<age>,b\n", "[a],b\n", "{x},b\n", "Object,b\n", "ORCID,b\n"[1:]])
def test_text_that_looks_a_little_like_one(tmp_path, text):
    (tmp_path / "t.csv").write_text(text + "1,2\n1,3\n")
    assert chaffinch.read(tmp_path / "t.csv").n_rows == 2


def test_what_is_said_is_kept():
    options = ReadOptions.from_options(
        {
            "encoding": "latin-1",
            "delimiter": ";",
            "decimal": ",",
            "header": False,
            "comment": "%",
            "table": "May",
        }
    )
    assert options == ReadOptions("latin-1", ";", ",", "no", "%", "May")
    assert ReadOptions.from_options({}, tolerant=True) == ReadOptions(tolerant=True)
    assert [
        ReadOptions.from_options({"header": header}).header
        for header in (True, "units", "3", 3, None)
    ] == ["yes", "units", 3, 3, None]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"encoding": "klingon"}, "Unknown encoding 'klingon'"),
        ({"encoding": "zlib"}, "Unknown encoding 'zlib'"),  # a codec of Python, but of no text
        ({"encoding": "a\0b"}, "Unknown encoding"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"comment": '"'}, "comment must be one character, and no quote"),
        ({"decimal": "x"}, "decimal must be"),
        ({"header": "maybe"}, "header must be one of yes, no, units"),
        ({"header": 0}, "header must be one of"),
        ({"header": "-1"}, "header must be one of"),
    ],
)
def test_what_cannot_be_said(options, says):
    with pytest.raises(InputError, match=says):
        ReadOptions.from_options(options)
