"""Plain trees walk records as their libraries do, and refuse what is no tree."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier

from chaffinch._base.errors import InputError
from chaffinch.trees import Tree, read_model, recount
from chaffinch.trees.tree import checked_data, comparison_values

from .conftest import four_classes


def stump(cut=1.5, **more):
    given = {
        "left_child": np.array([1, -1, -1]),
        "right_child": np.array([2, -1, -1]),
        "feature": np.array([0, -1, -1]),
        "threshold": np.array([cut, np.nan, np.nan]),
        "missing_left": np.array([False, False, False]),
        "value": np.zeros((3, 1, 1)),
    }
    return Tree(**{**given, **more})


@pytest.mark.parametrize(
    "settings",
    [{}, {"max_leaf_nodes": 30}, {"ccp_alpha": 0.003}, {"splitter": "random"}, {"max_depth": 1}],
)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_records_go_where_scikit_learn_sends_them(settings, missing):
    for seed in range(4):
        x, y = four_classes(seed, missing=missing)
        model = DecisionTreeClassifier(random_state=seed, **settings).fit(x, y)
        tree = read_model(model).trees[0]
        new, _ = four_classes(seed + 100, missing=missing)
        np.testing.assert_array_equal(tree.apply(new.T), model.apply(new))
        np.testing.assert_array_equal(tree.depth.max(), model.get_depth())
        path = model.decision_path(new).toarray().astype(bool)
        for node, rows in enumerate(tree.rows(new.T)):
            np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(path[:, node]))


def test_values_between_two_floats_go_where_their_rounded_value_goes():
    # 0.1 as a 32-bit float is 0.100000001490116: above the cut of exactly 0.1, though 0.1 itself is not.
    cut = 0.1
    single = stump(cut)
    assert single.apply([np.array([0.1])]).tolist() == [2]
    assert replace(single, single=False).apply([np.array([0.1])]).tolist() == [1]
    # A cut midway of two neighbouring floats: a double just above it rounds down to the lower one.
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    x = np.array([[low], [high]], dtype=np.float64)
    model = DecisionTreeClassifier().fit(x, [0, 1])
    between = np.array(
        [[low], [1.00000005], [1.0000000596], [high], [1.00000006]], dtype=np.float64
    )
    np.testing.assert_array_equal(read_model(model).trees[0].apply(between.T), model.apply(between))


@pytest.mark.usefixtures("one_thread")
def test_histogram_boosting_compares_doubles_and_stages_add_up():
    for seed in range(3):
        x, y = four_classes(seed, missing=0.2)
        x += 1e-9 * np.arange(len(x))[:, None]
        model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2).fit(x, y)
        plain = read_model(model)
        total = sum(tree.value[tree.apply(x.T), 0, 0] for tree in plain.trees)
        np.testing.assert_allclose(total + model._baseline_prediction.ravel(), model.predict(x))
    x, y = four_classes(0)
    boosted = GradientBoostingRegressor(n_estimators=5).fit(x, y)
    leaves = np.column_stack([tree.apply(x.T) for tree in read_model(boosted).trees])
    np.testing.assert_array_equal(leaves, boosted.apply(x))


@pytest.mark.parametrize(
    "broken",
    [
        {"left_child": np.array([1, -1])},
        {"left_child": np.array([1, 0, -1]), "right_child": np.array([2, -1, -1])},
        {"left_child": np.array([0, -1, -1])},
        {"left_child": np.array([2, -1, -1])},
        {"left_child": np.array([7, -1, -1])},
        {"threshold": np.full(3, np.nan)},
        {"feature": np.array([-1, -1, -1])},
        {"value": np.zeros((3, 1))},
        {"counts": np.zeros((3, 2, 1), dtype=np.int64)},
        {"samples": np.zeros(2, dtype=np.int64)},
    ],
)
def test_what_is_no_tree_is_refused(broken):
    with pytest.raises(InputError):
        stump(**broken)


def test_text_is_no_number():
    with pytest.raises(InputError, match="does not hold numbers"):
        comparison_values(np.array(["a"], dtype=object))


def test_inner_nodes_are_sums_of_leaves():
    assert stump().summed(np.array([99, 3, 4])).tolist() == [7, 3, 4]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 3))
    y = np.where(x[:, 0] + rng.normal(size=90) > 0, "yes", "no")
    return read_model(DecisionTreeClassifier(random_state=0).fit(x, y)), x, y


def test_counts_from_data_are_those_of_the_fit(fitted):
    model, x, y = fitted
    again = recount(model, x.T, [y])
    for one, other in zip(model.trees, again.trees, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.samples, other.samples)


def test_data_that_do_not_fit_the_model(fitted):
    model, x, y = fitted
    for columns, labels, words in (
        (x.T[:2], [y], "3 columns, but the data have 2"),
        (x.T, [y, y], "1 label.s., but 2 came"),
        (x.T, [y[1:]], "of one length"),
        (x.T[:, :0], [y[:0]], "no records"),
        (x.T, [np.zeros(90)], "No label of the data is a class"),
    ):
        with pytest.raises(InputError, match=words):
            checked_data(model, list(columns), labels)
