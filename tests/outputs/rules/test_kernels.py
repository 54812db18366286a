"""The search for two unions of cells that differ by a few people, on graphs of cells written out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch.outputs.rules.differencing import nested, union_sizes, united


def sides(
    shared: Any, a_out: list[int], b_out: list[int]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A table of the people that cells of a (rows) and b (columns) share, from either side; and those who are in no cell of the other."""
    both = []
    for table, out in ((np.array(shared), a_out), (np.array(shared).T, b_out)):
        of, to = np.nonzero(table)
        starts = np.searchsorted(of, np.arange(len(table) + 1))
        outside = np.array(out, dtype=np.int64)
        both.append(
            (
                starts,
                np.ascontiguousarray(to),
                table[of, to].astype(np.int64),
                table.sum(axis=1) + outside,
                outside,
            )
        )
    return both[0], both[1]


@pytest.mark.parametrize(
    ("shared", "a_out", "b_out", "threshold", "few"),
    [
        ([[20]], [3], [0], 10, 3),
        ([[20]], [3], [0], 3, 0),
        ([[20]], [0], [3], 10, 0),
        ([[20, 15]], [0], [0, 0], 10, 0),
        ([[20, 4]], [0], [0, 1], 10, 4),
        ([[20, 0], [15, 0], [0, 30]], [1, 2, 0], [0, 0], 10, 3),
    ],
)
def test_people_beyond_the_union_inside(
    shared: Any, a_out: list[int], b_out: list[int], threshold: int, few: int
) -> None:
    outer, inner = sides(shared, a_out, b_out)
    seeds = len(a_out) + len(b_out)
    *beyond, steps = nested(
        outer, inner, threshold, union_sizes(128), np.ones(seeds, dtype=bool), 2**62
    )
    assert max(beyond) == few
    assert steps >= 0
    assert not any(
        nested(outer, inner, threshold, union_sizes(128), np.zeros(seeds, dtype=bool), 2**62)[:-1]
    )


def test_the_cells_of_the_unions() -> None:
    outer, inner = sides([[20, 0], [15, 0], [0, 30]], [1, 2, 0], [0, 0])
    marks = united(outer, inner, 10, 0)
    assert marks.tolist() == [True, True, False, True, False]


def test_a_union_beyond_the_largest_size_is_not_looked_at() -> None:
    outer, inner = sides([[20], [15]], [1, 2], [0])
    every = np.ones(3, dtype=bool)
    assert max(nested(outer, inner, 10, union_sizes(2), every, 2**62)[:-1]) == 3
    assert -1 in nested(outer, inner, 10, union_sizes(1), every, 2**62)[:-1]
