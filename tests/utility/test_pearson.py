"""Pearson matrices of codes against numpy and brute force."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import chaffinch
from chaffinch.stats.intervals import jackknife
from chaffinch.synth.independent import Independent
from chaffinch.table import Table
from chaffinch.table.groups import GROUPS
from chaffinch.utility.pearson import pearson

from .conftest import adult

Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def test_pearson_is_numpys(data: Path) -> None:
    table = chaffinch.read(adult(data, 5000))
    other = Independent().fit(table).sample(3000, seed=1)
    result = pearson(table, other)
    for held, matrix in ((table, result.original), (other, result.synthetic)):
        codes = np.stack([held.codes[j] for j in range(len(held.codes))]).astype(float)
        np.testing.assert_allclose(matrix, np.corrcoef(codes), atol=1e-10)
    upper = np.triu_indices(15, 1)
    assert result.value == pytest.approx(np.abs(result.synthetic - result.original)[upper].mean())


def test_pearson_interval_is_the_jackknife_by_brute_force(coded: Coded) -> None:
    rng = np.random.default_rng(8)
    group = np.random.default_rng(0).permutation((np.arange(300) % GROUPS).astype(np.uint8))
    # One record of a group stands out in two columns, in the synthetic table two: constant without the group.
    one, other = (np.arange(300) == i for i in np.flatnonzero(group == 5)[:2])
    real, fake = (
        [a := rng.integers(0, 4, 300), (a + rng.integers(0, k, 300)) % 5, one * 1] for k in (2, 4)
    )
    real.append(one * 1)
    fake.append(other * 1)
    result = pearson(coded(real, (4, 5, 2, 2)), coded(fake, (4, 5, 2, 2)))
    upper = np.triu_indices(4, 1)
    with np.errstate(invalid="ignore"):
        first, second = (
            np.array([np.corrcoef(np.array(codes)[:, group != g])[upper] for g in range(GROUPS)])
            for codes in (real, fake)
        )
    assert np.isnan(first[:, -1]).sum() == 1
    without = np.abs(np.nan_to_num(second) - np.nan_to_num(first)).mean(axis=1)
    assert result.value is not None
    assert result.interval == pytest.approx(jackknife(result.value, without, low=0, high=2))


def test_pearson_of_a_constant_column_is_not_defined(coded: Coded) -> None:
    rng = np.random.default_rng(9)
    a = rng.integers(0, 3, 90)
    table = coded([a, np.full(90, 2), 2 - a], (3, 3, 3))
    result = pearson(table, table)
    assert np.isnan(result.original[1]).all()
    assert result.original[0, 2] == pytest.approx(-1.0)
    assert result.settings["left_out"] == ["c1"]
    assert result.settings["pairs"] == 1
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["original"][1] == [None] * 3
