"""OutputDomain with their words: levels to codes and back, combinations of levels, and which levels a message may name."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs import domain as fields_module
from chaffinch.outputs.domain import MAX_ROWS, OutputColumn, OutputDomain, same_column_checked

FIELDS = OutputDomain(
    (
        OutputColumn("sex", ("f", "m")),
        OutputColumn("age", (0, 1.5, 3)),
        OutputColumn("ill", (False, True)),
    )
)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((), "at least one level"),
        (("a", "a"), "each of its levels once"),
        ((1, "1"), "each of its levels once"),
        ((1, "b"), "mixes words and numbers"),
        ((2, 1), "must rise"),
    ],
)
def test_levels_that_are_refused(levels: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        OutputColumn("c", levels)  # type: ignore[arg-type]


def test_levels_and_codes() -> None:
    sex, age, ill = FIELDS
    assert (sex.numeric, age.numeric, ill.numeric) == (False, True, False)
    assert (age.is_whole, OutputColumn("n", (1, 2.0)).is_whole) == (False, True)
    assert [age.code(level) for level in (0, "1.5", 3.0)] == [0, 1, 2]
    assert ill.code(True) == ill.code("True") == 1
    assert age.values.tolist() == [0.0, 1.5, 3.0]
    with pytest.raises(InputError, match="words as levels"):
        _ = sex.values
    codes = FIELDS.codes({"sex": ["m", "f"], "age": [3, 0], "ill": [True, False]})
    assert codes.tolist() == [[1, 2, 1], [0, 0, 0]]


def test_a_grid_has_every_combination_last_column_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = FIELDS.grid([1, 2])
    assert list(zip(grid[1].tolist(), grid[2].tolist(), strict=True)) == list(
        product(range(3), range(2))
    )
    assert FIELDS.grid([]) == {}
    monkeypatch.setattr(fields_module, "MOST_CELLS", 5)
    with pytest.raises(InputError, match="age, ill together have over 5 combinations"):
        FIELDS.grid([1, 2])


def test_messages_name_levels_of_enough_records_only() -> None:
    codes = np.array([[0, 0, 0]] * 12 + [[1, 1, 0]] * 3, dtype=np.int32)
    common = FIELDS.counted(codes)
    assert [sorted(field.common) for field in common] == [["f"], ["0"], ["False"]]
    assert [sorted(field.common) for field in FIELDS.with_threshold(3).counted(codes)] == [
        ["f", "m"],
        ["0", "1.5"],
        ["False"],
    ]
    sex = common["sex"]
    assert (sex.safe_label(0), sex.safe_label(1)) == ("f", "…")
    assert (sex.safe_name(0), sex.safe_name(1)) == (
        "level 'f' of column 'sex'",
        "a level of column 'sex'",
    )
    with pytest.raises(InputError) as caught:
        sex.code("x")
    assert "'m'" not in str(caught.value)
    assert "m" not in str(common.unknown_column("m")).split()
    assert "Did you mean 'age'" in str(common.unknown_column("agee"))


def test_a_column_is_named_once() -> None:
    same_column_checked(["a", "b"], output="o")
    with pytest.raises(InputError, match="Output 'o' must name each of its columns once"):
        same_column_checked(["a", "a"], output="o")


COLUMNS = OutputDomain(
    (
        OutputColumn("sex", tuple("01"), weights=(3.0, 1.0)),
        OutputColumn("age", tuple(np.array([0.0, 1.0, 5.0]).tolist())),
    )
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": ()}, "needs at least one level"),
        ({"weights": (1.0,) * 3}, "one finite number for each of its 2 levels as weights"),
        ({"levels": (0.0, np.inf)}, "one finite number for each of its 2 levels as values"),
        ({"levels": (2.0, 1.0)}, "must rise"),
        ({"weights": (1.0, -1.0)}, "at least 0"),
        ({"weights": (0.0, 0.0)}, "not all 0"),
        ({"weights": ()}, "not all 0"),
    ],
)
def test_what_a_column_may_not_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        OutputColumn(**{"name": "c", "levels": (0, 1), **options})  # type: ignore[arg-type]


def test_columns_have_names_sizes_and_a_number_of_rows() -> None:
    assert (COLUMNS.names, COLUMNS.sizes, len(COLUMNS)) == (("sex", "age"), (2, 3), 2)
    assert (COLUMNS.shape([]), COLUMNS.shape([1, 0])) == ((), (3, 2))
    assert (COLUMNS.n_rows, COLUMNS.with_rows(5).n_rows) == (MAX_ROWS, 5)
    assert COLUMNS.columns[0].chances.tolist() == [0.75, 0.25]
    assert COLUMNS.columns[1].chances.tolist() == [1 / 3] * 3
    with pytest.raises(InputError, match=r"Unknown column 'agee'\. Did you mean 'age'"):
        COLUMNS.position("agee")
    for every, message in (
        ((), "at least one column"),
        ((OutputColumn("a", tuple("01")),) * 2, "different names"),
    ):
        with pytest.raises(InputError, match=message):
            OutputDomain(every)


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
