"""How outputs count the people behind them: within filters, and with what a reader is shown of each count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.cells import crossed
from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules import Policy, check_entries
from chaffinch.outputs.rules.atoms import cells_of
from chaffinch.outputs.rules.tallies import MissingLevels, Tallier, is_unsaid, summed, tallies_of

FIELDS = Fields(
    (Field("A", ("a", "b", "c")), Field("B", ("x", "y")), Field("AGE", tuple(range(5))))
)
WHERE = {
    None: lambda a, b, age: True,
    "AGE >= 2": lambda a, b, age: age >= 2,
    "A != 'a'": lambda a, b, age: a != 0,
    "A == 'a' or AGE == 0": lambda a, b, age: a == 0 or age == 0,
}


def tallier(codes: Any, **entry: Any) -> Tallier:
    return Tallier(
        output_of({"name": "t", "kind": "table", "by": ["A", "B"], **entry}), FIELDS, codes
    )


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=30
    ),
    st.sampled_from(list(WHERE)),
)
def test_counts_are_those_of_plain_counting(rows: Any, where: Any) -> None:
    counting = tallier(np.array(rows, dtype=np.int32), where=where)
    table = counting.tally("cells", crossed(["A", "B"], {}, FIELDS, output="t"))
    for a in range(3):
        for b in range(2):
            cell = 2 * a + b
            assert table.counts[cell] == sum(
                row[:2] == (a, b) and WHERE[where](*row) for row in rows
            )
            assert table.possible[cell] == (where != "A != 'a'" or a != 0)
    assert [label >= 0 for label in table.labels] == [WHERE[where](*row) for row in rows]


@pytest.mark.parametrize(
    ("keys", "ends", "withheld"),
    [
        ({}, [(4, 4), (12, 12), (0, 0)], [False, False, False]),
        ({"threshold": 5}, [(1, 4), (12, 12), (0, 0)], [True, False, False]),
        ({"threshold": 13}, [(1, 12), (1, 12), (0, 0)], [True, True, False]),
        (
            {"threshold": 5, "suppressed_zeros": True},
            [(0, 4), (12, 12), (0, 4)],
            [True, False, True],
        ),
        ({"base": 5}, [(3, 7), (8, 12), (0, 2)], [False, False, False]),
        ({"base": 5, "rounding": "up"}, [(1, 5), (11, 15), (0, 0)], [False, False, False]),
        ({"bands": ["1-5"]}, [(1, 5), (12, 12), (0, 0)], [True, False, False]),
        ({"withheld": ["b"]}, [(4, 4), (0, 16), (0, 0)], [False, True, False]),
    ],
)
def test_what_a_reader_is_shown(
    keys: dict[str, Any], ends: list[tuple[int, int]], withheld: list[bool]
) -> None:
    codes = np.zeros((16, 3), dtype=np.int32)
    codes[4:, 0] = 1
    table = tallies_of(
        output_of({"name": "t", "kind": "table", "by": ["A"], **keys}), FIELDS, codes
    )[0]
    assert list(zip(table.lo.tolist(), table.hi.tolist(), strict=True)) == ends
    assert table.withheld.tolist() == withheld


def test_sums_over_groups_leave_out_what_is_in_none() -> None:
    cells = crossed(["A", "AGE"], {"AGE": [[0, 1], [2, 3]]}, FIELDS, output="t")
    left = summed(cells, (False, True))
    assert (left.positions, left.shape) == ((0, 2), (3, 1))
    assert left.steps[1][1].tolist() == [0, 0, 0, 0, -1]
    assert summed(cells, (True, False)).positions == (2,)


def test_signs_of_what_is_withheld() -> None:
    assert [is_unsaid(cell) for cell in (None, "x", " x ", "?", "<10", 3)] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


OF_SOME = [
    {"kind": "table", "by": ["A"]},
    {"kind": "table", "by": ["B"], "where": "A == 'a' or AGE == 0", "margins": True},
    {"kind": "mean", "of": "AGE", "by": ["B"], "n": True},
    {"kind": "mean", "of": "AGE", "where": "A != 'a'", "n": True},
    {
        "kind": "tree",
        "leaves": [{"where": "AGE < 2", "n": True}, {"where": "AGE >= 2 and B == 'x'", "n": True}],
    },
    {"kind": "histogram", "of": "AGE", "edges": [0, 2, 4]},
]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(-1, 2), st.integers(-1, 1), st.integers(-1, 4)),
        min_size=1,
        max_size=30,
    ).filter(lambda rows: (0, 0, 0) in rows),
    st.sampled_from(OF_SOME),
)
def test_records_with_a_missing_value_are_left_out_by_the_definition_of_each_cell(
    rows: Any, entry: Any
) -> None:
    """Counts are those of the records that have all its columns, and the levels that define a cell say who is in it."""
    output, codes = output_of({"name": "t", **entry}), np.array(rows, dtype=np.int32)
    own = list(output.own_columns(FIELDS))
    complete = (codes[:, own] >= 0).all(axis=1)
    missing = MissingLevels(FIELDS.columns.sizes, codes)
    with_missing = missing.coded(codes)
    some = tallies_of(output, FIELDS, np.maximum(codes[complete], 0))
    for one, expected in zip(tallies_of(output, FIELDS, codes), some, strict=True):
        assert one.counts.tolist() == expected.counts.tolist()
        assert one.possible.tolist() == expected.possible.tolist()
        assert one.labels[complete].tolist() == expected.labels.tolist()
        assert (one.labels[~complete] == -1).all()
        grid = {column: with_missing[:, column].astype(np.int64) for column in range(3)}
        assert cells_of(one, grid, len(codes), one.sizes).tolist() == one.labels.tolist()


@pytest.mark.parametrize(
    ("missing", "least", "words"), [(1, 10, "fail"), (12, 10, "pass"), (0, 10, "pass")]
)
def test_what_two_outputs_leave_out_is_looked_at(missing: int, least: int, words: str) -> None:
    """By A: all records. By B: those without a missing value. The totals tell how many have none, and by AGE of what age they are."""
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, 400) for size in FIELDS.columns.sizes], axis=1).astype(
        np.int32
    )
    codes[:missing, 1] = -1
    codes[:missing, 2] = 3
    entries = [
        {"name": "age", "kind": "table", "by": ["AGE"]},
        {"name": "both", "kind": "table", "by": ["AGE", "B"]},
    ]
    report = check_entries(entries, FIELDS, codes, Policy(threshold=least))
    assert report.worst == words
    assert [one.rule for one in report if one.status == "fail"] == ["differencing"] * (
        words == "fail"
    )


@pytest.mark.parametrize(("missing", "undone"), [(0, True), (12, False)])
def test_a_withheld_cell_follows_from_an_n_of_the_same_records_alone(
    missing: int, undone: bool
) -> None:
    """Of 3 people in cell b nothing is said; n less the other cells gives them, unless some of the other cells are not in n."""
    codes = np.array([[0, 0, 0]] * 52 + [[1, 1, 0]] * 3 + [[2, 1, 0]] * 20, dtype=np.int32)
    codes[:missing, 2] = -1
    entries = [
        {"name": "a", "kind": "table", "by": ["A"], "threshold": 10},
        {"name": "n", "kind": "mean", "of": "AGE", "n": True},
    ]
    failing = [
        one.names
        for one in check_entries(entries, FIELDS, codes, Policy())
        if one.rule == "suppression undone" and one.status == "fail"
    ]
    assert failing == [("a", "n")] * undone
