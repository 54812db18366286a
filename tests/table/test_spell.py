"""One spelling for each value: the same as an Arrow value and as a Python object, and apart from every other of its type."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.table.spell import spell, spell_values

COLUMNS = [
    pa.array([1, -7, 0, None]),
    pa.array([1.0, 0.5, -0.25, 1e300, None]),
    pa.array([True, False, None]),
    pa.array(["a", "", "é", None]),
    pa.array([datetime.date(2020, 1, 2), None]),
    pa.array(
        [
            datetime.datetime(2020, 1, 2, 3, 4, 5),
            datetime.datetime(1999, 12, 31, 23, 59, 59, 5),
            None,
        ]
    ),
    pa.array([datetime.time(1, 2), datetime.time(1, 2, 3), None]),
    pa.array([Decimal("1.50"), Decimal("-2.25"), None]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_arrow_and_python_spell_alike_and_values_apart(column):
    words = spell_values(column).to_pylist()
    assert words == [spell(cell) for cell in column.to_pylist()]
    assert len(set(words)) == len(words)


class Angry:
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "cell", [None, float("nan"), Decimal("sNaN"), np.datetime64("NaT"), Angry()]
)
def test_what_has_no_spelling_is_missing_and_stops_nothing(cell):
    assert spell(cell) is None
