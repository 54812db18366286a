"""ONNX trees send records where scikit-learn does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import tree as trees

from chaffinch.errors import FileError
from chaffinch.trees.formats.files import open_model
from chaffinch.trees.records import predict

RNG = np.random.default_rng(0)

X = RNG.normal(size=(120, 3))

Y = RNG.integers(0, 3, 120)

WORDS = np.array(["a", "b", "c"])[Y]

NUMBER = np.abs(X[:, 0]) + 0.1

STUMP = trees.DecisionTreeClassifier(max_depth=1).fit(X, Y)


ROUGH = np.round(X, 1)  # cuts of rounded numbers are the same as 32-bit floats


@pytest.mark.parametrize(
    "model",
    [
        trees.DecisionTreeClassifier(random_state=0).fit(ROUGH, WORDS),
        trees.DecisionTreeClassifier(random_state=0).fit(ROUGH, Y),
        trees.DecisionTreeRegressor(random_state=0).fit(ROUGH, NUMBER),
    ],
)
def test_an_onnx_tree_sends_records_where_scikit_learn_does(tmp_path, model, onnx_bytes):
    (tmp_path / "model.bin").write_bytes(onnx_bytes(model))
    opened = open_model(tmp_path / "model.bin")
    assert opened.form == "onnx"
    assert opened.ensemble.features == ("x0", "x1", "x2")
    assert not opened.ensemble.counts_known
    tree = opened.ensemble.trees[0]
    where = tree.apply(list(ROUGH.T))
    np.testing.assert_array_equal(where, model.apply(ROUGH))
    np.testing.assert_allclose(tree.value[where], model.tree_.value[model.apply(ROUGH)], rtol=1e-6)
    if opened.ensemble.kind == "classification":
        assert predict(opened.ensemble, list(ROUGH.T))[0].tolist() == model.predict(ROUGH).tolist()


@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"])
def test_every_comparison_is_as_onnx_says(mode, tracks, onnx_bytes):
    """Against the reference evaluator that ONNX itself keeps; it has no word on tracked missing values, so those are by hand."""
    onnx = pytest.importorskip("onnx.reference", reason="ONNX files need the extra")
    from chaffinch.trees.formats.onnx_trees import onnx_ensemble

    data = onnx_bytes(
        STUMP,
        nodes_modes=[mode, "LEAF", "LEAF"],
        nodes_values=[0.1, 0.0, 0.0],
        nodes_featureids=[0, 0, 0],
        nodes_missing_value_tracks_true=[tracks, 0, 0],
        class_weights=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    )
    cut = np.float32(0.1)
    values = np.array(
        [cut, np.nextafter(cut, np.float32(-1)), np.nextafter(cut, np.float32(1)), -3, 3],
        dtype=np.float32,
    )
    rows = np.zeros((len(values), 3), dtype=np.float32)
    rows[:, 0] = values
    evaluator = onnx.ReferenceEvaluator(data)
    truth = evaluator.run(None, {"X": rows})[1].argmax(axis=1)
    model = onnx_ensemble(data)
    ours = (
        model.trees[0]
        .value[model.trees[0].apply(list(rows.T.astype(float)))][:, 0, :]
        .argmax(axis=1)
    )
    assert ours.tolist() == truth.tolist()
    missing = model.trees[0].value[model.trees[0].apply([np.array([np.nan])] * 3)][0, 0].argmax()
    assert missing == (0 if tracks else 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes_truenodeids": [0, 0, 0]},
        {"nodes_truenodeids": [2, 0, 0]},
        {"nodes_truenodeids": [77, 0, 0]},
        {"nodes_nodeids": [0, 1, 1]},
        {"nodes_featureids": [9, 0, 0]},
        {"nodes_featureids": [-9, 0, 0]},
        {"nodes_featureids": [1 << 40, 0, 0]},
        {"nodes_modes": ["BRANCH_EQ", "LEAF", "LEAF"]},
        {"nodes_modes": ["LEAF"]},
        {"nodes_values": [float("nan"), 0.0, 0.0]},
        {"class_ids": [9] * 6},
        {"class_nodeids": [9] * 6},
        {"class_weights": [1.0]},
        {"classlabels_int64s": [1, 1, 1]},
    ],
)
def test_a_hostile_onnx_file_is_refused(tmp_path, changes, onnx_bytes):
    (tmp_path / "m.onnx").write_bytes(onnx_bytes(STUMP, **changes))
    with pytest.raises(FileError, match="cannot be read as trees"):
        open_model(tmp_path / "m.onnx")
