"""Matrices of pairs of columns, whatever relates them: identical tables, intervals, constant columns, plain data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from phik.phik import phik_from_hist2d

import chaffinch
from chaffinch.synth.independent import Independent
from chaffinch.table import Table
from chaffinch.utility.mu import mu, mu_from
from chaffinch.utility.pearson import pearson
from chaffinch.utility.phi_k import phi_k

from .conftest import adult

Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def test_identical_tables_score_0_and_independent_ones_badly(data: Path) -> None:
    table = chaffinch.read(adult(data, 8000))
    for measure in (phi_k, mu, pearson):
        same = measure(table, table)
        assert same.value == same.identical == 0.0
        assert same.interval == (0.0, 0.0)
    alone = Independent().fit(table).sample(table.n_rows, seed=1)
    apart = phi_k(table, alone)
    upper = np.triu_indices(15, 1)
    # Independent columns leave phi_k near 0, so what is lost is about what there was.
    assert apart.value is not None
    assert apart.value > 0.7 * apart.original[upper].mean()
    assert mu_from(apart).value > 0.02
    assert pearson(table, alone).value > 0.05


def test_interval_holds_the_value_and_shrinks_with_records(data: Path) -> None:
    widths = []
    for n in (1000, 16_000):
        table = chaffinch.read(adult(data, n))
        outcome = phi_k(table, Independent().fit(table).sample(n, seed=1))
        for result in (
            outcome,
            mu_from(outcome),
            mu_from(outcome, norm="spectral"),
            pearson(table, table),
        ):
            assert result.interval is not None
            assert result.interval[0] <= result.value <= result.interval[1]
        widths.append(outcome.interval[1] - outcome.interval[0])
    assert widths[1] < widths[0]


def test_without_interval_the_value_is_the_same(data: Path) -> None:
    table = chaffinch.read(data / "cmc.csv")
    other = Independent().fit(table).sample(500, seed=1)
    quick = phi_k(table, other, interval=False)
    assert quick.interval is None
    assert quick.settings["interval"].startswith("none")
    assert mu_from(quick).interval is None
    assert quick.value == pytest.approx(phi_k(table, other).value, abs=1e-12)
    few = phi_k(table, other.to_arrow().slice(0, 12))
    assert few.value is not None
    assert few.interval is None
    assert pearson(table, other.to_arrow().slice(0, 12)).interval is None


def test_constant_columns_are_left_out_and_said(coded: Coded) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    table = coded([a, np.zeros(200, int), b, (a + b) % 3], (3, 2, 3, 3))
    result = phi_k(table, table)
    assert result.settings["left_out"] == ["c1"]
    assert result.settings["columns"] == 3
    assert result.settings["pairs"] == 3
    assert np.isnan(result.original[1]).all()
    assert result.to_dict()["original"][1] == [None] * 4
    assert np.isfinite(np.delete(np.delete(result.original, 1, 0), 1, 1)).all()
    # m = 3, not 4, in mu
    other = coded([a[::-1], np.zeros(200, int), b, (a + b) % 3], (3, 2, 3, 3))
    apart = phi_k(table, other)
    upper = (apart.synthetic - apart.original)[np.triu_indices(4, 1)]
    assert mu_from(apart).value == pytest.approx(np.sqrt(np.nansum(upper**2)) / 3)
    assert mu_from(apart, norm="spectral").value == pytest.approx(
        np.linalg.norm(np.nan_to_num(apart.synthetic - apart.original), 2) / 3
    )


def test_a_column_that_only_the_synthetic_table_holds_constant_counts(coded: Coded) -> None:
    a = np.tile([0, 1], 100)
    table, flat = coded([a, a], (2, 2)), coded([a, np.zeros(200, int)], (2, 2))
    result = phi_k(table, flat)
    assert result.synthetic[0, 1] == 0.0  # the cell is there, empty: independent
    assert result.value == pytest.approx(phik_from_hist2d(np.diag([100, 100])), abs=2e-5)
    codes = pearson(table, flat)
    assert np.isnan(codes.synthetic[0, 1])
    assert codes.value == pytest.approx(1.0)
    assert codes.settings["constant_in_one_table"] == ["c1"]


def test_too_few_usable_columns_do_not_apply(coded: Coded) -> None:
    rows = np.arange(60)
    for table in (
        coded([rows % 2, rows * 0], (2, 2)),
        coded([rows * 0, rows * 0], (2, 2)),
        coded([rows % 2], (2,)),
    ):
        for measure in (phi_k, mu, pearson):
            result = measure(table, table)
            assert result.value is None
            assert "at least two columns" in result.reason
            assert json.dumps(result.to_dict(), allow_nan=False)
    assert "and none has" in phi_k(coded([rows * 0], (2,)), coded([rows * 0], (2,))).reason


def test_plain_data(data: Path) -> None:
    table = chaffinch.read(adult(data, 2000))
    result = phi_k(table, Independent().fit(table).sample(2000, seed=1))
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["columns"] == list(table.schema.names)
    np.testing.assert_allclose(
        np.array(plain["synthetic"], dtype=float), result.synthetic, atol=1e-6
    )
    worst = plain["worst"]
    assert len(worst) == 20
    gaps = [abs(entry["difference"]) for entry in worst]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == pytest.approx(np.abs(result.synthetic - result.original).max(), abs=1e-6)
    first = worst[0]
    assert first["difference"] == pytest.approx(first["synthetic"] - first["original"], abs=2e-6)
    with pytest.raises(ValueError, match="read-only"):
        result.original[0, 0] = 0.5
    assert repr(result).startswith("PhiK(phi_k = ")
