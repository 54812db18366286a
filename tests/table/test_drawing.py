"""The compiled draw against its definition: atoms as they are, bins by their quantile function, rounded, inside, off what is to be avoided."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.table.codec import draw_numbers, move_to_classes

NONE = np.empty(0)


def draw(uniform, *, avoid=NONE, step=0.0, scale=0.0, codes=None):
    """One bin, code 0, from 0 to 10 with the median at 2; one atom, code 1, at 99."""
    uniform = np.asarray(uniform, dtype=np.float64)
    out = np.empty(len(uniform))
    codes = (
        np.zeros(len(uniform), dtype=np.uint8)
        if codes is None
        else np.asarray(codes, dtype=np.uint8)
    )
    ranks, values = np.array([0.0, 0.5, 1.0]), np.array([0.0, 2.0, 10.0])
    bins = np.array([0, 3]), np.array([0.0]), np.array([10.0])
    draw_numbers(
        out,
        codes,
        uniform,
        np.array([False, True]),
        np.array([0, 0]),
        np.array([99.0]),
        ranks,
        values,
        *bins,
        avoid,
        step,
        scale,
    )
    return out


def test_a_draw_is_the_quantile_function_and_an_atom_is_itself():
    uniform = np.linspace(0, 0.999, 50)
    np.testing.assert_allclose(
        draw(uniform), np.interp(uniform, [0, 0.5, 1], [0, 2, 10]), rtol=1e-12
    )
    assert draw([0.3, 0.3], codes=[1, 0]).tolist() == [99.0, pytest.approx(1.2)]


def test_draws_are_rounded_and_stay_inside():
    whole = draw(np.linspace(0, 0.999, 200), step=3.0)
    assert set(whole) == {0.0, 3.0, 6.0, 9.0}
    assert draw([0.31], scale=10.0).tolist() == [1.2]
    assert draw([0.999], step=4.0).max() <= 10.0


def test_what_is_to_be_avoided_is_not_drawn():
    drawn = draw(np.linspace(0, 0.999, 500), step=1.0, avoid=np.array([0.0, 1.0, 4.0]))
    assert not set(drawn) & {0.0, 1.0, 4.0}
    assert set(drawn) == {2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}


@pytest.mark.parametrize("width", [1, 3])
def test_classes_get_the_shares_that_are_wanted(width):
    """Even numbers 0 to 2,999 in one bin, four classes: shares within five standard errors; a number moves by at most half a turn, but at the ends; narrow bins take of what they have."""
    rng = np.random.default_rng(1)
    wanted = np.array([0.7, 0.2, 0.1, 0.0])
    smooth = np.full(4, 0.25)
    missing = np.maximum(wanted - smooth, 0)
    before = rng.integers(0, 3_000, 40_000)
    for low, high in ((0, 2_999), (6 * width, 6 * width + 2 * width - 1)):
        out = np.clip(before, low, high)
        start = out.copy()
        codes = np.zeros(len(out), dtype=np.uint8)
        ends = np.array([False]), np.array([0]), np.array([float(low)]), np.array([float(high)])
        shares = np.minimum(wanted / smooth, 1), np.cumsum(missing) / missing.sum(), wanted / smooth
        move_to_classes(
            out, codes, rng.random(len(out)), *ends, np.array([7]), width, *shares, 1, 0.0
        )
        assert out.min() >= low
        assert out.max() <= high
        moved = out[start != 7]
        assert not (moved == 7).any()  # fixed
        if high > 100:
            found = np.bincount(moved // width % 4, minlength=4) / len(moved)
            assert found == pytest.approx(wanted, abs=5 * 0.5 / np.sqrt(len(moved)) + 0.002)
            assert np.abs(moved - start[start != 7]).max() <= 4 * width
        else:  # turns 6 and 7: classes 2 and 3, of which 3 is not wanted
            assert (moved // width % 4 == 2).mean() > 0.8
