"""Values of tables as codes, beside Python's equality."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.table.align import align
from chaffinch.table.compare.values import CodedColumn, CodedTables
from chaffinch.table.read import read
from chaffinch.table.schema import Column, Schema


def coded(members: pa.Table, released: pa.Table, **options) -> CodedTables:
    members, released = (
        table.append_column("more", [[i % 2 for i in range(table.num_rows)]])
        for table in (members, released)
    )
    original, synthetic = align(read(members), released)
    return CodedTables({"original": original, "synthetic": synthetic}, **options)


def test_equal_values_have_equal_codes_and_no_others() -> None:
    members = pa.table(
        {
            "word": ["a", "b", None, "rare"] + ["a", "b"] * 18,
            "x": [1.0, 2.5, None, 4.0] + [1.0] * 36,
        }
    )
    released = pa.table({"word": ["b", None, "new", "rare"], "x": [2.5, None, 7.0, 4.00001]})
    tables = coded(members, released)
    for name in ("word", "x"):
        ours, theirs = members[name].to_pylist(), released[name].to_pylist()
        column = tables.column(name)
        assert equal_codes(column).tolist() == [[a == b for b in theirs] for a in ours]
        assert max(codes.max() for codes in column.codes.values()) < column.grid.size
        assert tables.column(name) is column


def equal_codes(column: CodedColumn) -> np.ndarray:
    """Return which of the original's rows equal which of the synthetic ones."""
    return column.codes["original"][:, None] == column.codes["synthetic"][None, :]


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        (["x", "y"], pa.array(["y", "x"]).dictionary_encode(), [[False, True], [True, False]]),
        ([True, False], pa.array([False, True]), [[False, True], [True, False]]),
    ],
)
def test_the_type_in_which_levels_are_stored_does_not_matter(
    ours: list, theirs: pa.Array, equal: list
) -> None:
    tables = coded(pa.table({"c": ours * 20}), pa.table({"c": theirs}))
    assert equal_codes(tables.column("c"))[:2].tolist() == equal


def test_a_declared_missing_code_is_missing_also_where_it_stays_in_the_data() -> None:
    schema = Schema(
        (
            Column("grade", "categorical", type="int64", missing=(-8,)),
            Column("pad", "categorical"),
        )
    )
    rows = pa.table({"grade": [1, 2, -8] * 20, "pad": ["x", "y"] * 30})
    original, synthetic = align(read(rows, schema), rows.slice(0, 3))
    column = CodedTables({"original": original, "synthetic": synthetic}).column("grade")
    codes = column.codes["synthetic"]
    assert (codes < column.grid.n_values).tolist() == [True, True, False]
    assert codes.tolist() == column.codes["original"][:3].tolist()
