"""Values of tables as codes; `tests/risk/attribution/test_attack_data.py` holds them against Python's equality."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch.table.align import align
from chaffinch.table.compare.values import UNSEEN, CodedTables, column_coder
from chaffinch.table.read import read
from chaffinch.table.schema import Column, Schema


def coded(original: pa.Table, synthetic: pa.Table, schema: Schema | None = None) -> CodedTables:
    tables = align(read(original, schema), synthetic)
    return CodedTables(dict(zip(("original", "synthetic"), tables, strict=True)))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["x", "y"], pa.array(["y", "x"]).dictionary_encode()),
        ([True, False], pa.array([False, True])),
    ],
)
def test_the_type_in_which_levels_are_stored_does_not_matter(ours: list, theirs: pa.Array) -> None:
    rows = pa.table({"c": ours * 20, "pad": ["x", "y"] * 20})
    codes = coded(rows, pa.table({"c": theirs, "pad": ["x", "y"]})).column("c").codes
    assert codes["synthetic"].tolist() == codes["original"][:2].tolist()[::-1]


def test_a_declared_missing_code_is_missing_also_where_it_stays_in_the_data() -> None:
    grade = Column("grade", "categorical", type="int64", missing=(-8,))
    rows = pa.table({"grade": [1, 2, -8] * 20, "pad": ["x", "y"] * 30})
    schema = Schema((grade, Column("pad", "categorical")))
    column = coded(rows, rows.slice(0, 3), schema).column("grade")
    assert (column.codes["synthetic"] < column.grid.n_values).tolist() == [True, True, False]
    assert column.codes["synthetic"].tolist() == column.codes["original"][:3].tolist()


def test_a_level_that_the_learnt_tables_lack_is_unseen() -> None:
    rows = pa.table({"c": ["x", "y"] * 20, "pad": ["x", "y"] * 20})
    tables = coded(rows, pa.table({"c": ["y", "new", "(other)"], "pad": ["x"] * 3})).tables
    coder = column_coder([tables["original"]], "c", unseen=True)
    assert coder.code(tables["synthetic"]).tolist() == [1, UNSEEN, 2]
