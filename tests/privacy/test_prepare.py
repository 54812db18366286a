"""The private door: no record can stop it, shape it or be named by it."""

from __future__ import annotations

import datetime
import gzip
import json
import warnings
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import FileError, PrivacyError
from chaffinch.privacy.domain import (
    check_declared,
    declared_column,
    declared_schema,
    missing_declarations,
)
from chaffinch.privacy.ledger import account_from_dict
from chaffinch.privacy.prepare import declared_values, in_type, keep_rows, prepare
from chaffinch.privacy.project import create_project, open_project
from chaffinch.privacy.relation import PrivacyUnit
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


def plain_loop(ids, most):
    """A second opinion: count as one goes."""
    seen, kept = {}, []
    for row, person in enumerate(ids):
        seen[person] = seen.get(person, 0) + 1
        if person is None or seen[person] <= most:
            kept.append(row)
    return kept


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_small_table_and_each_of_its_neighbours(most):
    """All sequences of up to five rows of two persons and null: as the loop says, and m-stable when a person leaves."""
    for n in range(6):
        for ids in product(["a", "b", None], repeat=n):
            kept = keep_rows(pa.array(ids, pa.string()), most).tolist()
            assert kept == plain_loop(ids, most)
            for person in ("a", "b"):
                others = [row for row, each in enumerate(ids) if each != person]
                without = [
                    others[row]
                    for row in keep_rows(pa.array([ids[row] for row in others], pa.string()), most)
                ]
                gone = set(kept) - set(without)
                assert set(without) <= set(kept)
                assert len(gone) <= most
                assert all(ids[row] == person for row in gone)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([7, 8, 7, 7, None, None]),
        pa.array([7.0, 8.0, 7.0, 7.0, float("nan"), None]),
        pa.array(["7", "8", " 7", "7 ", "", None]),
        pa.array(["7", "8", "7", "7", None, None]).dictionary_encode(),
        pa.chunked_array([["7", "8"], ["7", "7", None, None]]),
        pa.array([b"\xff", b"8", b"\xff", b"\xff", None, None]).cast(pa.binary()),
        pa.array([7, 8, 7, 7, None, None], pa.timestamp("s")),
        [7, 8, 7, 7, None, None],
        np.array([7.0, 8.0, 7.0, 7.0, np.nan, np.nan]),
    ],
)
def test_ids_of_any_type(ids):
    assert keep_rows(ids, 2).tolist() == [0, 1, 2, 4, 5]
    assert keep_rows(ids, 1).tolist() == [0, 1, 4, 5]


def test_nobody_and_bad_settings():
    assert keep_rows(pa.array([], pa.string()), 1).tolist() == []
    for most in (0, -1, True, 1.5):
        with pytest.raises(
            chaffinch.errors.InputError, match="rows_per_person must be a whole number"
        ):
            keep_rows(["a"], most)


PERSONS_SCHEMA = Schema(
    (Column("who", "categorical"), Column("ill", "boolean", nullable=True)), public=True
)


def test_prepare_keeps_m_rows_and_drops_the_id(tmp_path):
    text = "who,ill\nann,true\nbob,false\nann,false\nann,true\n,true\n,false\nbob\nann,true,true\n"
    (tmp_path / "d.csv").write_text(text)
    for most, codes in ((1, [1, 0, 1, 0]), (2, [1, 0, 0, 1, 0])):
        table = prepare(tmp_path / "d.csv", PERSONS_SCHEMA, person="who", rows_per_person=most)
        # Rows of the wrong length have no known person and are left out; rows without an id are persons of their own.
        assert table.code("ill").tolist() == codes
        assert table.schema.names == ("ill",)
        assert table.schema["who"].kind == "identifier"
    frame = pd.DataFrame({"who": [1, 2, 1, 1], "ill": [True, False, False, True]})
    table = prepare(frame, PERSONS_SCHEMA, person="who", rows_per_person=2)
    assert table.code("ill").tolist() == [1, 0, 0]
    fewer = prepare(table, person="who", rows_per_person=1)  # a sealed table is bounded too
    assert fewer.code("ill").tolist() == [1, 0]
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'whom'"):
        prepare(frame, PERSONS_SCHEMA, person="whom")


# Identifiers that are no text


FILES = {
    "utf-8": (b"\xff", b"\xfe"),
    "utf-8-sig": (b"p\xc3", b"p\xc4"),
    "cp1252": (b"\x81", b"\x8d"),
    "ascii": (b"caf\xe9", b"caf\xe8"),
    "shift_jis": (b"\x80", b"\xa0"),
    "utf-16-le": (b"\x00\xd8", b"\x01\xd8"),
    "utf-16-be": (b"\xd8\x00", b"\xd8\x01"),
}
OBJECTS = {
    "bytes": (b"\xff", b"\xfe"),
    "half characters": ("\ud800", "\ud801"),
    "one as it would be replaced": ("a\ud800", "a?"),
    "bytes and the mark of what is no text": (b"a\xff", "a\ufffd"),
}
PERSONS = Schema(
    (Column("who", "identifier"), Column("a", "categorical", levels=("x", "y"))), public=True
)


def changed_rows(tables):
    """Return how many rows two tables differ in."""
    one, other = (Counter(table.code("a").tolist()) for table in tables)
    return (one - other).total() + (other - one).total()


@pytest.mark.parametrize("encoding", FILES)
def test_persons_in_a_text_file_that_differ_in_bytes_that_are_no_text(encoding, tmp_path):
    """As one person they would share two rows; take one of them away, and two come and two go: twice what is promised."""
    first, second = FILES[encoding]
    plain = encoding.removesuffix("-sig")

    def prepared(*lines):
        text = b"".join(who + f",{a}\n".encode(plain) for who, a in lines)
        (tmp_path / "in.csv").write_bytes("who,a\n".encode(encoding) + text)
        return prepare(
            tmp_path / "in.csv", PERSONS, person="who", rows_per_person=2, encoding=encoding
        )

    others = [(second, "y")] * 3
    tables = [prepared(*[(first, "x")] * 3, *others), prepared(*others)]
    assert [t.n_rows for t in tables] == [4, 2]
    assert changed_rows(tables) == 2


@pytest.mark.parametrize("name", OBJECTS)
def test_persons_in_objects_that_differ_in_what_is_no_text(name):
    first, second = OBJECTS[name]

    def prepared(*rows):
        frame = {
            "who": pd.Series([who for who, _ in rows], dtype=object),
            "a": [a for _, a in rows],
        }
        return prepare(pd.DataFrame(frame), PERSONS, person="who", rows_per_person=2)

    others = [(second, "y")] * 3
    assert changed_rows([prepared(*[(first, "x")] * 3, *others), prepared(*others)]) == 2


def test_a_header_that_is_no_text_is_named_and_no_record_is_read(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"who,caf\xe9\n1,x\n")
    with pytest.raises(FileError, match=r"is not utf-8, .*Pass its encoding"):
        prepare(tmp_path / "in.csv", PERSONS)


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal32(5, 1),
        pa.decimal64(9, 1),
        pa.decimal128(9, 1),
        pa.decimal256(50, 1),
        pa.float16(),
    ],
    ids=str,
)
def test_numbers_of_any_width_tell_persons_apart(kind):
    values = (
        np.array([1, 1, 2, 1], dtype=np.float16)
        if kind == pa.float16()
        else [Decimal(n) for n in (1, 1, 2, 1)]
    )
    assert keep_rows(pa.array(values, kind), 2).tolist() == [0, 1, 2]


def test_characters_that_stand_for_bytes_inside_are_characters_all_the_same(tmp_path):
    """The last 257 characters of Unicode: each is itself, and none is the byte that it would stand for."""
    high = [chr(code) for code in range(0x10FEFF, 0x110000)]
    words = [
        *(c.encode() for c in high),
        *(bytes([b]) for b in range(0x80, 256)),
        *(h.encode() * 2 for h in high[:3]),
    ]
    (tmp_path / "in.csv").write_bytes(b"who,a\n" + b"".join(word + b",x\n" for word in words))
    table = prepare(tmp_path / "in.csv", PERSONS, person="who")
    assert table.n_rows == len(words)
    assert table.data.column("who").to_pylist() == [
        word.decode("utf-8", "replace") for word in words
    ]


def test_with_an_identifier_the_promise_is_for_a_person_and_for_no_record():
    """By brute force, over all tables of four rows of two persons: without a person at most one count changes; without a record two may."""
    by_person, by_record = 0, 0
    for cells in product(product("ab", "xyz"), repeat=4):
        kept = _kept_counts(cells)
        for who in "ab":
            by_person = max(
                by_person, _distance(kept, _kept_counts([cell for cell in cells if cell[0] != who]))
            )
        for i in range(4):
            by_record = max(by_record, _distance(kept, _kept_counts(cells[:i] + cells[i + 1 :])))
    unit = PrivacyUnit("add-remove").for_persons(1)
    assert (by_person, by_record) == (unit.l1, 2)
    assert unit.description == "add or remove one person (at most 1 row each)"
    assert PrivacyUnit("add-remove").for_persons(0) == PrivacyUnit("add-remove")


def _kept_counts(cells):
    return (
        Counter(cells[row][1] for row in keep_rows([who for who, _ in cells], 1))
        if cells
        else Counter()
    )


def _distance(one, other):
    return sum(((one - other) + (other - one)).values())


def test_every_surface_says_the_unit_that_holds(tmp_path):
    """The account, its sentence, the plan and a project ledger, for a table with an identifier of which one row of each person is kept."""
    rows = pa.table({"who": [f"p{i // 2}" for i in range(60)], "sex": ["f", "m", "m"] * 20})
    schema = chaffinch.Schema(
        (
            chaffinch.Column("who", "identifier", role="person"),
            chaffinch.Column("sex", "categorical", levels=("f", "m")),
        ),
        public=True,
    )
    prepared = chaffinch.prepare(rows, schema)
    settings = chaffinch.BayesNet(epsilon=1.0)
    account = settings.fit(prepared, seed=1).privacy
    words = "add or remove one person (at most 1 row each)"
    for told in (
        account.unit.description,
        account.to_dict()["relation"],
        replace(account, test_only=False).sentence,
        settings.plan(prepared.schema).unit.description,
    ):
        assert words in told
    assert account_from_dict(account.to_dict()).unit == account.unit
    project = create_project(tmp_path / "ledger.json", epsilon=5.0, delta=None, data="d")
    after = project.spend(settings.plan(prepared.schema), "first")
    assert after.totals.unit.description == words
    assert open_project(tmp_path / "ledger.json").totals.unit.description == words


AGE = Column("age", "integer", type="int64", bounds=(0, 120))
DAY = Column("day", "date", type="date32", bounds=(0, 20_000))
ILL = Column("ill", "boolean", type="bool")


@pytest.mark.parametrize(
    ("column", "cells", "values"),
    [
        (AGE, pa.array(["7", " 8 ", "x", "", "9.0", None]), [7, 8, None, None, 9, None]),
        (AGE, pa.array([7.0, 8.0, None]), [7, 8, None]),
        (AGE, pa.array([b"7", b"\xff"]), [7, None]),
        (DAY, pa.array(["2020-01-02", "yesterday"]), [datetime.date(2020, 1, 2), None]),
        (DAY, pa.array([datetime.datetime(2020, 1, 2, 3, 4)]), [datetime.date(2020, 1, 2)]),
        (ILL, pa.array(["true", "False", "perhaps"]), [True, False, None]),
    ],
)
def test_cells_become_values_or_null(column, cells, values):
    assert declared_values(column, cells, blank=True)[0].to_pylist() == values


@pytest.mark.parametrize("spelled", ["", "%Y-%m-%dT%H:%M:%S%:z"])
def test_moments_in_a_zone_are_the_same_instants_however_they_are_stored(spelled):
    noon = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    column = Column(
        "seen", "datetime", type="timestamp[s, tz=+02:00]", bounds=(0, 2e9), format=spelled
    )
    for cells in (
        pa.array([noon.isoformat()]),
        pa.array([noon], pa.timestamp("us", tz="UTC")),
        pa.array([noon], pa.timestamp("ms", tz="-05:00")),
    ):
        assert declared_values(column, cells, blank=True)[0].to_pylist() == [noon]


def test_no_cell_changes_anothers_value():
    """The second opinion: each cell read alone gives what it gives among the others."""
    cells = [
        "1",
        "2.5",
        "-3",
        "1e2",
        "99999999999999999999999",
        "1,5",
        "nan",
        "0x10",
        " 4",
        "seven",
        "٣",
    ]
    together = declared_values(AGE, pa.array(cells), blank=True)[0].to_pylist()
    assert together == [
        declared_values(AGE, pa.array([cell]), blank=True)[0][0].as_py() for cell in cells
    ]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(
            [
                "2001-01-01T23:59:59.999999999",
                "0001-01-01T00:00:01",
                "9999-12-31T23:59:59.999999",
                "x",
            ]
        ),
        pa.array(
            [
                datetime.datetime(2001, 1, 1, 23, 59, 59, 999_999),
                datetime.datetime(1, 1, 1, 0, 0, 1),
                datetime.datetime(9999, 12, 31, 23),
                None,
            ]
        ),
        pa.Array.from_buffers(
            pa.date64(),
            4,
            [
                pa.py_buffer(b"\x07"),
                pa.array([978_393_599_999, -62_135_596_799_000, 253_402_300_799_999, 0]).buffers()[
                    1
                ],
            ],
        ),
    ],
    ids=["words", "moments", "days and a part"],
)
def test_days_in_milliseconds_are_whole_days(cells):
    """Arrow calls others damaged where it looks; before 1970 a day begins below its moments too."""
    column = Column("day", "date", type="date64", bounds=(0, 1e12))
    values = declared_values(column, cells, blank=True)[0]
    values.validate(full=True)
    assert values.to_pylist() == [
        datetime.date(2001, 1, 1),
        datetime.date(1, 1, 1),
        datetime.date(9999, 12, 31),
        None,
    ]


def test_missing_codes_are_tokens():
    column = Column("age", "integer", type="int64", bounds=(0, 120), missing=("refused", "unknown"))
    values, tokens = declared_values(column, pa.array(["7", "unknown", "refused", "x"]), blank=True)
    assert values.to_pylist() == [7, None, None, None]
    assert tokens.tolist() == [-1, 1, 0, -1]


@pytest.mark.parametrize("beside", [[None, None], [None, "NA"]])
def test_a_missing_code_beside_one_cell_does_not_say_how_another_is_read(beside):
    column = Column("age", "integer", type="int64", bounds=(0, 120), missing=("7", "NA"))
    beside_cells = pa.array(beside, pa.string())
    values, _ = declared_values(column, pa.array([7, None]), missing_codes=beside_cells)
    assert values.to_pylist() == [7, None]


def test_words_come_in_the_declared_type():
    words = pa.array(["a", "b", "a", None], type=pa.large_string())
    assert in_type(words, pa.string()).type == pa.string()
    coded = in_type(words, pa.dictionary(pa.int32(), pa.string()))
    assert coded.type == pa.dictionary(pa.int32(), pa.string())
    assert coded.to_pylist() == ["a", "b", "a", None]
