"""Recorded answers, the same answers replayed, and the exact ratio of their probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.privacy.mechanisms import SeededNoise
from chaffinch.risk.auditing.mechanism import (
    KINDS,
    DivergedError,
    Query,
    Recorder,
    Replay,
    log_probability,
    log_ratio,
)


def ask(noise):
    """Two counts, and one of two candidates."""
    return (
        noise.laplace(np.array([3, 5]), 2.0),
        noise.gaussian(np.array([[1]]), 1.5),
        noise.exponential(np.array([0, 4]), 3.0),
    )


def test_what_is_recorded_is_what_was_answered():
    plain, recorder = (
        SeededNoise(np.random.default_rng(1)),
        Recorder(SeededNoise(np.random.default_rng(1))),
    )
    for one, other in zip(ask(plain), ask(recorder), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [query.kind for query in recorder.queries] == ["laplace", "gaussian", "exponential"]
    assert "5" not in repr(recorder.queries[0]).replace("scale=2.0", "")  # true counts do not print


def test_a_replay_gives_the_recorded_answers_and_leaves_the_generator_where_it_was():
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    recorder = Recorder(SeededNoise(first))
    answers = ask(recorder)
    replay = Replay(SeededNoise(second), recorder.queries)
    assert replay.laplace(np.array([30, 50]), 2.0).tolist() == answers[0].tolist()
    replay.gaussian(np.array([[9]]), 1.5)
    assert replay.exponential(np.array([7, 1]), 3.0) == answers[2]
    assert first.integers(1 << 40) == second.integers(1 << 40)
    with pytest.raises(DivergedError):  # one question more than there are answers
        replay.laplace(np.array([1]), 1.0)


@pytest.mark.parametrize(
    "question",
    [lambda r: r.laplace(np.array([1]), 2.0), lambda r: r.exponential(np.array([1, 2]), 2.0)],
)
def test_a_question_that_the_answers_do_not_fit_is_impossible(question):
    recorder = Recorder(SeededNoise(np.random.default_rng(1)))
    ask(recorder)
    with pytest.raises(DivergedError):
        question(Replay(recorder.noise, recorder.queries))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_add_up_to_one(kind):
    if kind in ("laplace", "gaussian"):
        every = [Query(kind, np.array([2]), 1.7, np.array([z])) for z in range(-80, 81)]
    else:
        every = [Query(kind, np.array([3, 0, 5, 5]), 2.0, i) for i in range(4)]
    assert sum(np.exp(log_probability(query)) for query in every) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_ratio_is_the_relative_entropy_and_likelihoods_average_to_one(kind):
    # Under D the mean of P'/P is 1, whatever the laws: an identity that a wrong ratio breaks.
    if kind in ("laplace", "gaussian"):
        answers, values = [np.array([z]) for z in range(-60, 61)], (np.array([0]), np.array([1]))
    else:
        answers, values = [0, 1, 2], (np.array([3, 0, 5]), np.array([2, 1, 5]))
    scales = (1.3, 1.3) if kind == "gaussian" else (1.3, 1.1)  # also where noise itself differs
    pairs = [
        tuple(Query(kind, v, s, a) for v, s in zip(values, scales, strict=True)) for a in answers
    ]
    chance = np.array([np.exp(log_probability(without)) for without, _ in pairs])
    ratio = np.array([log_ratio([with_], [without]) for without, with_ in pairs])
    assert (chance * np.exp(ratio)).sum() == pytest.approx(1.0, abs=1e-9)
    assert (chance * ratio).sum() < 0
