"""Laws of the noise against brute force and other libraries, and seeded and exact draws against the laws.

All draws are seeded. A goodness-of-fit test passes at p >= 1e-6: a right sampler would fail one seed in a million.
"""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, permutations
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

import chaffinch
from chaffinch._base.errors import PrivacyError
from chaffinch.privacy import mechanisms
from chaffinch.privacy.mechanisms import (
    WORD,
    OpenDPNoise,
    SeededNoise,
    draw_exactly,
    enclosed_tails,
    magnitude,
    noise_of,
)

from .conftest import (
    PROBABILITIES,
    exponential_probabilities,
    gaussian_pmf,
    laplace_pmf,
    permute_and_flip_probabilities,
)

LAWS = {
    "laplace": (mechanisms.draw_laplace, laplace_pmf, mechanisms.laplace_std),
    "gaussian": (mechanisms.draw_gaussian, gaussian_pmf, mechanisms.gaussian_std),
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
    assert mechanisms.laplace_std(scale) == pytest.approx(
        np.sqrt((weights * z**2).sum() / weights.sum()), rel=1e-12
    )


@pytest.mark.parametrize("sigma", [0.1, 0.5, 0.999999, 1.0, 1.3, 7.0, 40.5])
def test_gaussian_law_is_its_definition(sigma):
    z = np.arange(-1000, 1001)
    weights = np.exp(-(z**2) / (2 * sigma**2))
    np.testing.assert_allclose(gaussian_pmf(z, sigma), weights / weights.sum(), rtol=1e-12, atol=0)
    assert mechanisms.gaussian_std(sigma) == pytest.approx(
        np.sqrt((weights * z**2).sum() / weights.sum()), rel=1e-12
    )


def test_extreme_scales_have_laws():
    for pmf, std in (
        (laplace_pmf, mechanisms.laplace_std),
        (gaussian_pmf, mechanisms.gaussian_std),
    ):
        assert pmf([-1, 0, 1], 1e-150).tolist() == pmf([-1, 0, 1], 1e-3).tolist() == [0.0, 1.0, 0.0]
        assert std(1e-150) == 0.0
        assert std(1e-3) < 1e-200
    assert mechanisms.laplace_std(1e17) == pytest.approx(np.sqrt(2) * 1e17)
    assert mechanisms.gaussian_std(1e200) == 1e200
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
    draws = mechanisms.draw_gaussian(np.random.default_rng(12), sigma, 400_000)
    assert fit_p_value(draws, lambda z: gaussian_pmf(z, sigma)) >= 1e-6


@pytest.mark.parametrize("scale", [1e5, 1e9, 1e17])
def test_wide_noise_is_nearly_continuous(scale):
    rng = np.random.default_rng(13)
    laplace = mechanisms.draw_laplace(rng, scale, 50_000)
    gaussian = mechanisms.draw_gaussian(rng, scale, 50_000)
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
    draw = getattr(mechanisms, f"draw_{name}")
    law = PROBABILITIES[name](scores, 50.0)
    n = 20_000
    seen = np.bincount([draw(rng, scores, 50.0) for _ in range(n)], minlength=len(scores))
    often = law * n >= 10
    assert seen[~often].sum() < 30
    if often.sum() > 1:
        chi = ((seen - law * n) ** 2 / (law * n))[often].sum()
        assert scipy.stats.chi2.sf(chi, len(scores) - 1) >= 1e-6


@pytest.mark.parametrize("draw", [mechanisms.draw_exponential, mechanisms.draw_permute_and_flip])
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
        lambda: mechanisms.draw_laplace(rng, bad, 3),
        lambda: mechanisms.draw_gaussian(rng, bad, 3),
        lambda: mechanisms.draw_exponential(rng, [1, 2], bad),
        lambda: mechanisms.draw_permute_and_flip(rng, [1, 2], bad),
        lambda: laplace_pmf(0, bad),
        lambda: mechanisms.gaussian_std(bad),
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
        (mechanisms.laplace_log_law, laplace_pmf),
        (mechanisms.gaussian_log_law, gaussian_pmf),
    ):
        with np.errstate(under="ignore"):
            np.testing.assert_allclose(
                np.exp(log_law(z, scale)), pmf(z, scale), rtol=1e-9, atol=1e-300
            )


@pytest.mark.parametrize("scores", [[0], [5, 5, 5], [0, 3, 1, 7], list(range(40))], ids=len)
def test_log_laws_of_choices_against_their_probabilities(scores):
    for log_law, probabilities in (
        (mechanisms.exponential_log_law, exponential_probabilities),
        (mechanisms.permute_and_flip_log_law, permute_and_flip_probabilities),
    ):
        np.testing.assert_allclose(
            np.exp(log_law(scores, 2.5)), probabilities(scores, 2.5), rtol=1e-9
        )


RARE = 2e-9
PMFS = {"laplace": laplace_pmf, "gaussian": gaussian_pmf}


@pytest.fixture(params=["opendp", "seeded"])
def source(request):
    return noise_of(None if request.param == "opendp" else 21)


def counts_p_value(seen, expected, *, least=25.0):
    """Return the chi-square p-value of counts against expected ones; rarer cells are pooled into one."""
    rare = expected < least
    seen, expected = (
        np.append(seen[~rare], seen[rare].sum()),
        np.append(expected[~rare], expected[rare].sum()),
    )
    if expected[-1] < least:  # the pool joins the rarest of the others
        least_common = int(np.argmin(expected[:-1]))
        seen[least_common] += seen[-1]
        expected[least_common] += expected[-1]
        seen, expected = seen[:-1], expected[:-1]
    if seen.size == 1:
        return 1.0
    return scipy.stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), seen.size - 1)


def tally(draws, reach):
    assert np.abs(draws).max() <= reach
    return np.bincount(draws + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize("few", [16, 1 << 62], ids=["inversion", "opendp"])
@pytest.mark.parametrize("scale", [0.4, 1.3, 9.75])
@pytest.mark.parametrize("law", PMFS)
def test_draws_fit_the_law_and_the_other_source(law, scale, few, monkeypatch):
    monkeypatch.setattr(mechanisms, "FEW", few)
    n, reach = 8_000, 1_000  # beyond the reach: exp(-1000/9.75), never
    ours, theirs = noise_of(22), noise_of()
    counts = [
        tally(getattr(s, law)(np.zeros(n, dtype=np.int64), scale), reach) for s in (ours, theirs)
    ]
    expected = PMFS[law](np.arange(-reach, reach + 1), scale) * n
    for seen in counts:
        assert counts_p_value(seen, expected) >= RARE
    both = counts[0] + counts[1]
    common = both >= 50
    table = np.array([np.append(c[common], c[~common].sum()) for c in counts])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        assert scipy.stats.chi2_contingency(table, correction=False).pvalue >= RARE


@pytest.mark.parametrize("scores", [[0, 88], [3, 3, 3], [150, 50, 0, 100, -2000]], ids=str)
@pytest.mark.parametrize("name", ["exponential", "permute_and_flip"])
def test_selections_fit_the_law_and_not_the_other(name, scores, source):
    # The two laws are apart by 0.09 for (0, 88) at scale 100. OpenDP's own statement of the loss would not show a
    # mix-up of the two, and only one of them is bounded range; so the draws are looked at.
    n = 3_000
    seen = np.bincount(
        [getattr(source, name)(np.array(scores), 100.0) for _ in range(n)], minlength=len(scores)
    )
    right = PROBABILITIES[name](scores, 100.0) * n
    assert counts_p_value(seen, right) >= RARE
    if len(set(scores)) > 1:
        other = {"exponential": "permute_and_flip", "permute_and_flip": "exponential"}[name]
        wrong = PROBABILITIES[other](scores, 100.0) * n
        assert (
            counts_p_value(seen, wrong) < 0.01
        )  # 3.4 errors from the wrong law, which lies 9 or more away


def test_selection_of_one_and_at_the_ends(source):
    for choose in (source.exponential, source.permute_and_flip):
        assert choose(np.array([-7]), 0.5) == 0
        assert {choose(np.array([-(2**63), 2**63 - 1, 0]), 1.0) for _ in range(20)} == {1}
        assert choose(np.array([0, 200], dtype=np.uint8), 0.01) == 1
        assert isinstance(choose(np.array([1, 2]), 1), int)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3, 4)], ids=str)
def test_shapes_are_kept(source, shape):
    values = np.full(shape, 1_000, dtype=np.int32)
    before = values.copy()
    for out in (
        source.laplace(values, 0.5),
        source.gaussian(values, 0.5),
        source.gaussian(values, 500.0),
    ):
        assert isinstance(out, np.ndarray)
        assert (out.shape, out.dtype) == (shape, np.int64)
    assert (values == before).all()


def test_cells_keep_their_place(source):
    values = np.arange(24).reshape(2, 3, 4) * 10**6
    for view in (values, values.T, values[:, ::2], np.asfortranarray(values)):
        assert np.abs(source.laplace(view, 1.0) - view).max() < 1_000  # exp(-1000): never
        assert np.abs(source.gaussian(view, 1.0) - view).max() < 100


def test_noise_differs_between_cells_and_calls(source):
    first, second = (source.gaussian(np.zeros(50, dtype=np.int64), 1e6) for _ in range(2))
    assert (
        len(set(first.tolist() + second.tolist())) > 90
    )  # 4,950 pairs, each equal with chance 3e-7


def test_chunks_cover_everything(monkeypatch):
    monkeypatch.setattr(mechanisms, "CHUNK", 7)
    monkeypatch.setattr(mechanisms, "FEW", 20)
    sizes = []
    real = mechanisms._laplace(0.01)
    monkeypatch.setattr(
        mechanisms,
        "_laplace",
        lambda scale: lambda chunk: (sizes.append(len(chunk)), real(chunk))[1],
    )
    values = np.arange(20)
    np.testing.assert_array_equal(
        OpenDPNoise().laplace(values, 0.01), values
    )  # noise of chance exp(-100)
    assert sizes == [7, 7, 6]


@pytest.mark.parametrize("law", PMFS)
def test_who_draws_is_a_matter_of_cells_and_scale(law, monkeypatch):
    """Never of a value, nor of the shape; the loss that OpenDP states is compared in any case."""
    drawn = []
    monkeypatch.setattr(
        mechanisms,
        "draw_exactly",
        lambda law, scale, n: drawn.append((law, scale, n)) or np.zeros(n, int),
    )
    by_law = {"gaussian": 150, "laplace": 600}[
        law
    ]  # the cells from which on a scale of 100 is inverted
    for n, scale in ((16, 0.5), (17, 0.5), (by_law, 100.0), (by_law + 1, 100.0), (7000, 1025.0)):
        for values in (np.zeros(n, int), np.full(n, 2**62)):
            getattr(OpenDPNoise(), law)(values, scale)
    getattr(OpenDPNoise(), law)(np.zeros((5, 5), int), 3.0)
    assert drawn == [(law, 0.5, 17)] * 2 + [(law, 100.0, by_law + 1)] * 2 + [(law, 3.0, 25)]
    monkeypatch.setattr(mechanisms, f"_{law}", lambda scale: mechanisms._agree("law", 1.0, 2.0))
    with pytest.raises(PrivacyError, match="states a loss"):
        getattr(OpenDPNoise(), law)(np.zeros(1024, int), 0.5)


@pytest.mark.parametrize("scale", [1e6, 1e3])
def test_ends_stop_instead_of_wrapping(source, scale):
    top, bottom = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    values = np.array([top, bottom] * (40 if scale > 1e3 else 600))
    for out in (source.laplace(values, scale), source.gaussian(values, scale)):
        assert (out[0::2] > 0).all()
        assert (out[1::2] < 0).all()
        assert top in out  # each with chance one half: all 40 below the end once in 10^12
        assert bottom in out
    assert source.laplace(np.array(top), 1e6) > 0  # a single number too
    assert source.gaussian(np.array([2**64 - 1], dtype=np.uint64), 1e-3).tolist() == [top]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0]),
        np.array([]),
        np.array([True]),
        np.array(["3"]),
        np.array([2**70], dtype=object),
    ],
)
def test_only_whole_numbers(source, values):
    for call in (source.laplace, source.gaussian):
        with pytest.raises(
            chaffinch.errors.InputError, match="values must be whole numbers of an integer dtype"
        ):
            call(values, 1.0)
    for call in (source.exponential, source.permute_and_flip):
        with pytest.raises(chaffinch.errors.InputError, match="scores must be whole numbers"):
            call(values, 1.0)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_sources_of_noise_take_no_other_scale(source, bad):
    for name in ("laplace", "gaussian", "exponential", "permute_and_flip"):
        with pytest.raises(
            chaffinch.errors.InputError, match=r"^(scale|sigma) must be a positive, finite number"
        ):
            getattr(source, name)(np.array([1, 2]), bad)


@pytest.mark.parametrize(
    "scores", [np.zeros(0, dtype=np.int64), np.zeros((2, 2), dtype=np.int64), np.array(3)]
)
def test_a_choice_needs_candidates(source, scores):
    for choose in (source.exponential, source.permute_and_flip):
        with pytest.raises(chaffinch.errors.InputError, match="at least one candidate"):
            choose(scores, 1.0)


def test_extreme_scales_are_accepted(source):
    for scale in (1e-150, 1e-3, 1e17, 1e300):
        assert source.laplace(np.array([5, 5]), scale).shape == (2,)
        assert source.gaussian(np.array([5, 5]), scale).shape == (2,)
        assert source.exponential(np.array([5, 5]), scale) in (0, 1)
        assert source.permute_and_flip(np.array([5, 5]), scale) in (0, 1)


def test_seeds_repeat_and_say_that_they_are_for_tests():
    values = np.arange(100)
    runs = [noise_of(7).laplace(values, 5.0).tolist() for _ in range(2)]
    assert runs[0] == runs[1] != noise_of(8).laplace(values, 5.0).tolist()
    assert isinstance(noise_of(np.random.default_rng(1)), SeededNoise)
    assert noise_of(0).test_only  # 0 is a seed
    assert not noise_of().test_only
    for source in (noise_of(7), noise_of()):
        with pytest.raises(AttributeError):
            source.test_only = False


def test_without_opendp_the_install_line_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(
        chaffinch.errors.MissingExtraError,
        match=r"A private fit needs an extra: pip install 'chaffinch\[private\]'",
    ):
        noise_of()
    assert noise_of(1).laplace(np.array([3]), 0.001).tolist() == [3]  # a seeded one needs no extra


def test_importing_brings_in_no_opendp():
    code = "import sys, chaffinch.privacy.mechanisms; sys.exit('opendp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def fresh():
    """Empty the caches of mechanisms before and after, so that a fake one is built and not kept."""
    caches = (mechanisms._laplace, mechanisms._gaussian, mechanisms._noisy_max)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize("name", ["laplace", "gaussian", "exponential", "permute_and_flip"])
def test_an_opendp_that_states_another_loss_is_refused(monkeypatch, fresh, name):
    import opendp.prelude as dp

    maker = {"laplace": "make_laplace", "gaussian": "make_gaussian"}.get(name, "make_noisy_max")
    real = getattr(dp.m, maker)
    # A build whose scale means something else: it would add half the noise.
    monkeypatch.setattr(dp.m, maker, lambda *space, scale: real(*space, scale=scale / 2))
    with pytest.raises(PrivacyError, match="states a loss of"):
        getattr(OpenDPNoise(), name)(np.array([1, 2]), 3.0)


def test_an_old_opendp_cannot_choose(monkeypatch, fresh):
    import opendp.prelude as dp

    old = SimpleNamespace(make_laplace=dp.m.make_laplace, make_gaussian=dp.m.make_gaussian)
    monkeypatch.setattr(dp, "m", old)
    assert OpenDPNoise().laplace(np.array([4]), 0.01).tolist() == [4]
    with pytest.raises(PrivacyError, match=r"needs OpenDP 0\.14 or newer"):
        OpenDPNoise().exponential(np.array([1, 2]), 1.0)


def test_mechanisms_are_built_once_per_scale(fresh):
    source = OpenDPNoise()
    for _ in range(5):
        source.laplace(np.array([1]), 2)
        source.laplace(np.array([1]), np.float64(2.0))
    assert mechanisms._laplace.cache_info().misses == 1


def test_an_observer_stands_between_seeded_noise_and_who_asks_for_it():
    given = []
    with mechanisms.observing(lambda source: given.append(source) or source):
        assert noise_of(3) is given[0]
        with pytest.raises(PrivacyError, match="noise of a release is never observed"):
            noise_of()
    assert isinstance(noise_of(3), SeededNoise)
    assert len(given) == 1


def test_an_observer_leaves_with_its_block_and_sees_no_other_thread():
    import threading

    given, inside = [], []

    def fails():
        with mechanisms.observing(lambda source: given.append(source) or source):
            worker = threading.Thread(target=lambda: inside.append(noise_of(1)))
            worker.start()
            worker.join()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    noise_of(1)
    assert given == []
    assert len(inside) == 1


SCALES = (1e-3, 0.1, 0.5, 1.0, 3.25)
PMFS = {"laplace": laplace_pmf, "gaussian": gaussian_pmf}


@cache
def tails_of(law, scale):
    """Return P(|z| >= k) for k = 1, 2, ... from the definition of the law, in decimals: until below 1e-90."""
    with localcontext() as context:
        context.prec, context.Emin = 120, -(10**9)
        spread = Decimal(scale)
        weights = [Decimal(1)]
        while weights[-1] > Decimal("1e-100"):
            k = len(weights)
            weights.append(
                (-(k / spread if law == "laplace" else k * k / (2 * spread * spread))).exp()
            )
        sums = list(accumulate(reversed(weights[1:])))[::-1]
        return [2 * above / (1 + 2 * sums[0]) for above in sums]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", PMFS)
def test_tails_are_enclosed_and_narrowly(law, scale):
    exact = tails_of(law, scale)
    for compared in (8, WORD, 127):
        tails = enclosed_tails(law, scale, compared)
        with localcontext() as context:
            context.prec = 120
            for tail, low, high in zip(exact, tails.lows, tails.highs, strict=False):
                assert low <= tail * 2**tails.bits <= high
                assert high - low < 2**32  # of the 2^64 units that a comparison has
            beyond = exact[len(tails.lows) :]
            assert not beyond or beyond[0] < Decimal(2) ** -compared


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", PMFS)
def test_every_decision_of_eight_bits(law, scale):
    """All 256 beginnings of U: told where every U that begins so agrees, left open where a tail lies within, and in no other case."""
    exact, tails = (
        [256 * tail for tail in tails_of(law, scale) if tail > Decimal("1e-9")],
        enclosed_tails(law, scale, 8),
    )
    for seen in range(256):
        below_all = sum(1 for tail in exact if seen + 1 <= tail)
        below_some = sum(1 for tail in exact if seen < tail)
        assert magnitude(tails, seen) == (
            below_all if below_all == below_some and seen else None
        ), seen


@pytest.mark.parametrize("law", PMFS)
def test_a_first_word_that_does_not_tell_is_continued(law):
    """Words at the very edge of a tail, below it, above it, and the least of all: each agrees with the decimals."""
    scale, tails = 1.3, tails_of(law, 1.3)
    for first in (0, *(int(tail * 2**WORD) for tail in tails[:6])):
        for second in (0, 2**64 - 1, 2**63, 12345):
            given: list[int] = []

            def words(n, first=first, second=second, given=given):
                given.append((first, second)[len(given)] if len(given) < 2 else 2**63 + 1)
                return np.full(n, given[-1], dtype=np.uint64)

            (z,) = draw_exactly(law, scale, 1, random_words=words)
            assert len(given) >= 2
            with localcontext() as context:
                context.prec = 120
                u = sum(
                    Decimal(word) / Decimal(2) ** (WORD + 64 * i) for i, word in enumerate(given)
                )
                assert z == sum(1 for tail in tails if u < tail), (first, second)


def test_neighbouring_words_and_signs():
    """The first word alone: just above and just below each tail, with either sign."""
    tails = tails_of("laplace", 2.0)
    edges = [int(tail * 2**WORD) for tail in tails[:20]]
    above, below = [edge + 1 for edge in edges], [edge - 1 for edge in edges]
    words = [*above, *below, *(w + 2**63 for w in above), *(w + 2**63 for w in below)]
    drawn = draw_exactly(
        "laplace", 2.0, len(words), random_words=lambda n: np.array(words, dtype=np.uint64)
    ).tolist()
    sizes = [*range(20), *range(1, 21)]
    assert drawn == [*sizes, *(-size for size in sizes)]


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.7, 5.0, 300.0])
@pytest.mark.parametrize("law", PMFS)
def test_draws_follow_the_law(law, scale):
    """Not seeded: entropy is the operating system's. Ten tests, each at p < 1e-9: a right build fails once in 10^8 runs."""
    n = 400_000
    draws = draw_exactly(law, scale, n)
    reach = int(20 * scale) + 3
    z = np.arange(-reach, reach + 1)
    expected = PMFS[law](z, scale) * n
    common = expected >= 25
    seen = np.array(
        [*np.bincount(draws[np.abs(draws) <= reach] + reach, minlength=len(z))[common], 0]
    )
    seen[-1] = n - seen.sum()
    expected = np.array([*expected[common], n - expected[common].sum()])
    if expected[-1] < 25:
        seen, expected = (
            np.array([*seen[:-2], seen[-2:].sum()]),
            np.array([*expected[:-2], expected[-2:].sum()]),
        )
    if len(seen) > 1:
        assert scipy.stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1) >= 1e-9
    else:
        assert seen[0] == n


def test_chunks_are_drawn_one_after_the_other(monkeypatch):
    monkeypatch.setattr(mechanisms, "INVERSION_CHUNK", 7)
    sizes = []

    def words(n):
        sizes.append(n)
        return np.arange(1, n + 1, dtype=np.uint64) << np.uint64(58)

    drawn = draw_exactly("gaussian", 2.0, 20, random_words=words)
    assert sizes == [7, 7, 6]
    assert drawn[:7].tolist() == drawn[7:14].tolist()
    assert len(draw_exactly("laplace", 1.0, 0)) == 0


def test_the_chance_of_any_noise_at_a_tiny_scale():
    """q = exp(-1/scale): some noise has a chance of 2q / (1 + q), to the last of 63 bits."""
    least, most = mechanisms._first_words("laplace", 0.05)
    q = math.exp(-20)
    assert int(least[0]) / 2**63 == pytest.approx(2 * q / (1 + q), rel=1e-12)
    assert int(most[0]) == int(least[0]) + 1
