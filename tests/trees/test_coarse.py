"""Leaves that tell less: predictions stay, groups hold enough records, and the file does not tell which classes occur."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from chaffinch.trees import prune, read_model
from chaffinch.trees.prune import groups_are_safe, guesses, unnamed


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
    together = unnamed(counts, counts / counts.sum(), m)
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
        safe, most = prune(model, at_least=m), prune(model, at_least=m, keep="most")
        assert most.leaves[1] > 2 * safe.leaves[1]
        assert most.keep == "most"
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
    assert prune(model, keep="most").leaves == prune(model).leaves


def test_a_file_that_tells_a_small_class_apart_is_not_safe():
    x, y = many_classes(1)
    done = prune(
        DecisionTreeClassifier(random_state=0, min_samples_leaf=5).fit(x, y),
        at_least=3,
        keep="most",
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
        keep="most",
    )
    assert groups_are_safe(done.after, done.after, 2)
    forest = RandomForestClassifier(3, random_state=0, min_samples_leaf=9).fit(x, y)
    done = prune(forest, at_least=2, keep="most", columns=x.T, labels=[y])
    assert groups_are_safe(done.after, done.after, 2)
    assert len(read_model(done.model).trees) == 3
