"""The file of released outputs: hashes chain, and changes are noticed."""

import json

import pytest

from chaffinch._base.errors import FileError
from chaffinch.errors import InputError
from chaffinch.outputs.check.released import (
    ReleasedOutputs,
    read_released,
    write_released,
)
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain

FIELDS = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2))))
FIRST = {"name": "by sex", "kind": "table", "by": ["sex"], "counts": [10, 20]}
SECOND = {"name": "by age", "kind": "table", "by": ["age"], "counts": [10, 10, 10]}
USED = {"by sex": ("sex",), "by age": ("age",)}


def test_outputs_are_chained_and_read_again(tmp_path):
    one = ReleasedOutputs().including([FIRST], FIELDS, used=USED, added="2026-01-31")
    two = one.including([SECOND], FIELDS, used=USED, added="2026-02-01")
    assert two.outputs[1]["previous"] == one.head
    write_released(tmp_path / "r.json", two)
    again = read_released(tmp_path / "r.json")
    assert again.entries == [FIRST, SECOND]
    assert again.head == two.head
    assert again == two
    assert again.path == tmp_path / "r.json"
    assert {one["name"] for one in again.columns} == {"sex", "age"}


def test_what_was_released_comes_as_a_file_as_recipes_or_not_at_all(tmp_path):
    file = tmp_path / "r.json"
    assert not ReleasedOutputs.open(None)
    assert ReleasedOutputs.open(None).as_recipes(10) is None
    recipes = recipes_of([FIRST], FIELDS)
    given = ReleasedOutputs.open(recipes)
    assert given
    assert (given.path, given.fields, given.as_recipes(10)) == (None, (), recipes)
    new = ReleasedOutputs.open(file, may_be_new=True)
    assert not new
    assert (new.path, new.as_recipes(10)) == (file, None)
    with pytest.raises(FileError, match="No such file"):
        ReleasedOutputs.open(file)
    write_released(file, new.including([FIRST], FIELDS, used=USED))
    known = ReleasedOutputs.open(file, may_be_new=True)
    assert known
    assert [field.levels for field in known.fields] == [("f", "m")]
    assert known.as_recipes(5).fields.threshold == 5
    assert known.as_recipes(5).names == ("by sex",)


@pytest.mark.parametrize("change", ["count", "date", "order", "removed", "levels"])
def test_any_change_is_noticed(tmp_path, change):
    path = tmp_path / "r.json"
    write_released(path, ReleasedOutputs().including([FIRST, SECOND], FIELDS, used=USED))
    data = json.loads(path.read_text())
    if change == "count":
        data["outputs"][0]["output"]["counts"][0] = 11
    elif change == "date":
        data["outputs"][1]["added"] = "1999-01-01"
    elif change == "order":
        data["outputs"].reverse()
    elif change == "removed":
        del data["outputs"][0]
    else:
        data["columns"][0]["levels"] = ["f", "x"]
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="the file was changed"):
        read_released(path)


def test_the_same_name_and_other_levels_are_refused():
    one = ReleasedOutputs().including([FIRST], FIELDS, used=USED)
    with pytest.raises(InputError, match="released already"):
        one.including([FIRST], FIELDS, used=USED)
    other = OutputDomain((OutputColumn("sex", ("m", "f")),))
    with pytest.raises(InputError, match="other levels"):
        one.including([{**FIRST, "name": "again"}], other, used={"again": ("sex",)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "must hold an object"),
        ('{"format": "chaffinch-released", "version": 9}', "must have version = 1"),
    ],
)
def test_other_files_are_refused(tmp_path, text, words):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match=words):
        read_released(tmp_path / "r.json")
    with pytest.raises(FileError, match="No such file"):
        read_released(tmp_path / "none.json")
