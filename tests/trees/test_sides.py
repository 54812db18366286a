"""What sizes, means and variances say of both sides of a leaf holds in the data, and nothing weaker would do."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from chaffinch.trees import read_model
from chaffinch.trees.attack import safe_values
from chaffinch.trees.prune import certain_sides, sides_are_safe


def skewed(seed, n=400, outputs=1, tail=np.inf):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    y = np.exp(
        x[:, :1]
        + (
            rng.normal(size=(n, outputs))
            if tail == np.inf
            else rng.standard_t(tail, size=(n, outputs))
        )
    )
    return x, y if outputs > 1 else y[:, 0]


@pytest.mark.parametrize("leaf", [1, 2, 7, 25])
@pytest.mark.parametrize(("outputs", "tail"), [(1, np.inf), (2, np.inf), (1, 2), (2, 2)])
def test_the_sides_hold_at_least_as_many_records_as_is_said(leaf, outputs, tail):
    # With two degrees of freedom labels span twenty orders of magnitude: rounding must not be taken for equality.
    for seed in range(4):
        x, y = skewed(seed, outputs=outputs, tail=tail)
        tree = read_model(
            DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(x, y)
        ).trees[0]
        above, below = certain_sides(tree)
        labels = y.reshape(len(y), -1)
        for node, rows in enumerate(tree.rows(x.T)):
            over = (labels[rows] > tree.value[node, :, 0]).sum(axis=0)
            assert (above[node] <= over).all()
            assert (below[node] <= len(rows) - over).all()
        for m in (2, 5):
            real = safe_values(tree, x.T, list(labels.T), m)
            assert real[sides_are_safe(tree, m)].all()


def test_fully_grown_trees_tell_every_side_exactly():
    _, y = skewed(1)
    tree = read_model(
        DecisionTreeRegressor(random_state=0).fit(np.arange(400.0)[:, None], y)
    ).trees[0]
    above, _ = certain_sides(tree)
    column = [np.arange(400.0)]
    for node, rows in enumerate(tree.rows(column)):
        if tree.left[node] >= 0:
            assert above[node, 0] == (y[rows] > tree.value[node, 0, 0]).sum()


def test_cantelli_is_reached():
    # Second opinion: of all 5 labels from a grid with the mean and variance of (0, 0, 0, 0, 5), none has fewer on the mean's side of t.
    labels = np.array([0.0, 0.0, 0.0, 0.0, 5.0])
    v, mean = labels.var(), labels.mean()
    for t in (0.0, 0.5, 2.0, 4.0):
        d = mean - t
        sure = max(1, 5 - int(np.floor(5 * v / (v + d * d) + 1e-9)))
        real = [
            sum(y > t for y in some) if d > 0 else sum(y <= t for y in some)
            for some in combinations_with_replacement(np.linspace(-3, 7, 21), 5)
            if abs(np.mean(some) - mean) < 1e-9 and abs(np.var(some) - v) < 1e-9
        ]
        assert real
        assert min(real) >= sure


def test_a_leaf_alone_is_never_certain():
    x, y = skewed(2)
    tree = read_model(DecisionTreeRegressor(min_samples_leaf=40, random_state=0).fit(x, y)).trees[0]
    assert not sides_are_safe(tree, 2)[tree.leaves].any()
    assert sides_are_safe(tree, 2)[0]


def test_where_variances_are_not_known_nothing_is_said():
    x, y = skewed(3)
    weights = np.random.default_rng(0).random(len(y))
    models = [
        DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(x, y),
        DecisionTreeRegressor(criterion="poisson", max_depth=3).fit(x, y),
        DecisionTreeRegressor(max_depth=3).fit(x, y, sample_weight=weights),
        RandomForestRegressor(1, max_depth=3).fit(x, y),
    ]
    for model in models:
        assert sides_are_safe(read_model(model).trees[0], 2) is None


def test_equal_labels_have_one_side():
    x = np.repeat([[0.0], [1.0]], 6, axis=0)
    tree = read_model(DecisionTreeRegressor().fit(x, np.repeat([1.1, 4.3], 6))).trees[0]
    assert sides_are_safe(tree, 3).all()
    assert sides_are_safe(tree, 4).tolist() == [True, False, False]
