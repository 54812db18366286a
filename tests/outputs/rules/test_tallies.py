"""Tallies: margins, and which cells lie in which by definition, against the records and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules.tallies import OutputTally, aligned, defined_within, margin, tallies_of


def tallies(entry: Any, fields: Fields, codes: Any) -> list[OutputTally]:
    return tallies_of(output_of({"name": "t", "kind": "table", **entry}), fields, codes)


AGES = Fields((Field("SEX", ("f", "m")), Field("AGE", tuple(range(6)))))
PEOPLE = np.array([[k % 2, k % 6] for k in range(30)], dtype=np.int32)


def test_a_margin_is_the_table_by_its_columns():
    names = "ABCDEF"
    fields = Fields(tuple(Field(name, (0, 1, 2)) for name in names))
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
            None,
            None,
        ),
        ({"by": ["SEX"]}, {"by": ["SEX"], "where": "AGE < 3"}, None, None),
    ],
)
def test_which_cells_lie_in_which(fine: Any, coarse: Any, of: Any, whole: Any) -> None:
    one, other = tallies(fine, AGES, PEOPLE)[0], tallies(coarse, AGES, PEOPLE)[0]
    lies = aligned(one, other)
    assert (lies is None) == (of is None)
    if lies is not None:
        inside = one.possible
        assert lies[0][inside].tolist() == np.array(of)[inside].tolist()
        assert lies[1].tolist() == whole


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
    found = table.finding("threshold", table.named(table.is_shown), of=4, good="", bad="two")
    assert (found.output, found.cells, found.of, found.statbarn, found.words) == (
        "t",
        2,
        4,
        "Frequencies",
        "two",
    )
