"""The grid of phi_k: bins, dates, missing codes, many levels, batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from phik.phik import phik_from_hist2d

import chaffinch
from chaffinch.synth.independent import Independent
from chaffinch.table import Table
from chaffinch.utility.phi_k import phi_k, phi_k_of_counts

MODULE = import_module("chaffinch.utility.phi_k")  # the package has the function by that name
Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def shared_counts(
    first: pd.Series, second: pd.Series, rows: Sequence[object], columns: Sequence[object]
) -> np.ndarray:
    return pd.crosstab(first, second).reindex(index=rows, columns=columns, fill_value=0).to_numpy()


def test_numbers_beyond_the_range_fall_in_the_end_bins() -> None:
    rng = np.random.default_rng(3)
    n = 900
    x = rng.normal(50, 10, n).round(2)
    real = pd.DataFrame(
        {"x": x, "y": (x / 10 + rng.normal(0, 0.5, n)).round(3), "z": rng.choice(list("pqr"), n)}
    )
    fake = real.assign(x=real["x"] * 1.5, y=real["y"].sample(frac=1, random_state=1).to_numpy())
    fake.loc[:40, "x"] = np.nan
    result = phi_k(chaffinch.read(real), fake)
    levels = [*range(10), "missing"]

    def binned(name: str) -> pd.Series:
        edges = np.linspace(real[name].min() * (1 - 1e-14), real[name].max(), 11)
        codes = pd.cut(
            fake[name].clip(edges[1], edges[-1]), edges, labels=False
        )  # the first bin holds what is below
        return codes.astype(object).where(fake[name].notna(), "missing")

    first, second = binned("x"), binned("y")
    counts = shared_counts(first, second, levels, levels[:10])
    in_use = shared_counts(
        pd.cut(
            real["x"], np.linspace(real["x"].min() * (1 - 1e-14), real["x"].max(), 11), labels=False
        ),
        second,
        levels,
        levels[:10],
    )
    rows = counts.any(axis=1) | in_use.any(axis=1)
    assert result.synthetic[0, 1] == pytest.approx(phik_from_hist2d(counts[rows]), abs=2e-5)
    z = shared_counts(first, fake["z"], levels, list("pqr"))
    assert result.synthetic[0, 2] == pytest.approx(phik_from_hist2d(z[rows]), abs=2e-5)


def test_bins_of_the_schema(data: Path) -> None:
    table = chaffinch.read(data / "diabetes.csv")
    result = phi_k(table, table, bins="schema")
    for i, j in ((0, 1), (2, 7), (5, 8)):
        counts = pd.crosstab(table.codes[i], table.codes[j]).to_numpy()
        assert result.original[i, j] == pytest.approx(phik_from_hist2d(counts), abs=2e-5)
    assert result.settings["bins"] == "schema"
    assert result.original[0, 1] != phi_k(table, table).original[0, 1]


def test_dates_and_missing_codes_of_numbers() -> None:
    rng = np.random.default_rng(4)
    day = rng.integers(0, 1000, 500)
    dates = (np.datetime64("2020-01-01") + day).astype("datetime64[D]")
    score = np.where(rng.random(500) < 0.2, -8, day // 4 + rng.integers(0, 60, 500))
    values = pa.table({"day": dates, "score": score})
    inferred = chaffinch.read(values).schema
    declared = replace(
        inferred,
        columns=tuple(
            replace(c, codec=None, missing=(-8,) if c.name == "score" else ()) for c in inferred
        ),
    )
    table = chaffinch.read(values, declared)
    edges = {
        name: np.linspace(low * (1 - 1e-14) - 1e-300, high, 11)
        for name, low, high in [
            ("day", dates.astype(np.int64).min(), dates.astype(np.int64).max()),
            ("score", score[score != -8].min(), score.max()),
        ]
    }
    first = np.searchsorted(edges["day"], dates.astype(np.int64))
    second = np.where(score == -8, 99, np.searchsorted(edges["score"], score))
    whole = pd.crosstab(first, second).to_numpy()
    assert phi_k(table, table).original[0, 1] == pytest.approx(phik_from_hist2d(whole), abs=2e-5)
    there = second != 99
    part = pd.crosstab(first[there], second[there]).to_numpy()
    assert phi_k(table, table, missing="drop").original[0, 1] == pytest.approx(
        phik_from_hist2d(part), abs=2e-5
    )


def test_pairs_of_many_levels_are_counted_sparsely(coded: Coded) -> None:
    rng = np.random.default_rng(7)
    real = [a := rng.integers(0, 500, 3000), (a // 5 + rng.integers(0, 3, 3000)) % 500, a % 3]
    fake = [rng.permutation(a), real[1], real[2]]
    result = phi_k(
        coded(real, (500, 500, 3)), coded(fake, (500, 500, 3))
    )  # 20 x 500 x 500 is over the limit for dense
    used = [np.union1d(real[j], fake[j]) for j in range(3)]
    for codes, matrix in ((real, result.original), (fake, result.synthetic)):
        for i, j in combinations(range(3), 2):
            counts = shared_counts(
                pd.Series(codes[i]), pd.Series(codes[j]), list(used[i]), list(used[j])
            )
            assert matrix[i, j] == pytest.approx(phi_k_of_counts(counts), abs=1e-9)


def test_batches_of_pairs_change_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = chaffinch.read(data / "cmc.csv")
    other = Independent().fit(table).sample(700, seed=1)
    whole = phi_k(table, other)
    monkeypatch.setattr(MODULE, "MOST_CELLS", 3000)
    parts = phi_k(table, other)
    np.testing.assert_array_equal(whole.synthetic, parts.synthetic)
    assert whole.interval == parts.interval
