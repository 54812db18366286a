"""Writing: a file is whole or not there, and typed files keep schema and values."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.errors import FileError
from chaffinch.table.formats import FORMATS
from chaffinch.table.write import ending_like, file_format

from .conftest import arrow_table


def test_outputs_that_cannot_be_written(tmp_path):
    table = chaffinch.read(pa.table({"a": ["p", "q"] * 9, "b": ["x", "y"] * 9}))
    for path, says in (
        (tmp_path / "none" / "t.csv", "there is no folder"),
        (tmp_path, "Cannot tell the format"),
        (tmp_path / "t.doc", "End it in one of .csv"),
    ):
        with pytest.raises(chaffinch.errors.FileError, match=says):
            table.write(path)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(chaffinch.errors.FileError, match="it is a folder"):
        table.write(tmp_path / "d.csv")


KILLED = """
import sys, time
import pyarrow as pa, chaffinch
from chaffinch.table import table_writer
table = chaffinch.read(pa.table({"a": ["p", "q"] * 5000, "b": ["x", "y"] * 5000}))
with table_writer(sys.argv[1], overwrite=True) as write:
    write(table)
    print("writing", flush=True)
    while True:
        write(table)
        time.sleep(0.01)
"""


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_leaves_the_old_file(tmp_path, how, ending):
    path = tmp_path / f"t{ending}"
    path.write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout.readline() == b"writing\n"
        time.sleep(0.2)
        process.send_signal(how)
        process.wait(20)
    finally:
        process.kill()
    assert path.read_text() == "old"
    if how is signal.SIGINT:
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_typed_files_keep_schema_and_values(ending, tmp_path):
    table = chaffinch.read(
        arrow_table().drop_columns("day64")
    )  # Parquet itself turns date64 into date32
    path = tmp_path / f"t{ending}"
    table.write(path)
    back = chaffinch.read(path)
    assert back.to_arrow().equals(table.to_arrow())


def test_a_file_is_written_like_another(tmp_path):
    (tmp_path / "people").write_text("a,b\n1,2\n")
    assert ending_like(tmp_path / "people") == ".csv"
    assert ending_like(tmp_path / "people.TSV.GZ") == ".tsv.gz"
    with pytest.raises(FileError, match=r"Cannot tell the format of 'x.y'. End it in one of .csv"):
        file_format("x.y")


CANARY, ROWS = "Canary4711", 8_237
"""A word that stands wherever a file can say something of itself, and a number of rows that is nowhere else."""

WRITTEN = [ending for form in FORMATS if form.writer is not None for ending in form.endings]


def _planted(n: int = ROWS) -> pd.DataFrame:
    """A pandas table with a canary in its attributes, among its unused categories and in one record alone."""
    rng = np.random.default_rng(3)
    sex = pd.Categorical(rng.choice(["f", "m"], n), categories=["f", "m", f"{CANARY}unused"])
    word = np.where(np.arange(n) == 7, f"{CANARY}rare", rng.choice(["a", "b", "c"], n))
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "sex": sex,
            "word": word,
            "part": pd.array(rng.integers(0, 4, n), dtype="Int64"),
        }
    )
    frame.attrs["query"] = f"select * from {CANARY}"
    return frame


def _planted_arrow() -> pa.Table:
    """The same with the history of a file, comments of fields, and keys that we know with values that are none of theirs."""
    table = pa.Table.from_pandas(_planted())
    notes = {
        b"history": CANARY.encode(),
        b"file.label": CANARY.encode(),
        b"chaffinch": json.dumps({"note": CANARY}).encode(),
    }
    table = table.replace_schema_metadata({**table.schema.metadata, **notes})
    keys = (
        "comment",
        "PARQUET:field_id",
        "ARROW:extension:metadata",
        "spss.format",
        "spss.measure",
        "spss.width",
        "spss.missing",
        "stata.format",
    )
    field = table.schema.field("age").with_metadata(
        {key: "471100" if key == "PARQUET:field_id" else CANARY for key in keys}
    )
    return table.set_column(0, field, table.column(0))


def _planted_file(path, ending):
    """A file of a format with a canary in all that it can say of itself."""
    frame = _planted().assign(
        sex=lambda f: f["sex"].astype(str), part=lambda f: f["part"].astype("int64")
    )
    if ending == ".parquet":
        pa.parquet.write_table(_planted_arrow(), path)
    elif ending in (".arrow", ".feather"):
        with pa.ipc.new_file(str(path), _planted_arrow().schema) as out:
            out.write_table(_planted_arrow())
    elif ending == ".sav":
        pyreadstat = pytest.importorskip("pyreadstat")
        pyreadstat.write_sav(
            frame, str(path), file_label=CANARY, note=CANARY, variable_format={"age": "F8.0"}
        )
    elif ending == ".dta":
        pytest.importorskip("pyreadstat").write_dta(frame, str(path), file_label=CANARY)
    elif ending == ".xpt":
        pytest.importorskip("pyreadstat").write_xport(
            frame, str(path), file_label=CANARY, table_name="C4711", file_format_version=8
        )
    elif ending == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        book.properties.creator = book.properties.title = book.active.title = CANARY
        for row in [list(frame.columns), *frame.values.tolist()]:
            book.active.append(row)
        book.active["A1"].comment = __import__("openpyxl").comments.Comment(CANARY, CANARY)
        book.save(path)
    elif ending in (".jsonl", ".ndjson"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending.startswith(".tsv") else ",")


def _everything(path) -> bytes:
    """All that stands in a file, unpacked."""
    raw = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            raw += b"".join(name.encode() + archive.read(name) for name in archive.namelist())
    if raw[:2] == b"\x1f\x8b":
        raw += gzip.decompress(raw)
    if raw[:4] == b"PAR1":
        stored = pa.parquet.ParquetFile(path)
        raw += str(
            [
                stored.metadata.metadata,
                stored.schema_arrow.metadata,
                [f.metadata for f in stored.schema_arrow],
            ]
        ).encode()
        raw += str(
            [f.type.value_type for f in stored.schema_arrow if pa.types.is_dictionary(f.type)]
        ).encode()
        raw += str(stored.read().to_pylist()).encode()  # pages are packed
    return raw


def _told(raw: bytes) -> list[str]:
    """What of the original stands in the bytes of a released file."""
    told = [
        word
        for word in (CANARY, "C4711")
        if any(word.encode(code) in raw for code in ("utf-8", "utf-16-le"))
    ]
    # Within a checksum or a noisy number these digits are chance.
    return told + [str(ROWS)] * bool(re.search(rf"(?<![\w.]){ROWS}(?![\w.])".encode(), raw))


@pytest.fixture(scope="module")
def planted_models(tmp_path_factory):
    """A model by the ending of the file that it was fitted to: those that say something of themselves beside one that does not."""
    folder, models = tmp_path_factory.mktemp("planted"), {}

    def model(ending):
        if ending not in models:
            source = folder / f"people{ending}"
            if ending == "pandas":
                source = _planted()
            elif ending == "polars":
                source = pytest.importorskip("polars").from_pandas(_planted())
            elif ending == "arrow":
                source = _planted_arrow()
            else:
                _planted_file(source, ending)
                if source.suffix not in (".gz", ".zst", ".bz2"):
                    assert _told(_everything(source))  # the canary is there to be found
            models[ending] = chaffinch.Independent().fit(source, seed=1)
        return models[ending]

    return model


@pytest.mark.parametrize(
    "came",
    ["pandas", "polars", "arrow", ".parquet", ".feather", ".sav", ".dta", ".xpt", ".xlsx", ".csv"],
)
def test_what_an_original_says_of_itself_is_in_no_file_that_is_drawn_from_it(
    tmp_path, planted_models, came
):
    """Histories, queries, comments, labels of files, names of sheets, unused categories, numbers of rows: in every format that is written."""
    drawn = planted_models(came).sample(100, seed=2)
    for ending in WRITTEN:
        path = tmp_path / f"released{ending}"
        drawn.write(path)
        assert not _told(_everything(path)), (came, ending)
    native = drawn.to_native()
    assert CANARY not in str(getattr(native, "attrs", "")) + str(getattr(native, "schema", ""))


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("ending", [".parquet", ".feather", ".sav"])
def test_a_release_leaves_with_nothing_that_its_original_says_of_itself(tmp_path, ending, engine):
    source = tmp_path / f"people{ending}"
    _planted_file(source, ending)
    result = chaffinch.release(
        source,
        method="independent",
        rows=100,
        seed=1,
        engine=engine,
        measures=["tvd"],
        attackers=["cap", "dcap", "disco", "tcap", "memorisation"],
        sample_rows=500,
    )
    result.save(tmp_path / "out")
    leaving = [path for path in (tmp_path / "out" / "to-release").rglob("*") if path.is_file()]
    assert leaving
    assert not [word for path in leaving for word in _told(_everything(path))]


def test_the_notes_that_types_need_are_kept(tmp_path):
    keys = {
        "spss.format": "F8.2",
        "spss.measure": "scale",
        "spss.width": "8",
        "spss.missing": "[[99.0, 99.0], [null, -1.0]]",
        "stata.format": "%tdDD/NN/CCYY",
    }
    table = arrow_table()
    field = table.schema.field(0).with_metadata({**keys, "comment": CANARY})
    chaffinch.read(table.set_column(0, field, table.column(0))).write(tmp_path / "t.parquet")
    kept = pa.parquet.read_schema(tmp_path / "t.parquet").field(0).metadata
    assert {
        key.decode(): value.decode()
        for key, value in kept.items()
        if not key.startswith(b"PARQUET")
    } == keys


def test_a_private_model_that_leaves_says_nothing_that_its_original_says_of_itself(tmp_path):
    pytest.importorskip("opendp")
    age = chaffinch.Column("age", "integer", bounds=(18, 60), bins=4)
    schema = chaffinch.Schema(
        (age, chaffinch.Column("word", "categorical", levels=("a", "b", "c"), other=True)),
        public=True,
    )
    model = chaffinch.PrivBayes(epsilon=1, neighbours="add-remove").fit(
        chaffinch.prepare(_planted_arrow().select(["age", "word"]), schema),
        seed=3,  # or the noisy number of rows is the true one in 1.4 % of runs
    )
    model.save(tmp_path / "model.chaffinch")
    model.sample(100, seed=1).write(tmp_path / "t.parquet")
    assert not _told((tmp_path / "model.chaffinch").read_bytes())
    assert not _told(_everything(tmp_path / "t.parquet"))
