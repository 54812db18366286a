"""Recovered counts are those of the training data, or none are given."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from chaffinch.trees import read_model
from chaffinch.trees.formats.from_sklearn import recovered_counts


def data(seed, n=250, classes=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    return x, rng.choice(
        classes, size=n, p=np.array([6, 3, 1][:classes]) / sum([6, 3, 1][:classes])
    )


def by_hand(model, x, y, classes):
    """Node by node from scikit-learn's own decision path."""
    path = model.decision_path(x).toarray().astype(np.int64)
    return np.stack([path[y == k].sum(axis=0) for k in classes], axis=1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_leaf_nodes": 25},
        {"max_depth": 3},
        {"ccp_alpha": 0.004},
        {"min_weight_fraction_leaf": 0.01},
        {"criterion": "entropy"},
        {"class_weight": "balanced"},
        {"class_weight": {0: 1.0, 1: 0.3, 2: 7.1}},
        {"class_weight": {0: 2, 1: 3}, "max_leaf_nodes": 25},
    ],
)
def test_counts_are_those_of_the_data(settings):
    for seed in range(8):
        x, y = data(seed)
        model = DecisionTreeClassifier(random_state=seed, **settings).fit(x, y)
        result = read_model(model).trees[0].counts
        assert result is not None
        np.testing.assert_array_equal(result[:, 0, :], by_hand(model, x, y, [0, 1, 2]))


def test_several_outputs_of_different_widths():
    x, y = data(1)
    both = np.column_stack([y, x[:, 0] > 0])
    model = DecisionTreeClassifier(random_state=0).fit(x, both)
    result = read_model(model)
    assert result.classes == ((0, 1, 2), (0, 1))
    counts = result.trees[0].counts
    np.testing.assert_array_equal(counts[:, 0], by_hand(model, x, both[:, 0], [0, 1, 2]))
    np.testing.assert_array_equal(counts[:, 1, :2], by_hand(model, x, both[:, 1], [0, 1]))
    assert not counts[:, 1, 2].any()


def test_weights_of_records_are_refused_and_the_reason_is_given():
    for seed in range(10):
        x, y = data(seed)
        for weights in (
            np.random.default_rng(seed).random(len(y)),
            np.random.default_rng(seed).integers(1, 4, len(y)),
        ):
            tree = read_model(
                DecisionTreeClassifier(random_state=0).fit(x, y, sample_weight=weights)
            ).trees[0]
            assert tree.counts is None
            assert "weights of their own" in tree.reason


def test_one_weight_for_all_is_no_obstacle():
    x, y = data(3)
    model = DecisionTreeClassifier(random_state=0).fit(x, y, sample_weight=np.full(len(y), 2.5))
    np.testing.assert_array_equal(
        read_model(model).trees[0].counts[:, 0, :], by_hand(model, x, y, [0, 1, 2])
    )


def test_a_tree_of_one_node_with_balanced_classes_is_not_taken_for_equal_counts():
    # Balanced weights make both classes weigh 5 of 10; nine records and one would look the same.
    model = DecisionTreeClassifier(class_weight="balanced").fit(np.zeros((10, 1)), [0] * 9 + [1])
    tree = read_model(model).trees[0]
    assert tree.counts is None
    assert "too small" in tree.reason
    named = DecisionTreeClassifier(class_weight={0: 1, 1: 3}).fit(np.zeros((10, 1)), [0] * 9 + [1])
    assert read_model(named).trees[0].counts.tolist() == [[[9, 1]]]


def test_equations_with_several_solutions_are_not_solved():
    shares = np.array([[[1 / 3, 2 / 3]]])
    counts, reason = recovered_counts(shares, np.array([18.0]), np.array([10]))
    assert counts is None
    assert "too small" in reason


def test_a_million_records_leave_no_room_for_wrong_counts():
    n = 5_000_000
    shares = np.array([[[0.5 + 0.3 / n, 0.5 - 0.3 / n]]])
    assert recovered_counts(shares, np.array([float(n)]), np.array([n]))[0] is None


def test_draws_of_a_bootstrap_and_the_records_behind_them():
    x, y = data(4)
    model = RandomForestClassifier(8, random_state=0).fit(x, y)
    for part, tree, drawn in zip(
        model.estimators_, read_model(model).trees, model.estimators_samples_, strict=True
    ):
        draws = by_hand(part, x[drawn], y[drawn], [0, 1, 2])
        once = np.unique(drawn)
        records = by_hand(part, x[once], y[once], [0, 1, 2])
        np.testing.assert_array_equal(tree.counts[:, 0, :], draws)
        assert (tree.fewest[:, 0, :] <= records).all()
        assert (records <= draws).all()
        np.testing.assert_array_equal(tree.fewest[:, 0, :] > 0, records > 0)
        np.testing.assert_array_equal(tree.samples, records.sum(axis=1))


@pytest.mark.parametrize(
    "settings", [{"class_weight": "balanced"}, {"class_weight": "balanced_subsample"}]
)
def test_weighted_draws_are_refused(settings):
    x, y = data(5)
    for tree in read_model(RandomForestClassifier(3, random_state=0, **settings).fit(x, y)).trees:
        assert tree.counts is None
        assert "draws" in tree.reason


def test_whole_weights_of_records_in_a_forest_are_not_taken_for_draws():
    x, y = data(6)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    assert not read_model(
        RandomForestClassifier(3, random_state=0).fit(x, y, sample_weight=weights)
    ).counts_known
    one = RandomForestClassifier(1, random_state=0).fit(x, y, sample_weight=weights)
    assert not read_model(one).counts_known


def test_extra_trees_see_every_record():
    x, y = data(7)
    model = ExtraTreesClassifier(3, random_state=0, class_weight="balanced").fit(x, y)
    for part, tree in zip(model.estimators_, read_model(model).trees, strict=True):
        np.testing.assert_array_equal(tree.counts[:, 0, :], by_hand(part, x, y, [0, 1, 2]))


def test_monotone_constraints_bend_shares():
    x, y = data(8, classes=2)
    model = DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0], random_state=0).fit(x, y)
    tree = read_model(model).trees[0]
    assert tree.counts is None
    assert "monotone" in tree.reason
