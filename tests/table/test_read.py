"""Reading and scanning: secrets planted in single records come out of no table, schema, codec, note or message, and a scan gives what a read does."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table import Table, fit_schema, schema_text
from chaffinch.table.formats import delimited, parquet
from chaffinch.table.text import parse_words

SECRET_WORD = "Aurelia Zzyzx"

SECRET_FLOAT = 1234.567891

SECRET_WHOLE = 7654321


def planted(seed: int, *, n: int = 5000) -> pa.Table:
    """A table with one secret in each column, at a random row; secrets stand inside and outside the usual range."""
    rng = np.random.default_rng(seed)
    row = rng.integers(n, size=6)
    word = rng.choice(["cough", "fever", "rash"], n).astype(object)
    word[row[0]] = SECRET_WORD
    real = rng.normal(1000, 300, n)
    real[row[1]] = SECRET_FLOAT
    far = rng.normal(0, 1, n)
    far[row[2]] = SECRET_FLOAT
    whole = rng.integers(0, 10_000_000, n) // 1000 * 1000
    whole[row[3]] = SECRET_WHOLE
    spiky = np.where(rng.random(n) < 0.9, 0, rng.integers(0, 50, n))
    spiky[row[4]] = SECRET_WHOLE
    cents = np.round(rng.gamma(2, 500, n), 2)
    cents[row[5]] = SECRET_FLOAT  # six decimals in a column of two
    coded = rng.integers(1, 4, n)
    coded[row[0]] = SECRET_WHOLE
    days = rng.integers(0, 3000, n)
    days[row[1]] = 20_500  # 2026-02-16, years after the rest
    return pa.table(
        {
            "word": pa.array(word),
            "kind": pa.array(word).dictionary_encode(),
            "real": real,
            "far": far,
            "whole": whole,
            "spiky": spiky,
            "cents": cents,
            "coded": coded,
            "day": pa.array(days.astype(np.int32)).cast(pa.date32()),
        }
    )


@pytest.mark.parametrize("seed", range(4))
def test_planted_secrets_never_come_out(seed):
    table = chaffinch.read(planted(seed))
    codes = [
        np.tile(table.codes[j], 20) for j in range(len(table.codes))
    ]  # 100,000 rows drawn from every cell
    out = Table.from_codes(table.schema, codes, seed=seed, like=table).to_arrow()
    assert SECRET_WORD not in out["word"].to_pylist()
    assert SECRET_WORD not in out["kind"].combine_chunks().dictionary.to_pylist()
    # A draw of a normal hits one given double with odds far below one in a billion; whole numbers came in
    # thousands, so only the secret is none.
    for name in ("real", "far", "cents"):
        assert not np.isin(SECRET_FLOAT, out[name].to_numpy())
    for name in ("spiky", "coded"):
        assert SECRET_WHOLE not in out[name].to_pylist()
    assert out["spiky"].to_numpy().max() < SECRET_WHOLE / 20  # records from the tenth on decide
    assert max(out["day"].to_pylist()).year < 2020
    assert np.array_equal(np.round(out["cents"].to_numpy(), 2), out["cents"].to_numpy())


@pytest.mark.parametrize("seed", range(4))
def test_planted_secrets_are_in_no_schema_codec_or_note(seed):
    table = chaffinch.read(planted(seed))
    texts = [
        schema_text(table.schema),
        repr(table),
        table._repr_html_(),
        table.schema._repr_html_(),
    ]
    texts += [str(note) for note in table.notes]
    texts += [json.dumps(column.codec.to_dict()) for column in table.schema.modelled]
    texts.append(
        str([{k: v for k, v in asdict(column).items() if k != "codec"} for column in table.schema])
    )
    for text in texts:
        assert SECRET_WORD not in text
        assert str(SECRET_FLOAT) not in text
        assert str(SECRET_WHOLE) not in text


def test_messages_do_not_quote_cells(tmp_path):
    faults = []
    (tmp_path / "ragged.csv").write_text(f"a,b\n1,2\n{SECRET_WORD},3,4\n")
    (tmp_path / "mixed.csv").write_text(
        "a,b\n" + "".join(f"{i},x\n" for i in range(60)) + f"{SECRET_WORD},x\n"
    )
    (tmp_path / "typed.toml").write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns.a]\nkind = "integer"\n[columns.b]\nkind = "categorical"\n'
    )
    (tmp_path / "levels.toml").write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns.a]\nkind = "categorical"\nlevels = ["x"]\n[columns.b]\nkind = "categorical"\n'
    )
    for data, schema in (
        ("ragged.csv", None),
        ("mixed.csv", None),
        ("mixed.csv", "typed.toml"),
        ("mixed.csv", "levels.toml"),
    ):
        with pytest.raises(chaffinch.errors.ChaffinchError) as caught:
            chaffinch.read(tmp_path / data, schema and tmp_path / schema)
        chain, error = [], caught.value
        while error is not None and len(chain) < 5:
            chain.append(str(error))
            error = error.__cause__
        faults.append(" ".join(chain))
    assert not any(SECRET_WORD in fault or "Zzyzx" in fault for fault in faults)


ROWS = {"sex": ["f", "m", "f"] * 40, "age": list(range(120)), "weight": [0.5, 1.5] * 60}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_batches_have_the_codes_of_the_table(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    whole = chaffinch.read(pa.table(ROWS))
    whole.write(tmp_path / f"t.{ending}")
    scanned = chaffinch.scan(tmp_path / f"t.{ending}", schema=whole.schema)
    assert scanned.n_rows == 120
    batches = list(scanned.batches(weight="weight"))
    assert len(batches) > 1
    for j, name in enumerate(whole.schema.names):
        np.testing.assert_array_equal(
            np.concatenate([batch.codes[j] for batch in batches]), whole.code(name)
        )
    np.testing.assert_array_equal(
        np.concatenate([batch.weights for batch in batches]), ROWS["weight"]
    )
    one = list(scanned.batches(columns=["sex"]))
    assert all(
        not batch.codes[1].any() for batch in one
    )  # columns that were not asked for are all 0
    assert sum(batch.codes.n_rows for batch in scanned.batches(columns=[])) == 120


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("rows", [1, 50, 120, 1000])
def test_tables_of_a_scan_are_slices_of_what_read_gives(tmp_path, monkeypatch, ending, rows):
    whole = chaffinch.read(pa.table(ROWS))
    whole.write(tmp_path / f"t.{ending}")
    whole = chaffinch.read(tmp_path / f"t.{ending}")
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    parts = list(chaffinch.scan(tmp_path / f"t.{ending}").tables(rows))
    assert [part.n_rows for part in parts] == [
        min(rows, 120 - start) for start in range(0, 120, rows)
    ]
    assert pa.concat_tables([part.data for part in parts]).equals(whole.data)
    for name in whole.schema.names:
        np.testing.assert_array_equal(
            np.concatenate([part.code(name) for part in parts]), whole.code(name)
        )


@pytest.mark.parametrize("declared", [None, {"pay": {"kind": "float", "type": "double"}}])
def test_words_of_a_text_file_are_parsed_once(tmp_path, declared):
    path = tmp_path / "people.csv"
    lines = [
        f"{17 + i % 50},{i % 7}.50,{'NA' if i % 9 else 'yes'},2020-01-{1 + i % 28:02}"
        for i in range(400)
    ]
    path.write_text("\n".join(["age,pay,ill,since", *lines]) + "\n")
    with mock.patch.object(fit_schema, "parse_words", wraps=parse_words) as parser:
        table = chaffinch.read(path, declared)
    names = [call.kwargs["name"] for call in parser.call_args_list]
    assert sorted(names) == sorted(table.columns)
    assert table.data.column("since")[3].as_py() == datetime.date(2020, 1, 4)
