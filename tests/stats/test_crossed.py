"""Means over people and datasets at once: the two-way formula by loops, and what cancels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chaffinch.stats.crossed import NOTHING, CrossedPart, crossed_difference, crossed_mean


def part_of(answers):
    """A part of a matrix of answers, datasets x people: each number is the mean over people, whose influence is linear."""
    n = answers.shape[1]
    own = (answers - answers.mean(axis=1, keepdims=True)) / n
    return CrossedPart(answers.mean(axis=1), own.mean(axis=0), (own**2).sum(axis=1))


def test_the_variance_by_loops():
    answers = np.random.default_rng(1).random((5, 12))
    d, n = answers.shape
    grand = answers.mean()
    rows = sum((answers[i].mean() - grand) ** 2 for i in range(d)) / (d - 1) / d
    influence = [sum((answers[i, j] - answers[i].mean()) / n for i in range(d)) / d for j in range(n)]
    people = sum(value**2 for value in influence)
    each = sum(((answers[i, j] - answers[i].mean()) / n) ** 2 for i in range(d) for j in range(n))
    pairs = max(each - d * people, 0.0) / (d * (d - 1))
    estimate = crossed_mean([part_of(answers)])
    assert estimate.value == pytest.approx(grand)
    assert estimate.error**2 == pytest.approx(max(people + rows - pairs, people, rows))
    assert estimate.low < estimate.value < estimate.high


def test_people_cancel_where_two_ensembles_are_alike():
    answers = np.tile(np.random.default_rng(2).random(30), (4, 1))
    estimate = crossed_difference([part_of(answers)], [part_of(answers)])
    assert (estimate.value, estimate.error) == (0.0, pytest.approx(0.0, abs=1e-9))
    assert crossed_mean([part_of(answers)]).error > 0.01


def test_nothing_measured_is_nothing():
    empty = CrossedPart(np.array([math.nan]), np.zeros(3), np.zeros(1))
    assert crossed_mean([]) is NOTHING
    assert crossed_mean([empty]) is NOTHING
    assert crossed_difference([empty], [empty]) is NOTHING
    assert NOTHING.to_dict() == {"value": None, "low": None, "high": None}
