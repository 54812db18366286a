"""Models of scikit-learn come over whole, or are refused with the next step."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from chaffinch._base.errors import InputError
from chaffinch.trees import read_model

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def one_thread():
    with threadpool_limits(
        1
    ):  # OpenMP threads that wait for one another cost more than they bring here
        yield


def data(seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


def test_names_and_classes_come_from_the_model():
    x, y = data()
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
    x, y = data()
    plain = read_model(model.fit(x, y))
    assert len(plain.trees) == trees
    assert plain.note
    assert plain.boosted == ("Boosting" in type(model).__name__)
    assert plain.targets == ((0, 1) if plain.boosted else ())
    assert plain.trees[0].single == ("Hist" not in type(model).__name__)
    if plain.boosted:
        assert all(tree.samples[0] == len(y) for tree in plain.trees)


def test_parts_of_the_records_are_pointed_out():
    x, y = data()
    assert (
        "part of the records"
        in read_model(GradientBoostingClassifier(subsample=0.5).fit(x, y)).note
    )
    early = HistGradientBoostingClassifier(early_stopping=True, max_iter=3).fit(x, y)
    assert "held some records back" in read_model(early).note


def test_whether_labels_differ_is_told_where_leaves_say_means():
    x, _ = data()
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
    x, y = data()
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
