"""The file of released outputs: hashes chain, and changes are noticed."""

import json

import pytest

from chaffinch._base.errors import FileError
from chaffinch.errors import InputError
from chaffinch.outputs.check.released import (
    ReleasedOutputs,
    read_released,
    recorded,
    write_released,
)
from chaffinch.outputs.domain import Field, Fields

FIELDS = Fields((Field("sex", ("f", "m")), Field("age", (0, 1, 2))))
FIRST = {"name": "by sex", "kind": "table", "by": ["sex"], "counts": [10, 20]}
SECOND = {"name": "by age", "kind": "table", "by": ["age"], "counts": [10, 10, 10]}
USED = {"by sex": ("sex",), "by age": ("age",)}


def test_outputs_are_chained_and_read_again(tmp_path):
    one = recorded(ReleasedOutputs(), [FIRST], FIELDS, used=USED, added="2026-01-31")
    two = recorded(one, [SECOND], FIELDS, used=USED, added="2026-02-01")
    assert two.outputs[1]["previous"] == one.head
    write_released(tmp_path / "r.json", two)
    again = read_released(tmp_path / "r.json")
    assert again.entries == [FIRST, SECOND]
    assert again.head == two.head
    assert {one["name"] for one in again.columns} == {"sex", "age"}


@pytest.mark.parametrize("change", ["count", "date", "order", "removed", "levels"])
def test_any_change_is_noticed(tmp_path, change):
    path = tmp_path / "r.json"
    write_released(path, recorded(ReleasedOutputs(), [FIRST, SECOND], FIELDS, used=USED))
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
    one = recorded(ReleasedOutputs(), [FIRST], FIELDS, used=USED)
    with pytest.raises(InputError, match="released already"):
        recorded(one, [FIRST], FIELDS, used=USED)
    other = Fields((Field("sex", ("m", "f")),))
    with pytest.raises(InputError, match="other levels"):
        recorded(one, [{**FIRST, "name": "again"}], other, used={"again": ("sex",)})


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
