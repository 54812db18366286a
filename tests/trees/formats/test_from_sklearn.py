"""Models of scikit-learn come over whole, or are refused with the next step."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

from chaffinch._base.errors import InputError
from chaffinch.trees import prune, read_model
from chaffinch.trees.formats.from_sklearn import recovered_counts

from ..conftest import four_classes, two_classes

pytestmark = pytest.mark.usefixtures("one_thread")


def test_names_and_classes_come_from_the_model():
    x, y = two_classes()
    frame = pd.DataFrame(x, columns=["age", "income", "hours"])
    model = DecisionTreeClassifier(max_depth=2).fit(frame, np.array(["no", "yes"])[y])
    plain = read_model(model)
    assert plain.features == ("age", "income", "hours")
    assert plain.classes == (("no", "yes"),)
    assert read_model(DecisionTreeClassifier().fit(x, y.astype(bool))).classes == ((False, True),)
    assert type(read_model(DecisionTreeClassifier().fit(x, y.astype(np.int8))).classes[0][0]) is int
    assert read_model(model, features=["a", "b", "c"]).features == ("a", "b", "c")
    with pytest.raises(InputError, match="3 columns, but 1 names"):
        read_model(model, features=["a"])


@pytest.mark.parametrize(
    ("model", "trees"),
    [
        (RandomForestClassifier(4), 4),
        (RandomForestRegressor(4), 4),
        (GradientBoostingClassifier(n_estimators=3), 3),
        (HistGradientBoostingClassifier(max_iter=3), 3),
    ],
)
def test_ensembles_say_what_their_counts_are(model, trees):
    x, y = two_classes()
    plain = read_model(model.fit(x, y))
    assert len(plain.trees) == trees
    assert plain.note
    assert plain.boosted == ("Boosting" in type(model).__name__)
    assert plain.targets == ((0, 1) if plain.boosted else ())
    assert plain.trees[0].single == ("Hist" not in type(model).__name__)
    if plain.boosted:
        assert all(tree.samples[0] == len(y) for tree in plain.trees)


def test_parts_of_the_records_are_pointed_out():
    x, y = two_classes()
    assert (
        "part of the records"
        in read_model(GradientBoostingClassifier(subsample=0.5).fit(x, y)).note
    )
    early = HistGradientBoostingClassifier(early_stopping=True, max_iter=3).fit(x, y)
    assert "held some records back" in read_model(early).note


def test_whether_labels_differ_is_told_where_leaves_say_means():
    x, _ = two_classes()
    y = np.round(x[:, 0] + 1e6)
    tree = read_model(DecisionTreeRegressor(min_samples_leaf=2).fit(x, y)).trees[0]
    rows = tree.rows(x.T)
    np.testing.assert_array_equal(tree.varies, [len(np.unique(y[r])) > 1 for r in rows])
    assert (
        read_model(DecisionTreeRegressor(criterion="absolute_error").fit(x, y)).trees[0].varies
        is None
    )
    assert (
        read_model(DecisionTreeRegressor(monotonic_cst=[1, 0, 0]).fit(x, y)).trees[0].varies is None
    )


def test_what_is_no_fitted_tree_is_refused():
    x, y = two_classes()
    for model in (
        DecisionTreeClassifier(),
        RandomForestClassifier(),
        HistGradientBoostingClassifier(),
    ):
        with pytest.raises(InputError, match="is not fitted"):
            read_model(model)
    with pytest.raises(InputError, match="is no tree"):
        read_model(LogisticRegression().fit(x, y))
    with pytest.raises(InputError, match="scikit-learn is needed"):
        read_model("a tree")
    sets = HistGradientBoostingClassifier(categorical_features=[0], max_iter=2, min_samples_leaf=2)
    with pytest.raises(InputError, match="sets of categories"):
        read_model(
            sets.fit(
                np.column_stack([np.abs(x[:, 0]).round() % 5, x[:, 1:]]),
                (np.abs(x[:, 0]).round() % 5) == 2,
            )
        )


def unequal_classes(seed, n=250, classes=3):
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
        x, y = unequal_classes(seed)
        model = DecisionTreeClassifier(random_state=seed, **settings).fit(x, y)
        result = read_model(model).trees[0].counts
        assert result is not None
        np.testing.assert_array_equal(result[:, 0, :], by_hand(model, x, y, [0, 1, 2]))


def test_several_outputs_of_different_widths():
    x, y = unequal_classes(1)
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
        x, y = unequal_classes(seed)
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
    x, y = unequal_classes(3)
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
    x, y = unequal_classes(4)
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
    x, y = unequal_classes(5)
    for tree in read_model(RandomForestClassifier(3, random_state=0, **settings).fit(x, y)).trees:
        assert tree.counts is None
        assert "draws" in tree.reason


def test_whole_weights_of_records_in_a_forest_are_not_taken_for_draws():
    x, y = unequal_classes(6)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    assert not read_model(
        RandomForestClassifier(3, random_state=0).fit(x, y, sample_weight=weights)
    ).counts_known
    one = RandomForestClassifier(1, random_state=0).fit(x, y, sample_weight=weights)
    assert not read_model(one).counts_known


def test_extra_trees_see_every_record():
    x, y = unequal_classes(7)
    model = ExtraTreesClassifier(3, random_state=0, class_weight="balanced").fit(x, y)
    for part, tree in zip(model.estimators_, read_model(model).trees, strict=True):
        np.testing.assert_array_equal(tree.counts[:, 0, :], by_hand(part, x, y, [0, 1, 2]))


def test_monotone_constraints_bend_shares():
    x, y = unequal_classes(8, classes=2)
    model = DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0], random_state=0).fit(x, y)
    tree = read_model(model).trees[0]
    assert tree.counts is None
    assert "monotone" in tree.reason


def walked(tree, row):
    """One record, by hand, as scikit-learn compares."""
    node = 0
    while tree.left_child[node] >= 0:
        value = float(np.float32(row[tree.feature[node]]))
        left = bool(tree.missing_left[node]) if np.isnan(value) else value <= tree.threshold[node]
        node = int(tree.left_child[node] if left else tree.right_child[node])
    return node


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_scikit_learn_keeps_working(kind):
    x, _ = four_classes(1, missing=0.1)
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
    x, y = four_classes(2)
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
