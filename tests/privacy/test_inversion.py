"""Draws by inversion against the laws: every decision in decimals of 120 digits, and what is drawn against closed forms."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
import scipy.stats

from chaffinch.privacy import mechanisms
from chaffinch.privacy.mechanisms import WORD, draw_exactly, enclosed_tails, magnitude

from .conftest import gaussian_pmf, laplace_pmf

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

            (z,) = draw_exactly(law, scale, 1, words=words)
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
        "laplace", 2.0, len(words), words=lambda n: np.array(words, dtype=np.uint64)
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

    drawn = draw_exactly("gaussian", 2.0, 20, words=words)
    assert sizes == [7, 7, 6]
    assert drawn[:7].tolist() == drawn[7:14].tolist()
    assert len(draw_exactly("laplace", 1.0, 0)) == 0


def test_the_chance_of_any_noise_at_a_tiny_scale():
    """q = exp(-1/scale): some noise has a chance of 2q / (1 + q), to the last of 63 bits."""
    least, most = mechanisms._first_words("laplace", 0.05)
    q = math.exp(-20)
    assert int(least[0]) / 2**63 == pytest.approx(2 * q / (1 + q), rel=1e-12)
    assert int(most[0]) == int(least[0]) + 1
