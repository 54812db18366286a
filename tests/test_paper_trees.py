"""What the experiment on P3's trees is built of: a search that shares fits, and orders of leaves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import ParameterSampler, cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from chaffinch import trees
from experiments.p3_trees.leaf_orders import scores_by_order, wrong_node_score
from experiments.p3_trees.shared_search import best_tree, node_depths, scores_of


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_the_shared_search_scores_as_scikit_learn_does(kind: type) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 3)).astype(np.float32)
    y = x[:, 0] + x[:, 1] ** 2 + rng.normal(size=400)
    y = (y > 1).astype(int) if kind is DecisionTreeClassifier else y
    bounds = {
        "max_depth": np.arange(2, 9),
        "min_samples_split": np.arange(2, 60),
        "min_samples_leaf": np.arange(12, 16),
    }
    candidates = list(ParameterSampler(bounds, 12, random_state=0))
    ours = scores_of(kind(random_state=0), candidates, x, y, folds=4)
    theirs = [cross_val_score(kind(random_state=0, **one), x, y, cv=4).mean() for one in candidates]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    chosen = best_tree(kind(random_state=0), bounds, x, y, draws=12, folds=4, seed=0)
    assert {key: chosen.get_params()[key] for key in bounds} == dict(
        candidates[int(np.argmax(theirs))]
    )


def test_scores_by_order_and_the_wrong_node_by_hand() -> None:
    # Depth 1 splits at 0.5, its right side at 1.5: leaves 1 (0, 0, 0, 1), 3 (5, 7) and 4 (9, 9, 9), the last two of equal depth.
    x = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2], dtype=np.float32)[:, None]
    y = np.array([0, 0, 0, 1, 5, 7, 9, 9, 9], dtype=float)
    model = DecisionTreeRegressor(random_state=0, max_depth=2).fit(x, y)
    leaf_of = model.apply(x)
    np.testing.assert_array_equal(node_depths(model.tree_), [0, 1, 1, 2, 2])
    scores = scores_by_order(model.tree_, leaf_of, y, numbers=True)
    # Leaf 3 says 6: one above at the first try. Reversed, leaf 4 takes two tries first. Shallowest first, leaf 1 says 0.25 and has one above.
    assert scores["ties reversed"] == pytest.approx(1 / 3)
    assert scores["shallowest first"] == 1.0
    assert scores["ties at random"] == pytest.approx(2 / 3, abs=0.5 * 1 / 3)
    assert trees.audit(model, columns=[x[:, 0]], labels=[y]).tries[0].score == 1.0  # ties by number
    # The wrong node: the first leaf is held against the root's mean 4.33 (none below, all above), the second against 0.25.
    order = np.argsort(-node_depths(model.tree_)[[1, 3, 4]])
    assert wrong_node_score(model.tree_, leaf_of, y) == pytest.approx(
        _by_hand(model, [(1, 3, 4)[i] for i in order], leaf_of, y)
    )


def _by_hand(
    model: DecisionTreeRegressor, leaves: list[int], leaf_of: np.ndarray, y: np.ndarray
) -> float:
    tried = 0
    for turn, leaf in enumerate(leaves):
        for not_above in (True, False):
            tried += 1
            value = model.tree_.value[turn][0][0]
            if sum((number <= value) == not_above for number in y[leaf_of == leaf]) == 1:
                return 1 / tried
    return 0.0
