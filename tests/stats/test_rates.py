"""Means over classes against plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chaffinch.stats.rates import ClassStatistic, Scores, class_means

from .test_excess import plain_classes


@st.composite
def classed(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, k = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    classes = draw(st.lists(st.integers(-1, k - 1), min_size=n, max_size=n))
    right = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(1, 5), min_size=k, max_size=k))
    return np.array(classes), np.array(right), np.array(weights, dtype=float)


@settings(max_examples=60, deadline=None)
@given(case=classed(), empty=st.sampled_from(["dropped", "zero"]))
def test_value_of_classes_is_that_of_a_plain_loop(case: tuple[np.ndarray, ...], empty: str) -> None:
    classes, right, weights = case
    plain = plain_classes(weights, empty)((classes, right), list(range(len(classes))), len(classes))
    found = ClassStatistic(weights, empty).value((classes, right))  # type: ignore[arg-type]
    assert found == (None if plain is None else pytest.approx(plain, abs=1e-12))


@settings(max_examples=40, deadline=None)
@given(case=classed(), empty=st.sampled_from(["dropped", "zero"]))
def test_comparing_at_a_smaller_size_averages_over_all_parts_of_it(
    case: tuple[np.ndarray, ...], empty: str
) -> None:
    classes, right, weights = case
    statistic = ClassStatistic(weights, empty)  # type: ignore[arg-type]
    n, common = len(classes), max(1, len(classes) // 2)
    group = statistic.check((classes, right))
    above, below = statistic.totals(group)(np.ones((1, n)), n, common)
    parts = [
        statistic.check((classes[list(part)], right[list(part)]))
        for part in combinations(range(n), common)
    ]
    each = [statistic.totals(part)(np.ones((1, common)), common, common) for part in parts]
    assert above[0] == pytest.approx(np.mean([a[0] for a, _ in each]), abs=1e-9)
    assert below[0] == pytest.approx(np.mean([b[0] for _, b in each]), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(case=classed(), empty=st.sampled_from(["dropped", "zero"]))
def test_jackknife_of_classes_leaves_out_one_person_at_a_time(
    case: tuple[np.ndarray, ...], empty: str
) -> None:
    classes, right, weights = case
    statistic = ClassStatistic(weights, empty)  # type: ignore[arg-type]
    value = statistic.value((classes, right))
    assume(value is not None)
    without = []
    for i in range(len(classes)):
        kept = np.arange(len(classes)) != i
        left = statistic.value((classes[kept], right[kept]))
        without.append(value if left is None else left)
    n = len(classes)
    variance = (n - 1) / n * ((np.array(without) - np.mean(without)) ** 2).sum()
    assert statistic.variance(statistic.check((classes, right)), n) == pytest.approx(
        variance, abs=1e-12
    )


def test_classes_without_weight_count_no_one() -> None:
    statistic = ClassStatistic(np.array([0.0, 2.0]))
    assert statistic.value(([0, 0, 1], [1, 1, 0])) == 0.0
    assert statistic.value(([0, 0], [1, 1])) is None


def test_sums_of_classes_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    classes, right = rng.integers(0, 4, 12), rng.random(12)
    unit = np.argsort(classes, kind="stable")
    starts = np.append(np.searchsorted(classes[unit], np.arange(4)), 12)
    weight, seen = np.array([1.0, 2.0, 0.5, 3.0]), np.append(0.0, 1 - 0.5 ** np.arange(1.0, 40))
    counts = rng.integers(0, 3, (5, 12)).astype(float)
    above, below = np.empty(5), np.empty(5)
    class_means(counts, unit, right[unit], starts, weight, seen, above, below)
    for draw in range(5):
        total = counted = 0.0
        for k in range(4):
            here = counts[draw, classes == k]
            if here.sum():
                share = weight[k] * seen[int(here.sum())]
                total += share * (here @ right[classes == k]) / here.sum()
                counted += share
        np.testing.assert_allclose([above[draw], below[draw]], [total, counted])


def test_value_is_the_ratio_of_sums() -> None:
    assert Scores([0.2, 0.4, 9.0], [1, 1, 2]).value == pytest.approx(2.4)


@pytest.mark.parametrize("n", [0, 3])
def test_no_weight_is_no_value(n: int) -> None:
    empty = Scores(np.zeros(n), np.zeros(n))
    assert empty.value is None
    assert empty.n_people == n
    assert "undefined" in repr(empty)


def test_scores_are_frozen_copies() -> None:
    given = np.ones(2)
    scores = Scores(given, given)
    given[0] = 5.0
    assert scores.value == 1.0
    with pytest.raises(ValueError, match="read-only"):
        scores.numerator[0] = 2.0


def test_repr_holds_no_small_count() -> None:
    assert repr(Scores([1.0] * 7, [1] * 7)) == "Scores(1, people: <10)"


def test_errors() -> None:
    with pytest.raises(ValueError, match="same people"):
        Scores([1.0], [1, 1])
    with pytest.raises(ValueError, match="one number for each person"):
        Scores([[1.0]], [1])
