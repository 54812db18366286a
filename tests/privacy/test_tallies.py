"""Tallies of cells: one pass over a file for all columns, a column at a time in memory, and each is handed out once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from chaffinch.privacy.tallies import CellTallies, StoredNumbers


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
