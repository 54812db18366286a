"""The public functions: a model and data as they come, and results that show themselves and go through JSON."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import chaffinch
from chaffinch import trees
from chaffinch._base.errors import InputError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 30, size=(150, 3)).astype(float)
    noisy = (x[:, 0] + rng.normal(size=150, scale=8) > 15).astype(int)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": noisy})

@pytest.fixture(scope="module")
def tree(frame):
    return DecisionTreeClassifier(random_state=0).fit(frame[["a", "b", "c"]], frame["y"])

def test_a_model_and_data_are_taken_as_they_come(tree, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    trees.write_model(tmp_path / "m.skops", trees.read_model(tree), tree)
    expected = trees.audit(tree, frame, label="y").to_dict()
    assert expected["accuracy"] == pytest.approx(tree.score(frame[["a", "b", "c"]], frame["y"]), abs=1e-4)
    assert expected["midpoints"]["splits"] > 0
    for data in (tmp_path / "t.csv", pa.Table.from_pandas(frame), chaffinch.read(frame)):
        assert trees.audit(tmp_path / "m.skops", data, label="y").to_dict() == expected
    pruned = trees.prune(tmp_path / "m.skops", frame, label="y", at_least=3)
    assert isinstance(pruned.model, DecisionTreeClassifier)
    assert not trees.audit(pruned.model, frame, label="y", at_least=3).exposed

def test_data_without_a_label(tree, frame):
    with pytest.raises(InputError, match="data needs label"):
        trees.audit(tree, frame)
