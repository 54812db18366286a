"""phi_k matrices, mu and Pearson matrices against the phik library, pandas, numpy and brute force."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phik.phik import phik_from_hist2d, phik_matrix

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.stats.intervals import jackknife
from chaffinch.stats.pair import GROUPS
from chaffinch.synth.independent import Independent
from chaffinch.table import Categories, Column, Schema, Table
from chaffinch.utility import pairs
from chaffinch.utility.association import mu, mu_from, pearson, phi_k
from chaffinch.utility.phik import phi_k_of_counts

NUMERIC = ("integer", "float", "date", "datetime")
Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def library(frame: pd.DataFrame, table: Table) -> np.ndarray:
    """Return the phik library's matrix of a frame, with the columns binned that are numeric in the table."""
    numeric = [column.name for column in table.schema if column.kind in NUMERIC]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return phik_matrix(frame, interval_cols=numeric, njobs=1).loc[list(frame), list(frame)].to_numpy()


def adult(data: Path, rows: int) -> pa.Table:
    return pq.read_table(data / "adult_train.parquet").slice(0, rows)


def test_matrices_are_the_phik_librarys_on_adult(data: Path) -> None:
    values = adult(data, 4000)
    table = chaffinch.read(values, rare="keep")
    found = phi_k(table, table, missing="drop")
    np.testing.assert_allclose(found.original, library(values.to_pandas(), table), atol=2e-5)
    np.testing.assert_array_equal(found.synthetic, found.original)
    assert found.names == tuple(values.column_names)


def test_matrices_are_the_phik_librarys_on_cmc(data: Path) -> None:
    table = chaffinch.read(data / "cmc.csv")
    np.testing.assert_allclose(
        phi_k(table, table).original, library(pd.read_csv(data / "cmc.csv"), table), atol=2e-5
    )  # nothing is missing: a level of its own or dropped is the same


def test_missing_values_are_a_level_of_their_own(data: Path) -> None:
    values = adult(data, 3000)
    table = chaffinch.read(values, rare="keep")
    frame = values.to_pandas()
    assert frame["workclass"].isna().any()
    words = frame.select_dtypes(exclude="number").columns
    frame[words] = frame[words].astype(object).fillna("nothing here")
    np.testing.assert_allclose(phi_k(table, table).original, library(frame, table), atol=2e-5)


def shared_counts(first: pd.Series, second: pd.Series, rows: Sequence[object], columns: Sequence[object]) -> np.ndarray:
    return pd.crosstab(first, second).reindex(index=rows, columns=columns, fill_value=0).to_numpy()


def test_a_lost_level_and_a_new_one_keep_the_grid() -> None:
    rng = np.random.default_rng(2)
    n = 600
    a = rng.choice(list("uvwx"), n)
    b = np.where(rng.random(n) < 0.4, np.char.upper(a), rng.choice(list("UVWX"), n))
    real = pd.DataFrame({"a": a, "b": b})
    fake = real.replace({"a": {"x": "w"}, "b": {"U": "new"}})  # x lost; U lost, (other) gained
    table = chaffinch.read(real)
    found = phi_k(table, fake)
    levels_b = ["U", "V", "W", "X", "new"]
    for frame, matrix in ((real, found.original), (fake, found.synthetic)):
        counts = shared_counts(frame["a"], frame["b"], list("uvwx"), levels_b)
        assert counts.shape == (4, 5)
        assert matrix[0, 1] == pytest.approx(phik_from_hist2d(counts), abs=2e-5)
    # Not what the library says of the original's own 4 x 4 and the synthetic table's own 3 x 4 cells.
    own = phik_from_hist2d(pd.crosstab(fake["a"], fake["b"]).to_numpy())
    assert abs(found.synthetic[0, 1] - own) > 1e-3


def test_numbers_beyond_the_range_fall_in_the_end_bins() -> None:
    rng = np.random.default_rng(3)
    n = 900
    x = rng.normal(50, 10, n).round(2)
    real = pd.DataFrame({"x": x, "y": (x / 10 + rng.normal(0, 0.5, n)).round(3), "z": rng.choice(list("pqr"), n)})
    fake = real.assign(x=real["x"] * 1.5, y=real["y"].sample(frac=1, random_state=1).to_numpy())
    fake.loc[:40, "x"] = np.nan
    found = phi_k(chaffinch.read(real), fake)
    levels = [*range(10), "missing"]

    def binned(name: str) -> pd.Series:
        edges = np.linspace(real[name].min() * (1 - 1e-14), real[name].max(), 11)
        codes = pd.cut(fake[name].clip(edges[1], edges[-1]), edges, labels=False)  # the first bin holds what is below
        return codes.astype(object).where(fake[name].notna(), "missing")

    first, second = binned("x"), binned("y")
    counts = shared_counts(first, second, levels, levels[:10])
    in_use = shared_counts(
        pd.cut(real["x"], np.linspace(real["x"].min() * (1 - 1e-14), real["x"].max(), 11), labels=False),
        second,
        levels,
        levels[:10],
    )
    rows = counts.any(axis=1) | in_use.any(axis=1)
    assert found.synthetic[0, 1] == pytest.approx(phik_from_hist2d(counts[rows]), abs=2e-5)
    z = shared_counts(first, fake["z"], levels, list("pqr"))
    assert found.synthetic[0, 2] == pytest.approx(phik_from_hist2d(z[rows]), abs=2e-5)


def test_bins_of_the_schema(data: Path) -> None:
    table = chaffinch.read(data / "diabetes.csv")
    found = phi_k(table, table, bins="schema")
    for i, j in ((0, 1), (2, 7), (5, 8)):
        counts = pd.crosstab(table.codes[i], table.codes[j]).to_numpy()
        assert found.original[i, j] == pytest.approx(phik_from_hist2d(counts), abs=2e-5)
    assert found.settings["bins"] == "schema"
    assert found.original[0, 1] != phi_k(table, table).original[0, 1]


def test_dates_and_missing_codes_of_numbers() -> None:
    rng = np.random.default_rng(4)
    day = rng.integers(0, 1000, 500)
    dates = (np.datetime64("2020-01-01") + day).astype("datetime64[D]")
    score = np.where(rng.random(500) < 0.2, -8, day // 4 + rng.integers(0, 60, 500))
    values = pa.table({"day": dates, "score": score})
    inferred = chaffinch.read(values).schema
    declared = replace(
        inferred, columns=tuple(replace(c, codec=None, missing=(-8,) if c.name == "score" else ()) for c in inferred)
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
    assert phi_k(table, table, missing="drop").original[0, 1] == pytest.approx(phik_from_hist2d(part), abs=2e-5)


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


def test_norms_by_hand(data: Path) -> None:
    table = chaffinch.read(data / "cmc.csv")
    found = phi_k(table, Independent().fit(table).sample(table.n_rows, seed=1))
    apart = found.synthetic - found.original
    m = len(found.names)
    pairs = m * (m - 1) / 2
    upper = apart[np.triu_indices(m, 1)]
    assert found.value == pytest.approx(np.abs(upper).mean())
    assert mu_from(found).value == pytest.approx(np.sqrt((upper**2).sum()) / pairs)
    assert mu_from(found, norm="frobenius_full").value == pytest.approx(np.linalg.norm(apart) / pairs)
    assert mu_from(found, norm="spectral").value == pytest.approx(np.linalg.norm(apart, 2) / pairs)
    assert mu_from(found, norm="spectral").to_dict()["norm"] == "spectral"
    assert mu_from(found).settings["columns"] == m
    assert mu(table, table, norm="spectral").settings["norm"] == "spectral"


def by_hand_without_groups(codes: list[np.ndarray], shape: tuple[int, int]) -> list[float]:
    """Return phi_k of two columns without each group of records, dealt as the measure deals them."""
    n = len(codes[0])
    group = np.random.default_rng(0).permutation((np.arange(n) % GROUPS).astype(np.uint8))
    out = []
    for g in range(GROUPS):
        counts = np.zeros(shape)
        np.add.at(counts, (codes[0][group != g], codes[1][group != g]), 1)
        out.append(phi_k_of_counts(counts))
    return out


def test_interval_is_the_jackknife_by_brute_force(coded: Coded) -> None:
    rng = np.random.default_rng(5)
    real, fake = ([a := rng.integers(0, 4, 500), (a + rng.integers(0, k, 500)) % 5] for k in (2, 4))
    found = phi_k(coded(real, (4, 5)), coded(fake, (4, 5)))
    apart = np.array(by_hand_without_groups(fake, (4, 5))) - by_hand_without_groups(real, (4, 5))
    assert found.value is not None
    assert found.interval == pytest.approx(jackknife(found.value, np.abs(apart), low=0, high=1))
    assert mu_from(found).interval == pytest.approx(found.interval)  # one pair: the same number
    assert mu_from(found, norm="spectral").interval == pytest.approx(found.interval)


def test_interval_holds_the_value_and_shrinks_with_records(data: Path) -> None:
    widths = []
    for n in (1000, 16_000):
        table = chaffinch.read(adult(data, n))
        found = phi_k(table, Independent().fit(table).sample(n, seed=1))
        for result in (found, mu_from(found), mu_from(found, norm="spectral"), pearson(table, table)):
            assert result.interval is not None
            assert result.interval[0] <= result.value <= result.interval[1]
        widths.append(found.interval[1] - found.interval[0])
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
    found = phi_k(table, table)
    assert found.settings["left_out"] == ["c1"]
    assert found.settings["columns"] == 3
    assert found.settings["pairs"] == 3
    assert np.isnan(found.original[1]).all()
    assert found.to_dict()["original"][1] == [None] * 4
    assert np.isfinite(np.delete(np.delete(found.original, 1, 0), 1, 1)).all()
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
    found = phi_k(table, flat)
    assert found.synthetic[0, 1] == 0.0  # the cell is there, empty: independent
    assert found.value == pytest.approx(phik_from_hist2d(np.diag([100, 100])), abs=2e-5)
    codes = pearson(table, flat)
    assert np.isnan(codes.synthetic[0, 1])
    assert codes.value == pytest.approx(1.0)
    assert codes.settings["constant_in_one_table"] == ["c1"]


def test_too_few_usable_columns_do_not_apply(coded: Coded) -> None:
    rows = np.arange(60)
    for table in (coded([rows % 2, rows * 0], (2, 2)), coded([rows * 0, rows * 0], (2, 2)), coded([rows % 2], (2,))):
        for measure in (phi_k, mu, pearson):
            found = measure(table, table)
            assert found.value is None
            assert "at least two columns" in found.why_not
            assert json.dumps(found.to_dict(), allow_nan=False)
    assert "and none has" in phi_k(coded([rows * 0], (2,)), coded([rows * 0], (2,))).why_not


def test_pairs_that_are_never_both_there_have_no_value() -> None:
    n = 120
    a = ["x", "y", None, None] * (n // 4)
    b = [None, None, "p", "q"] * (n // 4)
    table = chaffinch.read(pa.table({"a": a, "b": b, "c": ["k", "k", "k", "l", "l"] * (n // 5)}))
    found = phi_k(table, table, missing="drop")
    assert np.isnan(found.original[0, 1])
    assert found.settings["pairs"] == 2
    assert mu_from(found, norm="spectral").value == 0.0
    alone = chaffinch.read(pa.table({"a": a, "b": b}))
    assert "same record" in phi_k(alone, alone, missing="drop").why_not
    assert mu(alone, alone, missing="drop").value is None


def test_pairs_of_many_levels_are_counted_sparsely(coded: Coded) -> None:
    rng = np.random.default_rng(7)
    real = [a := rng.integers(0, 500, 3000), (a // 5 + rng.integers(0, 3, 3000)) % 500, a % 3]
    fake = [rng.permutation(a), real[1], real[2]]
    found = phi_k(coded(real, (500, 500, 3)), coded(fake, (500, 500, 3)))  # 20 x 500 x 500 is over the limit for dense
    used = [np.union1d(real[j], fake[j]) for j in range(3)]
    for codes, matrix in ((real, found.original), (fake, found.synthetic)):
        for i, j in combinations(range(3), 2):
            counts = shared_counts(pd.Series(codes[i]), pd.Series(codes[j]), list(used[i]), list(used[j]))
            assert matrix[i, j] == pytest.approx(phi_k_of_counts(counts), abs=1e-9)


def test_batches_of_pairs_change_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = chaffinch.read(data / "cmc.csv")
    other = Independent().fit(table).sample(700, seed=1)
    whole = phi_k(table, other)
    monkeypatch.setattr(pairs, "MOST_CELLS", 3000)
    parts = phi_k(table, other)
    np.testing.assert_array_equal(whole.synthetic, parts.synthetic)
    assert whole.interval == parts.interval


def as_table(columns: Sequence[Sequence[int]], sizes: Sequence[int]) -> Table:
    """Return a table of codes (fixtures do not go with Hypothesis)."""
    schema = tuple(
        Column(f"c{j}", "categorical", codec=Categories(tuple(f"v{i}" for i in range(size))))
        for j, size in enumerate(sizes)
    )
    return Table.from_codes(Schema(schema), [np.array(column, dtype=np.uint32) for column in columns], seed=0)


small = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(0, 3)] * width),
        min_size=2,
        max_size=60,
    )
)


@given(small, small, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_matrices_are_symmetric_in_range_and_blind_to_order(first: list, second: list, random: object) -> None:
    width = min(len(first[0]), len(second[0]))
    tables = [as_table(list(zip(*rows, strict=True))[:width], [4] * width) for rows in (first, second)]
    found = phi_k(*tables, interval=False)
    if found.value is None:
        return
    for matrix in (found.original, found.synthetic):
        np.testing.assert_array_equal(matrix, matrix.T)
        held = matrix[np.isfinite(matrix)]
        assert ((held >= 0) & (held <= 1)).all()
    assert 0 <= found.value <= 1
    shuffled = [list(rows) for rows in (first, second)]
    for rows in shuffled:
        random.shuffle(rows)  # type: ignore[attr-defined]
    names = list(range(4))
    random.shuffle(names)  # type: ignore[attr-defined]
    relabelled = [
        as_table([[names[v] for v in column] for column in zip(*rows, strict=True)][:width], [4] * width)
        for rows in shuffled
    ]
    again = phi_k(*relabelled, interval=False)
    np.testing.assert_allclose(again.original, found.original, atol=1e-9)
    np.testing.assert_allclose(again.synthetic, found.synthetic, atol=1e-9)


def test_pearson_is_numpys(data: Path) -> None:
    table = chaffinch.read(adult(data, 5000))
    other = Independent().fit(table).sample(3000, seed=1)
    found = pearson(table, other)
    for held, matrix in ((table, found.original), (other, found.synthetic)):
        codes = np.stack([held.codes[j] for j in range(len(held.codes))]).astype(float)
        np.testing.assert_allclose(matrix, np.corrcoef(codes), atol=1e-10)
    upper = np.triu_indices(15, 1)
    assert found.value == pytest.approx(np.abs(found.synthetic - found.original)[upper].mean())


def test_pearson_interval_is_the_jackknife_by_brute_force(coded: Coded) -> None:
    rng = np.random.default_rng(8)
    group = np.random.default_rng(0).permutation((np.arange(300) % GROUPS).astype(np.uint8))
    # One record of a group stands out in two columns, in the synthetic table two: constant without the group.
    one, other = (np.arange(300) == i for i in np.flatnonzero(group == 5)[:2])
    real, fake = ([a := rng.integers(0, 4, 300), (a + rng.integers(0, k, 300)) % 5, one * 1] for k in (2, 4))
    real.append(one * 1)
    fake.append(other * 1)
    found = pearson(coded(real, (4, 5, 2, 2)), coded(fake, (4, 5, 2, 2)))
    upper = np.triu_indices(4, 1)
    with np.errstate(invalid="ignore"):
        first, second = (
            np.array([np.corrcoef(np.array(codes)[:, group != g])[upper] for g in range(GROUPS)])
            for codes in (real, fake)
        )
    assert np.isnan(first[:, -1]).sum() == 1
    without = np.abs(np.nan_to_num(second) - np.nan_to_num(first)).mean(axis=1)
    assert found.value is not None
    assert found.interval == pytest.approx(jackknife(found.value, without, low=0, high=2))


def test_pearson_of_a_constant_column_is_not_defined(coded: Coded) -> None:
    rng = np.random.default_rng(9)
    a = rng.integers(0, 3, 90)
    table = coded([a, np.full(90, 2), 2 - a], (3, 3, 3))
    found = pearson(table, table)
    assert np.isnan(found.original[1]).all()
    assert found.original[0, 2] == pytest.approx(-1.0)
    assert found.settings["left_out"] == ["c1"]
    assert found.settings["pairs"] == 1
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["original"][1] == [None] * 3


def test_plain_data(data: Path) -> None:
    table = chaffinch.read(adult(data, 2000))
    found = phi_k(table, Independent().fit(table).sample(2000, seed=1))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["columns"] == list(table.schema.names)
    np.testing.assert_allclose(np.array(plain["synthetic"], dtype=float), found.synthetic, atol=1e-6)
    worst = plain["worst"]
    assert len(worst) == 20
    gaps = [abs(entry["difference"]) for entry in worst]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == pytest.approx(np.abs(found.synthetic - found.original).max(), abs=1e-6)
    first = worst[0]
    assert first["difference"] == pytest.approx(first["synthetic"] - first["original"], abs=2e-6)
    with pytest.raises(ValueError, match="read-only"):
        found.original[0, 0] = 0.5
    assert repr(found).startswith("PhiK(phi_k = ")


def test_settings_that_do_not_exist(coded: Coded) -> None:
    table = coded([[0, 1] * 20, [0, 0, 1, 1] * 10], (2, 2))
    for bins in (1, 0, True, 2.5, "many"):
        with pytest.raises(InputError, match="bins must be a whole number from 2 to 10,000, or 'schema'"):
            phi_k(table, table, bins=bins)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Did you mean 'drop'"):
        phi_k(table, table, missing="drops")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Did you mean 'frobenius'"):
        mu(table, table, norm="frobenus")  # type: ignore[arg-type]
