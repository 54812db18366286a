"""Rules of a table: said, refused where the schema says so, and masked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import SchemaError
from chaffinch.table.kept_rules import rules_broken_by
from chaffinch.table.reread import SubsetReader
from chaffinch.table.schema_file import schema_from_toml, schema_text

HEAD = 'format = "chaffinch-schema"\nversion = 1\n{more}rules = ["low <= high"]\n[columns]\nlow = {{ kind = "integer" }}\nhigh = {{ kind = "integer" }}\n'


def rows(n_wrong: int) -> pa.Table:
    low = np.arange(400) % 97
    return pa.table({"low": low, "high": low + np.where(np.arange(400) < n_wrong, -1, 2)})


@pytest.mark.parametrize(("n_wrong", "said"), [(0, None), (3, "<10 of its records break"), (40, "40 of its records break")])
def test_records_that_break_rules_are_counted_and_masked(n_wrong, said):
    table = chaffinch.read(rows(n_wrong), schema_from_toml(HEAD.format(more="")))
    sentences = [note.sentence for note in table.notes if note.what == "rules"]
    assert sentences == ([] if said is None else [f"{said} what the schema says of all: 'low <= high'. Drawn rows will not."])
    assert rules_broken_by(table)["low <= high"].sum() == n_wrong
    assert not rules_broken_by(chaffinch.BayesNet().fit(table, seed=1).sample(1000, seed=1))["low <= high"].any()


def test_a_schema_may_refuse_them():
    strict = schema_from_toml(HEAD.format(more='broken_rules = "refuse"\n'))
    assert schema_from_toml(schema_text(strict)).broken_rules == "refuse"
    assert chaffinch.read(rows(0), strict).n_rows == 400
    with pytest.raises(SchemaError, match='<10 of the records break rules of the schema, which says broken_rules = "refuse": \'low <= high\''):
        chaffinch.read(rows(3), strict)
    with pytest.raises(SchemaError, match="broken_rules"):
        schema_from_toml(HEAD.format(more='broken_rules = "maybe"\n'))


def test_found_rules_stand_in_the_file_and_deleted_ones_stay_deleted(tmp_path):
    table = chaffinch.read(pa.table({"a": np.arange(300) % 50, "b": np.arange(300) % 7 * 3, "both": np.arange(300) % 50 + np.arange(300) % 7 * 3}))
    assert table.schema.rules == ("both = a + b",)
    assert "drawn rows too: 'both = a + b'" in str(table.notes[-1])
    text = schema_text(table.schema)
    assert '    "both = a + b",  # found: holds in all records' in text
    declared = schema_from_toml(text)
    assert declared.rules == ("both = a + b",)
    assert not declared.found
    assert chaffinch.read(table.data, replace(declared, rules=())).schema.rules == ()


def test_columns_that_are_left_out_take_their_rules_along(tmp_path):
    table = chaffinch.read(rows(0))
    part = table[["low"]]
    wider = replace(table, schema=replace(table.schema, rules=("low <= high",)))
    model = chaffinch.BayesNet().fit(replace(part, schema=replace(part.schema, rules=("low <= high",))), seed=1)
    model.save(tmp_path / "m")
    assert chaffinch.load(tmp_path / "m").sample(5, seed=1).n_rows == 5
    assert rules_broken_by(wider)["low <= high"].sum() == 0


def test_a_subset_is_searched_for_its_own_rules():
    """A release of fewer people would find what they keep: shadows of it must too."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 99, 600), rng.integers(0, 99, 600)
    total = a + b
    total[599] += 1
    table = chaffinch.read(pa.table({"a": a, "b": b, "total": total}))
    assert table.schema.rules == ()
    assert SubsetReader.of(table).read(np.arange(500)).schema.rules == ("total = a + b",)
    assert SubsetReader.of(table).read(np.arange(400, 600)).schema.rules == ()
