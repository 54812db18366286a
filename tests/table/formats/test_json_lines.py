"""JSON lines are read and written; what is no line of objects says so."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError

ROWS = [
    {
        "age": 20 + i % 9,
        "sex": "fm"[i % 2],
        "x": i % 4 + 0.5,
        "ok": i % 3 == 0,
        "day": f"2020-01-{i % 28 + 1:02d}",
    }
    for i in range(60)
]


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.ndjson.gz"])
def test_lines_are_a_table(tmp_path, name):
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    table = chaffinch.read(tmp_path / name)
    assert table.data.select(["age", "sex", "x", "ok"]).to_pylist() == [
        {k: v for k, v in row.items() if k != "day"} for row in ROWS
    ]
    table.write(tmp_path / "out.jsonl.zst")
    again = chaffinch.read(tmp_path / "out.jsonl.zst")
    assert (
        again.data.select(["age", "sex"]).to_pylist()
        == table.data.select(["age", "sex"]).to_pylist()
    )
    assert again.schema["day"].kind == table.schema["day"].kind


def test_columns_of_lists_are_dropped_and_said(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({**row, "tags": [1, 2]}) + "\n" for row in ROWS)
    )
    table = chaffinch.read(tmp_path / "t.jsonl")
    assert table.schema["tags"].kind == "text"


@pytest.mark.parametrize(
    ("content", "says", "kind"),
    [
        (
            '{"a": 1, "b": "x"}\n{"a": "y", "b": "x"}\n',
            "Column 'a' .* is a number in some lines and a string in others",
            InputError,
        ),
        ('{"a": 1,\n "b": "x"}\n{"a": ', "every line must be one object", FileError),
        (
            '[{"a": 1}, {"a": 2}]',
            "a JSON file with an array, which is not read. Make JSON lines of it: jq",
            FileError,
        ),
    ],
)
def test_what_is_no_line_of_objects(tmp_path, content, says, kind):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(kind, match=says):
        chaffinch.read(tmp_path / "t.json")


def test_dates_and_decimals_are_written_plainly(tmp_path):
    import datetime
    from decimal import Decimal

    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 10
    table = chaffinch.read(
        pa.table({"d": days, "m": [Decimal("1.50"), Decimal("2.25")] * 10}), rare="keep"
    )
    table.write(tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["d"] == "2020-01-01"
