"""A file as a cache of codes: the schema, the rules, the counts and the models of memory, from two passes over it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter, StreamCounter
from chaffinch.counts.coded import StoredWeights, coded_scan
from chaffinch.errors import InputError
from chaffinch.synth.data import table_counter
from chaffinch.table.formats import Source, parquet
from chaffinch.table.refit import rebin_finely
from chaffinch.table.schema_file import schema_text
from chaffinch.table.weights import with_weight


@pytest.fixture
def passes(monkeypatch):
    """The columns of each pass over a source."""
    seen = []
    plain = Source.batches

    def counted(source, columns=None):
        seen.append(columns)
        return plain(source, columns)

    monkeypatch.setattr(Source, "batches", counted)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 4_001)
    return seen


def same_schema(ours, want):
    assert schema_text(ours) == schema_text(want)
    assert [f.to_dict() for f in ours.functions] == [f.to_dict() for f in want.functions]
    for a, b in zip(ours.modelled, want.modelled, strict=True):
        assert a.fitted_codec.to_dict() == b.fitted_codec.to_dict(), a.name


def test_adult_is_read_twice_and_is_what_memory_reads(data, passes, tmp_path):
    path = data / "adult_train.parquet"
    with coded_scan(path, folder=tmp_path) as coded:
        assert len(passes) == 2
        table = chaffinch.read(path)
        same_schema(coded.schema, table.schema)
        same_schema(coded.rebin_finely().schema, rebin_finely(table).schema)
        assert coded.scan.empty.look.fields == table.look.fields
        assert [str(note) for note in coded.notes] == [str(note) for note in table.notes]
        for counter, whole in (
            (StreamCounter(coded), table),
            (StreamCounter(coded.rebin_finely()), rebin_finely(table)),
        ):
            pairs = list(combinations(table.schema.names, 2))[::7]
            for a, b in zip(
                counter.marginals(pairs), MemoryCounter(whole).marginals(pairs), strict=True
            ):
                assert a.same(b)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("conditionals", ["tables", "trees"])
def test_a_model_of_a_stream_is_the_model_of_memory_byte_by_byte(
    data, tmp_path, passes, conditionals
):
    rng = np.random.default_rng(5)
    path = tmp_path / "some.parquet"
    columns = ["age", "education", "education_num", "sex", "hours_per_week", "income"]
    adult = pq.read_table(data / "adult_train.parquet", columns=columns).slice(0, 9_000)
    pq.write_table(adult.append_column("x", pa.array(rng.lognormal(size=9_000))), path)
    settings = chaffinch.BayesNet(parents=2, conditionals=conditionals)
    with coded_scan(path, folder=tmp_path) as coded:
        ours = settings.fit(StreamCounter(coded), seed=3)
    assert len(passes) == 2
    want = settings.fit(chaffinch.read(path), seed=3)
    for name, model in (("ours", ours), ("want", want)):
        model.save(tmp_path / name)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "want").read_bytes()
    assert ours.sample(500, seed=1).data.equals(want.sample(500, seed=1).data)


def test_a_function_to_numbers_has_the_numbers_that_memory_finds(tmp_path, passes):
    rng = np.random.default_rng(2)
    words = rng.integers(0, 40, 3_000)
    table = pa.table(
        {
            "post": pa.array([f"p{w:02d}" for w in words]),
            "rate": np.round(words**1.5 + 0.25, 2),
            "other": rng.normal(size=3_000),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    want = chaffinch.read(tmp_path / "t.parquet")
    assert want.schema.functions
    passes.clear()
    with coded_scan(tmp_path / "t.parquet", folder=tmp_path) as coded:
        same_schema(coded.schema, want.schema)
        same_schema(coded.rebin_finely().schema, rebin_finely(want).schema)
        assert all(
            columns is not None and set(columns) <= {"post", "rate"} for columns in passes[2:]
        )  # two whole passes, and those of the function
    same_schema(chaffinch.scan(tmp_path / "t.parquet").schema, want.schema)


def test_text_is_coded_as_it_is_read(data, tmp_path):
    path = data / "cmc.csv"
    with coded_scan(path, folder=tmp_path) as coded:
        table = chaffinch.read(path)
        same_schema(coded.schema, table.schema)
        assert coded.scan.empty.look.fields == table.look.fields
        (codes,) = (batch.codes for batch in coded.batches())
        assert all(np.array_equal(codes[j], table.codes[j]) for j in range(len(codes)))


def test_declared_rules_are_fitted_and_records_that_break_them_counted(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "a": rng.integers(0, 50, 2_000),
            "b": rng.integers(40, 90, 2_000),
            "c": pa.array(["x", "y"] * 1_000),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    plain = chaffinch.read(tmp_path / "t.parquet").schema
    declared = replace(
        plain,
        columns=tuple(replace(column, codec=None) for column in plain),
        rules=("a <= b", "a <= 30"),
        searched=False,
        found_rules=(),
    )
    want = chaffinch.read(tmp_path / "t.parquet", declared)
    assert any("break what the schema says" in str(note) for note in want.notes)
    with coded_scan(tmp_path / "t.parquet", declared, folder=tmp_path) as coded:
        same_schema(coded.schema, want.schema)
        assert [str(note) for note in coded.notes] == [str(note) for note in want.notes]


def test_a_file_that_changes_between_passes_is_refused(tmp_path, monkeypatch):
    plain, calls = Source.batches, []

    def shorter(source, columns=None):
        calls.append(1)
        for batch in plain(source, columns):
            yield batch if len(calls) == 1 else batch.slice(1)

    monkeypatch.setattr(Source, "batches", shorter)
    pq.write_table(
        pa.table({"a": ["x", "y"] * 50, "b": ["u", "v", "w", "w"] * 25}), tmp_path / "t.parquet"
    )
    with (
        pytest.raises(InputError, match="other rows than when it was first read"),
        coded_scan(tmp_path / "t.parquet", folder=tmp_path),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_cache_knows_the_weights_that_it_was_made_with(tmp_path):
    """By hand: weights of 1 and 3 add up to 200 and their squares to 500, so they tell as much as 80 records, and each is two fifths of what it was."""
    table = pa.table({"a": ["x", "y"] * 50, "w": [1.0, 3.0] * 50})
    with coded_scan(table, folder=tmp_path) as coded:
        assert coded.weight is None
        with pytest.raises(InputError, match="are not counted by 'w': make the cache with it"):
            list(coded.batches(weight="w"))
    with coded_scan(table, weight="w", folder=tmp_path) as coded:
        assert coded.weight == "w"
        assert coded.schema["w"].size == 1
        assert coded.scan.schema["w"].size > 1
        (batch,) = coded.batches(weight="w")
        np.testing.assert_allclose(batch.weights, [0.4, 1.2] * 50, rtol=1e-15)
        counter = StreamCounter(coded, weight="w")
        assert counter.total == 80.0
        np.testing.assert_allclose(counter.marginals([("a",)])[0].counts, [20.0, 60.0], rtol=1e-14)
        assert coded.rebin_finely().schema["w"].size == 1
    assert list(tmp_path.iterdir()) == []


ROWS = pa.table(
    {"a": ["x", "y", "y"] * 40, "w": pa.array(np.random.default_rng(1).lognormal(size=120))}
)


def test_weights_are_handed_out_as_memory_scales_them(tmp_path):
    table = with_weight(chaffinch.read(ROWS), "w")
    waiting = StoredWeights.waiting(table.schema, tmp_path / "weights")
    assert waiting.sums is None
    for start in range(0, 120, 50):
        waiting.add({"w": (ROWS.column("w").slice(start, 50).combine_chunks(), None)})
    stored = waiting.summed()
    memory = table_counter(table)
    assert stored.schema["w"] == memory.schema["w"]
    (batch,) = memory.coded()
    for _ in range(2):
        read = stored.reader()
        assert np.concatenate([read(7), read(100), read(13)]).tolist() == batch.weights.tolist()


def test_without_a_modelled_weight_there_is_nothing_to_store(tmp_path):
    assert StoredWeights.waiting(chaffinch.read(ROWS).schema, tmp_path / "weights") is None


def test_what_is_no_weight_is_said_without_a_value(tmp_path):
    table = with_weight(chaffinch.read(ROWS), "w")
    waiting = StoredWeights.waiting(table.schema, tmp_path / "weights")
    with pytest.raises(
        InputError, match="cannot be a weight: it has missing, infinite or negative values"
    ) as error:
        waiting.add({"w": (pa.array([1.0, -17.25]), None)})
    assert "17" not in str(error.value)
    with pytest.raises(InputError, match="add up to 0"):
        waiting.summed()
