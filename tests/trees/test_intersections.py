"""Pairs of paths: brute force over all pairs of leaves says the same."""

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from chaffinch._base.errors import InputError
from chaffinch.trees import prune, read_model
from chaffinch.trees.attack import intersections


def data(seed, n=120):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("at_least", [2, 4])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_as_brute_force_finds_them(kind, at_least):
    x, y = data(0)
    model = kind(4, random_state=0, max_depth=3).fit(x, y)
    result = intersections(read_model(model), x.T, [y], at_least=at_least)
    leaves = model.apply(x)
    classes = [y == 0, y == 1] if kind is RandomForestClassifier else [np.ones(len(y), dtype=bool)]
    exposed, cells, pairs = np.zeros(len(y), dtype=bool), 0, 0
    for i in range(4):
        for j in range(i + 1, 4):
            before = cells
            for a in np.unique(leaves[:, i]):
                for b in np.unique(leaves[:, j]):
                    for of_class in classes:
                        one, two = (leaves[:, i] == a) & of_class, (leaves[:, j] == b) & of_class
                        both = one & two
                        if 0 < both.sum() < at_least <= min(one.sum(), two.sum()):
                            cells += 1
                            exposed |= both
            pairs += cells > before
    assert (result.cells, result.n_exposed, result.isolating_pairs) == (cells, exposed.sum(), pairs)
    assert (result.tried, result.pairs) == (6, 6)
    assert cells > 0


def test_examples_isolate_together_and_not_alone():
    x, y = data(1)
    model = RandomForestClassifier(6, random_state=0, max_depth=3).fit(x, y)
    done = prune(model, columns=x.T, labels=[y])
    result = intersections(read_model(done.model), x.T, [y], most_examples=5)
    assert (
        len(result.examples) == 5
    )  # pruning tree by tree does not help against pairs, and the docs say so
    for one, two in result.examples:
        a, b = one.holds(x.T, [y]), two.holds(x.T, [y])
        assert (a & b).sum() == 1
        assert min(a.sum(), b.sum()) >= 2


def test_bounds_are_kept_and_told():
    x, y = data(2)
    plain = read_model(RandomForestClassifier(12, random_state=0, max_depth=3).fit(x, y))
    result = intersections(plain, x.T, [y], most_pairs=10)
    assert (result.tried, result.pairs) == (10, 66)
    assert result.summary.pairs_tried == 10
    assert result.n_exposed == intersections(plain, x.T, [y], most_pairs=10).n_exposed
    with pytest.raises(InputError, match="most_pairs"):
        intersections(plain, x.T, [y], most_pairs=0)


def test_one_tree_has_no_pairs_and_equal_trees_isolate_nobody():
    x, y = data(3)
    model = RandomForestClassifier(1, random_state=0).fit(x, y)
    assert intersections(read_model(model), x.T, [y]).pairs == 0
    twins = RandomForestClassifier(2, bootstrap=False, max_features=None, max_depth=2).fit(x, y)
    twins.estimators_[1] = twins.estimators_[0]
    assert intersections(read_model(twins), x.T, [y]).n_exposed == 0
    boosted = read_model(GradientBoostingRegressor(n_estimators=3).fit(x, y))
    assert intersections(boosted, x.T, [y]).tried == 3
