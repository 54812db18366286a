"""Plain JSON: what is no tree is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn import tree as trees

from chaffinch.errors import FileError
from chaffinch.trees.formats.from_sklearn import read_model
from chaffinch.trees.formats.plain import plain_ensemble, plain_text
from chaffinch.trees.tree import Ensemble, Tree

RNG = np.random.default_rng(0)

X = RNG.normal(size=(120, 3))

Y = RNG.integers(0, 3, 120)


STUMP = trees.DecisionTreeClassifier(max_depth=1).fit(X, Y)


def changed(**changes):
    data = json.loads(plain_text(read_model(STUMP)))
    for key, value in changes.items():
        (data if key in data else data["trees"][0])[key] = value
    return json.dumps(data)


def test_the_stump_itself_is_read(same):
    same(plain_ensemble(changed()), read_model(STUMP))


@pytest.mark.parametrize(
    "changes",
    [
        {"left": [0, -1, -1]},  # a circle
        {"left": [1, -1], "right": [2, -1]},
        {"left": [2, -1, -1]},  # one child twice
        {"left": [3, -1, -1]},  # outside
        {"left": [-2, -1, -1]},
        {"left": [True, -1, -1], "right": [2.0, -1, -1]},
        {"left": [1 << 62, -1, -1]},
        {"left": [10**30, -1, -1]},
        {"left": "abc"},
        {"left": None},
        {"left": []},
        {"left": [], "right": [], "feature": [], "threshold": [], "missing_left": [], "value": []},
        {"feature": [3, -1, -1]},
        {"feature": [-1, -1, -1]},
        {"feature": [0, 0, -1]},
        {"threshold": [None, None, None]},
        {"threshold": ["0.5", None, None]},
        {"threshold": [True, None, None]},
        {"missing_left": [0, 0, 0]},
        {"value": [[[1.0]], [[1.0]], [[1.0]]]},
        {"value": [[[0.5, 0.5, "x"]]] * 3},
        {"counts": [[[1, 2, 3]]] * 3},  # children hold more than their split
        {"counts": [[[0, 0, 0]], [[-1, 0, 0]], [[1, 0, 0]]]},
        {"counts": [1, 2, 3]},
        {"samples": [1, 2]},
        {"samples": [5, 2, 2]},
        {"features": ["a", "a", "b"]},
        {"features": "abc"},
        {"features": [1, 2, 3]},
        {"classes": []},
        {"classes": [[0, 0, 1]]},
        {"classes": [[[0], 1, 2]]},
        {"classes": [[None, 1, 2]]},
        {"kind": "regression"},
        {"kind": "other"},
        {"kind": ["classification"]},
        {"trees": []},
        {"trees": {}},
        {"trees": [{}]},
        {"trees": [None]},
        {"model": 3},
        {"note": ["x"]},
        {"reason": 1},
        {"single": 1},
        {"varies": [1, 0, 0]},
        {"varies": [True]},
        {"fewest": [[[1000, 0, 0]]] * 3},
        {"boosted": 1},
        {"targets": [[1]]},
    ],
)
def test_plain_json_that_is_no_tree_is_refused(changes):
    with pytest.raises(FileError, match="is damaged"):
        plain_ensemble(changed(**changes))


def test_a_number_beyond_all_bounds_is_refused():
    text = changed().replace('"threshold": [', '"threshold": [1e999, ', 1)
    with pytest.raises(FileError, match="is damaged"):
        plain_ensemble(text)


def test_every_truncation_of_plain_json_is_refused():
    text = plain_text(read_model(STUMP)).rstrip()
    for end in range(len(text)):
        with pytest.raises(FileError):
            plain_ensemble(text[:end])


def test_bounds_and_variances_are_written_where_known_and_checked(same):
    leaf = np.array([-1])
    bare = Tree(leaf, leaf, leaf, np.array([np.nan]), np.array([False]), np.array([[[0.5]]]))
    told = replace(bare, bounds=np.array([[2, 5]]), variance=np.array([0.25]))
    model = Ensemble("XGBoost", "regression", ("x0",), (), (told,), boosted=True)
    same(plain_ensemble(plain_text(model)), model)
    assert '"bounds"' not in plain_text(replace(model, trees=(bare,)))
    for wrong in ([[5, 2]], [[-1, 2]], [[1, 2], [1, 2]], [1, 2]):
        with pytest.raises(FileError, match="damaged"):
            plain_ensemble(plain_text(model).replace("[[2, 5]]", json.dumps(wrong)))
    with pytest.raises(FileError, match="variance cannot be negative"):
        plain_ensemble(plain_text(model).replace('"variance": [0.25]', '"variance": [-1.0]'))
