"""ONNX trees send records where scikit-learn does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import tree as trees

from chaffinch.errors import FileError
from chaffinch.trees.formats.files import open_model
from chaffinch.trees.records import predicted

skops_io = pytest.importorskip("skops.io", reason="skops files need the extra")

RNG = np.random.default_rng(0)

X = RNG.normal(size=(120, 3))

Y = RNG.integers(0, 3, 120)

WORDS = np.array(["a", "b", "c"])[Y]

NUMBER = np.abs(X[:, 0]) + 0.1

STUMP = trees.DecisionTreeClassifier(max_depth=1).fit(X, Y)


def onnx_bytes(model, **changes):
    """A decision tree of scikit-learn as an ONNX file, put together by hand."""
    onnx = pytest.importorskip("onnx", reason="ONNX files need the extra")
    held = model.tree_
    n = held.node_count
    inner = held.children_left >= 0
    classifier = hasattr(model, "classes_")
    leaves = np.flatnonzero(~inner).tolist()
    width = held.value.shape[2] if classifier else held.value.shape[1]
    told = held.value[:, 0, :] if classifier else held.value[:, :, 0]
    leaf = "class" if classifier else "target"
    attributes = {
        "nodes_treeids": [0] * n,
        "nodes_nodeids": list(range(n)),
        "nodes_featureids": np.where(inner, held.feature, 0).tolist(),
        "nodes_values": np.where(inner, held.threshold, 0.0).tolist(),
        "nodes_modes": ["BRANCH_LEQ" if split else "LEAF" for split in inner],
        "nodes_truenodeids": np.where(inner, held.children_left, 0).tolist(),
        "nodes_falsenodeids": np.where(inner, held.children_right, 0).tolist(),
        f"{leaf}_treeids": [0] * (len(leaves) * width),
        f"{leaf}_nodeids": [i for i in leaves for _ in range(width)],
        f"{leaf}_ids": list(range(width)) * len(leaves),
        f"{leaf}_weights": [float(told[i, k]) for i in leaves for k in range(width)],
    }
    if classifier:
        words = isinstance(model.classes_[0], str)
        attributes["classlabels_strings" if words else "classlabels_int64s"] = model.classes_.tolist()
    else:
        attributes["n_targets"] = width
    attributes.update(changes)
    name = "TreeEnsembleClassifier" if classifier else "TreeEnsembleRegressor"
    outputs = ["label", "scores"] if classifier else ["number"]
    node = onnx.helper.make_node(name, ["X"], outputs, domain="ai.onnx.ml", **attributes)
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node], "g", [tensor("X", onnx.TensorProto.FLOAT, [None, 3])],
        [tensor(one, onnx.TensorProto.FLOAT, None) for one in outputs],
    )  # fmt: skip
    domains = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.helper.make_model(graph, opset_imports=domains).SerializeToString()


ROUGH = np.round(X, 1)  # cuts of rounded numbers are the same as 32-bit floats


@pytest.mark.parametrize(
    "model",
    [
        trees.DecisionTreeClassifier(random_state=0).fit(ROUGH, WORDS),
        trees.DecisionTreeClassifier(random_state=0).fit(ROUGH, Y),
        trees.DecisionTreeRegressor(random_state=0).fit(ROUGH, NUMBER),
    ],
)
def test_an_onnx_tree_sends_records_where_scikit_learn_does(tmp_path, model):
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
        assert predicted(opened.ensemble, list(ROUGH.T))[0].tolist() == model.predict(ROUGH).tolist()


@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"])
def test_every_comparison_is_as_onnx_says(mode, tracks):
    """Against the reference evaluator that ONNX itself keeps; it has no word on tracked missing values, so those are by hand."""
    onnx = pytest.importorskip("onnx.reference", reason="ONNX files need the extra")
    from chaffinch.trees.formats.onnx_trees import onnx_ensemble

    data = onnx_bytes(
        STUMP, nodes_modes=[mode, "LEAF", "LEAF"], nodes_values=[0.1, 0.0, 0.0], nodes_featureids=[0, 0, 0],
        nodes_missing_value_tracks_true=[tracks, 0, 0],
        class_weights=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    )  # fmt: skip
    cut = np.float32(0.1)
    values = np.array(
        [cut, np.nextafter(cut, np.float32(-1)), np.nextafter(cut, np.float32(1)), -3, 3], dtype=np.float32
    )
    rows = np.zeros((len(values), 3), dtype=np.float32)
    rows[:, 0] = values
    evaluator = onnx.ReferenceEvaluator(data)
    truth = evaluator.run(None, {"X": rows})[1].argmax(axis=1)
    model = onnx_ensemble(data)
    ours = model.trees[0].value[model.trees[0].apply(list(rows.T.astype(float)))][:, 0, :].argmax(axis=1)
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
def test_a_hostile_onnx_file_is_refused(tmp_path, changes):
    (tmp_path / "m.onnx").write_bytes(onnx_bytes(STUMP, **changes))
    with pytest.raises(FileError, match="cannot be read as trees"):
        open_model(tmp_path / "m.onnx")
