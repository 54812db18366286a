"""A tree format is one place: a toy one, registered, is read, audited, pruned, written back and listed in help."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from chaffinch import trees
from chaffinch._base.errors import FileError, InputError
from chaffinch.cli.app import app
from chaffinch.trees import TREE_FORMATS, OpenedModel, TreeFormat
from chaffinch.trees.formats.format import strict_json
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
        CliRunner().invoke(app, ["tree", "audit", "--help"], env={"COLUMNS": "250"}).output.split()
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
