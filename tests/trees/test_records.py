"""Our own walk through the trees predicts what scikit-learn does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn import tree as trees

from chaffinch.trees.formats.from_sklearn import read_model
from chaffinch.trees.records import predict

skops_io = pytest.importorskip("skops.io", reason="skops files need the extra")

RNG = np.random.default_rng(0)

X = RNG.normal(size=(120, 3))

Y = RNG.integers(0, 3, 120)

WORDS = np.array(["a", "b", "c"])[Y]

NUMBER = np.abs(X[:, 0]) + 0.1

MODELS = {
    "tree": trees.DecisionTreeClassifier(random_state=0).fit(X, WORDS),
    "weighted": trees.DecisionTreeClassifier(
        random_state=0, class_weight={0: 2.0, 1: 1.0, 2: 0.5}
    ).fit(X, Y),
    "best first": trees.DecisionTreeClassifier(
        max_leaf_nodes=9, random_state=np.random.RandomState(1)
    ).fit(X, Y == 1),
    "two outputs": trees.DecisionTreeClassifier(random_state=0).fit(X, np.c_[Y, Y == 1]),
    "extra": trees.ExtraTreeClassifier(random_state=0).fit(X, Y),
    "regression": trees.DecisionTreeRegressor(random_state=0).fit(X, NUMBER),
    "two numbers": trees.DecisionTreeRegressor(random_state=0).fit(X, np.c_[NUMBER, -NUMBER]),
    "forest": forests.RandomForestClassifier(3, random_state=0).fit(X, WORDS),
    "extra trees": forests.ExtraTreesRegressor(3, random_state=0).fit(X, NUMBER),
    "boosted": forests.GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, WORDS),
    "boosted number": forests.GradientBoostingRegressor(
        n_estimators=2, loss="huber", random_state=0
    ).fit(X, NUMBER),
    "histogram": forests.HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, WORDS),
    "histogram number": forests.HistGradientBoostingRegressor(max_iter=2, loss="poisson").fit(
        X, NUMBER
    ),
}


@pytest.mark.parametrize(
    "name",
    ["tree", "weighted", "two outputs", "regression", "two numbers", "forest", "extra trees"],
)
def test_our_walk_predicts_what_scikit_learn_does(name):
    said = MODELS[name].predict(X)
    for k, ours in enumerate(predict(read_model(MODELS[name]), list(X.T))):
        theirs = said if said.ndim == 1 else said[:, k]
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours.astype(float), theirs)
        else:
            assert ours.tolist() == theirs.tolist()
