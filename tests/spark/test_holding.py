"""Codes are held where it was asked for, in few tasks, and gone at the end."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch.errors import ClusterError, FileError
from chaffinch.spark.counter import RowsSeen
from chaffinch.spark.holding import _tasks, _units, held_codes

from ..conftest import make_coded
from .conftest import LocalRawFrame, LocalSession, encoder


def test_large_files_are_read_by_several_tasks():
    files = pa.table({"path": ["a", "b"], "blocks": [130, 1]})
    assert _units(files) == (("a", 0, 64), ("a", 64, 128), ("a", 128, 130), ("b", 0, 1))


def test_few_large_tasks_read_many_small_files():
    assert _tasks(97, 97, 2) == 2
    assert _tasks(1, 1, 32) == 1
    assert _tasks(300, 300 * 64, 8) == 38
    assert _tasks(0, 0, 4) == 1


def test_codes_are_held_and_other_rows_than_before_refused(tmp_path):
    table = make_coded([[0, 1, 1, 0, 1]], [2])
    place = LocalRawFrame(table.data, 3)

    def held(seen, folder):
        rows = place.select(table.schema.names)
        return held_codes(rows, encoder(table), table.schema, seen, LocalSession(), folder)

    with held(place.seen, tmp_path) as counter:
        assert counter.marginals([("c0",)])[0].counts.tolist() == [2, 3]
    with pytest.raises(ClusterError, match="as many rows, but other values"):
        held(RowsSeen(5, 0), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="There is no folder"):
        held(place.seen, tmp_path / "absent")
