"""Text files: spelling, delimiters, quotes and packing survive."""

from __future__ import annotations

import datetime
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch

from ..conftest import again

CSV = """id,age,size,pay,flag,day,when,zip,note
{rows}"""


def spelled_rows(n=60):
    rng = np.random.default_rng(9)
    rows = []
    for i in range(n):
        age = (
            "NA"
            if i % 10 == 0
            else ""
            if i % 15 == 0
            else "-8"
            if i % 7 == 0
            else str(rng.integers(18, 90))
        )
        size = "?" if i % 12 == 0 else f"{rng.normal(170, 10):.1f}"
        day = f"{rng.integers(1, 29):02d}/{rng.integers(1, 13):02d}/{rng.integers(1990, 2020)}"
        rows.append(
            f"{i},{age},{size},{rng.gamma(2, 50):.2f},{'True' if i % 3 else 'False'},{day},"
            f"2020-01-{rng.integers(1, 29):02d} {rng.integers(0, 24):02d}:{rng.integers(0, 60):02d},"
            f'0{rng.integers(1, 4)},"a, {"b" if i % 2 else "c"}"'
        )
    return rows


def test_csv_keeps_its_spelling(tmp_path):
    path = tmp_path / "in.csv"
    rows = spelled_rows()
    path.write_text(CSV.format(rows="\n".join(rows)) + "\n")
    table = chaffinch.read(path)
    schema = table.schema
    assert schema["id"].kind == "identifier"
    assert schema["age"].kind == "integer"
    assert schema["age"].missing == ("NA",)
    assert schema["age"].nullable
    assert (schema["size"].kind, schema["size"].decimals, schema["size"].format) == (
        "float",
        1,
        "fixed 1",
    )
    assert schema["flag"].format == "True/False"
    assert (schema["day"].kind, schema["day"].format) == ("date", "%d/%m/%Y")
    assert (schema["when"].kind, schema["when"].format, schema["when"].step) == (
        "datetime",
        "%Y-%m-%d %H:%M",
        60,
    )
    assert schema["zip"].kind == "categorical"
    out_path = tmp_path / "out.csv"
    table.write(out_path)
    assert out_path.read_text() == path.read_text()  # the table itself, to the letter
    again(table).write(out_path, overwrite=True)
    given_cells = [row.split(",") for row in path.read_text().splitlines()]
    out_cells = [row.split(",") for row in out_path.read_text().splitlines()]
    assert out_cells[0] == [name for name in given_cells[0] if name != "id"]
    for came, went in zip(given_cells[1:], out_cells[1:], strict=True):
        assert (came[1] in ("NA", "")) == (went[0] in ("NA", ""))
        assert came[1] == went[0] or came[1] not in ("NA", "")  # missing keeps its code
        assert (came[2] == "?") == (went[1] == "?")
        assert came[2] == "?" or len(went[1].split(".")[1]) == 1
        assert came[4] == went[3]
        assert datetime.datetime.strptime(went[4], "%d/%m/%Y")
        assert datetime.datetime.strptime(went[5], "%Y-%m-%d %H:%M")
        assert came[7:] == went[6:]
    typed = table.to_arrow()
    assert str(typed["age"].type) == "int64"
    assert typed["age"].null_count == sum(row.split(",")[1] in ("NA", "") for row in rows)


@pytest.mark.parametrize(
    ("ending", "delimiter"),
    [(".csv", ";"), (".csv", "|"), (".tsv", "\t"), (".csv.gz", ","), (".tsv.gz", "\t")],
)
def test_delimiters_and_gzip(tmp_path, ending, delimiter):
    text = (
        delimiter.join(["a", "b c"])
        + "\n"
        + "".join(f"{i % 3}{delimiter}w{i % 2}\n" for i in range(40))
    )
    path = tmp_path / f"in{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    table = chaffinch.read(path)
    assert table.columns == ("a", "b c")
    out = tmp_path / f"out{ending}"
    table.write(out)
    written = gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()
    assert written.decode() == text


def test_quotes_line_breaks_and_unicode_survive(tmp_path):
    words = ['say "hi"', "two\nlines", "a,b", "Ünïcode ☃", " padded "]
    table = chaffinch.read(pa.table({"w": words * 8, 'k, "q"': ["x", "y"] * 20}))
    table.write(tmp_path / "t.csv")
    back = chaffinch.read(tmp_path / "t.csv")
    assert back.columns == table.columns
    assert back.data["w"].to_pylist() == table.data["w"].to_pylist()
    byte_mark = tmp_path / "bom.csv"
    byte_mark.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "t.csv").read_bytes())
    assert chaffinch.read(byte_mark).columns == table.columns
    other = tmp_path / "latin.csv"
    other.write_bytes("naïve,b\nœuf,1\nœuf,2\n".encode("cp1252"))
    assert chaffinch.read(other, encoding="cp1252", rare="keep").data["naïve"].to_pylist() == [
        "œuf",
        "œuf",
    ]
