"""Tallies of cells: one pass over a file for all columns, a column at a time in memory, and each is handed out once."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch import Column
from chaffinch.errors import FileError
from chaffinch.privacy import tallies
from chaffinch.privacy.prepare import StoredCells
from chaffinch.privacy.tallies import (
    CellTallies,
    LevelCounts,
    LevelTally,
    RangeTally,
    StoredNumbers,
    bound_counts,
    bound_grid,
)
from chaffinch.table.table import Origin


@dataclass
class Cells:
    folder: Path | None
    asked: list[list[str]] = field(default_factory=list)

    def parts(self, columns):
        self.asked.append(list(columns))
        yield from ("first", "second")


class Seen:
    def __init__(self):
        self.parts = []

    def add(self, cells):
        self.parts.append(cells)


@pytest.mark.parametrize(
    ("folder", "asked"), [(None, [["b"], ["a"]]), (Path("folder"), [["a", "b"]])]
)
def test_a_file_is_gone_through_once(folder, asked):
    cells = Cells(folder)
    tallies = CellTallies(cells, {"a": Seen(), "b": Seen()})
    assert cells.asked == []  # nothing is touched before it is paid for
    assert tallies.take("b").parts == ["first", "second"]
    assert tallies.take("a").parts == ["first", "second"]
    assert cells.asked == asked
    with pytest.raises(KeyError):
        tallies.take("a")


@pytest.mark.parametrize("on_disk", [True, False])
def test_numbers_come_back_in_their_order(tmp_path, monkeypatch, on_disk):
    monkeypatch.setattr("chaffinch.privacy.tallies.READ_AT_ONCE", 3)
    numbers = StoredNumbers(tmp_path / "column-1" if on_disk else None)
    assert list(numbers.parts()) == []
    numbers.add(np.array([5, 2**40], dtype=np.int64))
    numbers.add(np.array([], dtype=np.float64))
    numbers.add(np.arange(4)[::2] / 3)
    for _ in range(2):
        assert np.concatenate(list(numbers.parts())).tolist() == [5.0, 2.0**40, 0.0, 2 / 3]
    numbers.remove()
    assert list(numbers.parts()) == []
    assert list(tmp_path.iterdir()) == []


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
@pytest.mark.parametrize(
    ("column", "words", "counts"),
    [
        (
            Column("c", "categorical", missing=("-9",)),
            ["a", " a", "b", "-9", "", "(other)", "a "],
            "[('a', 3), ('b', 1)]",
        ),
        (
            Column("c", "categorical", type="double", missing=(-9,)),
            ["1", "1.0", "-0", "0", "-9", "inf", "word"],
            "[(0.0, 2), (1.0, 2)]",  # which zero came first does not show
        ),
    ],
    ids=["words", "numbers"],
)
def test_levels_are_counted_by_value_without_blanks_and_missing_codes(column, words, counts, cuts):
    tally = LevelTally(column, None)
    for cells in parts(words, cuts):
        tally.add(cells)
    assert str(list(tally.levels.sorted_items())) == counts


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
    edges = bound_grid(integral=True)
    found = {float(edges[i - 1]): int(tally.counts[i]) for i in np.flatnonzero(tally.counts)}
    assert found == {-1.0: 1, 0.0: 1, 1.0: 1, 2.0: 2}
    assert np.concatenate(list(tally.numbers.parts())).tolist() == [0.0, 3.0, 1.0, -1.0, 3.0]


def test_cells_below_and_above_the_grid_are_counted_too():
    assert bound_counts(np.array([-5, 0, 2, 9]), np.array([0.0, 1.0])).tolist() == [1, 1, 2]
    assert RangeTally(Column("c", "integer", type="int64")).numbers is None


WORDS = st.lists(
    st.lists(st.tuples(st.text(max_size=2), st.integers(1, 9)), max_size=9), max_size=9
)
NUMBERS = st.lists(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 9)), max_size=9), max_size=9
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(parts=WORDS | NUMBERS, most=st.integers(0, 6))
def test_counts_are_those_of_a_dictionary_however_few_are_held(tmp_path_factory, parts, most):
    folder = tmp_path_factory.mktemp("runs") / "column"
    expected = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "MOST_LEVELS", most)
        patch.setattr(tallies, "RUN_ROWS", 2)
        counts = LevelCounts(folder)
        for part in parts:
            counts.add(part)
            for level, n in part:
                expected[level] += n
            assert len(counts._held) <= most
        for _ in range(2):
            assert list(counts.sorted_items()) == sorted(expected.items())


def test_without_a_folder_all_are_held(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_LEVELS", 1)
    counts = LevelCounts()
    counts.add([("c", 1), ("a", 2), ("b", 3)])
    assert list(counts.sorted_items()) == [("a", 2), ("b", 3), ("c", 1)]


def test_no_room_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(tallies, "MOST_LEVELS", 1)
    counts = LevelCounts(tmp_path / "missing" / "column")
    with pytest.raises(FileError, match="Cannot write the code cache") as error:
        counts.add([("secret", 1), ("other", 2)])
    assert "secret" not in str(error.value)
