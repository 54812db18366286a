"""The rebuilt model: scikit-learn keeps working, and nothing else is in it."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

from chaffinch.trees import prune


def data(seed, n=300, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(int) + 2 * (x[:, 1] > 1)
    x[rng.random(x.shape) < missing] = np.nan
    return x, y


def walked(tree, row):
    """One record, by hand, as scikit-learn compares."""
    node = 0
    while tree.left[node] >= 0:
        value = float(np.float32(row[tree.feature[node]]))
        left = bool(tree.missing_left[node]) if np.isnan(value) else value <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return node


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_scikit_learn_keeps_working(kind):
    x, _ = data(1, missing=0.1)
    y = (np.nan_to_num(x[:, 0]) + np.random.default_rng(1).normal(size=len(x)) > 0).astype(int)
    model = kind(random_state=0, max_leaf_nodes=60).fit(x, y)
    before = copy.deepcopy(model)
    done = prune(model, at_least=2)
    out = done.model
    np.testing.assert_array_equal(
        model.predict(x), before.predict(x)
    )  # the model itself is left alone
    np.testing.assert_array_equal(model.tree_.n_node_samples, before.tree_.n_node_samples)
    tree = done.after.trees[0]
    assert 1 < len(tree.leaves) < model.get_n_leaves()
    places = np.array([walked(tree, row) for row in x])
    np.testing.assert_array_equal(out.apply(x), places)
    if kind is DecisionTreeClassifier:
        np.testing.assert_array_equal(out.predict_proba(x), tree.value[places, 0])
        np.testing.assert_array_equal(
            out.predict(x), out.classes_[tree.value[places, 0].argmax(axis=1)]
        )
    else:
        np.testing.assert_array_equal(out.predict(x), tree.value[places, 0, 0])
    assert out.get_depth() == tree.depth.max()
    assert out.get_n_leaves() == len(tree.leaves)
    assert out.decision_path(x).shape == (len(x), tree.n_nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert out.feature_importances_.tolist() == [0.0] * 4
        assert "feature_" in export_text(out, show_weights=kind is DecisionTreeClassifier)
        for filled in (False, True):
            plot_tree(out, filled=filled)
    np.testing.assert_array_equal(copy.deepcopy(out).predict(x), out.predict(x))
    assert clone(out).get_params() == model.get_params()
    clone(out).fit(x, y)


def test_nothing_else_is_in_the_released_model():
    x, y = data(2)
    out = prune(DecisionTreeClassifier(random_state=0).fit(x, y), at_least=5).model
    state = out.tree_.__reduce__()[2]
    assert not state["nodes"]["n_node_samples"].any()
    assert not state["nodes"]["impurity"].any()
    assert set(state["nodes"]["weighted_n_node_samples"]) == {1.0}
    inner = state["nodes"]["left_child"] >= 0
    assert (state["values"][inner] == 1 / len(out.classes_)).all()
    reached = {0, *state["nodes"]["left_child"][inner], *state["nodes"]["right_child"][inner]}
    assert reached == set(range(state["node_count"]))
    model = RandomForestClassifier(40, random_state=0, oob_score=True, max_depth=4).fit(
        x, y, sample_weight=None
    )
    model.note_of_mine = x
    released = vars(prune(model, at_least=3, columns=x.T, labels=[y]).model)
    fitted = {name for name in released if name.endswith("_") or name.startswith("_")} | {
        "note_of_mine"
    } & set(released)
    assert fitted == {
        "n_features_in_",
        "n_outputs_",
        "classes_",
        "n_classes_",
        "estimators_",
        "estimator_",
    }
