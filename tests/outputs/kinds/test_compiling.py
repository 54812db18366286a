"""One group of a cross, and a column cut into parts: against counting the records themselves."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.cells import Frame, crossed, sums_by_cell
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.equations import CountTable
from chaffinch.outputs.filters import read_filter
from chaffinch.outputs.kinds.base import by_code, groups_of, least_step, middle, only

FIELDS = Fields((Field("sex", ("f", "m")), Field("age", (0, 1, 2, 5))))
CODES = np.array([[0, 0], [0, 3], [1, 1], [1, 2], [1, 3], [1, 3]], dtype=np.int32)


def test_numbers_of_columns() -> None:
    assert (
        middle(np.array([0.0, 1.0, 6.0])),
        least_step(np.array([0.0, 1.0, 1.5])),
        least_step(np.ones(1)),
    ) == (2.0, 0.5, 1.0)
    assert only(np.array([0, 1, -1, 1]), 1).tolist() == [-1, 0, -1, 0]


def test_sums_of_a_number_by_level() -> None:
    frame, cells = Frame(FIELDS, 6), crossed(["sex"], {}, FIELDS, output="t")
    terms = sums_by_cell(frame, cells, [by_code(1, FIELDS["age"].values ** 2)], count=False)
    sums = np.zeros(2)
    for code in CODES:
        row = np.ravel_multi_index(tuple(code), (2, 4))
        at = slice(terms.starts[row], terms.starts[row + 1])
        np.add.at(sums, terms.equations[at], terms.values[at])
    assert sums.tolist() == [25.0, 1.0 + 4.0 + 25.0 + 25.0]


def test_each_group_of_a_cross_cut_at_a_value() -> None:
    frame, cells = Frame(FIELDS, 6), crossed(["sex"], {}, FIELDS, output="t")
    groups = groups_of(
        ["women", "men"], frame, 1, cells, read_filter("age > 0", FIELDS, output="t")
    )
    counts = []
    for group in groups:
        table = group.cut(group.name, (group.values >= 2).astype(int), [0, 0], [6, 6], fault="none")
        assert isinstance(table, CountTable)
        counts.append(table.counts(CODES).tolist())
    assert counts == [[0, 1], [1, 3]]


def test_a_part_without_values_can_have_no_records() -> None:
    (group,) = groups_of(
        [""],
        Frame(FIELDS, 6),
        1,
        crossed([], {}, FIELDS, output="t"),
        read_filter(None, FIELDS, output="t"),
    )
    beyond = (group.values > 9).astype(int)
    assert group.cut("t", beyond, [6, 0], [6, 0], fault="nobody is so old").lo.tolist() == [6]
    with pytest.raises(InputError, match="nobody is so old"):
        group.cut("t", beyond, [5, 1], [5, 1], fault="nobody is so old")
