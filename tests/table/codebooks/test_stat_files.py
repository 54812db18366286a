"""The codebook inside SPSS and Stata files: labels become levels, and no record is read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch.table.codebooks import read_codebook
from chaffinch.table.codebooks.stat_files import column_from_labels
from chaffinch.table.formats.format import Labels


@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        (
            pa.float64(),
            Labels("Sex", {1.0: "f", 2.0: "m", 9.0: "refused"}, (9.0,), "F1.0", "nominal"),
            ("categorical", (1, 2), (9,)),
        ),
        (
            pa.float64(),
            Labels("", {1.0: "low", 2.0: "high"}, (), "F1.0", "ordinal"),
            ("categorical", (1, 2), ()),
        ),
        (
            pa.float64(),
            Labels("", {97.0: "many", 98.0: "?"}, (98.0,), "F2.0", "scale"),
            ("integer", None, (98,)),
        ),
        (
            pa.int8(),
            Labels("", {0: "no", 1: "yes"}, (), "%8.0g", "unknown"),
            ("categorical", (0, 1), ()),
        ),
        (
            pa.int8(),
            Labels("", {97: "many", 98: "?"}, (), "%8.0g", "unknown"),
            ("integer", None, ()),
        ),
        (
            pa.int8(),
            Labels("", {-8: "n/a", 1: "a", 2: "b"}, (), "%8.0g", "unknown"),
            ("categorical", (-8, 1, 2), ()),
        ),
        (pa.float64(), Labels("", {}, (), "F8.2", "scale"), ("float", None, ())),
        (pa.float64(), Labels("", {}, (), "F8.0", "scale"), ("integer", None, ())),
        (pa.date32(), Labels("", {1: "x", 2: "y"}, (), "DATE11", "nominal"), ("date", None, ())),
        (
            pa.string(),
            Labels("", {"a": "A", "b": "B"}, (), "A1", "nominal"),
            ("categorical", ("a", "b"), ()),
        ),
        (pa.string(), Labels("", {}, (), "A20", "nominal"), ("unknown", None, ())),
    ],
)
def test_what_labels_say(kind, labels, expected):
    column = column_from_labels("a", kind, labels, "SPSS .sav")
    assert (column.kind, column.levels, column.missing) == expected
    assert column.other == (column.kind == "categorical")
    assert column.title == labels.title


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_file_is_its_own_codebook(tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra pyreadstat")
    import pandas as pd

    path = tmp_path / f"d.{ending}"
    books = []
    for rows in ([1.0, 2.0], [2.0, 77.0, 5.0]):
        frame = pd.DataFrame({"sex": rows, "pay": [0.5] * len(rows)})
        write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
        write(
            frame,
            str(path),
            variable_value_labels={"sex": {1: "f", 2: "m"}},
            column_labels={"sex": "Sex", "pay": "Pay"},
        )
        books.append(read_codebook(path))
    assert books[0] == books[1]  # whatever the records are
    assert (books[0]["sex"].levels, books[0]["sex"].title) == ((1, 2), "Sex")
    assert books[0]["sex"].labels == ((1, "f"), (2, "m"))
    assert books[0]["pay"].lacks == "bounds"
