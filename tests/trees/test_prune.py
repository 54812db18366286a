"""Pruned trees isolate nobody, predict as trees that never had the rest, and keep scikit-learn working."""

from dataclasses import replace
from itertools import combinations_with_replacement

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
from chaffinch.trees.attack import safe_values
from chaffinch.trees.prune import (
    certain_sides,
    groups_are_safe,
    guesses,
    sides_are_safe,
    unnamed_classes,
)
from chaffinch.trees.tree import recount

from .conftest import four_classes


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
    x, y = four_classes(seed, missing=missing)
    model = DecisionTreeClassifier(random_state=seed, max_leaf_nodes=leaves).fit(x, y)
    for given_data in ({}, {"columns": x.T, "labels": [y]}):
        done = prune(model, at_least=at_least, **given_data)
        assert_safe_differences(done.model, x, y, at_least)
        again = trees.audit(read_model(done.model), at_least=at_least, columns=x.T, labels=[y])
        assert not again.exposed
        assert not trees.audit(recount(read_model(done.model), x.T, [y]), at_least=at_least).exposed


def test_no_split_is_taken_back_without_need():
    # Every split that is gone had a child with a class of too few records.
    for seed in range(6):
        x, y = four_classes(seed)
        plain = read_model(DecisionTreeClassifier(random_state=seed, min_samples_leaf=3).fit(x, y))
        done = prune(
            DecisionTreeClassifier(random_state=seed, min_samples_leaf=3).fit(x, y), at_least=3
        )
        tree, kept = plain.trees[0], done.after.trees[0]
        stack = [(0, 0)]
        while stack:
            old, new = stack.pop()
            if kept.left_child[new] < 0:
                np.testing.assert_array_equal(kept.value[new], tree.value[old])
                if tree.left_child[old] >= 0:
                    below = tree.counts[[tree.left_child[old], tree.right_child[old]]]
                    assert ((below > 0) & (below < 3)).any()
            else:
                stack += [
                    (int(tree.left_child[old]), int(kept.left_child[new])),
                    (int(tree.right_child[old]), int(kept.right_child[new])),
                ]


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(6, random_state=0), ExtraTreesClassifier(6, random_state=0)]
)
def test_forests_with_data_isolate_nobody_by_one_path(model):
    x, y = four_classes(3)
    done = prune(model.fit(x, y), at_least=4, columns=x.T, labels=[y])
    for part in done.model.estimators_:
        codes = np.searchsorted(done.model.classes_, y)
        assert_safe_differences(part, x, codes, 4)
    assert not trees.audit(read_model(done.model), at_least=4, columns=x.T, labels=[y]).exposed
    shares = np.mean([t.value[t.apply(x.T), 0] for t in done.after.trees], axis=0)
    np.testing.assert_allclose(done.model.predict_proba(x), shares)


def test_a_bootstrap_without_data_is_safe_for_the_records_drawn():
    x, y = four_classes(4)
    model = RandomForestClassifier(6, random_state=0).fit(x, y)
    done = prune(model, at_least=2)
    for part, drawn in zip(done.model.estimators_, model.estimators_samples_, strict=True):
        once = np.unique(drawn)
        assert_safe_differences(part, x[once], np.searchsorted(done.model.classes_, y[once]), 2)


def test_a_class_too_rare_for_any_tree_is_taken_out():
    x, y = four_classes(5)
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
    x, y = four_classes(6)
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
        x, _ = four_classes(seed)
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
    x, y = four_classes(7)
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


def every_pruning(tree, node=0):
    """All sets of leaves that collapsing nodes gives: the node itself, or one of each child's."""
    yield (node,)
    if tree.left_child[node] >= 0:
        for one in every_pruning(tree, int(tree.left_child[node])):
            for other in every_pruning(tree, int(tree.right_child[node])):
                yield one + other


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("splits", ["safe", "most"])
def test_no_other_pruning_under_the_rule_has_more_leaves_or_less_loss(seed, splits):
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
        return not few.any() or (splits == "most" and counts[node].max() >= 2 and rest >= 2)

    def losses(leaves):
        sizes = counts[list(leaves)].sum(axis=1)
        errors = int((sizes - counts[list(leaves)].max(axis=1)).sum())
        gini = float((sizes - (counts[list(leaves)] ** 2).sum(axis=1) / sizes).sum())
        return errors, gini

    every = [leaves for leaves in every_pruning(tree) if all(map(safe, leaves))]
    done = prune(
        DecisionTreeClassifier(max_leaf_nodes=9, random_state=seed).fit(x, y), splits=splits
    )
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
        most, safe = prune(model, splits="most"), prune(model)
        assert (most.side_rule, safe.side_rule) == ("size", "moments")
        by_size += trees.audit(read_model(most.model), columns=x.T, labels=[y]).value_leaves
        by_moments += trees.audit(read_model(safe.model), columns=x.T, labels=[y]).value_leaves
        leaves += safe.leaves[1]
    assert leaves > 6 * 4
    assert by_size > 0
    assert by_moments == 0
    # A tree of its root alone shows nothing of its sides: by size, and the certificate says so.
    assert (
        prune(DecisionTreeRegressor(max_depth=1, min_samples_leaf=400).fit(x, y)).side_rule
        == "size"
    )
    with pytest.raises(InputError, match=r"Unknown splits 'all'\."):
        prune(model, splits="all")


def many_classes(seed, n=900, classes=9):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    y = np.clip(
        np.digitize(x[:, 0] + x[:, 1] + rng.normal(size=n), np.linspace(-3, 3, classes - 1)),
        0,
        classes - 1,
    )
    return x, y


@settings(max_examples=200, deadline=None)
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), m=st.integers(2, 5))
def test_what_is_told_together_is_enough_and_no_more_than_needed(counts, m):
    counts = np.array(counts)
    together = unnamed_classes(counts, counts / counts.sum(), m)
    few = (counts > 0) & (counts < m)
    if together is None:
        # No group of two or more classes without the largest has all the few, and enough records.
        rest = np.delete(counts, np.argmax(counts))
        assert few.any()
        assert counts.max() < m or rest.sum() < m or len(rest) < 2
    elif not few.any():
        assert not together.any()
    else:
        assert together[few].all()
        assert together[counts == 0].all()
        assert not together[np.argmax(counts)]
        assert together.sum() >= 2
        assert counts[together].sum() >= m


@pytest.mark.parametrize("m", [2, 5])
def test_most_keeps_more_and_predicts_as_the_tree_did(m):
    for seed in range(3):
        x, y = many_classes(seed)
        model = DecisionTreeClassifier(random_state=0, min_samples_leaf=5).fit(x, y)
        safe, most = prune(model, at_least=m), prune(model, at_least=m, splits="most")
        assert most.leaves[1] > 2 * safe.leaves[1]
        assert most.splits == "most"
        shares = most.model.predict_proba(x)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        # Each leaf predicts what the largest class of its records is: what the node it was predicted.
        codes = np.searchsorted(model.classes_, y)
        leaf_of = most.model.apply(x)
        for leaf in np.unique(leaf_of):
            counts = np.bincount(codes[leaf_of == leaf], minlength=len(model.classes_))
            told = shares[leaf_of == leaf][0]
            assert counts[told.argmax()] == counts.max()
            # Second opinion from the data: shares that are told one by one are of m records, all others are one number.
            few = (counts > 0) & (counts < m)
            if few.any():
                group = told == told[few][0]
                assert group[few].all()
                assert group[counts == 0].all()
                assert counts[group].sum() >= m
                assert (counts[~group] >= m).all()


def test_two_classes_have_nothing_to_be_told_together_with():
    x, y = many_classes(0, classes=2)
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    assert prune(model, splits="most").leaves == prune(model).leaves


def test_a_file_that_tells_a_small_class_apart_is_not_safe():
    x, y = many_classes(1)
    done = prune(
        DecisionTreeClassifier(random_state=0, min_samples_leaf=5).fit(x, y),
        at_least=3,
        splits="most",
    )
    assert groups_are_safe(done.after, done.after, 3)
    tree = done.after.trees[0]
    shares = tree.counts / np.maximum(tree.counts.sum(axis=2, keepdims=True), 1)
    assert not groups_are_safe(
        replace(done.after, trees=(replace(tree, value=shares),)), done.after, 3
    )
    tried, right = guesses(done.after, 3)
    leaves = tree.counts[tree.leaves, 0]
    assert right == ((leaves > 0) & (leaves < 3)).sum()
    assert right < tried


def test_forests_and_several_outputs():
    x, y = many_classes(2)
    both = np.column_stack([y, (x[:, 2] > 0) + (x[:, 3] > 0)])
    done = prune(
        DecisionTreeClassifier(random_state=0, min_samples_leaf=9).fit(x, both),
        at_least=2,
        splits="most",
    )
    assert groups_are_safe(done.after, done.after, 2)
    forest = RandomForestClassifier(3, random_state=0, min_samples_leaf=9).fit(x, y)
    done = prune(forest, at_least=2, splits="most", columns=x.T, labels=[y])
    assert groups_are_safe(done.after, done.after, 2)
    assert len(read_model(done.model).trees) == 3


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
        if tree.left_child[node] >= 0:
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
