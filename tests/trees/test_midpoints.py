"""Midpoints: known by hand, and both ends."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier

from chaffinch._base.errors import InputError
from chaffinch.trees import read_model
from chaffinch.trees.attack import midpoints


def test_by_hand():
    # One split, between 2 and 5: midway at 3.5; 5 is the value of a single record.
    x = np.array([[1.0], [2.0], [2.0], [5.0], [7.0], [7.0]])
    plain = read_model(DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 1, 1]))
    result = midpoints(plain, x.T)
    assert (result.splits, result.midway, result.neighbours, result.lone) == (1, 1, 1, 1)
    # A record that the tree never saw stands between: midway no longer of two neighbours.
    result = midpoints(plain, np.array([[1.0, 2.0, 2.0, 3.0, 5.0, 7.0, 7.0]]))
    assert (result.splits, result.midway) == (1, 0)
    # Both values doubled: nobody is alone at the cut.
    assert midpoints(plain, np.array([[2.0, 2.0, 5.0, 5.0]])).lone == 0


def test_neighbours_in_the_node_need_not_be_neighbours_in_the_column():
    # Split on the first column, then on the second, where the left node has 0 and 4 only, and the column also has 2.
    x = np.array(
        [
            [0.0, 0.0],
            [0.0, 4.0],
            [0.0, 4.0],
            [0.0, 0.0],
            [9.0, 2.0],
            [9.0, 2.0],
            [9.0, 2.0],
            [9.0, 2.0],
            [9.0, 2.0],
        ]
    )
    y = [0, 1, 1, 0, 2, 2, 2, 2, 2]
    result = midpoints(read_model(DecisionTreeClassifier(random_state=1).fit(x, y)), x.T)
    assert result.midway == result.splits == 2
    assert result.neighbours < 2


def test_best_splits_are_midpoints_and_random_ones_are_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    x[rng.random(x.shape) < 0.1] = np.nan
    y = rng.integers(0, 2, 300)
    best = midpoints(read_model(DecisionTreeClassifier(random_state=0).fit(x, y)), x.T)
    assert best.midway == best.splits > 0
    assert 0 < best.share <= 1
    assert best.summary.midway_share == 1.0
    drawn = midpoints(read_model(ExtraTreesClassifier(3, random_state=0).fit(x, y)), x.T)
    assert drawn.midway == 0


def test_a_tree_without_splits_and_data_that_do_not_fit():
    x = np.zeros((5, 2))
    plain = read_model(DecisionTreeClassifier().fit(x, [0, 1, 0, 1, 0]))
    assert midpoints(plain, x.T).share == 0
    with pytest.raises(InputError, match="2 columns, but the data have 1"):
        midpoints(plain, x.T[:1])
    with pytest.raises(InputError, match="have records"):
        midpoints(plain, x.T[:, :0])
