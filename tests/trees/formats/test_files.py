"""Files of models: what is read comes back the same, and what is damaged or hostile is refused before anything of it runs."""

from __future__ import annotations

import io
import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn import tree as trees
from sklearn.linear_model import LogisticRegression

from chaffinch import FileError, MissingExtraError
from chaffinch.trees.formats.files import open_model, write_model
from chaffinch.trees.formats.from_sklearn import read_model
from chaffinch.trees.formats.plain import plain_ensemble, plain_text
from chaffinch.trees.records import predicted

skops_io = pytest.importorskip("skops.io", reason="skops files need the extra")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = RNG.integers(0, 3, 120)
WORDS = np.array(["a", "b", "c"])[Y]
NUMBER = np.abs(X[:, 0]) + 0.1

MODELS = {
    "tree": trees.DecisionTreeClassifier(random_state=0).fit(X, WORDS),
    "weighted": trees.DecisionTreeClassifier(random_state=0, class_weight={0: 2.0, 1: 1.0, 2: 0.5}).fit(X, Y),
    "best first": trees.DecisionTreeClassifier(max_leaf_nodes=9, random_state=np.random.RandomState(1)).fit(X, Y == 1),
    "two outputs": trees.DecisionTreeClassifier(random_state=0).fit(X, np.c_[Y, Y == 1]),
    "extra": trees.ExtraTreeClassifier(random_state=0).fit(X, Y),
    "regression": trees.DecisionTreeRegressor(random_state=0).fit(X, NUMBER),
    "two numbers": trees.DecisionTreeRegressor(random_state=0).fit(X, np.c_[NUMBER, -NUMBER]),
    "forest": forests.RandomForestClassifier(3, random_state=0).fit(X, WORDS),
    "extra trees": forests.ExtraTreesRegressor(3, random_state=0).fit(X, NUMBER),
    "boosted": forests.GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, WORDS),
    "boosted number": forests.GradientBoostingRegressor(n_estimators=2, loss="huber", random_state=0).fit(X, NUMBER),
    "histogram": forests.HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, WORDS),
    "histogram number": forests.HistGradientBoostingRegressor(max_iter=2, loss="poisson").fit(X, NUMBER),
}


def same(one, other):
    for name in ("model", "kind", "features", "classes", "note", "boosted", "targets"):
        assert getattr(one, name) == getattr(other, name)
    assert [list(map(type, c)) for c in one.classes] == [list(map(type, c)) for c in other.classes]
    for a, b in zip(one.trees, other.trees, strict=True):
        for part in ("left", "right", "feature", "threshold", "missing_left", "value", "counts", "samples", "fewest", "varies", "single", "reason"):  # fmt: skip
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_from_skops_and_from_plain_json(tmp_path, name):
    model = MODELS[name]
    skops_io.dump(model, tmp_path / "model")  # without an ending: the content decides
    opened = open_model(tmp_path / "model")
    assert opened.form == "skops"
    same(opened.ensemble, read_model(model))
    np.testing.assert_array_equal(opened.model.predict(X), model.predict(X))
    write_model(tmp_path / "plain.json", opened.ensemble)
    again = open_model(tmp_path / "plain.json")
    assert again.form == "json"
    same(again.ensemble, opened.ensemble)


@pytest.mark.parametrize("name", ["tree", "weighted", "two outputs", "regression", "two numbers", "forest", "extra trees"])  # fmt: skip
def test_our_walk_predicts_what_scikit_learn_does(name):
    said = MODELS[name].predict(X)
    for k, ours in enumerate(predicted(read_model(MODELS[name]), list(X.T))):
        theirs = said if said.ndim == 1 else said[:, k]
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours.astype(float), theirs)
        else:
            assert ours.tolist() == theirs.tolist()


def test_missing_values_apart_from_all_others_come_back(tmp_path):
    """Such a split has an infinite threshold, which JSON has no number for."""
    values = np.r_[np.full(20, np.nan), np.ones(20)][:, None]
    model = trees.DecisionTreeClassifier().fit(values, np.r_[np.zeros(20), np.ones(20)])
    assert np.isinf(model.tree_.threshold[0])
    skops_io.dump(model, tmp_path / "m.skops")
    opened = open_model(tmp_path / "m.skops")
    same(plain_ensemble(plain_text(opened.ensemble)), read_model(model))


DUMPED = {"nodeid": 0, "split": "f0", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1, "cover": 9.0,
          "children": [{"nodeid": 1, "leaf": 0.1, "cover": 4.0}, {"nodeid": 2, "leaf": -0.1, "cover": 5.0}]}  # fmt: skip


def test_dumps_of_boosting_libraries_are_known_by_their_content(tmp_path):
    (tmp_path / "model").write_text(json.dumps([DUMPED]))
    opened = open_model(tmp_path / "model")
    assert (opened.form, opened.ensemble.boosted, len(opened.ensemble.trees[0].leaves)) == ("xgboost", True, 2)
    for text in ('{"tree_info": 3}', '{"learner": []}', '[{"nodeid": 0}]', "tree\nversion=v4\n"):
        (tmp_path / "model").write_text(text)
        with pytest.raises(FileError):
            open_model(tmp_path / "model")
    (tmp_path / "model").write_bytes(b"tree\n\xff")
    with pytest.raises(FileError, match="not sound text"):
        open_model(tmp_path / "model")


# Pickles, and files that are nothing.


class Bomb:
    """A pickle of this writes a file when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_is_refused_unopened(tmp_path, protocol):
    trap = tmp_path / "sprung"
    for name in ("model.pkl", "model.skops", "model.json"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb(str(trap)), protocol=protocol))
        with pytest.raises(FileError, match="is a pickle"):
            open_model(tmp_path / name)
    assert not trap.exists()


@pytest.mark.parametrize("packing", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)])
def test_what_joblib_writes_is_refused(tmp_path, packing):
    import joblib

    joblib.dump(MODELS["tree"], tmp_path / "model.joblib", compress=packing)
    with pytest.raises(FileError, match=r"is a pickle.*skops"):
        open_model(tmp_path / "model.joblib")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is no model"),
        (b"\x08\x07garbage", "not a sound ONNX file|exactly one"),
        (b"PK\x03\x04 and no more", "not a sound skops file"),
        (b"\x00" * 100, "is no model"),
        (b"\xff\xfe{", "is no model"),
        (b"{", "not sound JSON"),
        (b'{"a": NaN}', "not sound JSON"),
        (b'{"a": 1, "a": 2}', "not sound JSON"),
        (b'{"a": "\xff"}', "not sound JSON"),
        (b"[" * 100_000, "not sound JSON"),
        (b'{"a":' * 100_000, "not sound JSON"),
        (b"[" + b"9" * 10_000 + b"]", "not sound JSON"),
        (b"[]", "not a tree in our plain form"),
        (b'{"format": "chaffinch-model"}', "not a tree in our plain form"),
        (b'{"format": "chaffinch-tree", "version": 2}', "not of version 1"),
        (b'{"format": "chaffinch-tree", "version": true}', "not of version 1"),
        (b'{"format": "chaffinch-tree", "version": 1}', "other entries"),
    ],
)
def test_a_file_that_is_no_model_gets_a_clear_word(tmp_path, content, words):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(FileError, match=words):
        open_model(tmp_path / "model")


def test_a_folder_and_a_missing_file(tmp_path):
    with pytest.raises(FileError, match="is a folder"):
        open_model(tmp_path)
    with pytest.raises(FileError, match="No such file"):
        open_model(tmp_path / "x")


# Plain JSON, hostile.

STUMP = trees.DecisionTreeClassifier(max_depth=1).fit(X, Y)


def changed(**changes):
    data = json.loads(plain_text(read_model(STUMP)))
    for key, value in changes.items():
        (data if key in data else data["trees"][0])[key] = value
    return json.dumps(data)


def test_the_stump_itself_is_read():
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


# skops, hostile.


def parts_of(model):
    with zipfile.ZipFile(io.BytesIO(skops_io.dumps(model))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop("schema.json")), parts


def write_parts(path, schema, parts, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.writestr("schema.json", schema if isinstance(schema, bytes) else json.dumps(schema))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_every_truncation_and_many_flips_of_a_skops_file_are_refused_or_harmless(tmp_path):
    whole = skops_io.dumps(STUMP)
    path = tmp_path / "model.skops"
    for end in range(0, len(whole), 199):
        path.write_bytes(whole[:end])
        with pytest.raises(FileError):
            open_model(path)
    rng = np.random.default_rng(1)
    for at in rng.integers(0, len(whole), 80):
        broken = bytearray(whole)
        broken[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        try:  # a flip of a bit that nobody reads, as the date of a part, changes nothing
            opened = open_model(path)
        except FileError:
            continue
        same(opened.ensemble, read_model(STUMP))


def hostile(kind):
    """A schema of skops that would do more than hold a tree."""
    schema, parts = parts_of(STUMP)
    attributes = schema["content"]["content"]
    state = attributes["tree_"]["content"]["content"]
    if kind == "foreign type":
        attributes["criterion"].update(__module__="os", __class__="system")
    elif kind == "foreign loader":
        attributes["criterion"].update(__loader__="FunctionNode")
    elif kind == "function":
        attributes["x"] = {"__module__": "builtins", "__class__": "eval", "__loader__": "FunctionNode", "__id__": 1, "content": {}}  # fmt: skip
    elif kind == "hidden in a list":
        attributes["x"] = {"__module__": "builtins", "__class__": "list", "__loader__": "ListNode", "__id__": 1,
                           "content": [{"__module__": "subprocess", "__class__": "Popen", "__loader__": "ObjectNode", "__id__": 2}]}  # fmt: skip
    elif kind == "cached":
        attributes["x"] = {"__module__": None, "__class__": None, "__loader__": "CachedNode", "__id__": 1}
    elif kind == "another as the root":
        schema = attributes["max_depth"]
    return schema, parts, state


@pytest.mark.parametrize("kind", ["foreign type", "foreign loader", "function", "hidden in a list", "cached", "another as the root"])  # fmt: skip
def test_types_that_a_tree_does_not_need_are_refused_before_skops_sees_them(tmp_path, monkeypatch, kind):
    schema, parts, _ = hostile(kind)
    write_parts(tmp_path / "model.skops", schema, parts)
    monkeypatch.setattr(skops_io, "loads", lambda *_, **__: pytest.fail("skops was called"))
    with pytest.raises(FileError, match=r"types that a tree does not need|holds no tree"):
        open_model(tmp_path / "model.skops")


def nodes_with(**fields):
    """The stump's nodes, its root changed."""
    nodes = STUMP.tree_.__getstate__()["nodes"].copy()
    for name, value in fields.items():
        nodes[name][0] = value
    return nodes


TREE_FAULTS = {
    "node count": lambda state, parts: state["node_count"].update(content="1000000", __id__=-1),
    "node count of text": lambda state, parts: state["node_count"].update(content='"3"', __id__=-1),
    "deep number": lambda state, parts: state["node_count"].update(content="[" * 100_000, __id__=-1),
    "child outside": lambda state, parts: parts.update({state["nodes"]["file"]: npy(nodes_with(left_child=10**9))}),
    "child below": lambda state, parts: parts.update({state["nodes"]["file"]: npy(nodes_with(right_child=-7))}),
    "circle": lambda state, parts: parts.update({state["nodes"]["file"]: npy(nodes_with(left_child=0))}),
    "feature outside": lambda state, parts: parts.update({state["nodes"]["file"]: npy(nodes_with(feature=10**6))}),
    "feature below": lambda state, parts: parts.update({state["nodes"]["file"]: npy(nodes_with(feature=-5))}),
    "threshold nan": lambda state, parts: parts.update({state["nodes"]["file"]: npy(nodes_with(threshold=np.nan))}),
    "nodes of numbers": lambda state, parts: parts.update({state["nodes"]["file"]: npy(np.zeros(3))}),
    "few values": lambda state, parts: parts.update({state["values"]["file"]: npy(np.zeros((2, 1, 3)))}),
    "values and count of four nodes": lambda state, parts: (
        state["node_count"].update(content="4", __id__=-1),
        parts.update({state["values"]["file"]: npy(np.zeros((4, 1, 3)))}),
    ),
    "no file": lambda state, parts: state["nodes"].update(file="nowhere.npy"),
    "no nodes": lambda state, parts: state.pop("nodes"),
    "objects": lambda state, parts: parts.update({state["values"]["file"]: npy(np.array([{}], dtype=object))}),
    "huge shape": lambda state, parts: parts.update(
        {state["values"]["file"]: parts[state["values"]["file"]].replace(b"(3, 1, 3)", b"(3, 1, 9)")}
    ),
}


@pytest.mark.parametrize("fault", TREE_FAULTS)
def test_a_tree_that_points_outside_itself_is_refused(tmp_path, fault):
    schema, parts, state = hostile("none")
    TREE_FAULTS[fault](state, parts)
    write_parts(tmp_path / "model.skops", schema, parts)
    with pytest.raises(FileError):
        open_model(tmp_path / "model.skops")


def test_two_parts_of_one_number_must_be_the_same(tmp_path):
    """skops builds the first for both: a checked part could stand for another that is not."""
    schema, parts, state = hostile("none")
    state["node_count"]["__id__"] = schema["content"]["content"]["criterion"]["__id__"]
    write_parts(tmp_path / "model.skops", schema, parts)
    with pytest.raises(FileError, match="not a sound skops file"):
        open_model(tmp_path / "model.skops")


def test_a_constructor_with_too_many_outputs_is_refused(tmp_path):
    schema, parts, _ = hostile("none")
    held = schema["content"]["content"]["tree_"]
    held["__reduce__"]["args"]["content"][2].update(content="2", __id__=-1)
    parts[held["content"]["content"]["values"]["file"]] = npy(np.zeros((3, 2, 3)))
    write_parts(tmp_path / "model.skops", schema, parts)
    with pytest.raises(FileError, match="not a sound skops file"):
        open_model(tmp_path / "model.skops")


def test_a_bomb_is_not_unpacked(tmp_path):
    schema, parts, _ = hostile("none")
    parts["zeros.npy"] = bytes(30_000_000)
    write_parts(tmp_path / "model.skops", schema, parts, compression=zipfile.ZIP_DEFLATED)
    assert (tmp_path / "model.skops").stat().st_size < 200_000
    with pytest.raises(FileError, match="far more than a model needs"):
        open_model(tmp_path / "model.skops")


def test_a_packed_model_is_read(tmp_path):
    skops_io.dump(STUMP, tmp_path / "m.skops", compression=zipfile.ZIP_DEFLATED, compresslevel=9)
    same(open_model(tmp_path / "m.skops").ensemble, read_model(STUMP))


def test_parts_of_one_name_are_refused(tmp_path):
    schema, parts, _ = hostile("none")
    write_parts(tmp_path / "model.skops", schema, parts)
    with zipfile.ZipFile(tmp_path / "model.skops", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(FileError, match="two parts of one name"):
        open_model(tmp_path / "model.skops")


@pytest.mark.parametrize("schema", [b"", b"[]", b"3", b"{}", b'{"__class__": 1}', b"[" * 10_000])
def test_a_schema_that_is_none_is_refused(tmp_path, schema):
    write_parts(tmp_path / "model.skops", schema, {})
    with pytest.raises(FileError):
        open_model(tmp_path / "model.skops")


def test_another_zip_another_model_and_an_unfitted_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(FileError, match=r"no schema\.json"):
        open_model(tmp_path / "a.zip")
    skops_io.dump(LogisticRegression().fit(X, Y), tmp_path / "line.skops")
    with pytest.raises(FileError, match="LogisticRegression"):
        open_model(tmp_path / "line.skops")
    skops_io.dump(trees.DecisionTreeClassifier(), tmp_path / "new.skops")
    with pytest.raises(FileError, match="not fitted"):
        open_model(tmp_path / "new.skops")


# ONNX.


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


def test_without_the_extras_the_advice_is_given(tmp_path, monkeypatch):
    (tmp_path / "m.onnx").write_bytes(onnx_bytes(STUMP))
    skops_io.dump(STUMP, tmp_path / "m.skops")
    for module in ("onnx", "skops", "skops.io"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"chaffinch\[onnx\]"):
        open_model(tmp_path / "m.onnx")
    with pytest.raises(MissingExtraError, match=r"chaffinch\[skops\]"):
        open_model(tmp_path / "m.skops")
