"""Features of tables: codes, indicators, numbers, gaps; and scaling against scikit-learn's own pieces."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.stats.learners import Encoder, numbers_of, standardised
from chaffinch.table.align import align


def mixed(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "size": rng.normal(size=n).round(3),
            "colour": rng.choice(["red", "green", "blue"], n),
            "glad": rng.random(n) < 0.5,
            "day": [
                dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, n)
            ],
            "person": [f"p{i}" for i in range(n)],
        }
    )


def test_codes_stand_in_the_order_of_levels_and_numbers_as_they_are() -> None:
    data = mixed()
    table = chaffinch.read(data)
    encoder = Encoder.of([table])
    matrix = encoder.matrix(table)
    assert encoder.owners == ("size", "colour", "glad", "day")  # the identifier is no feature
    assert matrix[:, 0].tolist() == data["size"].to_pylist()
    assert matrix[:, 1].tolist() == [
        ["blue", "green", "red"].index(word) for word in data["colour"].to_pylist()
    ]
    assert matrix[:, 2].tolist() == [float(value) for value in data["glad"].to_pylist()]
    assert matrix[:, 3].tolist() == [
        (day - dt.date(1970, 1, 1)).days for day in data["day"].to_pylist()
    ]
    assert encoder.scaled.all()


def test_onehot_has_an_indicator_for_each_level_and_scales_numbers_alone() -> None:
    table = chaffinch.read(mixed())
    encoder = Encoder.of([table], ["colour", "size", "glad"], encoding="onehot")
    matrix = encoder.matrix(table)
    truth = OneHotEncoder(sparse_output=False).fit_transform(
        np.array(table.data["colour"].to_pylist()).reshape(-1, 1)
    )
    assert encoder.owners == ("colour",) * 3 + ("size",) + ("glad",) * 2
    assert np.array_equal(matrix[:, :3], truth)
    assert encoder.scaled.tolist() == [False, False, False, True, False, False]


def test_levels_that_one_table_lost_keep_their_features() -> None:
    first, second = align(
        chaffinch.read(pa.table({"a": ["x", "y", "z"] * 20, "b": ["p", "q"] * 30})),
        pa.table({"a": ["z", "new"] * 10, "b": ["p", "p"] * 10}),
    )
    encoder = Encoder.of([first, second], encoding="onehot")
    assert encoder.matrix(second)[:2].tolist() == [
        [0, 0, 1, 0, 1, 0],
        [0, 0, 0, 1, 1, 0],
    ]  # x y z (other) | p q
    assert encoder.matrix(first).shape[1] == 6


def test_missing_numbers_are_nan_with_an_indicator_also_where_another_table_lacks_them() -> None:
    full = pa.table({"n": np.arange(60) * 1.5, "c": ["a", None, "b"] * 20})
    holes = pa.table(
        {"n": [None if i % 5 == 0 else i * 1.5 for i in range(60)], "c": ["a", "b", "a"] * 20}
    )
    first, second = align(chaffinch.read(full), holes)
    encoder = Encoder.of([first, second])
    assert encoder.owners == ("n", "n", "c")
    assert not encoder.matrix(first)[:, 1].any()
    there = encoder.matrix(second)
    assert np.isnan(there[::5, 0]).all()
    assert (there[::5, 1] == 1).all()
    assert there[:, 1].sum() == 12
    assert encoder.matrix(first)[:3, 2].tolist() == [0, 2, 1]  # a, missing after all levels, b


def test_declared_missing_codes_are_missing_numbers(tmp_path) -> None:
    schema = tmp_path / "s.toml"
    values = [float(i) for i in range(40)] + [-8.0] * 12 + [99.0] * 12
    path = tmp_path / "t.csv"
    path.write_text("n,c\n" + "\n".join(f"{v},{'ab'[i % 2]}" for i, v in enumerate(values)) + "\n")
    schema.write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns.n]\nkind = "float"\nmissing = [-8, 99]\n[columns.c]\nkind = "categorical"\n'
    )
    table = chaffinch.read(path, schema=schema)
    numbers = numbers_of(table, "n")
    assert np.isnan(numbers[40:]).all()
    assert numbers[:40].tolist() == values[:40]


@settings(max_examples=25, deadline=None)
@given(
    arrays(np.float64, (12, 3), elements=st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))),
    arrays(np.float64, (5, 3), elements=st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))),
)
def test_scaling_is_that_of_imputer_then_scaler(train: np.ndarray, test: np.ndarray) -> None:
    test[:, np.isnan(train).all(axis=0)] = (
        0  # what no training record has says nothing: ours is 0 there
    )
    pieces = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(train)
    ours = standardised(train, test)
    for found, wanted in zip(ours, (pieces.transform(train), pieces.transform(test)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_features_that_are_not_scaled_stay_and_inputs_are_left_alone() -> None:
    train = np.array([[1.0, 0.0], [3.0, 1.0]])
    before = train.copy()
    (found,) = standardised(train, scaled=np.array([True, False]))
    assert found.tolist() == [[-1, 0], [1, 1]]
    assert np.array_equal(train, before)


def test_rows_of_a_table_keep_values_and_codes_together() -> None:
    table = chaffinch.read(mixed())
    part = table.take(np.array([5, 1, 7]))
    assert part.data["colour"].to_pylist() == [table.data["colour"][i].as_py() for i in (5, 1, 7)]
    assert part.code("colour").tolist() == table.code("colour")[[5, 1, 7]].tolist()


def test_errors() -> None:
    table = chaffinch.read(mixed())
    with pytest.raises(
        UnknownNameError, match=r"Unknown encoding 'one-hot'. Did you mean 'onehot'"
    ):
        Encoder.of([table], encoding="one-hot")
    with pytest.raises(UnknownNameError, match=r"Unknown column 'coluor'. Did you mean 'colour'"):
        Encoder.of([table], ["coluor"])
    with pytest.raises(InputError, match="need one schema"):
        Encoder.of([table, chaffinch.read(pa.table({"a": ["x", "y"] * 9, "b": ["x", "y"] * 9}))])
