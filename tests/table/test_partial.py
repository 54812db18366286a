"""Schemas that leave columns open: what is declared stands, the rest is inferred as it would be without a schema."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.fit_schema import completed, is_open


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "p.csv"
    rows = [
        f"{20 + i % 50},{'fm'[i % 2]},{['', 'NA', '-9'][i % 3] if i % 7 == 0 else i * 3 % 40},{i % 4}"
        for i in range(200)
    ]
    path.write_text("age,sex,visits,code\n" + "\n".join(rows) + "\n")
    return path


def test_two_columns_of_four(people, tmp_path):
    (tmp_path / "s.toml").write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns]\nage = { kind = "integer", bounds = [0, 110] }\nsex = "key"\n'
    )
    table = chaffinch.read(people, tmp_path / "s.toml")
    plain = chaffinch.read(people)
    assert table.schema["age"].bounds == (0, 110)
    assert (table.schema["sex"].kind, table.schema["sex"].role) == ("categorical", "key")
    for name in ("visits", "code"):
        assert table.schema[name] == plain.schema[name]
        assert table.schema[name].codec.to_dict() == plain.schema[name].codec.to_dict()
    assert any(
        "leaves these columns open, and they are inferred from all rows: sex, visits, code"
        in str(note)
        for note in table.notes
    )
    assert chaffinch.scan(people, tmp_path / "s.toml").schema.columns == table.schema.columns


def test_roles_alone_and_missing_codes(people):
    table = chaffinch.read(
        people,
        {
            "sex": "sensitive",
            "visits": {"missing": [-9, "NA"]},
            "code": {"kind": "integer", "bins": 4},
        },
    )
    assert table.schema.with_role("sensitive") == ("sex",)
    assert (
        table.schema["visits"].kind,
        table.schema["visits"].nullable,
        set(table.schema["visits"].missing),
    ) == ("integer", True, {-9, "NA"})
    assert table.schema["code"].kind == "integer"


def test_bounds_make_a_number_of_a_code():
    table = pa.table({"stars": [1, 2, 3, 4] * 30, "sex": ["f", "m"] * 60})
    assert chaffinch.read(table).schema["stars"].kind == "categorical"
    assert chaffinch.read(table, {"stars": {"bounds": (0, 5)}}).schema["stars"].kind == "integer"


def test_what_is_wrong_is_still_an_error(people):
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Did you mean 'age'"):
        chaffinch.read(people, {"agee": "key"})
    with pytest.raises(chaffinch.errors.SchemaError, match="Unknown kind 'droop'"):
        chaffinch.read(people, {"age": "droop"})
    with pytest.raises(chaffinch.errors.SchemaError, match="outside its bounds"):
        chaffinch.read(people, {"age": {"kind": "integer", "bounds": (0, 30)}})
    with pytest.raises(chaffinch.errors.PrivacyError, match="lacks"):
        chaffinch.prepare(people, {"age": {"kind": "integer", "bounds": (0, 110)}})


def test_identifiers_may_be_kept_dropped_and_made_up():
    rows = {
        "id": list(range(100)),
        "note": [f"word{i}" for i in range(100)],
        "sex": ["f", "m"] * 50,
    }
    plain = chaffinch.read(pa.table(rows))
    assert plain.schema.names == ("sex",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = chaffinch.read(pa.table(rows), {"id": "keep", "note": "keep", "sex": "drop"})
    assert kept.schema.names == ("id", "note")
    assert kept.schema["id"].kind == "integer"
    with pytest.raises(chaffinch.errors.SchemaError, match='output = "keep" needs another kind'):
        chaffinch.read(pa.table(rows), {"id": {"kind": "identifier", "output": "keep"}})
    fake = (
        chaffinch.BayesNet()
        .fit(chaffinch.read(pa.table(rows), {"id": "fake", "note": "fake"}))
        .sample(50, seed=1)
    )
    assert fake.columns == ("id", "note", "sex")
    assert fake.data["id"].type == pa.int64()
    assert not set(fake.data["note"].to_pylist()) & set(rows["note"])


def test_completed_columns():
    assert is_open(None)
    assert not is_open(chaffinch.Column("a", "integer"))
    inferred = chaffinch.Column("a", "float", type="double", decimals=2, reason="numbers")
    both = completed(chaffinch.Column("a", "unknown", "weight", title="Weight"), inferred)
    assert (both.kind, both.role, both.title, both.decimals, both.type) == (
        "float",
        "weight",
        "Weight",
        2,
        "double",
    )
    assert completed(None, inferred) is inferred
