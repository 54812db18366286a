"""The public functions: a model and data as they come, and results that show themselves and go through JSON."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import chaffinch
from chaffinch import trees
from chaffinch._base.errors import InputError


def test_a_model_and_data_are_taken_as_they_come(tree, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    trees.write_model(tmp_path / "m.skops", trees.read_model(tree), tree)
    expected = trees.audit(tree, frame, label="y").to_dict()
    assert expected["accuracy"] == pytest.approx(
        tree.score(frame[["a", "b", "c"]], frame["y"]), abs=1e-4
    )
    assert expected["midpoints"]["splits"] > 0
    for data in (tmp_path / "t.csv", pa.Table.from_pandas(frame), chaffinch.read(frame)):
        assert trees.audit(tmp_path / "m.skops", data, label="y").to_dict() == expected
    pruned = trees.prune(tmp_path / "m.skops", frame, label="y", at_least=3)
    assert isinstance(pruned.model, DecisionTreeClassifier)
    assert not trees.audit(pruned.model, frame, label="y", at_least=3).exposed


def test_data_without_a_label(tree, frame):
    with pytest.raises(InputError, match="data needs label"):
        trees.audit(tree, frame)
