"""Extremely randomised trees: the search of the paper, and forests beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.risk.membership import forests as extra_trees
from chaffinch.risk.membership.attacker import learner
from chaffinch.risk.membership.forests import (
    RandomForest,
    add_votes,
    chances_out_of_fold,
    grow_forest,
    in_columns,
    search_settings,
    train_forest,
)
from chaffinch.stats.learners import auc

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
    best, unseen = search_settings(columns, member, fold, 30, np.random.default_rng(1))
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
        train_forest(columns, member, np.arange(60), PLAIN, seed=4, threads=threads)
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(*(forest.chances(columns) for forest in forests))
    assert forests[0].n_trees == 60


def test_counts_are_narrow_and_other_numbers_are_not():
    counts = np.array([[0, 7], [65_535, 1]], dtype=np.float32)
    assert in_columns(counts, "counts").dtype == np.uint16
    assert in_columns(counts, "counts").tolist() == [[0, 65_535], [7, 1]]
    for other, kind in ((counts + 1, "counts"), (counts + 0.5, "counts"), (counts, "real")):
        assert in_columns(other.astype(np.float32), kind).dtype == np.float32


def made_up(seed: int, rows: int = 300, width: int = 40):
    """Counts of which every fifth column tells a little, some columns that never vary, and labels."""
    rng = np.random.default_rng(seed)
    label = np.arange(rows) % 2
    mean = np.exp(rng.normal(size=width))
    counts = rng.poisson(mean * (1 + 0.5 * label[:, None] * (np.arange(width) % 5 == 0)))
    counts[:, ::7] = 3
    return counts.astype(np.uint16), label.astype(np.uint8)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("split", "leaf", "visited"), [(2, 1, 6), (10, 2, 3), (2, 8, 12)])
def test_trees_are_drawn_from_the_law_of_scikit_learns(bootstrap, split, leaf, visited):
    """Nodes of a tree, features at roots and chances of new records: means of 200 trees apart by at most six standard errors of either.

    The chances are 300 correlated means: a bound of 6 for the worst fails less than once in a million runs.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    x, label = made_up(1)
    new, _ = made_up(2)
    trees = 200
    theirs = ExtraTreesClassifier(
        trees,
        max_features=visited,
        min_samples_split=split,
        min_samples_leaf=leaf,
        bootstrap=bootstrap,
        random_state=1,
        n_jobs=1,
    ).fit(x, label)
    columns = np.ascontiguousarray(np.concatenate([x, new]).T)
    both = np.concatenate([label, label])
    forest = grow_forest(
        columns, both, np.arange(300), trees, bootstrap, visited, split, leaf, np.uint64(5)
    )
    feature, starts = forest[0], forest[-1]
    nodes = np.array([tree.tree_.node_count for tree in theirs.estimators_]), np.diff(starts)
    assert abs(nodes[0].mean() - nodes[1].mean()) < 6 * np.hypot(
        nodes[0].std(), nodes[1].std()
    ) / np.sqrt(trees)
    theirs_first = np.array([tree.tree_.feature[0] for tree in theirs.estimators_])
    # A root that no visited feature could cut is a leaf: below 0 in both.
    roots = [
        np.bincount(np.maximum(one, -1) + 1, minlength=41) / trees
        for one in (theirs_first, feature[starts[:-1]])
    ]
    assert (
        abs(roots[0] - roots[1]) < 6 * np.sqrt(2 * np.maximum(roots[0], 4 / trees) / trees)
    ).all()
    votes = np.zeros(300)
    add_votes(forest, columns, np.arange(300, 600), votes)
    each = np.stack(
        [tree.predict_proba(new.astype(np.float32))[:, 1] for tree in theirs.estimators_]
    )
    error = np.maximum(each.std(axis=0), 0.02) * np.sqrt(2 / trees)
    assert (abs(votes / trees - each.mean(axis=0)) < 6 * error).all()


def test_one_column_that_tells_is_cut_once_and_leaves_are_pure():
    columns = np.array([[0, 0, 0, 9, 9, 9], [1, 1, 1, 1, 1, 1]], dtype=np.float32)
    label = np.array([0, 0, 0, 1, 1, 1], dtype=np.uint8)
    feature, threshold, left, right, share, starts = grow_forest(
        columns, label, np.arange(6), 3, False, 1, 2, 1, np.uint64(1)
    )
    # The constant column is visited too, and another is drawn until one varies.
    assert feature.tolist() == [0, -1, -1] * 3
    assert (threshold[::3] >= 0).all()
    assert (threshold[::3] < 9).all()
    assert left[0] == 1
    assert right[0] == 2
    assert share.tolist() == [0.5, 0, 1] * 3
    assert starts.tolist() == [0, 3, 6, 9]


def test_only_named_records_are_learnt_from_and_leaves_have_enough_of_them():
    x, label = made_up(3)
    columns = np.ascontiguousarray(x.T)
    rows = np.arange(0, 300, 3)
    poisoned = columns.copy()
    poisoned[:, np.setdiff1d(np.arange(300), rows)] = 60_000
    forests = [
        grow_forest(c, label, rows, 20, False, 6, 2, 5, np.uint64(4)) for c in (columns, poisoned)
    ]
    for one, other in zip(*forests, strict=True):
        np.testing.assert_array_equal(one, other)
    feature, threshold, left, right, _, starts = forests[0]
    for tree in range(20):
        at = starts[tree]
        waiting = [(0, rows)]
        while waiting:
            node, mine = waiting.pop()
            assert len(mine) >= 5
            if feature[at + node] >= 0:
                low = columns[feature[at + node], mine] <= threshold[at + node]
                waiting += [(left[at + node], mine[low]), (right[at + node], mine[~low])]


def test_labels_by_chance_are_not_told():
    """600 records, half to learn from: the AUC's standard error is 0.033; six are 0.2 apart once in 10^9."""
    rng = np.random.default_rng(6)
    columns = rng.poisson(2.0, (50, 600)).astype(np.uint16)
    label = (rng.permutation(600) < 300).astype(np.uint8)
    votes = np.zeros(300)
    add_votes(
        grow_forest(columns, label, np.arange(300), 50, True, 7, 2, 1, np.uint64(7)),
        columns,
        np.arange(300, 600),
        votes,
    )
    assert abs(auc(votes, label[300:] == 1) - 0.5) < 0.2


def test_an_interaction_is_found():
    rng = np.random.default_rng(1)
    member = np.arange(400) % 2 == 0
    x = rng.poisson(5.0, (400, 1, 3)).astype(np.float32)
    x[:, 0, 1] = np.where((x[:, 0, 0] > 5) == member, 9, 2)  # neither of the two tells alone
    attacker = RandomForest(trees=30).fit(x, member, seed=1, threads=1)
    assert attacker.auc > 0.95
    again = RandomForest(trees=30).fit(x, member, seed=1, threads=2)
    np.testing.assert_array_equal(attacker.checked, again.checked)


def test_noise_is_noise():
    """Out-of-fold AUC of 300 shadows: standard error 0.033; five of them are 0.17 apart once in 2 million."""
    rng = np.random.default_rng(2)
    attacker = RandomForest(trees=20).fit(
        rng.poisson(3.0, (300, 1, 5)), rng.permutation(300) < 150, seed=1, threads=1
    )
    assert abs(attacker.auc - 0.5) < 0.17


@pytest.mark.parametrize("option", ["trees", "rows"])
def test_bad_settings_are_refused(option):
    with pytest.raises(InputError, match=f"{option} must be at least 1"):
        RandomForest(**{option: 0})
