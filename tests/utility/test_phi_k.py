"""phi_k: the coefficient, the grid and the matrices, against the phik library, pandas and brute force."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import ArrayLike
from phik.bivariate import chi2_from_phik, phik_from_chi2
from phik.phik import phik_from_hist2d, phik_matrix
from scipy.special import ndtr

import chaffinch
from chaffinch.stats.intervals import jackknife
from chaffinch.synth.independent import Independent
from chaffinch.table import Categories, Column, Schema, Table
from chaffinch.table.groups import GROUPS
from chaffinch.utility.mu import mu, mu_from
from chaffinch.utility.phi_k import (
    ContingencyCells,
    _curve,
    _look_up,
    _panels,
    phi_k,
)

from .conftest import adult

NUMERIC = ("integer", "float", "date", "datetime")
Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def phi_k_of_counts(counts: ArrayLike, *, noise_correction: bool = True) -> float:
    """Return phi_k of a two-way table of counts; empty rows and columns belong to the shape."""
    table = np.asarray(counts, dtype=np.float64)
    r, c = table.shape
    row, column = np.divmod(np.arange(r * c), c)
    zeros = np.zeros(r * c, dtype=np.int64)
    cells = ContingencyCells(zeros, row, column, zeros[:r], zeros[:c], 1)
    values = cells.phi_k(
        table.reshape(1, -1), np.array([table.shape]), noise_correction=noise_correction
    )
    return float(values[0, 0])


def phi_k_from_chi_square(
    chi_square: ArrayLike, n: ArrayLike, shape: tuple[int, int], *, pedestal: ArrayLike = 0.0
) -> np.ndarray:
    """Return phi_k of tables of one shape from their chi-squares, numbers of records and noise pedestals."""
    chi, records, noise = np.broadcast_arrays(
        *(np.asarray(a, dtype=np.float64) for a in (chi_square, n, pedestal))
    )
    column = (-1, 1)
    return _look_up(
        chi.reshape(column), records.reshape(column), np.array([shape]), noise.reshape(column)
    ).reshape(chi.shape)


def chi_square_from_phi_k(phi_k: ArrayLike, n: float, shape: tuple[int, int]) -> np.ndarray:
    """Return the chi-square that n records of a table of this shape have at phi_k, read off the same curve."""
    root = np.interp(np.arcsin(phi_k), _panels()[3], _curve(min(shape), max(shape)))
    return n * (min(shape) - 1) * root**2


def library(frame: pd.DataFrame, table: Table) -> np.ndarray:
    """Return the phik library's matrix of a frame, with the columns binned that are numeric in the table."""
    numeric = [column.name for column in table.schema if column.kind in NUMERIC]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            phik_matrix(frame, interval_cols=numeric, njobs=1)
            .loc[list(frame), list(frame)]
            .to_numpy()
        )


def test_matrices_are_the_phik_librarys_on_adult(data: Path) -> None:
    values = adult(data, 4000)
    table = chaffinch.read(values, rare="keep")
    result = phi_k(table, table, missing="drop")
    np.testing.assert_allclose(result.original, library(values.to_pandas(), table), atol=2e-5)
    np.testing.assert_array_equal(result.synthetic, result.original)
    assert result.names == tuple(values.column_names)


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


def shared_counts(
    first: pd.Series, second: pd.Series, rows: Sequence[object], columns: Sequence[object]
) -> np.ndarray:
    return pd.crosstab(first, second).reindex(index=rows, columns=columns, fill_value=0).to_numpy()


def test_a_lost_level_and_a_new_one_keep_the_grid() -> None:
    rng = np.random.default_rng(2)
    n = 600
    a = rng.choice(list("uvwx"), n)
    b = np.where(rng.random(n) < 0.4, np.char.upper(a), rng.choice(list("UVWX"), n))
    real = pd.DataFrame({"a": a, "b": b})
    fake = real.replace({"a": {"x": "w"}, "b": {"U": "new"}})  # x lost; U lost, (other) gained
    table = chaffinch.read(real)
    result = phi_k(table, fake)
    levels_b = ["U", "V", "W", "X", "new"]
    for frame, matrix in ((real, result.original), (fake, result.synthetic)):
        counts = shared_counts(frame["a"], frame["b"], list("uvwx"), levels_b)
        assert counts.shape == (4, 5)
        assert matrix[0, 1] == pytest.approx(phik_from_hist2d(counts), abs=2e-5)
    # Not what the library says of the original's own 4 x 4 and the synthetic table's own 3 x 4 cells.
    own = phik_from_hist2d(pd.crosstab(fake["a"], fake["b"]).to_numpy())
    assert abs(result.synthetic[0, 1] - own) > 1e-3


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
    result = phi_k(coded(real, (4, 5)), coded(fake, (4, 5)))
    apart = np.array(by_hand_without_groups(fake, (4, 5))) - by_hand_without_groups(real, (4, 5))
    assert result.value is not None
    assert result.interval == pytest.approx(jackknife(result.value, np.abs(apart), low=0, high=1))
    assert mu_from(result).interval == pytest.approx(result.interval)  # one pair: the same number
    assert mu_from(result, norm="spectral").interval == pytest.approx(result.interval)


def test_pairs_that_are_never_both_there_have_no_value() -> None:
    n = 120
    a = ["x", "y", None, None] * (n // 4)
    b = [None, None, "p", "q"] * (n // 4)
    table = chaffinch.read(pa.table({"a": a, "b": b, "c": ["k", "k", "k", "l", "l"] * (n // 5)}))
    result = phi_k(table, table, missing="drop")
    assert np.isnan(result.original[0, 1])
    assert result.settings["pairs"] == 2
    assert mu_from(result, norm="spectral").value == 0.0
    alone = chaffinch.read(pa.table({"a": a, "b": b}))
    assert "same record" in phi_k(alone, alone, missing="drop").reason
    assert mu(alone, alone, missing="drop").value is None


def as_table(columns: Sequence[Sequence[int]], sizes: Sequence[int]) -> Table:
    """Return a table of codes (fixtures do not go with Hypothesis)."""
    schema = tuple(
        Column(f"c{j}", "categorical", codec=Categories(tuple(f"v{i}" for i in range(size))))
        for j, size in enumerate(sizes)
    )
    return Table.from_codes(
        Schema(schema), [np.array(column, dtype=np.uint32) for column in columns], seed=0
    )


small = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(0, 3)] * width),
        min_size=2,
        max_size=60,
    )
)


@given(small, small, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=20)
def test_matrices_are_symmetric_in_range_and_blind_to_order(
    first: list, second: list, random: object
) -> None:
    width = min(len(first[0]), len(second[0]))
    tables = [
        as_table(list(zip(*rows, strict=True))[:width], [4] * width) for rows in (first, second)
    ]
    result = phi_k(*tables, interval=False)
    if result.value is None:
        return
    for matrix in (result.original, result.synthetic):
        np.testing.assert_array_equal(matrix, matrix.T)
        held = matrix[np.isfinite(matrix)]
        assert ((held >= 0) & (held <= 1)).all()
    assert 0 <= result.value <= 1
    shuffled = [list(rows) for rows in (first, second)]
    for rows in shuffled:
        random.shuffle(rows)  # type: ignore[attr-defined]
    names = list(range(4))
    random.shuffle(names)  # type: ignore[attr-defined]
    relabelled = [
        as_table(
            [[names[v] for v in column] for column in zip(*rows, strict=True)][:width], [4] * width
        )
        for rows in shuffled
    ]
    again = phi_k(*relabelled, interval=False)
    # A root near 0 makes 1e-8 of an error of 1e-16.
    np.testing.assert_allclose(again.original, result.original, atol=1e-6)
    np.testing.assert_allclose(again.synthetic, result.synthetic, atol=1e-6)


MODULE = import_module("chaffinch.utility.phi_k")  # the package has the function by that name
SHARES = [1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 0.95, 0.99, 0.999]
SHAPES = [(2, 2), (2, 3), (2, 10), (3, 3), (10, 10), (7, 16), (16, 7), (42, 10), (42, 42)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("noise", [False, True], ids=["no pedestal", "pedestal"])
def test_agrees_with_the_phik_library(shape: tuple[int, int], noise: bool) -> None:
    r, c = shape
    shares = (
        SHARES if r * c < 400 else SHARES[::3]
    )  # the library needs a tenth of a second for each of these
    for n in (150, 48_842):
        pedestal = float((r - 1) * (c - 1)) if noise else 0.0
        most = n * (min(shape) - 1)
        chi = pedestal + np.array(shares) * (most - pedestal)
        if most <= pedestal:
            continue
        theirs = [phik_from_chi2(x, n, r, c, pedestal=pedestal) for x in chi]
        # The library stops at 1e-5 and integrates cells to about 1e-8: what is left is its own.
        np.testing.assert_allclose(
            phi_k_from_chi_square(chi, n, shape, pedestal=pedestal), theirs, atol=2e-5
        )


def test_known_vector_there_and_back() -> None:
    # From the phik library's own tests.
    assert chi_square_from_phi_k(0.5, 1000, (10, 10)) == pytest.approx(271.16068979654125, abs=1e-3)
    assert chi2_from_phik(0.5, 1000, nx=10, ny=10) == pytest.approx(271.16068979654125, abs=1e-3)
    assert phi_k_from_chi_square(271.16068979654125, 1000, (10, 10)) == pytest.approx(0.5, abs=1e-6)


def by_quadrature(rho: float, r: int, c: int) -> tuple[float, float]:
    """Return f(rho) and f(1) of cell probabilities integrated over x, with the conditional distribution of y in closed form."""
    z, w = np.polynomial.legendre.leggauss(200)
    edges_x, edges_y = np.linspace(-5, 5, r + 1), np.linspace(-5, 5, c + 1)
    x = (edges_x[:-1, None] + edges_x[1:, None]) / 2 + 5 / r * z
    density = 5 / r * w * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)

    def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))

    at = (edges_y - rho * x[..., None]) / np.sqrt(1 - rho * rho)
    p = (density[..., None] * between(at[..., :-1], at[..., 1:])).sum(axis=1)
    p_0 = np.outer(between(edges_x[:-1], edges_x[1:]), between(edges_y[:-1], edges_y[1:]))
    low = np.maximum(edges_x[:-1, None], edges_y[:-1])
    high = np.minimum(edges_x[1:, None], edges_y[1:])
    p_1 = np.where(low < high, between(low, np.maximum(low, high)), 0.0)
    return float(((p - p_0) ** 2 / p_0).sum()), float(((p_1 - p_0) ** 2 / p_0).sum())


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (7, 16), (10, 10), (41, 42), (60, 60)], ids=str)
def test_agrees_with_quadrature(shape: tuple[int, int]) -> None:
    n, most = 1000, 1000 * (min(shape) - 1)
    for rho in (0.01, 0.3, 0.7, 0.95, 0.99, 0.997):
        f, f_one = by_quadrature(rho, *shape)
        assert phi_k_from_chi_square(most * f / f_one, n, shape) == pytest.approx(rho, abs=3e-6)


def test_two_by_two_has_a_closed_form() -> None:
    # A quadrant has probability 1/4 + arcsin(rho) / (2 pi), so f(rho) / f(1) = (2 arcsin(rho) / pi)^2; [-5, 5] cuts 1e-6 off.
    shares = np.array([0.01, 0.2, 0.5, 0.9])
    result = phi_k_from_chi_square(100 * shares, 100, (2, 2))
    np.testing.assert_allclose(result, np.sin(np.pi / 2 * np.sqrt(shares)), atol=1e-6)


def random_counts(
    rng: np.random.Generator, shape: tuple[int, int], n: int, tie: float
) -> np.ndarray:
    """Return counts of n records, a share of which sits on the diagonal, with some levels without any record."""
    a = rng.integers(0, shape[0], n)
    b = np.where(rng.random(n) < tie, a % shape[1], rng.integers(0, shape[1], n))
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (a, b), 1)
    return counts


@pytest.mark.parametrize("noise_correction", [True, False])
@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (3, 4), (10, 10), (12, 3)], ids=str)
def test_tables_agree_with_the_phik_library(shape: tuple[int, int], noise_correction: bool) -> None:
    rng = np.random.default_rng(1)
    for n, tie in [(12, 0.3), (60, 0.0), (60, 0.9), (5000, 0.0), (5000, 0.2), (5000, 1.0)]:
        counts = random_counts(rng, shape, n, tie)
        if n > 12 and shape[1] > 2:
            counts[:, 1] = 0  # a level that only the other table has
        theirs = phik_from_hist2d(counts, noise_correction=noise_correction)
        assert phi_k_of_counts(counts, noise_correction=noise_correction) == pytest.approx(
            theirs, abs=2e-5
        )


def test_yates_correction_where_two_by_two_cells_are_left() -> None:
    counts = np.array([[30, 0, 12], [14, 0, 25]])  # 2 x 3, of which 2 x 2 hold records
    assert phi_k_of_counts(counts) == pytest.approx(phik_from_hist2d(counts), abs=2e-5)
    near = np.array([[10, 10], [10, 11]])  # off by less than half a record: corrected to nothing
    assert phi_k_of_counts(near, noise_correction=False) == 0.0


def test_ends_of_the_scale() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = phi_k_from_chi_square([0.0, 4.0, 4.1, 200.0, 250.0], 100, (3, 3), pedestal=4.0)
        assert result[[0, 1]].tolist() == [0.0, 0.0]
        assert 0 < result[2] < 0.1
        assert result[[3, 4]].tolist() == [1.0, 1.0]
        assert np.isnan(phi_k_from_chi_square(0.0, 0, (3, 3)))
        assert (
            phi_k_from_chi_square(40.0, 5, (10, 10), pedestal=81.0) == 0.0
        )  # more noise than room
        assert np.isnan(phi_k_of_counts(np.zeros((3, 3))))


def test_one_column_decides_the_other() -> None:
    assert phi_k_of_counts(np.diag([5, 70, 31, 4])) == 1.0
    assert phi_k_of_counts([[20, 0, 30, 0], [0, 11, 0, 7], [0, 0, 0, 3]]) < 1.0
    assert (
        phi_k_of_counts([[20, 0, 30, 0], [0, 11, 0, 7]]) == 1.0
    )  # 2 x 4: the chi-square is the largest there is


@given(
    arrays.arrays(
        np.int64, st.tuples(st.integers(2, 6), st.integers(2, 6)), elements=st.integers(0, 40)
    ),
    st.randoms(),
)
@settings(deadline=None, max_examples=150)
def test_in_range_and_blind_to_order_of_levels(counts: np.ndarray, random: object) -> None:
    if not counts.any():
        return
    value = phi_k_of_counts(counts)
    assert 0.0 <= value <= 1.0
    assert phi_k_of_counts(counts.T) == pytest.approx(value, abs=1e-9)
    rows, columns = list(range(counts.shape[0])), list(range(counts.shape[1]))
    random.shuffle(rows)  # type: ignore[attr-defined]
    random.shuffle(columns)  # type: ignore[attr-defined]
    assert phi_k_of_counts(counts[rows][:, columns]) == pytest.approx(value, abs=1e-9)


@given(st.integers(2, 30), st.integers(2, 30), st.floats(0, 1), st.integers(1, 10**6))
@settings(deadline=None, max_examples=100)
def test_there_and_back(r: int, c: int, share: float, n: int) -> None:
    most = n * (min(r, c) - 1)
    phi = phi_k_from_chi_square(share * most, n, (r, c))
    assert chi_square_from_phi_k(phi, n, (r, c)) == pytest.approx(share * most, abs=1e-5 * most)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (9, 16), (30, 200)], ids=str)
def test_curve_rises_from_0_to_1(shape: tuple[int, int]) -> None:
    curve = _curve(*shape)
    assert curve[0] == 0.0
    assert curve[-1] == 1.0
    assert (np.diff(curve) >= 0).all()
    assert not curve.flags.writeable


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _curve(31, 40)
    monkeypatch.setattr(MODULE, "BLOCK", 1)
    np.testing.assert_allclose(_curve.__wrapped__(31, 40), whole, atol=1e-12)


@pytest.mark.parametrize("levels", [200, 3000])
def test_many_levels(levels: int) -> None:
    # With ever finer cells f(rho) tends to the chi-square of the normal density itself, rho^2 / (1 - rho^2): 0.5625 at 0.6.
    # The cut at 5 and the width of the cells take off less than 1 in 1,000.
    assert phi_k_from_chi_square(0.5625 * 1000, 1000, (levels, levels)) == pytest.approx(
        0.6, abs=1e-3
    )
    assert phi_k_from_chi_square(1000 * (levels - 1), 1000, (levels, levels)) == 1.0


def test_coarser_cells_for_large_shapes_move_phi_k_by_less_than_1e_4(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shape = (500, 600)
    shares = np.concatenate([np.linspace(0, 1, 101), [1e-4, 1e-3]])
    coarse = phi_k_from_chi_square(shares * 499, 1, shape)
    whole = _curve.__wrapped__
    monkeypatch.setattr(MODULE, "MOST_LEVELS", 1000)
    monkeypatch.setattr(MODULE, "_curve", whole)
    fine = phi_k_from_chi_square(shares * 499, 1, shape)
    assert 0 < np.abs(coarse - fine).max() < 1e-4


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
