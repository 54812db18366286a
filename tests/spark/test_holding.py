"""Codes are held where it was asked for, in few tasks, and gone at the end."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch.errors import ClusterError, FileError
from chaffinch.spark.blocks import Encode, schema_text
from chaffinch.spark.counter import RowsSeen
from chaffinch.spark.holding import _tasks, _units, held_codes

from ..conftest import make_coded
from .conftest import LocalSession, hashed_rows


def test_large_files_are_read_by_several_tasks():
    files = pa.table({"path": ["a", "b"], "blocks": [130, 1]})
    assert _units(files) == (("a", 0, 64), ("a", 64, 128), ("a", 128, 130), ("b", 0, 1))


def test_few_large_tasks_read_many_small_files():
    assert _tasks(97, 97, 2) == 2
    assert _tasks(1, 1, 32) == 1
    assert _tasks(300, 300 * 64, 8) == 38
    assert _tasks(0, 0, 4) == 1


def test_rows_that_are_made_there_are_counted_for_the_first_time(tmp_path):
    table = make_coded([[0, 1, 1, 0, 1]], [2])
    rows, encode = hashed_rows(table, 3), Encode(schema_text(table.schema))
    with held_codes(rows, encode, table.schema, None, LocalSession(), tmp_path) as counter:
        assert counter.n_rows == 5
        assert counter.marginals([("c0",)])[0].counts.tolist() == [2, 3]
    assert list(tmp_path.iterdir()) == []


def test_other_rows_than_before_and_places_that_are_not_there(tmp_path):
    table = make_coded([[0, 1, 1, 0, 1]], [2])
    rows, encode = hashed_rows(table, 3), Encode(schema_text(table.schema))
    with pytest.raises(ClusterError, match="as many rows, but other values"):
        held_codes(rows, encode, table.schema, RowsSeen(5, 0), LocalSession(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="There is no folder"):
        held_codes(rows, encode, table.schema, None, LocalSession(), tmp_path / "absent")
