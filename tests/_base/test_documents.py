"""Files that people write: what is wrong is named, what came is not repeated, and values go to TOML and back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, model_validator

from chaffinch._base.checks import check_at_least
from chaffinch._base.documents import (
    check_head,
    parse_document,
    read_toml,
    toml_key,
    toml_value,
    validate_document,
)
from chaffinch.errors import FileError, InputError, SchemaError


class Rules(BaseModel, extra="forbid", strict=True):
    threshold: int
    kind: Literal["table", "mean"] = "table"

    @model_validator(mode="after")
    def _threshold_fits(self) -> Rules:
        check_at_least("threshold", self.threshold, 1)
        return self


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "here: 'threshold' is missing."),
        (
            {"treshold": 3},
            "here: Unknown key 'treshold'. Did you mean 'threshold'? Keys: threshold, kind.",
        ),
        (
            {"threshold": "secret"},
            "here: 'threshold' is not as it should be: input should be a valid integer.",
        ),
        ({"threshold": 0}, "here: threshold must be at least 1. Got 0."),
        (
            {"threshold": 3, "kind": "tabel"},
            "here: Unknown kind 'tabel'. Did you mean 'table'? Kinds: table, mean.",
        ),
        (
            "secret",
            "here: 'the whole' is not as it should be: input should be a valid dictionary or instance of rules.",
        ),
    ],
)
def test_the_first_fault_is_named(data: object, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        validate_document(Rules, data, "here", names={"kind": ("table", "mean")}, error=SchemaError)
    assert str(caught.value) == message


def test_other_keys_may_be_suggested() -> None:
    with pytest.raises(InputError, match=r"Keys: kind\.$"):
        validate_document(Rules, {"threshold": 3, "x": 1}, "here", keys=["kind"])


@pytest.mark.parametrize("syntax", ["TOML", "JSON"])
@pytest.mark.parametrize("text", ["{", "a = [" + "[" * 100_000, "[" * 100_000, "a = 2020-13-45"])
def test_text_that_cannot_be_parsed(text: str, syntax: Literal["TOML", "JSON"]) -> None:
    with pytest.raises(InputError, match=rf"^'f' is not valid {syntax}: [^\n]{{1,120}}\.$"):
        parse_document(text, "f", syntax=syntax)


def test_json_must_hold_an_object_of_numbers_that_are_some() -> None:
    with pytest.raises(InputError, match="must hold an object"):
        parse_document("[1]", "f", syntax="JSON")
    with pytest.raises(InputError, match="NaN is no number"):
        parse_document('{"a": NaN}', "f", syntax="JSON")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], 'no policy: it must say format = "p"'),
        ({"format": "p"}, "must have version = 1"),
        ({"format": "p", "version": True}, "must have version = 1"),
    ],
)
def test_heads(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_head(data, "'f'", what="policy", format_="p", version=1)
    check_head({"format": "p", "version": 1}, "'f'", what="policy", format_="p", version=1)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (file := tmp_path / "f.toml").write_text("a = 1\n")
    assert read_toml(file, what="policy", max_bytes=6, next_step="") == {"a": 1}
    with pytest.raises(FileError, match="no policy is that large"):
        read_toml(file, what="policy", max_bytes=5, next_step="")


@given(
    st.recursive(
        st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
        lambda values: st.lists(values, max_size=4),
        max_leaves=8,
    ),
    st.text(min_size=1),
)
def test_values_go_to_toml_and_back(value: object, key: str) -> None:
    text = f"{toml_key(key)} = {toml_value(value)}"
    assert parse_document(text, "f") == tomllib.loads(text) == {key: value}


def test_what_no_text_can_hold_is_replaced() -> None:
    assert toml_value("\ud800") == '"\\ufffd"'
    assert toml_value(Path("a b")) == '"a b"'
