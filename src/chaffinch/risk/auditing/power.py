"""Which violation an audit would have found: how many times too small noise must be for the claim to be refuted four times out of five.

Of noise that is recorded (`transcript`) the law of the log-likelihood ratio with noise so many times smaller is drawn from: exact where
questions do not depend on answers; else along the ways that runs took. What attackers learn from models or tables has no such law: theirs is
taken to be normal, as far apart as the scores of the test runs were, and to move apart as noise shrinks. That is an extrapolation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ...privacy.mechanisms import draw_gaussian, draw_laplace
from .claims import POWER, Claim, choose_rule, power
from .mechanism import Coupled, Query, log_law
from .ratios import ratio_power

MOST = 100.0
"""Noise that is more times too small than this is not asked about."""
DRAWS = 6000
"""Runs that are drawn to work out a power: its error is below 0.01."""
STEPS = 9
"""Halvings of the range of factors: to within 1 % of a factor."""

Scores = Callable[[float], tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""Scores of runs with noise so many times smaller, and for each whether it was on D'."""
Powers = Callable[[NDArray[np.float64], NDArray[np.bool_]], float]
"""The probability of refuting a claim from runs with such scores, and for each whether it was on D'."""


def times_too_small(scores: Scores, power_of: Powers) -> float | None:
    """Return how many times too small noise must be to be found with a probability of `POWER`; None beyond `MOST`.

    `power_of`: the probability of refuting the claim from scores as noise so small gives them.
    """

    def enough(times: float) -> bool:
        return power_of(*scores(times)) >= POWER

    if not enough(MOST):
        return None
    low, high = 1.0, MOST
    for _ in range(STEPS):
        middle = sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def guessed_power(claim: Claim, runs: int, *, level: float) -> Powers:
    """Return what works out the power of right guesses in `runs` test runs, by a rule that is chosen on half of the scores."""

    def power_of(values: NDArray[np.float64], member: NDArray[np.bool_]) -> float:
        half = len(values) // 2
        rule = choose_rule(values[:half], member[:half], claim, level=level)
        with_, without = rule.guesses(values[half:])
        test_member = member[half:]
        guesses = with_ | without
        if not guesses.any():
            return 0.0
        right = float(((with_ & test_member) | (without & ~test_member)).sum() / guesses.sum())
        return power(claim, runs, guesses=float(guesses.mean()), right=right, level=level)

    return power_of


def exact_power(claim: Claim, runs: int, *, level: float) -> Powers:
    """Return what works out the power of log-likelihood ratios (`ratios`) in `runs` test runs."""
    return lambda values, _member: ratio_power(values, claim, runs, level=level)


def recorded_scores(examples: Sequence[Coupled], seed: np.random.SeedSequence) -> Scores:
    """Return what draws log-likelihood ratios as noise of the recorded kinds gives them, on the ways that runs took."""
    ways = {run.questions: run for run in examples if run.possible}
    weights = Counter(run.questions for run in examples if run.possible)

    def scores(times: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        rng = np.random.default_rng(seed)
        member = rng.random(DRAWS) < 0.5
        chosen = rng.choice(
            len(ways), DRAWS, p=np.array([weights[key] for key in ways]) / weights.total()
        )
        values = np.zeros(DRAWS)
        for number, run in enumerate(ways.values()):
            for inside in (False, True):
                run_index = np.flatnonzero((chosen == number) & (member == inside))
                for without, with_ in zip(*run.queries, strict=True):
                    if len(run_index) and with_.question != without.question:
                        values[run_index] += _ratios(
                            without, with_, inside, times, len(run_index), rng
                        )
        return values, member

    return scores


def _ratios(
    without: Query, with_: Query, member: bool, times: float, draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Log-likelihood ratios of answers to one question, drawn on D' (`member`) or on D."""
    actual_query = with_ if member else without
    laws = [log_law(query.kind, query.scale / times) for query in (without, with_)]
    if actual_query.chooses:
        p, q = (law(query.values) for law, query in zip(laws, (without, with_), strict=True))
        odds = np.exp(q if member else p)
        return (q - p)[rng.choice(len(odds), draws, p=odds / odds.sum())]
    cells = np.flatnonzero(
        (with_.values != without.values).ravel() | (with_.scale != without.scale)
    )
    draw = draw_laplace if actual_query.kind == "laplace" else draw_gaussian
    answers = actual_query.values.ravel()[cells] + draw(
        rng, actual_query.scale / times, (draws, len(cells))
    )
    low, high = (
        law(answers - query.values.ravel()[cells])
        for law, query in zip(laws, (without, with_), strict=True)
    )
    return np.asarray((high - low).sum(axis=1))


def separation(scores: NDArray[np.float64], member: NDArray[np.bool_]) -> float:
    """Return how far apart, in standard deviations, two normal laws are that tell as well as scores: from their AUC; at least 0.

    Examples
    --------
    >>> separation(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, True, False, True]))
    0.0
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    inside = int(member.sum())
    pairs = inside * (len(member) - inside)
    if not pairs:
        return 0.0
    auc = (rankdata(scores)[member].sum() - inside * (inside + 1) / 2) / pairs
    return max(0.0, sqrt(2) * float(ndtri(min(auc, 1 - 0.5 / pairs))))


def normal_scores(apart: float, seed: np.random.SeedSequence) -> Scores:
    """Return what draws scores of two normal laws, so far apart and farther as noise shrinks."""

    def scores(times: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        rng = np.random.default_rng(seed)
        member = rng.random(DRAWS) < 0.5
        return rng.normal(size=DRAWS) + times * apart * (member - 0.5), member

    return scores
