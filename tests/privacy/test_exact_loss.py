"""The privacy loss of each mechanism by enumeration, on domains small enough to list every output.

The laws are those of `samplers`, which `test_noise` holds against the draws. A claim must be kept (nothing above it) and
be met (something reaches it): a bound that nothing reaches would hide a factor of two.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chaffinch.privacy.mechanisms import noise_of
from chaffinch.privacy.relation import PrivacyUnit

from .conftest import PROBABILITIES, gaussian_pmf, laplace_pmf

UNITS = [PrivacyUnit(n, m) for n in ("add-remove", "replace-one") for m in (1, 2)]
CELLS = 2


def rows_of(most, *, least=0):
    """Return the counts over the cells of every table with `least` to `most` rows."""
    tables = (
        np.bincount(rows, minlength=CELLS)
        for n in range(least, most + 1)
        for rows in product(range(CELLS), repeat=n)
    )
    return [np.array(t) for t in sorted({tuple(t.tolist()) for t in tables})]


def neighbours(unit):
    """Return all pairs of small tables of counts in which one person differs, both ways round, from the relation's words."""
    others = rows_of(2)
    m = unit.rows_per_person
    if unit.bounded:  # one person's m rows give way to another's
        people = rows_of(m, least=m)
        pairs = [(o + a, o + b) for o in others for a in people for b in people]
    else:  # someone with up to m rows is there, or not
        people = rows_of(m, least=1)
        pairs = [pair for o in others for a in people for pair in ((o + a, o), (o, o + a))]
    return {(tuple(a.tolist()), tuple(b.tolist())) for a, b in pairs}


def test_the_pairs_are_those_of_a_hand_count():
    # Two cells, others in 6 tables of 0 to 2 rows. One person in either cell, both ways: 24 ordered pairs, all distinct.
    assert len(neighbours(PrivacyUnit("add-remove"))) == 24
    assert ((0, 0), (0, 1)) in neighbours(PrivacyUnit("add-remove"))
    assert ((2, 0), (1, 1)) in neighbours(PrivacyUnit("replace-one"))
    assert ((2, 0), (0, 2)) in neighbours(PrivacyUnit("replace-one", 2))
    assert ((2, 0), (0, 2)) not in neighbours(PrivacyUnit("replace-one"))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7])
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_laplace_loss_is_epsilon(unit, epsilon):
    scale = unit.l1 / epsilon
    # Every count lies in 0..4. Outside, |z - x| - |z - x'| no longer changes with z, so a margin of 2 stands for all of it.
    outputs = np.arange(-2, 7)
    worst = 0.0
    for a, b in neighbours(unit):
        loss = [
            np.log(laplace_pmf(outputs - x, scale) / laplace_pmf(outputs - y, scale))
            for x, y in zip(a, b, strict=True)
        ]
        assert loss[0][0] == pytest.approx(loss[0][1], abs=1e-12)
        assert loss[0][-1] == pytest.approx(loss[0][-2], abs=1e-12)
        worst = max(worst, float(np.add.outer(*loss).max()))  # every pair of outputs
    assert worst <= epsilon + 1e-9
    assert worst >= epsilon - 1e-6


def gaussian_log_law(z, sigma):
    """Return log P(z), also where P(z) itself is too small for a double."""
    return np.log(gaussian_pmf(0, sigma)) - z.astype(float) ** 2 / (2 * sigma**2)


def renyi(log_p, log_q, order):
    """Return the Renyi divergence of laws given by their logarithms, along the last axis."""
    return np.logaddexp.reduce(order * log_p + (1 - order) * log_q, axis=-1) / (order - 1)


@pytest.mark.parametrize("rho", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_gaussian_divergences_are_rho(unit, rho):
    sigma = np.sqrt(unit.l2_squared / (2 * rho))
    for order in (1.5, 2, 4, 16):
        worst = 0.0
        for a, b in neighbours(unit):
            total = 0.0
            for x, y in zip(a, b, strict=True):
                # p^order q^(1-order) is a Gaussian about this point; 15 sigma to each side leave out less than exp(-112).
                centre, reach = round(order * x + (1 - order) * y), int(15 * sigma) + 3
                z = np.arange(centre - reach, centre + reach + 1)
                total += renyi(
                    gaussian_log_law(z - x, sigma), gaussian_log_law(z - y, sigma), order
                )
            worst = max(worst, total)
        assert worst <= order * rho + 1e-9
        if order != 1.5:  # met at whole orders, where the shifted sum is the unshifted one
            assert worst >= order * rho - 1e-6


def converted_delta(rho, epsilon):
    """Return the delta of rho-zCDP at epsilon: the least of exp((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a-1) over a."""
    a = 1 + np.geomspace(1e-3, 1e4, 20_000)  # Canonne, Kamath and Steinke 2020, proposition 12
    return float(
        np.exp(np.min((a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)))
    )


@pytest.mark.parametrize(("rho", "epsilon"), [(0.1, 1.0), (0.1, 2.0), (0.5, 1.0), (0.5, 4.0)])
@pytest.mark.parametrize("unit", UNITS[::2], ids=str)
def test_gaussian_delta_is_below_the_conversion(unit, rho, epsilon):
    sigma = np.sqrt(unit.l2_squared / (2 * rho))
    reach = int(12 * sigma) + 4  # leaves out less than exp(-70) of the law
    z = np.arange(-reach, reach + 1)
    worst = 0.0
    for a, b in neighbours(unit):
        p, q = (np.multiply.outer(*(gaussian_pmf(z - x, sigma) for x in table)) for table in (a, b))
        worst = max(worst, float(np.maximum(p - np.exp(epsilon) * q, 0).sum()))
    assert worst <= converted_delta(rho, epsilon) + 1e-12
    assert worst >= 0.05 * converted_delta(rho, epsilon)  # loose, but about the same thing


SHIFTS = [np.array(s) for s in product((-1, 0, 1), repeat=3)]
SCORES = [np.array(s) for s in product(range(4), repeat=3)]


def selection_laws(name, sensitivity, scale):
    """Return the log laws, one row each, of all pairs of small score vectors that differ by at most the sensitivity."""
    pairs = [(scores, scores + sensitivity * shift) for scores in SCORES for shift in SHIFTS]
    low = np.array(
        [-int(50 * scale) - 9, 0, 0]
    )  # an unlikely candidate rises as others fall: the exponential's worst case
    pairs.append((low + sensitivity * np.array([1, -1, -1]), low))
    law = PROBABILITIES[name]
    laws = [np.log([law(pair[side], scale) for pair in pairs]) for side in (0, 1)]
    assert np.isfinite(laws).all()
    return laws


def worst_divergence(log_p, log_q, order):
    return float(max(renyi(log_p, log_q, order).max(), renyi(log_q, log_p, order).max()))


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", ["exponential", "permute_and_flip"])
def test_selection_loss_is_epsilon(name, epsilon, sensitivity):
    log_p, log_q = selection_laws(name, sensitivity, 2 * sensitivity / epsilon)
    worst = float(np.abs(log_p - log_q).max())
    assert worst <= epsilon + 1e-9
    assert worst >= epsilon - 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_exponential_is_of_bounded_range(epsilon):
    log_p, log_q = selection_laws("exponential", 1, 2 / epsilon)
    assert float(np.ptp(log_p - log_q, axis=1).max()) == pytest.approx(epsilon, abs=1e-9)
    for order in (1.01, 1.5, 2, 4, 16, 64):
        assert worst_divergence(log_p, log_q, order) <= order * epsilon**2 / 8 + 1e-9
    if epsilon == 0.5:  # and it is near, for a small epsilon: no smaller constant would do
        assert worst_divergence(log_p, log_q, 1.01) >= 0.9 * 1.01 * epsilon**2 / 8


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_permute_and_flip_has_half_and_not_an_eighth(epsilon):
    log_p, log_q = selection_laws("permute_and_flip", 1, 2 / epsilon)
    for order in (1.5, 2, 4, 16):
        assert worst_divergence(log_p, log_q, order) <= order * epsilon**2 / 2 + 1e-9
    # Scores (0, 0) against (1, -1): charging an eighth, as for the exponential mechanism, would promise too much.
    assert worst_divergence(log_p, log_q, 2) > 2 * epsilon**2 / 8


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_low_bit_tells_no_more_than_epsilon(epsilon):
    z = np.arange(-2_000, 2_001)
    law = laplace_pmf(z, 1 / epsilon)
    even, odd = law[z % 2 == 0].sum(), law[z % 2 == 1].sum()
    # By hand: with q = exp(-epsilon), even : odd is 1 + q^2 : 2q, that is cosh(epsilon).
    assert even / odd == pytest.approx(np.cosh(epsilon), rel=1e-9)
    assert np.log(even / odd) <= epsilon


@pytest.mark.parametrize("seed", [None, 31])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_low_bits_of_draws_have_their_law(seed, epsilon):
    # Floats with noise added afterwards show the count in their last bits. Here the output is whole, and the share of even
    # outputs is cosh/(1 + cosh) at a count of 0 and the rest at 1. Six standard errors: one run in 500 million.
    n, share = 10_000, np.cosh(epsilon) / (1 + np.cosh(epsilon))
    source = noise_of(seed)
    for count, expected in ((0, share), (1, 1 - share)):
        out = source.laplace(np.full(n, count), 1 / epsilon)
        assert out.dtype == np.int64
        assert abs(np.mean(out % 2 == 0) - expected) <= 6 * np.sqrt(share * (1 - share) / n)
