"""Pruned trees isolate nobody, predict as trees that never had the rest, and keep scikit-learn working."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.trees import prune, read_model
from chaffinch.trees.tree import recounted


def data(seed, n=300, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(int) + 2 * (x[:, 1] > 1)
    x[rng.random(x.shape) < missing] = np.nan
    return x, y


def assert_safe_differences(model, x, y, at_least):
    """Class counts over all pairs of surviving nodes, recomputed from the training data by scikit-learn."""
    path = model.decision_path(x).toarray().astype(bool)
    for k in np.unique(model.classes_):
        of_class = path[y == k].astype(np.int64)
        alone = of_class.sum(axis=0)
        minus = alone[:, None] - of_class.T @ of_class  # records in a and not in b
        for counts in (alone, minus):
            assert ((counts == 0) | (counts >= at_least)).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    at_least=st.integers(2, 12),
    leaves=st.sampled_from([None, 12, 60]),
    missing=st.sampled_from([0.0, 0.2]),
)
def test_no_node_and_no_difference_of_two_isolates(seed, at_least, leaves, missing):
    x, y = data(seed, missing=missing)
    model = DecisionTreeClassifier(random_state=seed, max_leaf_nodes=leaves).fit(x, y)
    for given_data in ({}, {"columns": x.T, "labels": [y]}):
        done = prune(model, at_least=at_least, **given_data)
        assert_safe_differences(done.model, x, y, at_least)
        again = trees.audit(read_model(done.model), at_least=at_least, columns=x.T, labels=[y])
        assert not again.exposed
        assert not trees.audit(
            recounted(read_model(done.model), x.T, [y]), at_least=at_least
        ).exposed


def test_no_split_is_taken_back_without_need():
    # Every split that is gone had a child with a class of too few records.
    for seed in range(6):
        x, y = data(seed)
        plain = read_model(DecisionTreeClassifier(random_state=seed, min_samples_leaf=3).fit(x, y))
        done = prune(
            DecisionTreeClassifier(random_state=seed, min_samples_leaf=3).fit(x, y), at_least=3
        )
        tree, kept = plain.trees[0], done.after.trees[0]
        stack = [(0, 0)]
        while stack:
            old, new = stack.pop()
            if kept.left[new] < 0:
                np.testing.assert_array_equal(kept.value[new], tree.value[old])
                if tree.left[old] >= 0:
                    below = tree.counts[[tree.left[old], tree.right[old]]]
                    assert ((below > 0) & (below < 3)).any()
            else:
                stack += [
                    (int(tree.left[old]), int(kept.left[new])),
                    (int(tree.right[old]), int(kept.right[new])),
                ]


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(6, random_state=0), ExtraTreesClassifier(6, random_state=0)]
)
def test_forests_with_data_isolate_nobody_by_one_path(model):
    x, y = data(3)
    done = prune(model.fit(x, y), at_least=4, columns=x.T, labels=[y])
    for part in done.model.estimators_:
        codes = np.searchsorted(done.model.classes_, y)
        assert_safe_differences(part, x, codes, 4)
    assert not trees.audit(read_model(done.model), at_least=4, columns=x.T, labels=[y]).exposed
    shares = np.mean([t.value[t.apply(x.T), 0] for t in done.after.trees], axis=0)
    np.testing.assert_allclose(done.model.predict_proba(x), shares)


def test_a_bootstrap_without_data_is_safe_for_the_records_drawn():
    x, y = data(4)
    model = RandomForestClassifier(6, random_state=0).fit(x, y)
    done = prune(model, at_least=2)
    for part, drawn in zip(done.model.estimators_, model.estimators_samples_, strict=True):
        once = np.unique(drawn)
        assert_safe_differences(part, x[once], np.searchsorted(done.model.classes_, y[once]), 2)


def test_a_class_too_rare_for_any_tree_is_taken_out():
    x, y = data(5)
    names = np.array(["a", "b", "c", "d"])[y]
    names[0] = "rare"
    model = DecisionTreeClassifier(random_state=0).fit(x, names)
    done = prune(model)
    assert done.hidden_classes == 1
    assert done.model.classes_.tolist() == ["a", "b", "c", "d"]
    assert done.model.n_classes_ == 4
    assert done.leaves[1] > 1  # the rest of the tree stays
    np.testing.assert_allclose(done.model.predict_proba(x).sum(axis=1), 1.0)
    assert_safe_differences(done.model, x, names, 2)
    assert np.bincount(done.model.apply(x)).max() >= 2
    sizes = np.bincount(done.model.apply(x))
    assert sizes[sizes > 0].min() >= 2  # no leaf holds the rare record alone
    assert not trees.audit(read_model(done.model), columns=x.T, labels=[names]).exposed
    lone = DecisionTreeClassifier().fit(np.arange(2.0)[:, None], [0, 1])
    with pytest.raises(InputError, match="every class has fewer than 2"):
        prune(lone)


def test_a_leaf_of_a_rare_class_alone_goes_with_the_class():
    x = np.repeat([0.0, 1.0, 2.0], [6, 6, 1])[:, None]
    names = np.repeat(["a", "b", "rare"], [6, 6, 1])
    model = DecisionTreeClassifier().fit(x, names)
    assert model.get_n_leaves() == 3
    out = prune(model).model
    assert np.unique(out.apply(x), return_counts=True)[1].tolist() in ([6, 7], [7, 6])
    assert out.predict(x).tolist() == ["a"] * 6 + ["b"] * 7


def test_several_outputs():
    x, y = data(6)
    both = np.column_stack([y, (x[:, 2] > 0).astype(int)])
    both[3, 1] = 7
    done = prune(DecisionTreeClassifier(random_state=0).fit(x, both), at_least=3)
    assert [c.tolist() for c in done.model.classes_] == [[0, 1, 2, 3], [0, 1]]
    assert [p.shape for p in done.model.predict_proba(x)] == [(300, 4), (300, 2)]
    assert not trees.audit(
        read_model(done.model), at_least=3, columns=x.T, labels=list(both.T)
    ).exposed
    assert done.model.predict(x).shape == (300, 2)


@pytest.mark.parametrize("at_least", [2, 5])
def test_regression(at_least):
    for seed in range(5):
        x, _ = data(seed)
        y = 5 * (x[:, 0] > 0) + np.random.default_rng(seed).normal(size=len(x))
        model = DecisionTreeRegressor(random_state=0).fit(x, y)
        by_size = prune(model, at_least=at_least)
        sizes = np.bincount(by_size.model.apply(x))
        assert sizes[sizes > 0].min() >= 2 * at_least
        by_data = prune(model, at_least=at_least, columns=x.T, labels=[y])
        assert by_data.leaves[1] > 1
        says = by_data.model.predict(x)
        for leaf in np.unique(by_data.model.apply(x)):
            here = by_data.model.apply(x) == leaf
            for side in (y > says, y <= says):
                assert not 0 < (here & side).sum() < at_least
        assert not trees.audit(
            read_model(by_data.model), at_least=at_least, columns=x.T, labels=[y]
        ).exposed
    forest = RandomForestRegressor(3, random_state=0).fit(x, y)
    done = prune(forest, columns=x.T, labels=[y])
    assert not trees.audit(read_model(done.model), columns=x.T, labels=[y]).exposed


def test_constant_labels_are_no_reason_to_merge_where_data_show_them():
    x, y = np.repeat([[0.0], [1.0]], 3, axis=0), np.repeat([1.0, 4.0], 3)
    model = DecisionTreeRegressor().fit(x, y)
    assert prune(model, at_least=3, columns=x.T, labels=[y]).leaves == (2, 2)
    assert prune(model, at_least=3).leaves == (2, 1)  # sizes alone cannot tell


def test_what_cannot_be_pruned_says_why():
    x, y = data(7)
    with pytest.raises(InputError, match="boosting"):
        prune(GradientBoostingClassifier(n_estimators=2).fit(x, y))
    weighted = DecisionTreeClassifier(random_state=0).fit(
        x, y, sample_weight=np.random.default_rng(0).random(len(y))
    )
    with pytest.raises(InputError, match="without its training data"):
        prune(weighted)
    assert_safe_differences(prune(weighted, columns=x.T, labels=[y]).model, x, y, 2)
    with pytest.raises(InputError, match="even its root"):
        prune(DecisionTreeRegressor().fit(x[:3], [1.0, 2.0, 3.0]))
    with pytest.raises(InputError, match="2 or more"):
        prune(weighted, at_least=1)


def every_pruning(tree, node=0):
    """All sets of leaves that collapsing nodes gives: the node itself, or one of each child's."""
    yield (node,)
    if tree.left[node] >= 0:
        for one in every_pruning(tree, int(tree.left[node])):
            for other in every_pruning(tree, int(tree.right[node])):
                yield one + other


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep", ["safe", "most"])
def test_no_other_pruning_under_the_rule_has_more_leaves_or_less_loss(seed, keep):
    # Second opinion: all prunings of a tree of 9 leaves, by brute force; errors and Gini of the training records.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 3)).round(1)
    y = np.digitize(x[:, 0] + rng.normal(size=120), [-0.8, 0, 0.8])
    tree = read_model(DecisionTreeClassifier(max_leaf_nodes=9, random_state=seed).fit(x, y)).trees[
        0
    ]
    counts = tree.counts[:, 0]

    def safe(node):
        few = (counts[node] > 0) & (counts[node] < 2)
        rest = counts[node].sum() - counts[node].max()
        return not few.any() or (keep == "most" and counts[node].max() >= 2 and rest >= 2)

    def losses(leaves):
        sizes = counts[list(leaves)].sum(axis=1)
        errors = int((sizes - counts[list(leaves)].max(axis=1)).sum())
        gini = float((sizes - (counts[list(leaves)] ** 2).sum(axis=1) / sizes).sum())
        return errors, gini

    every = [leaves for leaves in every_pruning(tree) if all(map(safe, leaves))]
    done = prune(DecisionTreeClassifier(max_leaf_nodes=9, random_state=seed).fit(x, y), keep=keep)
    after = done.after.trees[0]
    leaf_counts = after.counts[after.leaves, 0]
    assert len(leaf_counts) == max(map(len, every))
    assert int((leaf_counts.sum(axis=1) - leaf_counts.max(axis=1)).sum()) == min(
        losses(leaves)[0] for leaves in every
    )
    gini = float(
        (leaf_counts.sum(axis=1) - (leaf_counts**2).sum(axis=1) / leaf_counts.sum(axis=1)).sum()
    )
    assert gini == pytest.approx(min(losses(leaves)[1] for leaves in every))


def test_regression_without_data_leaves_no_side_to_one_record():
    # Heavy tails: by size alone some leaf has one record above its mean; by the leaves below it none has.
    by_size, by_moments, leaves = 0, 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(500, 3)).round(1)
        y = np.exp(x[:, 0] + 1.5 * rng.normal(size=500))
        model = DecisionTreeRegressor(random_state=0).fit(x, y)
        most, safe = prune(model, keep="most"), prune(model)
        assert (most.sides, safe.sides) == ("size", "moments")
        by_size += trees.audit(read_model(most.model), columns=x.T, labels=[y]).value_leaves
        by_moments += trees.audit(read_model(safe.model), columns=x.T, labels=[y]).value_leaves
        leaves += safe.leaves[1]
    assert leaves > 6 * 4
    assert by_size > 0
    assert by_moments == 0
    # A tree of its root alone shows nothing of its sides: by size, and the certificate says so.
    assert prune(DecisionTreeRegressor(max_depth=1, min_samples_leaf=400).fit(x, y)).sides == "size"
    with pytest.raises(InputError, match=r"keep must be one of safe, most\. Got 'all'"):
        prune(model, keep="all")
