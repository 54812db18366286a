"""Extremely randomised trees beside scikit-learn's: the same law of trees, and votes by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.risk.membership.forests import add_votes, grow_forest
from chaffinch.stats.learners import auc


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
