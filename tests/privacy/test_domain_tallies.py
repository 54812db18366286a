"""Counts of cells for discovery, worked out by hand, in one part and in several."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from chaffinch import Column
from chaffinch.privacy.prepare import StoredCells
from chaffinch.privacy.tallies import LevelTally, RangeTally, bound_counts, bound_grid
from chaffinch.table.table import Origin


def parts(words, cuts):
    ends = [0, *cuts, len(words)]
    for a, b in itertools.pairwise(ends):
        yield StoredCells(
            "cells",
            {"c": pa.array([word.encode() for word in words[a:b]], pa.large_binary())},
            {},
            True,
            Origin(),
            frozenset(["c"]),
        )


@pytest.mark.parametrize("cuts", [(), (1,), (2, 2, 5)])
def test_words_are_counted_without_blanks_and_without_missing_codes(cuts):
    tally = LevelTally(Column("c", "categorical", missing=("-9",)), None)
    for cells in parts(["a", " a", "b", "-9", "", "(other)", "a "], cuts):
        tally.add(cells)
    assert list(tally.levels.sorted_items()) == [("a", 3), ("b", 1)]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 2, 5)])
def test_levels_that_are_numbers_are_counted_by_value(cuts):
    tally = LevelTally(Column("c", "categorical", type="double", missing=(-9,)), None)
    for cells in parts(["1", "1.0", "-0", "0", "-9", "inf", "word"], cuts):
        tally.add(cells)
    assert list(tally.levels.sorted_items()) == [(0.0, 2), (1.0, 2)]
    assert "-" not in repr(next(tally.levels.sorted_items()))  # which zero came first does not show


@pytest.mark.parametrize("cuts", [(), (1,), (2, 2, 5)])
@pytest.mark.parametrize("on_disk", [True, False])
def test_numbers_are_counted_on_the_grid_and_kept_for_quantiles(tmp_path, cuts, on_disk):
    """0 is in the cell from 0 to 1, 1 in that from 1 to 2, 3 in that from 2 to 5, -1 in that from -1 to 0; the rest is no number, or a missing code."""
    tally = RangeTally(
        Column("c", "integer", type="int64", missing=(-9,)),
        tmp_path / "numbers" if on_disk else None,
        again=True,
    )
    for cells in parts(["0", "3", "", "-9", "1", "-1", "word", "3"], cuts):
        tally.add(cells)
    edges = bound_grid(whole=True)
    found = {float(edges[i - 1]): int(tally.counts[i]) for i in np.flatnonzero(tally.counts)}
    assert found == {-1.0: 1, 0.0: 1, 1.0: 1, 2.0: 2}
    assert np.concatenate(list(tally.numbers.parts())).tolist() == [0.0, 3.0, 1.0, -1.0, 3.0]


def test_cells_below_and_above_the_grid_are_counted_too():
    assert bound_counts(np.array([-5, 0, 2, 9]), np.array([0.0, 1.0])).tolist() == [1, 1, 2]
    assert RangeTally(Column("c", "integer", type="int64")).numbers is None
