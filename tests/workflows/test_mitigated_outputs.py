"""Mitigated outputs as files: only if they pass, never over anything, and nothing but what is published."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

import chaffinch
from chaffinch._base.errors import FileError, InputError
from chaffinch.outputs.cells import Frame
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.records import TableCoder
from chaffinch.workflows.check import table_of_output, write_mitigated

PEOPLE = pd.DataFrame(
    {
        "x": ["a"] * 60 + ["b"] * 50 + ["=c"] * 40,
        "y": (["u"] * 25 + ["v"] * 25) * 3,
        "z": ["one"] * 149 + ["rarest"],
    }
)
DOCUMENT = {
    "format": "chaffinch-outputs",
    "version": 1,
    "outputs": [
        {"name": "A table, x by y!", "kind": "table", "by": ["x", "y"], "margins": True},
        {"name": "kinds of z", "kind": "table", "by": ["x"], "where": "z == 'one'", "n": True},
    ],
}


def test_a_document_and_a_table_for_each_output(tmp_path):
    folder = tmp_path / "mended"
    small = PEOPLE.drop(index=list(range(30)))
    result = chaffinch.check(DOCUMENT, small, rules_only=True, mitigate=True, write=folder)
    assert not result.passed
    assert result.mitigation.passed
    left = [one.name for one in result.mitigated.outputs]
    slugs = {"A table, x by y!": "a-table-x-by-y", "kinds of z": "kinds-of-z"}
    assert sorted(path.name for path in folder.iterdir()) == [
        *(f"{k:02d}-{slugs[name]}.csv" for k, name in enumerate(left, 1)),
        "mitigated.json",
    ]
    document = json.loads((folder / "mitigated.json").read_text())
    assert "columns" not in document
    assert "rarest" not in (folder / "mitigated.json").read_text()
    again = chaffinch.check(
        document, small, rules_only=True
    )  # what was written, with its numbers, is checked once more
    assert again.passed
    assert all(one.consistent for one in again.outputs)


def test_nothing_is_written_where_nothing_was_mended_or_it_is_not_enough(tmp_path):
    fine = {**DOCUMENT, "outputs": [{"name": "t", "kind": "table", "by": ["x"]}]}
    folder = tmp_path / "mended"
    chaffinch.check(fine, PEOPLE, rules_only=True, mitigate=True, write=folder)
    assert not folder.exists()
    lost = {
        **DOCUMENT,
        "outputs": [{"name": "t", "kind": "table", "by": ["x"], "counts": [1, 2, 3]}],
    }
    chaffinch.check(lost, PEOPLE, rules_only=True, mitigate=True, write=folder)
    assert not folder.exists()


def test_what_does_not_pass_is_not_written(tmp_path):
    bad = {**DOCUMENT, "outputs": [{"name": "t", "kind": "table", "by": ["x", "z"]}]}
    result = chaffinch.check(bad, PEOPLE, rules_only=True)
    assert not result.passed
    folder = tmp_path / "mended"
    line = write_mitigated(
        folder, replace(result, mitigated=result), TableCoder(chaffinch.read(PEOPLE))
    )
    assert line == f"Nothing was written to {folder}: the mitigated outputs do not pass."
    assert not folder.exists()


def test_a_folder_that_exists_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(FileError, match="it exists"):
        chaffinch.check(
            DOCUMENT, "no such file.csv", rules_only=True, mitigate=True, write=tmp_path
        )
    with pytest.raises(InputError, match="add --mitigate"):
        chaffinch.check(DOCUMENT, PEOPLE, rules_only=True, write=tmp_path / "new")


def test_rows_of_a_table_and_of_other_outputs():
    fields = Fields((Field("x", ("a", "=b")), Field("v", (1, 2, 3))))
    entries = [
        {"name": "t", "kind": "table", "by": ["x"], "margins": True, "counts": [12, "?", 30]},
        {"name": "q", "kind": "quantiles", "of": "v", "at": [0.25, 0.5], "values": [1, 2], "n": 30},
    ]
    table, quantiles = recipes_of(entries, fields).outputs
    frame = Frame(fields, 30)
    assert list(table_of_output(table, frame)) == [
        ["x", "counts"],
        ["a", 12],
        ["'=b", "x"],
        ["All", 30],
    ]
    rows = list(table_of_output(quantiles, frame))
    assert rows[0] == ["what", "name", "number"]
    assert rows[-1] == ["n", "", 30]
    assert [row[2] for row in rows[1:-1]] == [1, 2]
