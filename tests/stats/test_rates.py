"""Means over classes against plain loops."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chaffinch.stats.rates import ClassStatistic

Pair = tuple[np.ndarray, np.ndarray]


def plain_classes(
    weights: np.ndarray, empty: str
) -> Callable[[Pair, list[int], int], float | None]:
    def value(pair: Pair, chosen: list[int], common: int) -> float | None:
        above = below = 0.0
        for k, weight in enumerate(weights):
            right = [pair[1][i] for i in chosen if pair[0][i] == k]
            if right:
                n = len(chosen)
                met = 1 - comb(n - len(right), common) / comb(n, common)
                above += weight * met * sum(right) / len(right)
                below += weight * met
        if empty == "zero":
            below = float(sum(weights))
        return above / below if below > 0 else None

    return value


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
