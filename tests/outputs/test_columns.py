"""Columns of codes: what they may be, how they start, and which codes fit."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.domain import CodeColumn, Columns

COLUMNS = Columns(
    (
        CodeColumn("sex", 2, weights=np.array([3.0, 1.0])),
        CodeColumn("age", 3, values=np.array([0.0, 1.0, 5.0])),
    )
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "between 1 and"),
        ({"values": np.zeros(3)}, "one finite number for each of its 2 levels as values"),
        ({"values": np.array([0.0, np.inf])}, "one finite number"),
        ({"values": np.array([1.0, 1.0])}, "must rise"),
        ({"weights": np.array([1.0, -1.0])}, "at least 0"),
        ({"weights": np.zeros(2)}, "not all 0"),
    ],
)
def test_what_a_column_may_not_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CodeColumn(**{"name": "c", "size": 2, **options})  # type: ignore[arg-type]


def test_columns_have_names_sizes_and_cells() -> None:
    assert (COLUMNS.names, COLUMNS.sizes, len(COLUMNS)) == (("sex", "age"), (2, 3), 2)
    assert (COLUMNS.cells([]), COLUMNS.cells([0, 1])) == (1, 6)
    assert COLUMNS.every[0].chances.tolist() == [0.75, 0.25]
    assert COLUMNS.every[1].chances.tolist() == [1 / 3] * 3
    with pytest.raises(InputError, match=r"Unknown column 'agee'\. Did you mean 'age'"):
        COLUMNS.position("agee")
    for every, message in (
        ((), "at least one column"),
        ((CodeColumn("a", 2),) * 2, "different names"),
    ):
        with pytest.raises(InputError, match=message):
            Columns(every)


def test_starts_are_repeated_by_their_seed() -> None:
    codes = COLUMNS.start(4_000, seed=1)
    np.testing.assert_array_equal(codes, COLUMNS.start(4_000, seed=1))
    assert codes.dtype == np.int32
    assert abs((codes[:, 0] == 0).mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 4_000)
    with pytest.raises(InputError, match="n_rows must be at least 1"):
        COLUMNS.start(0)


def test_codes_must_fit() -> None:
    codes = COLUMNS.check(np.array([[0, 2], [1, 0]], dtype=np.uint8, order="F"))
    assert codes.dtype == np.int32
    assert codes.flags.c_contiguous
    for wrong, message in (
        (np.zeros((0, 2), dtype=int), "at least 1 row"),
        (np.zeros((1, 3), dtype=int), "and 2 columns. Got shape"),
        (np.array([[0, 3]]), "Column 'age' has codes outside"),
        (np.array([[-1, 0]]), "Column 'sex' has codes outside"),
    ):
        with pytest.raises(InputError, match=message):
            COLUMNS.check(wrong)
