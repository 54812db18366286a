"""Where outputs come from: files, documents and ACRO folders, before and after the records are known."""

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
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.records import TableCoder
from chaffinch.outputs.rules import Policy
from chaffinch.outputs.source import DataColumns, open_outputs, select_outputs

ROOT = Path(__file__).resolve().parents[2]
CMC = ROOT / "examples" / "data" / "cmc.csv"
ACRO = ROOT / "tests" / "data" / "acro" / "cmc"
TABLE = {"name": "t", "kind": "table", "by": ["area", "ill"]}
DOCUMENT = {"format": "chaffinch-outputs", "version": 1, "outputs": [TABLE]}
FIELDS = OutputDomain(
    (OutputColumn("area", ("north", "south")), OutputColumn("ill", ("no", "yes")))
)


@pytest.fixture
def coder():
    people = pd.DataFrame(
        {"area": ["north", "south"] * 15, "ill": ["no", "no", "yes"] * 10, "age": range(30)}
    )
    return TableCoder(chaffinch.read(people))


def test_an_acro_folder_by_its_path(tmp_path):
    folder = tmp_path / "acro"
    shutil.copytree(ACRO, folder)
    source = open_outputs(folder)
    assert source.policy.name == "ACRO"
    placed = source.place_on(DataColumns(TableCoder(chaffinch.read(CMC, rare="keep"))))
    assert "counts" in placed.recipes.names
    assert placed.of_results["counts"] == ("counts",)
    assert placed.about.acro == "1.0.2"
    assert [skipped.name for skipped in placed.about.skipped]


def test_columns_that_no_file_describes_have_the_levels_that_occur(coder, tmp_path):
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(DOCUMENT))
    for outputs, path in ((DOCUMENT, None), (file, file), ([file], file)):
        source = open_outputs(outputs)
        assert source.path == path
        assert source.policy == Policy()
        placed = source.place_on(DataColumns(coder, ("age",), threshold=5))
        fields = placed.recipes.fields
        assert [(field.name, field.levels[:2]) for field in fields] == [
            ("area", ("north", "south")),
            ("ill", ("no", "yes")),
            ("age", (0, 1)),
        ]
        assert fields["area"].common == {"north", "south"}
        assert fields["age"].common == frozenset()
        assert fields.threshold == 5
        assert placed.about.by_recipe == ()


def test_columns_that_are_declared_have_their_levels(coder):
    declared = (OutputColumn("area", ("east", "north", "south")),)
    placed = open_outputs(DOCUMENT).place_on(DataColumns(coder, declared=declared))
    assert [field.levels for field in placed.recipes.fields] == [
        ("east", "north", "south"),
        ("no", "yes"),
    ]


def test_recipes_are_placed_as_they_are(coder):
    recipes = recipes_of([TABLE], FIELDS)
    source = open_outputs(recipes)
    assert source.path is None
    for placed in (source.place_on(DataColumns(coder)), source.place_codes()):
        assert placed.recipes is recipes
    entries = [TABLE, {**TABLE, "name": "u"}]
    selected, left_out = select_outputs(open_outputs(recipes_of(entries, FIELDS)), ["u"])
    assert selected.place_codes().recipes.names == ("u",)
    assert left_out == ("t",)


@pytest.mark.parametrize("outputs", [recipes_of([], FIELDS), {**DOCUMENT, "outputs": []}])
def test_a_source_without_outputs(outputs, coder):
    with pytest.raises(InputError, match="The document has no outputs"):
        open_outputs(outputs).place_on(DataColumns(coder))


def test_what_each_source_can_be_asked(tmp_path):
    (tmp_path / "t.csv").write_text("sex,n\nf,12\nm,20\n")
    document, files, acro = (open_outputs(outputs) for outputs in (DOCUMENT, tmp_path, ACRO))
    recipes = open_outputs(recipes_of([TABLE], FIELDS))
    assert [output.name for output in files.place_printed().printed] == ["t.csv"]
    acro.check_write_back()
    for source in (document, recipes, acro):
        with pytest.raises(InputError, match="records behind the outputs are missing"):
            source.place_printed()
    for source in (document, files, acro):
        with pytest.raises(InputError, match="Codes as data need recipes"):
            source.place_codes()
    for source in (document, files, recipes):
        with pytest.raises(InputError, match=r"no results\.json"):
            source.check_write_back()


def test_objects_and_entries_are_a_document(coder):
    counts = pd.crosstab(coder.table.to_pandas()["area"], coder.table.to_pandas()["ill"])
    assert open_outputs([counts, TABLE]).names == ("output 1", "t")


@pytest.mark.parametrize(
    ("outputs", "options", "words"),
    [
        (3, {}, "The outputs must be a file of outputs.*Got int"),
        ([], {}, "The outputs must be a file of outputs.*Got list"),
        (
            DOCUMENT,
            {"recipes": "recipes.toml"},
            "--recipes is for an ACRO folder, and the outputs are none",
        ),
        (
            "outputs.toml",
            {"recipes": "recipes.toml"},
            "--recipes is for an ACRO folder, and 'outputs.toml' is a file of outputs",
        ),
        (["a.csv", "outputs.toml"], {}, "'outputs.toml' is a file of outputs, and stands among"),
    ],
)
def test_what_cannot_be_opened(outputs, options, words):
    with pytest.raises(InputError, match=words):
        open_outputs(outputs, **options)


def test_recipes_for_results_have_names(tmp_path):
    file = tmp_path / "recipes.json"
    file.write_text(json.dumps({**DOCUMENT, "outputs": [{"kind": "table", "by": ["area"]}]}))
    with pytest.raises(InputError, match="each named as the ACRO result that it describes"):
        open_outputs(ACRO, recipes=file)
    with pytest.raises(InputError, match="--replace-readable needs --recipes"):
        SourceSettings(replace_readable=True)


def test_some_outputs_are_selected_by_name():
    entries = [
        {"name": name, "kind": "table", "by": ["a"]} for name in ("one", "two, by sex", "three")
    ]
    source = open_outputs(
        {**DOCUMENT, "outputs": [*entries, {"name": "broken", "kind": "nothing"}]}
    )

    def selected(**options):
        source_of_some, left_out = select_outputs(source, **options)
        return [entry["name"] for entry in source_of_some.entries], left_out

    assert selected() == (["one", "two, by sex", "three", "broken"], ())
    assert selected(only=["two, by sex"]) == (["two, by sex"], ("one", "three", "broken"))
    assert selected(only=["three,one"]) == (["one", "three"], ("two, by sex", "broken"))
    assert selected(exclude=["broken"]) == (["one", "two, by sex", "three"], ("broken",))
    for options, words in (
        ({"only": ["too"]}, "Unknown output 'too'"),
        ({"exclude": ["one", "two, by sex", "three,broken"]}, "leaves no output"),
    ):
        with pytest.raises(ChaffinchError, match=words):
            selected(**options)
    with pytest.raises(ChaffinchError, match="not both"):
        SourceSettings(only=["one"], exclude=["one"])


def test_results_of_an_acro_folder_are_selected_by_name(tmp_path):
    recipes = tmp_path / "recipes.toml"
    recipes.write_text('[[outputs]]\nname = "counts"\nkind = "table"\nby = ["a"]\n')
    source = open_outputs(ACRO, recipes=recipes)
    selected, left_out = select_outputs(source, only=["counts", "olsr"])
    assert selected.directory.uids == selected.names == ("counts", "olsr")
    assert list(selected.recipes) == ["counts"]
    assert "rounded" in left_out
    assert select_outputs(source, exclude=["counts"])[0].recipes == {}
