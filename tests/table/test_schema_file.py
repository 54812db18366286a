"""Schema files: what is written can be read, edited and fuzzed."""

from __future__ import annotations

import random
import stat
import tomllib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.cli.app import app
from chaffinch.table import Column, Schema, schema_text
from chaffinch.table.schema_file import CASES, blank_text, schema_from_toml

HEAD = 'format = "chaffinch-schema"\nversion = 1\n'


@pytest.mark.parametrize(
    "name",
    ["adult_train.parquet", "cmc.csv", "caesarian.csv", "diabetes.csv", "cardio_binned.parquet"],
)
def test_an_inferred_schema_reads_back_and_gives_the_same_codes(name, data, tmp_path):
    table = chaffinch.read(data / name)
    path = tmp_path / "s.toml"
    chaffinch.write_schema(table.schema, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert "onfidential" in text
    assert all(column.reason in text for column in table.schema)
    again = chaffinch.read(data / name, schema=path)
    for column in table.schema.names:
        assert np.array_equal(table.code(column), again.code(column)), column


def test_what_people_write(tmp_path):
    (tmp_path / "d.csv").write_text(
        "age,sex,score,visit,weight\n"
        + "".join(
            f"{20 + i % 60},{'fm'[i % 2]},{i % 11 * 0.5},201{i % 10}-03-01,{1 + i % 3}\n"
            for i in range(200)
        )
    )
    schema = schema_from_toml(
        HEAD
        + """
        [columns.age]
        kind = "integer"
        role = "key"
        bounds = [0, 110]
        bins = 10
        binning = "width"
        [columns.sex]
        kind = "categorical"
        levels = ["m", "f", "x"]
        labels = { m = "male", f = "female" }
        [columns.score]
        kind = "float"
        edges = [0, 2.5, 6.0]
        decimals = 1
        [columns.visit]
        kind = "date"
        format = "%Y-%m-%d"
        bounds = [2005-01-01, 2025-12-31]
        [columns.weight]
        kind = "integer"
        role = "weight"
        """
    )
    table = chaffinch.read(tmp_path / "d.csv", schema=schema)
    assert table.schema["age"].codec.size == 10
    assert table.schema["sex"].codec.levels == (
        "m",
        "f",
        "x",
    )  # declared levels are kept, also those without records
    assert table.schema["score"].codec.size == 2
    assert table.schema["visit"].bounds == (12784.0, 20453.0)
    assert table.schema.with_role("weight") == ("weight",)
    assert schema_from_toml(schema_text(schema)).columns == schema.columns


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must say format"),
        ("format = 3", "must say format"),
        ('format = "chaffinch-schema"\nversion = 9', "must have version = 1"),
        (HEAD, "'columns' is missing"),
        (HEAD + '[columns.a]\nkind = "intger"\n', "Did you mean 'integer'"),
        (HEAD + '[columns.a]\nkind = "integer"\nrole = "target"\n', "Unknown role 'target'"),
        (
            HEAD + '[columns.a]\nkind = "integer"\nbin = 3\n',
            "Unknown key 'bin'. Did you mean 'bins'",
        ),
        (HEAD + '[columns.a]\nkind = "integer"\nbins = 0\n', "bins must lie between 1 and 10,000"),
        (HEAD + '[columns.a]\nkind = "integer"\nbins = "many"\n', "column 'a': 'bins'"),
        (HEAD + '[columns.a]\nkind = "integer"\nbounds = [5, 1]\n', "low below high"),
        (HEAD + '[columns.a]\nkind = "integer"\nbounds = [5]\n', "column 'a': 'bounds'"),
        (HEAD + '[columns.a]\nkind = "integer"\nbounds = [1, inf]\n', "column 'a': 'bounds'"),
        (
            HEAD + '[columns.a]\nkind = "integer"\nbounds = [2001-01-01, 2002-01-01]\n',
            "a date stands where a number belongs",
        ),
        (HEAD + '[columns.a]\nkind = "float"\nedges = [1, 1]\n', "edges must rise"),
        (HEAD + '[columns.a]\nkind = "float"\nbinning = "edges"\n', "edges go with binning"),
        (HEAD + '[columns.a]\nkind = "float"\nlevels = [1]\n', "levels belong to a categorical"),
        (
            HEAD + '[columns.a]\nkind = "categorical"\nlevels = ["x", "x"]\n',
            "levels must be distinct",
        ),
        (
            HEAD + '[columns.a]\nkind = "categorical"\nlevels = ["x"]\nmissing = ["x"]\n',
            "in levels and in missing",
        ),
        (HEAD + '[columns.a]\nkind = "float"\ntype = "complex"\n', "Unknown type 'complex'"),
        (
            HEAD
            + '[columns.a]\nkind = "float"\nrole = "label"\n[columns.b]\nkind = "float"\nrole = "label"\n',
            "Only one column",
        ),
        (HEAD + '[columns.""]\nkind = "float"\n', "needs a name"),
        (HEAD + "[columns.a\n", "not valid TOML"),
        (HEAD + 'rare_below = -1\n[columns.a]\nkind = "float"\n', "rare_below must be"),
        (HEAD + 'rows = -1\n[columns.a]\nkind = "float"\n', "rows must be at least 0"),
        (HEAD + 'rows = 1.5\n[columns.a]\nkind = "float"\n', "'rows' is not as it should be"),
        (HEAD + 'rows = true\n[columns.a]\nkind = "float"\n', "'rows' is not as it should be"),
        (HEAD + 'public = "yes"\n[columns.a]\nkind = "float"\n', "'public' is not as it should be"),
        (HEAD + 'sealed = true\n[columns.a]\nkind = "float"\n', "Unknown key 'sealed'"),
        (HEAD + '[columns.a]\nkind = "float"\ndiscover = 1\n', "column 'a': 'discover'"),
    ],
)
def test_faults_are_named(text, says):
    with pytest.raises(chaffinch.errors.InputError, match=None) as caught:
        schema_from_toml(text, name="s.toml")
    assert says in str(caught.value)


def test_what_a_private_fit_needs_round_trips():
    schema = Schema(
        (Column("a", "categorical", discover=True), Column("b", "boolean", type="bool")),
        3,
        True,
        48842,
    )
    text = schema_text(replace(schema, sealed=True))
    assert "onfidential:" not in text
    assert "sealed" not in text
    back = schema_from_toml(text)
    assert (back.public, back.rows, back["a"].discover, back["b"].discover) == (
        True,
        48842,
        True,
        False,
    )
    assert not back.sealed
    plain = schema_text(Schema(schema.columns[1:]))
    assert not any(word in plain for word in ("public", "rows =", "discover"))
    assert schema_from_toml(plain).rows is None
    assert schema_from_toml(schema_text(replace(schema, rows=0))).rows == 0


def test_reading_never_seals(data):
    read = chaffinch.read(data / "cmc.csv")
    assert not read.schema.sealed
    assert not chaffinch.read(
        data / "cmc.csv", schema=Schema(tuple(replace(c, codec=None) for c in read.schema))
    ).schema.sealed


def test_a_schema_names_columns_that_there_are(data):
    schema = chaffinch.read(data / "cmc.csv").schema
    fewer = Schema(tuple(replace(c, codec=None) for c in schema.columns[1:]))
    assert chaffinch.read(data / "cmc.csv", schema=fewer).schema == schema  # the first is inferred
    with pytest.raises(
        chaffinch.errors.SchemaError, match=r"The schema lacks columns of .*wife_age"
    ):
        chaffinch.read(
            data / "cmc.csv", schema=Schema(schema.columns[1:])
        )  # a fitted schema is taken as it is
    wrong = Schema(
        (*(replace(c, codec=None) for c in schema.columns), Column("wife_agee", "integer"))
    )
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Did you mean 'wife_age'"):
        chaffinch.read(data / "cmc.csv", schema=wrong)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("a", "categorical", levels=("x",)), "outside its declared levels"),
        (Column("a", "integer", type="int64"), "is declared"),
        (Column("a", "boolean", levels=(False, True)), "declared boolean, but holds"),
    ],
)
def test_values_outside_the_schema(column, says):
    frame = pa.table({"a": ["x", "y"] * 20, "b": ["p", "q"] * 20})
    with pytest.raises(chaffinch.errors.SchemaError, match=says):
        chaffinch.read(frame, schema=Schema((column, Column("b", "categorical"))))
    if column.levels == ("x",):
        table = chaffinch.read(
            frame, schema=Schema((replace(column, other=True), Column("b", "categorical")))
        )
        assert table.code("a").tolist() == [0, 1] * 20


def test_missing_values_that_the_schema_does_not_allow():
    frame = pa.table({"a": ["x", None] * 20, "b": ["p", "q"] * 20})
    with pytest.raises(chaffinch.errors.SchemaError, match="Add nullable = true"):
        chaffinch.read(
            frame, schema=Schema((Column("a", "categorical"), Column("b", "categorical")))
        )


names = st.text(min_size=1, max_size=12).filter(
    lambda s: s.strip() and not any(0xD800 <= ord(c) <= 0xDFFF for c in s)
)

codes = st.text(max_size=8).filter(
    lambda s: not any(0xD800 <= ord(c) <= 0xDFFF for c in s)
) | st.integers(-(2**62), 2**62)


@st.composite
def any_columns(draw):
    kind = draw(st.sampled_from(["categorical", "integer", "float", "identifier", "text"]))
    more = {}
    if kind == "categorical":
        levels = draw(st.lists(codes, min_size=1, max_size=4, unique_by=lambda c: (type(c), c)))
        more = {
            "levels": tuple(levels),
            "other": draw(st.booleans()),
            "ordered": draw(st.booleans()),
        }
    if kind == "float":
        edges = sorted(draw(st.sets(st.floats(-1e300, 1e300), min_size=2, max_size=5)))
        more = {"edges": tuple(edges), "binning": "edges", "decimals": draw(st.integers(0, 9))}
    if kind == "integer":
        more = {
            "bins": draw(st.integers(1, 99)),
            "bounds": (draw(st.integers(-99, 0)) * 1.0, draw(st.integers(1, 99)) * 1.0),
        }
    role = (
        "identifier"
        if kind == "identifier"
        else draw(st.sampled_from(["key", "other", "sensitive"]))
    )
    return Column(
        draw(names), kind, role, title=draw(st.text(alphabet='äb"\\\n\t#', max_size=5)), **more
    )


@given(st.lists(any_columns(), min_size=1, max_size=5, unique_by=lambda c: c.name))
@settings(max_examples=100, deadline=None)
def test_text_round_trips_whatever_the_schema(columns):
    schema = Schema(tuple(columns))
    back = schema_from_toml(schema_text(schema))
    assert [replace(c, type="") for c in back] == [replace(c, type="") for c in schema]


def test_fuzzed_schema_files_give_clear_errors_only(data, tmp_path):
    """2,000 damaged copies of a real schema: each is read, or refused with our own error."""
    text = schema_text(chaffinch.read(data / "cmc.csv").schema)
    rng = random.Random(1)
    pieces = [
        "[",
        "]",
        "=",
        '"',
        "\\",
        "nan",
        "inf",
        "\x00",
        "1e999",
        "{",
        "}}",
        "[[",
        "true",
        "-1",
        "9" * 40,
        "\n",
        "2001-01-01",
    ]
    refused = 0
    for _ in range(2000):
        damaged = list(text)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(damaged))
            action = rng.random()
            if action < 0.4:
                damaged[at] = rng.choice(pieces)
            elif action < 0.7:
                del damaged[at : at + rng.randint(1, 40)]
            else:
                damaged.insert(at, rng.choice(pieces))
        try:
            schema_from_toml("".join(damaged))
        except chaffinch.errors.ChaffinchError:
            refused += 1
    assert refused > 1000


def test_unreadable_schema_files(tmp_path):
    with pytest.raises(chaffinch.errors.FileError, match="No such file"):
        chaffinch.read_schema(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(chaffinch.errors.FileError, match="not UTF-8"):
        chaffinch.read_schema(tmp_path / "latin.toml")
    (tmp_path / "bad.json").write_text("{" * 5000)
    with pytest.raises(chaffinch.errors.SchemaError, match="not valid JSON"):
        chaffinch.read_schema(tmp_path / "bad.json")
    with pytest.raises(chaffinch.errors.FileError):
        chaffinch.read_schema(tmp_path)


def blank(path):
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["schema", str(path), "--blank"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_holds_names_and_types_only(tmp_path):
    path = tmp_path / "d.csv"
    texts = []
    for rows in ("1,x\n2,y\n", "", "99999,canary\n,\n3\n1,2,3\n", "\udcff,\udcfe\n"):
        path.write_bytes(("age,my job\n" + rows).encode("utf-8", "surrogateescape"))
        texts.append(blank(path))
    assert len(set(texts)) == 1
    schema = schema_from_toml(texts[0], name="d.toml")
    assert not schema.public
    assert [(column.name, column.lacks) for column in schema] == [
        ("age", "kind"),
        ("my job", "kind"),
    ]
    with pytest.raises(
        chaffinch.errors.PrivacyError,
        match=r"lacks: public = true .*; age: a kind.*; my job: a kind",
    ):
        chaffinch.prepare(path, schema)
    path.write_text("age,my job\n1,x\n2,y\n")
    assert [column.kind for column in chaffinch.read(path, schema).schema] == [
        "integer",
        "categorical",
    ]  # without a promise they are inferred


def test_it_proposes_the_kinds_that_types_settle(tmp_path):
    at = pa.array([0], pa.timestamp("us"))
    table = pa.table(
        {
            "i": [1],
            "f": [0.5],
            "b": [True],
            "d": at.cast(pa.date32()),
            "t": at,
            "w": ["canary"],
            "l": [[1]],
        }
    )
    texts = []
    for rows in (table, table.slice(0, 0), pa.concat_tables([table, table])):
        pq.write_table(rows, tmp_path / "d.parquet")
        texts.append(blank(tmp_path / "d.parquet"))
    assert len(set(texts)) == 1
    assert "canary" not in texts[0]
    kinds = ["integer", "float", "boolean", "date", "datetime", "unknown", "unknown"]
    assert [column.kind for column in schema_from_toml(texts[0])] == kinds
    assert texts[0].count("type = ") == 1  # where the stored type is not the usual one
    assert 'type = "timestamp[us]" keeps it, else timestamp[s]' in texts[0]


def test_a_line_a_column_and_identifiers_by_name():
    names = ["Nachname", "age", "record_id", "id", 'a "b"\n', "paid", "case"]
    text = blank_text(dict.fromkeys(names))
    assert len(text.partition("[columns]\n")[2].splitlines()) == len(names)
    kinds = {column.name: column.kind for column in schema_from_toml(text)}
    assert [name for name in names if kinds[name] == "identifier"] == [
        "Nachname",
        "record_id",
        "id",
    ]


def test_what_stands_in_comments_holds_when_it_is_taken_out_of_them():
    columns = [f"c{i} = {case}" for i, (case, _) in enumerate(CASES)]
    head = blank_text({"x": None}).partition("[columns]")[0]
    schema = schema_from_toml(
        head.replace("# public", "public").replace("# rows", "rows")
        + "[columns]\n"
        + "\n".join(columns)
    )
    assert (schema.public, schema.rows) == (True, 1000)
    assert [c.kind for c in schema] == [
        "integer",
        "float",
        "date",
        "categorical",
        "boolean",
        "identifier",
        "categorical",
    ]
    assert schema["c3"].other
    every = schema_from_toml(
        head.replace("# discover", "discover") + "[columns]\nx = {}\ny = { levels = [1, 2] }\n"
    )
    assert [c.discover for c in every] == [True, False]
    assert tomllib.loads(head)["version"] == 1


def test_a_text_file_with_a_decimal_sign():
    text = blank_text({"pay": None, "surname": None}, decimal=",")
    assert 'pay = { decimal = "," }' in text
    assert text.count("decimal") == 1
