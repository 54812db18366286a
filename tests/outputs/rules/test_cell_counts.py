"""Tallies: margins, and which cells lie in which by definition, against the records and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.cells import cross_classify
from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, check_entries
from chaffinch.outputs.rules.atoms import find_cells
from chaffinch.outputs.rules.cell_counts import (
    CellCounter,
    CellCounts,
    MissingLevels,
    cells_within,
    defined_within,
    margin,
    tallies_of,
)


def tallies(entry: Any, fields: OutputDomain, codes: Any) -> list[CellCounts]:
    return tallies_of(output_of({"name": "t", "kind": "table", **entry}), fields, codes)


AGES = OutputDomain((OutputColumn("SEX", ("f", "m")), OutputColumn("AGE", tuple(range(6)))))
PEOPLE = np.array([[k % 2, k % 6] for k in range(30)], dtype=np.int32)


def test_a_margin_is_the_table_by_its_columns():
    names = "ABCDEF"
    fields = OutputDomain(tuple(OutputColumn(name, (0, 1, 2)) for name in names))
    codes = np.random.default_rng(2).integers(0, 3, (4_000, 6)).astype(np.int32)
    entry = {
        "name": "t",
        "kind": "table",
        "by": list(names),
        "where": "A != 2",
        "groups": {"B": [[0, 1]]},
    }
    table = tallies(entry, fields, codes)[0]
    assert table.more_margins
    for some in (("A", "C"), ("B", "C", "F"), ("D", "E")):
        made = margin(table, {names.index(name) for name in some})
        groups = {"B": [[0, 1]]} if "B" in some else {}
        again = tallies(
            {**entry, "by": list(some), "groups": groups, "where": "A != 2 and B != 2"},
            fields,
            codes,
        )[0]
        assert made.counts.tolist() == again.counts.tolist()
        assert made.labels.tolist() == again.labels.tolist()
        assert made.possible.tolist() == again.possible.tolist()


@pytest.mark.parametrize(
    ("fine", "coarse", "of", "whole"),
    [
        (
            {"by": ["AGE"]},
            {"by": ["AGE"], "groups": {"AGE": [[0, 1], [2, 5]]}},
            [0, 0, 1, 1, 1, 1],
            [True, True],
        ),
        ({"by": ["SEX", "AGE"]}, {"by": ["SEX"]}, [0] * 6 + [1] * 6, [True, True]),
        (
            {"by": ["AGE"], "where": "AGE != 5"},
            {"by": ["AGE"], "groups": {"AGE": [[0, 1], [2, 5]]}},
            [0, 0, 1, 1, 1, -1],
            [True, False],
        ),
        (
            {"by": ["AGE"], "groups": {"AGE": [[0, 2], [3, 5]]}},
            {"by": ["AGE"], "groups": {"AGE": [[0, 1], [2, 5]]}},
            [-1, 1],
            [False, False],
        ),
        ({"by": ["SEX"]}, {"by": ["SEX"], "where": "AGE < 3"}, [-1, -1], [False, False]),
    ],
)
def test_which_cells_lie_in_which(fine: Any, coarse: Any, of: Any, whole: Any) -> None:
    one, other = tallies(fine, AGES, PEOPLE)[0], tallies(coarse, AGES, PEOPLE)[0]
    cells, unions = cells_within(one, other)
    assert cells[one.possible].tolist() == np.array(of)[one.possible].tolist()
    assert unions.tolist() == whole


def test_within_by_definition_and_only_for_these_records() -> None:
    fine, coarse = (
        tallies({"by": ["SEX", "AGE"]}, AGES, PEOPLE)[0],
        tallies({"by": ["AGE"]}, AGES, PEOPLE)[0],
    )
    young = np.arange(6) < 2
    assert defined_within(fine, [0, 1, 6], coarse, young)
    assert not defined_within(fine, [0, 2], coarse, young)
    # Women are those of even age here, and need not be elsewhere.
    women = tallies({"by": ["SEX"]}, AGES, PEOPLE)[0]
    assert not defined_within(coarse, [0, 2, 4], women, np.array([True, False]))


def test_names_and_what_is_shown() -> None:
    table = tallies(
        {
            "by": ["SEX", "AGE"],
            "where": "AGE < 2",
            "counts": [[5, "x"], ["x", 5]],
            "groups": {"AGE": [[0, 0], [1, 1]]},
        },
        AGES,
        PEOPLE,
    )[0]
    assert table.named(table.withheld) == ["f|1-1", "m|0-0"]
    assert table.is_shown.tolist() == [True, False, False, True]
    assert not table.is_exact
    found = table.finding("threshold", table.named(table.is_shown), total=4, sentence="two")
    assert (found.output, found.cells, found.total, found.statbarn, found.sentence) == (
        "t",
        2,
        4,
        "Frequencies",
        "two",
    )


FIELDS = OutputDomain(
    (
        OutputColumn("A", ("a", "b", "c")),
        OutputColumn("B", ("x", "y")),
        OutputColumn("AGE", tuple(range(5))),
    )
)
WHERE = {
    None: lambda a, b, age: True,
    "AGE >= 2": lambda a, b, age: age >= 2,
    "A != 'a'": lambda a, b, age: a != 0,
    "A == 'a' or AGE == 0": lambda a, b, age: a == 0 or age == 0,
}


def counter(codes: Any, **entry: Any) -> CellCounter:
    return CellCounter(
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
    counting = counter(np.array(rows, dtype=np.int32), where=where)
    table = counting.tally("cells", cross_classify(["A", "B"], {}, FIELDS, output="t"))
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
    missing = MissingLevels(FIELDS.sizes, codes)
    with_missing = missing.coded(codes)
    some = tallies_of(output, FIELDS, np.maximum(codes[complete], 0))
    for one, expected in zip(tallies_of(output, FIELDS, codes), some, strict=True):
        assert one.counts.tolist() == expected.counts.tolist()
        assert one.possible.tolist() == expected.possible.tolist()
        assert one.labels[complete].tolist() == expected.labels.tolist()
        assert (one.labels[~complete] == -1).all()
        grid = {column: with_missing[:, column].astype(np.int64) for column in range(3)}
        assert find_cells(one, grid, len(codes)).tolist() == one.labels.tolist()


@pytest.mark.parametrize(
    ("missing", "least", "words"), [(1, 10, "fail"), (12, 10, "pass"), (0, 10, "pass")]
)
def test_what_two_outputs_leave_out_is_looked_at(missing: int, least: int, words: str) -> None:
    """By A: all records. By B: those without a missing value. The totals tell how many have none, and by AGE of what age they are."""
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, 400) for size in FIELDS.sizes], axis=1).astype(np.int32)
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
