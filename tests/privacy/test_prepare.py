"""The private door: no record can stop it, shape it or be named by it."""

from __future__ import annotations

import gzip
import json
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import PrivacyError
from chaffinch.privacy.domain import (
    check_declared,
    declared_column,
    declared_schema,
    missing_declarations,
)
from chaffinch.privacy.prepare import prepare
from chaffinch.table import Column, Schema, Table, schema_text
from chaffinch.table.schema_file import schema_from_toml

CANARY = "Zanzibar-7731"
FAR = 8_675_309_441

SCHEMA = schema_from_toml(
    """
format = "chaffinch-schema"
version = 1
public = true
line_breaks = true

[columns.id]
kind = "identifier"
[columns.age]
kind = "integer"
bounds = [0, 110]
bins = 11
missing = [999]
[columns.job]
kind = "categorical"
levels = ["baker", "smith"]
other = true
missing = ["NA"]
[columns.pay]
kind = "float"
bounds = [0, 1000]
bins = 4
atoms = [0]
nullable = true
[columns.born]
kind = "date"
format = "%d/%m/%Y"
bounds = [1900-01-01, 2020-12-31]
bins = 5
[columns.grade]
kind = "categorical"
levels = [10, 12]
[columns.ill]
kind = "boolean"
format = "yes/no"
nullable = true
"""
)
HEADER = "id,age,job,pay,born,grade,ill\n"
ROWS = [
    "1,34,baker,12.5,03/04/1980,10,yes",
    "2,50,smith,0,31/12/1999,12,no",
    "3,71,NA,999.99,01/01/1950,12,",
] * 3
ODD = {
    "extreme": f"9,{FAR},baker,{FAR}.5,03/04/1980,10,yes",
    "below": f"9,-{FAR},baker,-inf,01/01/0001,10,yes",
    "endless": f"9,{'9' * 400},baker,1e999,31/12/9999,10,yes",
    "new word": f"9,34,{CANARY},1.0,03/04/1980,77,maybe",
    "empty": ",,,,,,",
    "unparsable": f"x,{CANARY},{CANARY},{CANARY},{CANARY},{CANARY},{CANARY}",
    "fractions": "9,34.4,baker,1,03/04/1980,10.5,yes",
    "short": "9,34",
    "long": "9,34,baker,1,03/04/1980,10,yes,more,and,more",
    "quotes": '9,"34","ba""ker",1,03/04/1980,10,"y\nes"',
    "nan": "9,nan,nan,nan,nan,nan,nan",
    "missing code": "9,999,NA,0,03/04/1980,10,no",
    "wide": f'9,34,"{"w" * 100_000}",1,03/04/1980,10,no',
}


def written(folder, rows, name="d.csv", tail=b""):
    path = folder / name
    path.write_bytes((HEADER + "".join(row + "\n" for row in rows)).encode() + tail)
    return path


def shape(table):
    """All of a prepared table that a model or a file could carry besides codes."""
    schema = table.schema
    codecs = json.dumps([c.codec.to_dict() for c in schema.modelled])
    meta = (table.data.schema.metadata, [f.metadata for f in table.data.schema])
    return (
        schema,
        schema_text(schema),
        codecs,
        str(table.data.schema),
        meta,
        str(table.origin),
        table.notes,
    )


@pytest.mark.parametrize("odd", ODD)
def test_no_record_shows(odd, tmp_path, capfd, caplog):
    """Neighbours that differ in one odd record: same shape of everything, no word, no error, one row more."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = prepare(written(tmp_path, ROWS), SCHEMA)
        more = prepare(written(tmp_path, [*ROWS[:4], ODD[odd], *ROWS[4:]]), SCHEMA)
        other = prepare(written(tmp_path, [*ROWS[:4], ROWS[0], *ROWS[4:]]), SCHEMA)
    assert shape(plain) == shape(more) == shape(other)
    assert (plain.n_rows, more.n_rows) == (9, 10)
    assert more.codes.n_rows == 10
    # The codes of all other records are what they were: as sets of rows, since a ragged one comes last.
    rows = [
        sorted(zip(*(t.code(name).tolist() for name in t.schema.names), strict=True))
        for t in (plain, more)
    ]
    for row in rows[0]:
        rows[1].remove(row)
    assert len(rows[1]) == 1
    held = "".join(map(str, shape(more)))
    assert CANARY not in held
    assert str(FAR) not in held
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_invalid_bytes(tmp_path, capfd):
    for encoding in ("utf-8", "cp1252", "utf-8-sig"):
        plain = prepare(written(tmp_path, ROWS), SCHEMA, encoding=encoding)
        path = written(tmp_path, ROWS, tail=b"9,3\xff4,ba\x81ker\xe9,1,03/04/\x9d,1\xc30,y\xf0es\n")
        more = prepare(path, SCHEMA, encoding=encoding)
        assert shape(more) == shape(plain)
        assert [int(more.code(name)[-1]) for name in more.schema.names] == [0, 2, 1, 0, 0, 2]
        more.data.to_pylist()  # readable as text
    assert capfd.readouterr() == ("", "")


def test_hand_worked_codes(tmp_path):
    table = prepare(written(tmp_path, [ROWS[0], *ODD.values()]), SCHEMA)
    # Two rows are ragged and come last, so names after "fractions" move up by two.
    order = ["plain", *(name for name in ODD if name not in ("short", "long")), "short", "long"]
    codes = {
        name: dict(zip(order, table.code(name).tolist(), strict=True))
        for name in table.schema.names
    }
    # Ages: bins of 10 years, the last from 100 to 110, then the missing code. 34.4 is rounded; what is no number is the lowest bin.
    assert [codes["age"][k] for k in ("plain", "extreme", "below", "endless")] == [3, 10, 0, 10]
    assert [
        codes["age"][k]
        for k in ("fractions", "empty", "unparsable", "nan", "missing code", "short")
    ] == [
        3,
        0,
        0,
        0,
        11,
        0,
    ]
    # Jobs: baker, smith, (other), NA. Null goes to (other), for the column is not nullable.
    assert [
        codes["job"][k] for k in ("plain", "new word", "empty", "quotes", "missing code", "long")
    ] == [
        0,
        2,
        2,
        2,
        3,
        2,
    ]
    # Pay: the atom 0, four bins, null.
    assert [codes["pay"][k] for k in ("plain", "extreme", "below", "endless")] == [1, 4, 0, 4]
    assert [codes["pay"][k] for k in ("empty", "nan", "short", "missing code")] == [5, 5, 5, 0]
    assert [codes["born"][k] for k in ("plain", "below", "endless", "unparsable")] == [3, 0, 4, 0]
    # Grades: 10, 12 and nowhere else to go.
    assert [codes["grade"][k] for k in ("plain", "new word", "fractions", "unparsable")] == [
        0,
        0,
        0,
        0,
    ]
    assert [codes["ill"][k] for k in ("plain", "new word", "missing code", "empty", "quotes")] == [
        1,
        2,
        0,
        2,
        2,
    ]


def test_all_engines_give_the_same_codes(tmp_path):
    cells = {
        "age": [34.0, 50.4, None, 1e30, -5.0],
        "job": ["baker", "smith ", None, CANARY, "(other)"],
        "pay": [12.5, float("nan"), float("inf"), None, 0.0],
        "grade": [10, 12, 77, None, 12],
        "ill": [True, False, None, True, False],
    }
    schema = replace(SCHEMA, columns=tuple(c for c in SCHEMA if c.name in cells))
    table = pa.table(cells)
    objects = pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in cells.items()}
    )
    objects["ill"] = ["yes", "no", None, "True", "false"]
    mixed = objects.assign(age=["34", 50.4, [], 10**30, "-5"], grade=["10", 12.0, {}, None, "12.0"])
    pq.write_table(table, tmp_path / "d.parquet")
    with (
        pa.OSFile(str(tmp_path / "d.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    narrow = table.set_column(1, "job", table["job"].dictionary_encode())
    (tmp_path / "d.csv").write_text(
        "age,job,pay,grade,ill\n34,baker,12.5,10,yes\n50.4,smith ,nan,12.0,no\n,,inf,77,\n1e30,x,,,yes\n-5,(other),0,12,no\n"
    )
    with gzip.open(tmp_path / "d.csv.gz", "wb") as out:
        out.write((tmp_path / "d.csv").read_bytes())
    sources = [
        table,
        table.to_pandas(),
        pl.from_arrow(table),
        objects,
        mixed,
        narrow,
        narrow.to_pandas(),
        *(tmp_path / f"d.{ending}" for ending in ("parquet", "arrow", "csv", "csv.gz")),
    ]
    wanted = {
        "age": [3, 5, 0, 10, 0],
        "job": [0, 1, 2, 2, 2],
        "pay": [1, 5, 4, 5, 0],
        "grade": [0, 1, 0, 0, 1],
        "ill": [1, 0, 2, 1, 0],
    }
    for source in sources:
        found = prepare(source, schema)
        assert {name: found.code(name).tolist() for name in found.schema.names} == wanted, str(
            source
        )
        assert found.schema.sealed
        assert found.notes == ()


def test_stored_types_decide_alone():
    """A frame whose types have nothing to do with the schema: everything is missing, and nothing is raised."""
    n = 3
    frame = pa.table(
        {
            "age": pa.array([[1]] * n),
            "job": pa.array([b"baker", b"\xff", None]),
            "pay": pa.array([1, 2, 3], pa.duration("s")),
            "born": pa.array([0, 1, 2], pa.timestamp("ns", "UTC")),
            "grade": pa.array([True, False, True]),
            "ill": pa.array([1.0, 0.0, 7.0]),
            "id": pa.array([2**64 - 1] * n, pa.uint64()),
        }
    )
    found = prepare(frame, SCHEMA)
    codes = {name: found.code(name).tolist() for name in found.schema.names}
    assert codes == {
        "age": [0] * n,
        "job": [0, 2, 2],
        "pay": [5] * n,
        "born": [2] * n,
        "grade": [0] * n,
        "ill": [1, 0, 2],
    }
    big = prepare(frame.select(["id"]).rename_columns(["age"]), _only("age"))
    assert big.code("age").tolist() == [10] * n


def _only(*names):
    return replace(SCHEMA, columns=tuple(SCHEMA[name] for name in names))


@pytest.mark.parametrize("levels", [("10", "12"), (10, 12)])
@pytest.mark.parametrize(
    ("other", "nullable", "wanted"),
    [
        (False, False, [1, 0, 0]),
        (True, False, [1, 2, 2]),
        (False, True, [1, 2, 2]),
        (True, True, [1, 2, 3]),
    ],
)
def test_where_strangers_and_nulls_go(levels, other, nullable, wanted, tmp_path):
    """A level, a value that is none, and an empty cell: (other) first for the one, null first for the other."""
    column = Column("a", "categorical", levels=levels, other=other, nullable=nullable)
    (tmp_path / "d.csv").write_text("a\n12\n11\n\n")
    sources = [
        tmp_path / "d.csv",
        pa.table({"a": ["12", "11", None]}),
        pa.table({"a": [12, 11, None]}),
    ]
    for source in sources:
        assert prepare(source, Schema((column,), public=True)).code("a").tolist() == wanted
    if levels == (10, 12):  # a fraction is no whole number: as unreadable as a word
        for odd in ("10.5", 10.5, "x", float("nan"), float("inf")):
            assert (
                prepare(pa.table({"a": [odd]}), Schema((column,), public=True)).code("a").tolist()
                == wanted[2:]
            ), odd


def test_units_of_time_follow_the_declaration():
    column = Column("at", "datetime", type="timestamp[s]", bounds=(0.0, 86_400.0 * 10), bins=10)
    schema = Schema((column,), public=True)
    for unit in ("s", "ms", "us", "ns"):
        at = pa.array(np.array([0, 5, 9, 400], dtype="datetime64[D]").astype(f"datetime64[{unit}]"))
        found = prepare(pa.table({"at": at}), schema)
        assert found.code("at").tolist() == [0, 5, 9, 9]
        assert found.schema["at"].type == "timestamp[s]"
    words = prepare(
        pa.table({"at": ["1970-01-01", "1970-01-06T01:00:00+00:00", "9999-12-31", "soon"]}), schema
    )
    assert words.code("at").tolist() == [0, 5, 9, 0]


def test_no_rows_one_row_one_column(tmp_path):
    for text, n in (("job", 0), ("job\n", 0), ("job\nbaker\n", 1), ("job\nbaker\n\nsmith\n", 3)):
        (tmp_path / "one.csv").write_text(text)
        found = prepare(tmp_path / "one.csv", _only("job"))
        assert found.n_rows == found.codes.n_rows == n
        assert shape(found) == shape(prepare(tmp_path / "one.csv", _only("job")))
    assert prepare(written(tmp_path, []), SCHEMA).n_rows == 0
    assert prepare(written(tmp_path, ROWS[:1]), SCHEMA).n_rows == 1
    for frame in (
        pd.DataFrame({"job": []}),
        pa.table({"job": pa.array([], pa.string())}),
        pl.DataFrame({"job": []}),
    ):
        assert prepare(frame, _only("job")).n_rows == 0


def test_rows_in_many_blocks(tmp_path, monkeypatch):
    """Ragged rows are as many rows as before, whatever the blocks and threads; a row longer than a block is read."""
    from chaffinch.table.formats import delimited

    monkeypatch.setattr(delimited, "BLOCK_BYTES", 256)
    rows = [
        ODD["short"] if i % 7 == 0 else ODD["wide"] if i == 1000 else ROWS[i % 3]
        for i in range(3000)
    ]
    found = prepare(written(tmp_path, rows), SCHEMA)
    assert found.n_rows == 3000
    assert int((found.code("pay") == 5).sum()) == sum(i % 7 == 0 for i in range(3000))


def test_metadata_of_frames_is_left_behind():
    frame = pd.DataFrame({"age": [1, 2, 3], "ill": [True, False, True]})
    assert (
        b"stop" in pa.Table.from_pandas(frame).schema.metadata[b"pandas"]
    )  # what would tell the number of rows
    for source in (frame, pa.Table.from_pandas(frame)):
        assert prepare(source, _only("age", "ill")).data.schema.metadata is None
    found = prepare(frame, _only("age", "ill"))
    assert found.origin.dtypes == {
        "ill": pd.BooleanDtype()
    }  # nullable: plain bool could not hold what may be drawn
    for code in (2, 1):
        drawn = Table.from_codes(
            found.schema, [np.array([11, 3]), np.array([code, 1])], seed=1, like=found
        ).to_native()
        assert drawn["ill"].isna().tolist() == [code == 2, False]
        assert drawn.dtypes.tolist() == [np.dtype("int64"), pd.BooleanDtype()]


def test_a_table_is_coded_again_and_a_sealed_one_kept(tmp_path):
    path = written(tmp_path, ROWS)
    read = chaffinch.read(path, schema=SCHEMA)
    assert not read.schema.sealed
    sealed = prepare(path, SCHEMA)
    again = prepare(read, SCHEMA)
    named = prepare(replace(read, schema=replace(read.schema, public=True)))
    for name in sealed.schema.names:
        assert np.array_equal(again.code(name), sealed.code(name)), name
        assert np.array_equal(named.code(name), sealed.code(name)), name
    assert prepare(sealed) is sealed
    with pytest.raises(PrivacyError, match="public = true"):
        prepare(replace(read, schema=replace(read.schema, public=False)))


def test_the_refusal_lists_what_is_missing(tmp_path):
    columns = (
        Column("age", "integer"),
        Column("job", "categorical"),
        Column("pay", "float", discover=True),
        Column("town", "categorical", discover=True),
        Column("ill", "boolean"),
        Column("id", "identifier"),
    )
    schema = Schema(columns, public=True)
    with pytest.raises(PrivacyError) as caught:
        prepare(tmp_path / "adult.csv", schema)  # there is no such file: nothing is read
    assert str(caught.value) == (
        "A private fit needs a declared domain, and the schema lacks: age: bounds (or discover = true); job: levels (or discover = true). "
        f"Nothing was read from the data. `chaffinch schema {tmp_path / 'adult.csv'} --blank -o adult.toml` writes a schema to fill in; "
        'discover = "all" at its top has all found that is left open, at a price that --dry-run shows.'
    )
    assert missing_declarations(schema, delta=0.0)[2:] == [
        "town: levels (to discover them takes a delta above 0)"
    ]
    assert len(missing_declarations(schema, delta=1e-9)) == 2
    with pytest.raises(PrivacyError, match="public = true"):
        check_declared(replace(schema, public=False))
    with pytest.raises(PrivacyError, match="only identifiers"):
        check_declared(Schema((Column("id", "identifier"),), public=True))
    with pytest.raises(
        PrivacyError, match=r"not yet known\. pay: bounds; town: levels\. Discover them first"
    ):
        declared_schema(Schema(columns[2:], public=True))  # what was to be discovered was not


def test_names_are_public(tmp_path):
    path = written(tmp_path, ROWS)
    with pytest.raises(chaffinch.errors.UnknownNameError, match="'wage'"):
        prepare(path, replace(SCHEMA, columns=(*SCHEMA.columns, Column("wage", "boolean"))))
    with pytest.raises(chaffinch.errors.SchemaError, match=r"lacks columns.*ill"):
        prepare(path, replace(SCHEMA, columns=SCHEMA.columns[:-1]))
    (tmp_path / "d.sav").write_bytes(b"$FL2" + b"\0" * 200)
    with pytest.raises(chaffinch.errors.FileError, match="Save it as Parquet"):
        prepare(tmp_path / "d.sav", SCHEMA)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("a", "integer", bounds=(0.2, 1.7)), "fewer than two whole numbers"),
        (Column("a", "integer", bounds=(0, 1e30)), "beyond what its type can hold"),
        (Column("a", "date", type="date32", bounds=(0, 1e10)), "beyond what its type can hold"),
        (Column("a", "float", bounds=(-1e308, 1e308)), "beyond what its type can hold"),
        (Column("a", "float", type="bool", bounds=(0, 1)), "declared float and of type bool"),
        (Column("a", "boolean", type="int64"), "declared boolean and of type int64"),
    ],
)
def test_declarations_that_make_no_domain(column, says):
    with pytest.raises(PrivacyError, match=says):
        declared_column(column)


@pytest.mark.parametrize(
    "kind",
    [
        "double",
        "float",
        "halffloat",
        "decimal128(10, 2)",
        "decimal128(38, 38)",
        "decimal256(76, 4)",
    ],
)
@pytest.mark.parametrize("cell", ["9" * 310, "9" * 5000, "1e400", "1e30"])
def test_numbers_too_large_for_their_type(kind, cell, tmp_path, capfd):
    """They are clipped to the bounds, as all numbers beyond them are, and nothing is said of it."""
    column = Column("a", "float", type=kind, bounds=(-0.5, 0.5), bins=4, nullable=True)
    (tmp_path / "d.csv").write_text(f"a\n0.3\n{cell}\n-{cell}\nx\n\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = prepare(tmp_path / "d.csv", Schema((column,), public=True))
    assert found.code("a").tolist() == [3, 3, 0, 4, 4]
    assert str(found.data.schema.field("a").type) == kind
    assert capfd.readouterr() == ("", "")


def test_null_in_decimals_without_whole_digits():
    column = Column("a", "float", type="double", bounds=(0.0, 1.0), bins=2, nullable=True)
    values = pa.array([Decimal("0.75"), None], pa.decimal128(38, 38))
    assert prepare(pa.table({"a": values}), Schema((column,), public=True)).code("a").tolist() == [
        1,
        2,
    ]


bounds = st.tuples(st.integers(-1000, 1000), st.integers(1, 1000)).map(
    lambda b: (float(b[0]), float(b[0] + b[1]))
)


@given(bounds, st.integers(1, 40), st.booleans(), st.sampled_from(["quantile", "width"]))
@settings(deadline=None, max_examples=60)
def test_declared_bins_cover_their_bounds_evenly(ends, bins, whole, binning):
    """Against a plain loop: every value in the bounds has a bin, and what is drawn for a bin encodes to it."""
    column = declared_column(
        Column("a", "integer" if whole else "float", bounds=ends, bins=bins, binning=binning)
    )
    codec = column.codec
    values = np.arange(int(ends[0]), int(ends[1]) + 1) if whole else np.linspace(*ends, 500)
    codes = codec.encode(values)
    assert codec.size == (min(bins, len(values)) if whole else bins)
    assert codes[0] == 0
    assert codes[-1] == codec.size - 1
    width = (ends[1] - ends[0]) / bins
    for value, code in zip(values.tolist(), codes.tolist(), strict=True):
        if whole and bins >= len(values):
            assert code == value - ends[0]  # one bin for each value
        elif not whole:
            assert abs((value - ends[0]) / width - code - 0.5) <= 0.5 + 1e-6
    drawn = codec.decode(np.repeat(np.arange(codec.size), 20), np.random.default_rng(1))
    assert np.array_equal(codec.encode(drawn), np.repeat(np.arange(codec.size), 20))
    assert ends[0] <= drawn.min() <= drawn.max() <= ends[1]
    assert declared_column(column) == column


cells = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.binary(max_size=3),
    st.dates(),
)


@given(st.lists(st.tuples(cells, cells, cells, cells, cells, cells, cells), max_size=6))
@settings(deadline=None, max_examples=25)
def test_any_python_objects(rows):
    """Each row is coded as it is when it stands alone: no cell has a say in another's code."""
    frame = pd.DataFrame(rows, columns=[c.name for c in SCHEMA], dtype=object)
    found = prepare(frame, SCHEMA)
    assert found.n_rows == len(rows)
    for i in range(len(rows)):
        alone = prepare(frame.iloc[i : i + 1], SCHEMA)
        assert [alone.code(n)[0] for n in SCHEMA.names] == [found.code(n)[i] for n in SCHEMA.names]
        assert shape(alone) == shape(found)
