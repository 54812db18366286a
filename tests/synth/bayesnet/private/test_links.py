"""Which links are worth measuring: products, bars by simulation, and gains by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.synth.bayesnet.network import Constraints, make_rules
from chaffinch.synth.bayesnet.private.links import (
    ONLY_COLUMNS,
    ONLY_COLUMNS_PURE,
    Candidates,
    Gaps,
    Wants,
    amounts_for,
    bar_of,
    column_error,
    parts_of,
    possible_pairs,
    shares_of,
    std_of,
    triples_of,
)
from chaffinch.synth.noisy import product_of

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


ADD = PrivacyUnit("add-remove")


@pytest.mark.parametrize("pure", [True, False])
def test_parts_make_the_errors_smallest(pure):
    cells = [2, 5, 40]
    best = parts_of(cells, pure=pure)
    assert best.sum() == pytest.approx(1.0)

    def error(parts):
        return sum(c * std_of(float(p), ADD, pure=pure) for c, p in zip(cells, parts, strict=True))

    rng = np.random.default_rng(1)
    for _ in range(200):
        other = best * np.exp(rng.normal(scale=0.1, size=3))
        assert error(best) <= error(other / other.sum()) * (1 + 1e-12)


LOOK = Wants(links=False, distances=True, triples=True)
MUST = Wants(links=True, distances=True, triples=True)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("rows", [0, 10, 10_000])
def test_shares_add_up(pure, rows):
    shares = shares_of(2.0, (3, 4, 5), rows, ADD, pure=pure, wants=MUST)
    assert shares.margins + shares.distances + shares.triples + shares.tables == pytest.approx(2.0)
    assert min(shares.margins, shares.distances, shares.triples, shares.tables) > 0
    alone = shares_of(2.0, (3,), rows, ADD, pure=pure, wants=MUST)
    assert (alone.margins, alone.tables) == (2.0, 0.0)


def test_fewer_rows_put_more_into_single_columns():
    few, many = (shares_of(1.0, (5, 5), n, ADD, pure=True, wants=MUST) for n in (50, 50_000))
    assert few.margins > many.margins


@pytest.mark.parametrize(("pure", "limit"), [(True, ONLY_COLUMNS_PURE), (False, ONLY_COLUMNS)])
def test_links_are_not_looked_for_where_single_columns_would_be_noise(pure, limit):
    """The mean error of columns of 4 levels that share an amount of 1 evenly: 0.4 x 4 x sigma / n."""
    sigma = 2**0.5 * 2 if pure else 1.0  # at epsilon 1/2, and at rho 1/2
    rows = 0.4 * 4 * sigma / limit
    assert column_error(1.0, (4, 4), int(rows), ADD, pure=pure) == pytest.approx(limit, rel=0.2)
    lost, enough = (
        shares_of(1.0, (4, 4), int(rows * more), ADD, pure=pure, wants=LOOK) for more in (0.5, 2.0)
    )
    assert (lost.margins, lost.distances, lost.tables) == (1.0, 0.0, 0.0)
    assert enough.distances > 0
    assert shares_of(1.0, (4, 4), int(rows * 0.5), ADD, pure=pure, wants=MUST).tables > 0
