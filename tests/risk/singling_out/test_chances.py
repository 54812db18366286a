"""Chances of a blind attacker, against counting by hand, exact fractions and scipy."""

from fractions import Fraction
from itertools import combinations
from math import e

import pytest
from scipy.stats import binom, hypergeom

from chaffinch.errors import InputError
from chaffinch.risk.singling_out import (
    baseline,
    blind_chance,
    blind_chance_at_most,
    drawn_chance,
    nobody_in,
)


def test_equation_2_is_its_product_and_the_papers_figure():
    for k in (0, 1, 5, 30, 50):
        product = Fraction(1)
        for i in range(k):
            product *= Fraction(5000 - 1000 - i, 5000 - i)
        assert nobody_in(1000, 5000, k) == pytest.approx(float(product), rel=1e-9)
    assert (
        round(nobody_in(1000, 5000, 30), 4) == 0.0012
    )  # the paper: negligible from 30 classifiers on
    assert nobody_in(1000, 5000, 1) == pytest.approx(1 - baseline(1000, 5000))


def test_drawn_chances_by_counting_all_subsets():
    subsets = list(combinations(range(7), 3))
    for matches in range(8):
        exact = sum(sum(i < matches for i in s) == 1 for s in subsets) / len(subsets)
        assert drawn_chance(matches, 3, 7) == pytest.approx(exact, abs=1e-12)
        nobody = sum(all(i >= matches for i in s) for s in subsets) / len(subsets)
        assert nobody_in(3, 7, matches) == pytest.approx(nobody, abs=1e-12)


def test_chances_are_scipys():
    assert drawn_chance(12, 1000, 5000) == pytest.approx(hypergeom(5000, 12, 1000).pmf(1))
    assert blind_chance(0.003, 400) == pytest.approx(binom(400, 0.003).pmf(1))


def test_a_weight_of_one_in_n_isolates_in_37_of_100_cases_and_no_weight_does_better():
    assert blind_chance(1e-4, 10_000) == pytest.approx(1 / e, abs=1e-4)
    assert (
        max(blind_chance(w / 1e5, 1000) for w in range(1, 1000)) <= blind_chance(1e-3, 1000) + 1e-15
    )
    assert blind_chance_at_most(0.5, 1000) == blind_chance(1e-3, 1000)
    assert blind_chance_at_most(1e-5, 1000) == blind_chance(1e-5, 1000)
    assert blind_chance(0.0, 5) == 0.0
    assert blind_chance(1.0, 1) == 1.0
    assert blind_chance(1.0, 2) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: baseline(0, 5),
        lambda: baseline(6, 5),
        lambda: nobody_in(2, 5, 6),
        lambda: drawn_chance(6, 2, 5),
        lambda: blind_chance(1.2, 5),
    ],
)
def test_impossible_numbers_are_refused(call):
    with pytest.raises(InputError, match="Got"):
        call()
