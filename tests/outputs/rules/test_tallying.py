"""How outputs count the people behind them: within filters, and with what a reader is shown of each count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.crossing import crossed
from chaffinch.outputs.document import output_of
from chaffinch.outputs.fields import Field, Fields
from chaffinch.outputs.rules.tallying import Tallier, is_unsaid, summed, tallies_of

FIELDS = Fields((Field("A", ("a", "b", "c")), Field("B", ("x", "y")), Field("AGE", tuple(range(5)))))
WHERE = {
    None: lambda a, b, age: True,
    "AGE >= 2": lambda a, b, age: age >= 2,
    "A != 'a'": lambda a, b, age: a != 0,
    "A == 'a' or AGE == 0": lambda a, b, age: a == 0 or age == 0,
}


def tallier(codes: Any, **entry: Any) -> Tallier:
    return Tallier(output_of({"name": "t", "kind": "table", "by": ["A", "B"], **entry}), FIELDS, codes)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=30), st.sampled_from(list(WHERE)))
def test_counts_are_those_of_plain_counting(rows: Any, where: Any) -> None:
    counting = tallier(np.array(rows, dtype=np.int32), where=where)
    table = counting.tally("cells", crossed(["A", "B"], {}, FIELDS, output="t"))
    for a in range(3):
        for b in range(2):
            cell = 2 * a + b
            assert table.counts[cell] == sum(row[:2] == (a, b) and WHERE[where](*row) for row in rows)
            assert table.possible[cell] == (where != "A != 'a'" or a != 0)
    assert [label >= 0 for label in table.labels] == [WHERE[where](*row) for row in rows]


@pytest.mark.parametrize(
    ("keys", "ends", "withheld"),
    [
        ({}, [(4, 4), (12, 12), (0, 0)], [False, False, False]),
        ({"threshold": 5}, [(1, 4), (12, 12), (0, 0)], [True, False, False]),
        ({"threshold": 13}, [(1, 12), (1, 12), (0, 0)], [True, True, False]),
        ({"threshold": 5, "suppressed_zeros": True}, [(0, 4), (12, 12), (0, 4)], [True, False, True]),
        ({"base": 5}, [(3, 7), (8, 12), (0, 2)], [False, False, False]),
        ({"base": 5, "rounding": "up"}, [(1, 5), (11, 15), (0, 0)], [False, False, False]),
        ({"bands": ["1-5"]}, [(1, 5), (12, 12), (0, 0)], [True, False, False]),
        ({"withheld": ["b"]}, [(4, 4), (0, 16), (0, 0)], [False, True, False]),
    ],
)
def test_what_a_reader_is_shown(keys: dict[str, Any], ends: list[tuple[int, int]], withheld: list[bool]) -> None:
    codes = np.zeros((16, 3), dtype=np.int32)
    codes[4:, 0] = 1
    table = tallies_of(output_of({"name": "t", "kind": "table", "by": ["A"], **keys}), FIELDS, codes)[0]
    assert list(zip(table.lo.tolist(), table.hi.tolist(), strict=True)) == ends
    assert table.withheld.tolist() == withheld


def test_sums_over_groups_leave_out_what_is_in_none() -> None:
    cells = crossed(["A", "AGE"], {"AGE": [[0, 1], [2, 3]]}, FIELDS, output="t")
    left = summed(cells, (False, True))
    assert (left.positions, left.shape) == ((0, 2), (3, 1))
    assert left.steps[1][1].tolist() == [0, 0, 0, 0, -1]
    assert summed(cells, (True, False)).positions == (2,)


def test_signs_of_what_is_withheld() -> None:
    assert [is_unsaid(cell) for cell in (None, "x", " x ", "?", "<10", 3)] == [True, True, True, True, False, False]
