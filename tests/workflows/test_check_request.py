"""What a check is asked about: files, documents and ACRO folders, before and after the records are known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import chaffinch
from chaffinch.errors import ChaffinchError, InputError
from chaffinch.outputs.check.settings import SourceSettings
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.records import TableCoder
from chaffinch.outputs.rules import Policy
from chaffinch.workflows.check_request import CheckRequest

ROOT = Path(__file__).resolve().parents[2]
CMC = ROOT / "examples" / "data" / "cmc.csv"
ACRO = ROOT / "tests" / "data" / "acro" / "cmc"
TABLE = {"name": "t", "kind": "table", "by": ["area", "ill"]}
DOCUMENT = {"format": "chaffinch-outputs", "version": 1, "outputs": [TABLE]}


@pytest.fixture
def coder():
    people = pd.DataFrame(
        {"area": ["north", "south"] * 15, "ill": ["no", "no", "yes"] * 10, "age": range(30)}
    )
    return TableCoder(chaffinch.read(people))


def test_an_acro_folder_by_its_path(tmp_path):
    folder = tmp_path / "acro"
    shutil.copytree(ACRO, folder)
    request = CheckRequest.read(folder)
    assert request.policy is not None
    assert request.policy.name == "ACRO"
    table = chaffinch.read(CMC, rare="keep")
    complete = request.of_data(TableCoder(table), ())
    assert "counts" in complete.ready.names
    assert complete.about("cmc.csv").acro == "1.0.2"
    assert [one.name for one in complete.about(None).skipped]


def test_columns_that_no_file_describes_have_the_levels_that_occur(coder, tmp_path):
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(DOCUMENT))
    for outputs in (DOCUMENT, file):
        request = CheckRequest.read(outputs, SourceSettings(rules=Policy(threshold=5)))
        assert request.recipes is None
        complete = request.of_data(coder, ("age",), threshold=5)
        fields = complete.ready.fields
        assert [(field.name, field.levels[:2]) for field in fields] == [
            ("area", ("north", "south")),
            ("ill", ("no", "yes")),
            ("age", (0, 1)),
        ]
        assert fields["area"].common == {"north", "south"}
        assert fields["age"].common == frozenset()
        assert fields.threshold == 5
        assert complete.policy == Policy(threshold=5)
        assert complete.by_recipe == ()
    assert complete.about("people.csv").outputs == "outputs.json"


def test_outputs_as_such_are_ready_at_once(coder):
    recipes = recipes_of(
        [TABLE], Fields((Field("area", ("north", "south")), Field("ill", ("no", "yes"))))
    )
    request = CheckRequest.read(recipes, SourceSettings(released=recipes))
    assert request.ready is recipes
    assert request.released_recipes is recipes
    assert request.of_data(coder, ()).ready is recipes
    assert request.about(None).outputs is None


def test_a_file_of_released_outputs_may_be_new(tmp_path):
    assert (
        CheckRequest.read(
            DOCUMENT, SourceSettings(released=tmp_path / "none.json", record=True)
        ).released.outputs
        == ()
    )
    with pytest.raises(chaffinch.errors.ChaffinchError, match="No such file"):
        CheckRequest.read(DOCUMENT, SourceSettings(released=tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("outputs", "options", "words"),
    [
        (3, {}, "The outputs must be a file of outputs.*Got int"),
        (
            DOCUMENT,
            {"recipes": "recipes.toml"},
            "--recipes is for an ACRO folder, and the outputs are none",
        ),
        (DOCUMENT, {"replace_readable": True}, "--replace-readable needs --recipes"),
    ],
)
def test_requests_that_cannot_be(outputs, options, words):
    with pytest.raises(InputError, match=words):
        CheckRequest.read(outputs, SourceSettings(**options))


def test_recipes_for_results_have_names(tmp_path):
    file = tmp_path / "recipes.json"
    file.write_text(json.dumps({**DOCUMENT, "outputs": [{"kind": "table", "by": ["area"]}]}))
    with pytest.raises(InputError, match="each named as the ACRO result that it describes"):
        CheckRequest.read(ACRO, SourceSettings(recipes=file))


def test_some_outputs_are_chosen_by_name():
    entries = [
        {"name": name, "kind": "table", "by": ["a"]} for name in ("one", "two, by sex", "three")
    ]
    document = {
        "format": "chaffinch-outputs",
        "version": 1,
        "outputs": [*entries, {"name": "broken", "kind": "nothing"}],
    }

    def chosen(**options):
        request = CheckRequest.read(document, SourceSettings(**options))
        return [one["name"] for one in request.document["outputs"]], request.not_asked

    assert chosen() == (["one", "two, by sex", "three", "broken"], ())
    assert chosen(only=["two, by sex"]) == (["two, by sex"], ("one", "three", "broken"))
    assert chosen(only=["three,one"]) == (["one", "three"], ("two, by sex", "broken"))
    assert chosen(exclude=["broken"]) == (["one", "two, by sex", "three"], ("broken",))
    for options, words in (
        ({"only": ["too"]}, "Unknown output 'too'"),
        ({"only": ["one"], "exclude": ["one"]}, "not both"),
        ({"exclude": ["one", "two, by sex", "three,broken"]}, "leaves no output"),
    ):
        with pytest.raises(ChaffinchError, match=words):
            CheckRequest.read(document, SourceSettings(**options))


def test_results_of_an_acro_folder_are_chosen_by_name(tmp_path):
    recipes = tmp_path / "recipes.toml"
    recipes.write_text('[[outputs]]\nname = "counts"\nkind = "table"\nby = ["a"]\n')
    request = CheckRequest.read(ACRO, SourceSettings(only=["counts", "olsr"], recipes=recipes))
    assert request.acro.uids == ("counts", "olsr")
    assert list(request.acro_recipes) == ["counts"]
    assert "rounded" in request.not_asked
    assert (
        CheckRequest.read(ACRO, SourceSettings(exclude=["counts"], recipes=recipes)).acro_recipes
        == {}
    )
