"""Laws of the noise against brute force and other libraries, and seeded draws against the laws.

All draws are seeded. A goodness-of-fit test passes at p >= 1e-6: a right sampler would fail one seed in a million.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import pytest
import scipy.stats

import chaffinch
from chaffinch.privacy import mechanisms as samplers

from .conftest import (
    PROBABILITIES,
    exponential_probabilities,
    gaussian_pmf,
    laplace_pmf,
    permute_and_flip_probabilities,
)

LAWS = {
    "laplace": (samplers.draw_laplace, laplace_pmf, samplers.laplace_std),
    "gaussian": (samplers.draw_gaussian, gaussian_pmf, samplers.gaussian_std),
}


def fit_p_value(draws, pmf, *, least=10.0):
    """Return the chi-square p-value of draws against a pmf; cells expected less than `least` times join the tails."""
    reach = int(np.abs(draws).max()) + 1
    z = np.arange(-reach, reach + 1)
    expected = pmf(z) * draws.size
    common = z[expected >= least]
    low, high = common.min(), common.max()
    if low == high:  # one cell takes all but a handful
        return scipy.stats.binomtest(
            int((draws != low).sum()), draws.size, 1 - float(pmf(low))
        ).pvalue
    inside = (z >= low) & (z <= high)
    seen = np.bincount(draws[(draws >= low) & (draws <= high)] - low, minlength=high - low + 1)
    seen = np.append(seen, draws.size - seen.sum())  # both tails as one cell
    expected = np.append(expected[inside], draws.size - expected[inside].sum())
    if expected[-1] < least:
        seen, expected = (
            np.append(seen[:-2], seen[-2:].sum()),
            np.append(expected[:-2], expected[-2:].sum()),
        )
    return scipy.stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), seen.size - 1)


def brute_permute_and_flip(chances):
    """Return permute-and-flip's law by going through all orders, in exact fractions."""
    out = [Fraction(0)] * len(chances)
    for order in permutations(range(len(chances))):
        left = Fraction(1, factorial(len(chances)))
        for i in order:
            out[i] += left * chances[i]
            left *= 1 - chances[i]
    return out


@pytest.mark.parametrize("scale", [0.1, 0.5, 1.3, 7.0, 40.5])
def test_laplace_law_is_its_definition(scale):
    z = np.arange(-3000, 3001)
    weights = np.exp(-np.abs(z) / scale)
    np.testing.assert_allclose(laplace_pmf(z, scale), weights / weights.sum(), rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        laplace_pmf(z, scale), scipy.stats.dlaplace.pmf(z, 1 / scale), rtol=1e-12
    )
    assert samplers.laplace_std(scale) == pytest.approx(
        np.sqrt((weights * z**2).sum() / weights.sum()), rel=1e-12
    )


@pytest.mark.parametrize("sigma", [0.1, 0.5, 0.999999, 1.0, 1.3, 7.0, 40.5])
def test_gaussian_law_is_its_definition(sigma):
    z = np.arange(-1000, 1001)
    weights = np.exp(-(z**2) / (2 * sigma**2))
    np.testing.assert_allclose(gaussian_pmf(z, sigma), weights / weights.sum(), rtol=1e-12, atol=0)
    assert samplers.gaussian_std(sigma) == pytest.approx(
        np.sqrt((weights * z**2).sum() / weights.sum()), rel=1e-12
    )


def test_extreme_scales_have_laws():
    for pmf, std in ((laplace_pmf, samplers.laplace_std), (gaussian_pmf, samplers.gaussian_std)):
        assert pmf([-1, 0, 1], 1e-150).tolist() == pmf([-1, 0, 1], 1e-3).tolist() == [0.0, 1.0, 0.0]
        assert std(1e-150) == 0.0
        assert std(1e-3) < 1e-200
    assert samplers.laplace_std(1e17) == pytest.approx(np.sqrt(2) * 1e17)
    assert samplers.gaussian_std(1e200) == 1e200
    assert gaussian_pmf(0, 1e9) == pytest.approx(scipy.stats.norm.pdf(0, scale=1e9))


@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 1.3, 7.7, 60.25])
@pytest.mark.parametrize("law", LAWS)
def test_draws_fit_the_law(law, scale):
    draw, pmf, std = LAWS[law]
    draws = draw(np.random.default_rng(11), scale, 200_000)
    assert draws.dtype == np.int64
    assert fit_p_value(draws, lambda z: pmf(z, scale)) >= 1e-6
    assert abs(draws.mean()) <= 4.5 * std(scale) / np.sqrt(
        draws.size
    )  # a biased sign; 7 in a million
    # The mean square of 200,000 draws: its own standard error from the fourth moment, five of them (6 in 10 million).
    error = 5 * np.std(draws.astype(float) ** 2) / np.sqrt(draws.size)
    assert abs(np.mean(draws.astype(float) ** 2) - std(scale) ** 2) <= error + 1e-12


@pytest.mark.parametrize("sigma", [127.9, 128.1, 300.0])
def test_table_and_rejection_draw_the_same_gaussian(sigma):
    draws = samplers.draw_gaussian(np.random.default_rng(12), sigma, 400_000)
    assert fit_p_value(draws, lambda z: gaussian_pmf(z, sigma)) >= 1e-6


@pytest.mark.parametrize("scale", [1e5, 1e9, 1e17])
def test_wide_noise_is_nearly_continuous(scale):
    rng = np.random.default_rng(13)
    laplace = samplers.draw_laplace(rng, scale, 50_000)
    gaussian = samplers.draw_gaussian(rng, scale, 50_000)
    assert scipy.stats.kstest(laplace / scale, "laplace").pvalue >= 1e-6
    assert scipy.stats.kstest(gaussian / scale, "norm").pvalue >= 1e-6
    if scale < 1e10:  # whole numbers to the last bit: half of them odd
        for draws in (laplace, gaussian):
            assert scipy.stats.binomtest(int((draws & 1).sum()), draws.size).pvalue >= 1e-6


@pytest.mark.parametrize("law", LAWS)
def test_ends_of_the_range(law):
    draw = LAWS[law][0]
    assert not draw(np.random.default_rng(1), 1e-3, 10_000).any()
    huge = draw(np.random.default_rng(1), 1e300, 1_000)
    assert set(np.sign(huge).tolist()) == {-1, 1}  # clipped, not wrapped to one side
    assert np.abs(huge.astype(float)).min() > 9e18
    for shape in (0, (), (3, 0), (2, 3), 5):
        for scale in (2.0, 1e4):
            sides = shape if isinstance(shape, tuple) else (shape,)
            assert draw(np.random.default_rng(1), scale, shape).shape == sides
    same = [draw(np.random.default_rng(5), 3.0, 50).tolist() for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    "scores", [[0], [4, 4], [0, 1], [3, 1, 0, 2], [0, 0, 0, -1, -5], [2, 2, 1, 1, 0, 0]], ids=str
)
def test_selection_laws_by_enumeration(scores):
    halvings = [
        Fraction(1, 2 ** (max(scores) - s)) for s in scores
    ]  # scale 1/log 2: a point is a factor of 2
    scale = 1 / np.log(2)
    every = sum(halvings)
    exact = [float(h / every) for h in halvings]
    np.testing.assert_allclose(exponential_probabilities(scores, scale), exact, rtol=1e-12)
    brute = [float(p) for p in brute_permute_and_flip(halvings)]
    np.testing.assert_allclose(permute_and_flip_probabilities(scores, scale), brute, rtol=1e-12)


def test_permute_and_flip_with_many_candidates():
    # n equal ones: 1/n each. One best among n of chance p: the integral of (1 - tp)^n, by hand.
    # Nodes and weights of 600 points are good to about 1e-11.
    np.testing.assert_allclose(permute_and_flip_probabilities([3] * 1500, 1.0), 1 / 1500, rtol=1e-9)
    n, p = 1200, np.exp(-2.0)
    law = permute_and_flip_probabilities([2] + [0] * n, 1.0)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert law[0] == pytest.approx((1 - (1 - p) ** (n + 1)) / (p * (n + 1)), rel=1e-9)
    with pytest.raises(chaffinch.errors.InputError, match="at most 2000 candidates"):
        permute_and_flip_probabilities([0] * 2001, 1.0)


@pytest.mark.parametrize(
    "scores", [[7], [4, 4, 4], [0, 88, 120, 33], [-500, 0, 1, 90, 90]], ids=str
)
@pytest.mark.parametrize("name", ["exponential", "permute_and_flip"])
def test_selections_fit_the_law(name, scores):
    rng = np.random.default_rng(14)
    draw = getattr(samplers, f"draw_{name}")
    law = PROBABILITIES[name](scores, 50.0)
    n = 20_000
    seen = np.bincount([draw(rng, scores, 50.0) for _ in range(n)], minlength=len(scores))
    often = law * n >= 10
    assert seen[~often].sum() < 30
    if often.sum() > 1:
        chi = ((seen - law * n) ** 2 / (law * n))[often].sum()
        assert scipy.stats.chi2.sf(chi, len(scores) - 1) >= 1e-6


@pytest.mark.parametrize("draw", [samplers.draw_exponential, samplers.draw_permute_and_flip])
def test_selections_at_extreme_scores(draw):
    rng = np.random.default_rng(15)
    ends = np.array([-(2**63), 2**63 - 1, 0])
    assert {draw(rng, ends, 1.0) for _ in range(50)} == {1}
    assert {draw(rng, ends, 1e-150) for _ in range(50)} == {1}
    assert {draw(rng, ends, 1e300) for _ in range(200)} == {0, 1, 2}
    # 2^62 and 2^62 + 1 are one double; as integers they differ by a whole scale.
    close = np.array([2**62, 2**62 + 100])
    assert {draw(rng, close, 1.0) for _ in range(50)} == {1}


def test_laws_at_extreme_scores():
    ends = [-(2**63), 2**63 - 1]
    for law in (exponential_probabilities, permute_and_flip_probabilities):
        assert law(ends, 1.0).tolist() == [0.0, 1.0]
        assert law([2**62, 2**62 + 1], 1.0)[0] == pytest.approx(law([0, 1], 1.0)[0], rel=1e-15)


@pytest.mark.parametrize("bad", [0, 0.0, -1.0, float("nan"), float("inf"), 1e-200, True, "2", None])
def test_scales_must_be_positive_and_finite(bad):
    rng = np.random.default_rng(1)
    for call in (
        lambda: samplers.draw_laplace(rng, bad, 3),
        lambda: samplers.draw_gaussian(rng, bad, 3),
        lambda: samplers.draw_exponential(rng, [1, 2], bad),
        lambda: samplers.draw_permute_and_flip(rng, [1, 2], bad),
        lambda: laplace_pmf(0, bad),
        lambda: samplers.gaussian_std(bad),
    ):
        with pytest.raises(chaffinch.errors.InputError, match="must be a positive, finite number"):
            call()


@pytest.mark.parametrize("bad", [[], [1.5, 2.0], [[1, 2]], 3])
def test_scores_must_be_a_list_of_whole_numbers(bad):
    with pytest.raises(chaffinch.errors.InputError, match="at least one whole number"):
        exponential_probabilities(bad, 1.0)


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.7, 250.0])
def test_log_laws_of_noise_against_their_probabilities(scale):
    z = np.arange(-30, 31)
    for log_law, pmf in (
        (samplers.laplace_log_law, laplace_pmf),
        (samplers.gaussian_log_law, gaussian_pmf),
    ):
        with np.errstate(under="ignore"):
            np.testing.assert_allclose(
                np.exp(log_law(z, scale)), pmf(z, scale), rtol=1e-9, atol=1e-300
            )


@pytest.mark.parametrize("scores", [[0], [5, 5, 5], [0, 3, 1, 7], list(range(40))], ids=len)
def test_log_laws_of_choices_against_their_probabilities(scores):
    for log_law, probabilities in (
        (samplers.exponential_log_law, exponential_probabilities),
        (samplers.permute_and_flip_log_law, permute_and_flip_probabilities),
    ):
        np.testing.assert_allclose(
            np.exp(log_law(scores, 2.5)), probabilities(scores, 2.5), rtol=1e-9
        )
