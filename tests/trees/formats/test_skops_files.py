"""skops files of strangers: a tree or an error, and nothing runs."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from sklearn import tree as trees
from sklearn.linear_model import LogisticRegression

from chaffinch.errors import FileError
from chaffinch.trees.formats.files import open_model
from chaffinch.trees.formats.from_sklearn import read_model

skops_io = pytest.importorskip("skops.io", reason="skops files need the extra")

RNG = np.random.default_rng(0)

X = RNG.normal(size=(120, 3))

Y = RNG.integers(0, 3, 120)


STUMP = trees.DecisionTreeClassifier(max_depth=1).fit(X, Y)


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


def test_every_truncation_and_many_flips_of_a_skops_file_are_refused_or_harmless(tmp_path, same):
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
        attributes["x"] = {
            "__module__": "builtins",
            "__class__": "eval",
            "__loader__": "FunctionNode",
            "__id__": 1,
            "content": {},
        }
    elif kind == "hidden in a list":
        attributes["x"] = {
            "__module__": "builtins",
            "__class__": "list",
            "__loader__": "ListNode",
            "__id__": 1,
            "content": [
                {
                    "__module__": "subprocess",
                    "__class__": "Popen",
                    "__loader__": "ObjectNode",
                    "__id__": 2,
                }
            ],
        }
    elif kind == "cached":
        attributes["x"] = {
            "__module__": None,
            "__class__": None,
            "__loader__": "CachedNode",
            "__id__": 1,
        }
    elif kind == "another as the root":
        schema = attributes["max_depth"]
    return schema, parts, state


@pytest.mark.parametrize(
    "kind",
    [
        "foreign type",
        "foreign loader",
        "function",
        "hidden in a list",
        "cached",
        "another as the root",
    ],
)
def test_types_that_a_tree_does_not_need_are_refused_before_skops_sees_them(
    tmp_path, monkeypatch, kind
):
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
    "deep number": lambda state, parts: state["node_count"].update(
        content="[" * 100_000, __id__=-1
    ),
    "child outside": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(nodes_with(left_child=10**9))}
    ),
    "child below": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(nodes_with(right_child=-7))}
    ),
    "circle": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(nodes_with(left_child=0))}
    ),
    "feature outside": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(nodes_with(feature=10**6))}
    ),
    "feature below": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(nodes_with(feature=-5))}
    ),
    "threshold nan": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(nodes_with(threshold=np.nan))}
    ),
    "nodes of numbers": lambda state, parts: parts.update(
        {state["nodes"]["file"]: npy(np.zeros(3))}
    ),
    "few values": lambda state, parts: parts.update(
        {state["values"]["file"]: npy(np.zeros((2, 1, 3)))}
    ),
    "values and count of four nodes": lambda state, parts: (
        state["node_count"].update(content="4", __id__=-1),
        parts.update({state["values"]["file"]: npy(np.zeros((4, 1, 3)))}),
    ),
    "no file": lambda state, parts: state["nodes"].update(file="nowhere.npy"),
    "no nodes": lambda state, parts: state.pop("nodes"),
    "objects": lambda state, parts: parts.update(
        {state["values"]["file"]: npy(np.array([{}], dtype=object))}
    ),
    "huge shape": lambda state, parts: parts.update(
        {
            state["values"]["file"]: parts[state["values"]["file"]].replace(
                b"(3, 1, 3)", b"(3, 1, 9)"
            )
        }
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


def test_a_packed_model_is_read(tmp_path, same):
    skops_io.dump(STUMP, tmp_path / "m.skops", compression=zipfile.ZIP_DEFLATED, compresslevel=9)
    same(open_model(tmp_path / "m.skops").ensemble, read_model(STUMP))


def test_parts_of_one_name_are_refused(tmp_path):
    schema, parts, _ = hostile("none")
    write_parts(tmp_path / "model.skops", schema, parts)
    with (
        zipfile.ZipFile(tmp_path / "model.skops", "a") as archive,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
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
