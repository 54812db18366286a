"""Model files: what goes in comes out; anything else is one clear error, and nothing is executed."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import chaffinch
from chaffinch.synth import BayesNet, Independent, PrivBayes, load_model
from chaffinch.synth.model_file import file_parts, model_from_bytes, model_to_bytes, with_checksum
from chaffinch.table import Column, Schema


@pytest.fixture(scope="module")
def a_column_of_each_kind():
    rng = np.random.default_rng(2)
    n = 300
    return chaffinch.read(
        pa.table(
            {
                "id": np.arange(n) + 10_000,
                "word": pa.array(
                    rng.choice(["x", "ÿ", "z", '"; \\'], n).tolist()
                ).dictionary_encode(),
                "whole": rng.integers(0, 1000, n),
                "part": np.round(rng.normal(size=n), 2),
                "day": pa.array((rng.integers(0, 3000, n)).astype("datetime64[D]")),
                "flag": rng.random(n) < 0.3,
                "holes": pa.array([None if x < 0.2 else float(x) for x in rng.random(n)]),
            }
        )
    )


@pytest.fixture(scope="module")
def model(a_column_of_each_kind):
    return BayesNet(
        conditionals="tables",
        parents=2,
        label="flag",
        sensitive=("word", "part"),
        protect="together",
        keep=("flag",),
    ).fit(a_column_of_each_kind, seed=1)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "m.chaffinch"
    model.save(path)
    return path


def refused(path: Path, match: str = ".") -> str:
    with pytest.raises(chaffinch._base.errors.FileError, match=match) as caught:
        load_model(path)
    assert path.name in str(caught.value)
    return str(caught.value)


# What goes in comes out


def test_a_model_comes_back_as_it_was(model, saved, a_column_of_each_kind):
    back = load_model(saved)
    assert back.to_dict() == model.to_dict()
    assert back.schema == model.schema
    assert back.network == model.network
    assert back.fitted == model.fitted
    assert back.sample(500, seed=3).data.equals(model.sample(500, seed=3).data)
    assert back.sample(50, seed=3, given={"flag": True}).data.equals(
        model.sample(50, seed=3, given={"flag": True}).data
    )
    assert back.complete(a_column_of_each_kind, keep=["flag"], seed=1).data.equals(
        model.complete(a_column_of_each_kind, keep=["flag"], seed=1).data
    )
    assert np.array_equal(
        back.log_likelihood(a_column_of_each_kind), model.log_likelihood(a_column_of_each_kind)
    )
    assert chaffinch.load(saved).to_dict() == model.to_dict()


@pytest.mark.parametrize("name", ["caesarian.csv", "cmc.csv", "diabetes.csv"])
def test_models_of_bundled_tables_come_back(name, data, tmp_path):
    table = chaffinch.read(data / name)
    for settings_ in (
        BayesNet(conditionals="tables", parents=2),
        BayesNet(conditionals="tables", parents=3, search="greedy", smoothing=0),
        Independent(),
    ):
        model = settings_.fit(table, seed=0)
        model.save(tmp_path / "m", overwrite=True)
        back = load_model(tmp_path / "m")
        assert back.to_dict() == model.to_dict()
        assert back.sample(100, seed=1).data.equals(model.sample(100, seed=1).data)


def test_saving_a_loaded_model_gives_the_same_bytes(saved, tmp_path):
    load_model(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_a_model_travels_as_the_bytes_of_its_file(model, saved):
    raw = model_to_bytes(model)
    assert raw == Path(saved).read_bytes()
    assert model_to_bytes(model_from_bytes(raw)) == raw
    for bad in (
        b"",
        raw[:50],
        raw[:-3],
        b"\x10" + raw[1:],
        raw.replace(b"chaffinch-model", b"chaffinch-xxxxx"),
    ):
        with pytest.raises(chaffinch._base.errors.FileError, match="the model sent"):
            model_from_bytes(bad)


def test_only_the_owner_may_read_it(model, tmp_path):
    path = tmp_path / "m"
    path.write_text("old")
    path.chmod(0o666)
    old = os.umask(0)
    try:
        model.save(path, overwrite=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_model_of_an_empty_table(coded, tmp_path):
    model = BayesNet(conditionals="tables", parents=1).fit(coded([[], []], [2, 3]))
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").sample(9, seed=0).data.equals(model.sample(9, seed=0).data)


def test_where_it_cannot_be_written(model, tmp_path):
    with pytest.raises(chaffinch._base.errors.FileError, match="there is no folder"):
        model.save(tmp_path / "nowhere" / "m")
    with pytest.raises(chaffinch._base.errors.FileError, match="it is a folder"):
        model.save(tmp_path)


# Other files


def test_files_that_are_no_models(tmp_path):
    refused(tmp_path / "gone", "No such file")
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder", "Cannot read")
    for name, content in {
        "empty": b"",
        "short": b"abc",
        "table.csv": b"a,b\n1,2\n" * 50,
        "zeros": b"\0" * 1000,
        "huge header": (1 << 62).to_bytes(8, "little") + b"{" * 100,
        "open brace": (50).to_bytes(8, "little") + b"{" * 50,
        "json": json.dumps({"format": "chaffinch-model", "version": 1}).encode(),
        "header only": (2).to_bytes(8, "little") + b"{}",
    }.items():
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, "is (not|a safetensors file, but not) a Chaffinch model")


def test_a_pickle_is_not_opened(tmp_path):
    marker = tmp_path / "executed"

    class Trap:
        def __reduce__(self):
            return (Path.touch, (marker,))

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        content = pickle.dumps(Trap(), protocol)
        (tmp_path / "p").write_bytes(content)
        refused(tmp_path / "p", "not a Chaffinch model")
        header = b'{"a":' + b" " * 50
        (tmp_path / "q").write_bytes(len(header).to_bytes(8, "little") + header + content)
        refused(tmp_path / "q", "not a Chaffinch model")
        np.save(tmp_path / "r.npy", np.array([Trap()], dtype=object), allow_pickle=True)
        refused(tmp_path / "r.npy", "not a Chaffinch model")
    assert not marker.exists()


def test_another_safetensors_file(tmp_path):
    for metadata in (None, {"other": "x"}):
        save_file({"a": np.zeros(3)}, tmp_path / "s", metadata)
        refused(tmp_path / "s", "is a safetensors file, but not a Chaffinch model")
    for text in ("", "nonsense", "[]", "3", "null", '{"format": "other"}', "{}", "[" * 100_000):
        save_file({"a": np.zeros(3)}, tmp_path / "s", {"chaffinch": text})
        refused(tmp_path / "s", "is not a Chaffinch model")


@pytest.mark.parametrize("version", [3, 99, "1", None, 1.5, [1], "x" * 1000])
def test_another_version(version, saved, tmp_path):
    path = rewritten(saved, tmp_path, lambda data, tensors: data.update(version=version))
    assert len(refused(path, "this release reads version 2. Use a newer release")) < 600


# Hostile contents: every part in turn


def rewritten(saved: Path, folder: Path, change) -> Path:
    """Return a copy of a model file whose JSON and tensors were changed on purpose, checksum and all."""
    from safetensors import safe_open

    with safe_open(str(saved), framework="numpy") as opened:
        data = json.loads(opened.metadata()["chaffinch"])
    del data["sha256"]
    tensors = {name: array.copy() for name, array in load_file(saved).items()}
    done = change(data, tensors)
    path = folder / "changed.chaffinch"
    text = json.dumps(done if isinstance(done, dict) else data)
    save_file(tensors, path, {"chaffinch": with_checksum(text, tensors)})
    return path


@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.data())
def test_three_bytes_that_are_changed_are_refused(saved, data):
    """Wherever they are: each of the three is another byte than before."""
    raw = bytearray(saved.read_bytes())
    for place in data.draw(
        st.lists(st.integers(0, len(raw) - 1), min_size=3, max_size=3, unique=True)
    ):
        raw[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(chaffinch._base.errors.FileError, match="the model sent"):
        model_from_bytes(bytes(raw))


def test_a_number_that_is_changed_is_named_as_damage_and_an_older_file_opens(saved, tmp_path):
    path = tmp_path / "m.chaffinch"
    raw = bytearray(saved.read_bytes())
    raw[-5:-2] = bytes(255 - byte for byte in raw[-5:-2])  # in the last tensor
    path.write_bytes(raw)
    assert "changed after it was written, by its checksum" in refused(path)
    header, tensors = file_parts(load_model(saved))
    for name, version in (("old", 1), ("new", 2)):
        save_file(
            tensors,
            tmp_path / f"{name}.chaffinch",
            {"chaffinch": json.dumps(header | {"version": version})},
        )
    assert (
        load_model(tmp_path / "old.chaffinch").to_dict() == load_model(saved).to_dict()
    )  # files of version 1 have no checksum
    assert "checksum" in refused(tmp_path / "new.chaffinch")


def deepest(tensors) -> str:
    """Return the prefix of a table with parents: its last level."""
    return max(
        (name.rsplit(".", 1)[0] for name in tensors),
        key=lambda name: (int(name.split(".")[1]), name),
    )


def put(part, value):
    def change(data, tensors):
        tensors[f"{deepest(tensors)}.{part}"] = value(tensors[f"{deepest(tensors)}.{part}"])

    return change


def nested(depth):
    out: list = []
    for _ in range(depth):
        out = [out]
    return out


def edited(index, value):
    """Return the array with one entry changed."""

    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def at(*keys, value):
    def change(data, tensors):
        inner = data
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


def without(*keys):
    def change(data, tensors):
        inner = data
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


HOSTILE = {
    "negative key": put("keys", edited(0, -1)),
    "key past the end": put("keys", edited(-1, 1 << 40)),
    "largest key": put("keys", edited(-1, (1 << 63) - 1)),
    "keys in disorder": put("keys", lambda a: a[::-1].copy()),
    "keys twice": put("keys", edited(1, 0)),
    "no keys": put("keys", lambda a: a[:0]),
    "a key more": put("keys", lambda a: np.append(a, a[-1] + 1)),
    "keys as floats": put("keys", lambda a: a.astype(np.float64)),
    "keys in a square": put("keys", lambda a: a.reshape(-1, 1)),
    "starts not from 0": put("starts", edited(0, 1)),
    "starts past the end": put("starts", edited(-1, 1 << 40)),
    "starts falling": put("starts", edited(1, 1 << 30)),
    "starts negative": put("starts", edited(1, -5)),
    "starts cut": put("starts", lambda a: a[:-1]),
    "no starts": put("starts", lambda a: a[:0]),
    "code past the column": put("codes", edited(0, 4_000_000_000)),
    "codes as bytes": put("codes", lambda a: a.astype(np.uint8)),
    "codes in disorder": put("codes", lambda a: a[::-1].copy()),
    "codes cut": put("codes", lambda a: a[:-1]),
    "weight nan": put("weights", edited(0, np.nan)),
    "weight infinite": put("weights", edited(0, np.inf)),
    "weight zero": put("weights", edited(0, 0)),
    "weight negative": put("weights", edited(0, -1)),
    "weights cut": put("weights", lambda a: a[:-1]),
    "weights as float32": put("weights", lambda a: a.astype(np.float32)),
    "weights too large to add": put("weights", lambda a: np.full_like(a, 1.7e308)),
    "tensor missing": lambda data, tensors: tensors.pop(f"{deepest(tensors)}.keys") is None,
    "tensor too many": lambda data, tensors: tensors.update(extra=np.zeros(3)),
    "no tensors": lambda data, tensors: tensors.clear(),
    **{
        f"{key} missing": without(key)
        for key in ("schema", "order", "parents", "smoothing", "fitted")
    },
    **{
        f"{key} is {value!r}": at(key, value=value)
        for key in ("schema", "order", "parents", "smoothing", "fitted")
        for value in (None, 3, "text", [], {}, [[[]]], True)
    },
    "smoothing negative": at("smoothing", 0, value=-1),
    "smoothing a word": at("smoothing", 0, value="much"),
    "smoothing infinite": at("smoothing", 0, value=float("inf")),
    "smoothing nan": at("smoothing", 0, value=float("nan")),
    "column twice in the order": at("order", 0, value="whole"),
    "unknown column in the order": at("order", 0, value="nobody"),
    "unknown parent": at("parents", -1, value=["nobody"]),
    "parent of itself": lambda data, tensors: data["parents"].__setitem__(-1, [data["order"][-1]]),
    "parent after its child": lambda data, tensors: data["parents"].__setitem__(
        0, [data["order"][-1]]
    ),
    "parents too few": lambda data, tensors: data["parents"].pop(),
    "parents gone": lambda data, tensors: data["parents"].__setitem__(-1, []),
    "parents in another order": lambda data, tensors: (
        [p.reverse() for p in data["parents"]] and None
    ),
    **{
        f"fitted without {key}": without("fitted", key)
        for key in ("label", "strengths", "fitness", "protection")
    },
    "fitted with more": at("fitted", "surprise", value=1),
    "strengths too many": lambda data, tensors: data["fitted"]["strengths"].append(0.1),
    "strengths as words": lambda data, tensors: data["fitted"].update(
        strengths=["a"] * len(data["fitted"]["strengths"])
    ),
    "fitness a word": at("fitted", "fitness", value="good"),
    "rows negative": at("fitted", "n_rows", value=-1),
    "label a list": at("fitted", "label", value=["flag"]),
    "label unknown": at("fitted", "label", value="nobody"),
    "sensitive a number": at("fitted", "sensitive", value=3),
    "sensitive unknown": at("fitted", "sensitive", value=["nobody"]),
    "method a list": at("fitted", "method", value=[]),
    "protection a word": at("fitted", "protection", value="yes"),
    "cuts with more": lambda data, tensors: data["fitted"]["protection"]["cuts"][0].update(more=1),
    "cuts as words": lambda data, tensors: data["fitted"]["protection"]["cuts"][0].update(
        information="much"
    ),
    "deep lists": at("fitted", "kept", value=nested(600)),
    "no columns": at("schema", "columns", value=[]),
    "columns as words": at("schema", "columns", value=["word"]),
    "a column less": lambda data, tensors: data["schema"]["columns"].pop() is None,
    "a column twice": lambda data, tensors: data["schema"]["columns"].append(
        data["schema"]["columns"][0]
    ),
    "column with more": at("schema", "columns", 1, "more", value=1),
    "column without kind": without("schema", "columns", 1, "kind"),
    "unknown kind": at("schema", "columns", 1, "kind", value="secret"),
    "unknown role": at("schema", "columns", 1, "role", value="spy"),
    "unknown type": at("schema", "columns", 1, "type", value="strinf"),
    "type a number": at("schema", "columns", 1, "type", value=7),
    "type of another kind": at("schema", "columns", 2, "type", value="string"),
    "bins a word": at("schema", "columns", 1, "bins", value="many"),
    "bins too many": at("schema", "columns", 1, "bins", value=10**9),
    "rare_below a word": at("schema", "rare_below", value="few"),
    "rare_below infinite": at("schema", "rare_below", value=float("inf")),
    "codec missing": at("schema", "columns", 1, "codec", value=None),
    "codec of no form": at("schema", "columns", 1, "codec", "form", value="pickle"),
    "codec a list": at("schema", "columns", 1, "codec", value=[]),
    "a level less": lambda data, tensors: (
        data["schema"]["columns"][1]["codec"]["levels"].pop() is None
    ),
    "levels in lists": lambda data, tensors: data["schema"]["columns"][1]["codec"].update(
        levels=[[1], [2], [3], [4]]
    ),
    "codec of another kind": lambda data, tensors: data["schema"]["columns"][2].update(
        codec=copy.deepcopy(data["schema"]["columns"][1]["codec"])
    ),
    "bins in disorder": lambda data, tensors: data["schema"]["columns"][2]["codec"][
        "starts"
    ].reverse(),
    "knots gone": lambda data, tensors: (
        data["schema"]["columns"][2]["codec"]["knots"].pop() is None
    ),
    "bin codes past the end": lambda data, tensors: data["schema"]["columns"][2]["codec"][
        "bin_codes"
    ].__setitem__(0, 10**6),
    "decimals beyond sense": at("schema", "columns", 3, "codec", "decimals", value=400),
    "step zero": at("schema", "columns", 2, "codec", "step", value=0),
    "step huge": at("schema", "columns", 2, "codec", "step", value=10**30),
    "a format that is no date": at("schema", "columns", 4, "format", value=["%Y"]),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_contents_are_refused(case, saved, tmp_path):
    path = rewritten(saved, tmp_path, HOSTILE[case])
    message = refused(path, "is damaged: its parts do not fit together")
    assert len(message) < 400


def test_the_hostile_files_differ_from_a_good_one_in_one_thing_only(saved, tmp_path, model):
    path = rewritten(saved, tmp_path, lambda data, tensors: None)
    assert load_model(path).sample(50, seed=1).data.equals(model.sample(50, seed=1).data)


def opens_or_is_refused(path: Path) -> bool:
    """Load a damaged file: a FileError, or a model that draws rows or says in words why not. Nothing else."""
    try:
        model = load_model(path)
    except chaffinch._base.errors.FileError:
        return False
    try:
        assert model.sample(20, seed=0).n_rows == 20
        model.to_dict()
        repr(model)
    except chaffinch._base.errors.ChaffinchError:
        pass
    return True


def flips(saved: Path, path: Path, seed: int, rounds: int) -> int:
    content, rng = saved.read_bytes(), np.random.default_rng(seed)
    opened = 0
    for _ in range(rounds):
        damaged = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        opened += opens_or_is_refused(path)
    return opened


def test_flipped_bits(saved, tmp_path):
    assert flips(saved, tmp_path / "f", 0, 400) < 400


@pytest.mark.slow
def test_many_flipped_bits(saved, tmp_path):
    assert flips(saved, tmp_path / "f", 1, 5000) < 5000


def test_truncated_files(saved, tmp_path):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    for length in {
        0,
        1,
        7,
        8,
        9,
        10,
        100,
        len(content) - 1,
        *rng.integers(0, len(content), 200).tolist(),
    }:
        (tmp_path / "t").write_bytes(content[:length])
        refused(tmp_path / "t")
    (tmp_path / "t").write_bytes(content + b"\0")
    refused(tmp_path / "t")


@given(st.binary(max_size=300))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_bytes(tmp_path, content):
    path = tmp_path / "r"
    path.write_bytes(content)
    refused(path)
    path.write_bytes(len(content).to_bytes(8, "little") + b"{" + content)
    refused(path)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)


def spots(data, path=()):
    """Return the way to every value in nested plain data, lists cut to their first entries."""
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data[:2])
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield (*path, key)
        yield from spots(value, (*path, key))


@given(st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_value_in_any_place_of_the_description(saved, tmp_path, data):
    def change(described, tensors):
        way = data.draw(st.sampled_from(sorted(spots(described), key=str)))
        at(*way, value=data.draw(PLAIN))(described, tensors)

    opens_or_is_refused(rewritten(saved, tmp_path, change))


def test_columns_of_other_types_survive(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    frame = pa.table(
        {
            "f32": pa.array(rng.normal(size=n), pa.float32()),
            "i8": pa.array(rng.integers(-100, 100, n), pa.int8()),
            "stamp": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s", "UTC")),
            "time": pa.array(rng.integers(0, 86_000, n).astype(np.int32)).cast(pa.time32("s")),
            "dec": pa.array([round(float(x), 2) for x in rng.random(n)]).cast(
                pa.decimal128(10, 2), safe=False
            ),
            "big": pa.array(rng.choice(["a", "b"], n).tolist(), pa.large_string()),
        }
    )
    model = BayesNet(conditionals="tables", parents=1).fit(chaffinch.read(frame), seed=0)
    model.save(tmp_path / "m")
    back = load_model(tmp_path / "m").sample(50, seed=1).data
    assert back.equals(model.sample(50, seed=1).data)
    assert back.schema.types == frame.schema.types


# Private models


@pytest.fixture(scope="module")
def declared():
    rng = np.random.default_rng(4)
    columns = (
        Column("word", "categorical", levels=("x", "y", "z")),
        Column("whole", "integer", bounds=(0, 99), bins=4),
        Column("flag", "boolean"),
    )
    frame = pa.table(
        {
            "word": rng.choice(["x", "y"], 200).tolist(),
            "whole": rng.integers(0, 100, 200),
            "flag": rng.random(200) < 0.3,
        }
    )
    return chaffinch.prepare(frame, Schema(columns, public=True, rows=200))


PROMISES = {
    "pure": PrivBayes(epsilon=2.0),
    "dpart": PrivBayes(epsilon=2.0, variant="dpart"),
    "zcdp": BayesNet(
        conditionals="tables", epsilon=2.0, delta=1e-6, label="flag", sensitive=("word",)
    ),
}


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("seed", [None, 1], ids=["release", "seeded"])
def test_the_account_of_a_private_model_survives(promise, seed, declared, tmp_path):
    model = PROMISES[promise].fit(declared, seed=seed)
    model.save(tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert back.fitted.privacy == model.fitted.privacy
    assert back.fitted.privacy.to_dict() == model.fitted.privacy.to_dict()
    assert back.to_dict() == model.to_dict()
    assert back.sample(100, seed=1).data.equals(model.sample(100, seed=1).data)
    assert back.fitted.privacy.rows == 200
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def described(path):
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as opened:
        return json.loads(opened.metadata()["chaffinch"])


def test_only_a_real_private_model_is_not_confidential(declared, model, tmp_path):
    real, seeded = (
        PrivBayes(epsilon=2.0).fit(declared),
        PrivBayes(epsilon=2.0).fit(declared, seed=1),
    )
    for made, confidential in ((real, False), (seeded, True), (model, True)):
        (tmp_path / "m").unlink(missing_ok=True)
        made.save(tmp_path / "m")
        assert made.confidential is confidential
        assert load_model(tmp_path / "m").confidential is confidential
        assert described(tmp_path / "m")["confidential"] is confidential
    assert "TEST ONLY, no privacy" in repr(seeded)
    assert "TEST ONLY" not in repr(real)
    assert "epsilon 2, replace one record" in repr(real)
    (tmp_path / "m").unlink()
    real.save(tmp_path / "m")
    for made in (seeded, model, real):  # what a budget was spent on stays
        with pytest.raises(chaffinch._base.errors.FileError, match="a privacy budget"):
            made.save(tmp_path / "m", overwrite=True)
    (tmp_path / "m").unlink()
    seeded.save(tmp_path / "m")
    with pytest.raises(chaffinch._base.errors.FileError, match="it exists"):
        model.save(tmp_path / "m")
    privacy = described(tmp_path / "m")["fitted"]["privacy"]
    assert privacy["test_only"] is True
    assert privacy["sentence"].startswith("TEST ONLY")
    assert privacy["noise_source"].startswith("seeded")
    assert "privacy" not in model.to_dict()


def test_what_the_flag_of_a_file_says_does_not_matter(declared, tmp_path):
    """Whether a model may be shown follows from its account: a flag that was changed by hand changes nothing."""
    PrivBayes(epsilon=2.0).fit(declared, seed=1).save(tmp_path / "m")
    path = rewritten(tmp_path / "m", tmp_path, at("confidential", value=False))
    assert load_model(path).confidential


DAMAGED = {
    "more epsilon spent than there is": at("fitted", "privacy", "epsilon", value=0.1),
    "no epsilon": at("fitted", "privacy", "epsilon", value=None),
    "epsilon zero": at("fitted", "privacy", "epsilon", value=0.0),
    "epsilon a word": at("fitted", "privacy", "epsilon", value="2.0"),
    "spent less than charged": at("fitted", "privacy", "spent", value=0.5),
    "a charge without cost": at("fitted", "privacy", "charges", 0, "epsilon", value=None),
    "a charge of less": at("fitted", "privacy", "charges", 0, "epsilon", value=1e-6),
    "a charge with more": at("fitted", "privacy", "charges", 0, "more", value=1),
    "no charges": at("fitted", "privacy", "charges", value=[]),
    "charges gone": without("fitted", "privacy", "charges"),
    "another relation": at("fitted", "privacy", "neighbours", value="none"),
    "rows of a person": at("fitted", "privacy", "rows_per_person", value=0),
    "test_only a word": at("fitted", "privacy", "test_only", value="no"),
    "test_only gone": without("fitted", "privacy", "test_only"),
    "rows negative": at("fitted", "privacy", "rows", value=-1),
    "rows guessed": at("fitted", "privacy", "rows_how", value="guessed"),
    "a field more": at("fitted", "privacy", "more", value=1),
    "a list": at("fitted", "privacy", value=[]),
    "true": at("fitted", "privacy", value=True),
    "deep lists": at("fitted", "privacy", "charges", value=nested(600)),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_account_is_refused(case, declared, tmp_path):
    PrivBayes(epsilon=2.0).fit(declared, seed=1).save(tmp_path / "m")
    refused(
        rewritten(tmp_path / "m", tmp_path, DAMAGED[case]),
        "is damaged: its parts do not fit together",
    )


def test_an_account_that_is_taken_out_takes_the_promise_along(declared, tmp_path):
    PrivBayes(epsilon=2.0).fit(declared).save(tmp_path / "m")
    back = load_model(rewritten(tmp_path / "m", tmp_path, at("fitted", "privacy", value=None)))
    assert back.fitted.privacy is None
    assert back.confidential


def test_a_private_model_holds_no_value_of_a_record(tmp_path):
    """Canaries: a word, a number and a person that only records have. None is in the bytes of the file."""
    columns = (
        Column("word", "categorical", levels=("x", "y"), other=True),
        Column("whole", "integer", bounds=(0, 99), bins=4),
        Column("who", "identifier"),
    )
    frame = pa.table(
        {
            "word": ["x", "y", "canaryword"] * 20,
            "whole": [1, 2, 8675309] * 20,
            "who": [f"canary{i}" for i in range(60)],
        }
    )
    table = chaffinch.prepare(frame, Schema(columns, public=True, rows=60))
    for settings_ in (
        PrivBayes(epsilon=1.0),
        BayesNet(conditionals="tables", epsilon=1.0, delta=1e-6),
    ):
        (tmp_path / "m").unlink(missing_ok=True)
        settings_.fit(table, seed=1).save(tmp_path / "m")
        content = (tmp_path / "m").read_bytes()
        for canary in (
            b"canary",
            b"8675309",
            np.int64(8675309).tobytes(),
            np.float64(8675309).tobytes(),
        ):
            assert canary not in content
