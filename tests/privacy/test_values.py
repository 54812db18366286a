"""A stored cell as a value of its declared type: each by itself, the same however its column is stored, null where it is none."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from chaffinch.privacy.prepare import declared_values, in_type
from chaffinch.table import Column

AGE = Column("age", "integer", type="int64", bounds=(0, 120))
DAY = Column("day", "date", type="date32", bounds=(0, 20_000))
ILL = Column("ill", "boolean", type="bool")


@pytest.mark.parametrize(
    ("column", "cells", "values"),
    [
        (AGE, pa.array(["7", " 8 ", "x", "", "9.0", None]), [7, 8, None, None, 9, None]),
        (AGE, pa.array([7.0, 8.0, None]), [7, 8, None]),
        (AGE, pa.array([b"7", b"\xff"]), [7, None]),
        (DAY, pa.array(["2020-01-02", "yesterday"]), [datetime.date(2020, 1, 2), None]),
        (DAY, pa.array([datetime.datetime(2020, 1, 2, 3, 4)]), [datetime.date(2020, 1, 2)]),
        (ILL, pa.array(["true", "False", "perhaps"]), [True, False, None]),
    ],
)
def test_cells_become_values_or_null(column, cells, values):
    assert declared_values(column, cells, blank=True)[0].to_pylist() == values


@pytest.mark.parametrize("spelled", ["", "%Y-%m-%dT%H:%M:%S%:z"])
def test_moments_in_a_zone_are_the_same_instants_however_they_are_stored(spelled):
    noon = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    column = Column(
        "seen", "datetime", type="timestamp[s, tz=+02:00]", bounds=(0, 2e9), format=spelled
    )
    for cells in (
        pa.array([noon.isoformat()]),
        pa.array([noon], pa.timestamp("us", tz="UTC")),
        pa.array([noon], pa.timestamp("ms", tz="-05:00")),
    ):
        assert declared_values(column, cells, blank=True)[0].to_pylist() == [noon]


def test_no_cell_changes_anothers_value():
    """The second opinion: each cell read alone gives what it gives among the others."""
    cells = [
        "1",
        "2.5",
        "-3",
        "1e2",
        "99999999999999999999999",
        "1,5",
        "nan",
        "0x10",
        " 4",
        "seven",
        "٣",
    ]
    together = declared_values(AGE, pa.array(cells), blank=True)[0].to_pylist()
    assert together == [
        declared_values(AGE, pa.array([cell]), blank=True)[0][0].as_py() for cell in cells
    ]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(
            [
                "2001-01-01T23:59:59.999999999",
                "0001-01-01T00:00:01",
                "9999-12-31T23:59:59.999999",
                "x",
            ]
        ),
        pa.array(
            [
                datetime.datetime(2001, 1, 1, 23, 59, 59, 999_999),
                datetime.datetime(1, 1, 1, 0, 0, 1),
                datetime.datetime(9999, 12, 31, 23),
                None,
            ]
        ),
        pa.Array.from_buffers(
            pa.date64(),
            4,
            [
                pa.py_buffer(b"\x07"),
                pa.array([978_393_599_999, -62_135_596_799_000, 253_402_300_799_999, 0]).buffers()[
                    1
                ],
            ],
        ),
    ],
    ids=["words", "moments", "days and a part"],
)
def test_days_in_milliseconds_are_whole_days(cells):
    """Arrow calls others damaged where it looks; before 1970 a day begins below its moments too."""
    column = Column("day", "date", type="date64", bounds=(0, 1e12))
    values = declared_values(column, cells, blank=True)[0]
    values.validate(full=True)
    assert values.to_pylist() == [
        datetime.date(2001, 1, 1),
        datetime.date(1, 1, 1),
        datetime.date(9999, 12, 31),
        None,
    ]


def test_missing_codes_are_tokens():
    column = Column("age", "integer", type="int64", bounds=(0, 120), missing=("refused", "unknown"))
    values, tokens = declared_values(column, pa.array(["7", "unknown", "refused", "x"]), blank=True)
    assert values.to_pylist() == [7, None, None, None]
    assert tokens.tolist() == [-1, 1, 0, -1]


def test_words_come_in_the_declared_type():
    words = pa.array(["a", "b", "a", None], type=pa.large_string())
    assert in_type(words, pa.string()).type == pa.string()
    coded = in_type(words, pa.dictionary(pa.int32(), pa.string()))
    assert coded.type == pa.dictionary(pa.int32(), pa.string())
    assert coded.to_pylist() == ["a", "b", "a", None]
