"""The compiled mean over classes against a plain loop."""

import numpy as np

from chaffinch.stats.rates import class_means


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
