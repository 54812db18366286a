"""What exact log-likelihood ratios of runs prove about a claim: more than right guesses do, since a run that tells more counts for more.

A run is on D' or on D by the toss of a coin, b = 1 or -1, and r is its log P(seen | D') - log P(seen | D) as noise of the recorded laws gives it.
Both tests hold whatever r really is. Where it is exact no test of the claim is much sharper.

- epsilon. Given all that was seen, coins are independent and each is guessed with a probability of at most p = e^epsilon / (1 + e^epsilon). So
  a sum of weights of right guesses, each weight a function of what is seen, is no larger than that of independent Bernoulli(p) draws, whose law
  is worked out exactly. The most powerful weights are |r| - epsilon where that is positive (Neyman and Pearson: the log odds are |r| against
  epsilon). They are cut into a few whole numbers. With a delta, as many of the heaviest right guesses are taken off as can have been given away.
- rho, mu. For every function t of what is seen, E[1 + b t - exp(-b t)] is at most the mean of the relative entropies of D' from D and D from D'
  (Nguyen, Wainwright and Jordan 2010, Lemma 1, in both directions), with equality for t = r; a claim of rho bounds both by rho, one of mu by
  mu^2 / 2. t is r, shrunk and clipped. That a mean of bounded numbers exceeds a bound is shown by betting: a gambler who stakes a fixed part on
  each run has, if the claim holds, no more than a thousandfold with a probability of more than 1 / 1,000 (Ville; Waudby-Smith and
  Ramdas 2024). Of laws near each other no test of this claim has, in standard errors, a larger mean: half the difference in mu for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from math import log, sqrt
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .claims import DELTA_PART, Claim, Guessed, Rule, guess, least_share, power

STEPS = 8
"""Into how many whole numbers weights are cut."""
HEAVIEST = 4.0
"""Log odds beyond the reference from which on weights stay the same: such guesses are hardly ever wrong."""
REFERENCES = (
    0.0,
    0.25,
    0.5,
    0.7,
    0.8,
    0.9,
    1.0,
    1.15,
    1.3,
    1.5,
    1.75,
    2.0,
    2.5,
    3.0,
    4.0,
    6.0,
    10.0,
)
"""Shares of the claimed epsilon that weights are tried to begin at."""
SHRINKS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Factors of the ratio that are tried: the best is that of the claimed to the true standard deviations, and 1 where these are the same."""
CLIPS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Largest ratios, after shrinking, that are tried."""
ROUNDING = 1e-12
"""Added to tails that a Fourier transform gives: its errors are far below."""
HALVINGS = 40


class RatioTest(Protocol):
    """A test of a claim by log-likelihood ratios, settled on other runs than those that are counted."""

    def proves(
        self, log_ratio: ArrayLike, member: ArrayLike, claim: Claim, *, level: float
    ) -> Guessed:
        """Return what runs prove: the bound, how many of them counted, and in how many the ratio pointed the right way."""
        ...

    def outlook(
        self, sizes: NDArray[np.float64], claim: Claim, runs: int, *, level: float
    ) -> Outlook:
        """Return what is expected of `runs` runs whose ratios are exact and have the law of these absolute values."""
        ...


class Outlook(NamedTuple):
    """What is expected of a test: the probability that it refutes the claim, and about the bound that it gives."""

    power: float
    bound: float


def choose_ratio_test(log_ratio: ArrayLike, claim: Claim, runs: int, *, level: float) -> RatioTest:
    """Return the test that is expected to do best with `runs` others, if ratios are exact and like these.

    The most powerful; of those with the same power, to the hundredth, the one with the largest expected bound.
    """
    return _best(log_ratio, claim, runs, level)[1]


def ratio_power(log_ratio: ArrayLike, claim: Claim, runs: int, *, level: float) -> float:
    """Return the probability of refuting a claim with `runs` counted runs, if ratios are exact and like these."""
    return _best(log_ratio, claim, runs, level)[0].power


def _best(log_ratio: ArrayLike, claim: Claim, runs: int, level: float) -> tuple[Outlook, RatioTest]:
    sizes = np.abs(np.asarray(log_ratio, dtype=np.float64))
    tests: Iterable[RatioTest]
    if claim.what.of_information is None:
        tests = Weights.tried(sizes, claim)
    else:
        tests = (EveryGuess(), *Bets.tried(sizes, runs, level))
    outlooks = [(test.outlook(sizes, claim, runs, level=level), test) for test in tests]
    return max(outlooks, key=lambda pair: (round(pair[0].power, 2), pair[0].bound))


def _chances(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """How probable it is that ratios of these sizes point the right way."""
    return np.asarray(1 / (1 + np.exp(-np.minimum(sizes, 50.0))))


@dataclass(frozen=True)
class EveryGuess:
    """One guess in each run, all of the same weight: for laws far apart, where most guesses are right."""

    def proves(
        self, log_ratio: ArrayLike, member: ArrayLike, claim: Claim, *, level: float
    ) -> Guessed:
        """Return the bound from the share of right guesses."""
        return guess(Rule(0.0, 0.0), log_ratio, np.asarray(member, dtype=bool), claim, level=level)

    def outlook(
        self, sizes: NDArray[np.float64], claim: Claim, runs: int, *, level: float
    ) -> Outlook:
        """Return what is expected."""
        right = float(_chances(sizes).mean())
        bound = claim.lower_bound(
            float(least_share(runs * right, runs, runs, delta=0.0, level=level))
        )
        return Outlook(power(claim, runs, guesses=1.0, right=right, level=level), bound)


# Epsilon: weighted right guesses.


@dataclass(frozen=True)
class Weights:
    """Weights of guesses: from 0 at ratios of `reference` up to `STEPS` at `reference` + `span`, and no more beyond."""

    reference: float
    span: float

    @classmethod
    def tried(cls, sizes: NDArray[np.float64], claim: Claim) -> list[Weights]:
        """Return weights that begin at shares of the claim."""
        spans = (
            (share * claim.amount, float(sizes.max(initial=0.0)) - share * claim.amount)
            for share in REFERENCES
        )
        return [
            cls(reference, min(span, HEAVIEST)) for reference, span in spans if span > 1e-9
        ] or [cls(0.0, 1.0)]

    def whole_weights(self, log_ratio: ArrayLike) -> NDArray[np.int64]:
        """Return the weight of each run.

        Examples
        --------
        >>> Weights(1.0, 1.0).whole_weights([0.5, -1.0, 1.5, -2.0, 7.0]).tolist()
        [0, 0, 4, 8, 8]
        """
        sizes = np.abs(np.asarray(log_ratio, dtype=np.float64))
        # A hair below the reference is on it: ratios are sums of rounded numbers.
        return np.ceil(np.clip((sizes - self.reference) / self.span, 0, 1) * STEPS - 1e-6).astype(
            np.int64
        )

    def _equal(self, sizes: NDArray[np.float64], runs: int) -> tuple[float, float]:
        """Return how many guesses of equal weight tell as much as `runs` weighted ones are expected to, and how often they are right."""
        weights = self.whole_weights(sizes).astype(np.float64)
        total = weights.sum()
        if not total:
            return 0.0, 0.5
        right = float((weights * _chances(sizes)).sum() / total)
        return float(runs / len(sizes) * total**2 / (weights**2).sum()), right

    def proves(
        self, log_ratio: ArrayLike, member: ArrayLike, claim: Claim, *, level: float
    ) -> Guessed:
        """Return the bound on epsilon from weighted right guesses."""
        weights = self.whole_weights(log_ratio)
        right = (np.asarray(log_ratio) > 0) == np.asarray(member, dtype=bool)
        counts = np.bincount(weights, minlength=STEPS + 1)
        hits = np.bincount(weights[right], minlength=STEPS + 1)
        share = weighted_share(hits, counts, delta=claim.delta, level=level)
        return Guessed(
            len(weights), int(counts[1:].sum()), int(hits[1:].sum()), claim.lower_bound(share)
        )

    def outlook(
        self, sizes: NDArray[np.float64], claim: Claim, runs: int, *, level: float
    ) -> Outlook:
        """Return what is expected, by as many equal guesses as tell as much."""
        many, right = self._equal(sizes, runs)
        bound = claim.lower_bound(
            float(least_share(many * right, many, runs, delta=claim.delta, level=level))
        )
        return Outlook(power(claim, runs, guesses=many / runs, right=right, level=level), bound)


def _tail(score: int, counts: NDArray[np.int64]) -> Callable[[float], float]:
    """The probability of a score or more, as a function of the share: by the characteristic function of the sum."""
    from scipy.fft import irfft, next_fast_len

    weights = np.flatnonzero(counts[1:]) + 1
    step = int(np.gcd.reduce(weights)) if len(weights) else 1
    max_score, min_score = int((weights * counts[weights]).sum()) // step, -(-score // step)
    if min_score <= 0 or min_score > max_score:
        return lambda share: float(min_score <= 0)
    size = next_fast_len(max_score + 1, real=True)
    rotations = [
        np.exp(-2j * np.pi / size * (weight // step) * np.arange(size // 2 + 1))
        for weight in weights
    ]

    def tail(share: float) -> float:
        law = np.exp(
            sum(
                int(n) * np.log(1 - share + share * rotation)
                for n, rotation in zip(counts[weights], rotations, strict=True)
            )
        )
        return float(min(irfft(law, size)[min_score : max_score + 1].sum() + ROUNDING, 1.0))

    return tail


def weighted_share(
    hits: NDArray[np.int64], counts: NDArray[np.int64], *, delta: float, level: float
) -> float:
    """Return the least probability of a right guess that allows the weight of right guesses, with the confidence `level`.

    `hits`, `counts`: right guesses, and guesses, of each weight from 0 on. All of one weight: Clopper and Pearson's bound (`least_share`).
    """
    from scipy.optimize import brentq
    from scipy.stats import binom

    odds, free = 1 - level, 0
    if delta:
        free = int(binom.isf(DELTA_PART * odds, int(counts.sum()), delta))
        odds *= 1 - DELTA_PART
    score = 0
    for weight in range(len(hits) - 1, 0, -1):
        off = min(free, int(hits[weight]))
        free -= off
        score += weight * (int(hits[weight]) - off)
    tail = _tail(score, counts)
    if not score or tail(0.5) > odds:
        return 0.0  # no more than half of the guesses need be right
    if score == int((np.arange(len(counts)) * counts).sum()):  # all right: a power of the share
        return float(odds ** (1 / int(counts[1:].sum())))
    root = brentq(lambda share: log(tail(share)) - log(odds), 0.5, 1 - 1e-9, xtol=1e-8)
    return max(float(root) - 1e-7, 0.5)  # on the safe side of the last digits


# Rho and mu: information, by betting.


@dataclass(frozen=True)
class Bets:
    """Ratios are taken times `shrink` and clipped at `clip`; `stake` is the part of all that is set on each run."""

    shrink: float
    clip: float
    stake: float

    @classmethod
    def tried(cls, sizes: NDArray[np.float64], runs: int, level: float) -> list[Bets]:
        """Return bets, each with the stake that needs least; never more than half of all can be lost in a run."""
        needed, bets = 2 * log(1 / (1 - level)) / runs, []
        for clip, shrink in product(CLIPS, SHRINKS):
            spread = cls(shrink, clip, 0.0)._moments(sizes)[1]
            bets.append(
                cls(
                    shrink,
                    clip,
                    float(min(sqrt(needed) / max(spread, 1e-12), 0.5 / (np.exp(clip) + clip))),
                )
            )
        return bets

    def _returns(
        self, sizes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The terms of runs whose ratios point the right way, and the wrong way."""
        toward = np.minimum(self.shrink * sizes, self.clip)
        return information_terms(toward), information_terms(-toward)

    def _moments(self, sizes: NDArray[np.float64]) -> tuple[float, float]:
        """The mean of the terms, and their standard deviation."""
        return _mean_spread(*self._returns(sizes), _chances(sizes))

    def proves(
        self, log_ratio: ArrayLike, member: ArrayLike, claim: Claim, *, level: float
    ) -> Guessed:
        """Return the bound on what is claimed from the information in the ratios."""
        toward = np.where(np.asarray(member, dtype=bool), 1.0, -1.0) * np.asarray(
            log_ratio, dtype=np.float64
        )
        terms = information_terms(np.clip(self.shrink * toward, -self.clip, self.clip))
        needed = log(1 / (1 - level))

        def gain(information: float) -> float:
            return float(np.log1p(self.stake * (terms - information)).sum())

        low, high = 0.0, float(terms.max(initial=0.0))
        if gain(0.0) < needed:
            high = 0.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if gain(middle) >= needed else (low, middle)
        convert = claim.what.of_information
        assert convert is not None
        return Guessed(len(terms), int((toward != 0).sum()), int((toward > 0).sum()), convert(low))

    def outlook(
        self, sizes: NDArray[np.float64], claim: Claim, runs: int, *, level: float
    ) -> Outlook:
        """Return what is expected: gains add up, and their sum is all but normal."""
        from scipy.special import ndtr

        convert, limit, needed = claim.what.of_information, claim.information, log(1 / (1 - level))
        assert convert is not None
        mean, spread = self._moments(sizes)
        bound = convert(max(mean - needed / (runs * self.stake) - self.stake * spread**2 / 2, 0.0))
        if limit >= 1 + self.clip:
            return Outlook(0.0, bound)  # no term is so large
        won, lost = (np.log1p(self.stake * (side - limit)) for side in self._returns(sizes))
        gain, error = _mean_spread(won, lost, _chances(sizes))
        return Outlook(
            float(ndtr((runs * gain - needed) / (sqrt(runs) * max(error, 1e-12)))), bound
        )


def _mean_spread(
    ahead: NDArray[np.float64], behind: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[float, float]:
    """Mean and standard deviation of what is the one with these chances, and else the other."""
    mean = float((chances * ahead + (1 - chances) * behind).mean())
    square = float((chances * ahead**2 + (1 - chances) * behind**2).mean())
    return mean, sqrt(max(square - mean**2, 0.0))


def information_terms(toward: ArrayLike) -> NDArray[np.float64]:
    """Return 1 + u - exp(-u), where u is a ratio times the coin (1 or -1): on average no more than the relative entropy.

    Examples
    --------
    Randomised response, right with 3/4, has a relative entropy of log(3) / 2 either way.

    >>> ahead, behind = information_terms([np.log(3), -np.log(3)])
    >>> round(float(0.75 * ahead + 0.25 * behind), 6), round(float(np.log(3) / 2), 6)
    (0.549306, 0.549306)
    """
    numbers = np.asarray(toward, dtype=np.float64)
    return numbers - np.expm1(-numbers)
