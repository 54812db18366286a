"""What the tests of formats share: ONNX files put together by hand, and when two ensembles are the same."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def same():
    """Assert that two ensembles hold the same, also of the same types."""
    return _same


@pytest.fixture(scope="session")
def onnx_bytes():
    """A decision tree of scikit-learn as an ONNX file, put together by hand."""
    return _onnx_bytes


def _same(one, other):
    for name in ("model", "kind", "features", "classes", "note", "boosted", "targets"):
        assert getattr(one, name) == getattr(other, name)
    assert [list(map(type, c)) for c in one.classes] == [list(map(type, c)) for c in other.classes]
    for a, b in zip(one.trees, other.trees, strict=True):
        for part in (
            "left_child",
            "right_child",
            "feature",
            "threshold",
            "missing_left",
            "value",
            "counts",
            "samples",
            "fewest",
            "varies",
            "bounds",
            "variance",
            "single",
            "reason",
        ):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


def _onnx_bytes(model, **changes):
    onnx = pytest.importorskip("onnx", reason="ONNX files need the extra")
    compiled = model.tree_
    n = compiled.node_count
    inner = compiled.children_left >= 0
    classifier = hasattr(model, "classes_")
    leaves = np.flatnonzero(~inner).tolist()
    width = compiled.value.shape[2] if classifier else compiled.value.shape[1]
    values = compiled.value[:, 0, :] if classifier else compiled.value[:, :, 0]
    leaf = "class" if classifier else "target"
    attributes = {
        "nodes_treeids": [0] * n,
        "nodes_nodeids": list(range(n)),
        "nodes_featureids": np.where(inner, compiled.feature, 0).tolist(),
        "nodes_values": np.where(inner, compiled.threshold, 0.0).tolist(),
        "nodes_modes": ["BRANCH_LEQ" if split else "LEAF" for split in inner],
        "nodes_truenodeids": np.where(inner, compiled.children_left, 0).tolist(),
        "nodes_falsenodeids": np.where(inner, compiled.children_right, 0).tolist(),
        f"{leaf}_treeids": [0] * (len(leaves) * width),
        f"{leaf}_nodeids": [i for i in leaves for _ in range(width)],
        f"{leaf}_ids": list(range(width)) * len(leaves),
        f"{leaf}_weights": [float(values[i, k]) for i in leaves for k in range(width)],
    }
    if classifier:
        words = isinstance(model.classes_[0], str)
        attributes["classlabels_strings" if words else "classlabels_int64s"] = (
            model.classes_.tolist()
        )
    else:
        attributes["n_targets"] = width
    attributes.update(changes)
    name = "TreeEnsembleClassifier" if classifier else "TreeEnsembleRegressor"
    outputs = ["label", "scores"] if classifier else ["number"]
    node = onnx.helper.make_node(name, ["X"], outputs, domain="ai.onnx.ml", **attributes)
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [tensor("X", onnx.TensorProto.FLOAT, [None, 3])],
        [tensor(one, onnx.TensorProto.FLOAT, None) for one in outputs],
    )
    domains = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.helper.make_model(graph, opset_imports=domains).SerializeToString()
