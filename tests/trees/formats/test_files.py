"""Files of models: what is read comes back the same, and what is damaged or hostile is refused before anything of it runs."""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn import tree as trees

from chaffinch._base.errors import FileError, MissingExtraError
from chaffinch.trees.formats.files import open_model, write_model
from chaffinch.trees.formats.from_sklearn import read_model
from chaffinch.trees.formats.plain import plain_ensemble, plain_text

skops_io = pytest.importorskip("skops.io", reason="skops files need the extra")

RNG = np.random.default_rng(0)

X = RNG.normal(size=(120, 3))

Y = RNG.integers(0, 3, 120)

WORDS = np.array(["a", "b", "c"])[Y]

NUMBER = np.abs(X[:, 0]) + 0.1

MODELS = {
    "tree": trees.DecisionTreeClassifier(random_state=0).fit(X, WORDS),
    "weighted": trees.DecisionTreeClassifier(
        random_state=0, class_weight={0: 2.0, 1: 1.0, 2: 0.5}
    ).fit(X, Y),
    "best first": trees.DecisionTreeClassifier(
        max_leaf_nodes=9, random_state=np.random.RandomState(1)
    ).fit(X, Y == 1),
    "two outputs": trees.DecisionTreeClassifier(random_state=0).fit(X, np.c_[Y, Y == 1]),
    "extra": trees.ExtraTreeClassifier(random_state=0).fit(X, Y),
    "regression": trees.DecisionTreeRegressor(random_state=0).fit(X, NUMBER),
    "two numbers": trees.DecisionTreeRegressor(random_state=0).fit(X, np.c_[NUMBER, -NUMBER]),
    "forest": forests.RandomForestClassifier(3, random_state=0).fit(X, WORDS),
    "extra trees": forests.ExtraTreesRegressor(3, random_state=0).fit(X, NUMBER),
    "boosted": forests.GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, WORDS),
    "boosted number": forests.GradientBoostingRegressor(
        n_estimators=2, loss="huber", random_state=0
    ).fit(X, NUMBER),
    "histogram": forests.HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, WORDS),
    "histogram number": forests.HistGradientBoostingRegressor(max_iter=2, loss="poisson").fit(
        X, NUMBER
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_from_skops_and_from_plain_json(tmp_path, name, same):
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


def test_missing_values_apart_from_all_others_come_back(tmp_path, same):
    """Such a split has an infinite threshold, which JSON has no number for."""
    values = np.r_[np.full(20, np.nan), np.ones(20)][:, None]
    model = trees.DecisionTreeClassifier().fit(values, np.r_[np.zeros(20), np.ones(20)])
    assert np.isinf(model.tree_.threshold[0])
    skops_io.dump(model, tmp_path / "m.skops")
    opened = open_model(tmp_path / "m.skops")
    same(plain_ensemble(plain_text(opened.ensemble)), read_model(model))


DUMPED = {
    "nodeid": 0,
    "split": "f0",
    "split_condition": 0.5,
    "yes": 1,
    "no": 2,
    "missing": 1,
    "cover": 9.0,
    "children": [
        {"nodeid": 1, "leaf": 0.1, "cover": 4.0},
        {"nodeid": 2, "leaf": -0.1, "cover": 5.0},
    ],
}


def test_dumps_of_boosting_libraries_are_known_by_their_content(tmp_path):
    (tmp_path / "model").write_text(json.dumps([DUMPED]))
    opened = open_model(tmp_path / "model")
    assert (opened.form, opened.ensemble.boosted, len(opened.ensemble.trees[0].leaves)) == (
        "xgboost",
        True,
        2,
    )
    for text in ('{"tree_info": 3}', '{"learner": []}', '[{"nodeid": 0}]', "tree\nversion=v4\n"):
        (tmp_path / "model").write_text(text)
        with pytest.raises(FileError):
            open_model(tmp_path / "model")
    (tmp_path / "model").write_bytes(b"tree\n\xff")
    with pytest.raises(FileError, match="not sound text"):
        open_model(tmp_path / "model")


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


STUMP = trees.DecisionTreeClassifier(max_depth=1).fit(X, Y)


def test_without_the_extras_the_advice_is_given(tmp_path, monkeypatch, onnx_bytes):
    (tmp_path / "m.onnx").write_bytes(onnx_bytes(STUMP))
    skops_io.dump(STUMP, tmp_path / "m.skops")
    for module in ("onnx", "skops", "skops.io"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"chaffinch\[onnx\]"):
        open_model(tmp_path / "m.onnx")
    with pytest.raises(MissingExtraError, match=r"chaffinch\[skops\]"):
        open_model(tmp_path / "m.skops")
