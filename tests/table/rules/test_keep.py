"""Rules of a table: said, refused where the schema says so, masked, and put on codes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import chaffinch
from chaffinch.cli.app import app
from chaffinch.counts.coded import coded_scan
from chaffinch.errors import SchemaError
from chaffinch.privacy.domain import declared_schema
from chaffinch.table import Column, Schema
from chaffinch.table.refit import SubsetReader
from chaffinch.table.rules.keep import check_functions, relation_groups, rules_broken_by
from chaffinch.table.schema import FunctionMap
from chaffinch.table.schema_file import schema_from_toml, schema_text

HEAD = 'format = "chaffinch-schema"\nversion = 1\n{more}rules = ["low <= high"]\n[columns]\nlow = {{ kind = "integer" }}\nhigh = {{ kind = "integer" }}\n'


def rows(n_wrong: int) -> pa.Table:
    low = np.arange(400) % 97
    return pa.table({"low": low, "high": low + np.where(np.arange(400) < n_wrong, -1, 2)})


@pytest.mark.parametrize(
    ("n_wrong", "said"),
    [(0, None), (3, "<10 of its records break"), (40, "40 of its records break")],
)
def test_records_that_break_rules_are_counted_and_masked(n_wrong, said):
    table = chaffinch.read(rows(n_wrong), schema_from_toml(HEAD.format(more="")))
    sentences = [note.sentence for note in table.notes if note.what == "rules"]
    assert sentences == (
        []
        if said is None
        else [f"{said} what the schema says of all: 'low <= high'. Drawn rows will not."]
    )
    assert rules_broken_by(table)["low <= high"].sum() == n_wrong
    assert not rules_broken_by(chaffinch.BayesNet().fit(table, seed=1).sample(1000, seed=1))[
        "low <= high"
    ].any()


def test_a_schema_may_refuse_them():
    strict = schema_from_toml(HEAD.format(more='broken_rules = "refuse"\n'))
    assert schema_from_toml(schema_text(strict)).broken_rules == "refuse"
    assert chaffinch.read(rows(0), strict).n_rows == 400
    with pytest.raises(
        SchemaError,
        match="<10 of the records break rules of the schema, which says broken_rules = \"refuse\": 'low <= high'",
    ):
        chaffinch.read(rows(3), strict)
    with pytest.raises(SchemaError, match="broken_rules"):
        schema_from_toml(HEAD.format(more='broken_rules = "maybe"\n'))


def test_found_rules_stand_in_the_file_and_deleted_ones_stay_deleted(tmp_path):
    table = chaffinch.read(
        pa.table(
            {
                "a": np.arange(300) % 50,
                "b": np.arange(300) % 7 * 3,
                "both": np.arange(300) % 50 + np.arange(300) % 7 * 3,
            }
        )
    )
    assert table.schema.rules == ("both = a + b",)
    assert "drawn rows too: 'both = a + b'" in str(table.notes[-1])
    text = schema_text(table.schema)
    assert '    "both = a + b",  # found: holds in all records' in text
    declared = schema_from_toml(text)
    assert declared.rules == ("both = a + b",)
    assert not declared.found_rules
    assert chaffinch.read(table.data, replace(declared, rules=())).schema.rules == ()


def test_columns_that_are_left_out_take_their_rules_along(tmp_path):
    table = chaffinch.read(rows(0))
    part = table[["low"]]
    wider = replace(table, schema=replace(table.schema, rules=("low <= high",)))
    model = chaffinch.BayesNet().fit(
        replace(part, schema=replace(part.schema, rules=("low <= high",))), seed=1
    )
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
    assert SubsetReader.from_table(table).read(np.arange(500)).schema.rules == ("total = a + b",)
    assert SubsetReader.from_table(table).read(np.arange(400, 600)).schema.rules == ()


def weights(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(1)
    before, change = rng.integers(40, 120, n), rng.integers(-9, 10, n)
    return pa.table(
        {
            "name": rng.choice(["Adler", "Berg", "Cohen", "Diaz"], n),
            "before": before,
            "change": change,
            "after": before + change,
        }
    )


def read_by(engine: str, source: object, schema: object) -> Schema:
    """The schema of a source as one of the engines fits it."""
    if engine == "memory":
        return chaffinch.read(source, schema).schema
    if engine == "stream":
        return chaffinch.scan(source, schema).schema
    with coded_scan(source, schema) as coded:
        return coded.schema


COMPLETE = {name: {"kind": "integer", "type": "int64"} for name in ("before", "change", "after")}


@pytest.mark.parametrize("engine", ["memory", "stream", "cache"])
@pytest.mark.parametrize(
    "declared",
    [
        {"name": "drop"},  # no column of it is modelled
        {"name": "fake"},
        {"name": "drop", "before": "key"},
        {"name": "drop", "before": {"bounds": [0, 200]}},
        {"name": "drop", **COMPLETE},
        Schema((Column("name", "identifier", "identifier"),)),
    ],
)
def test_rules_are_found_whatever_a_schema_says_of_columns(declared, engine, tmp_path):
    pq.write_table(weights(), tmp_path / "w.parquet")
    schema = read_by(engine, tmp_path / "w.parquet", declared)
    assert schema.rules == schema.found_rules == ("after = before + change",)
    assert '"after = before + change",  # found' in schema_text(schema)


@pytest.mark.parametrize("engine", ["memory", "stream", "cache"])
def test_rules_that_a_schema_states_are_as_stated_even_if_there_are_none(engine, tmp_path):
    pq.write_table(weights(), tmp_path / "w.parquet")
    head = 'format = "chaffinch-schema"\nversion = 1\nrules = {}\n[columns]\nname = "drop"\nbefore = "integer"\n'
    for rules in ([], ["before < 120"]):
        declared = schema_from_toml(head.format(rules))
        schema = read_by(engine, tmp_path / "w.parquet", declared)
        assert schema.rules == tuple(rules)
        assert schema.found_rules == ()
        assert schema_from_toml(schema_text(declared)).rules_stated


def test_a_file_says_that_none_was_found_and_is_then_as_it_says():
    table = chaffinch.read(pa.table({"a": np.arange(300) % 7, "b": np.arange(300) % 11}))
    text = schema_text(table.schema)
    assert "rules = []  # none was found" in text
    assert schema_from_toml(text).rules_stated
    assert "rules" not in schema_text(Schema((Column("a", "integer"),)))


def test_a_decision_about_a_name_leaves_rules_on_in_commands(tmp_path):
    pc.write_csv(weights(), tmp_path / "w.csv")
    for words in (["synth"], ["synth", "--engine", "stream"]):
        out = tmp_path / f"{len(words)}.csv"
        done = CliRunner().invoke(
            app,
            [
                *words,
                str(tmp_path / "w.csv"),
                "-o",
                str(out),
                "--personal",
                "name=drop",
                "--seed",
                "1",
            ],
        )
        assert done.exit_code == 0, done.output
        drawn = chaffinch.read(out).to_pandas()
        assert (drawn["after"] == drawn["before"] + drawn["change"]).all()


def test_a_panel_does_not_say_that_drawn_rows_keep_what_was_found():
    rng = np.random.default_rng(1)
    rows = weights().set_column(0, "pid", pa.array(np.repeat(np.arange(100), 3)))
    table = chaffinch.read(
        rows.append_column("wave", pa.array(rng.integers(1, 4, 300))), {"pid": "person"}
    )
    assert "after = before + change" in table.schema.found_rules
    assert "do not keep them yet" in str(table.notes[-1])
    assert table.person_of is not None


COLUMNS = (
    Column("a", "integer", bounds=(0, 9), bins=4, nullable=True),
    Column("b", "integer", bounds=(0, 9), bins=3),
    Column("c", "categorical", type="int64", levels=(0, 3, 7)),
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a <= b", lambda a, b, c: a <= b),
        ("a + 2 < b", lambda a, b, c: a + 2 < b),
        ("a = b + c", lambda a, b, c: a == b + c),
        ("b >= c", lambda a, b, c: b >= c),
        ("a = 0.5 * b", lambda a, b, c: abs(a - b / 2) <= 0.75),
    ],
)
def test_codes_may_occur_if_values_may(text, holds):
    schema = declared_schema(Schema(COLUMNS, public=True, rules=(text,)))
    (group,) = relation_groups(schema, ())
    possible = np.zeros([schema[name].size for name in group.columns], dtype=bool)
    for a, b, c in product(range(10), range(10), (0, 3, 7)):
        codes = {
            "a": int(schema["a"].codec.encode(np.array([a]))[0]),
            "b": int(schema["b"].codec.encode(np.array([b]))[0]),
            "c": [0, 3, 7].index(c),
        }
        if holds(a, b, c):
            possible[tuple(codes[name] for name in group.columns)] = True
    if "a" in group.columns:
        index = [slice(None)] * possible.ndim
        index[group.columns.index("a")] = schema["a"].codec.n_values
        possible[tuple(index)] = True  # a missing value leaves it open
    assert (group.allowed == possible).all()


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(SchemaError, match="No record can keep 'a > b \\+ 50': it contradicts"):
        relation_groups(
            declared_schema(
                Schema(
                    (*COLUMNS[1:], Column("a", "integer", bounds=(0, 9))),
                    public=True,
                    rules=("a > b + 50",),
                )
            ),
            (),
        )


def test_functions_have_no_number_that_few_share():
    """Values of 12 and of 5 records in one bin: the one that ten share stands, for the other the middle of the bin."""
    rng = np.random.default_rng(1)
    wide = rng.integers(1000, 9000, 4000)
    word = [f"w{i % 300}" for i in range(4000)]
    many = {"often": 4321, "seldom": 4567}
    words = [*word, *["often"] * 12, *["seldom"] * 5]
    value = [*[1000 + 7 * (i % 300) for i in range(4000)], *[4321] * 12, *[4567] * 5]
    table = chaffinch.read(
        pa.table({"word": words, "value": value, "x": [*wide, *rng.integers(0, 9, 17)]})
    )
    assert "word determines value" in table.schema.rules
    (function,) = table.schema.functions
    levels = table.schema["word"].codec.levels
    numbers = dict(zip(levels, function.numbers, strict=False))
    assert numbers["seldom"] not in (None, many["seldom"])
    assert numbers["often"] in (None, many["often"])
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(30_000, seed=1).data.to_pandas()
    assert (drawn.groupby("word")["value"].nunique() == 1).all()
    assert not (drawn["value"] == many["seldom"]).any()


def test_functions_of_strangers_are_checked():
    schema = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["p", "q"] * 30})).schema
    from dataclasses import replace

    check_functions(replace(schema, functions=(FunctionMap("a", "b", (0, 1), (None, None)),)))
    for codes, numbers in (((0,), (None,)), ((0, 9), (None, None)), ((0, 1), (3.0, None))):
        with pytest.raises(SchemaError, match="does not go with their codes"):
            check_functions(replace(schema, functions=(FunctionMap("a", "b", codes, numbers),)))
