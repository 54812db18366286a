"""Extremely randomised trees: the search of the paper."""

from __future__ import annotations

from chaffinch.risk.membership import extra_trees
from chaffinch.risk.membership.classifiers import learner


def test_the_random_search_is_p3s(shadows):
    space = extra_trees.SEARCH
    assert space["n_estimators"] == [50, 100, 200]
    assert space["min_samples_split"] == [2, 5, 10, 20]
    assert space["min_samples_leaf"] == [1, 2, 4, 8]
    x, member = shadows(9, 30, 1, 6, effect=3)
    found = learner("extra-trees", draws=1).fit(x, member, seed=1).settings
    assert all(found[name] in values for name, values in space.items())
