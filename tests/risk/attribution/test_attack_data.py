"""AttackDatas: one grid for all tables, and the made-up sources."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.risk.attribution.attack_data import AttackData

AGES = [20, 21, 30, 31, None, *range(40, 95)]
ROWS = {"age": AGES, "sex": ["f", "m", "f", None, "m", "f"] * 10, "ill": ["y", "n"] * 30}


@pytest.fixture(scope="module")
def table():
    return chaffinch.read(pa.table(ROWS))


def test_values_are_equal_only_if_they_are_equal(table):
    other = pa.table({"age": [20, 25, None], "sex": ["m", "x", None], "ill": ["y", "n", "y"]})
    scene = AttackData.of(table, [other], columns=["age", "sex", "ill"], numeric="values")
    ours, theirs = scene.values("original", "age"), scene.values("synthetic", "age")
    assert scene.grids["age"].numbers[ours[:4]].tolist() == [20, 21, 30, 31]
    assert theirs[0] == ours[0]
    assert theirs[1] not in ours
    assert theirs[2] == ours[4]
    assert ours[4] >= scene.grids["age"].n_values
    assert scene.values("synthetic", "sex")[2] == scene.values("original", "sex")[3]


def test_a_tolerance_is_a_grid_of_its_width(table):
    scene = AttackData.of(table, [table], columns=["age"], tolerance={"age": 10})
    codes = scene.values("original", "age")
    assert codes[0] == codes[1]  # 20 and 21 round to 20
    assert codes[2] == codes[3]  # 30 and 31 to 30
    assert codes[0] != codes[2]


def test_bins_are_those_of_the_schema(table):
    scene = AttackData.of(table, [table], columns=["age"], numeric="bins")
    assert np.array_equal(scene.values("original", "age"), table.code("age"))


def test_marginals_keep_each_column_and_no_relation():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 6000)
    table = chaffinch.read(pa.table({"a": a.astype(str), "b": a.astype(str)}))
    scene = AttackData.of(table, [table], columns=["a", "b"]).with_marginals(60_000, 2)
    codes = scene.sides["marginals"].codes
    shares = np.bincount(scene.values("original", "a")) / 6000
    drawn = np.bincount(codes["a"]) / 60_000
    assert np.abs(drawn - shares).max() < 0.012  # six standard errors of 0.002: once in 10^8
    agree = (codes["a"] == codes["b"]).mean()
    assert abs(agree - (shares**2).sum()) < 0.012


def test_the_label_only_source_keeps_the_label_and_cuts_the_rest():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 8000)
    hidden = np.where(rng.random(8000) < 0.8, label, 1 - label)
    key = np.where(rng.random(8000) < 0.9, hidden, rng.integers(0, 2, 8000))
    table = chaffinch.read(
        pa.table(
            {name: pa.array(v.astype(str)) for name, v in (("l", label), ("s", hidden), ("k", key))}
        )
    )
    scene = AttackData.of(table, [table], columns=["l", "s", "k"]).with_label_only(
        80_000, ["s"], "l", 3
    )
    codes = scene.sides["label_only"].codes
    within = [(codes["s"][codes["l"] == v] == 1).mean() for v in (0, 1)]
    truth = [(hidden[label == v] == 1).mean() for v in (0, 1)]
    assert np.abs(np.array(within) - truth).max() < 0.015  # over six standard errors of 0.002
    for value in (
        0,
        1,
    ):  # given the label, key and sensitive value are independent: phi under six standard errors of 0.005
        here = codes["l"] == value
        assert abs(np.corrcoef(codes["s"][here], codes["k"][here])[0, 1]) < 0.03
    assert abs(np.corrcoef(codes["l"], codes["k"])[0, 1] - np.corrcoef(label, key)[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"columns": ["nobody"]}, UnknownNameError, "Unknown column 'nobody'"),
        ({"columns": ["age"], "numeric": "exact"}, UnknownNameError, "Unknown way with numbers"),
        ({"columns": ["age"], "rare": "drop"}, UnknownNameError, "Unknown way with rare levels"),
        (
            {"columns": ["age"], "missing": "drop"},
            UnknownNameError,
            "Unknown way with missing values",
        ),
        ({"columns": ["age"], "tolerance": {"age": 0}}, InputError, "must be a number above 0"),
        ({"columns": ["sex"], "tolerance": {"sex": 2}}, InputError, "A tolerance is for numbers"),
    ],
)
def test_bad_settings_are_refused(table, settings, error, words):
    with pytest.raises(error, match=words):
        AttackData.of(table, [table], **settings)
