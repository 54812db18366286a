"""Which links are worth measuring: products, bars by simulation, and gains by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.synth.bayesnet.private.estimate import product_of
from chaffinch.synth.bayesnet.private.links import (
    Candidates,
    Gaps,
    amounts_for,
    bar_of,
    possible_pairs,
    triples_of,
)
from chaffinch.synth.bayesnet.rules import Constraints, make_rules

ODDS = 1e-6


def test_the_table_of_independent_columns():
    margins = [np.array([60.0, 40.0]), np.array([90.0, 10.0])]
    assert product_of((0, 1), margins, 100.0).tolist() == [[54.0, 6.0], [36.0, 4.0]]


@pytest.mark.parametrize("pure", [True, False])
def test_noise_passes_the_bar_as_often_as_stated(pure):
    # 50 noises of standard deviation 2 and 0.2 alarms: of 20,000 draws of 50, about 4,000 pass (a normal bound at the odds: 5 sigma).
    rng, runs, many = np.random.default_rng(3), 20_000, 50
    noise = (
        rng.laplace(scale=2 / 2**0.5, size=(runs, many))
        if pure
        else rng.normal(scale=2, size=(runs, many))
    )
    passes = (noise > bar_of(many, 2.0, 0.2, pure=pure)).sum()
    assert abs(passes - 0.2 * runs) < 5 * (0.2 * runs) ** 0.5


def test_a_gain_is_the_distance_less_the_error_and_nothing_below_the_bar():
    candidates = Candidates([(0, 1)], [np.array([50.0, 50.0])] * 2, [1.0, 1.0], 100.0)
    models = list(candidates.models())
    gaps = Gaps([(0, 1)], np.array([30.0]), 1.0, candidates.curves, np.array([20.0]), 5.0)
    # Four cells of 25 at sigma 1: 0.4 * 4.
    assert gaps.gain(0, 1.0) == pytest.approx(30 - 1.6, rel=0.01)
    assert (
        Gaps([(0, 1)], np.array([30.0]), 1.0, candidates.curves, np.array([4.0]), 5.0).gain(0, 1.0)
        == 0.0
    )
    assert sum(amounts_for(models, 0.5, pure=True)) == pytest.approx(0.5)


def test_triples_have_a_child_that_may_have_the_others():
    names = ["a", "b", "c", "d"]
    every = triples_of(make_rules(names, Constraints(2)), (2, 2, 2, 2), np.random.default_rng(0))
    assert len(every) == 4
    assert (
        triples_of(make_rules(names, Constraints(1)), (2, 2, 2, 2), np.random.default_rng(0)) == []
    )
    hidden = triples_of(
        make_rules(names, Constraints(2, label="a", sensitive=("d",))),
        (2,) * 4,
        np.random.default_rng(0),
    )
    assert hidden == [(0, 1, 2)]
    assert possible_pairs((2, 3)) == [(0, 1)]
    assert possible_pairs((2000, 2000)) == []
