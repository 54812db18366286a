"""Files of outputs: what is read, and the message for every way to get it wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chaffinch._base.errors import FileError, InputError, UnknownNameError
from chaffinch.outputs.document import Outputs, read_outputs

HEAD = {"format": "chaffinch-outputs", "version": 1, "rows": 10}
SEX = {"name": "sex", "levels": ["f", "m"]}
AGE = {"name": "age", "from": 0, "to": 1, "step": 0.1}
TABLE = {"name": "t", "kind": "table", "by": ["sex"], "counts": [4, 6]}


def spec_of(**changes: Any) -> Outputs:
    return Outputs.from_dict({**HEAD, "columns": [SEX, AGE], "outputs": [TABLE], **changes})


def test_columns() -> None:
    spec = spec_of(
        columns=[
            SEX,
            AGE,
            {"name": "n", "from": 0, "to": 5, "step": 2},
            {"name": "b", "levels": [False, True], "weights": [1, 3]},
        ]
    )
    assert spec.columns.names == ("sex", "age", "n", "b")
    assert spec.fields["age"].levels == (
        0.0,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
    )  # no 0.30000000000000004
    assert spec.fields["n"].levels == (0, 2, 4)
    assert spec.columns.every[3].chances.tolist() == [0.25, 0.75]
    assert not spec.fields["b"].numeric


def test_equations_know_their_output() -> None:
    spec = spec_of(
        outputs=[
            {**TABLE, "where": "age > 0.5", "n": 10},
            {"kind": "mean", "of": "age", "value": 0.5},
        ]
    )
    assert [output.name for output in spec.problem().outputs] == ["t", "t: n", "mean 2"]
    assert spec.source("t: n") is spec.outputs[0]
    assert spec.source("mean 2").kind == "mean"
    assert [one.output.name for one in spec.compiled()] == ["t", "mean 2"]
    with pytest.raises(UnknownNameError, match="Unknown equation set"):
        spec.source("u")


def test_rows_may_come_later() -> None:
    spec = Outputs.from_dict(
        {"format": "chaffinch-outputs", "version": 1, "columns": [SEX], "outputs": [TABLE]}
    )
    assert len(spec.problem(rows=10).outputs) == 1
    with pytest.raises(InputError, match="The number of rows is missing"):
        spec.problem()
    with pytest.raises(InputError, match="at least 1"):
        spec.problem(rows=0)
    assert "rows" not in spec.to_dict()


def test_there_and_back() -> None:
    spec = spec_of(columns=[SEX, {**AGE, "weights": [1.0] * 11, "fixed": True}])
    again = Outputs.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again.to_dict() == spec.to_dict()
    assert again.fields == spec.fields


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "x"}, 'must say format = "chaffinch-outputs"'),
        ({"version": 2}, "must have version = 1"),
        ({"version": True}, "must have version = 1"),
        ({"rows": "ten"}, "'rows' is not as it should be"),
        ({"rows": 0}, "'rows' is not as it should be"),
        ({"colums": []}, "Unknown key 'colums'. Did you mean 'columns'"),
        ({"columns": []}, "at least one column"),
        ({"columns": [SEX, SEX]}, "different names"),
        ({"columns": [{"name": "sex"}]}, "Column 'sex' must have levels, or from and to"),
        ({"columns": [{"name": "sex", "levels": []}]}, "at least one level"),
        ({"columns": [{"name": "sex", "levels": ["f", "f"]}]}, "each of its levels once"),
        ({"columns": [{"name": "sex", "levels": ["f", 1]}]}, "mixes words and numbers"),
        ({"columns": [{"name": "sex", "levels": [2, 1]}]}, "must rise"),
        (
            {"columns": [{"name": "sex", "levels": ["f", "m"], "weights": [1]}]},
            "one finite number for each",
        ),
        ({"columns": [{"name": "a", "from": 0, "to": 1e9}]}, "over 1000000"),
        ({"columns": [{"name": "a", "from": 1, "to": 0}]}, "`to` must be at least `from`"),
        (
            {"columns": [{"name": "a", "level": ["f"]}]},
            "column 'a': Unknown key 'level'. Did you mean 'levels'",
        ),
        ({"columns": [{"levels": ["f"]}]}, "column 1: 'name' is missing"),
        ({"outputs": []}, "no outputs to reproduce"),
        ({"outputs": [{"name": "t"}]}, "output 't': 'kind' is missing. Kinds: table"),
        (
            {"outputs": [{"name": "t", "kind": "tabel"}]},
            "output 't': Unknown kind 'tabel'. Did you mean 'table'",
        ),
        (
            {"outputs": [{**TABLE, "count": [1]}]},
            "output 't': Unknown key 'count'. Did you mean 'counts'",
        ),
        ({"outputs": [{"kind": "table", "counts": [1]}]}, "output 1: 'by' is missing"),
        ({"outputs": [{**TABLE, "n": -1}]}, "'n' is not as it should be"),
        ({"outputs": [{**TABLE, "n": 2.5}]}, "'n' is not as it should be"),
        ({"outputs": [{**TABLE, "decimals": 99}]}, "'decimals' is not as it should be"),
        ({"outputs": [TABLE, TABLE]}, "Two are called 't'"),
        (
            {"outputs": [{**TABLE, "where": "agee > 0"}]},
            "filter of output 't': Unknown column 'agee'",
        ),
        (
            {"outputs": [{**TABLE, "by": ["agee"]}]},
            "Output 't': Unknown column 'agee'. Did you mean 'age'",
        ),
        (
            {"outputs": [{"name": "m", "kind": "mean", "of": "sex", "value": 1}]},
            "Output 'm': Column 'sex' has words",
        ),
    ],
)
def test_bad_files(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec_of(**changes).problem()


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(
        "\ufeff" + json.dumps({**HEAD, "columns": [SEX], "outputs": [TABLE]}), encoding="utf-8"
    )
    assert read_outputs(file, numbers="required").rows == 10
    for text, message in (
        ("{", "not valid JSON"),
        ("a = ", "not valid TOML"),
        ('{"a": NaN}', "not valid JSON: NaN is no number"),
        ("[" * 9999, "not valid TOML"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_outputs(file, numbers="required")
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FileError, match="not UTF-8"):
        read_outputs(file, numbers="required")
    with pytest.raises(FileError, match="No such file"):
        read_outputs(tmp_path / "none.toml", numbers="required")
    with pytest.raises(FileError, match="Cannot read"):
        read_outputs(tmp_path, numbers="required")


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.outputs.document.MOST_BYTES", 10)
    file = tmp_path / "a.toml"
    file.write_text("format = 'x'  # long", encoding="utf-8")
    with pytest.raises(FileError, match="no description of outputs is that large"):
        read_outputs(file, numbers="required")
