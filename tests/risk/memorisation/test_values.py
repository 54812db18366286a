from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk.memorisation.values import column_values, joint_codes
from chaffinch.table.align import align
from chaffinch.table.read import read


def of(members: pa.Table, released: pa.Table, **options):
    members, released = (
        table.append_column("more", [[i % 2 for i in range(table.num_rows)]])
        for table in (members, released)
    )
    original, synthetic = align(read(members), released)
    return {column.name: column for column in column_values(synthetic, [original], **options)}


def test_equal_values_have_equal_codes_and_no_others() -> None:
    members = pa.table(
        {
            "word": ["a", "b", None, "rare"] + ["a", "b"] * 18,
            "x": [1.0, 2.5, None, 4.0] + [1.0] * 36,
        }
    )
    released = pa.table({"word": ["b", None, "new", "rare"], "x": [2.5, None, 7.0, 4.00001]})
    columns = of(members, released)
    for name, column in ((n, columns[n]) for n in ("word", "x")):
        ours, theirs = members[name].to_pylist(), released[name].to_pylist()
        assert (column.people[:, None] == column.released[None, :]).tolist() == [
            [a == b for b in theirs] for a in ours
        ]
        assert max(column.people.max(), column.released.max()) < column.size


def test_numbers_know_what_they_stand_for() -> None:
    column = of(pa.table({"x": [1.5, None, 2.5] * 20}), pa.table({"x": [9.0, None]}))["x"]
    assert column.numeric
    assert column.numbers is not None
    assert np.array_equal(column.numbers[column.released], [9.0, np.nan], equal_nan=True)


def test_numbers_within_a_tolerance_are_equal() -> None:
    column = of(
        pa.table({"x": [11.0, 14.0, 26.0, *np.arange(0.0, 90.0, 1.5)]}),
        pa.table({"x": [12.0, 50.0]}),
        tolerance={"x": 10.0},
    )["x"]
    assert (column.people[:3] == column.released[0]).tolist() == [True, True, False]


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
    column = of(pa.table({"c": ours * 20}), pa.table({"c": theirs}))["c"]
    assert (column.people[:2, None] == column.released[None, :]).tolist() == equal


def test_many_columns_are_joined_without_overflow() -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 3, 500) for _ in range(9)]
    codes, size = joint_codes(columns, [1 << 40] * 9)
    rows = list(zip(*columns, strict=True))
    assert size == len(set(rows)) == codes.max() + 1
    assert all((codes[i] == codes[0]) == (rows[i] == rows[0]) for i in range(500))
