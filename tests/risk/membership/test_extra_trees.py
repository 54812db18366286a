"""Extremely randomised trees: the search of the paper, and forests beside scikit-learn's."""

from __future__ import annotations

import numpy as np

from chaffinch.risk.membership import forests as extra_trees
from chaffinch.risk.membership.attacker import learner
from chaffinch.risk.membership.forests import chances_out_of_fold, grown, in_columns, searched

PLAIN = {
    "n_estimators": 60,
    "max_features": "sqrt",
    "min_samples_split": 5,
    "min_samples_leaf": 2,
    "bootstrap": False,
}


def test_the_random_search_is_p3s(shadows):
    space = extra_trees.SEARCH
    assert space["n_estimators"] == [50, 100, 200]
    assert space["min_samples_split"] == [2, 5, 10, 20]
    assert space["min_samples_leaf"] == [1, 2, 4, 8]
    x, member = shadows(9, 30, 1, 6, effect=3)
    found = learner("extra-trees", draws=1).fit(x, member, seed=1).settings
    assert all(found[name] in values for name, values in space.items())


def test_a_search_keeps_the_settings_that_are_right_most_often(shadows, monkeypatch):
    """Leaves of half the records cannot be cut: such trees answer one half to all, and others are right more often."""
    x, member = shadows(10, 60, 1, 8, effect=6)
    monkeypatch.setitem(extra_trees.SEARCH, "n_estimators", [20])
    monkeypatch.setitem(extra_trees.SEARCH, "min_samples_leaf", [1, 60])
    columns, fold = in_columns(x[:, 0], "counts"), np.arange(60) % 5
    best, unseen = searched(columns, member, fold, 30, np.random.default_rng(1))
    assert best["min_samples_leaf"] == 1
    assert ((unseen > 0.5) == member).mean() > 0.8


def test_chances_out_of_fold_are_of_trees_that_did_not_see_the_record(shadows):
    x, member = shadows(11, 50, 1, 8)
    columns, fold = in_columns(x[:, 0], "counts"), np.arange(50) % 5
    before = chances_out_of_fold(columns, member, fold, PLAIN, seed=3)
    flipped = np.where(fold == 2, ~member, member)
    after = chances_out_of_fold(columns, flipped, fold, PLAIN, seed=3)
    np.testing.assert_array_equal(before[fold == 2], after[fold == 2])
    assert (before[fold != 2] != after[fold != 2]).any()


def test_threads_change_no_tree(shadows):
    x, member = shadows(12, 60, 1, 8, effect=2)
    columns = in_columns(x[:, 0], "counts")
    forests = [
        grown(columns, member, np.arange(60), PLAIN, seed=4, threads=threads) for threads in (1, 2)
    ]
    np.testing.assert_array_equal(*(forest.chances(columns) for forest in forests))
    assert forests[0].n_trees == 60


def test_counts_are_narrow_and_other_numbers_are_not():
    counts = np.array([[0, 7], [65_535, 1]], dtype=np.float32)
    assert in_columns(counts, "counts").dtype == np.uint16
    assert in_columns(counts, "counts").tolist() == [[0, 65_535], [7, 1]]
    for other, kind in ((counts + 1, "counts"), (counts + 0.5, "counts"), (counts, "real")):
        assert in_columns(other.astype(np.float32), kind).dtype == np.float32
