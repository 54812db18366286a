"""Numbers that were given out once, and in order, are told from measures."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.table.personal.detect import (
    _expected_equals,
    _poisson_below,
    given_out_in_order,
    given_out_once,
)
from chaffinch.table.profile import Profile


def profiled(numbers):
    profile = Profile(pa.int64())
    profile.add(pa.array(np.asarray(numbers, dtype=np.int64)))
    return profile


@given(st.lists(st.integers(-40, 400), min_size=2, max_size=40), st.sampled_from([1, 5, 100]))
def test_the_expected_equals_are_pairs_a_few_steps_apart(numbers, factor):
    """Second opinion: all pairs, one by one."""
    values, counts = np.unique(np.array(numbers) * factor, return_counts=True)
    if len(values) < 2:
        return
    gaps = np.diff(values)
    step = int(np.gcd.reduce(gaps))
    reach = max(step, int(np.median(gaps)) // step * step)
    every = np.sort(np.array(numbers) * factor)
    pairs = sum(0 < b - a <= reach for i, a in enumerate(every) for b in every[i + 1 :])
    assert _expected_equals(values, counts.astype(float)) == pytest.approx(
        pairs / (2 * reach / step)
    )


PERSONAL = {
    "counted on, with gaps": lambda rng: np.cumsum(rng.integers(1, 12, 600)) + 1000,
    "by site": lambda rng: np.concatenate(
        [1000 * s + rng.choice(150, 60, replace=False) for s in range(1, 11)]
    ),
    "seven digits": lambda rng: rng.choice(9_000_000, 400, replace=False) + 1_000_000,
    "nine digits": lambda rng: rng.choice(800_000_000, 60, replace=False) + 100_000_000,
    "few persons twice": lambda rng: np.concatenate(
        [ids := np.cumsum(rng.integers(1, 9, 800)), ids[:20]]
    ),
    "every fifth": lambda rng: 5 * np.cumsum(rng.integers(1, 6, 500)),
}
MEASURES = {
    "income": lambda rng: np.rint(rng.lognormal(10.3, 0.6, 300)),
    "income, a few people": lambda rng: np.rint(rng.lognormal(10.3, 0.6, 60)),
    "income in hundreds": lambda rng: 100 * np.rint(rng.lognormal(5.7, 0.6, 300)),
    "price": lambda rng: np.rint(rng.lognormal(12.4, 0.5, 300) / 500) * 500,
    "weights of records": lambda rng: np.rint(rng.gamma(3, 60_000, 1000)),
    "days of age": lambda rng: rng.integers(6000, 33_000, 100),
    "population": lambda rng: np.rint(rng.pareto(1.1, 200) * 20_000) + 500,
    "normal": lambda rng: np.rint(rng.normal(170_000, 9_000, 400)),
}


@pytest.mark.parametrize("draw", PERSONAL.values(), ids=PERSONAL)
def test_numbers_that_are_given_out_once_are_seen_sorted_or_not(draw):
    """Random ones of six to eight digits pass a test of evenness at 1 %: of 20 tables all but at most two, once in a thousand more."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(20):
        numbers = np.asarray(draw(rng))
        seen.append(given_out_once(profiled(numbers)))
        assert given_out_once(profiled(np.sort(numbers))) == given_out_once(
            profiled(rng.permutation(numbers))
        )
    assert sum(seen) >= 18


@pytest.mark.parametrize("draw", MEASURES.values(), ids=MEASURES)
def test_measures_are_not(draw):
    """One column in ten thousand by the first sign; 50 tables of each of eight measures fail once in 25 by that alone, if at all."""
    rng = np.random.default_rng(6)
    assert not any(given_out_once(profiled(draw(rng))) for _ in range(50))


def test_numbers_that_rise_from_row_to_row():
    rng = np.random.default_rng(8)
    ids = np.cumsum(rng.integers(1, 400, 30))
    assert given_out_in_order(profiled(ids))
    halves = Profile(pa.int64())
    halves.add(pa.array(ids[:10]))
    halves.add(pa.array(ids[10:]))
    assert given_out_in_order(halves)
    assert not given_out_in_order(profiled(ids[::-1]))
    assert not given_out_in_order(profiled(rng.permutation(ids)))
    assert not given_out_in_order(
        profiled(np.sort(np.rint(rng.normal(50, 10, 60))))
    )  # a measure that was sorted has equals
    assert not given_out_in_order(profiled(np.arange(1900, 2020, 4)))  # years of a series
    assert not given_out_once(profiled(np.arange(1565, 1820, 5)))
    assert not given_out_in_order(profiled(ids[:10]))


@given(seen=st.integers(0, 3000), expected=st.floats(1e-6, 3000.0))
def test_the_chance_of_a_poisson_count_is_that_of_scipy(seen, expected):
    from scipy.stats import poisson

    assert _poisson_below(float(seen), expected) == pytest.approx(
        poisson.cdf(seen, expected), rel=1e-8, abs=1e-300
    )


def test_nothing_that_was_expected_is_no_surprise():
    assert _poisson_below(0.0, 0.0) == 1.0
