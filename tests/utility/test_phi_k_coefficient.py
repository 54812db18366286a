"""phi_k against the phik library, against quadrature of the bivariate normal, and against what is known of it."""

import warnings
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from phik.bivariate import chi2_from_phik, phik_from_chi2
from phik.phik import phik_from_hist2d
from scipy.special import ndtr

from chaffinch.errors import InputError
from chaffinch.utility.phi_k import (
    _curve,
    chi_square_from_phi_k,
    phi_k_from_chi_square,
    phi_k_of_counts,
)

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


def test_refuses_what_is_no_table() -> None:
    with pytest.raises(InputError, match="at least two rows and two columns"):
        phi_k_of_counts([[1, 2, 3]])
    with pytest.raises(InputError, match="finite numbers of at least 0"):
        phi_k_of_counts([[1, -2], [3, 4]])
    with pytest.raises(InputError, match="Got 1 x 4"):
        phi_k_from_chi_square(1.0, 10, (1, 4))
    with pytest.raises(InputError, match="between 0 and 1"):
        chi_square_from_phi_k(1.5, 10, (2, 4))
