"""A tree format is one place: a toy one, registered, is read, audited, pruned, written back and listed in help."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from chaffinch import trees
from chaffinch._base.errors import FileError, InputError
from chaffinch.cli.app import app
from chaffinch.trees import TREE_FORMATS, OpenedModel, TreeFormat
from chaffinch.trees.formats.format import is_ubjson, read_ubjson, strict_json
from chaffinch.trees.formats.plain import plain_ensemble, plain_text

MAGIC = b"%TREE\n"


class Forest:
    """A toy library's model: plain trees in an object."""

    def __init__(self, ensemble):
        self.ensemble = ensemble


@pytest.fixture
def toy():
    yield TREE_FORMATS.register(
        TreeFormat(
            "toy",
            "toy trees",
            ".toy",
            lambda file: file.data.startswith(MAGIC),
            lambda file: OpenedModel(
                "toy", plain_ensemble(file.data.removeprefix(MAGIC), name=file.name)
            ),
            lambda ensemble, model: MAGIC + plain_text(ensemble).encode(),
            accepts=lambda model: isinstance(model, Forest),
            trees=lambda model, features: model.ensemble,
            rebuild=lambda model, ensemble: Forest(ensemble),
        )
    )
    TREE_FORMATS.remove("toy")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3)).round(1)
    return trees.read_model(
        DecisionTreeClassifier(random_state=0).fit(
            x, (x[:, 0] + rng.normal(size=80) > 0).astype(int)
        )
    )


def test_a_registered_format_is_audited_and_pruned_by_the_command(toy, model, tmp_path):
    trees.write_model(tmp_path / "t.toy", model)
    assert trees.open_model(tmp_path / "t.toy").form == "toy"
    run = CliRunner()
    done = run.invoke(
        app, ["tree", "audit", str(tmp_path / "t.toy"), "--json", str(tmp_path / "a.json")]
    )
    assert done.exit_code == 1
    assert json.loads((tmp_path / "a.json").read_text())["form"] == "toy"
    done = run.invoke(
        app, ["tree", "prune", str(tmp_path / "t.toy"), "-o", str(tmp_path / "p.toy")]
    )
    assert done.exit_code == 0, done.output
    assert not trees.audit(tmp_path / "p.toy").exposed


def test_a_registered_object_is_audited_and_pruned(toy, model):
    assert trees.audit(Forest(model)).to_dict() == trees.audit(model).to_dict()
    pruned = trees.prune(Forest(model))
    assert isinstance(pruned.model, Forest)
    assert not trees.audit(pruned.model).exposed


def test_a_registered_format_is_in_the_help(toy):
    words = " ".join(
        CliRunner()
        .invoke(app, ["tree", "audit", "--help-all"], env={"COLUMNS": "250"})
        .output.split()
    )
    assert "a dump of XGBoost, toy trees." in words


def test_what_no_format_knows_is_named(model, tmp_path):
    (tmp_path / "t.toy").write_bytes(MAGIC + plain_text(model).encode())
    with pytest.raises(
        FileError, match=r"is no model that is read here: skops files .* a dump of XGBoost\."
    ):
        trees.open_model(tmp_path / "t.toy")
    with pytest.raises(InputError, match=r"must end in \.skops or \.json"):
        trees.write_model(tmp_path / "t.toy", model)
    with pytest.raises(InputError, match="Got Forest of "):
        trees.audit(Forest(model))
    with pytest.raises(InputError, match="Got list of builtins"):
        trees.prune([1, 2])


def test_a_pickle_is_refused_whatever_is_registered(tmp_path):
    every = TreeFormat(
        "all", recognise=lambda file: True, read=lambda file: pytest.fail("it was opened")
    )
    TREE_FORMATS.register(every)
    try:
        (tmp_path / "m.pkl").write_bytes(b"\x80\x04\x95....")
        with pytest.raises(FileError, match="is a pickle"):
            trees.open_model(tmp_path / "m.pkl")
    finally:
        TREE_FORMATS.remove("all")


# JSON from a stranger: what is not exactly JSON is refused, without a word of it.


@pytest.mark.parametrize(
    "text",
    [
        '{"secret": NaN}',
        '{"a": Infinity}',
        '{"secret": 1, "secret": 2}',
        "[" * 100_000,
        b"\xff",
        '{"secret"',
        "",
    ],
)
def test_what_is_not_exactly_json_is_refused(text):
    with pytest.raises(FileError, match="'m' is not sound JSON") as error:
        strict_json(text, name="m")
    assert "secret" not in str(error.value)


def test_json_is_read():
    assert strict_json(b'{"a": [1, null, 2.5]}', name="m") == {"a": [1, None, 2.5]}


MODELS = json.loads((Path(__file__).parent / "boosted_covers.json").read_text())
SAVED = base64.b64decode(MODELS["ubjson"])


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"{}", {}),
        (b"{U\x01aZi\x01bTN}"[:-2] + b"}", {"a": None, "b": True}),
        (b"{i\x01a[$U#i\x03\x01\x02\xff}", {"a": [1, 2, 255]}),
        (b"{i\x01a[$l#i\x01" + struct.pack(">i", -7) + b"}", {"a": [-7]}),
        (b"{i\x01a[#i\x02i\x05FN}"[:-2] + b"}", {"a": [5, False]}),
        (
            b"{i\x01a[d" + struct.pack(">f", 0.5) + b"D" + struct.pack(">d", -2.0) + b"]}",
            {"a": [0.5, -2.0]},
        ),
        (b"{i\x01aSI\x00\x02\xc3\xa9}", {"a": "é"}),
        (b"{#i\x01i\x01aCx", {"a": "x"}),
        (b"{i\x01a{i\x01bL" + struct.pack(">q", 1 << 40) + b"}}", {"a": {"b": 1 << 40}}),
    ],
)
def test_values(data, value):
    assert read_ubjson(data, name="m") == value


def test_a_saved_model_is_the_one_that_json_holds(tmp_path):
    model = read_ubjson(SAVED, name="m")
    same = MODELS["models"]["logistic"]["model"]["learner"]
    assert model["learner"]["learner_model_param"] == same["learner_model_param"]
    (tmp_path / "m.bin").write_bytes(SAVED)
    audit = trees.audit(tmp_path / "m.bin")
    assert (
        audit.to_dict()
        == trees.audit(trees.read_xgboost(MODELS["models"]["logistic"]["model"])).to_dict()
    )


@pytest.mark.parametrize(
    "damage",
    [
        b"{i\x01aX}",
        b"{i\x01ai\x01",
        b"{i\x05a}",
        b"{i\xffa}",
        b"{i\x01aZi\x01aZ}",
        b"{i\x01aZ}x",
        b"{i\x01a[$U#L" + struct.pack(">q", 1 << 60) + b"}",
        b"{i\x01a" * 100,
        b"{i\x01a[$U\x01]}",
        b"{i\x01aSi\x02\xff\xff}",
        b"{i\x01a[#i\x09Z}",
        b"{Sa}",
    ],
)
def test_damage_is_refused(damage):
    with pytest.raises(FileError, match="UBJSON"):
        read_ubjson(damage, name="m")


def test_every_truncation_of_a_model_is_refused(tmp_path):
    for cut in range(3, len(SAVED), 97):
        (tmp_path / "m.ubj").write_bytes(SAVED[:cut])
        with pytest.raises(FileError):
            trees.open_model(tmp_path / "m.ubj")


def test_json_is_not_taken_for_it():
    assert is_ubjson(SAVED)
    for text in (b'{"a": 1}', b"{}", b"{ }", b"{Infinity}", b"{L", b'{\n"a": 1}', b""):
        assert not is_ubjson(text)
